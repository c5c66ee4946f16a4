"""Geometry of a plant: registration with a SceneGraph, and poses that go there."""

import numpy as np
import pytest
from plants import arm_and_box, box_inertia, set_random_state

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    Box,
    GeometryInstance,
    IllustrationProperties,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import BodyIndex, default_model_instance

X_BG = RigidTransform(RollPitchYaw(0.3, 0.2, 0.1), [0.1, 0.2, 0.3])


def wired_by_hand():
    """A plant that was given its SceneGraph, its ports connected by the user."""
    builder = DiagramBuilder()
    plant, scene_graph = MultibodyPlant(0.0), SceneGraph()
    builder.AddNamedSystem("plant", plant)
    builder.AddNamedSystem("scene_graph", scene_graph)
    source_id = plant.RegisterAsSourceForSceneGraph(scene_graph)
    builder.Connect(plant.get_geometry_pose_output_port(), scene_graph.get_source_pose_port(source_id))
    builder.Connect(scene_graph.get_query_output_port(), plant.get_geometry_query_input_port())
    return builder, plant, scene_graph


def wired_by(*args, **kwargs):
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, *args, **kwargs)
    return builder, plant, scene_graph


WAYS = {
    "by hand": wired_by_hand,
    "continuous": lambda: wired_by(0.0),
    "discrete": lambda: wired_by(time_step=1e-3),
    "given plant": lambda: wired_by(plant=MultibodyPlant(0.0)),
    "given both": lambda: wired_by(MultibodyPlant(0.0), scene_graph=SceneGraph()),
}


@pytest.mark.parametrize("way", WAYS)
def test_poses_in_the_scene_graph_are_those_of_the_bodies(way):
    """And the plant sees the same SceneGraph through its query port."""
    builder, plant, scene_graph = WAYS[way]()
    arm_and_box(0.0, plant=plant)
    diagram = builder.Build()
    root = diagram.CreateDefaultContext()
    context = plant.GetMyMutableContextFromRoot(root)
    for seed in (1, 2):
        set_random_state(plant, context, seed)
        queries = (
            scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(root)),
            plant.get_geometry_query_input_port().Eval(context),
        )
        for query in queries:
            for index in range(plant.num_bodies()):
                frame_id = plant.GetBodyFrameIdOrThrow(BodyIndex(index))
                body = plant.GetBodyFromFrameId(frame_id)
                assert body is plant.get_body(BodyIndex(index))
                expected = plant.EvalBodyPoseInWorld(context, body)
                X_WF = query.GetPoseInWorld(frame_id)
                np.testing.assert_array_equal(X_WF.GetAsMatrix4(), expected.GetAsMatrix4())


def test_geometries_move_with_their_bodies():
    builder, plant, _ = WAYS["continuous"]()
    body = plant.AddRigidBody("box", box_inertia())
    geometry_id = plant.RegisterVisualGeometry(body, X_BG, Box(1, 1, 1), "visual", [1, 0, 0, 1])
    anchored_id = plant.RegisterVisualGeometry(plant.world_body(), X_BG, Sphere(1.0), "ball", [1, 0, 0, 1])
    plant.Finalize()
    root = builder.Build().CreateDefaultContext()
    context = plant.GetMyMutableContextFromRoot(root)
    X_WB = RigidTransform(RollPitchYaw(1.0, 2.0, 3.0), [4.0, 5.0, 6.0])
    plant.SetFreeBodyPose(context, body, X_WB)
    query = plant.get_geometry_query_input_port().Eval(context)
    X_WG = query.GetPoseInWorld(geometry_id)
    np.testing.assert_allclose(X_WG.GetAsMatrix4(), (X_WB @ X_BG).GetAsMatrix4(), atol=1e-14)
    assert query.GetPoseInWorld(anchored_id).IsExactlyEqualTo(X_BG)


def test_names_and_result_of_add_multibody_plant_scene_graph():
    builder = DiagramBuilder()
    result = AddMultibodyPlantSceneGraph(builder, 0.0)
    assert result == (result.plant, result.scene_graph)
    assert [system.get_name() for system in builder.GetSystems()] == ["plant", "scene_graph"]
    assert result.plant.geometry_source_is_registered()
    named = MultibodyPlant(0.0)
    named.set_name("robot")
    builder = DiagramBuilder()
    assert AddMultibodyPlantSceneGraph(builder, plant=named).plant is named
    assert named.get_name() == "robot"


def test_what_cannot_be_wired_is_refused_and_nothing_is_added():
    finalized, registered = arm_and_box(0.0), MultibodyPlant(0.0)
    registered.RegisterAsSourceForSceneGraph(SceneGraph())
    for arguments, error, message in (
        ({"plant": finalized}, RuntimeError, "finalized"),
        ({"plant": registered}, RuntimeError, "another SceneGraph"),
        ({}, TypeError, "time step or a plant"),
        ({"time_step": 0.0, "plant": MultibodyPlant(0.0)}, TypeError, "time step or a plant"),
        ({"time_step": 0.0, "scene_graph": DiagramBuilder()}, TypeError, "SceneGraph"),
        ({"time_step": -1.0}, ValueError, "time step"),
    ):
        builder = DiagramBuilder()
        with pytest.raises(error, match=message):
            AddMultibodyPlantSceneGraph(builder, **arguments)
        assert builder.empty()
    assert not finalized.geometry_source_is_registered()


def test_registration_is_refused_when_it_is_too_late_or_done():
    plant = MultibodyPlant(0.0)
    scene_graph = SceneGraph()
    with pytest.raises(TypeError, match="SceneGraph"):
        plant.RegisterAsSourceForSceneGraph(DiagramBuilder())
    scene_graph.RegisterSource("robot")
    plant.set_name("robot")
    with pytest.raises(RuntimeError, match="robot"):
        plant.RegisterAsSourceForSceneGraph(scene_graph)
    assert not plant.geometry_source_is_registered() and plant.get_source_id() is None
    plant.set_name("other")
    source_id = plant.RegisterAsSourceForSceneGraph(scene_graph)
    assert plant.get_source_id() == source_id
    with pytest.raises(RuntimeError, match="already"):
        plant.RegisterAsSourceForSceneGraph(scene_graph)
    with pytest.raises(RuntimeError, match="finalized already"):
        arm_and_box(0.0).RegisterAsSourceForSceneGraph(SceneGraph())


def test_frames_have_scoped_names():
    """The two model instances that every plant has are not named."""
    _, plant, scene_graph = WAYS["continuous"]()
    arm = plant.AddModelInstance("arm")
    inspector = scene_graph.model_inspector()
    for instance, frame_name, geometry_name in (
        (arm, "arm::link", "arm::visual"),
        (default_model_instance(), "link", "visual"),
    ):
        body = plant.AddRigidBody("link", instance, box_inertia())
        frame_id = plant.GetBodyFrameIdOrThrow(body.index())
        assert inspector.GetName(frame_id) == frame_name
        assert inspector.GetFrameGroup(frame_id) == int(instance)
        geometry_id = plant.RegisterVisualGeometry(body, X_BG, Box(1, 1, 1), "visual", [1, 0, 0, 1])
        assert inspector.GetName(geometry_id) == geometry_name
    plant.RenameModelInstance(arm, "leg")
    body = plant.GetBodyByName("link", arm)
    assert inspector.GetName(plant.GetBodyFrameIdOrThrow(body.index())) == "leg::link"
    assert inspector.GetName(plant.GetVisualGeometriesForBody(body)[0]) == "leg::visual"


def test_bodies_without_scene_graph_have_no_frames():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("box", box_inertia())
    assert plant.GetBodyFrameIdIfExists(body.index()) is None
    with pytest.raises(RuntimeError, match="'box' has no geometry frame"):
        plant.GetBodyFrameIdOrThrow(body.index())
    with pytest.raises(RuntimeError, match="'visual' of body 'box' needs a SceneGraph"):
        plant.RegisterVisualGeometry(body, X_BG, Box(1, 1, 1), "visual", [1, 0, 0, 1])


def test_shapes_of_a_body_by_kind_and_role():
    _, plant, scene_graph = WAYS["continuous"]()
    body = plant.AddRigidBody("box", box_inertia())
    visual = plant.RegisterVisualGeometry(
        body=body, X_BG=X_BG, shape=Box(1, 1, 1), name="same", diffuse_color=[0, 1, 0, 1]
    )
    plain = plant.RegisterVisualGeometry(body, X_BG, Box(1, 1, 1), "plain", properties=IllustrationProperties())
    collision = plant.RegisterCollisionGeometry(
        body=body, X_BG=X_BG, shape=Box(1, 1, 1), name="same", coulomb_friction=CoulombFriction(0.9, 0.5)
    )
    rubber = plant.RegisterCollisionGeometry(body, X_BG, Sphere(1), "rubber", ProximityProperties())
    assert plant.GetVisualGeometriesForBody(body) == [visual, plain]
    assert plant.GetCollisionGeometriesForBody(body) == [collision, rubber]
    assert (plant.num_visual_geometries(), plant.num_collision_geometries()) == (2, 2)
    inspector = scene_graph.model_inspector()
    assert inspector.GetIllustrationProperties(visual).GetProperty("phong", "diffuse").g() == 1.0
    friction = inspector.GetProximityProperties(collision).GetProperty("material", "coulomb_friction")
    assert friction == CoulombFriction(0.9, 0.5)


def test_geometry_instance_is_registered_as_a_copy():
    _, plant, scene_graph = WAYS["continuous"]()
    body = plant.AddRigidBody("box", plant.AddModelInstance("thing"), box_inertia())
    instance = GeometryInstance(X_BG, Box(1, 1, 1), "visual")
    geometry_id = plant.RegisterVisualGeometry(body=body, geometry_instance=instance)
    assert geometry_id == instance.id()
    assert instance.name() == "visual" and instance.illustration_properties() is None
    inspector = scene_graph.model_inspector()
    assert inspector.GetName(geometry_id) == "thing::visual"
    assert inspector.GetIllustrationProperties(geometry_id) is not None
    other = plant.RegisterVisualGeometry(body, GeometryInstance(X_BG, Box(1, 1, 1), "other"))
    assert plant.GetVisualGeometriesForBody(body) == [geometry_id, other]


def test_bad_shapes_are_refused_and_leave_nothing_behind():
    _, plant, scene_graph = WAYS["continuous"]()
    body = plant.AddRigidBody("box", box_inertia())
    stranger = MultibodyPlant(0.0).AddRigidBody("box", box_inertia())
    plant.RegisterVisualGeometry(body, X_BG, Box(1, 1, 1), "taken", [1, 0, 0, 1])
    box, friction = Box(1, 1, 1), CoulombFriction(1, 1)
    for call, error in (
        (lambda: plant.RegisterVisualGeometry(body, X_BG, box, "taken", [1, 0, 0, 1]), RuntimeError),
        (lambda: plant.RegisterVisualGeometry(stranger, X_BG, box, "v", [1, 0, 0, 1]), RuntimeError),
        (lambda: plant.RegisterVisualGeometry(body, X_BG, box, "v", [1, 0, 0, 7]), RuntimeError),
        (lambda: plant.RegisterVisualGeometry(body, X_BG, box), TypeError),
        (lambda: plant.RegisterVisualGeometry(body, X_BG, "box", "v", [1, 0, 0, 1]), TypeError),
        (lambda: plant.RegisterCollisionGeometry(body, X_BG, box, "c"), TypeError),
        (lambda: plant.RegisterCollisionGeometry(body, X_BG, box, "c", ProximityProperties(),
                                                 coulomb_friction=friction), TypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            call()
    assert scene_graph.model_inspector().num_geometries() == 1
    plant.Finalize()
    with pytest.raises(RuntimeError, match="finalized already"):
        plant.RegisterCollisionGeometry(body, X_BG, box, "c", friction)


def test_the_inspector_of_a_context_knows_what_has_changed_there():
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.0)
    id = plant.RegisterCollisionGeometry(
        plant.world_body(), RigidTransform(), Sphere(0.1), "ball", CoulombFriction(1, 1)
    )
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    inspector = plant.EvalSceneGraphInspector(plant.GetMyContextFromRoot(context))
    assert inspector.GetShape(id).radius() == 0.1
    scene_graph.ChangeShape(scene_graph.GetMyMutableContextFromRoot(context), plant.get_source_id(), id, Sphere(0.2))
    assert plant.EvalSceneGraphInspector(plant.GetMyContextFromRoot(context)).GetShape(id).radius() == 0.2
    with pytest.raises(ValueError, match="was given the context of"):
        plant.EvalSceneGraphInspector(context)


def test_a_plant_without_a_scene_graph_has_no_inspector():
    plant = MultibodyPlant(0.0)
    plant.Finalize()
    with pytest.raises(RuntimeError, match=r"geometry_query.* is not connected\. Make the plant with"):
        plant.EvalSceneGraphInspector(plant.CreateDefaultContext())
