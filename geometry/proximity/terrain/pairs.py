"""Terrain F and a body G: all places at which they touch, their contact points, and the distance of both.

Only cells of a height field below the box around the body, and triangles of a mesh whose boxes meet it, are looked at,
so that the size of a terrain does not count.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.shared_code import shared
from merganser.geometry.proximity.layout import (
    HEIGHT_FIELD,
    INEXACT,
    POINT,
    SOLVED,
    TERRAIN,
    Hulls,
    Shape,
    ShapeWork,
)
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.search import set_inverse_pose
from merganser.geometry.proximity.shares import STEEP, corner
from merganser.geometry.proximity.terrain.grids import (
    column_of,
    grid_point,
    grid_side,
    grid_triangle,
    height_at,
    is_in_field,
    nearest_on_field,
    row_of,
)
from merganser.geometry.proximity.terrain.meshes import (
    END,
    FIRST,
    FIRST_VERTEX,
    SKIP,
    mesh_corner,
    mesh_normal,
    mesh_side,
    mesh_triangle,
    mesh_vertex,
    nearest_on_mesh,
)
from merganser.geometry.proximity.terrain.surfaces import (
    depth_by_way_out,
    fade_others,
    is_near_plane,
    look_at_peak,
    normal_below,
    touch_face,
)
from merganser.geometry.proximity.terrain.touches import (
    SHARP,
    add_edge,
    add_touch,
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

# ---------------------------------------------------------------------- touches


@device
def _find_touches(f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, reach: float) -> None:
    """Writes all touches of a body that are deeper than -reach into the work record."""
    work.num_touches, work.num_lowest = 0, -1
    for c in range(3):
        work.down[c] = 0.0
    around = g.radius + max(reach, 0.0)
    low = (
        lowest_point(g, hulls, work, (1.0, 0.0, 0.0))[0] - around,
        lowest_point(g, hulls, work, (0.0, 1.0, 0.0))[1] - around,
        lowest_point(g, hulls, work, (0.0, 0.0, 1.0))[2] - around,
    )
    high = (
        lowest_point(g, hulls, work, (-1.0, 0.0, 0.0))[0] + around,
        lowest_point(g, hulls, work, (0.0, -1.0, 0.0))[1] + around,
        lowest_point(g, hulls, work, (0.0, 0.0, -1.0))[2] + around,
    )
    if f.kind == HEIGHT_FIELD:
        _find_on_field(f, g, hulls, work, low, high, reach)
    else:
        _find_on_mesh(f, g, hulls, work, low, high, reach)


@device
def _find_on_mesh(f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, low: Vector3, high: Vector3, reach: float) -> None:
    """Looks at the triangles whose boxes meet that around the body, [low, high]."""
    node, end = f.first_node, f.first_node + int(hulls.nodes[f.first_node, SKIP])
    while node < end:
        box, is_apart = hulls.nodes[node], False
        for c in range(3):
            is_apart = is_apart or box[c] > high[c] or box[3 + c] < low[c]
        if is_apart:
            node = f.first_node + int(box[SKIP])
            continue
        for t in range(int(box[FIRST]), int(box[END])):
            corners, n = mesh_triangle(f, hulls, t), mesh_normal(f, hulls, t)
            a, b, c = corners
            if is_near_plane(g, hulls, work, a, n, reach):
                sides = (
                    mesh_side(f, hulls, t, 0, a, b, n),
                    mesh_side(f, hulls, t, 1, b, c, n),
                    mesh_side(f, hulls, t, 2, c, a, n),
                )
                touch_face(f, g, hulls, work, corners, n, sides, reach, f.size_0)
            marks = hulls.edges[f.first_edge + 3 * t, 1]
            for k in range(3):
                if marks & (FIRST_VERTEX << k):
                    _touch_vertex(f, g, hulls, work, mesh_corner(f, hulls, t, k), reach)
        node += 1


@device
def _touch_vertex(f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, v: int, reach: float) -> None:
    """The touch of a vertex of a mesh, if it is a peak."""
    p = mesh_vertex(f, hulls, v)
    is_near, depth, n = look_at_peak(g, hulls, work, p, reach)
    if not is_near:
        return
    is_peak, axis = _is_peak_of_mesh(f, hulls, v, p, n)
    if not is_peak and depth > g.radius:
        n = normal_below(g, hulls, work, p, axis)
        is_peak, _ = _is_peak_of_mesh(f, hulls, v, p, n)
    if is_peak:
        add_touch(work, sum_scaled(p, n, -0.5 * depth), n, depth, f.size_0)


@device
def _is_peak_of_mesh(f: Shape, hulls: Hulls, v: int, p: Vector3, n: Vector3) -> tuple[bool, Vector3]:
    """Whether all edges from a vertex P go down along n, and the way out between them, of any length."""
    row, is_peak, axis = f.first_vertex + v, True, (0.0, 0.0, 0.0)
    for k in range(hulls.neighbor_start[row], hulls.neighbor_start[row + 1]):
        side = unit(subtract(mesh_vertex(f, hulls, hulls.neighbors[k]), p))
        is_peak, axis = is_peak and dot(n, side) < -SHARP, subtract(axis, side)
    return is_peak, axis


@device
def _find_on_field(
    f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, low: Vector3, high: Vector3, reach: float
) -> None:
    """Looks at the cells below the box around the body, [low, high], at the sides and at the bottom."""
    low_x, low_y, low_z = low
    high_x, high_y, _ = high
    if high_x < -f.half_0 or low_x > f.half_0 or high_y < -f.half_1 or low_y > f.half_1:
        return
    i0, i1, j0, j1 = row_of(f, low_y), row_of(f, high_y), column_of(f, low_x), column_of(f, high_x)
    size = min(f.size_0, f.size_1)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            a, b = grid_point(f, hulls, i, j)[2], grid_point(f, hulls, i, j + 1)[2]
            c, d = grid_point(f, hulls, i + 1, j + 1)[2], grid_point(f, hulls, i + 1, j)[2]
            if max(max(a, b), max(c, d)) >= low_z:
                for upper in range(2):
                    _touch_triangle(f, g, hulls, work, i, j, upper, reach, size)
    for i in range(i0, i1 + 2):
        for j in range(j0, j1 + 2):
            if grid_point(f, hulls, i, j)[2] >= low_z:
                _touch_grid_point(f, g, hulls, work, i, j, reach, size)
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
    """Touches of a triangle of a height field and of its edges."""
    corners = grid_triangle(f, hulls, i, j, upper)
    a, b, c = corners
    n = unit(cross(subtract(b, a), subtract(c, a)))
    if not is_near_plane(g, hulls, work, a, n, reach):
        return
    sides = (
        grid_side(f, hulls, i, j, upper, 0, a, b, n),
        grid_side(f, hulls, i, j, upper, 1, b, c, n),
        grid_side(f, hulls, i, j, upper, 2, c, a, n),
    )
    touch_face(f, g, hulls, work, corners, n, sides, reach, size)


@device
def _touch_grid_point(
    f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, i: int, j: int, reach: float, size: float
) -> None:
    """The touch of a point of the grid, if it is a peak."""
    v = grid_point(f, hulls, i, j)
    is_near, depth, n = look_at_peak(g, hulls, work, v, reach)
    if not is_near:
        return
    is_peak, axis = _is_peak_of_field(f, hulls, i, j, v, n)
    if not is_peak and depth > g.radius:
        n = normal_below(g, hulls, work, v, axis)
        is_peak, _ = _is_peak_of_field(f, hulls, i, j, v, n)
    if is_peak:
        add_touch(work, sum_scaled(v, n, -0.5 * depth), n, depth, size)


@device
def _is_peak_of_field(f: Shape, hulls: Hulls, i: int, j: int, v: Vector3, n: Vector3) -> tuple[bool, Vector3]:
    """Whether all edges from a point V go down along n, and the way out between them, of any length."""
    is_peak, axis = True, (0.0, 0.0, 0.0)
    for k in range(6):
        row = i + (0 if k == 0 or k == 3 else 1 if k == 1 or k == 2 else -1)
        column = j + (0 if k == 2 or k == 5 else 1 if k == 0 or k == 1 else -1)
        side = (0.0, 0.0, -1.0)
        if 0 <= row < f.num_faces and 0 <= column < f.num_edges:
            side = unit(subtract(grid_point(f, hulls, row, column), v))
        is_peak, axis = is_peak and dot(n, side) < -SHARP, subtract(axis, side)
    return is_peak, axis


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
        is_in = f.size_2 <= foot[2] <= height_at(f, hulls, foot[0], foot[1])
        x = sum_scaled(q, n, -g.radius)
        if depth >= -reach and is_in:
            depth = depth_by_way_out(f, g, hulls, work, x, n, depth, 1.0, size, False)
            if depth >= -reach:
                add_touch(work, sum_scaled(x, n, 0.5 * depth), n, depth, size)


@device
def _touch_box_edges(f: Shape, g: Shape, hulls: Hulls, work: ShapeWork, reach: float, size: float) -> None:
    """Touches of the four upright edges, the four of the bottom, and its corners."""
    for k in range(4):
        x, y = (-1.0 if k == 0 or k == 3 else 1.0), (-1.0 if k < 2 else 1.0)
        right, front = (x, 0.0, 0.0), (0.0, y, 0.0)
        foot = (x * f.half_0, y * f.half_1, f.size_2)
        top = (foot[0], foot[1], height_at(f, hulls, foot[0], foot[1]))
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
                fade_others(f, g, hulls, work, first, min(dot(n, side), dot(n, other)), size)
        distance, n = distance_to_body(g, hulls, work, foot)
        if g.radius - distance >= -reach and n[0] * x > SHARP and n[1] * y > SHARP and n[2] < -SHARP:
            add_touch(work, sum_scaled(foot, n, 0.5 * (distance - g.radius)), n, g.radius - distance, size)


@device
def _solve_point(f: Shape, hulls: Hulls, p: Vector3) -> tuple[float, Vector3, Vector3]:
    """The signed distance of a point, its gradient, and the nearest point of the surface."""
    if f.kind == HEIGHT_FIELD:
        found, n = nearest_on_field(f, hulls, p)
        is_in = abs(p[0]) <= f.half_0 and abs(p[1]) <= f.half_1 and is_in_field(f, hulls, p, 0.0)
    else:
        found, n = nearest_on_mesh(f, hulls, p)
        is_in = dot(subtract(p, found), n) < 0.0
    away = subtract(p, found)
    distance = norm(away)
    if distance > 0.0:
        n = scaled(away, (-1.0 if is_in else 1.0) / distance)
    return (-distance if is_in else distance), n, found


# ---------------------------------------------------------------------- pairs


@device
def _set_body_pose(is_A: bool, work: ShapeWork) -> None:
    """Writes X_FG, the pose of the body in the frame of the terrain, which is A or B."""
    set_inverse_pose(work.X_AB, work.X_BA)
    for i in range(12):
        work.X_FG[i] = work.X_AB[i] if is_A else work.X_BA[i]


@device
def _to_A(is_A: bool, p: Vector3, work: ShapeWork) -> Vector3:
    X = work.X_AB
    return p if is_A else add(rotated(X, p), (X[9], X[10], X[11]))


@device
def _normal_to_A(is_A: bool, n: Vector3, work: ShapeWork) -> Vector3:
    """The normal from A to B, of one out of the terrain."""
    return n if is_A else negated(rotated(work.X_AB, n))


@shared(int, TERRAIN)
def find_terrain_points(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, margin: float) -> int:
    """Writes the contact points of a terrain and a body into `clipped`, `depth`, `share` and `field_normal`, in A.

    Args:
        a, b: the geometries, one of them a height field or a mesh.
        hulls: vertices of hulls, heights and nodes.
        work: X_AB is given.
        margin: points so far outside count, with negative depth [m].

    Returns:
        How many there are.
    """
    is_A = a.kind >= HEIGHT_FIELD
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


@shared(int, TERRAIN)
def solve_terrain(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork) -> int:
    """Writes the solution for a terrain and a body, or a point; returns a status. X_AB is given.

    Of a body that overlaps it is that of its deepest touch.
    """
    is_A = a.kind >= HEIGHT_FIELD
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
