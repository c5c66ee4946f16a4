"""CameraInfo: from points in front of a camera to pixels.

The camera frame C has its origin at the aperture, Cx to the right in the image, Cy downwards and Cz into it. A point Q
at p_CQ_C = [x, y, z] is seen at the pixel coordinates

    u = f_x x / z + c_x
    v = f_y y / z + c_y      (1)

where the center of the upper left pixel is (0, 0).
"""

from __future__ import annotations

import math
import operator
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.values.plain_values import declare_plain


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
