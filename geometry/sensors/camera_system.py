"""What camera sensors have in common: where they are, and what their cameras see."""

from __future__ import annotations

from typing import Any

from merganser.framework import Context, LeafSystem, Value
from merganser.framework.math import RigidTransform
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
