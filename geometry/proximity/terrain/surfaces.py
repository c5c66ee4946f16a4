"""Touches of one triangle of a terrain F, its edges and its corners, with a body G.

A lowest point x of G under a triangle's plane touches that triangle if it is in the solid and if no other face, through
which G may have come to x, is much nearer: what pushes against a step from the side does not touch the ground above it.
Let G be D deep under the triangle, and d the distance from x to the nearest such face. The touch is

    min(D, 2 d - D)                                                                        (4)

deep, which is D where the triangle is the nearest way out, no more than d elsewhere, and fades until D is twice d.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.geometry.proximity.layout import CYLINDER, HEIGHT_FIELD, POINT, Hulls, Shape, ShapeWork
from merganser.geometry.proximity.shares import corner, set_corner
from merganser.geometry.proximity.terrain.grids import is_in_field, way_out_of_field
from merganser.geometry.proximity.terrain.meshes import is_in_mesh, way_out_of_mesh
from merganser.geometry.proximity.terrain.touches import (
    IN_PLACE,
    SHARP,
    add_edge,
    add_touch,
    cut_edge,
    distance_to_body,
    look_down,
    lowest_point,
    set_lowest,
    touch_edge,
)
from merganser.geometry.proximity.vectors import (
    Vector3,
    add,
    cross,
    dot,
    negated,
    norm,
    rotated,
    subtract,
    sum_scaled,
    unit,
)

# Of an edge: whether it is convex, whether the triangle's own; the normal and the third corner of the one beyond
Side = tuple[bool, bool, Vector3, Vector3]

_EDGE = 1e-12  # of a cell: how far outside of a triangle rounding may take a point
_PRESSED = 1e-12  # of a cell: depths below this need no care
_DEEP, _MUCH_NEARER = 0.2, 0.1  # of the size of a body: depths to be looked at again; and of such a depth


@device
def is_near_plane(g: Shape, hulls: Hulls, work: ShapeWork, a: Vector3, n: Vector3, reach: float) -> bool:
    """Whether G is at most `reach` above the plane through A; else it touches no face and no edge in that."""
    return dot(n, subtract(look_down(g, hulls, work, n), a)) - g.radius <= reach


@device
def touch_face(
    f: Shape,
    g: Shape,
    hulls: Hulls,
    work: ShapeWork,
    corners: tuple[Vector3, Vector3, Vector3],
    n: Vector3,
    sides: tuple[Side, Side, Side],
    reach: float,
    size: float,
) -> None:
    """Touches of a triangle with what is lowest of G, equation (1) of touches.py, and of its edges, equation (2).

    G is near the plane of the triangle, see is_near_plane().
    """
    a = corners[0]
    for k in range(set_lowest(g, hulls, work, n)):
        q = corner(work.polygon_b, k)
        height = dot(n, subtract(q, a))
        depth = g.radius - height
        if depth >= -reach and _is_over(f, hulls, corners, sides, n, q, height, size):
            x = sum_scaled(q, n, -g.radius)
            depth = depth_by_way_out(f, g, hulls, work, x, n, depth, 1.0, size, False)
            if depth >= -reach:
                add_touch(work, sum_scaled(x, n, 0.5 * depth), n, depth, size)
    for e in range(3):
        p, q = corners[e], corners[(e + 1) % 3]
        is_convex, is_own, beyond, _ = sides[e]
        if not is_convex:
            continue
        first = work.num_touches
        if set_lowest(g, hulls, work, n) >= 2:
            cut_edge(g, work, p, q, n, reach, size)
            fade_others(f, g, hulls, work, first, 1.0, size)
        if is_own:
            first = work.num_touches
            is_found, normal, x = touch_edge(g, hulls, work, p, q, n, beyond, reach, size)
            if is_found:
                add_edge(g, hulls, work, p, q, normal, x, reach, size)
                fade_others(f, g, hulls, work, first, min(dot(normal, n), dot(normal, beyond)), size)


@device
def is_in(f: Shape, hulls: Hulls, x: Vector3, size: float) -> bool:
    """Whether a point is in the solid, but for rounding."""
    if f.kind == HEIGHT_FIELD:
        return is_in_field(f, hulls, x, _PRESSED * size)
    return is_in_mesh(f, hulls, x, _PRESSED * size)


@device
def _is_over(
    f: Shape,
    hulls: Hulls,
    corners: tuple[Vector3, Vector3, Vector3],
    sides: tuple[Side, Side, Side],
    n: Vector3,
    q: Vector3,
    height: float,
    size: float,
) -> bool:
    """Whether the foot of a point of a core, so high above the plane of a triangle, is in the triangle.

    Beyond concave edges the face goes on within the solid under the other one, for corners that are below both.
    """
    foot = sum_scaled(q, n, -height)
    for e in range(3):
        p, end = corners[e], corners[(e + 1) % 3]
        edge = subtract(end, p)
        outside = -dot(cross(n, edge), subtract(foot, p)) / norm(edge)
        if outside > _EDGE * size:
            is_convex, _, beyond, third = sides[e]
            if is_convex or not height < 0.0 or dot(cross(n, beyond), edge) > -SHARP * norm(edge):
                return False
            if outside > 0.5 * min(norm(edge), norm(subtract(third, p)), norm(subtract(third, end))):
                return False
            if not is_in(f, hulls, foot, size):
                return False
    return True


@device
def depth_by_way_out(
    f: Shape,
    g: Shape,
    hulls: Hulls,
    work: ShapeWork,
    x: Vector3,
    n: Vector3,
    depth: float,
    share: float,
    size: float,
    is_edge: bool,
) -> float:
    """How deep the touch of X, a point of G, is that is so deep under a face or an edge of normal n, by equation (4).

    Minus infinity if G did not come in there. It did if X is in the solid, or G is around the edge. What a sheet
    touches crosses it. An edge that is far from the other side of G, but near another one, came in there. So did a ball
    whose middle is outside: no place on the surface around is nearer to that.
    """
    if depth <= _PRESSED * size or (g.kind == POINT and depth < g.radius):
        return depth
    is_sheet = f.kind != HEIGHT_FIELD and f.size_2 == 0.0
    is_around = False
    if is_edge or is_sheet:
        highest = lowest_point(g, hulls, work, negated(n))
        is_around = dot(n, subtract(highest, x)) + g.radius >= depth
        if is_sheet and not is_around:
            return -math.inf
    if is_edge and depth > _DEEP * (g.bound + g.radius):
        distance, _ = distance_to_body(g, hulls, work, sum_scaled(x, n, depth))
        if g.radius - distance < _MUCH_NEARER * depth:
            return -math.inf
    if not (is_edge and is_around) and not is_in(f, hulls, x, size):
        return -math.inf
    limit = depth * share
    if limit <= _PRESSED * size:
        return depth
    if f.kind == HEIGHT_FIELD:
        way_out = way_out_of_field(f, g, hulls, work, x, n, limit, is_edge)
    else:
        way_out = way_out_of_mesh(f, g, hulls, work, x, n, limit, is_edge)
    return depth + 2.0 * (way_out - limit) / share if 2.0 * way_out > limit else -math.inf


@device
def fade_others(f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, first: int, share: float, size: float) -> None:
    """Fades touches of an edge, from the first one on, by other ways out, and drops what G did not come in through.

    Args:
        share: cosine of the angle between the normal of the edge and those of its faces.
    """
    start = 0 if work.num_touches == work.touch_depth.shape[0] else first
    kept = start
    for k in range(start, work.num_touches):
        p, n, depth = corner(work.touch_point, k), corner(work.touch_normal, k), work.touch_depth[k]
        x, is_known = sum_scaled(p, n, -0.5 * depth), k < first and work.touch_group[k] != IN_PLACE
        work.touch_group[kept] = -1
        if not is_known:
            depth = depth_by_way_out(f, g, hulls, work, x, n, depth, share, size, True)
        if depth > -math.inf:
            set_corner(work.touch_point, kept, sum_scaled(x, n, 0.5 * depth))
            set_corner(work.touch_normal, kept, n)
            work.touch_depth[kept] = depth
            kept += 1
    work.num_touches = kept


@device
def look_at_peak(g: Shape, hulls: Hulls, work: ShapeWork, v: Vector3, reach: float) -> tuple[bool, float, Vector3]:
    """Whether a vertex is near G, and the depth and normal of equation (3) of touches.py, if it is a peak."""
    X = work.X_FG
    around = g.bound + g.radius + max(reach, 0.0)
    middle = add(rotated(X, (g.center_0, g.center_1, g.center_2)), (X[9], X[10], X[11]))
    to_middle = subtract(middle, v)
    if dot(to_middle, to_middle) > around * around:
        return False, 0.0, v
    distance, n = distance_to_body(g, hulls, work, v)
    return g.radius - distance >= -reach, g.radius - distance, n


@device
def normal_below(g: Shape, hulls: Hulls, work: ShapeWork, v: Vector3, axis: Vector3) -> Vector3:
    """The normal, into G, of its face that is lowest along an axis, if a vertex V in G is over that; otherwise zero.

    A peak that is nearer to an upright side of G than to this face did not come in through that side: it pushes along
    this normal, as deep as the side is near, so that nothing jumps where it passes the side.
    """
    count = set_lowest(g, hulls, work, unit(axis)) if norm(axis) > 0.0 else 0
    if count < 2:
        return 0.0, 0.0, 0.0
    first = corner(work.polygon_b, 0)
    line = subtract(corner(work.polygon_b, 1), first)
    if count == 2:
        to_axis = subtract((work.X_FG[9], work.X_FG[10], work.X_FG[11]), v)
        return unit(cross(line, cross(to_axis, line))) if g.kind == CYLINDER else (0.0, 0.0, 0.0)
    out = cross(line, subtract(corner(work.polygon_b, 2), first))
    for i in range(count):
        p = corner(work.polygon_b, i)
        if dot(cross(out, subtract(corner(work.polygon_b, (i + 1) % count), p)), subtract(v, p)) < 0.0:
            return 0.0, 0.0, 0.0
    return negated(unit(out))
