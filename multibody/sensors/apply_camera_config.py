"""ApplyCameraConfig: adds a camera to a diagram, and what sends its images."""

from __future__ import annotations

from typing import Any

from merganser.framework import DiagramBuilder
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform
from merganser.geometry import FrameId, SceneGraph
from merganser.geometry.rendering import (
    MakeRenderEngineGl,
    MakeRenderEngineGltfClient,
    MakeRenderEngineVtk,
    RenderEngine,
    RenderEngineGlParams,
    RenderEngineGltfClientParams,
    RenderEngineVtkParams,
)
from merganser.geometry.sensors import RgbdSensor, RgbdSensorAsync
from merganser.multibody.parsing import GetScopedFrameByName
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.sensors.camera_config import CameraConfig

_AFTER_DELAY = 1.001  # images that are given with a delay are there a little later


def ApplyCameraConfig(
    config: CameraConfig,
    builder: DiagramBuilder,
    lcm_buses: Any = None,
    plant: MultibodyPlant | None = None,
    scene_graph: SceneGraph | None = None,
    lcm: Any = None,
) -> None:
    """Adds a camera to a diagram: an RgbdSensor named `rgbd_sensor_<name>`, and its renderer.

    The sensor is an RgbdSensorAsync if images are given with a delay. Nothing is added if no images are wanted.

    If there are `lcm_buses` or `lcm`, images are made `config.fps` times a second and sent as an lcmt_image_array, on
    the channel DRAKE_RGBD_CAMERA_IMAGES_<name>, unless the bus leads nowhere (`LcmBuses.kLcmUrlMemqNull`). Without
    both, other than pydrake's, none are sent.

    Args:
        config: the camera.
        builder: of the diagram.
        lcm_buses: among which is the one of the name `config.lcm_bus`, which sends the images.
        plant: to which the camera's base frame belongs; by default the system named "plant".
        scene_graph: what the camera sees; by default the system named "scene_graph".
        lcm: sends the images, in place of those in `lcm_buses`.

    Raises:
        TypeError: an argument is of another type.
        RuntimeError: a value of `config` is out of its range; there is no such frame, plant, scene graph or bus; the
            renderer exists already, and is of another type or has other parameters. Nothing is added then.
    """
    require_types("ApplyCameraConfig", config=(config, CameraConfig), builder=(builder, DiagramBuilder))
    color_camera, depth_camera = config.MakeCameras()
    if not (config.rgb or config.depth or config.label):
        return
    plant = find_system(builder, "plant") if plant is None else plant
    scene_graph = find_system(builder, "scene_graph") if scene_graph is None else scene_graph
    require_types("ApplyCameraConfig", plant=(plant, MultibodyPlant), scene_graph=(scene_graph, SceneGraph))
    frame = GetScopedFrameByName(plant, config.X_PB.base_frame or "world")
    parent_id = plant.GetBodyFrameIdOrThrow(frame.body().index())
    X_PB = frame.GetFixedPoseInBodyFrame() @ config.X_PB.GetDeterministicValue()
    add_camera(config, builder, scene_graph, parent_id, X_PB, (color_camera, depth_camera), lcm_buses, lcm)


def add_camera(
    config: CameraConfig, builder: DiagramBuilder, scene_graph: SceneGraph, parent_id: FrameId, X_PB: RigidTransform,
    cameras: tuple[Any, Any], lcm_buses: Any = None, lcm: Any = None,
) -> None:  # fmt: skip
    """Adds the sensor of a camera, whose body B is fixed to frame P of the scene graph, and its renderer.

    Args:
        config, builder, scene_graph, lcm_buses, lcm: see ApplyCameraConfig().
        parent_id: P.
        X_PB: pose of B in P.
        cameras: as `config` makes them.

    Raises:
        RuntimeError: as ApplyCameraConfig().
    """
    color_camera, depth_camera = cameras
    name = f"rgbd_sensor_{config.name}"
    if builder.HasSubsystemNamed(name):
        raise RuntimeError(f"ApplyCameraConfig(): there is a system '{name}' already; give the camera another name.")
    bus = _bus(config, lcm_buses, lcm)
    _require_renderer(config, scene_graph)
    sensor: RgbdSensor | RgbdSensorAsync
    if config.output_delay > 0.0:
        sensor = RgbdSensorAsync(
            scene_graph,
            parent_id,
            X_PB,
            config.fps,
            config.capture_offset,
            config.output_delay,
            color_camera if config.rgb or config.label else None,
            depth_camera if config.depth else None,
            config.label,
        )
    else:
        sensor = RgbdSensor(parent_id, X_PB, color_camera, depth_camera)
    builder.AddNamedSystem(name, sensor)
    builder.Connect(scene_graph.get_query_output_port(), sensor.query_object_input_port())
    if bus is not None:
        _send_images(config, builder, sensor, bus)


def _send_images(config: CameraConfig, builder: DiagramBuilder, sensor: Any, bus: Any) -> None:
    """Adds to a diagram what sends the images of a sensor, on the channel DRAKE_RGBD_CAMERA_IMAGES_<name>.

    Args:
        config: of the camera.
        builder: of the diagram.
        sensor: gives the images.
        bus: sends them.
    """
    from merganser.framework.lcm.lcm_publisher_system import LcmPublisherSystem  # most programs send none
    from merganser.framework.lcm.messages.signals import lcmt_image_array
    from merganser.geometry.images import PixelType
    from merganser.geometry.sensors.lcm_images import ImageToLcmImageArrayT

    to_lcm = ImageToLcmImageArrayT(config.do_compress)
    builder.AddNamedSystem(f"image_to_lcm_{config.name}", to_lcm)
    ports = [
        (config.depth, PixelType.kDepth16U, "depth", sensor.depth_image_16U_output_port),
        (config.rgb, PixelType.kRgba8U, "rgb", sensor.color_image_output_port),
        (config.label, PixelType.kLabel16I, "label", sensor.label_image_output_port),
    ]
    for is_wanted, pixel_type, name, output_port in ports:
        if is_wanted:
            builder.Connect(output_port(), to_lcm.DeclareImageInputPort[pixel_type](name))
    publisher = LcmPublisherSystem.Make(
        f"DRAKE_RGBD_CAMERA_IMAGES_{config.name}",
        lcmt_image_array,
        bus,
        publish_period=1.0 / config.fps,
        publish_offset=config.capture_offset + _AFTER_DELAY * config.output_delay,
    )
    builder.AddSystem(publisher)
    builder.Connect(to_lcm.image_array_t_msg_output_port(), publisher.get_input_port())


def _bus(config: CameraConfig, lcm_buses: Any, lcm: Any) -> Any:
    """The bus that sends the images; None if they are not sent."""
    if lcm is None and lcm_buses is None and config.lcm_bus == "default":
        return None
    from merganser.framework.lcm.lcm_buses import find_bus  # most programs send none

    return find_bus(lcm, lcm_buses, "ApplyCameraConfig", config.lcm_bus)


def find_system(builder: DiagramBuilder, name: str) -> Any:
    """The system of a name; RuntimeError if it does not exist."""
    if not builder.HasSubsystemNamed(name):
        raise RuntimeError(
            f"ApplyCameraConfig(): the diagram has no system named '{name}'. Make plant and scene graph with "
            f"AddMultibodyPlantSceneGraph(), or pass {name}=."
        )
    return builder.GetSubsystemByName(name)


def _require_renderer(config: CameraConfig, scene_graph: SceneGraph) -> None:
    """Adds the renderer, or makes sure that the one of its name is like it."""
    wanted, name = config.renderer_class, config.renderer_name
    if not scene_graph.HasRenderer(name):
        scene_graph.AddRenderer(name, _engine(config))
        return
    if wanted == "":
        return
    existing = scene_graph.GetRendererTypeName(name).rpartition("::")[2]
    if isinstance(wanted, str):
        fits, what = existing == wanted, f"type {wanted}"
    else:
        fits = scene_graph.GetRendererParameterYaml(name) == _engine(config).GetParameterYaml()
        what = f"these parameters: {wanted!r}"
    if not fits:
        raise RuntimeError(
            f"Camera '{config.name}' asks for the renderer '{name}' with {what}; there is one of that name already, of "
            f"type {existing} with these parameters:\n{scene_graph.GetRendererParameterYaml(name)}Give the camera "
            'another renderer_name, or leave its renderer_class "".'
        )


def _engine(config: CameraConfig) -> RenderEngine:
    """A new engine for the camera."""
    wanted, background = config.renderer_class, config.background
    match wanted:
        case RenderEngineVtkParams():
            return MakeRenderEngineVtk(wanted)
        case RenderEngineGlParams():
            return MakeRenderEngineGl(wanted)
        case RenderEngineGltfClientParams():
            return MakeRenderEngineGltfClient(wanted)
        case "RenderEngineGl":
            return MakeRenderEngineGl(RenderEngineGlParams(default_clear_color=background))
        case "RenderEngineGltfClient":
            return MakeRenderEngineGltfClient()
    return MakeRenderEngineVtk(RenderEngineVtkParams(default_clear_color=background.rgba[:3]))
