"""Dry friction of joints: closed forms, energy, company of limits and controllers, scalars, the plan and batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from merganser.analysis import BatchSimulator, Simulator
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from merganser.multibody.tree import (
    FixedOffsetFrame,
    PdControllerGains,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    SpatialInertia,
)

pytest_plugins = ["compile_policy"]

APPROXIMATIONS = ["kTamsi", "kSap", "kSimilar", "kLagged"]
MASS, ANGLE, G, H = 2.0, 0.3, 9.81, 1e-3
LOAD = MASS * G * math.sin(ANGLE)


def slider(
    friction: float, time_step: float = H, approximation: str = "kLagged", upper: float = math.inf,
    gains: PdControllerGains | None = None,
) -> tuple[MultibodyPlant, Any]:  # fmt: skip
    """A body on a rail down a slope, whose joint has friction."""
    plant = MultibodyPlant(time_step)
    if time_step > 0.0:
        plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, approximation))
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(MASS, 0.1))
    joint = PrismaticJoint("rail", plant.world_frame(), body.body_frame(), [1.0, 0.0, 0.0], -math.inf, upper)
    joint.set_default_friction(friction)
    plant.AddJoint(joint)
    if gains is not None:
        plant.AddJointActuator("motor", joint).set_controller_gains(gains)
    plant.mutable_gravity_field().set_gravity_vector([G * math.sin(ANGLE), 0.0, -G * math.cos(ANGLE)])
    plant.Finalize()
    return plant, joint


def arm(time_step: float, friction: float = 0.8) -> MultibodyPlant:
    """Two links in the plane of gravity, one of whose joints has limits, and a planar joint beside them."""
    plant = MultibodyPlant(time_step)
    inertia = SpatialInertia.SolidSphereWithMass(1.0, 0.05).Shift(np.array([0.0, 0.0, 0.4]))
    parent = plant.world_frame()
    for name, limit in (("shoulder", math.inf), ("elbow", 1.0)):
        link = plant.AddRigidBody(name, inertia)
        joint = plant.AddJoint(RevoluteJoint(name, parent, link.body_frame(), [0.0, 1.0, 0.0], -limit, limit))
        joint.set_default_friction(friction)
        parent = plant.AddFrame(FixedOffsetFrame(f"{name}_end", link, RigidTransform([0.0, 0.0, -0.4])))
    puck = plant.AddRigidBody("puck", SpatialInertia.SolidSphereWithMass(0.5, 0.1))
    plane = plant.AddJoint(PlanarJoint("plane", plant.world_frame(), puck.body_frame(), [0.0, 0.0, 0.0]))
    plane.set_default_friction_vector([1.0, 0.0, 0.01])
    plant.Finalize()
    return plant


def run(plant: MultibodyPlant, velocities: list[float], time: float, start: float = 0.0) -> Any:
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetVelocities(context, velocities)
    plant.SetPositions(context, np.full(plant.num_positions(), start))
    simulator.AdvanceTo(time)
    return context


@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_joint_sticks_up_to_its_friction_and_slides_beyond_it(approximation: str, time_step: float) -> None:
    plant, joint = slider(1.0001 * LOAD, time_step, approximation)
    context = run(plant, [0.0], 1.0)
    assert abs(joint.get_translation_rate(context)) < 1e-5 * G * time_step
    plant, joint = slider(0.9999 * LOAD, time_step, approximation)
    assert joint.get_translation_rate(run(plant, [0.0], 1.0)) == pytest.approx(1e-4 * LOAD / MASS, rel=1e-9)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_sliding_joint_slows_down_evenly_and_stays_where_it_stops(approximation: str) -> None:
    """v^2 / (2 a) with a = f / m - g sin(angle), up to h v / 2 of semi-implicit steps."""
    plant, joint = slider(2.0 * LOAD, H, approximation)
    way = 1.0 / (2.0 * LOAD / MASS)
    context = run(plant, [1.0], 0.2)
    assert joint.get_translation_rate(context) == pytest.approx(1.0 - 0.2 * LOAD / MASS, rel=1e-9)
    assert joint.get_translation(run(plant, [1.0], 1.0)) == pytest.approx(way, abs=0.6 * H)
    assert joint.get_translation(run(plant, [1.0], 3.0)) == pytest.approx(joint.get_translation(run(plant, [1.0], 1.0)))


def test_continuous_friction_is_smooth_at_rest_and_full_in_motion() -> None:
    plant, joint = slider(2.0 * LOAD, 0.0)
    v_s = 1e-3
    plant.set_stiction_tolerance(v_s)
    context = run(plant, [1.0], 1.0)
    assert joint.get_translation_rate(context) == pytest.approx(v_s / math.sqrt(3.0), rel=0.1)  # f v / s = f / 2
    assert joint.get_translation(context) == pytest.approx(1.0 / (2.0 * LOAD / MASS), rel=5e-3)
    autodiff = plant.ToAutoDiffXd()
    context = autodiff.CreateDefaultContext()
    context.SetContinuousState(InitializeAutoDiff([0.0, 0.0]).ravel())
    A = ExtractGradient(autodiff.EvalTimeDerivatives(context).CopyToVector())
    np.testing.assert_allclose(A, [[0.0, 1.0], [0.0, -2.0 * LOAD / MASS / v_s]], rtol=1e-12)


@pytest.mark.parametrize("time_step", [0.0, 1e-3, 1e-2])
def test_energy_only_goes_down(time_step: float) -> None:
    plant = arm(time_step)
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetVelocities(context, [4.0, -6.0, 1.0, 0.5, 3.0])
    energy = [math.inf]
    for k in range(1, 61):
        energy.append(plant.EvalKineticEnergy(context) + plant.EvalPotentialEnergy(context))
        simulator.AdvanceTo(0.05 * k)
    assert all(np.diff(energy[1:]) < 1e-3)
    still = plant.GetVelocities(context)[:2], plant.GetVelocities(context)[[2, 4]]
    assert np.abs(np.concatenate(still)).max() < 1e-3
    assert plant.GetVelocities(context)[3] == pytest.approx(0.5)  # of the planar joint, the one without friction


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_limit_and_friction_bear_the_load_together(approximation: str) -> None:
    plant, joint = slider(0.5 * LOAD, H, approximation, upper=0.1)
    context = run(plant, [0.5], 1.0, start=0.05)
    assert joint.get_translation(context) == pytest.approx(0.1, abs=1e-4)
    assert abs(joint.get_translation_rate(context)) < 1e-5
    plant, joint = slider(2.0 * LOAD, H, approximation, upper=0.1)
    context = run(plant, [0.0], 0.5, start=0.1)
    assert joint.get_translation(context) == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_controller_is_left_with_an_error_of_the_friction_at_most(approximation: str) -> None:
    plant, joint = slider(3.0, H, approximation, gains=PdControllerGains(p=400.0, d=60.0))
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.get_desired_state_input_port(joint.model_instance()).FixValue(context, [0.2, 0.0])
    simulator.AdvanceTo(3.0)
    # It comes from below: friction opposes the last motion.
    assert joint.get_translation(context) == pytest.approx(0.2 + (LOAD - 3.0) / 400.0, abs=1e-4)
    effort = plant.get_net_actuation_output_port().Eval(context)
    assert effort[0] == pytest.approx(3.0 - LOAD, abs=0.05)


def test_friction_is_reported_as_a_force_of_the_joint() -> None:
    plant, joint = slider(2.0 * LOAD)
    context = run(plant, [0.0], 0.01)
    reaction = plant.get_reaction_forces_output_port().Eval(context)[joint.index()]
    assert reaction.translational()[0] == pytest.approx(-LOAD, rel=1e-5)
    acceleration = plant.get_generalized_acceleration_output_port().Eval(run(plant, [1.0], 0.01))
    assert acceleration[0] == pytest.approx(-LOAD / MASS)


def test_friction_of_a_context_is_that_of_a_plant_built_with_it() -> None:
    for time_step in (0.0, H):
        plant, joint = slider(LOAD, time_step)
        simulator = Simulator(plant)
        context = simulator.get_mutable_context()
        joint.SetFriction(context, 0.25 * LOAD)
        simulator.AdvanceTo(0.1)
        other, _ = slider(0.25 * LOAD, time_step)
        np.testing.assert_array_equal(
            plant.GetPositionsAndVelocities(context), other.GetPositionsAndVelocities(run(other, [0.0], 0.1))
        )
        joint.SetFriction(context, 4.0 * LOAD)
        simulator.AdvanceTo(0.3)
        assert abs(joint.get_translation_rate(context)) < 1e-4
        assert joint.GetFrictionVector(context) == 4.0 * LOAD and joint.default_friction() == LOAD


def test_locked_joints_do_not_mind_friction() -> None:
    plant = arm(H)
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetPositions(context, [1.0, 0.2, 0.0, 0.0, 0.0])
    plant.GetJointByName("shoulder").Lock(context)
    simulator.AdvanceTo(0.1)
    assert plant.GetPositions(context)[0] == 1.0 and np.isfinite(plant.GetPositions(context)).all()


@pytest.mark.parametrize("velocity", [0.0, 1.0])
def test_derivatives_of_a_step_are_those_of_sticking_and_of_sliding(velocity: float) -> None:
    """Sliding, v+ = v + h (g sin(angle) - f / m); sticking, nothing changes v+ but for what stiction gives way."""
    plant, _ = slider(2.0 * LOAD)
    autodiff = plant.ToAutoDiffXd()
    context = autodiff.CreateDefaultContext()
    q, v, f = InitializeAutoDiff([0.0, velocity, 2.0 * LOAD]).ravel()
    autodiff.SetPositionsAndVelocities(context, [q, v])
    autodiff.GetJointByName("rail").SetFriction(context, f)
    autodiff.ExecuteForcedEvents(context)
    derivatives = ExtractGradient(autodiff.GetPositionsAndVelocities(context))
    expected = [0.0, 1.0, -H / MASS] if velocity else [0.0, 0.0, 0.0]
    np.testing.assert_allclose(derivatives[1], expected, atol=1e-5)
    np.testing.assert_allclose(derivatives[0], np.array([1.0, 0.0, 0.0]) + H * derivatives[1], atol=1e-12)


def test_symbolic_plants_know_friction_in_continuous_time_and_warn_of_steps() -> None:
    plant, _ = slider(2.0 * LOAD, 0.0)
    symbolic = plant.ToSymbolic()
    context = symbolic.CreateDefaultContext()
    context.SetContinuousState([0.0, 1.0])
    vdot = symbolic.EvalTimeDerivatives(context).CopyToVector()[1].Evaluate()
    assert vdot == pytest.approx(-LOAD / MASS, rel=1e-6)
    symbolic = slider(2.0 * LOAD)[0].ToSymbolic()
    with pytest.warns(RuntimeWarning, match=r"leave out the dry friction of joints 'rail'"):
        symbolic.ExecuteForcedEvents(symbolic.CreateDefaultContext())


@pytest.mark.usefixtures("compile_at_once")
def test_steps_in_the_plan_and_in_batches_are_those_in_python() -> None:
    for time_step in (0.0, H):
        states = []
        for is_native in (False, True):
            plant = arm(time_step)
            simulator = Simulator(plant)
            simulator.set_use_native_plan(is_native, at_once=True)
            if not is_native:
                plant._dynamics.native.resolve = lambda context: None  # type: ignore[method-assign]
            context = simulator.get_mutable_context()
            plant.SetVelocities(context, [4.0, -6.0, 1.0, 0.5, 3.0])
            start = plant.GetPositionsAndVelocities(context)
            simulator.AdvanceTo(0.3)
            states.append(plant.GetPositionsAndVelocities(context))
        result = BatchSimulator(plant, parallelize=False).simulate(np.stack([start, start], axis=1), 0.3)
        np.testing.assert_array_equal(states[1], states[0])
        np.testing.assert_array_equal(result.states[:, 0], states[0])


@pytest.mark.parametrize("friction", [-1.0, math.nan, math.inf])
def test_wrong_friction_is_refused_and_changes_nothing(friction: float) -> None:
    plant, joint = slider(1.0)
    context = plant.CreateDefaultContext()
    for call in (lambda: joint.set_default_friction(friction), lambda: joint.SetFriction(context, friction)):
        with pytest.raises(RuntimeError, match=r"friction of joint 'rail' must be finite and not negative"):
            call()
    assert joint.default_friction() == joint.GetFriction(context) == 1.0
    with pytest.raises(ValueError, match="friction of joint 'rail'"):
        joint.SetFrictionVector(context, [1.0, 2.0])


def test_a_joint_that_had_no_friction_when_the_plant_was_finalized_gets_none() -> None:
    plant, joint = slider(0.0)
    context = plant.CreateDefaultContext()
    for call in (lambda: joint.set_default_friction(1.0), lambda: joint.SetFriction(context, 1.0)):
        with pytest.raises(RuntimeError, match=r"joint 'rail' cannot get friction.*before Finalize"):
            call()
    joint.SetFriction(context, 0.0)
    assert not len(plant._dynamics.model.contact.frictions)
