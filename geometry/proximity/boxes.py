"""Boxes and segments with each other, by separating axes.

Both are sums of segments h_i a_i, and so is their difference, whose flat sides have the normals a_i of boxes and the
cross products of an axis of A with one of B (Gottschalk, Lin, Manocha 1996, OBBTree). Where they overlap, the side
nearest to the origin tells the depth. Where they do not, the axis on which they are farthest apart is where refine.py
starts from.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.geometry.proximity.layout import BOX, INEXACT, SOLVED, Hulls
from merganser.geometry.proximity.refine import refine
from merganser.geometry.proximity.vectors import Array, Vector3, axis, cross, dot, negated, norm, scaled

__all__ = ["solve_boxes"]

_PARALLEL = 1e-7  # sine of the angle between edges that span no side
_PREFERENCE = 1e-13  # by how much, of the size, the side of two edges must be nearer than that of a face


@device
def solve_boxes(a: Array, b: Array, hulls: Hulls, work: Array) -> int:
    """Writes the solution for two boxes, or a box and a segment; returns a status."""
    X_AB = work.X_AB
    first_a = 0 if a.kind == BOX else 2
    first_b = 0 if b.kind == BOX else 2
    best, n = math.inf, (0.0, 0.0, 1.0)
    for i in range(3):
        if a.kind == BOX:
            best, n = _nearer(a, b, X_AB, _unit_axis(i), best, n, 0.0)
        if b.kind == BOX:
            best, n = _nearer(a, b, X_AB, axis(X_AB, i), best, n, 0.0)
    preference = _PREFERENCE * (a.bound + b.bound)
    for i in range(first_a, 3):
        for j in range(first_b, 3):
            d = cross(_unit_axis(i), axis(X_AB, j))
            sine = norm(d)
            if sine > _PARALLEL:
                best, n = _nearer(a, b, X_AB, scaled(d, 1.0 / sine), best, n, preference)
    return SOLVED if refine(a, b, hulls, work, n) else INEXACT


@device
def _unit_axis(i: int) -> Vector3:
    return (1.0 if i == 0 else 0.0), (1.0 if i == 1 else 0.0), (1.0 if i == 2 else 0.0)


@device
def _nearer(
    a: Array, b: Array, X_AB: Array, d: Vector3, best: float, n: Vector3, preference: float
) -> tuple[float, Vector3]:
    """The side with normal d or -d of A - B, if it is nearer to the origin than the best so far."""
    across = X_AB[9] * d[0] + X_AB[10] * d[1] + X_AB[11] * d[2]
    value = a.size_2 * abs(d[2]) + b.size_2 * abs(dot(axis(X_AB, 2), d)) - abs(across)
    if a.kind == BOX:
        value += a.size_0 * abs(d[0]) + a.size_1 * abs(d[1])
    if b.kind == BOX:
        value += b.size_0 * abs(dot(axis(X_AB, 0), d)) + b.size_1 * abs(dot(axis(X_AB, 1), d))
    if value < best - preference:
        return value, (d if across >= 0.0 else negated(d))
    return best, n
