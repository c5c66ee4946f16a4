"""Rows of six numbers, on which compiled code works with vector instructions.

The compiler unrolls loops over a row of a block of a free body, which has six velocities, and computes one number after
the other. Said with the functions below, a row is one variable:

    row = fused(element(left, i), right, six_at(numbers, at))
    set_six(numbers, at, row)

Compiled code keeps rows in registers: + - * / unary -, comparisons, which give masks, and `where`, which chooses.
Numbers join in as if each were a row. In plain Python, rows are arrays of shape [6].
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from merganser.framework.native.compiler.extending import register_module

Lanes: TypeAlias = Any  # six numbers, or one number
Mask: TypeAlias = Any  # six truth values, or one


def square_root(x: Lanes) -> Lanes:
    """The square root; NaN of negative numbers."""
    return np.sqrt(x)


def where(mask: Mask, x: Lanes, y: Lanes) -> Lanes:
    """x where the mask is true, else y."""
    return np.where(mask, x, y)


def element(x: Lanes, k: int) -> float:
    """Number k of a row."""
    return x[k]


def with_element(x: Lanes, k: int, value: float) -> Lanes:
    """A row with another number k."""
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


register_module("merganser.framework.native.memory.simd_code")
