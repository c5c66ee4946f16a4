"""Contexts of plants with geometry in files: complete, without pickle, and in programs with new identifiers."""

from __future__ import annotations

import copy
import json
import random

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LoadContext
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    AddContactMaterial,
    Box,
    CollisionFilterDeclaration,
    Convex,
    GeometryFrame,
    GeometryInstance,
    GeometrySet,
    HalfSpace,
    IllustrationProperties,
    MakePhongIllustrationProperties,
    ProximityProperties,
    Role,
    RoleAssign,
    SceneGraph,
    Sphere,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import SpatialInertia, UnitInertia


class Scene:
    """A ball above the ground and another that is held by a rod."""

    def __init__(self, time_step=0.01, is_constrained=False):
        builder = DiagramBuilder()
        self.plant, self.scene_graph = AddMultibodyPlantSceneGraph(builder, time_step)
        plant = self.plant
        friction = CoulombFriction(0.5, 0.4)
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", friction)
        inertia = SpatialInertia(1.0, np.zeros(3), UnitInertia.SolidSphere(0.1))
        self.balls = [plant.AddRigidBody(name, inertia) for name in ("a", "b")]
        for ball in self.balls:
            plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.1), "ball", friction)
        if is_constrained:
            self.rod = plant.AddDistanceConstraint(
                plant.world_body(), [1.0, 0.0, 2.0], self.balls[1], [0.0, 0.0, 0.0], 1.0
            )
        plant.Finalize()
        self.diagram = builder.Build()

    def context(self, height):
        context = self.diagram.CreateDefaultContext()
        mine = self.plant.GetMyContextFromRoot(context)
        for i, ball in enumerate(self.balls):
            self.plant.SetFreeBodyPose(mine, ball, RigidTransform([float(i), 0.0, height]))
        return context

    def state(self, context):
        return self.plant.GetPositionsAndVelocities(self.plant.GetMyContextFromRoot(context))

    def contacts(self, context):
        """Bodies of each contact, names of geometries and forces."""
        mine = self.plant.GetMyContextFromRoot(context)
        results = self.plant.get_contact_results_output_port().Eval(mine)
        inspector = self.scene_graph.model_inspector()
        infos = [results.point_pair_contact_info(i) for i in range(results.num_point_pair_contacts())]
        return [
            (
                int(info.bodyA_index()), int(info.bodyB_index()), info.contact_force().tolist(),
                inspector.GetName(info.point_pair().id_A), inspector.GetFrameId(info.point_pair().id_B).is_valid(),
            )
            for info in infos
        ]  # fmt: skip


@pytest.mark.parametrize(("height", "num_contacts"), [(3.0, 0), (0.1005, 2)])
def test_simulation_goes_on_bit_for_bit_in_and_out_of_contact(tmp_path, height, num_contacts):
    first, second = Scene(), Scene()
    simulator = Simulator(first.diagram, first.context(height))
    simulator.AdvanceTo(0.1)
    context = simulator.get_context()
    assert len(first.contacts(context)) == num_contacts
    context.Save(tmp_path / "scene.npz")
    loaded = LoadContext(second.diagram, tmp_path / "scene.npz")
    assert second.contacts(loaded) == first.contacts(context)
    for scene, kept in ((first, context.Clone()), (second, loaded)):
        resumed = Simulator(scene.diagram, kept)
        resumed.AdvanceTo(0.2)
    straight = Simulator(first.diagram, context.Clone())
    straight.AdvanceTo(0.2)
    assert first.state(straight.get_context()).tobytes() == second.state(loaded).tobytes()
    assert first.contacts(straight.get_context()) == second.contacts(loaded)


def test_constraints_come_back(tmp_path):
    first, second = Scene(is_constrained=True), Scene(is_constrained=True)
    context = first.context(1.0)
    mine = first.plant.GetMyContextFromRoot(context)
    first.plant.SetConstraintActiveStatus(mine, first.rod, False)
    params = first.plant.GetDistanceConstraintParams(mine, first.rod)
    context.Save(tmp_path / "c.npz")
    loaded = second.plant.GetMyContextFromRoot(LoadContext(second.diagram, tmp_path / "c.npz"))
    assert not second.plant.GetConstraintActiveStatus(loaded, second.rod)
    back = second.plant.GetDistanceConstraintParams(loaded, second.rod)
    assert (back.distance(), back.p_AP().tolist()) == (params.distance(), params.p_AP().tolist())


def scene_graph_of(*names):
    """A SceneGraph with one source, one frame, and a box on it of each name."""
    scene_graph = SceneGraph()
    source = scene_graph.RegisterSource("maker")
    frame = scene_graph.RegisterFrame(source, GeometryFrame("f"))
    ids = {}
    for i, name in enumerate(names):
        instance = GeometryInstance(RigidTransform([float(i), 0.0, 0.0]), Box(1.0, 2.0, 3.0), name)
        instance.set_proximity_properties(ProximityProperties())
        ids[name] = scene_graph.RegisterGeometry(source, frame, instance)
    return scene_graph, source, frame, ids


def test_geometry_that_was_changed_in_a_context_comes_back(tmp_path):
    scene_graph, source, frame, ids = scene_graph_of("a", "b", "c")
    context = scene_graph.CreateDefaultContext()
    scene_graph.RemoveGeometry(context, source, ids["b"])
    scene_graph.ChangeShape(context, source, ids["a"], Convex(np.eye(3, 4), "points", 2.0), RigidTransform([0.1, 0, 0]))
    new = GeometryInstance(RigidTransform([0.0, 1 / 3, 0.0]), Sphere(0.0), "new")
    properties = ProximityProperties()
    AddContactMaterial(dissipation=0.1, friction=CoulombFriction(0.3, 0.2), properties=properties)
    properties.AddProperty("mine", "numbers", np.arange(3))
    new.set_proximity_properties(properties)
    new.set_illustration_properties(MakePhongIllustrationProperties([0.1, 0.2, 0.3, 1.0]))
    scene_graph.RegisterGeometry(context, source, frame, new)
    filters = scene_graph.collision_filter_manager(context)
    filters.Apply(CollisionFilterDeclaration().ExcludeWithin(GeometrySet([ids["a"], ids["c"]])))
    transient = filters.ApplyTransient(CollisionFilterDeclaration().AllowWithin(GeometrySet([ids["a"], ids["c"]])))
    context.Save(tmp_path / "c.npz")

    other, _, _, other_ids = scene_graph_of("a", "b", "c")
    for graph, known in ((scene_graph, ids), (other, other_ids)):
        loaded = LoadContext(graph, tmp_path / "c.npz")
        inspector = graph.get_query_output_port().Eval(loaded).inspector()
        all_ids = inspector.GetAllGeometryIds()
        assert [inspector.GetName(id) for id in all_ids] == ["a", "c", "new"]
        assert all_ids[:2] == [known["a"], known["c"]] and all_ids[2] not in known.values()
        assert inspector.GetShape(known["a"]) == Convex(np.eye(3, 4), "points", 2.0)
        assert inspector.GetPoseInFrame(known["a"]).translation().tolist() == [0.1, 0.0, 0.0]
        kept = inspector.GetProximityProperties(all_ids[2])
        assert kept.GetProperty("material", "coulomb_friction") == CoulombFriction(0.3, 0.2)
        assert kept.GetProperty("mine", "numbers").tolist() == [0, 1, 2]
        assert isinstance(inspector.GetProperties(all_ids[2], Role.kIllustration), IllustrationProperties)
        manager = graph.collision_filter_manager(loaded)
        assert manager.IsActive(transient) and manager.RemoveDeclaration(transient)
        loaded.Save(tmp_path / "again.npz")
        LoadContext(graph, tmp_path / "again.npz")


def test_geometry_that_is_as_it_was_keeps_what_was_derived_from_it(tmp_path):
    scene_graph, *_ = scene_graph_of("a", "b")
    scene_graph.CreateDefaultContext().Save(tmp_path / "c.npz")
    one, two = LoadContext(scene_graph, tmp_path / "c.npz"), scene_graph.CreateDefaultContext()
    assert scene_graph._state(one).proximity_layout() is scene_graph._state(two).proximity_layout()


def test_property_of_a_type_that_files_do_not_know_is_named(tmp_path):
    scene_graph, source, _, ids = scene_graph_of("a")
    context = scene_graph.CreateDefaultContext()
    properties = ProximityProperties()
    properties.AddProperty("mine", "thing", Scene)
    scene_graph.AssignRole(context, source, ids["a"], properties, assign=RoleAssign.kReplace)
    with pytest.raises(TypeError, match=r"abstract parameter 0 of system .* holds an object of type type"):
        context.Save(tmp_path / "c.npz")


def test_damaged_scenes_are_refused_or_harmless(tmp_path):
    scene = Scene()
    simulator = Simulator(scene.diagram, scene.context(0.1005))
    simulator.AdvanceTo(0.05)
    path = tmp_path / "scene.npz"
    simulator.get_context().Save(path)
    arrays = dict(np.load(path))
    header = json.loads(str(arrays.pop("header")))
    choice = random.Random(7)
    refused = 0
    for number in range(120):
        damaged_arrays, damaged = dict(arrays), copy.deepcopy(header)
        if number % 4:
            damage_entry(choice, damaged["abstract"])
        else:
            name = choice.choice([name for name in arrays if name.startswith("array")])
            damaged_arrays[name] = choice.choice([arrays[name][:-1], arrays[name].astype("f4"), np.zeros((2, 2), int)])
        np.savez(path, header=np.array(json.dumps(damaged)), **damaged_arrays)
        try:
            loaded = LoadContext(scene.diagram, path)
        except ValueError as error:
            assert str(path) in str(error)
            refused += 1
        else:
            scene.contacts(loaded)
    assert 60 < refused < 120


def damage_entry(choice, node):
    while True:
        place = choice.choice(sorted(node) if isinstance(node, dict) else range(len(node)))
        if isinstance(node[place], (dict, list)) and node[place] and choice.random() < 0.9:
            node = node[place]
        else:
            break
    if choice.random() < 0.3:
        del node[place]
    else:
        node[place] = choice.choice([None, True, -1, 3, 2**60, 0.5, "", "Box", [], {}, {"list": [1]}])
