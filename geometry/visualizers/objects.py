"""Objects as three.js reads them (its JSON format "Object", version 4), made of shapes, triangles, lines and points.

What a path's transform does not say about the pose of an object
is in its matrix, by columns.

Mesh files with their materials and textures, read by trimesh, as objects of three.js.

Each part of a file with a material of its own becomes a mesh in a group. Arrays and pictures are Assets, so that a file
that is drawn several times is kept and sent once.
"""

from __future__ import annotations

import base64
import io
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.meshes import ConvertVolumeToSurfaceMesh, read_volume_mesh
from merganser.geometry.meshes.files import read_parts
from merganser.geometry.meshes.mesh_source import MeshSource, check_picture
from merganser.geometry.perception import PointCloud
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.shapes import Mesh, Shape
from merganser.geometry.shapes.measures import drawn_surface
from merganser.geometry.visualizers.encoding import Asset, attribute, new_name
from merganser.geometry.visualizers.params import OrthographicCamera, PerspectiveCamera, SideOfFaceToRender

Array = NDArray[np.float64]
Json = dict[str, Any]

_SAYS_NORMALS = {  # found in files that have normals
    ".obj": rb"(?m)^\s*vn\s",
    ".gltf": rb'"NORMAL"',
    ".glb": rb'"NORMAL"',
    ".dae": rb'"NORMAL"',
    ".ply": rb"(?m)^property \w+ nx",
}
_UNNAMED = re.compile(r"material_\d+")  # what trimesh calls materials that a file does not have
_MEDIA_TYPES = {  # that browsers show, by the names of Pillow
    "PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif", "BMP": "image/bmp",
}  # fmt: skip
REPEAT, _FRONT, _DOUBLE = 1000, 0, 2  # constants of three.js


def mesh_file_object(source: MeshSource, default_material: Json, scale: Array) -> Json:
    """The object of a mesh file.

    Args:
        source: the file.
        default_material: of parts that have none.
        scale: of the whole, shape [4, 4].

    Raises:
        RuntimeError: the file cannot be read.
        ImportError: trimesh is missing.
    """
    contents = source.read()
    marks = _SAYS_NORMALS.get(source.extension())
    has_normals = marks is not None and re.search(marks, contents) is not None
    made = _Parts(default_material, has_normals)
    for X, part in read_parts(source):
        made.add(part, scale @ X)
    return made.object()


class _Parts:
    """Collects the parts of an object.

    Args:
        default_material: of parts that have none.
        has_normals: whether the file has; otherwise triangles are shaded flat.
    """

    def __init__(self, default_material: Json, has_normals: bool) -> None:
        self._default = default_material
        self._has_normals = has_normals
        self._lists: dict[str, list[Json]] = {
            name: [] for name in ("geometries", "images", "textures", "materials", "children")
        }

    def object(self) -> Json:
        """All parts as one object."""
        lists = self._lists
        group = {"uuid": new_name(), "type": "Group", "children": lists.pop("children")}
        return {
            "metadata": {"version": 4.5, "type": "Object"},
            **{name: entries for name, entries in lists.items() if entries},
            "object": group,
        }

    def add(self, part: Any, X: Array) -> None:
        """Adds what trimesh calls a mesh, at a pose that may scale."""
        visual = part.visual
        vertices = np.asarray(part.vertices, dtype=np.float32)
        attributes = {"position": attribute(vertices, shared=True)}
        if self._has_normals:
            attributes["normal"] = attribute(np.asarray(part.vertex_normals, dtype=np.float32), shared=True)
        material = self._material(visual)
        uv = getattr(visual, "uv", None)
        if uv is not None and "map" in material:
            attributes["uv"] = attribute(np.asarray(uv, dtype=np.float32), shared=True)
        if getattr(visual, "kind", None) == "vertex":
            colors = np.asarray(visual.vertex_colors, dtype=np.uint8)[:, :3]
            attributes["color"] = attribute(np.ascontiguousarray(colors), shared=True, normalized=True)
            material = {**self._default, "color": 0xFFFFFF, "vertexColors": True}
        if not self._has_normals:
            material = {**material, "flatShading": True}
        index = attribute(np.asarray(part.faces, dtype=np.uint32), shared=True)
        geometry = {"type": "BufferGeometry", "data": {"attributes": attributes, "index": index}}
        self._lists["children"].append(
            {
                "uuid": new_name(),
                "type": "Mesh",
                "geometry": self._add("geometries", geometry),
                "material": self._add("materials", material),
                "matrix": X.T.ravel().tolist(),
                "castShadow": True,
                "receiveShadow": True,
            }
        )

    def _material(self, visual: Any) -> Json:
        material: Any = getattr(visual, "material", None)
        kind = type(material).__name__
        if kind == "PBRMaterial":
            return self._physical(material)
        if kind == "SimpleMaterial" and not _UNNAMED.fullmatch(material.name or "material_0"):
            return self._simple(material)
        return self._default

    def _simple(self, material: Any) -> Json:
        """A material of an MTL file."""
        red, green, blue, _ = (int(value) for value in material.diffuse)
        opacity = _first(material.kwargs.get("d"), 1.0)
        found: Json = {
            "type": "MeshPhongMaterial", "color": red << 16 | green << 8 | blue, "opacity": opacity,
            "transparent": opacity < 1.0, "side": _DOUBLE,
        }  # fmt: skip
        if material.image is not None:
            found["map"] = self._texture(material.image)
        return found

    def _physical(self, material: Any) -> Json:
        """A material of glTF. Its colors are amounts of light, which the viewer shows as they are on screens."""
        rgba = np.ones(4) if material.baseColorFactor is None else np.asarray(material.baseColorFactor) / 255.0
        opacity = 1.0 if (material.alphaMode or "OPAQUE") == "OPAQUE" else float(rgba[3])
        found: Json = {
            "type": "MeshStandardMaterial", "color": _on_screen(rgba[:3]), "opacity": opacity,
            "transparent": material.alphaMode == "BLEND", "side": _DOUBLE if material.doubleSided else _FRONT,
            "metalness": 1.0 if material.metallicFactor is None else float(material.metallicFactor),
            "roughness": 1.0 if material.roughnessFactor is None else float(material.roughnessFactor),
        }  # fmt: skip
        if material.alphaMode == "MASK":
            found["alphaTest"] = 0.5 if material.alphaCutoff is None else float(material.alphaCutoff)
        if material.emissiveFactor is not None:
            found["emissive"] = _on_screen(np.asarray(material.emissiveFactor))
        maps = {
            "map": material.baseColorTexture,
            "normalMap": material.normalTexture,
            "emissiveMap": material.emissiveTexture,
            "metalnessMap": material.metallicRoughnessTexture,
            "roughnessMap": material.metallicRoughnessTexture,
        }
        found |= {name: self._texture(image) for name, image in maps.items() if image is not None}
        return found

    def _texture(self, image: Any) -> str:
        asset = Asset.of(_picture_of(image))
        name = self._add("images", {"url": asset})
        return self._add("textures", {"image": name, "wrap": [REPEAT, REPEAT]})

    def _add(self, kind: str, entry: Json) -> str:
        """Adds an entry to one of the lists; returns the name by which others refer to it."""
        name = f"{kind}{len(self._lists[kind])}"
        self._lists[kind].append({**entry, "uuid": name})
        return name


def picture(contents: bytes, media_type: str) -> str:
    """A picture as the address of itself."""
    return f"data:{media_type};base64,{base64.b64encode(contents).decode()}"


def _picture_of(image: Any) -> str:
    """A picture that trimesh has opened: its file as it is where browsers know the format, or else as PNG."""
    check_picture(image)
    file, media_type = getattr(image, "fp", None), _MEDIA_TYPES.get(image.format)
    if file is not None and media_type is not None:  # Pillow has not read the pixels yet
        file.seek(0)
        return picture(file.read(), media_type)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return picture(buffer.getvalue(), "image/png")


def _on_screen(rgb: Array) -> int:
    """An amount of light as a color of screens (IEC 61966-2-1), 0xRRGGBB."""
    linear = np.clip(rgb, 0.0, 1.0)
    shown = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    red, green, blue = (round(255 * value) for value in shown.tolist())
    return red << 16 | green << 8 | blue


def _first(values: Any, default: float) -> float:
    try:
        return float(values[0])
    except (TypeError, ValueError, IndexError):
        return default


def single_object(kind: str, geometry: Json, material: Json, matrix: Array | None = None) -> Json:
    """An object of one geometry and one material."""
    placed = np.eye(4) if matrix is None else matrix
    return {
        "metadata": {"version": 4.5, "type": "Object"},
        "geometries": [{**geometry, "uuid": "geometry"}],
        "materials": [{**material, "uuid": "material"}],
        "object": {
            "uuid": new_name(), "type": kind, "geometry": "geometry", "material": "material",
            "matrix": placed.T.ravel().tolist(),
        },
    }  # fmt: skip


def shaded(rgba: Rgba, side: SideOfFaceToRender = SideOfFaceToRender.kDoubleSide, **more: Any) -> Json:
    """A material that light falls on."""
    return {"type": "MeshPhongMaterial", **colored(rgba), "side": int(side), "reflectivity": 0.5, **more}


def colored(rgba: Rgba) -> Json:
    """What all materials have in common."""
    red, green, blue = (int(255 * value) for value in (rgba.r(), rgba.g(), rgba.b()))
    return {"color": red << 16 | green << 8 | blue, "opacity": rgba.a(), "transparent": rgba.a() != 1.0}


# ------------------------------------------------------------------ shapes


def shape_object(shape: Shape, rgba: Rgba) -> Json:
    """The object of a shape; of a Mesh, the color is that of what has none in its file.

    Raises:
        RuntimeError: the file of a Mesh or Convex cannot be read.
        ImportError: its format needs trimesh, which is missing.
        TypeError: there is no such shape.
    """
    if not isinstance(shape, Shape):
        raise TypeError(f"Meshcat.SetObject() does not know how to draw a {type(shape).__name__}.")
    if isinstance(shape, Mesh):
        return _mesh(shape, rgba)
    if shape.kind.three is not None:
        drawn = shape.kind.three(shape)
        return single_object("Mesh", drawn.geometry, {**shaded(rgba), **(drawn.material or {})}, drawn.matrix)
    vertices, triangles, normals, _ = drawn_surface(shape)
    geometry = _triangles(vertices, triangles)
    if normals is not None:
        geometry["data"]["attributes"]["normal"] = attribute(normals.astype(np.float32))
    return single_object("Mesh", geometry, shaded(rgba, flatShading=normals is None))


def cover(content: Json, contents: bytes, repeats: Array) -> Json:
    """The object of a shape with a picture on each of its faces.

    Args:
        content: of `shape_object`; of a Mesh or Convex, which bring their own, it is left as it is.
        contents: of the picture's file: PNG, JPEG or WebP.
        repeats: how often it stands on a face, in both directions, shape [2].
    """
    geometries = content["geometries"]
    if len(geometries) != 1 or geometries[0]["type"] == "BufferGeometry":
        return content
    is_jpeg, is_webp = contents[:2] == b"\xff\xd8", contents[8:12] == b"WEBP"
    media_type = "image/jpeg" if is_jpeg else "image/webp" if is_webp else "image/png"
    texture = {"uuid": "texture", "image": "image", "wrap": [REPEAT, REPEAT], "repeat": repeats.tolist()}
    return {
        **content,
        "images": [{"uuid": "image", "url": Asset.of(picture(contents, media_type))}],
        "textures": [texture],
        "materials": [{**content["materials"][0], "map": "texture"}],
    }


def _mesh(shape: Mesh, rgba: Rgba) -> Json:
    scale = np.diag([*shape.scale3(), 1.0])
    if shape.extension() == ".vtk":
        surface = ConvertVolumeToSurfaceMesh(read_volume_mesh(shape.source()))
        geometry = _triangles(surface.vertex_array(), surface.triangle_array())
        return single_object("Mesh", geometry, shaded(rgba, flatShading=True), scale)
    return mesh_file_object(shape.source(), shaded(rgba), scale)


# ------------------------------------------------------------------ triangles, lines, points


def triangles_object(
    vertices: Array,
    triangles: NDArray[np.int64],
    color: Rgba | NDArray[np.uint8],
    side: SideOfFaceToRender,
    wireframe: bool,
    wireframe_line_width: float,
) -> Json:
    """Triangles, each of one shade.

    Args:
        vertices: positions, shape [n, 3].
        triangles: vertices by index, shape [m, 3].
        color: of all; or of each vertex, from 0 to 255, shape [n, 3].
        side: the sides that are seen.
        wireframe: whether only edges are drawn.
        wireframe_line_width: of edges [pixels].
    """
    geometry = _triangles(vertices, triangles)
    base = color if isinstance(color, Rgba) else Rgba()
    if not isinstance(color, Rgba):
        geometry["data"]["attributes"]["color"] = attribute(color, normalized=True)
    material = shaded(
        base,
        side,
        flatShading=True,
        vertexColors=not isinstance(color, Rgba),
        wireframe=bool(wireframe),
        wireframeLinewidth=float(wireframe_line_width),
    )
    return single_object("Mesh", geometry, material)


def _triangles(vertices: NDArray[Any], triangles: NDArray[np.int64]) -> Json:
    return {
        "type": "BufferGeometry",
        "data": {
            "attributes": {"position": attribute(vertices.astype(np.float32))},
            "index": attribute(triangles.astype(np.uint32)),
        },
    }


def line_object(kind: str, vertices: Array, line_width: float, rgba: Rgba) -> Json:
    """A line through all vertices ('Line'), or lines between each two of them ('LineSegments'); shape [n, 3]."""
    material = {"type": "LineBasicMaterial", **colored(rgba), "linewidth": float(line_width)}
    return single_object(kind, _positions(vertices), material)


def _positions(vertices: NDArray[Any]) -> Json:
    return {"type": "BufferGeometry", "data": {"attributes": {"position": attribute(vertices.astype(np.float32))}}}


def finite_points(cloud: PointCloud) -> tuple[NDArray[np.float32], NDArray[np.uint8] | None]:
    """The points of a cloud whose positions are finite, shape [n, 3], and their colors, if it has any, shape [n, 3]."""
    xyzs = cloud.xyzs().T
    finite = np.all(np.isfinite(xyzs), axis=1)
    return xyzs[finite], cloud.rgbs().T[finite] if cloud.has_rgbs() else None


def cloud_object(points: NDArray[np.float32], colors: NDArray[np.uint8] | None, point_size: float, rgba: Rgba) -> Json:
    """Points, shape [n, 3], in their colors, or all in one."""
    geometry = _positions(points)
    material: Json = {"type": "PointsMaterial", **colored(rgba), "size": float(point_size)}
    if colors is not None:
        geometry["data"]["attributes"]["color"] = attribute(colors, normalized=True)
        material |= {**colored(Rgba()), "vertexColors": True}
    return single_object("Points", geometry, material)


# ------------------------------------------------------------------ cameras


def camera_object(camera: PerspectiveCamera | OrthographicCamera) -> Json:
    """A camera."""
    values = {name: float(value) for name, value in vars(camera).items()}
    return {"object": {"uuid": new_name(), "type": type(camera).__name__, **values}}
