"""Meshes as render engines draw them: triangles with normals, texture coordinates and a material each.

Files are read by trimesh, which knows .obj with their .mtl files, glTF, .dae, .stl and others; volume meshes (.vtk) are
drawn as their surfaces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.meshes import ConvertVolumeToSurfaceMesh, read_parts, read_volume_mesh
from merganser.geometry.meshes.mesh_source import MeshSource, check_picture
from merganser.geometry.shapes import Convex, Mesh

Floats = NDArray[np.float32]
Pixels = NDArray[np.uint8]


class _MadeByOthers:
    """Base of objects with `made`, which is not saved in files."""

    made: dict[str, Any]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "made": {}}


@dataclass(eq=False)
class Surface(_MadeByOthers):
    """Triangles in the geometry's frame G; nothing of it changes.

    Attributes:
        vertices: positions [m], shape [n, 3].
        triangles: vertices of each, shape [m, 3].
        normals: at the vertices, of unit length, shape [n, 3]; None for flat triangles.
        uvs: texture coordinates, from the lower left corner of a picture, shape [n, 2]; None without them.
        made: what render engines have made of it, by their own keys.
    """

    vertices: Floats
    triangles: NDArray[np.int64]
    normals: Floats | None = None
    uvs: Floats | None = None
    made: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Material(_MadeByOthers):
    """The material of a surface.

    Attributes:
        color: red, green, blue and opacity, each from 0 to 1; a factor of the texture, if there is one.
        texture: colors, shape [height, width, 3 or 4], rows from top to bottom.
        is_physical: whether it is one of glTF, of which are
        metallic, roughness: from 0 to 1;
        emissive: red, green and blue of its own light;
        emissive_texture, normal_texture: pictures, like the texture;
        surface_texture: picture of occlusion (red), roughness (green) and metallicness (blue);
        occlusion: whether red means anything;
        is_blended: whether opacity counts.
        is_two_sided: whether color images also show it from behind.
        made: what render engines have made of it, by their own keys.
    """

    color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    texture: Pixels | None = None
    is_physical: bool = False
    metallic: float = 0.0
    roughness: float = 1.0
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    emissive_texture: Pixels | None = None
    normal_texture: Pixels | None = None
    surface_texture: Pixels | None = None
    occlusion: bool = False
    is_blended: bool = True
    is_two_sided: bool = True
    made: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Part:
    """A surface, and its material if the mesh file has one for it."""

    surface: Surface
    material: Material | None = None


def mesh_parts(mesh: Mesh) -> list[Part]:
    """Returns what is to be drawn for a mesh; read once for each Mesh.

    Raises:
        RuntimeError: the file does not exist, cannot be read, or has no triangles.
        ImportError: its format needs trimesh, which is missing.
    """
    return mesh._remember("parts", lambda: _read_parts(mesh.source(), mesh.scale3()))


def convex_parts(convex: Convex) -> list[Part]:
    """Returns the faces of a convex hull, flat and of one color; raises as `mesh_parts` does."""
    return convex._remember("parts", lambda: [Part(_surface_of_hull(convex.GetConvexHull()))])


def _surface_of_hull(hull: Any) -> Surface:
    vertices, triangles = hull.vertex_array(), hull.triangle_array()
    return Surface(np.array(vertices, np.float32), np.array(triangles, np.int64))


def _read_parts(source: MeshSource, scale3: NDArray[np.float64]) -> list[Part]:
    if source.extension() == ".vtk":
        mesh = ConvertVolumeToSurfaceMesh(read_volume_mesh(source))
        vertices = mesh.vertex_array() * scale3
        return [Part(Surface(vertices.astype(np.float32), np.array(mesh.triangle_array(), np.int64)))]
    materials: dict[int, Material | None] = {}
    parts = []
    for X, mesh in read_parts(source):
        given = getattr(mesh.visual, "material", None)
        if id(given) not in materials:
            materials[id(given)] = _material(given)
        parts.append(Part(_placed(mesh, np.diag(scale3) @ X[:3, :3], scale3 * X[:3, 3]), materials[id(given)]))
    return parts


def _placed(mesh: Any, A: NDArray[np.float64], b: NDArray[np.float64]) -> Surface:
    """The surface of a mesh moved to A p + b; its triangles turned around if A mirrors them."""
    vertices = np.asarray(mesh.vertices, np.float64) @ A.T + b
    triangles = np.array(mesh.faces, np.int64)
    if np.linalg.det(A) < 0.0:
        triangles = triangles[:, ::-1]
    normals = None
    if "vertex_normals" in mesh._cache:  # else trimesh would compute some
        normals = np.asarray(mesh.vertex_normals, np.float64) @ np.linalg.inv(A)
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        normals = (normals / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)
    uvs = getattr(mesh.visual, "uv", None)
    if uvs is not None:
        uvs = np.ascontiguousarray(uvs, np.float32) if len(uvs) == len(vertices) else None
    return Surface(vertices.astype(np.float32), np.ascontiguousarray(triangles), normals, uvs)


# ---------------------------------------------------------------------- materials


def _material(given: Any) -> Material | None:
    """A material of trimesh; None without one, or if it is trimesh's default."""
    if given is None:
        return None
    if hasattr(given, "baseColorFactor"):
        return _physical(given)
    return _phong(given) if hasattr(given, "_name") else None  # those of files have the names that they have there


def _phong(given: Any) -> Material:
    """A material of an .mtl file: its diffuse color and texture, and its opacity (`d`, or 1 - `Tr`)."""
    values = given.kwargs
    picture = given.image
    red, green, blue = values.get("kd", (1.0, 1.0, 1.0))
    if "d" in values:
        opacity = float(values["d"][-1])
    else:
        opacity = 1.0 - float(values.get("tr", [0.0])[-1])
    return Material((red, green, blue, opacity), None if picture is None else picture_pixels(picture))


def _physical(given: Any) -> Material:
    """A material of glTF."""
    color = np.ones(4) if given.baseColorFactor is None else np.asarray(given.baseColorFactor, np.float64) / 255.0
    emissive = np.zeros(3) if given.emissiveFactor is None else np.asarray(given.emissiveFactor, np.float64)

    def number(value: Any) -> float:
        return 1.0 if value is None else float(value)

    def pixels(picture: Any) -> Pixels | None:
        return None if picture is None else picture_pixels(picture)

    return Material(
        color=tuple(color.tolist()),
        texture=pixels(given.baseColorTexture),
        is_physical=True,
        metallic=number(given.metallicFactor),
        roughness=number(given.roughnessFactor),
        emissive=tuple(emissive.tolist()),
        emissive_texture=pixels(given.emissiveTexture),
        normal_texture=pixels(given.normalTexture),
        surface_texture=pixels(given.metallicRoughnessTexture),
        occlusion=given.occlusionTexture is not None,
        is_blended=given.alphaMode == "BLEND",
        is_two_sided=bool(given.doubleSided),
    )


def picture_pixels(picture: Any) -> Pixels:
    """A picture of Pillow as red, green, blue and perhaps opacity; a RuntimeError says that it is too large."""
    check_picture(picture)
    has_opacity = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    return np.array(picture.convert("RGBA" if has_opacity else "RGB"))
