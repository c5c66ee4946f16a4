"""Limits, springs and armature of ball joints: a hinge is a ball that turns about one axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import Quaternion, RigidTransform, RollPitchYaw, RotationMatrix
from merganser.multibody.contact.plant_layout import limit_dtype
from merganser.multibody.contact.plant_problem import limited_position, limited_rate
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    BallQuaternionJoint,
    BallRpyJoint,
    BallSpring,
    FixedOffsetFrame,
    RevoluteJoint,
    RevoluteSpring,
    SpatialInertia,
)

AXIS = np.array([0.6, 0.0, 0.8])


def pendulum(
    is_ball: bool, time_step: float, limit: float = np.inf, stiffness: float = 0.0, armature: float = 0.0,
    damping: float = 0.0,
) -> tuple[MultibodyPlant, Any]:  # fmt: skip
    """A body that is symmetric about AXIS, which a ball therefore turns about alone, as a hinge does."""
    plant = MultibodyPlant(time_step)
    body = plant.AddRigidBody("body", SpatialInertia.SolidCylinderWithMass(2.0, 0.1, 0.2, AXIS))
    arm = np.array([0.0, -0.3, 0.0])  # normal to the axis
    X_BM = RigidTransform(RotationMatrix(RollPitchYaw(0.2, 0.1, -0.4)), arm)
    M = plant.AddFrame(FixedOffsetFrame("M", body.body_frame(), X_BM))
    axis_M = X_BM.rotation().inverse() @ AXIS
    if is_ball:
        joint: Any = plant.AddJoint(BallQuaternionJoint("joint", plant.world_frame(), M, damping))
        joint.set_rotation_limit(limit)
    else:
        joint = plant.AddJoint(RevoluteJoint("joint", plant.world_frame(), M, axis_M, -limit, limit, damping))
    joint.set_default_armature(armature)
    if stiffness > 0.0:
        plant.AddForceElement(BallSpring(joint, stiffness) if is_ball else RevoluteSpring(joint, 0.0, stiffness))
    plant.mutable_gravity_field().set_gravity_vector(9.81 * np.cross(axis_M, [0.0, 0.0, 1.0]))
    plant.Finalize()
    return plant, axis_M


def angles(plant: MultibodyPlant, axis: Any, rate: float, times: Any) -> Any:
    """Of the rotation about the axis, from rest there with a rate."""
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetVelocities(context, [rate] if plant.num_velocities() == 1 else rate * axis)
    found = []
    for time in times:
        simulator.AdvanceTo(time)
        q = plant.GetPositions(context)
        found.append(q[0] if len(q) == 1 else 2.0 * np.arctan2(q[1:] @ axis, q[0]))
    return np.array(found)


CASES = {
    "limit": {"limit": 0.7}, "limit and damping": {"limit": 0.7, "damping": 0.5},
    "spring": {"stiffness": 8.0}, "armature": {"armature": 0.4},
    "all": {"limit": 0.5, "stiffness": 3.0, "armature": 0.1, "damping": 0.1},
}  # fmt: skip


@pytest.mark.parametrize("rate", [3.0, -3.0])
@pytest.mark.parametrize("time_step", [0.0, 2e-3])
@pytest.mark.parametrize("case", CASES)
def test_a_ball_that_turns_about_one_axis_is_a_hinge(case: str, time_step: float, rate: float) -> None:
    times = np.linspace(0.05, 1.5, 30)
    found = []
    for is_ball in (True, False):
        plant, axis = pendulum(is_ball, time_step, **CASES[case])
        found.append(angles(plant, axis, rate, times))
    bound = 5e-3 if time_step else 1e-3  # the quaternion is integrated as a chord of its arc
    if not time_step and "limit" in CASES[case]:
        bound = 0.02  # the spring of the limit is that of another inertia
    np.testing.assert_allclose(found[0], found[1], atol=bound)
    if "limit" in CASES[case]:
        assert np.abs(found[0]).max() < CASES[case]["limit"] + (1e-3 if time_step else 0.05)


def test_a_ball_rests_on_its_limit_whatever_the_axis() -> None:
    rng = np.random.default_rng(3)
    for _ in range(4):
        plant = MultibodyPlant(2e-3)
        inertia = SpatialInertia.SolidBoxWithMass(0.7, 0.1, 0.2, 0.4).Shift([0.02, -0.05, 0.3])
        body = plant.AddRigidBody("body", inertia)
        joint = plant.AddJoint(BallQuaternionJoint("joint", plant.world_frame(), body.body_frame(), 0.5))
        joint.set_rotation_limit(0.4)
        plant.mutable_gravity_field().set_gravity_vector(rng.normal(scale=8.0, size=3))
        plant.Finalize()
        simulator = Simulator(plant)
        context = simulator.get_mutable_context()
        plant.SetVelocities(context, rng.normal(scale=2.0, size=3))
        greatest = 0.0
        for time in np.linspace(0.1, 4.0, 40):
            simulator.AdvanceTo(time)
            greatest = max(greatest, limited_position(record(0.4), plant.GetPositions(context))[0])
        assert greatest == pytest.approx(0.4, abs=2e-3)
        angle = limited_position(record(0.4), plant.GetPositions(context))[0]
        assert angle == pytest.approx(0.4, abs=1e-4)
        assert np.abs(plant.GetVelocities(context)).max() < 2e-2


def record(limit: float) -> Any:
    return np.array([(0, 0, 3, -np.inf, limit)], limit_dtype)[0]


@pytest.mark.parametrize("q", [[0.9, 0.1, -0.3, 0.2], [-0.3, 0.4, 1.0, 0.1], [0.0, 0.0, 2.0, 0.0]])
def test_the_slopes_of_an_angle_are_its_rate(q: list[float]) -> None:
    w, Q = np.array([0.3, -1.0, 0.4]), np.array(q)
    angle, slopes = limited_position(record(1.0), Q)
    R = RotationMatrix(Quaternion(Q / np.linalg.norm(Q))).ToAngleAxis()
    assert angle == pytest.approx(R.angle())
    if Q[0] != 0.0:  # at half a turn it falls either way
        e, rest = Q[1:], 1e-100
        qdot = 0.5 * np.array([-w @ e, *(Q[0] * w + np.cross(w, e))])
        rate = limited_position(record(1.0), Q + 1j * rest * qdot)[0].imag / rest
        assert limited_rate(record(1.0), slopes, w) == pytest.approx(rate, rel=1e-12)


def test_an_angle_of_zero_has_no_axis() -> None:
    assert limited_position(record(1.0), np.array([-2.0, 0.0, 0.0, 0.0])) == (0.0, (0.0, 0.0, 0.0))
    plant, _ = pendulum(True, 1e-3, limit=1e-9)  # the limit takes part there
    simulator = Simulator(plant)
    simulator.AdvanceTo(0.2)
    assert limited_position(record(1.0), plant.GetPositions(simulator.get_context()))[0] < 1e-3


@pytest.mark.parametrize("time_step", [0.0, 2e-3])
def test_derivatives_at_a_limit_are_those_of_differences(time_step: float) -> None:
    plant, axis = pendulum(True, time_step, limit=0.3, stiffness=2.0, armature=0.1)
    turn = 0.5 * 0.3005
    x = np.concatenate([[np.cos(turn)], np.sin(turn) * axis, axis + [0.1, 0.2, -0.1]])

    def after(plant: Any, x: Any) -> Any:
        context = plant.CreateDefaultContext()
        plant.SetPositionsAndVelocities(context, x)
        if time_step == 0.0:
            return plant.EvalTimeDerivatives(context).CopyToVector()
        plant.ExecuteForcedEvents(context)
        return plant.GetPositionsAndVelocities(context)

    gradient = ExtractGradient(after(plant.ToAutoDiffXd(), InitializeAutoDiff(x).ravel()))
    free, _ = pendulum(True, time_step, stiffness=2.0, armature=0.1)
    assert np.abs(after(plant, x) - after(free, x)).max() > 1e-3  # the limit acts
    h = 1e-6
    for k, d in enumerate(h * np.eye(7)):
        difference = (after(plant, x + d) - after(plant, x - d)) / (2.0 * h)
        bound = 1e-5 * max(1.0, np.abs(difference).max())
        np.testing.assert_allclose(gradient[:, k], difference, rtol=1e-5, atol=bound)


@pytest.mark.parametrize("kind", [BallQuaternionJoint, BallRpyJoint])
def test_energy_stays_with_springs_and_armature(kind: Any) -> None:
    plant = MultibodyPlant(0.0)
    inertia = SpatialInertia.SolidBoxWithMass(0.7, 0.1, 0.2, 0.4).Shift([0.02, -0.05, 0.3])
    a, b = (plant.AddRigidBody(name, inertia) for name in "ab")
    elements = []
    for name, parent, child in (("j", plant.world_body(), a), ("k", a, b)):
        joint = plant.AddJoint(kind(name, parent.body_frame(), child.body_frame()))
        joint.set_default_armature(0.05)
        elements.append(plant.AddForceElement(BallSpring(joint, 4.0)))
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    plant.SetVelocities(context, [1.0, -0.5, 0.7, -1.0, 0.5, 1.0])
    energy = plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)
    bare = plant.CalcKineticEnergy(context)
    for element in elements:
        assert element.stiffness() == element.GetStiffness(context) == 4.0
    simulator.AdvanceTo(1.0)
    assert plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context) == pytest.approx(energy, abs=1e-6)
    assert plant.CalcKineticEnergy(context) != pytest.approx(bare, rel=1e-2)
    M, vdot = plant.CalcMassMatrix(context), plant.EvalTimeDerivatives(context).CopyToVector()[-6:]
    v = plant.GetVelocities(context)
    assert 0.5 * v @ M @ v == pytest.approx(plant.CalcKineticEnergy(context))
    tau = M @ vdot + plant.CalcBiasTerm(context) - plant.CalcGravityGeneralizedForces(context)
    power = sum(element.CalcConservativePower(context) for element in elements)
    assert tau @ v == pytest.approx(power)


def test_the_energy_of_a_spring_is_that_of_its_angle() -> None:
    plant, axis = pendulum(True, 0.0, stiffness=3.0)
    context = plant.CreateDefaultContext()
    for angle in (0.0, 1e-7, 0.4, 2.0, 3.1, -1.0):
        plant.SetPositions(context, [np.cos(0.5 * angle), *np.sin(0.5 * angle) * axis])
        still = plant.CalcPotentialEnergy(context)
        other, _ = pendulum(True, 0.0)
        bare = other.CreateDefaultContext()
        other.SetPositions(bare, plant.GetPositions(context))
        assert still - other.CalcPotentialEnergy(bare) == pytest.approx(1.5 * angle**2, rel=1e-9, abs=1e-12)


def test_symbols_know_springs_and_armature() -> None:
    plant, _ = pendulum(True, 0.0, stiffness=3.0, armature=0.2)
    other = plant.ToSymbolic()
    context, symbols = plant.CreateDefaultContext(), other.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, [0.9, 0.3, -0.2, 0.1, 1.0, 2.0, 3.0])
    other.SetPositionsAndVelocities(symbols, plant.GetPositionsAndVelocities(context))
    for quantity in ("CalcPotentialEnergy", "CalcKineticEnergy", "CalcMassMatrix"):
        found, expected = getattr(other, quantity)(symbols), getattr(plant, quantity)(context)
        found = np.vectorize(lambda x: x.Evaluate())(found)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_what_cannot_be_is_refused() -> None:
    plant, _ = pendulum(True, 0.0)
    joint = plant.GetJointByName("joint")
    with pytest.raises(ValueError, match=r"limit of joint 'joint' must be a positive angle, but is -1\.0"):
        joint.set_rotation_limit(-1.0)
    with pytest.raises(ValueError, match="but is nan"):
        joint.set_rotation_limit(np.nan)
    with pytest.raises(RuntimeError, match="plant is finalized"):
        joint.set_rotation_limit(1.0)
    hinge = RevoluteJoint("h", plant.world_frame(), plant.world_frame(), [0, 0, 1])
    with pytest.raises(TypeError, match="BallSpring"):
        BallSpring(hinge, 1.0)
    with pytest.raises(RuntimeError, match="stiffness must be finite and at least 0"):
        BallSpring(joint, -1.0)
    free = BallQuaternionJoint("b", plant.world_frame(), plant.world_frame())
    free.set_rotation_limit(4.0)  # farther than any rotation
    assert free.rotation_limit() == np.inf
