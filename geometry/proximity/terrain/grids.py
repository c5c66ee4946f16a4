"""Height fields: their triangles, heights and nearest points.

A cell of the grid, row i and column j, has corners

    d --- c        d = (i + 1, j)      c = (i + 1, j + 1)
    |   / |
    | /   |        triangles a b c and a c d
    a --- b        a = (i, j)          b = (i, j + 1)

The solid under the surface has upright sides, whose normals are those of the outer faces of its border, and a flat
bottom.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.geometry.proximity.layout import Hulls, Shape, ShapeWork
from merganser.geometry.proximity.mesh_distance import nearest_on_triangle
from merganser.geometry.proximity.terrain.touches import SHARP, lowest_point, way_through
from merganser.geometry.proximity.vectors import Vector3, cross, dot, norm, subtract, unit

_MOST_CELLS = 16  # to each side in which faces are looked for through which a body may have come in


@inlined
def grid_point(f: Shape, hulls: Hulls, i: int, j: int) -> Vector3:
    """The point in row i and column j."""
    height = hulls.heights[f.first_vertex + i * f.num_edges + j]
    return j * f.size_0 - f.half_0, i * f.size_1 - f.half_1, height


@device
def grid_triangle(f: Shape, hulls: Hulls, i: int, j: int, upper: int) -> tuple[Vector3, Vector3, Vector3]:
    """The lower (0) or upper (1) triangle of a cell, from corner a on."""
    a, c = grid_point(f, hulls, i, j), grid_point(f, hulls, i + 1, j + 1)
    if upper == 0:
        return a, grid_point(f, hulls, i, j + 1), c
    return a, c, grid_point(f, hulls, i + 1, j)


@inlined
def _beyond(i: int, j: int, upper: int, e: int) -> tuple[int, int]:
    """Row and column of the corner of the other triangle at edge e of a triangle."""
    if upper == 0:
        return (i - 1, j) if e == 0 else (i + 1, j + 2) if e == 1 else (i + 1, j)
    return (i, j + 1) if e == 0 else (i + 2, j + 1) if e == 1 else (i, j - 1)


@device
def grid_side(
    f: Shape, hulls: Hulls, i: int, j: int, upper: int, e: int, p: Vector3, q: Vector3, n: Vector3
) -> tuple[bool, bool, Vector3, Vector3]:
    """Edge e of a triangle, from P to Q, as `Side` of surfaces.py."""
    row, column = _beyond(i, j, upper, e)
    if row < 0 or column < 0 or row >= f.num_faces or column >= f.num_edges:
        return True, True, unit((q[1] - p[1], p[0] - q[0], 0.0)), p
    third = grid_point(f, hulls, row, column)
    r, is_own = subtract(third, p), e == 2 or (upper == 0 and e == 0)
    return dot(n, r) < -SHARP * norm(r), is_own, unit(cross(r, subtract(q, p))), third


@device
def column_of(f: Shape, x: float) -> int:
    return int(min(max((x + f.half_0) / f.size_0, 0.0), f.num_edges - 2.0))


@device
def row_of(f: Shape, y: float) -> int:
    return int(min(max((y + f.half_1) / f.size_1, 0.0), f.num_faces - 2.0))


@device
def height_at(f: Shape, hulls: Hulls, x: float, y: float) -> float:
    """z of the surface; minus infinity beside the field."""
    slack_x, slack_y = f.half_0 * (1.0 + SHARP), f.half_1 * (1.0 + SHARP)
    if abs(x) > slack_x or abs(y) > slack_y:
        return -math.inf
    i, j = row_of(f, y), column_of(f, x)
    a, c = grid_point(f, hulls, i, j), grid_point(f, hulls, i + 1, j + 1)
    u, v = (x - a[0]) / f.size_0, (y - a[1]) / f.size_1
    if u >= v:
        b = grid_point(f, hulls, i, j + 1)[2]
        return a[2] + u * (b - a[2]) + v * (c[2] - b)
    d = grid_point(f, hulls, i + 1, j)[2]
    return a[2] + v * (d - a[2]) + u * (c[2] - d)


@device
def is_in_field(f: Shape, hulls: Hulls, x: Vector3, slack: float) -> bool:
    """Whether a point is in the solid, or so little outside."""
    return f.size_2 - slack <= x[2] <= height_at(f, hulls, x[0], x[1]) + slack


@device
def way_out_of_field(
    f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, x: Vector3, n: Vector3, limit: float, is_edge: bool
) -> float:
    """How far X, a point of G, is from faces through which G may have come; or the limit."""
    row, column, least = row_of(f, x[1]), column_of(f, x[0]), limit
    i0, i1 = max(row_of(f, x[1] - limit), row - _MOST_CELLS), min(row_of(f, x[1] + limit), row + _MOST_CELLS)
    j0 = max(column_of(f, x[0] - limit), column - _MOST_CELLS)
    j1 = min(column_of(f, x[0] + limit), column + _MOST_CELLS)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            for upper in range(2):
                a, b, c = grid_triangle(f, hulls, i, j, upper)
                m = unit(cross(subtract(b, a), subtract(c, a)))
                least = way_through(g, hulls, work, x, (a, b, c), m, n, least, is_edge)
    for side in range(4):
        sign, along = 1.0 if side < 2 else -1.0, side % 2
        gap = (f.half_0 - sign * x[0]) if along == 0 else (f.half_1 - sign * x[1])
        outward = (sign, 0.0, 0.0) if along == 0 else (0.0, sign, 0.0)
        is_other = gap < least and dot(outward, n) <= 1.0 - SHARP
        if is_other and dot(outward, subtract(x, lowest_point(g, hulls, work, outward))) + g.radius <= least:
            least = gap
    return least


@device
def nearest_on_field(f: Shape, hulls: Hulls, p: Vector3) -> tuple[Vector3, Vector3]:
    """The point of the surface of the solid that is nearest to P, and the normal there."""
    i0, j0 = row_of(f, p[1]), column_of(f, p[0])
    size, least = min(f.size_0, f.size_1), math.inf
    found, normal = p, (0.0, 0.0, 1.0)
    for ring in range(max(f.num_faces, f.num_edges)):
        apart = max(ring - 1, 0) * size
        if apart * apart > least:
            break
        for i in range(max(i0 - ring, 0), min(i0 + ring, f.num_faces - 2) + 1):
            is_row = i == i0 - ring or i == i0 + ring
            for j in range(j0 - ring, j0 + ring + 1, 1 if is_row or ring == 0 else 2 * ring):
                if j < 0 or j > f.num_edges - 2:
                    continue
                for upper in range(2):
                    a, b, c = grid_triangle(f, hulls, i, j, upper)
                    x = nearest_on_triangle(a, b, c, p)[1]
                    away = subtract(p, x)
                    if dot(away, away) < least:
                        least, found = dot(away, away), x
                        normal = unit(cross(subtract(b, a), subtract(c, a)))
    x, y = min(max(p[0], -f.half_0), f.half_0), min(max(p[1], -f.half_1), f.half_1)
    for side in range(5):
        s, q = 1.0 if side < 2 else -1.0, (x, y, f.size_2)
        outward = (0.0, 0.0, -1.0)
        if side < 4:
            outward = (s, 0.0, 0.0) if side % 2 == 0 else (0.0, s, 0.0)
            q = (s * f.half_0, y, 0.0) if side % 2 == 0 else (x, s * f.half_1, 0.0)
            q = (q[0], q[1], min(max(p[2], f.size_2), height_at(f, hulls, q[0], q[1])))
        away = subtract(p, q)
        if dot(away, away) < least:
            least, found, normal = dot(away, away), q, outward
    return found, normal
