"""RgbdSensor and RgbdSensorDiscrete: color, depth and label images of a scene, as it is now, and taken periodically.

What camera sensors have in common: where they are, and what their cameras see.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from merganser.framework import (
    BasicVector,
    Context,
    Diagram,
    DiagramBuilder,
    InputPort,
    LeafSystem,
    OutputPort,
    System,
    Value,
    ValueProducer,
)
from merganser.framework.core.values.plain_values import declare_plain
from merganser.framework.math import RigidTransform
from merganser.geometry.images import ConvertDepth32FTo16U, ImageDepth16U, ImageDepth32F, ImageLabel16I, ImageRgba8U
from merganser.geometry.registration.ids import FrameId
from merganser.geometry.rendering.cameras import ColorRenderCamera, DepthRenderCamera
from merganser.geometry.scene.query_object import QueryObject


class CameraSystem(LeafSystem):
    """A sensor body B, fixed to a frame P of the scene at X_PB, with a color and a depth camera.

    These four are parameters: the defaults here, which Contexts made later start from, and the values in each Context.
    Make one of the derived classes.

    Args:
        parent_id: the frame P.
        X_PB: pose of the body in P.
        color_camera: camera for color and label images, or None.
        depth_camera: camera for depth images, or None.

    Raises:
        TypeError: an argument has the wrong type.
    """

    def __init__(
        self,
        parent_id: FrameId,
        X_PB: RigidTransform,
        color_camera: ColorRenderCamera | None,
        depth_camera: DepthRenderCamera | None,
    ) -> None:
        super().__init__()
        self._camera_defaults: dict[str, Any] = {
            "parent": _checked(parent_id, FrameId, "parent_id"),
            "X_PB": _checked_pose(X_PB),
            "color": None if color_camera is None else _checked(color_camera, ColorRenderCamera, "color_camera"),
            "depth": None if depth_camera is None else _checked(depth_camera, DepthRenderCamera, "depth_camera"),
        }
        self._query_port = self.DeclareAbstractInputPort("geometry_query", Value(QueryObject()))
        self._camera_parameters = {
            name: self.DeclareAbstractParameter(Value(value)) for name, value in self._camera_defaults.items()
        }

    # ------------------------------------------------------------------ defaults

    def default_parent_frame_id(self) -> FrameId:
        """Returns the frame P in new Contexts."""
        return self._camera_defaults["parent"]

    def set_default_parent_frame_id(self, id: FrameId) -> None:
        """Sets the frame P in new Contexts."""
        self._camera_defaults["parent"] = _checked(id, FrameId, "id")

    def default_X_PB(self) -> RigidTransform:
        """Returns the pose X_PB in new Contexts."""
        return RigidTransform(self._camera_defaults["X_PB"])

    def set_default_X_PB(self, sensor_pose: RigidTransform) -> None:
        """Sets the pose X_PB in new Contexts."""
        self._camera_defaults["X_PB"] = _checked_pose(sensor_pose)

    def default_color_render_camera(self) -> ColorRenderCamera | None:
        """Returns the color camera in new Contexts."""
        return self._camera_defaults["color"]

    def set_default_color_render_camera(self, color_camera: ColorRenderCamera) -> None:
        """Sets the color camera in new Contexts.

        Raises:
            RuntimeError: the sensor was made without one.
        """
        self._camera_defaults["color"] = self._checked_camera(color_camera, ColorRenderCamera, "color")

    def default_depth_render_camera(self) -> DepthRenderCamera | None:
        """Returns the depth camera in new Contexts."""
        return self._camera_defaults["depth"]

    def set_default_depth_render_camera(self, depth_camera: DepthRenderCamera) -> None:
        """Sets the depth camera in new Contexts.

        Raises:
            RuntimeError: the sensor was made without one.
        """
        self._camera_defaults["depth"] = self._checked_camera(depth_camera, DepthRenderCamera, "depth")

    def SetDefaultParameters(self, context: Context, parameters: Any) -> None:
        """Gives a new Context the defaults."""
        for name, index in self._camera_parameters.items():
            parameters.get_mutable_abstract_parameter(index).set_value(self._camera_defaults[name])

    # ------------------------------------------------------------------ values in a Context

    def GetParentFrameId(self, context: Context) -> FrameId:
        """Returns the frame P in a Context."""
        return self._parameter(context, "parent")

    def SetParentFrameId(self, context: Context, id: FrameId) -> None:
        """Sets the frame P in a Context."""
        self._set_parameter(context, "parent", _checked(id, FrameId, "id"))

    def GetX_PB(self, context: Context) -> RigidTransform:
        """Returns the pose X_PB in a Context."""
        return RigidTransform(self._parameter(context, "X_PB"))

    def SetX_PB(self, context: Context, sensor_pose: RigidTransform) -> None:
        """Sets the pose X_PB in a Context."""
        self._set_parameter(context, "X_PB", _checked_pose(sensor_pose))

    def GetColorRenderCamera(self, context: Context) -> ColorRenderCamera | None:
        """Returns the color camera in a Context."""
        return self._parameter(context, "color")

    def SetColorRenderCamera(self, context: Context, color_camera: ColorRenderCamera) -> None:
        """Sets the color camera in a Context.

        Raises:
            RuntimeError: the sensor was made without one.
        """
        self._set_parameter(context, "color", self._checked_camera(color_camera, ColorRenderCamera, "color"))

    def GetDepthRenderCamera(self, context: Context) -> DepthRenderCamera | None:
        """Returns the depth camera in a Context."""
        return self._parameter(context, "depth")

    def SetDepthRenderCamera(self, context: Context, depth_camera: DepthRenderCamera) -> None:
        """Sets the depth camera in a Context.

        Raises:
            RuntimeError: the sensor was made without one.
        """
        self._set_parameter(context, "depth", self._checked_camera(depth_camera, DepthRenderCamera, "depth"))

    def _parameter(self, context: Context, name: str) -> Any:
        self.ValidateContext(context)
        return context.get_abstract_parameter(self._camera_parameters[name]).get_value()

    def _set_parameter(self, context: Context, name: str, value: Any) -> None:
        self.ValidateContext(context)
        context.get_mutable_abstract_parameter(self._camera_parameters[name]).set_value(value)

    def _checked_camera(self, camera: Any, expected: type[Any], kind: str) -> Any:
        if self._camera_defaults[kind] is None:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' was made without a {kind} camera, and cannot be given one."
            )
        return _checked(camera, expected, f"{kind}_camera")

    def _body_pose(self, query: QueryObject, context: Context) -> RigidTransform:
        """The pose X_WB of the sensor's body in the world."""
        X_WP = query.GetPoseInWorld(self._parameter(context, "parent"))
        return X_WP @ self._parameter(context, "X_PB")


def _checked(value: Any, expected: type[Any], name: str) -> Any:
    if not isinstance(value, expected):
        raise TypeError(f"{name} must be a {expected.__name__}; given {value!r}.")
    return value


def _checked_pose(X_PB: Any) -> RigidTransform:
    return RigidTransform(_checked(X_PB, RigidTransform, "X_PB"))


class ImagePorts(System):
    """Ports of a camera sensor by name. Those of images that it does not make raise a ValueError."""

    def query_object_input_port(self) -> InputPort:
        """Returns the port that takes the QueryObject of a SceneGraph."""
        return self.GetInputPort("geometry_query")

    def color_image_output_port(self) -> OutputPort[ImageRgba8U]:
        """Returns the port that gives an ImageRgba8U."""
        return self.GetOutputPort("color_image")

    def depth_image_32F_output_port(self) -> OutputPort[ImageDepth32F]:
        """Returns the port that gives an ImageDepth32F."""
        return self.GetOutputPort("depth_image_32f")

    def depth_image_16U_output_port(self) -> OutputPort[ImageDepth16U]:
        """Returns the port that gives an ImageDepth16U."""
        return self.GetOutputPort("depth_image_16u")

    def label_image_output_port(self) -> OutputPort[ImageLabel16I]:
        """Returns the port that gives an ImageLabel16I."""
        return self.GetOutputPort("label_image")

    def body_pose_in_world_output_port(self) -> OutputPort[RigidTransform]:
        """Returns the port that gives X_WB as it was when the images were taken."""
        return self.GetOutputPort("body_pose_in_world")

    def image_time_output_port(self) -> OutputPort[NDArray[Any]]:
        """Returns the port that gives the time when the images were taken [s]."""
        return self.GetOutputPort("image_time")


class Sample:
    """Values by name, which do not change any more: copies share them.

    Args:
        values: images, a pose, a time.
    """

    __slots__ = ("values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = dict(values)

    def __copy__(self) -> Sample:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Sample:
        return self


declare_plain(Sample, lambda sample: [sample.values])


class RgbdSensor(ImagePorts, CameraSystem):
    """Gives images of the scene at the moment when they are asked for, and makes none otherwise.

    The cameras' frames are fixed to the sensor's body B at the poses X_BS of the cameras; they look along +z, with +y
    downwards in the image. See RgbdSensorDiscrete for a sensor that takes an image now and then.

    Ports:
        input `geometry_query`: QueryObject of a SceneGraph that has the cameras' renderers.
        output `color_image`: ImageRgba8U.
        output `depth_image_32f`: ImageDepth32F [m]; 0 is too close, infinity too far.
        output `depth_image_16u`: ImageDepth16U [mm]; 0 is too close, 65535 too far.
        output `label_image`: ImageLabel16I, of the color camera.
        output `body_pose_in_world`: X_WB, a RigidTransform.
        output `image_time`: the time [s], 1 element.

    Args:
        parent_id: the frame P to which the body is fixed.
        X_PB: pose of the body in P.
        color_camera: camera for color and label images; if it is left out, `depth_camera` takes these, too.
        depth_camera: camera for depth images.
        show_window: whether these are to be shown on the screen; only without a color camera.

    Raises:
        TypeError: an argument has the wrong type.
    """

    @overload
    def __init__(
        self,
        parent_id: FrameId,
        X_PB: RigidTransform,
        color_camera: ColorRenderCamera,
        depth_camera: DepthRenderCamera,
    ) -> None: ...
    @overload
    def __init__(
        self,
        parent_id: FrameId,
        X_PB: RigidTransform,
        depth_camera: DepthRenderCamera,
        show_window: bool = False,
    ) -> None: ...
    def __init__(self, parent_id: FrameId, X_PB: RigidTransform, *args: Any, **kwargs: Any) -> None:
        super().__init__(parent_id, X_PB, *_cameras(*args, **kwargs))
        color = {self._ticket_of("color"), *self._placement()}
        depth = {self._ticket_of("depth"), *self._placement()}
        self._depth_entry = self.DeclareCacheEntry(
            "depth image", ValueProducer(lambda: Value(ImageDepth32F()), self._calc_depth), depth
        )
        seen_depth = {self._depth_entry.ticket()}
        self.DeclareAbstractOutputPort("color_image", lambda: Value(ImageRgba8U()), self._calc_color, color)
        self.DeclareAbstractOutputPort("depth_image_32f", lambda: Value(ImageDepth32F()), self._give_depth, seen_depth)
        self.DeclareAbstractOutputPort(
            "depth_image_16u", lambda: Value(ImageDepth16U()), self._calc_depth_in_mm, seen_depth
        )
        self.DeclareAbstractOutputPort("label_image", lambda: Value(ImageLabel16I()), self._calc_label, color)
        self.DeclareAbstractOutputPort(
            "body_pose_in_world", lambda: Value(RigidTransform()), self._calc_body_pose, self._placement()
        )
        self.DeclareVectorOutputPort("image_time", 1, _give_time, {self.time_ticket()})

    # ------------------------------------------------------------------ calculations

    def _ticket_of(self, parameter: str) -> Any:
        return self.abstract_parameter_ticket(self._camera_parameters[parameter])

    def _placement(self) -> set[Any]:
        return {self._query_port.ticket(), self._ticket_of("parent"), self._ticket_of("X_PB")}

    def _calc_color(self, context: Context, output: Any) -> None:
        """Every image is a new one, so that those who got the last one may keep it."""
        output.set_value(self._render(context, "color", "RenderColorImage"))

    def _calc_label(self, context: Context, output: Any) -> None:
        output.set_value(self._render(context, "color", "RenderLabelImage"))

    def _calc_depth(self, context: Context, output: Any) -> None:
        output.set_value(self._render(context, "depth", "RenderDepthImage"))

    def _render(self, context: Context, camera: str, function: str) -> Any:
        query = self._query_port.Eval(context)
        parent, X_PB = self._parameter(context, "parent"), self._parameter(context, "X_PB")
        return getattr(query, function)(self._parameter(context, camera), parent, X_PB)

    def _give_depth(self, context: Context, output: Any) -> None:
        output.set_value(self._depth_entry.Eval(context))

    def _calc_depth_in_mm(self, context: Context, output: Any) -> None:
        image = ImageDepth16U()
        ConvertDepth32FTo16U(self._depth_entry.Eval(context), image)
        output.set_value(image)

    def _calc_body_pose(self, context: Context, output: Any) -> None:
        output.set_value(self._body_pose(self._query_port.Eval(context), context))


def _cameras(
    color_camera: Any = None, depth_camera: Any = None, show_window: bool = False
) -> tuple[ColorRenderCamera, DepthRenderCamera]:
    """The two cameras, of which that for color may be set by that for depth."""
    if isinstance(color_camera, DepthRenderCamera):
        show_window = show_window if depth_camera is None else bool(depth_camera)
        color_camera, depth_camera = None, color_camera
    if not isinstance(depth_camera, DepthRenderCamera):
        raise TypeError(f"RgbdSensor takes a DepthRenderCamera as depth_camera; given {depth_camera!r}.")
    if color_camera is None:
        color_camera = ColorRenderCamera(depth_camera.core(), show_window)
    return color_camera, depth_camera


def _give_time(context: Context, output: BasicVector) -> None:
    output.SetAtIndex(0, context.get_time())


class RgbdSensorDiscrete(ImagePorts, Diagram):
    """A sensor that takes images at times 0, period, 2 period, ..., and gives the latest ones.

    All kinds of images are made each time, whether or not they are read.

    Ports:
        input `geometry_query` and outputs as of RgbdSensor; `image_time` is when the images were taken. Before that,
        images are black.

    Args:
        sensor: makes the images; becomes part of this.
        period: time between two images [s].
        render_label_image: whether there are label images.

    Raises:
        TypeError: this is no RgbdSensor.
        ValueError: the period is not positive and finite.
    """

    kDefaultPeriod: ClassVar[float] = 1.0 / 30.0

    def __init__(self, sensor: RgbdSensor, period: float = kDefaultPeriod, render_label_image: bool = True) -> None:
        super().__init__()
        if not isinstance(sensor, RgbdSensor):
            raise TypeError(f"RgbdSensorDiscrete takes an RgbdSensor; given {sensor!r}.")
        if not 0.0 < period < np.inf:
            raise ValueError(f"The period of an RgbdSensorDiscrete must be positive and finite; given {period}.")
        self._sensor, self._period = sensor, float(period)
        builder = DiagramBuilder()
        builder.AddSystem(sensor)
        hold = builder.AddSystem(_Hold(sensor, self._period, render_label_image))
        builder.ExportInput(sensor.query_object_input_port(), "geometry_query")
        for port in range(hold.num_output_ports()):
            name = hold.get_output_port(port).get_name()
            builder.Connect(sensor.GetOutputPort(name), hold.GetInputPort(name))
            builder.ExportOutput(hold.get_output_port(port), name)
        builder.BuildInto(self)

    def sensor(self) -> RgbdSensor:
        """Returns what makes the images."""
        return self._sensor

    def period(self) -> float:
        """Returns the time between two images [s]."""
        return self._period


class _Hold(LeafSystem):
    """Keeps what a sensor gives, for as long as a period; images are handed on, not copied."""

    def __init__(self, sensor: RgbdSensor, period: float, render_label_image: bool) -> None:
        super().__init__()
        color, depth = sensor.default_color_render_camera(), sensor.default_depth_render_camera()
        assert color is not None and depth is not None
        color_size = color.core().intrinsics().width(), color.core().intrinsics().height()
        depth_size = depth.core().intrinsics().width(), depth.core().intrinsics().height()
        first = {
            "color_image": ImageRgba8U(*color_size),
            "depth_image_32f": ImageDepth32F(*depth_size),
            "depth_image_16u": ImageDepth16U(*depth_size),
            **({"label_image": ImageLabel16I(*color_size)} if render_label_image else {}),
            "body_pose_in_world": RigidTransform(),
            "image_time": np.zeros(1),
        }
        state = self.DeclareAbstractState(Value(Sample(first)))
        ticket = {self.abstract_state_ticket(state)}
        for name, value in first.items():
            if name == "image_time":
                self.DeclareVectorInputPort(name, 1)
                self.DeclareVectorOutputPort(name, 1, self._give_time, ticket)
            else:
                self.DeclareAbstractInputPort(name, Value(value))
                self.DeclareAbstractOutputPort(name, partial(Value, value), partial(self._give, name), ticket)
        self.DeclarePeriodicUnrestrictedUpdateEvent(period, 0.0, self._take)
        self.DeclareForcedUnrestrictedUpdateEvent(self._take)

    def _take(self, context: Context, state: Any) -> None:
        values = {}
        for i in range(self.num_input_ports()):
            port = self.get_input_port(i)
            values[port.get_name()] = port.Eval(context)
        state.get_mutable_abstract_state(0).set_value(Sample(values))

    def _give(self, name: str, context: Context, output: Any) -> None:
        output.set_value(context.get_abstract_state(0).get_value().values[name])

    def _give_time(self, context: Context, output: Any) -> None:
        output.SetFromVector(context.get_abstract_state(0).get_value().values["image_time"])
