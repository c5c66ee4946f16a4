"""Outputs after an accepted step are consistent: for each body, sum of forces = m (a - g)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    ProximityProperties,
    Sphere,
)
from merganser.multibody.cenic import CenicIntegrator
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, RevoluteJoint, SpatialInertia

GRAVITY = np.array([0.0, 0.0, -9.81])


def _material(rng: np.random.Generator, is_surface: bool, is_rigid: bool) -> ProximityProperties:
    properties, mu = ProximityProperties(), float(rng.uniform(0.2, 0.8))
    AddContactMaterial(0.5, None if is_surface else 1e4, CoulombFriction(mu, mu), properties)
    if is_surface and is_rigid:
        AddRigidHydroelasticProperties(0.1, properties)
    elif is_surface:
        AddCompliantHydroelasticProperties(0.05, 1e6, properties)
    return properties


def _arm_and_dumbbell(rng: np.random.Generator, is_surface: bool) -> tuple[Simulator, MultibodyPlant]:
    """An arm with limits that falls, and two balls that a distance constraint holds together and that fall onto it."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)

    def add(body: Any, shape: Any, pose: RigidTransform, name: str) -> None:
        is_rigid = body is plant.world_body()
        plant.RegisterCollisionGeometry(body, pose, shape, name, _material(rng, is_surface, is_rigid))

    add(plant.world_body(), Box(4.0, 4.0, 1.0), RigidTransform([0.0, 0.0, -0.5]), "ground")
    parent, place = plant.world_frame(), [0.0, 0.0, 0.5]
    for k in range(2):
        link = plant.AddRigidBody(f"link{k}", SpatialInertia.SolidBoxWithMass(1.0 + k, 0.3, 0.1, 0.1))
        inboard = plant.AddFrame(FixedOffsetFrame(f"F{k}", parent, RigidTransform(place)))
        outboard = plant.AddFrame(FixedOffsetFrame(f"M{k}", link.body_frame(), RigidTransform([-0.15, 0.0, 0.0])))
        joint = plant.AddJoint(RevoluteJoint(f"joint{k}", inboard, outboard, [0.0, 1.0, 0.3 * k], -1.0, 1.0, 0.1))
        joint.set_default_angle(0.9 - k)
        add(link, Box(0.3, 0.1, 0.1), RigidTransform(), f"link{k}")
        parent, place = link.body_frame(), [0.15, 0.0, 0.0]
    balls = [plant.AddRigidBody(f"ball{k}", SpatialInertia.SolidSphereWithMass(1.0, 0.08)) for k in range(2)]
    for k, ball in enumerate(balls):
        add(ball, Sphere(0.08), RigidTransform(), f"ball{k}")
        plant.SetDefaultFloatingBaseBodyPose(ball, RigidTransform([0.2 + 0.3 * k, 0.02, 0.55 - 0.3 * k]))
    plant.AddDistanceConstraint(balls[0], np.zeros(3), balls[1], np.zeros(3), 0.3 * np.sqrt(2.0))
    plant.Finalize()
    simulator = Simulator(builder.Build())
    integrator = CenicIntegrator(simulator.get_system(), simulator.get_mutable_context())
    integrator.set_maximum_step_size(0.05)
    integrator.set_target_accuracy(1e-2)
    simulator.reset_integrator(integrator)
    return simulator, plant


def _contact_forces(plant: MultibodyPlant, context: Any) -> np.ndarray:
    """On each body, shape [num_bodies, 3]."""
    total = np.zeros((plant.num_bodies(), 3))
    results = plant.get_contact_results_output_port().Eval(context)
    for i in range(results.num_point_pair_contacts()):
        info = results.point_pair_contact_info(i)
        total[int(info.bodyB_index())] += info.contact_force()
        total[int(info.bodyA_index())] -= info.contact_force()
    inspector = plant.get_geometry_query_input_port().Eval(context).inspector()
    for i in range(results.num_hydroelastic_contacts()):
        info = results.hydroelastic_contact_info(i)
        for sign, id in ((1.0, info.contact_surface().id_M()), (-1.0, info.contact_surface().id_N())):
            body = plant.GetBodyFromFrameId(inspector.GetFrameId(id))
            total[int(body.index())] += sign * info.F_Ac_W().translational()
    return total


@pytest.mark.parametrize("is_surface", [False, True], ids=["points", "surfaces"])
def test_forces_of_all_kinds_are_mass_times_acceleration_at_every_step(is_surface: bool) -> None:
    simulator, plant = _arm_and_dumbbell(np.random.default_rng(4), is_surface)
    context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
    plant.SetVelocities(context, np.random.default_rng(5).normal(size=plant.num_velocities()))
    before = plant.GetMyContextFromRoot(simulator.get_system().CreateDefaultContext())
    errors, sizes = [], []

    def look(root: Any) -> None:
        if root.get_time() == 0.0:
            return
        forces = _contact_forces(plant, context)
        plant.SetPositionsAndVelocities(before, plant._sampling.eval_sample(context).x)
        reactions = plant.get_reaction_forces_output_port().Eval(context)
        for k in range(2):  # given in frames of bodies, as they were at the start of the step
            joint = plant.GetJointByName(f"joint{k}")
            R_WJc = plant.CalcRelativeTransform(before, plant.world_frame(), joint.frame_on_child()).rotation()
            f_W = R_WJc.matrix() @ reactions[int(joint.index())].translational()
            forces[int(joint.child_body().index())] += f_W
            forces[int(joint.parent_body().index())] -= f_W
        accelerations = plant.get_body_spatial_accelerations_output_port().Eval(context)
        for i in range(1, plant.num_bodies()):
            a = accelerations[i].translational()
            forces[i] -= plant.get_body(i).default_mass() * (a - GRAVITY)
        forces[3] += forces[4]  # what the constraint does to one ball it undoes to the other
        errors.append(np.abs(forces[1:4]).max())
        sizes.append(np.abs(_contact_forces(plant, context)).max())

    simulator.set_monitor(look)
    simulator.AdvanceTo(0.4)
    assert len(errors) > 10 and max(sizes) > 50.0
    assert max(errors) < 1e-5 * max(sizes)


def test_reaction_forces_do_not_depend_on_which_port_is_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Python, where steps and ports share the kinematics: reading poses moved the arms of contact forces."""
    monkeypatch.setattr("merganser.framework.native.compiler.when_to_compile.OptionalCode.is_usable", lambda _: False)
    found: list[list[Any]] = []
    for reads_poses in (False, True):
        simulator, plant = _arm_and_dumbbell(np.random.default_rng(4), False)
        context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
        plant.SetVelocities(context, np.random.default_rng(5).normal(size=plant.num_velocities()))
        found.append([])
        for k in range(1, 16):
            simulator.AdvanceTo(0.02 * k)
            if reads_poses:
                plant.get_body_poses_output_port().Eval(context)
            found[-1] += [force.get_coeffs() for force in plant.get_reaction_forces_output_port().Eval(context)]
    np.testing.assert_array_equal(*found)
