"""MeshcatVisualizer and MeshcatPointCloudVisualizer: what they draw of a diagram, when, and how progress is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import pytest
import umsgpack
from viewer_clients import color_at, matrix_at, property_at

from merganser.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from merganser.framework import AbstractValue, BusValue, DiagramBuilder, DiagramBuilder_, LeafSystem, Value
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    Box,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    IllustrationProperties,
    MakePhongIllustrationProperties,
    Meshcat,
    MeshcatPointCloudVisualizer,
    MeshcatPointCloudVisualizer_,
    MeshcatVisualizer,
    MeshcatVisualizer_,
    MeshcatVisualizerParams,
    MeshcatVisualizerSurfaceVelocityData,
    ProximityProperties,
    Rgba,
    Role,
    SceneGraph,
    SceneGraph_,
    Sphere,
)
from merganser.geometry.perception import PointCloud
from merganser.geometry.visualizers import scene_drawing as progress


class Mover(LeafSystem):
    """Moves a frame along x as fast as time."""

    def __init__(self, frame_id: Any) -> None:
        super().__init__()
        self._frame_id = frame_id
        self.DeclareAbstractOutputPort("poses", lambda: Value(FramePoseVector()), self._calc)

    def _calc(self, context: Any, output: Any) -> None:
        output.get_mutable_value().set_value(self._frame_id, RigidTransform([context.get_time(), 0, 0]))


class Scene:
    """A frame 'robot::link' that moves, with a ball and a box; a floor; and the diagram around."""

    def __init__(self) -> None:
        self.builder = DiagramBuilder()
        self.graph = self.builder.AddSystem(SceneGraph())
        self.source = self.graph.RegisterSource("robot")
        self.frame = self.graph.RegisterFrame(self.source, GeometryFrame("robot::link"))
        self.ball = self.add("robot::ball", Sphere(0.5), color=[1, 0, 0, 0.5])
        self.box = self.add("box", Box(1, 1, 1), X=RigidTransform([0, 0, 2]))
        instance = GeometryInstance(RigidTransform(), Box(9, 9, 0.1), "floor")
        instance.set_illustration_properties(IllustrationProperties())
        self.floor = self.graph.RegisterAnchoredGeometry(self.source, instance)
        mover = self.builder.AddSystem(Mover(self.frame))
        self.builder.Connect(mover.get_output_port(), self.graph.get_source_pose_port(self.source))

    def add(self, name: str, shape: Any, color: Any = None, X: RigidTransform | None = None) -> Any:
        instance = GeometryInstance(X or RigidTransform(), shape, name)
        instance.set_illustration_properties(
            IllustrationProperties() if color is None else MakePhongIllustrationProperties(color)
        )
        return self.graph.RegisterGeometry(self.source, self.frame, instance)


@pytest.fixture(scope="module")
def meshcat() -> Meshcat:
    return Meshcat(port=0)


@pytest.fixture(autouse=True)
def _clean(meshcat: Meshcat) -> None:
    meshcat.Delete()
    meshcat.DeleteAddedControls()
    meshcat.StopRecording()
    meshcat.DeleteRecording()


# ------------------------------------------------------------------ what is drawn


def test_geometries_are_below_their_frames_by_name(meshcat: Meshcat) -> None:
    scene = Scene()
    visualizer = MeshcatVisualizer.AddToBuilder(scene.builder, scene.graph, meshcat)
    assert visualizer.get_name() == "meshcat_visualizer(visualizer)"
    diagram = scene.builder.Build()
    context = diagram.CreateDefaultContext()
    context.SetTime(3.0)
    diagram.ForcedPublish(context)
    np.testing.assert_array_equal(matrix_at(meshcat, "visualizer/robot/link")[:3, 3], [3, 0, 0])
    np.testing.assert_array_equal(matrix_at(meshcat, "visualizer/robot/link/box")[:3, 3], [0, 0, 2])
    assert color_at(meshcat, "visualizer/robot/link/robot/ball") == (0xFF0000, 0.5)
    assert color_at(meshcat, "visualizer/robot/link/box") == (0xE5E5E5, 1.0)
    assert meshcat.HasPath("visualizer/floor") and meshcat.GetSimulationTime() == 3.0
    visualizer.Delete()
    assert not meshcat.HasPath("visualizer")
    diagram.ForcedPublish(context)
    assert meshcat.HasPath("visualizer/robot/link/box")


def test_settings_choose_role_color_place_and_visibility(meshcat: Meshcat) -> None:
    scene = Scene()
    properties = ProximityProperties()
    scene.graph.AssignRole(scene.source, scene.ball, properties)
    params = MeshcatVisualizerParams(
        role=Role.kProximity, default_color=Rgba(0, 1, 0, 1), prefix="/collision", visible_by_default=False
    )
    port = scene.graph.get_query_output_port()
    visualizer = MeshcatVisualizer.AddToBuilder(scene.builder, query_object_port=port, meshcat=meshcat, params=params)
    params.prefix = "changed later"
    assert visualizer.get_name() == "meshcat_visualizer(/collision)"
    diagram = scene.builder.Build()
    diagram.ForcedPublish(diagram.CreateDefaultContext())
    assert color_at(meshcat, "/collision/robot/link/robot/ball") == (0x00FF00, 1.0)
    assert not meshcat.HasPath("/collision/robot/link/box") and not meshcat.HasPath("/collision/floor")
    assert property_at(meshcat, "/collision", "visible") is False
    meshcat.Delete("/collision")


def test_geometries_may_say_which_viewers_show_them(meshcat: Meshcat) -> None:
    scene = Scene()
    for name, accepting in (("mine", "visualizer"), ("other", "another viewer")):
        instance = GeometryInstance(RigidTransform(), Sphere(1), name)
        properties = IllustrationProperties()
        properties.AddProperty("meshcat", "accepting", accepting)
        instance.set_illustration_properties(properties)
        scene.graph.RegisterGeometry(scene.source, scene.frame, instance)
    MeshcatVisualizer.AddToBuilder(
        scene.builder, scene.graph, meshcat, MeshcatVisualizerParams(include_unspecified_accepting=False)
    )
    diagram = scene.builder.Build()
    diagram.ForcedPublish(diagram.CreateDefaultContext())
    shown = [name for name in ("mine", "other", "box") if meshcat.HasPath(f"visualizer/robot/link/{name}")]
    assert shown == ["mine"]


def test_hydroelastic_meshes_are_drawn_in_place_of_shapes(meshcat: Meshcat) -> None:
    scene = Scene()
    properties = ProximityProperties()
    AddCompliantHydroelasticProperties(0.5, 1e6, properties)
    scene.graph.AssignRole(scene.source, scene.ball, properties)
    params = MeshcatVisualizerParams(role=Role.kProximity, show_hydroelastic=True)
    MeshcatVisualizer.AddToBuilder(scene.builder, scene.graph, meshcat, params)
    diagram = scene.builder.Build()
    diagram.ForcedPublish(diagram.CreateDefaultContext())
    content = umsgpack.unpackb(meshcat._GetPackedObject("visualizer/robot/link/robot/ball"))["object"]
    data = content["geometries"][0]["data"]
    vertices = np.frombuffer(data["attributes"]["position"]["array"].data, dtype="<f4").reshape(-1, 3)
    triangles = np.frombuffer(data["index"]["array"].data, dtype="<u4").reshape(-1, 3)
    assert np.linalg.norm(vertices[triangles].reshape(-1, 3), axis=1).min() == pytest.approx(0.5)  # the surface alone


def test_changes_of_geometries_in_the_context_are_followed(meshcat: Meshcat) -> None:
    scene = Scene()
    MeshcatVisualizer.AddToBuilder(scene.builder, scene.graph, meshcat)
    diagram = scene.builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.ForcedPublish(context)
    box = meshcat._GetPackedObject("visualizer/robot/link/box")
    version = meshcat._scene._version
    diagram.ForcedPublish(context)
    assert meshcat._scene._version == version  # nothing has changed, nothing is sent

    inside = scene.graph.GetMyMutableContextFromRoot(context)
    scene.graph.RemoveGeometry(inside, scene.source, scene.ball)
    scene.graph.ChangeShape(inside, scene.source, scene.floor, Box(1, 2, 3), RigidTransform([0, 0, -1]))
    instance = GeometryInstance(RigidTransform(), Sphere(1), "new")
    instance.set_illustration_properties(IllustrationProperties())
    scene.graph.RegisterGeometry(inside, scene.source, scene.frame, instance)
    diagram.ForcedPublish(context)
    assert not meshcat.HasPath("visualizer/robot/link/robot/ball") and meshcat.HasPath("visualizer/robot/link/new")
    assert matrix_at(meshcat, "visualizer/floor")[2, 3] == -1
    assert meshcat._GetPackedObject("visualizer/robot/link/box") == box  # what has not changed is not sent again

    diagram.ForcedPublish(diagram.CreateDefaultContext())  # another Context, with the geometries of the model
    assert meshcat.HasPath("visualizer/robot/link/robot/ball") and not meshcat.HasPath("visualizer/robot/link/new")


def test_a_slider_changes_the_opacity(meshcat: Meshcat) -> None:
    scene = Scene()
    params = MeshcatVisualizerParams(enable_alpha_slider=True, initial_alpha_slider_value=0.333, prefix="robots")
    for _ in range(2):  # the second one takes the place of the first, as when a cell of a notebook runs again
        visualizer = MeshcatVisualizer(meshcat, params)
    scene.builder.AddSystem(visualizer)
    scene.builder.Connect(scene.graph.get_query_output_port(), visualizer.query_object_input_port())
    diagram = scene.builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.ForcedPublish(context)
    assert meshcat.GetSliderNames() == ["robots α"]
    assert property_at(meshcat, "robots", "modulated_opacity") == meshcat.GetSliderValue("robots α") == 0.34
    meshcat.SetSliderValue("robots α", 0.5)
    diagram.ForcedPublish(context)
    assert property_at(meshcat, "robots", "modulated_opacity") == 0.5


def test_arguments_are_checked(meshcat: Meshcat) -> None:
    for wrong in (None, 3):
        with pytest.raises(TypeError, match="takes a Meshcat and MeshcatVisualizerParams"):
            MeshcatVisualizer(wrong)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="kUnassigned"):
        MeshcatVisualizer(meshcat, MeshcatVisualizerParams(role=Role.kUnassigned))
    with pytest.raises(RuntimeError, match="publish_period must not be negative; given -1"):
        MeshcatVisualizer(meshcat, MeshcatVisualizerParams(publish_period=-1))
    with pytest.raises(TypeError, match="takes a DiagramBuilder, a SceneGraph or an output port"):
        MeshcatVisualizer.AddToBuilder(DiagramBuilder(), 3, meshcat)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="must map FrameId to MeshcatVisualizerSurfaceVelocityData"):
        MeshcatVisualizer(meshcat, surface_data={3: None})  # type: ignore[dict-item]
    wrong_axis = MeshcatVisualizerSurfaceVelocityData(axis_B=np.array([0.0, np.nan, 1.0]))
    with pytest.raises(RuntimeError, match="axis_B of surface_data must be three finite numbers"):
        MeshcatVisualizer(meshcat, surface_data={Scene().frame: wrong_axis})
    visualizer = MeshcatVisualizer(meshcat)
    with pytest.raises(RuntimeError, match=r"query_object.*not connected"):
        visualizer.ForcedPublish(visualizer.CreateDefaultContext())


def test_surfaces_of_bodies_move_pictures_as_far_as_the_bus_says(meshcat: Meshcat) -> None:
    scene = Scene()
    R_FG = RotationMatrix.MakeXRotation(np.pi / 2)
    scene.add("belt", Box(1, 1, 1), X=RigidTransform(R_FG, [0.0, 0.0, 0.0]))
    data = MeshcatVisualizerSurfaceVelocityData(displacement_signal_name="s", axis_B=np.array([0.0, 0.0, 1.0]))
    visualizer = MeshcatVisualizer.AddToBuilder(scene.builder, scene.graph, meshcat, surface_data={scene.frame: data})
    diagram = scene.builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.ForcedPublish(context)  # the port need not be connected
    bus = BusValue()
    bus.Set("s", Value(0.25))
    visualizer.surface_displacements_input_port().FixValue(visualizer.GetMyContextFromRoot(context), bus)
    diagram.ForcedPublish(context)
    found = property_at(meshcat, "visualizer/robot/link/belt", "surface_displacement")
    np.testing.assert_allclose(found, [0.0, 1.0, 0.0, 0.25], atol=1e-15)


# ------------------------------------------------------------------ when


def frames(meshcat: Meshcat) -> list[int]:
    (frames,) = (frames for frames in meshcat.get_mutable_recording()._poses.values())
    return sorted(frames)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_recording_has_a_frame_for_each_period(meshcat: Meshcat, compiled: bool) -> None:
    scene = Scene()
    visualizer = MeshcatVisualizer.AddToBuilder(
        scene.builder, scene.graph, meshcat, MeshcatVisualizerParams(publish_period=1 / 30)
    )
    diagram = scene.builder.Build()
    simulator = Simulator(diagram)
    simulator._when_to_plan = "always" if compiled else "never"
    simulator.Initialize()
    simulator.AdvanceTo(0.5)
    assert visualizer.StartRecording() is visualizer.get_mutable_recording()
    simulator.AdvanceTo(1.5)
    visualizer.StopRecording()
    simulator.AdvanceTo(2.0)
    visualizer.PublishRecording()
    assert frames(meshcat) == list(range(16, 46))
    ((block, recorded),) = meshcat.get_mutable_recording()._poses.items()
    np.testing.assert_allclose([recorded[k][0, 0, 3] for k in (16, 45)], [16 / 30, 1.5])
    assert matrix_at(meshcat, "visualizer/robot/link")[0, 3] == 2.0
    visualizer.DeleteRecording()
    assert visualizer.get_mutable_recording()._poses == {} and block.paths == ["/drake/visualizer/robot/link"]


@pytest.mark.parametrize("compiled", [False, True])
def test_what_is_shown_at_the_end_is_how_things_are_then(meshcat: Meshcat, compiled: bool) -> None:
    scene = Scene()
    MeshcatVisualizer.AddToBuilder(scene.builder, scene.graph, meshcat)
    simulator = Simulator(scene.builder.Build())
    simulator._when_to_plan = "always" if compiled else "never"
    simulator.AdvanceTo(1.0)
    assert matrix_at(meshcat, "visualizer/robot/link")[0, 3] == 1.0
    simulator.AdvanceTo(1.0 + 3 / 64)
    assert matrix_at(meshcat, "visualizer/robot/link")[0, 3] == 1.0 + 3 / 64
    assert simulator.get_num_publishes() == 1 + 64 + 3


def test_each_simulation_begins_with_a_clean_prefix_by_default(meshcat: Meshcat) -> None:
    for delete in (True, False):
        scene = Scene()
        meshcat.SetObject("visualizer/old", Sphere(1))
        params = MeshcatVisualizerParams(delete_on_initialization_event=delete)
        MeshcatVisualizer.AddToBuilder(scene.builder, scene.graph, meshcat, params)
        Simulator(scene.builder.Build()).Initialize()
        assert meshcat.HasPath("visualizer/old") != delete and meshcat.HasPath("visualizer/robot/link")


def test_without_a_period_each_step_is_shown(meshcat: Meshcat) -> None:
    scene = Scene()
    visualizer = MeshcatVisualizer.AddToBuilder(
        scene.builder, scene.graph, meshcat, MeshcatVisualizerParams(publish_period=0)
    )
    diagram = scene.builder.Build()
    simulator = Simulator(diagram)
    ApplySimulatorConfig(SimulatorConfig(max_step_size=0.1), simulator)
    simulator.Initialize()
    assert visualizer.StartRecording().frames_per_second() == 64
    simulator.AdvanceTo(0.3)
    assert matrix_at(meshcat, "visualizer/robot/link")[0, 3] == pytest.approx(0.3)


# ------------------------------------------------------------------ copies and scalars


def test_copies_and_other_scalars_draw_in_the_same_meshcat(meshcat: Meshcat) -> None:
    assert MeshcatVisualizer_[float] is MeshcatVisualizer
    assert issubclass(MeshcatVisualizer_[AutoDiffXd], MeshcatVisualizer)
    assert MeshcatVisualizer_.param_list == MeshcatPointCloudVisualizer_.param_list == [(float,), (AutoDiffXd,)]
    scene = Scene()
    MeshcatVisualizer.AddToBuilder(scene.builder, scene.graph, meshcat)
    diagram = scene.builder.Build()
    for copied in (diagram.Clone(), diagram.ToAutoDiffXd()):
        context = copied.CreateDefaultContext()
        context.SetTime(context.get_time() + 5.0)
        copied.ForcedPublish(context)
        assert matrix_at(meshcat, "visualizer/robot/link")[0, 3] == 5.0
        meshcat.Delete()
        diagram.ForcedPublish(diagram.CreateDefaultContext())


def test_in_a_diagram_of_another_scalar_it_is_one_of_that(meshcat: Meshcat) -> None:
    builder = DiagramBuilder_[AutoDiffXd]()
    graph = builder.AddSystem(SceneGraph_[AutoDiffXd]())
    for visualizer_class in (MeshcatVisualizer, MeshcatVisualizer_[AutoDiffXd]):
        visualizer = visualizer_class.AddToBuilder(builder, graph, meshcat)
        assert isinstance(visualizer, MeshcatVisualizer_[AutoDiffXd])
    diagram = builder.Build()
    diagram.ForcedPublish(diagram.CreateDefaultContext())


# ------------------------------------------------------------------ point clouds


def test_point_clouds_are_drawn_where_they_are(meshcat: Meshcat) -> None:
    visualizer = MeshcatPointCloudVisualizer(meshcat, "cloud", publish_period=0.5)
    visualizer.set_point_size(0.25)
    visualizer.set_default_rgba(Rgba(1, 0, 0, 1))
    context = visualizer.CreateDefaultContext()
    with pytest.raises(RuntimeError, match=r"cloud.*not connected"):
        visualizer.ForcedPublish(context)
    cloud = PointCloud(2)
    cloud.mutable_xyzs()[:] = 1
    visualizer.cloud_input_port().FixValue(context, AbstractValue.Make(cloud))
    visualizer.ForcedPublish(context)
    np.testing.assert_array_equal(matrix_at(meshcat, "cloud"), np.eye(4))
    visualizer.pose_input_port().FixValue(context, RigidTransform([1, 2, 3]))
    visualizer.ForcedPublish(context)
    np.testing.assert_array_equal(matrix_at(meshcat, "cloud")[:3, 3], [1, 2, 3])
    assert color_at(meshcat, "cloud") == (0xFF0000, 1.0)
    visualizer.Delete()
    assert not meshcat.HasPath("cloud")
    with pytest.raises(RuntimeError, match="must not be negative; given -1"):
        MeshcatPointCloudVisualizer(meshcat, "cloud", -1)
    with pytest.raises(TypeError, match="takes a Meshcat and a path"):
        MeshcatPointCloudVisualizer("cloud", meshcat)  # type: ignore[arg-type]


@pytest.mark.parametrize(("patience", "switch", "num_lines"), [(60.0, "1", 0), (-1.0, "1", 1), (-1.0, "0", 0)])
def test_progress_is_shown_after_a_while_unless_switched_off(monkeypatch, capsys, patience, switch, num_lines):
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    monkeypatch.setenv("MERGANSER_PROGRESS", switch)
    assert list(progress.with_progress(["a", "b", "c"], "drawing shapes")) == ["a", "b", "c"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == num_lines and all("drawing shapes, 3 in all" in line for line in lines)


def test_a_bar_on_a_terminal_ends_with_the_work(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setenv("MERGANSER_PROGRESS", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with pytest.raises(ValueError, match="inside"):
        for _ in progress.with_progress([1, 2], "drawing shapes"):
            raise ValueError("inside")
    assert list(progress.with_progress([1, 2], "drawing shapes")) == [1, 2]
