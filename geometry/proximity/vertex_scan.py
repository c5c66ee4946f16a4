"""Vertices of hulls: the one that is farthest along a direction, and where it is.

All vertices are looked at; four at a time in compiled code, see vertex_scan_code.py.
"""

from __future__ import annotations

import math

from merganser.framework.native.extending import tell_module
from merganser.geometry.proximity.vectors import Array, Vector3

__all__ = ["MIN_VERTICES", "farthest_of", "vertex_at"]

MIN_VERTICES = 4


def farthest_of(vertices: Array, first: int, count: int, n: Vector3) -> int:
    """The vertex that is farthest along a direction, the first of a hull being 0.

    Args:
        vertices: C-contiguous, float64, shape [num_vertices, 3].
        first: row of the hull's first vertex.
        count: how many vertices the hull has, four at least.
        n: the direction.
    """
    best, greatest = 0, -math.inf
    for i in range(count):
        k = first + i
        value = vertices[k, 0] * n[0] + vertices[k, 1] * n[1] + vertices[k, 2] * n[2]
        if value > greatest:
            best, greatest = i, value
    return best


def vertex_at(vertices: Array, k: int) -> Vector3:
    """Row k of vertices, C-contiguous and float64; compiled code expects 0 <= k."""
    return vertices[k, 0], vertices[k, 1], vertices[k, 2]


tell_module("merganser.geometry.proximity.vertex_scan_code")
