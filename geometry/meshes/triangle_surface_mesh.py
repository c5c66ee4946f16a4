"""Surfaces made of triangles or of plane convex polygons, and functions on them that are linear within each face.

Vertices are measured and expressed in the mesh's frame M. A triangle (v0, v1, v2) is seen counter-clockwise from the
side to which its normal points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.meshes.arrays import (
    Array,
    as_scalars,
    bounding_box,
    checked_elements,
    checked_vertices,
    directions,
    element_at,
    lengths,
    scalar,
)


class SurfaceTriangle:
    """Three vertices of a mesh, by index.

    Raises:
        RuntimeError: an index is negative.
    """

    __slots__ = ("_vertices",)

    def __init__(self, v0: int, v1: int, v2: int) -> None:
        self._vertices = (int(v0), int(v1), int(v2))
        if min(self._vertices) < 0:
            raise RuntimeError(f"The vertices of a SurfaceTriangle must not be negative; given {self._vertices}.")

    def num_vertices(self) -> int:
        """Three."""
        return 3

    def vertex(self, i: int) -> int:
        """The index in the mesh of the triangle's vertex i = 0, 1, 2."""
        return element_at(self._vertices, i, "vertex", "this SurfaceTriangle")

    def __repr__(self) -> str:
        return f"SurfaceTriangle{self._vertices}"


class TriangleSurfaceMesh:
    """A mesh of triangles, which never changes.

    Args:
        triangles: SurfaceTriangles, or indices of vertices of shape [m, 3]; at least one.
        vertices: positions in M [m], of floats or AutoDiffXd, shape [n, 3].

    Raises:
        RuntimeError: there is no triangle, or one has a vertex that is not there.
        ValueError: the vertices have another shape.
    """

    __slots__ = ("_areas", "_normals", "_triangles", "_vertices")

    def __init__(self, triangles: Sequence[SurfaceTriangle] | NDArray[np.int64], vertices: ArrayLike) -> None:
        self._vertices = checked_vertices(vertices)
        self._triangles = checked_elements("TriangleSurfaceMesh", "triangle", triangles, 3, len(self._vertices))
        p0, p1, p2 = (self._vertices[self._triangles[:, i]] for i in range(3))
        # Twice the vector area of each triangle.
        cross = np.cross(p1 - p0, p2 - p0)
        length = lengths(cross)
        self._areas, self._normals = length / 2.0, directions(cross, length)

    def num_triangles(self) -> int:
        """The number of triangles."""
        return len(self._triangles)

    num_elements = num_triangles

    def num_vertices(self) -> int:
        """The number of vertices."""
        return len(self._vertices)

    def element(self, e: int) -> SurfaceTriangle:
        """Triangle e."""
        return SurfaceTriangle(*element_at(self._triangles, e, "triangle", "this TriangleSurfaceMesh"))

    def triangles(self) -> list[SurfaceTriangle]:
        """All triangles."""
        return [SurfaceTriangle(*triangle) for triangle in self._triangles.tolist()]

    def triangle_array(self) -> NDArray[np.int64]:
        """The vertices of all triangles by index, to be read only, shape [num_triangles, 3]."""
        return self._triangles

    def vertex(self, v: int) -> Array:
        """The position of vertex v in M [m], shape [3]."""
        return np.array(element_at(self._vertices, v, "vertex", "this TriangleSurfaceMesh"))

    def vertices(self) -> list[Array]:
        """The positions of all vertices in M [m], each of shape [3]."""
        return list(self._vertices.copy())

    def vertex_array(self) -> Array:
        """The positions of all vertices in M [m], to be read only, shape [num_vertices, 3]."""
        return self._vertices

    def area(self, t: int) -> Any:
        """The area of triangle t [m²]."""
        return scalar(element_at(self._areas, t, "triangle", "this TriangleSurfaceMesh"))

    def total_area(self) -> Any:
        """The area of all triangles [m²]."""
        return scalar(self._areas.sum())

    def face_normal(self, t: int) -> Array:
        """The unit normal of triangle t in M, shape [3]; zero if its area is."""
        return np.array(element_at(self._normals, t, "triangle", "this TriangleSurfaceMesh"))

    def element_centroid(self, t: int) -> Array:
        """The centroid of triangle t in M [m], shape [3]."""
        corners = element_at(self._triangles, t, "triangle", "this TriangleSurfaceMesh")
        return np.asarray(self._vertices[corners].mean(axis=0))

    def centroid(self) -> Array:
        """The centroid of the surface in M [m], shape [3]; zero if its area is."""
        area = self.total_area()
        if area == 0.0:
            return np.zeros(3)
        return np.asarray(self._areas @ self._vertices[self._triangles].mean(axis=1) / area)

    def CalcBoundingBox(self) -> tuple[Array, Array]:
        """The center and the size along the axes of M of the box around all vertices [m], each of shape [3]."""
        return bounding_box(self._vertices)

    def CalcBarycentric(self, p_MQ: ArrayLike, t: int) -> Array:
        """Returns the barycentric coordinates in triangle t of the projection of Q onto its plane.

        They sum to 1; some are negative if the projection lies outside.

        Args:
            p_MQ: position of Q in M [m], shape [3].
            t: the triangle.

        Returns:
            Coordinates, shape [3].
        """
        p0, p1, p2 = self._vertices[element_at(self._triangles, t, "triangle", "this TriangleSurfaceMesh")]
        e1, e2, q = p1 - p0, p2 - p0, as_scalars(p_MQ).reshape(3) - p0
        # The normal equations of e1 b1 + e2 b2 = q.
        g11, g12, g22 = e1 @ e1, e1 @ e2, e2 @ e2
        determinant = g11 * g22 - g12 * g12
        if not determinant > 0.0:  # without area: the smallest solution
            edges = np.stack([e1, e2], axis=1).astype(float)
            b1, b2 = np.linalg.lstsq(edges, q.astype(float), rcond=None)[0]
        else:
            b1 = (g22 * (e1 @ q) - g12 * (e2 @ q)) / determinant
            b2 = (g11 * (e2 @ q) - g12 * (e1 @ q)) / determinant
        return np.array([1.0 - b1 - b2, b1, b2])

    def CalcCartesianFromBarycentric(self, element_index: int, b_Q: ArrayLike) -> Array:
        """Returns p_MQ [m], shape [3], of the point with barycentric coordinates `b_Q`, shape [3], in a triangle."""
        corners = element_at(self._triangles, element_index, "triangle", "this TriangleSurfaceMesh")
        return np.asarray(as_scalars(b_Q).reshape(3) @ self._vertices[corners])

    def Equal(self, mesh: TriangleSurfaceMesh) -> bool:
        """Whether both have the same triangles and exactly the same vertices."""
        return np.array_equal(self._triangles, mesh._triangles) and np.array_equal(self._vertices, mesh._vertices)

    def __repr__(self) -> str:
        return f"<TriangleSurfaceMesh of {self.num_triangles()} triangles, {self.num_vertices()} vertices>"


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


class TriangleSurfaceMeshFieldLinear:
    """A function on a triangle mesh, given by its values at the vertices.

    Args:
        values: one for each vertex, shape [num_vertices].
        mesh: the mesh, in whose frame M positions are given.

    Raises:
        ValueError: there are more or fewer values than vertices.
    """

    __slots__ = ("_mesh", "_values")

    def __init__(self, values: ArrayLike, mesh: TriangleSurfaceMesh) -> None:
        self._values = _checked_values(values, mesh.num_vertices())
        self._mesh = mesh

    def EvaluateAtVertex(self, v: int) -> Any:
        """The value at vertex v."""
        return scalar(element_at(self._values, v, "vertex", "this field"))

    def Evaluate(self, e: int, b: ArrayLike) -> Any:
        """The value in triangle e at barycentric coordinates b, shape [3]."""
        corners = element_at(self._mesh.triangle_array(), e, "triangle", "this field")
        return scalar(as_scalars(b).reshape(3) @ self._values[corners])

    def EvaluateCartesian(self, e: int, p_MQ: ArrayLike) -> Any:
        """The value at the projection of point Q onto the plane of triangle e; p_MQ in M [m], shape [3]."""
        return self.Evaluate(e, self._mesh.CalcBarycentric(p_MQ, e))


class PolygonSurfaceMeshFieldLinear:
    """A function on a polygon mesh, given by its values at the vertices.

    Args:
        values: one for each vertex, shape [num_vertices].
        mesh: the mesh, in whose frame M positions are given.
        gradients: gradient within each polygon, in M, shape [num_faces, 3]; by default those in the planes of the
            polygons that fit the values best.

    Raises:
        ValueError: there are more or fewer values than vertices, or gradients than polygons.
    """

    __slots__ = ("_gradients", "_mesh", "_values")

    def __init__(self, values: ArrayLike, mesh: PolygonSurfaceMesh, gradients: ArrayLike | None = None) -> None:
        self._values = _checked_values(values, mesh.num_vertices())
        self._mesh = mesh
        if gradients is None:
            self._gradients = np.array([self._fit(f) for f in range(mesh.num_faces())]).reshape(-1, 3)
        else:
            self._gradients = as_scalars(gradients).reshape(-1, 3).copy()
        if len(self._gradients) != mesh.num_faces():
            raise ValueError(f"Expected a gradient for each of {mesh.num_faces()} polygons; given {gradients!r}.")

    def EvaluateAtVertex(self, v: int) -> Any:
        """The value at vertex v."""
        return scalar(element_at(self._values, v, "vertex", "this field"))

    def EvaluateGradient(self, e: int) -> Array:
        """The gradient within polygon e, in M, shape [3]."""
        return np.array(element_at(self._gradients, e, "polygon", "this field"))

    def EvaluateCartesian(self, e: int, p_MQ: ArrayLike) -> Any:
        """The value at point Q of the linear function of polygon e; p_MQ in M [m], shape [3]."""
        first = self._mesh.element(e).vertex(0)
        offset = as_scalars(p_MQ).reshape(3) - self._mesh.vertex(first)
        return scalar(self._values[first] + self.EvaluateGradient(e) @ offset)

    def _fit(self, face: int) -> Array:
        """The smallest gradient that fits the values at the corners best, which lies in their plane."""
        polygon = self._mesh.element(face)
        corners = [polygon.vertex(i) for i in range(polygon.num_vertices())]
        points = self._mesh.vertex_array()[corners]
        gradient = np.linalg.lstsq(points - points[0], self._values[corners] - self._values[corners[0]], rcond=1e-12)
        return np.asarray(gradient[0])


def _checked_values(values: ArrayLike, num_vertices: int) -> Array:
    array: Array = as_scalars(values).ravel().copy()
    if len(array) != num_vertices:
        raise ValueError(f"Expected a value for each of {num_vertices} vertices; given {len(array)}.")
    return array
