"""Trees that turn by radians in a discrete step, with forces of velocity products as by default, or as in Drake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.geometry import HalfSpace, Sphere
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import (
    FixedOffsetFrame,
    PdControllerGains,
    PrismaticJoint,
    RevoluteJoint,
    SpatialInertia,
    UnitInertia,
    default_model_instance,
)

H = 1e-3


def hang(plant: MultibodyPlant, last: Any, joints: str, *, reflected: float = 0.0, gain: float = 0.0) -> None:
    """Hangs bodies on revolute and prismatic joints, 'r' and 'p', on a body."""
    plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
    for i, kind in enumerate(joints):
        body = plant.AddRigidBody(f"body{i}", rod([0.02, 0.1 * i, 0.15], 0.5 + i))
        X_PF = RigidTransform([0.1, 0.05, 0.2])
        frame = plant.AddFrame(FixedOffsetFrame(f"F{i}", last.body_frame(), X_PF))
        make = RevoluteJoint if kind == "r" else PrismaticJoint
        joint = plant.AddJoint(make(f"joint{i}", frame, body.body_frame(), [0.3, 0.9, -0.2] if i % 2 else [0, 1, 0]))
        motor = plant.AddJointActuator(f"motor{i}", joint)
        motor.set_default_rotor_inertia(reflected)
        if gain > 0.0:
            motor.set_controller_gains(PdControllerGains(p=gain, d=gain))
        last = body


def chain(
    joints: str, *, is_floating: bool, reflected: float = 0.0, is_explicit: bool = False
) -> tuple[MultibodyPlant, Any]:
    """A chain that hangs on the world or on a free body."""
    plant = MultibodyPlant(H)
    plant.SetUseExplicitVelocityProducts(is_explicit)
    last = plant.AddRigidBody("base", rod([0.1, 0.0, 0.02], 0.3)) if is_floating else plant.world_body()
    hang(plant, last, joints, reflected=reflected)
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


def explicit_step(plant: MultibodyPlant, context: Any) -> Any:
    """Velocities after a step of a plant without gravity, damping and actuation: v - h M^-1 C v."""
    bias = np.linalg.solve(plant.CalcMassMatrix(context), plant.CalcBiasTerm(context))
    return plant.GetVelocities(context) - H * bias


@pytest.mark.parametrize("rate", [40.0, 3e3])
@pytest.mark.parametrize("joints", ["rr", "rpr"])
@pytest.mark.parametrize("is_floating", [False, True])
def test_forces_of_velocities_are_explicit_if_asked_for(joints: str, is_floating: bool, rate: float) -> None:
    plant, context = chain(joints, is_floating=is_floating, reflected=0.01, is_explicit=True)
    assert plant.uses_explicit_velocity_products()
    spin(plant, context, rate)
    expected = explicit_step(plant, context)
    plant.ExecuteForcedEvents(context)
    np.testing.assert_allclose(plant.GetVelocities(context), expected, rtol=1e-11, atol=1e-11 * rate)


@pytest.mark.parametrize(("is_explicit", "share", "tolerance"), [(True, 1.0, 1e-12), (False, 0.01, 1e-4)])
@pytest.mark.parametrize("gain", [0.0, 1e-2])
def test_a_fast_controlled_arm_moves_the_same_with_and_without_contact_elsewhere(
    gain: float, is_explicit: bool, share: float, tolerance: float
) -> None:
    velocities = []
    for height in (1.0, 0.099):  # of a ball of radius 0.1 over the ground
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, H)
        plant.SetUseExplicitVelocityProducts(is_explicit)
        hang(plant, plant.world_body(), "rr", gain=gain)
        ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        friction = CoulombFriction(0.5, 0.5)
        plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.1), "ball", friction)
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", friction)
        plant.Finalize()
        diagram = builder.Build()
        root = diagram.CreateDefaultContext()
        context = plant.GetMyMutableContextFromRoot(root)
        plant.get_actuation_input_port().FixValue(context, np.zeros(2))
        if gain > 0.0:
            plant.get_desired_state_input_port(default_model_instance()).FixValue(context, np.zeros(4))
        plant.SetFreeBodyPose(context, ball, RigidTransform([5.0, 0.0, height]))
        for joint, rate in zip(("joint0", "joint1"), (2e3, -3e3), strict=True):
            plant.GetJointByName(joint).set_angular_rate(context, share * rate)
        diagram.ExecuteForcedEvents(root)
        assert plant.get_contact_results_output_port().Eval(context).num_point_pair_contacts() == (height < 0.1)
        velocities.append([plant.GetJointByName(joint).get_angular_rate(context) for joint in ("joint0", "joint1")])
    np.testing.assert_allclose(velocities[1], velocities[0], rtol=tolerance)


@pytest.mark.parametrize(("is_explicit", "rate"), [(True, 2e3), (False, 1.0), (False, 200.0)])
@pytest.mark.parametrize("is_floating", [False, True])
def test_steps_of_fast_trees_have_derivatives(is_floating: bool, is_explicit: bool, rate: float) -> None:
    plant, context = chain("rp", is_floating=is_floating, reflected=0.01, is_explicit=is_explicit)
    spin(plant, context, rate)
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


def test_a_chain_that_is_too_fast_for_its_step_says_which_velocity_has_grown() -> None:
    plant, context = chain("rrr", is_floating=True, is_explicit=True)
    spin(plant, context, 1e5)
    with pytest.raises(RuntimeError, match=r"velocity \S+ has grown to .* time step are too large"):
        for _ in range(20):
            plant.ExecuteForcedEvents(context)
