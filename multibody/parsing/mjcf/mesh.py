"""Mesh assets of MJCF files: STL, OBJ and MSH files, or vertices and faces in the document.

Primitives that MJCF files fit to meshes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import InMemoryMesh, MemoryFile, Mesh, MeshSource
from merganser.geometry.meshes import convex_hull, read_surface_mesh, read_vertices, wavefront_text
from merganser.multibody.parsing.errors import located
from merganser.multibody.parsing.mjcf.mass import MassProperties, mesh_mass
from merganser.multibody.parsing.mjcf.pose import read_quaternion
from merganser.multibody.parsing.mjcf.source import MjcfSource
from merganser.multibody.parsing.xml_reader import XmlNode

_ENDINGS = (".stl", ".obj", ".msh")
_INERTIAS = ("convex", "exact", "legacy", "shell")
_STL_HEADER, _STL_TRIANGLE = 84, 50  # bytes


@dataclass(frozen=True, eq=False)
class MjcfMesh:
    """A mesh M, in the frame of the geometry G that shows it.

    Attributes:
        node: the asset.
        triangles: corners in G [m], shape [n, 3, 3].
        source: the file, or the mesh in memory.
        scale: of the vertices in it.
        X_GM: pose of the scaled vertices in G.
    """

    node: XmlNode
    triangles: np.ndarray
    source: Path | InMemoryMesh
    scale: tuple[float, float, float]
    X_GM: RigidTransform

    def mass(self) -> MassProperties:
        """Mass properties in G for density 1; a ParsingError if there is no volume."""
        kind = self.node.attributes.get("inertia", "legacy")
        self.node.expect_one_of(kind, _INERTIAS, "value of attribute 'inertia' of <mesh>")
        triangles = self.triangles
        if kind == "convex":
            vertices, faces = _hull(self.node, triangles.reshape(-1, 3))
            triangles = vertices[faces]
        mass = mesh_mass(triangles, kind)
        if not np.isfinite([mass.mass, *mass.p_SoScm_S, *mass.I_SScm_S.ravel()]).all():
            raise self.node.error(f"{self.node.describe()} is too large to compute with.")
        if not mass.mass > 0.0:
            what = "area" if kind == "shell" else "volume"
            raise self.node.error(f"{self.node.describe()} has no {what}, from which a mass could follow.")
        return mass

    @property
    def is_shell(self) -> bool:
        """Whether its mass is on its surface."""
        return self.node.attributes.get("inertia") == "shell"


def read_mesh(node: XmlNode, source: MjcfSource) -> MjcfMesh:
    """Reads a mesh asset.

    Args:
        node: the <mesh>.
        source: the document.

    Raises:
        ParsingError: the file is missing or no mesh, or the vertices or faces are wrong.
    """
    for name in ("builtin", "plugin"):
        if name in node.attributes or node.find(name) is not None:
            raise node.error(f"{node.describe()} is made by a {name}, which is not supported; use a file or vertices.")
    scale = node.vector_attribute("scale", 3, [1.0, 1.0, 1.0])
    if not scale.all():
        raise node.error(f"{node.describe()} has the scale {scale.tolist()}; factors cannot be zero.")
    if "file" in node.attributes:
        path = source.file(node, node.attributes["file"], source.settings.mesh_folder, _ENDINGS)
        with located(node.location):
            vertices, faces = _read_file(path)
    else:
        path = None
        vertices, faces = _read_elements(node)
    p_ref = node.vector_attribute("refpos", 3, [0.0, 0.0, 0.0])
    R_GM = RotationMatrix(read_quaternion(node, "refquat")).inverse()
    points = (vertices - p_ref) * scale @ R_GM.matrix().T
    if not np.isfinite(points).all():
        raise node.error(f"{node.describe()} has vertices too far away to compute with.")
    X_GM = RigidTransform(R_GM, -(R_GM @ (p_ref * scale)))
    factors = (float(scale[0]), float(scale[1]), float(scale[2]))
    is_readable = path is not None and path.suffix.lower() != ".msh"
    shown = path if path and is_readable else _in_memory(vertices, faces, node.attributes.get("name", "mesh"))
    with located(node.location):
        Mesh(shown, scale3=scale)  # refuses factors that are too small
    return MjcfMesh(node, points[faces], shown, factors, X_GM)


def _in_memory(vertices: np.ndarray, faces: np.ndarray, name: str) -> InMemoryMesh:
    return InMemoryMesh(mesh_file=MemoryFile(wavefront_text(vertices, faces), ".obj", name))


def _read_file(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices, in the single precision in which MuJoCo has them, shape [n, 3], and faces, shape [m, 3]."""
    ending = path.suffix.lower()
    if ending == ".obj":
        vertices, faces = _read_obj(path)
    else:
        vertices, faces = (_read_stl if ending == ".stl" else _read_msh)(path.read_bytes(), path)
    if not np.isfinite(vertices).all():
        raise RuntimeError(f"The mesh file '{path}' has a vertex with a coordinate that is not finite.")
    return np.asarray(vertices, dtype=np.float32).astype(np.float64), faces


def _read_obj(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A Wavefront file; the hull of its vertices, if there are no faces in it."""
    source = MeshSource(path)
    if not re.search(rb"^\s*f\s", source.read(), re.MULTILINE):
        return _hull_of(read_vertices(source), str(path))
    mesh = read_surface_mesh(source)
    return mesh.vertex_array(), mesh.triangle_array()


def _read_stl(data: bytes, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A binary STL file."""
    count = int.from_bytes(data[80:_STL_HEADER], "little") if len(data) >= _STL_HEADER else -1
    if count < 1 or len(data) != _STL_HEADER + count * _STL_TRIANGLE:
        raise RuntimeError(
            f"The mesh file '{path}' is not a binary STL file: {len(data)} bytes, expected {_STL_HEADER} and "
            f"{_STL_TRIANGLE} for each triangle."
        )
    records = np.frombuffer(data, dtype=np.uint8, offset=_STL_HEADER).reshape(count, _STL_TRIANGLE)
    corners = records[:, 12:48].copy().view("<f4").reshape(-1, 3)
    vertices, faces = np.unique(corners, axis=0, return_inverse=True)
    return vertices, faces.reshape(-1, 3)


def _read_msh(data: bytes, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A file of MuJoCo's own format: four numbers of things, then vertices, normals, texture coordinates, faces."""
    if len(data) < 16:
        raise RuntimeError(f"The mesh file '{path}' is no MSH file: it has only {len(data)} bytes.")
    num_vertices, num_normals, num_texture, num_faces = np.frombuffer(data, "<i4", 4).tolist()
    numbers = (num_vertices, num_normals, num_texture, num_faces)
    size = 16 + 12 * (num_vertices + num_normals + num_faces) + 8 * num_texture
    if num_vertices < 4 or min(numbers) < 0 or size != len(data):
        raise RuntimeError(f"The mesh file '{path}' is no MSH file: {len(data)} bytes, but its numbers are {numbers}.")
    vertices = np.frombuffer(data, "<f4", 3 * num_vertices, 16).reshape(-1, 3).astype(np.float64)
    if not num_faces:
        return _hull_of(vertices, str(path))
    faces = np.frombuffer(data, "<i4", 3 * num_faces, size - 12 * num_faces).reshape(-1, 3).astype(np.int64)
    if faces.min() < 0 or faces.max() >= num_vertices:
        raise RuntimeError(f"The mesh file '{path}' has a face with a vertex that is not there.")
    return vertices, faces


def _read_elements(node: XmlNode) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces in attributes; the convex hull, if there are no faces."""
    words = node.attributes.get("vertex", "").split()
    if len(words) < 12 or len(words) % 3:
        raise node.error(f"{node.describe()} has {len(words)} numbers in 'vertex', expected 3 for each of 4 or more.")
    vertices = node.vector_attribute("vertex", len(words)).reshape(-1, 3).astype(np.float32).astype(np.float64)
    words = node.attributes.get("face", "").split()
    if not words:
        return _hull(node, vertices)
    faces = node.vector_attribute("face", len(words))
    if len(faces) % 3 or (faces != np.floor(faces)).any() or faces.min() < 0 or faces.max() >= len(vertices):
        raise node.error(f"{node.describe()} has faces that are not triples of 0 to {len(vertices) - 1}.")
    return vertices, faces.astype(np.int64).reshape(-1, 3)


def _hull(node: XmlNode, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with located(node.location):
        return _hull_of(vertices, node.describe())


def _hull_of(vertices: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The triangles of the convex hull, counter-clockwise from outside."""
    hull = convex_hull(np.unique(vertices, axis=0), name)
    return hull.vertex_array(), hull.triangle_array()


def fitted_primitive(kind: str, mesh: MjcfMesh, by_box: bool) -> tuple[RigidTransform, list[float]]:
    """A primitive P in place of a mesh.

    Args:
        kind: sphere, capsule, cylinder, ellipsoid or box.
        mesh: in the frame G of its geometry.
        by_box: whether it fits the bounding box along the principal axes of inertia; or else the box of equal inertia.

    Returns:
        X_GP, and the sizes as MJCF has them [m].
    """
    mass = mesh.mass()
    moments, axes = np.linalg.eigh(mass.I_SScm_S)
    axes = axes[:, ::-1]  # the largest moment first
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    X_GP = RigidTransform(RotationMatrix.ProjectToRotationMatrix(axes), mass.p_SoScm_S)
    if by_box:
        points = (mesh.triangles.reshape(-1, 3) - mass.p_SoScm_S) @ axes
        low, high = points.min(axis=0), points.max(axis=0)
        X_GP = X_GP @ RigidTransform(0.5 * (low + high))
        half = 0.5 * (high - low)
    else:
        I1, I2, I3 = moments[::-1]
        squares = 6.0 * np.array([I2 + I3 - I1, I1 + I3 - I2, I1 + I2 - I3]) / mass.mass
        half = 0.5 * np.sqrt(np.maximum(squares, 0.0))
    return X_GP, _sizes(kind, half, by_box)


def _sizes(kind: str, half: np.ndarray, by_box: bool) -> list[float]:
    match kind:
        case "sphere":
            return [float(half.max() if by_box else half.mean())]
        case "box" | "ellipsoid":
            return [float(length) for length in half]
    radius = float(half[:2].max() if by_box else half[:2].mean())
    if kind == "cylinder":
        return [radius, float(half[2])]
    return [radius, max(0.0, float(half[2]) - (radius if by_box else 0.5 * radius))]
