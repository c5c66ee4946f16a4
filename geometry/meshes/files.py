"""Reads meshes from files: Wavefront .obj and legacy VTK of text here, all other formats by trimesh."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from merganser.geometry.mesh_source import MeshSource
from merganser.geometry.meshes.arrays import Array
from merganser.geometry.meshes.triangle_surface_mesh import TriangleSurfaceMesh
from merganser.geometry.meshes.volume_mesh import VolumeMesh
from merganser.geometry.meshes.wavefront import read_wavefront, read_wavefront_vertices

__all__ = ["ReadObjToTriangleSurfaceMesh", "read_surface_mesh", "read_vertices", "read_volume_mesh"]

_VTK_TETRAHEDRON = 10  # cell type of the VTK file format
_GLTF = (".gltf", ".glb")


def ReadObjToTriangleSurfaceMesh(
    filename: str | os.PathLike[str], scale: ArrayLike = 1.0, *, scale3: ArrayLike | None = None
) -> TriangleSurfaceMesh:
    """Returns the triangles of all objects in a Wavefront .obj file; polygons are cut into triangles.

    Args:
        filename: file name.
        scale: factor of all coordinates; or three, one for each axis.
        scale3: factor of each coordinate, by name, shape [3].

    Raises:
        RuntimeError: the file is no .obj file, does not exist, has no faces, or something in it is wrong.
    """
    source = MeshSource(filename)
    if source.extension() != ".obj":
        raise RuntimeError(f"ReadObjToTriangleSurfaceMesh() reads .obj files; given '{source.description()}'.")
    triangles, vertices = read_wavefront(source.read().decode(errors="replace"), source.description())
    return TriangleSurfaceMesh(triangles, vertices * np.asarray(scale if scale3 is None else scale3, dtype=np.float64))


def read_surface_mesh(source: MeshSource) -> TriangleSurfaceMesh:
    """Returns the triangles in a file of a surface, with z upwards, in the order of the file.

    Raises:
        RuntimeError: the file does not exist, cannot be read, or has no faces.
        ImportError: its format needs trimesh, which is missing.
    """
    if source.extension() == ".obj":
        triangles, vertices = read_wavefront(source.read().decode(errors="replace"), source.description())
    else:
        mesh = _trimesh(source)
        vertices, triangles = _upright(source, mesh.vertices), np.asarray(mesh.faces, dtype=np.int64)
    return TriangleSurfaceMesh(triangles, vertices)


def read_vertices(source: MeshSource) -> Array:
    """Returns the vertices in a file of a surface or volume, with z upwards, shape [n, 3]; raises as the others do."""
    if source.extension() == ".obj":
        return read_wavefront_vertices(source.read().decode(errors="replace"), source.description())
    if source.extension() == ".vtk":
        return read_volume_mesh(source).vertex_array()
    return _upright(source, _trimesh(source).vertices)


def read_volume_mesh(source: MeshSource) -> VolumeMesh:
    """Returns the tetrahedra in a legacy VTK file of text (file format versions before 5).

    The data set must be an UNSTRUCTURED_GRID whose cells are all tetrahedra.

    Raises:
        RuntimeError: there is no such file, or something else is in it.
    """
    name = source.description()
    if source.is_path() and not source.path().is_file():
        raise RuntimeError(f"The mesh file '{name}' could not be read: it does not exist.")
    lines = source.read().decode("ascii", errors="replace").splitlines()
    if len(lines) < 4 or not lines[0].startswith("# vtk") or lines[2].strip() != "ASCII":
        raise RuntimeError(f"The mesh file '{name}' is no legacy VTK file of text (# vtk DataFile ..., ASCII).")
    words = " ".join(lines[3:]).split()
    try:
        num_points = int(words[_after(words, "POINTS")])
        first = _after(words, "POINTS") + 2
        points = np.array(words[first : first + 3 * num_points], dtype=np.float64).reshape(num_points, 3)
        num_cells, num_words = int(words[_after(words, "CELLS")]), int(words[_after(words, "CELLS") + 1])
        first = _after(words, "CELLS") + 2
        cells = np.array(words[first : first + num_words], dtype=np.int64)
        first = _after(words, "CELL_TYPES") + 1
        types = np.array(words[first : first + num_cells], dtype=np.int64)
        if num_cells == 0 or (types != _VTK_TETRAHEDRON).any():
            raise ValueError("its cells are not all tetrahedra (type 10)")
        if not np.isfinite(points).all():
            raise ValueError("a point has a coordinate that is not finite")
        # Each cell is its number of corners and the corners.
        return VolumeMesh(cells.reshape(num_cells, 5)[:, 1:], points)
    except (ValueError, IndexError, RuntimeError, OverflowError) as error:
        raise RuntimeError(f"The mesh file '{name}' has no tetrahedral UNSTRUCTURED_GRID: {error}.") from error


def _after(words: list[str], keyword: str) -> int:
    return words.index(keyword) + 1


def _upright(source: MeshSource, vertices: Any) -> Array:
    """glTF has its y axis upwards, where we have z."""
    points = np.asarray(vertices, dtype=np.float64)
    if source.extension() in _GLTF:
        points = np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1)
    return points


class _SupportingFiles:
    """Gives trimesh the files that a mesh file refers to."""

    def __init__(self, source: MeshSource) -> None:
        self._source = source

    def get(self, name: str) -> bytes:
        return self._source.supporting_file(name)

    __getitem__ = get


def read_parts(source: MeshSource) -> list[tuple[Array, Any]]:
    """Returns the parts of a file of a surface that have materials of their own, as the file has them.

    Returns:
        For each part, its pose in the file, shape [4, 4], which may scale, and what trimesh calls a mesh.

    Raises:
        RuntimeError: the file does not exist, cannot be read, or has no faces.
        ImportError: trimesh is missing.
    """
    scene = _load(source, force="scene")
    placed = [scene.graph[node] for node in scene.graph.nodes_geometry]
    parts = [(np.asarray(X, dtype=np.float64), scene.geometry[name]) for X, name in placed]
    parts = [(X, part) for X, part in parts if len(getattr(part, "faces", ()))]
    if not parts:
        raise RuntimeError(f"The mesh file '{source.description()}' has no faces.")
    return parts


def _trimesh(source: MeshSource) -> Any:
    """What trimesh reads: an object with vertices [n, 3] and faces [m, 3]."""
    mesh = _load(source, force="mesh")
    if not len(getattr(mesh, "faces", ())):
        raise RuntimeError(f"The mesh file '{source.description()}' has no faces.")
    return mesh


def _load(source: MeshSource, force: str) -> Any:
    """What trimesh makes of a file: one 'mesh', or a 'scene' of its parts."""
    name, extension = source.description(), source.extension()
    try:
        import trimesh
    except ImportError as error:
        raise ImportError(
            f"Reading the mesh file '{name}' needs trimesh, which is not installed. Install the extra: "
            "pip install 'merganser[viz]'."
        ) from error
    contents = io.BytesIO(source.read())
    try:
        return trimesh.load(
            contents,
            file_type=extension[1:],
            resolver=_SupportingFiles(source),  # type: ignore[arg-type]
            force=force,
            process=False,
        )
    except Exception as error:  # trimesh lets the errors of its many readers pass
        raise RuntimeError(f"The mesh file '{name}' could not be read: {error}") from error
