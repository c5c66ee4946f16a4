"""A plane, and on which side of it things are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RotationMatrix
from merganser.geometry.meshes.arrays import as_scalars, scalar

__all__ = ["Plane"]

_MIN_NORMAL_LENGTH = 1e-10


class Plane:
    """The plane nhat . x = d of a frame F; it never changes. What lies where the normal points is above it.

    Args:
        normal: a vector perpendicular to the plane, in F, of floats or AutoDiffXd, shape [3].
        point_on_plane: any point of it, in F [m], shape [3].
        already_normalized: whether `normal` is taken as a unit vector as it is.

    Raises:
        RuntimeError: the normal is shorter than 1e-10.
    """

    __slots__ = ("_displacement", "_normal")

    def __init__(self, normal: ArrayLike, point_on_plane: ArrayLike, already_normalized: bool = False) -> None:
        nhat = np.array(as_scalars(normal)).reshape(3)
        if not already_normalized:
            length = np.sqrt((nhat * nhat).sum())
            if not length >= _MIN_NORMAL_LENGTH:
                raise RuntimeError(
                    f"A Plane needs a normal of length {_MIN_NORMAL_LENGTH} or more; given {nhat.tolist()}."
                )
            nhat = nhat / length
        self._normal: NDArray[Any] = nhat
        self._displacement = scalar(nhat @ as_scalars(point_on_plane).reshape(3))

    def CalcHeight(self, point: ArrayLike) -> Any:
        """The height of a point above the plane [m], negative below it; `point` in F [m], shape [3]."""
        return scalar(self._normal @ as_scalars(point).reshape(3) - self._displacement)

    def unit_normal(self) -> NDArray[Any]:
        """The unit normal in F, shape [3]."""
        return self._normal.copy()

    def reference_point(self) -> NDArray[Any]:
        """A point of the plane, in F [m], shape [3]."""
        return np.asarray(self._displacement * self._normal)

    def BoxOverlaps(
        self, half_width: ArrayLike, box_center_in_plane: ArrayLike, box_orientation_in_plane: RotationMatrix
    ) -> bool:
        """Whether the plane meets a box.

        Args:
            half_width: half of the box's extents along its axes B [m], shape [3].
            box_center_in_plane: p_FBo [m], shape [3].
            box_orientation_in_plane: R_FB.
        """
        reach = np.abs(self._normal @ box_orientation_in_plane.matrix()) @ as_scalars(half_width).reshape(3)
        return bool(abs(self.CalcHeight(box_center_in_plane)) <= reach)

    def __deepcopy__(self, memo: dict[int, Any]) -> Plane:
        return self

    def __repr__(self) -> str:
        return f"Plane(normal={self._normal.tolist()}, point_on_plane={self.reference_point().tolist()})"
