"""Messages of DrakeVisualizer, and their times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.lcm import DrakeLcm, LcmInterfaceSystem
from merganser.framework.lcm.messages import lcmt_viewer_draw, lcmt_viewer_geometry_data, lcmt_viewer_load_robot
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    Box,
    Convex,
    DrakeVisualizer,
    DrakeVisualizer_,
    DrakeVisualizerParams,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    InMemoryMesh,
    MakePhongIllustrationProperties,
    MemoryFile,
    Mesh,
    ProximityProperties,
    Role,
    SceneGraph,
    Sphere,
)

TETRAHEDRON = """v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


class Scene:
    """A frame with shapes, a visualizer, and the messages that it has sent."""

    def __init__(self, *shapes: Any, role: Role = Role.kIllustration, **settings: Any) -> None:
        builder = DiagramBuilder()
        self.scene_graph = builder.AddSystem(SceneGraph())
        self.source = self.scene_graph.RegisterSource("robot")
        self.frame = self.scene_graph.RegisterFrame(self.source, GeometryFrame("arm", 3))
        for number, shape in enumerate(shapes):
            self.add(self.scene_graph, shape, f"shape{number}", role)
        self.lcm, self.got = DrakeLcm("memq://"), []
        self.lcm.SubscribeAllChannels(lambda channel, data: self.got.append((channel, data)))
        params = DrakeVisualizerParams(role=role, **settings)
        self.visualizer = DrakeVisualizer.AddToBuilder(builder, self.scene_graph, self.lcm, params)
        builder.ExportInput(self.scene_graph.get_source_pose_port(self.source), "poses")
        self.diagram = builder.Build()
        self.context = self.diagram.CreateDefaultContext()
        self.place(RigidTransform([1.0, 2.0, 3.0]))

    def add(self, target: Any, shape: Any, name: str, role: Role, context: Any = None) -> Any:
        first = () if context is None else (context,)
        instance = GeometryInstance(RigidTransform([0.5, 0.0, 0.0]), shape, name)
        if role == Role.kProximity:
            properties = ProximityProperties()
            AddCompliantHydroelasticProperties(0.5, 1e6, properties)
            instance.set_proximity_properties(properties)
        else:
            instance.set_illustration_properties(MakePhongIllustrationProperties([0.25, 0.5, 0.75, 0.5]))
        return target.RegisterGeometry(*first, self.source, self.frame, instance)

    def place(self, X_WF: RigidTransform) -> None:
        poses = FramePoseVector()
        poses.set_value(self.frame, X_WF)
        self.diagram.GetInputPort("poses").FixValue(self.context, poses)

    def publish(self) -> list[tuple[str, bytes]]:
        """The messages that are sent now."""
        self.got.clear()
        self.diagram.ForcedPublish(self.context)
        self.lcm.HandleSubscriptions(0)
        return list(self.got)


def geometry(scene: Scene) -> Any:
    """The first geometry that is sent."""
    return lcmt_viewer_load_robot.decode(scene.publish()[0][1]).link[0].geom[0]


def test_what_there_is_is_sent_first_and_where_it_is_each_time() -> None:
    scene = Scene(Sphere(0.5))
    channels = [channel for channel, _ in scene.publish()]
    assert channels == ["DRAKE_VIEWER_LOAD_ROBOT", "DRAKE_VIEWER_DRAW", "DRAKE_VIEWER_DEFORMABLE"]
    load = lcmt_viewer_load_robot.decode(scene.got[0][1])
    assert [(link.name, link.robot_num, link.num_geom) for link in load.link] == [("robot::arm", 3, 1)]
    ball = load.link[0].geom[0]
    assert ball.type == lcmt_viewer_geometry_data.SPHERE and ball.float_data == (0.5,)
    assert ball.color == (0.25, 0.5, 0.75, 0.5) and ball.position == (0.5, 0.0, 0.0)
    scene.place(RigidTransform([4.0, 5.0, 6.0]))
    scene.context.SetTime(1.5)
    (channel, data), _ = scene.publish()
    draw = lcmt_viewer_draw.decode(data)
    assert channel == "DRAKE_VIEWER_DRAW" and draw.timestamp == 1500
    assert (draw.link_name, draw.robot_num) == (["robot::arm"], (3,))
    assert draw.position == [(4.0, 5.0, 6.0)] and draw.quaternion == [(1.0, 0.0, 0.0, 0.0)]


def test_geometries_that_come_later_are_sent() -> None:
    scene = Scene(Sphere(0.5))
    scene.publish()
    context = scene.scene_graph.GetMyMutableContextFromRoot(scene.context)
    scene.add(scene.scene_graph, Box(1.0, 2.0, 3.0), "late", Role.kIllustration, context)
    sent = scene.publish()
    assert sent[0][0] == "DRAKE_VIEWER_LOAD_ROBOT"
    assert lcmt_viewer_load_robot.decode(sent[0][1]).link[0].num_geom == 2
    scene.add(scene.scene_graph, Box(1.0, 2.0, 3.0), "for contact", Role.kProximity, context)
    assert scene.publish()[0][0] == "DRAKE_VIEWER_DRAW"  # what has another role is not shown


@pytest.mark.parametrize("mode", ["never", "always"])
def test_a_simulation_sends_periodically(mode: str) -> None:
    scene = Scene(Sphere(0.5), publish_period=0.25, use_role_channel_suffix=True)
    simulator = Simulator(scene.diagram, scene.context)
    simulator._when_to_plan = mode
    simulator.AdvanceTo(1.0)
    scene.lcm.HandleSubscriptions(0)
    channels = [channel for channel, _ in scene.got]
    assert channels.count("DRAKE_VIEWER_LOAD_ROBOT_ILLUSTRATION") == 1
    assert channels.count("DRAKE_VIEWER_DRAW_ILLUSTRATION") == 5


def test_mesh_files_are_named_and_those_in_memory_sent_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.obj"
    path.write_text(TETRAHEDRON)
    named = geometry(Scene(Mesh(str(path), 2.0)))
    assert named.type == named.MESH and named.string_data == str(path) and named.float_data == (2.0, 2.0, 2.0)
    whole = geometry(Scene(Mesh(InMemoryMesh(mesh_file=MemoryFile(TETRAHEDRON.encode(), ".obj", "hint")))))
    content = json.loads(whole.string_data)["in_memory_mesh"]["mesh_file"]
    assert content["extension"] == ".obj" and content["filename_hint"] == "hint"


def test_hulls_and_hydroelastic_meshes_are_sent_as_triangles(tmp_path: Path) -> None:
    path = tmp_path / "t.obj"
    path.write_text(TETRAHEDRON)
    for sent in (
        geometry(Scene(Convex(str(path)))),
        geometry(Scene(Sphere(1.0), role=Role.kProximity, show_hydroelastic=True)),
    ):
        num_vertices, num_triangles = (int(n) for n in sent.float_data[:2])
        assert sent.type == sent.MESH and sent.string_data == ""
        assert sent.num_float_data == 2 + 3 * num_vertices + 3 * num_triangles and num_triangles >= 4
        corners = np.reshape(sent.float_data[2 + 3 * num_vertices :], (-1, 3)).astype(int)
        vertices = np.reshape(sent.float_data[2 : 2 + 3 * num_vertices], (-1, 3))[corners]
        outward = np.cross(vertices[:, 1] - vertices[:, 0], vertices[:, 2] - vertices[:, 0])
        assert (np.sum(outward * (vertices.mean(axis=1) - vertices.mean(axis=(0, 1))), axis=1) > 0).all()
    plain = geometry(Scene(Sphere(1.0), role=Role.kProximity))
    assert plain.type == plain.SPHERE


def test_a_scene_without_geometries_is_sent() -> None:
    scene = Scene()
    sent = scene.publish()
    assert lcmt_viewer_load_robot.decode(sent[0][1]).num_links == 0
    assert lcmt_viewer_draw.decode(sent[1][1]).num_links == 0


def test_derivatives_are_left_behind() -> None:
    scene = Scene(Sphere(0.5))
    diagram = scene.diagram.ToAutoDiffXd()
    context = diagram.CreateDefaultContext()
    poses = FramePoseVector()
    poses.set_value(scene.frame, RigidTransform([1.0, 2.0, 3.0]).cast[AutoDiffXd]())
    diagram.GetInputPort("poses").FixValue(context, poses)
    diagram.ForcedPublish(context)
    scene.lcm.HandleSubscriptions(0)
    assert lcmt_viewer_draw.decode(scene.got[1][1]).position == [(1.0, 2.0, 3.0)]
    assert DrakeVisualizer_[float] is DrakeVisualizer


def test_a_bus_may_be_given_in_place_of_an_lcm() -> None:
    lcm = DrakeLcm("memq://")
    assert DrakeVisualizer(LcmInterfaceSystem(lcm))._lcm is lcm


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"role": Role.kUnassigned}, RuntimeError, "kIllustration, kProximity or kPerception"),
        ({"publish_period": 0.0}, RuntimeError, "positive publish period; given 0.0"),
        ({"publish_period": float("nan")}, RuntimeError, "positive publish period"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        DrakeVisualizer(DrakeLcm("memq://"), DrakeVisualizerParams(**settings))
    with pytest.raises(TypeError, match="takes DrakeVisualizerParams"):
        DrakeVisualizer(DrakeLcm("memq://"), settings)
    with pytest.raises(TypeError, match="a SceneGraph or an output port"):
        DrakeVisualizer.AddToBuilder(DiagramBuilder(), None, DrakeLcm("memq://"))
