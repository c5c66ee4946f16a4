"""Pairs that have no formula, or for which it does not do: curved cores, hulls, segments and boxes that just touch."""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.shared_code import shared
from merganser.geometry.proximity.expanding_polytope import deepest
from merganser.geometry.proximity.features import try_faces
from merganser.geometry.proximity.gjk import solve_polytopes
from merganser.geometry.proximity.layout import BOX, HULL, INEXACT, SOLVED, UNSOLVED, Hulls, Pose, Shape, ShapeWork
from merganser.geometry.proximity.refine import refine
from merganser.geometry.proximity.supports import is_curved, rolling_radius
from merganser.geometry.proximity.vectors import Vector3, add, axis, cross, dot, rotated, scaled, subtract, unit

_LEAST_SHIFT = 1e-3  # of the trace, so that flat shapes have an inverse, too


@shared(int)
def search(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork) -> int:
    """Writes the solution for a pair; returns a status. X_AB is given.

    For segments and boxes normal and value are those of the lowest side, where it starts.
    """
    has_sides = a.kind <= BOX and b.kind <= BOX
    if not has_sides and not is_curved(a) and not is_curved(b):
        status = solve_polytopes(a, b, hulls, work, unit(between_centers(a, b, work.X_AB)))
        if status != UNSOLVED:
            return status
    set_inverse_pose(work.X_AB, work.X_BA)
    is_minimum = True
    if has_sides:
        is_minimum = refine(a, b, hulls, work, (work.normal[0], work.normal[1], work.normal[2]))
    else:
        work.value, work.bundle = math.inf, 0
        if a.kind != HULL and b.kind != HULL:  # which have too many faces for this
            try_faces(a, b, hulls, work, a.bound + b.bound)
        if not work.value < math.inf:
            is_minimum = refine(a, b, hulls, work, _start(a, b, work.X_AB))
    # Below the radius of a ball that rolls inside A - B there is one minimum only: h less this radius is the support
    # function of a convex set, from which the origin is apart. Nor is there another where A and B are apart.
    if has_sides or work.value < rolling_radius(a) + rolling_radius(b):
        return SOLVED if is_minimum else INEXACT
    return deepest(a, b, hulls, work, 0)


@device
def set_inverse_pose(X_AB: Pose, X_BA: Pose) -> None:
    """X_BA = X_AB^-1."""
    for r in range(3):
        for c in range(3):
            X_BA[3 * r + c] = X_AB[3 * c + r]
        X_BA[9 + r] = -(X_AB[r] * X_AB[9] + X_AB[3 + r] * X_AB[10] + X_AB[6 + r] * X_AB[11])


@inlined
def between_centers(a: Shape, b: Shape, X_AB: Pose) -> Vector3:
    """From the center of A to that of B."""
    center_B = add(rotated(X_AB, (b.center_0, b.center_1, b.center_2)), (X_AB[9], X_AB[10], X_AB[11]))
    return subtract(center_B, (a.center_0, a.center_1, a.center_2))


@device
def _start(a: Shape, b: Shape, X_AB: Pose) -> Vector3:
    """Where refine.py starts from: about the minimum of h for ellipsoids in place of A and B.

    With M1, M2 the matrices R S^2 R^T of their semi-axes and s = sqrt(n . M n), (M1 / s1 + M2 / s2 + d) n = c at the
    minimum for centers c apart and the distance d. Here both s are half the size, and d is about what it leaves of |c|.
    """
    c, size = between_centers(a, b, X_AB), a.bound + b.bound
    u, v, w = scaled(axis(X_AB, 0), b.half_0), scaled(axis(X_AB, 1), b.half_1), scaled(axis(X_AB, 2), b.half_2)
    x, y, z = a.half_0 * a.half_0, a.half_1 * a.half_1, a.half_2 * a.half_2
    trace = x + y + z + dot(u, u) + dot(v, v) + dot(w, w)
    shift = 0.25 * max(dot(c, c) - size * size, 0.0) + _LEAST_SHIFT * trace
    xy = u[0] * u[1] + v[0] * v[1] + w[0] * w[1]
    xz = u[0] * u[2] + v[0] * v[2] + w[0] * w[2]
    yz = u[1] * u[2] + v[1] * v[2] + w[1] * w[2]
    row_x = (x + shift + u[0] * u[0] + v[0] * v[0] + w[0] * w[0], xy, xz)
    row_y = (xy, y + shift + u[1] * u[1] + v[1] * v[1] + w[1] * w[1], yz)
    row_z = (xz, yz, z + shift + u[2] * u[2] + v[2] * v[2] + w[2] * w[2])
    return unit((dot(cross(row_y, row_z), c), dot(cross(row_z, row_x), c), dot(cross(row_x, row_y), c)))
