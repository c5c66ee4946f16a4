"""What plants declare for error-controlled steps, and what stays as it is meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.core.inside import operation_slot
from merganser.framework.math import RigidTransform
from merganser.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere
from merganser.multibody.cenic import CenicIntegrator
from merganser.multibody.contact import ContactKind
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    CoulombFriction,
    DiscreteContactApproximation,
    MultibodyPlant,
)
from merganser.multibody.tree import SpatialInertia

pytest_plugins = ["compile_policy"]


def _add_ball(builder: DiagramBuilder, time_step: float = 0.0) -> MultibodyPlant:
    """A ball that falls on the ground and slides."""
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    material = ProximityProperties()
    AddContactMaterial(0.5, 1e4, CoulombFriction(0.5, 0.5), material)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material)
    body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(0.1), "ball", material)
    plant.SetDefaultFloatingBaseBodyPose(body, RigidTransform([0.0, 0.0, 0.11]))
    if time_step > 0.0:
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kLagged)
    plant.Finalize()
    return plant


def _advance(simulator: Simulator, time: float) -> None:
    integrator = CenicIntegrator(simulator.get_system(), simulator.get_mutable_context())
    integrator.set_maximum_step_size(0.1)
    integrator.set_target_accuracy(1e-4)
    simulator.reset_integrator(integrator)
    simulator.AdvanceTo(time)


class Witness(LeafSystem):
    """Integrates a velocity; notes states of a plant, with what `ask` says of their derivatives."""

    def __init__(self, plant: MultibodyPlant, ask: Callable[[MultibodyPlant, Any], np.ndarray]) -> None:
        super().__init__()
        self.plant, self.ask, self.root = plant, ask, None
        self.noted: list[tuple[np.ndarray, np.ndarray]] = []
        self.DeclareVectorInputPort("x", 13)
        self.DeclareContinuousState(1)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        x = np.array(self.get_input_port().Eval(context))
        if self.root is not None:
            self.noted.append((x, self.ask(self.plant, self.plant.GetMyContextFromRoot(self.root))))
        derivatives.SetFromVector([x[-1]])


def _eval(plant: MultibodyPlant, context: Any) -> np.ndarray:
    return np.array(plant.EvalTimeDerivatives(context).CopyToVector())


def _calc(plant: MultibodyPlant, context: Any) -> np.ndarray:
    derivatives = plant.AllocateTimeDerivatives()
    plant.CalcTimeDerivatives(context, derivatives)
    return np.array(derivatives.CopyToVector())


@pytest.mark.parametrize("ask", [_eval, _calc])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_derivatives_of_a_plant_are_its_derivatives_within_steps(
    ask: Callable[[MultibodyPlant, Any], np.ndarray], is_compiled: bool, request: pytest.FixtureRequest
) -> None:
    if is_compiled:
        request.getfixturevalue("compile_at_once")
    builder = DiagramBuilder()
    plant = _add_ball(builder)
    witness = builder.AddSystem(Witness(plant, ask))
    builder.Connect(plant.get_state_output_port(), witness.get_input_port())
    diagram = builder.Build()
    simulator, other = Simulator(diagram), diagram.CreateDefaultContext()
    plant.SetVelocities(plant.GetMyContextFromRoot(simulator.get_mutable_context()), [0.0, 0.0, 0.0, 1.0, 0.0, -1.0])
    witness.root = simulator.get_mutable_context()
    _advance(simulator, 0.05)
    own = plant.GetMyContextFromRoot(other)
    largest = 0.0
    for x, xdot in witness.noted:
        plant.SetPositionsAndVelocities(own, x)
        expected = plant.EvalTimeDerivatives(own).CopyToVector()
        np.testing.assert_array_equal(xdot, expected)
        largest = max(largest, expected[-1])
    assert len(witness.noted) > 50 and largest > 50.0  # in contact, too


def test_a_step_is_that_of_a_discrete_plant_of_that_length() -> None:
    builder = DiagramBuilder()
    plant = _add_ball(builder)
    context = builder.Build().CreateDefaultContext()
    own: Any = plant.GetMyContextFromRoot(context)
    plant.SetVelocities(own, [0.0, 0.0, 0.0, 1.0, 0.0, -1.0])
    slot = operation_slot(own, "step")
    x, xdot = plant.GetPositionsAndVelocities(own).copy(), plant.EvalTimeDerivatives(own).CopyToVector()
    for h in (1e-2, 2e-2):
        own.slots[slot.entry.arguments.cache_index()].value.value()[0] = h
        context.store.invalid |= slot.bit
        slope = slot.entry.EvalAbstract(own).get_value().CopyToVector()
        builder = DiagramBuilder()
        discrete = _add_ball(builder, h)
        simulator = Simulator(builder.Build())
        its_own = discrete.GetMyContextFromRoot(simulator.get_mutable_context())
        discrete.SetPositionsAndVelocities(its_own, x)
        simulator.AdvanceTo(h)
        np.testing.assert_allclose(x + h * slope, discrete.GetPositionsAndVelocities(its_own), atol=1e-12)
        np.testing.assert_array_equal(plant.EvalTimeDerivatives(own).CopyToVector(), xdot)


def _set_root(source: Any, numbers_in: Any, pose_A: Any, pose_B: Any, pairs_out: Any) -> None:
    pairs_out[0]["phi"] = np.sqrt(pose_A["p_WoBo_W"][2])


def test_a_contact_without_a_gap_is_named_and_the_context_stays() -> None:
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddContact(ContactKind("root", _set_root), body)
    plant.Finalize()
    simulator = Simulator(plant)
    plant.SetPositions(simulator.get_mutable_context(), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.1])
    before = plant.GetPositionsAndVelocities(simulator.get_context()).copy()
    with pytest.raises(RuntimeError, match=r"root contact of bodies 'ball' and 'world' of plant .* no number"):
        _advance(simulator, 0.1)
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(simulator.get_context()), before)


class Windy(MultibodyPlant):
    """A plant with derivatives of its own."""

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        super().DoCalcTimeDerivatives(context, derivatives)
        derivatives.get_mutable_vector().get_mutable_value()[-1] += 1.0


def test_a_plant_with_derivatives_of_its_own_is_refused() -> None:
    plant = Windy(0.0)
    plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.Finalize()
    message = "Plant '::Windy' overrides DoCalcTimeDerivatives, of which steps of contact know nothing"
    with pytest.raises(ValueError, match=message):
        CenicIntegrator(plant, plant.CreateDefaultContext())
