"""Minima of h for cylinders and boxes or cylinders, by Newton's method.

In the frame of the second, called the core, with radius r, half length l, axis e and center c of the first, the other,

    h(n) = h_core(n) + r |n - (n . e) e| + l |n . e| - n . c                             (1)

is the support function of the core less the other. sphere_steps.py has the steps and the kinks of the core. The other
has kinks across its axis, where its nearest point may be anywhere along its mantle, and on its axis, where it may be
anywhere on its end. The former are kept by steps across e.

Where both are apart the minimum is the only one with h < 0. It may be that there is another where they overlap.
"""

from __future__ import annotations

import math

from merganser.framework.native import inlined
from merganser.framework.native.lanes import Lanes, Mask, all_of, any_of, copy_sign, larger, smaller, square_root, where
from merganser.geometry.proximity.layout import BOX
from merganser.geometry.proximity.sphere_steps import (
    LIFT,
    MAX_STEPS,
    SHORTER,
    SLACK,
    TOLERANCE,
    Symmetric,
    beside_axis,
    either,
    from_core,
    known_length,
    length_of,
    newton_step,
    on_axis_of,
    point_of_box,
    point_of_rim,
    polished,
    shortened,
    stopped_at_kinks,
    times,
)
from merganser.geometry.proximity.vectors import Vector3, add, cross, dot, scaled, subtract, sum_scaled

__all__ = ["start_of_cylinder", "steps_of_cylinder"]

_ON_AXIS = 1e-12  # sine of the angle to the axis of the other
_NEAR_AXIS = 0.03  # the same; below it rounding along the axis is taken away
_REGULAR = 1e-16  # squared sine of the angle between kinks that meet at a point


@inlined
def start_of_cylinder(kind: int, sizes: Vector3, half: Lanes, e: Vector3, c: Vector3, size: Lanes) -> Vector3:
    """Where to start from: the direction from the core to the nearest point on the axis of the other."""
    on_axis = smaller(larger(-dot(c, e), -half), half)
    return from_core(kind, sizes[0], sizes[1], sizes[2], sum_scaled(c, e, on_axis), size)


@inlined
def steps_of_cylinder(
    kind: int, sizes: Vector3, radius: Lanes, half: Lanes, e: Vector3, c: Vector3, size: Lanes, start: Vector3
) -> tuple[Mask, Vector3, Vector3, Vector3]:
    """Whether a minimum of (1) was found; if so n, and the nearest points of the core and of the other.

    None is found where kinks meet that are along each other, or if a few steps are not enough.

    Args:
        kind: of the core: BOX or CYLINDER.
        sizes: of the core.
        radius, half: of the other, half its length.
        e: its axis.
        c: its center.
        size: of the pair.
        start: direction to start from.
    """
    x, y, z = sizes
    is_box = kind == BOX
    v, length, inverse_length, is_lost = known_length(start)
    largest, slack = TOLERANCE**2 * size * size, SLACK * size
    lowest, before, p_before, d = math.inf * size, v, v, v
    is_found, found_n, found_p, found_q = is_lost & ~is_lost, v, v, v
    side = copy_sign(1.0, dot(v, e))  # of the other, on which its nearest point is; 0 on its mantle
    side_before, across_before = side, v
    for _ in range(MAX_STEPS):
        n = scaled(v, inverse_length)
        across, is_on_axis, bend, t = _across(v, e, length)
        hessian = _hessian_across(radius * bend, e, t)
        m = scaled(t, radius)
        is_on_mantle = side == 0.0
        place = side * half
        if any_of(is_on_mantle):
            along, is_regular = _place_on_mantle(sizes, is_box, v, subtract(m, c), e)
            is_lost = is_lost | (is_on_mantle & ~is_regular & ~is_found)
            is_beyond = is_on_mantle & (abs(along) > half)
            side = where(is_beyond, copy_sign(1.0, along), side)
            is_on_mantle = is_on_mantle & ~is_beyond
            place = where(is_on_mantle, along, side * half)
        m = sum_scaled(m, e, place)
        g = subtract(m, c)
        others = hessian
        if is_box:
            p_x, is_free_x = point_of_box(x, n[0], g[0])
            p_y, is_free_y = point_of_box(y, n[1], g[1])
            leaves = is_on_axis & ~is_on_axis
        else:
            p_x, p_y, hessian, is_free_x = point_of_rim(x, v, length, g, hessian)
            is_free_y = is_free_x
            leaves = is_free_x & (p_x * p_x + p_y * p_y > x * x)
        p_z, is_free_z = point_of_box(z, n[2], g[2])
        p = (p_x, p_y, p_z)
        r = add(p, g)
        v_beside = v
        if any_of(leaves):
            v_beside = beside_axis(n, others, (g[0], g[1], 0.0 * x), x, z + n[2] * g[2])
        if any_of(is_on_axis):
            beside = sum_scaled(r, e, -dot(r, e))
            leaves_end = is_on_axis & ~leaves & (dot(beside, beside) > radius * radius)
            v_beside = either(leaves_end, beside_axis(n, hessian, beside, radius, dot(n, r)), v_beside)
            leaves = leaves | leaves_end
            is_held = is_on_axis & ~leaves_end
            m, r = either(is_held, subtract(m, beside), m), either(is_held, subtract(r, beside), r)
        h = dot(n, r)
        r = sum_scaled(r, n, -h)
        is_long = h > lowest  # the last step was
        is_fixed = is_on_axis | (is_on_mantle & (is_free_x | is_free_y | is_free_z))  # r along n, to rounding of n
        ends = ~leaves & ~is_found & ((dot(r, r) <= largest) | (is_fixed & ~is_long))
        if any_of(ends):
            found_n, found_p, found_q = either(ends, n, found_n), either(ends, p, found_p), either(ends, m, found_q)
            is_found = is_found | ends
        if all_of(is_found | is_lost):
            break
        step = newton_step(hessian, n, h, r, (is_free_x, is_free_y, is_free_z), size)
        if any_of(is_on_mantle):
            line = cross(n, e)
            slope = dot(r, line) / larger(dot(line, times(hessian, line)) - h, LIFT * size)
            step = either(is_on_mantle, scaled(line, slope), step)
        step = either(leaves, subtract(n, v_beside), step)
        d = shortened(either(is_long, scaled(d, SHORTER), step))
        before, p_before = either(is_long, before, n), either(is_long, p_before, p)
        lowest = where(is_long, lowest, h + slack)
        side = where(is_long, side_before, side)
        side_before = side
        across = either(is_long, across_before, across)
        across_before = across
        v, side = _stopped_at_kinks_of_other(
            stopped_at_kinks(subtract(before, d), before, p_before, is_box), across, e, side, is_box
        )
        length, inverse_length = length_of(v)
        is_lost = is_lost | ~(is_found | (length > 0.0))
    return is_found & ~is_lost, polished(found_n), found_p, subtract(c, found_q)


@inlined
def _across(v: Vector3, e: Vector3, length: Lanes) -> tuple[Vector3, Mask, Lanes, Vector3]:
    """The part of v across e, whether there is none, |v| over its length, and its direction; all are 0 then."""
    across = sum_scaled(v, e, -dot(v, e))
    reach = square_root(dot(across, across))
    is_near = reach < _NEAR_AXIS * length
    if any_of(is_near):
        across = either(is_near, sum_scaled(across, e, -dot(across, e)), across)
        reach = square_root(dot(across, across))
    is_on_axis, inverse = on_axis_of(reach, _ON_AXIS * length)
    if any_of(is_on_axis):
        across = scaled(across, where(is_on_axis, 0.0, 1.0))
    return across, is_on_axis, length * inverse, scaled(across, inverse)


@inlined
def _hessian_across(bend: Lanes, e: Vector3, t: Vector3) -> Symmetric:
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
def _place_on_mantle(sizes: Vector3, is_box: bool, v: Vector3, w: Vector3, e: Vector3) -> tuple[Lanes, Mask]:
    """Where along the axis of the other r vanishes, and whether there is one such place.

    Args:
        sizes: of the core.
        is_box: whether it is one.
        v: a direction across e.
        w: the point of the mantle in the middle of the axis, less c.
        e: the axis.
    """
    x, y, z = sizes
    e_x, e_y, e_z = e
    if is_box:
        p_x, p_y = copy_sign(x, v[0]), copy_sign(y, v[1])
        e_x, e_y = where(v[0] == 0.0, 0.0, e_x), where(v[1] == 0.0, 0.0, e_y)  # p_x and p_y vary there, too
    else:
        _, inverse = on_axis_of(square_root(v[0] * v[0] + v[1] * v[1]), 0.0)
        p_x, p_y = v[0] * (x * inverse), v[1] * (x * inverse)
    e_z = where(v[2] == 0.0, 0.0, e_z)
    square = e_x * e_x + e_y * e_y + e_z * e_z
    place = -(e_x * (p_x + w[0]) + e_y * (p_y + w[1]) + e_z * (copy_sign(z, v[2]) + w[2])) / square
    is_regular = square > _REGULAR
    return where(is_regular, place, 0.0), is_regular


@inlined
def _stopped_at_kinks_of_other(
    v: Vector3, across: Vector3, e: Vector3, side: Lanes, is_box: bool
) -> tuple[Vector3, Lanes]:
    """The end of a step on kinks of the other that it would have crossed, and the side of the other it is on then.

    Args:
        v: the end of the step, on the kinks of the core.
        across: the part of its start that is across e.
        e: the axis of the other.
        side: that of the start.
        is_box: whether the core is one.
    """
    along = dot(v, e)
    turns_over = (side != 0.0) & (dot(v, across) < 0.0)
    stays = turns_over | (side * along > 0.0)
    if any_of(~stays):
        mantle = sum_scaled(v, e, -along)
        mantle = either(v[2] == 0.0, _along(-e[1], e[0], 0.0 * along, v), mantle)
        if is_box:
            mantle = either(v[1] == 0.0, _along(e[2], 0.0 * along, -e[0], v), mantle)
            mantle = either(v[0] == 0.0, _along(0.0 * along, -e[2], e[1], v), mantle)
        v = either(stays, v, mantle)
        side = where(stays, side, 0.0)
    if any_of(turns_over):
        side = where(turns_over, copy_sign(1.0, along), side)
        v = either(turns_over, scaled(e, side), v)
    return v, side


@inlined
def _along(x: Lanes, y: Lanes, z: Lanes, v: Vector3) -> Vector3:
    """A line in the direction that is nearer to v."""
    sign = copy_sign(1.0, x * v[0] + y * v[1] + z * v[2])
    return x * sign, y * sign, z * sign
