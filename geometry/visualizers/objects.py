"""Objects as three.js reads them (its JSON format "Object", version 4), made of shapes, triangles, lines and points.

three.js has its cylinders along y, and we along z. What a path's transform does not say about the pose of an object
stands in its matrix, by columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.meshes import ConvertVolumeToSurfaceMesh, read_volume_mesh
from merganser.geometry.meshes.polygon_surface_mesh import PolygonSurfaceMesh
from merganser.geometry.perception import PointCloud
from merganser.geometry.rgba import Rgba
from merganser.geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    MeshcatCone,
    Shape,
    Sphere,
)
from merganser.geometry.visualizers.encoding import Asset, attribute, new_name
from merganser.geometry.visualizers.mesh_files import REPEAT, mesh_file_object, picture
from merganser.geometry.visualizers.params import OrthographicCamera, PerspectiveCamera, SideOfFaceToRender

__all__ = [
    "camera_object",
    "cloud_object",
    "cover",
    "finite_points",
    "line_object",
    "shape_object",
    "single_object",
    "triangles_object",
]

Array = NDArray[np.float64]
Json = dict[str, Any]

_EXTENT_OF_HALF_SPACE = 50.0  # of the square that is drawn for it [m]
_Y_TO_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


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
    make = _SHAPES.get(type(shape))
    if make is None:
        raise TypeError(f"Meshcat.SetObject() does not know how to draw a {type(shape).__name__}.")
    return make(shape, rgba)


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
    texture = {"uuid": "texture", "image": "image", "wrap": [REPEAT, REPEAT], "repeat": repeats.tolist()}
    return {
        **content,
        "images": [{"uuid": "image", "url": Asset.of(picture(contents, _media_type(contents)))}],
        "textures": [texture],
        "materials": [{**content["materials"][0], "map": "texture"}],
    }


def _media_type(contents: bytes) -> str:
    """Of a picture, from how its file begins."""
    return "image/jpeg" if contents[:2] == b"\xff\xd8" else "image/webp" if contents[8:12] == b"WEBP" else "image/png"


def _sphere(shape: Sphere, rgba: Rgba) -> Json:
    return single_object("Mesh", _ball(shape.radius()), shaded(rgba))


def _ball(radius: float) -> Json:
    return {"type": "SphereGeometry", "radius": radius, "widthSegments": 32, "heightSegments": 16}


def _box(shape: Box, rgba: Rgba) -> Json:
    geometry = {"type": "BoxGeometry", "width": shape.width(), "height": shape.depth(), "depth": shape.height()}
    return single_object("Mesh", geometry, shaded(rgba))


def _cylinder(shape: Cylinder, rgba: Rgba) -> Json:
    return single_object("Mesh", _tube(shape.radius(), shape.radius(), shape.length()), shaded(rgba), _turned())


def _tube(bottom: float, top: float, height: float) -> Json:
    return {
        "type": "CylinderGeometry", "radiusBottom": bottom, "radiusTop": top, "height": height, "radialSegments": 48,
    }  # fmt: skip


def _capsule(shape: Capsule, rgba: Rgba) -> Json:
    half, radius = shape.length() / 2, shape.radius()
    outline = []  # from the lower pole to the upper one
    for i in range(-10, 11):
        angle = i * math.pi / 20
        ends = [-half, half] if i == 0 else [math.copysign(half, i)]
        outline += [{"x": radius * math.cos(angle), "y": end + radius * math.sin(angle)} for end in ends]
    return single_object("Mesh", {"type": "LatheGeometry", "points": outline, "segments": 32}, shaded(rgba), _turned())


def _ellipsoid(shape: Ellipsoid, rgba: Rgba) -> Json:
    return single_object("Mesh", _ball(1.0), shaded(rgba), np.diag([shape.a(), shape.b(), shape.c(), 1.0]))


def _cone(shape: MeshcatCone, rgba: Rgba) -> Json:
    matrix = np.diag([shape.a(), shape.b(), 1.0, 1.0]) @ _turned()
    matrix[2, 3] = shape.height() / 2
    return single_object("Mesh", _tube(0.0, 1.0, shape.height()), shaded(rgba), matrix)


def _half_space(shape: HalfSpace, rgba: Rgba) -> Json:
    plane = {"type": "PlaneGeometry", "width": _EXTENT_OF_HALF_SPACE, "height": _EXTENT_OF_HALF_SPACE}
    behind = {"polygonOffset": True, "polygonOffsetFactor": 1, "polygonOffsetUnits": 1}  # the grid lies in it
    return single_object("Mesh", plane, {**shaded(rgba), **behind})


def _mesh(shape: Mesh, rgba: Rgba) -> Json:
    scale = np.diag([*shape.scale3(), 1.0])
    if shape.extension() == ".vtk":
        surface = ConvertVolumeToSurfaceMesh(read_volume_mesh(shape.source()))
        geometry = _triangles(surface.vertex_array(), surface.triangle_array())
        return single_object("Mesh", geometry, shaded(rgba, flatShading=True), scale)
    return mesh_file_object(shape.source(), shaded(rgba), scale)


def _convex(shape: Convex, rgba: Rgba) -> Json:
    hull = shape.GetConvexHull()
    return single_object("Mesh", _triangles(*_fans(hull)), shaded(rgba, flatShading=True))


def _fans(mesh: PolygonSurfaceMesh) -> tuple[Array, NDArray[np.int64]]:
    """The vertices of a mesh of convex polygons, and triangles that make them up."""
    vertices = np.array([mesh.vertex(v) for v in range(mesh.num_vertices())])
    triangles = []
    for f in range(mesh.num_faces()):
        polygon = mesh.element(f)
        corners = [polygon.vertex(i) for i in range(polygon.num_vertices())]
        triangles += [[corners[0], corners[i], corners[i + 1]] for i in range(1, len(corners) - 1)]
    return vertices, np.array(triangles)


_SHAPES: dict[type[Shape], Callable[[Any, Rgba], Json]] = {
    Box: _box,
    Capsule: _capsule,
    Convex: _convex,
    Cylinder: _cylinder,
    Ellipsoid: _ellipsoid,
    HalfSpace: _half_space,
    Mesh: _mesh,
    MeshcatCone: _cone,
    Sphere: _sphere,
}


def _turned() -> Array:
    """From a frame with its axis along y to one with its axis along z."""
    matrix = np.eye(4)
    matrix[:3, :3] = _Y_TO_Z
    return matrix


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


def _triangles(vertices: Array, triangles: NDArray[np.int64]) -> Json:
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
