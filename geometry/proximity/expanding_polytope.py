"""The least of the minima of h where two shapes overlap: an expanding polytope inside A - B.

A polytope of support points of A - B is expanded, always at the face nearest to the origin, whose distance bounds the
depth from below, while h at any direction bounds it from above (van den Bergen 2001, Proximity queries and penetration
depth computation on 3D game objects). With flat sides only, both bounds meet after a few steps. With curved ones the
polytope finds the neighborhoods of the minima, refine.py the minima themselves; a face in the neighborhood of a known
minimum needs no more care.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.geometry.proximity.flat_features import try_faces
from merganser.geometry.proximity.layout import (
    FROZEN,
    INEXACT,
    MAX_FACES,
    MAX_MINIMA,
    MAX_VERTICES,
    SOLVED,
    Hulls,
)
from merganser.geometry.proximity.refine import refine
from merganser.geometry.proximity.supports import is_curved, support_of_pair
from merganser.geometry.proximity.vectors import (
    Array,
    Vector3,
    cross,
    dot,
    negated,
    norm,
    scaled,
    subtract,
    tangents,
    unit,
)

__all__ = ["deepest"]

_TOLERANCE = 1e-13  # of the size of the shapes
_NEIGHBORHOOD = 0.98  # cosine of the angle to a known minimum


@device
def deepest(a: Array, b: Array, hulls: Hulls, work: Array) -> int:
    """Finds the least h, given a local minimum of it as the solution in `work`.

    Returns:
        SOLVED, or INEXACT if the polytope grew too large.
    """
    size = a.bound + b.bound
    tolerance = _TOLERANCE * size
    curved = is_curved(a) or is_curved(b)
    X_AB = work.X_AB
    num_minima = 1
    _note_minimum(work, 0, (work.normal[0], work.normal[1], work.normal[2]))
    n = (work.normal[0], work.normal[1], work.normal[2])
    if curved:
        try_faces(a, b, hulls, work, size)
    best = work.value
    num_vertices, num_faces = _start(a, b, hulls, work, n)
    num_free = 0
    while True:
        nearest = -1
        for f in range(num_faces):
            if work.face_vertex[f, 0] >= 0 and (nearest < 0 or work.face_key[f] < work.face_key[nearest]):
                nearest = f
        if nearest < 0 or work.face_key[nearest] >= best - tolerance:
            return SOLVED
        n = (work.face_plane[nearest, 0], work.face_plane[nearest, 1], work.face_plane[nearest, 2])
        distance = work.face_plane[nearest, 3]
        piece_a, piece_b, p_A, p_B = support_of_pair(a, b, hulls, X_AB, n)
        w = subtract(p_A, p_B)
        value = dot(n, w)
        gap = value - distance
        is_side = gap <= 10.0 * tolerance  # of A - B itself
        is_lower = value < best - (0.0 if is_side else tolerance)
        if (
            value < 0.0
            or (is_side and is_lower)
            or (curved and not is_side and (is_lower or _is_unexplored(work, num_minima, n, value, best)))
        ):
            n_minimum = _refine_further(a, b, hulls, work, n)
            best = min(best, work.value)
            if best < 0.0:
                return SOLVED
            if curved and not is_side and num_minima < MAX_MINIMA:
                _note_minimum(work, num_minima, n_minimum)
                num_minima += 1
        if is_side:
            work.face_key[nearest] = math.inf
            continue
        is_small = gap < 0.01 * best + 1e-5 * size and value >= best - tolerance
        if curved and is_small and _is_in_neighborhood(work, nearest, num_minima, n):
            work.face_key[nearest] = math.inf
            continue
        if num_vertices == MAX_VERTICES:
            return INEXACT
        for i in range(3):
            work.vertex[num_vertices, i] = w[i]
        work.vertex_piece_a[num_vertices], work.vertex_piece_b[num_vertices] = piece_a, piece_b
        num_faces, num_free, is_new = _expand(work, num_vertices, num_faces, num_free, 0.1 * tolerance)
        num_vertices += 1
        if num_faces < 0:
            return INEXACT
        if not is_new:
            work.face_key[nearest] = math.inf


@device
def _note_minimum(work: Array, k: int, n: Vector3) -> None:
    """Keeps the normal of a local minimum, and the pieces that balance there."""
    for i in range(3):
        work.minimum[k, i] = n[i]
    count = 0
    for j in range(work.bundle):
        if work.weight[j] > 0.0:
            work.minimum_piece_a[k, count] = work.piece_a[j]
            work.minimum_piece_b[k, count] = work.piece_b[j]
            count += 1
    work.minimum_count[k] = count


@device
def _is_unexplored(work: Array, num_minima: int, n: Vector3, value: float, best: float) -> bool:
    """Whether a direction is promising, and far from all known minima."""
    if num_minima == MAX_MINIMA or value > 1.3 * best:
        return False
    for k in range(num_minima):
        if work.minimum[k, 0] * n[0] + work.minimum[k, 1] * n[1] + work.minimum[k, 2] * n[2] > _NEIGHBORHOOD:
            return False
    return True


@device
def _is_in_neighborhood(work: Array, f: int, num_minima: int, n: Vector3) -> bool:
    """Whether a face with normal n is near a known minimum, and of the same pieces, so that there is no other."""
    for k in range(num_minima):
        if work.minimum[k, 0] * n[0] + work.minimum[k, 1] * n[1] + work.minimum[k, 2] * n[2] < _NEIGHBORHOOD:
            continue
        num_known = 0
        for c in range(3):
            vertex = work.face_vertex[f, c]
            for j in range(work.minimum_count[k]):
                piece_a, piece_b = work.minimum_piece_a[k, j], work.minimum_piece_b[k, j]
                same_a = piece_a == FROZEN or piece_a == work.vertex_piece_a[vertex]
                same_b = piece_b == FROZEN or piece_b == work.vertex_piece_b[vertex]
                if same_a and same_b:
                    num_known += 1
                    break
        if num_known == 3:
            return True
    return False


@device
def _refine_further(a: Array, b: Array, hulls: Hulls, work: Array, start: Vector3) -> Vector3:
    """Goes down from another direction, keeps the better solution, and returns the minimum to which this led."""
    kept = _solution(work)
    refine(a, b, hulls, work, start)
    n = (work.normal[0], work.normal[1], work.normal[2])
    if work.value >= kept[0]:
        _restore(work, kept)
    return n


@device
def _solution(work: Array) -> tuple[float, Vector3, Vector3, Vector3]:
    return (
        work.value,
        (work.normal[0], work.normal[1], work.normal[2]),
        (work.p_ACa[0], work.p_ACa[1], work.p_ACa[2]),
        (work.p_ACb[0], work.p_ACb[1], work.p_ACb[2]),
    )


@device
def _restore(work: Array, solution: tuple[float, Vector3, Vector3, Vector3]) -> None:
    value, n, p_A, p_B = solution
    work.value = value
    for i in range(3):
        work.normal[i], work.p_ACa[i], work.p_ACb[i] = n[i], p_A[i], p_B[i]


@device
def _vertex(work: Array, i: int) -> Vector3:
    return work.vertex[i, 0], work.vertex[i, 1], work.vertex[i, 2]


@device
def _start(a: Array, b: Array, hulls: Hulls, work: Array, n: Vector3) -> tuple[int, int]:
    """Makes a tetrahedron of support points; returns the numbers of vertices and of faces."""
    _add_support(a, b, hulls, work, 0, n)
    _add_support(a, b, hulls, work, 1, negated(n))
    line = unit(subtract(_vertex(work, 1), _vertex(work, 0)))
    e1, e2 = tangents(line)
    _add_farthest(a, b, hulls, work, 2, line, e1, e2)
    normal = unit(cross(subtract(_vertex(work, 1), _vertex(work, 0)), subtract(_vertex(work, 2), _vertex(work, 0))))
    _add_farthest(a, b, hulls, work, 3, normal, normal, normal)
    up = dot(normal, subtract(_vertex(work, 3), _vertex(work, 0))) > 0.0
    i, j = (1, 2) if up else (2, 1)
    _set_face(work, 0, 0, j, i)
    _set_face(work, 1, 0, i, 3)
    _set_face(work, 2, i, j, 3)
    _set_face(work, 3, j, 0, 3)
    return 4, 4


@device
def _add_support(a: Array, b: Array, hulls: Hulls, work: Array, k: int, n: Vector3) -> None:
    piece_a, piece_b, p_A, p_B = support_of_pair(a, b, hulls, work.X_AB, n)
    work.vertex_piece_a[k], work.vertex_piece_b[k] = piece_a, piece_b
    for i in range(3):
        work.vertex[k, i] = p_A[i] - p_B[i]


@device
def _add_farthest(
    a: Array, b: Array, hulls: Hulls, work: Array, k: int, line: Vector3, e1: Vector3, e2: Vector3
) -> None:
    """Adds the one of four support points that is farthest from a line (k = 2) or from a plane (k = 3)."""
    origin = _vertex(work, 0)
    farthest, chosen = -1.0, e1
    for t in range(4):
        d = e1 if t < 2 else e2
        if t & 1:
            d = negated(d)
        _add_support(a, b, hulls, work, k, d)
        v = subtract(_vertex(work, k), origin)
        distance = norm(cross(line, v)) if k == 2 else abs(dot(line, v))
        if distance > farthest:
            farthest, chosen = distance, d
    _add_support(a, b, hulls, work, k, chosen)


@device
def _set_face(work: Array, f: int, i: int, j: int, k: int) -> None:
    """Writes a face, counter-clockwise seen from outside; one without area gets no care."""
    x = _vertex(work, i)
    y, z = subtract(_vertex(work, j), x), subtract(_vertex(work, k), x)
    n = cross(y, z)
    length = norm(n)
    work.face_vertex[f, 0], work.face_vertex[f, 1], work.face_vertex[f, 2] = i, j, k
    if length <= 1e-14 * (dot(y, y) + dot(z, z)):
        work.face_plane[f, 0], work.face_plane[f, 1], work.face_plane[f, 2] = 0.0, 0.0, 0.0
        work.face_plane[f, 3] = 0.0
        work.face_key[f] = math.inf
        return
    n = scaled(n, 1.0 / length)
    # The mean of the three heights: each has its own rounding.
    height = (dot(n, x) + dot(n, _vertex(work, j)) + dot(n, _vertex(work, k))) / 3.0
    work.face_plane[f, 0], work.face_plane[f, 1], work.face_plane[f, 2] = n[0], n[1], n[2]
    work.face_plane[f, 3] = height
    work.face_key[f] = height


@device
def _expand(work: Array, new: int, num_faces: int, num_free: int, tolerance: float) -> tuple[int, int, bool]:
    """Replaces the faces that a new vertex sees.

    Returns:
        How many places for faces are used (negative: there are too few), how many of these are free, and whether the
        vertex saw any face.
    """
    w = _vertex(work, new)
    num_edges = 0
    for f in range(num_faces):
        if work.face_vertex[f, 0] < 0:
            continue
        n = (work.face_plane[f, 0], work.face_plane[f, 1], work.face_plane[f, 2])
        if dot(n, w) - work.face_plane[f, 3] <= tolerance:
            continue
        for c in range(3):
            i, j = work.face_vertex[f, c], work.face_vertex[f, (c + 1) % 3]
            inner = -1
            for e in range(num_edges):
                if work.horizon[e, 0] == j and work.horizon[e, 1] == i:
                    inner = e
            if inner >= 0:
                num_edges -= 1
                work.horizon[inner, 0] = work.horizon[num_edges, 0]
                work.horizon[inner, 1] = work.horizon[num_edges, 1]
            else:
                if num_edges == MAX_FACES:
                    return -1, num_free, False
                work.horizon[num_edges, 0], work.horizon[num_edges, 1] = i, j
                num_edges += 1
        work.face_vertex[f, 0] = -1
        work.free_face[num_free] = f
        num_free += 1
    for e in range(num_edges):
        if num_free > 0:
            num_free -= 1
            f = work.free_face[num_free]
        elif num_faces < MAX_FACES:
            f = num_faces
            num_faces += 1
        else:
            return -1, num_free, False
        _set_face(work, f, work.horizon[e, 0], work.horizon[e, 1], new)
    return num_faces, num_free, num_edges > 0
