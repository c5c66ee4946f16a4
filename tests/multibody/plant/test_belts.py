"""Bodies whose surfaces go round an axis: what lies on them follows, and how far they have moved is a state."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import BusValue, DiagramBuilder, Value
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    ProximityProperties,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import SpatialInertia

TURNED = RigidTransform(RollPitchYaw(0.0, 0.0, 0.5), [0.3, 0.1, -0.1])


def belt_with_box(time_step: float, model: ContactModel = ContactModel.kPoint):
    """A belt 0.2 m thick, turned about z, that moves along its x axis, and a box of 1 kg upon it."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    plant.set_contact_model(model)
    belt = plant.AddRigidBody("belt", SpatialInertia.SolidBoxWithMass(5.0, 4.0, 1.0, 0.2))
    box = plant.AddRigidBody("box", SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.2, 0.2))
    plant.WeldFrames(plant.world_frame(), belt.body_frame(), TURNED)
    for body, size, is_rigid in ((belt, [4.0, 1.0, 0.2], True), (box, [0.2, 0.2, 0.2], False)):
        properties = ProximityProperties()
        AddContactMaterial(properties, 20.0, 1e5, CoulombFriction(0.6, 0.6))
        if is_rigid:
            AddRigidHydroelasticProperties(0.5, properties)
        else:
            AddCompliantHydroelasticProperties(0.1, 1e6, properties)
        # The frame of a geometry is another one than that of its body.
        X_BG = RigidTransform(RollPitchYaw(0.0, 0.0, np.pi / 2), [0, 0, 0])
        plant.RegisterCollisionGeometry(body, X_BG, Box(size[1], size[0], size[2]), "g", properties)
    plant.SetSurfaceVelocityAxis(belt, [0.0, 3.0, 0.0])
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, box, TURNED @ RigidTransform([0.0, 0.0, 0.2]))
    return plant, simulator, context


def set_speed(plant: MultibodyPlant, context, speed: float) -> None:
    bus = BusValue()
    bus.Set(plant.GetBodyByName("belt").scoped_name().get_full(), Value(speed))
    plant.get_surface_speeds_input_port().FixValue(context, bus)


def displacement(plant: MultibodyPlant, context) -> float:
    bus = plant.get_surface_displacements_output_port().Eval(context)
    return bus.Find(plant.GetBodyByName("belt").scoped_name().get_full())


@pytest.mark.parametrize("model", [ContactModel.kPoint, ContactModel.kHydroelastic])
@pytest.mark.parametrize("time_step", [0.0, 0.002])
def test_a_box_goes_along_with_the_belt(time_step, model):
    plant, simulator, context = belt_with_box(time_step, model)
    set_speed(plant, context, 0.5)
    simulator.AdvanceTo(0.4)  # friction accelerates it by 0.6 g
    v_WB = plant.GetBodyByName("box").EvalSpatialVelocityInWorld(context).translational()
    np.testing.assert_allclose(v_WB, 0.5 * TURNED.rotation().matrix()[:, 0], atol=2e-3)
    assert displacement(plant, context) == pytest.approx(0.5 * 0.4, abs=1e-9)


def test_without_speed_the_belt_rests():
    plant, simulator, context = belt_with_box(0.002)
    simulator.AdvanceTo(0.1)
    v_WB = plant.GetBodyByName("box").EvalSpatialVelocityInWorld(context).translational()
    np.testing.assert_allclose(v_WB, 0.0, atol=1e-3)
    assert displacement(plant, context) == 0.0


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_displacements_are_states_that_are_cloned_and_set_to_zero(time_step):
    plant = MultibodyPlant(time_step)
    for name in ("other", "belt"):
        body = plant.AddRigidBody(name, SpatialInertia.SolidBoxWithMass(1.0, 1.0, 1.0, 1.0))
        plant.SetSurfaceVelocityAxis(body, [0, 0, 1])
    plant.Finalize()
    assert plant.num_misc_continuous_states() == (0 if time_step else 2)
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    set_speed(plant, context, -2.0)
    simulator.AdvanceTo(0.1)
    assert displacement(plant, context) == pytest.approx(-0.2)
    assert displacement(plant, context.Clone()) == displacement(plant, context)
    other = plant.ToAutoDiffXd()
    there = other.CreateDefaultContext()
    there.SetTimeStateAndParametersFrom(context)
    assert displacement(other, there) == displacement(plant, context)
    bus = plant.get_surface_displacements_output_port().Eval(context)
    assert bus.Find(plant.GetBodyByName("other").scoped_name().get_full()) == 0.0
    plant.SetDefaultContext(context)
    assert displacement(plant, context) == 0.0
    set_speed(plant, context, np.inf)
    with pytest.raises(RuntimeError, match="speed of the surface of body 'belt' must be finite, but inf"):
        simulator.Initialize()
        simulator.AdvanceTo(0.2)


def test_axes_have_length_one_and_what_is_no_axis_is_refused():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", SpatialInertia.SolidBoxWithMass(1.0, 1.0, 1.0, 1.0))
    assert plant.GetSurfaceVelocityAxis(body) is None
    plant.SetSurfaceVelocityAxis(body, [3e-200, 0.0, 4e-200])
    np.testing.assert_allclose(plant.GetSurfaceVelocityAxis(body), [0.6, 0.0, 0.8])
    with pytest.raises(RuntimeError, match="surface of the world does not move"):
        plant.SetSurfaceVelocityAxis(plant.world_body(), [1, 0, 0])
    for axis in ([0, 0, 0], [np.nan, 0, 1]):
        with pytest.raises((RuntimeError, ValueError), match="axis_B"):
            plant.SetSurfaceVelocityAxis(body, axis)
    plant.SetSurfaceVelocityAxis(body, None)
    assert plant.GetSurfaceVelocityAxis(body) is None
    plant.Finalize()
    with pytest.raises(RuntimeError, match="Finalize"):
        plant.SetSurfaceVelocityAxis(body, [1, 0, 0])
    for get_port in (plant.get_surface_speeds_input_port, plant.get_surface_displacements_output_port):
        with pytest.raises(RuntimeError, match="has no belts"):
            get_port()
