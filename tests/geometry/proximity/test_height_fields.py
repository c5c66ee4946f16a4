"""Height fields: distances, rays and contact points against triangles one by one, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    Box,
    CalcVolume,
    Capsule,
    Convex,
    Cylinder,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    HalfSpace,
    HeightField,
    ProximityProperties,
    SceneGraph,
    Sphere,
    TerrainMesh,
)
from merganser.geometry.proximity import ProximityArrays, ProximityEngine
from merganser.geometry.proximity.derivatives import PoseDifferential
from merganser.geometry.proximity.mesh_distance import MeshDistance
from merganser.geometry.scene.query_object import distance_along_ray
from merganser.geometry.shapes.measures import triangles_of
from tests.support.proximity_shapes import KINDS, random_shape

CUBOID = Convex(np.array(np.meshgrid([-0.15, 0.15], [-0.15, 0.15], [-0.1, 0.1])).reshape(3, -1), "cuboid")


def random_field(rng: np.random.Generator) -> HeightField:
    heights = rng.uniform(-0.05, 0.1, rng.integers(3, 6, 2))
    return HeightField(heights, rng.uniform(0.3, 0.5), rng.uniform(0.3, 0.5), base=0.2)


def touches(field: HeightField, shape, X_FG: RigidTransform, margin: float = 0.0) -> np.ndarray:
    """Contact points of a field, which is A, and a shape."""
    engine = ProximityEngine(ProximityArrays([field, shape], [0, 1]))
    return engine.contact_manifolds(np.array([np.eye(4), X_FG.GetAsMatrix4()]), margin)[1].copy()


def query_of(*shapes):
    scene_graph = SceneGraph()
    source = scene_graph.RegisterSource("source")
    poses, ids = FramePoseVector(), []
    for i, shape in enumerate(shapes):
        frame = scene_graph.RegisterFrame(source, GeometryFrame(f"frame{i}"))
        ids.append(scene_graph.RegisterGeometry(source, frame, GeometryInstance(RigidTransform(), shape, f"shape{i}")))
        scene_graph.AssignRole(source, ids[-1], ProximityProperties())
        poses.set_value(frame, RigidTransform())
    context = scene_graph.CreateDefaultContext()
    scene_graph.get_source_pose_port(source).FixValue(context, poses)
    return scene_graph.get_query_output_port().Eval(context), ids, (scene_graph, context)


@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_those_of_the_nearest_triangle(kind, tmp_path):
    rng = np.random.default_rng(KINDS.index(kind))
    num_apart = 0
    for _ in range(2):
        field = random_field(rng)
        vertices, triangles = triangles_of(field)
        parts = [Convex(vertices[triangle].T.copy(), f"part{k}") for k, triangle in enumerate(triangles)]
        shape = random_shape(kind, rng, tmp_path)
        engine = ProximityEngine(ProximityArrays([field, shape, *parts], [0, 1] + [0] * len(parts)))
        pairs = np.array([[0, 1], *([1, k + 2] for k in range(len(parts)))])
        for _ in range(6):
            X_WG = np.tile(np.eye(4), (len(parts) + 2, 1, 1))
            place = rng.uniform([-0.4, -0.4, 0.1], [0.4, 0.4, 0.4])
            X_WG[1] = RigidTransform(RollPitchYaw(rng.uniform(-3.0, 3.0, 3)), place).GetAsMatrix4()
            found = engine.signed_distances(X_WG, pairs)["distance"]
            if found[1:].min() > 1e-6:
                num_apart += 1
                assert found[0] == pytest.approx(found[1:].min(), abs=1e-12)
    assert num_apart >= 6


def test_points_have_the_distance_of_the_closed_surface():
    rng = np.random.default_rng(1)
    for _ in range(3):
        field = random_field(rng)
        exact = MeshDistance(*triangles_of(field))
        query, _, _ = query_of(field)
        for p in rng.uniform(-0.4, 0.4, (100, 3)):
            (found,) = query.ComputeSignedDistanceToPoint(p)
            distance, gradient, nearest = exact(p)
            assert found.distance == pytest.approx(distance, abs=1e-12)
            np.testing.assert_allclose(found.p_GN, nearest, atol=1e-12)
            np.testing.assert_allclose(found.grad_W, gradient, atol=1e-9)


def test_rays_hit_the_first_triangle():
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(3):
        field = random_field(rng)
        vertices, triangles = triangles_of(field)
        for o, d in zip(rng.uniform(-0.4, 0.4, (200, 3)), rng.normal(size=(200, 3))):
            d /= np.linalg.norm(d)
            found, expected = (distance_along_ray(solid, o, d) for solid in (field, vertices[triangles]))
            assert found == pytest.approx(expected, abs=1e-12)
            hits += np.isfinite(found)
    assert hits > 100


def test_volume_height_and_surface_agree():
    field = random_field(np.random.default_rng(3))
    vertices, triangles = triangles_of(field)
    assert CalcVolume(field) == pytest.approx(np.linalg.det(vertices[triangles]).sum() / 6.0, rel=1e-12)
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    for x, y in np.random.default_rng(4).uniform(-0.14, 0.14, (20, 2)):
        down = distance_along_ray(field, np.array([x, y, 1.0]), np.array([0.0, 0.0, -1.0]))
        assert field.CalcHeight(x, y) == pytest.approx(1.0 - down, abs=1e-12)
    with pytest.raises(ValueError, match="is not on a field"):
        field.CalcHeight(2.0, 0.0)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_inner_edges_of_a_plane_touch_nothing(slope):
    x = np.linspace(-1.0, 1.0, 21)
    field, n = HeightField(np.tile(slope * x, (21, 1)), 2.0, 2.0), np.array([-slope, 0.0, 1.0]) / np.hypot(slope, 1.0)
    for place in ([0.1, 0.2, 0.0], [0.03, 0.0, 0.0], [0.05, 0.05, 0.0], [0.0371, 0.0212, 0.0]):  # corners, edges, faces
        place = np.array(place)
        place[2] = slope * place[0]
        (touch,) = touches(field, Sphere(0.25), RigidTransform(place + 0.249 * n))
        np.testing.assert_allclose(touch["nhat_BA_W"], -n, atol=1e-12)
        assert touch["depth"] == pytest.approx(1e-3, abs=1e-12)
        assert touch["share"] == pytest.approx(1.0)
        np.testing.assert_allclose(touch["p_WC"], place - 0.0005 * n, atol=1e-12)


def test_normals_at_a_ridge_lie_between_those_of_its_faces():
    x = np.linspace(-1.0, 1.0, 21)
    ridge, valley = (HeightField(np.tile(sign * abs(x), (21, 1)), 2.0, 2.0) for sign in (-0.5, 0.5))
    for angle in np.linspace(-0.46, 0.46, 9):  # the faces rise by 0.464
        n = np.array([np.sin(angle), 0.0, np.cos(angle)])
        (touch,) = touches(ridge, Sphere(0.1), RigidTransform([0.0, 0.013, 0.0] + 0.0999 * n))
        np.testing.assert_allclose(touch["nhat_BA_W"], -n, atol=1e-10)
    both = touches(valley, Sphere(0.1), RigidTransform([0.0, 0.013, 0.0999 * np.hypot(0.5, 1.0)]))
    normals = sorted((-touch["nhat_BA_W"]).tolist() for touch in both)
    side = 0.5 / np.hypot(0.5, 1.0)
    np.testing.assert_allclose(normals, [[-side, 0.0, 2 * side], [side, 0.0, 2 * side]], atol=1e-12)
    assert touches(ridge, Sphere(0.1), RigidTransform([0.0, 0.0, 0.1001])).size == 0


def test_what_stands_beside_a_thin_wall_touches_neither_its_far_side_nor_its_top():
    heights = np.zeros((21, 21))
    heights[:, 10] = 0.5  # from x = -0.1 to 0.1
    found = touches(HeightField(heights, 2.0, 2.0), Box(0.2, 0.2, 0.2), RigidTransform([-0.1905, 0.0, 0.0999]))
    assert len(found) and found["depth"].max() < 0.02
    assert (-found["nhat_BA_W"][:, 0] <= 1e-9).all()


@pytest.mark.parametrize("is_mesh", [False, True])
@pytest.mark.parametrize("shape", [Box(0.3, 0.3, 0.2), CUBOID, Cylinder(0.15, 0.2)], ids=lambda s: type(s).__name__)
def test_a_sunk_peak_pushes_up_however_near_it_is_to_a_side(shape, is_mesh):
    for height in (0.03, 0.1, 0.3):
        heights = np.zeros((21, 21))
        heights[10, 10] = height
        field = HeightField(heights, 2.0, 2.0)
        ground = TerrainMesh(*triangles_of(field)) if is_mesh else field
        for depth, gap in itertools.product((2e-4, 4e-3, 13e-3), (1e-5, 2e-4, 1e-3, 1.3e-3, 3e-3, 4e-3, 8e-3, 12e-3)):
            found = touches(ground, shape, RigidTransform([0.15 - gap, 0.0, height + 0.1 - depth]))
            up = found[-found["nhat_BA_W"][:, 2] > 1.0 - 1e-9]
            assert up["depth"] == pytest.approx([min(depth, gap)], abs=1e-9)


def test_shares_on_a_plane_are_those_on_a_half_space():
    field = HeightField(np.zeros((11, 11)), 1.0, 1.0)
    for shape in (Box(0.31, 0.2, 0.1), Cylinder(0.2, 0.1)):
        X = RigidTransform(RollPitchYaw([0.005, 0.002, 0.3]), [0.0123, 0.0, 0.0495])
        found, expected = touches(field, shape, X), touches(HalfSpace(), shape, X)
        for one in expected:
            (k,) = np.flatnonzero(np.linalg.norm(found["p_WC"] - one["p_WC"], axis=1) < 1e-9)
            assert found["share"][k] == pytest.approx(one["share"], abs=1e-9)
            assert found["depth"][k] == pytest.approx(one["depth"], abs=1e-12)
        assert len(found) == len(expected)


@pytest.mark.parametrize("slope", [0.01, 0.03, 0.3])
@pytest.mark.parametrize(
    ("shape", "rpy"),
    [(Sphere(0.1), [0, 0, 0]), (Cylinder(0.1, 0.06), [np.pi / 2, 0, 0.2]), (Capsule(0.1, 0.2), [np.pi / 2, 0, 0])],
    ids=["ball", "wheel", "capsule"],
)
def test_forces_do_not_jump_where_something_round_crosses_a_valley(shape, rpy, slope):
    """A second touch begins with no share at the bottom, however deep the body is there."""
    x, radius, step, forces = np.linspace(-0.5, 0.5, 11), 0.1, 1e-4, []
    field = HeightField(np.tile(slope * np.abs(x), (11, 1)), 1.0, 1.0)
    engine = ProximityEngine(ProximityArrays([field, shape], [0, 1]))
    for place in np.arange(-0.04, 0.04, step):
        X_FG = RigidTransform(RollPitchYaw(rpy), [place, 0.013, radius - 0.002])
        found = engine.contact_manifolds(np.array([np.eye(4), X_FG.GetAsMatrix4()]))[1]
        forces.append((found["share"] * found["depth"]) @ found["nhat_BA_W"])
    assert np.abs(np.diff(forces, axis=0)).max() < 0.5 * step
    if isinstance(shape, Sphere):  # over a ridge it is as deep at the edge as beside it
        engine = ProximityEngine(ProximityArrays([HeightField(-field.heights(), 1.0, 1.0), shape], [0, 1]))
        depths = []
        for place in np.arange(-0.005, 0.005, 1e-5):
            X_FG = RigidTransform([place, 0.013, radius - 0.004])
            depths.append(engine.contact_manifolds(np.array([np.eye(4), X_FG.GetAsMatrix4()]))[1]["depth"][0])
        assert np.abs(np.diff(depths)).max() < 1e-5
    # A ball that does not reach the bottom rests on both slopes alike.
    found = touches(field, Sphere(radius), RigidTransform([0.0, 0.013, radius * np.hypot(1.0, slope) - 1e-7]))
    np.testing.assert_allclose(found["share"], [1.0, 1.0])


def hills(seed: int) -> HeightField:
    """Waves in all directions, with radii of about 1 m, on cells of 1 cm."""
    rng, x = np.random.default_rng(seed), 0.01 * np.arange(61)
    heights = np.zeros((61, 61))
    for _ in range(12):
        k = rng.normal(size=2)
        k *= rng.uniform(8.0, 25.0) / np.linalg.norm(k)
        phases = k[0] * x[None, :] + k[1] * x[:, None] + rng.uniform(0.0, 6.28)
        heights += np.sin(phases) / (k @ k) * rng.uniform(0.5, 1.0)
    return HeightField(heights, 0.6, 0.6)


@pytest.mark.parametrize(
    ("shape", "rpy", "depth", "seed"),
    [
        (Box(0.1, 0.12, 0.08), [0.0, 0.0, 0.3], 5e-4, 1),
        (Box(0.1, 0.12, 0.08), [0.02, 0.01, 0.3], 1e-4, 1),
        (Cylinder(0.05, 0.08), [0.0, 0.0, 0.3], 5e-4, 1),
        (Capsule(0.03, 0.12), [np.pi / 2, 0.0, 0.3], 1e-4, 0),
        (Capsule(0.03, 0.12), [np.pi / 2, 0.0, 0.3], 5e-4, 0),
    ],
    ids=["box", "box that leans", "cylinder", "capsule", "deeper capsule"],
)
def test_forces_do_not_jump_where_touches_come_and_go_beside_deeper_ones(shape, rpy, depth, seed):
    """Steps of 10 um at one height; what is in the air, and would leave its group, had up to half of the force."""
    engine, X = ProximityEngine(ProximityArrays([hills(seed), shape], [0, 1])), np.tile(np.eye(4), (2, 1, 1))
    X[1] = RigidTransform(RollPitchYaw(rpy), [0.05, -0.12, 0.05]).GetAsMatrix4()
    for _ in range(4):
        X[1, 2, 3] -= engine.signed_distances(X, np.array([[0, 1]]))[0]["distance"] + depth
    forces = []
    for _ in range(700):
        found = engine.contact_manifolds(X)[1]
        forces.append((found["share"] * found["depth"]) @ found["nhat_BA_W"])
        X[1, :2, 3] += 1e-5 * np.array([1.0, 0.3]) / np.hypot(1.0, 0.3)
    steps, largest = np.linalg.norm(np.diff(forces, axis=0), axis=1), np.linalg.norm(forces, axis=1).max()
    assert largest > 0.5 * depth and steps.max() < 0.05 * largest


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([[0.0, 1.0]], 1.0, 1.0), ValueError, r"two of each or more; given shape \[1, 2\]"),
        (([0.0, 1.0], 1.0, 1.0), ValueError, r"given shape \[2\]"),
        (([[0.0, 1.0], [np.nan, 0.0]], 1.0, 1.0), ValueError, "that in row 1, column 0 is nan"),
        ((np.zeros((2, 2)), 0.0, 1.0), RuntimeError, "The width of a HeightField must be finite and positive; given 0"),
        ((np.zeros((2, 2)), 1.0, np.inf), RuntimeError, "The depth of a HeightField"),
        ((np.zeros((2, 2)), 1.0, 1.0, -1.0), RuntimeError, "The base of a HeightField"),
        ((np.zeros((2, 2)), "wide", 1.0), TypeError, "The width of a HeightField must be a number"),
    ],
)
def test_fields_that_are_none_are_refused_by_name(arguments, error, words):
    with pytest.raises(error, match=words):
        HeightField(*arguments)


def test_a_field_is_a_value():
    heights = np.arange(6.0).reshape(2, 3)
    field = HeightField(heights, 1.0, 2.0)
    heights[0, 0] = 7.0  # a copy was taken
    assert field == HeightField(np.arange(6.0).reshape(2, 3), 1.0, 2.0) == field.Clone()
    assert field != HeightField(heights, 1.0, 2.0) and field != HeightField(field.heights(), 1.0, 2.5)
    assert len({field, field.Clone(), HeightField(heights, 1.0, 2.0)}) == 2
    assert repr(field) == "HeightField(heights=<2 x 3>, width=1.0, depth=2.0, base=1.0)"
    with pytest.raises(ValueError, match="read-only"):
        field.heights()[0, 0] = 1.0


def test_two_fields_or_a_field_and_a_half_space_have_no_distance():
    field = HeightField(np.zeros((2, 2)), 1.0, 1.0)
    for other in (HalfSpace(), field.Clone()):
        query, ids, _ = query_of(field, other)
        with pytest.raises(RuntimeError, match="two half spaces or height fields have no answer"):
            query.ComputeSignedDistancePairClosestPoints(*ids)
        assert query.ComputeContactManifolds(0.0)[1].size == 0


def test_no_face_that_goes_on_outside_of_the_solid_touches_a_corner() -> None:
    """A corner of a box 0.3 mm below a rough surface is not 50 mm below a face two triangles away."""
    heights = [
        [0.11, 0.28, 0.15, 0.23, 0.08], [0.14, 0.17, 0.15, 0.28, 0.14], [0.26, 0.03, 0.06, 0.05, 0.05],
        [0.18, 0.03, 0.20, 0.26, 0.28], [0.02, 0.07, 0.13, 0.00, 0.20],
    ]  # fmt: skip
    field, box = HeightField(heights, 1.2, 0.8, base=0.5), Box(0.2, 0.3, 0.25)
    X_FG = RigidTransform(
        np.array([
            [-0.2746581101318928, 0.9070203501671208, -0.31918177723906843, -0.18194820820270718],
            [-0.9600185095248454, -0.2399954119505702, 0.1441064315440866, 0.0909152308627604],
            [0.054105303884846204, 0.34600041419829153, 0.9366730109628113, 0.22765059188872816],
        ])
    )  # fmt: skip
    corners = np.array([X_FG.multiply((np.array(s) - 0.5) * [0.2, 0.3, 0.25]) for s in np.ndindex(2, 2, 2)])
    compared = 0
    for contact in touches(field, box, X_FG):
        on_box = contact["p_WC"] + 0.5 * contact["depth"] * contact["nhat_BA_W"]
        nearest = corners[np.linalg.norm(corners - on_box, axis=1).argmin()]
        below = field.CalcHeight(*nearest[:2]) - nearest[2]
        if np.linalg.norm(nearest - on_box) < 1e-9 and below < 1e-3:
            assert contact["depth"] <= below + 1e-12
        compared += 1
    assert compared > 0


@pytest.mark.parametrize("is_mesh", [False, True])
def test_corners_in_rough_ground_are_no_deeper_than_the_way_up(is_mesh: bool) -> None:
    """Boxes and hulls in fields with slopes up to 60 degrees: one corner of eleven once was up to 0.1 m too deep."""
    compared = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        field = HeightField(0.3 * rng.random((6, 7)), 1.2, 1.0, base=0.5)
        ground = TerrainMesh(*triangles_of(field)) if is_mesh else field
        box, hull = Box(0.2, 0.3, 0.25), Convex(0.1 * rng.normal(size=(3, 12)), "hull")
        of_box = (np.array(list(np.ndindex(2, 2, 2))) - 0.5) * [0.2, 0.3, 0.25]
        for body, corners in ((box, of_box), (hull, triangles_of(hull)[0])):
            engine = ProximityEngine(ProximityArrays([ground, body], [0, 1]))
            for place in rng.uniform([-0.35, -0.3, 0.2], [0.35, 0.3, 0.4], (30, 3)):
                X_FG = RigidTransform(RollPitchYaw(rng.uniform(-3.0, 3.0, 3)), place)
                p_FV = X_FG.multiply(corners.T).T
                for contact in engine.contact_manifolds(np.array([np.eye(4), X_FG.GetAsMatrix4()]))[1]:
                    on_body = contact["p_WC"] + 0.5 * contact["depth"] * contact["nhat_BA_W"]
                    nearest = p_FV[np.linalg.norm(p_FV - on_body, axis=1).argmin()]
                    if np.linalg.norm(nearest - on_body) < 1e-9 and (abs(nearest[:2]) < [0.6, 0.5]).all():
                        assert contact["depth"] <= field.CalcHeight(*nearest[:2]) - nearest[2] + 1e-9
                        compared += 1
    assert compared > 200


@pytest.mark.parametrize("shape", [Sphere(0.1), Box(0.1, 0.2, 0.15)], ids=lambda s: type(s).__name__)
def test_derivatives_of_distances_are_those_of_differences(shape):
    rng = np.random.default_rng(6)
    engine = ProximityEngine(ProximityArrays([random_field(rng), shape], [0, 1]))
    X, fixed, pair = np.tile(np.eye(4), (2, 1, 1)), np.zeros((3, 6)), np.array([[0, 1]])
    for _ in range(5):
        R = RollPitchYaw(rng.uniform(-3.0, 3.0, 3)).ToRotationMatrix()
        X[1] = RigidTransform(R, rng.uniform([-0.1, -0.1, 0.3], [0.1, 0.1, 0.4])).GetAsMatrix4()
        result = engine.signed_distances(X, pair)[0].copy()
        A, B = PoseDifferential(X[0], fixed, fixed), PoseDifferential(X[1], np.eye(3, 6, 3), np.eye(3, 6))
        d = engine.differentiate(engine.arrays.geometries, (0, 1), result, A, B)
        # The distance follows the point of the body along the normal, which is exact.
        arm, n = result["p_WCb"] - X[1, :3, 3], -result["nhat_BA_W"]
        np.testing.assert_allclose(d.distance, np.r_[np.cross(arm, n), n], atol=1e-7)
