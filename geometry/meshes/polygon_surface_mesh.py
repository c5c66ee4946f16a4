"""A surface made of plane convex polygons, as a convex hull is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.meshes.arrays import (
    Array,
    bounding_box,
    checked_vertices,
    directions,
    element_at,
    lengths,
    scalar,
)


class SurfacePolygon:
    """A polygon of a PolygonSurfaceMesh: its vertices by index, counter-clockwise around its normal."""

    __slots__ = ("_vertices",)

    def __init__(self, vertices: Sequence[int]) -> None:
        self._vertices = tuple(int(v) for v in vertices)

    def num_vertices(self) -> int:
        """The number of vertices."""
        return len(self._vertices)

    def vertex(self, i: int) -> int:
        """The index in the mesh of the polygon's vertex i."""
        return int(element_at(self._vertices, i, "vertex", "this SurfacePolygon"))

    def __repr__(self) -> str:
        return f"SurfacePolygon{self._vertices}"


class PolygonSurfaceMesh:
    """A mesh of polygons, which never changes; empty if nothing is given.

    Args:
        face_data: for each polygon the number of its vertices, then their indices, counter-clockwise around the
            normal: [3, 0, 1, 2, 4, ...].
        vertices: positions in the mesh's frame M [m], shape [n, 3].

    Raises:
        RuntimeError: `face_data` ends within a polygon, or a polygon has fewer than 3 vertices, or one that is not
            there.
        ValueError: the vertices have another shape.
    """

    __slots__ = ("_areas", "_centroids", "_face_data", "_faces", "_normals", "_triangles", "_vertices")

    def __init__(self, face_data: Sequence[int] = (), vertices: ArrayLike = ()) -> None:
        self._vertices = checked_vertices(vertices)
        self._face_data = [int(i) for i in face_data]
        self._faces = _split(self._face_data, len(self._vertices))
        fans = [(face[0], face[i], face[i + 1]) for face in self._faces for i in range(1, len(face) - 1)]
        self._triangles = np.array(fans, dtype=np.int64).reshape(-1, 3)
        self._measure()

    def num_faces(self) -> int:
        """The number of polygons."""
        return len(self._faces)

    num_elements = num_faces

    def num_vertices(self) -> int:
        """The number of vertices."""
        return len(self._vertices)

    def face_data(self) -> list[int]:
        """The polygons as given to the constructor."""
        return list(self._face_data)

    def element(self, e: int) -> SurfacePolygon:
        """Polygon e."""
        return SurfacePolygon(self._at(self._faces, e))

    def vertex(self, v: int) -> Array:
        """The position of vertex v in M [m], shape [3]."""
        return np.array(element_at(self._vertices, v, "vertex", "this PolygonSurfaceMesh"))

    def vertex_array(self) -> Array:
        """The positions of all vertices in M [m], to be read only, shape [num_vertices, 3]."""
        return self._vertices

    def area(self, f: int) -> Any:
        """The area of polygon f [m²]."""
        return scalar(self._at(self._areas, f))

    def total_area(self) -> Any:
        """The area of all polygons [m²]."""
        return scalar(self._areas.sum())

    def face_normal(self, f: int) -> Array:
        """The unit normal of polygon f in M, shape [3]; zero if its area is."""
        return np.array(self._at(self._normals, f))

    def element_centroid(self, e: int) -> Array:
        """The centroid of polygon e in M [m], shape [3]."""
        return np.array(self._at(self._centroids, e))

    def centroid(self) -> Array:
        """The centroid of the surface in M [m], shape [3]; zero if its area is."""
        area = self.total_area()
        return np.asarray(self._areas @ self._centroids / area) if area > 0.0 else np.zeros(3)

    def CalcBoundingBox(self) -> tuple[Array, Array]:
        """The center and the size along the axes of M of the box around all vertices [m], each of shape [3]."""
        return bounding_box(self._vertices)

    def Equal(self, mesh: PolygonSurfaceMesh) -> bool:
        """Whether both have the same polygons and exactly the same vertices."""
        return self._face_data == mesh._face_data and np.array_equal(self._vertices, mesh._vertices)

    def triangle_array(self) -> NDArray[np.int64]:
        """All polygons cut into triangles from their first vertices; shape [num_triangles, 3]."""
        return self._triangles

    def corner_arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each polygon the number of its vertices; and their indices, one polygon after the other."""
        lengths = np.array([len(face) for face in self._faces], dtype=np.int64)
        return lengths, np.array([vertex for face in self._faces for vertex in face], dtype=np.int64)

    def normal_array(self) -> Array:
        """The unit normals of all polygons in M, to be read only, shape [num_faces, 3]."""
        return self._normals

    def _measure(self) -> None:
        """Computes areas, normals and centroids of all polygons from the triangles into which they are cut."""
        num_triangles = np.array([len(face) - 2 for face in self._faces], dtype=np.int64)
        starts = np.cumsum(num_triangles) - num_triangles
        p0, p1, p2 = (self._vertices[self._triangles[:, i]] for i in range(3))
        cross = np.cross(p1 - p0, p2 - p0)
        vector = np.add.reduceat(cross, starts) if len(starts) else np.zeros((0, 3))
        length = lengths(vector)
        self._areas, self._normals = length / 2.0, directions(vector, length)
        weights = (cross * np.repeat(self._normals, num_triangles, axis=0)).sum(axis=1)
        moments = weights[:, None] * (p0 + p1 + p2) / 3.0
        self._centroids = np.zeros_like(vector)
        if len(starts):
            self._centroids = np.add.reduceat(moments, starts) / np.where(length > 0.0, length, 1.0)[:, None]
        for face in np.flatnonzero(length == 0.0):
            self._centroids[face] = self._vertices[self._faces[face]].mean(axis=0)

    def _at(self, values: Any, face: int) -> Any:
        return element_at(values, face, "polygon", "this PolygonSurfaceMesh")

    def __repr__(self) -> str:
        return f"<PolygonSurfaceMesh of {self.num_faces()} polygons, {self.num_vertices()} vertices>"


def _split(face_data: list[int], num_vertices: int) -> list[list[int]]:
    """The vertices of each polygon."""
    faces: list[list[int]] = []
    start = 0
    while start < len(face_data):
        end = start + 1 + face_data[start]
        face = face_data[start + 1 : end]
        if face_data[start] < 3 or end > len(face_data):
            raise RuntimeError(
                f"PolygonSurfaceMesh: polygon {len(faces)} has {face_data[start]} vertices according to "
                f"face_data[{start}], and {len(face)} follow; it needs three or more, and all of them."
            )
        if not all(0 <= v < num_vertices for v in face):
            raise RuntimeError(
                f"PolygonSurfaceMesh: polygon {len(faces)} has the vertices {face}; there are {num_vertices} "
                "vertices, counted from 0."
            )
        faces.append(face)
        start = end
    return faces
