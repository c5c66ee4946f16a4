"""A converted plant shares what Finalize() has frozen, and nothing that either of the two could change."""

from __future__ import annotations

import gc
import types

import numpy as np
import pytest

from merganser.framework import BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.core.system import converting
from merganser.framework.math import RigidTransform
from merganser.geometry import HydroelasticContactRepresentation, Sphere
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
    MultibodyPlant,
    MultibodyPlant_,
)
from merganser.multibody.tree import (
    FixedOffsetFrame,
    LinearBushingRollPitchYaw,
    LinearSpringDamper,
    MultibodyElement,
    MultibodyTree,
    PdControllerGains,
    PrismaticJoint,
    RevoluteJoint,
    RevoluteSpring,
    SpatialInertia,
)


def furnished(time_step: float = 0.01, kind: type[MultibodyPlant] = MultibodyPlant) -> MultibodyPlant:
    """Finalized: some of all that a plant may consist of, with settings that are not the usual ones."""
    plant = kind(time_step)
    instance = plant.AddModelInstance("arm")
    inertia = SpatialInertia.SolidBoxWithMass(1.5, 0.1, 0.2, 0.3)
    upper, lower, free = (plant.AddRigidBody(name, instance, inertia) for name in ("upper", "lower", "free"))
    mount = plant.AddFrame(FixedOffsetFrame("mount", upper, RigidTransform([0.1, 0.2, 0.3])))
    shoulder = plant.AddJoint(
        RevoluteJoint("shoulder", plant.world_frame(), upper.body_frame(), [0, 1, 0], -1.0, 2.0, damping=0.2)
    )
    slide = plant.AddJoint(PrismaticJoint("slide", mount, lower.body_frame(), [1, 0, 0]))
    plant.AddJointActuator("motor", shoulder, 7.0).set_controller_gains(PdControllerGains(p=5.0, d=0.5))
    plant.AddForceElement(RevoluteSpring(shoulder, 0.1, 2.0))
    plant.AddForceElement(LinearSpringDamper(upper, [0.1, 0, 0], lower, [0, 0.1, 0], 0.2, 3.0, 0.4))
    ones = np.ones(3)
    plant.AddForceElement(LinearBushingRollPitchYaw(mount, free.body_frame(), ones, ones, ones, ones))
    if time_step > 0.0:
        plant.AddCouplerConstraint(shoulder, slide, 2.0)
        plant.AddBallConstraint(upper, [0, 0, 0.1], free)
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSimilar)
        plant.SetUseSampledOutputPorts(False)
    plant.set_contact_model(ContactModel.kPoint)
    plant.set_contact_surface_representation(HydroelasticContactRepresentation.kTriangle)
    plant.set_adjacent_bodies_collision_filters(False)
    plant.set_sap_near_rigid_threshold(0.5)
    plant.set_penetration_allowance(0.002)
    plant.set_stiction_tolerance(0.003)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 1.0, -5.0])
    plant.Finalize()
    return plant


def declarations(plant: MultibodyPlant) -> list[object]:
    """All that can differ in ports, state, parameters, cache and events."""
    ports = [*plant._sys_input_ports, *plant._sys_output_ports]
    return [
        plant._sys_declarations(),
        [(port.get_name(), port.size(), port.get_data_type()) for port in ports],
        [(e.description(), e.vector_size, e.prerequisites(), e.makes_room_late) for e in plant._sys_cache_entries],
        [(event.kind, event.trigger) for event in plant._sys_events],
    ]


def settings(plant: MultibodyPlant) -> list[object]:
    return [
        plant.get_contact_model(),
        plant.get_discrete_contact_approximation(),
        plant.get_contact_surface_representation(),
        plant.get_adjacent_bodies_collision_filters(),
        plant.get_sap_near_rigid_threshold(),
        plant.get_contact_penalty_method_time_scale(),
        plant._settings.choices.penetration_allowance,
        plant._settings.choices.stiction_tolerance,
        plant.has_sampled_output_ports(),
        plant.time_step(),
        plant.get_name(),
    ]


def reachable(start: object) -> list[object]:
    """All objects that can be reached from one, but for classes, modules and functions."""
    found: dict[int, object] = {}
    waiting = [start]
    while waiting:
        obj = waiting.pop()
        is_code = isinstance(obj, (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType))
        if id(obj) not in found and not is_code:
            found[id(obj)] = obj
            waiting += gc.get_referents(obj)
    return list(found.values())


@pytest.fixture
def no_copies(monkeypatch):
    def refuse(system, T):
        raise AssertionError(f"{system} is copied")

    monkeypatch.setattr(converting, "_converted_copy", refuse)


class Derived(MultibodyPlant):
    """Nothing but a plant; but who knows."""


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_converted_plant_is_declared_as_its_copy_would_be(time_step):
    converted, copied = furnished(time_step).ToAutoDiffXd(), furnished(time_step, Derived).ToAutoDiffXd()
    assert type(converted) is MultibodyPlant_[AutoDiffXd] and isinstance(copied, Derived)
    assert declarations(converted) == declarations(copied)
    assert settings(converted) == settings(copied)
    contexts = converted.CreateDefaultContext(), copied.CreateDefaultContext()
    for mine, theirs in zip(contexts[0]._numbers(), contexts[1]._numbers(), strict=True):
        np.testing.assert_array_equal([x.value() for x in mine], [x.value() for x in theirs])


def test_finalized_plants_are_converted_without_being_copied(no_copies):
    plant = furnished()
    assert plant.ToAutoDiffXd()._tree.topology is plant._tree.topology
    with pytest.raises(AssertionError, match="is copied"):
        furnished(kind=Derived).ToAutoDiffXd()


def test_nothing_of_the_original_can_be_reached_from_the_converted_plant():
    plant = furnished()
    context = plant.CreateDefaultContext()
    mine = {id(obj) for obj in (plant, plant._tree, context, *plant._sys_input_ports, *plant._sys_cache_entries)}
    for found in reachable(plant.ToAutoDiffXd()):
        assert id(found) not in mine
        assert not (isinstance(found, MultibodyElement) and found._tree is plant._tree)


def change_all_defaults(plant: MultibodyPlant) -> None:
    plant.GetJointByName("shoulder").set_default_angle(0.4)
    plant.GetJointByName("shoulder").set_position_limits([-0.5], [0.5])
    plant.GetJointByName("shoulder").set_default_damping(3.0)
    plant.GetJointByName("slide").set_random_translation_distribution(0.7)
    actuator = plant.GetJointActuatorByName("motor")
    actuator.set_controller_gains(PdControllerGains(p=9.0, d=9.0))
    actuator.set_effort_limit(11.0)
    actuator.set_default_gear_ratio(2.0)
    actuator.set_default_rotor_inertia(0.3)
    plant.SetDefaultFloatingBaseBodyPose(plant.GetBodyByName("free"), RigidTransform([1.0, 2.0, 3.0]))
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -1.0])
    plant.set_stiction_tolerance(0.5)


def values_of(plant: MultibodyPlant) -> list[object]:
    context, joint = plant.CreateDefaultContext(), plant.GetJointByName("shoulder")
    actuator = plant.GetJointActuatorByName("motor")
    numbers = np.concatenate(context._numbers())
    return [
        [x.value() if isinstance(x, AutoDiffXd) else float(x) for x in numbers],
        [*joint.position_lower_limits(), *joint.position_upper_limits(), joint.default_damping()],
        plant.GetJointByName("slide")._random_positions,
        actuator.get_controller_gains(), actuator.effort_limit(), plant._settings.choices.stiction_tolerance,
    ]  # fmt: skip


@pytest.mark.parametrize("changes_original", [True, False])
def test_defaults_that_are_set_in_one_plant_are_not_set_in_the_other(changes_original):
    plant = furnished()
    plants = plant, plant.ToAutoDiffXd()
    before = values_of(plants[1])
    assert values_of(plants[0]) == before
    changed, other = plants if changes_original else plants[::-1]
    change_all_defaults(changed)
    assert values_of(other) == before
    assert all(new != old for new, old in zip(values_of(changed), before))


def test_defaults_set_after_finalize_and_cached_values_switched_off_go_along():
    plant = furnished()
    change_all_defaults(plant)
    plant.get_state_output_port().disable_caching_by_default()
    converted = plant.ToAutoDiffXd()
    assert values_of(converted) == values_of(plant)
    disabled = [entry.is_disabled_by_default() for entry in converted._sys_cache_entries]
    assert disabled == [entry.is_disabled_by_default() for entry in plant._sys_cache_entries] and sum(disabled) == 1


def test_what_others_have_added_to_a_plant_goes_along():
    plant = furnished()
    plant.DeclareVectorInputPort("wind", 3)
    plant.label = ["mine"]
    converted = plant.ToAutoDiffXd()
    assert converted.GetInputPort("wind").size() == 3 and converted.label == ["mine"]
    assert converted.GetJointByName("shoulder").GetParentPlant() is converted


def test_method_that_was_replaced_in_a_plant_goes_along():
    plant = furnished()
    plant.CalcMassMatrix = abs
    assert plant.ToAutoDiffXd().CalcMassMatrix is abs


class Watching(LeafSystem):
    """Refers to a plant and to what is in it."""

    def __init__(self, plant: MultibodyPlant) -> None:
        super().__init__()
        self.plant, self.tree, self.port = plant, plant._tree, plant.get_state_output_port()
        self.entry = plant._sys_cache_entries[0]
        self.elements = {
            "body": plant.GetBodyByName("lower"),
            "frame": plant.GetFrameByName("mount"),
            "joint": plant.GetJointByName("slide"),
            "actuator": plant.GetJointActuatorByName("motor"),
            "gravity": plant.gravity_field(),
        }
        size = plant.num_multibody_states()
        self.DeclareVectorInputPort("x", size)
        self.DeclareVectorOutputPort("y", BasicVector(1), self._calc)

    def _calc(self, context, output):
        plant_context = self.plant.CreateDefaultContext()
        self.plant.SetPositionsAndVelocities(plant_context, self.get_input_port().Eval(context))
        output[0] = self.elements["joint"].get_translation(plant_context)


def test_others_in_a_diagram_find_the_converted_plant_and_its_elements():
    builder = DiagramBuilder()
    plant = builder.AddNamedSystem("plant", furnished(0.0))
    watching = builder.AddNamedSystem("watching", Watching(plant))
    builder.Connect(plant.get_state_output_port(), watching.get_input_port())
    diagram = builder.Build().ToAutoDiffXd()
    plant, watching = diagram.GetSubsystemByName("plant"), diagram.GetSubsystemByName("watching")
    assert plant.GetSystemPathname() == "::Diagram::plant"
    assert watching.plant is plant and watching.tree is plant._tree and watching.port is plant.get_state_output_port()
    assert watching.entry is plant._sys_cache_entries[0]
    assert watching.elements["body"] is plant.GetBodyByName("lower")
    assert watching.elements["frame"] is plant.GetFrameByName("mount")
    assert watching.elements["joint"] is plant.GetJointByName("slide")
    assert watching.elements["actuator"] is plant.GetJointActuatorByName("motor")
    assert watching.elements["gravity"] is plant.gravity_field()
    context = diagram.CreateDefaultContext()
    start = plant.GetJointByName("slide").position_start()
    plant.GetJointByName("slide").set_translation(plant.GetMyContextFromRoot(context), AutoDiffXd(0.3, [1.0]))
    (y,) = watching.get_output_port().Eval(watching.GetMyContextFromRoot(context))
    assert y.value() == 0.3 and y.derivatives().tolist() == [1.0] and start >= 0


def test_elements_without_a_finalized_plant_go_along_as_they_are():
    tree = MultibodyTree()
    body = tree.AddRigidBody("lone", SpatialInertia.PointMass(1.0, [0, 0, 0]))
    plant = MultibodyPlant(0.0)
    plant.AddRigidBody("first", SpatialInertia.PointMass(1.0, [0, 0, 0]))
    watching = LeafSystem()
    watching.body, watching.tree, watching.plant = body, tree, plant
    watching.first = plant.GetBodyByName("first")
    converted = watching.ToAutoDiffXd()
    assert converted.tree is not tree and converted.body is converted.tree.get_body(body.index())
    assert converted.plant._scalar is AutoDiffXd and converted.first is converted.plant.GetBodyByName("first")
    converted.plant.AddRigidBody("second", SpatialInertia.PointMass(1.0, [0, 0, 0]))
    converted.plant.Finalize()
    assert converted.plant.num_bodies() == 3 and plant.num_bodies() == 2


def test_a_finalized_plant_lets_go_of_the_scene_graph_but_knows_its_geometry():
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.01)
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.1), "ball", CoulombFriction(1.0, 1.0))
    plant.Finalize()
    for other in (plant, plant.ToAutoDiffXd()):
        assert not any(found is scene_graph for found in vars(other).values())
        assert other.geometry_source_is_registered() and other.get_source_id() == plant.get_source_id()
        body = other.GetBodyByName("ball")
        assert other.GetCollisionGeometriesForBody(body) == plant.GetCollisionGeometriesForBody(ball)
        assert other.GetBodyFrameIdOrThrow(body.index()) == plant.GetBodyFrameIdOrThrow(ball.index())
        assert other.get_contact_penalty_method_time_scale() == plant.get_contact_penalty_method_time_scale()
