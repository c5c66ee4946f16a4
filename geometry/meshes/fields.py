"""Functions on a surface that are linear within each of its faces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from merganser.geometry.meshes.arrays import Array, as_scalars, element_at, scalar
from merganser.geometry.meshes.polygon_surface_mesh import PolygonSurfaceMesh
from merganser.geometry.meshes.triangle_surface_mesh import TriangleSurfaceMesh


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
