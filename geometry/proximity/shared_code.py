"""Searches that are compiled once, and called at their addresses (framework/native/shared_code.py)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.native import shared_code
from merganser.geometry.proximity.layout import Hulls, geometry_dtype, work_dtype

__all__ = ["shared"]


def shared(restype: type[int], *others: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a function of geometries A and B, hulls, work and perhaps more.

    Args:
        restype: `int` or `bool`, what it returns: UNSOLVED (layout.py) or False where it cannot be compiled.
        others: values of the types of its further arguments.
    """
    return shared_code.shared(restype, lambda: (*_samples(), *others))


@functools.cache
def _samples() -> tuple[Any, ...]:
    """Geometries A and B, hulls and work, of the types that searches take."""
    geometry, work = np.zeros(1, geometry_dtype)[0], np.zeros(1, work_dtype)[0]
    numbers, rows, planes, edges = np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 4)), np.zeros((0, 4), np.int64)
    hulls = Hulls(rows, numbers, numbers, planes, numbers, numbers, edges)
    return geometry, geometry, hulls, work
