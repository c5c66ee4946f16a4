"""From shapes to the arrays on which the kernels work."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

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
from merganser.geometry.proximity.shared_code import prepare
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
        prepare(_searches(self.geometries["kind"]))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        prepare(_searches(self.geometries["kind"]))  # in another process, perhaps


def _searches(kinds: NDArray[np.int64]) -> list[str]:
    """The shared functions that pairs of these kinds, and of each of them and a point, may need."""
    others = kinds[(kinds != POINT) & (kinds != HALF_SPACE)]
    if (others == SEGMENT).all() or (len(others) == 1 and others[0] <= ELLIPSOID):
        return []
    names = ["refine"]
    by_steps = others[(others >= BOX) & (others <= ELLIPSOID)]
    if len(by_steps) > 1 and (by_steps > BOX).any():
        names.append("take_steps")
    if (others > BOX).any():
        names.append("deepest")
    if (others == CYLINDER).any():
        names.append("solve_cylinder")
    if (others == ELLIPSOID).any():
        names.append("deepest_of_smooth")
    if (others == HULL).any():
        names.append("solve_polytopes")
    return names


class _HullBuilder:
    """Gathers convex hulls, each shape's only once."""

    def __init__(self) -> None:
        self._places: dict[Shape, tuple[int, int, int, int, int, int]] = {}
        self._vertices: list[Array] = []
        self._neighbors: list[list[int]] = []
        self._planes: list[Array] = []
        self._corners: list[list[int]] = []
        self._edges: list[tuple[int, int, int, int]] = []
        self._num_vertices = 0

    def add(self, shape: Mesh | Convex) -> tuple[int, int, int, int, int, int]:
        """Returns the first vertex, face and edge, each with the number of them: vertices, faces, edges."""
        if shape not in self._places:
            hull = shape.GetConvexHull()
            vertices = hull.vertex_array()
            faces = [
                [polygon.vertex(i) for i in range(polygon.num_vertices())]
                for polygon in (hull.element(f) for f in range(hull.num_faces()))
            ]
            edges = _edges(faces, len(self._planes))
            self._places[shape] = (
                self._num_vertices, len(vertices), len(self._corners), len(faces), len(self._edges), len(edges),
            )  # fmt: skip
            self._edges += edges
            neighbors: list[set[int]] = [set() for _ in vertices]
            for f, face in enumerate(faces):
                for i, j in zip(face, face[1:] + face[:1]):
                    neighbors[i].add(j)
                    neighbors[j].add(i)
                normal = hull.face_normal(f)
                self._planes.append(np.array([*normal, max(vertices[face] @ normal)]))
                self._corners.append(face)
            self._vertices.append(vertices)
            self._neighbors += [sorted(around) for around in neighbors]
            self._num_vertices += len(vertices)
        return self._places[shape]

    def arrays(self) -> Hulls:
        """The hulls, each one after the other."""
        neighbor_start, neighbors = _rows(self._neighbors)
        corner_start, corners = _rows(self._corners)
        vertices = np.concatenate([np.zeros((0, 3)), *self._vertices])
        planes = np.array(self._planes, dtype=np.float64).reshape(-1, 4)
        edges = np.array(self._edges, dtype=np.int64).reshape(-1, 4)
        return Hulls(vertices, neighbor_start, neighbors, planes, corner_start, corners, edges)


def _rows(rows: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each row begins, and all rows one after the other."""
    start = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
    return start, np.array([i for row in rows for i in row], dtype=np.int64)


def _edges(faces: list[list[int]], first_face: int) -> list[tuple[int, int, int, int]]:
    """The edges of one hull, as in `Hulls.edges`."""
    left = {(i, j): f for f, face in enumerate(faces, first_face) for i, j in zip(face, face[1:] + face[:1])}
    return [(i, j, f, left[j, i]) for (i, j), f in left.items() if i < j and (j, i) in left]


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
    vertices = shape.GetConvexHull().vertex_array()
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    center = (low + high) / 2.0
    _set(record, HULL, (0.0, 0.0, 0.0), (high - low) / 2.0, center)
    record["bound"] = np.linalg.norm(vertices - center, axis=1).max()
    record["first_vertex"], record["num_vertices"] = place[:2]
    record["first_face"], record["num_faces"] = place[2:4]
    record["first_edge"], record["num_edges"] = place[4:]
