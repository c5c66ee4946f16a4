"""Cameras of render engines: what is seen, from where, by which engine. None of them ever changes.

CameraInfo: from points in front of a camera to pixels.

The camera frame C has its origin at the aperture, Cx to the right in the image, Cy downwards and Cz into it. A point Q
at p_CQ_C = [x, y, z] is seen at the pixel coordinates

    u = f_x x / z + c_x
    v = f_y y / z + c_y      (1)

where the center of the upper left pixel is (0, 0).
"""

from __future__ import annotations

import math
import operator
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.values.plain_values import declare_plain
from merganser.framework.math import RigidTransform


class CameraInfo:
    """The intrinsic properties of a pinhole camera; they never change.

    Args:
        width: number of columns of its images.
        height: number of rows.
        fov_y: vertical field of view [rad]; the focal lengths are equal then, and the principal point is the center of
            the image. Or
        intrinsic_matrix: [[f_x, 0, c_x], [0, f_y, c_y], [0, 0, 1]]. Or
        focal_x: focal length f_x [pixels].
        focal_y: focal length f_y [pixels].
        center_x: column c_x of the principal point [pixels], inside of the image.
        center_y: row c_y of the principal point [pixels].

    Raises:
        RuntimeError: a value is out of its range; the message names all that are.
        TypeError: too few arguments or too many.
    """

    _never_changes = True  # copies of a system share it

    __slots__ = ("_center_x", "_center_y", "_focal_x", "_focal_y", "_height", "_width")

    @overload
    def __init__(self, width: int, height: int, fov_y: float) -> None: ...
    @overload
    def __init__(self, width: int, height: int, intrinsic_matrix: ArrayLike) -> None: ...
    @overload
    def __init__(
        self, width: int, height: int, focal_x: float, focal_y: float, center_x: float, center_y: float
    ) -> None: ...
    def __init__(self, width: int, height: int, *args: Any, **kwargs: Any) -> None:
        self._width, self._height = operator.index(width), operator.index(height)
        fx, fy, cx, cy, problems = self._intrinsics(args, kwargs)
        self._focal_x, self._focal_y, self._center_x, self._center_y = fx, fy, cx, cy
        problems += [
            f"the {name} is {size}, and must be positive"
            for name, size in (("width", self._width), ("height", self._height))
            if size <= 0
        ]
        if not problems:
            problems = self._problems_of_numbers()
        if problems:
            raise RuntimeError(f"Invalid CameraInfo: {'; '.join(problems)}.")

    def _intrinsics(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[float, float, float, float, list[str]]:
        """Focal lengths, the principal point, and what is wrong with a matrix."""
        names = ("focal_x", "focal_y", "center_x", "center_y")
        if len(args) + len(kwargs) == 4 and set(kwargs) == set(names[len(args) :]):
            fx, fy, cx, cy = (float(value) for value in (*args, *(kwargs[name] for name in names[len(args) :])))
            return fx, fy, cx, cy, []
        if len(args) + len(kwargs) != 1 or not set(kwargs) <= {"fov_y", "intrinsic_matrix"}:
            raise TypeError(
                "CameraInfo takes (width, height) and fov_y, an intrinsic_matrix, or focal_x, focal_y, center_x and "
                f"center_y; given {len(args) + len(kwargs)} more arguments{'' if not kwargs else f': {list(kwargs)}'}."
            )
        (given,) = (*args, *kwargs.values())
        K = np.asarray(given, dtype=np.float64)
        if K.ndim:
            if K.shape != (3, 3) or (K[[0, 1, 2, 2, 2], [1, 0, 0, 1, 2]] != [0, 0, 0, 0, 1]).any():
                expected = "the form [[f_x, 0, c_x], [0, f_y, c_y], [0, 0, 1]]"
                return 1.0, 1.0, 1.0, 1.0, [f"the intrinsic matrix is {K.tolist()}, and must have {expected}"]
            return float(K[0, 0]), float(K[1, 1]), float(K[0, 2]), float(K[1, 2]), []
        if not 0.0 < float(K) < math.pi:
            return 1.0, 1.0, 1.0, 1.0, [f"fov_y is {float(K)}, and must be between 0 and pi"]
        focal = 0.5 * self._height / math.tan(0.5 * float(K))
        return focal, focal, 0.5 * self._width - 0.5, 0.5 * self._height - 0.5, []

    def _problems_of_numbers(self) -> list[str]:
        focal = (("focal_x", self._focal_x), ("focal_y", self._focal_y))
        problems = [f"{name} is {f}, and must be positive and finite" for name, f in focal if not 0.0 < f < math.inf]
        centers = (("center_x", self._center_x, self._width), ("center_y", self._center_y, self._height))
        return problems + [
            f"{name} is {c}, and must be between 0 and {size}" for name, c, size in centers if not 0.0 < c < size
        ]

    def width(self) -> int:
        """The number of columns."""
        return self._width

    def height(self) -> int:
        """The number of rows."""
        return self._height

    def focal_x(self) -> float:
        """The focal length f_x [pixels]."""
        return self._focal_x

    def focal_y(self) -> float:
        """The focal length f_y [pixels]."""
        return self._focal_y

    def fov_x(self) -> float:
        """The horizontal field of view [rad]."""
        return 2.0 * math.atan(0.5 * self._width / self._focal_x)

    def fov_y(self) -> float:
        """The vertical field of view [rad]."""
        return 2.0 * math.atan(0.5 * self._height / self._focal_y)

    def center_x(self) -> float:
        """The column c_x of the principal point [pixels]."""
        return self._center_x

    def center_y(self) -> float:
        """The row c_y of the principal point [pixels]."""
        return self._center_y

    def intrinsic_matrix(self) -> NDArray[np.float64]:
        """The matrix K that takes p_CQ_C to [z u, z v, z], see (1); shape [3, 3]."""
        return np.array([[self._focal_x, 0.0, self._center_x], [0.0, self._focal_y, self._center_y], [0.0, 0.0, 1.0]])

    def _values(self) -> tuple[int, int, float, float, float, float]:
        return self._width, self._height, self._focal_x, self._focal_y, self._center_x, self._center_y

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, CameraInfo) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __copy__(self) -> CameraInfo:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CameraInfo:
        return self

    def __reduce__(self) -> Any:
        return CameraInfo, self._values()

    def __repr__(self) -> str:
        names = ("width", "height", "focal_x", "focal_y", "center_x", "center_y")
        return f"CameraInfo({', '.join(f'{name}={value}' for name, value in zip(names, self._values()))})"


declare_plain(CameraInfo, lambda info: list(info._values()))


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
