"""Poses: an orientation and a position, as RigidTransform and as Isometry3."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from merganser.framework.common.keywords import also_named
from merganser.framework.core.scalars.scalars import class_name, scalar_of_array
from merganser.framework.core.scalars.templates import ScalarMethod
from merganser.framework.math._scalars import (
    Array,
    ArrayValue,
    cast_entries,
    expect_instance,
    owned_array,
    owned_vector,
    real_part,
)
from merganser.framework.math.arrays import all_equal, all_hold, largest_difference
from merganser.framework.math.rotations._rotation_formulas import ORTHONORMALITY_TOLERANCE
from merganser.framework.math.rotations.angle_axis import AngleAxis
from merganser.framework.math.rotations.quaternion import Quaternion
from merganser.framework.math.rotations.roll_pitch_yaw import RollPitchYaw
from merganser.framework.math.rotations.rotation_matrix import RotationMatrix, rotation_array

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


class RigidTransform(ArrayValue):
    """X_AB, the pose of frame B in frame A: the orientation R_AB and the position p_AoBo_A [m].

    Moves points between frames, p_AoQ_A = X_AB @ p_BoQ_B, and composes, X_AC = X_AB @ X_BC. Entries are
    float64, complex128 or objects; only float64 entries are checked. The arrays inside are never written,
    only replaced, so objects share arrays freely.
    """

    __slots__ = _PARTS = ("_R_AB", "_p_AoBo_A")
    _R_AB: Array
    _p_AoBo_A: Array
    __array_ufunc__ = None  # array @ RigidTransform is a TypeError rather than an object array

    def __init__(
        self,
        R: Any = None,
        p: Any = None,
        *,
        rpy: RollPitchYaw | None = None,
        quaternion: Quaternion | None = None,
        theta_lambda: AngleAxis | None = None,
        pose: Any = None,
        other: RigidTransform | None = None,
    ) -> None:
        """Makes the identity, or a pose from an orientation, a position, both, a matrix, or another pose:

        Args:
            R: the orientation R_AB as a rotation matrix; or, by position, an orientation in any
                representation (perhaps with `p`), or alone any other argument.
            p: the position p_AoBo_A [m], shape [3].
            rpy: the orientation as roll, pitch and yaw angles.
            quaternion: the orientation as a quaternion.
            theta_lambda: the orientation as an angle and an axis.
            pose: the matrix [R_AB p_AoBo_A], shape [3, 4], or [4, 4] with last row [0, 0, 0, 1].
            other: a pose to copy.

        Raises:
            TypeError: no such combination of arguments.
            ValueError: wrong shape, NaN or infinity in the position, wrong last row.
            RuntimeError: the rotation part of `pose` is not a rotation matrix.
        """
        given = [argument for argument in (R, rpy, quaternion, theta_lambda, pose, other) if argument is not None]
        if len(given) > 1:
            raise TypeError("RigidTransform: give at most one of R, rpy, quaternion, theta_lambda, pose, other.")
        whole = given[0] if given else None
        if whole is None:
            self._store(np.eye(3), np.zeros(3) if p is None else _position(p))
        elif hasattr(whole, "_rotation_array"):
            self._store(whole._rotation_array(), np.zeros(3) if p is None else _position(p))
        elif p is not None:
            raise TypeError(
                f"RigidTransform: beside p, expected a RotationMatrix, RollPitchYaw, Quaternion or "
                f"AngleAxis, got {type(whole).__name__}. A 3x3 array goes in as RotationMatrix(array)."
            )
        elif isinstance(whole, RigidTransform):
            self._R_AB, self._p_AoBo_A = whole._R_AB, whole._p_AoBo_A
        else:
            self._store(*_parts_of_array(whole))

    def _store(self, R_AB: Array, p_AoBo_A: Array) -> None:
        if R_AB.dtype != p_AoBo_A.dtype:
            scalar = np.result_type(R_AB, p_AoBo_A)
            R_AB, p_AoBo_A = R_AB.astype(scalar, copy=False), p_AoBo_A.astype(scalar, copy=False)
        self._R_AB = R_AB
        self._p_AoBo_A = p_AoBo_A

    @classmethod
    def _from_parts(cls, R_AB: Array, p_AoBo_A: Array) -> RigidTransform:
        """Wraps arrays without check or copy; the caller must not write them later.

        Args:
            R_AB: rotation matrix, shape [3, 3], C order.
            p_AoBo_A: position [m], shape [3], of the same dtype.
        """
        self = cls.__new__(cls)
        self._R_AB = R_AB
        self._p_AoBo_A = p_AoBo_A
        return self

    @staticmethod
    def Identity() -> RigidTransform:
        """The pose of a frame in itself."""
        return RigidTransform()

    @staticmethod
    def MakeUnchecked(pose: Any) -> RigidTransform:
        """Wraps a copy of the matrix [R_AB p_AoBo_A], shape [3, 4], whatever its entries are."""
        X_AB = owned_array(pose, "RigidTransform.MakeUnchecked: pose")
        if X_AB.shape != (3, 4):
            raise ValueError(f"RigidTransform.MakeUnchecked: expected shape (3, 4), got shape {X_AB.shape}.")
        return RigidTransform._from_parts(X_AB[:, :3].copy(), X_AB[:, 3].copy())

    def rotation(self) -> RotationMatrix:
        """R_AB, the orientation of B in A."""
        return RotationMatrix._from_array(self._R_AB)

    def translation(self) -> Array:
        """A copy of p_AoBo_A, the position of Bo from Ao expressed in A [m], shape [3]."""
        return self._p_AoBo_A.copy()

    def set(self, R: RotationMatrix, p: Any) -> None:
        """Replaces the orientation and the position p_AoBo_A [m], shape [3]."""
        self._store(_orientation(R), _position(p))

    def set_rotation(
        self,
        R: Any = None,
        *,
        rpy: RollPitchYaw | None = None,
        quaternion: Quaternion | None = None,
        theta_lambda: AngleAxis | None = None,
    ) -> None:
        """Replaces the orientation R_AB by one in any representation, and keeps the position."""
        given = [argument for argument in (R, rpy, quaternion, theta_lambda) if argument is not None]
        if len(given) != 1:
            raise TypeError("RigidTransform.set_rotation: give one of R, rpy, quaternion, theta_lambda.")
        self._store(_orientation(given[0]), self._p_AoBo_A)

    def set_translation(self, p: Any) -> None:
        """Replaces the position p_AoBo_A [m], shape [3], and keeps the orientation."""
        self._store(self._R_AB, _position(p))

    def SetIdentity(self) -> RigidTransform:
        """Makes this the identity, and returns it."""
        self._R_AB, self._p_AoBo_A = np.eye(3), np.zeros(3)
        return self

    def GetAsMatrix4(self) -> Array:
        """The matrix [[R_AB, p_AoBo_A], [0, 0, 0, 1]], shape [4, 4]."""
        X_AB = np.zeros((4, 4), dtype=self._R_AB.dtype)
        X_AB[:3, :3] = self._R_AB
        X_AB[:3, 3] = self._p_AoBo_A
        X_AB[3] = _LAST_ROW if X_AB.dtype != object else cast_entries(_LAST_ROW, scalar_of_array(X_AB[:3]))
        return X_AB

    def GetAsIsometry3(self) -> Isometry3:
        """This pose as an Isometry3."""
        return Isometry3(rotation=self._R_AB, translation=self._p_AoBo_A)

    def SetFromIsometry3(self, pose: Isometry3) -> None:
        """Replaces orientation and position by those of an Isometry3."""
        self._store(pose.rotation(), pose.translation())

    def GetAsMatrix34(self) -> Array:
        """The matrix [R_AB, p_AoBo_A], shape [3, 4]."""
        return self.GetAsMatrix4()[:3].copy()

    @overload
    def multiply(self, other: RigidTransform) -> RigidTransform: ...
    @overload
    def multiply(self, other: ArrayLike) -> Array: ...
    @overload
    def multiply(self, *, p_BoQ_B: ArrayLike) -> Array: ...
    @overload
    def multiply(self, *, vec_B: ArrayLike) -> Array: ...
    def multiply(self, other: Any = None, *, p_BoQ_B: Any = None, vec_B: Any = None) -> Any:
        """Composes poses, or moves points from frame B to frame A.

        Args:
            other: a pose X_BC, or one of the arguments below.
            p_BoQ_B: position of one or n points from Bo, expressed in B [m], shape [3] or [3, n].
            vec_B: a point with a 1, or a free vector with a 0, as fourth element, shape [4].

        Returns:
            X_AC = X_AB X_BC, the positions p_AoQ_A, or the product with the 4x4 matrix, shapes as they came.

        Raises:
            TypeError: anything else.
            ValueError: the fourth element of `vec_B` is neither 0 nor 1.
        """
        given = [argument for argument in (other, p_BoQ_B, vec_B) if argument is not None]
        if len(given) != 1:
            raise TypeError("RigidTransform.multiply: give one of other, p_BoQ_B, vec_B.")
        return self @ given[0]

    @overload
    def __matmul__(self, other: RigidTransform) -> RigidTransform: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, RigidTransform):
            # R_AC = R_AB R_BC,  p_AoCo_A = p_AoBo_A + R_AB p_BoCo_B
            R_AB = self._R_AB
            return RigidTransform._from_parts(R_AB.dot(other._R_AB), R_AB.dot(other._p_AoBo_A) + self._p_AoBo_A)
        points = np.asarray(other)
        if points.shape == (3,):
            return self._R_AB.dot(points) + self._p_AoBo_A
        if points.ndim == 2 and points.shape[0] == 3:
            return self._R_AB.dot(points) + self._p_AoBo_A[:, np.newaxis]
        if points.shape == (4,):
            return self._multiply_homogeneous(points)
        raise TypeError(
            f"RigidTransform.multiply: expected a RigidTransform, points of shape (3,) or (3, n), one a "
            f"column, or a vector of shape (4,), got {type(other).__name__} of shape {points.shape}."
        )

    def _multiply_homogeneous(self, vec_B: Array) -> Array:
        if vec_B.dtype.kind != "O" and vec_B[3] not in (0, 1):
            raise ValueError(
                f"RigidTransform.multiply: the fourth element of {vec_B.tolist()} is {vec_B[3]}, expected 1 "
                f"for a point or 0 for a free vector."
            )
        return self.GetAsMatrix4().dot(vec_B)

    def inverse(self) -> RigidTransform:
        """X_BA: R_BA = R_ABᵀ, p_BoAo_B = -R_BA p_AoBo_A."""
        R_BA = self._R_AB.T.copy()
        return RigidTransform._from_parts(R_BA, -R_BA.dot(self._p_AoBo_A))

    def InvertAndCompose(self, other: RigidTransform) -> RigidTransform:
        """X_BC = X_AB⁻¹ X_AC, where `other` is X_AC."""
        expect_instance(other, RigidTransform, "RigidTransform.InvertAndCompose")
        R_BA = self._R_AB.T
        p_BoCo_A = other._p_AoBo_A - self._p_AoBo_A
        return RigidTransform._from_parts(R_BA.dot(other._R_AB), R_BA.dot(p_BoCo_A))

    # Of expressions, the comparisons below are formulas.

    def IsExactlyIdentity(self) -> bool:
        """Whether every element equals that of the identity."""
        return self.IsExactlyEqualTo(RigidTransform())

    def IsNearlyIdentity(self, translation_tolerance: float) -> bool:
        """Whether the rotation is the identity to 128 epsilon, the position zero to the tolerance [m]."""
        is_near = largest_difference(self._p_AoBo_A, np.zeros(3)) <= translation_tolerance
        return all_hold([self.rotation().IsNearlyIdentity(), is_near])

    def IsExactlyEqualTo(self, other: RigidTransform) -> bool:
        """Whether every element equals that of `other`."""
        expect_instance(other, RigidTransform, "RigidTransform.IsExactlyEqualTo")
        return all_hold([all_equal(self._R_AB, other._R_AB), all_equal(self._p_AoBo_A, other._p_AoBo_A)])

    def IsNearlyEqualTo(self, other: RigidTransform, tolerance: float) -> bool:
        """Whether no element of rotation matrix or position differs from that of `other` by more."""
        return self.GetMaximumAbsoluteDifference(other) <= tolerance

    def GetMaximumAbsoluteDifference(self, other: RigidTransform) -> float:
        """The largest difference from `other` among the elements of rotation matrix and position."""
        expect_instance(other, RigidTransform, "RigidTransform.GetMaximumAbsoluteDifference")
        mine, theirs = (np.append(X._R_AB, X._p_AoBo_A) for X in (self, other))
        return largest_difference(mine, theirs)

    def GetMaximumAbsoluteTranslationDifference(self, other: RigidTransform) -> float:
        """The largest difference from `other` among the elements of the position [m]."""
        expect_instance(other, RigidTransform, "RigidTransform.GetMaximumAbsoluteTranslationDifference")
        return largest_difference(self._p_AoBo_A, other._p_AoBo_A)

    cast = ScalarMethod(ArrayValue._cast)

    def __repr__(self) -> str:
        R = repr(self.rotation()).replace("\n", "\n  ")
        return f"{class_name('RigidTransform', self._R_AB)}(\n  R={R},\n  p={self._p_AoBo_A.tolist()!r},\n)"


def _position(value: Any) -> Array:
    return owned_vector(value, 3, "RigidTransform: p")


def _orientation(value: Any) -> Array:
    if not hasattr(value, "_rotation_array"):
        raise TypeError(
            f"RigidTransform: expected a RotationMatrix, RollPitchYaw, Quaternion or AngleAxis, got "
            f"{type(value).__name__}. A 3x3 array goes in as RotationMatrix(array)."
        )
    return value._rotation_array()


def _parts_of_array(value: Any) -> tuple[Array, Array]:
    """R_AB and p_AoBo_A of a position, shape [3], or of a matrix, shape [3, 4] or [4, 4]."""
    array = owned_array(value, "RigidTransform")
    if array.shape in ((3,), (3, 1)):
        return np.eye(3), _position(array)
    if array.shape not in ((3, 4), (4, 4)):
        raise ValueError(
            f"RigidTransform: expected a position of shape (3,) or a matrix of shape (3, 4) or (4, 4), got "
            f"shape {array.shape}. A 3x3 array goes in as RotationMatrix(array)."
        )
    if array.shape == (4, 4) and array.dtype.kind == "f":
        deviation = np.abs(array[3] - _LAST_ROW).max()
        if not deviation <= ORTHONORMALITY_TOLERANCE:
            raise ValueError(
                f"RigidTransform: the last row of the 4x4 matrix is {array[3].tolist()}, expected [0, 0, 0, 1]."
            )
    return rotation_array(array[:3, :3]), _position(array[:3, 3])


# Poses and orientations around arrays that are right, without a check and without a copy: for the packages of this
# project, where a kernel has made the arrays and they are not written later. Users have the constructors, which check.
rigid_transform = RigidTransform._from_parts  # of R_AB, shape [3, 3], and p_AoBo_A [m], shape [3]
rotation_matrix = RotationMatrix._from_array  # of R_AB, shape [3, 3]
quaternion = Quaternion._from_array  # of [w, x, y, z]
