"""Support functions of cores, and the smooth pieces that they are made of.

    h(n) = max over x in core of n . x                                                   (1)

is the greatest of several *pieces* s_j(n), one for each vertex (or curved patch) of the core, each smooth and
homogeneous of degree 1, so that

    s_j(n) = n . grad s_j(n),   and grad s_j(n) is a point of the core                   (2)

    vertex v         s = v . n
    ellipsoid S      s = |S n|                              S = diag(semi-axes)
    cap of cylinder  s = r |n_xy| +- h n_z
    base of cone     s = |D n_xy| + H n_z                   D = diag(semi-axes)

Gottschalk and van den Bergen call grad s the support mapping (van den Bergen 2003, Collision Detection in Interactive
3D Environments, sec. 4.3.4). Directions need not be unit vectors.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.geometry.proximity.layout import (
    BOX,
    CONE,
    CYLINDER,
    ELLIPSOID,
    FEW_VERTICES,
    HULL,
    SEGMENT,
    Hulls,
)
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    negated,
    rotated,
    rotated_back,
)

__all__ = ["curvatures", "is_curved", "piece_point", "support_of_pair", "support_piece"]

_TINY = 1e-300


@device
def is_curved(g: Array) -> bool:
    """Whether the core of a geometry has curved pieces."""
    return g.kind == CYLINDER or g.kind == ELLIPSOID or g.kind == CONE


@device
def support_piece(g: Array, hulls: Hulls, n: Vector3) -> int:
    """The number of the piece that is the greatest in direction n."""
    kind = g.kind
    if kind == BOX:
        return (1 if n[0] > 0.0 else 0) + (2 if n[1] > 0.0 else 0) + (4 if n[2] > 0.0 else 0)
    if kind in (SEGMENT, CYLINDER):
        return 1 if n[2] > 0.0 else 0
    if kind == CONE:
        base = g.size_2 * n[2] + math.hypot(g.size_0 * n[0], g.size_1 * n[1])
        return 1 if base > 0.0 else 0
    if kind == HULL:
        return _farthest_vertex(g, hulls, n)
    return 0


@device
def _farthest_vertex(g: Array, hulls: Hulls, n: Vector3) -> int:
    """Of few vertices all are looked at; among many, one climbs from vertex to better neighbor."""
    vertices, first = hulls.vertices, g.first_vertex
    best = 0
    greatest = vertices[first, 0] * n[0] + vertices[first, 1] * n[1] + vertices[first, 2] * n[2]
    if g.num_vertices <= FEW_VERTICES:
        for i in range(1, g.num_vertices):
            k = first + i
            value = vertices[k, 0] * n[0] + vertices[k, 1] * n[1] + vertices[k, 2] * n[2]
            if value > greatest:
                best, greatest = i, value
        return best
    climbing = True
    while climbing:
        climbing = False
        here = first + best
        for e in range(hulls.neighbor_start[here], hulls.neighbor_start[here + 1]):
            i = hulls.neighbors[e]
            k = first + i
            value = vertices[k, 0] * n[0] + vertices[k, 1] * n[1] + vertices[k, 2] * n[2]
            if value > greatest:
                best, greatest, climbing = i, value, True
    return best


@device
def piece_point(g: Array, hulls: Hulls, piece: int, n: Vector3) -> Vector3:
    """grad s(n) of a piece, a point of the core in its own frame."""
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
    if kind == SEGMENT:
        return 0.0, 0.0, (g.size_2 if piece == 1 else -g.size_2)
    if kind == CYLINDER:
        z = g.size_2 if piece == 1 else -g.size_2
        across = math.sqrt(n[0] * n[0] + n[1] * n[1])
        if across < _TINY:
            return g.size_0, 0.0, z
        return g.size_0 * n[0] / across, g.size_0 * n[1] / across, z
    if kind == ELLIPSOID:
        a, b, c = g.size_0 * n[0], g.size_1 * n[1], g.size_2 * n[2]
        length = math.sqrt(a * a + b * b + c * c)
        if length < _TINY:
            return 0.0, 0.0, g.size_2
        return g.size_0 * a / length, g.size_1 * b / length, g.size_2 * c / length
    if kind == CONE and piece == 1:
        a, b = g.size_0 * n[0], g.size_1 * n[1]
        across = math.sqrt(a * a + b * b)
        if across < _TINY:
            return g.size_0, 0.0, g.size_2
        return g.size_0 * a / across, g.size_1 * b / across, g.size_2
    return 0.0, 0.0, 0.0


@device
def curvatures(g: Array, piece: int, n: Vector3, u: Vector3, v: Vector3) -> tuple[float, float, float]:
    """The second derivatives of a piece at a unit vector n along tangents u and v: (uu, uv, vv).

    These are radii of curvature of the core at that point.
    """
    kind = g.kind
    if kind == CYLINDER:
        across = max(n[0] * n[0] + n[1] * n[1], _TINY)
        factor = g.size_0 / (across * math.sqrt(across))
        turn_u, turn_v = n[0] * u[1] - n[1] * u[0], n[0] * v[1] - n[1] * v[0]
        return factor * turn_u * turn_u, factor * turn_u * turn_v, factor * turn_v * turn_v
    if kind == ELLIPSOID or (kind == CONE and piece == 1):
        # s = |S n|: (S u . S v - (x . u)(x . v)) / s with x = grad s; the base of a cone has S_zz = 0.
        size_z = g.size_2 if kind == ELLIPSOID else 0.0
        a, b, c = g.size_0 * n[0], g.size_1 * n[1], size_z * n[2]
        inverse = 1.0 / max(math.sqrt(a * a + b * b + c * c), _TINY)
        a, b, c = a * inverse, b * inverse, c * inverse
        ux, uy, uz = g.size_0 * u[0], g.size_1 * u[1], size_z * u[2]
        vx, vy, vz = g.size_0 * v[0], g.size_1 * v[1], size_z * v[2]
        along_u, along_v = a * ux + b * uy + c * uz, a * vx + b * vy + c * vz
        return (
            (ux * ux + uy * uy + uz * uz - along_u * along_u) * inverse,
            (ux * vx + uy * vy + uz * vz - along_u * along_v) * inverse,
            (vx * vx + vy * vy + vz * vz - along_v * along_v) * inverse,
        )
    return 0.0, 0.0, 0.0


@device
def support_of_pair(a: Array, b: Array, hulls: Hulls, X_AB: Array, n: Vector3) -> tuple[int, int, Vector3, Vector3]:
    """Of A - B in direction n, in A: the pieces of A and of B, and the points of A and of B."""
    m = negated(rotated_back(X_AB, n))
    piece_a = support_piece(a, hulls, n)
    piece_b = support_piece(b, hulls, m)
    p_A = piece_point(a, hulls, piece_a, n)
    p_B = piece_point(b, hulls, piece_b, m)
    return piece_a, piece_b, p_A, add(rotated(X_AB, p_B), (X_AB[9], X_AB[10], X_AB[11]))
