"""Flat features of cores: the face, or the line, that looks most in a direction, as a polygon.

Flat faces of cores: their planes, what is inside of them, and how far cores reach to both sides.

A face with normal n of one core, and the support point q of the other core against n, are a local minimum of h
(refine.py) if q, moved along n into the plane of the face, lies within the face: (2) of refine.py holds there.
"""

from __future__ import annotations

import math

import numpy as np

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.by_value import larger
from merganser.framework.native.memory.hinted_types import FloatTable
from merganser.geometry.proximity.layout import (
    BOX,
    CONE,
    CYLINDER,
    HULL,
    MAX_CORNERS,
    SEGMENT,
    Hulls,
    Pose,
    Shape,
    ShapeWork,
)
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.supports import piece_point, support_piece
from merganser.geometry.proximity.vectors import Vector3, add, dot, negated, rotated, rotated_back, sum_scaled

CORNERS_OF_CIRCLE = 8
_CAP = 0.7  # cosine of the angle to the axis at which the cap of a cylinder takes part, not its side


@device
def _set(polygon: FloatTable, i: int, x: float, y: float, z: float) -> None:
    polygon[i, 0], polygon[i, 1], polygon[i, 2] = x, y, z


@device
def face_of(g: Shape, hulls: Hulls, d: Vector3, polygon: FloatTable) -> tuple[int, Vector3]:
    """Writes the face whose normal is closest to direction d, counter-clockwise seen from outside, in the frame of g.

    A circle becomes an octagon, with a corner where it reaches farthest along d.

    Returns:
        The number of corners, 0 if the core has no faces, and the unit normal.
    """
    if g.kind == BOX:
        return _face_of_box(g, d, polygon)
    if g.kind == CYLINDER:
        side = math.copysign(1.0, d[2].real)
        return _ellipse(g.size_0, g.size_0, side * g.size_2, side, d, polygon), (0.0, 0.0, side)
    if g.kind == CONE:
        return _ellipse(g.size_0, g.size_1, g.size_2, 1.0, d, polygon), (0.0, 0.0, 1.0)
    if g.kind == HULL:
        return _face_of_hull(g, hulls, d, polygon)
    return 0, (0.0, 0.0, 0.0)


@device
def _face_of_box(g: Shape, d: Vector3, polygon: FloatTable) -> tuple[int, Vector3]:
    a, b, c = g.size_0, g.size_1, g.size_2
    x, y, z = abs(d[0].real), abs(d[1].real), abs(d[2].real)
    if x >= y and x >= z:
        s = math.copysign(1.0, d[0].real)
        _set(polygon, 0, s * a, -b, -s * c)
        _set(polygon, 1, s * a, b, -s * c)
        _set(polygon, 2, s * a, b, s * c)
        _set(polygon, 3, s * a, -b, s * c)
        return 4, (s, 0.0, 0.0)
    if y >= z:
        s = math.copysign(1.0, d[1].real)
        _set(polygon, 0, -s * a, s * b, -c)
        _set(polygon, 1, -s * a, s * b, c)
        _set(polygon, 2, s * a, s * b, c)
        _set(polygon, 3, s * a, s * b, -c)
        return 4, (0.0, s, 0.0)
    s = math.copysign(1.0, d[2].real)
    _set(polygon, 0, -a, -s * b, s * c)
    _set(polygon, 1, a, -s * b, s * c)
    _set(polygon, 2, a, s * b, s * c)
    _set(polygon, 3, -a, s * b, s * c)
    return 4, (0.0, 0.0, s)


@device
def _ellipse(a: float, b: float, z: float, side: float, d: Vector3, polygon: FloatTable) -> int:
    x, y = a * d[0], b * d[1]
    length = np.sqrt(x * x + y * y)
    x, y = (x / length, y / length) if length.real > 1e-9 * (a + b) else (1.0 + 0.0 * x, 0.0 * y)
    for i in range(CORNERS_OF_CIRCLE):
        angle = side * 2.0 * math.pi * i / CORNERS_OF_CIRCLE
        c, s = math.cos(angle), math.sin(angle)
        _set(polygon, i, a * (c * x - s * y), b * (s * x + c * y), z)
    return CORNERS_OF_CIRCLE


@device
def _face_of_hull(g: Shape, hulls: Hulls, d: Vector3, polygon: FloatTable) -> tuple[int, Vector3]:
    planes = hulls.planes
    best, greatest = g.first_face, -math.inf
    for f in range(g.first_face, g.first_face + g.num_faces):
        along = planes[f, 0] * d[0].real + planes[f, 1] * d[1].real + planes[f, 2] * d[2].real
        if along > greatest:
            best, greatest = f, along
    first, end = hulls.corner_start[best], hulls.corner_start[best + 1]
    stride = (end - first + MAX_CORNERS - 1) // MAX_CORNERS
    count = 0
    for e in range(first, end, stride):
        k = g.first_vertex + hulls.corners[e]
        _set(polygon, count, hulls.vertices[k, 0], hulls.vertices[k, 1], hulls.vertices[k, 2])
        count += 1
    return count, (planes[best, 0], planes[best, 1], planes[best, 2])


@device
def line_of(g: Shape, hulls: Hulls, d: Vector3, polygon: FloatTable) -> int:
    """Writes the line of the core that lies farthest along d: the axis of a segment, or the side of a cylinder.

    Returns:
        The number of points: 2, 1 at the tip or the rim of a cone, or 0 if the core has flat sides only.
    """
    across = np.sqrt(d[0] * d[0] + d[1] * d[1])
    if g.kind == SEGMENT or (g.kind == CYLINDER and across.real > 1e-9):
        r = g.size_0 / larger(1e-9, across)
        _set(polygon, 0, r * d[0], r * d[1], -g.size_2)
        _set(polygon, 1, r * d[0], r * d[1], g.size_2)
        return 2
    if g.kind == BOX or g.kind == HULL:
        return 0
    p = piece_point(g, hulls, support_piece(g, hulls, d), d)
    _set(polygon, 0, p[0], p[1], p[2])
    return 1


@device
def to_frame_A(X_AB: Pose, polygon: FloatTable, count: int) -> None:
    for i in range(count):
        p = rotated(X_AB, (polygon[i, 0], polygon[i, 1], polygon[i, 2]))
        for c in range(3):
            polygon[i, c] = p[c] + X_AB[9 + c]


@device
def has_line_only(g: Shape, aligned: float) -> bool:
    """Whether the side of a core takes part in a contact, not its face."""
    return g.kind == SEGMENT or ((g.kind == CYLINDER or g.kind == CONE) and aligned < _CAP)


_INSIDE = 1e-12  # of the size: how far outside of a face rounding may take a point


@device
def support_point(g: Shape, hulls: Hulls, n: Vector3) -> Vector3:
    """A point of the core that is farthest along n."""
    return piece_point(g, hulls, support_piece(g, hulls, n), n)


@device
def num_flat_faces(g: Shape) -> int:
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
def face_plane(g: Shape, hulls: Hulls, f: int) -> tuple[Vector3, float]:
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
def contains(g: Shape, hulls: Hulls, p: Vector3, tolerance: float) -> bool:
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
def _least_reach(g: Shape) -> float:
    """How far a core reaches from its center in any direction, or less [m]."""
    if g.kind == HULL or g.kind == CONE:
        return float(-g.bound)
    return min(g.half_0, min(g.half_1, g.half_2))


@device
def set_from_other_frame(work: ShapeWork, n: Vector3, value: float, p_A: Vector3, p_B: Vector3) -> None:
    """Writes a solution that is given in B, with n from B to A."""
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    p_A, p_B = add(rotated(X_AB, p_A), origin), add(rotated(X_AB, p_B), origin)
    set_solution(work, negated(rotated(X_AB, n)), value, p_A, p_B)


@device
def try_faces(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, size: float) -> None:
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
