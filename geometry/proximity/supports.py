"""Support functions of cores, and the smooth pieces that they are made of.

    h(n) = max over x in core of n . x                                                   (1)

is the greatest of several *pieces* s_j(n), one for each vertex (or curved patch) of the core, each smooth and
homogeneous of degree 1, so that

    s_j(n) = n . grad s_j(n),   and grad s_j(n) is a point of the core                   (2)

    vertex v         s = v . n
    ellipsoid S      s = |S n|                  S = diag(semi-axes)
    cap of cylinder  s = |S n| +- h n_z         S = diag(r, r, 0)
    base of cone     s = |S n| + H n_z          S = diag(semi-axes, 0)

Each is a vertex and a *smooth part* |S n|, which all pieces of a core have in common (save for the tip of a cone).

Gottschalk and van den Bergen call grad s the support mapping (van den Bergen 2003, Collision Detection in Interactive
3D Environments, sec. 4.3.4). Directions need not be unit vectors.
"""

from __future__ import annotations

import math

import numpy as np

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.layout import (
    BOX,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HULL,
    SEGMENT,
    Hulls,
)
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    dot,
    negated,
    rotated,
    rotated_back,
)

__all__ = [
    "curvatures",
    "is_curved",
    "piece_point",
    "piece_vertex",
    "rolling_radius",
    "semi_axes",
    "smooth_curvatures",
    "smooth_point",
    "support_of_pair",
    "support_piece",
]

_TINY = 1e-300
_FEW_VERTICES = 24  # hulls of at most so many are searched from end to end


@inlined
def is_curved(g: Array) -> bool:
    """Whether the core of a geometry has curved pieces."""
    return g.kind == CYLINDER or g.kind == ELLIPSOID or g.kind == CONE


@device
def rolling_radius(g: Array) -> float:
    """The radius of the largest ball that rolls inside a core and touches all of its surface; 0 if there is none.

    It is the least radius of curvature (Blaschke's rolling theorem; Schneider 2014, Convex Bodies: The Brunn-Minkowski
    Theory, sec. 3.2: such a ball is a summand of the core).
    """
    if g.kind != ELLIPSOID:
        return 0.0
    least = min(g.size_0, min(g.size_1, g.size_2))
    return float(least * least / max(g.size_0, max(g.size_1, g.size_2)))


@inlined
def support_piece(g: Array, hulls: Hulls, n: Vector3) -> int:
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
def _farthest_vertex(g: Array, hulls: Hulls, n: Vector3) -> int:
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
def _along(vertices: Array, k: int, n: Vector3) -> float:
    """How far vertex k is along a direction."""
    return float(vertices[k, 0] * n[0].real + vertices[k, 1] * n[1].real + vertices[k, 2] * n[2].real)


@inlined
def piece_vertex(g: Array, hulls: Hulls, piece: int) -> Vector3:
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
def semi_axes(g: Array, piece: int) -> Vector3:
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
def piece_point(g: Array, hulls: Hulls, piece: int, n: Vector3) -> Vector3:
    """grad s(n) of a piece, a point of the core in its own frame."""
    p = piece_vertex(g, hulls, piece)
    if is_curved(g):
        p = add(p, smooth_point(semi_axes(g, piece), n)[0])
    return p


@device
def curvatures(g: Array, piece: int, n: Vector3, u: Vector3, v: Vector3) -> tuple[float, float, float]:
    """The second derivatives of a piece at a unit vector n along tangents u and v: (uu, uv, vv)."""
    axes = semi_axes(g, piece)
    point, inverse = smooth_point(axes, n)
    return smooth_curvatures(axes, point, inverse, u, v)


@inlined
def support_of_pair(a: Array, b: Array, hulls: Hulls, X_AB: Array, n: Vector3) -> tuple[int, int, Vector3, Vector3]:
    """Of A - B in direction n, in A: the pieces of A and of B, and the points of A and of B."""
    m = negated(rotated_back(X_AB, n))
    piece_a = support_piece(a, hulls, n)
    piece_b = support_piece(b, hulls, m)
    p_A = piece_point(a, hulls, piece_a, n)
    p_B = piece_point(b, hulls, piece_b, m)
    return piece_a, piece_b, p_A, add(rotated(X_AB, p_B), (X_AB[9], X_AB[10], X_AB[11]))
