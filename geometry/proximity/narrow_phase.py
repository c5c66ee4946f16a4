"""Signed distance, normal and closest points of pairs of geometries."""

from __future__ import annotations

import math
from typing import TypeAlias

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.memory.hinted_types import Poses
from merganser.geometry.proximity.broad_phase import turned_box_gap
from merganser.geometry.proximity.closed_forms import solve_half_space, solve_primitives
from merganser.geometry.proximity.gjk import are_near
from merganser.geometry.proximity.layout import (
    BOX,
    ELLIPSOID,
    HALF_SPACE,
    HEIGHT_FIELD,
    POINT,
    SOLVED,
    UNBOUNDED,
    UNSOLVED,
    Geometries,
    Hulls,
    Pose,
    SearchWork,
    Shape,
    ShapeWork,
)
from merganser.geometry.proximity.points import point_to_core
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.search import between_centers, search
from merganser.geometry.proximity.terrain.pairs import solve_terrain
from merganser.geometry.proximity.vectors import Array, Vector3, dot, unit

Vector4: TypeAlias = tuple[float, float, float, float]
_SLACK = 1e-6  # [m], or of a margin: of what may touch in one lane, that lane decides alone


@inlined
def set_relative_pose(X_WG: Poses, i: int, j: int, X_AB: Pose) -> None:
    """X_AB = X_WA^-1 X_WB of geometries A (i) and B (j)."""
    a, b, c = _relative_rows(X_WG, i, j)
    X_AB[0], X_AB[1], X_AB[2], X_AB[9] = a
    X_AB[3], X_AB[4], X_AB[5], X_AB[10] = b
    X_AB[6], X_AB[7], X_AB[8], X_AB[11] = c


@inlined
def _relative_rows(X_WG: Poses, i: int, j: int) -> tuple[Vector4, Vector4, Vector4]:
    """The rows of X_AB: the difference of the origins comes first, so that offsets do not matter."""
    # All is read before something is written: otherwise compiled code reads it again after each number that it writes.
    x, y, z = _row(X_WG, j, 0), _row(X_WG, j, 1), _row(X_WG, j, 2)
    u, v, w = _row(X_WG, i, 0), _row(X_WG, i, 1), _row(X_WG, i, 2)
    p = x[3] - u[3], y[3] - v[3], z[3] - w[3]
    return (
        _combined(u[0], v[0], w[0], x, y, z, p),
        _combined(u[1], v[1], w[1], x, y, z, p),
        _combined(u[2], v[2], w[2], x, y, z, p),
    )


@inlined
def _row(X_WG: Poses, i: int, r: int) -> Vector4:
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
def solve_pair(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, is_rough: bool) -> int:
    """Writes the solution for the cores of a pair into `work`; returns a status.

    Args:
        a: geometry A.
        b: geometry B.
        hulls: vertices of hulls.
        work: X_AB is given.
        is_rough: whether it may be UNSOLVED: then the points are missing, and of cores that are apart the distance is
            at least minus the value.
    """
    if max(a.kind, b.kind) >= HEIGHT_FIELD:
        return solve_terrain(a, b, hulls, work) if min(a.kind, b.kind) < HALF_SPACE else UNBOUNDED
    if a.kind == HALF_SPACE or b.kind == HALF_SPACE:
        return solve_half_space(a, b, hulls, work)
    status = UNSOLVED
    if a.kind <= ELLIPSOID and b.kind <= ELLIPSOID:
        status = solve_primitives(a, b, hulls, work, is_rough)
    if status != UNSOLVED or (is_rough and a.kind <= BOX and b.kind <= BOX):
        return status
    return search(a, b, hulls, work)


@inlined
def write_result(a: Shape, b: Shape, X_WG: Poses, i: int, j: int, work: ShapeWork, out: Array) -> None:
    """Adds the rounding radii to the solution, and turns it to the world and to B."""
    n = (work.normal[0], work.normal[1], work.normal[2])
    p_A = (work.p_ACa[0], work.p_ACa[1], work.p_ACa[2])
    p_B = (work.p_ACb[0], work.p_ACb[1], work.p_ACb[2])
    u, v, w = _row(X_WG, i, 0), _row(X_WG, i, 1), _row(X_WG, i, 2)
    n_W = dot(u[:3], n), dot(v[:3], n), dot(w[:3], n)
    p_WA = u[3] + dot(u[:3], p_A), v[3] + dot(v[:3], p_A), w[3] + dot(w[:3], p_A)
    p_WB = u[3] + dot(u[:3], p_B), v[3] + dot(v[:3], p_B), w[3] + dot(w[:3], p_B)
    radius_a, radius_b = a.radius, b.radius
    out.distance = 0.0 - work.value - radius_a - radius_b  # not -0.0
    for r in range(3):
        out.nhat_BA_W[r] = 0.0 - n_W[r]
        out.p_WCa[r], out.p_WCb[r] = p_WA[r] + radius_a * n_W[r], p_WB[r] - radius_b * n_W[r]
        out.p_ACa[r] = p_A[r] + radius_a * n[r]
    for c in range(3):
        out.p_BCb[c] = 0.0
        for r in range(3):
            out.p_BCb[c] += X_WG[j, r, c] * (out.p_WCb[r] - X_WG[j, r, 3])
    out.row_a, out.row_b = i, j


@kernel
def signed_distances(
    # Model:
    geometries: Geometries,  # geometry_dtype, shape [num_geometries]
    hulls: Hulls,
    # In:
    X_WG: Poses,  # shape [num_geometries, 4, 4]
    pairs: Array,  # rows of geometries, shape [>= num_pairs, 2]
    num_pairs: int,
    max_distance: float,  # of pairs that count; all do if it is infinite [m]
    tolerance: float,  # by how much less it is for pairs without a sphere [m]
    # Work:
    work: ShapeWork,  # work_dtype, shape [1]
    # Out:
    results_out: Array,  # distance_dtype, shape [>= num_pairs]
) -> int:
    """Signed distance, normal and closest points of each pair that counts, in their order; returns how many do."""
    w = work[0]
    count = 0
    for k in range(num_pairs):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = geometries[i], geometries[j]
        set_relative_pose(X_WG, i, j, w.X_AB)
        results_out[count].status = solve_pair(a, b, hulls, w, False)
        write_result(a, b, X_WG, i, j, w, results_out[count])
        is_exact = a.kind == POINT or b.kind == POINT
        if not results_out[count].distance > (max_distance if is_exact else max_distance - tolerance):
            count += 1
    return count


@kernel
def distances_to_point(
    # Model:
    geometries: Geometries,  # geometry_dtype, shape [n + 1]; the last one is the point Q
    hulls: Hulls,
    # In:
    X_WG: Poses,  # shape [n + 1, 4, 4]
    threshold: float,  # of distances that count; all do if it is infinite [m]
    # Work:
    work: ShapeWork,  # work_dtype, shape [1]
    # Out:
    results_out: Array,  # distance_dtype, shape [n]; A is the geometry, B is Q
) -> int:
    """What `signed_distances` finds of each geometry and Q, if it counts, in their order; returns how many do.

    Of geometries whose boxes are farther away nothing else is computed.
    """
    w, n = work[0], geometries.shape[0] - 1
    count = 0
    for i in range(n):
        a = geometries[i]
        set_relative_pose(X_WG, i, n, w.X_AB)
        q = (w.X_AB[9], w.X_AB[10], w.X_AB[11])
        if _is_box_farther(a, q, threshold):
            continue
        if a.kind == POINT:  # in this order its gradient at its center is that of the other shapes
            distance, m, nearest = point_to_core(a, q)
            set_solution(w, m, -distance, nearest, q)
            results_out[count].status = SOLVED
        else:
            results_out[count].status = solve_pair(a, geometries[n], hulls, w, False)
        write_result(a, geometries[n], X_WG, i, n, w, results_out[count])
        if not results_out[count].distance > threshold:
            count += 1
    return count


@inlined
def _is_box_farther(a: Shape, q: Vector3, threshold: float) -> bool:
    """Whether a point, in the frame of a geometry, is farther from its box than a threshold; never of half spaces."""
    if a.kind == HALF_SPACE:
        return False
    x = max(abs(q[0] - a.center_0) - a.half_0, 0.0)
    y = max(abs(q[1] - a.center_1) - a.half_1, 0.0)
    z = max(abs(q[2] - a.center_2) - a.half_2, 0.0)
    square = x * x + y * y + z * z
    reach = (threshold + a.radius) * (1.0 + 1e-12)
    return square > 0.0 and (reach < 0.0 or square > reach * reach)


@device
def calc_is_nearer(
    # Model:
    geometries: Geometries,  # geometry_dtype, shape [num_geometries]
    hulls: Hulls,
    # In:
    i: int,
    j: int,
    limit: float,  # signed distance [m]
    # In and work:
    work: SearchWork,  # work_dtype, shape [1]; in: X_AB of geometries A (i) and B (j)
) -> bool:
    """Whether two geometries are as near as a limit, or nearer."""
    a, b, w = geometries[i], geometries[j], work[0]
    reach = limit + a.radius + b.radius
    if reach >= 0.0 and min(a.kind, b.kind) >= BOX and BOX < max(a.kind, b.kind) < HALF_SPACE:
        decided = are_near(a, b, hulls, w, unit(between_centers(a, b, w.X_AB)), reach)
        if decided != UNSOLVED:
            return decided == 1
    status, is_rough, distance = UNSOLVED, True, 0.0
    while status == UNSOLVED:
        status = solve_pair(a, b, hulls, w, is_rough)
        distance = -w.value - a.radius - b.radius
        if distance > limit or not is_rough:
            break  # a rough distance is too small at most
        is_rough = False
    return distance <= limit


is_nearer = kernel(calc_is_nearer)


@inlined
def gap_of_boxes(geometries: Geometries, X_WG: Poses, i: int, j: int) -> tuple[tuple[float, ...], float]:
    """X_AB of two geometries, and how far their boxes are apart, at most their distance; less than any for half spaces.

    Boxes of what touches may seem apart by rounding: so compare with `wider` margins.
    """
    a, b, (u, v, w) = geometries[i], geometries[j], _relative_rows(X_WG, i, j)
    X_AB = u[0], u[1], u[2], v[0], v[1], v[2], w[0], w[1], w[2], u[3], v[3], w[3]
    gap = 0.0 * X_AB[0] - math.inf
    if a.kind != HALF_SPACE and b.kind != HALF_SPACE:
        gap = turned_box_gap(a, b, X_AB)
    return X_AB, gap


@inlined
def wider(margin: float) -> float:
    """A margin, and some rounding [m]."""
    return (1.0 + _SLACK) * margin + _SLACK
