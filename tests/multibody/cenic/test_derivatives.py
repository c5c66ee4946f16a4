"""Derivatives of motions under error control: those of the steps that were accepted, whose lengths stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import ApplySimulatorConfig, Simulator_, SimulatorConfig
from merganser.framework import Diagram, DiagramBuilder, EventStatus
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import ConstantVectorSource, Integrator, MatrixGain
from merganser.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere
from merganser.multibody.cenic import CenicIntegrator, CenicIntegrator_, IcfSolverParameters
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import PdControllerGains, PrismaticJoint, RevoluteJoint, SpatialInertia

G = 9.81


def _ground(
    plant: MultibodyPlant, friction: float, stiffness: float = 1e4, dissipation: float = 0.0
) -> ProximityProperties:
    material = ProximityProperties()
    AddContactMaterial(dissipation, stiffness, CoulombFriction(friction, friction), material)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material)
    return material


def ball(plant: MultibodyPlant) -> None:
    """A ball that hits the ground obliquely, spinning."""
    material = _ground(plant, 0.4, dissipation=0.3)
    body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(0.1), "ball", material)


def hopper(plant: MultibodyPlant) -> None:
    """A leg on a rail, with a limited, PD-controlled and damped hip, that lands on its foot."""
    material = _ground(plant, 0.6, dissipation=0.5)
    base = plant.AddRigidBody("base", SpatialInertia.SolidCubeWithMass(2.0, 0.1))
    leg = plant.AddRigidBody("leg", SpatialInertia.SolidBoxWithMass(0.5, 0.05, 0.05, 0.4))
    plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), base.body_frame(), [0.0, 0.0, 1.0]))
    plant.AddJoint(RevoluteJoint("hip", base.body_frame(), leg.body_frame(), [0.0, 1.0, 0.0], -0.3, 0.35, 0.1))
    plant.RegisterCollisionGeometry(leg, RigidTransform([0.0, 0.0, -0.3]), Sphere(0.02), "foot", material)
    motor = plant.AddJointActuator("motor", plant.GetJointByName("hip"), 5.0)
    motor.set_controller_gains(PdControllerGains(p=20.0, d=0.5))


STARTS = {
    ball: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.13, 1.0, 2.0, 0.3, 0.7, 0.1, -1.0],
    hopper: [0.33, 0.3, -0.5, 3.0],
}


def _diagram(scene: Callable[[MultibodyPlant], None], time_step: float = 0.0) -> Diagram:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    scene(plant)
    plant.Finalize()
    if plant.num_actuators():
        desired = builder.AddSystem(ConstantVectorSource([0.2, 0.0]))
        instance = plant.GetJointActuatorByName("motor").model_instance()
        builder.Connect(desired.get_output_port(), plant.get_desired_state_input_port(instance))
    return builder.Build()


def _simulator(diagram: Diagram, start: np.ndarray, accuracy: float) -> Any:
    """A simulator of AutoDiffXd, with derivatives by the start."""
    simulator = Simulator_[AutoDiffXd](diagram.ToAutoDiffXd())
    config = SimulatorConfig(integration_scheme="cenic", accuracy=accuracy, max_step_size=0.1)
    ApplySimulatorConfig(config, simulator)
    simulator.get_mutable_context().SetContinuousState(InitializeAutoDiff(start).ravel())
    return simulator


def _end(simulator: Any) -> np.ndarray:
    return simulator.get_context().get_continuous_state_vector().CopyToVector()


def _lengths_of_steps(simulator: Any, time: float) -> list[float]:
    """Simulates; the lengths of the steps."""
    times = [0.0]
    simulator.set_monitor(lambda root: times.append(ExtractValue([root.get_time()]).item()) or EventStatus.DidNothing())
    simulator.Initialize()
    simulator.AdvanceTo(time)
    ends = np.unique(times)
    assert simulator.get_integrator().get_num_steps_taken() == len(ends) - 1
    return np.diff(ends).tolist()


def _end_of_steps(diagram: Diagram, start: np.ndarray, lengths: list[float]) -> np.ndarray:
    """The state after steps of floats with these lengths, whatever their errors are."""
    context = diagram.CreateDefaultContext()
    context.SetContinuousState(start)
    integrator = CenicIntegrator(diagram, context)
    integrator.set_target_accuracy(1e-12)
    integrator.set_throw_on_minimum_step_size_violation(False)
    integrator.SetSolverParameters(IcfSolverParameters(min_tolerance=1e-15))
    for h in lengths:
        integrator.set_maximum_step_size(h)
        integrator.set_requested_minimum_step_size(h)
        integrator.request_initial_step_size_target(h)
        integrator.Initialize()
        integrator.IntegrateWithMultipleStepsToTime(context.get_time() + h)
    assert integrator.get_num_steps_taken() == len(lengths)
    return context.get_continuous_state_vector().CopyToVector()


@pytest.mark.parametrize("scene", [ball, hopper], ids=lambda scene: scene.__name__)
def test_derivatives_are_those_of_the_accepted_steps(scene: Callable[[MultibodyPlant], None]) -> None:
    diagram, start = _diagram(scene), np.array(STARTS[scene])
    simulator = _simulator(diagram, start, 1e-3)
    lengths = _lengths_of_steps(simulator, 0.12)
    end = _end(simulator)
    assert dict(simulator.get_integrator().GetStatisticsSummary())["cenic_total_solver_iterations"] > 0
    assert len(set(np.round(lengths, 9))) > 5  # they follow from the accuracy
    np.testing.assert_allclose(ExtractValue(end).ravel(), _end_of_steps(diagram, start, lengths), rtol=0.0, atol=1e-6)
    step, slopes = 1e-6, []
    for direction in np.eye(len(start)):
        ahead, behind = (_end_of_steps(diagram, start + sign * step * direction, lengths) for sign in (1.0, -1.0))
        slopes.append((ahead - behind) / (2.0 * step))
    expected = np.transpose(slopes)  # up to 20
    np.testing.assert_allclose(ExtractGradient(end), expected, rtol=0.0, atol=1e-4)


def test_derivatives_of_free_flight_are_exact() -> None:
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    plant.AddRigidBody("box", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3))
    plant.Finalize()
    way = builder.AddSystem(Integrator(13))  # state outside the plant
    builder.Connect(plant.get_state_output_port(), way.get_input_port())
    start, time = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3, 0.0, 0.0, 2.0, 1.0, -0.5, 2.0, *np.zeros(13)]), 0.4
    simulator = _simulator(builder.Build(), start, 1e-4)
    simulator.Initialize()
    simulator.AdvanceTo(time)
    end, eye = _end(simulator), np.eye(26)
    np.testing.assert_allclose(ExtractValue(end[6:7]), [[0.3 + 2.0 * time - 0.5 * G * time**2]], atol=1e-12)
    np.testing.assert_allclose(ExtractGradient(end[4:7]), eye[4:7] + time * eye[10:13], atol=1e-12)
    np.testing.assert_allclose(ExtractGradient(end[10:13]), eye[10:13], atol=1e-12)
    moved = eye[23:26] + time * eye[10:13]  # the integral of the velocity
    np.testing.assert_allclose(ExtractGradient(end[23:26]), moved, atol=1e-12)


def test_inputs_and_masses_have_derivatives() -> None:
    """x = F t^2 / 2 m, within limits of the joint."""
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    cart = plant.AddRigidBody("cart", SpatialInertia.SolidCubeWithMass(2.0, 0.1))
    rail = PrismaticJoint("rail", plant.world_frame(), cart.body_frame(), [1.0, 0.0, 0.0], -1.0, 1.0)
    plant.AddJointActuator("motor", plant.AddJoint(rail))
    plant.Finalize()
    simulator = _simulator(builder.Build(), np.zeros(2), 1e-4)
    (plant,) = simulator.get_system().GetSystems()
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    context.SetContinuousState([AutoDiffXd(0.0), AutoDiffXd(0.0)])
    force, mass = InitializeAutoDiff([3.0, 2.0]).ravel()
    plant.get_actuation_input_port().FixValue(context, [force])
    plant.GetBodyByName("cart").SetMass(context, mass)
    simulator.Initialize()
    simulator.AdvanceTo(0.5)
    expected = [[0.25 / 4.0, -0.25 * 3.0 / 8.0], [0.5 / 2.0, -0.5 * 3.0 / 4.0]]
    np.testing.assert_allclose(ExtractGradient(_end(simulator)), expected, atol=1e-12)


def _on_a_rail(stiffness: float, gravity: float) -> Callable[[MultibodyPlant], None]:
    """A ball of 1 kg that moves up and down, on ground that is a spring."""

    def fill(plant: MultibodyPlant) -> None:
        plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -gravity])
        material = _ground(plant, 0.0, stiffness=2.0 * stiffness)  # in series with that of the ball
        body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), body.body_frame(), [0.0, 0.0, 1.0]))
        plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(0.1), "ball", material)

    return fill


def test_derivatives_in_contact_are_those_of_an_oscillator() -> None:
    omega, time = 30.0, 0.15
    rest = 0.1 - G / omega**2
    simulator = _simulator(_diagram(_on_a_rail(omega**2, G)), np.array([rest + 5e-3, 0.1]), 1e-5)
    simulator.Initialize()
    simulator.AdvanceTo(time)
    c, s = np.cos(omega * time), np.sin(omega * time)
    expected = np.array([[c, s / omega], [-omega * s, c]])
    np.testing.assert_allclose(ExtractValue(_end(simulator)).ravel(), [rest, 0.0] + expected @ [5e-3, 0.1], atol=1e-3)
    np.testing.assert_allclose(ExtractGradient(_end(simulator)), expected, atol=1e-3 * omega)


def test_derivatives_know_when_a_ball_meets_a_spring() -> None:
    """Without gravity it is back after the time T - t_1 - pi / omega, with t_1 = gap / speed."""
    omega, gap, speed, time = 14.0, 0.05, 1.0, 0.3
    simulator = _simulator(_diagram(_on_a_rail(omega**2, 0.0)), np.array([0.1 + gap, -speed]), 1e-5)
    simulator.Initialize()
    simulator.AdvanceTo(time)
    way = time - np.pi / omega
    np.testing.assert_allclose(ExtractValue(_end(simulator)).ravel(), [0.1 + speed * way - gap, speed], atol=1e-3)
    errors = ExtractGradient(_end(simulator)) - [[-1.0, -way], [0.0, -1.0]]
    assert (np.abs(errors) < 0.04 * np.array([[1.0, 1.0 / omega], [omega, 1.0]])).all()  # that contact begins


def test_a_fixed_step_has_the_derivatives_of_a_discrete_step() -> None:
    h, start = 2e-3, np.array(STARTS[hopper])
    diagram = _diagram(hopper).ToAutoDiffXd()
    context = diagram.CreateDefaultContext()
    context.SetContinuousState(InitializeAutoDiff(start).ravel())
    integrator = CenicIntegrator_[AutoDiffXd](diagram, context)
    integrator.set_maximum_step_size(h)
    integrator.set_fixed_step_mode(True)
    integrator.Initialize()
    integrator.IntegrateWithMultipleStepsToTime(30 * h)
    discrete = _diagram(hopper, h).ToAutoDiffXd()
    simulator = Simulator_[AutoDiffXd](discrete)
    simulator.get_mutable_context().SetDiscreteState(InitializeAutoDiff(start).ravel())
    simulator.AdvanceTo(29.5 * h)
    end, expected = (x.CopyToVector() for x in (
        context.get_continuous_state_vector(), simulator.get_context().get_discrete_state_vector(),
    ))  # fmt: skip
    np.testing.assert_allclose(ExtractValue(end), ExtractValue(expected), atol=1e-10)
    np.testing.assert_allclose(ExtractGradient(end), ExtractGradient(expected), atol=1e-8)


def test_reported_forces_balance_with_their_derivatives() -> None:
    """Sum of forces = m (a - g), of the last accepted step."""
    diagram = _diagram(ball)
    simulator = _simulator(diagram, np.array(STARTS[ball]), 1e-3)
    simulator.Initialize()
    simulator.AdvanceTo(0.035)
    plant = simulator.get_system().GetSubsystemByName("plant")
    context = plant.GetMyContextFromRoot(simulator.get_context())
    results = plant.get_contact_results_output_port().Eval(context)
    assert results.num_point_pair_contacts() == 1
    contact = results.point_pair_contact_info(0)
    sign = 1.0 if plant.get_body(contact.bodyB_index()).name() == "ball" else -1.0
    force = sign * contact.contact_force()
    a = plant.get_generalized_acceleration_output_port(plant.GetModelInstanceByName("DefaultModelInstance"))
    balance = a.Eval(context)[3:] + [0.0, 0.0, G] - force
    assert ExtractValue(force[2:]).item() > 10.0 and np.abs(ExtractGradient(force)).max() > 100.0
    np.testing.assert_allclose(ExtractValue(balance), 0.0, atol=1e-8)
    np.testing.assert_allclose(ExtractGradient(balance), 0.0, atol=1e-5)


def test_inputs_that_follow_the_state_are_refused_with_a_reason() -> None:
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    cart = plant.AddRigidBody("cart", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), cart.body_frame(), [1.0, 0.0, 0.0]))
    plant.AddJointActuator("motor", plant.GetJointByName("rail"))
    plant.Finalize()
    gain = builder.AddSystem(MatrixGain(np.array([[-10.0, -1.0]])))
    builder.Connect(plant.get_state_output_port(), gain.get_input_port())
    builder.Connect(gain.get_output_port(), plant.get_actuation_input_port())
    simulator = _simulator(builder.Build(), np.array([0.1, 0.0]), 1e-3)
    with pytest.raises(RuntimeError, match=r"forces that come through its input ports follow its state"):
        simulator.Initialize()
    assert ExtractValue(_end(simulator)).ravel().tolist() == [0.1, 0.0]
