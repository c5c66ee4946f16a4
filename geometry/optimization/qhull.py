"""Convex hulls of points, and vertices of half-spaces that have an inside, by Qhull (Barber, Dobkin, Huhdanpaa 1996).

Qhull works in at least two dimensions; in one, the least and the greatest coordinate say everything.
"""

from __future__ import annotations

__all__ = ["corners", "hull_rows", "hull_volume", "outward_triangles", "rows_to_vertices"]

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.geometry.optimization.arguments import Array


def _hull(points: Array, where: str) -> Any:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(points.T)
    except QhullError as error:
        message = str(error).strip().splitlines()[0]
        raise RuntimeError(f"{where}: Qhull finds no hull of {points.shape[1]} points: {message}") from error


def corners(points: Array, where: str) -> npt.NDArray[np.intp]:
    """Which of points that span their space are vertices of their hull.

    Args:
        points: shape [r, m].
        where: for errors.

    Returns:
        Indices; in the plane they go round clockwise, and begin at the negative x axis as it is seen from the middle.
    """
    if points.shape[0] == 0:
        return np.zeros(1, dtype=np.intp)
    if points.shape[0] == 1:
        return np.array([points[0].argmin(), points[0].argmax()])
    indices = np.asarray(_hull(points, where).vertices, dtype=np.intp)
    if points.shape[0] == 2:
        x, y = points[:, indices] - points[:, indices].mean(axis=1, keepdims=True)
        indices = indices[np.argsort(-np.arctan2(y, x))]
    return indices


def hull_rows(points: Array, where: str) -> tuple[Array, Array]:
    """Rows A x <= b of the hull of points that span their space of dimension r > 0, shapes [k, r] and [k]."""
    if points.shape[0] == 1:
        return np.array([[1.0], [-1.0]]), np.array([points.max(), -points.min()])
    equations = np.unique(np.round(_hull(points, where).equations, 14), axis=0)
    return equations[:, :-1], -equations[:, -1]


def hull_volume(points: Array, where: str) -> float:
    """The volume of the hull of points that span their space of dimension r > 0."""
    return float(np.ptp(points)) if points.shape[0] == 1 else float(_hull(points, where).volume)


def rows_to_vertices(A: Array, b: Array, inside: Array, where: str) -> Array:
    """The vertices of a bounded polyhedron A x <= b around a point inside of it, shape [r, num_vertices]."""
    if A.shape[1] == 1:
        limits = b / A[:, 0]
        return np.array([[limits[A[:, 0] < 0.0].max(), limits[A[:, 0] > 0.0].min()]])
    found = _intersections(A, b, inside, where)
    # Where more than r faces meet, Qhull finds their vertex several times.
    scale = max(float(np.abs(found).max()), 1e-300)
    _, first = np.unique(np.round(found / scale, 9), axis=1, return_index=True)
    return np.asarray(found[:, np.sort(first)])


def _intersections(A: Array, b: Array, inside: Array, where: str) -> Array:
    """Vertices, some of them several times, shape [r, num_vertices]."""
    from scipy.spatial import HalfspaceIntersection, QhullError

    # Of 20 random points in 6 dimensions, 20 faces and more meet in each vertex. Facets that are merged as they come
    # (C-0) are found in all of such cases that were tried; those merged in the end (Qx, by default) in one of three.
    message = ""
    for options in ("H C-0", "H Q12"):
        try:
            found = HalfspaceIntersection(np.column_stack((A, -b)), inside, qhull_options=options).intersections.T
        except QhullError as error:
            message = str(error).strip().splitlines()[0]
            continue
        return np.asarray(found)
    raise RuntimeError(f"{where}: Qhull finds no vertices of {b.size} half-spaces: {message}")


def outward_triangles(points: Array, where: str) -> list[list[int]]:
    """Triangles of the hull of points in space, by indices that go round counter-clockwise as seen from outside."""
    hull = _hull(points, where)
    triangles: list[list[int]] = []
    for face, equation in zip(hull.simplices.tolist(), hull.equations):
        a, b, c = points[:, face].T
        triangles.append(face if np.cross(b - a, c - a) @ equation[:3] > 0.0 else face[::-1])
    return triangles
