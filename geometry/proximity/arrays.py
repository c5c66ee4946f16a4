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
    HEIGHT_FIELD,
    HULL,
    POINT,
    SEGMENT,
    TERRAIN_MESH,
    Hulls,
    geometry_dtype,
)
from merganser.geometry.proximity.terrain.arrays import Terrain
from merganser.geometry.scene.collision_filters import pairs_that_may_meet, places_of
from merganser.geometry.shapes.measures import has_hull, hull_of
from merganser.geometry.shapes.shape import Shape

Array = NDArray[Any]

_CORES = {
    "point": POINT, "segment": SEGMENT, "box": BOX, "cylinder": CYLINDER, "ellipsoid": ELLIPSOID, "cone": CONE,
    "half space": HALF_SPACE, "height field": HEIGHT_FIELD, "terrain mesh": TERRAIN_MESH,
}  # fmt: skip


class ProximityArrays:
    """The constant part of a proximity query: what shapes there are, and which pairs of them may meet.

    Args:
        shapes: the shape of each geometry. Mesh, Convex and shapes without a core stand for their convex hulls.
        frames: the frame of each geometry, any numbers, shape [n]; those of one frame never meet. Anchored geometries
            share the frame of the world.
        excluded: of each geometry, which others it never meets besides: bit k of an integer is that of geometry k.

    Attributes:
        geometries: geometry_dtype, shape [n].
        hulls: see Hulls.
        frames: int64, shape [n].
        filtered: the same for kernels, int64: where the spans of each geometry begin and the last ones end, n + 1
            numbers, then spans, each the first geometry in it and the first one behind it; or empty.

    Raises:
        TypeError: a shape is of no known type.
        ValueError: `frames` or `excluded` have another size.
        RuntimeError: a mesh cannot be read, or has no vertices that span a volume or a face.
    """

    def __init__(self, shapes: Sequence[Shape], frames: ArrayLike, excluded: Sequence[int] = ()) -> None:
        n = len(shapes)
        self.frames = np.array(frames, dtype=np.int64).reshape(-1)
        self._excluded = list(excluded) if any(excluded) else []
        if self.frames.shape != (n,):
            raise ValueError(f"ProximityArrays(): {n} shapes need {n} frames; given {self.frames.size}.")
        if len(excluded) not in (0, n):
            raise ValueError(f"ProximityArrays(): the filter of {n} shapes has {n} integers; given {len(excluded)}.")
        self.filtered = _spans(self._excluded)
        self.geometries = np.zeros(n, geometry_dtype)
        hulls = _HullBuilder()
        for record, shape in zip(self.geometries, shapes):
            _set_record(shape, record, hulls)
        self.hulls = hulls.arrays()

    @functools.cached_property
    def all_pairs(self) -> NDArray[np.int64]:
        """All pairs that may meet wherever they are, sorted; shape [num_pairs, 2]."""
        return pairs_that_may_meet(self.frames, self._excluded)

    @functools.cached_property
    def unbounded_pair(self) -> tuple[int, int] | None:
        """The first pair of half spaces or height fields that may meet."""
        rows = np.flatnonzero(self.geometries["kind"] >= HALF_SPACE).tolist()
        for place, a in enumerate(rows):
            for b in rows[place + 1 :]:
                if self.frames[a] != self.frames[b] and not (self._excluded and self._excluded[a] >> b & 1):
                    return a, b
        return None


def _spans(excluded: Sequence[int]) -> NDArray[np.int64]:
    """See ProximityArrays.filtered."""
    if not excluded:
        return np.zeros(0, np.int64)
    edges = [places_of(row ^ row << 1) for row in excluded]  # where runs of bits begin and end
    starts = len(edges) + 1 + np.cumsum([0, *map(len, edges)])
    return np.concatenate([starts, *edges]).astype(np.int64)


class _Hull(NamedTuple):
    """The hull of one shape, as in `Hulls`; vertices and faces are counted from 0."""

    vertices: Array
    num_neighbors: NDArray[np.int64]  # of each vertex
    neighbors: NDArray[np.int64]
    planes: Array
    num_corners: NDArray[np.int64]  # of each face
    corners: NDArray[np.int64]
    edges: NDArray[np.int64]


def _hull_of(shape: Shape) -> _Hull:
    """The hull of a shape, with which it is kept: it takes milliseconds, and every model of a file asks for it."""
    known: _Hull = shape._remember("proximity", lambda: _make_hull(shape))
    return known


def _make_hull(shape: Shape) -> _Hull:
    hull = hull_of(shape)
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
        self._places: dict[Shape, tuple[int, ...]] = {}
        self._hulls: list[_Hull] = []
        self._size = np.zeros(3, np.int64)  # vertices, faces, edges so far
        self._fields: dict[Shape, int] = {}
        self._heights: list[Array] = []
        self._nodes: list[Array] = [np.zeros((0, 9))]

    def add(self, shape: Shape) -> tuple[int, ...]:
        """Returns the first vertex, face and edge, each with the number of them: vertices, faces, edges."""
        if shape not in self._places:
            hull = _hull_of(shape)
            size = len(hull.vertices), len(hull.planes), len(hull.edges)
            first = self._size.tolist()
            self._places[shape] = (first[0], size[0], first[1], size[1], first[2], size[2])
            self._hulls.append(hull._replace(edges=hull.edges + np.array([0, 0, first[1], first[1]])))
            self._size += size
        return self._places[shape]

    def add_field(self, shape: Shape, table: Array) -> int:
        """Returns where the heights of a height field begin."""
        if shape not in self._fields:
            self._fields[shape] = sum(map(len, self._heights))
            self._heights.append(table.ravel())
        return self._fields[shape]

    def add_terrain(self, shape: Shape, mesh: tuple[Array, NDArray[np.int64]]) -> tuple[tuple[int, ...], Terrain]:
        """Returns where a terrain mesh begins, as `add`, and its first node; and the terrain."""
        terrain: Terrain = shape._remember("proximity", lambda: Terrain(*mesh))
        if shape not in self._places:
            hull = _Hull(*terrain.hull())
            first = self._size.tolist()
            num_nodes = sum(map(len, self._nodes))
            self._places[shape] = (
                first[0], len(hull.vertices), first[1], len(terrain.triangles), first[2], len(hull.edges), num_nodes,
            )  # fmt: skip
            self._hulls.append(hull._replace(edges=hull.edges + np.array([0, 0, first[1], first[1]])))
            self._nodes.append(terrain.nodes)
            self._size += len(hull.vertices), len(hull.planes), len(hull.edges)
        return self._places[shape], terrain

    def arrays(self) -> Hulls:
        """The hulls, each one after the other."""
        nothing = np.zeros(0, np.int64)
        none = _Hull(
            np.zeros((0, 3)), nothing, nothing, np.zeros((0, 4)), nothing, nothing, np.zeros((0, 4), np.int64)
        )
        parts = _Hull(*(np.concatenate(arrays) for arrays in zip(none, *self._hulls)))
        return Hulls(
            parts.vertices, _starts(parts.num_neighbors), parts.neighbors, parts.planes, _starts(parts.num_corners),
            parts.corners, parts.edges, np.concatenate([np.zeros(0), *self._heights]),
            np.concatenate(self._nodes), np.zeros(1, geometry_dtype),
        )  # fmt: skip


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of several rows begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _set_record(shape: Shape, record: Any, hulls: _HullBuilder) -> None:
    """Writes the record of a shape."""
    if has_hull(shape):
        _set_hull(shape, record, hulls)
        return
    if not isinstance(shape, Shape) or shape.kind.core is None:
        raise TypeError(f"Proximity queries know no {type(shape).__name__}; given {shape!r}.")
    core = shape.kind.core(shape)
    if core.kind not in _CORES:
        raise TypeError(f"The core of {shape!r} must be one of {', '.join(map(repr, _CORES))}; it is {core.kind!r}.")
    record["kind"], record["radius"] = _CORES[core.kind], core.radius
    for i in range(3):
        record[f"size_{i}"], record[f"half_{i}"], record[f"center_{i}"] = core.size[i], core.half[i], core.center[i]
    record["bound"] = np.linalg.norm(core.half) if core.bound is None else core.bound
    if core.table is not None:
        record["first_vertex"], record["num_vertices"] = hulls.add_field(shape, core.table), core.table.size
        record["num_faces"], record["num_edges"] = core.table.shape
    if core.mesh is not None:
        place, terrain = hulls.add_terrain(shape, core.mesh)
        _set_place(record, place)
        record["first_node"] = place[6]
        record["size_0"] = record["size_1"] = terrain.size
        record["size_2"] = float(terrain.is_closed)


def _set_hull(shape: Shape, record: Any, hulls: _HullBuilder) -> None:
    place = hulls.add(shape)
    vertices = _hull_of(shape).vertices
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    center, half = (low + high) / 2.0, (high - low) / 2.0
    record["kind"] = HULL
    for i in range(3):
        record[f"half_{i}"], record[f"center_{i}"] = half[i], center[i]
    record["bound"] = np.linalg.norm(vertices - center, axis=1).max()
    _set_place(record, place)


def _set_place(record: Any, place: tuple[int, ...]) -> None:
    record["first_vertex"], record["num_vertices"] = place[:2]
    record["first_face"], record["num_faces"] = place[2:4]
    record["first_edge"], record["num_edges"] = place[4:6]
