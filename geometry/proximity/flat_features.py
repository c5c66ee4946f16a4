"""Flat faces of cores: their planes, what is inside of them, and how far cores reach to both sides.

A face with normal n of one core, and the support point q of the other core against n, are a local minimum of h
(refine.py) if q, moved along n into the plane of the face, lies within the face: (2) of refine.py holds there.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.layout import BOX, CONE, CYLINDER, HULL, Hulls
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.supports import piece_point, support_piece
from merganser.geometry.proximity.vectors import Array, Vector3, add, dot, negated, rotated, rotated_back, sum_scaled

__all__ = ["contains", "face_plane", "num_flat_faces", "set_from_other_frame", "support_point", "try_faces"]

_INSIDE = 1e-12  # of the size: how far outside of a face rounding may take a point


@device
def support_point(g: Array, hulls: Hulls, n: Vector3) -> Vector3:
    """A point of the core that is farthest along n."""
    return piece_point(g, hulls, support_piece(g, hulls, n), n)


@device
def num_flat_faces(g: Array) -> int:
    """How many flat faces a core has."""
    kind = g.kind
    if kind == BOX:
        return 6
    if kind == CYLINDER:
        return 2
    if kind == CONE:
        return 1
    if kind == HULL:
        return int(g.num_faces)
    return 0


@device
def face_plane(g: Array, hulls: Hulls, f: int) -> tuple[Vector3, float]:
    """Outward unit normal of a face, and its distance from the origin of the core's frame."""
    kind = g.kind
    if kind == HULL:
        k = g.first_face + f
        return (hulls.planes[k, 0], hulls.planes[k, 1], hulls.planes[k, 2]), hulls.planes[k, 3]
    side = -1.0 if f & 1 else 1.0
    if kind == BOX and f < 2:
        return (side, 0.0, 0.0), g.size_0
    if kind == BOX and f < 4:
        return (0.0, side, 0.0), g.size_1
    return (0.0, 0.0, side), g.size_2


@device
def contains(g: Array, hulls: Hulls, p: Vector3, tolerance: float) -> bool:
    """Whether a point lies in a core, or no farther outside than the tolerance [m]."""
    kind = g.kind
    if kind == HULL:
        planes = hulls.planes
        for f in range(g.first_face, g.first_face + g.num_faces):
            if planes[f, 0] * p[0] + planes[f, 1] * p[1] + planes[f, 2] * p[2] > planes[f, 3] + tolerance:
                return False
        return True
    if kind == CONE:
        height = min(max(p[2] / g.size_2, 0.0), 1.0)
        x, y = p[0] / g.size_0, p[1] / g.size_1
        scale = min(g.size_0, g.size_1)
        return bool(p[2] <= g.size_2 + tolerance and math.sqrt(x * x + y * y) <= height + tolerance / scale)
    if abs(p[2]) > g.size_2 + tolerance:
        return False
    if kind == CYLINDER:
        return bool(math.sqrt(p[0] * p[0] + p[1] * p[1]) <= g.size_0 + tolerance)
    return bool(abs(p[0]) <= g.size_0 + tolerance and abs(p[1]) <= g.size_1 + tolerance)


@inlined
def _least_reach(g: Array) -> float:
    """How far a core reaches from its center in any direction, or less [m]."""
    if g.kind == HULL or g.kind == CONE:
        return float(-g.bound)
    return min(g.half_0, min(g.half_1, g.half_2))


@device
def set_from_other_frame(work: Array, n: Vector3, value: float, p_A: Vector3, p_B: Vector3) -> None:
    """Writes a solution that is given in B, with n from B to A."""
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    p_A, p_B = add(rotated(X_AB, p_A), origin), add(rotated(X_AB, p_B), origin)
    set_solution(work, negated(rotated(X_AB, n)), value, p_A, p_B)


@device
def try_faces(a: Array, b: Array, hulls: Hulls, work: Array, size: float) -> None:
    """Takes over the least minimum on a flat face of A or B, if it is less than the solution in `work`."""
    for turn in range(2):
        f = a if turn == 0 else b
        other = b if turn == 0 else a
        X = work.X_AB if turn == 0 else work.X_BA
        origin = (X[9], X[10], X[11])
        center = add(rotated(X, (other.center_0, other.center_1, other.center_2)), origin)
        reach = _least_reach(other)
        for k in range(num_flat_faces(f)):
            n, offset = face_plane(f, hulls, k)
            if offset - dot(n, center) + reach >= work.value:
                continue
            q = add(rotated(X, support_point(other, hulls, negated(rotated_back(X, n)))), origin)
            value = offset - dot(n, q)
            if value >= work.value:
                continue
            p = sum_scaled(q, n, value)
            if not contains(f, hulls, p, _INSIDE * size):
                continue
            if turn == 0:
                set_solution(work, n, value, p, q)
            else:
                set_from_other_frame(work, n, value, q, p)
