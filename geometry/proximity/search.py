"""Pairs that have no formula: hulls, cylinders that overlap, whatever the formulas leave over."""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.cylinders import has_cylinder, solve_cylinder
from merganser.geometry.proximity.ellipsoid_pairs import add_diagonal, ellipsoid_matrix, minimum_of_ellipsoids
from merganser.geometry.proximity.expanding_polytope import deepest
from merganser.geometry.proximity.flat_features import contains, try_faces
from merganser.geometry.proximity.gjk import solve_polytopes
from merganser.geometry.proximity.lane_pairs import goes_by_steps, polish
from merganser.geometry.proximity.layout import BOX, ELLIPSOID, HULL, INEXACT, SEGMENT, SOLVED, UNSOLVED, Hulls
from merganser.geometry.proximity.proofs import is_least
from merganser.geometry.proximity.refine import refine
from merganser.geometry.proximity.shared_code import shared
from merganser.geometry.proximity.smooth import deepest_of_smooth
from merganser.geometry.proximity.supports import is_curved, rolling_radius
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    axis,
    dot,
    rotated,
    rotated_back,
    scaled,
    subtract,
    unit,
)

__all__ = ["search", "set_inverse_pose"]


@shared(int)
def search(a: Array, b: Array, hulls: Hulls, work: Array) -> int:
    """Writes the solution for a pair; returns a status. X_AB is given.

    For segments and boxes normal and value are those of the lowest side, where it starts.
    """
    has_sides = a.kind <= BOX and b.kind <= BOX
    if not has_sides and not is_curved(a) and not is_curved(b):
        status = solve_polytopes(a, b, hulls, work, unit(_between_centers(a, b, work.X_AB)))
        if status != UNSOLVED:
            return status
    set_inverse_pose(work.X_AB, work.X_BA)
    if has_sides:
        n = (work.normal[0], work.normal[1], work.normal[2])
    else:
        if not goes_by_steps(a.kind, b.kind):
            work.value = math.inf
        if has_cylinder(a, b):
            status = _solve_cylinder(a, b, hulls, work)
            if status != UNSOLVED:
                return status
        is_near = work.value < math.inf
        n = (work.normal[0], work.normal[1], work.normal[2]) if is_near else _start(a, b, work.X_AB)
    # Below the radius of a ball that rolls inside A - B there is one minimum only: h less this radius is the support
    # function of a convex set, from which the origin is apart. Nor is there another where A and B are apart.
    solved = refine(a, b, hulls, work, n)
    if has_sides or work.value < rolling_radius(a) + rolling_radius(b):
        status = SOLVED if solved else INEXACT
    elif is_least(a, b, hulls, work):
        status = SOLVED
    elif _is_smooth(a, b):
        status = deepest_of_smooth(a, b, hulls, work)
    else:
        status = deepest(a, b, hulls, work, 0)
    if goes_by_steps(a.kind, b.kind):
        polish(a, b, hulls, work, _are_in_one_place(a, b, work))
    return status


@device
def _are_in_one_place(a: Array, b: Array, work: Array) -> bool:
    """Whether the centers are nearer to each other than twice the depth of the solution."""
    offset = _between_centers(a, b, work.X_AB)
    return bool(dot(offset, offset) < (2.0 * work.value) ** 2)


@device
def _solve_cylinder(a: Array, b: Array, hulls: Hulls, work: Array) -> int:
    """Writes the solution for a cylinder and a box, hull or cylinder.

    Returns:
        A status; if UNSOLVED, a minimum of h is left in `work`, or the infinite value that it had.
    """
    if a.kind != HULL and b.kind != HULL:  # which have too many faces for this
        try_faces(a, b, hulls, work, a.bound + b.bound)
        if work.value < 0.0 or (work.value < math.inf and is_least(a, b, hulls, work)):
            return SOLVED
        if work.value < math.inf and _is_midpoint_inside(a, b, hulls, work):
            return UNSOLVED
    value = work.value
    status = solve_cylinder(a, b, hulls, work, unit(_between_centers(a, b, work.X_AB)))
    if status == UNSOLVED:
        work.value = value
    return int(status)


@device
def _is_midpoint_inside(a: Array, b: Array, hulls: Hulls, work: Array) -> bool:
    """Whether the point between both points of the solution is inside of both cores, so that they overlap."""
    X_AB = work.X_AB
    p_A = add((work.p_ACa[0], work.p_ACa[1], work.p_ACa[2]), (work.p_ACb[0], work.p_ACb[1], work.p_ACb[2]))
    p_A = scaled(p_A, 0.5)
    p_B = rotated_back(X_AB, subtract(p_A, (X_AB[9], X_AB[10], X_AB[11])))
    return bool(contains(a, hulls, p_A, 0.0) and contains(b, hulls, p_B, 0.0))


@device
def _is_smooth(a: Array, b: Array) -> bool:
    """Whether these are ellipsoids, or one is and the other a segment."""
    if a.kind == ELLIPSOID:
        return bool(b.kind == ELLIPSOID or b.kind == SEGMENT)
    return bool(b.kind == ELLIPSOID and a.kind == SEGMENT)


@device
def set_inverse_pose(X_AB: Array, X_BA: Array) -> None:
    """X_BA = X_AB^-1."""
    for r in range(3):
        for c in range(3):
            X_BA[3 * r + c] = X_AB[3 * c + r]
        X_BA[9 + r] = -(X_AB[r] * X_AB[9] + X_AB[3 + r] * X_AB[10] + X_AB[6 + r] * X_AB[11])


@inlined
def _between_centers(a: Array, b: Array, X_AB: Array) -> Vector3:
    """From the center of A to that of B."""
    center_B = add(rotated(X_AB, (b.center_0, b.center_1, b.center_2)), (X_AB[9], X_AB[10], X_AB[11]))
    return subtract(center_B, (a.center_0, a.center_1, a.center_2))


@device
def _start(a: Array, b: Array, X_AB: Array) -> Vector3:
    """Where refine.py starts from: the minimum of h for ellipsoids in place of A and B, or near to it."""
    p = _between_centers(a, b, X_AB)
    matrix = ellipsoid_matrix((b.half_0, b.half_1, b.half_2), axis(X_AB, 0), axis(X_AB, 1), axis(X_AB, 2))
    matrix = add_diagonal(matrix, a.half_0, a.half_1, a.half_2)
    return unit(minimum_of_ellipsoids(matrix, p, a.bound + b.bound))
