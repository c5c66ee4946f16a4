"""Several numbers side by side, on which compiled code works with vector instructions.

The compiler makes vector instructions of loops whose passes are alike. A method with branches, as Newton's method where
each start takes another number of steps, is written with lanes instead: a variable holds the numbers of `NUM_LANES`
cases, operators act on all of them, comparisons give masks, and `where` chooses. The same functions take plain floats.

    x = where(abs(x) > limit, copy_sign(limit, x), x)
    while any_of(change > tolerance): ...

Compiled code keeps lanes in registers: + - * / unary -, abs, comparisons, and & | ~ of masks. Numbers join in as if
every lane had them. In plain Python, lanes are arrays of shape [NUM_LANES].

The same goes for six numbers, a row of a block of a free body, and for four, coordinates of four points (`six_at`,
`four_points_at`).
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
    "element",
    "four_points_at",
    "fused",
    "lanes_at",
    "larger",
    "set_lanes",
    "set_six",
    "six_at",
    "smaller",
    "spread",
    "square_root",
    "total_of_six",
    "where",
    "with_element",
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


def element(x: Lanes, k: int) -> float:
    """The number in lane k."""
    return x[k]


def with_element(x: Lanes, k: int, value: float) -> Lanes:
    """Lanes with another number in lane k."""
    x = x.copy()
    x[k] = value
    return x


def fused(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """x y + z; compiled code rounds once."""
    return x * y + z


def six_at(array: Any, at: int) -> Lanes:
    """Six numbers of an array of float64, C-contiguous, from place `at` on; compiled code expects 0 <= at."""
    return array[at : at + 6].copy()


def set_six(array: Any, at: int, x: Lanes) -> None:
    """Sets six numbers of such an array."""
    array[at : at + 6] = x


def total_of_six(x: Lanes) -> float:
    """The sum of six numbers, in whatever order is fastest."""
    return x.sum()


def four_points_at(points: Any, k: int) -> tuple[Lanes, Lanes, Lanes]:
    """Coordinates x, y and z of four points, from row k on of an array of float64, C-contiguous, shape [n, 3]."""
    return points[k : k + 4, 0].copy(), points[k : k + 4, 1].copy(), points[k : k + 4, 2].copy()


tell_module("merganser.framework.native.lanes_code")
