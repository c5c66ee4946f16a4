"""A surface made of triangles.

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
