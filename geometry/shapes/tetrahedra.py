"""Tetrahedra of primitive shapes: of a pressure field, and of deformable bodies.

A medial mesh has its greatest pressure on the medial set: the points with several nearest ones on the surface, or some
of them. A shape is divided into the cells of its faces: what is nearer to a face than to the others. Within a cell the
distance to the surface is linear, so that a function with one value on the surface and another one on the medial set is
the same however the cell is divided into tetrahedra; a sphere's and an ellipsoid's medial set is their center. How
cells are divided decides which polygons a contact surface has: they are divided as in pydrake, so that sums over
polygons agree. A cell, a convex polyhedron, is divided by joining one of its vertices, the tip, with the triangles of
the faces that do not contain it.

A filled mesh, for deformable bodies, has edges about as long as a hint [m]. Balls are octahedra of eight tetrahedra
around the center, each of which is divided into eight, and these again, until edges are short enough: four at the
corners, and four around the shortest diagonal of the octahedron between them. New vertices between two on the surface
are moved onto it. Vertices and tetrahedra are pydrake's, in its order, but for single ones where diagonals are equally
long up to rounding, from the third division on.

Boxes are grids of cells, each of six tetrahedra around a diagonal (Kuhn 1960). Cylinders and capsules are such grids,
too, whose squares and cubes become circles and balls: a point p at which the greatest of |p_i| is s goes to

    s d / |d|,   d_i = tan(pi p_i / (4 s))                                                                  (1)

(C. Ronchi, R. Iacono, P. Paolucci, The Cubed Sphere, 1996). There diagonals go outwards in each octant, so that each
tetrahedron has a vertex below the surface.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.meshes.volume_mesh import VolumeMesh
from merganser.geometry.shapes.surfaces import unit_sphere

Array = NDArray[np.float64]
Triangle = tuple[int, int, int]
Tetrahedron = tuple[int, int, int, int]

_SAME = 1e-14  # lengths that differ by less than this share of them are one
_MOST_LEVELS = 8  # of a sphere
MOST_TETRAHEDRA = 8 * 4**_MOST_LEVELS  # 524288, of a sphere of that level; no shape has more


class MedialMesh(NamedTuple):
    """A volume whose surface and medial set are known.

    Attributes:
        mesh: tetrahedra in G.
        is_inner: whether a vertex lies on the medial set, else it lies on the surface; shape [num_vertices].
    """

    mesh: VolumeMesh
    is_inner: NDArray[np.bool_]


def sphere_mesh(radius: float, hint: float) -> MedialMesh:
    """Returns a ball made of an octahedron whose triangles are divided by four until their edges are short enough.

    Args:
        radius: of the ball [m].
        hint: length that no edge along a coordinate plane exceeds [m].
    """
    level = 0
    while 2.0 * radius * math.sin(math.pi / 2 ** (level + 2)) > hint and level < _MOST_LEVELS:
        level += 1
    points, triangles = unit_sphere(level)
    vertices = np.vstack([np.zeros((1, 3)), radius * points])
    tetrahedra = np.hstack([np.zeros((len(triangles), 1), np.int64), triangles + 1])
    return _with_inner(tetrahedra, vertices, [0])


def ellipsoid_mesh(axes: Array, hint: float) -> MedialMesh:
    """Returns an ellipsoid: a ball of radius 1 whose edges are as long as the hint on the longest axis, stretched.

    Args:
        axes: half lengths along the axes of G [m], shape [3].
        hint: length of edges [m].
    """
    ball, is_inner = sphere_mesh(1.0, hint / axes.max())
    return MedialMesh(VolumeMesh(ball.tetrahedron_array(), ball.vertex_array() * axes), is_inner)


# From the axes of a box to those along which its vertices are counted: the first is that of the shortest side.
_TO_SHORTEST_FIRST = np.array(
    [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 1, 0], [-1, 0, 0], [0, 0, 1]],
        [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
    ]
)


def box_mesh(size: Array) -> MedialMesh:
    """Returns a box, with a vertex in the middle of each face, so that patches on it lean to no side.

    Args:
        size: lengths along the axes of G [m], shape [3].
    """
    half_G = np.asarray(size, np.float64) / 2.0
    turn = _TO_SHORTEST_FIRST[int(half_G.argmin())]
    half = abs(turn) @ half_G
    inset = half - half[0]
    inset[inset < _SAME * half] = 0.0
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    # The medial set is a rectangle, a segment or a point; its corner next to each corner of the box.
    inner, inner_of = np.unique(signs * inset + 0.0, axis=0, return_inverse=True)
    order = np.lexsort((inner[:, 1], -inner[:, 2]))
    inner, inner_of = inner[order], 8 + np.argsort(order)[inner_of.ravel()]
    is_segment = len(inner) == 2
    if is_segment:
        inner = np.vstack([inner, np.zeros((1, 3))])
    first_center = 8 + len(inner)
    centers = np.vstack([s * np.eye(3)[axis] * half for axis in range(3) for s in (-1.0, 1.0)])
    vertices = np.vstack([signs * half, inner, centers]) @ turn
    tetrahedra: list[Tetrahedron] = []
    for f in range(6):
        axis, sign = divmod(f, 2)
        ring = _ring_of_face(signs, axis, 2.0 * sign - 1.0)
        inside = inner_of[ring].tolist()
        middle = first_center - 1 if is_segment else None
        sides = [_triangles([ring[i], ring[i - 1], inside[i - 1], inside[i]], middle) for i in range(4)]
        tetrahedra += _join(first_center + f, [*itertools.chain(*sides), *_triangles(inside)])
    return _with_inner(tetrahedra, vertices, range(8, first_center))


def _ring_of_face(signs: Array, axis: int, sign: float) -> list[int]:
    """The corners of one face of a box, one after the other around it."""
    across = [(axis + 1) % 3, (axis + 2) % 3]
    order = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    on_face = np.flatnonzero(signs[:, axis] == sign)
    corner = {tuple(signs[c, across].tolist()): int(c) for c in on_face}
    return [corner[at] for at in order]


def _triangles(polygon: list[int], middle: int | None = None) -> list[Triangle]:
    """Cuts a polygon into triangles from its vertex of the smallest index; corners that coincide count once.

    If its last two corners are ends of the medial segment, it is cut from the middle of that one, if there is one.
    """
    corners = list(dict.fromkeys(polygon))
    if len(corners) == 4 and middle is not None:
        return [(middle, corners[i - 1], corners[i]) for i in (1, 2, 0)]
    start = corners.index(min(corners)) if corners else 0
    around = corners[start:] + corners[:start]
    return [(around[0], b, c) for b, c in itertools.pairwise(around[1:])]


def cylinder_mesh(radius: float, length: float, hint: float) -> MedialMesh:
    """Returns a prism in a cylinder, whose medial set is a segment of the axis, its center or a disk across it.

    Args:
        radius: of the cylinder [m].
        length: along Gz [m].
        hint: length of edges around the rims [m], of which there are three or more.

    Raises:
        RuntimeError: so short edges would make more than MOST_TETRAHEDRA.
    """
    h = length / 2.0
    is_round = abs(h - radius) <= _SAME * radius
    num_around = 2.0 * math.pi * radius / hint
    _check_count(num_around, 4.0 if is_round else 5.0 if h > radius else 9.0, 1, radius, hint)
    n = max(3, math.ceil(num_around))
    rim = radius * _circle(n)
    rims = [np.vstack([[[0.0, 0.0, s * h]], np.column_stack([rim, np.full(n, s * h)])]) for s in (-1.0, 1.0)]
    if is_round:
        inner = np.zeros((1, 3))
    elif h > radius:
        inner = np.array([[0.0, 0.0, radius - h], [0.0, 0.0, h - radius]])
    else:
        inner = np.vstack([np.zeros((1, 3)), np.column_stack([(1.0 - h / radius) * rim, np.zeros(n)])])
    vertices = np.vstack([*rims, inner])
    bottom, top, m = 0, n + 1, 2 * (n + 1)  # the middle ones, which come first
    tetrahedra: list[Tetrahedron] = []
    for i in range(n):
        j = (i + 1) % n
        b_i, b_j, t_i, t_j = bottom + 1 + i, bottom + 1 + j, top + 1 + i, top + 1 + j
        if len(inner) > 2:
            m_i, m_j = m + 1 + i, m + 1 + j
            tetrahedra += _join(bottom, [(m, m_i, m_j), (b_i, m_j, m_i), (b_i, b_j, m_j)])
            tetrahedra += _join(m, [(top, t_i, t_j), (m_i, t_i, t_j), (m_i, t_j, m_j)])
            tetrahedra += _join(b_i, [(b_j, m_j, t_j), (m_i, m_j, t_j), (m_i, t_j, t_i)])
            continue
        last = m + len(inner) - 1
        tetrahedra += _join(bottom, [(b_i, b_j, m)])
        tetrahedra += _join(top, [(t_i, t_j, last)])
        if last == m:
            tetrahedra += _join(m, [(t_i, b_i, b_j), (t_i, b_j, t_j)])
        else:
            tetrahedra += _join(m, [(t_i, t_j, last), (b_i, t_j, t_i), (b_i, b_j, t_j)])
    return _with_inner(tetrahedra, vertices, range(m, len(vertices)))


def capsule_mesh(radius: float, length: float, hint: float) -> MedialMesh:
    """Returns a capsule, divided by meridians and circles of latitude; its medial set is the segment of its axis.

    Args:
        radius: of the capsule [m].
        length: along Gz, without the caps [m].
        hint: length of edges around the circles [m].

    Raises:
        RuntimeError: so short edges would make more than MOST_TETRAHEDRA.
    """
    num_around = 2.0 * math.pi * radius / hint
    _check_count(num_around, 2.0, 2, radius, hint)
    n = max(3, math.floor(num_around))
    num_rings = n // 2
    angles = np.arange(num_rings) * (math.pi / (2 * num_rings))
    h = length / 2.0
    vertices = [np.array([[0.0, 0.0, -h], [0.0, 0.0, h], [0.0, 0.0, -h - radius], [0.0, 0.0, h + radius]])]
    rings: dict[tuple[int, int], list[int]] = {}  # by end and latitude
    count = 4
    for end, s in enumerate((-1.0, 1.0)):
        for k, angle in enumerate(angles.tolist()):
            z = s * (h + radius * math.sin(angle))
            vertices.append(np.column_stack([radius * math.cos(angle) * _circle(n), np.full(n, z)]))
            rings[end, k] = list(range(count, count + n))
            count += n
    points = np.vstack(vertices)
    tetrahedra: list[Tetrahedron] = []
    for i in range(n):
        j = (i + 1) % n
        for end in (0, 1):
            for k in range(num_rings - 1):
                a, b = rings[end, k], rings[end, k + 1]
                p, q = (a, b) if end == 0 else (b, a)  # cut from the bottom of i to the top of j
                tetrahedra += _join(end, [(p[i], q[j], q[i]), (p[i], p[j], q[j])])
            last = rings[end, num_rings - 1]
            tetrahedra += _join(end, [(2 + end, last[i], last[j])])
        b_i, b_j, t_i, t_j = rings[0, 0][i], rings[0, 0][j], rings[1, 0][i], rings[1, 0][j]
        tetrahedra += _join(0, [(1, t_i, t_j), (b_i, t_j, t_i), (b_i, b_j, t_j)])
    return _with_inner(tetrahedra, points, [0, 1])


def _check_count(num_around: float, factor: float, power: int, radius: float, hint: float) -> None:
    """Raises if a circle of so many edges makes factor * num_around ** power tetrahedra, and these are too many."""
    most = (MOST_TETRAHEDRA / factor) ** (1.0 / power)
    if num_around > most:
        count = factor * num_around**power if num_around < 1e100 else math.inf
        raise RuntimeError(
            f"with a resolution hint of {hint:g} m it would be made of {count:.3g} tetrahedra, more than "
            f"{MOST_TETRAHEDRA}. Take a hint of at least {1.01 * 2.0 * math.pi * radius / most:.3g} m, "
            f"for a radius of {radius:g} m, or a smaller margin if it has one"
        )


def _circle(n: int) -> Array:
    """n points around a circle of radius 1, shape [n, 2]."""
    angles = np.arange(n) * (2.0 * math.pi / n)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _join(tip: int, triangles: Sequence[Triangle]) -> list[Tetrahedron]:
    """The tetrahedra between a vertex and triangles, whichever way these are turned."""
    return [(tip, a, b, c) for a, b, c in triangles]


def _with_inner(
    tetrahedra: Sequence[Tetrahedron] | NDArray[np.int64], vertices: Array, inner: Sequence[int] | range
) -> MedialMesh:
    """The mesh of tetrahedra, whichever way their corners are counted."""
    is_inner = np.zeros(len(vertices), np.bool_)
    is_inner[list(inner)] = True
    corners = np.array(tetrahedra)
    u, v, w = (vertices[corners[:, i]] - vertices[corners[:, 0]] for i in (1, 2, 3))
    is_inside_out = np.einsum("ti,ti->t", np.cross(u, v), w) <= 0.0
    corners[is_inside_out, 2:] = corners[is_inside_out, :1:-1]
    return MedialMesh(VolumeMesh(corners, vertices), is_inner)


# ---------------------------------------------------------------------- filled meshes

Integers = NDArray[np.int64]

_OCTAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float64)
_EIGHTHS = np.array(
    [[1, 5, 2, 0], [2, 5, 3, 0], [3, 5, 4, 0], [4, 5, 1, 0], [2, 6, 1, 0], [3, 6, 2, 0], [4, 6, 3, 0], [1, 6, 4, 0]]
)
_EDGES = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
# Of corners 0 to 3 and the middles 4 to 9 of the edges above: at the corners, and around one of the three diagonals.
_AT_CORNERS = np.array([[0, 4, 5, 6], [1, 7, 4, 8], [5, 7, 2, 9], [9, 6, 8, 3]])
_DIAGONALS = np.array([(6, 7), (4, 9), (5, 8)])
_AROUND = np.array(
    [
        [[6, 7, 8, 4], [6, 5, 7, 4], [6, 8, 7, 9], [6, 7, 5, 9]],
        [[4, 7, 9, 8], [4, 8, 9, 6], [4, 6, 9, 5], [4, 5, 9, 7]],
        [[5, 8, 4, 7], [5, 8, 7, 9], [5, 8, 9, 6], [5, 4, 8, 6]],
    ]
)
_OF_OCTAHEDRON = 2  # the diagonal that its eight tetrahedra take, whose three are equally long


def filled_ball(radius: float, hint: float) -> VolumeMesh:
    """The tetrahedra of a ball [m]."""
    vertices, tetrahedra, on_surface = _OCTAHEDRON, _EIGHTHS, np.arange(7) > 0
    level = 0
    while 2.0 * radius * math.sin(math.pi / 2 ** (level + 2)) > hint:
        check_count(8 * len(tetrahedra), hint)
        vertices, tetrahedra, on_surface = _divided(vertices, tetrahedra, on_surface)
        level += 1
    return VolumeMesh(tetrahedra, radius * vertices)


def _divided(
    vertices: Array, tetrahedra: Integers, on_surface: NDArray[np.bool_]
) -> tuple[Array, Integers, NDArray[np.bool_]]:
    """Each tetrahedron in eight; vertices come in the order in which the edges are met first."""
    ends = np.sort(tetrahedra[:, _EDGES].reshape(-1, 2), axis=1)
    edges, first, which = np.unique(ends, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(edges), np.int64)
    number[order] = np.arange(len(edges))
    edges = edges[order]
    middles, is_outer = vertices[edges].mean(axis=1), on_surface[edges].all(axis=1)
    middles[is_outer] /= np.linalg.norm(middles[is_outer], axis=1)[:, np.newaxis]
    corners = np.hstack([tetrahedra, len(vertices) + number[which.ravel()].reshape(-1, 6)])
    points = np.vstack([vertices, middles])
    diagonals = points[corners[:, _DIAGONALS]]
    shortest = np.linalg.norm(diagonals[:, :, 0] - diagonals[:, :, 1], axis=2).argmin(axis=1)
    if len(tetrahedra) == len(_EIGHTHS):
        shortest[:] = _OF_OCTAHEDRON
    around = np.take_along_axis(corners, _AROUND[shortest].reshape(-1, 16), axis=1).reshape(-1, 4, 4)
    children = np.concatenate([corners[:, _AT_CORNERS], around], axis=1)
    return points, children.reshape(-1, 4), np.append(on_surface, is_outer)


def filled_ellipsoid(axes: Array, hint: float) -> VolumeMesh:
    """The tetrahedra of an ellipsoid with these semi-axes [m], shape [3]."""
    ball = filled_ball(1.0, hint / axes.max())
    return VolumeMesh(ball.tetrahedron_array(), ball.vertex_array() * axes)


def filled_box(size: Array, hint: float) -> VolumeMesh:
    """The tetrahedra of a box with these lengths [m], shape [3]."""
    counts = np.maximum(1.0, np.ceil(size / hint - 1e-9))
    check_count(6.0 * float(counts.prod()), hint)
    return _grid([np.linspace(-length / 2.0, length / 2.0, int(n) + 1) for length, n in zip(size, counts, strict=True)])


def filled_cylinder(radius: float, length: float, hint: float) -> VolumeMesh:
    """The tetrahedra of a cylinder along z [m]."""
    half = 0.5 * length
    across, along = _cells(radius, hint), _cells(half, hint)
    check_count(48.0 * across**2 * along, hint)
    side = np.linspace(-radius, radius, 2 * int(across) + 1)
    mesh = _grid([side, side, np.linspace(-half, half, 2 * int(along) + 1)], is_outward=True)
    vertices = mesh.vertex_array().copy()
    vertices[:, :2] = _rounded(vertices[:, :2])
    return VolumeMesh(mesh.tetrahedron_array(), vertices)


def filled_capsule(radius: float, length: float, hint: float) -> VolumeMesh:
    """The tetrahedra of a capsule along z, whose length does not count the caps [m]."""
    half = 0.5 * length
    across, along = _cells(radius, hint), _cells(half, hint)
    check_count(48.0 * across**2 * (along + across), hint)
    side, middle = (np.linspace(-end, end, 2 * int(n) + 1) for end, n in ((radius, across), (half, along)))
    below, above = side[: int(across)] - half, side[int(across) + 1 :] + half
    mesh = _grid([side, side, np.concatenate([below, middle, above])], is_outward=True)
    vertices = mesh.vertex_array().copy()
    on_axis = np.clip(vertices[:, 2], -half, half)
    vertices[:, 2] -= on_axis
    vertices = _rounded(vertices)
    vertices[:, 2] += on_axis
    return VolumeMesh(mesh.tetrahedron_array(), vertices)


def _cells(length: float, hint: float) -> float:
    """How many cells of at most the hint fit, with a tolerance for rounding; maybe more than an integer holds."""
    return max(1.0, float(np.ceil(length / hint - 1e-9)))


def _rounded(points: Array) -> Array:
    """Equation (1), of points in any number of dimensions."""
    s = np.abs(points).max(axis=1, keepdims=True)
    d = np.tan(0.25 * math.pi * np.divide(points, s, out=np.zeros_like(points), where=s > 0.0))
    lengths = np.linalg.norm(d, axis=1, keepdims=True)
    return np.asarray(s * np.divide(d, lengths, out=np.zeros_like(d), where=lengths > 0.0))


def _grid(sides: list[Array], is_outward: bool = False) -> VolumeMesh:
    """A grid with these coordinates, its cells cut into six tetrahedra around a diagonal.

    Args:
        sides: increasing coordinates along each axis.
        is_outward: whether diagonals go away from the origin, of which each coordinate must then be one of the grid;
            else they go along the axes.
    """
    vertices = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 3)
    strides = np.array([len(sides[1]) * len(sides[2]), len(sides[2]), 1])
    cells = np.stack(np.meshgrid(*(np.arange(len(side) - 1) for side in sides), indexing="ij"), axis=-1).reshape(-1, 3)
    middles = np.stack([0.5 * (side[:-1] + side[1:])[cells[:, k]] for k, side in enumerate(sides)], axis=1)
    signs = np.where(is_outward & (middles < 0.0), -1, 1)
    starts = (cells + (signs < 0)) @ strides
    tetrahedra = []
    for axes in map(list, itertools.permutations(range(3))):
        steps = np.cumsum(signs[:, axes] * strides[axes], axis=1)
        corners = starts[:, np.newaxis] + np.column_stack([np.zeros(len(cells), np.int64), steps])
        is_odd = np.linalg.det(np.eye(3)[axes]) * signs.prod(axis=1) < 0.0
        corners[is_odd, 1:3] = corners[is_odd, 2:0:-1]
        tetrahedra.append(corners)
    return VolumeMesh(np.stack(tetrahedra, axis=1).reshape(-1, 4), vertices)


def check_count(count: float, hint: float) -> None:
    if count > MOST_TETRAHEDRA:
        raise RuntimeError(
            f"With a resolution hint of {hint:g} m, a deformable geometry would be made of {count:.3g} tetrahedra, "
            f"more than {MOST_TETRAHEDRA}. Take a greater hint."
        )
