"""Velocities for velocities and poses of an end effector, and positions that follow them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.math import AngleAxis, RigidTransform, RollPitchYaw, RotationMatrix
from merganser.multibody.inverse_kinematics import (
    DifferentialInverseKinematicsIntegrator,
    DifferentialInverseKinematicsParameters,
    DoDifferentialInverseKinematics,
)
from merganser.multibody.inverse_kinematics import DifferentialInverseKinematicsStatus as Status
from merganser.multibody.inverse_kinematics.differential import pose_difference
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    BallQuaternionJoint,
    FixedOffsetFrame,
    JacobianWrtVariable,
    RevoluteJoint,
    SpatialInertia,
)

ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm7.urdf"
Q_0 = np.array([0.1, 0.5, -0.2, -1.0, 0.3, 0.6, 0.0])


@pytest.fixture(scope="module")
def arm() -> MultibodyPlant:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(ARM))
    plant.Finalize()
    return plant


def parameters(n: int = 7, **settings: Any) -> DifferentialInverseKinematicsParameters:
    made = DifferentialInverseKinematicsParameters(n)
    for name, value in settings.items():
        getattr(made, f"set_{name}")(value)
    return made


def at(plant: MultibodyPlant, q: Any) -> Any:
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q)
    return context


def test_without_limits_the_velocity_is_the_one_that_is_wanted_and_the_shortest() -> None:
    rng = np.random.default_rng(0)
    J, V = rng.normal(size=(3, 7)), rng.normal(size=3)
    result = DoDifferentialInverseKinematics(np.zeros(7), np.zeros(7), V, J, parameters())
    assert result.status is Status.kSolutionFound
    assert result.joint_velocities == pytest.approx(np.linalg.pinv(J) @ V, abs=1e-12)


def test_beside_the_velocity_the_joints_go_to_their_posture() -> None:
    rng = np.random.default_rng(1)
    J, V, q, nominal = rng.normal(size=(3, 7)), rng.normal(size=3), rng.normal(size=7), rng.normal(size=7)
    wishes = parameters(nominal_joint_position=nominal, joint_centering_gain=2.0 * np.eye(7))
    v = DoDifferentialInverseKinematics(q, np.zeros(7), V, J, wishes).joint_velocities
    assert v is not None and J @ v == pytest.approx(V, abs=1e-12)
    null = np.eye(7) - np.linalg.pinv(J) @ J
    assert null @ (v - 2.0 * (nominal - q)) == pytest.approx(np.zeros(7), abs=1e-12)


def test_limits_slow_down_the_motion_and_keep_its_direction() -> None:
    J, V = np.eye(2), np.array([1.0, 4.0])
    limits = parameters(2, joint_velocity_limits=([-2.0, -1.0], [2.0, 1.0]))
    result = DoDifferentialInverseKinematics(np.zeros(2), np.zeros(2), V, J, limits)
    assert result.joint_velocities == pytest.approx([0.25, 1.0], abs=1e-12)
    tight = parameters(2, joint_position_limits=([-1.0, -1.0], [1.0, 0.02]), time_step=0.1)
    result = DoDifferentialInverseKinematics(np.zeros(2), np.zeros(2), V, J, tight)
    assert result.joint_velocities == pytest.approx([0.05, 0.2], abs=1e-12)
    slow = parameters(2, joint_acceleration_limits=([-1.0, -2.0], [1.0, 2.0]), time_step=0.1)
    result = DoDifferentialInverseKinematics(np.zeros(2), np.array([0.1, 0.4]), V, J, slow)
    assert result.joint_velocities == pytest.approx([0.15, 0.6], abs=1e-12)


def test_motions_of_other_joints_make_room_for_a_limit() -> None:
    J, V = np.array([[1.0, 1.0]]), np.array([1.0])
    limits = parameters(2, joint_velocity_limits=([-0.1, -9.0], [0.1, 9.0]))
    result = DoDifferentialInverseKinematics(np.zeros(2), np.zeros(2), V, J, limits)
    assert result.joint_velocities == pytest.approx([0.1, 0.9], abs=1e-12)


def test_where_posture_and_motion_disagree_the_optimum_is_where_the_slopes_are_equal() -> None:
    # v = [alpha c; w] with w = 100 - alpha d held by a limit: the cost -100 alpha + (alpha d)^2 has its minimum inside.
    J, V, d = np.array([[1.0, 0.0]]), np.array([1.0]), 20.0
    wishes = parameters(
        2, nominal_joint_position=[0.0, 0.0], joint_centering_gain=np.eye(2), joint_position_limits=([-9, -9], [9, 9])
    )
    N = np.array([[0.0, 0.0], [d, -1.0]])  # of which the second row is held between -9 and 9
    result = DoDifferentialInverseKinematics([0.0, 0.0], np.zeros(2), V, J, wishes, N, np.eye(2))
    # w >= d alpha - 9, |w|^2 + (-100 alpha): alpha = (50 + 9 d) / d^2
    alpha = (50.0 + 9.0 * d) / d**2
    assert result.joint_velocities == pytest.approx([alpha, d * alpha - 9.0], abs=1e-9)


def test_velocities_that_nothing_makes_are_not_followed() -> None:
    J, V = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([1.0, 1.0])
    result = DoDifferentialInverseKinematics(np.zeros(2), np.zeros(2), V, J, parameters(2))
    assert result.status is Status.kStuck and result.joint_velocities == pytest.approx([0.0, 0.0], abs=1e-12)


def test_limits_that_contradict_each_other_have_no_solution() -> None:
    limits = parameters(1, joint_velocity_limits=([0.5], [1.0]), joint_position_limits=([-1.0], [0.1]))
    result = DoDifferentialInverseKinematics([0.0], [0.0], [1.0], [[1.0]], limits)
    assert result.status is Status.kNoSolutionFound and result.joint_velocities is None


def test_all_forms_for_a_robot_agree(arm: MultibodyPlant) -> None:
    context, wishes = at(arm, Q_0), parameters(time_step=0.1)
    A, E = arm.GetFrameByName("link_1"), arm.GetFrameByName("link_7")
    X_AE = arm.CalcRelativeTransform(context, A, E)
    X_AE_desired = RigidTransform(RollPitchYaw(0.01, -0.02, 0.01), [0.002, 0.001, -0.003]) @ X_AE
    V_AE = pose_difference(X_AE, X_AE_desired) / 0.1
    for wanted in (X_AE_desired, V_AE):
        v = DoDifferentialInverseKinematics(arm, context, wanted, A, E, wishes).joint_velocities
        J = arm.CalcJacobianSpatialVelocity(context, JacobianWrtVariable.kV, E, np.zeros(3), A, A)
        assert v is not None and J @ v == pytest.approx(V_AE, abs=1e-9)
    world = arm.world_frame()
    here = [
        DoDifferentialInverseKinematics(arm, context, V_AE, E, wishes),
        DoDifferentialInverseKinematics(arm, context, V_AE_desired=V_AE, frame_A=world, frame_E=E, parameters=wishes),
        DoDifferentialInverseKinematics(robot=arm, context=context, V_WE_desired=V_AE, frame_E=E, parameters=wishes),
    ]
    assert here[0].joint_velocities is not None
    assert all((each.joint_velocities == here[0].joint_velocities).all() for each in here)


def test_only_the_elements_that_count_are_followed(arm: MultibodyPlant) -> None:
    context, E = at(arm, Q_0), arm.GetFrameByName("link_7")
    wishes = parameters(end_effector_velocity_flag=[False, False, False, True, True, True])
    V_WE = np.array([9.0, 9.0, 9.0, 0.1, 0.2, -0.1])
    v = DoDifferentialInverseKinematics(arm, context, V_WE, E, wishes).joint_velocities
    J = arm.CalcJacobianSpatialVelocity(
        context, JacobianWrtVariable.kV, E, np.zeros(3), arm.world_frame(), arm.world_frame()
    )
    assert v is not None and (J @ v)[3:] == pytest.approx(V_WE[3:], abs=1e-12)
    assert np.linalg.norm((J @ v)[:3]) < 1.0


def test_speeds_towards_a_pose_are_limited(arm: MultibodyPlant) -> None:
    context, E = at(arm, Q_0), arm.GetFrameByName("link_7")
    wishes = parameters(time_step=0.01, end_effector_angular_speed_limit=0.5)
    wishes.set_end_effector_translational_velocity_limits([-0.1] * 3, [0.1, 0.1, 0.02])
    X_WE = E.CalcPoseInWorld(context)
    X_WE_desired = RigidTransform(RotationMatrix.MakeZRotation(0.3) @ X_WE.rotation(), X_WE.translation() + 0.2)
    v = DoDifferentialInverseKinematics(arm, context, X_WE_desired, E, wishes).joint_velocities
    J = arm.CalcJacobianSpatialVelocity(
        context, JacobianWrtVariable.kV, E, np.zeros(3), arm.world_frame(), arm.world_frame()
    )
    assert v is not None and J @ v == pytest.approx([0.0, 0.0, 0.5, 0.1, 0.1, 0.02], abs=1e-9)


def test_free_bodies_are_moved_by_their_own_velocities() -> None:
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.Finalize()
    context = at(plant, [np.cos(0.3), 0.0, np.sin(0.3), 0.0, 1.0, 2.0, 3.0])
    wishes = DifferentialInverseKinematicsParameters(7, 6)
    wishes.set_time_step(0.1)
    low, high = np.full(7, -10.0), np.full(7, 10.0)
    high[4] = 1.02
    wishes.set_joint_position_limits((low, high))
    V_WB = np.array([0.1, 0.2, 0.3, 0.4, 0.0, 0.0])
    v = DoDifferentialInverseKinematics(plant, context, V_WB, body.body_frame(), wishes).joint_velocities
    assert v == pytest.approx(0.5 * V_WB, abs=1e-12)
    with pytest.raises(ValueError, match="N is needed"):
        DoDifferentialInverseKinematics(np.zeros(7), np.zeros(6), V_WB, np.eye(6), wishes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"V": np.zeros(2)}, r"shapes \(m,\) and \(m, 2\); got \(2,\) and \(1, 2\)"),
        ({"q_current": np.zeros(3)}, "q_current must have 2 elements, got 3"),
        ({"v_current": np.zeros(1)}, "v_current must have 2 elements, got 1"),
        ({"V": [np.nan]}, "V must be finite"),
        ({"J": [[np.inf, 0.0]]}, "J must be finite"),
        ({"Nplus": np.eye(3)}, r"Nplus must have shape \(2, 2\), got \(3, 3\)"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    good = {"q_current": np.zeros(2), "v_current": np.zeros(2), "V": np.zeros(1), "J": np.ones((1, 2))}
    with pytest.raises(ValueError, match=message):
        DoDifferentialInverseKinematics(**(good | {"parameters": parameters(2)} | change))


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("time_step", 0.0, "must be positive"),
        ("time_step", np.nan, "must be positive"),
        ("nominal_joint_position", [0.0], "expected 7 finite numbers"),
        ("joint_centering_gain", np.eye(3), r"finite matrix of shape \(7, 7\)"),
        ("end_effector_velocity_flag", [True] * 5, "six truth values"),
        ("end_effector_angular_speed_limit", -1.0, "must not be negative"),
        ("joint_position_limits", (np.zeros(7), np.full(7, -1.0)), "must not be above upper ones"),
        ("joint_velocity_limits", (np.zeros(6), np.ones(7)), "must have 7 elements, got 6 and 7"),
        ("joint_acceleration_limits", (np.full(7, np.nan), np.ones(7)), "must not be above"),
        ("joint_position_limits", (np.zeros(7),), "a pair of lower and upper limits"),
    ],
)
def test_parameters_that_cannot_be_are_refused(setting: str, value: Any, message: str) -> None:
    made = parameters()
    before = getattr(made, f"get_{setting}")()
    with pytest.raises(ValueError, match=message):
        getattr(made, f"set_{setting}")(value)
    np.testing.assert_array_equal(getattr(made, f"get_{setting}")(), before)


# ---------------------------------------------------------------------- the integrator


def integrator(arm: MultibodyPlant, **settings: Any) -> DifferentialInverseKinematicsIntegrator:
    E = arm.GetFrameByName("link_7")
    return DifferentialInverseKinematicsIntegrator(arm, E, 0.01, parameters(), **settings)


def test_positions_follow_a_pose_until_they_are_there(arm: MultibodyPlant) -> None:
    block = integrator(arm)
    simulator = Simulator(block)
    context = simulator.get_mutable_context()
    block.SetPositions(context, Q_0)
    X_WE = block.ForwardKinematics(context)
    assert X_WE.IsNearlyEqualTo(arm.GetFrameByName("link_7").CalcPoseInWorld(at(arm, Q_0)), 1e-12)
    goal = RigidTransform(RollPitchYaw(0.1, 0.2, -0.1), [0.05, -0.02, -0.08]) @ X_WE
    block.get_mutable_parameters().set_joint_velocity_limits((np.full(7, -1.0), np.full(7, 1.0)))
    block.GetInputPort("X_AE_desired").FixValue(context, goal)
    simulator.AdvanceTo(1.0)
    assert block.ForwardKinematics(context).IsNearlyEqualTo(goal, 1e-9)
    q = block.get_output_port().Eval(context)
    assert arm.GetFrameByName("link_7").CalcPoseInWorld(at(arm, q)).IsNearlyEqualTo(goal, 1e-9)
    assert block.get_parameters().get_time_step() == 0.01


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_quaternions_go_the_short_way_to_their_posture(sign: float) -> None:
    plant = MultibodyPlant(0.0)
    base, body = (plant.AddRigidBody(name, SpatialInertia.SolidSphereWithMass(1.0, 0.1)) for name in "ab")
    plant.AddJoint(RevoluteJoint("turn", plant.world_frame(), base.body_frame(), [0.0, 0.0, 1.0]))
    ball = plant.AddJoint(BallQuaternionJoint("ball", base.body_frame(), body.body_frame()))
    plant.Finalize()
    wishes = DifferentialInverseKinematicsParameters(5, 4)
    wishes.set_time_step(0.1)
    wishes.set_joint_centering_gain(np.eye(5))
    nominal = plant.GetPositions(plant.CreateDefaultContext())
    nominal[ball.position_start() : ball.position_start() + 4] = sign * np.array([np.cos(0.2), np.sin(0.2), 0.0, 0.0])
    wishes.set_nominal_joint_position(nominal)
    context = plant.CreateDefaultContext()
    v = DoDifferentialInverseKinematics(plant, context, np.zeros(6), base.body_frame(), wishes).joint_velocities
    assert v is not None
    turning = v[ball.velocity_start() : ball.velocity_start() + 3]
    np.testing.assert_allclose(turning, [2.0 * np.sin(0.2), 0.0, 0.0], atol=1e-6)


def test_quaternions_keep_length_1_as_they_turn() -> None:
    plant = MultibodyPlant(0.0)
    base, body = (plant.AddRigidBody(name, SpatialInertia.SolidSphereWithMass(1.0, 0.1)) for name in "ab")
    plant.AddJoint(RevoluteJoint("turn", plant.world_frame(), base.body_frame(), [0.0, 0.0, 1.0]))
    ball = plant.AddJoint(BallQuaternionJoint("ball", base.body_frame(), body.body_frame()))
    plant.Finalize()
    wishes = DifferentialInverseKinematicsParameters(5, 4)
    block = DifferentialInverseKinematicsIntegrator(plant, body.body_frame(), 0.1, wishes)
    simulator = Simulator(block)
    context, q = simulator.get_mutable_context(), plant.GetPositions(plant.CreateDefaultContext())
    block.SetPositions(context, q)
    block.GetInputPort("X_AE_desired").FixValue(context, RigidTransform(RollPitchYaw(1.0, 0.5, 0.0), np.zeros(3)))
    start = ball.position_start()
    for k in range(1, 11):
        simulator.AdvanceTo(0.1 * k)
        wxyz = block.get_output_port().Eval(context)[start : start + 4]
        assert np.linalg.norm(wxyz) == pytest.approx(1.0, abs=1e-12)
    assert abs(wxyz[0]) < 0.95


def test_positions_start_at_those_of_the_robot(arm: MultibodyPlant) -> None:
    block = integrator(arm)
    simulator = Simulator(block)
    context = simulator.get_mutable_context()
    block.GetInputPort("robot_state").FixValue(context, np.concatenate([Q_0, np.ones(7)]))
    X_WE = arm.GetFrameByName("link_7").CalcPoseInWorld(at(arm, Q_0))
    block.GetInputPort("X_WE_desired").FixValue(context, X_WE)
    simulator.AdvanceTo(0.05)
    assert block.get_output_port().Eval(context) == pytest.approx(Q_0, abs=1e-12)


def test_velocities_may_be_those_at_the_measured_positions(arm: MultibodyPlant) -> None:
    block = integrator(arm)
    simulator = Simulator(block)
    context = simulator.get_mutable_context()
    block.GetInputPort("robot_state").FixValue(context, np.concatenate([Q_0, np.zeros(7)]))
    block.GetInputPort("use_robot_state").FixValue(context, True)
    X_WE = arm.GetFrameByName("link_7").CalcPoseInWorld(at(arm, Q_0))
    block.GetInputPort("X_AE_desired").FixValue(context, RigidTransform([0.001, 0.0, 0.0]) @ X_WE)
    ends = []
    for time in (0.015, 0.055):
        simulator.AdvanceTo(time)
        ends.append(block.get_output_port().Eval(context).copy())
    np.testing.assert_array_equal(*ends)  # a robot that stays is asked for the same step again
    assert np.abs(ends[0] - Q_0).max() > 1e-4


def test_positions_stay_and_a_warning_is_given_once_where_there_is_no_way(
    arm: MultibodyPlant, caplog: pytest.LogCaptureFixture
) -> None:
    for once in (True, False):
        block = integrator(arm, log_only_when_result_state_changes=once)
        narrow = block.get_mutable_parameters()
        narrow.set_joint_velocity_limits((np.full(7, 0.1), np.full(7, 0.2)))
        narrow.set_joint_position_limits((Q_0 - 1e-4, Q_0 + 1e-4))
        simulator = Simulator(block)
        context = simulator.get_mutable_context()
        block.SetPositions(context, Q_0)
        block.GetInputPort("X_AE_desired").FixValue(context, RigidTransform())
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            simulator.AdvanceTo(0.045)
        assert block.get_output_port().Eval(context).tolist() == Q_0.tolist()
        assert len(caplog.records) == (1 if once else 5)
        assert "returns kNoSolutionFound at time 0 s" in caplog.text
        assert block.IsDifferenceEquationSystem()[0] is not once


def test_integrators_that_cannot_be_are_refused(arm: MultibodyPlant) -> None:
    E, wishes = arm.GetFrameByName("link_7"), parameters()
    with pytest.raises(ValueError, match="are both 'link_7'"):
        DifferentialInverseKinematicsIntegrator(arm, E, E, 0.01, wishes)
    with pytest.raises(ValueError, match=r"has \(7, 7\) positions and velocities; parameters are for \(6, 6\)"):
        DifferentialInverseKinematicsIntegrator(arm, E, 0.01, parameters(6))
    with pytest.raises(ValueError, match="must be positive"):
        DifferentialInverseKinematicsIntegrator(arm, E, 0.0, wishes)
    with pytest.raises(TypeError, match="missing argument 'parameters'"):
        DifferentialInverseKinematicsIntegrator(arm, E, 0.01)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="frame_E must be of type Frame; given 'link_7'"):
        DifferentialInverseKinematicsIntegrator(arm, "link_7", 0.01, wishes)  # type: ignore[call-overload]
    block = DifferentialInverseKinematicsIntegrator(arm, arm.GetFrameByName("link_1"), E, 0.01, wishes)
    context = block.CreateDefaultContext()
    block.GetInputPort("X_WE_desired").FixValue(context, RigidTransform())
    with pytest.raises(ValueError, match="poses are in frame 'link_1', not in the world"):
        Simulator(block, context).AdvanceTo(0.01)


def test_the_robot_keeps_the_parameters_that_it_was_given(arm: MultibodyPlant) -> None:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(ARM))
    tool = plant.AddFrame(FixedOffsetFrame("hook", plant.GetFrameByName("link_7"), RigidTransform()))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    tool.SetPoseInParentFrame(context, RigidTransform([0.0, 0.0, 0.2]))
    block = DifferentialInverseKinematicsIntegrator(plant, tool, 0.01, parameters(), robot_context=context)
    mine = block.CreateDefaultContext()
    block.SetPositions(mine, np.zeros(7))
    height = plant.GetFrameByName("link_7").CalcPoseInWorld(context).translation()[2]
    assert block.ForwardKinematics(mine).translation()[2] == pytest.approx(height + 0.2)


def test_differences_of_poses_are_rotation_vectors_up_to_a_half_turn() -> None:
    rng = np.random.default_rng(3)
    for angle in (0.0, 1e-12, 1e-6, 0.3, 0.5 * np.pi, 3.0, np.pi - 1e-4, np.pi - 1e-9, np.pi):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        X = RigidTransform(RollPitchYaw(rng.normal(size=3)), rng.normal(size=3))
        turn = RotationMatrix(AngleAxis(angle, axis))
        turned = RigidTransform(turn @ X.rotation(), X.translation() + [1.0, 2.0, 3.0])
        difference = pose_difference(X, turned)
        wanted = angle * axis
        if difference[:3] @ wanted < 0.0:  # a half turn may go either way
            wanted = -wanted
        np.testing.assert_allclose(difference, [*wanted, 1.0, 2.0, 3.0], atol=1e-9 if angle > 3.1 else 1e-14)
