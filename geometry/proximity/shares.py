"""What each point of a contact manifold is worth: its share of all that the pair of geometries can carry.

Let a polygon of area A, which lies on the other geometry, rest on the reference face. With its centroid, each of its
sides makes a triangle of area T_i. Half of each is what the corner at either end stands for:

    a_i = (T_(i-1) + T_i) / (2 A)                                                          (1)

These sum to 1, and what presses evenly on the polygon presses on its corners so shared: sum_i a_i p_i is the centroid.
A line has a_i = 1/2 at either end.

A polygon that leans on an edge or a corner rests on that, however large the rest may be: what corners stand for runs
down where the polygon is steep. With the depths d_i of the corners, their distances r_ij and theta_ij, the angle
between the line from i to j and the reference face, corner i hands on to each corner j that is deeper

    s_i (1 - min_j f_ij) g_ij / sum_j g_ij,  g_ij = a_j (1 - f_ij) / r_ij^2,  f_ij = fade(sin(theta_ij) / sin(theta_0))

with fade(x) = (1 - x^2)^2 for |x| < 1, or else 0                                          (2)

and keeps the rest; the highest corner begins. The sum of all s_i stays 1, whether the points touch yet or not. So from
an angle theta_0 on all that the pair can carry is at its lowest edge or corner; below, k sum_i s_i max(0, d_i) changes
continuously with the angle, and for small angles the shares do not change to first order: a box that rocks on its face
stands on springs that stay as stiff as they are, as solvers take them to be. A corner that is cut off becomes two,
which have its share between them.

Likewise, where the normal of the pair leaves that of the face by an angle alpha, the part 1 - fade(sin(alpha) /
sin(theta_0)) of everything is at the deepest corner: at theta_0 the pair has one point only.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.framework.native.memory.by_value import larger, smaller
from merganser.framework.native.memory.hinted_types import FloatTable
from merganser.geometry.proximity.layout import ShapeWork
from merganser.geometry.proximity.vectors import Vector3, add, cross, dot, subtract, sum_scaled

ALIGNED = 0.999  # cosine of the angle between the normal of the pair and that of its reference face
STEEP = math.sqrt(1.0 - ALIGNED**2)  # its sine; what leans as much on a face rests on an edge or a corner
NO_SHARE = 1e-9  # what is worth less is no point
_LEAST = 1e-12  # area share with which a corner takes over what others hand on
_FLAT = 1e-24  # squared area over the fourth power of the size, below which a polygon is a line


@device
def fade(square: float) -> float:
    """fade(x) of equation (2), from x^2."""
    rest = larger(0.0, 1.0 - square)
    return rest * rest


@device
def set_shares(work: ShapeWork, count: int, normal: Vector3, pair_normal: Vector3, steep: float) -> None:
    """Writes into `share` of work what the points in `clipped` with their `depth` are worth: equations (1) and (2).

    Args:
        work: record of work_dtype; the points are in the order in which they stand around the polygon.
        count: of the points.
        normal: of the reference face.
        pair_normal: of the pair, along which it is least deep.
        steep: sin(theta_0).
    """
    _set_area_shares(work, count, normal)
    for i in range(count):
        work.waiting[i], work.area_share[i] = work.depth[i], work.share[i]
    for _ in range(count - 1):
        highest = 0
        for i in range(count):
            if work.waiting[i].real < work.waiting[highest].real:
                highest = i
        _hand_on(work, count, highest, normal, steep)
        work.waiting[highest] = math.inf
    part = cross(normal, pair_normal)
    aligned = fade(dot(part, part) / (steep * steep))
    if aligned.real < 1.0:
        deepest = 0
        for i in range(count):
            work.share[i] *= aligned
            if work.depth[i].real > work.depth[deepest].real:
                deepest = i
        work.share[deepest] += 1.0 - aligned


@device
def _hand_on(work: ShapeWork, count: int, i: int, normal: Vector3, steep: float) -> None:
    """Takes from corner i what it hands on to deeper ones."""
    weights = work.spacing
    kept, total = 1.0 + 0.0 * work.share[i], 0.0 * work.share[i]
    for j in range(count):
        if work.depth[j].real > work.depth[i].real:
            flat, weights[j] = _steepness(work, i, j, normal, steep)
            kept, total = smaller(kept, flat), total + weights[j]
    if kept.real > 1.0 - NO_SHARE:
        return
    by_weight = (1.0 - kept) * work.share[i] / total
    for j in range(count):
        if work.depth[j].real > work.depth[i].real:
            work.share[j] += by_weight * weights[j]
    work.share[i] *= kept


@device
def _steepness(work: ShapeWork, i: int, j: int, normal: Vector3, steep: float) -> tuple[float, float]:
    """f_ij and g_ij of equation (2)."""
    side, drop = _side(work, i, j, normal), work.depth[j] - work.depth[i]
    squared = dot(side, side)
    if not squared.real > 0.0:
        return 1.0 + 0.0 * squared, 0.0 * squared
    flat = fade(drop * drop / (squared * steep * steep))
    return flat, larger(_LEAST, work.area_share[j]) * (1.0 - flat) / squared


@device
def _set_area_shares(work: ShapeWork, count: int, normal: Vector3) -> None:
    """Writes the shares of equation (1), from twice the area of the polygon as a vector N and its centroid c.

    With corners u_i and c from the first of them, N . (u_i - c) x (u_j - c) = N . u_i x u_j + (u_i - u_j) . (N x c).
    """
    for i in range(count):
        work.share[i] = 1.0 / count
    if count < 3:
        return
    area, size, u = (0.0, 0.0, 0.0), 0.0, _side(work, 0, 1, normal)
    for i in range(2, count):  # a fan of triangles
        v = _side(work, 0, i, normal)
        area, size, u = add(area, cross(u, v)), max(size, dot(u, u).real, dot(v, v).real), v
    squared = dot(area, area)
    if squared.real <= _FLAT * size * size:
        return
    middle, u = (0.0, 0.0, 0.0), _side(work, 0, 1, normal)
    for i in range(2, count):
        v = _side(work, 0, i, normal)
        middle, u = sum_scaled(middle, add(u, v), dot(cross(u, v), area) / (3.0 * squared)), v
    turned, u = cross(area, middle), _side(work, 0, 1, normal)
    first = before = -dot(u, turned)
    for i in range(1, count):
        if i + 1 < count:
            v = _side(work, 0, i + 1, normal)
            after = dot(cross(u, v), area) + dot(subtract(u, v), turned)
            u = v
        else:
            after = dot(u, turned)
        work.share[i] = 0.5 * (before + after) / squared
        before = after
    work.share[0] = 0.5 * (before + first) / squared


@device
def _side(work: ShapeWork, i: int, j: int, normal: Vector3) -> Vector3:
    """From corner i to corner j of the polygon: the points lie halfway between it and the reference face."""
    p = work.clipped[i, 0], work.clipped[i, 1], work.clipped[i, 2]
    q = work.clipped[j, 0], work.clipped[j, 1], work.clipped[j, 2]
    return sum_scaled(subtract(q, p), normal, -0.5 * (work.depth[j] - work.depth[i]))


@device
def keep(
    work: ShapeWork, count: int, normal: Vector3, pair_normal: Vector3, margin: float, steep: float, most: int
) -> int:
    """Gives each of the corners its share, and keeps those that are deep enough; returns how many there are.

    Args:
        work: with the corners in `clipped` and `depth`.
        count: of the corners.
        normal: of the reference face.
        pair_normal: of the pair.
        margin: points up to so far outside count [m].
        steep: sine of the angle from which on they rest on an edge or a corner.
        most: so many are kept at most.
    """
    if count == 0:
        return 0
    set_shares(work, count, normal, pair_normal, steep)
    return keep_deep(work, count, margin, most)


@device
def keep_deep(work: ShapeWork, count: int, margin: float, most: int) -> int:
    """Keeps, of corners that have their shares, those that are deep enough; see keep()."""
    kept = 0
    for i in range(count):
        if work.depth[i].real >= -margin and work.share[i].real > NO_SHARE:
            _move(work, i, kept)
            kept += 1
    return _thin_out(work, kept, most) if kept > most else kept


@device
def _move(work: ShapeWork, i: int, j: int) -> None:
    set_corner(work.clipped, j, corner(work.clipped, i))
    work.depth[j], work.share[j] = work.depth[i], work.share[i]


@device
def _thin_out(work: ShapeWork, count: int, most: int) -> int:
    """Keeps `most` points: the deepest, and one after the other those farthest from all that are kept.

    The others leave their shares to the nearest of these. Where these are not as deep, all shares change by a factor
    that leaves the sum of share times depth as it was: corners come and go, and the force stays.
    """
    pressure = _pressure(work, count)
    deepest = 0
    for i in range(count):
        if work.depth[i].real > work.depth[deepest].real:
            deepest = i
    _swap(work, 0, deepest)
    nearest = work.spacing  # squared distance of each to those that are kept
    for i in range(1, count):
        nearest[i] = math.inf
    for kept in range(1, most):
        farthest = kept
        for i in range(kept, count):
            step = subtract(corner(work.clipped, i), corner(work.clipped, kept - 1))
            nearest[i] = smaller(nearest[i], dot(step, step))
            if nearest[i].real > nearest[farthest].real:
                farthest = i
        _swap(work, kept, farthest)
        nearest[farthest] = nearest[kept]
    for i in range(most, count):
        heir, least = 0, math.inf
        for kept in range(most):
            step = subtract(corner(work.clipped, i), corner(work.clipped, kept))
            if dot(step, step).real < least:
                heir, least = kept, dot(step, step).real
        work.share[heir] += work.share[i]
    of_kept = _pressure(work, most)
    if of_kept.real > 0.0:
        for kept in range(most):
            work.share[kept] *= pressure / of_kept
    return most


@device
def _pressure(work: ShapeWork, count: int) -> float:
    """The elastic force of all points over the stiffness of the pair."""
    total = 0.0
    for i in range(count):
        total += work.share[i] * larger(0.0, work.depth[i])
    return total


@device
def _swap(work: ShapeWork, i: int, j: int) -> None:
    p, q = corner(work.clipped, i), corner(work.clipped, j)
    set_corner(work.clipped, i, q)
    set_corner(work.clipped, j, p)
    depth, share = work.depth[i], work.share[i]
    work.depth[i], work.share[i] = work.depth[j], work.share[j]
    work.depth[j], work.share[j] = depth, share


@device
def corner(polygon: FloatTable, i: int) -> Vector3:
    return polygon[i, 0], polygon[i, 1], polygon[i, 2]


@device
def set_corner(polygon: FloatTable, i: int, p: Vector3) -> None:
    polygon[i, 0], polygon[i, 1], polygon[i, 2] = p[0], p[1], p[2]
