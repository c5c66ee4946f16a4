"""Meshes as terrain: their triangles, edges and nearest points, found through a tree of boxes.

A node of the tree is a row of `Hulls.nodes`: the box around it, [low, high]; the next node if this one is of no
interest; and of a leaf the first of its triangles and where these end, the same number otherwise. So one goes through
the tree without remembering anything.

A triangle t has three corners and a plane, as a face of a hull has, and three rows of `Hulls.edges`, each with the
corner of the triangle beyond, marks (below), and the plane of that triangle. Behind the planes of the triangles come
normals of the vertices, sums weighted by angles, by which inside and outside are known (Baerentzen and Aanaes 2005).

A mesh that is not closed is a sheet, which touches what crosses it.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.layout import Hulls, Shape, ShapeWork
from merganser.geometry.proximity.mesh_distance import nearest_on_triangle
from merganser.geometry.proximity.terrain.touches import way_through
from merganser.geometry.proximity.vectors import Vector3, add, cross, dot, subtract, unit

CONVEX, OWN, BORDER = 1, 2, 4  # marks of an edge: it is convex; this triangle looks at it; there is no other
FIRST_VERTEX = 8  # and twice and four times that: the triangle looks at this corner
SKIP, FIRST, END = 6, 7, 8  # columns of a node, see above


@inlined
def mesh_vertex(f: Shape, hulls: Hulls, v: int) -> Vector3:
    """The position of a vertex."""
    row = hulls.vertices[f.first_vertex + v]
    return row[0], row[1], row[2]


@inlined
def mesh_corner(f: Shape, hulls: Hulls, t: int, k: int) -> int:
    """The vertex at a corner of a triangle."""
    return int(hulls.corners[hulls.corner_start[f.first_face + t] + k])


@device
def mesh_triangle(f: Shape, hulls: Hulls, t: int) -> tuple[Vector3, Vector3, Vector3]:
    """The corners of a triangle, counter-clockwise seen from outside."""
    k = hulls.corner_start[f.first_face + t]
    return (
        mesh_vertex(f, hulls, hulls.corners[k]),
        mesh_vertex(f, hulls, hulls.corners[k + 1]),
        mesh_vertex(f, hulls, hulls.corners[k + 2]),
    )


@inlined
def mesh_normal(f: Shape, hulls: Hulls, t: int) -> Vector3:
    """The normal of a triangle, or of a vertex, which are behind these."""
    row = hulls.planes[f.first_face + t]
    return row[0], row[1], row[2]


@device
def mesh_side(
    f: Shape, hulls: Hulls, t: int, e: int, p: Vector3, q: Vector3, n: Vector3
) -> tuple[bool, bool, Vector3, Vector3]:
    """Edge e of a triangle, from P to Q, as `Side` of surfaces.py."""
    row = hulls.edges[f.first_edge + 3 * t + e]
    beyond = hulls.planes[row[2]]
    m = beyond[0], beyond[1], beyond[2]
    if row[1] & BORDER:
        m = unit(cross(subtract(q, p), n))
    return row[1] & CONVEX != 0, row[1] & OWN != 0, m, mesh_vertex(f, hulls, row[0])


@inlined
def _square_to_box(hulls: Hulls, node: int, p: Vector3) -> float:
    box, square = hulls.nodes[node], 0.0
    for i in range(3):
        gap = max(box[i] - p[i], p[i] - box[3 + i], 0.0)
        square += gap * gap
    return square


@device
def nearest_on_mesh(f: Shape, hulls: Hulls, p: Vector3) -> tuple[Vector3, Vector3]:
    """The point of the surface that is nearest to P, and the normal there, by which the side of P is known."""
    least, found, t_found, part_found = math.inf, p, 0, 0
    node, end = f.first_node, f.first_node + int(hulls.nodes[f.first_node, SKIP])
    while node < end:
        if _square_to_box(hulls, node, p) >= least:
            node = f.first_node + int(hulls.nodes[node, SKIP])
            continue
        for t in range(int(hulls.nodes[node, FIRST]), int(hulls.nodes[node, END])):
            a, b, c = mesh_triangle(f, hulls, t)
            part, x = nearest_on_triangle(a, b, c, p)
            away = subtract(p, x)
            if dot(away, away) < least:
                least, found, t_found, part_found = dot(away, away), x, t, part
        node += 1
    n = mesh_normal(f, hulls, t_found)
    if part_found >= 4:
        n = mesh_normal(f, hulls, f.num_faces + mesh_corner(f, hulls, t_found, part_found - 4))
    elif part_found >= 1:
        row = hulls.edges[f.first_edge + 3 * t_found + part_found - 1]
        beyond = hulls.planes[row[2]]
        n = unit(add(n, (beyond[0], beyond[1], beyond[2])))
    return found, n


@device
def is_in_mesh(f: Shape, hulls: Hulls, x: Vector3, slack: float) -> bool:
    """Whether a point is inside, or so little outside."""
    found, n = nearest_on_mesh(f, hulls, x)
    away = subtract(x, found)
    return dot(away, n) <= 0.0 or dot(away, away) <= slack * slack


@device
def way_out_of_mesh(
    f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, x: Vector3, n: Vector3, limit: float, is_edge: bool
) -> float:
    """How far X, a point of G, is from faces through which G may have come; or the limit."""
    node, end = f.first_node, f.first_node + int(hulls.nodes[f.first_node, SKIP])
    while node < end:
        if _square_to_box(hulls, node, x) >= limit * limit:
            node = f.first_node + int(hulls.nodes[node, SKIP])
            continue
        for t in range(int(hulls.nodes[node, FIRST]), int(hulls.nodes[node, END])):
            corners, m = mesh_triangle(f, hulls, t), mesh_normal(f, hulls, t)
            limit = way_through(g, hulls, work, x, corners, m, n, limit, is_edge)
        node += 1
    return limit
