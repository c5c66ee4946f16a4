"""Height fields F: which of their triangles, edges and peaks a body G touches, and how far points are from them.

A cell of the grid, row i and column j, has corners

    d --- c        d = (i + 1, j)      c = (i + 1, j + 1)
    |   / |
    | /   |        triangles a b c and a c d
    a --- b        a = (i, j)          b = (i, j + 1)

and only cells below the box around the body are looked at, so that the size of a field does not count. The solid under
the surface has upright sides, whose normals are those of the outer faces of its border, and a flat bottom.

A lowest point x of G under a triangle's plane touches that triangle if it is in the solid and if no other face, along
whose normal x is among the lowest points of G as well, is much nearer: what pushes against a step from the side does
not touch the ground above it.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.shared_code import shared
from merganser.geometry.proximity.layout import HEIGHT_FIELD, INEXACT, POINT, SOLVED, Hulls, Shape, ShapeWork
from merganser.geometry.proximity.mesh_distance import nearest_on_triangle
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.search import set_inverse_pose
from merganser.geometry.proximity.shares import STEEP, corner
from merganser.geometry.proximity.terrain.touches import (
    SHARP,
    add_edge,
    add_touch,
    cut_edge,
    distance_to_body,
    look_down,
    lowest_point,
    set_lowest,
    share_touches,
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
    scaled,
    subtract,
    sum_scaled,
    unit,
)

_EDGE = 1e-12  # of a cell: how far outside of a triangle rounding may take a point
_PRESSED = 1e-12  # of a cell: depths below this need no care
_NEARER = 0.5  # of its depth: what is nearer than this to a point in the solid is where it came in
_MOST_CELLS = 16  # to each side in which that is looked for


@inlined
def _grid_point(f: Shape, hulls: Hulls, i: int, j: int) -> Vector3:
    """The point in row i and column j."""
    height = hulls.heights[f.first_vertex + i * f.num_edges + j]
    return j * f.size_0 - f.half_0, i * f.size_1 - f.half_1, height


@device
def _triangle(f: Shape, hulls: Hulls, i: int, j: int, upper: int) -> tuple[Vector3, Vector3, Vector3]:
    """The lower (0) or upper (1) triangle of a cell, from corner a on."""
    a, c = _grid_point(f, hulls, i, j), _grid_point(f, hulls, i + 1, j + 1)
    if upper == 0:
        return a, _grid_point(f, hulls, i, j + 1), c
    return a, c, _grid_point(f, hulls, i + 1, j)


@inlined
def _beyond(i: int, j: int, upper: int, e: int) -> tuple[int, int]:
    """Row and column of the corner of the other triangle at edge e of a triangle."""
    if upper == 0:
        return (i - 1, j) if e == 0 else (i + 1, j + 2) if e == 1 else (i + 1, j)
    return (i, j + 1) if e == 0 else (i + 2, j + 1) if e == 1 else (i, j - 1)


@device
def _other_side(
    f: Shape, hulls: Hulls, i: int, j: int, upper: int, e: int, p: Vector3, q: Vector3, n: Vector3
) -> tuple[bool, bool, Vector3]:
    """Whether edge e of a triangle, from P to Q, is convex, whether at the border, and the normal beyond it."""
    row, column = _beyond(i, j, upper, e)
    if row < 0 or column < 0 or row >= f.num_faces or column >= f.num_edges:
        return True, True, unit((q[1] - p[1], p[0] - q[0], 0.0))
    r = subtract(_grid_point(f, hulls, row, column), p)
    return dot(n, r) < -SHARP * norm(r), False, unit(cross(r, subtract(q, p)))


@device
def _column(f: Shape, x: float) -> int:
    return int(min(max((x + f.half_0) / f.size_0, 0.0), f.num_edges - 2.0))


@device
def _row(f: Shape, y: float) -> int:
    return int(min(max((y + f.half_1) / f.size_1, 0.0), f.num_faces - 2.0))


@device
def _height_at(f: Shape, hulls: Hulls, x: float, y: float) -> float:
    """z of the surface; minus infinity beside the field."""
    slack_x, slack_y = f.half_0 * (1.0 + SHARP), f.half_1 * (1.0 + SHARP)
    if abs(x) > slack_x or abs(y) > slack_y:
        return -math.inf
    i, j = _row(f, y), _column(f, x)
    a, c = _grid_point(f, hulls, i, j), _grid_point(f, hulls, i + 1, j + 1)
    u, v = (x - a[0]) / f.size_0, (y - a[1]) / f.size_1
    if u >= v:
        b = _grid_point(f, hulls, i, j + 1)[2]
        return a[2] + u * (b - a[2]) + v * (c[2] - b)
    d = _grid_point(f, hulls, i + 1, j)[2]
    return a[2] + v * (d - a[2]) + u * (c[2] - d)


# ---------------------------------------------------------------------- touches


@device
def _find_touches(f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, reach: float) -> None:
    """Writes all touches of a body that are deeper than -reach into the work record."""
    work.num_touches, work.num_lowest = 0, -1
    for c in range(3):
        work.down[c] = 0.0
    low_x, high_x = lowest_point(g, hulls, work, (1.0, 0.0, 0.0))[0], lowest_point(g, hulls, work, (-1.0, 0.0, 0.0))[0]
    low_y, high_y = lowest_point(g, hulls, work, (0.0, 1.0, 0.0))[1], lowest_point(g, hulls, work, (0.0, -1.0, 0.0))[1]
    around = g.radius + max(reach, 0.0)
    low_z = lowest_point(g, hulls, work, (0.0, 0.0, 1.0))[2] - around
    low_x, high_x, low_y, high_y = low_x - around, high_x + around, low_y - around, high_y + around
    if high_x < -f.half_0 or low_x > f.half_0 or high_y < -f.half_1 or low_y > f.half_1:
        return
    i0, i1, j0, j1 = _row(f, low_y), _row(f, high_y), _column(f, low_x), _column(f, high_x)
    size = min(f.size_0, f.size_1)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            a, b = _grid_point(f, hulls, i, j)[2], _grid_point(f, hulls, i, j + 1)[2]
            c, d = _grid_point(f, hulls, i + 1, j + 1)[2], _grid_point(f, hulls, i + 1, j)[2]
            if max(max(a, b), max(c, d)) >= low_z:
                _touch_triangle(f, g, hulls, work, i, j, 0, reach, size)
                _touch_triangle(f, g, hulls, work, i, j, 1, reach, size)
    for i in range(i0, i1 + 2):
        for j in range(j0, j1 + 2):
            if _grid_point(f, hulls, i, j)[2] >= low_z:
                _touch_peak(f, g, hulls, work, i, j, reach, size)
    if low_x <= -f.half_0:
        _touch_side(f, g, hulls, work, (-1.0, 0.0, 0.0), f.half_0, reach, size)
    if high_x >= f.half_0:
        _touch_side(f, g, hulls, work, (1.0, 0.0, 0.0), f.half_0, reach, size)
    if low_y <= -f.half_1:
        _touch_side(f, g, hulls, work, (0.0, -1.0, 0.0), f.half_1, reach, size)
    if high_y >= f.half_1:
        _touch_side(f, g, hulls, work, (0.0, 1.0, 0.0), f.half_1, reach, size)
    if low_z <= f.size_2 + g.radius + max(reach, 0.0):
        _touch_side(f, g, hulls, work, (0.0, 0.0, -1.0), -f.size_2, reach, size)
    if low_x <= -f.half_0 or high_x >= f.half_0 or low_y <= -f.half_1 or high_y >= f.half_1:
        _touch_box_edges(f, g, hulls, work, reach, size)


@device
def _touch_triangle(
    f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, i: int, j: int, upper: int, reach: float, size: float
) -> None:
    """Touches of a triangle with what is lowest of G, equation (1) of touches.py, and of its edges, equation (2)."""
    corners = _triangle(f, hulls, i, j, upper)
    a = corners[0]
    n = unit(cross(subtract(corners[1], a), subtract(corners[2], a)))
    is_near = dot(n, subtract(look_down(g, hulls, work, n), a)) - g.radius <= reach
    if is_near:
        for k in range(set_lowest(g, hulls, work, n)):
            q = corner(work.polygon_b, k)
            height = dot(n, subtract(q, a))
            depth = g.radius - height
            if depth >= -reach and _is_over(f, hulls, i, j, upper, corners, n, q, height, size):
                x = sum_scaled(q, n, -g.radius)
                if _is_in(f, hulls, x, depth, size) and _came_this_way(f, g, hulls, work, x, n, depth, 1.0, size):
                    add_touch(work, sum_scaled(q, n, -0.5 * (height + g.radius)), n, depth, size)
    for e in range(3):
        p, q = corners[e], corners[(e + 1) % 3]
        is_convex, is_border, beyond = _other_side(f, hulls, i, j, upper, e, p, q, n)
        if not is_convex:
            continue
        first = work.num_touches
        if is_near and set_lowest(g, hulls, work, n) >= 2:
            cut_edge(g, work, p, q, n, reach, size)
            _drop_others(f, g, hulls, work, first, 1.0, size)
        is_own = is_border or (e == (2 if upper == 1 else 0)) or (upper == 0 and e == 2)
        if is_own:
            first = work.num_touches
            is_found, normal, x = touch_edge(g, hulls, work, p, q, n, beyond, reach, size)
            if is_found:
                add_edge(g, hulls, work, p, q, normal, x, reach, size)
                _drop_others(f, g, hulls, work, first, min(dot(normal, n), dot(normal, beyond)), size)


@device
def _is_over(
    f: Shape,
    hulls: Hulls,
    i: int,
    j: int,
    upper: int,
    corners: tuple[Vector3, Vector3, Vector3],
    n: Vector3,
    q: Vector3,
    height: float,
    size: float,
) -> bool:
    """Whether the foot of a point of a core, so high above the plane of a triangle, is in the triangle.

    Beyond concave edges the face goes on under the other one, for corners that are below both.
    """
    foot = sum_scaled(q, n, -height)
    for e in range(3):
        p, q = corners[e], corners[(e + 1) % 3]
        edge = subtract(q, p)
        outside = -dot(cross(n, edge), subtract(foot, p)) / norm(edge)
        if outside > _EDGE * size:
            if not height < 0.0 or outside > 0.5 * size:
                return False
            is_convex, _, beyond = _other_side(f, hulls, i, j, upper, e, p, q, n)
            if is_convex or dot(cross(n, beyond), edge) > -SHARP * norm(edge):
                return False
    return True


@device
def _is_in(f: Shape, hulls: Hulls, x: Vector3, depth: float, size: float) -> bool:
    """Whether a point that is so deep below a plane is in the solid."""
    return depth <= _PRESSED * size or x[2] <= _height_at(f, hulls, x[0], x[1]) + _PRESSED * size


@device
def _came_this_way(
    f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, x: Vector3, n: Vector3, depth: float, share: float, size: float
) -> bool:
    """Whether no face is much nearer to a point of G in the solid than the depth, that G may have come in through."""
    limit = _NEARER * depth * share
    if limit <= _PRESSED * size:
        return True
    row, column = _row(f, x[1]), _column(f, x[0])
    i0, i1 = max(_row(f, x[1] - limit), row - _MOST_CELLS), min(_row(f, x[1] + limit), row + _MOST_CELLS)
    j0, j1 = max(_column(f, x[0] - limit), column - _MOST_CELLS), min(_column(f, x[0] + limit), column + _MOST_CELLS)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            for upper in range(2):
                a, b, c = _triangle(f, hulls, i, j, upper)
                away = subtract(nearest_on_triangle(a, b, c, x)[1], x)
                m = unit(cross(subtract(b, a), subtract(c, a)))
                if dot(away, away) < limit * limit and _is_lowest(g, hulls, work, x, m, n, limit):
                    return False
    for side in range(4):
        s, along = 1.0 if side < 2 else -1.0, side % 2
        gap = (f.half_0 - s * x[0]) if along == 0 else (f.half_1 - s * x[1])
        outward = (s, 0.0, 0.0) if along == 0 else (0.0, s, 0.0)
        if gap < limit and _is_lowest(g, hulls, work, x, outward, n, limit):
            return False
    return True


@device
def _is_lowest(g: Shape, hulls: Hulls, work: ShapeWork, x: Vector3, m: Vector3, n: Vector3, limit: float) -> bool:
    """Whether a point of G is among the lowest along m, another normal than n."""
    if dot(m, n) > 1.0 - SHARP:
        return False
    return dot(m, subtract(x, lowest_point(g, hulls, work, m))) + g.radius <= limit


@device
def _drop_others(
    f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, first: int, share: float, size: float
) -> None:
    """Drops touches of an edge, from the first one on, that G did not come in through."""
    kept = first
    for k in range(first, work.num_touches):
        p, n, depth = corner(work.touch_point, k), corner(work.touch_normal, k), work.touch_depth[k]
        x = sum_scaled(p, n, -0.5 * depth)
        if depth <= 0.0 or _came_this_way(f, g, hulls, work, x, n, depth, share, size):
            for c in range(3):
                work.touch_point[kept, c], work.touch_normal[kept, c] = p[c], n[c]
            work.touch_depth[kept] = depth
            kept += 1
    work.num_touches = kept


@device
def _touch_peak(
    f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, i: int, j: int, reach: float, size: float
) -> None:
    """The touch of a grid point, if it is a peak, equation (3) of touches.py."""
    v = _grid_point(f, hulls, i, j)
    X = work.X_FG
    around = g.bound + g.radius + max(reach, 0.0)
    middle = add(rotated(X, (g.center_0, g.center_1, g.center_2)), (X[9], X[10], X[11]))
    to_middle = subtract(middle, v)
    if dot(to_middle, to_middle) > around * around:
        return
    distance, n = distance_to_body(g, hulls, work, v)
    depth = g.radius - distance
    if depth < -reach:
        return
    for k in range(6):
        row = i + (0 if k == 0 or k == 3 else 1 if k == 1 or k == 2 else -1)
        column = j + (0 if k == 2 or k == 5 else 1 if k == 0 or k == 1 else -1)
        side = (0.0, 0.0, -1.0)
        if 0 <= row < f.num_faces and 0 <= column < f.num_edges:
            side = subtract(_grid_point(f, hulls, row, column), v)
        if dot(n, side) >= -SHARP * norm(side):
            return
    add_touch(work, sum_scaled(v, n, -0.5 * depth), n, depth, size)


@device
def _touch_side(
    f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, n: Vector3, offset: float, reach: float, size: float
) -> None:
    """Touches of an upright side, or of the bottom, with what is lowest of G along its normal."""
    if dot(n, look_down(g, hulls, work, n)) - offset - g.radius > reach:
        return
    for k in range(set_lowest(g, hulls, work, n)):
        q = corner(work.polygon_b, k)
        height = dot(n, q) - offset
        depth, foot = g.radius - height, sum_scaled(q, n, -height)
        is_in = f.size_2 <= foot[2] <= _height_at(f, hulls, foot[0], foot[1])
        x = sum_scaled(q, n, -g.radius)
        if depth >= -reach and is_in and _came_this_way(f, g, hulls, work, x, n, depth, 1.0, size):
            add_touch(work, sum_scaled(q, n, -0.5 * (height + g.radius)), n, depth, size)


@device
def _touch_box_edges(f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, reach: float, size: float) -> None:
    """Touches of the four upright edges, the four of the bottom, and its corners."""
    for k in range(4):
        x, y = (-1.0 if k == 0 or k == 3 else 1.0), (-1.0 if k < 2 else 1.0)
        right, front = (x, 0.0, 0.0), (0.0, y, 0.0)
        foot = (x * f.half_0, y * f.half_1, f.size_2)
        top = (foot[0], foot[1], _height_at(f, hulls, foot[0], foot[1]))
        along_x = k == 0 or k == 2  # each edge of the bottom once
        for e in range(2):
            p, q, other = foot, top, front
            if e == 1:
                other = (0.0, 0.0, -1.0)
                q = (-foot[0], foot[1], f.size_2) if along_x else (foot[0], -foot[1], f.size_2)
            side = front if e == 1 and along_x else right
            first = work.num_touches
            is_found, n, nearest = touch_edge(g, hulls, work, p, q, side, other, reach, size)
            if is_found:
                add_edge(g, hulls, work, p, q, n, nearest, reach, size)
                _drop_others(f, g, hulls, work, first, min(dot(n, side), dot(n, other)), size)
        distance, n = distance_to_body(g, hulls, work, foot)
        if g.radius - distance >= -reach and n[0] * x > SHARP and n[1] * y > SHARP and n[2] < -SHARP:
            add_touch(work, sum_scaled(foot, n, 0.5 * (distance - g.radius)), n, g.radius - distance, size)


# ---------------------------------------------------------------------- points


@device
def _nearest(f: Shape, hulls: Hulls, p: Vector3) -> tuple[Vector3, Vector3]:
    """The point of the surface of the solid that is nearest to P, and the normal there."""
    i0, j0 = _row(f, p[1]), _column(f, p[0])
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
                    a, b, c = _triangle(f, hulls, i, j, upper)
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
            q = (q[0], q[1], min(max(p[2], f.size_2), _height_at(f, hulls, q[0], q[1])))
        away = subtract(p, q)
        if dot(away, away) < least:
            least, found, normal = dot(away, away), q, outward
    return found, normal


@device
def _solve_point(f: Shape, hulls: Hulls, p: Vector3) -> tuple[float, Vector3, Vector3]:
    """The signed distance of a point, its gradient, and the nearest point of the surface."""
    found, n = _nearest(f, hulls, p)
    away = subtract(p, found)
    distance = norm(away)
    is_in = abs(p[0]) <= f.half_0 and abs(p[1]) <= f.half_1
    is_in = is_in and f.size_2 <= p[2] <= _height_at(f, hulls, p[0], p[1])
    if distance > 0.0:
        n = scaled(away, (-1.0 if is_in else 1.0) / distance)
    return (-distance if is_in else distance), n, found


# ---------------------------------------------------------------------- pairs


@device
def _set_body_pose(is_A: bool, work: ShapeWork) -> None:
    """Writes X_FG, the pose of the body in the frame of the field, which is A or B."""
    set_inverse_pose(work.X_AB, work.X_BA)
    for i in range(12):
        work.X_FG[i] = work.X_AB[i] if is_A else work.X_BA[i]


@device
def _to_A(is_A: bool, p: Vector3, work: ShapeWork) -> Vector3:
    X = work.X_AB
    return p if is_A else add(rotated(X, p), (X[9], X[10], X[11]))


@device
def _normal_to_A(is_A: bool, n: Vector3, work: ShapeWork) -> Vector3:
    """The normal from A to B, of one out of the field."""
    return n if is_A else negated(rotated(work.X_AB, n))


@shared(int)
def find_field_points(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, margin: float) -> int:
    """Writes the contact points of a height field and a body into `clipped`, `depth`, `share` and `field_normal`, in A.

    Args:
        a, b: the geometries, one of them a height field.
        hulls: vertices of hulls, and heights.
        work: X_AB is given.
        margin: points so far outside count, with negative depth [m].

    Returns:
        How many there are.
    """
    is_A = a.kind == HEIGHT_FIELD
    f, g = (a, b) if is_A else (b, a)
    _set_body_pose(is_A, work)
    X = _pose(work)
    _find_touches(f, g, hulls, work, margin + 2.0 * STEEP * g.bound)
    count = share_touches(g, work, margin)
    _restore_pose(work, X)
    for k in range(count):
        p, n = _to_A(is_A, corner(work.clipped, k), work), _normal_to_A(is_A, corner(work.field_normal, k), work)
        for c in range(3):
            work.clipped[k, c], work.field_normal[k, c] = p[c], n[c]
    return count


@shared(int)
def solve_height_field(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork) -> int:
    """Writes the solution for a height field and a body, or a point; returns a status. X_AB is given.

    Of a body that overlaps it is that of its deepest touch.
    """
    is_A = a.kind == HEIGHT_FIELD
    f, g = (a, b) if is_A else (b, a)
    _set_body_pose(is_A, work)
    X, status = _pose(work), SOLVED
    if g.kind == POINT:
        p = (work.X_FG[9], work.X_FG[10], work.X_FG[11])
        distance, n, on_field = _solve_point(f, hulls, p)
        on_body = p
    else:
        reach = g.bound + g.radius + f.size_0 + f.size_1
        middle = add(rotated(work.X_FG, (g.center_0, g.center_1, g.center_2)), p_of(work.X_FG))
        distance, n, on_field = _solve_point(f, hulls, middle)
        most = max(distance, 0.0) + 2.0 * (g.bound + g.radius)
        _find_touches(f, g, hulls, work, min(reach, most))
        while work.num_touches == 0 and reach < most:
            reach *= 4.0
            _find_touches(f, g, hulls, work, min(reach, most))
        if work.num_touches == 0:  # beside a lower corner: an upper bound, from the point nearest to the middle
            status = INEXACT
            distance, n = distance_to_body(g, hulls, work, on_field)
            on_body = sum_scaled(on_field, n, distance)
        else:
            best = 0
            for k in range(work.num_touches):
                if work.touch_depth[k] > work.touch_depth[best]:
                    best = k
            n, depth = corner(work.touch_normal, best), work.touch_depth[best]
            on_field = sum_scaled(corner(work.touch_point, best), n, 0.5 * depth)
            distance = g.radius - depth
            on_body = sum_scaled(on_field, n, distance)
    _restore_pose(work, X)
    p_A, q_A = _to_A(is_A, on_field, work), _to_A(is_A, on_body, work)
    if not is_A:
        p_A, q_A = q_A, p_A
    set_solution(work, _normal_to_A(is_A, n, work), -distance, p_A, q_A)
    return status


@inlined
def p_of(X: Any) -> Vector3:
    """The position in a pose."""
    return X[9], X[10], X[11]


@inlined
def _pose(work: ShapeWork) -> tuple[float, ...]:
    """X_AB as it is now."""
    X = work.X_AB
    return X[0], X[1], X[2], X[3], X[4], X[5], X[6], X[7], X[8], X[9], X[10], X[11]


@inlined
def _restore_pose(work: ShapeWork, X: tuple[float, ...]) -> None:
    for i in range(12):
        work.X_AB[i] = X[i]
