"""Orthonormal 3x3 matrices as orientations."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework.core.scalars.scalars import class_name
from merganser.framework.core.scalars.templates import ScalarMethod
from merganser.framework.math._scalars import (
    Array,
    ArrayValue,
    cos,
    expect_instance,
    owned_array,
    owned_vector,
    real_part,
    refuse_complex,
    sin,
    sqrt,
)
from merganser.framework.math.arrays import all_equal, all_hold, has_symbols, largest_difference
from merganser.framework.math.rotations._rotation_formulas import (
    ORTHONORMALITY_TOLERANCE,
    quaternion_from_matrix,
    rotation_defect,
)
from merganser.framework.math.rotations.angle_axis import AngleAxis
from merganser.framework.math.rotations.quaternion import Quaternion

if TYPE_CHECKING:
    from merganser.framework.math.rotations.roll_pitch_yaw import RollPitchYaw

_SHORTEST_VECTOR = 1e-10  # a shorter vector has no trustworthy direction
_FAR_FROM_ORTHONORMAL = 0.5  # largest element of R Rᵀ - I


class RotationMatrix(ArrayValue):
    """R_AB, the orientation of frame B in frame A: its columns are Bx, By, Bz expressed in A.

    Re-expresses vectors, v_A = R_AB @ v_B, and composes, R_AC = R_AB @ R_BC. Entries are float64, complex128
    or objects; only float64 matrices are checked. The array inside is never written, only replaced, so
    objects share arrays freely.
    """

    __slots__ = _PARTS = ("_R_AB",)
    _R_AB: Array
    __array_ufunc__ = None  # array @ RotationMatrix is a TypeError rather than an object array

    def __init__(
        self,
        R: Any = None,
        *,
        quaternion: Quaternion | None = None,
        theta_lambda: AngleAxis | None = None,
        rpy: RollPitchYaw | None = None,
        other: RotationMatrix | None = None,
    ) -> None:
        """Makes the identity, or a rotation matrix from one of these:

        Args:
            R: matrix R_AB, shape [3, 3]; or, by position, any of the arguments below.
            quaternion: an orientation as a quaternion.
            theta_lambda: an orientation as an angle and an axis.
            rpy: an orientation as roll, pitch and yaw angles.
            other: a rotation matrix to copy.

        Raises:
            TypeError: more than one argument.
            ValueError: wrong shape.
            RuntimeError: a float matrix that is far from orthonormal, or left-handed.

        Warns:
            RuntimeWarning: a float matrix that is not orthonormal to 128 epsilon; it is taken as it is.
        """
        given = [argument for argument in (R, quaternion, theta_lambda, rpy, other) if argument is not None]
        if len(given) > 1:
            raise TypeError("RotationMatrix: give at most one of R, quaternion, theta_lambda, rpy, other.")
        self._R_AB = rotation_array(given[0]) if given else np.eye(3)

    @classmethod
    def _from_array(cls, R_AB: Array) -> RotationMatrix:
        """Wraps a C-ordered R_AB, shape [3, 3], without check or copy; the caller must not write it later."""
        self = cls.__new__(cls)
        self._R_AB = R_AB
        return self

    @staticmethod
    def Identity() -> RotationMatrix:
        """The orientation of a frame in itself."""
        return RotationMatrix()

    @staticmethod
    def MakeXRotation(theta: Any) -> RotationMatrix:
        """R_AB after B turned by `theta` [rad] about Ax = Bx."""
        s, c = _sin_cos(theta)
        return RotationMatrix._from_array(np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]))

    @staticmethod
    def MakeYRotation(theta: Any) -> RotationMatrix:
        """R_AB after B turned by `theta` [rad] about Ay = By."""
        s, c = _sin_cos(theta)
        return RotationMatrix._from_array(np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]))

    @staticmethod
    def MakeZRotation(theta: Any) -> RotationMatrix:
        """R_AB after B turned by `theta` [rad] about Az = Bz."""
        s, c = _sin_cos(theta)
        return RotationMatrix._from_array(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))

    @staticmethod
    def MakeFromOneVector(b_A: Any, axis_index: int) -> RotationMatrix:
        """A right-handed basis of which one axis is parallel to a given vector.

        Args:
            b_A: nonzero vector expressed in A, shape [3]; its direction becomes the axis `axis_index` of B.
            axis_index: 0, 1 or 2 for Bx, By or Bz.

        Returns:
            R_AB. Of its other two axes, the next one in cyclic order has a zero component where `b_A` is
            smallest in magnitude.

        Raises:
            ValueError: `b_A` is not three finite numbers, or `axis_index` is not 0, 1 or 2.
            RuntimeError: `b_A` is shorter than 1e-10.
        """
        b_A = owned_vector(b_A, 3, "MakeFromOneVector: b_A")
        length = _length(b_A, "MakeFromOneVector")
        if length < _SHORTEST_VECTOR:
            raise RuntimeError(
                f"MakeFromOneVector: b_A = {b_A.tolist()} is too short to have a direction: its length is "
                f"{float(length):.3g}, expected at least {_SHORTEST_VECTOR:g}. If the direction is meant, normalize "
                f"b_A."
            )
        return RotationMatrix.MakeFromOneUnitVector(b_A / length, axis_index)

    @staticmethod
    def MakeFromOneUnitVector(u_A: Any, axis_index: int) -> RotationMatrix:
        """As `MakeFromOneVector`, for a vector `u_A`, shape [3], that already has unit length.

        Raises:
            ValueError: `u_A` is not three finite numbers, or `axis_index` is not 0, 1 or 2.
            RuntimeError: the length of `u_A` is not one to 128 epsilon.
        """
        u_A = owned_vector(u_A, 3, "MakeFromOneUnitVector: u_A")
        if axis_index not in (0, 1, 2):
            raise ValueError(f"axis_index: expected 0, 1 or 2 for the x, y or z axis, got {axis_index!r}.")
        length = _length(u_A, "MakeFromOneUnitVector")
        if not abs(length - 1) <= ORTHONORMALITY_TOLERANCE:
            raise RuntimeError(
                f"MakeFromOneUnitVector: u_A = {u_A.tolist()} has length {length!r}, expected 1. "
                f"Use MakeFromOneVector for a vector of another length."
            )
        # v is normal to u and to the coordinate axis to which u is least parallel; w completes the triad.
        least_parallel = np.zeros(3)
        least_parallel[np.argmin(np.abs(real_part(u_A, "MakeFromOneUnitVector")))] = 1.0
        v_A = np.cross(least_parallel, u_A)
        v_A = v_A / _length(v_A, "MakeFromOneUnitVector")
        R_AB = np.empty((3, 3), dtype=u_A.dtype)
        R_AB[:, axis_index] = u_A
        R_AB[:, (axis_index + 1) % 3] = v_A
        R_AB[:, (axis_index + 2) % 3] = np.cross(u_A, v_A)
        return RotationMatrix._from_array(R_AB)

    @staticmethod
    def MakeUnchecked(R: Any) -> RotationMatrix:
        """Wraps a copy of the matrix `R`, shape [3, 3], whether or not it is a rotation matrix."""
        return RotationMatrix._from_array(_matrix3(R))

    @staticmethod
    def ProjectToRotationMatrix(M: Any) -> RotationMatrix:
        """The rotation matrix closest to `M`, shape [3, 3], in the 2-norm and in the Frobenius norm.

        With the singular value decomposition M = U S Vᵀ it is R = U Vᵀ. (Schönemann, 1966, "A generalized
        solution of the orthogonal Procrustes problem", Psychometrika 31.) Derivatives are those of R in M.

        Raises:
            TypeError: the entries are expressions.
            ValueError: wrong shape, NaN or infinity.
            RuntimeError: the closest orthonormal matrix is left-handed.
        """
        whole = _matrix3(M)
        M = real_part(whole, "ProjectToRotationMatrix")
        if not np.isfinite(M).all():
            raise ValueError(f"ProjectToRotationMatrix: expected finite numbers, got\n{M}")
        U, sigma, Vt = np.linalg.svd(M)
        R = U.dot(Vt)
        defect = rotation_defect(R)
        if defect:
            raise RuntimeError(
                f"ProjectToRotationMatrix: the orthonormal matrix closest to\n{M}\n"
                f"is not a rotation matrix: {defect}. Negate or exchange columns to make it right-handed."
            )
        if whole.dtype.kind == "f":
            return RotationMatrix._from_array(R)
        # dR = R V W Vᵀ, with W skew and (sigma_i + sigma_j) W_ij = (Uᵀ dM V - Vᵀ dMᵀ U)_ij, dM being the derivatives.
        turn = U.T @ (whole - M) @ Vt.T
        W = (turn - turn.T) / np.add.outer(sigma, sigma)
        return RotationMatrix._from_array(R + U @ W @ Vt)

    def set(self, R: Any) -> None:
        """Replaces this by the rotation matrix `R`, shape [3, 3]; raises as the constructor does."""
        self._R_AB = rotation_array(R)

    def matrix(self) -> Array:
        """A copy of the matrix R_AB, shape [3, 3]."""
        return self._R_AB.copy()

    def row(self, index: int) -> Array:
        """A copy of row `index`, shape [3]: Ax, Ay or Az expressed in B."""
        return self._R_AB[_axis_index(index)].copy()

    def col(self, index: int) -> Array:
        """A copy of column `index`, shape [3]: Bx, By or Bz expressed in A."""
        return self._R_AB[:, _axis_index(index)].copy()

    @overload
    def multiply(self, other: RotationMatrix) -> RotationMatrix: ...
    @overload
    def multiply(self, other: ArrayLike) -> Array: ...
    @overload
    def multiply(self, *, v_B: ArrayLike) -> Array: ...
    def multiply(self, other: Any = None, *, v_B: Any = None) -> Any:
        """Composes orientations, or re-expresses vectors.

        Args:
            other: a rotation matrix R_BC, or one or n vectors expressed in B, shape [3] or [3, n].
            v_B: the same vectors by name.

        Returns:
            R_AC = R_AB R_BC, or the vectors expressed in A, of the shape they came in.
        """
        return self @ (v_B if other is None else other)

    @overload
    def __matmul__(self, other: RotationMatrix) -> RotationMatrix: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, RotationMatrix):
            return RotationMatrix._from_array(self._R_AB.dot(other._R_AB))
        v_B = np.asarray(other)
        if v_B.ndim not in (1, 2) or v_B.shape[0] != 3:
            raise TypeError(
                f"RotationMatrix.multiply: expected a RotationMatrix or vectors of shape (3,) or (3, n), one "
                f"a column, got {type(other).__name__} of shape {v_B.shape}."
            )
        return self._R_AB.dot(v_B)

    def inverse(self) -> RotationMatrix:
        """R_BA, the transpose."""
        return RotationMatrix._from_array(self._R_AB.T.copy())

    transpose = inverse

    def InvertAndCompose(self, other: RotationMatrix) -> RotationMatrix:
        """R_BC = R_AB⁻¹ R_AC, where `other` is R_AC."""
        expect_instance(other, RotationMatrix, "RotationMatrix.InvertAndCompose")
        return RotationMatrix._from_array(self._R_AB.T.dot(other._R_AB))

    def IsValid(self) -> bool:
        """Whether this is orthonormal to 128 epsilon and right-handed; of complex entries, the real parts."""
        R = self._R_AB
        if has_symbols(R):
            determinant: Any = np.cross(R[:, 0], R[:, 1]).dot(R[:, 2])
            deviation = largest_difference(R.dot(R.T), np.eye(3))
            return all_hold([determinant > 0.0, deviation <= ORTHONORMALITY_TOLERANCE])
        return not rotation_defect(real_part(R, "IsValid"))

    # Of expressions, the comparisons below are formulas.

    def IsExactlyEqualTo(self, other: RotationMatrix) -> bool:
        """Whether every element equals that of `other`."""
        expect_instance(other, RotationMatrix, "RotationMatrix.IsExactlyEqualTo")
        return all_equal(self._R_AB, other._R_AB)

    def IsNearlyEqualTo(self, other: RotationMatrix, tolerance: float) -> bool:
        """Whether no element differs from that of `other` by more than `tolerance`."""
        expect_instance(other, RotationMatrix, "RotationMatrix.IsNearlyEqualTo")
        return largest_difference(self._R_AB, other._R_AB) <= tolerance

    def IsExactlyIdentity(self) -> bool:
        """Whether every element equals that of the identity."""
        return all_equal(self._R_AB, np.eye(3))

    def IsNearlyIdentity(self, tolerance: float = ORTHONORMALITY_TOLERANCE) -> bool:
        """Whether no element differs from that of the identity by more than `tolerance`."""
        return largest_difference(self._R_AB, np.eye(3)) <= tolerance

    def ToQuaternion(self) -> Quaternion:
        """The unit quaternion of this orientation that has w >= 0."""
        return Quaternion._from_array(quaternion_from_matrix(self._R_AB))

    def ToAngleAxis(self) -> AngleAxis:
        """The angle in [0, π] and the axis, of floats or AutoDiffXd; about x when nothing turns.

        Where nothing turns, angle and axis have no derivatives; those returned are zero. 2 ToQuaternion().xyz() has
        some, which are those of angle times axis.
        """
        return AngleAxis(self.ToQuaternion())

    def ToRollPitchYaw(self) -> RollPitchYaw:
        """Roll in [-π, π], pitch in [-π/2, π/2], yaw in [-π, π] of this orientation, for float entries."""
        from merganser.framework.math.rotations.roll_pitch_yaw import RollPitchYaw  # imports this module

        return RollPitchYaw(self)

    def _rotation_array(self) -> Array:
        return self._R_AB

    cast = ScalarMethod(ArrayValue._cast)

    def __repr__(self) -> str:
        rows = "".join(f"  {row!r},\n" for row in self._R_AB.tolist())
        return f"{class_name('RotationMatrix', self._R_AB)}([\n{rows}])"


def _length(v: Array, what: str) -> Any:
    """The length of a vector of floats, or of AutoDiffXd."""
    if v.dtype.kind == "f":
        return math.hypot(*v.tolist())
    refuse_complex(v, what)
    real_part(v, what)
    return sqrt(v.dot(v))


def rotation_array(orientation: Any) -> Array:
    """R_AB, shape [3, 3], of an orientation in any representation; a float matrix is checked, as in RotationMatrix.

    Args:
        orientation: RotationMatrix, Quaternion, AngleAxis, RollPitchYaw, or a matrix of shape [3, 3].
    """
    if hasattr(orientation, "_rotation_array"):
        return orientation._rotation_array()
    R = _matrix3(orientation)
    if R.dtype.kind == "f":
        defect = rotation_defect(R)
        if defect:
            message = (
                f"RotationMatrix: the matrix\n{R}\nis not a rotation matrix: {defect}. If it is nearly one, use "
                "RotationMatrix.ProjectToRotationMatrix(R)."
            )
            if rotation_defect(R, _FAR_FROM_ORTHONORMAL):
                raise RuntimeError(message)
            warnings.warn(message, RuntimeWarning, stacklevel=3)
    return R


def _matrix3(value: Any) -> Array:
    R = owned_array(value, "RotationMatrix: R")
    if R.shape != (3, 3):
        raise ValueError(
            f"RotationMatrix: R: expected a matrix of shape (3, 3), got an array of shape {R.shape}. For "
            f"other representations pass a Quaternion, AngleAxis or RollPitchYaw."
        )
    return R


def _sin_cos(theta: Any) -> tuple[Any, Any]:
    if isinstance(theta, (float, int)) and not math.isfinite(theta):
        raise ValueError(f"RotationMatrix: theta: expected a finite angle [rad], got {theta!r}.")
    return sin(theta), cos(theta)


def _axis_index(index: int) -> int:
    if index not in (0, 1, 2):
        raise ValueError(f"RotationMatrix: index: expected 0, 1 or 2, got {index!r}.")
    return index
