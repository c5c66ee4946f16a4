"""Scalar types of trajectories: floats, AutoDiffXd or Expressions.

Where a trajectory branches on a time, it looks at the plain number behind it.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.core.scalars.scalars import cast, cast_array, scalar_of_array
from merganser.framework.math import elementwise

Array = npt.NDArray[Any]


def plain(x: Any) -> float:
    """The float behind a scalar.

    Raises:
        RuntimeError: `x` is an expression of variables, which has no value.
        TypeError: `x` is not a scalar.
    """
    if type(x) is float:
        return x
    if isinstance(x, np.ndarray) and x.size == 1:
        x = x.item()
    return float(x.real if isinstance(x, complex) else cast(x, float))


def clamped(t: Any, low: Any, high: Any, where: str) -> Any:
    """The scalar t within the limits low and high; beyond them, the limit itself.

    Raises:
        ValueError: t is not a number; the message starts with `where`.
    """
    if type(t) is not float and hasattr(t, "lift") and not hasattr(t, "derivatives"):
        t = t.lift(t)
        if len(t.GetVariables()):
            t = t if np.isneginf(plain(low)) else elementwise.max(low, t)
            return t if np.isposinf(plain(high)) else elementwise.min(high, t)
    value = plain(t)
    if value < plain(low):
        return low
    if value > plain(high):
        return high
    if value != value:
        raise ValueError(f"{where}: the time is not a number.")
    return t


def derivative_order_of(order: Any, where: str) -> int:
    """The order of a derivative.

    Raises:
        ValueError: it is negative; the message starts with `where`.
    """
    if order < 0:
        raise ValueError(f"{where}: derivative_order must be at least 0, got {order}.")
    return int(order)


def as_matrix(value: Any, what: str) -> Array:
    """A copy of `value` as a matrix of floats or objects; a vector counts as a column.

    Raises:
        TypeError: `value` does not consist of numbers or other scalars.
        ValueError: it has more than two dimensions.
    """
    array = np.array(value)
    if array.dtype.kind in "biuf":
        array = array.astype(np.float64)
    elif array.dtype.kind not in "cO" and array.size:
        raise TypeError(f"{what}: expected numbers, got {value!r}.")
    if array.ndim > 2:
        raise ValueError(f"{what}: expected a matrix or a vector, got an array of shape {array.shape}.")
    return array.reshape(-1, 1) if array.ndim < 2 else array


def matrices_of(samples: Any, what: str) -> Array:
    """Samples as one array, shape [number of samples, rows, cols].

    Args:
        samples: a list of matrices; or a matrix (or a list of its rows) whose columns are the samples.
        what: name of the argument, for messages.

    Raises:
        RuntimeError: matrices have different shapes.
        TypeError: `samples` is none of these.
    """
    dimensions = {np.ndim(sample) for sample in samples} if isinstance(samples, (Sequence, np.ndarray)) else {0}
    if dimensions <= {1}:
        return as_matrix(list(samples), what).T[:, :, np.newaxis] if len(samples) else np.zeros((0, 0, 1))
    if dimensions != {2}:
        raise TypeError(f"{what}: expected a list of matrices, or a matrix whose columns are the samples.")
    matrices = [as_matrix(sample, what) for sample in samples]
    if len({matrix.shape for matrix in matrices}) > 1:
        shapes = sorted({matrix.shape for matrix in matrices})
        raise RuntimeError(f"{what}: all samples must have the same shape, got {shapes}.")
    return np.array(matrices)


def cast_list(values: list[Any], T: Any) -> list[Any]:
    """The scalars of a list as scalars of type T."""
    return [cast(value, T) for value in values]


def cast_entries(values: Array, T: Any) -> Array:
    """A copy of an array with all entries cast to T, floats or objects."""
    return np.array(cast_array(values, T))


def scalar_of_list(values: list[Any]) -> Any:
    """The scalar type of the elements of a list; float for an empty list, and for all numbers of Python and numpy."""
    if all(isinstance(value, numbers.Real) for value in values):
        return float
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return scalar_of_array(array)
