"""Forces of velocity products neither feed free bodies and trees of bodies in discrete steps, nor take much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.kernels.velocity_products import midpoint_spin
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    BallQuaternionJoint,
    BallRpyJoint,
    FixedOffsetFrame,
    PlanarJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    ScrewJoint,
    SpatialInertia,
    UnitInertia,
    UniversalJoint,
)

H = 0.01
JOINTS: dict[str, Callable[..., Any]] = {
    "r": lambda name, F, M: RevoluteJoint(name, F, M, [0, 0, 1]),
    "u": lambda name, F, M: UniversalJoint(name, F, M),
    "b": lambda name, F, M: BallQuaternionJoint(name, F, M),
    "s": lambda name, F, M: ScrewJoint(name, F, M, [0, 0, 1], 0.1, 0.0),
    "l": lambda name, F, M: PlanarJoint(name, F, M, [0, 0, 0]),
}


def rod(p_BoBcm_B: Any = (0.0, 0.0, 0.0), mass: float = 0.7) -> SpatialInertia:
    """A body of three very different moments of inertia."""
    p = np.array(p_BoBcm_B, float)
    return SpatialInertia(mass, p, UnitInertia.SolidBox(0.01, 0.05, 0.3).ShiftFromCenterOfMass(p))


def free_plant(inertia: SpatialInertia, time_step: float = 1e-3) -> tuple[MultibodyPlant, Any]:
    plant = MultibodyPlant(time_step)
    body = plant.AddRigidBody("body", inertia)
    plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
    assert body.default_mass() > 0.0
    plant.Finalize()
    return plant, plant.CreateDefaultContext()


def step(plant: MultibodyPlant, context: Any) -> None:
    plant.ExecuteForcedEvents(context)


@pytest.mark.parametrize("share", [1e-3, 0.05, 0.5])
def test_midpoint_rule_keeps_energy_and_angular_momentum(share: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        root = rng.normal(size=(3, 3))
        I = root @ root.T
        I = np.trace(I) * np.eye(3) - I  # of some mass distribution
        w = rng.normal(size=3)
        w *= 1.0 / np.linalg.norm(w)
        w_next = 2.0 * np.array(midpoint_spin(tuple(map(tuple, I)), tuple(w), share)) - w
        assert w_next @ I @ w_next == pytest.approx(w @ I @ w, rel=1e-12)
        assert np.linalg.norm(I @ w_next) == pytest.approx(np.linalg.norm(I @ w), rel=1e-12)


@pytest.mark.parametrize("rate", [200.0, 600.0, 3e3, 1e6])
@pytest.mark.parametrize("p_BoBcm_B", [(0.0, 0.0, 0.0), (0.1, -0.2, 0.05)])
def test_a_free_body_keeps_its_energy_and_its_centre_goes_straight(rate: float, p_BoBcm_B: Any) -> None:
    """By 0.2 to 1000 rad a step; beyond one it precesses more slowly than it would."""
    plant, context = free_plant(rod(p_BoBcm_B))
    body = plant.GetBodyByName("body")
    w, v_cm = rate * np.array([0.6, 0.7, 0.4]), np.array([1.0, -2.0, 0.5])
    plant.SetVelocities(context, np.concatenate([w, v_cm - np.cross(w, p_BoBcm_B)]))

    def center() -> Any:
        return plant.EvalBodyPoseInWorld(context, body) @ np.array(p_BoBcm_B)

    before, momentum = plant.CalcKineticEnergy(context), 0.7 * v_cm
    start = center()
    for _ in range(300):
        step(plant, context)
    assert plant.CalcKineticEnergy(context) == pytest.approx(before, rel=1e-8)
    after = plant.CalcSpatialMomentumInWorldAboutPoint(context, [0.0, 0.0, 0.0])
    np.testing.assert_allclose(after.translational(), momentum, atol=1e-9 * rate)
    if not any(p_BoBcm_B):
        np.testing.assert_allclose(center() - start, 300 * 1e-3 * v_cm, rtol=1e-9)


def test_a_slow_body_that_tumbles_keeps_its_energy_for_long() -> None:
    """Of explicit forces, it would get twice its energy in 10 s, and half of all numbers in 40."""
    plant, context = free_plant(rod(), 0.01)
    plant.SetVelocities(context, [0.01, 5.0, 0.02, 0.0, 0.0, 0.0])  # about the middle axis
    before = plant.CalcKineticEnergy(context)
    simulator = Simulator(plant, context)
    simulator.AdvanceTo(100.0)
    assert plant.CalcKineticEnergy(context) == pytest.approx(before, rel=1e-6)


def test_bodies_welded_to_a_fast_body_count_with_it() -> None:
    def fill(plant: MultibodyPlant) -> None:
        plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
        plant.Finalize()

    whole, parts = MultibodyPlant(1e-3), MultibodyPlant(1e-3)
    first, second, X = rod((0.1, 0.0, 0.0)), rod((0.0, 0.05, -0.1), 0.4), RigidTransform([0.1, 0.2, -0.1])
    sum_of_both = first + second.Shift(-X.translation())
    whole.AddRigidBody("body", sum_of_both)
    a, b = parts.AddRigidBody("body", first), parts.AddRigidBody("tool", second)
    parts.WeldFrames(a.body_frame(), b.body_frame(), X)
    velocities = []
    for plant in (whole, parts):
        fill(plant)
        context = plant.CreateDefaultContext()
        plant.SetVelocities(context, [600.0, 900.0, -300.0, 1.0, 2.0, 3.0])
        step(plant, context)
        velocities.append(plant.GetVelocities(context))
    np.testing.assert_allclose(velocities[0], velocities[1], rtol=1e-10)


def test_a_floating_joint_with_frames_moves_a_body_as_one_without() -> None:
    X_WF, X_BM = RigidTransform(RollPitchYaw(0.3, 0.4, -0.5), [0.3, 0.1, 0.2]), RigidTransform([0.05, 0.1, -0.2])
    w_WB_W, v_WBo_W = np.array([1e3, 5e2, -2e2]), np.array([1.0, 2.0, 3.0])

    def plant_with(frames: bool) -> tuple[MultibodyPlant, Any, Any]:
        plant = MultibodyPlant(1e-3)
        body = plant.AddRigidBody("body", rod((0.02, 0.01, 0.03)))
        if frames:
            F = plant.AddFrame(FixedOffsetFrame("F", plant.world_frame(), X_WF))
            M = plant.AddFrame(FixedOffsetFrame("M", body.body_frame(), X_BM))
            plant.AddJoint(QuaternionFloatingJoint("float", F, M))
        plant.Finalize()
        return plant, body, plant.CreateDefaultContext()

    plant, body, context = plant_with(frames=True)
    joint, R_FW = plant.GetJointByName("float"), X_WF.rotation().inverse()
    X_WB = plant.EvalBodyPoseInWorld(context, body)
    joint.set_angular_velocity(context, R_FW @ w_WB_W)
    v_WMo_W = v_WBo_W + np.cross(w_WB_W, X_WB.rotation() @ X_BM.translation())
    joint.set_translational_velocity(context, R_FW @ v_WMo_W)

    other, other_body, other_context = plant_with(frames=False)
    other.SetFreeBodyPose(other_context, other_body, X_WB)
    other.SetVelocities(other_context, np.concatenate([w_WB_W, v_WBo_W]))

    step(plant, context)
    step(other, other_context)
    ours = plant.EvalBodySpatialVelocityInWorld(context, body).rotational()
    theirs = other.EvalBodySpatialVelocityInWorld(other_context, other_body).rotational()
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_damping_of_the_joint_only_takes_energy() -> None:
    plant = MultibodyPlant(1e-3)
    body = plant.AddRigidBody("body", rod())
    plant.AddJoint(QuaternionFloatingJoint("float", plant.world_frame(), body.body_frame(), 1e-3, 0.0))
    plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetVelocities(context, [2e3, 1e3, -5e2, 0.0, 0.0, 0.0])
    energies = [plant.CalcKineticEnergy(context)]
    for _ in range(200):
        step(plant, context)
        energies.append(plant.CalcKineticEnergy(context))
    assert np.all(np.diff(energies) < 0.0) and energies[-1] > 0.0


def test_derivatives_go_through_spins_of_radians_a_step() -> None:
    plant, context = free_plant(rod((0.02, 0.01, 0.03)))
    x = np.concatenate([[0.9, 0.1, -0.3, 0.2], [0.1, 0.2, 0.3], [650.0, 300.0, -160.0], [1.0, 2.0, 3.0]])

    def next_state(x: Any) -> Any:
        plant.SetPositionsAndVelocities(context, x)
        step(plant, context)
        return plant.GetPositionsAndVelocities(context)

    other = plant.ToAutoDiffXd()
    other_context = other.CreateDefaultContext()
    other.SetPositionsAndVelocities(other_context, InitializeAutoDiff(x).ravel())
    other.ExecuteForcedEvents(other_context)
    result = other.GetPositionsAndVelocities(other_context)
    assert isinstance(result[0], AutoDiffXd)
    gradient = ExtractGradient(result)
    for k in range(len(x)):
        d = np.zeros(len(x))
        d[k] = 1e-5
        np.testing.assert_allclose(gradient[:, k], (next_state(x + d) - next_state(x - d)) / 2e-5, atol=2e-5)


def test_free_bodies_take_explicit_forces_if_a_plant_is_set_to() -> None:
    plant = MultibodyPlant(1e-3)
    plant.SetUseExplicitVelocityProducts(True)
    body = plant.AddRigidBody("body", rod((0.1, 0.2, 0.0)))
    plant.Finalize()
    assert body.is_floating_base_body() and plant.uses_explicit_velocity_products()
    context = plant.CreateDefaultContext()
    v = np.array([300.0, 400.0, -200.0, 1.0, 2.0, 3.0])
    plant.SetVelocities(context, v)
    forces = plant.CalcGravityGeneralizedForces(context) - plant.CalcBiasTerm(context)
    expected = v + 1e-3 * np.linalg.solve(plant.CalcMassMatrix(context), forces)
    step(plant, context)
    np.testing.assert_allclose(plant.GetVelocities(context), expected, rtol=1e-12)
    with pytest.raises(RuntimeError, match="finalized already"):
        plant.SetUseExplicitVelocityProducts(False)
    assert plant.ToAutoDiffXd().uses_explicit_velocity_products()


def test_a_quaternion_that_has_become_long_is_made_short() -> None:
    plant, context = free_plant(rod())
    body = plant.GetBodyByName("body")
    plant.SetVelocities(context, [0.0, 0.0, 20.0 / 1e-3, 0.0, 0.0, 0.0])  # about a principal axis
    for _ in range(1000):  # each makes it 10 times as long
        step(plant, context)
    quaternion = plant.GetPositions(context)[:4]
    assert np.linalg.norm(quaternion) <= 1e6
    angle = 1000 * 2.0 * np.arctan(10.0)
    R_WB = plant.EvalBodyPoseInWorld(context, body).rotation().matrix()
    np.testing.assert_allclose(R_WB[:2, 0], [np.cos(angle), np.sin(angle)], atol=1e-10)


# ---------------------------------------------------------------------- trees


def chain(
    joints: str, is_floating: bool, time_step: float = H, gravity: float = 0.0, is_explicit: bool = False
) -> MultibodyPlant:
    """Uneven boxes one on the other, by joints in uneven places, on the world or a free box."""
    rng = np.random.default_rng(1)
    plant = MultibodyPlant(time_step)
    plant.SetUseExplicitVelocityProducts(is_explicit)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -gravity])
    last = plant.world_body()
    if is_floating:
        last = plant.AddRigidBody("base", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.4))

    def frame(name: str, body: Any) -> Any:
        X = RigidTransform(RollPitchYaw(*rng.uniform(-2, 2, 3)), rng.uniform(-0.3, 0.3, 3))
        return plant.AddFrame(FixedOffsetFrame(name, body.body_frame(), X))

    for i, kind in enumerate(joints):
        inertia = SpatialInertia.SolidBoxWithMass(rng.uniform(0.5, 2), *rng.uniform(0.05, 0.5, 3))
        body = plant.AddRigidBody(f"body{i}", inertia)
        plant.AddJoint(JOINTS[kind](f"joint{i}", frame(f"F{i}", last), frame(f"M{i}", body)))
        last = body
    plant.Finalize()
    return plant


def started(plant: MultibodyPlant, rate: float) -> tuple[Simulator, Any]:
    simulator = Simulator(plant)
    v = np.random.default_rng(0).normal(size=plant.num_velocities())
    plant.SetVelocities(simulator.get_mutable_context(), v * rate / np.linalg.norm(v))
    return simulator, simulator.get_mutable_context()


@pytest.mark.parametrize("rate", [1.0, 5.0])
@pytest.mark.parametrize(
    ("joints", "is_floating"), [("r", True), ("rr", False), ("b", False), ("u", True), ("rrr", False), ("rurb", True)]
)
def test_energy_stays_while_steps_resolve_the_motion(joints: str, is_floating: bool, rate: float) -> None:
    """Explicit forces feed all of these without end, the hinged boxes (r) within a second at 20 rad/s."""
    plant = chain(joints, is_floating)
    simulator, context = started(plant, rate)
    energies = []
    for k in range(41):
        simulator.AdvanceTo(0.5 * k)
        energies.append(staggered_energy(plant, context))
    shares = np.array(energies) / energies[0]
    assert 1.0 - 5e-4 * rate**2 < shares.min() and shares.max() < 1.0 + 3e-4 * rate**2


def staggered_energy(plant: MultibodyPlant, context: Any) -> float:
    """The kinetic energy where v belongs: half a step before q."""
    there = plant.CreateDefaultContext()
    v = plant.GetVelocities(context)
    q = plant.GetPositions(context) - 0.5 * plant.time_step() * plant.MapVelocityToQDot(context, v)
    plant.SetPositionsAndVelocities(there, np.concatenate([q, v]))
    return float(plant.CalcKineticEnergy(there))


def test_a_double_pendulum_keeps_its_energy_under_gravity() -> None:
    plant = chain("rr", False, gravity=9.81)
    simulator, context = started(plant, 10.0)

    def energy() -> float:
        return float(plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context))

    before, scale = energy(), plant.CalcKineticEnergy(context)
    for k in range(1, 51):
        simulator.AdvanceTo(1.0 * k)
        assert abs(energy() - before) < 0.15 * scale


def test_work_of_forces_is_all_that_a_fast_arm_gets() -> None:
    plant = chain("rr", False, 1e-3)
    simulator, context = started(plant, 50.0)
    tau, work = np.array([0.3, -0.2]), 0.0
    plant.get_applied_generalized_force_input_port().FixValue(context, tau)
    before = staggered_energy(plant, context)
    for _ in range(200):
        v = plant.GetVelocities(context)
        plant.ExecuteForcedEvents(context)
        work += 0.5e-3 * tau @ (v + plant.GetVelocities(context))
    assert staggered_energy(plant, context) - before == pytest.approx(work, rel=1e-2)
    assert simulator.get_context() is context


def test_motion_is_that_of_continuous_time_with_an_error_of_first_order() -> None:
    def end(time_step: float) -> Any:
        plant = chain("rb", True, time_step, gravity=9.81)
        simulator, context = started(plant, 8.0)
        if time_step == 0.0:
            simulator.get_mutable_integrator().set_target_accuracy(1e-9)
        simulator.AdvanceTo(0.4)
        return np.array(plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("body1")).GetAsMatrix4())

    exact = end(0.0)
    errors = [np.abs(end(h) - exact).max() for h in (2e-3, 1e-3)]
    assert errors[0] < 0.02 and errors[0] / errors[1] == pytest.approx(2.0, abs=0.3)


def test_python_and_the_compiled_loop_take_the_same_steps() -> None:
    plant = chain("rb", True)
    simulator, context = started(plant, 20.0)
    again = context.Clone()
    simulator.AdvanceTo(0.5)
    for _ in range(50):
        plant.ExecuteForcedEvents(again)
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), plant.GetPositionsAndVelocities(again))


def test_slow_motion_is_hardly_other_than_with_explicit_forces() -> None:
    ends = []
    for is_explicit in (False, True):
        plant = chain("rr", False, 1e-3, gravity=9.81, is_explicit=is_explicit)
        simulator, context = started(plant, 0.5)
        simulator.AdvanceTo(0.2)
        ends.append(plant.GetPositions(context))
    np.testing.assert_allclose(ends[0], ends[1], atol=5e-4)  # errors of a step of 1 ms


def test_a_ball_of_roll_pitch_and_yaw_turns_as_one_of_a_quaternion() -> None:
    velocities = []
    for make in (BallRpyJoint, BallQuaternionJoint):
        plant = MultibodyPlant(H)
        body = plant.AddRigidBody("top", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3).Shift([0.0, 0.1, -0.2]))
        plant.AddJoint(make("joint", plant.world_frame(), body.body_frame()))
        plant.Finalize()
        context = plant.CreateDefaultContext()
        plant.SetVelocities(context, [0.1, 0.2, 0.05])
        plant.ExecuteForcedEvents(context)
        velocities.append(plant.GetVelocities(context))
    np.testing.assert_allclose(velocities[0], velocities[1], rtol=1e-6)
