"""Points, segments and boxes with each other, by separating axes.

They are sums of segments s_i a_i (zonotopes). The flat sides of the difference of two of them have the normals of
faces, or lie across two axes (Gottschalk, Lin, Manocha 1996, OBBTree). h at each of these is computed; the least is the
depth if the two overlap. The same side holds the nearest points if they are apart, unless these are a corner and a
corner or a corner and an edge: then refine.py starts from there.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.geometry.proximity.flat_features import (
    contains,
    support_point,
)
from merganser.geometry.proximity.layout import BOX, POINT, SOLVED, UNSOLVED, Hulls
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    axis,
    dot,
    negated,
    rotated,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    unit,
    unit_axis,
)

__all__ = ["is_zonotope", "solve_zonotopes"]

_PARALLEL = 1e-14  # squared sine of the angle between edges that span no side
_PREFERENCE = 1e-13  # by how much, of the size, the side of two edges must be nearer than that of a face
_INSIDE = 1e-12  # of the size: how far outside of a feature rounding may take a point


@device
def is_zonotope(g: Array) -> bool:
    """Whether a core is a point, a segment or a box."""
    return g.kind <= BOX


@device
def _size(g: Array, i: int) -> float:
    """Half the length of a zonotope along its axis i."""
    if g.kind == POINT:
        return 0.0
    return g.size_0 if i == 0 else (g.size_1 if i == 1 else g.size_2)


@device
def solve_zonotopes(a: Array, b: Array, hulls: Hulls, work: Array) -> int:
    """Writes the solution for boxes or segments, of which one at least is a box; returns a status.

    If it is UNSOLVED, the normal is that of the lowest side, from where refine.py finds the solution.
    """
    X_AB = work.X_AB
    size = a.bound + b.bound
    best, kind, first, second = math.inf, 0, 0, 0
    for i in range(3):
        reach_b = 0.0
        for j in range(3):
            reach_b += _size(b, j) * abs(X_AB[3 * i + j])
        value = _size(a, i) + reach_b - abs(X_AB[9 + i])
        if a.kind == BOX and value < best:
            best, kind, first = value, 0, i
    for j in range(3):
        reach_a = 0.0
        across = 0.0
        for i in range(3):
            reach_a += _size(a, i) * abs(X_AB[3 * i + j])
            across += X_AB[3 * i + j] * X_AB[9 + i]
        value = _size(b, j) + reach_a - abs(across)
        if b.kind == BOX and value < best - _PREFERENCE * size:
            best, kind, first = value, 1, j
    preference = _PREFERENCE * size
    for i in range(0 if a.kind == BOX else 2, 3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(0 if b.kind == BOX else 2, 3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            x, y = X_AB[3 * i1 + j], X_AB[3 * i2 + j]  # of axis j of B across axis i of A
            square = x * x + y * y
            if square <= _PARALLEL:
                continue
            value = _size(a, i1) * abs(y) + _size(a, i2) * abs(x)
            value += _size(b, j1) * abs(X_AB[3 * i + j2]) + _size(b, j2) * abs(X_AB[3 * i + j1])
            value = (value - abs(X_AB[9 + i2] * x - X_AB[9 + i1] * y)) / math.sqrt(square)
            if value < best - preference:
                best, kind, first, second = value, 2, i, j
    origin = (X_AB[9], X_AB[10], X_AB[11])
    if kind == 0:
        n = unit_axis(first)
    elif kind == 1:
        n = axis(X_AB, first)
    else:
        u, v = unit_axis(first), axis(X_AB, second)
        n = unit((u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]))
    if dot(n, origin) < 0.0:
        n = negated(n)
    if _set_points(a, b, hulls, work, n, best, kind, first, second):
        return SOLVED
    set_solution(work, n, best, origin, origin)
    return UNSOLVED


@device
def _set_points(
    a: Array, b: Array, hulls: Hulls, work: Array, n: Vector3, value: float, kind: int, first: int, second: int
) -> bool:
    """Writes the solution on a side of two zonotopes, unless its points are not within the features.

    Args:
        kind: of the side: 0, a face of A; 1, a face of B; 2, an edge of each.
        first, second: axes of the edges.
    """
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    tolerance = _INSIDE * (a.bound + b.bound)
    m = negated(rotated_back(X_AB, n))
    p_A = support_point(a, hulls, n)
    q_B = support_point(b, hulls, m)
    q_A = add(rotated(X_AB, q_B), origin)
    if kind == 0:
        p_A = sum_scaled(q_A, n, value)
    elif kind == 1:
        q_A = sum_scaled(p_A, n, -value)
        q_B = rotated_back(X_AB, subtract(q_A, origin))
    else:
        # From the ends along both edges, p + s u and q + t v, to where they differ by value n.
        u, v = unit_axis(first), axis(X_AB, second)
        gap = subtract(subtract(p_A, q_A), scaled(n, value))
        cosine, along_u, along_v = dot(u, v), dot(gap, u), dot(gap, v)
        square = 1.0 - cosine * cosine
        s = (cosine * along_v - along_u) / square
        t = (along_v - cosine * along_u) / square
        p_A, q_A = sum_scaled(p_A, u, s), sum_scaled(q_A, v, t)
        q_B = rotated_back(X_AB, subtract(q_A, origin))
    if not (contains(a, hulls, p_A, tolerance) and contains(b, hulls, q_B, tolerance)):
        return False
    set_solution(work, n, value, p_A, q_A)
    return True
