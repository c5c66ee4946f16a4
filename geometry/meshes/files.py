"""Reads meshes from files: Wavefront .obj and VTK of text here, all other formats by trimesh.

Vertices come out in metres with z upwards: glTF has y upwards, and lengths in Collada files (.dae) are multiplied by
the <unit> that these name. The <up_axis> of Collada has no effect, as in the tools of ROS: files of robots have z
upwards, whatever they say.
"""

from __future__ import annotations

import importlib
import io
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.errors import nearest_names
from merganser.geometry.meshes.arrays import Array
from merganser.geometry.meshes.mesh_source import MeshSource, check_archive
from merganser.geometry.meshes.triangle_surface_mesh import TriangleSurfaceMesh
from merganser.geometry.meshes.volume_mesh import ConvertVolumeToSurfaceMesh, VolumeMesh


def read_wavefront(text: str, name: str, part: str = "") -> tuple[NDArray[np.int64], Array]:
    """Returns the triangles, shape [m, 3], and vertices, shape [n, 3], in the order of the file.

    Polygons are cut into triangles that do not overlap, if they are plane and simple, convex or not.

    Args:
        text: what is in the file.
        name: what messages call it.
        part: name of an object or group, whose faces alone are wanted; all if it is empty.

    Raises:
        RuntimeError: there are no faces, or a line is wrong, which the message names.
    """
    points: list[list[float]] = []
    faces: list[list[int]] = []
    parts: dict[str, str] = {"o": "", "g": ""}  # the object and group whose faces come next
    names: set[str] = set()  # of all parts
    for number, words in _statements(text):
        try:
            if words[0] == "v":
                points.append(_coordinates(words))
            elif words[0] == "f" and (not part or any(part in (name, *name.split()) for name in parts.values())):
                faces.append(_face(words, len(points)))
            elif words[0] in parts:
                parts[words[0]] = " ".join(words[1:])
                names.add(parts[words[0]])
        except ValueError as error:
            raise RuntimeError(f"The mesh file '{name}', line {number}: {error}.") from error
    if not faces and part:
        raise RuntimeError(f"The mesh file '{name}' has no part '{part}'. {nearest_names(part, names)}")
    if not faces:
        raise RuntimeError(f"The mesh file '{name}' has no faces.")
    last = max(map(max, faces))
    if last >= len(points):
        raise RuntimeError(f"The mesh file '{name}' has a face with vertex {last + 1} of {len(points)} vertices.")
    vertices = _vertices(points, name)
    triangles = [triangle for face in faces for triangle in _triangles(face, vertices)]
    return np.array(triangles, dtype=np.int64), vertices


def read_wavefront_vertices(text: str, name: str) -> Array:
    """Returns the vertices alone, shape [n, 3]; a RuntimeError names a line that is wrong.

    Of lines that are the same, as many files have where faces meet, there is one vertex.
    """
    numbers: dict[str, int] = {}
    for number, line in _lines(text):
        if line.lstrip().startswith(("v ", "v\t")):
            numbers.setdefault(line, number)
    points = []
    for line, number in numbers.items():
        try:
            points.append(_coordinates(line.split()))
        except ValueError as error:
            raise RuntimeError(f"The mesh file '{name}', line {number}: {error}.") from error
    return _vertices(points, name)


def wavefront_text(vertices: Array, triangles: NDArray[np.int64]) -> str:
    """Returns a file of vertices, shape [n, 3], to the last digit, and triangles, shape [m, 3]."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    return "\n".join([*lines, *(f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()), ""])


def _vertices(points: list[list[float]], name: str) -> Array:
    vertices = np.array(points, dtype=np.float64).reshape(-1, 3)
    if not np.isfinite(vertices).all():
        raise RuntimeError(f"The mesh file '{name}' has a vertex with a coordinate that is not finite.")
    return vertices


def _statements(text: str) -> Iterator[tuple[int, list[str]]]:
    """The words of lines that have any, with the numbers of these."""
    for number, line in _lines(text):
        words = line.split()
        if words:
            yield number, words


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without comments, and with those joined that end in a backslash."""
    pending, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if "#" in line:
            line = line.partition("#")[0]
        if "\\" in line and line.rstrip().endswith("\\"):
            pending, first = pending + line.rstrip()[:-1] + " ", first or number
            continue
        yield (first, pending + line) if first else (number, line)
        pending, first = "", 0


def _coordinates(words: list[str]) -> list[float]:
    if len(words) < 4:
        raise ValueError(f"a vertex needs three coordinates; given '{' '.join(words)}'")
    return [float(word) for word in words[1:4]]


def _face(words: list[str], num_points: int) -> list[int]:
    """The vertices of a face, counted from 0; in the file they count from 1, or backwards from the last one."""
    if len(words) < 4:
        raise ValueError(f"a face needs three vertices or more; given '{' '.join(words)}'")
    numbers = [int(word.partition("/")[0]) for word in words[1:]]
    indices = [number - 1 if number > 0 else num_points + number for number in numbers]
    if 0 in numbers or min(indices) < 0:
        raise ValueError(f"a face has a vertex that is not there; given '{' '.join(words)}'")
    return indices


def _triangles(face: list[int], vertices: Array) -> list[list[int]]:
    """Cuts a polygon into triangles: a quadrilateral along its shorter diagonal, others by clipping ears.

    An ear is a corner that is convex and whose triangle holds none of the other corners. (Meisters 1975, Polygons
    have ears, The American Mathematical Monthly 82.)
    """
    if len(face) == 3:
        return [face]
    p = vertices[face]
    normal = np.cross(p[:-1] - p[0], p[1:] - p[0]).sum(axis=0)
    rest = list(range(len(face)))
    triangles = []
    while len(rest) > 4 or (len(rest) == 4 and not _is_convex(p[rest], normal)):
        clipped = next((i for i in range(len(rest)) if _is_ear(p, rest, i, normal)), 1)
        triangles.append([rest[clipped - 1], rest[clipped], rest[(clipped + 1) % len(rest)]])
        del rest[clipped]
    if len(rest) == 4:
        a, b, c, d = rest
        if np.linalg.norm(p[c] - p[a]) < np.linalg.norm(p[d] - p[b]):
            triangles += [[a, b, c], [a, c, d]]
        else:
            triangles += [[a, b, d], [b, c, d]]
    else:
        triangles.append(rest)
    return [[face[i] for i in triangle] for triangle in triangles]


def _is_convex(p: Array, normal: Array) -> bool:
    edges = np.roll(p, -1, axis=0) - p
    return bool((np.cross(edges, np.roll(edges, -1, axis=0)) @ normal >= 0.0).all())


def _is_ear(p: Array, rest: list[int], i: int, normal: Array) -> bool:
    a, b, c = p[rest[i - 1]], p[rest[i]], p[rest[(i + 1) % len(rest)]]
    if np.cross(b - a, c - b) @ normal <= 0.0:
        return False
    others = p[[rest[(i + k) % len(rest)] for k in range(2, len(rest) - 1)]]
    sides = [np.cross(end - start, others - start) @ normal for start, end in ((a, b), (b, c), (c, a))]
    return not (np.min(sides, axis=0) >= 0.0).any()


_VTK_TETRAHEDRON = 10  # cell type of the VTK file format
_GLTF, _COLLADA = (".gltf", ".glb"), ".dae"
_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # from axes with y upwards to those with z
_UNIT = re.compile(rb"""<unit\b[^>]*\bmeter\s*=\s*["']\s*([0-9.eE+-]+)""")
_COMPRESSED = ("bz2", "tar.bz2", "tar.gz")  # formats of trimesh whose size is unknown until they are unpacked


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
    """Returns the triangles in a file of a surface, or the surface of a volume, in the order of the file.

    Raises:
        RuntimeError: the file does not exist, cannot be read, or has no faces.
        ImportError: its format needs a package that is missing.
    """
    if source.extension() == ".vtk":
        return ConvertVolumeToSurfaceMesh(read_volume_mesh(source))
    if source.extension() == ".obj":
        triangles, vertices = read_wavefront(source.read().decode(errors="replace"), source.description())
    else:
        vertices, triangles = _whole_mesh(source)
    return TriangleSurfaceMesh(triangles, vertices)


def read_named_surface_mesh(source: MeshSource, part: str) -> TriangleSurfaceMesh:
    """Returns the triangles of one part of a file: an object or group (.obj), or a node or mesh of its scene.

    Raises:
        RuntimeError: the file does not exist or cannot be read, or has no such part.
        ImportError: its format needs a package that is missing.
    """
    if source.extension() == ".obj":
        triangles, vertices = read_wavefront(source.read().decode(errors="replace"), source.description(), part)
    else:
        vertices, triangles = _named_part(source, part)
    used, renumbered = np.unique(triangles, return_inverse=True)
    return TriangleSurfaceMesh(renumbered.reshape(-1, 3), vertices[used])


def _named_part(source: MeshSource, part: str) -> tuple[Array, NDArray[np.int64]]:
    """Vertices and triangles of the nodes of a scene that have a name, or show a mesh of that name."""
    scene = _read_by_trimesh(source)
    placed = [(node, *scene.graph[node]) for node in scene.graph.nodes_geometry]
    found = _joined(source, [(X, scene.geometry[name]) for node, X, name in placed if part in (node, name)])
    if found is None:
        names = {str(name) for node, _, geometry in placed for name in (node, geometry)}
        raise RuntimeError(f"The mesh file '{source.description()}' has no part '{part}'. {nearest_names(part, names)}")
    return found


def _whole_mesh(source: MeshSource) -> tuple[Array, NDArray[np.int64]]:
    """Vertices and triangles of all that is in a file; looks are not read."""
    scene = _read_by_trimesh(source)
    placed = (scene.graph[node] for node in scene.graph.nodes_geometry)
    found = _joined(source, [(X, scene.geometry[name]) for X, name in placed])
    if found is None:
        raise RuntimeError(f"The mesh file '{source.description()}' has no faces.")
    return found


def _joined(source: MeshSource, placed: list[tuple[Any, Any]]) -> tuple[Array, NDArray[np.int64]] | None:
    """Vertices and triangles of meshes of trimesh with their poses; None if there are no triangles."""
    vertices, triangles, start = [], [], 0
    for X, mesh in placed:
        faces = np.asarray(getattr(mesh, "faces", ()), np.int64)
        if not len(faces):
            continue
        A = np.asarray(X, np.float64)
        with np.errstate(all="ignore"):  # what is not finite is found below
            vertices.append(np.asarray(mesh.vertices, np.float64) @ A[:3, :3].T + A[:3, 3])
        is_mirrored = np.linalg.det(A[:3, :3]) < 0.0
        triangles.append((faces[:, ::-1] if is_mirrored else faces) + start)
        start += len(mesh.vertices)
    return (_upright(source, np.concatenate(vertices)), np.concatenate(triangles)) if vertices else None


def read_vertices(source: MeshSource) -> Array:
    """Returns the vertices in a file of a surface or volume, shape [n, 3]; raises as the others do."""
    if source.extension() == ".obj":
        return read_wavefront_vertices(source.read().decode(errors="replace"), source.description())
    if source.extension() == ".vtk":
        return read_volume_mesh(source).vertex_array()
    return _whole_mesh(source)[0]


def read_volume_mesh(source: MeshSource) -> VolumeMesh:
    """Returns the tetrahedra in a VTK file of text.

    The data set must be an UNSTRUCTURED_GRID whose cells are all tetrahedra. Its cells may be those of versions 1 to 4,
    each a number of corners and the corners, or those of version 5, offsets and corners.

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
        corners = _corners_of_cells(words)
        first, num_cells = _after(words, "CELL_TYPES") + 1, len(corners)
        types = np.array(words[first : first + num_cells], dtype=np.int64)
        if num_cells == 0 or len(types) != num_cells or (types != _VTK_TETRAHEDRON).any():
            raise ValueError("its cells are not all tetrahedra (type 10)")
        if not np.isfinite(points).all():
            raise ValueError("a point has a coordinate that is not finite")
        return VolumeMesh(corners, points)
    except (ValueError, IndexError, RuntimeError, OverflowError) as error:
        raise RuntimeError(f"The mesh file '{name}' has no tetrahedral UNSTRUCTURED_GRID: {error}.") from error


def _corners_of_cells(words: list[str]) -> NDArray[np.int64]:
    """The corners of cells of four corners each, shape [n, 4]; a ValueError says that there are others."""
    start = _after(words, "CELLS")
    first, second = int(words[start]), int(words[start + 1])
    if "CONNECTIVITY" not in words:  # `second` words, for each of `first` cells the number of corners and the corners
        return np.array(words[start + 2 : start + 2 + second], dtype=np.int64).reshape(first, 5)[:, 1:]
    offsets, corners = _after(words, "OFFSETS") + 1, _after(words, "CONNECTIVITY") + 1
    if (np.diff(np.array(words[offsets : offsets + first], dtype=np.int64)) != 4).any():
        raise ValueError("its cells are not all tetrahedra (4 corners)")
    return np.array(words[corners : corners + second], dtype=np.int64).reshape(first - 1, 4)


def _after(words: list[str], keyword: str) -> int:
    return words.index(keyword) + 1


def _upright(source: MeshSource, vertices: Any) -> Array:
    """Vertices with z upwards, where glTF has y."""
    points = np.asarray(vertices, dtype=np.float64)
    if not np.isfinite(points).all():
        raise RuntimeError(f"The mesh file '{source.description()}' has a vertex with a coordinate that is not finite.")
    return points @ _Y_UP.T if source.extension() in _GLTF else points


class _SupportingFiles:
    """Gives trimesh the files that a mesh file refers to."""

    def __init__(self, source: MeshSource) -> None:
        self._source = source

    def get(self, name: str) -> bytes:
        """What is in a file; a RuntimeError says that it cannot be read, or may not be."""
        return self._source.supporting_file(name)

    __getitem__ = get


def read_parts(source: MeshSource) -> list[tuple[Array, Any]]:
    """Returns the parts of a file of a surface that have materials of their own.

    Returns:
        For each part, its pose in the whole, whose z axis is upwards, shape [4, 4], which may scale, and what trimesh
        calls a mesh.

    Raises:
        RuntimeError: the file does not exist, cannot be read, or has no faces.
        ImportError: trimesh is missing.
    """
    scene = _read_by_trimesh(source)
    placed = [scene.graph[node] for node in scene.graph.nodes_geometry]
    upright = np.eye(4)
    if source.extension() in _GLTF:
        upright[:3, :3] = _Y_UP
    parts = [(upright @ np.asarray(X, dtype=np.float64), scene.geometry[name]) for X, name in placed]
    parts = [(X, part) for X, part in parts if len(getattr(part, "faces", ()))]
    if not parts:
        raise RuntimeError(f"The mesh file '{source.description()}' has no faces.")
    return parts


def _read_by_trimesh(source: MeshSource) -> Any:
    """The scene that trimesh reads, with vertices in metres and otherwise as they are in the file.

    Raises:
        RuntimeError: the file does not exist, is empty, is of a format that is not read, or cannot be read.
        ImportError: trimesh is missing, or for .dae files pycollada.
    """
    name, extension = source.description(), source.extension()
    trimesh = _import("trimesh", name)
    if extension == _COLLADA:
        _import("collada", name)
    contents = source.read()
    check_archive(contents, name)
    if extension[1:] not in trimesh.available_formats() - set(_COMPRESSED):
        raise RuntimeError(
            f"The mesh file '{name}' could not be read: '{extension}' is no format that is read. Convert it to .obj, "
            ".gltf, .glb, .stl or .dae."
        )
    try:
        found = trimesh.load(
            io.BytesIO(contents),
            file_type=extension[1:],
            resolver=_SupportingFiles(source),
            force="scene",
            process=False,
        )
        unit = _UNIT.search(contents) if extension == _COLLADA else None
        if unit is not None and float(unit.group(1)) not in (0.0, 1.0):
            found.apply_scale(float(unit.group(1)))
    except Exception as error:  # trimesh lets the errors of its many readers pass
        raise RuntimeError(f"The mesh file '{name}' could not be read: {error}") from error
    return found


_PACKAGES = {"trimesh": "trimesh", "collada": "pycollada"}  # by the names of their modules


def _import(module: str, file: str) -> Any:
    """A package that reads meshes."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"Reading the mesh file '{file}' needs {_PACKAGES[module]}, which is not installed. Install the extra: "
            "pip install 'merganser[viz]'."
        ) from error
