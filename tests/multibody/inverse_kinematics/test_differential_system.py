"""Velocities of joints for motions of frames by a recipe, and positions that follow them."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import BusValue, Value
from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix
from merganser.multibody.inverse_kinematics import (
    DifferentialInverseKinematicsController,
    DifferentialInverseKinematicsSystem,
)
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.planning import DofMask, JointLimits, RobotDiagram, RobotDiagramBuilder
from merganser.multibody.tree import JacobianWrtVariable

System = DifferentialInverseKinematicsSystem
ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm7.urdf"
Q_0 = np.array([0.1, 0.5, -0.2, -1.0, 0.3, 0.6, 0.0])
HAND = "arm7::link_7"


@pytest.fixture(scope="module")
def robot() -> RobotDiagram:
    builder = RobotDiagramBuilder(time_step=0.0)
    builder.parser().AddModels(str(ARM))
    return builder.Build()


def least_squares(**config: Any) -> Any:
    return System.LeastSquaresCost(System.LeastSquaresCost.Config(**config))


def centering(**config: Any) -> Any:
    return System.JointCenteringCost(System.JointCenteringCost.Config(**config))


def make(robot: Any, *ingredients: Any, **settings: Any) -> System:
    recipe = System.Recipe()
    for ingredient in ingredients or (least_squares(cartesian_qp_weight=100.0), centering()):
        recipe.AddIngredient(ingredient)
    limit = SpatialVelocity(np.full(3, 10.0), np.full(3, 10.0))
    defaults = {
        "task_frame": "world", "active_dof": DofMask(7, True), "time_step": 0.01, "K_VX": 1.0, "Vd_TG_limit": limit,
    }  # fmt: skip
    return System(recipe=recipe, collision_checker=robot, **(defaults | settings))


def bus(values: dict[str, Any]) -> Value:
    made = BusValue()
    for name, value in values.items():
        made.Set(name, Value(value))
    return Value(made)


def command(system: System, poses: Any = None, velocities: Any = None, q: Any = Q_0, nominal: Any = Q_0) -> Any:
    context = system.CreateDefaultContext()
    system.get_input_port_position().FixValue(context, q)
    system.get_input_port_nominal_posture().FixValue(context, nominal)
    if poses is not None:
        system.get_input_port_desired_cartesian_poses().FixValue(context, bus(poses))
    if velocities is not None:
        system.get_input_port_desired_cartesian_velocities().FixValue(context, bus(velocities))
    return system.get_output_port_commanded_velocity().Eval(context)


def jacobian(robot: RobotDiagram, name: str = "link_7", T: str = "world") -> Any:
    plant = robot.plant()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, Q_0)
    frame, task = plant.GetFrameByName(name), plant.GetFrameByName(T)
    return plant.CalcJacobianSpatialVelocity(context, JacobianWrtVariable.kV, frame, np.zeros(3), task, task)


def pose(robot: RobotDiagram, name: str = "link_7") -> RigidTransform:
    plant = robot.plant()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, Q_0)
    return plant.GetFrameByName(name).CalcPoseInWorld(context)


V = SpatialVelocity([0.1, 0.0, -0.1], [0.0, 0.2, 0.1])


def test_frames_move_as_they_are_wanted_to(robot: RobotDiagram) -> None:
    v = command(make(robot), velocities={HAND: V})
    assert jacobian(robot) @ v == pytest.approx(V.get_coeffs(), abs=1e-12)
    turn = RotationMatrix(RollPitchYaw(0.001, -0.002, 0.001))
    X = pose(robot)
    wanted = RigidTransform(turn @ X.rotation(), X.translation() + [0.001, 0.002, -0.003])
    v = command(make(robot, K_VX=0.5), {HAND: wanted})
    axis = turn.ToAngleAxis()
    expected = 0.5 / 0.01 * np.concatenate([axis.angle() * axis.axis(), [0.001, 0.002, -0.003]])
    assert jacobian(robot) @ v == pytest.approx(expected, abs=1e-10)


def test_velocities_towards_poses_are_limited(robot: RobotDiagram) -> None:
    limit = SpatialVelocity(np.full(3, 0.3), [0.05, 0.2, 0.1])
    wanted = RigidTransform(pose(robot).rotation(), pose(robot).translation() + [1.0, -1.0, 1.0])
    v = command(make(robot, Vd_TG_limit=limit), {HAND: wanted})
    assert jacobian(robot) @ v == pytest.approx([0.0, 0.0, 0.0, 0.05, -0.2, 0.1], abs=1e-10)


def test_what_does_not_move_the_goals_goes_to_the_posture(robot: RobotDiagram) -> None:
    nominal = Q_0 + np.linspace(-0.5, 0.5, 7)
    v = command(make(robot, least_squares(), centering(posture_gain=2.0)), velocities={HAND: V}, nominal=nominal)
    J = jacobian(robot)
    null = np.eye(7) - np.linalg.pinv(J) @ J
    assert null @ v == pytest.approx(2.0 * null @ (nominal - Q_0), abs=1e-10)


def test_the_cost_of_old_programs_wants_twice_the_velocity(robot: RobotDiagram) -> None:
    old = command(make(robot, least_squares(use_legacy_implementation=True), centering()), velocities={HAND: V})
    assert jacobian(robot) @ old == pytest.approx(2.0 * V.get_coeffs(), abs=1e-10)


def test_axes_that_are_masked_do_not_count(robot: RobotDiagram) -> None:
    mask = {"cartesian_axis_masks": {HAND: np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])}}
    v = command(make(robot, least_squares(**mask), centering(**mask)), velocities={HAND: V})
    J = jacobian(robot)
    assert v == pytest.approx(np.linalg.pinv(J[3:]) @ V.translational(), abs=1e-10)


def test_two_frames_at_a_time_relative_to_a_third(robot: RobotDiagram) -> None:
    other = SpatialVelocity([0.0, 0.1, 0.0], [0.1, 0.0, 0.0])
    system = make(robot, least_squares(), task_frame="arm7::link_1")
    v = command(system, velocities={HAND: V, "arm7::link_4": other})
    J = np.vstack([jacobian(robot, "link_4", "link_1"), jacobian(robot, T="link_1")])
    assert v == pytest.approx(np.linalg.pinv(J) @ np.concatenate([other.get_coeffs(), V.get_coeffs()]), abs=1e-6)


def test_only_active_joints_move(robot: RobotDiagram) -> None:
    mask = DofMask([True] * 4 + [False] * 3)
    v = command(make(robot, least_squares(), active_dof=mask), velocities={HAND: V})
    assert v == pytest.approx(np.linalg.pinv(jacobian(robot)[:, :4]) @ V.get_coeffs(), abs=1e-6)


def test_speeds_and_places_of_frames_are_limited(robot: RobotDiagram) -> None:
    limits = System.CartesianVelocityLimitConstraint
    fast = SpatialVelocity(np.zeros(3), [1.0, 0.0, 0.0])
    limit = limits(limits.Config(V_next_TG_limit=[9.0, 9.0, 9.0, 0.3, 9.0, 9.0]))
    v = command(make(robot, least_squares(), centering(), limit), velocities={HAND: fast})
    assert (jacobian(robot) @ v)[3] == pytest.approx(0.3, abs=1e-10)
    box = System.CartesianPositionLimitConstraint
    x = pose(robot).translation()
    place = box(box.Config(p_TG_next_lower=x - 1.0, p_TG_next_upper=x + [0.002, 1.0, 1.0]))
    v = command(make(robot, least_squares(), centering(), place), velocities={HAND: fast})
    assert 0.01 * (jacobian(robot) @ v)[3] == pytest.approx(0.002, abs=1e-12)


def test_joints_slow_down_before_their_limits(robot: RobotDiagram) -> None:
    constraint = System.JointVelocityLimitConstraint
    low, high, speed = np.full(7, -4.0), np.full(7, 4.0), np.full(7, 2.0)
    high[3] = Q_0[3] + 0.03
    limits = JointLimits(low, high, -speed, speed, -speed, speed)
    config = constraint.Config(min_margin=0.01, influence_margin=0.05)
    system = make(robot, least_squares(), centering(), constraint(config, limits))
    forth = command(system, velocities={HAND: SpatialVelocity(np.zeros(3), 9.0 * jacobian(robot)[3:, 3])})
    assert forth[3] == pytest.approx(0.5 * 2.0, abs=1e-10) and np.abs(forth).max() <= 2.0 + 1e-9
    back = command(system, velocities={HAND: SpatialVelocity(np.zeros(3), -9.0 * jacobian(robot)[3:, 3])})
    assert back[3] < -1.1  # the limit away from there is what it is
    with pytest.raises(ValueError, match="limits are for 0 joints, but 7 are active"):
        command(make(robot, least_squares(), constraint(config, JointLimits())), velocities={HAND: V})


class Ceiling:
    """A checker that knows one distance: of the hand from a ceiling."""

    def __init__(self, robot: RobotDiagram, height: float) -> None:
        self._robot, self._height = robot, height

    def plant(self) -> Any:
        return self._robot.plant()

    def CalcRobotClearance(self, q: Any, influence_distance: float) -> Any:
        distance = self._height - pose(self._robot).translation()[2]
        kept = [distance] if distance <= influence_distance else []
        rows = np.array([-jacobian(self._robot)[5]] * len(kept)).reshape(len(kept), 7)
        return SimpleNamespace(distances=lambda: np.array(kept), jacobians=lambda: rows)


def test_the_robot_keeps_away_from_what_its_checker_knows(robot: RobotDiagram) -> None:
    constraint = System.CollisionConstraint
    height = pose(robot).translation()[2]
    checker = Ceiling(robot, height + 0.05)
    up = {HAND: SpatialVelocity(np.zeros(3), [0.0, 0.0, 9.0])}
    kept = constraint(constraint.Config(safety_distance=0.03))
    v = command(make(checker, least_squares(), centering(), kept), velocities=up)
    assert 0.01 * (jacobian(robot) @ v)[5] == pytest.approx(0.02, abs=1e-12)
    far = constraint(constraint.Config(safety_distance=0.03, influence_distance=0.01))
    v = command(make(checker, least_squares(), centering(), far), velocities=up)
    assert (jacobian(robot) @ v)[5] == pytest.approx(9.0, abs=1e-9)
    seen: list[Any] = []

    def select(active_dof: DofMask, clearance: Any, distances: Any, jacobian: Any) -> None:
        seen.append((active_dof.count(), distances.tolist(), jacobian.shape))
        distances[:] = np.inf

    kept.SetSelectDataForCollisionConstraintFunction(select)
    v = command(make(checker, least_squares(), centering(), kept), velocities=up)
    assert (jacobian(robot) @ v)[5] == pytest.approx(9.0, abs=1e-9)
    assert seen == [(7, [pytest.approx(0.05)], (1, 7))]


def test_constraints_that_nothing_fulfils_stop_the_robot(robot: RobotDiagram, caplog: pytest.LogCaptureFixture) -> None:
    box = System.CartesianPositionLimitConstraint
    away = box(box.Config(p_TG_next_lower=[5.0] * 3, p_TG_next_upper=[6.0] * 3))
    limits = JointLimits(robot.plant())
    slow = System.JointVelocityLimitConstraint(System.JointVelocityLimitConstraint.Config(), limits)
    with caplog.at_level(logging.WARNING):
        v = command(make(robot, least_squares(), slow, away), velocities={HAND: V})
    assert v.tolist() == [0.0] * 7 and "no velocities fulfil the constraints at time 0 s" in caplog.text


def test_frames_must_be_there_and_come_by_one_port(robot: RobotDiagram) -> None:
    system = make(robot)
    for poses, velocities in ((None, None), ({HAND: RigidTransform()}, {HAND: V}), ({}, None)):
        with pytest.raises(RuntimeError, match="exactly one of its input ports"):
            command(system, poses, velocities)
    with pytest.raises(RuntimeError, match="missing"):
        command(system, velocities={"missing::link": V})
    with pytest.raises(TypeError, match="_poses': 'arm7::link_7' must be a RigidTransform, got SpatialVelocity"):
        command(system, {HAND: V})


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: least_squares(cartesian_qp_weight=-1.0), "cartesian_qp_weight must not be negative"),
        (lambda: least_squares(cartesian_axis_masks={"a": np.zeros(6)}), "axis mask of 'a'"),
        (lambda: centering(posture_gain=-1.0), "posture_gain must not be negative"),
        (lambda: centering(cartesian_axis_masks={"a": np.ones(3)}), "six numbers 0 or 1"),
        (lambda: _made("CollisionConstraint", influence_distance=-1.0), "influence_distance must not be negative"),
        (lambda: _made("CollisionConstraint", safety_distance=np.inf), "safety_distance must be finite"),
        (lambda: _made("CartesianVelocityLimitConstraint", V_next_TG_limit=-np.ones(6)), "six numbers >= 0"),
        (lambda: _made("CartesianPositionLimitConstraint", p_TG_next_lower=np.ones(3)), "must not be above"),
    ],
)
def test_ingredients_that_cannot_be_are_refused(make_it: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_it()


def _made(name: str, **config: Any) -> Any:
    kind = getattr(System, name)
    return kind(kind.Config(**config))


def test_configs_and_limits_can_be_replaced(robot: RobotDiagram) -> None:
    cost = least_squares()
    with pytest.raises(ValueError, match="negative"):
        cost.SetConfig(System.LeastSquaresCost.Config(cartesian_qp_weight=-1.0))
    assert cost.GetConfig().cartesian_qp_weight == 1.0
    cost.SetConfig(System.LeastSquaresCost.Config(cartesian_qp_weight=3.0))
    assert cost.GetConfig().cartesian_qp_weight == 3.0
    constraint = System.JointVelocityLimitConstraint
    made = constraint(constraint.Config(), JointLimits())
    made.SetJointLimits(JointLimits(robot.plant()))
    assert made.GetJointLimits().num_positions() == 7
    with pytest.raises(ValueError, match="influence_margin must be above min_margin"):
        made.SetConfig(constraint.Config(min_margin=0.2))
    with pytest.raises(TypeError, match="JointVelocityLimitConstraint: config must be of type Config"):
        made.SetConfig(System.LeastSquaresCost.Config())


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"time_step": 0.0}, ValueError, "must be positive"),
        ({"K_VX": -1.0}, ValueError, "must be positive"),
        ({"active_dof": DofMask(6, True)}, ValueError, "the plant has 7 positions, active_dof is for 6"),
        ({"task_frame": "arm7::nowhere"}, RuntimeError, "nowhere"),
        ({"Vd_TG_limit": SpatialVelocity(-np.ones(3), np.ones(3))}, ValueError, "Vd_TG_limit must not be negative"),
        ({"Vd_TG_limit": np.ones(6)}, TypeError, "Vd_TG_limit must be of type SpatialVelocity"),
        ({"active_dof": [True] * 7}, TypeError, "active_dof must be of type DofMask"),
    ],
)
def test_systems_that_cannot_be_are_refused(
    robot: RobotDiagram, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(robot, **settings)


def test_a_plant_is_no_collision_checker(robot: RobotDiagram) -> None:
    with pytest.raises(TypeError, match=r"must have a function plant\(\), as a RobotDiagram has"):
        make(robot.plant())


def test_a_system_says_what_it_is_made_of(robot: RobotDiagram) -> None:
    system = make(robot)
    assert system.recipe().num_ingredients() == 2
    assert isinstance(system.recipe().ingredient(1), System.JointCenteringCost)
    assert system.task_frame().name() == "world" and system.plant() is robot.plant()
    assert system.collision_checker() is robot and system.active_dof() == DofMask(7, True)
    assert (system.time_step(), system.K_VX()) == (0.01, 1.0) and system.Vd_TG_limit().get_coeffs()[0] == 10.0
    with pytest.raises(TypeError, match="takes a cost or a constraint, got str"):
        system.recipe().AddIngredient("cost")


def test_positions_follow_poses_with_some_joints_held(robot: RobotDiagram) -> None:
    mask = DofMask([True] * 6 + [False])
    controller = DifferentialInverseKinematicsController(make(robot, active_dof=mask), [5])
    simulator = Simulator(controller)
    context = simulator.get_mutable_context()
    wanted = RigidTransform(pose(robot).rotation(), pose(robot).translation() + [0.02, -0.01, 0.03])
    controller.GetInputPort("estimated_state").FixValue(context, np.concatenate([Q_0, np.zeros(7)]))
    controller.GetInputPort("desired_poses").FixValue(context, bus({HAND: wanted}))
    controller.GetInputPort("nominal_posture").FixValue(context, Q_0)
    with pytest.raises(RuntimeError, match=r"positions must be finite.*set_initial_position"):
        controller.GetOutputPort("commanded_velocity").Eval(context)
    controller.set_initial_position(context, Q_0)
    simulator.AdvanceTo(0.1)
    q = np.append(controller.GetOutputPort("commanded_position").Eval(context), Q_0[6])
    plant = robot.plant()
    plant_context = plant.CreateDefaultContext()
    plant.SetPositions(plant_context, q)
    assert plant.GetFrameByName("link_7").CalcPoseInWorld(plant_context).IsNearlyEqualTo(wanted, 1e-8)
    assert controller.GetOutputPort("commanded_velocity").Eval(context) == pytest.approx(np.zeros(6), abs=1e-6)
    system = controller.differential_inverse_kinematics()
    assert system is controller.get_mutable_differential_inverse_kinematics()


def test_commanded_positions_are_kept_within_a_turn(robot: RobotDiagram) -> None:
    controller = DifferentialInverseKinematicsController(make(robot), [6])
    context = controller.CreateDefaultContext()
    controller.set_initial_position(context, np.append(Q_0[:6], 4.0))
    q = controller.GetOutputPort("commanded_position").Eval(context)
    assert q == pytest.approx(np.append(Q_0[:6], 4.0 - 2.0 * np.pi))
