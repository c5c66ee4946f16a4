"""Signed distance of a point to a core, with its gradient and the nearest point of the surface, in closed form.

The ellipsoid follows Eberly 2013, Distance from a point to an ellipse, an ellipsoid, or a hyperellipsoid: the nearest
point is x_i = a_i^2 q_i / (a_i^2 + t) with t the greatest root of

    sum_i (a_i q_i / (a_i^2 + t))^2 = 1,                                             (1)

whose left side falls right of -a_min^2. The inverse of its root rises there, is concave and nearly a line (J. More and
D. Sorensen 1983, Computing a trust region step, sec. 3), so that Newton's method takes two or three steps, and cannot
fail from the left. With w_i = (a_i q_i)^2 / sum_k (a_k q_k)^2, the left side is at least

    sum_k (a_k q_k)^2 / (t + sum_i w_i a_i^2)^2                                      (2)

because 1 / x^2 is convex; the root of (2) is where it starts, or that of one term of (1), if it is greater.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.layout import BOX, CYLINDER, POINT, SEGMENT, Shape
from merganser.geometry.proximity.vectors import Vector3, dot, norm, subtract, unit

_TINY = 1e-300
_MAX_STEPS = 100
_LAST_STEP = 5e-9  # of s, after which none follows: what is left is of the size of its square


@device
def point_to_core(g: Shape, q: Vector3) -> tuple[float, Vector3, Vector3]:
    """Of a point Q, in the frame of the geometry: signed distance to the core, its gradient, and the nearest point.

    The core is a point, segment, box, cylinder or ellipsoid. Where the gradient is not defined, it is one of those
    nearby; at the center of a point or segment, x.
    """
    kind = g.kind
    if kind in (POINT, SEGMENT):
        z = min(max(q[2], -g.size_2), g.size_2) if kind == SEGMENT else 0.0
        v = (q[0], q[1], q[2] - z)
        distance = norm(v)
        if distance < _TINY:
            return 0.0, (1.0, 0.0, 0.0), (0.0, 0.0, z)
        return distance, (v[0] / distance, v[1] / distance, v[2] / distance), (0.0, 0.0, z)
    if kind == BOX:
        return _point_to_box(g, q)
    if kind == CYLINDER:
        return _point_to_cylinder(g, q)
    return point_to_ellipsoid(g.size_0, g.size_1, g.size_2, q)


@device
def _point_to_box(g: Shape, q: Vector3) -> tuple[float, Vector3, Vector3]:
    x = min(max(q[0], -g.size_0), g.size_0)
    y = min(max(q[1], -g.size_1), g.size_1)
    z = min(max(q[2], -g.size_2), g.size_2)
    v = (q[0] - x, q[1] - y, q[2] - z)
    distance = norm(v)
    if distance > 0.0:
        return distance, (v[0] / distance, v[1] / distance, v[2] / distance), (x, y, z)
    to_x, to_y, to_z = abs(q[0]) - g.size_0, abs(q[1]) - g.size_1, abs(q[2]) - g.size_2
    deepest = max(to_x, max(to_y, to_z))
    if deepest == 0.0:  # on a face, an edge or a corner: the mean of their normals
        n = (
            math.copysign(1.0, q[0]) if to_x == 0.0 else 0.0,
            math.copysign(1.0, q[1]) if to_y == 0.0 else 0.0,
            math.copysign(1.0, q[2]) if to_z == 0.0 else 0.0,
        )
        return 0.0, unit(n), q
    if deepest == to_x:
        side = math.copysign(1.0, q[0])
        return to_x, (side, 0.0, 0.0), (side * g.size_0, y, z)
    if deepest == to_y:
        side = math.copysign(1.0, q[1])
        return to_y, (0.0, side, 0.0), (x, side * g.size_1, z)
    side = math.copysign(1.0, q[2])
    return to_z, (0.0, 0.0, side), (x, y, side * g.size_2)


@device
def _point_to_cylinder(g: Shape, q: Vector3) -> tuple[float, Vector3, Vector3]:
    r, h = g.size_0, g.size_2
    rho = math.sqrt(q[0] * q[0] + q[1] * q[1])
    ux, uy = (q[0] / rho, q[1] / rho) if rho > _TINY else (1.0, 0.0)
    outside, above = rho - r, abs(q[2]) - h
    side = math.copysign(1.0, q[2])
    if outside > 0.0 and above > 0.0:
        distance = math.sqrt(outside * outside + above * above)
        across, along = outside / distance, above / distance
        return distance, (across * ux, across * uy, along * side), (r * ux, r * uy, side * h)
    if outside == 0.0 and above == 0.0:
        root = math.sqrt(0.5)
        return 0.0, (root * ux, root * uy, root * side), q
    if above > outside:
        return above, (0.0, 0.0, side), (q[0], q[1], side * h)
    return outside, (ux, uy, 0.0), (r * ux, r * uy, q[2])


@inlined
def distance_to_cylinder(r: float, h: float, q: Vector3) -> tuple[float, Vector3]:
    """Distance of a point to a cylinder of radius r and half length h, and its gradient; not positive inside."""
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
def point_to_ellipsoid(a: float, b: float, c: float, q: Vector3) -> tuple[float, Vector3, Vector3]:
    """What `point_to_core` returns, for semi-axes a, b, c."""
    least = min(a, min(b, c))
    # With s = t + a_min^2 nothing is lost where t comes close to -a_min^2.
    da, db, dc = (a - least) * (a + least), (b - least) * (b + least), (c - least) * (c + least)
    ya, yb, yc = a * abs(q[0]), b * abs(q[1]), c * abs(q[2])
    wa, wb, wc = ya * ya, yb * yb, yc * yc
    square = wa + wb + wc
    lowest = 1e-14 * least * least
    s = max(max(lowest, ya - da), max(yb - db, yc - dc))
    if square > 0.0:
        s = max(s, math.sqrt(square) - (wa * da + wb * db + wc * dc) / square)
    for _ in range(_MAX_STEPS):
        ra, rb, rc = 1.0 / (s + da), 1.0 / (s + db), 1.0 / (s + dc)
        fa, fb, fc = wa * ra * ra, wb * rb * rb, wc * rc * rc
        value = fa + fb + fc
        if s == lowest and value <= 1.0:
            x = _beyond_focus(a, b, c, q, da, db, dc)
            n = unit((x[0] / (a * a), x[1] / (b * b), x[2] / (c * c)))
            return dot(n, subtract(q, x)), n, x
        step = value * (math.sqrt(value) - 1.0) / (fa * ra + fb * rb + fc * rc)
        s += step
        if abs(step) <= _LAST_STEP * s:
            break
    m = (q[0] / (s + da), q[1] / (s + db), q[2] / (s + dc))
    x = (a * a * m[0], b * b * m[1], c * c * m[2])
    n = unit(m)
    return dot(n, subtract(q, x)), n, x


@device
def _beyond_focus(a: float, b: float, c: float, q: Vector3, da: float, db: float, dc: float) -> Vector3:
    """The nearest point if Q lies in the middle plane across the shortest axis, too deep for (1): t = -a_min^2."""
    x = a * a * q[0] / da if da > 0.0 else 0.0
    y = b * b * q[1] / db if db > 0.0 else 0.0
    z = c * c * q[2] / dc if dc > 0.0 else 0.0
    rest = max(0.0, 1.0 - (x / a) ** 2 - (y / b) ** 2 - (z / c) ** 2)
    if da == 0.0:
        return math.copysign(a * math.sqrt(rest), q[0]), y, z
    if db == 0.0:
        return x, math.copysign(b * math.sqrt(rest), q[1]), z
    return x, y, math.copysign(c * math.sqrt(rest), q[2])
