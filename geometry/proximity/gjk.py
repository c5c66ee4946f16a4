"""Distance of polytopes: points, segments, boxes and hulls, at least one of them a hull.

A simplex of vertices of A - B creeps towards the origin: the point v of it that is nearest to the origin says in which
direction to look for the next vertex, and vertices that v does not need are dropped (Gilbert, Johnson, Keerthi 1988, A
fast procedure for computing the distance between complex objects; the regions of a triangle after Ericson 2005,
Real-Time Collision Detection, sec. 5.1.5). There are finitely many vertices, so that it ends at the very solution. The
first three lie around the line of centers: that none waits for another saves a tenth of the time.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.shared_code import shared
from merganser.geometry.proximity.expanding_polytope import deepest
from merganser.geometry.proximity.layout import SOLVED, UNSOLVED, Hulls, Shape, ShapeWork
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.supports import piece_vertex, support_of_pair
from merganser.geometry.proximity.vectors import Vector3, cross, dot, negated, scaled, subtract, sum_scaled, tangents

_MAX_STEPS = 60
_GAP = 1e-15  # of the size: by how much a vertex must be nearer than the simplex to be of use
_TILT = 1.0  # tangent of the angle between the first three directions and the start
_SIDE_TILT = _TILT * math.sqrt(0.75)
_FLAT = 1e-10  # squared area of a triangle, of the size, below which its normal is uncertain
_TINY = 1e-300
_NEAR = 1e-7  # of the size: below this distance the direction of v is uncertain

_CLOSE = 1e-9  # of the size and the distance: what is as close as that to a limit takes the exact distance

Pieces: TypeAlias = tuple[int, int]  # of A and of B
Simplex: TypeAlias = tuple[int, Vector3, Vector3, Vector3, Pieces, Pieces, Pieces]


@shared(int)
def solve_polytopes(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, start: tuple[float, float, float]) -> int:
    """Writes the solution for two polytopes; returns a status, UNSOLVED if they nearly touch.

    Args:
        a: geometry A.
        b: geometry B.
        hulls: vertices of hulls.
        work: X_AB is given.
        start: direction in A, about from A to B.
    """
    status, num_vertices = _solve_apart(a, b, hulls, work, start)
    if status == UNSOLVED and num_vertices == 4:
        return int(deepest(a, b, hulls, work, 4))
    return status


@device
def _solve_apart(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, start: Vector3) -> tuple[int, int]:
    """Writes the solution for two polytopes, if they are apart.

    Returns:
        SOLVED; or UNSOLVED, and how many vertices of the polytope in `work` are a tetrahedron around the origin: 4, or
        0 if unknown.
    """
    size = a.bound + b.bound
    least_gap, least_square = (_GAP * size) ** 2, (_NEAR * size) ** 2
    # Vertices x, y, z of the simplex, the oldest first, and the pieces that they are of.
    v, count, x, y, z, of_x, of_y, of_z = _first_simplex(a, b, hulls, work, start, _FLAT * size**4)
    square = dot(v, v)
    if square <= least_square:
        return UNSOLVED, 0
    is_solved = False
    for _ in range(_MAX_STEPS):
        w, of_w = _vertex_along(a, b, hulls, work, negated(v))
        # h(n) = -(distance of v) at the solution.
        gap = square - dot(v, w)
        is_known = (
            _are_same(of_x, of_w) or (count > 1 and _are_same(of_y, of_w)) or (count > 2 and _are_same(of_z, of_w))
        )
        if is_known or gap <= 0.0 or gap * gap <= least_gap * square:
            is_solved = True
            break
        is_around, v, simplex = _next_simplex(v, (count, x, y, z, of_x, of_y, of_z), w, of_w)
        count, x, y, z, of_x, of_y, of_z = simplex
        if is_around:
            _put_vertex(work, 0, x, of_x)
            _put_vertex(work, 1, y, of_y)
            _put_vertex(work, 2, z, of_z)
            _put_vertex(work, 3, w, of_w)
            return UNSOLVED, 4
        square = dot(v, v)
        if square <= least_square:
            return UNSOLVED, 0
    if not is_solved:
        return UNSOLVED, 0
    l_x, l_y, l_z = 1.0, 0.0, 0.0
    if count == 2:
        l_x, l_y = _weights_of_segment(x, y)
    elif count == 3:
        l_x, l_y, l_z = _weights_of_triangle(x, y, z)
    p_A = scaled(piece_vertex(a, hulls, of_x[0]), l_x)
    if count > 1:
        p_A = sum_scaled(p_A, piece_vertex(a, hulls, of_y[0]), l_y)
    if count > 2:
        p_A = sum_scaled(p_A, piece_vertex(a, hulls, of_z[0]), l_z)
    distance = math.sqrt(square)
    set_solution(work, scaled(v, -1.0 / distance), -distance, p_A, subtract(p_A, v))
    return SOLVED, 0


@device
def are_near(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, start: Vector3, reach: float) -> int:
    """Whether two cores of any kind are at most `reach` >= 0 apart: 1, 0, or UNSOLVED if that is too close to call.

    Each point v of A - B says that the distance is at most |v|, and the point w of A - B that is the farthest against v
    that it is at least v . w / |v|. X_AB is given, and a direction `start` in A, about from A to B.
    """
    size = a.bound + b.bound
    near, far = (1.0 - _CLOSE) * reach - _CLOSE * size, (1.0 + _CLOSE) * reach + _CLOSE * size
    v, count, x, y, z, of_x, of_y, of_z = _first_simplex(a, b, hulls, work, start, _FLAT * size**4)
    for _ in range(_MAX_STEPS):
        distance = math.sqrt(dot(v, v))
        if distance < near:
            return 1
        w, of_w = _vertex_along(a, b, hulls, work, negated(v))
        least = dot(v, w)
        if least > far * distance:
            return 0
        if distance <= far or distance * distance - least <= _CLOSE * distance * distance:
            break
        is_around, v, simplex = _next_simplex(v, (count, x, y, z, of_x, of_y, of_z), w, of_w)
        count, x, y, z, of_x, of_y, of_z = simplex
        if is_around:
            return 1
    return UNSOLVED


@inlined
def _next_simplex(v: Vector3, simplex: Simplex, w: Vector3, of_w: Pieces) -> tuple[bool, Vector3, Simplex]:
    """What is left of a simplex with one more vertex w, and its point that is nearest to the origin.

    Returns:
        Whether it is a tetrahedron around the origin; then the rest is as it was.
    """
    count, x, y, z, of_x, of_y, of_z = simplex
    if count == 1:
        v, keeps = _nearest_of_segment(x, w)
        if keeps:
            y, of_y, count = w, of_w, 2
        else:
            x, of_x = w, of_w
        return False, v, (count, x, y, z, of_x, of_y, of_z)
    sides = 4 if count == 2 else _sides_before_origin(x, y, z, w)
    if sides == 0:
        return True, v, simplex
    square, left_out, keeps_x, keeps_y = math.inf, 2, False, False
    for k in range(3):
        if sides >> k & 1:
            u, keeps_first, keeps_second = _nearest_of_triangle(y if k == 0 else x, y if k == 2 else z, w)
            if dot(u, u) < square:
                v, square, left_out, keeps_x, keeps_y = u, dot(u, u), k, keeps_first, keeps_second
    if left_out == 0:
        x, of_x = y, of_y
    if left_out <= 1:
        y, of_y = z, of_z
    if keeps_x and keeps_y:
        z, of_z, count = w, of_w, 3
    elif keeps_x or keeps_y:
        if keeps_y:
            x, of_x = y, of_y
        y, of_y, count = w, of_w, 2
    else:
        x, of_x, count = w, of_w, 1
    return False, v, (count, x, y, z, of_x, of_y, of_z)


@inlined
def _are_same(of_x: Pieces, of_y: Pieces) -> bool:
    return of_x[0] == of_y[0] and of_x[1] == of_y[1]


@inlined
def _first_simplex(
    a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, start: Vector3, least_area: float
) -> tuple[Vector3, int, Vector3, Vector3, Vector3, Pieces, Pieces, Pieces]:
    """Vertices that lie around the start, three at most; none of them waits for another to be found.

    Returns:
        The point of the simplex that is nearest to the origin, the number of its vertices, and these with their pieces.
    """
    e1, e2 = tangents(start)
    x, of_x = _vertex_along(a, b, hulls, work, sum_scaled(start, e1, _TILT))
    beside = sum_scaled(start, e1, -0.5 * _TILT)
    y, of_y = _vertex_along(a, b, hulls, work, sum_scaled(beside, e2, _SIDE_TILT))
    z, of_z = _vertex_along(a, b, hulls, work, sum_scaled(beside, e2, -_SIDE_TILT))
    m = cross(subtract(x, z), subtract(y, z))
    square = dot(m, m)
    if square > least_area and dot(m, cross(y, z)) > 0.0 and dot(m, cross(z, x)) > 0.0 and dot(m, cross(x, y)) > 0.0:
        return scaled(m, dot(m, z) / square), 3, x, y, z, of_x, of_y, of_z
    v, left_out, keeps_x, keeps_y = _nearest_of_sides(x, y, z)
    if left_out == 0:
        x, of_x = y, of_y
    if left_out <= 1:
        y, of_y = z, of_z
    if not keeps_x:
        x, of_x = y, of_y
    return v, (2 if keeps_x and keeps_y else 1), x, y, z, of_x, of_y, of_z


@inlined
def _vertex_along(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, n: Vector3) -> tuple[Vector3, Pieces]:
    """The vertex of A - B that is the farthest along n, and what it is of."""
    piece_a, piece_b, p_A, p_B = support_of_pair(a, b, hulls, work.X_AB, n)
    return subtract(p_A, p_B), (piece_a, piece_b)


@inlined
def _nearest_of_sides(x: Vector3, y: Vector3, z: Vector3) -> tuple[Vector3, int, bool, bool]:
    """The point on the sides of a triangle, which may have no area, that is nearest to the origin.

    Returns:
        The point, the number of the corner that is not on its side, and whether it takes the first and the second of
        the two others.
    """
    nearest, square, left_out, keeps_first, keeps_second = x, math.inf, 0, False, False
    for k in range(3):
        first, second = (y if k == 0 else x), (y if k == 2 else z)
        side = subtract(first, second)
        t = min(max(-dot(second, side) / max(dot(side, side), _TINY), 0.0), 1.0)
        u = sum_scaled(second, side, t)
        if dot(u, u) < square:
            nearest, square, left_out, keeps_first, keeps_second = u, dot(u, u), k, t > 0.0, t < 1.0
    return nearest, left_out, keeps_first, keeps_second


@device
def _put_vertex(work: ShapeWork, k: int, w: Vector3, pieces: Pieces) -> None:
    """Writes vertex k of the expanding polytope."""
    work.vertex[k, 0], work.vertex[k, 1], work.vertex[k, 2] = w[0], w[1], w[2]
    work.vertex_piece_a[k], work.vertex_piece_b[k] = pieces[0], pieces[1]


@inlined
def _nearest_of_segment(x: Vector3, w: Vector3) -> tuple[Vector3, bool]:
    """The point of a segment that is nearest to the origin, and whether it takes x; w is nearer than x."""
    wx = subtract(x, w)
    along = -dot(w, wx)
    if along <= 0.0:
        return w, False
    return sum_scaled(w, wx, min(along / dot(wx, wx), 1.0)), True


@inlined
def _weights_of_segment(x: Vector3, y: Vector3) -> tuple[float, float]:
    """The weights of both ends in the point that is nearest to the origin."""
    yx = subtract(x, y)
    t = min(-dot(y, yx) / dot(yx, yx), 1.0)
    return t, 1.0 - t


@inlined
def _nearest_of_triangle(x: Vector3, y: Vector3, w: Vector3) -> tuple[Vector3, bool, bool]:
    """The point of a triangle that is nearest to the origin, and whether it takes x, and y.

    It takes w, which is nearer to the origin than the side of x and y.
    """
    wx, wy = subtract(x, w), subtract(y, w)
    n = cross(wx, wy)
    # Areas of the triangles that the origin's projection makes with w and x, and with w and y.
    on_y, on_x = dot(n, cross(w, x)), -dot(n, cross(w, y))
    if on_y > 0.0 and on_x > 0.0:
        return scaled(n, dot(n, w) / dot(n, n)), True, True
    along_x, along_y = -dot(w, wx), -dot(w, wy)
    if on_y <= 0.0 and along_x > 0.0:
        return sum_scaled(w, wx, min(along_x / dot(wx, wx), 1.0)), True, False
    if on_x <= 0.0 and along_y > 0.0:
        return sum_scaled(w, wy, min(along_y / dot(wy, wy), 1.0)), False, True
    return w, False, False


@inlined
def _weights_of_triangle(x: Vector3, y: Vector3, z: Vector3) -> tuple[float, float, float]:
    """The weights of the corners in the point of the plane that is nearest to the origin."""
    n = cross(subtract(x, z), subtract(y, z))
    inverse = 1.0 / dot(n, n)
    on_x, on_y = dot(n, cross(y, z)) * inverse, dot(n, cross(z, x)) * inverse
    return on_x, on_y, dot(n, cross(x, y)) * inverse


@inlined
def _sides_before_origin(x: Vector3, y: Vector3, z: Vector3, w: Vector3) -> int:
    """Bits 0, 1, 2 for the sides of a tetrahedron opposite x, y, z, if the origin is not on their inner side."""
    wx, wy, wz = subtract(x, w), subtract(y, w), subtract(z, w)
    across_x, across_y, across_z = cross(wy, wz), cross(wz, wx), cross(wx, wy)
    volume = dot(wx, across_x)
    sides = 1 if dot(w, across_x) * volume >= 0.0 else 0
    sides += 2 if dot(w, across_y) * volume >= 0.0 else 0
    sides += 4 if dot(w, across_z) * volume >= 0.0 else 0
    return sides
