"""Cameras that see plants: labels of bodies, looks from model files, CameraConfig."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as pillow
from rendered_scenes import color_camera, depth_camera, need_renderer, properties

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.framework.schema import Rotation, Transform
from merganser.framework.yaml import yaml_dump_typed, yaml_load_typed
from merganser.geometry import (
    Box,
    ColorRenderCamera,
    GeometryInstance,
    IllustrationProperties,
    MakeRenderEngineVtk,
    RenderEngineGlParams,
    RenderEngineVtkParams,
    RenderLabel,
    Rgba,
    Sphere,
)
from merganser.geometry.sensors import CameraInfo, RgbdSensor, RgbdSensorAsync, RgbdSensorDiscrete, VideoWriter
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.sensors import ApplyCameraConfig, CameraConfig
from merganser.multibody.tree import SpatialInertia

pytest_plugins = ["compile_policy"]

need_renderer()

INFO = CameraInfo(33, 25, 1.0)
EMPTY = int(RenderLabel.kEmpty)
DOWN = Transform(translation=[0.0, 0.0, 3.0], rotation=Rotation.Rpy(deg=[180.0, 0.0, 0.0]))


class Station:
    """A plant with a ball above a table, of which labels are 1 and 0."""

    def __init__(self) -> None:
        self.builder = DiagramBuilder()
        self.plant, self.graph = AddMultibodyPlantSceneGraph(self.builder, 2.0**-10)
        self.ball = self.plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.2))
        self.plant.RegisterVisualGeometry(
            self.plant.world_body(), RigidTransform([0, 0, -0.1]), Box(9.0, 9.0, 0.2), "table", [0.5, 0.5, 0.5, 1.0]
        )
        self.plant.RegisterVisualGeometry(self.ball, RigidTransform(), Sphere(0.2), "ball", [1.0, 0.0, 0.0, 1.0])

    def build(self) -> tuple[Any, Any]:
        diagram = self.builder.Build()
        return diagram, diagram.CreateDefaultContext()


def test_bodies_are_labelled_by_index_and_look_alike_to_cameras_and_people() -> None:
    station = Station()
    given = GeometryInstance(RigidTransform([0.5, 0, 0]), Sphere(0.1), "labelled")
    given.set_perception_properties(properties(77))
    for_people = GeometryInstance(RigidTransform([-0.5, 0, 0]), Sphere(0.1), "for people")
    for_people.set_illustration_properties(IllustrationProperties())
    either = GeometryInstance(RigidTransform([0, 0.5, 0]), Sphere(0.1), "for both")
    for instance in (given, for_people, either):
        station.plant.RegisterVisualGeometry(station.ball, instance)
    station.plant.Finalize()
    inspector = station.graph.model_inspector()
    labels = {}
    for id in inspector.GetAllGeometryIds():
        seen, drawn = inspector.GetPerceptionProperties(id), inspector.GetIllustrationProperties(id)
        label = None if seen is None else int(seen.GetProperty("label", "id"))
        labels[inspector.GetName(id)] = label, drawn is not None
        if seen and drawn:
            colors = [p.GetPropertyOrDefault("phong", "diffuse", None) for p in (seen, drawn)]
            assert colors[0] == colors[1] and not drawn.HasProperty("label", "id")
    assert labels == {
        "table": (0, True),
        "ball": (1, True),
        "labelled": (77, False),
        "for people": (None, True),
        "for both": (1, True),
    }


def test_textures_and_renderers_of_model_files_reach_the_cameras(tmp_path: Path) -> None:
    pillow.new("RGB", (2, 2), (0, 255, 0)).save(tmp_path / "green.png")
    box = "<geometry><box{}</geometry>"
    (tmp_path / "m.urdf").write_text(f"""<robot name="u"><link name="a"><visual>{box.format(' size="1 1 1"/>')}
<material><texture filename="green.png"/></material><drake:accepting_renderer name="r"/></visual></link></robot>""")
    (tmp_path / "m.sdf").write_text(f"""<sdf version="1.7"><model name="s"><link name="a"><pose>2 0 0 0 0 0</pose>
<visual name="v">{box.format("><size>1 1 1</size></box>")}<material><drake:diffuse_map>green.png</drake:diffuse_map>
</material><drake:accepting_renderer>other</drake:accepting_renderer></visual></link></model></sdf>""")
    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlantSceneGraph(builder, 0.0)
    for name in ("r", "other"):
        graph.AddRenderer(name, MakeRenderEngineVtk(RenderEngineVtkParams()))
    Parser(plant).AddModels(tmp_path / "m.urdf")
    Parser(plant).AddModels(tmp_path / "m.sdf")
    plant.Finalize()
    diagram = builder.Build()
    query = graph.get_query_output_port().Eval(graph.GetMyContextFromRoot(diagram.CreateDefaultContext()))
    seen = {}
    for name in ("r", "other"):
        camera = color_camera(INFO, renderer=name)
        for x in (0.0, 2.0):
            X_WC = RigidTransform(DOWN.GetDeterministicValue().rotation(), [x, 0.0, 3.0])
            seen[name, x] = query.RenderColorImage(camera, graph.world_frame_id(), X_WC).at(16, 12).tolist()[:3]
    green, sky = [0, 255, 0], [204, 229, 255]
    assert seen == {("r", 0.0): green, ("r", 2.0): sky, ("other", 0.0): sky, ("other", 2.0): green}


@pytest.mark.usefixtures("plan")
def test_camera_sees_a_body_fall_however_the_simulation_runs() -> None:
    station = Station()
    station.plant.Finalize()
    station.graph.AddRenderer("r", MakeRenderEngineVtk(RenderEngineVtkParams()))
    X_WB = DOWN.GetDeterministicValue()
    continuous = RgbdSensor(station.graph.world_frame_id(), X_WB, depth_camera(INFO))
    camera = station.builder.AddSystem(RgbdSensorDiscrete(continuous, 0.125))
    station.builder.Connect(station.graph.get_query_output_port(), camera.query_object_input_port())
    diagram, root = station.build()
    context = station.plant.GetMyContextFromRoot(root)
    station.plant.SetFreeBodyPose(context, station.ball, RigidTransform([0.0, 0.0, 1.5]))
    simulator = Simulator(diagram, root)
    for steps in (128, 384):
        simulator.AdvanceTo(steps / 1024 + 0.05)
        fallen = 9.81 / 1024**2 * steps * (steps + 1) / 2  # of velocities that change before positions do
        image = camera.depth_image_32F_output_port().Eval(camera.GetMyContextFromRoot(root))
        assert image.at(16, 12)[0] == pytest.approx(1.3 + fallen, abs=1e-5)
        assert camera.label_image_output_port().Eval(camera.GetMyContextFromRoot(root)).at(16, 12) == 1


def test_camera_config_adds_a_camera_at_a_frame_of_the_plant() -> None:
    station = Station()
    station.plant.Finalize()
    config = CameraConfig(
        name="top", width=33, height=25, focal=CameraConfig.FovDegrees(y=60.0), X_PB=DOWN, depth=True, fps=20.0,
        background=Rgba(0.0, 0.0, 1.0, 1.0), clipping_far=10.0,
    )  # fmt: skip
    ApplyCameraConfig(config, station.builder)
    on_ball = CameraConfig(name="ball", X_PB=Transform(base_frame="ball", translation=[0.0, 0.0, 0.5]), z_far=1.0)
    ApplyCameraConfig(config=on_ball, builder=station.builder)
    late = CameraConfig(
        name="late", output_delay=0.05, rgb=False, depth=True, renderer_name="gl", renderer_class="RenderEngineGl"
    )
    ApplyCameraConfig(late, station.builder, plant=station.plant, scene_graph=station.graph)
    ApplyCameraConfig(CameraConfig(name="none", rgb=False), station.builder)
    names = [system.get_name() for system in station.builder.GetSystems()][2:]
    assert names == ["rgbd_sensor_top", "rgbd_sensor_ball", "rgbd_sensor_late"]
    assert station.graph.RendererCount() == 2
    assert station.graph.GetRendererTypeName("gl").endswith("RenderEngineGl")
    assert isinstance(station.builder.GetSubsystemByName("rgbd_sensor_late"), RgbdSensorAsync)
    diagram, root = station.build()
    top, ball = (diagram.GetSubsystemByName(name) for name in names[:2])
    station.plant.SetFreeBodyPose(
        station.plant.GetMyContextFromRoot(root), station.ball, RigidTransform([0.0, 0.0, 1.0])
    )
    context = top.GetMyContextFromRoot(root)
    assert top.color_image_output_port().Eval(context).at(16, 12).tolist()[:3] == [255, 0, 0]
    assert top.depth_image_32F_output_port().Eval(context).at(16, 12)[0] == pytest.approx(1.8, rel=1e-6)
    pose = ball.body_pose_in_world_output_port().Eval(ball.GetMyContextFromRoot(root))
    assert pose.translation().tolist() == [0.0, 0.0, 1.5]
    looks_up = ball.color_image_output_port().Eval(ball.GetMyContextFromRoot(root))
    assert looks_up.at(320, 240).tolist() == [0, 0, 255, 255]


BAD_CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "name": ({"name": ""}, "name must be not empty"),
    "rate": ({"fps": 0.0}, "'preview_camera': fps must be positive and finite; given 0.0"),
    "delay": ({"output_delay": 0.2}, "output_delay must be not negative, and less than 1 / fps; given 0.2"),
    "focal lengths": ({"focal": CameraConfig.FocalLength()}, r"focal must have x or y; given FocalLength\(\)"),
    "base frame": ({"X_BD": Transform(base_frame="x")}, "X_BD must be without base frame"),
    "frame": ({"X_PB": Transform(base_frame="tool")}, "no frame named 'tool'"),
    "class": ({"renderer_class": "RenderEngineX"}, "renderer_class must be parameters, or one of"),
    "depths": ({"z_far": 600.0}, "must lie within its clipping range"),
    "other type": ({"renderer_class": "RenderEngineGl"}, "asks for the renderer 'default' with type RenderEngineGl"),
    "other parameters": ({"renderer_class": RenderEngineVtkParams(exposure=0.5)}, "these parameters: .*exposure=0.5"),
    "client": (
        {"renderer_name": "c", "renderer_class": "RenderEngineGltfClient"}, "kHasRenderEngineGltfClient is False"
    ),
}


@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_camera_config_that_cannot_be_adds_nothing(name: str) -> None:
    values, message = BAD_CONFIGS[name]
    station = Station()
    station.plant.Finalize()
    ApplyCameraConfig(CameraConfig(name="first"), station.builder)
    with pytest.raises(RuntimeError, match=message):
        ApplyCameraConfig(CameraConfig(**values), station.builder)
    assert len(station.builder.GetSystems()) == 3 and station.graph.RendererCount() == 1
    with pytest.raises(RuntimeError, match="a system 'rgbd_sensor_first' already"):
        ApplyCameraConfig(CameraConfig(name="first"), station.builder)
    with pytest.raises(RuntimeError, match="the diagram has no system named 'plant'"):
        ApplyCameraConfig(CameraConfig(), DiagramBuilder())


def test_camera_configs_are_read_from_yaml() -> None:
    text = """
cameras:
  left: &base
    focal: !FovDegrees {y: 30}
    X_PB: {base_frame: "arm::tool", rotation: !Rpy {deg: [0, 90, 0]}}
    renderer_class: !RenderEngineVtkParams
      exposure: 0.5
      lights: [{type: point, color: {rgba: [1, 0.5, 0]}, position: [0, 0, 2]}]
    background: {rgba: [0, 0, 0, 1]}
  right:
    <<: *base
    focal: {x: 300}
    renderer_class: RenderEngineGl
"""
    cameras = yaml_load_typed(schema=dict[str, CameraConfig], data=text, child_name="cameras")
    left, right = cameras["left"], cameras["right"]
    assert left.focal_x() == left.focal_y() == pytest.approx(240.0 / np.tan(np.deg2rad(15.0)))
    assert right.focal == CameraConfig.FocalLength(x=300.0) and right.focal_y() == right.focal.focal_y() == 300.0
    assert left.focal.focal_x(left.width, left.height) == left.focal_x()
    with pytest.raises(RuntimeError, match=r"focal must have x or y; given FovDegrees\(\)"):
        CameraConfig.FovDegrees().focal_y(640, 480)
    assert left.renderer_class.lights[0].color == Rgba(1.0, 0.5, 0.0) and right.renderer_class == "RenderEngineGl"
    again = yaml_load_typed(schema=CameraConfig, data=yaml_dump_typed(left))
    assert again.renderer_class == left.renderer_class and again.background == left.background
    color, depth = right.MakeCameras()
    assert isinstance(color, ColorRenderCamera) and depth.depth_range().max_depth() == 5.0
    gl = yaml_load_typed(schema=CameraConfig, data="renderer_class: !RenderEngineGlParams {}")
    assert gl.renderer_class == RenderEngineGlParams()
    with pytest.raises(RuntimeError, match=":1: background has the unknown entry 'r'"):
        yaml_load_typed(schema=CameraConfig, data="background: {r: 1}")


def test_video_of_a_diagram_shows_all_kinds_of_images_side_by_side(tmp_path: Path) -> None:
    station = Station()
    station.plant.Finalize()
    writer = VideoWriter.AddToBuilder(
        filename=tmp_path / "fall.gif", builder=station.builder, sensor_pose=DOWN.GetDeterministicValue(), fps=10.0,
        width=40, height=30, fov_y=1.0, kinds=["color", "depth", "label"],
    )  # fmt: skip
    diagram, root = station.build()
    station.plant.SetFreeBodyPose(
        station.plant.GetMyContextFromRoot(root), station.ball, RigidTransform([0.0, 0.0, 1.0])
    )
    Simulator(diagram, root).AdvanceTo(0.25)
    writer.Save()
    with pillow.open(tmp_path / "fall.gif") as video:
        assert video.n_frames == 3 and video.size == (120, 30)
        first = np.array(video.convert("RGB"))
    red, white, orange = first[15, 20].astype(int), first[15, 60].astype(int), first[15, 100].astype(int)
    assert np.abs(red - [255, 0, 0]).max() < 30 and white.min() > 230 and np.abs(orange - [255, 127, 14]).max() < 30
    with pytest.raises(RuntimeError, match="shows the kinds 'color', 'depth' and 'label'; given 'x'"):
        VideoWriter.AddToBuilder(
            filename="x.gif", builder=Station().builder, sensor_pose=RigidTransform(), kinds=["x"]
        )
