"""IrisZo and IrisNp2: at most epsilon of a region's volume is in collision, and what is to be contained is."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework.optimization import MathematicalProgram
from merganser.framework.symbolic import MakeVectorVariable, sin
from merganser.geometry.optimization import HPolyhedron, Hyperellipsoid, VPolytope
from merganser.multibody.planning import (
    CommonSampledIrisOptions,
    IrisNp2,
    IrisNp2Options,
    IrisParameterizationFunction,
    IrisZo,
    IrisZoOptions,
    SceneGraphCollisionChecker,
)
from tests.support.disk_among_obstacles import OBSTACLES, clearance, disk_robot

QUICK = {"epsilon": 0.05, "num_particles": 300, "mixing_steps": 20}
SQUARE = HPolyhedron.MakeUnitBox(2)
ALGORITHMS = {"IrisZo": (IrisZo, IrisZoOptions), "IrisNp2": (IrisNp2, IrisNp2Options)}


def checker(obstacles=OBSTACLES, **settings) -> SceneGraphCollisionChecker:
    robot = disk_robot(obstacles)
    disk = robot.plant().GetModelInstanceByName("disk")
    return SceneGraphCollisionChecker(model=robot, robot_model_instances=[disk], edge_step_size=0.05, **settings)


CHECKER = checker()


def grown(name, q=(0.0, 0.0), of=None, domain=SQUARE, parameterization=None, specific=(), **common) -> HPolyhedron:
    algorithm, make = ALGORITHMS[name]
    options = make(**dict(specific))
    options.sampled_iris_options = CommonSampledIrisOptions(**{**QUICK, **common})
    if parameterization is not None:
        options.parameterization = parameterization
    return algorithm(of or CHECKER, Hyperellipsoid.MakeHypersphere(0.01, q), domain, options)


def points_of(region: HPolyhedron, count: int, low=-1.0, high=1.0) -> np.ndarray:
    points = np.random.default_rng(0).uniform(low, high, (2, 60 * count))
    inside = points[:, (region.A() @ points <= region.b()[:, np.newaxis]).all(axis=0)][:, :count]
    assert inside.shape[1] == count
    return inside


def volume(region: HPolyhedron) -> float:
    return VPolytope(region.ReduceInequalities()).CalcVolume()


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("epsilon", [0.01, 0.05])
def test_at_most_epsilon_of_a_region_is_in_collision(name, epsilon):
    region = grown(name, epsilon=epsilon, num_particles=1000, mixing_steps=50, random_seed=1)
    assert (clearance(points_of(region, 100_000)) <= 0.0).mean() <= epsilon
    assert volume(region) > 0.7
    assert region.ContainedIn(SQUARE)
    assert region.PointInSet([0.0, 0.0])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_without_obstacles_the_region_is_the_domain(name):
    region = grown(name, of=checker(obstacles=()))
    assert SQUARE.ContainedIn(region)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"q": (0.5, 0.5)}, "in collision"),
        ({"q": (1.5, 0.0)}, "outside of the domain"),
        ({"q": (0.0, 0.0, 0.0)}, "dimension 2"),
        ({"domain": HPolyhedron.MakeUnitBox(3)}, "dimension 2"),
        ({"domain": HPolyhedron([[1.0, 0.0]], [1.0])}, "bounded"),
        ({"q": (0.285, 0.4)}, "within configuration_space_margin"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"tau": np.nan}, "tau"),
        ({"num_particles": 0}, "num_particles"),
        ({"max_separating_planes_per_iteration": 0}, "max_separating_planes_per_iteration"),
        ({"configuration_space_margin": -1.0}, "configuration_space_margin"),
        ({"containment_points": np.array([[0.1, 0.2, 0.1], [0.1, 0.1, 0.2]])}, "hull of containment_points"),
        ({"containment_points": np.array([[0.1, -2.0, 0.1], [0.1, 0.0, -0.1]])}, "outside of the domain"),
    ],
)
def test_bad_arguments_are_errors(name, arguments, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        grown(name, **arguments)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_margin_that_has_no_room_is_relaxed_on_demand(name):
    region = grown(name, q=(0.285, 0.4), relax_margin=True)
    assert region.PointInSet([0.285, 0.4])
    assert (clearance(points_of(region, 10_000)) <= 0.0).mean() <= 0.05


@pytest.mark.parametrize("name", ALGORITHMS)
def test_containment_points_stay_inside(name):
    points = np.array([[-0.25, 0.28, 0.1, 0.0], [0.1, 0.1, 0.85, -0.3]])
    region = grown(name, containment_points=points, max_iterations=1)
    assert all(region.PointInSet(point, 1e-7) for point in points.T)
    assert (clearance(points_of(region, 10_000)) <= 0.0).mean() <= 0.05


@pytest.mark.parametrize("name", ALGORITHMS)
def test_additional_constraints_hold(name):
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddConstraint(x[0] ** 2 + x[1] ** 2 <= 0.04)
    prog.AddLinearConstraint(x[0] + x[1] <= 0.1)
    points = points_of(grown(name, prog_with_additional_constraints=prog), 500)
    assert (np.linalg.norm(points, axis=0) > 0.2).mean() <= 0.05
    assert points.sum(axis=0).max() <= 0.1 + 1e-9
    prog.AddConstraint(x[0] ** 2 >= 0.01)
    with pytest.raises(RuntimeError, match="violates a constraint"):
        grown(name, prog_with_additional_constraints=prog)


@pytest.mark.parametrize("specific", [{"only_walk_toward_collisions": True}, {"num_particles_to_walk_towards": 300}])
def test_rays_find_the_collisions_that_are_near(specific):
    options = {"sampling_strategy": "ray", "add_hyperplane_if_solve_fails": True}
    make = IrisNp2Options().ray_sampler_options
    for name, value in specific.items():
        setattr(make, name, value)
    region = grown("IrisNp2", specific={**options, "ray_sampler_options": make})
    assert (clearance(points_of(region, 20_000)) <= 0.0).mean() <= 0.05
    with pytest.raises(ValueError, match="sampling_strategy"):
        grown("IrisNp2", specific={"sampling_strategy": "rays"})


def test_paddings_count_in_both():
    padded = checker()
    padded.SetPaddingAllRobotRobotPairs(0.05)
    for name in ALGORITHMS:
        region = grown(name, of=padded)
        assert (clearance(points_of(region, 10_000)) <= 0.05).mean() <= 0.05
    padded.SetPaddingAllRobotRobotPairs(-0.01)
    with pytest.raises(RuntimeError, match="negative padding"):
        grown("IrisNp2", of=padded)


def test_one_face_at_a_time_will_do():
    region = grown("IrisZo", max_separating_planes_per_iteration=1, max_iterations_separating_planes=30)
    assert (clearance(points_of(region, 10_000)) <= 0.0).mean() <= 0.05
    unlimited = grown("IrisZo", max_separating_planes_per_iteration=-1, max_iterations=1)
    assert (clearance(points_of(unlimited, 10_000)) <= 0.0).mean() <= 0.05


def test_a_region_that_no_test_accepts_is_logged(caplog):
    grown("IrisZo", max_iterations_separating_planes=1, max_iterations=1)
    assert "not accepted" in caplog.text


# ------------------------------------------------------------------------------------------------ parameterizations

S = MakeVectorVariable(2, "s")
PARAMETERIZATIONS = {
    "function": IrisParameterizationFunction(lambda s: np.array([0.5 * s[0], 0.25 * s[1]]), 2),
    "expressions": IrisParameterizationFunction(np.array([0.5 * S[0], 0.25 * S[1]]), S),
}


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("kind", PARAMETERIZATIONS)
def test_regions_grow_in_other_coordinates(name, kind):
    domain = HPolyhedron.MakeBox([-2, -4], [2, 4])
    region = grown(name, domain=domain, parameterization=PARAMETERIZATIONS[kind])
    points = points_of(region, 5_000, -4.0, 4.0)
    assert (clearance(points * np.array([[0.5], [0.25]])) <= 0.0).mean() <= 0.05
    assert volume(region) > 0.6 * 8.0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_regions_of_one_dimension_along_a_line(name):
    line = IrisParameterizationFunction(lambda s: np.array([s[0], 0.5 * s[0]]), 1)
    domain = HPolyhedron.MakeUnitBox(1)
    region = grown(name, q=(0.0,), domain=domain, parameterization=line, configuration_space_margin=0.0)
    ends = np.sort(VPolytope(region).vertices()[0])
    at = np.linspace(ends[0], ends[1], 1000)
    assert (clearance(np.array([at, 0.5 * at])) <= 0.0).mean() <= 0.05
    assert ends[1] > 0.55


def test_a_parameterization_has_a_description():
    identity = IrisParameterizationFunction()
    assert identity.get_parameterization_dimension() is None
    assert identity.get_parameterization_is_threadsafe()
    assert np.array_equal(identity.get_parameterization_double()([1.0, 2.0]), [1.0, 2.0])
    function = PARAMETERIZATIONS["function"]
    assert function.get_parameterization_dimension() == 2
    assert not function.get_parameterization_is_threadsafe()
    assert np.array_equal(function.get_parameterization_double()([1.0, 2.0]), [0.5, 0.5])


def test_expressions_have_derivatives():
    from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff

    function = IrisParameterizationFunction(np.array([S[0] * S[1], sin(S[1])]), S)
    slopes = ExtractGradient(function.get_parameterization_autodiff()(InitializeAutoDiff([0.3, 0.7]).ravel()))
    assert np.allclose(slopes, [[0.7, 0.3], [0.0, np.cos(0.7)]])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((lambda s: s, 0), ValueError),
        ((np.array([S[0]]), S), ValueError),
        ((np.array([S[0] + S[1]]), S[:1]), ValueError),
        ((np.array([S[0] + S[1]]), np.array([S[0], S[1], S[1]])), ValueError),
        ((1.0,), TypeError),
    ],
)
def test_bad_parameterizations_are_errors(arguments, error):
    with pytest.raises(error, match="IrisParameterizationFunction"):
        IrisParameterizationFunction(*arguments)


def test_a_parameterization_has_to_give_all_positions():
    too_few = IrisParameterizationFunction(lambda s: s, 1)
    with pytest.raises(RuntimeError, match="2 positions"):
        grown("IrisZo", q=(0.0,), domain=HPolyhedron.MakeUnitBox(1), parameterization=too_few)
