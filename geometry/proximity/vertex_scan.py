"""Vertices of hulls: the one that is farthest along a direction, and where it is.

All vertices are looked at, four at a time: the compiler makes no vector instructions of a loop that looks for the place
of a maximum (5 % of the distance of two hulls of twelve vertices).
"""

from __future__ import annotations

import math

import numpy as np

from merganser.framework.native import inlined
from merganser.framework.native.lanes import element, four_points_at, where
from merganser.geometry.proximity.vectors import Array, Vector3

__all__ = ["MIN_VERTICES", "farthest_of", "vertex_at"]

MIN_VERTICES = 4


@inlined
def farthest_of(vertices: Array, first: int, count: int, n: Vector3) -> int:
    """The vertex that is farthest along a direction, the first of a hull being 0.

    The last four vertices are looked at together, be some of them known already or not.

    Args:
        vertices: C-contiguous, float64, shape [num_vertices, 3].
        first: row of the hull's first vertex.
        count: how many vertices the hull has, four at least.
        n: the direction.
    """
    x, y, z = four_points_at(vertices, first)
    greatest = x * n[0] + y * n[1] + z * n[2]
    rows = where(x > x, x, 0.0)  # zeros; 0.0 * x would be NaN, which is no row, of vertices that are not finite
    row = 4
    while row < count:
        here = min(row, count - 4)
        x, y, z = four_points_at(vertices, first + here)
        value = x * n[0] + y * n[1] + z * n[2]
        is_greater = value > greatest
        greatest, rows = where(is_greater, value, greatest), where(is_greater, float(here), rows)
        row += 4
    best, most = 0, -math.inf
    for k in range(4):
        value_k = element(greatest, k)
        if value_k > most:
            best, most = k + int(element(rows, k)), value_k
    return best


@inlined
def vertex_at(vertices: Array, k: int) -> Vector3:
    """Row k of vertices; 0 <= k: compiled code need not look for rows that are counted from the end."""
    row = np.uint64(k)
    return vertices[row, 0], vertices[row, 1], vertices[row, 2]
