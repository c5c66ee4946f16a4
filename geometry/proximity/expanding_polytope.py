"""The least of the minima of h where two shapes overlap: an expanding polytope inside A - B.

A polytope of support points of A - B is expanded, always at the face nearest to the origin, whose distance bounds the
depth from below, while h at any direction bounds it from above (van den Bergen 2001, Proximity queries and penetration
depth computation on 3D game objects). With flat sides only, both bounds meet after a few steps. With curved ones the
polytope finds the neighborhoods of the minima, refine.py the minima themselves; a face in the neighborhood of a known
minimum needs no more care.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.shared_code import shared
from merganser.geometry.proximity.features import try_faces
from merganser.geometry.proximity.layout import (
    CONE,
    ELLIPSOID,
    FROZEN,
    HULL,
    INEXACT,
    MAX_FACES,
    MAX_MINIMA,
    MAX_VERTICES,
    SOLVED,
    Hulls,
    Shape,
    ShapeWork,
)
from merganser.geometry.proximity.refine import refine, set_solution
from merganser.geometry.proximity.supports import is_curved, piece_point, support_of_pair
from merganser.geometry.proximity.vectors import (
    Vector3,
    cross,
    dot,
    negated,
    norm,
    scaled,
    subtract,
    sum_scaled,
    tangents,
    unit,
)

_TOLERANCE = 1e-13  # of the size of the shapes
_LEAST_GAIN = 1e-15  # of the size: by how much a minimum must be lower to take the place of another
_NEIGHBORHOOD = 0.98  # cosine of the angle to a known minimum
_BESIDE = -1e-7  # barycentric coordinate of what still counts as within a face


@shared(int)
def deepest(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, num_vertices: int) -> int:
    """Finds the least h.

    Args:
        a: geometry A.
        b: geometry B.
        hulls: vertices of hulls.
        work: has either a tetrahedron of vertices of A - B around the origin, or a local minimum of h as the solution.
        num_vertices: 4 in the former case, 0 in the latter.

    Returns:
        SOLVED, or INEXACT if the polytope grew too large.
    """
    size = a.bound + b.bound
    tolerance = _TOLERANCE * size
    curved = is_curved(a) or is_curved(b)
    is_ruled = a.kind != ELLIPSOID and b.kind != ELLIPSOID and a.kind != CONE and b.kind != CONE
    num_minima, num_faces = 0, 4
    best = math.inf
    n = (0.0, 0.0, 1.0)
    if num_vertices == 0:
        n = (work.normal[0], work.normal[1], work.normal[2])
        num_minima = 1
        _note_minimum(work, 0, n)
        if a.kind == HULL or b.kind == HULL:
            try_faces(a, b, hulls, work, size)
        best = work.value
        _start(a, b, hulls, work, n)
        num_vertices = 4
    else:
        work.value = math.inf  # no solution yet
        _close_tetrahedron(work)
    while True:
        nearest, lowest = -1, _squared(best - tolerance)
        for f in range(num_faces):
            if work.face_key[f] < lowest:
                nearest, lowest = f, work.face_key[f]
        if nearest < 0:
            return SOLVED if work.value < math.inf or refine(a, b, hulls, work, n) else INEXACT
        m, inverse = _normal(work, nearest), work.face_plane[nearest, 4]
        piece_a, piece_b, p_A, p_B = support_of_pair(a, b, hulls, work.X_AB, m)
        w = subtract(p_A, p_B)
        n, value = scaled(m, inverse), dot(m, w) * inverse
        gap = value - work.face_plane[nearest, 3] * inverse
        is_side = gap <= 10.0 * tolerance  # of A - B itself
        if not curved:
            if is_side:
                return _take_face(a, b, hulls, work, num_faces, nearest, tolerance)
        else:
            is_lower = value < best - (0.0 if is_side else tolerance)
            if (
                value < 0.0
                or (is_side and is_lower)
                or (not is_side and (is_lower or _is_unexplored(work, num_minima, n, value, best)))
            ):
                n_minimum, is_minimum = _refine_further(a, b, hulls, work, n)
                best = min(best, work.value)
                if best < 0.0:
                    return SOLVED if is_minimum else INEXACT
                if not is_side and num_minima < MAX_MINIMA:
                    _note_minimum(work, num_minima, n_minimum)
                    num_minima += 1
            is_small = value >= best - tolerance and (is_ruled or gap < 0.01 * best + 1e-5 * size)
            if is_side or (is_small and _is_in_neighborhood(work, nearest, num_minima, n)):
                work.face_key[nearest] = math.inf
                continue
        if num_vertices == MAX_VERTICES:
            break
        for i in range(3):
            work.vertex[num_vertices, i] = w[i]
        work.vertex_piece_a[num_vertices], work.vertex_piece_b[num_vertices] = piece_a, piece_b
        num_faces, is_new = _expand(work, num_vertices, num_faces, 0.1 * tolerance)
        num_vertices += 1
        if num_faces < 0:
            break
        if not is_new:
            work.face_key[nearest] = math.inf
    if not work.value < math.inf:
        refine(a, b, hulls, work, n)
    return INEXACT


@inlined
def _take_face(
    a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, num_faces: int, nearest: int, tolerance: float
) -> int:
    """Writes the solution on the nearest face of a polytope whose faces are sides of A - B.

    A side of A - B may consist of several faces. The origin is nearest to one of them.
    """
    best, least_weight = nearest, _least_weight(work, nearest)
    if least_weight < 0.0:
        limit = _squared(work.face_plane[nearest, 3] * work.face_plane[nearest, 4] + 10.0 * tolerance)
        for f in range(num_faces):
            if work.face_key[f] <= limit and f != nearest:
                least = _least_weight(work, f)
                if least > least_weight:
                    best, least_weight = f, least
    inverse = work.face_plane[best, 4]
    n = scaled(_normal(work, best), inverse)
    if least_weight < _BESIDE:
        return SOLVED if refine(a, b, hulls, work, n) else INEXACT
    p_A, depth = (0.0, 0.0, 0.0), work.face_plane[best, 3] * inverse
    weights = _weights(work, best)
    for c in range(3):
        p_A = sum_scaled(p_A, piece_point(a, hulls, work.vertex_piece_a[work.face_vertex[best, c]], n), weights[c])
    set_solution(work, n, depth, p_A, sum_scaled(p_A, n, -depth))
    return SOLVED


@inlined
def _weights(work: ShapeWork, f: int) -> Vector3:
    """Of the corners of a face, in the point of its plane that is nearest to the origin."""
    x, y = _vertex(work, work.face_vertex[f, 0]), _vertex(work, work.face_vertex[f, 1])
    z = _vertex(work, work.face_vertex[f, 2])
    m = _normal(work, f)
    weights = dot(m, cross(y, z)), dot(m, cross(z, x)), dot(m, cross(x, y))
    return scaled(weights, 1.0 / (weights[0] + weights[1] + weights[2]))


@inlined
def _least_weight(work: ShapeWork, f: int) -> float:
    weights = _weights(work, f)
    return min(weights[0], min(weights[1], weights[2]))


@device
def _note_minimum(work: ShapeWork, k: int, n: Vector3) -> None:
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
def _is_unexplored(work: ShapeWork, num_minima: int, n: Vector3, value: float, best: float) -> bool:
    """Whether a direction is promising, and far from all known minima."""
    if num_minima == MAX_MINIMA or value > 1.3 * best:
        return False
    for k in range(num_minima):
        if work.minimum[k, 0] * n[0] + work.minimum[k, 1] * n[1] + work.minimum[k, 2] * n[2] > _NEIGHBORHOOD:
            return False
    return True


@device
def _is_in_neighborhood(work: ShapeWork, f: int, num_minima: int, n: Vector3) -> bool:
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
def _refine_further(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, start: Vector3) -> tuple[Vector3, bool]:
    """Goes down from another direction, and keeps the better solution.

    Returns:
        The direction to which this led, and whether it is a minimum.
    """
    kept = _solution(work)
    is_minimum = refine(a, b, hulls, work, start)
    n = (work.normal[0], work.normal[1], work.normal[2])
    if work.value >= kept[0] - _LEAST_GAIN * (a.bound + b.bound):
        _restore(work, kept)
    return n, is_minimum


@device
def _solution(work: ShapeWork) -> tuple[float, Vector3, Vector3, Vector3]:
    return (
        work.value,
        (work.normal[0], work.normal[1], work.normal[2]),
        (work.p_ACa[0], work.p_ACa[1], work.p_ACa[2]),
        (work.p_ACb[0], work.p_ACb[1], work.p_ACb[2]),
    )


@device
def _restore(work: ShapeWork, solution: tuple[float, Vector3, Vector3, Vector3]) -> None:
    value, n, p_A, p_B = solution
    work.value = value
    for i in range(3):
        work.normal[i], work.p_ACa[i], work.p_ACb[i] = n[i], p_A[i], p_B[i]


@inlined
def _squared(distance: float) -> float:
    """With the sign of the distance."""
    return distance * abs(distance)


@inlined
def _normal(work: ShapeWork, f: int) -> Vector3:
    """Outward of a face, not of unit length."""
    return work.face_plane[f, 0], work.face_plane[f, 1], work.face_plane[f, 2]


@inlined
def _vertex(work: ShapeWork, i: int) -> Vector3:
    return work.vertex[i, 0], work.vertex[i, 1], work.vertex[i, 2]


@device
def _start(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, n: Vector3) -> None:
    """Makes a tetrahedron of support points that lie far apart."""
    _add_support(a, b, hulls, work, 0, n)
    _add_support(a, b, hulls, work, 1, negated(n))
    line = unit(subtract(_vertex(work, 1), _vertex(work, 0)))
    e1, e2 = tangents(line)
    _add_farthest(a, b, hulls, work, 2, line, e1, e2)
    normal = unit(cross(subtract(_vertex(work, 1), _vertex(work, 0)), subtract(_vertex(work, 2), _vertex(work, 0))))
    _add_farthest(a, b, hulls, work, 3, normal, normal, normal)
    _close_tetrahedron(work)


@inlined
def _close_tetrahedron(work: ShapeWork) -> None:
    """Makes the four faces of the first four vertices."""
    x = _vertex(work, 0)
    normal = cross(subtract(_vertex(work, 1), x), subtract(_vertex(work, 2), x))
    up = dot(normal, subtract(_vertex(work, 3), x)) > 0.0
    i, j = (1, 2) if up else (2, 1)
    _set_face(work, 0, 0, j, i, _vertex(work, i))
    _set_face(work, 1, 0, i, 3, _vertex(work, 3))
    _set_face(work, 2, i, j, 3, _vertex(work, 3))
    _set_face(work, 3, j, 0, 3, _vertex(work, 3))


@device
def _add_support(a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, k: int, n: Vector3) -> None:
    piece_a, piece_b, p_A, p_B = support_of_pair(a, b, hulls, work.X_AB, n)
    work.vertex_piece_a[k], work.vertex_piece_b[k] = piece_a, piece_b
    for i in range(3):
        work.vertex[k, i] = p_A[i] - p_B[i]


@device
def _add_farthest(
    a: Shape, b: Shape, hulls: Hulls, work: ShapeWork, k: int, line: Vector3, e1: Vector3, e2: Vector3
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


@inlined
def _set_face(work: ShapeWork, f: int, i: int, j: int, k: int, z: Vector3) -> None:
    """Writes a face of which the vertex k is given; one without area gets no care."""
    x, y = subtract(_vertex(work, i), z), subtract(_vertex(work, j), z)
    m = cross(x, y)
    square, height = dot(m, m), dot(m, z)
    has_area = square > (1e-14 * (dot(x, x) + dot(y, y))) ** 2
    if not has_area:
        square = 1.0
    # The next direction waits for the key, but not for the root.
    work.face_key[f] = _squared(height) / square if has_area else math.inf
    work.face_vertex[f, 0], work.face_vertex[f, 1], work.face_vertex[f, 2] = i, j, k
    work.face_plane[f, 0], work.face_plane[f, 1], work.face_plane[f, 2] = m
    work.face_plane[f, 3] = height
    work.face_plane[f, 4] = 1.0 / math.sqrt(square) if has_area else 0.0


@inlined
def _expand(work: ShapeWork, new: int, num_faces: int, tolerance: float) -> tuple[int, bool]:
    """Replaces the faces that a new vertex sees.

    Returns:
        How many faces there are now (negative: too many), and whether the vertex saw any.
    """
    w = _vertex(work, new)
    num_edges = 0
    f = 0
    while f < num_faces:
        if _height(work, f, w) <= tolerance:
            f += 1
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
                    return -1, False
                work.horizon[num_edges, 0], work.horizon[num_edges, 1] = i, j
                num_edges += 1
        num_faces -= 1
        _move_face(work, num_faces, f)
    for e in range(num_edges):
        if num_faces == MAX_FACES:
            return -1, False
        _set_face(work, num_faces, work.horizon[e, 0], work.horizon[e, 1], new, w)
        num_faces += 1
    return num_faces, num_edges > 0


@inlined
def _height(work: ShapeWork, f: int, w: Vector3) -> float:
    """Of a point above the plane of a face."""
    plane = work.face_plane[f]
    return float((plane[0] * w[0] + plane[1] * w[1] + plane[2] * w[2] - plane[3]) * plane[4])


@inlined
def _move_face(work: ShapeWork, source: int, target: int) -> None:
    for i in range(5):
        work.face_plane[target, i] = work.face_plane[source, i]
    for i in range(3):
        work.face_vertex[target, i] = work.face_vertex[source, i]
    work.face_key[target] = work.face_key[source]
