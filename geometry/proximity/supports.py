"""Support functions of cores, and the smooth pieces that they are made of.

    h(n) = max over x in core of n . x                                                   (1)

is the greatest of several *pieces* s_j(n), one for each vertex (or curved patch) of the core, each smooth and
homogeneous of degree 1, so that

    s_j(n) = n . grad s_j(n),   and grad s_j(n) is a point of the core                   (2)

    vertex v         s = v . n
    ellipsoid S      s = |S n|                  S = diag(semi-axes)
    cap of cylinder  s = |S n| +- h n_z         S = diag(r, r, 0)
    base of cone     s = |S n| + H n_z          S = diag(semi-axes, 0)

Each is a vertex and a *smooth part* |S n|, which all pieces of a core have in common (except for the tip of a cone).

Gottschalk and van den Bergen call grad s the support mapping (van den Bergen 2003, Collision Detection in Interactive
3D Environments, sec. 4.3.4). Directions need not be unit vectors.

The feature of a core that looks in a direction: where its points may slide, and how they turn with the direction.

The points of a core that are farthest along n are a vertex, an edge or a face. Along the *flat directions* u of an edge
or a face these points may slide while n stands still, and n follows the body as long as they do; across them a point of
a curved side moves by M dn as n turns by dn, with M = grad grad s the radii of curvature (see above):

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

import numpy as np

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import FloatTable
from merganser.geometry.proximity.layout import (
    BOX,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HALF_SPACE,
    HULL,
    SEGMENT,
    Hulls,
    Pose,
    Shape,
)
from merganser.geometry.proximity.vectors import (
    Vector3,
    add,
    cross,
    dot,
    negated,
    norm,
    rotated,
    rotated_back,
    scaled,
    subtract,
    unit,
    unit_axis,
)

_TINY = 1e-300
_FEW_VERTICES = 24  # hulls of at most so many are searched from end to end


@inlined
def is_curved(g: Shape) -> bool:
    """Whether the core of a geometry has curved pieces."""
    return g.kind == CYLINDER or g.kind == ELLIPSOID or g.kind == CONE


@device
def rolling_radius(g: Shape) -> float:
    """The radius of the largest ball that rolls inside a core and touches all of its surface; 0 if no ball does.

    It is the least radius of curvature (Blaschke's rolling theorem; Schneider 2014, Convex Bodies: The Brunn-Minkowski
    Theory, sec. 3.2: such a ball is a summand of the core).
    """
    if g.kind != ELLIPSOID:
        return 0.0
    least = min(g.size_0, min(g.size_1, g.size_2))
    return float(least * least / max(g.size_0, max(g.size_1, g.size_2)))


@inlined
def support_piece(g: Shape, hulls: Hulls, n: Vector3) -> int:
    """The number of the piece that is the greatest in direction n."""
    kind = g.kind
    if kind == BOX:
        return (1 if n[0].real > 0.0 else 0) + (2 if n[1].real > 0.0 else 0) + (4 if n[2].real > 0.0 else 0)
    if kind in (SEGMENT, CYLINDER):
        return 1 if n[2].real > 0.0 else 0
    if kind == CONE:
        base = g.size_2 * n[2].real + math.hypot(g.size_0 * n[0].real, g.size_1 * n[1].real)
        return 1 if base > 0.0 else 0
    if kind == HULL:
        return _farthest_vertex(g, hulls, n)
    return 0


@inlined
def _farthest_vertex(g: Shape, hulls: Hulls, n: Vector3) -> int:
    """Of few vertices all are looked at; among many, one climbs from vertex to better neighbor."""
    best, greatest = 0, _along(hulls.vertices, g.first_vertex, n)
    if g.num_vertices <= _FEW_VERTICES:
        for i in range(1, g.num_vertices):
            value = _along(hulls.vertices, g.first_vertex + i, n)
            if value > greatest:
                best, greatest = i, value
        return best
    climbing = True
    while climbing:
        climbing = False
        here = g.first_vertex + best
        for e in range(hulls.neighbor_start[here], hulls.neighbor_start[here + 1]):
            i = hulls.neighbors[e]
            value = _along(hulls.vertices, g.first_vertex + i, n)
            if value > greatest:
                best, greatest, climbing = i, value, True
    return best


@inlined
def _along(vertices: FloatTable, k: int, n: Vector3) -> float:
    """How far vertex k is along a direction."""
    return float(vertices[k, 0] * n[0].real + vertices[k, 1] * n[1].real + vertices[k, 2] * n[2].real)


@inlined
def piece_vertex(g: Shape, hulls: Hulls, piece: int) -> Vector3:
    """The point of a piece without its smooth part."""
    kind = g.kind
    if kind == BOX:
        return (
            g.size_0 if piece & 1 else -g.size_0,
            g.size_1 if piece & 2 else -g.size_1,
            g.size_2 if piece & 4 else -g.size_2,
        )
    if kind == HULL:
        k = g.first_vertex + piece
        return hulls.vertices[k, 0], hulls.vertices[k, 1], hulls.vertices[k, 2]
    if kind in (SEGMENT, CYLINDER):
        return 0.0, 0.0, (g.size_2 if piece == 1 else -g.size_2)
    return 0.0, 0.0, (g.size_2 if kind == CONE and piece == 1 else 0.0)


@inlined
def semi_axes(g: Shape, piece: int) -> Vector3:
    """The diagonal of S, of which |S n| is the smooth part of a piece; zeros if it has none."""
    kind = g.kind
    if kind == ELLIPSOID:
        return g.size_0, g.size_1, g.size_2
    if kind == CYLINDER:
        return g.size_0, g.size_0, 0.0
    if kind == CONE and piece != 0:
        return g.size_0, g.size_1, 0.0
    return 0.0, 0.0, 0.0


@inlined
def smooth_point(axes: Vector3, n: Vector3) -> tuple[Vector3, float]:
    """grad |S n| = S^2 n / |S n|, and 1 / |S n|."""
    a, b, c = axes[0] * n[0], axes[1] * n[1], axes[2] * n[2]
    length = np.sqrt(a * a + b * b + c * c)
    if length.real < _TINY:
        return (axes[0] + 0.0 * a, 0.0 * b, 0.0 * c), 0.0 * length
    inverse = 1.0 / length
    return (axes[0] * a * inverse, axes[1] * b * inverse, axes[2] * c * inverse), inverse


@inlined
def smooth_curvatures(
    axes: Vector3, point: Vector3, inverse: float, u: Vector3, v: Vector3
) -> tuple[float, float, float]:
    """The second derivatives of |S n| along tangents u and v: (uu, uv, vv); radii of curvature at that point.

    (S u . S v - (x . u)(x . v)) / |S n| with x = grad |S n|.
    """
    ux, uy, uz = axes[0] * u[0], axes[1] * u[1], axes[2] * u[2]
    vx, vy, vz = axes[0] * v[0], axes[1] * v[1], axes[2] * v[2]
    along_u, along_v = dot(point, u), dot(point, v)
    return (
        (ux * ux + uy * uy + uz * uz - along_u * along_u) * inverse,
        (ux * vx + uy * vy + uz * vz - along_u * along_v) * inverse,
        (vx * vx + vy * vy + vz * vz - along_v * along_v) * inverse,
    )


@inlined
def piece_point(g: Shape, hulls: Hulls, piece: int, n: Vector3) -> Vector3:
    """grad s(n) of a piece, a point of the core in its own frame."""
    p = piece_vertex(g, hulls, piece)
    if is_curved(g):
        p = add(p, smooth_point(semi_axes(g, piece), n)[0])
    return p


@device
def curvatures(g: Shape, piece: int, n: Vector3, u: Vector3, v: Vector3) -> tuple[float, float, float]:
    """The second derivatives of a piece at a unit vector n along tangents u and v: (uu, uv, vv)."""
    axes = semi_axes(g, piece)
    point, inverse = smooth_point(axes, n)
    return smooth_curvatures(axes, point, inverse, u, v)


@inlined
def support_of_pair(a: Shape, b: Shape, hulls: Hulls, X_AB: Pose, n: Vector3) -> tuple[int, int, Vector3, Vector3]:
    """Of A - B in direction n, in A: the pieces of A and of B, and the points of A and of B."""
    m = negated(rotated_back(X_AB, n))
    piece_a = support_piece(a, hulls, n)
    piece_b = support_piece(b, hulls, m)
    p_A = piece_point(a, hulls, piece_a, n)
    p_B = piece_point(b, hulls, piece_b, m)
    return piece_a, piece_b, p_A, add(rotated(X_AB, p_B), (X_AB[9], X_AB[10], X_AB[11]))


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
def support_feature(g: Shape, hulls: Hulls, n: Vector3, p: Vector3, u: Vector3, v: Vector3) -> SupportFeature:
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
def _of_cone(g: Shape, hulls: Hulls, n: Vector3, p: Vector3, u: Vector3, v: Vector3) -> SupportFeature:
    """The side, the rim or the tip of a cone, whose base looks elsewhere."""
    rim, radii = unit(piece_point(g, hulls, 1, n)), curvatures(g, 1, n, u, v)
    above_tip = dot(rim, n)
    if abs(above_tip) < _ALIGNED:
        return SupportFeature(1, rim, _NOWHERE, scaled(radii, p[2] / g.size_2))
    return SupportFeature(0, _NOWHERE, _NOWHERE, radii if above_tip > 0.0 else _STRAIGHT)


@device
def _of_hull(g: Shape, hulls: Hulls, n: Vector3) -> SupportFeature:
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
def reach_along(g: Shape, hulls: Hulls, p: Vector3, u: Vector3) -> tuple[float, float]:
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
