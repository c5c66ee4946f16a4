"""Distance of two boxes, in closed form.

A - B has 30 sides: its normals are those of faces of A or of B, or lie across an edge of each (Gottschalk, Lin, Manocha
1996, OBBTree). With R = R_AB, p = p_AB, half extents s of A and r of B, the heights of the lower one of each two are

    across axis i of A:  s_i + sum_j r_j |R_ij| - |p_i|                                      (1)
    across axis j of B:  r_j + sum_i s_i |R_ij| - |sum_i R_ij p_i|                           (2)
    across both:  (s_k |R_hj| + s_h |R_kj| + r_m |R_in| + r_n |R_im| - |p_h R_kj - p_k R_hj|) / sqrt(R_kj^2 + R_hj^2)
                  with i, k, h and j, m, n cyclic                                            (3)

The least height is the depth if it is positive; and if both points at which that side touches lie within their
features, it is minus the distance if it is negative. If not, the nearest points are a corner and a corner or edge, or
the lowest side gives the wrong features. Then each box's point nearest to that of the other is looked for in turn,
until the height of A - B along the line between both proves that no other two are nearer. Two edges, between which this
would go on for long, are solved at once.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.layout import SOLVED, UNSOLVED, Pose, Shape, ShapeWork
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.vectors import (
    Vector3,
    add,
    axis,
    cross,
    dot,
    negated,
    norm,
    rotated,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    unit,
    unit_axis,
)

Side: TypeAlias = tuple[float, float, int]  # square of a height with its sign, times a square; that square; which side

_PARALLEL = 1e-14  # squared sine of the angle between edges that span no side
_PREFERENCE = 1e-13  # by how much, of the size, the side of two edges must be nearer than that of a face
_INSIDE = 1e-12  # of the size: how far outside of a feature rounding may take a point
_MAX_ROUNDS = 8
_FACE_OF_B = 3  # sides: 0-2 are faces of A, 3-5 of B, the others across axes i of A and j of B: 6 + 3 i + j
_EDGES = 6


@inlined
def _half(g: Shape, i: int) -> float:
    return float(g.size_0 if i == 0 else (g.size_1 if i == 1 else g.size_2))


@inlined
def _across_edges(lowest: Side, a: Shape, b: Shape, X: Pose, i: int, j: int) -> Side:
    """The lower one of the lowest side and (3), without divisions and roots: they are compared by their squares."""
    k, h = (i + 1) % 3, (i + 2) % 3
    m, n = (j + 1) % 3, (j + 2) % 3
    x, y = X[3 * k + j], X[3 * h + j]
    square = x * x + y * y
    height = _half(a, k) * abs(y) + _half(a, h) * abs(x) + _half(b, m) * abs(X[3 * i + n])
    height += _half(b, n) * abs(X[3 * i + m]) - abs(X[9 + h] * x - X[9 + k] * y)
    height *= abs(height)
    is_lower = (square > _PARALLEL) & (height * lowest[1] < lowest[0] * square)
    side = _EDGES + 3 * i + j
    return (
        height if is_lower else lowest[0],
        square if is_lower else lowest[1],
        side if is_lower else lowest[2],
    )


@inlined
def _lower(height: float, side: int, value: float, i: int, preference: float) -> tuple[float, int]:
    return (value, i) if value < height - preference else (height, side)


@inlined
def _lowest_side(a: Shape, b: Shape, X: Pose, preference: float) -> tuple[float, int, float]:
    """The least of (1), (2) and (3), which side that is, and the sine of the angle between its edges."""
    height, side = math.inf, 0
    for i in range(3):
        reach = _half(b, 0) * abs(X[3 * i]) + _half(b, 1) * abs(X[3 * i + 1]) + _half(b, 2) * abs(X[3 * i + 2])
        height, side = _lower(height, side, _half(a, i) + reach - abs(X[9 + i]), i, 0.0)
    for j in range(3):
        reach = _half(a, 0) * abs(X[j]) + _half(a, 1) * abs(X[3 + j]) + _half(a, 2) * abs(X[6 + j])
        away = abs(X[j] * X[9] + X[3 + j] * X[10] + X[6 + j] * X[11])
        height, side = _lower(height, side, _half(b, j) + reach - away, _FACE_OF_B + j, preference)
    limit = height - preference
    lowest = (limit * abs(limit), 1.0, side)
    lowest = _across_edges(lowest, a, b, X, 0, 0)
    lowest = _across_edges(lowest, a, b, X, 0, 1)
    lowest = _across_edges(lowest, a, b, X, 0, 2)
    lowest = _across_edges(lowest, a, b, X, 1, 0)
    lowest = _across_edges(lowest, a, b, X, 1, 1)
    lowest = _across_edges(lowest, a, b, X, 1, 2)
    lowest = _across_edges(lowest, a, b, X, 2, 0)
    lowest = _across_edges(lowest, a, b, X, 2, 1)
    lowest = _across_edges(lowest, a, b, X, 2, 2)
    square_of_height, square, edges = lowest
    if edges == side:
        return height, side, 1.0
    sine = math.sqrt(square)
    return math.copysign(math.sqrt(abs(square_of_height)), square_of_height) / sine, edges, sine


@inlined
def _clamped(p: Vector3, g: Shape) -> Vector3:
    """The point of a box that is nearest to P."""
    return (
        min(max(p[0], -g.size_0), g.size_0),
        min(max(p[1], -g.size_1), g.size_1),
        min(max(p[2], -g.size_2), g.size_2),
    )


@inlined
def _corner(g: Shape, n: Vector3) -> Vector3:
    """The corner of a box that is farthest along n."""
    return math.copysign(g.size_0, n[0]), math.copysign(g.size_1, n[1]), math.copysign(g.size_2, n[2])


@inlined
def _is_within(p: Vector3, g: Shape, tolerance: float) -> bool:
    return bool(
        abs(p[0]) <= g.size_0 + tolerance and abs(p[1]) <= g.size_1 + tolerance and abs(p[2]) <= g.size_2 + tolerance
    )


@inlined
def _edge_steps(gap: Vector3, i: int, v: Vector3) -> tuple[float, float]:
    """How far to go along ei and v, from points that are this gap apart, to where the lines are nearest."""
    along_u = gap[0] if i == 0 else (gap[1] if i == 1 else gap[2])
    cosine = v[0] if i == 0 else (v[1] if i == 1 else v[2])
    along_v = dot(gap, v)
    across = subtract(v, scaled(unit_axis(i), cosine))
    square = dot(across, across)
    return (cosine * along_v - along_u) / square, (along_v - cosine * along_u) / square


@device
def solve_boxes(a: Shape, b: Shape, work: ShapeWork, is_rough: bool) -> int:
    """Writes the solution for two boxes; returns a status.

    If it is UNSOLVED, the normal and the value are those of the lowest side. It may be so if the boxes touch in some
    odd way, and wherever the points do not lie within the features of that side, if the solution may be rough.
    """
    X_AB = work.X_AB
    size = a.bound + b.bound
    p = (X_AB[9], X_AB[10], X_AB[11])
    height, side, sine = _lowest_side(a, b, X_AB, _PREFERENCE * size)
    i, j = side, side - _FACE_OF_B
    if side >= _EDGES:
        i = (side - _EDGES) // 3
        j = side - _EDGES - 3 * i
    u, v = unit_axis(i), axis(X_AB, max(j, 0))
    n = u
    if side >= _EDGES:
        n = scaled(cross(u, v), 1.0 / sine)
    elif side >= _FACE_OF_B:
        n = v
    if dot(n, p) < 0.0:
        n = negated(n)
    m = rotated_back(X_AB, n)
    p_A = _corner(a, n)
    q_A = subtract(p, rotated(X_AB, _corner(b, m)))
    if side < _FACE_OF_B:
        p_A = sum_scaled(q_A, n, height)
    elif side < _EDGES:
        q_A = sum_scaled(p_A, n, -height)
    else:
        s, t = _edge_steps(subtract(subtract(p_A, q_A), scaled(n, height)), i, v)
        p_A, q_A = sum_scaled(p_A, u, s), sum_scaled(q_A, v, t)
    tolerance = _INSIDE * size
    if _is_within(p_A, a, tolerance) and _is_within(rotated_back(X_AB, subtract(q_A, p)), b, tolerance):
        set_solution(work, n, height, p_A, q_A)
        return SOLVED
    set_solution(work, n, height, p, p)
    if is_rough:
        return UNSOLVED
    return _approach(a, b, work, p_A, n, height, size)


@device
def _approach(a: Shape, b: Shape, work: ShapeWork, p_A: Vector3, n: Vector3, height: float, size: float) -> int:
    """Looks in turn for the nearest points of A and B, writes the solution, and returns a status.

    Boxes that overlap are taken apart along the normal until they touch; then nearest points are one point.

    Args:
        a: box A.
        b: box B.
        work: X_AB is given.
        p_A: where to begin.
        n: normal of the lowest side.
        height: of this side.
        size: of both boxes.
    """
    X_AB = work.X_AB
    is_touching = height > -_INSIDE * size
    lift = scaled(n, height if is_touching else 0.0)
    origin = add((X_AB[9], X_AB[10], X_AB[11]), lift)
    p_A = _clamped(p_A, a)
    for _ in range(_MAX_ROUNDS):
        q_B = _clamped(rotated_back(X_AB, subtract(p_A, origin)), b)
        q_A = add(rotated(X_AB, q_B), origin)
        p_A = _clamped(q_A, a)
        gap = subtract(q_A, p_A)
        distance = norm(gap)
        if is_touching:
            if distance <= _INSIDE * size:
                set_solution(work, n, height, p_A, subtract(q_A, lift))
                return SOLVED
        elif distance > 0.0:
            # Across the edges and faces in which the points lie, the gap is rounding.
            m = rotated_back(X_AB, gap)
            m = _cleared(m, q_B, b)
            n = unit(_cleared(rotated(X_AB, m), p_A, a))
            reach_a, reach_b = _corner(a, n), _corner(b, rotated_back(X_AB, n))
            value = dot(n, subtract(add(reach_a, rotated(X_AB, reach_b)), origin))
            if value + distance <= _INSIDE * size:
                set_solution(work, n, -distance, p_A, q_A)
                return SOLVED
        i, j = _free_axis(p_A, a), _free_axis(q_B, b)
        if i >= 0 and j >= 0:
            v = axis(X_AB, j)
            if 1.0 - abs(v[0] if i == 0 else (v[1] if i == 1 else v[2])) > 1e-12:
                s, _ = _edge_steps(scaled(gap, -1.0), i, v)
                p_A = _clamped(sum_scaled(p_A, unit_axis(i), s), a)
    return UNSOLVED


@inlined
def _cleared(d: Vector3, p: Vector3, g: Shape) -> Vector3:
    """A direction without its components along the axes of a box along which a point of it is free to move."""
    return (
        d[0] if abs(p[0]) >= g.size_0 else 0.0,
        d[1] if abs(p[1]) >= g.size_1 else 0.0,
        d[2] if abs(p[2]) >= g.size_2 else 0.0,
    )


@inlined
def _free_axis(p: Vector3, g: Shape) -> int:
    """Along which axis a point of a box lies within an edge; -1 if it lies in none, at a corner or in a face."""
    x, y, z = abs(p[0]) < g.size_0, abs(p[1]) < g.size_1, abs(p[2]) < g.size_2
    if x:
        return -1 if y or z else 0
    if y:
        return -1 if z else 1
    return 2 if z else -1
