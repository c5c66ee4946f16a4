"""Vectors of three entries, float, complex or object (automatic derivatives, symbols); and spatial vectors.

A spatial vector has six coefficients, [rotational; translational], expressed in one frame E.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any, ClassVar, Self, overload

import numpy as np
import numpy.typing as npt

from merganser.framework.core.scalars.scalars import cast_array, class_name, scalar_of_array
from merganser.framework.math import RotationMatrix
from merganser.framework.math._scalars import expect_instance

Array = npt.NDArray[Any]


def is_scalar(value: object) -> bool:
    """Whether `value` is a number, a 0-dimensional array or a scalar object (AutoDiffXd, Expression, Variable)."""
    if isinstance(value, numbers.Number):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "biufcO"
    # Inertias and spatial vectors have sums and products too, but no powers.
    return hasattr(value, "__pow__") and hasattr(value, "__truediv__")


def as_scalar(value: Any, what: str) -> Any:
    """Returns `value` as a float, a complex number or a scalar object.

    Args:
        value: a number, a 0-dimensional array or a scalar object.
        what: how the error message calls the argument.

    Raises:
        TypeError: if `value` is none of these.
    """
    if type(value) is float:
        return value
    if not is_scalar(value):
        raise TypeError(f"{what} must be a number, but is {type(value).__name__} {value!r}.")
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    return float(value) if isinstance(value, int) else value


def as_vector(values: npt.ArrayLike, size: int, what: str) -> Array:
    """Returns `values` as a new one-dimensional array of `size` entries, whole numbers turned into floats.

    Args:
        values: any array-like of `size` entries; a column is accepted, and for size 1 a number.
        size: number of entries expected.
        what: how error messages call the argument.

    Raises:
        ValueError: if the shape is neither [size] nor [size, 1].
        TypeError: if the entries are not numbers (nor scalar objects such as derivatives or expressions).
    """
    array = np.array(values)
    kind = array.dtype.kind
    if kind not in "fc" and not _holds_numbers(array):
        raise TypeError(f"{what} must hold {size} numbers, but is {values!r}.")
    if array.shape != (size,):
        if array.shape != (size, 1) and not size == array.size == 1:
            raise ValueError(f"{what} must have {size} entries, but has shape {array.shape}.")
        array = array.reshape(size)
    return array.astype(np.float64) if kind in "biu" else array


def _holds_numbers(array: Array) -> bool:
    if array.dtype.kind == "O":
        return all(is_scalar(entry) for entry in array.flat)
    return array.dtype.kind in "biu"


def cross(a: Array, b: Array) -> Array:
    """Cross product a x b of two three-vectors."""
    # Python numbers: half the time of indexing into arrays.
    a0, a1, a2 = a.tolist()
    b0, b1, b2 = b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def dot(a: Array, b: Array) -> Any:
    """Scalar product of two vectors, as a Python number or scalar object."""
    product = a.dot(b)
    return product.item() if isinstance(product, np.generic) else product


def skew(a: Array) -> Array:
    """Matrix [a]x with [a]x b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


class SpatialVector:
    """Abstract base of SpatialVelocity, SpatialAcceleration, SpatialForce and SpatialMomentum.

    The coefficients may be floats, complex numbers or objects (automatic derivatives, expressions). Frames
    and points are not stored: the name of the variable keeps track of them (`V_WB_E`).

    Args:
        args: nothing (all six coefficients become NaN), one six-vector, or the rotational and the
            translational three-vector, which may also be given by keyword under the names that the subclass
            documents.

    Raises:
        ValueError: if a vector has the wrong shape.
        TypeError: if the arguments fit none of the three forms, or an entry is not a number.
    """

    # Public keywords of the constructor: of the rotational part, the translational part, and both together.
    _keywords: ClassVar[tuple[str, str, str]]

    def __init__(self, *args: npt.ArrayLike, **kwargs: npt.ArrayLike) -> None:
        rotational, translational, both = self._keywords
        vectors = list(args)
        names = (both,) if both in kwargs else (rotational, translational)[len(args) :]
        vectors += [kwargs.pop(name) for name in names if name in kwargs]
        kind = type(self).__name__
        if kwargs or len(vectors) > 2 or (len(vectors) == 1 and len(names) == 2):
            raise TypeError(
                f"{kind}() takes no argument, ({both}) or ({rotational}, {translational}); "
                f"got {len(args)} positional arguments and unknown or incomplete keywords {sorted(kwargs)}."
            )
        if not vectors:
            self._coeffs = np.full(6, np.nan)
        elif len(vectors) == 1:
            self._coeffs = as_vector(vectors[0], 6, f"{kind}: {both}")
        else:
            self._coeffs = np.concatenate(
                [
                    as_vector(vectors[0], 3, f"{kind}: {rotational}"),
                    as_vector(vectors[1], 3, f"{kind}: {translational}"),
                ]
            )

    @classmethod
    def _from_coeffs(cls, coeffs: Array) -> Self:
        """Wraps an array of shape [6] without check or copy; the caller must not write it later."""
        vector = cls.__new__(cls)
        vector._coeffs = coeffs
        return vector

    @classmethod
    def _from_parts(cls, rotational: Array, translational: Array) -> Self:
        """Trusted: joins two arrays of shape [3]."""
        return cls._from_coeffs(np.concatenate((rotational, translational)))

    @classmethod
    def Zero(cls) -> Self:
        """Returns the spatial vector whose two parts are zero."""
        return cls._from_coeffs(np.zeros(6))

    def rotational(self) -> Array:
        """Returns a copy of the rotational part, shape [3]."""
        return self._coeffs[:3].copy()

    def translational(self) -> Array:
        """Returns a copy of the translational part, shape [3]."""
        return self._coeffs[3:].copy()

    def get_coeffs(self) -> Array:
        """Returns a copy of the coefficients, rotational part first, shape [6]."""
        return self._coeffs.copy()

    def SetZero(self) -> Self:
        """Makes all coefficients zero, and returns this vector."""
        self._coeffs = np.zeros(6)
        return self

    def Rotate(self, R_FE: RotationMatrix) -> Self:
        """Returns this vector, expressed in E, expressed in F.

        Raises:
            TypeError: if `R_FE` is not a RotationMatrix.
        """
        expect_instance(R_FE, RotationMatrix, f"{type(self).__name__}.Rotate: R_FE")
        return self._from_coeffs((self._coeffs.reshape(2, 3) @ R_FE.matrix().T).reshape(6))

    def _same_kind(self, other: object) -> bool:
        return type(other) is type(self)

    def __add__(self, other: Self) -> Self:
        return self._from_coeffs(self._coeffs + other._coeffs) if self._same_kind(other) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        return self._from_coeffs(self._coeffs - other._coeffs) if self._same_kind(other) else NotImplemented

    def __iadd__(self, other: Self) -> Self:
        if not self._same_kind(other):
            return NotImplemented
        self._coeffs = self._coeffs + other._coeffs
        return self

    def __isub__(self, other: Self) -> Self:
        if not self._same_kind(other):
            return NotImplemented
        self._coeffs = self._coeffs - other._coeffs
        return self

    def __mul__(self, scale: Any) -> Self:
        return self._from_coeffs(self._coeffs * scale) if is_scalar(scale) else NotImplemented

    __rmul__ = __mul__

    def __imul__(self, scale: Any) -> Self:
        if not is_scalar(scale):
            return NotImplemented
        self._coeffs = self._coeffs * scale
        return self

    def __neg__(self) -> Self:
        return self._from_coeffs(-self._coeffs)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{type(self).__name__} is not a sequence: use get_coeffs().")

    # Numpy leaves `number * vector` to __rmul__, which refuses arrays of numbers.
    __array_ufunc__ = None

    def __copy__(self) -> Self:
        return self._from_coeffs(self._coeffs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._from_coeffs(self._coeffs)

    def __repr__(self) -> str:
        rotational, translational, _ = self._keywords
        return (
            f"{class_name(type(self).__name__, self._coeffs)}(\n"
            f"  {rotational}={self._coeffs[:3].tolist()},\n"
            f"  {translational}={self._coeffs[3:].tolist()},\n)"
        )

    def _scalar_type(self) -> Any:
        return scalar_of_array(self._coeffs)

    def _cast(self, T: Any) -> Self:
        return self._from_coeffs(cast_array(self._coeffs, T))


class _MomentVector(SpatialVector):
    """Abstract: a vector and its moment about a point, dual to a spatial velocity."""

    def Shift(self, offset: npt.ArrayLike) -> Self:
        """Returns this vector about the point Q instead of P: the moment changes by -p_PQ x (lower half).

        Args:
            offset: p_PQ_E, from the present point P to the new point Q [m], shape [3].
        """
        p_PQ_E = as_vector(offset, 3, "offset")
        moment_P, vector = self._coeffs[:3], self._coeffs[3:]
        return self._from_parts(moment_P - cross(p_PQ_E, vector), vector)

    def dot(self, velocity: SpatialVelocity) -> Any:
        """Returns the scalar product with V_MBp_E, the velocity of the frame at the same point.

        Args:
            velocity: V_MBp_E, expressed in the frame of this vector.

        Raises:
            TypeError: if `velocity` is not a SpatialVelocity.
        """

        if not isinstance(velocity, SpatialVelocity):
            kind, other = type(self).__name__, type(velocity).__name__
            raise TypeError(f"{kind}.dot() takes a SpatialVelocity, not a {other}.")
        return dot(self._coeffs, velocity._coeffs)

    def __matmul__(self, velocity: SpatialVelocity) -> Any:
        return self.dot(velocity)


class SpatialForce(_MomentVector):
    """F_Bp_E: torque tau_Bp_E [N m] about the point Bp over the force f_Bp_E [N]; `dot` gives its power [W].

    Args:
        tau: rotational part, shape [3].
        f: translational part, shape [3].
        F: both together, shape [6], instead of `tau` and `f`.
    """

    _keywords = ("tau", "f", "F")


class SpatialMomentum(_MomentVector):
    """L_MSP_E: angular momentum h_MSP_E [N m s] about P over the linear momentum l_MS_E [N s].

    `dot` with the velocity of the body's frame at P gives twice the kinetic energy in M [J].

    Args:
        h: rotational part, shape [3].
        l: translational part, shape [3].
        L: both together, shape [6], instead of `h` and `l`.
    """

    _keywords = ("h", "l", "L")


class SpatialVelocity(SpatialVector):
    """V_MB_E: angular velocity w_MB_E [rad/s] over the velocity v_MBo_E of the origin [m/s].

    Args:
        w: rotational part, shape [3].
        v: translational part, shape [3].
        V: both together, shape [6], instead of `w` and `v`.
    """

    _keywords = ("w", "v", "V")

    def Shift(self, offset: npt.ArrayLike) -> SpatialVelocity:
        """Returns V_MC_E of a frame C fixed to B: v_MCo = v_MBo + w_MB x p_BoCo.

        Args:
            offset: p_BoCo_E, from Bo to Co [m], shape [3].
        """
        p_BoCo_E = as_vector(offset, 3, "offset")
        w_MB_E, v_MBo_E = self._coeffs[:3], self._coeffs[3:]
        return SpatialVelocity._from_parts(w_MB_E, v_MBo_E + cross(w_MB_E, p_BoCo_E))

    def ComposeWithMovingFrameVelocity(
        self, position_of_moving_frame: npt.ArrayLike, velocity_of_moving_frame: SpatialVelocity
    ) -> SpatialVelocity:
        """Returns V_MC_E of a frame C that moves in B: this velocity shifted to Co, plus V_BC_E.

        Args:
            position_of_moving_frame: p_BoCo_E [m], shape [3].
            velocity_of_moving_frame: V_BC_E.

        Raises:
            TypeError: if `velocity_of_moving_frame` is not a SpatialVelocity.
        """
        where = "SpatialVelocity.ComposeWithMovingFrameVelocity"
        expect_instance(velocity_of_moving_frame, SpatialVelocity, f"{where}: velocity_of_moving_frame")
        return self.Shift(position_of_moving_frame) + velocity_of_moving_frame

    @overload
    def dot(self, force: SpatialForce) -> Any: ...
    @overload
    def dot(self, force: SpatialMomentum) -> Any: ...
    @overload
    def dot(self, *, momentum: SpatialMomentum) -> Any: ...
    def dot(
        self, force: SpatialForce | SpatialMomentum | None = None, *, momentum: SpatialMomentum | None = None
    ) -> Any:
        """Returns the power of a force [W], or twice the kinetic energy of a momentum [J].

        Args:
            force: F_Bo_E or L_MBo_E, about the origin Bo and expressed in the frame of this velocity.
            momentum: L_MBo_E by name, instead of `force`.

        Raises:
            TypeError: unless exactly one SpatialForce or SpatialMomentum is given.
        """
        other = momentum if force is None else force
        if not isinstance(other, (SpatialForce, SpatialMomentum)) or (force is not None and momentum is not None):
            raise TypeError(
                "SpatialVelocity.dot() takes one SpatialForce or one SpatialMomentum, not a "
                f"{type(other).__name__}{'' if momentum is None else ' together with a momentum'}."
            )
        return dot(self._coeffs, other._coeffs)

    def __matmul__(self, other: SpatialForce | SpatialMomentum) -> Any:
        return self.dot(other)


class SpatialAcceleration(SpatialVector):
    """A_MB_E: angular acceleration alpha_MB_E [rad/s^2] over the acceleration a_MBo_E of the origin [m/s^2].

    It is the derivative in M of V_MB, so a_MBo is the second derivative of the position of Bo in M.
    (Featherstone's spatial acceleration has a_MBo - w_MB x v_MBo in that place.)

    Args:
        alpha: rotational part, shape [3].
        a: translational part, shape [3].
        A: both together, shape [6], instead of `alpha` and `a`.
    """

    _keywords = ("alpha", "a", "A")

    def Shift(self, offset: npt.ArrayLike, angular_velocity_of_this_frame: npt.ArrayLike) -> SpatialAcceleration:
        """Returns A_MC_E of a frame C fixed to B: a_MCo = a_MBo + alpha x p + w x (w x p), with p = p_BoCo.

        Args:
            offset: p_BoCo_E, from Bo to Co [m], shape [3].
            angular_velocity_of_this_frame: w_MB_E [rad/s], shape [3].
        """
        p_BoCo_E = as_vector(offset, 3, "offset")
        w_MB_E = as_vector(angular_velocity_of_this_frame, 3, "angular_velocity_of_this_frame")
        alpha_MB_E, a_MBo_E = self._coeffs[:3], self._coeffs[3:]
        a_MCo_E = a_MBo_E + cross(alpha_MB_E, p_BoCo_E) + cross(w_MB_E, cross(w_MB_E, p_BoCo_E))
        return SpatialAcceleration._from_parts(alpha_MB_E, a_MCo_E)

    def ShiftWithZeroAngularVelocity(self, offset: npt.ArrayLike) -> SpatialAcceleration:
        """Returns A_MC_E of a frame C fixed to B when w_MB is zero: Shift without its centripetal term.

        Args:
            offset: p_BoCo_E, from Bo to Co [m], shape [3].
        """
        p_BoCo_E = as_vector(offset, 3, "offset")
        alpha_MB_E, a_MBo_E = self._coeffs[:3], self._coeffs[3:]
        return SpatialAcceleration._from_parts(alpha_MB_E, a_MBo_E + cross(alpha_MB_E, p_BoCo_E))

    def ComposeWithMovingFrameAcceleration(
        self,
        position_of_moving_frame: npt.ArrayLike,
        angular_velocity_of_this_frame: npt.ArrayLike,
        velocity_of_moving_frame: SpatialVelocity,
        acceleration_of_moving_frame: SpatialAcceleration,
    ) -> SpatialAcceleration:
        """Returns A_MC_E of a frame C that moves in B.

            alpha_MC = alpha_MB + alpha_BC + w_MB x w_BC
            a_MCo = a_MBo + alpha_MB x p + w_MB x (w_MB x p) + 2 w_MB x v_BCo + a_BCo,   p = p_BoCo

        Args:
            position_of_moving_frame: p_BoCo_E [m], shape [3].
            angular_velocity_of_this_frame: w_MB_E [rad/s], shape [3].
            velocity_of_moving_frame: V_BC_E.
            acceleration_of_moving_frame: A_BC_E.

        Raises:
            TypeError: if the velocity or acceleration of the moving frame is not a spatial one.
        """
        where = "SpatialAcceleration.ComposeWithMovingFrameAcceleration"
        expect_instance(velocity_of_moving_frame, SpatialVelocity, f"{where}: velocity_of_moving_frame")
        expect_instance(acceleration_of_moving_frame, SpatialAcceleration, f"{where}: acceleration_of_moving_frame")
        w_MB_E = as_vector(angular_velocity_of_this_frame, 3, "angular_velocity_of_this_frame")
        w_BC_E, v_BCo_E = velocity_of_moving_frame._coeffs[:3], velocity_of_moving_frame._coeffs[3:]
        coriolis = SpatialAcceleration._from_parts(cross(w_MB_E, w_BC_E), 2.0 * cross(w_MB_E, v_BCo_E))
        return self.Shift(position_of_moving_frame, w_MB_E) + coriolis + acceleration_of_moving_frame
