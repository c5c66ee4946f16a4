"""A minimum of h for a cylinder and a box or cylinder, by Newton's method.

In the frame of the second, called the core, with radius r, half length l, axis e and center c of the first, the other,

    h(n) = h_core(n) + r |n - (n . e) e| + l |n . e| - n . c                             (1)

is the support function of the core less the other. sphere_steps.py has the steps and the kinks of the core. The other
has kinks across its axis, where its nearest point may be anywhere along its mantle, and on its axis, where it may be
anywhere on its end. The former are kept by steps across e.

Where both are apart the minimum is the only one with h < 0. It may be that there is another where they overlap.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.flat_features import set_from_other_frame
from merganser.geometry.proximity.layout import BOX, CYLINDER, SOLVED, UNSOLVED
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
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    axis,
    cross,
    dot,
    negated,
    norm,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    unit_axis,
)

__all__ = ["solve_cylinder_and_core"]

_ON_AXIS = 1e-12  # sine of the angle to the axis of the other
_NEAR_AXIS = 0.03  # the same; below it rounding along the axis is taken away
_REGULAR = 1e-6  # squared sine of the angle between kinks that meet at a point


@device
def solve_cylinder_and_core(a: Array, b: Array, work: Array) -> int:
    """Writes a minimum of h for a cylinder and a box or cylinder, in either order; the least one if h < 0 there.

    Returns:
        SOLVED; or UNSOLVED if kinks meet, as with axes along each other, or if a few steps are not enough.
    """
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    is_core_a = b.kind == CYLINDER
    if is_core_a:
        core, other, c, e = a, b, origin, axis(X_AB, 2)
    else:
        core, other, c, e = b, a, negated(rotated_back(X_AB, origin)), (X_AB[6], X_AB[7], X_AB[8])
    size = a.bound + b.bound
    on_axis = min(max(-dot(c, e), -other.size_2), other.size_2)
    start = from_core(core, sum_scaled(c, e, on_axis), size)
    is_found, n, p, q = _go_down(core, other.size_0, other.size_2, e, c, size, start)
    if not is_found:
        return UNSOLVED
    value = dot(n, subtract(p, q))
    if is_core_a:
        set_solution(work, n, value, p, sum_scaled(p, n, -value))
    else:
        set_from_other_frame(work, n, value, sum_scaled(p, n, -value), p)
    return SOLVED


@device
def _go_down(
    core: Array, radius: float, half: float, e: Vector3, c: Vector3, size: float, start: Vector3
) -> tuple[bool, Vector3, Vector3, Vector3]:
    """Whether a minimum of (1) was found; if so n, and the nearest points of the core and of the other."""
    v, n, m, p = start, start, start, start
    length = norm(v)
    if not length > 0.0:
        return False, n, p, m
    inverse_length = 1.0 / length
    stiffness, largest, slack = STIFFNESS * size, (TOLERANCE * size) ** 2, SLACK * size
    lowest, before, p_before, side_before, d = math.inf, v, v, 0.0, v
    x, y, z = core.size_0, core.size_1, core.size_2
    is_box = core.kind == BOX
    side = math.copysign(1.0, dot(v, e))  # of the other, on which its nearest point is; 0 on its mantle
    for _ in range(MAX_STEPS):
        n = scaled(v, inverse_length)
        across = sum_scaled(v, e, -dot(v, e))
        reach = norm(across)
        if reach < _NEAR_AXIS * length:
            across = sum_scaled(across, e, -dot(across, e))
            reach = norm(across)
        is_on_axis = not reach > _ON_AXIS * length
        t = scaled(across, 0.0 if is_on_axis else 1.0 / reach)
        bend = 0.0 if is_on_axis else radius * length / reach
        hessian = _hessian_across(bend, e, t)
        m = scaled(t, radius)
        on_mantle = side == 0.0
        if on_mantle:
            along, is_regular = _place_on_mantle(x, y, z, is_box, v, subtract(m, c), e)
            if not is_regular:
                return False, n, p, m
            if abs(along) > half:
                side, on_mantle = math.copysign(1.0, along), False
        m = sum_scaled(m, e, along if on_mantle else side * half)
        g = subtract(m, c)
        if is_box:
            p_x, is_free_x = point_of_box(x, n[0], g[0])
            p_y, is_free_y = point_of_box(y, n[1], g[1])
        else:
            p_x, p_y, hessian, is_free_x = point_of_rim(x, v, length, g, hessian)
            is_free_y = is_free_x
            if is_free_x and p_x * p_x + p_y * p_y > x * x:
                v = beside_axis(n, hessian, (g[0], g[1], 0.0), x, z + n[2] * g[2])
                length, inverse_length = 1.0, 1.0
                side = math.copysign(1.0, dot(v, e))
                continue
        p_z, is_free_z = point_of_box(z, n[2], g[2])
        p = (p_x, p_y, p_z)
        r = add(p, g)
        if is_on_axis:
            beside = sum_scaled(r, e, -dot(r, e))
            if dot(beside, beside) > radius * radius:
                v = beside_axis(n, hessian, beside, radius, dot(n, r))
                length, inverse_length = 1.0, 1.0
                continue
            m, r = subtract(m, beside), subtract(r, beside)
        h = dot(n, r)
        r = sum_scaled(r, n, -h)
        is_fixed = is_on_axis or (on_mantle and (is_free_x or is_free_y or is_free_z))  # r along n, to rounding of n
        if dot(r, r) <= largest or (is_fixed and h <= lowest):
            return True, polished(n), p, subtract(c, m)
        if h > lowest:  # the last step was too long
            d, side, n, p = scaled(d, SHORTER), side_before, before, p_before
            across = sum_scaled(n, e, -dot(n, e))
        else:
            lowest, before, p_before, side_before = h + slack, n, p, side
            if on_mantle:
                d = cross(n, e)
                d = scaled(d, dot(r, d) / max(dot(d, times(hessian, d)) - h, LIFT * size))
            else:
                matrix = without(on_sphere(hessian, n, h, stiffness), is_free_x, is_free_y, is_free_z)
                d, is_convex = solve(matrix, r)
                if not is_convex:
                    matrix = on_sphere(hessian, n, -LIFT * size, stiffness)
                    d, is_convex = solve(without(matrix, is_free_x, is_free_y, is_free_z), r)
            square = dot(d, d)
            if square > LARGEST_STEP**2:
                d = scaled(d, LARGEST_STEP / math.sqrt(square))
        v = stopped_at_kinks(subtract(n, d), n, p, is_box)
        v, side = _stopped_at_kinks_of_other(v, across, e, side, is_box)
        length, inverse_length = length_of(v)
    return False, n, p, m


@inlined
def _hessian_across(bend: float, e: Vector3, t: Vector3) -> Symmetric:
    """bend (I - e e^T - t t^T)."""
    return (
        bend * (1.0 - e[0] * e[0] - t[0] * t[0]),
        bend * (1.0 - e[1] * e[1] - t[1] * t[1]),
        bend * (1.0 - e[2] * e[2] - t[2] * t[2]),
        -bend * (e[0] * e[1] + t[0] * t[1]),
        -bend * (e[0] * e[2] + t[0] * t[2]),
        -bend * (e[1] * e[2] + t[1] * t[2]),
    )


@inlined
def _place_on_mantle(
    x: float, y: float, z: float, is_box: bool, v: Vector3, w: Vector3, e: Vector3
) -> tuple[float, bool]:
    """Where along the axis of the other r vanishes, and whether there is one such place.

    Args:
        x, y, z: measures of the core.
        is_box: whether it is one.
        v: a direction across e.
        w: the point of the mantle in the middle of the axis, less c.
        e: the axis.
    """
    e_x, e_y, e_z = e
    if is_box:
        p_x, p_y = math.copysign(x, v[0]), math.copysign(y, v[1])
        e_x, e_y = (0.0 if v[0] == 0.0 else e_x), (0.0 if v[1] == 0.0 else e_y)  # p_x and p_y vary there, too
    else:
        rho = math.sqrt(v[0] * v[0] + v[1] * v[1])
        inverse = x / rho if rho > 0.0 else 0.0
        p_x, p_y = v[0] * inverse, v[1] * inverse
    e_z = 0.0 if v[2] == 0.0 else e_z
    square = e_x * e_x + e_y * e_y + e_z * e_z
    if not square > _REGULAR:
        return 0.0, False
    return -(e_x * (p_x + w[0]) + e_y * (p_y + w[1]) + e_z * (math.copysign(z, v[2]) + w[2])) / square, True


@inlined
def _stopped_at_kinks_of_other(
    v: Vector3, across: Vector3, e: Vector3, side: float, is_box: bool
) -> tuple[Vector3, float]:
    """The end of a step on kinks of the other that it would have crossed, and the side of the other it is on then.

    Args:
        v: the end of the step, on the kinks of the core.
        across: the part of its start that is across e.
        e: the axis of the other.
        side: that of the start.
        is_box: whether the core is one.
    """
    along = dot(v, e)
    if side != 0.0:
        if dot(v, across) <= 0.0:
            side = math.copysign(1.0, along)
            return scaled(e, side), side
        if side * along > 0.0:
            return v, side
    for i in range(3):
        if v[i] == 0.0 and (is_box or i == 2):
            line = cross(unit_axis(i), e)
            line = scaled(line, math.copysign(1.0, dot(line, v)))
            return ((0.0 if i == 0 else line[0]), (0.0 if i == 1 else line[1]), (0.0 if i == 2 else line[2])), 0.0
    return sum_scaled(v, e, -along), 0.0
