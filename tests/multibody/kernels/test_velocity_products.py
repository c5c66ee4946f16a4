"""Trees of bodies keep their energy in discrete steps, however fast they turn, and where forces act have their work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    BallQuaternionJoint,
    BallRpyJoint,
    FixedOffsetFrame,
    PlanarJoint,
    RevoluteJoint,
    ScrewJoint,
    SpatialInertia,
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


@pytest.mark.parametrize("rate", [1.0, 5.0, 20.0, 60.0, 500.0])
@pytest.mark.parametrize(
    ("joints", "is_floating"),
    [("r", True), ("rr", False), ("b", False), ("u", True), ("s", True), ("l", True), ("rrr", False), ("rurbs", True)],
)
def test_energy_does_not_grow_at_any_rate(joints: str, is_floating: bool, rate: float) -> None:
    """Explicit forces feed all of these without end, the hinged boxes (r) within a second at 20 rad/s."""
    plant = chain(joints, is_floating)
    simulator, context = started(plant, rate)
    before, energies = plant.CalcKineticEnergy(context), []
    p = plant.CalcSpatialMomentumInWorldAboutPoint(context, np.zeros(3)).translational()
    for k in range(1, 11):
        simulator.AdvanceTo(2.0 * k)
        energies.append(plant.CalcKineticEnergy(context) / before)
    assert max(energies) < 1.0 + 1e-4  # 1e-10 a step but for the slowest
    assert min(energies) > (0.999 if rate == 1.0 or (is_floating is False and rate < 60.0) else 0.05)
    if is_floating and rate > 1.0:
        after = plant.CalcSpatialMomentumInWorldAboutPoint(context, np.zeros(3)).translational()
        np.testing.assert_allclose(after, p, atol=1e-3 * np.linalg.norm(p))


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
    before = plant.CalcKineticEnergy(context)
    for _ in range(200):
        v = plant.GetVelocities(context)
        plant.ExecuteForcedEvents(context)
        work += 0.5e-3 * tau @ (v + plant.GetVelocities(context))
    assert plant.CalcKineticEnergy(context) - before == pytest.approx(work, rel=1e-4)
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
