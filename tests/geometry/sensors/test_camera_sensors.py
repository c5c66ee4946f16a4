"""RgbdSensor, RgbdSensorDiscrete and RgbdSensorAsync in diagrams."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from rendered_scenes import WORLD, color_camera, depth_camera, need_renderer, properties

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem, LoadContext, Value
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    MakeRenderEngineVtk,
    RenderCameraCore,
    RenderEngineVtkParams,
    RenderLabel,
    SceneGraph,
)
from merganser.geometry.sensors import (
    CameraInfo,
    RgbdSensor,
    RgbdSensorAsync,
    RgbdSensorDiscrete,
)

need_renderer()

INFO = CameraInfo(33, 25, 1.0)
EMPTY = int(RenderLabel.kEmpty)


class Mover(LeafSystem):
    """A frame at height 2 + t, as a source of poses."""

    def __init__(self, graph: SceneGraph) -> None:
        super().__init__()
        self.source = graph.RegisterSource("mover")
        self.frame = graph.RegisterFrame(self.source, GeometryFrame("plate"))
        plate = GeometryInstance(RigidTransform([0.0, 0.0, 0.1]), Box(1.0, 1.0, 0.2), "plate")
        plate.set_perception_properties(properties(5, (1.0, 0.0, 0.0)))
        graph.RegisterGeometry(self.source, self.frame, plate)
        self.DeclareAbstractOutputPort("pose", lambda: Value(FramePoseVector()), self._calc, {self.time_ticket()})

    def _calc(self, context: Any, output: Any) -> None:
        poses = FramePoseVector()
        poses.set_value(self.frame, RigidTransform([0.0, 0.0, 2.0 + context.get_time()]))
        output.set_value(poses)


class Station:
    """A plate that moves away, and a sensor that looks at it."""

    def __init__(self, make: Any) -> None:
        builder = DiagramBuilder()
        self.graph = builder.AddNamedSystem("scene_graph", SceneGraph())
        self.graph.AddRenderer("r", MakeRenderEngineVtk(RenderEngineVtkParams()))
        self.mover = builder.AddSystem(Mover(self.graph))
        builder.Connect(self.mover.get_output_port(), self.graph.get_source_pose_port(self.mover.source))
        self.sensor: Any = builder.AddNamedSystem("camera", make(self))
        builder.Connect(self.graph.get_query_output_port(), self.sensor.query_object_input_port())
        self.diagram = builder.Build()
        self.root = self.diagram.CreateDefaultContext()

    @property
    def context(self) -> Any:
        return self.sensor.GetMyMutableContextFromRoot(self.root)

    def eval(self, name: str, context: Any = None) -> Any:
        return self.sensor.GetOutputPort(name).Eval(context or self.context)

    def depth(self) -> float:
        image = self.eval("depth_image_32f")
        return float(image.at(16, 12)[0])


def sensor(station: Station) -> RgbdSensor:
    return RgbdSensor(WORLD, RigidTransform(), color_camera(INFO), depth_camera(INFO))


def test_sensor_gives_all_images_of_the_moment_and_makes_each_once() -> None:
    station = Station(sensor)
    assert (station.eval("color_image").at(16, 12) == [255, 0, 0, 255]).all()
    assert station.eval("label_image").at(16, 12) == 5 and station.eval("label_image").at(0, 0) == EMPTY
    assert station.depth() == pytest.approx(2.0, rel=1e-6)
    millimeters = station.eval("depth_image_16u")
    assert millimeters.at(16, 12) in (1999, 2000) and millimeters.at(0, 0) == 65535
    assert station.eval("image_time").tolist() == [0.0]
    assert station.eval("color_image") is station.eval("color_image")
    before = station.eval("color_image"), station.eval("depth_image_32f")
    station.root.SetTime(1.0)
    assert station.depth() == pytest.approx(3.0, rel=1e-6) and station.eval("image_time").tolist() == [1.0]
    assert station.eval("color_image") is not before[0] and before[1].at(16, 12) == pytest.approx(2.0, rel=1e-6)


def test_sensor_is_where_its_parent_and_its_cameras_are() -> None:
    X_BS = RigidTransform([0.0, 0.0, -0.25])
    core = RenderCameraCore("r", INFO, depth_camera(INFO).core().clipping(), X_BS)
    camera = type(depth_camera(INFO))(core, depth_camera(INFO).depth_range())
    station = Station(lambda s: RgbdSensor(s.mover.frame, RigidTransform([0.0, 0.0, -1.0]), camera))
    for time in (0.0, 2.0):
        station.root.SetTime(time)
        assert station.depth() == pytest.approx(1.25, rel=1e-6)
        assert station.eval("body_pose_in_world").translation().tolist() == [0.0, 0.0, 1.0 + time]
    color = station.sensor.default_color_render_camera()
    assert color.core() == core and not color.show_window()


def test_parameters_of_a_sensor_belong_to_the_context_and_defaults_to_later_ones() -> None:
    station = Station(sensor)
    camera, context = station.sensor, station.context
    other = station.diagram.CreateDefaultContext()
    camera.SetX_PB(context, RigidTransform([0.0, 0.0, 0.5]))
    assert station.depth() == pytest.approx(1.5, rel=1e-6)
    camera.SetParentFrameId(context, station.mover.frame)
    camera.SetX_PB(context, RigidTransform([0.0, 0.0, -0.75]))
    assert station.depth() == pytest.approx(0.75, rel=1e-6)
    big = CameraInfo(50, 40, 1.0)
    camera.SetDepthRenderCamera(context, depth_camera(big))
    camera.SetColorRenderCamera(context, color_camera(big))
    assert station.eval("depth_image_16u").shape == (40, 50, 1) and station.eval("color_image").shape == (40, 50, 4)
    assert camera.GetParentFrameId(context) == station.mover.frame
    assert camera.GetX_PB(context).translation()[2] == -0.75 and camera.default_X_PB().IsExactlyIdentity()
    its = camera.GetMyContextFromRoot(other)
    assert camera.GetDepthRenderCamera(its) == camera.default_depth_render_camera()
    camera.set_default_X_PB(RigidTransform([0.0, 0.0, 1.0]))
    camera.set_default_parent_frame_id(station.mover.frame)
    camera.set_default_depth_render_camera(depth_camera(big))
    camera.set_default_color_render_camera(color_camera(big))
    new = camera.GetMyContextFromRoot(station.diagram.CreateDefaultContext())
    assert camera.GetX_PB(new).translation()[2] == 1.0 and camera.GetColorRenderCamera(new) == color_camera(big)
    assert camera.GetX_PB(its).translation()[2] == 0.0
    with pytest.raises(TypeError, match="depth_camera must be a DepthRenderCamera; given 3"):
        camera.SetDepthRenderCamera(context, 3)
    for bad in ((WORLD, RigidTransform(), color_camera(INFO)), (3, RigidTransform(), depth_camera(INFO))):
        with pytest.raises(TypeError):
            RgbdSensor(*bad)


def test_renderer_that_is_missing_is_named_with_the_system() -> None:
    station = Station(lambda s: RgbdSensor(WORLD, RigidTransform(), depth_camera(INFO, renderer="other")))
    with pytest.raises(RuntimeError, match="no renderer named 'other' in this SceneGraph; its renderers: 'r'"):
        station.eval("color_image")


@pytest.mark.parametrize("has_labels", [True, False])
def test_discrete_sensor_holds_images_for_a_period(has_labels: bool) -> None:
    station = Station(lambda s: RgbdSensorDiscrete(sensor(s), 0.5, has_labels))
    assert station.sensor.period() == 0.5 and RgbdSensorDiscrete.kDefaultPeriod == 1.0 / 30.0
    assert station.eval("color_image").shape == (25, 33, 4) and not station.eval("color_image").data.any()
    simulator = Simulator(station.diagram, station.root)
    depths = []
    for time in (0.0, 0.25, 0.49, 0.51, 0.75, 1.01):
        simulator.AdvanceTo(time)
        depths.append(station.depth())
    assert depths == pytest.approx([2.0, 2.0, 2.0, 2.5, 2.5, 3.0], rel=1e-6)
    assert station.eval("image_time").tolist() == [1.0] and station.eval("depth_image_16u").at(16, 12) in (2999, 3000)
    assert station.eval("body_pose_in_world").IsExactlyIdentity()
    if has_labels:
        assert station.sensor.label_image_output_port().Eval(station.context).at(16, 12) == 5
    else:
        with pytest.raises(ValueError, match="no output port named 'label_image'"):
            station.sensor.label_image_output_port()
    held = station.eval("color_image")
    clone = station.root.Clone()
    assert station.eval("color_image", station.sensor.GetMyContextFromRoot(clone)) is held  # shared, never changed


@pytest.mark.parametrize("period", [0.0, -1.0, np.inf, np.nan])
def test_discrete_sensor_needs_a_period(period: float) -> None:
    with pytest.raises(ValueError, match="period of an RgbdSensorDiscrete must be positive"):
        RgbdSensorDiscrete(RgbdSensor(WORLD, RigidTransform(), depth_camera(INFO)), period)


def asynchronous(station: Station, **arguments: Any) -> RgbdSensorAsync:
    usual: dict[str, Any] = {
        "scene_graph": station.graph, "parent_id": WORLD, "X_PB": RigidTransform(), "fps": 2.0, "capture_offset": 0.0,
        "output_delay": 0.2, "color_camera": color_camera(INFO), "depth_camera": depth_camera(INFO),
        "render_label_image": True,
    }  # fmt: skip
    return RgbdSensorAsync(**{**usual, **arguments})


def test_asynchronous_sensor_gives_what_it_saw_a_while_ago() -> None:
    station = Station(asynchronous)
    assert station.eval("color_image").size() == 0 and np.isnan(station.eval("image_time")).all()
    simulator = Simulator(station.diagram, station.root)
    seen = {}
    for time in (0.1, 0.21, 0.6, 0.71, 1.21):
        simulator.AdvanceTo(time)
        seen[time] = station.eval("image_time").tolist()[0], (station.depth() if time > 0.2 else None)
    assert np.isnan(seen.pop(0.1)[0])
    expected = {0.21: (0.0, 2.0), 0.6: (0.0, 2.0), 0.71: (0.5, 2.5), 1.21: (1.0, 3.0)}
    for time, (image_time, depth) in expected.items():
        assert seen[time] == (pytest.approx(image_time), pytest.approx(depth, rel=1e-6))
    assert station.eval("label_image").at(16, 12) == 5
    assert station.eval("color_image").at(16, 12).tolist() == [255, 0, 0, 255]
    assert station.eval("depth_image_16u").at(16, 12) in (2999, 3000)


def test_an_asynchronous_sensor_has_its_cameras_ports_and_refuses_impossible_times() -> None:
    station = Station(lambda s: asynchronous(s, color_camera=None, render_label_image=False))
    names = [station.sensor.get_output_port(i).get_name() for i in range(station.sensor.num_output_ports())]
    assert names == ["depth_image_32f", "depth_image_16u", "body_pose_in_world", "image_time"]
    with pytest.raises(RuntimeError, match="made without a color camera"):
        station.sensor.SetColorRenderCamera(station.context, color_camera(INFO))
    assert station.sensor.GetColorRenderCamera(station.context) is None
    for arguments in (
        {"fps": 0.0}, {"capture_offset": -1.0}, {"output_delay": 0.5}, {"output_delay": 0.0},
        {"color_camera": None}, {"color_camera": None, "depth_camera": None, "render_label_image": False},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"must be|needs a"):
            asynchronous(station, **arguments)


def test_error_while_images_are_made_is_raised_when_they_are_due() -> None:
    station = Station(lambda s: asynchronous(s, color_camera=color_camera(INFO, renderer="other")))
    simulator = Simulator(station.diagram, station.root)
    simulator.AdvanceTo(0.1)
    with pytest.raises(RuntimeError, match="no renderer named 'other'"):
        simulator.AdvanceTo(0.3)


def test_sensors_are_copied_with_their_diagrams() -> None:
    station = Station(lambda s: RgbdSensorDiscrete(sensor(s), 0.5))
    Simulator(station.diagram, station.root).AdvanceTo(0.6)
    twin = copy.deepcopy(station.diagram)
    context = twin.CreateDefaultContext()
    Simulator(twin, context).AdvanceTo(0.6)
    camera = twin.GetSubsystemByName("camera")
    image = camera.GetOutputPort("depth_image_32f").Eval(camera.GetMyContextFromRoot(context))
    np.testing.assert_array_equal(image.data, station.eval("depth_image_32f").data)


@pytest.mark.parametrize("make", [lambda s: RgbdSensorDiscrete(sensor(s), 0.5), lambda s: asynchronous(s)])
def test_sensors_can_be_pickled(make: Any) -> None:
    station = Station(make)
    Simulator(station.diagram, station.root).AdvanceTo(0.6)
    twin = pickle.loads(pickle.dumps(station.diagram))
    context = twin.CreateDefaultContext()
    Simulator(twin, context).AdvanceTo(0.6)
    camera = twin.GetSubsystemByName("camera")
    image = camera.GetOutputPort("depth_image_32f").Eval(camera.GetMyContextFromRoot(context))
    np.testing.assert_array_equal(image.data, station.eval("depth_image_32f").data)


def test_images_and_what_is_seen_are_kept_in_files_for_other_programs(tmp_path: Any) -> None:
    held, live = (Station(lambda s: RgbdSensorDiscrete(sensor(s), 0.5)), Station(sensor))
    Simulator(held.diagram, held.root).AdvanceTo(0.6)
    graph_context = live.graph.GetMyMutableContextFromRoot(live.root)
    (plate,) = live.graph.model_inspector().GetAllGeometryIds()
    live.graph.ChangeShape(graph_context, live.mover.source, plate, Box(0.2, 0.2, 0.2), RigidTransform([0, 0, 0.3]))
    live.sensor.SetParentFrameId(live.context, live.mover.frame)
    for station, make in ((held, lambda s: RgbdSensorDiscrete(sensor(s), 0.5)), (live, sensor)):
        station.root.Save(tmp_path / "context.npz")
        other = Station(make)  # with identifiers of its own, as another program has them
        other.root = LoadContext(other.diagram, tmp_path / "context.npz")
        for name in ("color_image", "depth_image_32f", "label_image"):
            np.testing.assert_array_equal(other.eval(name).data, station.eval(name).data)
    assert live.depth() == pytest.approx(0.2, rel=1e-6)
