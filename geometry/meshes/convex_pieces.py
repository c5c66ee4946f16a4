"""Convex pieces that together are nearly a mesh, by the package coacd.

(Wei, Liu, Ling, Su 2022, Approximate convex decomposition for 3D meshes with collision-aware concavity and tree search,
ACM Transactions on Graphics 41.) A mesh takes seconds to minutes, so the pieces are kept in files.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.saving import saved
from merganser.geometry.meshes.triangle_surface_mesh import TriangleSurfaceMesh

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
