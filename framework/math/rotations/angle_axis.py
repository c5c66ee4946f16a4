"""An orientation as one rotation about one axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.core.scalars.scalars import class_name
from merganser.framework.core.scalars.templates import ScalarMethod
from merganser.framework.math._scalars import Array, ArrayValue, cos, expect_instance, owned_vector, sin
from merganser.framework.math.rotations._rotation_formulas import (
    angle_axis_from_quaternion,
    matrix_from_angle_axis,
    quaternion_from_matrix,
)
from merganser.framework.math.rotations.quaternion import UNIT_LENGTH_TOLERANCE, Quaternion, approximate_rotation


class AngleAxis(ArrayValue):
    """The orientation of B in A after B turned, from coincidence with A, by an angle [rad] about a unit axis.

    The axis has the same coordinates in A and in B.
    """

    __slots__ = _PARTS = ("_angle", "_axis")
    _angle: Any
    _axis: Array

    def __init__(
        self,
        angle: Any = None,
        axis: Any = None,
        *,
        quaternion: Quaternion | None = None,
        rotation: Any = None,
        other: AngleAxis | None = None,
    ) -> None:
        """Makes the identity (0 about x), or a rotation from one of these:

        Args:
            angle: rotation angle [rad], together with `axis`; or, alone by position, any argument below.
            axis: unit vector of the rotation axis, shape [3].
            quaternion: an orientation as a quaternion.
            rotation: rotation matrix R_AB, shape [3, 3].
            other: a rotation to copy.

        Angle and axis of a quaternion or a rotation matrix have no derivatives where nothing turns; those of an
        AutoDiffXd are zero then. 2 quaternion.xyz() has some, which are those of angle times axis.

        Raises:
            TypeError: no such combination of arguments.
            ValueError: wrong shape, NaN or infinity.
            RuntimeError: the length of `axis` differs from one by more than 1e-5, or `rotation` is no
                rotation matrix.
        """
        given = [argument for argument in (angle, quaternion, rotation, other) if argument is not None]
        if len(given) > 1 or (axis is not None and angle is None):
            raise TypeError("AngleAxis: give angle and axis, or one of quaternion, rotation, other.")
        if axis is not None:
            self._angle = _checked_angle(angle)
            self._axis = _unit_axis(axis)
        elif not given:
            self._angle, self._axis = 0.0, np.array([1.0, 0.0, 0.0])
        elif isinstance(given[0], AngleAxis):
            self._angle, self._axis = given[0]._angle, given[0]._axis
        elif isinstance(given[0], Quaternion):
            self._angle, self._axis = angle_axis_from_quaternion(given[0]._wxyz)
        elif np.ndim(given[0]) == 0:
            raise TypeError("AngleAxis: an angle needs an axis: AngleAxis(angle, axis).")
        else:
            R_AB = approximate_rotation(given[0], "AngleAxis: rotation")
            self._angle, self._axis = angle_axis_from_quaternion(quaternion_from_matrix(R_AB))

    @classmethod
    def _from_parts(cls, angle: Any, axis: Array) -> AngleAxis:
        """Wraps a unit `axis`, shape [3], without check or copy; the caller must not write it later."""
        self = cls.__new__(cls)
        self._angle = angle
        self._axis = axis
        return self

    @staticmethod
    def Identity() -> AngleAxis:
        """The identity, about x."""
        return AngleAxis()

    def angle(self) -> Any:
        """The rotation angle [rad]."""
        return self._angle

    def axis(self) -> Array:
        """A copy of the unit vector of the rotation axis, shape [3]."""
        return self._axis.copy()

    def set_angle(self, angle: Any) -> None:
        """Replaces the rotation angle [rad]."""
        self._angle = _checked_angle(angle)

    def set_axis(self, axis: Any) -> None:
        """Replaces the rotation axis by another unit vector, shape [3]."""
        self._axis = _unit_axis(axis)

    def rotation(self) -> Array:
        """The rotation matrix R_AB of this orientation, shape [3, 3]."""
        return matrix_from_angle_axis(self._angle, self._axis)

    _rotation_array = rotation

    def set_rotation(self, rotation: Any) -> None:
        """Replaces this by the rotation of the matrix R_AB, shape [3, 3]."""
        replacement = AngleAxis(rotation=rotation)
        self._angle, self._axis = replacement._angle, replacement._axis

    def quaternion(self) -> Quaternion:
        """The quaternion [cos(angle/2), sin(angle/2) axis] of this orientation."""
        half = self._angle / 2
        s, (x, y, z) = sin(half), self._axis
        return Quaternion._from_array(np.array([cos(half), s * x, s * y, s * z]))

    def set_quaternion(self, q: Quaternion) -> None:
        """Replaces this by the rotation of a quaternion."""
        expect_instance(q, Quaternion, "AngleAxis.set_quaternion")
        self._angle, self._axis = angle_axis_from_quaternion(q._wxyz)

    def multiply(self, other: AngleAxis) -> Quaternion:
        """Composes orientations, to a quaternion: q_AC of R_AC = R_AB R_BC."""
        return self @ other

    def __matmul__(self, other: AngleAxis) -> Quaternion:
        if not isinstance(other, AngleAxis):
            return NotImplemented
        return self.quaternion() @ other.quaternion()

    def inverse(self) -> AngleAxis:
        """The opposite angle about the same axis."""
        return AngleAxis._from_parts(-self._angle, self._axis)

    cast = ScalarMethod(ArrayValue._cast)

    def __repr__(self) -> str:
        return f"{class_name('AngleAxis', self._axis)}(angle={self._angle!r}, axis={self._axis.tolist()!r})"

    def __str__(self) -> str:
        return f"{class_name('AngleAxis', self._axis)}(angle={self._angle}, axis={self._axis})"


def _checked_angle(angle: Any) -> Any:
    if np.ndim(angle) != 0:
        raise TypeError(f"AngleAxis: angle: expected one number [rad], got {angle!r}.")
    if isinstance(angle, (int, float, np.integer, np.floating)):
        angle = float(angle)
        if not math.isfinite(angle):
            raise ValueError(f"AngleAxis: angle: expected a finite number [rad], got {angle!r}.")
    return angle


def _unit_axis(value: Any) -> Array:
    axis = owned_vector(value, 3, "AngleAxis: axis")
    if axis.dtype.kind == "f":
        length = math.sqrt(axis.dot(axis))
        if not abs(length - 1) <= UNIT_LENGTH_TOLERANCE:
            raise RuntimeError(
                f"AngleAxis: axis = {axis.tolist()} is not normalized: its length is {length!r}, expected 1 "
                f"to {UNIT_LENGTH_TOLERANCE:g}. Divide it by its length."
            )
    return axis
