"""Signed distance, normal and closest points of pairs of geometries."""

from __future__ import annotations

import math

from merganser.framework.native import device, kernel
from merganser.geometry.proximity.closed_forms import solve_in_closed_form
from merganser.geometry.proximity.cylinders import has_cylinder, solve_cylinder
from merganser.geometry.proximity.expanding_polytope import deepest
from merganser.geometry.proximity.gjk import solve_polytopes
from merganser.geometry.proximity.layout import ELLIPSOID, INEXACT, SEGMENT, SOLVED, UNSOLVED, Hulls
from merganser.geometry.proximity.refine import refine
from merganser.geometry.proximity.separating_axes import is_zonotope, solve_zonotopes
from merganser.geometry.proximity.smooth import deepest_of_smooth
from merganser.geometry.proximity.supports import is_curved, rolling_radius
from merganser.geometry.proximity.vectors import Array, Vector3, add, axis, norm, rotated, subtract, unit

__all__ = ["set_relative_pose", "signed_distances", "solve_pair"]


@device
def set_relative_pose(X_WG: Array, i: int, j: int, X_AB: Array) -> None:
    """X_AB = X_WA^-1 X_WB of geometries A (i) and B (j); the difference comes first, so that offsets do not matter."""
    for r in range(3):
        for c in range(3):
            X_AB[3 * r + c] = (
                X_WG[i, 0, r] * X_WG[j, 0, c] + X_WG[i, 1, r] * X_WG[j, 1, c] + X_WG[i, 2, r] * X_WG[j, 2, c]
            )
        X_AB[9 + r] = (
            X_WG[i, 0, r] * (X_WG[j, 0, 3] - X_WG[i, 0, 3])
            + X_WG[i, 1, r] * (X_WG[j, 1, 3] - X_WG[i, 1, 3])
            + X_WG[i, 2, r] * (X_WG[j, 2, 3] - X_WG[i, 2, 3])
        )


@device
def solve_pair(a: Array, b: Array, hulls: Hulls, work: Array, is_rough: bool) -> int:
    """Writes the solution for the cores of A and B, posed by X_AB, into `work`; returns a status.

    If it may be rough, it may be UNSOLVED: then the points are missing, and of cores that are apart the distance is at
    least minus the value.
    """
    status = solve_in_closed_form(a, b, hulls, work)
    if status != UNSOLVED:
        return status
    _set_inverse_pose(work.X_AB, work.X_BA)
    has_sides = is_zonotope(a) and is_zonotope(b)
    if has_sides:
        status = solve_zonotopes(a, b, hulls, work)
        if status != UNSOLVED or is_rough:
            return status
        n = (work.normal[0], work.normal[1], work.normal[2])
    else:
        n = _start(a, b, work.X_AB)
        if not is_curved(a) and not is_curved(b):
            status = solve_polytopes(a, b, hulls, work, n)
            if status != UNSOLVED:
                return status
        if has_cylinder(a, b):
            status = solve_cylinder(a, b, hulls, work, n)
            if status != UNSOLVED:
                return status
    # Below the radius of a ball that rolls inside A - B there is one minimum only: h less this radius is the support
    # function of a convex set, from which the origin is apart. Nor is there another where A and B are apart.
    solved = refine(a, b, hulls, work, n)
    if has_sides or work.value < rolling_radius(a) + rolling_radius(b):
        return SOLVED if solved else INEXACT
    if _is_smooth(a, b):
        return deepest_of_smooth(a, b, hulls, work)
    return deepest(a, b, hulls, work, 0)


@device
def _is_smooth(a: Array, b: Array) -> bool:
    """Whether these are ellipsoids, or one is and the other a segment."""
    if a.kind == ELLIPSOID:
        return bool(b.kind == ELLIPSOID or b.kind == SEGMENT)
    return bool(b.kind == ELLIPSOID and a.kind == SEGMENT)


@device
def _set_inverse_pose(X_AB: Array, X_BA: Array) -> None:
    for r in range(3):
        for c in range(3):
            X_BA[3 * r + c] = X_AB[3 * c + r]
        X_BA[9 + r] = -(X_AB[r] * X_AB[9] + X_AB[3 + r] * X_AB[10] + X_AB[6 + r] * X_AB[11])


@device
def _start(a: Array, b: Array, X_AB: Array) -> Vector3:
    """Where refine.py starts from: the minimum of h for ellipsoids in place of A and B, or near to it.

    With semi-axes S_A and S_B and M = S_A^2 + R S_B^2 R^T, h(n) = sqrt(n . M n) - n . p is about the support function
    of A - B; at its minimum, where it is -d, (M / sqrt(n . M n) + d) n = p.
    """
    center_A = (a.center_0, a.center_1, a.center_2)
    center_B = add(rotated(X_AB, (b.center_0, b.center_1, b.center_2)), (X_AB[9], X_AB[10], X_AB[11]))
    p = subtract(center_B, center_A)
    u, v, w = axis(X_AB, 0), axis(X_AB, 1), axis(X_AB, 2)
    s_u, s_v, s_w = b.half_0 * b.half_0, b.half_1 * b.half_1, b.half_2 * b.half_2
    xx = a.half_0 * a.half_0 + s_u * u[0] * u[0] + s_v * v[0] * v[0] + s_w * w[0] * w[0]
    yy = a.half_1 * a.half_1 + s_u * u[1] * u[1] + s_v * v[1] * v[1] + s_w * w[1] * w[1]
    zz = a.half_2 * a.half_2 + s_u * u[2] * u[2] + s_v * v[2] * v[2] + s_w * w[2] * w[2]
    xy = s_u * u[0] * u[1] + s_v * v[0] * v[1] + s_w * w[0] * w[1]
    xz = s_u * u[0] * u[2] + s_v * v[0] * v[2] + s_w * w[0] * w[2]
    yz = s_u * u[1] * u[2] + s_v * v[1] * v[2] + s_w * w[1] * w[2]
    n = unit(p)
    square = xx * n[0] * n[0] + yy * n[1] * n[1] + zz * n[2] * n[2]
    square += 2.0 * (xy * n[0] * n[1] + xz * n[0] * n[2] + yz * n[1] * n[2])
    h = math.sqrt(square)
    shift = h * max(0.0, norm(p) - h) + 1e-3 * (xx + yy + zz)
    xx, yy, zz = xx + shift, yy + shift, zz + shift
    return unit(
        (
            (yy * zz - yz * yz) * p[0] + (xz * yz - xy * zz) * p[1] + (xy * yz - xz * yy) * p[2],
            (xz * yz - xy * zz) * p[0] + (xx * zz - xz * xz) * p[1] + (xy * xz - xx * yz) * p[2],
            (xy * yz - xz * yy) * p[0] + (xy * xz - xx * yz) * p[1] + (xx * yy - xy * xy) * p[2],
        )
    )


@device
def write_result(a: Array, b: Array, X_WG: Array, i: int, work: Array, out: Array) -> None:
    """Adds the rounding radii to the solution, and turns it to the world."""
    out.distance = -work.value - a.radius - b.radius
    for r in range(3):
        n_W = X_WG[i, r, 0] * work.normal[0] + X_WG[i, r, 1] * work.normal[1] + X_WG[i, r, 2] * work.normal[2]
        p_A = X_WG[i, r, 0] * work.p_ACa[0] + X_WG[i, r, 1] * work.p_ACa[1] + X_WG[i, r, 2] * work.p_ACa[2]
        p_B = X_WG[i, r, 0] * work.p_ACb[0] + X_WG[i, r, 1] * work.p_ACb[1] + X_WG[i, r, 2] * work.p_ACb[2]
        out.nhat_BA_W[r] = -n_W
        out.p_WCa[r] = X_WG[i, r, 3] + p_A + a.radius * n_W
        out.p_WCb[r] = X_WG[i, r, 3] + p_B - b.radius * n_W


@kernel
def signed_distances(
    # Model:
    geometries: Array,  # geometry_dtype, shape [num_geometries]
    hulls: Hulls,
    # In:
    X_WG: Array,  # shape [num_geometries, 4, 4]
    pairs: Array,  # rows of geometries, shape [>= num_pairs, 2]
    num_pairs: int,
    # Work:
    work: Array,  # work_dtype, shape [1]
    # Out:
    results_out: Array,  # distance_dtype, shape [>= num_pairs]
) -> None:
    """Signed distance, normal and closest points of each pair."""
    w = work[0]
    for k in range(num_pairs):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = geometries[i], geometries[j]
        set_relative_pose(X_WG, i, j, w.X_AB)
        status = solve_pair(a, b, hulls, w, False)
        results_out[k].status = status
        write_result(a, b, X_WG, i, w, results_out[k])
