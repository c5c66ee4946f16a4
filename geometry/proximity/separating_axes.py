"""Points, segments, boxes and hulls with each other, by separating axes.

Points, segments and boxes are sums of segments s_i a_i (zonotopes). The flat sides of the difference of two of them, or
of a hull and one of them, have the normals of faces, or lie across an axis a_i and an edge (Gottschalk, Lin, Manocha
1996, OBBTree). h at each of these is computed; the least is the depth if the two overlap. The same side holds the
nearest points if they are apart, unless these are a corner and a corner or a corner and an edge: then refine.py starts
from there.

The side of a zonotope axis a and the edge between two faces f, g of a hull exists if the normals of f and g look to
different sides of the plane across a (Gregorius 2013, The separating axis test between convex polyhedra).
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.geometry.proximity.flat_features import (
    contains,
    face_plane,
    num_flat_faces,
    set_from_other_frame,
    support_point,
)
from merganser.geometry.proximity.layout import BOX, HULL, POINT, SEGMENT, SOLVED, UNSOLVED, Hulls
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    axis,
    dot,
    negated,
    rotated,
    rotated_back,
    scaled,
    subtract,
    sum_scaled,
    unit,
    unit_axis,
)

__all__ = ["is_zonotope", "solve_zonotope_and_hull", "solve_zonotopes"]

_PARALLEL = 1e-14  # squared sine of the angle between edges that span no side
_PREFERENCE = 1e-13  # by how much, of the size, the side of two edges must be nearer than that of a face
_INSIDE = 1e-12  # of the size: how far outside of a feature rounding may take a point


@device
def is_zonotope(g: Array) -> bool:
    """Whether a core is a point, a segment or a box."""
    return g.kind <= BOX


@device
def _size(g: Array, i: int) -> float:
    """Half the length of a zonotope along its axis i."""
    if g.kind == POINT:
        return 0.0
    return g.size_0 if i == 0 else (g.size_1 if i == 1 else g.size_2)


@device
def solve_zonotopes(a: Array, b: Array, hulls: Hulls, work: Array) -> int:
    """Writes the solution for boxes or segments, of which one at least is a box; returns a status.

    If it is UNSOLVED, the normal is that of the lowest side, from where refine.py finds the solution.
    """
    X_AB = work.X_AB
    size = a.bound + b.bound
    best, kind, first, second = math.inf, 0, 0, 0
    for i in range(3):
        reach_b = 0.0
        for j in range(3):
            reach_b += _size(b, j) * abs(X_AB[3 * i + j])
        value = _size(a, i) + reach_b - abs(X_AB[9 + i])
        if a.kind == BOX and value < best:
            best, kind, first = value, 0, i
    for j in range(3):
        reach_a = 0.0
        across = 0.0
        for i in range(3):
            reach_a += _size(a, i) * abs(X_AB[3 * i + j])
            across += X_AB[3 * i + j] * X_AB[9 + i]
        value = _size(b, j) + reach_a - abs(across)
        if b.kind == BOX and value < best - _PREFERENCE * size:
            best, kind, first = value, 1, j
    preference = _PREFERENCE * size
    for i in range(0 if a.kind == BOX else 2, 3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(0 if b.kind == BOX else 2, 3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            x, y = X_AB[3 * i1 + j], X_AB[3 * i2 + j]  # of axis j of B across axis i of A
            square = x * x + y * y
            if square <= _PARALLEL:
                continue
            value = _size(a, i1) * abs(y) + _size(a, i2) * abs(x)
            value += _size(b, j1) * abs(X_AB[3 * i + j2]) + _size(b, j2) * abs(X_AB[3 * i + j1])
            value = (value - abs(X_AB[9 + i2] * x - X_AB[9 + i1] * y)) / math.sqrt(square)
            if value < best - preference:
                best, kind, first, second = value, 2, i, j
    origin = (X_AB[9], X_AB[10], X_AB[11])
    if kind == 0:
        n = unit_axis(first)
    elif kind == 1:
        n = axis(X_AB, first)
    else:
        u, v = unit_axis(first), axis(X_AB, second)
        n = unit((u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]))
    if dot(n, origin) < 0.0:
        n = negated(n)
    if _set_points(a, b, hulls, work, n, best, kind, first, second):
        return SOLVED
    set_solution(work, n, best, origin, origin)
    return UNSOLVED


@device
def _set_points(
    a: Array, b: Array, hulls: Hulls, work: Array, n: Vector3, value: float, kind: int, first: int, second: int
) -> bool:
    """Writes the solution on a side of two zonotopes, unless its points are not within the features.

    Args:
        kind: of the side: 0, a face of A; 1, a face of B; 2, an edge of each.
        first, second: axes of the edges.
    """
    X_AB = work.X_AB
    origin = (X_AB[9], X_AB[10], X_AB[11])
    tolerance = _INSIDE * (a.bound + b.bound)
    m = negated(rotated_back(X_AB, n))
    p_A = support_point(a, hulls, n)
    q_B = support_point(b, hulls, m)
    q_A = add(rotated(X_AB, q_B), origin)
    if kind == 0:
        p_A = sum_scaled(q_A, n, value)
    elif kind == 1:
        q_A = sum_scaled(p_A, n, -value)
        q_B = rotated_back(X_AB, subtract(q_A, origin))
    else:
        # From the ends along both edges, p + s u and q + t v, to where they differ by value n.
        u, v = unit_axis(first), axis(X_AB, second)
        gap = subtract(subtract(p_A, q_A), scaled(n, value))
        cosine, along_u, along_v = dot(u, v), dot(gap, u), dot(gap, v)
        square = 1.0 - cosine * cosine
        s = (cosine * along_v - along_u) / square
        t = (along_v - cosine * along_u) / square
        p_A, q_A = sum_scaled(p_A, u, s), sum_scaled(q_A, v, t)
        q_B = rotated_back(X_AB, subtract(q_A, origin))
    if not (contains(a, hulls, p_A, tolerance) and contains(b, hulls, q_B, tolerance)):
        return False
    set_solution(work, n, value, p_A, q_A)
    return True


@device
def solve_zonotope_and_hull(a: Array, b: Array, hulls: Hulls, work: Array) -> int:
    """Writes the solution for a hull and a point, segment or box; returns a status, as `solve_zonotopes`."""
    is_first = a.kind == HULL
    hull = a if is_first else b
    z = b if is_first else a
    X = work.X_AB if is_first else work.X_BA  # of the zonotope, in the frame of the hull
    center = (X[9], X[10], X[11])
    size = a.bound + b.bound
    half_u, half_v, half_w = _half_edge(z, X, 0), _half_edge(z, X, 1), _half_edge(z, X, 2)
    best, n, kind = math.inf, (0.0, 0.0, 1.0), 0
    edge_point, edge, second = center, center, 0
    vertices, planes = hulls.vertices, hulls.planes
    for f in range(hull.first_face, hull.first_face + hull.num_faces):
        d = (planes[f, 0], planes[f, 1], planes[f, 2])
        value = planes[f, 3] - dot(d, center) + abs(dot(half_u, d)) + abs(dot(half_v, d)) + abs(dot(half_w, d))
        if value < best:
            best, n, kind = value, d, 0
    for f in range(num_flat_faces(z)):
        d_Z, offset = face_plane(z, hulls, f)
        d = negated(rotated(X, d_Z))
        value = offset + dot(d, subtract(support_point(hull, hulls, d), center))
        if value < best:
            best, n, kind = value, d, 1
    preference = _PREFERENCE * size
    first_axis = 3 if z.kind == POINT else (2 if z.kind == SEGMENT else 0)
    for i in range(first_axis, 3):
        u = axis(X, i)
        for e in range(hull.first_edge, hull.first_edge + hull.num_edges):
            f, g = hulls.edges[e, 2], hulls.edges[e, 3]
            x = planes[f, 0] * u[0] + planes[f, 1] * u[1] + planes[f, 2] * u[2]
            y = planes[g, 0] * u[0] + planes[g, 1] * u[1] + planes[g, 2] * u[2]
            if x * y >= 0.0:
                continue
            x, y = abs(x), abs(y)
            d = (
                y * planes[f, 0] + x * planes[g, 0],
                y * planes[f, 1] + x * planes[g, 1],
                y * planes[f, 2] + x * planes[g, 2],
            )
            k, l = hull.first_vertex + hulls.edges[e, 0], hull.first_vertex + hulls.edges[e, 1]
            p = (vertices[k, 0], vertices[k, 1], vertices[k, 2])
            value = dot(d, subtract(p, center)) + abs(dot(half_u, d)) + abs(dot(half_v, d)) + abs(dot(half_w, d))
            limit = best - preference
            square = dot(d, d)
            # value < limit |d|, without a root where it is not needed
            if value < 0.0 or (limit > 0.0 and value * value < limit * limit * square):
                length = math.sqrt(square)
                if value >= limit * length:
                    continue
                best, n, kind, second = value / length, scaled(d, 1.0 / length), 2, i
                edge_point, edge = p, subtract((vertices[l, 0], vertices[l, 1], vertices[l, 2]), p)
    tolerance = _INSIDE * size
    p = support_point(hull, hulls, n)
    q_Z = support_point(z, hulls, negated(rotated_back(X, n)))
    q = add(rotated(X, q_Z), center)
    if kind == 0:
        p = sum_scaled(q, n, best)
    elif kind == 1:
        q = sum_scaled(p, n, -best)
    else:
        u, v = unit(edge), axis(X, second)
        gap = subtract(subtract(edge_point, q), scaled(n, best))
        cosine, along_u, along_v = dot(u, v), dot(gap, u), dot(gap, v)
        square = 1.0 - cosine * cosine
        p = sum_scaled(edge_point, u, (cosine * along_v - along_u) / square)
        q = sum_scaled(q, v, (along_v - cosine * along_u) / square)
    q_Z = rotated_back(X, subtract(q, center))
    if contains(hull, hulls, p, tolerance) and contains(z, hulls, q_Z, tolerance):
        if is_first:
            set_solution(work, n, best, p, q)
        else:
            set_from_other_frame(work, n, best, q, p)
        return SOLVED
    start = n if is_first else negated(rotated(work.X_AB, n))
    set_solution(work, start, best, center, center)
    return UNSOLVED


@device
def _half_edge(z: Array, X: Array, i: int) -> Vector3:
    """From the center of a zonotope half along its axis i."""
    return scaled(axis(X, i), _size(z, i))
