"""Actuators that pull bodies and what they touch together, in continuous time and in steps."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.geometry import AddRigidHydroelasticProperties, Box, HalfSpace, ProximityProperties
from merganser.multibody.kernels.transmissions import SPATIAL
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import (
    AdhesionTransmission,
    PrismaticJoint,
    RigidBody,
    SpatialInertia,
    TendonSite,
    Transmission,
    UnitInertia,
)

pytest_plugins = ["compile_policy"]

WEIGHT = 9.81  # of a body of 1 kg [N]
SIZE = 0.2  # of the box [m]


def add_box(plant, name: str = "box", friction: float = 0.5) -> RigidBody:
    box = plant.AddRigidBody(name, SpatialInertia(1.0, [0, 0, 0], UnitInertia.SolidCube(SIZE)))
    shape = Box(SIZE, SIZE, SIZE)
    plant.RegisterCollisionGeometry(box, RigidTransform(), shape, "side", CoulombFriction(friction, friction))
    return box


def add_wall(plant, size, p_WG, friction: float = 0.5) -> None:
    friction_of = CoulombFriction(friction, friction)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(p_WG), Box(*size), "wall", friction_of)


def sticky_box(time_step: float, size, p_WG, is_sampled: bool = True):
    """A box that adheres to a wall."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    if not is_sampled:
        plant.SetUseSampledOutputPorts(False)
    add_wall(plant, size, p_WG)
    plant.AddActuator("pull", plant.AddTransmission(AdhesionTransmission("sticky", add_box(plant))))
    plant.Finalize()
    return builder.Build(), plant


def started(diagram, plant, pull: float, p_WB):
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, plant.GetBodyByName("box"), RigidTransform(p_WB))
    plant.get_actuation_input_port().FixValue(context, [pull])
    return simulator, context


def contact_forces(plant, context) -> np.ndarray:
    """Of each point, on body B."""
    results = plant.get_contact_results_output_port().Eval(context)
    infos = map(results.point_pair_contact_info, range(results.num_point_pair_contacts()))
    return np.array([info.contact_force() for info in infos])


CEILING = (2.0, 2.0, 0.2), (0.0, 0.0, 0.2)
WALL = (0.2, 2.0, 2.0), (-0.2, 0.0, 0.0)


@pytest.mark.parametrize("time_step", [0.0, 0.002])
def test_a_box_hangs_from_a_ceiling_while_the_pull_exceeds_its_weight(time_step):
    diagram, plant = sticky_box(time_step, *CEILING)
    simulator, context = started(diagram, plant, 2.0 * WEIGHT, [0, 0, 1e-5 - SIZE / 2 + 0.1])
    simulator.AdvanceTo(0.5)
    assert abs(plant.GetPositions(context)[6]) < 1e-4
    forces = contact_forces(plant, context)
    assert len(forces) == 4
    np.testing.assert_allclose(np.abs(forces[:, 2]), WEIGHT / 4, rtol=1e-3)  # what balances the rest of the pull
    plant.get_actuation_input_port().FixValue(context, [0.9 * WEIGHT])
    simulator.AdvanceTo(1.0)
    assert plant.GetPositions(context)[6] < -0.5  # and without contact it falls freely
    before = plant.GetVelocities(context)[5]
    simulator.AdvanceTo(1.1)
    assert plant.GetVelocities(context)[5] - before == pytest.approx(-0.1 * WEIGHT, rel=1e-9)


def test_a_box_sticks_that_is_put_exactly_against_a_ceiling():
    diagram, plant = sticky_box(0.002, *CEILING)
    simulator, context = started(diagram, plant, 2.0 * WEIGHT, [0, 0, 0])
    simulator.AdvanceTo(0.1)
    assert abs(plant.GetPositions(context)[6]) < 1e-4


@pytest.mark.parametrize(("share", "slides"), [(0.95, True), (1.1, False)])
def test_friction_holds_as_much_as_the_pull_presses(share, slides):
    diagram, plant = sticky_box(0.002, *WALL)
    simulator, context = started(diagram, plant, share * WEIGHT / 0.5, [0, 0, 0])
    simulator.AdvanceTo(0.3)
    assert (plant.GetPositions(context)[6] < -1e-3) == slides


def test_a_pad_that_moves_up_takes_a_box_along_and_pulls_on_both_alike():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    pad = plant.AddRigidBody("pad", SpatialInertia(0.5, [0, 0, 0], UnitInertia.SolidCube(0.1)))
    plant.RegisterCollisionGeometry(pad, RigidTransform(), Box(0.1, 0.1, 0.02), "pad", CoulombFriction(0.5, 0.5))
    rail = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), pad.body_frame(), [0, 0, 1]))
    plant.AddJointActuator("lift", rail)
    plant.AddActuator("suction", plant.AddTransmission(AdhesionTransmission("cup", pad)))
    add_box(plant)
    plant.Finalize()
    diagram = builder.Build()
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, plant.GetBodyByName("box"), RigidTransform([0, 0, -0.11]))
    plant.get_actuation_input_port().FixValue(context, [1.5 * (WEIGHT + 1.0), 30.0])
    simulator.AdvanceTo(0.2)
    velocity = plant.GetVelocities(context)
    assert velocity[0] == pytest.approx(0.2, rel=1e-3)  # of both: the pull is no force from outside
    assert velocity[-1] == pytest.approx(velocity[0], rel=1e-3)
    plant.get_actuation_input_port().FixValue(context, [0.5 * (WEIGHT + 1.0), 0.0])
    simulator.AdvanceTo(0.4)
    assert plant.GetPositions(context)[-1] < plant.GetPositions(context)[0] - 0.15


@pytest.mark.usefixtures("compile_at_once")
def test_steps_in_python_are_those_of_the_plan():
    found = []
    for uses_plan in (True, False):
        diagram, plant = sticky_box(0.002, *WALL)
        simulator, context = started(diagram, plant, 15.0, [0.0, 0.01, 0.02])
        simulator.set_use_native_plan(uses_plan, at_once=True)
        if not uses_plan:
            plant._dynamics.native.resolve = lambda context: None
        simulator.AdvanceTo(0.02)
        reactions = plant.get_reaction_forces_output_port().Eval(context)
        accelerations = plant.get_generalized_acceleration_output_port().Eval(context)
        state = plant.GetPositionsAndVelocities(context)
        found.append([*state, *accelerations, *contact_forces(plant, context).ravel(), *reactions[0].get_coeffs()])
    np.testing.assert_array_equal(*found)
    assert len(found[0]) == 13 + 6 + 12 + 6
    np.testing.assert_allclose(found[0][-6:], 0.0, atol=1e-6)  # a floating joint carries nothing


@pytest.mark.parametrize("time_step", [0.0, 0.002])
def test_derivatives_follow_the_pull_and_the_pose(time_step):
    diagram, plant = sticky_box(time_step, *WALL, is_sampled=False)
    moved = diagram.ToAutoDiffXd()
    plant_ad, name = moved.GetSubsystemByName(plant.get_name()), "box"
    root, root_ad = diagram.CreateDefaultContext(), moved.CreateDefaultContext()
    context, context_ad = plant.GetMyMutableContextFromRoot(root), plant_ad.GetMyMutableContextFromRoot(root_ad)
    plant.SetFreeBodyPose(context, plant.GetBodyByName(name), RigidTransform([-1e-5, 0.01, 0.02]))
    x = np.append(plant.GetPositionsAndVelocities(context), 12.0)
    x[0] += 0.002

    def follow(plant, context, values):
        plant.get_actuation_input_port().FixValue(context, values[-1:])
        plant.SetPositionsAndVelocities(context, values[:-1])
        if time_step == 0.0:
            return plant.EvalTimeDerivatives(context).CopyToVector()
        return plant.EvalUniquePeriodicDiscreteUpdate(context).value()

    found = ExtractGradient(follow(plant_ad, context_ad, InitializeAutoDiff(x).ravel()))
    assert np.abs(found[7:, -1]).max() > 1e-4
    for k in (4, 5, 6, 13):  # position and pull
        h = 1e-7 if k < 13 else 1e-3
        rise = np.eye(len(x))[k] * h
        slope = (follow(plant, context, x + rise) - follow(plant, context, x - rise)) / (2 * h)
        np.testing.assert_allclose(found[:, k], slope, rtol=1e-3, atol=2e-4 * np.abs(slope).max() + 1e-6)


def test_contact_surfaces_are_refused_by_name():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    properties = ProximityProperties()
    AddRigidHydroelasticProperties(0.1, properties)
    properties.AddProperty("material", "coulomb_friction", CoulombFriction(0.5, 0.5))
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", properties)
    soft = ProximityProperties(properties)
    soft.RemoveProperty("hydroelastic", "compliance_type")
    soft.AddProperty("hydroelastic", "compliance_type", "compliant")
    soft.AddProperty("hydroelastic", "hydroelastic_modulus", 1e6)
    box = plant.AddRigidBody("box", SpatialInertia(1.0, [0, 0, 0], UnitInertia.SolidCube(SIZE)))
    plant.RegisterCollisionGeometry(box, RigidTransform(), Box(SIZE, SIZE, SIZE), "side", soft)
    plant.AddActuator("pull", plant.AddTransmission(AdhesionTransmission("cup", box)))
    plant.Finalize()
    simulator, context = started(builder.Build(), plant, 1.0, [0, 0, SIZE / 2 - 1e-4])
    before = plant.GetPositionsAndVelocities(context).copy()
    with pytest.raises(RuntimeError, match=r"adhesion 'cup'.*hydroelastic surface.*kPoint"):
        simulator.AdvanceTo(0.01)
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), before)


def sticky_material(force: float) -> ProximityProperties:
    properties = ProximityProperties()
    properties.AddProperty("material", "coulomb_friction", CoulombFriction(0.5, 0.5))
    properties.AddProperty("material", "adhesion", force)
    return properties


@pytest.mark.parametrize(("force", "sticks"), [(0.3 * WEIGHT, True), (0.2 * WEIGHT, False)])
@pytest.mark.parametrize("time_step", [0.0, 0.002])
def test_a_material_adheres_at_each_of_its_contact_points(time_step, force, sticks):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    add_wall(plant, *CEILING)
    box = plant.AddRigidBody("box", SpatialInertia(1.0, [0, 0, 0], UnitInertia.SolidCube(SIZE)))
    plant.RegisterCollisionGeometry(box, RigidTransform(), Box(*[SIZE] * 3), "side", sticky_material(force))
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, box, RigidTransform([0, 0, 4e-6]))  # where the forces balance
    simulator.AdvanceTo(0.3)
    assert (abs(plant.GetPositions(context)[6]) < 1e-4) == sticks
    if sticks:  # the normal force is what the adhesion does not need to carry
        np.testing.assert_allclose(np.abs(contact_forces(plant, context)[:, 2]), force - WEIGHT / 4, rtol=0.1)


def test_adhesion_of_a_material_is_a_force_that_is_not_negative():
    for force in (-1.0, np.inf, np.nan, "much"):
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
        box = plant.AddRigidBody("box", SpatialInertia.SolidCubeWithMass(1.0, SIZE))
        plant.RegisterCollisionGeometry(box, RigidTransform(), HalfSpace(), "sole", sticky_material(force))
        add_wall(plant, *WALL)
        plant.Finalize()
        with pytest.raises(RuntimeError, match=r"'adhesion'\) of geometry 'sole'.* finite and not negative"):
            Simulator(builder.Build()).AdvanceTo(0.002)


def test_bodies_are_of_adhesion_alone():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    with pytest.raises(TypeError, match="a path is made of JointTerm"):
        Transmission("t", SPATIAL, [TendonSite(plant.world_body()), plant.world_body()])


@pytest.mark.parametrize(
    ("actuator", "force"),
    [
        ('<adhesion body="b" gain="20" ctrlrange="0 2"/>', (0.0, 40.0)),
        ('<adhesion body="b" ctrlrange="0 1" forcerange="0 .5"/>', (0.0, 0.5)),
        ('<general body="b" gainprm="3" ctrlrange="-1 1"/>', (-3.0, 3.0)),
    ],
)
def test_adhesion_of_mjcf_has_its_range(actuator, force):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    world = '<worldbody><body name="b"><freejoint/><geom size=".1"/></body></worldbody>'
    Parser(plant).AddModelsFromString(f"<mujoco>{world}<actuator>{actuator}</actuator></mujoco>", "xml")
    plant.Finalize()
    ((lower, upper),) = zip(plant.GetEffortLowerLimits(), plant.GetEffortUpperLimits())
    assert (lower, upper) == force
