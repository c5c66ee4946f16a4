"""Convex hulls of points (Barber, Dobkin, Huhdanpaa 1996, The Quickhull algorithm for convex hulls)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.compiler.code_files import cache_directory
from merganser.framework.native.compiler.extending import import_whole
from merganser.framework.native.compiler.kept_files import keep, read_kept
from merganser.geometry.meshes.arrays import Array
from merganser.geometry.meshes.polygon_surface_mesh import PolygonSurfaceMesh

_LARGEST = 1e100  # distance of vertices from the origin along an axis [m]
_ITEM = 8  # bytes
_FLAT = 1e-9  # singular values below this share of the largest one are zero


def kept_hull(contents: bytes, make: Callable[[], PolygonSurfaceMesh]) -> PolygonSurfaceMesh:
    """A hull that is kept on the disk: to read large files and to import SciPy takes 0.4 s of a first step with meshes.

    Args:
        contents: bytes that identify the hull.
        make: makes it.
    """
    key = hashlib.sha256(contents).hexdigest()
    path = cache_directory("geometry") / f"{key[:32]}.hull"
    data = read_kept(path, key)
    if data is None:
        hull = make()
        face_data = np.array(hull.face_data(), dtype=np.int64)
        sizes = np.array([len(face_data), len(hull.vertex_array())], dtype=np.int64)
        keep(path, key, b"".join(array.tobytes() for array in (sizes, face_data, hull.vertex_array())))
        return hull
    (num_integers, num_vertices), start = np.frombuffer(data, np.int64, 2).tolist(), 2 * _ITEM
    face_data = np.frombuffer(data, np.int64, num_integers, start)
    vertices = np.frombuffer(data, np.float64, 3 * num_vertices, start + _ITEM * num_integers)
    return PolygonSurfaceMesh(face_data.tolist(), vertices.reshape(-1, 3).copy())


def convex_hull(points: Array, name: str) -> PolygonSurfaceMesh:
    """Returns the hull of points, with coplanar triangles joined to polygons.

    The hull of points in a plane has no volume: it is a pyramid whose tip lies in the middle of its base.

    Args:
        points: shape [n, 3].
        name: what messages call their origin.

    Raises:
        RuntimeError: there are fewer than three points, or all lie on a line.
    """
    if len(points) < 3:
        raise RuntimeError(f"The convex hull of '{name}' needs three or more vertices; there are {len(points)}.")
    if not np.isfinite(points).all():
        raise RuntimeError(f"The convex hull of '{name}' needs finite vertices; some are not.")
    if not np.abs(points).max() < _LARGEST:  # LAPACK does not return where squares overflow
        raise RuntimeError(f"The convex hull of '{name}' needs vertices nearer than {_LARGEST:g} m; some are not.")
    center = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - center, full_matrices=False)
    if not sizes[1] > _FLAT * sizes[0]:
        raise RuntimeError(f"The vertices of '{name}' all lie on a line, or in one point: they have no convex hull.")
    if sizes[2] > _FLAT * sizes[0]:
        return _solid_hull(points)
    tip = center + sizes[0] * axes[2]
    pyramid = _solid_hull(np.vstack([points, tip]))
    vertices = pyramid.vertex_array().copy()
    vertices[np.argmax((vertices - center) @ axes[2])] = center
    return PolygonSurfaceMesh(pyramid.face_data(), vertices)


def _solid_hull(points: Array) -> PolygonSurfaceMesh:
    spatial = import_whole("scipy.spatial")  # takes 0.4 s

    hull = spatial.ConvexHull(points)
    # Triangles into which a polygon has been cut all have exactly its plane.
    planes, which = np.unique(hull.equations, axis=0, return_inverse=True)
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(len(planes) + 1))
    used, renumbered = np.unique(hull.simplices, return_inverse=True)
    triangles = renumbered.reshape(-1, 3)
    vertices = points[used]
    # Most polygons are triangles: those need only be turned to face outwards.
    p0, p1, p2 = (vertices[triangles[:, i]] for i in range(3))
    is_inward = np.einsum("ti,ti->t", np.cross(p1 - p0, p2 - p0), hull.equations[:, :3]) < 0.0
    triangles[is_inward] = triangles[is_inward, ::-1]
    face_data: list[int] = []
    for i, (start, end) in enumerate(zip(starts.tolist(), starts[1:].tolist())):
        if end - start == 1:
            face_data += [3, *triangles[order[start]].tolist()]
        else:
            corners = np.unique(triangles[order[start:end]])
            face_data += [len(corners), *_around(planes[i, :3], vertices, corners)]
    return PolygonSurfaceMesh(face_data, vertices)


def _around(normal: Array, vertices: Array, corners: NDArray[np.int64]) -> list[int]:
    """The corners of a convex polygon, counter-clockwise around its normal."""
    offsets = vertices[corners] - vertices[corners].mean(axis=0)
    x = offsets[0]
    angles = np.arctan2(offsets @ np.cross(normal, x), offsets @ x)
    return [int(v) for v in corners[np.argsort(angles)]]
