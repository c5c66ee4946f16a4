"""Steps of Newton's method on the sphere, for the minimum of h of a core with sides or an axis, and another one.

At the minimum of h over unit vectors n the nearest points p of the core and q of the other have p - q = h n
(refine.py). With r = p - q - h n and the Hessian H of h, a step d along the sphere is

    (H - h I + (h + k) n n^T) d = -r,    any k > 0                                       (1)

because H n = 0. A box has kinks where n_i = 0, a cylinder where n_z = 0 and on its axis. A step across a kink ends on
it; there p_i may be anything within the core, and r_i vanishes if that is enough, else n leaves the kink again. A step
after which h is greater is shortened. Directions v need not be unit vectors: their lengths go along.

All this is done for several pairs side by side, each number being lanes, masks taking the place of branches.
"""

from __future__ import annotations

from typing import TypeAlias

from merganser.framework.native import inlined
from merganser.framework.native.lanes import (
    Lanes,
    Mask,
    any_of,
    copy_sign,
    larger,
    square_root,
    where,
)
from merganser.geometry.proximity.layout import BOX
from merganser.geometry.proximity.vectors import Vector3, dot, scaled, sum_scaled

__all__ = [
    "LIFT", "MAX_STEPS", "SHORTER", "SLACK", "TOLERANCE", "Symmetric", "added", "adjugate_times",
    "beside_axis", "either", "from_core", "known_length", "length_of", "newton_step", "on_axis_of", "point_of_box",
    "point_of_rim", "polished", "shortened", "stopped_at_kinks", "times",
]  # fmt: skip

Symmetric: TypeAlias = tuple[Lanes, Lanes, Lanes, Lanes, Lanes, Lanes]  # xx, yy, zz, xy, xz, yz

MAX_STEPS = 20
SHORTER = 0.3  # what is left of a step after which h is greater
SLACK = 1e-13  # of the size: by how much rounding may have h rise
TOLERANCE = 1e-12  # of the size: |r|
_STIFFNESS = 0.1  # of the size: k of (1)
LIFT = 0.05  # of the size: stands for -h in (1) where h is too large, far from the minimum
_LARGEST_STEP = 0.7  # [rad]
_LEAST_WAY_DOWN = 0.3  # [rad], of a step where h is concave, which does not end at the minimum nearby
_LARGEST_TILT = 0.25  # [rad], from the axis of a cylinder
_TINY = 1e-30  # square of a length that counts as zero
_NEAR = 1e-9  # of the size: distance of a point at less than which its direction is uncertain


@inlined
def either(mask: Mask, v: Vector3, w: Vector3) -> Vector3:
    """v where the mask is true, else w."""
    return where(mask, v[0], w[0]), where(mask, v[1], w[1]), where(mask, v[2], w[2])


@inlined
def from_core(kind: int, x: Lanes, y: Lanes, z: Lanes, q: Vector3, size: Lanes) -> Vector3:
    """From the nearest point of a box or cylinder to a point outside of it; to the nearest side if it is inside.

    Args:
        kind: BOX or CYLINDER.
        x, y, z: measures of the core.
        q: the point.
        size: of the pair.
    """
    near = _NEAR * size
    above = abs(q[2]) - z
    if kind == BOX:
        beside_x, beside_y = abs(q[0]) - x, abs(q[1]) - y
        v = (_beyond(q[0], beside_x), _beyond(q[1], beside_y), _beyond(q[2], above))
        is_lowest_x = beside_x >= beside_y
        is_up = (above >= beside_x) & (above >= beside_y)
        side = (
            where(is_up | ~is_lowest_x, 0.0, copy_sign(1.0, q[0])),
            where(is_up | is_lowest_x, 0.0, copy_sign(1.0, q[1])),
            where(is_up, copy_sign(1.0, q[2]), 0.0),
        )
    else:
        rho = square_root(q[0] * q[0] + q[1] * q[1])
        beside = rho - x
        outside = larger(beside, 0.0) / larger(rho, near)
        v = (q[0] * outside, q[1] * outside, _beyond(q[2], above))
        is_up = (above >= beside) | (rho <= near)
        side = (where(is_up, 0.0, q[0]), where(is_up, 0.0, q[1]), where(is_up, copy_sign(1.0, q[2]), 0.0))
    return either(dot(v, v) > near * near, v, side)


@inlined
def _beyond(x: Lanes, distance: Lanes) -> Lanes:
    return where(distance > 0.0, copy_sign(distance, x), 0.0)


@inlined
def polished(n: Vector3) -> Vector3:
    """A unit vector, from one that is nearly so, as after a long step (`length_of`)."""
    excess = dot(n, n) - 1.0
    return scaled(n, 1.0 - excess * (0.5 - 0.375 * excess))


@inlined
def point_of_box(half: Lanes, n: Lanes, g: Lanes) -> tuple[Lanes, Mask]:
    """One coordinate of p, and whether it is within the box and balances r, which it may do if n is 0."""
    is_on_kink = n == 0.0
    is_free = is_on_kink & (abs(g) <= half)
    return where(is_free, -g, copy_sign(half, where(is_on_kink, -g, n))), is_free


@inlined
def on_axis_of(rho: Lanes, limit: Lanes) -> tuple[Mask, Lanes]:
    """Whether a direction whose part across an axis has this length is along the axis; else the inverse of the length,
    0 there."""
    is_on_axis = ~(rho > limit)
    return is_on_axis, where(is_on_axis, 0.0, 1.0 / where(is_on_axis, 1.0, rho))


@inlined
def point_of_rim(
    r: Lanes, v: Vector3, length: Lanes, g: Vector3, hessian: Symmetric
) -> tuple[Lanes, Lanes, Symmetric, Mask]:
    """The coordinates of p across the axis of a cylinder, the Hessian with that of the cylinder, and whether n is along
    the axis; then p is what balances r, be it in the cylinder or not. v is n times its length.
    """
    is_on_axis, inverse = on_axis_of(square_root(v[0] * v[0] + v[1] * v[1]), 0.0)
    x, y, bend = v[0] * inverse, v[1] * inverse, r * length * inverse
    hessian = added(hessian, (bend * y * y, bend * x * x, 0.0 * x, -bend * x * y, 0.0 * x, 0.0 * x))
    return where(is_on_axis, -g[0], r * x), where(is_on_axis, -g[1], r * y), hessian, is_on_axis


@inlined
def stopped_at_kinks(v: Vector3, n: Vector3, p: Vector3, is_box: bool) -> Vector3:
    """The end of a step from n, where p is the point of a box or cylinder; on the kinks that it would have crossed."""
    x, y, z = v
    if is_box:
        x, y = where(p[0] * x > 0.0, x, 0.0), where(p[1] * y > 0.0, y, 0.0)
    else:
        is_across = x * n[0] + y * n[1] < 0.0
        x, y = where(is_across, 0.0, x), where(is_across, 0.0, y)
    return x, y, where(p[2] * z > 0.0, z, 0.0)


@inlined
def beside_axis(n: Vector3, hessian: Symmetric, beside: Vector3, radius: Lanes, h: Lanes) -> Vector3:
    """A step from n on the axis of a cylinder to where h falls.

    Args:
        n: along the axis.
        hessian: that of h without the cylinder.
        beside: the part of r across the axis, longer than the radius.
        radius: of the cylinder.
        h: at n.
    """
    reach = square_root(dot(beside, beside))
    u = scaled(beside, -1.0 / larger(reach, radius))
    tilt = (reach - radius) / larger(dot(u, times(hessian, u)) - h, (reach - radius) / _LARGEST_TILT)
    v = sum_scaled(n, u, tilt)
    return scaled(v, 1.0 / square_root(dot(v, v)))


@inlined
def newton_step(
    hessian: Symmetric, n: Vector3, h: Lanes, r: Vector3, free: tuple[Mask, Mask, Mask], size: Lanes
) -> Vector3:
    """-d of (1), kept from axes where p balances r."""
    stiffness = _STIFFNESS * size
    d, is_convex = _solve(_without(_on_sphere(hessian, n, h, stiffness), free), r)
    if any_of(~is_convex):
        other, _ = _solve(_without(_on_sphere(hessian, n, -LIFT * size, stiffness), free), r)
        length = square_root(larger(dot(other, other), _TINY))
        d = either(is_convex, d, scaled(other, larger(_LEAST_WAY_DOWN / length, 1.0)))
    return d


@inlined
def shortened(d: Vector3) -> Vector3:
    """A step, no longer than steps may be."""
    square = dot(d, d)
    if any_of(square > _LARGEST_STEP**2):
        d = scaled(d, _LARGEST_STEP / square_root(larger(square, _LARGEST_STEP**2)))
    return d


@inlined
def _on_sphere(hessian: Symmetric, n: Vector3, h: Lanes, stiffness: Lanes) -> Symmetric:
    """The matrix of (1)."""
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
def known_length(v: Vector3) -> tuple[Vector3, Lanes, Lanes, Mask]:
    """A direction, its length and the inverse, and whether it has none; then it is some other one."""
    length = square_root(dot(v, v))
    has_none = ~(length > 0.0)
    length = where(has_none, 1.0, length)
    return (v[0], v[1], where(has_none, 1.0, v[2])), length, 1.0 / length, has_none


@inlined
def length_of(v: Vector3) -> tuple[Lanes, Lanes]:
    """|v| and its inverse; of nearly a unit vector up to the fourth power of its excess, without a root."""
    square = dot(v, v)
    excess = square - 1.0
    half = 0.5 * excess
    length, inverse = 1.0 + half * (1.0 - half * (0.5 - half * 0.5)), 1.0 - half * (1.0 - half * (1.5 - half * 2.5))
    is_far = abs(excess) > 0.05
    if any_of(is_far):
        root = square_root(square)
        length, inverse = where(is_far, root, length), where(is_far, 1.0 / root, inverse)
    return length, inverse


@inlined
def added(x: Symmetric, y: Symmetric) -> Symmetric:
    return x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], x[4] + y[4], x[5] + y[5]


@inlined
def _without(m: Symmetric, free: tuple[Mask, Mask, Mask]) -> Symmetric:
    """The matrix without the rows and columns of some axes."""
    x, y, z = free
    return (
        where(x, 1.0, m[0]),
        where(y, 1.0, m[1]),
        where(z, 1.0, m[2]),
        where(x | y, 0.0, m[3]),
        where(x | z, 0.0, m[4]),
        where(y | z, 0.0, m[5]),
    )


@inlined
def times(m: Symmetric, v: Vector3) -> Vector3:
    return (
        m[0] * v[0] + m[3] * v[1] + m[4] * v[2],
        m[3] * v[0] + m[1] * v[1] + m[5] * v[2],
        m[4] * v[0] + m[5] * v[1] + m[2] * v[2],
    )


@inlined
def adjugate_times(m: Symmetric, v: Vector3) -> Vector3:
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
    return times(cofactors, v)


@inlined
def _solve(m: Symmetric, v: Vector3) -> tuple[Vector3, Mask]:
    """m^-1 v, and whether m is positive definite; 0 if it is not."""
    xx, yy, zz, xy, xz, yz = m
    cx, cy, cz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    determinant = xx * cx + xy * cy + xz * cz
    is_convex = (zz > 0.0) & (cx > 0.0) & (determinant > 0.0)
    return scaled(adjugate_times(m, v), where(is_convex, 1.0 / where(is_convex, determinant, 1.0), 0.0)), is_convex
