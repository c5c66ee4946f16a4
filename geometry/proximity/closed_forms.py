"""Pairs with a formula, or a few steps of a method for roots: points, segments, boxes, ellipsoids, and half spaces with
whatever has a support function.

Each writes the solution of refine.py, (1) there: the unit vector n from A to B (out of A - B), the value h(n), which is
minus the signed distance, and one point of each core, all in A.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.framework.native.memory.shared_code import shared
from merganser.geometry.proximity.boxes import solve_boxes
from merganser.geometry.proximity.layout import (
    BOX,
    CYLINDER,
    HALF_SPACE,
    POINT,
    SEGMENT,
    SOLVED,
    UNBOUNDED,
    UNSOLVED,
    Hulls,
    Shape,
    ShapeWork,
)
from merganser.geometry.proximity.points import point_to_core
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.segments import (
    solve_box_and_segment,
    solve_cylinder_and_segment,
    solve_ellipsoid_and_segment,
    solve_segments,
)
from merganser.geometry.proximity.supports import piece_point, support_piece
from merganser.geometry.proximity.vectors import add, axis, dot, negated, rotated, rotated_back, subtract, sum_scaled


@device
def solve_primitives(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, is_rough: bool) -> int:
    """Writes the solution for points, segments, boxes, cylinders and ellipsoids, if there is a formula for the pair.

    Args:
        a: geometry A.
        b: geometry B.
        hulls: vertices of hulls.
        work: X_AB is given.
        is_rough: see `solve_pair`.

    Returns:
        A status, UNSOLVED without a closed form; of segments and boxes, normal and value are of the lowest side then.
    """
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    if a.kind == POINT:
        distance, m_B, nearest = point_to_core(b, negated(rotated_back(X_AB, origin)))
        p_B = add(origin, rotated(X_AB, nearest))
        set_solution(work, negated(rotated(X_AB, m_B)), -distance, (0.0, 0.0, 0.0), p_B)
        return SOLVED
    if b.kind == POINT:
        distance, n, nearest = point_to_core(a, origin)
        set_solution(work, n, -distance, nearest, origin)
        return SOLVED
    if a.kind == SEGMENT or b.kind == SEGMENT:
        return int(solve_segment(a, b, hulls, work))
    if a.kind == BOX and b.kind == BOX:
        return solve_boxes(a, b, work, is_rough)
    return UNSOLVED


@shared(int)
def solve_segment(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork) -> int:
    """Does what `solve_primitives` does, for a segment and anything but a point."""
    if a.kind == SEGMENT and b.kind == SEGMENT:
        solve_segments(a, b, work)
        return SOLVED
    if a.kind == BOX or b.kind == BOX:
        return solve_box_and_segment(a, b, work)
    if a.kind == CYLINDER or b.kind == CYLINDER:
        return solve_cylinder_and_segment(a, b, work)
    return solve_ellipsoid_and_segment(a, b, work)


@device
def solve_half_space(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork) -> int:
    """Writes the solution for a half space and anything; returns a status."""
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
    down_B = negated(rotated_back(X_AB, (0.0, 0.0, 1.0)))
    p_B = add(origin, rotated(X_AB, piece_point(b, hulls, support_piece(b, hulls, down_B), down_B)))
    set_solution(work, (0.0, 0.0, 1.0), -p_B[2], (p_B[0], p_B[1], 0.0), p_B)
    return SOLVED
