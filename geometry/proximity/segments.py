"""Distances of a segment: to a segment, to a box, and to a cylinder.

The square of the distance of the point c + t e of a segment, -1 <= t <= 1, to a box with half extents s is convex in t,
and half its derivative

    g(t) = sum_i e_i (z_i - clamp(z_i, -s_i, s_i)),    z = c + t e                           (1)

is linear between the six places at which some z_i = +-s_i. Looking at these and at both ends one finds between which
two of them g is zero, and so the nearest point, without a search.

For a cylinder of radius r and half length s, with rho the distance of z from its axis and m = e_1 z_1 + e_2 z_2,

    g(t) = m (1 - r / max(rho, r)) + e_3 (z_3 - clamp(z_3, -s, s))                           (2)

is of one form between four places: beside a rim its zero is that of a quartic, which Halley's method finds in two or
three steps from where a chord of g has it; elsewhere there is a formula.

A segment that enters the box, or nearly so, has the least of six sides: those of the box, and those across the segment
and an axis of the box (Gottschalk, Lin, Manocha 1996, OBBTree).

Distance of an ellipsoid and a segment, if they are apart.

Along the line of the segment, one sees the ellipsoid as an ellipse and the line as a point. With e1, e2 across the line
and S the semi-axes of the ellipsoid, the ellipse has the support function sqrt(n . M n), M_ij = S e_i . S e_j, so that
its semi-axes are the roots of the eigenvalues of M. The nearest point of the ellipse gives the normal, and that the
place on the line. If the place is beyond an end of the segment, this end is the nearest, as the distance is convex
along the line; so it is if the line meets the ellipsoid elsewhere.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.features import set_from_other_frame
from merganser.geometry.proximity.layout import BOX, CYLINDER, ELLIPSOID, SOLVED, UNSOLVED, Shape, ShapeWork
from merganser.geometry.proximity.points import distance_to_cylinder, point_to_ellipsoid
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    axis,
    cross,
    dot,
    negated,
    norm,
    rotated,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    tangents,
    unit,
    unit_axis,
)

Bracket: TypeAlias = tuple[float, float]

_PARALLEL = 1e-20  # squared sine of the angle between lines that count as parallel
_FLAT = 4e-16  # g of a box and a segment that counts as none, of the squared size
_NEAR = 1e-6  # of the size: below this distance the direction between nearest points is uncertain
_TOUCHING = 1e-10  # of the size: the direction between nearest points closer than that is rounding
_PREFERENCE = 1e-13  # by how much, of the size, the side of two edges must be nearer than that of a face
_LAST_STEP = 1e-7  # of the half segment, after which none follows if it is one of Halley's method
_MAX_STEPS = 60
_INSIDE = 1e-12  # of the size: how far outside of a feature rounding may take a point


@inlined
def solve_segments(a: Shape, b: Shape, work: ShapeWork) -> None:
    """Writes the solution for two segments (Ericson 2005, Real-Time Collision Detection, sec. 5.1.9)."""
    X_AB = work.X_AB
    v = axis(X_AB, 2)
    origin = (X_AB[9], X_AB[10], X_AB[11])
    half_a, half_b = a.size_2, b.size_2
    # Points s u and origin + t v with u = ez; minimize |s u - t v - origin|.
    cosine, p_u, p_v = v[2], origin[2], dot(origin, v)
    square = v[0] * v[0] + v[1] * v[1]
    if square > _PARALLEL:
        s = min(max((p_u - cosine * p_v) / square, -half_a), half_a)
    else:  # parallel: the middle of where they lie side by side
        reach = half_b * abs(cosine)
        low, high = max(-half_a, p_u - reach), min(half_a, p_u + reach)
        s = min(max(0.5 * (low + high), -half_a), half_a)
    t = min(max(s * cosine - p_v, -half_b), half_b)
    s = min(max(t * cosine + p_u, -half_a), half_a)
    p_A, p_B = (0.0, 0.0, s), sum_scaled(origin, v, t)
    n = subtract(p_B, p_A)
    distance = norm(n)
    if distance > _NEAR * (half_a + half_b):
        set_solution(work, scaled(n, 1.0 / distance), -distance, p_A, p_B)
    else:
        is_across_a = abs(s) < half_a or s * n[2] <= 0.0
        is_across_b = abs(t) < half_b or t * dot(n, v) >= 0.0
        n = _normal_at_crossing(n, v, is_across_a, is_across_b, square, _TOUCHING * (half_a + half_b))
        set_solution(work, n, dot(n, subtract(p_A, p_B)), p_A, p_B)


@device
def _normal_at_crossing(
    gap: Vector3, v: Vector3, is_across_a: bool, is_across_b: bool, square: float, touching: float
) -> Vector3:
    """Normal from A to B of segments along ez and v that meet, or nearly so, where the gap says little about it.

    Args:
        gap: from the nearest point of A to that of B.
        v: direction of B.
        is_across_a: whether the nearest point of A is none of its ends, so that the normal is across A.
        is_across_b: the same of B.
        square: squared sine of the angle between both.
        touching: length of the gap that counts as none.
    """
    n = gap
    if is_across_a:
        n = (n[0], n[1], 0.0)
    if is_across_b:
        n = sum_scaled(n, v, -dot(n, v))
    length = norm(n)
    if square > _PARALLEL and (length <= touching or (is_across_a and is_across_b)):
        inverse = math.copysign(1.0, gap[1] * v[0] - gap[0] * v[1]) / math.sqrt(square)
        return -v[1] * inverse, v[0] * inverse, 0.0
    return scaled(n, 1.0 / length) if length > touching else tangents(v)[0]


@inlined
def _clamped(z: float, s: float) -> float:
    return min(max(z, -s), s)


@inlined
def _slope(box: Array, c: Vector3, e: Vector3, t: float) -> float:
    """g(t) of (1)."""
    x, y, z = c[0] + t * e[0], c[1] + t * e[1], c[2] + t * e[2]
    x, y, z = x - _clamped(x, box.size_0), y - _clamped(y, box.size_1), z - _clamped(z, box.size_2)
    return e[0] * x + e[1] * y + e[2] * z


@inlined
def _narrowed(bracket: Bracket, box: Array, c: Vector3, e: Vector3, t: float, flat: float) -> Bracket:
    """The last t at which g is not positive, and the first at which it is not negative, with one more point or end.

    There is no branch in it: which way it would go is hard to foretell, and there would be sixteen.
    """
    t = _clamped(t, 1.0)
    g = _slope(box, c, e, t)
    return max(bracket[0], t if g <= flat else -1.0), min(bracket[1], t if g >= -flat else 1.0)


@inlined
def _nearest_on_segment(box: Array, c: Vector3, e: Vector3, flat: float) -> float:
    """The t at which (1) is zero, or the end that is nearer; if the segment runs alongside, the middle of that part."""
    x, y, z = _inverse(e[0]), _inverse(e[1]), _inverse(e[2])
    bracket = (-1.0, 1.0)
    bracket = _narrowed(bracket, box, c, e, -1.0, flat)
    bracket = _narrowed(bracket, box, c, e, 1.0, flat)
    bracket = _narrowed(bracket, box, c, e, (-box.size_0 - c[0]) * x, flat)
    bracket = _narrowed(bracket, box, c, e, (box.size_0 - c[0]) * x, flat)
    bracket = _narrowed(bracket, box, c, e, (-box.size_1 - c[1]) * y, flat)
    bracket = _narrowed(bracket, box, c, e, (box.size_1 - c[1]) * y, flat)
    bracket = _narrowed(bracket, box, c, e, (-box.size_2 - c[2]) * z, flat)
    bracket = _narrowed(bracket, box, c, e, (box.size_2 - c[2]) * z, flat)
    low, high = bracket
    if low >= high:
        return 0.5 * (low + high)
    at_low, at_high = _slope(box, c, e, low), _slope(box, c, e, high)
    return low + (high - low) * (at_low / (at_low - at_high))


@inlined
def _inverse(d: float) -> float:
    return 1.0 / d if abs(d) > 1e-200 else 1e200


@inlined
def _side_across(z_1: float, z_2: float, e_1: float, e_2: float, s_1: float, s_2: float, least: float) -> float:
    """The height of the side of a box's edges along one axis and the segment, given along the two other axes."""
    square = e_1 * e_1 + e_2 * e_2
    if square <= least:
        return math.inf
    return (s_1 * abs(e_2) + s_2 * abs(e_1) - abs(z_1 * e_2 - z_2 * e_1)) / math.sqrt(square)


@device
def _entering(
    box: Array, c: Vector3, e: Vector3, t: float, size: float
) -> tuple[int, Vector3, float, Vector3, Vector3]:
    """The solution where a segment enters a box or nearly so, by the lowest side.

    Args and results are those of `_box_and_segment`.

    Args:
        t: of a point c + t e in the box, in the middle of what is in it.
    """
    x, y, z = box.size_0, box.size_1, box.size_2
    best, side = x + abs(e[0]) - abs(c[0]), 0
    value = y + abs(e[1]) - abs(c[1])
    if value < best:
        best, side = value, 1
    value = z + abs(e[2]) - abs(c[2])
    if value < best:
        best, side = value, 2
    preference, tolerance, least = _PREFERENCE * size, _INSIDE * size, _PARALLEL * dot(e, e)
    value = _side_across(c[1], c[2], e[1], e[2], y, z, least)
    if value < best - preference:
        best, side = value, 3
    value = _side_across(c[2], c[0], e[2], e[0], z, x, least)
    if value < best - preference:
        best, side = value, 4
    value = _side_across(c[0], c[1], e[0], e[1], x, y, least)
    if value < best - preference:
        best, side = value, 5
    if side < 3:
        n = unit_axis(side)
        toward = math.copysign(1.0, dot(n, c))
        n = scaled(n, toward)
        along = dot(n, e)
        if abs(along) > tolerance:
            t = -math.copysign(1.0, along)
        q = sum_scaled(c, e, t)
        p = sum_scaled(q, n, best)
        is_inside = True
    else:
        n = unit(cross(unit_axis(side - 3), e))
        if dot(n, c) < 0.0:
            n = negated(n)
        # From the middle of the box's edge, which lies in the plane across it that holds the center.
        p = math.copysign(x, n[0]), math.copysign(y, n[1]), math.copysign(z, n[2])
        across = cross(unit_axis(side - 3), n)
        t = (dot(across, p) - dot(across, c)) / dot(across, e)
        q = sum_scaled(c, e, t)
        p = sum_scaled(q, n, best)
        is_inside = (abs(t) - 1.0) * norm(e) <= tolerance
    is_inside = is_inside and abs(p[0]) <= x + tolerance and abs(p[1]) <= y + tolerance and abs(p[2]) <= z + tolerance
    return SOLVED if is_inside else UNSOLVED, n, best, p, q


@device
def _box_and_segment(box: Array, c: Vector3, e: Vector3, size: float) -> tuple[int, Vector3, float, Vector3, Vector3]:
    """The solution for a box and a segment, all in the frame of the box.

    Args:
        box: the box.
        c: the middle of the segment.
        e: from there to its end.
        size: of both.

    Returns:
        The status, the normal from the box to the segment, the value, and the points of the box and of the segment.
    """
    t = _nearest_on_segment(box, c, e, _FLAT * size * norm(e))
    q = sum_scaled(c, e, t)
    p = (_clamped(q[0], box.size_0), _clamped(q[1], box.size_1), _clamped(q[2], box.size_2))
    n = subtract(q, p)
    distance = norm(n)
    if distance > _NEAR * size:
        return SOLVED, scaled(n, 1.0 / distance), -distance, p, q
    return _entering(box, c, e, t, size)


@inlined
def solve_box_and_segment(a: Shape, b: Shape, work: ShapeWork) -> int:
    """Writes the solution for a box and a segment, in either order; returns a status.

    It is UNSOLVED if they touch in some odd way; then the normal and the value are those of the lowest side.
    """
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    size = a.bound + b.bound
    if a.kind == BOX:
        status, n, value, p_A, p_B = _box_and_segment(a, origin, scaled(axis(X_AB, 2), b.size_2), size)
        set_solution(work, n, value, p_A, p_B)
        return status
    half = a.size_2
    c, e = negated(rotated_back(X_AB, origin)), (X_AB[6] * half, X_AB[7] * half, X_AB[8] * half)
    status, n, value, q, p = _box_and_segment(b, c, e, size)
    p_A, p_B = add(rotated(X_AB, p), origin), add(rotated(X_AB, q), origin)
    set_solution(work, negated(rotated(X_AB, n)), value, p_A, p_B)
    return status


@inlined
def _slope_beside(r: float, h: float, c: Vector3, e: Vector3, t: float) -> tuple[float, float]:
    """g(t) of (2) times max(rho, r), and the latter."""
    x, y, z = c[0] + t * e[0], c[1] + t * e[1], c[2] + t * e[2]
    reach = max(math.sqrt(x * x + y * y), r)
    return (e[0] * x + e[1] * y) * (reach - r) + e[2] * (z - _clamped(z, h)) * reach, reach


@inlined
def _narrowed_beside(bracket: Bracket, r: float, h: float, c: Vector3, e: Vector3, t: float, flat: float) -> Bracket:
    """What `_narrowed` does, for a cylinder."""
    t = _clamped(t, 1.0)
    g, reach = _slope_beside(r, h, c, e, t)
    flat *= reach
    return max(bracket[0], t if g <= flat else -1.0), min(bracket[1], t if g >= -flat else 1.0)


@inlined
def nearest_to_cylinder(r: float, h: float, c: Vector3, e: Vector3, size: float) -> float:
    """The t at which (2) is zero, or the end that is nearer; if the segment runs alongside, the middle of that part."""
    flat = _FLAT * size * norm(e)
    across, up = _inverse(e[0] * e[0] + e[1] * e[1]), _inverse(e[2])
    moment = c[0] * e[1] - c[1] * e[0]
    foot = -(c[0] * e[0] + c[1] * e[1]) * across
    chord = math.sqrt(max(0.0, r * r - moment * moment * across) * across)
    bracket = (-1.0, 1.0)
    bracket = _narrowed_beside(bracket, r, h, c, e, -1.0, flat)
    bracket = _narrowed_beside(bracket, r, h, c, e, 1.0, flat)
    bracket = _narrowed_beside(bracket, r, h, c, e, foot - chord, flat)
    bracket = _narrowed_beside(bracket, r, h, c, e, foot + chord, flat)
    bracket = _narrowed_beside(bracket, r, h, c, e, (-h - c[2]) * up, flat)
    bracket = _narrowed_beside(bracket, r, h, c, e, (h - c[2]) * up, flat)
    low, high = bracket
    middle = 0.5 * (low + high)
    if low >= high:
        return middle
    if abs(c[2] + middle * e[2]) <= h:
        return min(max(foot, low), high)
    return _nearest_to_rim(r, math.copysign(h, c[2] + middle * e[2]), c, e, moment, low, high)


@inlined
def _nearest_to_rim(r: float, h: float, c: Vector3, e: Vector3, moment: float, low: float, high: float) -> float:
    """The t between two others at which (2) is zero, beside the rim at height h.

    There, g' = |e|^2 - r moment^2 / rho^3, with the moment of the line about the axis.
    """
    at_low, reach_low = _slope_beside(r, abs(h), c, e, low)
    at_high, reach_high = _slope_beside(r, abs(h), c, e, high)
    at_low, at_high = at_low * reach_high, at_high * reach_low
    t = low + (high - low) * (at_low / (at_low - at_high))
    square = dot(e, e)
    for _ in range(_MAX_STEPS):
        x, y, z = c[0] + t * e[0], c[1] + t * e[1], c[2] + t * e[2]
        inverse = 1.0 / math.sqrt(x * x + y * y)
        m, bend = e[0] * x + e[1] * y, r * moment * moment * inverse * inverse * inverse
        g, slope, curve = m * (1.0 - r * inverse) + e[2] * (z - h), square - bend, 3.0 * bend * m * inverse * inverse
        low, high = (t, high) if g < 0.0 else (low, t)
        step = -2.0 * g * slope / (2.0 * slope * slope - g * curve)
        is_inside = low < t + step < high
        if not is_inside:
            step = 0.5 * (low + high) - t
        t += step
        if abs(step) < _LAST_STEP and (is_inside or abs(step) < 1e-16):
            break
    return t


@inlined
def solve_cylinder_and_segment(a: Shape, b: Shape, work: ShapeWork) -> int:
    """Writes the solution for a cylinder and a segment, in either order; returns a status, UNSOLVED if they overlap."""
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    size = a.bound + b.bound
    if a.kind == CYLINDER:
        r, h, c, e = a.size_0, a.size_2, origin, scaled(axis(X_AB, 2), b.size_2)
    else:
        half = a.size_2
        r, h = b.size_0, b.size_2
        c, e = negated(rotated_back(X_AB, origin)), (X_AB[6] * half, X_AB[7] * half, X_AB[8] * half)
    q = sum_scaled(c, e, nearest_to_cylinder(r, h, c, e, size))
    distance, n = distance_to_cylinder(r, h, q)
    if not distance > _NEAR * size:
        return UNSOLVED
    p = sum_scaled(q, n, -distance)
    if a.kind == CYLINDER:
        set_solution(work, n, -distance, p, q)
    else:
        set_from_other_frame(work, n, -distance, q, p)
    return SOLVED


_NEAR_ELLIPSOIDS = 1e-7  # of the size: at less than this distance they may overlap


@inlined
def solve_ellipsoid_and_segment(a: Shape, b: Shape, work: ShapeWork) -> int:
    """Writes the solution for an ellipsoid and a segment, in either order; if they overlap, it returns UNSOLVED."""
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    near = _NEAR_ELLIPSOIDS * (a.bound + b.bound)
    if a.kind == ELLIPSOID:
        axes, half = (a.size_0, a.size_1, a.size_2), b.size_2
        c, u = origin, axis(X_AB, 2)
    else:
        axes, half = (b.size_0, b.size_1, b.size_2), a.size_2
        c, u = negated(rotated_back(X_AB, origin)), (X_AB[6], X_AB[7], X_AB[8])
    distance, n, q = _nearest_of_segment(axes, c, u, half, near)
    if not distance > near:
        return UNSOLVED
    p = sum_scaled(q, n, -distance)
    if a.kind == ELLIPSOID:
        set_solution(work, n, -distance, p, q)
    else:
        set_from_other_frame(work, n, -distance, q, p)
    return SOLVED


@device
def _nearest_of_segment(
    axes: Vector3, c: Vector3, u: Vector3, half: float, near: float
) -> tuple[float, Vector3, Vector3]:
    """The distance of a segment to an ellipsoid, its gradient, and the nearest point of the segment; all in its frame.

    Args:
        axes: semi-axes of the ellipsoid.
        c: the middle of the segment.
        u: its direction, a unit vector.
        half: half its length.
        near: distance of the line at less than which it is taken to meet the ellipsoid.
    """
    s_0, s_1, s_2 = axes
    along = dot(c, u)
    if abs(along) >= half:  # one end is probably the nearest, and is so if the distance rises from there
        end = -math.copysign(half, along)
        q = sum_scaled(c, u, end)
        distance, n, _ = point_to_ellipsoid(s_0, s_1, s_2, q)
        if distance > near and dot(n, u) * end <= 0.0:
            return distance, n, q
    distance, n = _distance_of_line(axes, c, u)
    if distance > near:
        # The point of the ellipsoid that is the farthest along n, S^2 n / |S n|.
        x = (s_0 * s_0 * n[0], s_1 * s_1 * n[1], s_2 * s_2 * n[2])
        x = scaled(x, 1.0 / math.sqrt(dot(n, x)))
        t = dot(subtract(x, c), u)
        if abs(t) <= half:
            return distance, n, sum_scaled(c, u, t)
    else:
        # The middle of what the ellipsoid has of the line.
        v = (u[0] / (s_0 * s_0), u[1] / (s_1 * s_1), u[2] / (s_2 * s_2))
        t = -dot(c, v) / dot(u, v)
    q = sum_scaled(c, u, min(max(t, -half), half))
    distance, n, _ = point_to_ellipsoid(s_0, s_1, s_2, q)
    return distance, n, q


@inlined
def _distance_of_line(axes: Vector3, c: Vector3, u: Vector3) -> tuple[float, Vector3]:
    """Signed distance of the line through c along u to an ellipsoid, and its gradient, which is across u."""
    s_0, s_1, s_2 = axes
    e1, e2 = tangents(u)
    v1 = (s_0 * e1[0], s_1 * e1[1], s_2 * e1[2])
    v2 = (s_0 * e2[0], s_1 * e2[1], s_2 * e2[2])
    m_11, m_12, m_22 = dot(v1, v1), dot(v1, v2), dot(v2, v2)
    # Eigenvalues, and the eigenvector of the greater one; the smaller one from det M = |S e1 x S e2|^2, whose terms do
    # not cancel.
    half = 0.5 * (m_11 - m_22)
    root = math.sqrt(half * half + m_12 * m_12)
    greatest = 0.5 * (m_11 + m_22) + root
    w = (s_1 * s_2 * u[0], s_2 * s_0 * u[1], s_0 * s_1 * u[2])
    least = dot(w, w) / greatest
    x, y = (half + root, m_12) if half >= 0.0 else (m_12, root - half)
    length = math.sqrt(x * x + y * y)
    x, y = (x / length, y / length) if length > 0.0 else (1.0, 0.0)
    f1, f2 = add(scaled(e1, x), scaled(e2, y)), add(scaled(e1, -y), scaled(e2, x))
    alpha, beta = math.sqrt(greatest), math.sqrt(least)
    distance, n, _ = point_to_ellipsoid(alpha, beta, alpha, (dot(c, f1), dot(c, f2), 0.0))
    return distance, add(scaled(f1, n[0]), scaled(f2, n[1]))
