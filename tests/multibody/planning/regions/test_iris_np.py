"""IrisNp: regions of positions have no collisions, stay within limits and bounds, and have the seed where they can."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework.optimization import MathematicalProgram, SolverOptions
from merganser.geometry.optimization import HPolyhedron, Hyperellipsoid, IrisOptions, VPolytope
from merganser.multibody.planning import IrisNp, RobotDiagramBuilder
from merganser.multibody.plant import MultibodyPlant
from tests.support.disk_among_obstacles import OBSTACLES, clearance, disk_robot

SQUARE = HPolyhedron.MakeUnitBox(2)


def grown(q, obstacles=OBSTACLES, limit=1.0, **options) -> HPolyhedron:
    robot = disk_robot(obstacles, limit)
    context = robot.CreateDefaultContext()
    of_plant = robot.plant_context(context)
    robot.plant().SetPositions(of_plant, q)
    try:
        return IrisNp(robot.plant(), of_plant, IrisOptions(**options))
    finally:
        assert np.array_equal(robot.plant().GetPositions(of_plant), q)


def volume(region: HPolyhedron) -> float:
    return VPolytope(region.ReduceInequalities()).CalcVolume()


def points_of(region: HPolyhedron, count: int) -> np.ndarray:
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 20 * count))
    inside = points[:, (region.A() @ points <= region.b()[:, np.newaxis]).all(axis=0)][:, :count]
    assert inside.shape[1] == count
    return inside


def test_a_hundred_thousand_points_of_a_region_are_free():
    region = grown([0.0, 0.0])
    assert clearance(points_of(region, 100_000)).min() > 0.0
    assert region.ContainedIn(SQUARE)
    assert volume(region) > 0.7


def test_without_obstacles_the_region_has_all_that_the_limits_leave():
    region = grown([0.3, 0.2], obstacles=())
    assert region.ContainedIn(SQUARE)
    assert SQUARE.ContainedIn(region)


def test_faces_keep_the_margin():
    region = grown([0.0, 0.0], configuration_space_margin=0.05)
    assert clearance(points_of(region, 20_000)).min() > 0.05 - 1e-6


def test_a_seed_that_has_to_be_contained_is():
    seed = np.array([0.75, 0.05])
    region = grown(seed, require_sample_point_is_contained=True)
    assert region.PointInSet(seed)


@pytest.mark.parametrize(
    ("q", "options", "message"),
    [
        ([0.5, 0.5], {}, "in collision: geometries"),
        ([0.29, 0.4], {}, "within configuration_space_margin"),
        ([0.285, 0.4], {"require_sample_point_is_contained": True}, "within configuration_space_margin"),
        ([0.0, 0.0], {"configuration_space_margin": 0.5}, "within configuration_space_margin"),
        ([1.2, 0.0], {}, "outside of the domain"),
        ([0.0, 0.0], {"configuration_obstacles": [Hyperellipsoid.MakeUnitBall(2)]}, "configuration obstacle 0"),
        ([0.0, 0.0], {"starting_ellipse": Hyperellipsoid.MakeHypersphere(0.1, [0.5, 0.5])}, "center"),
        ([0.0, 0.0], {"starting_ellipse": Hyperellipsoid.MakeUnitBall(3)}, "dimension 2"),
    ],
)
def test_a_seed_without_room_is_refused(q, options, message):
    with pytest.raises(RuntimeError, match=message):
        grown(q, **options)


def test_a_seed_that_touches_an_obstacle_is_on_the_edge_of_a_region_without_margin():
    with pytest.raises(RuntimeError, match="within configuration_space_margin"):
        grown([0.29, 0.4])
    region = grown([0.2899, 0.4], configuration_space_margin=0.0, require_sample_point_is_contained=True)
    assert region.PointInSet([0.2899, 0.4])
    assert clearance(points_of(region, 10_000)).min() > -1e-5


def test_configuration_obstacles_are_kept_out():
    ball = Hyperellipsoid.MakeHypersphere(0.1, [0.2, -0.1])
    region = grown([0.0, 0.0], configuration_obstacles=[ball])
    distances = np.linalg.norm(points_of(region, 5_000) - ball.center()[:, np.newaxis], axis=0)
    assert distances.min() > 0.1


def test_additional_constraints_hold_in_the_region():
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddConstraint(x[0] ** 2 + x[1] ** 2 <= 0.09)
    prog.AddLinearConstraint(x[0] + x[1] <= 0.2)
    prog.AddBoundingBoxConstraint(-0.25, 1.0, x[1])
    prog.AddCost(x[0])
    many = {"num_additional_constraint_infeasible_samples": 20}
    points = points_of(grown([0.0, 0.0], prog_with_additional_constraints=prog, **many), 5_000)
    assert (np.linalg.norm(points, axis=0) > 0.3).mean() < 0.002  # searches may miss a corner
    assert points.sum(axis=0).max() <= 0.2 + 1e-9
    assert points[1].min() >= -0.25 - 1e-9


def test_additional_constraints_that_are_infeasible_are_an_error():
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddConstraint(x[0] ** 2 >= 0.09)
    with pytest.raises(RuntimeError, match="does not hold at the seed"):
        grown([0.0, 0.0], prog_with_additional_constraints=prog)
    other = MathematicalProgram()
    other.NewContinuousVariables(3)
    with pytest.raises(RuntimeError, match="2 variables"):
        grown([0.0, 0.0], prog_with_additional_constraints=other)
    cone = MathematicalProgram()
    x = cone.NewContinuousVariables(2)
    cone.AddLorentzConeConstraint(np.vstack((np.zeros(2), np.eye(2))), [1.0, 0.0, 0.0], x)
    with pytest.raises(RuntimeError, match="LorentzConeConstraint"):
        grown([0.0, 0.0], prog_with_additional_constraints=cone)


def test_positions_without_limits_need_a_bounding_region():
    with pytest.raises(RuntimeError, match="bounding_region"):
        grown([0.0, 0.0], limit=np.inf)
    region = grown([0.0, 0.0], limit=np.inf, bounding_region=SQUARE)
    assert np.isclose(volume(region), volume(grown([0.0, 0.0])), rtol=0.02)


def test_growth_ends_by_the_callback_or_the_iteration_limit():
    last = []
    region = grown([0.0, 0.0], termination_func=lambda each: not last.append(each))
    assert last == [region]
    ellipsoids = [grown([0.0, 0.0], iteration_limit=k).MaximumVolumeInscribedEllipsoid() for k in (1, 100)]
    assert ellipsoids[0].CalcVolume() <= ellipsoids[1].CalcVolume() + 1e-6


def test_options_go_to_the_solver():
    too_few = SolverOptions(options={"SLSQP": {"maxiter": 1, "num_starts": 1}})  # for searches to find a collision
    assert clearance(points_of(grown([0.0, 0.0], solver_options=too_few), 2_000)).min() < 0.0


ONE_JOINT = """<robot name='r'><link name='arm'><inertial><mass value='1'/>
<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>
<collision><origin xyz='.5 0 0'/><geometry><sphere radius='.1'/></geometry></collision></link>
<joint name='j' type='continuous'><axis xyz='0 0 1'/><parent link='world'/><child link='arm'/></joint>
<link name='wall'><collision><origin xyz='0 .5 0'/><geometry><sphere radius='.1'/></geometry></collision></link>
<joint name='w' type='fixed'><parent link='world'/><child link='wall'/></joint></robot>"""


def test_an_angle_without_limits_goes_a_quarter_turn_each_way():
    builder = RobotDiagramBuilder(time_step=0.0)
    builder.parser().AddModelsFromString(ONE_JOINT, "urdf")
    robot = builder.Build()
    context = robot.CreateDefaultContext()
    region = IrisNp(robot.plant(), robot.plant_context(context), IrisOptions())
    # the balls touch where their centers are 0.2 apart: 2 * 0.5 sin(angle / 2) = 0.2
    end = 0.5 * np.pi - 2.0 * np.arcsin(0.2) - 0.01
    for angle, is_in in ((end - 1e-4, True), (end + 1e-4, False), (-1.57, True), (-1.58, False)):
        assert region.PointInSet([angle]) == is_in


def test_a_plant_without_geometries_is_refused():
    plant = MultibodyPlant(0.0)
    plant.Finalize()
    with pytest.raises(RuntimeError, match="SceneGraph"):
        IrisNp(plant, plant.CreateDefaultContext())
