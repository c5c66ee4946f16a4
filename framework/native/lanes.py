"""Several numbers side by side, on which compiled code works with vector instructions.

The compiler makes vector instructions of loops whose passes are alike. A method with branches, as Newton's method where
each start takes another number of steps, is written with lanes instead: a variable holds the numbers of `NUM_LANES`
cases, operators act on all of them, comparisons give masks, and `where` chooses. The same functions take plain floats.

    x = where(abs(x) > limit, copy_sign(limit, x), x)
    while any_of(change > tolerance): ...

Compiled code keeps lanes in registers: + - * / unary -, abs, comparisons, and & | ~ of masks. Numbers join in as if
every lane had them. In plain Python, lanes are arrays of shape [NUM_LANES].
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from merganser.framework.native.extending import tell_module

__all__ = [
    "NUM_LANES",
    "Lanes",
    "Mask",
    "all_of",
    "any_of",
    "copy_sign",
    "lanes_at",
    "larger",
    "set_lanes",
    "smaller",
    "spread",
    "square_root",
    "where",
]

NUM_LANES = 8

Lanes: TypeAlias = Any  # numbers, or one number
Mask: TypeAlias = Any  # truth values, or one


def square_root(x: Lanes) -> Lanes:
    """The square root; NaN of negative numbers."""
    return np.sqrt(x)


def copy_sign(x: Lanes, y: Lanes) -> Lanes:
    """|x| with the sign of y."""
    return np.copysign(x, y)


def where(mask: Mask, x: Lanes, y: Lanes) -> Lanes:
    """x where the mask is true, else y; masks for x and y, too."""
    return np.where(mask, x, y)


def larger(x: Lanes, y: Lanes) -> Lanes:
    """The larger one; y where one of them is NaN."""
    return where(x > y, x, y)


def smaller(x: Lanes, y: Lanes) -> Lanes:
    """The smaller one; y where one of them is NaN."""
    return where(x < y, x, y)


def any_of(mask: Mask) -> bool:
    """Whether the mask is true somewhere."""
    return bool(np.any(mask))


def all_of(mask: Mask) -> bool:
    """Whether the mask is true everywhere."""
    return bool(np.all(mask))


def spread(x: float) -> Lanes:
    """Lanes that all have this number."""
    return np.full(NUM_LANES, x)


def lanes_at(array: Any, row: int) -> Lanes:
    """A row of an array of float64, C-contiguous, shape [n, NUM_LANES]; compiled code expects 0 <= row."""
    return array[row].copy()


def set_lanes(array: Any, row: int, x: Lanes) -> None:
    """Sets a row of such an array."""
    array[row] = x


tell_module("merganser.framework.native.lanes_code")
