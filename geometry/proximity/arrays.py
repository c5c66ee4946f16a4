"""From shapes to the arrays on which the kernels work."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.proximity.layout import (
    BOX,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HALF_SPACE,
    HULL,
    POINT,
    SEGMENT,
    Hulls,
    geometry_dtype,
)
from merganser.geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    MeshcatCone,
    Shape,
    Sphere,
)

__all__ = ["ProximityArrays"]

Array = NDArray[Any]


class ProximityArrays:
    """The constant part of a proximity query: what shapes there are, and which pairs of them may meet.

    Args:
        shapes: the shape of each geometry. Mesh and Convex stand for the convex hulls of their vertices.
        frames: the frame of each geometry, any numbers, shape [n]; those of one frame never meet. Anchored geometries
            share the frame of the world.
        filtered: pairs that never meet besides, symmetric, bool, shape [n, n]; none by default.

    Attributes:
        geometries: geometry_dtype, shape [n].
        hulls: see Hulls.
        frames: int64, shape [n].
        filtered: bool, shape [n, n] or [0, 0].

    Raises:
        TypeError: a shape is of no known type.
        ValueError: `frames` or `filtered` have another size.
        RuntimeError: a mesh cannot be read, or has no vertices that span a volume or a face.
    """

    def __init__(self, shapes: Sequence[Shape], frames: ArrayLike, filtered: ArrayLike | None = None) -> None:
        n = len(shapes)
        self.frames = np.array(frames, dtype=np.int64).reshape(-1)
        self.filtered = np.zeros((0, 0), np.bool_) if filtered is None else np.array(filtered, dtype=np.bool_)
        if self.frames.shape != (n,):
            raise ValueError(f"ProximityArrays(): {n} shapes need {n} frames; given {self.frames.size}.")
        if filtered is not None and self.filtered.shape != (n, n):
            raise ValueError(
                f"ProximityArrays(): the filter of {n} shapes has shape ({n}, {n}); given {self.filtered.shape}."
            )
        self.geometries = np.zeros(n, geometry_dtype)
        hulls = _HullBuilder()
        for record, shape in zip(self.geometries, shapes):
            _set_record(shape, record, hulls)
        self.hulls = hulls.arrays()

    @functools.cached_property
    def all_pairs(self) -> NDArray[np.int64]:
        """All pairs that may meet wherever they are, sorted; shape [num_pairs, 2]."""
        never = self.frames[:, None] == self.frames
        if len(self.filtered):
            never |= self.filtered
        return np.ascontiguousarray(np.argwhere(np.triu(~never, 1)), np.int64)

    @functools.cached_property
    def unbounded_pair(self) -> tuple[int, int] | None:
        """The first pair of half spaces that may meet."""
        kinds = self.geometries["kind"][self.all_pairs]
        found = self.all_pairs[(kinds == HALF_SPACE).all(axis=1)].tolist()
        return tuple(found[0]) if found else None


class _Hull(NamedTuple):
    """The hull of one shape, as in `Hulls`; vertices and faces are counted from 0."""

    vertices: Array
    num_neighbors: NDArray[np.int64]  # of each vertex
    neighbors: NDArray[np.int64]
    planes: Array
    num_corners: NDArray[np.int64]  # of each face
    corners: NDArray[np.int64]
    edges: NDArray[np.int64]


def _hull_of(shape: Mesh | Convex) -> _Hull:
    """The hull of a shape, with which it is kept: it takes milliseconds, and every model of a file asks for it."""
    known: _Hull = shape._remember("proximity", lambda: _make_hull(shape))
    return known


def _make_hull(shape: Mesh | Convex) -> _Hull:
    hull = shape.GetConvexHull()
    vertices, normals = hull.vertex_array(), hull.normal_array()
    num_corners, corners = hull.corner_arrays()
    starts = np.cumsum(num_corners) - num_corners
    face = np.repeat(np.arange(len(num_corners)), num_corners)
    heights = np.einsum("ij,ij->i", vertices[corners], normals[face])
    planes = np.column_stack([normals, np.maximum.reduceat(heights, starts)])
    following = np.arange(1, len(corners) + 1)
    following[starts + num_corners - 1] = starts
    i, j, n = corners, corners[following], len(vertices)  # edge n goes from i[n] to j[n], with its face on the left
    around = np.unique(np.concatenate([i * n + j, j * n + i]))
    return _Hull(
        vertices, np.bincount(around // n, minlength=n), around % n, planes, num_corners, corners, _edges(i, j, face, n)
    )


def _edges(i: Array, j: Array, face: Array, num_vertices: int) -> NDArray[np.int64]:
    """The edges of one hull, as in `Hulls.edges`, from those around its faces; shape [num_edges, 4]."""
    there, back = i * num_vertices + j, j * num_vertices + i
    order = np.argsort(there, kind="stable")
    place = np.searchsorted(there[order], back).clip(max=len(there) - 1)
    other = order[place]
    is_one = (there[other] == back) & (i < j)
    return np.column_stack([i, j, face, face[other]])[is_one]


class _HullBuilder:
    """Gathers convex hulls, each shape's only once."""

    def __init__(self) -> None:
        self._places: dict[Shape, tuple[int, int, int, int, int, int]] = {}
        self._hulls: list[_Hull] = []
        self._size = np.zeros(3, np.int64)  # vertices, faces, edges so far

    def add(self, shape: Mesh | Convex) -> tuple[int, int, int, int, int, int]:
        """Returns the first vertex, face and edge, each with the number of them: vertices, faces, edges."""
        if shape not in self._places:
            hull = _hull_of(shape)
            size = len(hull.vertices), len(hull.planes), len(hull.edges)
            first = self._size.tolist()
            self._places[shape] = (first[0], size[0], first[1], size[1], first[2], size[2])
            self._hulls.append(hull._replace(edges=hull.edges + np.array([0, 0, first[1], first[1]])))
            self._size += size
        return self._places[shape]

    def arrays(self) -> Hulls:
        """The hulls, each one after the other."""
        nothing = np.zeros(0, np.int64)
        none = _Hull(
            np.zeros((0, 3)), nothing, nothing, np.zeros((0, 4)), nothing, nothing, np.zeros((0, 4), np.int64)
        )
        parts = _Hull(*(np.concatenate(arrays) for arrays in zip(none, *self._hulls)))
        return Hulls(
            parts.vertices, _starts(parts.num_neighbors), parts.neighbors, parts.planes, _starts(parts.num_corners),
            parts.corners, parts.edges,
        )  # fmt: skip


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of several rows begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


@functools.singledispatch
def _set_record(shape: Any, record: Any, hulls: _HullBuilder) -> None:
    """Writes the record of a shape."""
    raise TypeError(f"Proximity queries know no {type(shape).__name__}; given {shape!r}.")


def _set(record: Any, kind: int, size: ArrayLike, half: ArrayLike, center: ArrayLike = (0.0, 0.0, 0.0)) -> None:
    record["kind"] = kind
    for i, (s, h, c) in enumerate(zip(np.asarray(size), np.asarray(half), np.asarray(center))):
        record[f"size_{i}"], record[f"half_{i}"], record[f"center_{i}"] = s, h, c
    record["bound"] = np.linalg.norm(half)


@_set_record.register
def _(shape: Sphere, record: Any, hulls: _HullBuilder) -> None:
    _set(record, POINT, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    record["radius"] = shape.radius()


@_set_record.register
def _(shape: Capsule, record: Any, hulls: _HullBuilder) -> None:
    half = (0.0, 0.0, shape.length() / 2.0)
    _set(record, SEGMENT, half, half)
    record["radius"] = shape.radius()


@_set_record.register
def _(shape: Box, record: Any, hulls: _HullBuilder) -> None:
    _set(record, BOX, shape.size() / 2.0, shape.size() / 2.0)


@_set_record.register
def _(shape: Cylinder, record: Any, hulls: _HullBuilder) -> None:
    r, h = shape.radius(), shape.length() / 2.0
    _set(record, CYLINDER, (r, 0.0, h), (r, r, h))
    record["bound"] = np.hypot(r, h)


@_set_record.register
def _(shape: Ellipsoid, record: Any, hulls: _HullBuilder) -> None:
    axes = (shape.a(), shape.b(), shape.c())
    _set(record, ELLIPSOID, axes, axes)
    record["bound"] = max(axes)


@_set_record.register
def _(shape: MeshcatCone, record: Any, hulls: _HullBuilder) -> None:
    a, b, h = shape.a(), shape.b(), shape.height()
    _set(record, CONE, (a, b, h), (a, b, h / 2.0), (0.0, 0.0, h / 2.0))


@_set_record.register
def _(shape: HalfSpace, record: Any, hulls: _HullBuilder) -> None:
    record["kind"], record["bound"] = HALF_SPACE, np.inf


@_set_record.register(Mesh)
@_set_record.register(Convex)
def _(shape: Mesh | Convex, record: Any, hulls: _HullBuilder) -> None:
    place = hulls.add(shape)
    vertices = _hull_of(shape).vertices
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    center = (low + high) / 2.0
    _set(record, HULL, (0.0, 0.0, 0.0), (high - low) / 2.0, center)
    record["bound"] = np.linalg.norm(vertices - center, axis=1).max()
    record["first_vertex"], record["num_vertices"] = place[:2]
    record["first_face"], record["num_faces"] = place[2:4]
    record["first_edge"], record["num_edges"] = place[4:]
