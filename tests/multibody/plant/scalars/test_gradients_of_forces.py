"""Derivatives of the forces of a step, which are computed only when a force is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.geometry import HalfSpace, Sphere
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.plant.scalars.lanes import LaneStep
from merganser.multibody.tree import SpatialInertia

Array = np.ndarray
NUM_STEPS = 5


@pytest.fixture(scope="module")
def diagram() -> Any:
    """A ball that falls on the ground, of AutoDiffXd."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 2e-3)
    plant.set_name("plant")
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.3, 0.1))
    for body, shape in ((plant.world_body(), HalfSpace()), (ball, Sphere(0.1))):
        friction = CoulombFriction(0.5, 0.5)
        plant.RegisterCollisionGeometry(body, RigidTransform(), shape, body.name(), friction)
    plant.Finalize()
    return builder.Build().ToAutoDiffXd()


def start(diagram: Any) -> Any:
    """A Context in which the ball slides and sinks in, differentiated by its state."""
    context = diagram.CreateDefaultContext()
    plant = diagram.GetSubsystemByName("plant")
    x = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.0985, 0.3, -0.2, 0.1, 0.4, 0.2, -0.3])
    plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(context), InitializeAutoDiff(x).ravel())
    return context


def forces_in(diagram: Any, context: Any) -> Array:
    """Forces of the last step: at the contact, on the joint of the ball, and along its velocities."""
    plant = diagram.GetSubsystemByName("plant")
    mine = plant.GetMyContextFromRoot(context)
    contact = plant.get_contact_results_output_port().Eval(mine).point_pair_contact_info(0)
    (reaction,) = plant.get_reaction_forces_output_port().Eval(mine)
    tau = plant.get_generalized_contact_forces_output_port(plant.GetBodyByName("ball").model_instance()).Eval(mine)
    return np.concatenate([contact.contact_force(), [contact.slip_speed()], reaction.translational(), tau])


def test_a_simulation_that_reads_no_forces_has_none_computed(diagram: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[LaneStep] = []
    compute = LaneStep.forces
    monkeypatch.setattr(LaneStep, "forces", lambda step: read.append(step) or compute(step))
    context = start(diagram)
    for _ in range(NUM_STEPS):
        diagram.ExecuteForcedEvents(context)
    assert not read
    assert np.abs(ExtractGradient(forces_in(diagram, context))).max() > 1.0
    assert len(set(map(id, read))) == 1


def test_forces_of_a_step_are_those_of_that_step_whenever_they_are_read(diagram: Any) -> None:
    context, at_once, kept = start(diagram), [], []
    for _ in range(NUM_STEPS):
        diagram.ExecuteForcedEvents(context)
        at_once.append(forces_in(diagram, context))
    context = start(diagram)
    for _ in range(NUM_STEPS):
        diagram.ExecuteForcedEvents(context)
        kept.append(context.Clone())
    late = [forces_in(diagram, each) for each in reversed(kept)][::-1]
    for mine, theirs in zip(late, at_once):
        np.testing.assert_array_equal(ExtractValue(mine), ExtractValue(theirs))
        np.testing.assert_array_equal(ExtractGradient(mine), ExtractGradient(theirs))
