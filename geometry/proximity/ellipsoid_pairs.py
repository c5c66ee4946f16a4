"""Signed distance of an ellipsoid and an ellipsoid, box or cylinder, by Newton's method.

In the frame of the second, called the core, with semi-axes S and center c of the ellipsoid and M = R S^2 R^T,

    h(n) = h_core(n) + sqrt(n . M n) - n . c                                             (1)

is the support function of the core less the ellipsoid; minus its minimum over unit vectors is the signed distance. At
the minimum the nearest points p of the core and q = c - M n / sqrt(n . M n) have p - q = h n. With r = p - q - h n and
the Hessian H of (1), a step of Newton's method along the sphere is

    (H - h I + (h + k) n n^T) d = -r,    any k > 0                                       (2)

because H n = 0. A box has kinks where n_i = 0, a cylinder where n_z = 0 and on its axis. A step across a kink ends on
it; there p_i may be anything within the core, and r_i vanishes if that is enough, else n leaves the kink again.

Below the least radius of curvature of the ellipsoid there is no critical point of h but the minimum (narrow_phase.py).
"""

from __future__ import annotations

import math
from typing import TypeAlias

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.flat_features import set_from_other_frame
from merganser.geometry.proximity.layout import BOX, CYLINDER, ELLIPSOID, SOLVED, UNSOLVED
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.supports import rolling_radius
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    axis,
    dot,
    negated,
    norm,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    unit,
)

__all__ = ["Symmetric", "add_diagonal", "ellipsoid_matrix", "minimum_of_ellipsoids", "solve_ellipsoid"]

Symmetric: TypeAlias = tuple[float, float, float, float, float, float]  # xx, yy, zz, xy, xz, yz

_MAX_STEPS = 20
_ROUND = 1.5  # ratio of semi-axes
_LARGEST_STEP = 0.7  # [rad]
_SHORTER = 0.3  # what is left of a step after which h is greater
_SLACK = 1e-13  # of the size: by how much rounding may have h rise
_LARGEST_TILT = 0.5  # [rad], from the axis of a cylinder
_TOLERANCE = 1e-12  # of the size: |r|
_NEAR = 1e-9  # of the size: distance of a point at less than which its direction is uncertain
_LEAST_SHIFT = 1e-3  # of the trace, so that flat shapes have an inverse, too
_LIFT = 0.1  # of the size: stands for -h in (2) where h is too large, far from the minimum
_STIFFNESS = 0.1  # of the size: k of (2)


@device
def solve_ellipsoid(a: Array, b: Array, work: Array) -> int:
    """Writes the solution for an ellipsoid and an ellipsoid, box or cylinder, in either order.

    Returns:
        SOLVED; or UNSOLVED if they overlap deeply, or if a few steps are not enough, as with very thin ellipsoids.
    """
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    is_core_a = b.kind == ELLIPSOID
    if is_core_a:
        core, ellipsoid, c = a, b, origin
        u, v, w = axis(X_AB, 0), axis(X_AB, 1), axis(X_AB, 2)
    else:
        core, ellipsoid, c = b, a, negated(rotated_back(X_AB, origin))
        u, v, w = (X_AB[0], X_AB[1], X_AB[2]), (X_AB[3], X_AB[4], X_AB[5]), (X_AB[6], X_AB[7], X_AB[8])
    s_0, s_1, s_2 = ellipsoid.size_0, ellipsoid.size_1, ellipsoid.size_2
    matrix = ellipsoid_matrix((s_0, s_1, s_2), u, v, w)
    is_like_ball = max(s_0, max(s_1, s_2)) < _ROUND * min(s_0, min(s_1, s_2))
    start = _start(core, matrix, c, a.bound + b.bound, is_like_ball)
    is_found, n, p, q = _go_down(core, matrix, c, a.bound + b.bound, start)
    value = dot(n, subtract(p, q))
    if not is_found or value >= rolling_radius(a) + rolling_radius(b):
        return UNSOLVED
    if is_core_a:
        set_solution(work, n, value, p, q)
    else:
        set_from_other_frame(work, n, value, q, p)
    return SOLVED


@device
def _go_down(
    core: Array, matrix: Symmetric, c: Vector3, size: float, start: Vector3
) -> tuple[bool, Vector3, Vector3, Vector3]:
    """Whether a critical point of (1) was found; if so n, and the nearest points of the core and of the ellipsoid."""
    v, n, m, p = start, start, start, start
    length = norm(v)
    if not length > 0.0:
        return False, n, p, m
    inverse_length = 1.0 / length
    stiffness, largest, slack = _STIFFNESS * size, (_TOLERANCE * size) ** 2, _SLACK * size
    lowest, before, p_before, d = math.inf, v, v, v
    x, y, z = core.size_0, core.size_1, core.size_2
    is_box, is_round = core.kind == BOX, core.kind == CYLINDER
    for _ in range(_MAX_STEPS):
        n = scaled(v, inverse_length)
        m, inverse = _ellipsoid_point(matrix, v)
        hessian = _hessian(matrix, m, inverse * length)
        g = subtract(m, c)
        is_free_x, is_free_y, is_free_z = False, False, False
        if is_box:
            p_x, is_free_x = _point_of_box(x, n[0], g[0])
            p_y, is_free_y = _point_of_box(y, n[1], g[1])
            p_z, is_free_z = _point_of_box(z, n[2], g[2])
            p = (p_x, p_y, p_z)
        elif is_round:
            p_x, p_y, hessian, is_free_x = _point_of_rim(x, v, length, g, hessian)
            if is_free_x and p_x * p_x + p_y * p_y > x * x:
                v = _beside_axis(n[2], hessian, g, x, z)
                length, inverse_length = 1.0, 1.0
                continue
            is_free_y = is_free_x
            p_z, is_free_z = _point_of_box(z, n[2], g[2])
            p = (p_x, p_y, p_z)
        else:
            own = (x * x, y * y, z * z, 0.0, 0.0, 0.0)
            p, inverse = _ellipsoid_point(own, v)
            hessian = _sum(hessian, _hessian(own, p, inverse * length))
        r = add(p, g)
        h = dot(n, r)
        r = sum_scaled(r, n, -h)
        if dot(r, r) <= largest:
            excess = dot(n, n) - 1.0  # of the last length, which may be that of a long step
            return True, scaled(n, 1.0 - excess * (0.5 - 0.375 * excess)), p, subtract(c, m)
        if h > lowest:  # the last step was too long
            d = scaled(d, _SHORTER)
            v = subtract(before, d)
            if is_box or is_round:
                v = _stopped_at_kinks(v, before, p_before, is_box)
            length, inverse_length = _length(v)
            continue
        lowest, before, p_before = h + slack, n, p
        bend = _on_sphere(hessian, n, h, stiffness)
        if is_free_x or is_free_y or is_free_z:
            bend = _without(bend, is_free_x, is_free_y, is_free_z)
        d, is_convex = _solve(bend, r)
        if not is_convex:
            bend = _on_sphere(hessian, n, -_LIFT * size, stiffness)
            d, is_convex = _solve(_without(bend, is_free_x, is_free_y, is_free_z), r)
        square = dot(d, d)
        if square > _LARGEST_STEP**2:
            d = scaled(d, _LARGEST_STEP / math.sqrt(square))
        v = subtract(n, d)
        if is_box or is_round:
            v = _stopped_at_kinks(v, n, p, is_box)
        length, inverse_length = _length(v)
    return False, n, p, m


@inlined
def _start(core: Array, matrix: Symmetric, c: Vector3, size: float, is_like_ball: bool) -> Vector3:
    """A direction near the minimum: towards a point of the ellipsoid, from the nearest point of the core.

    If the ellipsoid is like a ball, its center serves as well as a point of its surface.
    """
    half_x, half_y, half_z = core.half_0, core.half_1, core.half_2
    n, q = c, c
    if core.kind == ELLIPSOID or not is_like_ball:
        n = minimum_of_ellipsoids(add_diagonal(matrix, half_x, half_y, half_z), c, size)
        if core.kind == ELLIPSOID:
            return n
        q = subtract(c, _ellipsoid_point(matrix, n)[0])
    near = _NEAR * size
    if core.kind == BOX:
        x, y = q[0] - min(max(q[0], -half_x), half_x), q[1] - min(max(q[1], -half_y), half_y)
    else:
        rho = math.sqrt(q[0] * q[0] + q[1] * q[1])
        outside = max(rho - half_x, 0.0) / max(rho, near)
        x, y = q[0] * outside, q[1] * outside
    v = (x, y, q[2] - min(max(q[2], -half_z), half_z))
    return v if dot(v, v) > near * near else n


@inlined
def _point_of_box(half: float, n: float, g: float) -> tuple[float, bool]:
    """One coordinate of p, and whether it is within the box and balances r, which it may do if n is 0."""
    if n == 0.0:
        return (-g, True) if abs(g) <= half else (-math.copysign(half, g), False)
    return math.copysign(half, n), False


@inlined
def _point_of_rim(
    r: float, v: Vector3, length: float, g: Vector3, hessian: Symmetric
) -> tuple[float, float, Symmetric, bool]:
    """The coordinates of p across the axis of a cylinder, the Hessian with that of the cylinder, and whether n is along
    the axis; then p is what balances r, be it in the cylinder or not. v is n times its length.
    """
    rho = math.sqrt(v[0] * v[0] + v[1] * v[1])
    if rho == 0.0:
        return -g[0], -g[1], hessian, True
    inverse = 1.0 / rho
    x, y, bend = v[0] * inverse, v[1] * inverse, r * length * inverse
    return r * x, r * y, _sum(hessian, (bend * y * y, bend * x * x, 0.0, -bend * x * y, 0.0, 0.0)), False


@inlined
def _stopped_at_kinks(v: Vector3, n: Vector3, p: Vector3, is_box: bool) -> Vector3:
    """The end of a step from n, where p is the point of a box or cylinder; on the kinks that it would have crossed."""
    x, y, z = v
    if is_box:
        x, y = (x if p[0] * x > 0.0 else 0.0), (y if p[1] * y > 0.0 else 0.0)
    elif x * n[0] + y * n[1] <= 0.0:
        x, y = 0.0, 0.0
    return x, y, (z if p[2] * z > 0.0 else 0.0)


@inlined
def _beside_axis(n_z: float, hessian: Symmetric, g: Vector3, r: float, half: float) -> Vector3:
    """A step away from the axis of a cylinder of radius r, to where h falls."""
    reach = math.sqrt(g[0] * g[0] + g[1] * g[1])
    x, y = -g[0] / reach, -g[1] / reach
    bend = hessian[0] * x * x + hessian[1] * y * y + 2.0 * hessian[3] * x * y - (half + n_z * g[2])
    tilt = (reach - r) / max(bend, (reach - r) / _LARGEST_TILT)
    return unit((tilt * x, tilt * y, n_z))


@inlined
def ellipsoid_matrix(axes: Vector3, u: Vector3, v: Vector3, w: Vector3) -> Symmetric:
    """R S^2 R^T of semi-axes along u, v, w."""
    a, b, c = axes[0] * axes[0], axes[1] * axes[1], axes[2] * axes[2]
    return (
        a * u[0] * u[0] + b * v[0] * v[0] + c * w[0] * w[0],
        a * u[1] * u[1] + b * v[1] * v[1] + c * w[1] * w[1],
        a * u[2] * u[2] + b * v[2] * v[2] + c * w[2] * w[2],
        a * u[0] * u[1] + b * v[0] * v[1] + c * w[0] * w[1],
        a * u[0] * u[2] + b * v[0] * v[2] + c * w[0] * w[2],
        a * u[1] * u[2] + b * v[1] * v[2] + c * w[1] * w[2],
    )


@inlined
def add_diagonal(matrix: Symmetric, x: float, y: float, z: float) -> Symmetric:
    """The matrix and that of semi-axes x, y, z along the axes."""
    xx, yy, zz, xy, xz, yz = matrix
    return xx + x * x, yy + y * y, zz + z * z, xy, xz, yz


@inlined
def minimum_of_ellipsoids(matrix: Symmetric, c: Vector3, size: float) -> Vector3:
    """About the minimum of h for two ellipsoids, whose support functions have the matrices M1 and M2.

    With s1 = sqrt(n . M1 n), s2 alike, and the distance d, (M1 / s1 + M2 / s2 + d) n = c there. Here both s are half
    the size, and d is about what the size leaves of |c|.

    Args:
        matrix: M1 + M2.
        c: from the center of the first to that of the second.
        size: the sum of the radii of balls around them.
    """
    xx, yy, zz, xy, xz, yz = matrix
    shift = 0.25 * max(0.0, dot(c, c) - size * size) + _LEAST_SHIFT * (xx + yy + zz)
    return _adjugate_times((xx + shift, yy + shift, zz + shift, xy, xz, yz), c)


@inlined
def _ellipsoid_point(matrix: Symmetric, n: Vector3) -> tuple[Vector3, float]:
    """M n / sqrt(n . M n), and the inverse of the root."""
    product = _times(matrix, n)
    inverse = 1.0 / math.sqrt(dot(n, product))
    return scaled(product, inverse), inverse


@inlined
def _hessian(matrix: Symmetric, m: Vector3, inverse: float) -> Symmetric:
    """The second derivatives of sqrt(n . M n), at `_ellipsoid_point`."""
    return (
        (matrix[0] - m[0] * m[0]) * inverse,
        (matrix[1] - m[1] * m[1]) * inverse,
        (matrix[2] - m[2] * m[2]) * inverse,
        (matrix[3] - m[0] * m[1]) * inverse,
        (matrix[4] - m[0] * m[2]) * inverse,
        (matrix[5] - m[1] * m[2]) * inverse,
    )


@inlined
def _on_sphere(hessian: Symmetric, n: Vector3, h: float, stiffness: float) -> Symmetric:
    """The matrix of (2)."""
    k = h + stiffness
    return (
        hessian[0] - h + k * n[0] * n[0],
        hessian[1] - h + k * n[1] * n[1],
        hessian[2] - h + k * n[2] * n[2],
        hessian[3] + k * n[0] * n[1],
        hessian[4] + k * n[0] * n[2],
        hessian[5] + k * n[1] * n[2],
    )


@inlined
def _length(v: Vector3) -> tuple[float, float]:
    """|v| and its inverse; if v is nearly a unit vector, up to the fourth power of its excess, without a root."""
    excess = dot(v, v) - 1.0
    if abs(excess) > 0.05:
        length = norm(v)
        return length, 1.0 / length
    half = 0.5 * excess
    return 1.0 + half * (1.0 - half * (0.5 - half * 0.5)), 1.0 - half * (1.0 - half * (1.5 - half * 2.5))


@inlined
def _sum(x: Symmetric, y: Symmetric) -> Symmetric:
    return x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], x[4] + y[4], x[5] + y[5]


@inlined
def _without(m: Symmetric, x: bool, y: bool, z: bool) -> Symmetric:
    """The matrix without the rows and columns of some axes."""
    return (
        1.0 if x else m[0],
        1.0 if y else m[1],
        1.0 if z else m[2],
        0.0 if x or y else m[3],
        0.0 if x or z else m[4],
        0.0 if y or z else m[5],
    )


@inlined
def _times(m: Symmetric, v: Vector3) -> Vector3:
    return (
        m[0] * v[0] + m[3] * v[1] + m[4] * v[2],
        m[3] * v[0] + m[1] * v[1] + m[5] * v[2],
        m[4] * v[0] + m[5] * v[1] + m[2] * v[2],
    )


@inlined
def _adjugate_times(m: Symmetric, v: Vector3) -> Vector3:
    """det(m) m^-1 v."""
    xx, yy, zz, xy, xz, yz = m
    cofactors = (
        yy * zz - yz * yz,
        xx * zz - xz * xz,
        xx * yy - xy * xy,
        xz * yz - xy * zz,
        xy * yz - xz * yy,
        xy * xz - xx * yz,
    )
    return _times(cofactors, v)


@inlined
def _solve(m: Symmetric, v: Vector3) -> tuple[Vector3, bool]:
    """m^-1 v, and whether m is positive definite."""
    xx, yy, zz, xy, xz, yz = m
    cx, cy, cz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    determinant = xx * cx + xy * cy + xz * cz
    is_convex = zz > 0.0 and cx > 0.0 and determinant > 0.0
    return scaled(_adjugate_times(m, v), 1.0 / determinant if is_convex else 0.0), is_convex
