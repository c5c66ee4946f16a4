"""Iris: regions have no point inside obstacles, and have the sample where they can; growth ends at thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import Box, Capsule, Cylinder, GeometryInstance, ProximityProperties, SceneGraph, Sphere
from merganser.geometry.optimization import (
    CartesianProduct,
    ConvexSet,
    HPolyhedron,
    Hyperellipsoid,
    Iris,
    IrisOptions,
    LoadIrisRegionsYamlFile,
    MakeIrisObstacles,
    MinkowskiSum,
    Point,
    SaveIrisRegionsYamlFile,
    VPolytope,
)
from merganser.geometry.optimization.sets.half_spaces import farthest
from merganser.geometry.optimization.sets.set_programs import extremes

SQUARE = HPolyhedron.MakeBox([-1, -1], [1, 1])
BOX = VPolytope(np.array([[0.5, 0.8, 0.8, 0.5], [0.5, 0.5, 0.8, 0.8]]))
CONTAINED = IrisOptions(require_sample_point_is_contained=True)


def same(region: HPolyhedron, expected: HPolyhedron, tol: float = 1e-5) -> bool:
    return region.ContainedIn(expected, tol) and expected.ContainedIn(region, tol)


def is_beyond_a_face(obstacle: ConvexSet, region: HPolyhedron) -> bool:
    lowest = np.array([-each.value for each in extremes(obstacle, -region.A(), "test")])
    return bool((lowest >= region.b() - 1e-6).any())


def random_obstacles(r: np.random.RandomState, n: int, count: int) -> list[ConvexSet]:
    makers = (
        lambda p: VPolytope(p[:, np.newaxis] + 0.2 * r.randn(n, n + 3)),
        lambda p: Hyperellipsoid.MakeAxisAligned(0.05 + 0.3 * r.rand(n), p),
        lambda p: HPolyhedron.MakeBox(p - 0.2 * r.rand(n), p + 0.2 * r.rand(n)),
        lambda p: MinkowskiSum(Point(p), Hyperellipsoid.MakeHypersphere(0.1, np.zeros(n))),
    )
    found: list[ConvexSet] = []
    while len(found) < count:
        obstacle = makers[len(found) % 4](r.uniform(-1, 1, n))
        if obstacle.Projection(np.zeros(n))[0][0] > 0.05:
            found.append(obstacle)
    return found


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (2, 1), (2, 2), (3, 3), (5, 4)])
def test_no_point_of_a_region_is_inside_an_obstacle(n, seed):
    r = np.random.RandomState(seed)
    obstacles = random_obstacles(r, n, 6)
    region = Iris(obstacles, np.zeros(n), HPolyhedron.MakeUnitBox(n), CONTAINED)
    assert region.PointInSet(np.zeros(n))
    assert region.ContainedIn(HPolyhedron.MakeUnitBox(n))
    assert all(is_beyond_a_face(obstacle, region) for obstacle in obstacles)


def test_a_hundred_thousand_points_of_a_region_are_free():
    r = np.random.RandomState(7)
    balls = [Hyperellipsoid.MakeHypersphere(0.2, 0.9 * np.array([np.cos(a), np.sin(a)])) for a in r.uniform(-3, 3, 8)]
    region = Iris(balls, [0.0, 0.0], SQUARE)
    points = r.uniform(-1, 1, (2, 400_000))
    inside = points[:, (region.A() @ points <= region.b()[:, np.newaxis]).all(axis=0)][:, :100_000]
    assert inside.shape[1] == 100_000
    assert min(np.linalg.norm(inside - ball.center()[:, np.newaxis], axis=0).min() for ball in balls) > 0.2 - 1e-7


def test_without_obstacles_the_region_is_the_domain():
    assert same(Iris([], [0.3, 0.2], SQUARE), SQUARE)


def test_the_region_of_a_slab_goes_up_to_both_of_its_walls():
    walls = [HPolyhedron.MakeBox([-1, 0.3], [1, 1]), HPolyhedron.MakeBox([-1, -1], [1, -0.2])]
    assert same(Iris(walls, [0.7, 0.25], SQUARE), HPolyhedron.MakeBox([-1, -0.2], [1, 0.3]))


def test_regions_of_one_dimension():
    line = HPolyhedron.MakeBox([-1], [1])
    assert same(Iris([Point([0.5]), Point([-0.25])], [0.0], line), HPolyhedron.MakeBox([-0.25], [0.5]))


def test_an_obstacle_that_touches_the_edge_of_the_domain_takes_nothing_away():
    beside = VPolytope(np.array([[1, 2, 2, 1], [-0.2, -0.2, 0.2, 0.2]]))
    assert same(Iris([beside], [0.0, 0.0], SQUARE), SQUARE)


def test_a_sample_on_the_boundary_of_an_obstacle_stays_in_the_region():
    assert Iris([BOX], [0.5, 0.6], SQUARE, CONTAINED).PointInSet([0.5, 0.6], 1e-6)
    ball = Hyperellipsoid.MakeHypersphere(0.3, [0.2, 0.1])
    sample = ball.center() + 0.3 * np.array([np.cos(1.0), np.sin(1.0)])
    region = Iris([ball], sample, SQUARE, CONTAINED)
    assert region.PointInSet(sample, 1e-6)
    assert is_beyond_a_face(ball, region)


def test_a_sample_near_the_boundary_of_an_obstacle_gets_an_exact_face():
    for gap in 10.0 ** np.arange(-12, -2):
        region = Iris([BOX], [0.5 - gap, 0.6], SQUARE, IrisOptions(iteration_limit=1))
        assert same(region, HPolyhedron.MakeBox([-1, -1], [0.5, 1]), 1e-5)


@pytest.mark.parametrize("obstacle", [BOX, Hyperellipsoid.MakeHypersphere(0.4, [0.5, 0.5])])
@pytest.mark.parametrize("options", [IrisOptions(), CONTAINED])
def test_a_sample_in_an_obstacle_or_outside_of_the_domain_is_refused(obstacle, options):
    far = HPolyhedron.MakeBox([-0.9, -0.9], [-0.8, -0.8])
    with pytest.raises(RuntimeError, match=f"is in obstacle 1, a {type(obstacle).__name__}"):
        Iris([far, obstacle], [0.6, 0.6], SQUARE, options)
    with pytest.raises(RuntimeError, match="outside of the domain"):
        Iris([obstacle], [3.0, 0.0], SQUARE, options)


def test_a_sample_that_cannot_be_contained_is_refused():
    cut_off = IrisOptions(
        require_sample_point_is_contained=True, starting_ellipse=Hyperellipsoid.MakeHypersphere(0.1, [0.9, 0.9])
    )
    with pytest.raises(RuntimeError, match="starting_ellipse"):
        Iris([BOX], [0.0, 0.0], SQUARE, cut_off)


def test_growth_stops_before_it_loses_the_sample():
    obstacles = random_obstacles(np.random.RandomState(3), 2, 5)
    assert not Iris(obstacles, [0.0, 0.0], SQUARE).PointInSet([0.0, 0.0])
    assert Iris(obstacles, [0.0, 0.0], SQUARE, CONTAINED).PointInSet([0.0, 0.0])


def test_obstacles_that_touch_leave_a_region_that_is_a_line():
    halves = [HPolyhedron.MakeBox([-1, 0], [1, 1]), HPolyhedron.MakeBox([-1, -1], [1, 0])]
    region = Iris(halves, [0.2, 0.0], SQUARE, CONTAINED)
    assert region.PointInSet([0.9, 0.0])
    assert not region.PointInSet([0.0, 1e-3])
    flat = HPolyhedron.MakeBox([-1, 0], [1, 0])
    assert same(Iris([], [0.0, 0.0], flat), flat)


def test_ellipsoids_grow_until_the_thresholds():
    r = np.random.RandomState(3)
    obstacles = random_obstacles(r, 2, 8)

    def volume(**options: object) -> float:
        region = Iris(obstacles, [0.0, 0.0], SQUARE, IrisOptions(**options))
        return region.MaximumVolumeInscribedEllipsoid().CalcVolume()

    volumes = [
        volume(iteration_limit=k, termination_threshold=-1.0, relative_termination_threshold=-1.0) for k in (1, 2, 4)
    ]
    assert np.diff(volumes).min() > -1e-6
    assert np.isclose(volume(termination_threshold=1e3), volumes[0])
    assert np.isclose(volume(relative_termination_threshold=1e9), volumes[0])


def test_a_function_can_end_growth():
    seen = []
    options = IrisOptions(termination_func=lambda region: bool(seen.append(region)) or len(seen) == 2)
    assert Iris([BOX], [0.9, 0.0], SQUARE, options) is seen[-1]
    assert len(seen) == 2


def test_the_bounding_region_bounds_an_unbounded_domain():
    half = HPolyhedron([[1.0, 0.0]], [0.25])
    expected = HPolyhedron.MakeBox([-1, -1], [0.25, 1])
    assert same(Iris([BOX], [0.0, 0.0], half, IrisOptions(bounding_region=SQUARE)), expected)
    with pytest.raises(RuntimeError, match="no end in a direction"):
        Iris([BOX], [0.0, 0.0], half)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([BOX], [0.0, 0, 0], SQUARE), "dimension 3"),
        (([Point([1.0])], [0.0, 0.0], SQUARE), "dimension 2"),
        (([BOX], [0.0, 0.0], SQUARE, IrisOptions(bounding_region=HPolyhedron.MakeUnitBox(3))), "dimension 2"),
        (([BOX], [0.0, 0.0], SQUARE, IrisOptions(starting_ellipse=Hyperellipsoid.MakeUnitBall(3))), "dimension 2"),
        (([BOX], [np.nan, 0.0], SQUARE), "sample has NaN"),
        (([BOX], [0.0, 0.0], SQUARE, IrisOptions(termination_threshold=np.nan)), "termination_threshold"),
        (([HPolyhedron([[1.0, 0], [-1, 0]], [-1.0, 0])], [0.0, 0.0], SQUARE), "not empty"),
        (([], [0.0, 0.0], HPolyhedron([[1.0, 0], [-1, 0], [0, 1], [0, -1]], [-1.0, 0, 1, 1])), "is empty"),
    ],
)
def test_bad_arguments_are_errors(arguments, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        Iris(*arguments)


def test_options_are_named_and_mistyped_ones_do_not_go_unnoticed():
    assert "iteration_limit=7" in repr(IrisOptions(iteration_limit=7))
    assert isinstance(hash(IrisOptions()), int)
    with pytest.warns(UserWarning, match="Did you mean 'iteration_limit'"):
        IrisOptions(iteration_limits=7)
    with pytest.raises(AttributeError, match="iteration_limit"):
        IrisOptions().iteration_limits = 7


# ---------------------------------------------------------------------------------------------- geometries and files


def test_obstacles_are_the_geometries_with_the_proximity_role():
    graph = SceneGraph()
    source = graph.RegisterSource("s")
    X_WG = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0])
    shapes = [Box(1.0, 2.0, 3.0), Sphere(0.5), Sphere(0.0), Cylinder(0.2, 1.0), Capsule(0.2, 1.0), Box(9.0, 9.0, 9.0)]
    for i, shape in enumerate(shapes):
        instance = GeometryInstance(X_WG, shape, f"g{i}")
        if i < 5:
            instance.set_proximity_properties(ProximityProperties())
        graph.RegisterAnchoredGeometry(source, instance)
    query = graph.get_query_output_port().Eval(graph.CreateDefaultContext())
    obstacles = MakeIrisObstacles(query, graph.world_frame_id())
    assert [type(each) for each in obstacles] == [HPolyhedron, Hyperellipsoid, Point, CartesianProduct, MinkowskiSum]
    assert all(each.PointInSet([1.0, 2.0, 3.0]) for each in MakeIrisObstacles(query))
    region = Iris(obstacles, [0.0, 0.0, 0.0], HPolyhedron.MakeBox([-1, -1, -1], [4, 4, 4]))
    assert not region.PointInSet([1.0, 2.0, 3.0], -1e-6)


def test_regions_are_read_as_they_were_written(tmp_path):
    regions = {
        "b c": HPolyhedron.MakeBox([0, -1 / 3], [1, 1e-20]),
        "a": HPolyhedron([[1.0]], [2.0]),
        "none": HPolyhedron(np.zeros((0, 2)), []),
    }
    for child in (None, "kid"):
        SaveIrisRegionsYamlFile(tmp_path / "regions.yaml", regions, child)
        found = LoadIrisRegionsYamlFile(tmp_path / "regions.yaml", child)
        assert list(found) == ["a", "b c", "none"]
        for name, region in found.items():
            assert np.array_equal(region.A(), regions[name].A())
            assert np.array_equal(region.b(), regions[name].b())
    SaveIrisRegionsYamlFile(str(tmp_path / "empty.yaml"), {})
    assert LoadIrisRegionsYamlFile(str(tmp_path / "empty.yaml")) == {}


def test_a_bad_file_of_regions_is_an_error(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("r:\n  ambient_dimension: 2\n  A:\n    - [1.0]\n  b: [1.0]\n")
    with pytest.raises(RuntimeError, match=r"region 'r'.*\(1, 2\)"):
        LoadIrisRegionsYamlFile(file)
    with pytest.raises(RuntimeError, match="kid"):
        LoadIrisRegionsYamlFile(file, "kid")
    with pytest.raises(TypeError, match=r"'r'.*Point"):
        SaveIrisRegionsYamlFile(file, {"r": Point([1.0])})


def test_samples_of_a_region_do_not_leave_it():
    region = Iris([BOX], [0.0, 0.0], SQUARE)
    generator = RandomGenerator(1)
    highest = farthest(region, region.A(), "test")
    for _ in range(50):
        assert (region.A() @ region.UniformSample(generator) <= highest + 1e-6).all()
