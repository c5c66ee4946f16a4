"""Whether a minimum of h is the least one, told from its nearest points without a search.

With n the direction of the minimum, h(n) = d its value, and p of A, q of B the nearest points, p - q = d n: A - B
contains the ball of radius d around the origin, so that no other minimum is less, if for all unit vectors m

    F_A(m) + F_B(-m) >= d (1 - m . n),    F_A(m) = h_A(m) - m . p, F_B(-m) = h_B(-m) + m . q      (1)

F of a core is never negative, and F = 0 along the normals of the core at its nearest point. One way to (1) is a ball
around the nearest point of the other core. Cores other than cones and hulls have another one, by two bounds of F. Of
a cylinder with radius r, axis e, and p at the distance s from the axis and k from the nearer end,

    F(m) >= k |m . e| + (r - s) |m - (m . e) e| + s (m . u)^2 / 2 >= m^T R m / 2,
    R = 2 k e e^T + 2 (r - s) (I - e e^T) + (s^2 / r) u u^T                                     (2)

where u is along the rim; of a box with axes e_i and p at the distances k_i from its nearer sides, R = sum 2 k_i e_i
e_i^T; of an ellipsoid with semi-axes S along the axes E, R = (E S^2 E^T - p p^T) / max(S); of a segment 2 k e e^T. And
if the core reaches at least as far as c from p against its own n, F(m) >= c max(0, -m . n). Let R be the sum for both
cores, with the least eigenvalue w across n, and c that of both. Then (1) holds where m . n >= -x if w (1 - x) >= 2 d,
and where m . n <= -x if c x >= d (1 + x). Both do for x = d / (c - d) if

    w (c - 2 d) >= 2 d (c - d)                                                                  (3)

Where two edges or rims cross at a small angle, w is small, but only along one direction v across n, and even along it
h soon grows, because n leaves the normals of one core or the other. Let W be the other eigenvalue, along z: where
(m . z)^2 >= 4 d / W = a^2, (1) holds. For the other m, let g be from the mirror image of p or q, in one of the planes
of symmetry, to p (of B, back). The image is a point of the core, so that the left side of (1) is at least -m . g, and
is 2 d, which is enough, from an angle f to n on, with

    cos f = -(g_v sqrt(1 - b^2) + g_n b) / G,  b = (2 d + a |g_z|) / (G sqrt(1 - a^2)),  G^2 = g_n^2 + g_v^2      (4)

on the side of v; with -g_v on the other side. Before that w (1 + sqrt(1 - a^2) cos f) >= 2 d is enough, if f is
acute.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.framework.native.lanes import Lanes, Mask, larger, smaller, square_root
from merganser.geometry.proximity.flat_features import contains
from merganser.geometry.proximity.layout import BOX, CYLINDER, ELLIPSOID, HULL, Hulls
from merganser.geometry.proximity.sphere_steps import Symmetric, added, times
from merganser.geometry.proximity.supports import least_radius
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    axis,
    cross,
    dot,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    tangents,
    unit_axis,
)

__all__ = ["are_curved_enough", "is_least"]

_ROUNDING = 1e-13  # of the size


@device
def is_least(a: Array, b: Array, hulls: Hulls, work: Array) -> bool:
    """Whether the minimum of h in `work` is proven to be the least one; if not, it may be so still."""
    X_AB = work.X_AB
    p_A, p_B = (work.p_ACa[0], work.p_ACa[1], work.p_ACa[2]), (work.p_ACb[0], work.p_ACb[1], work.p_ACb[2])
    if a.kind <= ELLIPSOID and b.kind <= ELLIPSOID:
        sizes_A, sizes_B = (a.size_0, a.size_1, a.size_2), (b.size_0, b.size_1, b.size_2)
        size = a.bound + b.bound
        if are_curved_enough(a.kind, b.kind, sizes_A, sizes_B, X_AB, size, work.value, p_A, p_B):
            return True
        return bool(a.kind >= BOX and b.kind >= BOX and _is_cut_off(a, b, work, p_A, p_B))
    depth = work.value - _ROUNDING * (a.bound + b.bound)
    if a.kind in (BOX, CYLINDER, HULL) and contains(a, hulls, p_B, -depth):
        return True
    if b.kind not in (BOX, CYLINDER, HULL):
        return False
    return contains(b, hulls, rotated_back(X_AB, subtract(p_A, (X_AB[9], X_AB[10], X_AB[11]))), -depth)


@inlined
def are_curved_enough(
    kind_A: int,
    kind_B: int,
    sizes_A: Vector3,
    sizes_B: Vector3,
    X_AB: Array,
    size: Lanes,
    value: Lanes,
    p_A: Vector3,
    p_B: Vector3,
) -> Mask:
    """Whether (3) holds, for one pair or several; not for cones, hulls and half spaces.

    Args:
        kind_A, kind_B: of the cores.
        sizes_A, sizes_B: their measures.
        X_AB: pose, as in `work`.
        size: of the pair.
        value, p_A, p_B: the minimum of h; all in A.
    """
    depth = value - _ROUNDING * size
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    R_A, reach_A = _bounds(kind_A, sizes_A, x, y, z, p_A)
    p_BB_A = subtract(p_B, (X_AB[9], X_AB[10], X_AB[11]))
    R_B, reach_B = _bounds(kind_B, sizes_B, axis(X_AB, 0), axis(X_AB, 1), axis(X_AB, 2), p_BB_A)
    c = reach_A + reach_B
    xx, yy, zz, xy, xz, yz = added(R_A, R_B)
    least = 2.0 * depth * (c - depth) / larger(c - 2.0 * depth, depth)
    # As R n = 0, the eigenvalues across n have this sum and product.
    total = xx + yy + zz
    product = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz
    return (c >= 3.0 * depth) & (total >= 2.0 * least) & (product >= least * (total - least))


@device
def _is_cut_off(a: Array, b: Array, work: Array, p_A: Vector3, p_B: Vector3) -> bool:
    """Whether (1) holds by (4), for one pair of boxes, cylinders or ellipsoids."""
    X_AB = work.X_AB
    depth = work.value
    n = (work.normal[0], work.normal[1], work.normal[2])
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    e_x, e_y, e_z = axis(X_AB, 0), axis(X_AB, 1), axis(X_AB, 2)
    q = subtract(p_B, (X_AB[9], X_AB[10], X_AB[11]))
    R_A, _ = _bounds(a.kind, (a.size_0, a.size_1, a.size_2), x, y, z, p_A)
    R_B, _ = _bounds(b.kind, (b.size_0, b.size_1, b.size_2), e_x, e_y, e_z, q)
    R = added(R_A, R_B)
    t, s = tangents(n)
    R_t, R_s = times(R, t), times(R, s)
    tt, ts, ss = dot(t, R_t), dot(s, R_t), dot(s, R_s)
    spread = math.hypot(0.5 * (tt - ss), ts)
    w, W = 0.5 * (tt + ss) - spread, 0.5 * (tt + ss) + spread
    if not (w > depth and 16.0 * depth < W):
        return False
    turn = 0.5 * math.atan2(2.0 * ts, tt - ss)  # from t to the direction of W
    along = sum_scaled(scaled(t, math.cos(turn)), s, math.sin(turn))
    v = cross(along, n)
    band = math.sqrt(4.0 * depth / W)
    left = math.sqrt(1.0 - band * band)
    on_side, on_other = -1.0, -1.0  # cos f
    for i in range(6):
        e, p = (unit_axis(i), p_A) if i < 3 else (axis(X_AB, i - 3), q)
        g = scaled(e, (2.0 if i < 3 else -2.0) * dot(p, e))
        g_n, g_v, g_z = dot(g, n), dot(g, v), abs(dot(g, along))
        least = (2.0 * depth + band * g_z) / left
        if not g_n >= least:
            continue
        G = math.hypot(g_n, g_v)
        sine = least / G
        cosine = math.sqrt(1.0 - sine * sine)
        on_side = max(on_side, -(g_v * cosine + g_n * sine) / G)
        on_other = max(on_other, (g_v * cosine - g_n * sine) / G)
    lowest = min(on_side, on_other)
    return w * (1.0 + (left * lowest if lowest > 0.0 else lowest)) >= 2.0 * depth


@inlined
def _bounds(
    kind: int, sizes: Vector3, e_x: Vector3, e_y: Vector3, e_z: Vector3, p: Vector3
) -> tuple[Symmetric, Lanes]:
    """R and the least c of (2), for a core with the given axes; p is from its center."""
    x, y, z = sizes
    if kind == ELLIPSOID:
        longest = 1.0 / larger(x, larger(y, z))
        R = added(_weighted(x * x * longest, e_x), _weighted(y * y * longest, e_y))
        R = added(added(R, _weighted(z * z * longest, e_z)), _weighted(-longest, p))
        return R, 2.0 * least_radius(sizes)
    along = dot(p, e_z)
    R = _weighted(2.0 * larger(z - abs(along), 0.0), e_z)
    if kind < BOX:
        return R, 0.0 * along
    if kind == BOX:
        R = added(R, _weighted(2.0 * larger(x - abs(dot(p, e_x)), 0.0), e_x))
        R = added(R, _weighted(2.0 * larger(y - abs(dot(p, e_y)), 0.0), e_y))
        return R, 2.0 * smaller(z, smaller(x, y))
    beside = sum_scaled(p, e_z, -along)
    k = 2.0 * larger(x - square_root(dot(beside, beside)), 0.0)
    R = added(R, (k, k, k, 0.0 * k, 0.0 * k, 0.0 * k))
    R = added(R, _weighted(-k, e_z))
    R = added(R, _weighted(1.0 / x, cross(e_z, beside)))
    return R, 2.0 * smaller(x, z)


@inlined
def _weighted(k: Lanes, e: Vector3) -> Symmetric:
    """k e e^T."""
    x, y, z = k * e[0], k * e[1], k * e[2]
    return x * e[0], y * e[1], z * e[2], x * e[1], x * e[2], y * e[2]
