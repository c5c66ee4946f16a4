"""Flat features of cores: the face, or the line, that looks most in a direction, as a polygon."""

from __future__ import annotations

import math

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.memory.by_value import larger
from merganser.geometry.proximity.layout import BOX, CONE, CYLINDER, HULL, MAX_CORNERS, SEGMENT, Hulls
from merganser.geometry.proximity.supports import piece_point, support_piece
from merganser.geometry.proximity.vectors import Array, Vector3

__all__ = ["face_of", "line_of"]

CORNERS_OF_CIRCLE = 8


@device
def _set(polygon: Array, i: int, x: float, y: float, z: float) -> None:
    polygon[i, 0], polygon[i, 1], polygon[i, 2] = x, y, z


@device
def face_of(g: Array, hulls: Hulls, d: Vector3, polygon: Array) -> tuple[int, Vector3]:
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
def _face_of_box(g: Array, d: Vector3, polygon: Array) -> tuple[int, Vector3]:
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
def _ellipse(a: float, b: float, z: float, side: float, d: Vector3, polygon: Array) -> int:
    x, y = a * d[0], b * d[1]
    length = np.sqrt(x * x + y * y)
    x, y = (x / length, y / length) if length.real > 1e-9 * (a + b) else (1.0 + 0.0 * x, 0.0 * y)
    for i in range(CORNERS_OF_CIRCLE):
        angle = side * 2.0 * math.pi * i / CORNERS_OF_CIRCLE
        c, s = math.cos(angle), math.sin(angle)
        _set(polygon, i, a * (c * x - s * y), b * (s * x + c * y), z)
    return CORNERS_OF_CIRCLE


@device
def _face_of_hull(g: Array, hulls: Hulls, d: Vector3, polygon: Array) -> tuple[int, Vector3]:
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
def line_of(g: Array, hulls: Hulls, d: Vector3, polygon: Array) -> int:
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
