"""Arrays of AutoDiffXd as arrays of complex numbers with one lane a derivative, and back.

Lane k of a value x with the derivatives x_1 ... x_n is x + i h x_k, with h = 1e-100: so small that h^2 vanishes beside
every value, and far from underflow. No digit of a derivative is lost. W. Squire and G. Trapp, Using Complex Variables
to Estimate Derivatives of Real Functions (1998).
"""

from __future__ import annotations

import itertools
import operator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff import AutoDiffXd

__all__ = ["LaneRecords", "Lanes", "merge_lanes", "refuse_counts", "split_lanes"]

Array = NDArray[Any]
_STEP = 1e-100
_NO_DERIVATIVES = np.zeros(0)


class Lanes:
    """Complex numbers, shape [max(num_derivatives, 1), ...], and how many derivatives they carry."""

    __slots__ = ("lanes", "num_derivatives")

    def __init__(self, lanes: Array, num_derivatives: int) -> None:
        self.lanes = lanes
        self.num_derivatives = num_derivatives


def split_lanes(array: Array) -> Lanes:
    """An array of AutoDiffXd, or of numbers, as lanes.

    Args:
        array: of any shape; integers stay integers.

    Raises:
        ValueError: two elements have different numbers of derivatives, and both some.
        TypeError: an element is no number.
    """
    if array.dtype != object:
        kept = array if array.dtype.kind == "i" else array.astype(np.complex128)
        return Lanes(np.ascontiguousarray(kept)[np.newaxis], 0)
    items = array.ravel().tolist()
    if items and all(map(operator.is_, items, itertools.repeat(items[0]))):  # as in arrays of zeros
        return _split_repeated(items[0], array.shape)
    try:
        values, derivatives = [x._value for x in items], [x._derivatives for x in items]
    except AttributeError:  # there are numbers among them
        items = [x if type(x) is AutoDiffXd else AutoDiffXd(x) for x in items]
        values, derivatives = [x._value for x in items], [x._derivatives for x in items]
    sizes = set(map(len, derivatives))
    count = max(sizes, default=0)
    lanes = np.zeros((count or 1, len(items)), np.complex128)
    lanes.real[:] = values
    if count:
        if len(sizes) > 1:
            derivatives = _filled_up(derivatives, sizes, count)
        np.multiply(np.concatenate(derivatives).reshape(-1, count).T, _STEP, out=lanes.imag)
    return Lanes(lanes.reshape(-1, *array.shape), count)


def _split_repeated(x: Any, shape: tuple[int, ...]) -> Lanes:
    """An array all of whose elements are the same object."""
    scalar = x if type(x) is AutoDiffXd else AutoDiffXd(x)
    count = len(scalar._derivatives)
    lanes = np.full((count or 1, *shape), scalar._value, np.complex128)
    for lane, derivative in zip(lanes, scalar._derivatives):
        lane.imag = derivative * _STEP
    return Lanes(lanes, count)


def _filled_up(derivatives: list[Array], sizes: set[int], count: int) -> list[Array]:
    """Zeros in place of no derivatives."""
    if sizes - {0, count}:
        refuse_counts(min(sizes - {0}), count)
    zeros = np.zeros(count)
    return [d if len(d) else zeros for d in derivatives]


def refuse_counts(first: int, second: int) -> NoReturn:
    """Raises the error about numbers with derivatives by different variables."""
    raise ValueError(
        f"AutoDiffXd: some numbers have {first} derivatives and others {second}. Differentiate all by the same "
        "variables (InitializeAutoDiffTuple), or make some constants without derivatives."
    )


def merge_lanes(lanes: Array, num_derivatives: int) -> Array:
    """The array of AutoDiffXd, shape [...], whose lanes have the shape [num_lanes, ...]."""
    shape = lanes.shape[1:]
    values = lanes[0].real.ravel().tolist()
    merged = np.empty(len(values), object)
    make = AutoDiffXd._make
    if num_derivatives:
        flat = lanes.reshape(num_derivatives, -1)
        derivatives = np.multiply(flat.imag.T, 1.0 / _STEP, order="C")
        merged[:] = [make(x, d) for x, d in zip(values, derivatives)]
    else:
        merged[:] = [make(x, _NO_DERIVATIVES) for x in values]
    return merged.reshape(shape)


class LaneRecords(Lanes):
    """Records of complex numbers in lanes, which read as records of AutoDiffXd; kernels write them.

    Attributes:
        lanes: shape [max(num_derivatives, 1), num_records], or [max(num_derivatives, 1)] of a single record.
    """

    __slots__ = ()

    def resize(self, num_derivatives: int) -> Array:
        """Makes room for another number of derivatives; returns the lanes, whose content is to be written."""
        self.num_derivatives = num_derivatives
        count = max(num_derivatives, 1)
        if len(self.lanes) != count:
            self.lanes = np.zeros((count, *self.lanes.shape[1:]), self.lanes.dtype)
        return self.lanes

    def __len__(self) -> int:
        return self.lanes.shape[1]

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return LaneRecords(self.lanes[:, key], self.num_derivatives)
        merged = merge_lanes(self.lanes[key], self.num_derivatives)
        return merged if merged.shape else merged.item()
