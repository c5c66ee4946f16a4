"""A ball joint by a quaternion: as a ball by roll, pitch and yaw moves, and through where that ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import Quaternion, RigidTransform, RollPitchYaw, RotationMatrix
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    BallQuaternionJoint,
    BallRpyJoint,
    FixedOffsetFrame,
    QuaternionFloatingJoint,
    RevoluteJoint,
    SpatialInertia,
)

SDF = """<sdf version='1.9'><model name='m'><link name='a'/>
<joint name='j' type='ball'><parent>world</parent><child>a</child></joint></model></sdf>"""
DRAKE_SDF = """<sdf version='1.9' xmlns:drake='d'><model name='m'><link name='p'/><frame name='F' attached_to='p'/>
<link name='a'/><drake:joint name='j' type='ball_rpy'><drake:parent>F</drake:parent><drake:child>a</drake:child>
<drake:damping>0.2</drake:damping></drake:joint></model></sdf>"""
URDF = """<robot name='m' xmlns:drake='d'><link name='p'/><link name='a'/><drake:joint name='j' type='ball'>
<parent link='p'/><child link='a'/></drake:joint></robot>"""
MJCF = """<mujoco><worldbody><body name='a'><joint name='j' type='ball' damping='0.3'/><geom size='.1'/></body>
</worldbody><keyframe><key name='home' qpos='2 0 0 2'/></keyframe></mujoco>"""


def pendulum(kind: Any, time_step: float = 0.0) -> tuple[MultibodyPlant, Any]:
    """An uneven body that hangs from the world by frames on either side; the joint, too."""
    plant = MultibodyPlant(time_step)
    inertia = SpatialInertia.SolidBoxWithMass(0.7, 0.1, 0.2, 0.4).Shift([0.02, -0.05, 0.3])
    body = plant.AddRigidBody("body", inertia)
    X_WF = RigidTransform(RollPitchYaw(0.3, -0.2, 0.5), [0, 0, 1])
    X_BM = RigidTransform(RollPitchYaw(1, 0, 2), [0, 0.1, 0])
    F = plant.AddFrame(FixedOffsetFrame("F", plant.world_frame(), X_WF))
    M = plant.AddFrame(FixedOffsetFrame("M", body.body_frame(), X_BM))
    joint = plant.AddJoint(kind("joint", F, M))
    plant.Finalize()
    return plant, joint


def test_a_ball_moves_as_one_of_roll_pitch_and_yaw() -> None:
    (plant, joint), (other, other_joint) = pendulum(BallQuaternionJoint), pendulum(BallRpyJoint)
    rng = np.random.default_rng(1)
    for _ in range(5):
        context, other_context = plant.CreateDefaultContext(), other.CreateDefaultContext()
        rpy, w = rng.uniform(-1.2, 1.2, 3), rng.normal(size=3)
        joint.SetOrientation(context, RotationMatrix(RollPitchYaw(*rpy))).set_angular_velocity(context, w)
        other_joint.set_angles(other_context, rpy).set_angular_velocity(other_context, w)
        np.testing.assert_allclose(plant.CalcMassMatrix(context), other.CalcMassMatrix(other_context), atol=1e-14)
        vdot = [p.EvalTimeDerivatives(c).CopyToVector()[-3:] for p, c in ((plant, context), (other, other_context))]
        np.testing.assert_allclose(vdot[0], vdot[1], atol=1e-12)


def test_a_ball_is_a_free_body_that_keeps_its_place() -> None:
    plant, joint = pendulum(BallQuaternionJoint)
    free = MultibodyPlant(0.0)
    body = free.AddRigidBody("body", plant.GetBodyByName("body").default_spatial_inertia())
    F = free.AddFrame(FixedOffsetFrame("F", free.world_frame(), joint.frame_on_parent().GetFixedPoseInBodyFrame()))
    M = free.AddFrame(FixedOffsetFrame("M", body.body_frame(), joint.frame_on_child().GetFixedPoseInBodyFrame()))
    free.AddJoint(QuaternionFloatingJoint("joint", F, M))
    free.Finalize()
    context, free_context = plant.CreateDefaultContext(), free.CreateDefaultContext()
    q, w = np.array([0.3, -0.8, 0.5, 1.1]), np.array([1.0, -2.0, 0.5])
    plant.SetPositionsAndVelocities(context, [*q, *w])
    free.SetPositionsAndVelocities(free_context, [*q, 0, 0, 0, *w, 0, 0, 0])
    M_all, bias = free.CalcMassMatrix(free_context), free.CalcBiasTerm(free_context)
    np.testing.assert_allclose(plant.CalcMassMatrix(context), M_all[:3, :3], atol=1e-14)
    np.testing.assert_allclose(plant.CalcBiasTerm(context), bias[:3], atol=1e-13)


def test_the_rates_of_the_quaternion_are_those_of_the_orientation() -> None:
    plant, _ = pendulum(BallQuaternionJoint)
    context = plant.CreateDefaultContext()
    q, w, h = np.array([0.5, 0.1, -0.7, 0.3]), np.array([0.3, 1.0, -0.6]), 1e-6
    plant.SetPositions(context, q)
    qdot = plant.MapVelocityToQDot(context, w)
    np.testing.assert_allclose(plant.MapQDotToVelocity(context, qdot), w, atol=1e-14)
    R = [RotationMatrix(Quaternion((q + s * h * qdot) / np.linalg.norm(q + s * h * qdot))).matrix() for s in (-1, 1, 0)]
    skew = (R[1] - R[0]) / (2.0 * h) @ R[2].T
    np.testing.assert_allclose([skew[2, 1], skew[0, 2], skew[1, 0]], w, atol=1e-9)


@pytest.mark.parametrize("time_step", [0.0, 1e-3])
def test_a_pendulum_swings_through_a_pitch_of_a_quarter_turn_as_a_hinge_does(time_step: float) -> None:
    states = []
    for make in (BallQuaternionJoint, lambda name, F, M: RevoluteJoint(name, F, M, [0.0, 1.0, 0.0])):
        plant = MultibodyPlant(time_step)
        inertia = SpatialInertia.SolidBoxWithMass(0.7, 0.1, 0.2, 0.4).Shift([0.0, 0.0, 0.3])
        body = plant.AddRigidBody("body", inertia)
        joint = plant.AddJoint(make("joint", plant.world_frame(), body.body_frame()))
        plant.Finalize()
        simulator = Simulator(plant)
        context = simulator.get_mutable_context()
        plant.SetVelocities(context, [15.0] if joint.num_velocities() == 1 else [0.0, 15.0, 0.0])
        angles = []
        for k in range(1, 41):  # two turns
            simulator.AdvanceTo(0.025 * k)
            R = plant.EvalBodyPoseInWorld(context, body).rotation().matrix()
            angles.append(np.arctan2(R[0, 2], R[0, 0]))
        states.append(np.unwrap(angles))
    assert states[1][-1] > 2.0 * np.pi
    np.testing.assert_allclose(states[0], states[1], atol=2e-3)


def test_steps_have_derivatives() -> None:
    plant, _ = pendulum(BallQuaternionJoint, 1e-2)
    context = plant.CreateDefaultContext()
    x = np.array([0.9, 0.1, -0.3, 0.2, 2.0, -1.0, 0.5])

    def next_state(x: Any) -> Any:
        plant.SetPositionsAndVelocities(context, x)
        plant.ExecuteForcedEvents(context)
        return plant.GetPositionsAndVelocities(context)

    other = plant.ToAutoDiffXd()
    other_context = other.CreateDefaultContext()
    other.SetPositionsAndVelocities(other_context, InitializeAutoDiff(x).ravel())
    other.ExecuteForcedEvents(other_context)
    gradient = ExtractGradient(other.GetPositionsAndVelocities(other_context))
    for k, d in enumerate(1e-6 * np.eye(7)):
        np.testing.assert_allclose(gradient[:, k], (next_state(x + d) - next_state(x - d)) / 2e-6, atol=1e-7)


def test_quaternions_that_are_zero_are_refused() -> None:
    plant, joint = pendulum(BallQuaternionJoint)
    with pytest.raises(ValueError, match="quaternion of joint 'joint' is zero"):
        joint.set_default_positions([0.0, 0.0, 0.0, 0.0])
    context = plant.CreateDefaultContext()
    with pytest.raises(ValueError, match="joint"):
        plant.SetPositions(context, np.zeros(4))
    np.testing.assert_array_equal(plant.GetPositions(context), [1.0, 0.0, 0.0, 0.0])


def test_names_defaults_and_random_orientations() -> None:
    from merganser.framework import RandomGenerator

    plant, joint = pendulum(BallQuaternionJoint)
    assert plant.GetPositionNames(False) == ["joint_qw", "joint_qx", "joint_qy", "joint_qz"]
    assert plant.GetVelocityNames(False) == ["joint_wx", "joint_wy", "joint_wz"]
    assert joint.can_rotate() and not joint.can_translate()
    R_FM = RotationMatrix(RollPitchYaw(0.1, 0.2, 0.3))
    joint.set_default_quaternion(R_FM.ToQuaternion())
    context = plant.CreateDefaultContext()
    np.testing.assert_allclose(RotationMatrix(joint.get_quaternion(context)).matrix(), R_FM.matrix(), atol=1e-15)
    joint.set_random_quaternion_distribution_to_uniform()
    generator, drawn = RandomGenerator(1), []
    for _ in range(40):
        plant.SetRandomContext(context, generator)
        drawn.append(RotationMatrix(joint.get_quaternion(context)).matrix())
    assert np.abs(np.mean(drawn, axis=0)).max() < 0.4  # zero, of all rotations


@pytest.mark.parametrize(
    ("text", "kind", "type_name"),
    [(SDF, "sdf", "ball_quaternion"), (DRAKE_SDF, "sdf", "ball_rpy"), (URDF, "urdf", "ball_rpy"),
     (MJCF, "xml", "ball_quaternion")],
)  # fmt: skip
def test_which_ball_a_file_gets(text: str, kind: str, type_name: str) -> None:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, kind)
    assert plant.GetJointByName("j").type_name() == type_name


def test_a_key_gives_the_quaternion_of_a_ball() -> None:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(MJCF, "xml")
    plant.Finalize()
    joint = plant.GetJointByName("j")
    np.testing.assert_allclose(joint.default_positions(), [0.5**0.5, 0.0, 0.0, 0.5**0.5], atol=1e-15)
    assert joint.default_damping() == 0.3
