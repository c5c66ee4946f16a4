"""Signed distance, normal and closest points of pairs of geometries."""

from __future__ import annotations

import math
from typing import TypeAlias

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.lanes import NUM_LANES
from merganser.framework.native.references import by_reference
from merganser.geometry.proximity.closed_forms import solve_half_space, solve_primitives
from merganser.geometry.proximity.cylinders import has_cylinder, solve_cylinder
from merganser.geometry.proximity.ellipsoid_pairs import add_diagonal, ellipsoid_matrix, minimum_of_ellipsoids
from merganser.geometry.proximity.expanding_polytope import deepest
from merganser.geometry.proximity.flat_features import contains, try_faces
from merganser.geometry.proximity.gjk import solve_polytopes
from merganser.geometry.proximity.lane_pairs import (
    choose_pairs,
    combination,
    goes_by_steps,
    polish,
    set_lane,
    take_solution,
    take_steps,
)
from merganser.geometry.proximity.layout import (
    BOX,
    ELLIPSOID,
    HALF_SPACE,
    HULL,
    INEXACT,
    POINT,
    SEGMENT,
    SOLVED,
    UNSOLVED,
    Hulls,
)
from merganser.geometry.proximity.proofs import is_least
from merganser.geometry.proximity.refine import refine
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

Vector4: TypeAlias = tuple[float, float, float, float]
Pose: TypeAlias = tuple[float, ...]

__all__ = ["begin_pairs", "set_inverse_pose", "set_relative_pose", "signed_distances", "solve_pair"]


@inlined
def set_relative_pose(X_WG: Array, i: int, j: int, X_AB: Array) -> None:
    """X_AB = X_WA^-1 X_WB of geometries A (i) and B (j)."""
    X = _relative_pose(X_WG, i, j)
    X_AB[0], X_AB[1], X_AB[2], X_AB[9] = X[0], X[1], X[2], X[9]
    X_AB[3], X_AB[4], X_AB[5], X_AB[10] = X[3], X[4], X[5], X[10]
    X_AB[6], X_AB[7], X_AB[8], X_AB[11] = X[6], X[7], X[8], X[11]


@inlined
def _relative_pose(X_WG: Array, i: int, j: int) -> Pose:
    """X_AB; the difference of the origins comes first, so that offsets do not matter."""
    # All is read before something is written: otherwise compiled code reads it anew after each number that it writes.
    x, y, z = _row(X_WG, j, 0), _row(X_WG, j, 1), _row(X_WG, j, 2)
    u, v, w = _row(X_WG, i, 0), _row(X_WG, i, 1), _row(X_WG, i, 2)
    p = x[3] - u[3], y[3] - v[3], z[3] - w[3]
    a = _combined(u[0], v[0], w[0], x, y, z, p)
    b = _combined(u[1], v[1], w[1], x, y, z, p)
    c = _combined(u[2], v[2], w[2], x, y, z, p)
    return a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2], a[3], b[3], c[3]


@inlined
def _row(X_WG: Array, i: int, r: int) -> Vector4:
    return X_WG[i, r, 0], X_WG[i, r, 1], X_WG[i, r, 2], X_WG[i, r, 3]


@inlined
def _combined(u: float, v: float, w: float, x: Vector4, y: Vector4, z: Vector4, p: Vector3) -> Vector4:
    """Column (u, v, w) times the columns of the rotation with rows x, y, z, and p."""
    return (
        u * x[0] + v * y[0] + w * z[0],
        u * x[1] + v * y[1] + w * z[1],
        u * x[2] + v * y[2] + w * z[2],
        u * p[0] + v * p[1] + w * p[2],
    )


@inlined
def begin_pairs(work: Array) -> None:
    """To be called before the first of several pairs is solved."""
    for number in range(work.num_ahead.shape[0]):
        work.num_ahead[number], work.next_lane[number] = 0, 0


@inlined
def solve_pair(
    geometries: Array, hulls: Hulls, X_WG: Array, pairs: Array, k: int, num_pairs: int, work: Array, is_rough: bool
) -> int:
    """Writes the solution for the cores of pair number k into `work`; returns a status.

    The pose X_AB is written, too, unless the pair goes by steps.

    All pairs are to be solved once, in their order: some that follow are solved with this one, which is faster.

    If it may be rough, it may be UNSOLVED: then the points are missing, and of cores that are apart the distance is at
    least minus the value.
    """
    i, j = pairs[k, 0], pairs[k, 1]
    a, b = geometries[i], geometries[j]
    status = UNSOLVED
    if goes_by_steps(a.kind, b.kind):
        number = combination(a.kind, b.kind)
        lane = work.next_lane[number]
        if lane == work.num_ahead[number]:
            _solve_ahead(geometries, hulls, X_WG, pairs, k, num_pairs, work)
            lane = 0
        work.next_lane[number] = lane + 1
        status = take_solution(work, number, lane)
        if status == UNSOLVED:
            set_relative_pose(X_WG, i, j, work.X_AB)
    else:
        set_relative_pose(X_WG, i, j, work.X_AB)
        if a.kind <= ELLIPSOID and b.kind <= ELLIPSOID:
            status = solve_primitives(a, b, work, is_rough)
    if status != UNSOLVED:
        return status
    return _search(a, b, hulls, work, is_rough)


@device
def _solve_ahead(
    geometries: Array, hulls: Hulls, X_WG: Array, pairs: Array, k: int, num_pairs: int, work: Array
) -> None:
    """Takes steps for pair number k and some of those after it that are of the same kinds."""
    count = choose_pairs(geometries, pairs, k, num_pairs, work)
    a, b = geometries[pairs[k, 0]], geometries[pairs[k, 1]]
    for lane in range(NUM_LANES):
        row = work.chosen[min(lane, count - 1)]
        i, j = pairs[row, 0], pairs[row, 1]
        set_lane(geometries[i], geometries[j], _relative_pose(X_WG, i, j), work.lanes, lane)
    take_steps(a, b, hulls, work, False)
    work.num_ahead[combination(a.kind, b.kind)] = count


@device
def _search(a: Array, b: Array, hulls: Hulls, work: Array, is_rough: bool) -> int:
    """What `solve_pair` does, for pairs that have no formula, and for half spaces."""
    if a.kind == HALF_SPACE or b.kind == HALF_SPACE:
        return solve_half_space(a, b, hulls, work)
    has_sides = a.kind <= BOX and b.kind <= BOX
    if not has_sides and not is_curved(a) and not is_curved(b):
        status = solve_polytopes(a, b, hulls, work, unit(_between_centers(a, b, work.X_AB)))
        if status != UNSOLVED:
            return status
    set_inverse_pose(work.X_AB, work.X_BA)
    if has_sides:
        if is_rough:
            return UNSOLVED
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


@inlined
def write_result(a: Array, b: Array, X_WG: Array, i: int, j: int, work: Array, out: Array) -> None:
    """Adds the rounding radii to the solution, and turns it to the world and to B."""
    n = (work.normal[0], work.normal[1], work.normal[2])
    p_A = (work.p_ACa[0], work.p_ACa[1], work.p_ACa[2])
    p_B = (work.p_ACb[0], work.p_ACb[1], work.p_ACb[2])
    u, v, w = _row(X_WG, i, 0), _row(X_WG, i, 1), _row(X_WG, i, 2)
    n_W = dot(u[:3], n), dot(v[:3], n), dot(w[:3], n)
    p_WA = u[3] + dot(u[:3], p_A), v[3] + dot(v[:3], p_A), w[3] + dot(w[:3], p_A)
    p_WB = u[3] + dot(u[:3], p_B), v[3] + dot(v[:3], p_B), w[3] + dot(w[:3], p_B)
    radius_a, radius_b = a.radius, b.radius
    out.distance = -work.value - radius_a - radius_b
    for r in range(3):
        out.nhat_BA_W[r], out.p_WCa[r], out.p_WCb[r] = -n_W[r], p_WA[r] + radius_a * n_W[r], p_WB[r] - radius_b * n_W[r]
        out.p_ACa[r] = p_A[r] + radius_a * n[r]
    for c in range(3):
        out.p_BCb[c] = 0.0
        for r in range(3):
            out.p_BCb[c] += X_WG[j, r, c] * (out.p_WCb[r] - X_WG[j, r, 3])
    out.row_a, out.row_b = i, j


@kernel
def signed_distances(
    # Model:
    geometries: Array,  # geometry_dtype, shape [num_geometries]
    hulls: Hulls,
    # In:
    X_WG: Array,  # shape [num_geometries, 4, 4]
    pairs: Array,  # rows of geometries, shape [>= num_pairs, 2]
    num_pairs: int,
    max_distance: float,  # of pairs that count; all do if it is infinite [m]
    tolerance: float,  # by how much less it is for pairs without a sphere [m]
    # Work:
    work: Array,  # work_dtype, shape [1]
    # Out:
    results_out: Array,  # distance_dtype, shape [>= num_pairs]
) -> int:
    """Signed distance, normal and closest points of each pair that counts, in their order; returns how many do."""
    w = work[0]
    hulls = by_reference(hulls)
    begin_pairs(w)
    count = 0
    for k in range(num_pairs):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = geometries[i], geometries[j]
        results_out[count].status = solve_pair(geometries, hulls, X_WG, pairs, k, num_pairs, w, False)
        write_result(a, b, X_WG, i, j, w, results_out[count])
        is_exact = a.kind == POINT or b.kind == POINT
        if not results_out[count].distance > (max_distance if is_exact else max_distance - tolerance):
            count += 1
    return count
