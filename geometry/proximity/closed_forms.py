"""Pairs that need no iteration: points, segments and half spaces with whatever has a formula, and zonotopes.

Each writes the solution of refine.py, (1) there: the unit vector n from A to B (out of A - B), the value h(n), which is
minus the signed distance, and one point of each core, all in A.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.geometry.proximity.layout import (
    HALF_SPACE,
    POINT,
    SEGMENT,
    SOLVED,
    UNBOUNDED,
    UNSOLVED,
    Hulls,
)
from merganser.geometry.proximity.points import has_point_formula, point_to_core
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.supports import piece_point, support_piece
from merganser.geometry.proximity.vectors import (
    Array,
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
    tangents,
)

__all__ = ["solve_in_closed_form"]

_PARALLEL = 1e-14  # squared sine of the angle between segments that count as parallel


@device
def solve_in_closed_form(a: Array, b: Array, hulls: Hulls, work: Array) -> int:
    """Writes the solution if there is a formula for this pair; returns the status, or UNSOLVED if there is none."""
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    if b.kind == HALF_SPACE:
        if a.kind == HALF_SPACE:
            set_solution(work, (0.0, 0.0, 1.0), math.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            return UNBOUNDED
        up = axis(X_AB, 2)
        p_A = piece_point(a, hulls, support_piece(a, hulls, negated(up)), negated(up))
        height = dot(up, subtract(p_A, origin))
        set_solution(work, negated(up), -height, p_A, sum_scaled(p_A, up, -height))
        return SOLVED
    if a.kind == HALF_SPACE:
        down_B = negated(rotated_back(X_AB, (0.0, 0.0, 1.0)))
        p_B = add(origin, rotated(X_AB, piece_point(b, hulls, support_piece(b, hulls, down_B), down_B)))
        set_solution(work, (0.0, 0.0, 1.0), -p_B[2], (p_B[0], p_B[1], 0.0), p_B)
        return SOLVED
    if a.kind == POINT and has_point_formula(b.kind):
        distance, m_B, nearest = point_to_core(b, negated(rotated_back(X_AB, origin)))
        p_B = add(origin, rotated(X_AB, nearest))
        set_solution(work, negated(rotated(X_AB, m_B)), -distance, (0.0, 0.0, 0.0), p_B)
        return SOLVED
    if b.kind == POINT and has_point_formula(a.kind):
        distance, n, nearest = point_to_core(a, origin)
        set_solution(work, n, -distance, nearest, origin)
        return SOLVED
    if a.kind == SEGMENT and b.kind == SEGMENT:
        _solve_segments(a, b, work)
        return SOLVED
    return UNSOLVED


@device
def _solve_segments(a: Array, b: Array, work: Array) -> None:
    """Closest points of two segments (Ericson 2005, Real-Time Collision Detection, sec. 5.1.9)."""
    X_AB = work.X_AB
    u, v = (0.0, 0.0, 1.0), axis(X_AB, 2)
    origin = (X_AB[9], X_AB[10], X_AB[11])
    half_a, half_b = a.size_2, b.size_2
    # Points s u and origin + t v; minimize |s u - t v - origin|.
    cosine, p_u, p_v = v[2], origin[2], dot(origin, v)
    square = 1.0 - cosine * cosine
    if square > _PARALLEL:
        s = min(max((p_u - cosine * p_v) / square, -half_a), half_a)
    else:  # parallel: the middle of where they lie side by side
        reach = half_b * abs(cosine)
        low, high = max(-half_a, p_u - reach), min(half_a, p_u + reach)
        s = min(max(0.5 * (low + high), -half_a), half_a)
    t = min(max(s * cosine - p_v, -half_b), half_b)
    s = min(max(t * cosine + p_u, -half_a), half_a)
    t = min(max(s * cosine - p_v, -half_b), half_b)
    p_A, p_B = scaled(u, s), sum_scaled(origin, v, t)
    n = subtract(p_B, p_A)
    distance = norm(n)
    if distance > 0.0:
        set_solution(work, scaled(n, 1.0 / distance), -distance, p_A, p_B)
        return
    across = cross(u, v)
    sine = norm(across)
    if sine > 1e-7:
        set_solution(work, scaled(across, 1.0 / sine), 0.0, p_A, p_B)
    else:
        set_solution(work, tangents(u)[0], 0.0, p_A, p_B)
