"""Three-vector helpers for float, complex and object (automatic derivative, symbolic) entries."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

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
