"""The feature of a core that looks in a direction: where its points may slide, and how they turn with the direction.

The points of a core that are farthest along n are a vertex, an edge or a face. Along the *flat directions* u of an edge
or a face these points may slide while n stands still, and n follows the body as long as they do; across them a point of
a curved side moves by M dn as n turns by dn, with M = grad grad s the radii of curvature (supports.py):

    core         n along              flat directions             M
    segment      across it            its axis                    0
    box          across i of 3 axes   these axes                  0
    cylinder     its axis             across the axis             0
                 across it            its axis                    of the rim
                 elsewhere            none                        of the rim
    ellipsoid    anywhere             none                        its own
    cone         its axis             across the axis             0
                 across its side      the line from tip to rim    of the rim, times the height over that of the rim
    hull         on an edge or face   between its vertices        0
    half space   its axis             across the axis             0
"""

from __future__ import annotations

import math
from typing import NamedTuple

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.layout import BOX, CONE, CYLINDER, ELLIPSOID, HALF_SPACE, HULL, SEGMENT, Hulls
from merganser.geometry.proximity.supports import curvatures, piece_point
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    cross,
    dot,
    norm,
    scaled,
    subtract,
    unit,
    unit_axis,
)

__all__ = ["SupportFeature", "reach_along", "support_feature"]

# Normals stand across flat features to rounding, which is 1e-15 of the size of a pair over that of the feature; bodies
# that lean on each other by less than this angle [rad] are taken to be aligned.
_ALIGNED = 1e-9
_STRAIGHT = _NOWHERE = (0.0, 0.0, 0.0)


class SupportFeature(NamedTuple):
    """What there is of a core around one of its points that are farthest along a direction, in the frame of the core.

    Attributes:
        num_flat: in how many directions across the first the point may slide, 0 to 2.
        flat_0, flat_1: orthonormal such directions.
        radii: radii of curvature along two tangents: (uu, uv, vv) of M there [m].
    """

    num_flat: int
    flat_0: Vector3
    flat_1: Vector3
    radii: Vector3


@device
def support_feature(g: Array, hulls: Hulls, n: Vector3, p: Vector3, u: Vector3, v: Vector3) -> SupportFeature:
    """Returns the feature of a core in the direction n.

    Args:
        g: the geometry, a record of geometry_dtype.
        hulls: vertices of hulls.
        n: unit vector.
        p: a point of the core that is as far along n as any [m].
        u, v: tangents for the radii, orthonormal and across n.
    """
    kind = g.kind
    across_x, across_y, across_z = abs(n[0]) < _ALIGNED, abs(n[1]) < _ALIGNED, abs(n[2]) < _ALIGNED
    if kind == SEGMENT:
        return _along_axes(False, False, across_z, _STRAIGHT)
    if kind == BOX:
        return _along_axes(across_x, across_y, across_z, _STRAIGHT)
    has_flat_end = kind in (HALF_SPACE, CYLINDER) or (kind == CONE and n[2] > 0.0)
    if has_flat_end and (kind == HALF_SPACE or (across_x and across_y)):
        return _along_axes(True, True, False, _STRAIGHT)
    if kind == CYLINDER:
        return _along_axes(False, False, across_z, curvatures(g, 1, n, u, v))
    if kind == ELLIPSOID:
        return _along_axes(False, False, False, curvatures(g, 0, n, u, v))
    if kind == CONE:
        return _of_cone(g, hulls, n, p, u, v)
    if kind == HULL:
        return _of_hull(g, hulls, n)
    return _along_axes(False, False, False, _STRAIGHT)


@device
def _along_axes(x: bool, y: bool, z: bool, radii: Vector3) -> SupportFeature:
    """A feature that is flat along some of the axes, two at most."""
    num_flat = int(x) + int(y) + int(z)
    first, last = 0 if x else 1 if y else 2, 2 if z else 1
    return SupportFeature(num_flat, unit_axis(first), unit_axis(last), radii)


@device
def _of_cone(g: Array, hulls: Hulls, n: Vector3, p: Vector3, u: Vector3, v: Vector3) -> SupportFeature:
    """The side, the rim or the tip of a cone, whose base looks elsewhere."""
    rim, radii = unit(piece_point(g, hulls, 1, n)), curvatures(g, 1, n, u, v)
    above_tip = dot(rim, n)
    if abs(above_tip) < _ALIGNED:
        return SupportFeature(1, rim, _NOWHERE, scaled(radii, p[2] / g.size_2))
    return SupportFeature(0, _NOWHERE, _NOWHERE, radii if above_tip > 0.0 else _STRAIGHT)


@device
def _of_hull(g: Array, hulls: Hulls, n: Vector3) -> SupportFeature:
    """What lies between those vertices that are farthest along n: itself, an edge or a face."""
    first, top, highest = g.first_vertex, 0, -math.inf
    for k in range(g.num_vertices):
        height = dot(n, _vertex(hulls, first + k))
        if height > highest:
            top, highest = k, height
    origin, longest, edge, wide, across = _vertex(hulls, first + top), 0.0, _NOWHERE, 0.0, _NOWHERE
    for k in range(g.num_vertices):
        side = subtract(_vertex(hulls, first + k), origin)
        length = norm(side)
        if length > longest and -dot(n, side) <= _ALIGNED * length:
            longest, edge = length, unit(side)
    for k in range(g.num_vertices):
        side = subtract(_vertex(hulls, first + k), origin)
        if -dot(n, side) <= _ALIGNED * norm(side):
            width = dot(cross(n, edge), side)
            if abs(width) > wide:
                wide, across = abs(width), cross(n, edge)
    num_flat = 0 if longest == 0.0 else 2 if wide > _ALIGNED * longest else 1
    return SupportFeature(num_flat, edge, across, _STRAIGHT)


@inlined
def _vertex(hulls: Hulls, k: int) -> Vector3:
    return hulls.vertices[k, 0], hulls.vertices[k, 1], hulls.vertices[k, 2]


# ---------------------------------------------------------------------- how far features reach


@device
def reach_along(g: Array, hulls: Hulls, p: Vector3, u: Vector3) -> tuple[float, float]:
    """How far a core goes on from one of its points, against a flat direction and along it.

    Args:
        g: the geometry, a record of geometry_dtype.
        hulls: vertices of hulls.
        p: the point [m].
        u: unit vector, flat at the point.

    Returns:
        Both lengths [m], the first not positive, the second not negative but for rounding.
    """
    low, high = -math.inf, math.inf
    if g.kind == HULL:
        for k in range(g.first_face, g.first_face + g.num_faces):
            normal = hulls.planes[k, 0], hulls.planes[k, 1], hulls.planes[k, 2]
            rise, height = dot(normal, u), hulls.planes[k, 3] - dot(normal, p)
            if rise > _ALIGNED:
                high = min(high, height / rise)
            elif rise < -_ALIGNED:
                low = max(low, height / rise)
    elif g.kind == CONE and abs(u[2]) > _ALIGNED:  # from the tip to the rim
        to_tip, to_rim = -p[2] / u[2], (g.size_2 - p[2]) / u[2]
        low, high = min(to_tip, to_rim), max(to_tip, to_rim)
    elif (g.kind == CYLINDER or g.kind == CONE) and abs(u[2]) <= _ALIGNED:  # across an ellipse
        a, b = g.size_0, g.size_0 if g.kind == CYLINDER else g.size_1
        x, y, along_x, along_y = p[0] / a, p[1] / b, u[0] / a, u[1] / b
        square = along_x * along_x + along_y * along_y
        foot = -(x * along_x + y * along_y) / square
        rest = (1.0 - x * x - y * y) * square + (x * along_x + y * along_y) ** 2
        half = math.sqrt(max(0.0, rest)) / square
        low, high = foot - half, foot + half
    elif g.kind != HALF_SPACE:
        halves = g.size_0, g.size_1, g.size_2
        for i in range(3):
            if abs(u[i]) > _ALIGNED:
                ahead, behind = (halves[i] - p[i]) / u[i], (-halves[i] - p[i]) / u[i]
                low, high = max(low, min(ahead, behind)), min(high, max(ahead, behind))
    return low, high
