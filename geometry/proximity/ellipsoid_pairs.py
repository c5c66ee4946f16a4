"""Minima of h for ellipsoids and ellipsoids, boxes or cylinders, by Newton's method.

In the frame of the second, called the core, with semi-axes S and center c of the ellipsoid and M = R S^2 R^T,

    h(n) = h_core(n) + sqrt(n . M n) - n . c                                             (1)

is the support function of the core less the ellipsoid; minus its minimum over unit vectors is the signed distance. Its
point q is c - M n / sqrt(n . M n); sphere_steps.py has the steps.

Below the least radius of curvature of the ellipsoid there is no critical point of h but the minimum (narrow_phase.py).
"""

from __future__ import annotations

import math

from merganser.framework.native import inlined
from merganser.framework.native.lanes import Lanes, Mask, all_of, any_of, larger, smaller, square_root, where
from merganser.geometry.proximity.layout import BOX, CYLINDER, ELLIPSOID
from merganser.geometry.proximity.sphere_steps import (
    MAX_STEPS,
    SHORTER,
    SLACK,
    TOLERANCE,
    Symmetric,
    added,
    adjugate_times,
    beside_axis,
    either,
    from_core,
    known_length,
    length_of,
    newton_step,
    point_of_box,
    point_of_rim,
    polished,
    shortened,
    stopped_at_kinks,
    times,
)
from merganser.geometry.proximity.vectors import Vector3, add, dot, scaled, subtract, sum_scaled

__all__ = ["add_diagonal", "ellipsoid_matrix", "minimum_of_ellipsoids", "start_of_ellipsoid", "steps_of_ellipsoid"]

_ROUND = 1.5  # ratio of semi-axes
_LEAST_SHIFT = 1e-3  # of the trace, so that flat shapes have an inverse, too


@inlined
def start_of_ellipsoid(
    kind: int, sizes: Vector3, axes: Vector3, u: Vector3, v: Vector3, w: Vector3, c: Vector3, size: Lanes
) -> Vector3:
    """A direction near the minimum: towards a point of the ellipsoid, from the nearest point of the core.

    If the ellipsoid is like a ball, its center serves as well as a point of its surface.

    Args:
        kind: of the core: ELLIPSOID, BOX or CYLINDER.
        sizes: of the core.
        axes: semi-axes.
        u, v, w: directions of these.
        c: center.
        size: of the pair.
    """
    x, y, z = sizes
    shortest, longest = smaller(axes[0], smaller(axes[1], axes[2])), larger(axes[0], larger(axes[1], axes[2]))
    is_like_ball = longest < _ROUND * shortest
    matrix = ellipsoid_matrix(axes, u, v, w)
    if kind == ELLIPSOID:
        return minimum_of_ellipsoids(add_diagonal(matrix, x, y, z), c, size)
    q = c
    if any_of(~is_like_ball):
        n = minimum_of_ellipsoids(add_diagonal(matrix, x, x if kind == CYLINDER else y, z), c, size)
        q = either(is_like_ball, c, subtract(c, _ellipsoid_point(matrix, n)[0]))
    return from_core(kind, x, y, z, q, size)


@inlined
def steps_of_ellipsoid(
    kind: int, sizes: Vector3, matrix: Symmetric, c: Vector3, size: Lanes, start: Vector3
) -> tuple[Mask, Vector3, Vector3, Vector3]:
    """Whether a critical point of (1) was found; if so n, and the nearest points of the core and of the ellipsoid.

    Args:
        kind: of the core: ELLIPSOID, BOX or CYLINDER.
        sizes: of the core.
        matrix: M.
        c: center of the ellipsoid.
        size: of the pair.
        start: direction to start from.
    """
    v, length, inverse_length, is_lost = known_length(start)
    largest, slack = TOLERANCE**2 * size * size, SLACK * size
    lowest, before, p_before, d = math.inf * size, v, v, v
    is_found, found_n, found_p, found_q = is_lost & ~is_lost, v, v, v
    never = is_found
    x, y, z = sizes
    is_box, is_round = kind == BOX, kind == CYLINDER
    for _ in range(MAX_STEPS):
        n = scaled(v, inverse_length)
        m, inverse = _ellipsoid_point(matrix, v)
        hessian = _hessian(matrix, m, inverse * length)
        g = subtract(m, c)
        is_free_x, is_free_y, is_free_z, leaves, v_beside = never, never, never, never, v
        if is_box:
            p_x, is_free_x = point_of_box(x, n[0], g[0])
            p_y, is_free_y = point_of_box(y, n[1], g[1])
            p_z, is_free_z = point_of_box(z, n[2], g[2])
            p = (p_x, p_y, p_z)
        elif is_round:
            own_hessian = hessian
            p_x, p_y, hessian, is_free_x = point_of_rim(x, v, length, g, hessian)
            leaves = is_free_x & (p_x * p_x + p_y * p_y > x * x)
            if any_of(leaves):
                v_beside = beside_axis(n, own_hessian, (g[0], g[1], 0.0 * x), x, z + n[2] * g[2])
            is_free_y = is_free_x
            p_z, is_free_z = point_of_box(z, n[2], g[2])
            p = (p_x, p_y, p_z)
        else:
            own = (x * x, y * y, z * z, 0.0 * x, 0.0 * x, 0.0 * x)
            p, inverse = _ellipsoid_point(own, v)
            hessian = added(hessian, _hessian(own, p, inverse * length))
        r = add(p, g)
        h = dot(n, r)
        r = sum_scaled(r, n, -h)
        ends = ~leaves & ~is_found & (dot(r, r) <= largest)
        if any_of(ends):
            found_n, found_p, found_q = either(ends, n, found_n), either(ends, p, found_p), either(ends, m, found_q)
            is_found = is_found | ends
        if all_of(is_found | is_lost):
            break
        is_long = h > lowest  # the last step was
        step = newton_step(hessian, n, h, r, (is_free_x, is_free_y, is_free_z), size)
        if is_round:
            step = either(leaves, subtract(n, v_beside), step)
        d = shortened(either(is_long, scaled(d, SHORTER), step))
        before, p_before = either(is_long, before, n), either(is_long, p_before, p)
        lowest = where(is_long, lowest, h + slack)
        v = subtract(before, d)
        if is_box or is_round:
            v = stopped_at_kinks(v, before, p_before, is_box)
        length, inverse_length = length_of(v)
        is_lost = is_lost | ~(is_found | (length > 0.0))
    return is_found & ~is_lost, polished(found_n), found_p, subtract(c, found_q)


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
    shift = 0.25 * larger(dot(c, c) - size * size, 0.0) + _LEAST_SHIFT * (xx + yy + zz)
    return adjugate_times((xx + shift, yy + shift, zz + shift, xy, xz, yz), c)


@inlined
def _ellipsoid_point(matrix: Symmetric, n: Vector3) -> tuple[Vector3, Lanes]:
    """M n / sqrt(n . M n), and the inverse of the root."""
    product = times(matrix, n)
    inverse = 1.0 / square_root(dot(n, product))
    return scaled(product, inverse), inverse


@inlined
def _hessian(matrix: Symmetric, m: Vector3, inverse: Lanes) -> Symmetric:
    """The second derivatives of sqrt(n . M n), at `_ellipsoid_point`."""
    return (
        (matrix[0] - m[0] * m[0]) * inverse,
        (matrix[1] - m[1] * m[1]) * inverse,
        (matrix[2] - m[2] * m[2]) * inverse,
        (matrix[3] - m[0] * m[1]) * inverse,
        (matrix[4] - m[0] * m[2]) * inverse,
        (matrix[5] - m[1] * m[2]) * inverse,
    )
