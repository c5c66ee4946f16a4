"""Cameras of render engines: what is seen, from where, by which engine. None of them ever changes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from merganser.framework.core.values.plain_values import declare_plain
from merganser.framework.math import RigidTransform
from merganser.geometry.rendering.camera_info import CameraInfo


class _Record:
    """Values that never change, equal to others of the same type and values; copies are the same object."""

    _never_changes = True  # copies of a system share it

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]]  # in the order of the arguments

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._fields)

    def _take(self, other: Any) -> bool:
        """Copies the values of another record, if it is of this type; returns whether it is."""
        if type(other) is not type(self):
            return False
        for name in self._fields:
            setattr(self, name, getattr(other, name))
        return True

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce__(self) -> Any:
        return type(self), self._values()


class ClippingRange(_Record):
    """The least and greatest distance that a camera sees.

    Args:
        near: of the nearer plane, along the viewing direction [m]; or another ClippingRange.
        far: of the farther plane [m].

    Raises:
        RuntimeError: they are not positive and finite, or not in this order.
    """

    __slots__ = ("_far", "_near")
    _fields = ("_near", "_far")

    def __init__(self, near: Any = None, far: float | None = None, *, other: ClippingRange | None = None) -> None:
        if self._take(near if other is None else other):
            return
        self._near, self._far = _range("ClippingRange", "near", near, "far", far)

    def near(self) -> float:
        """Distance of the nearer plane [m]."""
        return self._near

    def far(self) -> float:
        """Distance of the farther plane [m]."""
        return self._far

    def __repr__(self) -> str:
        return f"ClippingRange(near={self._near}, far={self._far})"


class DepthRange(_Record):
    """The depths that a depth camera can measure.

    Args:
        min_in: smallest depth [m]; or another DepthRange.
        min_out: largest depth [m].

    Raises:
        RuntimeError: they are not positive and finite, or not in this order.
    """

    __slots__ = ("_max_depth", "_min_depth")
    _fields = ("_min_depth", "_max_depth")

    def __init__(self, min_in: Any = None, min_out: float | None = None, *, other: DepthRange | None = None) -> None:
        if self._take(min_in if other is None else other):
            return
        self._min_depth, self._max_depth = _range("DepthRange", "min_in", min_in, "min_out", min_out)

    def min_depth(self) -> float:
        """The smallest depth [m]."""
        return self._min_depth

    def max_depth(self) -> float:
        """The largest depth [m]."""
        return self._max_depth

    def __repr__(self) -> str:
        return f"DepthRange(min_in={self._min_depth}, min_out={self._max_depth})"


class RenderCameraCore(_Record):
    """Base of color and depth cameras.

    Args:
        renderer_name: of the render engine that makes the images; or another RenderCameraCore.
        intrinsics: size and projection of the images.
        clipping: the distances between which anything is seen.
        X_BS: pose of the sensor frame S, which is the camera frame of the intrinsics, in the camera's body frame B.
    """

    __slots__ = ("_X_BS", "_clipping", "_intrinsics", "_renderer_name")
    _fields = ("_renderer_name", "_intrinsics", "_clipping", "_X_BS")

    def __init__(
        self,
        renderer_name: Any = None,
        intrinsics: CameraInfo | None = None,
        clipping: ClippingRange | None = None,
        X_BS: RigidTransform | None = None,
        *,
        other: RenderCameraCore | None = None,
    ) -> None:
        if self._take(renderer_name if other is None else other):
            return
        expected: Any = (str, CameraInfo, ClippingRange, RigidTransform)
        for given, kind, name in zip((renderer_name, intrinsics, clipping, X_BS), expected, self._fields):
            if not isinstance(given, kind):
                raise TypeError(f"RenderCameraCore takes a {kind.__name__} as {name[1:]}; given {given!r}.")
        assert intrinsics is not None and clipping is not None and X_BS is not None
        self._renderer_name: str = renderer_name
        self._intrinsics, self._clipping, self._X_BS = intrinsics, clipping, RigidTransform(X_BS)

    def renderer_name(self) -> str:
        """The name of the render engine."""
        return self._renderer_name

    def intrinsics(self) -> CameraInfo:
        """Size and projection of the images."""
        return self._intrinsics

    def clipping(self) -> ClippingRange:
        """The least and greatest distance that is seen."""
        return self._clipping

    def sensor_pose_in_camera_body(self) -> RigidTransform:
        """The pose X_BS of the sensor in the camera's body."""
        return RigidTransform(self._X_BS)

    def _values(self) -> tuple[Any, ...]:
        pose = tuple(self._X_BS.GetAsMatrix34().ravel().tolist())
        return self._renderer_name, self._intrinsics, self._clipping, pose

    def __reduce__(self) -> Any:
        return RenderCameraCore, (self._renderer_name, self._intrinsics, self._clipping, self._X_BS)

    def __repr__(self) -> str:
        return (
            f"RenderCameraCore(renderer_name='{self._renderer_name}', intrinsics={self._intrinsics!r}, "
            f"clipping={self._clipping!r}, X_BS={self._X_BS!r})"
        )


class ColorRenderCamera(_Record):
    """A camera for color and label images.

    Args:
        core: what all cameras have; or another ColorRenderCamera.
        show_window: whether the images are to be shown on the screen.
    """

    __slots__ = ("_core", "_show_window")
    _fields = ("_core", "_show_window")

    def __init__(self, core: Any = None, show_window: bool = False, *, other: ColorRenderCamera | None = None) -> None:
        if self._take(core if other is None else other):
            return
        self._core: RenderCameraCore = _core("ColorRenderCamera", core)
        self._show_window = bool(show_window)

    def core(self) -> RenderCameraCore:
        """Parameters of all cameras."""
        return self._core

    def show_window(self) -> bool:
        """Whether the images are to be shown on the screen."""
        return self._show_window

    def __repr__(self) -> str:
        return f"ColorRenderCamera(core={self._core!r}, show_window={self._show_window})"


class DepthRenderCamera(_Record):
    """A camera for depth images.

    Args:
        core: what all cameras have; or another DepthRenderCamera.
        depth_range: the depths that it can measure, within its clipping range.

    Raises:
        RuntimeError: the depth range is not within the clipping range.
    """

    __slots__ = ("_core", "_depth_range")
    _fields = ("_core", "_depth_range")

    def __init__(
        self, core: Any = None, depth_range: DepthRange | None = None, *, other: DepthRenderCamera | None = None
    ) -> None:
        if self._take(core if other is None else other):
            return
        self._core: RenderCameraCore = _core("DepthRenderCamera", core)
        if not isinstance(depth_range, DepthRange):
            raise TypeError(f"DepthRenderCamera takes a DepthRange as depth_range; given {depth_range!r}.")
        self._depth_range = depth_range
        clipping = self._core.clipping()
        if depth_range.min_depth() < clipping.near() or depth_range.max_depth() > clipping.far():
            raise RuntimeError(
                f"The depth range of a DepthRenderCamera must lie within its clipping range; given {depth_range!r} and "
                f"{clipping!r}."
            )

    def core(self) -> RenderCameraCore:
        """Parameters of all cameras."""
        return self._core

    def depth_range(self) -> DepthRange:
        """The depths that it can measure."""
        return self._depth_range

    def __repr__(self) -> str:
        return f"DepthRenderCamera(core={self._core!r}, depth_range={self._depth_range!r})"


def _range(what: str, name_lower: str, lower: Any, name_upper: str, upper: Any) -> tuple[float, float]:
    if lower is None or upper is None:
        raise TypeError(f"{what} takes {name_lower} and {name_upper}.")
    lower, upper = float(lower), float(upper)
    if not (0.0 < lower < upper < math.inf):
        raise RuntimeError(
            f"The limits of a {what} must be positive and finite, and {name_lower} below {name_upper}; given "
            f"{name_lower} = {lower} and {name_upper} = {upper}."
        )
    return lower, upper


def _core(what: str, core: Any) -> RenderCameraCore:
    if not isinstance(core, RenderCameraCore):
        raise TypeError(f"{what} takes a RenderCameraCore as core; given {core!r}.")
    return core


for _kind in (ClippingRange, DepthRange, ColorRenderCamera, DepthRenderCamera):
    declare_plain(_kind, lambda camera: list(camera._values()))
declare_plain(RenderCameraCore, lambda core: [core._renderer_name, core._intrinsics, core._clipping, core._X_BS])
