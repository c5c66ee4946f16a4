"""Data of evaluators and programs, checked once where they come in."""

from __future__ import annotations

import math
import operator
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Objects = npt.NDArray[Any]
_INDEX = operator.attrgetter("_index")


def vector(values: Any, where: str, name: str, size: int | None = None) -> Array:
    """A new vector of floats, infinite ones among them; a matrix is read column by column.

    Raises:
        ValueError: a value is NaN, or there are not `size` values.
        TypeError: something is not a number.
    """
    result = _numbers(values, where, name)
    if result.ndim != 1:
        result = result.ravel("F")
    if size is not None and result.size != size:
        raise ValueError(f"{where}: expected {size} values in {name}, got {result.size}.")
    if math.isnan(result.dot(result)):  # only if one of them is
        raise ValueError(f"{where}: {name} has NaN at index {int(np.isnan(result).argmax())}.")
    return result


def matrix(values: Any, where: str, name: str, rows: int | None = None, columns: int | None = None) -> Array:
    """A new matrix of finite floats; a vector is one row.

    Raises:
        ValueError: a value is not finite, or the shape is not as expected.
        TypeError: something is not a number.
    """
    result = _numbers(values, where, name)
    if result.ndim < 2:
        result = np.atleast_2d(result)
    if result.ndim != 2 or rows not in (None, result.shape[0]) or columns not in (None, result.shape[1]):
        wanted = ", ".join("any" if size is None else str(size) for size in (rows, columns))
        raise ValueError(f"{where}: expected {name} of shape ({wanted}), got {result.shape}.")
    return finite(result, where, name)


def finite(values: Array, where: str, name: str) -> Array:
    """The values, if all are finite.

    Raises:
        ValueError: one is NaN or infinite.
    """
    flat = values.ravel()
    if math.isfinite(flat.dot(flat)):  # which overflows, at worst, where all are finite
        return values
    if not np.isfinite(values).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(f"{where}: {name}{list(place)} is {values[place]}; expected finite numbers.")
    return values


def scalar(value: Any, where: str, name: str) -> float:
    """A float that is not NaN."""
    return value if type(value) is float and value == value else float(vector([value], where, name, 1)[0])


def is_sparse(values: Any) -> bool:
    """Whether this is a sparse matrix of scipy, without importing scipy."""
    return hasattr(values, "tocsc")


def is_symbolic(value: Any) -> bool:
    """Whether this is a variable or an expression."""
    return hasattr(value, "Differentiate") or hasattr(value, "get_type")


def number_of(value: Any) -> int:
    """The number of a variable, by which it is known; -1 of anything else."""
    return getattr(value, "_index", -1)


def numbers_of(variables: Objects) -> list[int]:
    """The numbers of variables, row by row; -1 of anything else."""
    given = variables.ravel().tolist()
    try:
        return list(map(_INDEX, given))
    except AttributeError:
        return list(map(number_of, given))


def objects(values: Any) -> Objects:
    """A new vector of variables or expressions; a matrix is read column by column."""
    if type(values) is list and not any(map(hasattr, values, repeat("__len__"))):
        return np.fromiter(values, object, len(values))  # np.array asks each variable for an array
    result = np.array(values, dtype=object)
    return result if result.ndim == 1 else result.ravel("F")


def _numbers(values: Any, where: str, name: str) -> Array:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where}: expected numbers in {name}, got {type(values).__name__} ({error}).") from error
