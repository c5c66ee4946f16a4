"""Checks of the numbers that blocks are made from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.values.arguments import checked_size

__all__ = [
    "checked_matrix",
    "checked_numbers",
    "checked_period",
    "checked_positive_period",
    "checked_size",
    "checked_vector",
    "vectors_of_one_size",
]

Array = NDArray[Any]


def checked_numbers(value: ArrayLike, what: str) -> Array:
    """A copy of `value` as an array of floats, of complex numbers or of other scalars.

    Raises:
        TypeError: `value` does not consist of numbers.
        ValueError: an element is not a number.
    """
    array = np.array(value)
    if array.dtype.kind in "biuf":
        array = array.astype(np.float64)
    elif array.dtype.kind not in "cO":
        raise TypeError(f"{what}: expected numbers, got {value!r}.")
    if array.dtype.kind != "O" and np.isnan(array).any():
        raise ValueError(f"{what}: an element is not a number: {array.tolist()}.")
    return array


def checked_vector(value: ArrayLike, what: str) -> Array:
    """A copy of `value` as a vector; rows and columns are accepted, and a number counts as one element.

    Raises:
        TypeError: `value` does not consist of numbers.
        ValueError: `value` is a matrix, or has an element that is not a number.
    """
    array = np.atleast_1d(checked_numbers(value, what))
    if array.ndim > 2 or (array.ndim == 2 and 1 not in array.shape):
        raise ValueError(f"{what}: expected a vector, got an array of shape {array.shape}.")
    return array.reshape(-1)


def checked_matrix(value: ArrayLike, rows: int, columns: int, what: str) -> Array:
    """A copy of `value` as a matrix of shape [rows, columns]; a vector is taken as a column, an empty one as zeros.

    Raises:
        TypeError: `value` does not consist of numbers.
        ValueError: wrong shape, or an element is not a number.
    """
    array = checked_numbers(value, what)
    if array.size == 0:
        return np.zeros((rows, columns))
    if array.ndim == 0:
        raise ValueError(f"{what}: expected a matrix, got the number {value!r}; write [[{value!r}]].")
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.shape != (rows, columns):
        raise ValueError(f"{what}: expected shape ({rows}, {columns}), got {array.shape}.")
    return array


def checked_period(value: float, what: str) -> float:
    """A time span [s] that is zero or positive, and finite.

    Raises:
        ValueError: it is not.
    """
    if not 0.0 <= value < np.inf:
        raise ValueError(f"{what}: expected a finite time of at least 0 s, got {value}.")
    return float(value)


def checked_positive_period(value: float, what: str) -> float:
    """A time span [s] that is positive and finite.

    Raises:
        ValueError: it is not.
    """
    if not 0.0 < value < np.inf:
        raise ValueError(f"{what}: expected a finite, positive time, got {value} s.")
    return float(value)


def vectors_of_one_size(block: str, **arguments: ArrayLike) -> list[Array]:
    """The arguments as vectors of one size; single numbers are repeated.

    Raises:
        ValueError: the sizes differ.
    """
    vectors = [checked_vector(value, f"{block}: {name}") for name, value in arguments.items()]
    size = max(vector.size for vector in vectors)
    for name, vector in zip(arguments, vectors):
        if vector.size not in (1, size):
            raise ValueError(f"{block}: {name} has {vector.size} elements, expected {size} or one.")
    return [np.broadcast_to(vector, size).copy() for vector in vectors]
