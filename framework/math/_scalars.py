"""Scalar types and argument checks of the geometry classes, and their base: values that consist of a few arrays.

Numbers come as float64 arrays in the common case, as complex128 arrays when derivatives are taken by the
complex step, and as object arrays when the entries are symbolic expressions (or anything else that adds,
multiplies and has the methods `sin`, `cos` and `sqrt`). Only float64 input is checked for plausibility: the
other two must pass through every formula without a branch on a scalar value.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from merganser.framework.core.scalars.scalars import cast, cast_array, scalar_of_array

Array = npt.NDArray[Any]
_new: Any = object.__new__


def _elementary(name: str) -> Callable[[Any], Any]:
    """The function `name` of a float, a complex number, or an object that has a method of this name."""
    of_float, of_complex, of_other = getattr(math, name), getattr(cmath, name), getattr(np, name)

    def function(x: Any) -> Any:
        if isinstance(x, (float, int)):
            return of_float(x)
        if isinstance(x, complex):
            return of_complex(x)
        method = getattr(x, name, None)
        return of_other(x) if method is None else method()

    return function


sin = _elementary("sin")
cos = _elementary("cos")
sqrt = _elementary("sqrt")


def owned_array(value: Any, what: str) -> Array:
    """A C-ordered copy of `value` with dtype float64, complex128 or object.

    Args:
        value: anything numpy makes an array of.
        what: name of the argument, for the error message.

    Raises:
        TypeError: `value` does not consist of numbers or scalar objects.
        ValueError: `value` is a nested sequence with rows of different lengths.
    """
    try:
        array = np.array(value, order="C")
    except ValueError as error:
        raise ValueError(f"{what}: expected a rectangular array of numbers, got {value!r}.") from error
    kind = array.dtype.kind
    if kind == "f" or kind in "iub":
        return array if array.dtype == np.float64 else array.astype(np.float64)
    if kind == "c":
        return array.astype(np.complex128, copy=False)
    if kind == "O" and array.ndim > 0 and all(_is_scalar(entry) for entry in array.flat):
        return array
    raise TypeError(f"{what}: expected an array of numbers, got {type(value).__name__} {value!r}.")


def _is_scalar(entry: Any) -> bool:
    return hasattr(entry, "__mul__") and hasattr(entry, "__sub__")  # unlike None, strings and containers


def owned_vector(value: Any, size: int, what: str) -> Array:
    """A copy of `value` as an array of shape [size]; a column of shape [size, 1] is accepted too.

    Raises:
        TypeError: `value` is not an array of numbers.
        ValueError: wrong shape, or a NaN or infinity among float entries.
    """
    array = owned_array(value, what)
    if array.shape != (size,):
        if array.shape != (size, 1):
            raise ValueError(f"{what}: expected {size} numbers, got an array of shape {array.shape}.")
        array = array.reshape(size)
    if not is_finite(array):
        raise ValueError(f"{what}: expected finite numbers, got {array.tolist()}.")
    return array


def cast_entries(values: Any, T: Any) -> Array:
    """A C-ordered copy of `values` with all entries cast to the scalar type T; floats or objects."""
    return np.asarray(cast_array(values, T))


def is_finite(array: Array) -> bool:
    """Whether a small float array has no NaN or infinity; always true of complex and object arrays."""
    # The sum of a few numbers is finite if all are; this takes a third of the time of np.isfinite(...).all().
    return array.dtype.kind != "f" or math.isfinite(sum(array.ravel().tolist()))


def real_part(array: Array, what: str) -> Array:
    """The values as a float64 array, on which `what` may branch.

    Raises:
        TypeError: entries are expressions, on whose values nothing may branch.
    """
    if array.dtype.kind != "O":
        return array.real
    values = [_real_part(entry) for entry in array.ravel().tolist()]
    if None in values:
        raise TypeError(f"{what} depends on numerical values, but the scalars here are objects (expressions).")
    return np.array(values, dtype=np.float64).reshape(array.shape)


def _real_part(scalar: Any) -> Any:
    """The value of a number, an AutoDiffXd or a constant expression; None of other expressions."""
    if hasattr(scalar, "GetVariables"):
        return None if scalar.GetVariables() else scalar.Evaluate()
    return getattr(scalar, "real", None)


def refuse_complex(array: Array, what: str) -> None:
    """Raises a TypeError if the entries are complex: `what` would lose their imaginary parts, or branch on them."""
    if array.dtype.kind == "c":
        raise TypeError(f"{what} needs float64 entries, got {array.dtype}.")


def expect_instance(value: Any, cls: type, where: str) -> None:
    """Raises a TypeError that names `where` unless `value` is a `cls`."""
    if not isinstance(value, cls):
        raise TypeError(f"{where}: expected a {cls.__name__}, got {type(value).__name__}.")


class ArrayValue:
    """Abstract: a value that consists of arrays, which are not written once it has them, or of scalars.

    Attributes:
        _PARTS: the names of the attributes that make up the value.
    """

    __slots__ = ()
    _PARTS: tuple[str, ...]

    def _parts(self) -> list[Any]:
        return [getattr(self, name) for name in self._PARTS]

    @classmethod
    def _of_parts(cls, *parts: Any) -> Self:
        self = _new(cls)
        for name, part in zip(cls._PARTS, parts):
            setattr(self, name, part)
        return self

    def __copy__(self) -> Self:
        return self._of_parts(*self._parts())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = _new(type(self))
        for name in self._PARTS:
            part = getattr(self, name)
            setattr(copied, name, part.copy() if type(part) is np.ndarray else part)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return self._of_parts, tuple(self._parts())

    def _scalar_type(self) -> Any:
        types = (scalar_of_array(np.asarray(part)) for part in self._parts())
        return next((T for T in types if T is not float), float)

    def _cast(self, T: Any) -> Any:
        """cast[T](): the same with entries of another scalar type; of AutoDiffXd entries only the values are kept.

        Raises:
            RuntimeError: an entry is an expression of variables, which has no value.
        """
        cast_part = (cast_entries(part, T) if isinstance(part, np.ndarray) else cast(part, T) for part in self._parts())
        return self._of_parts(*cast_part)
