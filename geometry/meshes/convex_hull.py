"""Convex hulls of points (Barber, Dobkin, Huhdanpaa 1996, The Quickhull algorithm for convex hulls).

And convex pieces that together are nearly a mesh, by the package coacd (Wei, Liu, Ling, Su 2022, Approximate convex
decomposition for 3D meshes with collision-aware concavity and tree search, ACM Transactions on Graphics 41). A mesh
takes seconds to minutes, so the pieces are kept in files.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.saving import saved
from merganser.framework.native.compiler.code_files import cache_directory
from merganser.framework.native.compiler.extending import import_whole
from merganser.framework.native.compiler.kept_files import keep, read_kept
from merganser.geometry.meshes.arrays import Array
from merganser.geometry.meshes.triangle_surface_mesh import PolygonSurfaceMesh, TriangleSurfaceMesh

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


_THRESHOLD = 0.05  # concavity of a piece that is convex enough, of its size


def convex_pieces(mesh: TriangleSurfaceMesh, max_pieces: int = 0) -> list[TriangleSurfaceMesh]:
    """Returns convex meshes that together are nearly a mesh.

    The pieces are kept in `merganser/convex_pieces` of `$XDG_CACHE_HOME` (`~/.cache`), by what is in the mesh.

    Args:
        mesh: the mesh.
        max_pieces: how many there may be; 0 for as many as it takes to come within 5 % of the mesh.

    Raises:
        ImportError: the package coacd is missing, and the pieces are not kept.
        RuntimeError: the mesh cannot be divided.
    """
    vertices, triangles = mesh.vertex_array(), mesh.triangle_array()
    digest = hashlib.sha256(f"1 {_THRESHOLD} {max_pieces} {len(vertices)} ".encode())
    digest.update(vertices.tobytes() + triangles.tobytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "merganser", "convex_pieces")
    file = cache / f"{digest.hexdigest()}.npz"
    pieces = _load(file)
    if pieces is None:
        pieces = _divide(vertices, triangles, max_pieces)
        _save(file, pieces)
    return [TriangleSurfaceMesh(corners, points) for points, corners in pieces]


_Pieces = list[tuple[NDArray[Any], NDArray[Any]]]


def _divide(vertices: NDArray[Any], triangles: NDArray[Any], max_pieces: int) -> _Pieces:
    try:
        import coacd
    except ImportError as error:
        raise ImportError(
            "Dividing a mesh into convex pieces needs coacd, which is not installed. Install the extra: "
            "pip install 'merganser[decompose]'."
        ) from error
    coacd.set_log_level("error")
    # It measures concavity in a box of size 2: what it is given may have any size, but not that of atoms or planets.
    with np.errstate(over="ignore"):
        size = float(np.ptp(vertices[triangles].reshape(-1, 3), axis=0).max())
    if not 0.0 < size < np.inf:  # it would end the process
        raise RuntimeError(f"The mesh cannot be divided into convex pieces: its size is {size:g}.")
    try:
        found = coacd.run_coacd(
            coacd.Mesh(vertices / size, triangles.astype(np.int32)),
            threshold=_THRESHOLD,
            max_convex_hull=max_pieces or -1,
            seed=0,
        )
    except Exception as error:
        raise RuntimeError(f"The mesh cannot be divided into convex pieces: {error}") from error
    pieces = [(np.asarray(p, np.float64) * size, np.asarray(corners, np.int64)) for p, corners in found if len(corners)]
    if not pieces:
        raise RuntimeError("The mesh cannot be divided into convex pieces: coacd found none.")
    return pieces


def _load(file: Path) -> _Pieces | None:
    """The pieces in a file; None without a file, or if something else is in it."""
    import zipfile

    try:
        with np.load(file, allow_pickle=False) as kept:
            return [(kept[f"points_{i}"], kept[f"corners_{i}"]) for i in range(int(kept["count"]))]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def _save(file: Path, pieces: _Pieces) -> None:
    """Keeps pieces, if the folder can be written to."""
    arrays: dict[str, Any] = {"count": len(pieces)}
    for i, (points, corners) in enumerate(pieces):
        arrays[f"points_{i}"], arrays[f"corners_{i}"] = points, corners
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with saved(file) as part:
            np.savez_compressed(part, **arrays)
    except OSError:
        pass
