"""Signed distance of an ellipsoid and an ellipsoid, box or cylinder, by Newton's method.

In the frame of the second, called the core, with semi-axes S and center c of the ellipsoid and M = R S^2 R^T,

    h(n) = h_core(n) + sqrt(n . M n) - n . c                                             (1)

is the support function of the core less the ellipsoid; minus its minimum over unit vectors is the signed distance. Its
point q is c - M n / sqrt(n . M n); sphere_steps.py has the steps.

Below the least radius of curvature of the ellipsoid there is no critical point of h but the minimum (narrow_phase.py).
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.flat_features import set_from_other_frame
from merganser.geometry.proximity.layout import BOX, CYLINDER, ELLIPSOID, SOLVED, UNSOLVED
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.sphere_steps import (
    LARGEST_STEP,
    LIFT,
    MAX_STEPS,
    SHORTER,
    SLACK,
    STIFFNESS,
    TOLERANCE,
    Symmetric,
    added,
    adjugate_times,
    beside_axis,
    from_core,
    length_of,
    on_sphere,
    point_of_box,
    point_of_rim,
    polished,
    solve,
    stopped_at_kinks,
    times,
    without,
)
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
)

__all__ = ["add_diagonal", "ellipsoid_matrix", "minimum_of_ellipsoids", "solve_ellipsoid"]

_ROUND = 1.5  # ratio of semi-axes
_LEAST_SHIFT = 1e-3  # of the trace, so that flat shapes have an inverse, too


@device
def solve_ellipsoid(a: Array, b: Array, work: Array) -> int:
    """Writes the solution for an ellipsoid and an ellipsoid, box or cylinder, in either order.

    Returns:
        SOLVED; or UNSOLVED: if they overlap so deeply that the solution need not be the least one, or if a few steps
        are not enough, as with very thin ellipsoids, where the value is infinite then.
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
    if not is_found:
        work.value = math.inf
        return UNSOLVED
    value = dot(n, subtract(p, q))
    if is_core_a:
        set_solution(work, n, value, p, sum_scaled(p, n, -value))
    else:
        set_from_other_frame(work, n, value, sum_scaled(p, n, -value), p)
    return SOLVED if value < rolling_radius(a) + rolling_radius(b) else UNSOLVED


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
    stiffness, largest, slack = STIFFNESS * size, (TOLERANCE * size) ** 2, SLACK * size
    lowest, before, p_before, d = math.inf, v, v, v
    x, y, z = core.size_0, core.size_1, core.size_2
    is_box, is_round = core.kind == BOX, core.kind == CYLINDER
    for _ in range(MAX_STEPS):
        n = scaled(v, inverse_length)
        m, inverse = _ellipsoid_point(matrix, v)
        hessian = _hessian(matrix, m, inverse * length)
        g = subtract(m, c)
        is_free_x, is_free_y, is_free_z = False, False, False
        if is_box:
            p_x, is_free_x = point_of_box(x, n[0], g[0])
            p_y, is_free_y = point_of_box(y, n[1], g[1])
            p_z, is_free_z = point_of_box(z, n[2], g[2])
            p = (p_x, p_y, p_z)
        elif is_round:
            p_x, p_y, hessian, is_free_x = point_of_rim(x, v, length, g, hessian)
            if is_free_x and p_x * p_x + p_y * p_y > x * x:
                v = beside_axis(n, hessian, (g[0], g[1], 0.0), x, z + n[2] * g[2])
                length, inverse_length = 1.0, 1.0
                continue
            is_free_y = is_free_x
            p_z, is_free_z = point_of_box(z, n[2], g[2])
            p = (p_x, p_y, p_z)
        else:
            own = (x * x, y * y, z * z, 0.0, 0.0, 0.0)
            p, inverse = _ellipsoid_point(own, v)
            hessian = added(hessian, _hessian(own, p, inverse * length))
        r = add(p, g)
        h = dot(n, r)
        r = sum_scaled(r, n, -h)
        if dot(r, r) <= largest:
            return True, polished(n), p, subtract(c, m)
        if h > lowest:  # the last step was too long
            d = scaled(d, SHORTER)
            v = subtract(before, d)
            if is_box or is_round:
                v = stopped_at_kinks(v, before, p_before, is_box)
            length, inverse_length = length_of(v)
            continue
        lowest, before, p_before = h + slack, n, p
        bend = on_sphere(hessian, n, h, stiffness)
        if is_free_x or is_free_y or is_free_z:
            bend = without(bend, is_free_x, is_free_y, is_free_z)
        d, is_convex = solve(bend, r)
        if not is_convex:
            bend = on_sphere(hessian, n, -LIFT * size, stiffness)
            d, is_convex = solve(without(bend, is_free_x, is_free_y, is_free_z), r)
        square = dot(d, d)
        if square > LARGEST_STEP**2:
            d = scaled(d, LARGEST_STEP / math.sqrt(square))
        v = subtract(n, d)
        if is_box or is_round:
            v = stopped_at_kinks(v, n, p, is_box)
        length, inverse_length = length_of(v)
    return False, n, p, m


@inlined
def _start(core: Array, matrix: Symmetric, c: Vector3, size: float, is_like_ball: bool) -> Vector3:
    """A direction near the minimum: towards a point of the ellipsoid, from the nearest point of the core.

    If the ellipsoid is like a ball, its center serves as well as a point of its surface.
    """
    half_x, half_y, half_z = core.half_0, core.half_1, core.half_2
    q = c
    if core.kind == ELLIPSOID or not is_like_ball:
        n = minimum_of_ellipsoids(add_diagonal(matrix, half_x, half_y, half_z), c, size)
        if core.kind == ELLIPSOID:
            return n
        q = subtract(c, _ellipsoid_point(matrix, n)[0])
    return from_core(core, q, size)


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
    return adjugate_times((xx + shift, yy + shift, zz + shift, xy, xz, yz), c)


@inlined
def _ellipsoid_point(matrix: Symmetric, n: Vector3) -> tuple[Vector3, float]:
    """M n / sqrt(n . M n), and the inverse of the root."""
    product = times(matrix, n)
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
