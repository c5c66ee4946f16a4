"""Derivatives with contact, loops and constraints in the native plan: as in Python, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from merganser.analysis import RungeKutta3Integrator, Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import LogVectorOutput
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    HalfSpace,
    ProximityProperties,
    Sphere,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, LinearSpringDamper, RevoluteJoint, SpatialInertia

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")

Build = Callable[[MultibodyPlant], None]
Y = np.array([0.0, 1.0, 0.0])


def _material() -> ProximityProperties:
    properties = ProximityProperties()
    AddContactMaterial(dissipation=5.0, point_stiffness=1e5, friction=CoulombFriction(0.6, 0.5), properties=properties)
    return properties


def boxes(plant: MultibodyPlant) -> None:
    """A box that a spring pulls over the ground, with a ball on it."""
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", _material())
    box = plant.AddRigidBody("box", SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.2, 0.1))
    plant.RegisterCollisionGeometry(box, RigidTransform(), Box(0.2, 0.2, 0.1), "box", _material())
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(0.3, 0.05))
    plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.05), "ball", _material())
    plant.AddForceElement(
        LinearSpringDamper(plant.world_body(), np.array([1.0, 0, 0.2]), box, np.zeros(3), 0.5, 30.0, 1.0)
    )
    plant.SetDefaultFloatingBaseBodyPose(box, RigidTransform([0.0, 0.0, 0.06]))
    plant.SetDefaultFloatingBaseBodyPose(ball, RigidTransform([0.02, 0.01, 0.165]))


def soft_ball(plant: MultibodyPlant) -> None:
    """A compliant ball on a rigid table."""
    table, soft = _material(), _material()
    AddRigidHydroelasticProperties(0.1, table)
    AddCompliantHydroelasticProperties(0.05, 1e5, soft)
    plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
    plant.RegisterCollisionGeometry(
        plant.world_body(), RigidTransform([0, 0, -0.05]), Box(1.0, 1.0, 0.1), "table", table
    )
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(0.5, 0.1))
    plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.1), "ball", soft)
    plant.SetDefaultFloatingBaseBodyPose(ball, RigidTransform([0.0, 0.0, 0.11]))


def four_bar(plant: MultibodyPlant) -> None:
    """A four-bar linkage, closed by a loop joint, that falls onto the ground."""
    rod = SpatialInertia.SolidBoxWithMass(0.5, 0.4, 0.04, 0.04)
    links = [plant.AddRigidBody(f"link{k}", rod) for k in range(3)]
    ends = [plant.world_frame()] + [link.body_frame() for link in links]
    offsets = [[-0.2, 0.0, 0.5], [0.2, 0, 0], [0.2, 0, 0]]
    for k, (parent, child) in enumerate(pairwise(ends)):
        plant.AddJoint(
            RevoluteJoint(f"hinge{k}", plant.AddFrame(_at(parent, offsets[k], f"out{k}")),
                          plant.AddFrame(_at(child, [-0.2, 0, 0], f"in{k}")), Y)
        )  # fmt: skip
    plant.AddLoopJoint(
        RevoluteJoint("closing", plant.AddFrame(_at(plant.world_frame(), [0.2, 0, 0.5], "pin")),
                      plant.AddFrame(_at(links[2].body_frame(), [0.2, 0, 0], "end")), Y)
    )  # fmt: skip
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", _material())
    plant.RegisterCollisionGeometry(links[1], RigidTransform(), Sphere(0.105), "bumper", _material())


def _at(frame: Any, p: list[float], name: str) -> Any:
    return FixedOffsetFrame(name, frame, RigidTransform(np.array(p, float)))


def run(build: Build, way: str, end: float) -> tuple[MultibodyPlant, list[Any]]:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    build(plant)
    plant.Finalize()
    log = LogVectorOutput(plant.get_state_output_port(), builder, 0.01)
    simulator = Simulator(builder.Build())
    integrator = RungeKutta3Integrator(simulator.get_system(), simulator.get_mutable_context())
    simulator.reset_integrator(integrator)
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(5e-4)
    simulator.set_use_native_plan(way == "always", at_once=True)
    if way == "never":
        plant._dynamics.native.resolve = lambda context: None  # type: ignore[method-assign]
        plant._dynamics.native.compute = lambda *arguments: False  # type: ignore[method-assign]
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    if build is four_bar:
        plant.SetPositions(context, [np.pi / 2, -np.pi / 2, -np.pi / 2])
        plant.CloseLoops(context)
    simulator.AdvanceTo(end)
    contacts = plant.get_contact_results_output_port().Eval(context)
    infos = [contacts.point_pair_contact_info(i) for i in range(contacts.num_point_pair_contacts())]
    return plant, [
        plant.GetPositionsAndVelocities(context),
        log.FindLog(simulator.get_context()).data().copy(),
        np.array([[*info.contact_force(), *info.contact_point()] for info in infos]),
        plant.get_generalized_contact_forces_output_port(plant.GetBodyByName(
            "box" if build is boxes else "ball" if build is soft_ball else "link1").model_instance()).Eval(context),
        np.array([F.get_coeffs() for F in plant.get_reaction_forces_output_port().Eval(context)]),
        plant.get_generalized_acceleration_output_port().Eval(context),
    ]  # fmt: skip


@pytest.mark.parametrize("build", [boxes, soft_ball, four_bar])
def test_derivatives_with_contact_and_loops_are_the_same_in_the_plan(build: Build) -> None:
    end = 0.3
    (python, expected), (native, found) = run(build, "never", end), run(build, "always", end)
    assert python._dynamics.native.num_calls > 3 * end / 5e-4
    assert native._dynamics.native.num_calls < 60
    assert np.abs(expected[3]).max() > 0.1  # something touches
    for ours, theirs in zip(found, expected):
        np.testing.assert_array_equal(ours, theirs)
