"""Three-vector helpers for float, complex and object (automatic derivative, symbolic) entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["as_vector", "cross", "skew"]

Array = npt.NDArray[Any]


def as_vector(values: npt.ArrayLike, size: int, what: str) -> Array:
    """Returns `values` as a new one-dimensional array of `size` entries, whole numbers turned into floats.

    Args:
        values: any array-like of `size` entries; a column or row shape is accepted.
        size: number of entries expected.
        what: how error messages call the argument.

    Raises:
        ValueError: if the number of entries is not `size`.
        TypeError: if the entries are not numbers (nor scalar objects such as derivatives or expressions).
    """
    array = np.array(values)
    if array.dtype.kind in "USV":
        raise TypeError(f"{what} must hold {size} numbers, but holds {array.dtype.name} entries: {values!r}.")
    if array.size != size:
        raise ValueError(f"{what} must have {size} entries, but has shape {array.shape}.")
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    return array.reshape(size)


def cross(a: Array, b: Array) -> Array:
    """Cross product a x b of two three-vectors."""
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
    )


def skew(a: Array) -> Array:
    """Matrix [a]x with [a]x b = a x b."""
    zero = 0.0 * a[0]
    return np.array([[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]])
