"""Unit quaternions as orientations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.core.scalars.scalars import class_name
from merganser.framework.core.scalars.templates import ScalarMethod
from merganser.framework.math._scalars import (
    Array,
    ArrayValue,
    expect_instance,
    owned_array,
    owned_vector,
    real_part,
    sin,
    sqrt,
)
from merganser.framework.math.elementwise import atan2
from merganser.framework.math.rotations._rotation_formulas import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    rotation_defect,
)

UNIT_LENGTH_TOLERANCE = 1e-5
"""How far the length of a quaternion or axis that is given may be from one, as in pydrake."""


def approximate_rotation(rotation: Any, what: str) -> Array:
    """A copy of `rotation`, shape [3, 3], which must be a rotation matrix to `UNIT_LENGTH_TOLERANCE`.

    Raises:
        ValueError: wrong shape.
        RuntimeError: not a rotation matrix.
    """
    R = owned_array(rotation, what)
    if R.shape != (3, 3):
        raise ValueError(f"{what}: expected a rotation matrix of shape (3, 3), got shape {R.shape}.")
    defect = rotation_defect(real_part(R, what), UNIT_LENGTH_TOLERANCE)
    if defect:
        raise RuntimeError(f"{what}: the matrix\n{R}\nis not a rotation matrix: {defect}.")
    return R


class Quaternion(ArrayValue):
    """The unit quaternion q_AB = w + x i + y j + z k of the orientation of B in A, stored as [w, x, y, z].

    q and -q are the same orientation. The product follows frames: q_AC = q_AB @ q_BC.
    """

    __slots__ = _PARTS = ("_wxyz",)
    _wxyz: Array
    __array_ufunc__ = None  # array @ Quaternion is a TypeError rather than an object array

    def __init__(
        self,
        wxyz: Any = None,
        x: Any = None,
        y: Any = None,
        z: Any = None,
        *,
        w: Any = None,
        rotation: Any = None,
        other: Quaternion | None = None,
    ) -> None:
        """Makes the identity, or a quaternion from one of these:

        Args:
            wxyz: the four components, shape [4]; or, by position, any of the arguments below.
            w, x, y, z: the four components, all given by position or all by name.
            rotation: rotation matrix R_AB, shape [3, 3]; of the two quaternions the one with w >= 0.
            other: a quaternion to copy.

        Raises:
            TypeError: no such combination of arguments.
            ValueError: wrong shape, NaN or infinity.
            RuntimeError: the length differs from one by more than 1e-5, or `rotation` is not a rotation matrix.
        """
        if x is not None or y is not None or z is not None:
            components = (w if wxyz is None else wxyz, x, y, z)
            given = [a for a in (wxyz, w, x, y, z, rotation, other) if a is not None]
            if len(given) != 4 or any(part is None for part in components):
                raise TypeError("Quaternion: give all four of w, x, y, z and nothing else.")
            self._wxyz = _unit_wxyz(components)
            return
        given = [argument for argument in (wxyz, rotation, other) if argument is not None]
        if len(given) > 1 or w is not None:
            raise TypeError("Quaternion: give one of wxyz, rotation, other, or all four of w, x, y, z.")
        if not given:
            self._wxyz = np.array([1.0, 0.0, 0.0, 0.0])
        elif isinstance(given[0], Quaternion):
            self._wxyz = given[0]._wxyz
        elif rotation is not None or np.shape(given[0]) == (3, 3):
            self._wxyz = quaternion_from_matrix(approximate_rotation(given[0], "Quaternion: rotation"))
        else:
            self._wxyz = _unit_wxyz(given[0])

    @classmethod
    def _from_array(cls, wxyz: Array) -> Quaternion:
        """Wraps a unit `wxyz`, shape [4], without check or copy; the caller must not write it later."""
        self = cls.__new__(cls)
        self._wxyz = wxyz
        return self

    @staticmethod
    def Identity() -> Quaternion:
        """The quaternion of no rotation, [1, 0, 0, 0]."""
        return Quaternion()

    def w(self) -> Any:
        """The scalar component."""
        return self._wxyz[0]

    def x(self) -> Any:
        """The i component."""
        return self._wxyz[1]

    def y(self) -> Any:
        """The j component."""
        return self._wxyz[2]

    def z(self) -> Any:
        """The k component."""
        return self._wxyz[3]

    def xyz(self) -> Array:
        """A copy of the vector part, shape [3]."""
        return self._wxyz[1:].copy()

    def wxyz(self) -> Array:
        """A copy of all components, shape [4]."""
        return self._wxyz.copy()

    def set_wxyz(self, wxyz: Any = None, x: Any = None, y: Any = None, z: Any = None, *, w: Any = None) -> None:
        """Replaces the components, given as one array or as four numbers; raises as the constructor does."""
        if wxyz is None and w is None:
            raise TypeError("Quaternion.set_wxyz: give wxyz, or all four of w, x, y, z.")
        self._wxyz = Quaternion(wxyz, x, y, z, w=w)._wxyz

    def rotation(self) -> Array:
        """The rotation matrix R_AB of this orientation, shape [3, 3]."""
        return matrix_from_quaternion(self._wxyz)

    def set_rotation(self, rotation: Any) -> None:
        """Replaces this orientation by that of the rotation matrix R_AB, shape [3, 3]."""
        self._wxyz = Quaternion(rotation=rotation)._wxyz

    _rotation_array = rotation

    def multiply(self, other: Any = None, *, vector: Any = None) -> Any:
        """Composes orientations, or re-expresses vectors.

        Args:
            other: a quaternion q_BC, or one or n vectors expressed in B, shape [3] or [3, n].
            vector: the same vectors by name.

        Returns:
            q_AC = q_AB q_BC, or the vectors expressed in A.
        """
        return self @ (vector if other is None else other)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Quaternion):
            return Quaternion._from_array(quaternion_product(self._wxyz, other._wxyz))
        v_B = np.asarray(other)
        if v_B.ndim not in (1, 2) or v_B.shape[0] != 3:
            raise TypeError(
                f"Quaternion.multiply: expected a Quaternion or vectors of shape (3,) or (3, n), "
                f"got {type(other).__name__} of shape {v_B.shape}."
            )
        return self.rotation().dot(v_B)

    def conjugate(self) -> Quaternion:
        """q_BA, with the vector part negated."""
        w, x, y, z = self._wxyz
        return Quaternion._from_array(np.array([w, -x, -y, -z]))

    def inverse(self) -> Quaternion:
        """q_BA, the conjugate divided by the squared length."""
        q_BA = self.conjugate()
        return Quaternion._from_array(q_BA._wxyz / self._wxyz.dot(self._wxyz))

    def slerp(self, t: float, other: Quaternion) -> Quaternion:
        """Interpolates at constant angular velocity along the shorter great circle.

        Args:
            t: 0 gives this orientation, 1 the orientation of `other`.
            other: where to interpolate to.

        Source: Shoemake, 1985, "Animating rotation with quaternion curves", SIGGRAPH.
        """
        expect_instance(other, Quaternion, "Quaternion.slerp")
        q0, q1 = self._wxyz, other._wxyz
        v0, v1 = real_part(q0, "slerp"), real_part(q1, "slerp")
        if v0.dot(v1) < 0:
            q1, v1 = -q1, -v1
        # The half-chord gives an angle that stays accurate when the quaternions nearly coincide.
        if 2 * math.atan2(np.linalg.norm(v1 - v0), np.linalg.norm(v1 + v0)) < 1e-8:  # sin(angle) == angle
            return Quaternion._from_array((1 - t) * q0 + t * q1)
        angle = 2 * atan2(_norm(q1 - q0), _norm(q1 + q0))
        return Quaternion._from_array((sin((1 - t) * angle) * q0 + sin(t * angle) * q1) / sin(angle))

    cast = ScalarMethod(ArrayValue._cast)

    def __repr__(self) -> str:
        w, x, y, z = self._wxyz.tolist()
        return f"{class_name('Quaternion', self._wxyz)}(w={w!r}, x={x!r}, y={y!r}, z={z!r})"

    def __str__(self) -> str:
        w, x, y, z = self._wxyz.tolist()
        return f"{class_name('Quaternion', self._wxyz)}(w={w}, x={x}, y={y}, z={z})"


def _norm(q: Array) -> Any:
    return np.linalg.norm(q) if q.dtype.kind == "f" else sqrt(q.dot(q))


def quaternion_product(p: Array, q: Array) -> Array:
    """Hamilton's product of two quaternions [w, x, y, z], shape [4]."""
    pw, px, py, pz = p.tolist()
    qw, qx, qy, qz = q.tolist()
    return np.array(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ]
    )


def _unit_wxyz(value: Any) -> Array:
    wxyz = owned_vector(value, 4, "Quaternion: wxyz")
    if wxyz.dtype.kind == "f":
        length = math.sqrt(wxyz.dot(wxyz))
        if not abs(length - 1) <= UNIT_LENGTH_TOLERANCE:
            raise RuntimeError(
                f"Quaternion: wxyz = {wxyz.tolist()} is not normalized: its length is {length!r}, expected 1 "
                f"to {UNIT_LENGTH_TOLERANCE:g}. Divide it by its length."
            )
    return wxyz
