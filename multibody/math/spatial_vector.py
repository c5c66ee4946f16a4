"""Base of spatial vectors: six coefficients, [rotational; translational], expressed in one frame E."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from merganser.framework.core.scalars.scalars import cast_array, class_name, scalar_of_array
from merganser.framework.math import RotationMatrix
from merganser.framework.math._scalars import expect_instance
from merganser.multibody.math.vectors import as_vector, is_scalar

Array = npt.NDArray[Any]


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
