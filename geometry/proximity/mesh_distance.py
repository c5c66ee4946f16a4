"""Signed distance of points to a closed triangle mesh, which need not be convex.

The nearest point lies on a triangle, an edge or a vertex; on which side of the surface the query point is tells the
angle-weighted pseudonormal there (Baerentzen and Aanaes 2005, Signed distance computation using the angle weighted
pseudonormal). The triangles are looked at all together, without a hierarchy: 10,000 of them take about 2 ms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MeshDistance"]

Array = NDArray[Any]

_MERGED = 1e-12  # vertices so close, of the size of the mesh, are one


class MeshDistance:
    """Signed distances to one mesh.

    Args:
        vertices: positions in M [m], shape [num_vertices, 3].
        triangles: vertices of each triangle, counter-clockwise seen from outside, shape [num_triangles, 3].

    Raises:
        RuntimeError: there are no triangles, or all of them are without area.
    """

    def __init__(self, vertices: Array, triangles: Array) -> None:
        vertices, triangles = np.asarray(vertices, np.float64), np.asarray(triangles, np.int64)
        corners = vertices[triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        lengths = np.linalg.norm(normals, axis=1)
        keep = lengths > 0.0
        if not keep.any():
            raise RuntimeError(f"A mesh of {len(triangles)} triangles, none of which has an area, has no inside.")
        self._corners = corners[keep]
        self._normals = normals[keep] / lengths[keep, None]
        self._set_pseudonormals(_merged(vertices)[triangles[keep]])

    def _set_pseudonormals(self, triangles: Array) -> None:
        """Sums normals over the triangles around each edge and, weighted by angles, around each vertex."""
        around_vertex = np.zeros((triangles.max() + 1, 3))
        edges: dict[tuple[int, int], Array] = {}
        for c in range(3):
            u = self._corners[:, (c + 1) % 3] - self._corners[:, c]
            v = self._corners[:, (c + 2) % 3] - self._corners[:, c]
            angle = np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), np.einsum("ni,ni->n", u, v))
            np.add.at(around_vertex, triangles[:, c], angle[:, None] * self._normals)
        keys = [[_edge(triangle, c) for c in range(3)] for triangle in triangles.tolist()]
        for key, normal in zip(keys, self._normals):
            for edge in key:
                edges[edge] = edges.get(edge, 0.0) + normal
        self._at_vertex = around_vertex[triangles]
        self._at_edge = np.array([[edges[edge] for edge in key] for key in keys])

    def __call__(self, p_MQ: Array) -> tuple[float, Array, Array]:
        """Returns the signed distance of a point Q [m], its gradient and the nearest point, both in M, shape [3]."""
        a, b, c = self._corners[:, 0], self._corners[:, 1], self._corners[:, 2]
        nearest, feature = _closest_on_triangles(a, b, c, p_MQ)
        v = p_MQ - nearest
        squares = np.einsum("ni,ni->n", v, v)
        t = int(squares.argmin())
        normal = self._pseudonormal(t, int(feature[t]))
        distance = float(np.sqrt(squares[t]))
        side = 1.0 if v[t] @ normal >= 0.0 else -1.0
        gradient = side * v[t] / distance if distance > 0.0 else normal / np.linalg.norm(normal)
        return side * distance, gradient, nearest[t]

    def _pseudonormal(self, t: int, feature: int) -> Array:
        """Feature 0: inside the triangle; 1, 2, 3: on the edge from corner 0, 1, 2; 4, 5, 6: at corner 0, 1, 2."""
        if feature == 0:
            return np.asarray(self._normals[t])
        return np.asarray(self._at_edge[t, feature - 1] if feature < 4 else self._at_vertex[t, feature - 4])


def _merged(vertices: Array) -> Array:
    """The number of each vertex, the same for vertices at the same place."""
    step = max(_MERGED * np.ptp(vertices, axis=0).max(), 1e-300)
    return np.unique(np.round(vertices / step), axis=0, return_inverse=True)[1].reshape(-1)


def _edge(triangle: list[int], c: int) -> tuple[int, int]:
    i, j = triangle[c], triangle[(c + 1) % 3]
    return (i, j) if i < j else (j, i)


def _closest_on_triangles(a: Array, b: Array, c: Array, p: Array) -> tuple[Array, Array]:
    """The nearest points of triangles, and on which of their features (Ericson 2005, sec. 5.1.5)."""
    ab, ac, bc = b - a, c - a, c - b
    ap, bp, cp = p - a, p - b, p - c

    def dots(u: Array, v: Array) -> Array:
        return np.asarray(np.einsum("ni,ni->n", u, v))

    d1, d2, d3, d4, d5, d6 = dots(ab, ap), dots(ac, ap), dots(ab, bp), dots(ac, bp), dots(ab, cp), dots(ac, cp)
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    with np.errstate(divide="ignore", invalid="ignore"):
        conditions = [
            (d1 <= 0) & (d2 <= 0),
            (d3 >= 0) & (d4 <= d3),
            (d6 >= 0) & (d5 <= d6),
            (vc <= 0) & (d1 >= 0) & (d3 <= 0),
            (vb <= 0) & (d2 >= 0) & (d6 <= 0),
            (va <= 0) & (d4 - d3 >= 0) & (d5 - d6 >= 0),
        ]
        total = va + vb + vc
        points = [
            a,
            b,
            c,
            a + (d1 / (d1 - d3))[:, None] * ab,
            a + (d2 / (d2 - d6))[:, None] * ac,
            b + ((d4 - d3) / ((d4 - d3) + (d5 - d6)))[:, None] * bc,
        ]
        inside = a + (vb / total)[:, None] * ab + (vc / total)[:, None] * ac
    which = np.select(conditions, range(1, 7), 0)
    nearest = np.where((which == 0)[:, None], inside, 0.0)
    for k, point in enumerate(points, 1):
        nearest = np.where((which == k)[:, None], point, nearest)
    return nearest, np.array([0, 4, 5, 6, 1, 3, 2])[which]
