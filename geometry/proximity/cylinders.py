"""Distance of a cylinder from a segment, box or hull, if they are apart.

The distance f of a point to a cylinder has a formula, and is convex (points.py), so one looks for its minimum over the
vertices, edges and triangles of the other core P. With x the least over the simplex that is known and g = grad f(x),

    f(q) >= f(x) + g . (q - x) >= f(x) - g . (x - w)    for all q in P, w = support point of P along -g       (1)

so x is the solution if g . (x - w) is zero; else w joins the simplex, and vertices that are not needed leave it
(Wolfe 1976, Finding the nearest point in a polytope, for f the distance to a point). As P has finitely many vertices,
this ends at the very solution. The least of f over an edge lies beside the mantle, where it is that of two lines, or
beside a rim, where f' is monotone and Newton's method finds it; that within a triangle is where the cylinder reaches
farthest along its normal.
"""

from __future__ import annotations

import math

from numba import types

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.flat_features import set_from_other_frame
from merganser.geometry.proximity.layout import CYLINDER, HULL, SOLVED, UNSOLVED, Hulls
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.shared_code import shared
from merganser.geometry.proximity.supports import piece_vertex, support_piece
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    cross,
    dot,
    negated,
    rotated,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
)

__all__ = ["is_cylinder_and_polytope", "solve_cylinder"]

_MAX_VERTICES = 40
_MAX_STEPS = 60
_GAP = 1e-15  # of the size: (1) that counts as zero
_NEAR = 1e-7  # of the size: below this distance its gradient beside a rim is uncertain
_LAST_STEP = 1e-8  # of an edge, after which none follows if it is one of Newton's method


@device
def is_cylinder_and_polytope(a: Array, b: Array) -> bool:
    """Whether one core is a cylinder, the other a segment, box or hull."""
    if a.kind == CYLINDER:
        return bool(b.kind < CYLINDER or b.kind == HULL)
    return bool(b.kind == CYLINDER and (a.kind < CYLINDER or a.kind == HULL))


@shared(types.int64, (0.0, 0.0, 1.0))
def solve_cylinder(a: Array, b: Array, hulls: Hulls, work: Array, start: Vector3) -> int:
    """Writes the solution for a cylinder and a polytope; returns a status, UNSOLVED if they overlap or nearly touch.

    Args:
        a: geometry A.
        b: geometry B.
        hulls: vertices of hulls.
        work: X_AB and X_BA are given.
        start: unit vector in A, about from A to B.
    """
    if a.kind == CYLINDER:
        distance, g, x = _nearest(a, b, hulls, work.X_AB, start, a.bound + b.bound)
        if distance <= 0.0:
            return UNSOLVED
        set_solution(work, g, -distance, sum_scaled(x, g, -distance), x)
        return SOLVED
    start_B = negated(rotated(work.X_BA, start))
    distance, g, x = _nearest(b, a, hulls, work.X_BA, start_B, a.bound + b.bound)
    if distance <= 0.0:
        return UNSOLVED
    set_from_other_frame(work, g, -distance, x, sum_scaled(x, g, -distance))
    return SOLVED


@device
def _nearest(
    c: Array, p: Array, hulls: Hulls, X_CP: Array, start: Vector3, size: float
) -> tuple[float, Vector3, Vector3]:
    """The point x of a polytope that is nearest to a cylinder: f(x), grad f(x), x; all in C.

    f(x) is zero if there is no solution: the cores overlap, nearly touch, or need too many steps.

    Args:
        c: the cylinder.
        p: the polytope.
        hulls: vertices of hulls.
        X_CP: pose of the polytope.
        start: unit vector, about from the cylinder to the polytope.
        size: of both cores together [m].
    """
    r, h = c.size_0, c.size_2
    none = (0.0, 0.0, 0.0)
    origin = (X_CP[9], X_CP[10], X_CP[11])
    # Vertices of the simplex, the oldest first, and their numbers.
    x, y, z = none, none, none
    of_x, of_y, of_z = -1, -1, -1
    count = 0
    nearest, f, g = none, math.inf, start
    for _ in range(_MAX_VERTICES):
        of_w = support_piece(p, hulls, negated(rotated_back(X_CP, g)))
        if of_w == of_x or (count > 1 and of_w == of_y) or (count > 2 and of_w == of_z):
            return f, g, nearest
        w = add(rotated(X_CP, piece_vertex(p, hulls, of_w)), origin)
        if count > 0 and dot(g, subtract(nearest, w)) <= _GAP * size:
            return f, g, nearest
        if count == 0:
            x, of_x, count = w, of_w, 1
            nearest = w
            f, g = _distance(r, h, w)
        elif count == 1:
            f, g, nearest = _least_on_edge(r, h, x, w)
            if nearest[0] == w[0] and nearest[1] == w[1] and nearest[2] == w[2]:
                x, of_x = w, of_w
            else:
                y, of_y, count = w, of_w, 2
        else:
            best, left_out, keeps_x, keeps_y = math.inf, 2, False, False
            to_x = g
            for k in range(2 if count == 2 else 0, 3):
                u, v = (y if k == 0 else x), (y if k == 2 else z)
                value, slope, at, keeps_u, keeps_v = _least_on_triangle(r, h, u, v, w, to_x)
                if value < best:
                    best, g, nearest, left_out, keeps_x, keeps_y = value, slope, at, k, keeps_u, keeps_v
            f = best
            if left_out == 0:
                x, of_x = y, of_y
            if left_out <= 1:
                y, of_y = z, of_z
            if keeps_x and keeps_y:
                z, of_z, count = w, of_w, 3
            elif keeps_x or keeps_y:
                if keeps_y:
                    x, of_x = y, of_y
                y, of_y, count = w, of_w, 2
            else:
                x, of_x, count = w, of_w, 1
        if not f > _NEAR * size:
            break
    return 0.0, none, none


@inlined
def _distance(r: float, h: float, q: Vector3) -> tuple[float, Vector3]:
    """Distance of a point to the cylinder, and its gradient; not positive inside."""
    rho = math.sqrt(q[0] * q[0] + q[1] * q[1])
    outside, above = rho - r, abs(q[2]) - h
    side = math.copysign(1.0, q[2])
    if outside <= 0.0:
        return above, (0.0, 0.0, side)
    if above <= 0.0:
        return outside, (q[0] / rho, q[1] / rho, 0.0)
    distance = math.sqrt(outside * outside + above * above)
    inverse = 1.0 / distance
    across = outside * inverse / rho
    return distance, (q[0] * across, q[1] * across, above * inverse * side)


@device
def _least_on_edge(r: float, h: float, p: Vector3, w: Vector3) -> tuple[float, Vector3, Vector3]:
    """The least distance on an edge from p to w, its gradient there, and the place; it is w itself, p at most nearly."""
    u = subtract(w, p)
    f, g = _distance(r, h, w)
    if dot(g, u) <= 0.0 or f <= 0.0:
        return f, g, w
    across = u[0] * u[0] + u[1] * u[1]
    t = 0.5
    if across > 0.0:
        t = min(max(-(p[0] * u[0] + p[1] * u[1]) / across, 0.0), 1.0)
    low, high = 0.0, 1.0
    for _ in range(_MAX_STEPS):
        q = sum_scaled(p, u, t)
        # f' and f'' along the edge.
        rho_square = q[0] * q[0] + q[1] * q[1]
        along = q[0] * u[0] + q[1] * u[1]
        rho = math.sqrt(rho_square)
        outside, above = rho - r, abs(q[2]) - h
        climb = math.copysign(u[2], q[2] * u[2])
        if outside <= 0.0:
            if above <= 0.0:
                return 0.0, g, q
            slope, curve = climb, 0.0
        else:
            spread = along / rho
            bend = (across - spread * spread) / rho
            if above <= 0.0:
                slope, curve = spread, bend
            else:
                f = math.sqrt(outside * outside + above * above)
                slope = (outside * spread + above * climb) / f
                curve = (spread * spread + outside * bend + climb * climb - slope * slope) / f
        if slope < 0.0:
            low = t
        else:
            high = t
        step = -slope / curve if curve > 0.0 else math.inf
        is_newton = low < t + step < high
        if not is_newton:
            if slope == 0.0 or (t == 0.0 and slope > 0.0):
                break
            step = -t if low == 0.0 and slope > 0.0 and step <= -t else 0.5 * (low + high) - t
        t += step
        if abs(step) < _LAST_STEP and (is_newton or abs(step) < 1e-16):
            break
    q = sum_scaled(p, u, t)
    f, g = _distance(r, h, q)
    return f, g, q


@device
def _least_on_triangle(
    r: float, h: float, x: Vector3, y: Vector3, w: Vector3, outward: Vector3
) -> tuple[float, Vector3, Vector3, bool, bool]:
    """The least distance on a triangle, its gradient there, the place, and whether it takes x, and y; it takes w.

    Args:
        r: radius of the cylinder.
        h: half length of the cylinder.
        x, y, w: corners.
        outward: about from the cylinder to the triangle.
    """
    wx, wy = subtract(x, w), subtract(y, w)
    n = cross(wx, wy)
    square = dot(n, n)
    takes_x, takes_y = True, True
    if square > 0.0:
        n = scaled(n, math.copysign(1.0 / math.sqrt(square), dot(n, outward)))
        across = math.sqrt(n[0] * n[0] + n[1] * n[1])
        scale = r / across if across > 0.0 else 0.0
        q = (n[0] * scale, n[1] * scale, math.copysign(h, n[2]))
        f = dot(n, subtract(w, q))
        at = sum_scaled(q, n, f)
        wq = subtract(at, w)
        on_x, on_y = dot(n, cross(wq, wy)), dot(n, cross(wx, wq))
        total = dot(n, cross(wx, wy))
        if total < 0.0:
            on_x, on_y, total = -on_x, -on_y, -total
        takes_x, takes_y = on_x > 0.0, on_y > 0.0
        if takes_x and takes_y and on_x + on_y < total:
            return f, n, at, True, True  # most likely they overlap if it is not positive
    best_f, best_g, best, keeps_x = math.inf, n, w, False
    for k in range(2):
        f, g, at = _least_on_edge(r, h, x if k == 0 else y, w)
        if f < best_f:
            best_f, best_g, best, keeps_x = f, g, at, k == 0
    if best[0] == w[0] and best[1] == w[1] and best[2] == w[2]:
        return best_f, best_g, best, False, False
    return best_f, best_g, best, keeps_x, not keeps_x
