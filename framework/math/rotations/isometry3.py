"""Isometry3: a pose under the names of pydrake.common.eigen_geometry; new programs use RigidTransform."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.core.scalars.scalars import class_name, scalar_of_array
from merganser.framework.core.scalars.templates import ScalarMethod
from merganser.framework.math._scalars import Array, cast_entries, owned_array, owned_vector, real_part
from merganser.framework.math.rotations.array_value import ArrayValue
from merganser.framework.math.rotations.quaternion import Quaternion
from merganser.framework.math.rotations.rotation_matrix import RotationMatrix

_LAST_ROW = np.array([0.0, 0.0, 0.0, 1.0])


class Isometry3(ArrayValue):
    """A rotation R_AB and a translation p_AoBo_A [m]; unlike a RigidTransform, it can be changed.

    Called as `Isometry3()` for the identity, `(matrix)` with shape [4, 4], `(rotation, translation)` with shapes [3, 3]
    and [3], `(quaternion, translation)`, or with another Isometry3 to copy it.

    Raises:
        ValueError: a shape is wrong.
        RuntimeError: the rotation part is not a rotation matrix.
    """

    _PARTS = ("_R", "_p")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._R, self._p = np.eye(3), np.zeros(3)
        given = {**dict(zip(_names_of(args), args)), **kwargs}
        if "other" in given:
            other = given.pop("other")
            self._R, self._p = other.rotation(), other.translation()
        elif "matrix" in given:
            self.set_matrix(given.pop("matrix"))
        elif given:
            self.set_translation(given.pop("translation", np.zeros(3)))
            if "quaternion" in given:
                self.set_quaternion(given.pop("quaternion"))
            elif "rotation" in given:
                self.set_rotation(given.pop("rotation"))
        if given:
            raise TypeError(f"Isometry3: unexpected argument '{next(iter(given))}'.")

    @staticmethod
    def Identity() -> Isometry3:
        """The pose that changes nothing."""
        return Isometry3()

    def matrix(self) -> Array:
        """The homogeneous matrix [[R, p], [0, 1]], shape [4, 4]."""
        return np.vstack([np.column_stack([self._R, self._p]), cast_entries(_LAST_ROW, scalar_of_array(self._R))])

    def rotation(self) -> Array:
        """R_AB, shape [3, 3]."""
        return self._R.copy()

    def translation(self) -> Array:
        """p_AoBo_A [m], shape [3]."""
        return self._p.copy()

    def quaternion(self) -> Quaternion:
        """The rotation as a unit quaternion."""
        return RotationMatrix(self._R).ToQuaternion()

    def set_matrix(self, matrix: npt.ArrayLike) -> None:
        """Replaces rotation and translation by those of a homogeneous matrix, shape [4, 4]."""
        X = owned_array(matrix, "Isometry3: matrix")
        if X.shape != (4, 4) or not np.array_equal(real_part(X[3], "Isometry3: last row"), _LAST_ROW):
            raise ValueError(f"Isometry3: expected a homogeneous matrix of shape (4, 4), got\n{X}")
        rotation = RotationMatrix(X[:3, :3]).matrix()
        self._R, self._p = rotation, X[:3, 3]

    def set_rotation(self, rotation: npt.ArrayLike) -> None:
        """Replaces the rotation, shape [3, 3]."""
        self._R = RotationMatrix(rotation).matrix()

    def set_quaternion(self, quaternion: Quaternion) -> None:
        """Replaces the rotation."""
        self._R = RotationMatrix(quaternion).matrix()

    def set_translation(self, translation: npt.ArrayLike) -> None:
        """Replaces the translation [m], shape [3]."""
        self._p = owned_vector(translation, 3, "Isometry3: translation")

    def inverse(self) -> Isometry3:
        """X_BA."""
        return self._of(self._R.T.copy(), -self._R.T @ self._p)

    @also_named(position="other")
    def multiply(self, other: Any) -> Any:
        """X_AB X_BC for a pose; p_AoQ_A = X_AB p_BoQ_B for a point, shape [3], or for points, shape [3, n]."""
        if isinstance(other, Isometry3):
            return self._of(self._R @ other._R, self._R @ other._p + self._p)
        points = np.asarray(other)
        if points.ndim not in (1, 2) or points.shape[0] != 3:
            raise ValueError(f"Isometry3: expected a pose, or points of shape (3,) or (3, n), got {points.shape}.")
        return self._R @ points + (self._p if points.ndim == 1 else self._p[:, None])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.matrix(), dtype=dtype)

    def __matmul__(self, other: Any) -> Any:
        return self.multiply(other)

    def __copy__(self) -> Isometry3:
        return Isometry3(self)

    def __repr__(self) -> str:
        name = class_name("Isometry3", self._R)
        return f"{name}(rotation={self._R.tolist()}, translation={self._p.tolist()})"

    def __str__(self) -> str:
        return str(self.matrix())

    cast = ScalarMethod(ArrayValue._cast)

    @staticmethod
    def _of(R: Array, p: Array) -> Isometry3:
        result = Isometry3()
        result._R, result._p = R, p
        return result


def _names_of(args: tuple[Any, ...]) -> tuple[str, ...]:
    """Sorts the positional arguments."""
    if len(args) > 2:
        raise TypeError(f"Isometry3 takes at most 2 arguments, got {len(args)}.")
    if len(args) == 1:
        return ("other",) if isinstance(args[0], Isometry3) else ("matrix",)
    return ("quaternion" if args and isinstance(args[0], Quaternion) else "rotation", "translation")
