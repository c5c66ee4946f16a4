"""A fixed step of CenicIntegrator is the step of a discrete plant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.primitives import ConstantVectorSource
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    HalfSpace,
    HydroelasticContactRepresentation,
    ProximityProperties,
    Sphere,
)
from merganser.multibody.cenic import CenicIntegrator
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import (
    BallRpyJoint,
    PdControllerGains,
    PrismaticJoint,
    RevoluteJoint,
    RevoluteSpring,
    RigidBody,
    SpatialInertia,
)

H, NUM_STEPS = 2e-3, 60


def _material(is_soft: bool = True, is_surface: bool = False) -> ProximityProperties:
    properties = ProximityProperties()
    AddContactMaterial(0.5, None if is_surface else 1e4, CoulombFriction(0.6, 0.5), properties)
    if is_surface and is_soft:
        AddCompliantHydroelasticProperties(0.1, 1e5, properties)
    elif is_surface:
        AddRigidHydroelasticProperties(0.1, properties)
    return properties


def _ground(plant: MultibodyPlant, is_surface: bool = False) -> None:
    pose = RigidTransform([0.0, 0.0, -1.0]) if is_surface else RigidTransform()
    shape = Box(4.0, 4.0, 2.0) if is_surface else HalfSpace()
    plant.RegisterCollisionGeometry(plant.world_body(), pose, shape, "ground", _material(False, is_surface))


def _free_body(plant: MultibodyPlant, name: str, pose: RigidTransform, is_ball: bool, is_surface: bool = False) -> None:
    inertia = SpatialInertia.SolidSphereWithMass(1.0, 0.1) if is_ball else SpatialInertia.SolidCubeWithMass(1.0, 0.2)
    body = plant.AddRigidBody(name, inertia)
    shape = Sphere(0.1) if is_ball else Box(0.2, 0.2, 0.2)
    plant.RegisterCollisionGeometry(body, RigidTransform(), shape, name, _material(True, is_surface))
    plant.SetDefaultFloatingBaseBodyPose(body, pose)


def falling(plant: MultibodyPlant) -> None:
    _ground(plant)
    _free_body(plant, "ball", RigidTransform([0.0, 0.0, 0.11]), True)
    _free_body(plant, "box", RigidTransform(RollPitchYaw(0.4, 0.3, 0.0), [1.0, 0.0, 0.2]), False)


def patches(plant: MultibodyPlant) -> None:
    plant.set_contact_surface_representation(HydroelasticContactRepresentation.kPolygon)  # triangles in continuous time
    _ground(plant, True)
    _free_body(plant, "ball", RigidTransform([0.0, 0.0, 0.098]), True, True)


def _links(plant: MultibodyPlant, count: int) -> list[RigidBody]:
    links = [plant.world_body()]
    for k in range(count):
        link = plant.AddRigidBody(f"link{k}", SpatialInertia.SolidBoxWithMass(1.0, 0.4, 0.1, 0.1))
        joint = RevoluteJoint(
            f"joint{k}", links[-1].body_frame(), link.body_frame(), [0.0, 1.0, 0.0], -0.2, 1.5, 0.05 * (k + 1)
        )
        joint.set_default_angle(-0.19 + 0.3 * k)
        plant.AddJoint(joint)
        plant.GetJointByName(f"joint{k}")
        links.append(link)
    return links


def limits(plant: MultibodyPlant) -> None:
    links = _links(plant, 3)
    plant.AddForceElement(RevoluteSpring(plant.GetJointByName("joint1"), 0.2, 5.0))
    assert len(links) == 4


def controllers(plant: MultibodyPlant) -> None:
    _links(plant, 2)
    for k in range(2):
        actuator = plant.AddJointActuator(f"motor{k}", plant.GetJointByName(f"joint{k}"), 3.0)
        actuator.set_controller_gains(PdControllerGains(p=500.0, d=2.0))


def constraints(plant: MultibodyPlant) -> None:
    links = _links(plant, 2)
    slider = plant.AddRigidBody("slider", SpatialInertia.SolidCubeWithMass(2.0, 0.1))
    joint = PrismaticJoint("rail", plant.world_frame(), slider.body_frame(), [1.0, 0.0, 0.0])
    plant.AddJoint(joint)
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(0.5, 0.1))
    plant.AddJoint(BallRpyJoint("ball joint", links[2].body_frame(), ball.body_frame()))
    plant.AddCouplerConstraint(plant.GetJointByName("joint0"), plant.GetJointByName("joint1"), 1.5, 0.1)
    plant.AddDistanceConstraint(slider, [0.0, 0.0, 0.0], links[2], [0.0, 0.0, 0.0], 0.3)


def controllers_with_unequal_efforts(plant: MultibodyPlant) -> None:
    controllers(plant)
    for k in range(2):
        actuator = plant.GetJointActuatorByName(f"motor{k}")
        actuator.set_effort_range(*((-1.0, 6.0), (-4.0, 0.5))[k])
        actuator.set_desired_position_map(-0.3, 0.4, scale=0.9, bias=0.2)


SCENES = [falling, patches, limits, controllers, controllers_with_unequal_efforts, constraints]


def _simulator(scene: Callable[[MultibodyPlant], None], time_step: float) -> tuple[Simulator, MultibodyPlant]:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    scene(plant)
    plant.Finalize()
    if plant.num_actuators():
        instance = plant.GetJointActuatorByName("motor0").model_instance()
        desired = builder.AddSystem(ConstantVectorSource([0.5, -0.1, 0.0, 0.3]))
        builder.Connect(desired.get_output_port(), plant.get_desired_state_input_port(instance))
    return Simulator(builder.Build()), plant


def _start(simulator: Simulator, plant: MultibodyPlant) -> None:
    context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
    v = np.random.default_rng(3).uniform(-0.5, 0.5, plant.num_velocities())
    plant.SetVelocities(context, v)


def _steps_of_discrete_plant(scene: Callable[[MultibodyPlant], None]) -> np.ndarray:
    """The states after each step, with quaternions of length 1 as an integrator keeps them."""
    simulator, plant = _simulator(scene, H)
    _start(simulator, plant)
    simulator.Initialize()
    context, states = plant.GetMyContextFromRoot(simulator.get_mutable_context()), []
    floating = [plant.get_body(i) for i in plant.GetFloatingBaseBodies()]
    for k in range(NUM_STEPS):
        simulator.AdvanceTo((k + 0.5) * H)
        q = plant.GetPositions(context).copy()
        for body in floating:
            first = body.floating_positions_start()
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        plant.SetPositions(context, q)
        states.append(plant.GetPositionsAndVelocities(context).copy())
    return np.array(states)


@pytest.mark.parametrize("scene", SCENES, ids=[scene.__name__ for scene in SCENES])
def test_a_fixed_step_is_that_of_a_discrete_plant(scene: Callable[[MultibodyPlant], None]) -> None:
    simulator, plant = _simulator(scene, 0.0)
    _start(simulator, plant)
    integrator = simulator.reset_integrator(CenicIntegrator(simulator.get_system(), simulator.get_mutable_context()))
    integrator.set_maximum_step_size(H)
    integrator.set_fixed_step_mode(True)
    simulator.Initialize()
    context, states = plant.GetMyContextFromRoot(simulator.get_context()), []
    for k in range(NUM_STEPS):
        simulator.AdvanceTo((k + 1) * H)
        states.append(plant.GetPositionsAndVelocities(context).copy())
    np.testing.assert_allclose(np.array(states), _steps_of_discrete_plant(scene), rtol=0.0, atol=1e-9)
