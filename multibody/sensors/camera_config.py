"""A camera as a record, for YAML files, and ApplyCameraConfig, which adds it to a diagram."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from merganser.framework import DiagramBuilder
from merganser.framework.common.records import settings
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform
from merganser.framework.schema import Transform
from merganser.geometry import FrameId, SceneGraph
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.rendering import (
    CameraInfo,
    ClippingRange,
    ColorRenderCamera,
    DepthRange,
    DepthRenderCamera,
    MakeRenderEngineGl,
    MakeRenderEngineGltfClient,
    MakeRenderEngineVtk,
    RenderCameraCore,
    RenderEngine,
    RenderEngineGlParams,
    RenderEngineGltfClientParams,
    RenderEngineVtkParams,
)
from merganser.geometry.sensors import RgbdSensor, RgbdSensorAsync
from merganser.multibody.parsing import GetScopedFrameByName
from merganser.multibody.plant import MultibodyPlant


@settings
@dataclass(kw_only=True)
class FocalLength:
    """Focal lengths [pixels]; if one is None, it is like the other.

    Attributes:
        x: horizontally.
        y: vertically.
    """

    x: float | None = None
    y: float | None = None

    def focal_x(self) -> float:
        """Returns the horizontal focal length [pixels]; raises RuntimeError if neither x nor y is set."""
        return _first_given(self, self.x, self.y)

    def focal_y(self) -> float:
        """Returns the vertical focal length [pixels]; raises as `focal_x` does."""
        return _first_given(self, self.y, self.x)


@settings
@dataclass(kw_only=True)
class FovDegrees:
    """Fields of view [degrees]; if one is None, its focal length is like the other's.

    Attributes:
        x: horizontally.
        y: vertically.
    """

    x: float | None = None
    y: float | None = None

    def focal_x(self, width: int, height: int) -> float:
        """Returns the horizontal focal length [pixels] of an image of that size.

        Raises:
            RuntimeError: neither x nor y is set.
        """
        return _first_given(self, _focal_length(width, self.x), _focal_length(height, self.y))

    def focal_y(self, width: int, height: int) -> float:
        """Returns the vertical focal length [pixels]; takes and raises what `focal_x` does."""
        return _first_given(self, _focal_length(height, self.y), _focal_length(width, self.x))


def _focal_length(size: int, fov: float | None) -> float | None:
    """Of an image of a width or height [pixels] that shows a field of view [degrees]."""
    return None if fov is None else 0.5 * size / math.tan(0.5 * math.radians(fov))


def _first_given(focal: Any, *lengths: float | None) -> float:
    for length in lengths:
        if length is not None:
            return length
    raise RuntimeError(f"A camera's focal must have x or y; given {type(focal).__name__}().")


_Focal = FocalLength | FovDegrees


@settings
@dataclass(kw_only=True, eq=False)
class CameraConfig:
    """A camera for `ApplyCameraConfig`; values are checked there.

    Attributes:
        width, height: of the images [pixels].
        focal: FocalLength or FovDegrees.
        center_x, center_y: principal point [pixels]; None for the center of the image.
        clipping_near, clipping_far: distances between which anything is seen [m].
        z_near, z_far: smallest and largest depth that is measured [m].
        X_PB: pose of the camera's body; its base frame is the name of a frame of the plant, by default the world.
        X_BC, X_BD: poses of the color and of the depth camera in the body, without base frame.
        renderer_name: of the renderer, which is added if the name is new.
        renderer_class: of which type it is then: parameters of a render engine, or the name of its type
            ("RenderEngineVtk", "RenderEngineGl"), or "" for the usual one.
        background: color where there is no geometry, of renderers that are given by the name of their type or not at
            all.
        name: of the camera.
        fps: images in a second.
        capture_offset: time of the first image [s].
        output_delay: from the moment that an image shows until it is given [s]; less than 1 / fps.
        rgb, depth, label: which images are wanted; without any of them there is no camera.
        show_rgb: whether to show color and label images on the screen.
        do_compress, lcm_bus: of messages with the images.
    """

    FocalLength: ClassVar[Any] = FocalLength
    FovDegrees: ClassVar[Any] = FovDegrees

    width: int = 640
    height: int = 480
    focal: _Focal = field(default_factory=lambda: FovDegrees(y=45.0))
    center_x: float | None = None
    center_y: float | None = None
    clipping_near: float = 0.01
    clipping_far: float = 500.0
    z_near: float = 0.1
    z_far: float = 5.0
    X_PB: Transform = field(default_factory=Transform)
    X_BC: Transform = field(default_factory=Transform)
    X_BD: Transform = field(default_factory=Transform)
    renderer_name: str = "default"
    renderer_class: str | RenderEngineVtkParams | RenderEngineGlParams | RenderEngineGltfClientParams = ""
    background: Rgba = field(default_factory=lambda: Rgba(204 / 255, 229 / 255, 1.0, 1.0))
    name: str = "preview_camera"
    fps: float = 10.0
    capture_offset: float = 0.0
    output_delay: float = 0.0
    rgb: bool = True
    depth: bool = False
    label: bool = False
    show_rgb: bool = False
    do_compress: bool = True
    lcm_bus: str = "default"

    def focal_x(self) -> float:
        """Returns the horizontal focal length [pixels].

        Raises:
            RuntimeError: `focal` has neither x nor y.
        """
        return self._focal_length("focal_x")

    def focal_y(self) -> float:
        """Returns the vertical focal length [pixels]; raises as `focal_x` does."""
        return self._focal_length("focal_y")

    def principal_point(self) -> NDArray[np.float64]:
        """Returns column and row of the principal point [pixels], shape [2]."""
        x = 0.5 * self.width - 0.5 if self.center_x is None else self.center_x
        y = 0.5 * self.height - 0.5 if self.center_y is None else self.center_y
        return np.array([x, y])

    def MakeCameras(self) -> tuple[ColorRenderCamera, DepthRenderCamera]:
        """Returns a color and a depth camera of these properties.

        Raises:
            RuntimeError: a value is out of its range.
        """
        self.require_valid()
        center_x, center_y = self.principal_point()
        info = CameraInfo(self.width, self.height, self.focal_x(), self.focal_y(), center_x, center_y)
        clipping = ClippingRange(self.clipping_near, self.clipping_far)
        color, depth = (
            RenderCameraCore(self.renderer_name, info, clipping, X_BS.GetDeterministicValue())
            for X_BS in (self.X_BC, self.X_BD)
        )
        depth_range = DepthRange(self.z_near, self.z_far)
        return ColorRenderCamera(color, self.show_rgb), DepthRenderCamera(depth, depth_range)

    def require_valid(self) -> None:
        """Raises an error for values out of range that MakeCameras() does not check.

        Raises:
            RuntimeError: something is not; the message names it.
        """

        def require(is_valid: bool, name: str, expected: str) -> None:
            if not is_valid:
                given = getattr(self, name)
                raise RuntimeError(f"Invalid CameraConfig '{self.name}': {name} must be {expected}; given {given!r}.")

        require(bool(self.name), "name", "not empty")
        require(bool(self.renderer_name), "renderer_name", "not empty")
        require(0.0 < self.fps < math.inf, "fps", "positive and finite")
        require(0.0 <= self.capture_offset < math.inf, "capture_offset", "finite and not negative")
        require(0.0 <= self.output_delay < 1.0 / self.fps, "output_delay", "not negative, and less than 1 / fps")
        focal = (FocalLength, FovDegrees)
        require(isinstance(self.focal, focal), "focal", "a FocalLength or FovDegrees")
        require(isinstance(self.background, Rgba), "background", "an Rgba")
        for name in ("X_PB", "X_BC", "X_BD"):
            require(isinstance(getattr(self, name), Transform), name, "a Transform")
        for name in ("X_BC", "X_BD"):
            require(not getattr(self, name).base_frame, name, "without base frame")
        if isinstance(self.renderer_class, str):
            known = ("", "RenderEngineVtk", "RenderEngineGl", "RenderEngineGltfClient")
            require(self.renderer_class in known, "renderer_class", f"parameters, or one of {known}")

    def _focal_length(self, which: str) -> float:
        if self.focal.x is None and self.focal.y is None:
            raise RuntimeError(
                f"Invalid CameraConfig '{self.name}': focal must have x or y; given {type(self.focal).__name__}()."
            )
        size = (self.width, self.height) if isinstance(self.focal, FovDegrees) else ()
        length: float = getattr(self.focal, which)(*size)
        return length


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
    from merganser.framework.lcm.lcm_systems import LcmPublisherSystem  # most programs send none
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
