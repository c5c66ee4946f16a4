"""Primitive shapes filled with tetrahedra whose edges are about as long as a hint [m], for deformable bodies.

Balls are octahedra of eight tetrahedra around the center, each of which is divided into eight, and these again, until
edges are short enough: four at the corners, and four around the shortest diagonal of the octahedron between them. New
vertices between two on the surface are moved onto it. Vertices and tetrahedra are pydrake's, in its order, but for
single ones where diagonals are equally long up to rounding, from the third division on.

Boxes are grids of cells, each of six tetrahedra around a diagonal (Kuhn 1960). Cylinders and capsules are such grids,
too, whose squares and cubes become circles and balls: a point p at which the greatest of |p_i| is s goes to

    s d / |d|,   d_i = tan(pi p_i / (4 s))                                                                  (1)

(C. Ronchi, R. Iacono, P. Paolucci, The Cubed Sphere, 1996). There diagonals go outwards in each octant, so that each
tetrahedron has a vertex below the surface.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.meshes.volume_mesh import VolumeMesh
from merganser.geometry.shapes.medial_meshes import MOST_TETRAHEDRA

Array = NDArray[np.float64]
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
