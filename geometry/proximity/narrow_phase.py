"""Signed distance, normal and closest points of pairs of geometries."""

from __future__ import annotations

from typing import TypeAlias

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.lanes import NUM_LANES
from merganser.framework.native.references import by_reference
from merganser.geometry.proximity.closed_forms import solve_half_space, solve_primitives
from merganser.geometry.proximity.lane_pairs import (
    choose_pairs,
    combination,
    goes_by_steps,
    set_lane,
    take_solution,
    take_steps,
)
from merganser.geometry.proximity.layout import BOX, ELLIPSOID, HALF_SPACE, POINT, UNSOLVED, Hulls
from merganser.geometry.proximity.search import search
from merganser.geometry.proximity.vectors import Array, Vector3, dot

Vector4: TypeAlias = tuple[float, float, float, float]
Pose: TypeAlias = tuple[float, ...]

__all__ = ["begin_pairs", "set_relative_pose", "signed_distances", "solve_pair"]


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
        if a.kind == HALF_SPACE or b.kind == HALF_SPACE:
            return solve_half_space(a, b, hulls, work)
        if a.kind <= ELLIPSOID and b.kind <= ELLIPSOID:
            status = solve_primitives(a, b, hulls, work, is_rough)
    if status != UNSOLVED or (is_rough and a.kind <= BOX and b.kind <= BOX):
        return status
    return search(a, b, hulls, work)


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
