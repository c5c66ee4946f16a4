"""Contact points of two boxes, face on face: the face of one, cut by the sides of the face of the other.

In the frame of the reference box, with axis r across its face and u, v along it, the sides of the face are |q_u| = s_u
and |q_v| = s_v, so that a polygon is cut by comparing coordinates (I. Sutherland and G. Hodgman, 1974).
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import FloatTable
from merganser.geometry.proximity.layout import Shape
from merganser.geometry.proximity.vectors import Array, Vector3


@device
def steepest_axis(d: Vector3) -> int:
    """The axis along which a direction has its greatest component."""
    x, y, z = abs(d[0].real), abs(d[1].real), abs(d[2].real)
    if x >= y and x >= z:
        return 0
    return 1 if y >= z else 2


@device
def _half(g: Shape, i: int) -> float:
    return g.size_0 if i == 0 else (g.size_1 if i == 1 else g.size_2)


@device
def face_area(g: Shape, i: int) -> float:
    """A quarter of the area of a box's faces across axis i."""
    return _half(g, (i + 1) % 3) * _half(g, (i + 2) % 3)


@device
def clip_box_faces(
    reference: Array,  # record of a box
    other: Shape,  # record of a box
    X_RO: Array,  # pose of the other in the reference box, R_RO row by row, then p_RO
    d_R: Vector3,  # normal from the reference box to the other, in R
    d_O: Vector3,  # its opposite, in O
    polygon: FloatTable,  # work
    points_out: Array,  # corners of what is left, midway between the surfaces, in R
    depths_out: Array,  # negative where these are apart
) -> int:
    """Writes points and depths; returns how many there are."""
    r, o = steepest_axis(d_R), steepest_axis(d_O)
    u, v = (r + 1) % 3, (r + 2) % 3
    side = math.copysign(1.0, d_R[r].real)
    s_r, s_u, s_v = _half(reference, r), _half(reference, u), _half(reference, v)
    _set_face(other, X_RO, o, math.copysign(1.0, d_O[o].real), r, u, v, polygon)
    count = 4
    for k in range(4):
        axis, limit = (0, s_u) if k < 2 else (1, s_v)
        count = _cut(polygon, count, axis, 1.0 if k % 2 == 0 else -1.0, limit, points_out)
    for i in range(count):
        height = side * polygon[i, 2] - s_r
        points_out[i, u], points_out[i, v] = polygon[i, 0], polygon[i, 1]
        points_out[i, r] = side * (s_r + 0.5 * height)
        depths_out[i] = -height
    return count


@device
def _set_face(g: Shape, X_RG: Array, o: int, side: float, r: int, u: int, v: int, polygon_out: FloatTable) -> None:
    """The corners of the face of G across axis o, with coordinates along u, v and r."""
    o_1, o_2 = (o + 1) % 3, (o + 2) % 3
    a, b, c = side * _half(g, o), _half(g, o_1), _half(g, o_2)
    for k in range(3):
        i = u if k == 0 else (v if k == 1 else r)
        middle = X_RG[9 + i] + a * X_RG[3 * i + o]
        along_1, along_2 = b * X_RG[3 * i + o_1], c * X_RG[3 * i + o_2]
        polygon_out[0, k] = middle - along_1 - along_2
        polygon_out[1, k] = middle + along_1 - along_2
        polygon_out[2, k] = middle + along_1 + along_2
        polygon_out[3, k] = middle - along_1 + along_2


@device
def _cut(polygon: FloatTable, count: int, axis: int, sign: float, limit: float, spare: Array) -> int:
    """Keeps the part of a polygon with sign * coordinate <= limit."""
    num_outside = 0
    for i in range(count):
        num_outside += int(sign * polygon[i, axis].real > limit)
    if num_outside == 0:
        return count
    kept = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        at_i, at_j = limit - sign * polygon[i, axis], limit - sign * polygon[j, axis]
        if at_i.real >= 0.0:
            for k in range(3):
                spare[kept, k] = polygon[i, k]
            kept += 1
        if (at_i.real >= 0.0) != (at_j.real >= 0.0):
            share = at_i / (at_i - at_j)
            for k in range(3):
                spare[kept, k] = polygon[i, k] + share * (polygon[j, k] - polygon[i, k])
            kept += 1
    for i in range(kept):
        for k in range(3):
            polygon[i, k] = spare[i, k]
    return kept
