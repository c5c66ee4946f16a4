"""Reads the corners of triangles and tetrahedra from mesh files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["hull_triangles", "read_points", "read_tetrahedra", "read_triangles"]

Array = npt.NDArray[Any]

_VTK_TETRAHEDRON = 10  # cell type of the VTK file format


def read_triangles(path: Path) -> Array:
    """Returns the corners of the triangles in a surface mesh file, shape [n, 3, 3].

    Raises:
        RuntimeError: if the file cannot be read.
        ImportError: if trimesh is missing.
    """
    mesh = _trimesh(path)
    return np.asarray(mesh.vertices, dtype=np.float64)[np.asarray(mesh.faces)]


def read_points(path: Path) -> Array:
    """Returns the vertices in a mesh file, shape [n, 3]; raises as read_triangles does."""
    if path.suffix.lower() == ".vtk":
        return read_tetrahedra(path).reshape(-1, 3)
    points = np.asarray(_trimesh(path).vertices, dtype=np.float64)
    if path.suffix.lower() in (".gltf", ".glb"):  # their y axis points up, our z axis
        points = points @ np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    return points


def hull_triangles(points: Array, name: str) -> Array:
    """Returns the corners of the triangles around a set of points, counter-clockwise from outside, shape [n, 3, 3].

    Args:
        points: shape [n, 3].
        name: what the error message calls their origin.

    Raises:
        ValueError: if the points lie in a plane.
    """
    from scipy.spatial import ConvexHull, QhullError  # takes 0.4 s to import

    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError) as error:
        raise ValueError(f"The convex hull of {name} has no volume: {len(points)} points, all in one plane.") from error
    triangles = points[hull.simplices]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    inward = np.einsum("ni,ni->n", normals, hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward, ::-1]
    return triangles


def _trimesh(path: Path) -> Any:
    try:
        import trimesh
    except ImportError as error:
        raise ImportError(
            f"Reading the mesh file '{path}' needs trimesh, which is not installed. Install the extra: "
            "pip install 'merganser[viz]'."
        ) from error
    if not path.is_file():
        raise RuntimeError(f"The mesh file '{path}' does not exist.")
    try:
        mesh = trimesh.load(path, force="mesh", process=False)
    except Exception as error:  # trimesh lets the errors of its many readers pass
        raise RuntimeError(f"The mesh file '{path}' could not be read: {error}") from error
    if not len(getattr(mesh, "faces", ())):
        raise RuntimeError(f"The mesh file '{path}' has no faces.")
    return mesh


def read_tetrahedra(path: Path) -> Array:
    """Returns the corners of the tetrahedra in a legacy VTK file of text, shape [n, 4, 3].

    The data set must be an UNSTRUCTURED_GRID whose cells are all tetrahedra (file format versions before 5).

    Raises:
        RuntimeError: if there is no such file, or something else is in it.
    """
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError as error:
        raise RuntimeError(f"The mesh file '{path}' could not be read: {error}.") from error
    if len(lines) < 4 or not lines[0].startswith("# vtk") or lines[2].strip() != "ASCII":
        raise RuntimeError(f"The mesh file '{path}' is no legacy VTK file of text (# vtk DataFile ..., ASCII).")
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
        return points[cells.reshape(num_cells, 5)[:, 1:]]  # each cell is its number of corners and the corners
    except (ValueError, IndexError) as error:
        raise RuntimeError(f"The mesh file '{path}' has no tetrahedral UNSTRUCTURED_GRID: {error}.") from error


def _after(words: list[str], keyword: str) -> int:
    return words.index(keyword) + 1
