"""Distance of polytopes: points, segments, boxes and hulls, at least one of them a hull.

A simplex of vertices of A - B creeps towards the origin: the point v of it that is nearest to the origin tells in which
direction to look for the next vertex, and vertices that v does not need are dropped (Gilbert, Johnson, Keerthi 1988, A
fast procedure for computing the distance between complex objects; the regions of a triangle after Ericson 2005,
Real-Time Collision Detection, sec. 5.1.5). There are finitely many vertices, so that it ends at the very solution.
"""

from __future__ import annotations

import math

from numba import types

from merganser.framework.native import device
from merganser.geometry.proximity.expanding_polytope import deepest
from merganser.geometry.proximity.layout import SOLVED, UNSOLVED, Hulls
from merganser.geometry.proximity.refine import set_solution
from merganser.geometry.proximity.shared_code import shared
from merganser.geometry.proximity.supports import piece_point, support_of_pair
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    add,
    cross,
    dot,
    norm,
    rotated,
    scaled,
    subtract,
    sum_scaled,
)

__all__ = ["solve_polytopes"]

_MAX_STEPS = 60
_GAP = 1e-15  # of the size: by how much a vertex must be nearer than the simplex to be of use
_NEAR = 1e-7  # of the size: below this distance the direction of v is uncertain


@shared(types.int64, (0.0, 0.0, 1.0))
def solve_polytopes(a: Array, b: Array, hulls: Hulls, work: Array, start: Vector3) -> int:
    """Writes the solution for two polytopes; returns a status, UNSOLVED if they nearly touch.

    Args:
        a: geometry A.
        b: geometry B.
        hulls: vertices of hulls.
        work: X_AB is given.
        start: unit vector in A, about from A to B.
    """
    status, num_vertices = _solve_apart(a, b, hulls, work, start)
    if status == UNSOLVED and num_vertices == 4:
        return int(deepest(a, b, hulls, work, 4))
    return status


@device
def _solve_apart(a: Array, b: Array, hulls: Hulls, work: Array, start: Vector3) -> tuple[int, int]:
    """Writes the solution for two polytopes, if they are apart.

    Returns:
        SOLVED; or UNSOLVED, and how many vertices of the polytope in `work` are a tetrahedron around the origin: 4, or
        0 if there is none.
    """
    size = a.bound + b.bound
    X_AB = work.X_AB
    count = 0
    n = start
    v = (0.0, 0.0, 0.0)
    distance = math.inf
    l0, l1, l2 = 1.0, 0.0, 0.0
    is_solved = False
    for _ in range(_MAX_STEPS):
        piece_a, piece_b, p_A, p_B = support_of_pair(a, b, hulls, X_AB, n)
        w = subtract(p_A, p_B)
        # h(n) = -(distance of v) at the solution.
        is_solved = count > 0 and distance + dot(n, w) <= _GAP * size
        for k in range(count):
            if work.vertex_piece_a[k] == piece_a and work.vertex_piece_b[k] == piece_b:
                is_solved = True
        if is_solved:
            break
        work.vertex_piece_a[count], work.vertex_piece_b[count] = piece_a, piece_b
        _set_vertex(work, count, w)
        count += 1
        if count == 1:
            v = w
        elif count == 2:
            v, l0, l1, l2 = _nearest_of_segment(_vertex(work, 0), w)
        elif count == 3:
            v, l0, l1, l2 = _nearest_of_triangle(_vertex(work, 0), _vertex(work, 1), w)
        else:
            face = _nearest_face(work)
            if face < 0:
                return UNSOLVED, 4
            _drop(work, face)  # one of the first three: the newest stays
            v, l0, l1, l2 = _nearest_of_triangle(_vertex(work, 0), _vertex(work, 1), w)
            count = 3
        count, l0, l1, l2 = _drop_unneeded(work, count, l0, l1, l2)
        distance = norm(v)
        if distance <= _NEAR * size:
            return UNSOLVED, 0
        n = scaled(v, -1.0 / distance)
    if not is_solved:
        return UNSOLVED, 0
    p_A, p_B = _witness(a, b, hulls, work, 0, l0)
    if count > 1:
        q_A, q_B = _witness(a, b, hulls, work, 1, l1)
        p_A, p_B = add(p_A, q_A), add(p_B, q_B)
    if count > 2:
        q_A, q_B = _witness(a, b, hulls, work, 2, l2)
        p_A, p_B = add(p_A, q_A), add(p_B, q_B)
    set_solution(work, n, -distance, p_A, add(rotated(X_AB, p_B), (X_AB[9], X_AB[10], X_AB[11])))
    return SOLVED, 0


@device
def _witness(a: Array, b: Array, hulls: Hulls, work: Array, k: int, weight: float) -> tuple[Vector3, Vector3]:
    """The share of vertex k of the simplex in the nearest points, each in its own frame."""
    d = (0.0, 0.0, 1.0)  # vertices do not depend on the direction
    p_A = piece_point(a, hulls, work.vertex_piece_a[k], d)
    p_B = piece_point(b, hulls, work.vertex_piece_b[k], d)
    return scaled(p_A, weight), scaled(p_B, weight)


@device
def _vertex(work: Array, k: int) -> Vector3:
    return work.vertex[k, 0], work.vertex[k, 1], work.vertex[k, 2]


@device
def _set_vertex(work: Array, k: int, w: Vector3) -> None:
    work.vertex[k, 0], work.vertex[k, 1], work.vertex[k, 2] = w[0], w[1], w[2]


@device
def _drop(work: Array, k: int) -> None:
    """Drops one of the first three vertices of a tetrahedron; the fourth becomes the third."""
    for i in range(k, 3):
        _set_vertex(work, i, _vertex(work, i + 1))
        work.vertex_piece_a[i], work.vertex_piece_b[i] = work.vertex_piece_a[i + 1], work.vertex_piece_b[i + 1]


@device
def _drop_unneeded(work: Array, count: int, l0: float, l1: float, l2: float) -> tuple[int, float, float, float]:
    """Drops vertices without weight."""
    kept = 0
    m0, m1, m2 = 0.0, 0.0, 0.0
    for k in range(count):
        weight = l0 if k == 0 else (l1 if k == 1 else l2)
        if weight <= 0.0:
            continue
        if kept < k:
            _set_vertex(work, kept, _vertex(work, k))
            work.vertex_piece_a[kept], work.vertex_piece_b[kept] = work.vertex_piece_a[k], work.vertex_piece_b[k]
        if kept == 0:
            m0 = weight
        elif kept == 1:
            m1 = weight
        else:
            m2 = weight
        kept += 1
    return kept, m0, m1, m2


@device
def _nearest_of_segment(a: Vector3, b: Vector3) -> tuple[Vector3, float, float, float]:
    """The point of a segment that is nearest to the origin, and the weights of its ends."""
    ab = subtract(b, a)
    along, square = -dot(a, ab), dot(ab, ab)
    if along <= 0.0:
        return a, 1.0, 0.0, 0.0
    if along >= square:
        return b, 0.0, 1.0, 0.0
    t = along / square
    return sum_scaled(a, ab, t), 1.0 - t, t, 0.0


@device
def _nearest_of_triangle(a: Vector3, b: Vector3, c: Vector3) -> tuple[Vector3, float, float, float]:
    """The point of a triangle that is nearest to the origin, and the weights of its corners."""
    ab, ac = subtract(b, a), subtract(c, a)
    d1, d2 = -dot(ab, a), -dot(ac, a)
    d3, d4 = -dot(ab, b), -dot(ac, b)
    d5, d6 = -dot(ab, c), -dot(ac, c)
    if d1 <= 0.0 and d2 <= 0.0:
        return a, 1.0, 0.0, 0.0
    if d3 >= 0.0 and d4 <= d3:
        return b, 0.0, 1.0, 0.0
    if d6 >= 0.0 and d5 <= d6:
        return c, 0.0, 0.0, 1.0
    n = cross(ab, ac)
    # Areas of the triangles that the origin's projection makes with the sides.
    on_a, on_b, on_c = dot(n, cross(b, c)), dot(n, cross(c, a)), dot(n, cross(a, b))
    if on_c <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        return sum_scaled(a, ab, t), 1.0 - t, t, 0.0
    if on_b <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return sum_scaled(a, ac, t), 1.0 - t, 0.0, t
    if on_a <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return sum_scaled(b, subtract(c, b), t), 0.0, 1.0 - t, t
    square = dot(n, n)
    return scaled(n, dot(n, a) / square), on_a / square, on_b / square, on_c / square


@device
def _nearest_face(work: Array) -> int:
    """Of a tetrahedron, the corner among the first three to leave out for the face nearest to the origin.

    Only faces with the newest corner are looked at; -1 if the origin is within the tetrahedron.
    """
    d = _vertex(work, 3)
    faces, last = 0, -1
    for k in range(3):
        n = cross(subtract(_vertex(work, (k + 1) % 3), d), subtract(_vertex(work, (k + 2) % 3), d))
        # Unless the origin is on the side of the corner left out.
        if dot(n, d) * dot(n, subtract(_vertex(work, k), d)) >= 0.0:
            faces, last = faces | 1 << k, k
    if faces == 0 or faces == 1 << last:
        return last
    best, least = -1, math.inf
    for k in range(3):
        if faces >> k & 1:
            v, _, _, _ = _nearest_of_triangle(_vertex(work, (k + 1) % 3), _vertex(work, (k + 2) % 3), d)
            square = dot(v, v)
            if square < least:
                best, least = k, square
    return best
