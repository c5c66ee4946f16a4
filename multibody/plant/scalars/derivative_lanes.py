"""Arrays of AutoDiffXd as arrays of complex numbers with one lane a derivative, and back.

Lane k of a value x with the derivatives x_1 ... x_n is x + i h x_k, with h = 1e-170: so small that h^2 is zero, so
that real parts are those of a computation with floats, but far from underflow. No digit of a derivative is lost.
W. Squire and G. Trapp, Using Complex Variables to Estimate Derivatives of Real Functions (1998).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.autodiff.blocks import make_block, pack, values_and_gradient

__all__ = [
    "STEP",
    "LaneRecords",
    "Lanes",
    "lanes_of_numbers",
    "merge_lanes",
    "merge_numbers",
    "split_lanes",
    "split_numbers",
]

Array = NDArray[Any]
STEP = 1e-170


class Lanes:
    """Complex numbers, shape [max(num_derivatives, 1), ...], and how many derivatives they carry."""

    __slots__ = ("lanes", "num_derivatives")

    def __init__(self, lanes: Array, num_derivatives: int) -> None:
        self.lanes = lanes
        self.num_derivatives = num_derivatives


def split_numbers(array: Array) -> tuple[Array, Array | None]:
    """The values of an array, and the derivatives of its elements as rows; None if none has derivatives.

    Args:
        array: of AutoDiffXd, or of numbers, with k elements.

    Returns:
        Values, of the shape of the array, and derivatives, shape [k, num_derivatives]; not to be written.

    Raises:
        ValueError: two elements have different numbers of derivatives, and both some.
        TypeError: an element is no number.
    """
    if array.dtype != object:
        return array, None
    items = array.ravel().tolist()
    if items and not _has_derivatives(items[0]) and all(map(operator.is_, items, itertools.repeat(items[0]))):
        same = np.empty(array.shape)  # zeros, most of the time
        same.fill(items[0].real)
        return same, None
    values, derivatives = values_and_gradient(items)
    return values if array.ndim == 1 else values.reshape(array.shape), derivatives


def split_lanes(array: Array) -> Lanes:
    """An array of AutoDiffXd, or of numbers, as lanes; integers stay integers. Errors as `split_numbers`."""
    if array.dtype.kind == "i":
        return Lanes(np.ascontiguousarray(array)[np.newaxis], 0)
    return lanes_of_numbers(*split_numbers(array))


def lanes_of_numbers(values: Array, derivatives: Array | None) -> Lanes:
    """Lanes from values, shape [...], and the derivatives of their elements as rows; None stands for none."""
    if derivatives is None:
        return Lanes(values.astype(np.complex128)[np.newaxis], 0)
    lanes = np.empty((derivatives.shape[1], values.size), np.complex128)
    lanes.real[:] = values.ravel()
    np.multiply(derivatives.T, STEP, out=lanes.imag)
    return Lanes(lanes.reshape(-1, *values.shape), len(lanes))


def _has_derivatives(x: Any) -> bool:
    return type(x) is AutoDiffXd and len(x._derivatives) > 0


def merge_numbers(values: Array, derivatives: Array | None) -> Array:
    """The array of AutoDiffXd of which these are the values, and the derivatives as rows; None stands for none.

    Args:
        values: floats; they are not written any more, nor are the derivatives.
        derivatives: shape [number of values, num_derivatives].
    """
    return pack(make_block(values.ravel(), derivatives), values.shape)


def merge_lanes(lanes: Array, num_derivatives: int) -> Array:
    """The array of AutoDiffXd, shape [...], whose lanes have the shape [num_lanes, ...]."""
    if not num_derivatives:
        return merge_numbers(lanes[0].real.copy(), None)
    derivatives = np.multiply(lanes.reshape(num_derivatives, -1).imag.T, 1.0 / STEP, order="C")
    return merge_numbers(lanes[0].real.copy(), derivatives)


class LaneRecords(Lanes):
    """Records of complex numbers in lanes, or numbers, which read as those of AutoDiffXd; kernels write them.

    Attributes:
        lanes: shape [max(num_derivatives, 1), num_records, ...], or [max(num_derivatives, 1)] of a single record.
        pending: what is to be done before they are read, and sets this to None; None if they are up to date.
    """

    __slots__ = ("pending",)

    def __init__(self, lanes: Array, num_derivatives: int) -> None:
        super().__init__(lanes, num_derivatives)
        self.pending: Callable[[], None] | None = None

    def resize(self, num_derivatives: int) -> Array:
        """Makes room for another number of derivatives; returns the lanes, whose content is to be written."""
        self.num_derivatives = num_derivatives
        count = max(num_derivatives, 1)
        if len(self.lanes) != count:
            self.lanes = np.zeros((count, *self.lanes.shape[1:]), self.lanes.dtype)
        return self.lanes

    def update(self) -> None:
        """Brings the records up to date."""
        if self.pending is not None:
            self.pending()

    def merged(self) -> Array:
        """Numbers in lanes as an array of AutoDiffXd."""
        self.update()
        return merge_lanes(self.lanes, self.num_derivatives)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.merged()

    def __len__(self) -> int:
        self.update()
        return self.lanes.shape[1]

    def __reduce__(self) -> tuple[Any, ...]:
        self.update()
        return LaneRecords, (self.lanes, self.num_derivatives)

    def __getitem__(self, key: Any) -> Any:
        self.update()
        if not isinstance(key, str):
            return LaneRecords(self.lanes[:, key], self.num_derivatives)
        merged = merge_lanes(self.lanes[key], self.num_derivatives)
        return merged if merged.shape else merged.item()
