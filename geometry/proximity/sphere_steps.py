"""Steps of Newton's method on the sphere, for the minimum of h where a box or cylinder, the core, is one of a pair.

At the minimum of h over unit vectors n the nearest points p of the core and q of the other have p - q = h n
(refine.py). With r = p - q - h n and the Hessian H of h, a step d along the sphere is

    (H - h I + (h + k) n n^T) d = -r,    any k > 0                                       (1)

because H n = 0. A box has kinks where n_i = 0, a cylinder where n_z = 0 and on its axis. A step across a kink ends on
it; there p_i may be anything within the core, and r_i vanishes if that is enough, else n leaves the kink again. A step
after which h is greater is shortened. Directions v need not be unit vectors: their lengths go along.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from merganser.framework.native import inlined
from merganser.geometry.proximity.layout import BOX
from merganser.geometry.proximity.vectors import Array, Vector3, dot, norm, scaled, sum_scaled, unit

__all__ = [
    "LARGEST_STEP", "LIFT", "MAX_STEPS", "SHORTER", "SLACK", "STIFFNESS", "TOLERANCE", "Symmetric", "added",
    "adjugate_times", "beside_axis", "from_core", "length_of", "on_sphere", "point_of_box", "point_of_rim",
    "polished", "solve", "stopped_at_kinks", "times", "without",
]  # fmt: skip

Symmetric: TypeAlias = tuple[float, float, float, float, float, float]  # xx, yy, zz, xy, xz, yz

MAX_STEPS = 20
LARGEST_STEP = 0.7  # [rad]
SHORTER = 0.3  # what is left of a step after which h is greater
SLACK = 1e-13  # of the size: by how much rounding may have h rise
TOLERANCE = 1e-12  # of the size: |r|
STIFFNESS = 0.1  # of the size: k of (1)
LIFT = 0.1  # of the size: stands for -h in (1) where h is too large, far from the minimum
_LARGEST_TILT = 0.5  # [rad], from the axis of a cylinder
_NEAR = 1e-9  # of the size: distance of a point at less than which its direction is uncertain


@inlined
def from_core(core: Array, q: Vector3, size: float) -> Vector3:
    """From the nearest point of a box or cylinder to a point outside of it; to the nearest side if it is inside."""
    half_x, half_y, half_z = core.half_0, core.half_1, core.half_2
    x, y, z = q
    above = abs(z) - half_z
    near = _NEAR * size
    if core.kind == BOX:
        beside_x, beside_y = abs(x) - half_x, abs(y) - half_y
        v = (_beyond(x, beside_x), _beyond(y, beside_y), _beyond(z, above))
        if dot(v, v) > near * near:
            return v
        if above >= beside_x and above >= beside_y:
            return 0.0, 0.0, math.copysign(1.0, z)
        return (math.copysign(1.0, x), 0.0, 0.0) if beside_x >= beside_y else (0.0, math.copysign(1.0, y), 0.0)
    rho = math.sqrt(x * x + y * y)
    beside = rho - half_x
    outside = max(beside, 0.0) / max(rho, near)
    v = (x * outside, y * outside, _beyond(z, above))
    if dot(v, v) > near * near:
        return v
    return (0.0, 0.0, math.copysign(1.0, z)) if above >= beside or rho <= near else (x, y, 0.0)


@inlined
def _beyond(x: float, distance: float) -> float:
    return math.copysign(distance, x) if distance > 0.0 else 0.0


@inlined
def polished(n: Vector3) -> Vector3:
    """A unit vector, from one that is nearly so, as after a long step (`length_of`)."""
    excess = dot(n, n) - 1.0
    return scaled(n, 1.0 - excess * (0.5 - 0.375 * excess))


@inlined
def point_of_box(half: float, n: float, g: float) -> tuple[float, bool]:
    """One coordinate of p, and whether it is within the box and balances r, which it may do if n is 0."""
    if n == 0.0:
        return (-g, True) if abs(g) <= half else (-math.copysign(half, g), False)
    return math.copysign(half, n), False


@inlined
def point_of_rim(
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
    return r * x, r * y, added(hessian, (bend * y * y, bend * x * x, 0.0, -bend * x * y, 0.0, 0.0)), False


@inlined
def stopped_at_kinks(v: Vector3, n: Vector3, p: Vector3, is_box: bool) -> Vector3:
    """The end of a step from n, where p is the point of a box or cylinder; on the kinks that it would have crossed."""
    x, y, z = v
    if is_box:
        x, y = (x if p[0] * x > 0.0 else 0.0), (y if p[1] * y > 0.0 else 0.0)
    elif x * n[0] + y * n[1] <= 0.0:
        x, y = 0.0, 0.0
    return x, y, (z if p[2] * z > 0.0 else 0.0)


@inlined
def beside_axis(n: Vector3, hessian: Symmetric, beside: Vector3, radius: float, h: float) -> Vector3:
    """A step from n on the axis of a cylinder to where h falls.

    Args:
        n: along the axis.
        hessian: that of h without the cylinder.
        beside: the part of r across the axis, longer than the radius.
        radius: of the cylinder.
        h: at n.
    """
    reach = norm(beside)
    u = scaled(beside, -1.0 / reach)
    tilt = (reach - radius) / max(dot(u, times(hessian, u)) - h, (reach - radius) / _LARGEST_TILT)
    return unit(sum_scaled(n, u, tilt))


@inlined
def on_sphere(hessian: Symmetric, n: Vector3, h: float, stiffness: float) -> Symmetric:
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
def length_of(v: Vector3) -> tuple[float, float]:
    """|v| and its inverse; if v is nearly a unit vector, up to the fourth power of its excess, without a root."""
    excess = dot(v, v) - 1.0
    if abs(excess) > 0.05:
        length = norm(v)
        return length, 1.0 / length
    half = 0.5 * excess
    return 1.0 + half * (1.0 - half * (0.5 - half * 0.5)), 1.0 - half * (1.0 - half * (1.5 - half * 2.5))


@inlined
def added(x: Symmetric, y: Symmetric) -> Symmetric:
    return x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], x[4] + y[4], x[5] + y[5]


@inlined
def without(m: Symmetric, x: bool, y: bool, z: bool) -> Symmetric:
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
def solve(m: Symmetric, v: Vector3) -> tuple[Vector3, bool]:
    """m^-1 v, and whether m is positive definite."""
    xx, yy, zz, xy, xz, yz = m
    cx, cy, cz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    determinant = xx * cx + xy * cy + xz * cz
    is_convex = zz > 0.0 and cx > 0.0 and determinant > 0.0
    return scaled(adjugate_times(m, v), 1.0 / determinant if is_convex else 0.0), is_convex
