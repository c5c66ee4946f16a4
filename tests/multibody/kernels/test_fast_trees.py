"""Trees of bodies on joints that turn fast are fed no energy in discrete steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, PrismaticJoint, RevoluteJoint, SpatialInertia, UnitInertia

H = 1e-3
EXCESS = 1.05  # of energy in a step: more than explicit forces feed to trees below the threshold of speed


def chain(joints: str, *, is_floating: bool, reflected: float = 0.0) -> tuple[MultibodyPlant, Any]:
    """Bodies on revolute and prismatic joints, 'r' and 'p', that hang on the world or on a free body."""
    plant = MultibodyPlant(H)
    plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
    last = plant.world_body()
    if is_floating:
        last = plant.AddRigidBody("base", rod([0.1, 0.0, 0.02], 0.3))
    for i, kind in enumerate(joints):
        body = plant.AddRigidBody(f"body{i}", rod([0.02, 0.1 * i, 0.15], 0.5 + i))
        X_PF = RigidTransform([0.1, 0.05, 0.2])
        frame = plant.AddFrame(FixedOffsetFrame(f"F{i}", last.body_frame(), X_PF))
        make = RevoluteJoint if kind == "r" else PrismaticJoint
        joint = plant.AddJoint(make(f"joint{i}", frame, body.body_frame(), [0.3, 0.9, -0.2] if i % 2 else [0, 1, 0]))
        plant.AddJointActuator(f"motor{i}", joint).set_default_rotor_inertia(reflected)
        last = body
    plant.Finalize()
    return plant, resting_context(plant)


def resting_context(plant: Any) -> Any:
    """A context without actuation."""
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, np.zeros(plant.num_actuators()))
    return context


def rod(p_BoBcm_B: list[float], mass: float) -> SpatialInertia:
    unit = UnitInertia.SolidBox(0.01, 0.05, 0.3).ShiftFromCenterOfMass(np.array(p_BoBcm_B))
    return SpatialInertia(mass, np.array(p_BoBcm_B), unit)


def spin(plant: MultibodyPlant, context: Any, rate: float, seed: int = 3) -> None:
    """Random velocities; those of prismatic joints, and of a base through space, in metres per second."""
    rng = np.random.default_rng(seed)
    v = rate * rng.uniform(-1.0, 1.0, plant.num_velocities())
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        if joint.type_name() == "prismatic":
            v[joint.velocity_start()] *= 0.01
        elif joint.num_velocities() == 6:
            v[joint.velocity_start() + 3 : joint.velocity_start() + 6] = [1.0, -2.0, 3.0]
    plant.SetVelocities(context, v)


def measure(plant: MultibodyPlant, context: Any, q: Any, v: Any) -> tuple[float, Any]:
    """Kinetic energy about the centre of mass of a floating chain, or of a fixed one in all, and linear momentum."""
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    energy = plant.CalcKineticEnergy(context)
    momentum = plant.CalcSpatialMomentumInWorldAboutPoint(context, [0.0, 0.0, 0.0]).translational()
    if plant.HasBodyNamed("base"):
        energy -= 0.5 * momentum @ momentum / plant.CalcTotalMass(context)
    return energy, momentum


def steps(plant: MultibodyPlant, context: Any, count: int) -> list[tuple[float, Any]]:
    """What each step leaves: energy and momentum of the velocities after it in the pose before it."""
    other = resting_context(plant)
    found = []
    for _ in range(count):
        q = plant.GetPositions(context)
        plant.ExecuteForcedEvents(context)
        found.append(measure(plant, other, q, plant.GetVelocities(context)))
    return found


@pytest.mark.parametrize("rate", [3e3, 1e5])
@pytest.mark.parametrize("joints", ["rr", "rp", "rrr"])
@pytest.mark.parametrize("is_floating", [False, True])
def test_fast_trees_are_not_fed_energy(joints: str, is_floating: bool, rate: float) -> None:
    plant, context = chain(joints, is_floating=is_floating)
    spin(plant, context, rate)
    energies = np.array([energy for energy, _ in steps(plant, context, 100)])
    assert np.all(energies > 0.0) and np.all(energies[1:] <= EXCESS * energies[:-1])
    assert energies.max() < 2.0 * energies[0]


def test_a_fast_floating_tree_keeps_its_momentum() -> None:
    plant, context = chain("rr", is_floating=True)
    spin(plant, context, 1e4)
    momenta = np.array([momentum for _, momentum in steps(plant, context, 50)])
    np.testing.assert_allclose(momenta, momenta[:1].repeat(50, axis=0), atol=1e-9 * 1e4)


@pytest.mark.parametrize("is_floating", [False, True])
def test_slow_trees_keep_explicit_forces(is_floating: bool) -> None:
    plant, context = chain("rpr", is_floating=is_floating, reflected=0.01)
    spin(plant, context, 40.0)
    v = plant.GetVelocities(context)
    expected = v - H * np.linalg.solve(plant.CalcMassMatrix(context), plant.CalcBiasTerm(context))
    plant.ExecuteForcedEvents(context)
    np.testing.assert_allclose(plant.GetVelocities(context), expected, rtol=1e-12, atol=1e-12)


def test_a_fast_wheel_on_a_slow_body_keeps_explicit_forces() -> None:
    """As its inertia hardly changes, forces do not feed it."""
    plant = MultibodyPlant(H)
    body = plant.AddRigidBody("body", rod([0.0, 0.0, 0.0], 10.0))
    wheel = plant.AddRigidBody("wheel", SpatialInertia.SolidCylinderWithMass(0.1, 0.1, 0.01, [0.0, 0.0, 1.0]))
    plant.AddJoint(RevoluteJoint("axle", body.body_frame(), wheel.body_frame(), [0.0, 0.0, 1.0]))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetVelocities(context, [0.1, 0.2, -0.1, 1.0, 2.0, 3.0, 900.0])
    v = plant.GetVelocities(context)
    forces = plant.CalcGravityGeneralizedForces(context) - plant.CalcBiasTerm(context)
    expected = v + H * np.linalg.solve(plant.CalcMassMatrix(context), forces)
    plant.ExecuteForcedEvents(context)
    np.testing.assert_allclose(plant.GetVelocities(context), expected, rtol=1e-11)


def test_other_forces_act_on_a_fast_tree_as_on_a_slow_one() -> None:
    velocities = []
    for torque in (0.0, 5.0):
        plant, context = chain("rr", is_floating=False)
        spin(plant, context, 2e3)
        plant.get_actuation_input_port().FixValue(context, [torque, 0.0])
        acceleration = np.linalg.solve(plant.CalcMassMatrix(context), [torque, 0.0])
        plant.ExecuteForcedEvents(context)
        velocities.append(plant.GetVelocities(context) - H * acceleration)
    np.testing.assert_allclose(velocities[1], velocities[0], rtol=1e-12)


@pytest.mark.parametrize("is_floating", [False, True])
def test_derivatives_go_through_fast_trees(is_floating: bool) -> None:
    plant, context = chain("rp", is_floating=is_floating, reflected=0.01)
    spin(plant, context, 2e3)
    x = plant.GetPositionsAndVelocities(context)

    def next_state(x: Any) -> Any:
        plant.SetPositionsAndVelocities(context, x)
        plant.ExecuteForcedEvents(context)
        return plant.GetPositionsAndVelocities(context)

    other = plant.ToAutoDiffXd()
    other_context = resting_context(other)
    other.SetPositionsAndVelocities(other_context, InitializeAutoDiff(x).ravel())
    other.ExecuteForcedEvents(other_context)
    gradient = ExtractGradient(other.GetPositionsAndVelocities(other_context))
    for k in range(len(x)):
        d = np.zeros(len(x))
        d[k] = 1e-6 * max(1.0, abs(x[k]))
        differences = (next_state(x + d) - next_state(x - d)) / (2.0 * d[k])
        np.testing.assert_allclose(gradient[:, k], differences, atol=1e-5 * (1.0 + np.abs(differences).max()))
