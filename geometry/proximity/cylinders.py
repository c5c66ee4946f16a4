"""Distance of a cylinder from a box, hull or cylinder, if they are apart.

The distance f of a point to a cylinder has a formula, and is convex (points.py), so one looks for its minimum over the
vertices, edges and triangles of the other core P. With x the least over the simplex that is known and g = grad f(x),

    f(q) >= f(x) + g . (q - x) >= f(x) - g . (x - w)    for all q in P, w = support point of P along -g       (1)

so x is the solution if g . (x - w) is zero; else w joins the simplex, and vertices that are not needed leave it
(Wolfe 1976, Finding the nearest point in a polytope, for f the distance to a point). As P has finitely many vertices,
this ends at the very solution. The least of f over an edge is that of a segment and a cylinder (segments.py); that
within a triangle is where the cylinder reaches farthest along its normal.

Of two cylinders, the rim of one is nearest to the other, or their mantles are, on the line across both axes. Newton's
method goes along the rim for the least f; (1), with the whole cylinder for P, tells whether it is the solution. Mantles
of nearly parallel axes come first, because along them f hardly changes.

Unless P is a hull, or the axes are nearly parallel, the steps of lane_pairs.py come before all this.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.flat_features import set_from_other_frame
from merganser.geometry.proximity.layout import BOX, CYLINDER, HULL, SOLVED, UNSOLVED, Hulls
from merganser.geometry.proximity.points import distance_to_cylinder
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.segments import nearest_to_cylinder
from merganser.geometry.proximity.shared_code import shared
from merganser.geometry.proximity.supports import piece_vertex, support_piece
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    axis,
    cross,
    dot,
    negated,
    rotated,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
)

__all__ = ["NEARLY_PARALLEL", "has_cylinder", "solve_cylinder"]

_MAX_VERTICES = 40
_GAP = 1e-15  # of the size: (1) that counts as zero
_NEAR = 1e-7  # of the size: below this distance its gradient beside a rim is uncertain
_GAP_OF_RIM = 1e-14
_LAST_STEP = 1e-8  # [rad], after which none follows if it is one of Newton's method
_LARGEST_TURN = 0.7  # [rad]
_MAX_TURNS = 12
NEARLY_PARALLEL = 0.999  # cosine of the angle between axes, above which mantles are looked at first
_PARALLEL = 1e-20  # squared sine of the angle between lines that count as parallel
_ALONG_AXIS = 1e-12  # sine of the angle to the axis of a rim, below which all its points are as far


@device
def has_cylinder(a: Array, b: Array) -> bool:
    """Whether one core is a cylinder, the other a box, hull or cylinder."""
    if a.kind == CYLINDER:
        return bool(b.kind in (BOX, CYLINDER, HULL))
    return bool(b.kind == CYLINDER and a.kind in (BOX, HULL))


@inlined
def _are_nearly_parallel(a: Array, b: Array, X_AB: Array) -> bool:
    """Whether two cores are cylinders whose axes are almost along each other."""
    return bool(a.kind == CYLINDER and b.kind == CYLINDER and abs(X_AB[8]) > NEARLY_PARALLEL)


@shared(int, (0.0, 0.0, 1.0))
def solve_cylinder(a: Array, b: Array, hulls: Hulls, work: Array, start: Vector3) -> int:
    """Writes the solution for a cylinder and a polytope; returns a status, UNSOLVED if they overlap or nearly touch.

    Args:
        a: geometry A.
        b: geometry B.
        hulls: vertices of hulls.
        work: X_AB and X_BA are given.
        start: unit vector in A, about from A to B.
    """
    size = a.bound + b.bound
    start_B = negated(rotated_back(work.X_AB, start))
    is_first = a.kind == CYLINDER  # whether A is the cylinder from which the distance is measured
    turns = 1
    if is_first and b.kind == CYLINDER:
        turns = 2
        if _are_nearly_parallel(a, b, work.X_AB) and _are_side_by_side(a, b, work, size):
            return SOLVED
        is_first = abs(start[2]) < abs(start_B[2])  # beside the mantle, to which the other one turns its rim
    for _ in range(turns):
        c, p = (a, b) if is_first else (b, a)
        X_CP = work.X_AB if is_first else work.X_BA
        direction = start if is_first else start_B
        if turns == 1:
            distance, g, x = _nearest_of_polytope(c, p, hulls, X_CP, direction, size)
        else:
            distance, g, x = _nearest_of_rim(c, p, X_CP, direction, size)
        if distance > 0.0:
            break
        is_first = not is_first
    if distance <= 0.0:
        return SOLVED if turns == 2 and _are_side_by_side(a, b, work, size) else UNSOLVED
    if is_first:
        set_solution(work, g, -distance, sum_scaled(x, g, -distance), x)
    else:
        set_from_other_frame(work, g, -distance, x, sum_scaled(x, g, -distance))
    return SOLVED


@device
def _nearest_of_polytope(
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
            f, g = distance_to_cylinder(r, h, w)
        elif count == 1:
            f, g, nearest = _least_on_edge(r, h, x, w, size)
            if nearest[0] == w[0] and nearest[1] == w[1] and nearest[2] == w[2]:
                x, of_x = w, of_w
            else:
                y, of_y, count = w, of_w, 2
        else:
            best, left_out, keeps_x, keeps_y = math.inf, 2, False, False
            to_x = g
            for k in range(2 if count == 2 else 0, 3):
                u, v = (y if k == 0 else x), (y if k == 2 else z)
                value, slope, at, keeps_u, keeps_v = _least_on_triangle(r, h, u, v, w, to_x, size)
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


@device
def _nearest_of_rim(c: Array, p: Array, X_CP: Array, start: Vector3, size: float) -> tuple[float, Vector3, Vector3]:
    """What `_nearest_of_polytope` returns, for another cylinder; f(x) is zero, too, if x is not on its rim.

    Newton's method finds the least f along the rim; (1) tells whether it is that of the whole cylinder.
    """
    r, h = c.size_0, c.size_2
    none = (0.0, 0.0, 0.0)
    m = rotated_back(X_CP, start)
    top = -math.copysign(p.size_2, m[2])
    center = add((X_CP[9], X_CP[10], X_CP[11]), scaled(axis(X_CP, 2), top))
    f, g = distance_to_cylinder(r, h, center)
    if f > 0.0:
        m = rotated_back(X_CP, g)
    across = math.sqrt(m[0] * m[0] + m[1] * m[1])
    if across < _ALONG_AXIS:
        return 0.0, none, none
    # The rim: center + R e.
    cosine, sine = -m[0] / across, -m[1] / across
    u, v = scaled(axis(X_CP, 0), p.size_0), scaled(axis(X_CP, 1), p.size_0)
    nearly_none = 0.5 * (_NEAR * size) ** 2
    turned, low, high = 0.0, -math.inf, math.inf  # [rad], and between which angles the least is
    for _ in range(_MAX_TURNS):
        radial = add(scaled(u, cosine), scaled(v, sine))
        ahead = subtract(scaled(v, cosine), scaled(u, sine))
        q = add(center, radial)
        half_square, slope, curve = _along_arc(r, h, q, ahead, negated(radial))
        if not half_square > nearly_none:
            break
        if slope < 0.0:
            low = turned
        else:
            high = turned
        step = -math.copysign(_LARGEST_TURN, slope)
        if curve > 0.0:
            step = min(max(-slope / curve, -_LARGEST_TURN), _LARGEST_TURN)
        if not low < turned + step < high and high - low < math.inf:
            step = 0.5 * (low + high) - turned
        turned += step
        # Half of the turn has the tangent t, but for a small error where the step is large.
        half = 0.5 * step
        t = half * (1.0 + half * half * (1.0 / 3.0 + half * half * (2.0 / 15.0)))
        scale = 1.0 / (1.0 + t * t)
        along, aside = (1.0 - t * t) * scale, 2.0 * t * scale
        cosine, sine = along * cosine - aside * sine, along * sine + aside * cosine
        if abs(step) < _LAST_STEP:
            x = add(center, add(scaled(u, cosine), scaled(v, sine)))
            f, g = distance_to_cylinder(r, h, x)
            m = rotated_back(X_CP, g)
            reach = p.size_0 * math.sqrt(m[0] * m[0] + m[1] * m[1]) + p.size_2 * abs(m[2])
            gap = reach + p.size_0 * (m[0] * cosine + m[1] * sine) + top * m[2]
            if gap > _GAP_OF_RIM * size:
                break
            return f, g, x
    return 0.0, none, none


@device
def _are_side_by_side(a: Array, b: Array, work: Array, size: float) -> bool:
    """Writes the solution for two cylinders if it lies between their mantles, on the line across both axes."""
    X_AB = work.X_AB
    v, origin = axis(X_AB, 2), (X_AB[9], X_AB[10], X_AB[11])
    cosine, along, square = v[2], dot(origin, v), v[0] * v[0] + v[1] * v[1]
    if square > _PARALLEL:
        s = (origin[2] - cosine * along) / square
    else:  # the middle of where they lie side by side
        reach = b.size_2 * abs(cosine)
        low, high = max(-a.size_2, origin[2] - reach), min(a.size_2, origin[2] + reach)
        if low > high:
            return False
        s = 0.5 * (low + high)
    t = s * cosine - along
    p_A, p_B = (0.0, 0.0, s), sum_scaled(origin, v, t)
    n = subtract(p_B, p_A)
    between = math.sqrt(dot(n, n))
    distance = between - a.size_0 - b.size_0
    if abs(s) > a.size_2 or abs(t) > b.size_2 or distance <= _NEAR * size:
        return False
    n = scaled(n, 1.0 / between)
    set_solution(work, n, -distance, sum_scaled(p_A, n, a.size_0), sum_scaled(p_B, n, -b.size_0))
    return True


@inlined
def _along_arc(r: float, h: float, q: Vector3, u: Vector3, v: Vector3) -> tuple[float, float, float]:
    """Half the squared distance of a point to the cylinder, and its derivatives along a curve: q' = u, q'' = v."""
    rho = math.sqrt(q[0] * q[0] + q[1] * q[1])
    outside, above = max(rho - r, 0.0), max(abs(q[2]) - h, 0.0)
    half_square, slope, curve = 0.5 * (outside * outside + above * above), 0.0, 0.0
    if above > 0.0:
        side = math.copysign(1.0, q[2])
        slope, curve = above * side * u[2], u[2] * u[2] + above * side * v[2]
    if outside > 0.0:
        inverse = 1.0 / rho
        spread = (q[0] * u[0] + q[1] * u[1]) * inverse
        slope += outside * spread
        curve += spread * spread
        curve += outside * inverse * (u[0] * u[0] + u[1] * u[1] + q[0] * v[0] + q[1] * v[1] - spread * spread)
    return half_square, slope, curve


@device
def _least_on_edge(r: float, h: float, p: Vector3, w: Vector3, size: float) -> tuple[float, Vector3, Vector3]:
    """The least distance on an edge from p to w, its gradient there, and the place, w itself if it is that end."""
    e = scaled(subtract(w, p), 0.5)
    f, g = distance_to_cylinder(r, h, w)
    if dot(g, e) <= 0.0 or f <= 0.0:
        return f, g, w
    c = scaled(add(p, w), 0.5)
    t = nearest_to_cylinder(r, h, c, e, size)
    if t >= 1.0:
        return f, g, w
    q = sum_scaled(c, e, t)
    f, g = distance_to_cylinder(r, h, q)
    return f, g, q


@device
def _least_on_triangle(
    r: float, h: float, x: Vector3, y: Vector3, w: Vector3, outward: Vector3, size: float
) -> tuple[float, Vector3, Vector3, bool, bool]:
    """The least distance on a triangle, its gradient there, the place, and whether it takes x, and y; it takes w.

    Args:
        r: radius of the cylinder.
        h: half length of the cylinder.
        x, y, w: corners.
        outward: about from the cylinder to the triangle.
        size: of both cores together [m].
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
        f, g, at = _least_on_edge(r, h, x if k == 0 else y, w, size)
        if f < best_f:
            best_f, best_g, best, keeps_x = f, g, at, k == 0
    if best[0] == w[0] and best[1] == w[1] and best[2] == w[2]:
        return best_f, best_g, best, False, False
    return best_f, best_g, best, keeps_x, not keeps_x
