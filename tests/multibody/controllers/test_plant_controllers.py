"""Controllers that know a plant keep their promises about the closed loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.multibody.controllers import InverseDynamics, InverseDynamicsController, JointStiffnessController
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant

MODELS = Path(__file__).resolve().parents[3] / "examples" / "models"


def make_plant(model: str = "arm7.urdf", finalize: bool = True) -> MultibodyPlant:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(MODELS / model))
    if finalize:
        plant.Finalize()
    return plant


@pytest.fixture(scope="module")
def arm() -> MultibodyPlant:
    return make_plant()


def closed_loop(plant: MultibodyPlant, controller: Any, x_d: Any) -> tuple[Any, Any]:
    """The plant under a controller, at a random state; returns diagram and root context."""
    builder = DiagramBuilder()
    builder.AddSystem(plant)
    builder.AddSystem(controller)
    builder.Connect(plant.get_state_output_port(), controller.get_input_port(0))
    builder.Connect(controller.get_output_port(0), plant.get_actuation_input_port())
    builder.ExportInput(controller.get_input_port(1), "desired_state")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, x_d)
    x = np.random.default_rng(2).uniform(-0.4, 0.4, 14)
    plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(context), x)
    return diagram, context


def test_desired_accelerations_come_about() -> None:
    """vdot = kp (q_d - q) + ki z + kd (v_d - v), with the model that is simulated."""
    plant = make_plant()
    kp, ki, kd = np.random.default_rng(1).uniform(0.5, 3.0, (3, 7))
    controller = InverseDynamicsController(plant, kp, ki, kd, has_reference_acceleration=False)
    x_d, z = np.linspace(-0.3, 0.3, 14), np.linspace(0.0, 1.0, 7)
    diagram, context = closed_loop(plant, controller, x_d)
    controller.set_integral_value(controller.GetMyMutableContextFromRoot(context), z)
    x = plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(context))
    error = x_d - x
    vdot = diagram.EvalTimeDerivatives(context).get_generalized_velocity().CopyToVector()
    np.testing.assert_allclose(vdot, kp * error[:7] + ki * z + kd * error[7:], atol=1e-9)


def test_the_robot_follows_its_commands() -> None:
    plant = make_plant()
    controller = InverseDynamicsController(plant, 25.0 * np.ones(7), np.zeros(7), 10.0 * np.ones(7), False)
    q_d = np.linspace(-0.3, 0.3, 7)
    diagram, context = closed_loop(plant, controller, np.concatenate([q_d, np.zeros(7)]))
    simulator = Simulator(diagram, context)
    simulator.AdvanceTo(3.0)
    q = plant.GetPositions(plant.GetMyContextFromRoot(context))
    np.testing.assert_allclose(q, q_d, atol=1e-4)


def test_a_robot_without_joints_has_a_controller_without_commands() -> None:
    plant = MultibodyPlant(0.0)
    plant.Finalize()
    controller = InverseDynamicsController(plant, [], [], [], has_reference_acceleration=False)
    context = controller.CreateDefaultContext()
    for port in (controller.get_input_port_estimated_state(), controller.get_input_port_desired_state()):
        port.FixValue(context, [])
    assert controller.get_output_port_control().Eval(context).shape == (0,)
    assert controller.get_output_port_generalized_force().Eval(context).shape == (0,)


def test_stiff_joints_are_springs_and_dampers() -> None:
    """M vdot + C v + kp (q - q_d) + kd (v - v_d) = 0."""
    plant = make_plant()
    kp, kd = np.random.default_rng(1).uniform(0.5, 3.0, (2, 7))
    x_d = np.linspace(-0.3, 0.3, 14)
    diagram, context = closed_loop(plant, JointStiffnessController(plant, kp, kd), x_d)
    mine = plant.GetMyContextFromRoot(context)
    error = plant.GetPositionsAndVelocities(mine) - x_d
    vdot = diagram.EvalTimeDerivatives(context).get_generalized_velocity().CopyToVector()
    residual = plant.CalcMassMatrix(mine) @ vdot + plant.CalcBiasTerm(mine) + kp * error[:7] + kd * error[7:]
    np.testing.assert_allclose(residual, 0.0, atol=1e-9)


def test_parameters_come_from_the_context_given_and_are_copied(arm: MultibodyPlant) -> None:
    light = arm.CreateDefaultContext()
    body = arm.get_body(arm.GetBodyIndices(arm.get_joint(arm.GetJointIndices()[-1]).model_instance())[-1])
    compensation = InverseDynamics(arm, InverseDynamics.kGravityCompensation)
    body.SetMass(light, 0.5 * body.get_mass(light))
    arm.SetPositions(light, 0.5 * np.ones(7))
    with_light = InverseDynamics(arm, InverseDynamics.kGravityCompensation, light)
    expected = -arm.CalcGravityGeneralizedForces(light)
    body.SetMass(light, 100.0)
    forces = []
    for system in (with_light, compensation):
        context = system.CreateDefaultContext()
        system.get_input_port().FixValue(context, [0.5] * 7 + [0.0] * 7)
        forces.append(system.get_output_port().Eval(context))
    np.testing.assert_allclose(forces[0], expected, atol=1e-12)
    assert not np.allclose(*forces)


def test_contexts_of_one_controller_do_not_disturb_each_other(arm: MultibodyPlant) -> None:
    system = InverseDynamics(arm, InverseDynamics.kGravityCompensation)
    contexts = [system.CreateDefaultContext() for _ in range(2)]
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 14))
    for context, state in zip(contexts, states):
        system.get_input_port().FixValue(context, state)
    first = system.get_output_port().Eval(contexts[0]).copy()
    system.get_output_port().Eval(contexts[1])
    np.testing.assert_array_equal(system.get_output_port().Eval(contexts[0]), first)
    clone = contexts[0].Clone()
    system.get_input_port().FixValue(clone, states[1])
    np.testing.assert_array_equal(
        system.get_output_port().Eval(clone), system.get_output_port().Eval(contexts[1])
    )


def test_what_a_controller_cannot_do_is_refused_with_the_reason(arm: MultibodyPlant) -> None:
    ones = np.ones(7)
    with pytest.raises(RuntimeError, match="not finalized"):
        InverseDynamics(make_plant(finalize=False))
    with pytest.raises(TypeError, match="InverseDynamicsMode"):
        InverseDynamics(arm, 1)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="7 finite numbers"):
        InverseDynamicsController(arm, ones, ones, np.ones(6), True)
    cart_pole = make_plant("cart_pole.sdf")
    for make in (
        lambda: InverseDynamicsController(cart_pole, [1, 1], [1, 1], [1, 1], False),
        lambda: JointStiffnessController(cart_pole, [1, 1], [1, 1]),
    ):
        with pytest.raises(RuntimeError, match="2, 2 and 1"):
            make()
    with pytest.raises(RuntimeError, match="has_reference_acceleration=True"):
        InverseDynamicsController(arm, ones, ones, ones, False).get_input_port_desired_acceleration()
    with pytest.raises(RuntimeError, match="gravity only"):
        InverseDynamics(arm, InverseDynamics.kGravityCompensation).get_input_port_desired_acceleration()
    with pytest.raises(ValueError):
        InverseDynamics(arm, plant_context=cart_pole.CreateDefaultContext())
