"""Scalar types: what the numbers of a System are, and arrays of objects that hold only such numbers.

A System computes with numbers of one scalar type: float, AutoDiffXd or Expression. Contexts of floats keep their
numbers in float64 arrays; others keep them in a `ScalarArray`, whose elements all are of the scalar type, so that a
callback may write plain numbers into it and readers find derivatives, or expressions. The classes AutoDiffXd
and Expression are known here by where they are, so that a program that needs neither imports neither.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Scalar = type[Any]

_MODULES = {
    "AutoDiffXd": "merganser.framework.autodiff.scalar",
    "Expression": "merganser.framework.symbolic.expression",
}
_NUMBER = (float, int, np.floating, np.integer)


def checked_scalar(T: Any, where: str) -> Scalar:
    """The scalar type that `T` stands for; None and numpy.float64 stand for float.

    Raises:
        RuntimeError: it is not a scalar type; the message starts with `where`.
    """
    if T is None or T is float or T is np.float64:
        return float
    if isinstance(T, type) and _MODULES.get(T.__name__) == T.__module__:
        return T
    name = T.__name__ if isinstance(T, type) else repr(T)
    raise RuntimeError(
        f"{where}: {name} is no scalar type of merganser; use float, merganser.framework.autodiff.AutoDiffXd or "
        "merganser.framework.symbolic.Expression."
    )


@functools.cache
def scalar_named(name: str) -> Scalar:
    """The class AutoDiffXd or Expression."""
    return getattr(importlib.import_module(_MODULES[name]), name)


@functools.cache
def supported_scalars() -> tuple[Scalar, ...]:
    """All scalar types."""
    return float, scalar_named("AutoDiffXd"), scalar_named("Expression")


def numeric_scalars() -> tuple[Scalar, ...]:
    """The scalar types that have values: all but Expression."""
    return float, scalar_named("AutoDiffXd")


def dtype_of(T: Scalar) -> np.dtype[Any]:
    """What arrays of scalars of this type are made of."""
    return np.dtype(np.float64 if T is float else object)


# ---------------------------------------------------------------------- from one type to another


def cast(x: Any, T: Scalar) -> Any:
    """The scalar `x` as one of another type: of an AutoDiffXd only the value is kept.

    Raises:
        RuntimeError: `x` is an expression of variables, which has no value.
        TypeError: `x` is no scalar.
    """
    if isinstance(x, T):
        return x
    if isinstance(x, _NUMBER):
        return T(x)
    if hasattr(x, "derivatives"):
        return T(x.value())
    if hasattr(x, "lift"):
        return T(x) if hasattr(T, "EvaluatePartial") else T(x.lift(x).Evaluate())
    raise TypeError(f"{x!r} is no scalar.")


def cast_array(values: ArrayLike, T: Scalar) -> Array:
    """A copy of an array with all elements cast to T: a float64 array, or a ScalarArray.

    Raises:
        RuntimeError: an element is an expression of variables, which has no value.
        TypeError: an element is no scalar.
    """
    array = np.asarray(values)
    if T is float:
        if array.dtype != object:
            return array.astype(np.float64)
        return np.array([cast(x, float) for x in array.ravel().tolist()], dtype=np.float64).reshape(array.shape)
    if array.dtype == np.float64 and array.ndim:
        return _restored(_lifted(array, T), T)
    return _restored(_objects([cast(x, T) for x in array.ravel().tolist()], array.shape), T)


def scalar_of_array(values: Array) -> Scalar:
    """The scalar type of the elements of an array; float if it is empty."""
    if values.dtype != object:
        return float
    known = getattr(values, "scalar", None)
    if known is not None:
        return known
    for x in values.flat:
        name = type(x).__name__
        if _MODULES.get(name) == type(x).__module__:
            return type(x)
    return float


def class_name(name: str, values: Array) -> str:
    """The name of a class with the type of scalars, unless that is float: 'BasicVector_[AutoDiffXd]'."""
    T = scalar_of_array(values)
    return name if T is float else f"{name}_[{T.__name__}]"


def number_text(x: Any) -> str:
    """A number as short as possible: 1, 0.5, 1e-09; a scalar with derivatives by six digits of its value."""
    if isinstance(x, float):
        return repr(x).removesuffix(".0")
    return f"{x.value():.6g}" if hasattr(x, "derivatives") else str(x)


def has_nan(values: Array) -> bool:
    """Whether an element is not a number; expressions always are."""
    if values.dtype != object:
        return bool(np.isnan(values).any())
    return any(x.isnan() for x in values.tolist() if hasattr(x, "derivatives"))


# ---------------------------------------------------------------------- arrays


class ScalarArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of objects of one scalar type; what is put in becomes one of that type.

    Slices are such arrays too, and share memory; what numpy computes from them are plain arrays of objects.

    Attributes:
        scalar: AutoDiffXd or Expression.
    """

    scalar: Scalar | None

    @staticmethod
    def of(shape: int | tuple[int, ...], T: Scalar) -> ScalarArray:
        """A new array, filled with zeros."""
        array = np.ndarray.__new__(ScalarArray, shape, dtype=object)
        array.scalar = T
        array.fill(T(0.0))
        return array

    def __array_finalize__(self, obj: Any) -> None:
        self.scalar = getattr(obj, "scalar", None)

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.scalar is not None and self.dtype == object:
            value = _lifted(value, self.scalar)
        super().__setitem__(index, value)

    def fill(self, value: Any) -> None:
        self[...] = value

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if array is self:  # the result of `self += x`
            return self
        return array[()] if return_scalar else np.asarray(array)

    def __reduce__(self) -> Any:
        return _restored, (np.array(self), self.scalar)


def filled(size: int, T: Scalar, value: float = 0.0) -> Array:
    """A new array of `size` scalars of type T, all of the same value."""
    if T is float:
        return np.full(size, value)
    array = ScalarArray.of(size, T)
    array.fill(value)
    return array


def _lifted(value: Any, T: Scalar) -> Any:
    """A scalar or an array of them as scalars of type T, without loss.

    Raises:
        TypeError: a scalar is of another type, and no number.
    """
    if type(value) is T:
        return value
    if isinstance(value, _NUMBER):
        return T(value)
    if isinstance(value, ScalarArray) and value.scalar is T:
        return value
    array = np.asarray(value)
    if array.ndim and array.dtype == np.float64 and hasattr(T, "lift_all"):
        return T.lift_all(array)
    items = array.ravel().tolist()
    if array.dtype == object and set(map(type, items)) == {T}:
        return array
    to_scalar: Callable[[Any], Any] = T
    elements = [x if type(x) is T else to_scalar(x) for x in items]
    return _objects(elements, array.shape) if array.ndim else elements[0]


def _objects(elements: list[Any], shape: tuple[int, ...]) -> Array:
    return np.fromiter(elements, object, len(elements)).reshape(shape)


def _restored(values: Array, T: Scalar | None) -> ScalarArray:
    array = values.view(ScalarArray)
    array.scalar = T
    return array
