"""A stage: what a renderer of VTK shows of the geometries of an engine.

Visuals: what an engine knows about a geometry, from its shape and properties, without VTK.

Surfaces as data of VTK.

A camera of VTK that sees what one of ours does.

VTK's view frame V has its origin at the aperture, Vx to the right, Vy upwards and Vz backwards. In normalized device
coordinates, which go from -1 to 1 over an image of w times h pixels, upwards and with 1 at the far plane, a pixel
(u, v) has its center at x = 2 (u + 1/2) / w - 1 and y = 1 - 2 (v + 1/2) / h. With CameraInfo's (1) and depth z:

    z x = (2 f_x / w) x_V + (2 (c_x + 1/2) / w - 1) z
    z y = (2 f_y / h) y_V + (1 - 2 (c_y + 1/2) / h) z      (1)

An image may also be the lower left part of a larger one, of W times H pixels. Then W and H take the places of w and h,
and rows are counted from its upper edge: c_y + H - h takes the place of c_y.

Shapes as triangles, for color images.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
from vtkmodules.vtkCommonMath import vtkMatrix4x4
from vtkmodules.vtkFiltersCore import vtkPolyDataTangents
from vtkmodules.vtkRenderingCore import vtkRenderer

from merganser.framework.common.source_location import warn_of_file
from merganser.framework.math import RigidTransform
from merganser.geometry.registration.colors import RenderLabel, Rgba
from merganser.geometry.registration.ids import GeometryId
from merganser.geometry.registration.properties import PerceptionProperties
from merganser.geometry.rendering.cameras import CameraInfo, ClippingRange, RenderCameraCore
from merganser.geometry.rendering.mesh_parts import (
    Material,
    Part,
    Surface,
    convex_parts,
    mesh_parts,
    picture_pixels,
)
from merganser.geometry.shapes import Convex, Mesh, Shape
from merganser.geometry.shapes.measures import drawn_surface

_logger = logging.getLogger("merganser.geometry")


@dataclass(frozen=True, eq=False)
class VisualPart:
    """A surface and what it looks like; without a surface, the geometry's shape itself."""

    surface: Surface | None
    material: Material


@dataclass(frozen=True, eq=False)
class Visual:
    """The constant drawing data of one geometry."""

    shape: Shape
    label: RenderLabel
    parts: tuple[VisualPart, ...]

    def is_physical(self) -> bool:
        """Whether it has a material of glTF."""
        return any(part.material.is_physical for part in self.parts)


def make_visual(
    name: str, shape: Shape, properties: PerceptionProperties, label: RenderLabel, default_color: Any
) -> Visual:
    """Makes the drawing data of a geometry.

    A mesh looks as its own materials say. Where it has none, the properties say it: a texture
    `('phong', 'diffuse_map')`, or the picture beside the mesh file that has its name and the extension .png, and a
    color `('phong', 'diffuse')`.

    Args:
        name: what messages call the geometry.
        shape: its shape.
        properties: its looks.
        label: its label.
        default_color: red, green, blue and opacity if there is neither color nor texture.

    Raises:
        TypeError, ValueError: a property has the wrong type.
        RuntimeError: a mesh cannot be read.
    """
    parts: list[Part | None] = [None]
    if isinstance(shape, Mesh):
        parts = [*mesh_parts(shape)]
    elif isinstance(shape, Convex):
        parts = [*convex_parts(shape)]
    given = _given_material(name, shape, properties, default_color)
    visual_parts = [
        VisualPart(None if part is None else part.surface, (part and part.material) or given) for part in parts
    ]
    ignored = [f"('phong', '{key}')" for key in ("diffuse", "diffuse_map") if properties.HasProperty("phong", key)]
    if ignored and all(part and part.material for part in parts):
        warn_of_file(_logger, f"{name}: the mesh has materials of its own; {' and '.join(ignored)} is not used.")
    return Visual(shape, label, tuple(visual_parts))


def _given_material(name: str, shape: Shape, properties: PerceptionProperties, default_color: Any) -> Material:
    """The material that properties describe."""
    texture = _texture(name, properties.GetPropertyOrDefault("phong", "diffuse_map", ""))
    if texture is None and isinstance(shape, Mesh) and shape.source().is_path():
        beside = shape.source().path().with_suffix(".png")
        texture = _texture(name, beside) if beside.is_file() else None
    usual = default_color if texture is None else Rgba()
    return Material(_color(name, properties.GetPropertyOrDefault("phong", "diffuse", usual)), texture)


def _color(name: str, value: Any) -> tuple[float, float, float, float]:
    color = Rgba()
    try:
        color.set(value.rgba if isinstance(value, Rgba) else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise type(error)(f"{name}: the property ('phong', 'diffuse') is not a color. {error}") from error
    return color.r(), color.g(), color.b(), color.a()


def _texture(name: str, path: Any) -> np.ndarray | None:
    """The picture in a file; None without one, with a warning if the file is missing."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name}: the property ('phong', 'diffuse_map') must be the name of a file; given {path!r}.")
    if not os.fspath(path):
        return None
    from PIL import Image as pillow

    try:
        with pillow.open(Path(path)) as picture:
            return picture_pixels(picture)
    except (OSError, RuntimeError, pillow.DecompressionBombError) as error:
        warn_of_file(_logger, f"{name}: the texture '{path}' could not be read, and is not used: {error}")
        return None


Array = NDArray[np.float64]


class Stage:
    """The actors of visuals in one renderer.

    Args:
        make_actors: makes the actors of a visual, which share one matrix: their pose in the world.

    Attributes:
        renderer: of VTK.
    """

    def __init__(self, make_actors: Callable[[Visual], list[Any]]) -> None:
        self.renderer = vtkRenderer()
        self._make_actors = make_actors
        self._shown: dict[GeometryId, tuple[Visual, list[Any], Any]] = {}
        self._poses: dict[GeometryId, bytes] = {}

    def show(self, visuals: dict[GeometryId, Visual], X_WG: dict[GeometryId, Array]) -> None:
        """Shows these visuals and no others, at their poses, shape [4, 4]."""
        gone = [id for id, (visual, _, _) in self._shown.items() if visuals.get(id) is not visual]
        for id in gone:
            for actor in self._shown.pop(id)[1]:
                self.renderer.RemoveActor(actor)
            del self._poses[id]
        for id, visual in visuals.items():
            pose = X_WG[id].tobytes()
            if id not in self._shown:
                matrix = vtkMatrix4x4()
                actors = self._make_actors(visual)
                for actor in actors:
                    actor.SetUserMatrix(matrix)
                    self.renderer.AddActor(actor)
                self._shown[id] = (visual, actors, matrix)
            elif self._poses[id] == pose:
                continue
            self._shown[id][2].DeepCopy(X_WG[id].ravel())
            self._poses[id] = pose


def surface_data(surface: Surface) -> Any:
    """The triangles of a surface; made once for each."""
    if "vtk" not in surface.made:
        surface.made["vtk"] = _data(surface)
    return surface.made["vtk"]


def surface_data_with_tangents(surface: Surface) -> Any:
    """The same with tangents, if there are normals and texture coordinates, as pictures of normals need them."""
    if surface.normals is None or surface.uvs is None:
        return surface_data(surface)
    if "vtk tangents" not in surface.made:
        tangents = vtkPolyDataTangents()
        tangents.SetInputData(surface_data(surface))
        tangents.Update()
        surface.made["vtk tangents"] = tangents.GetOutput()
    return surface.made["vtk tangents"]


def _data(surface: Surface) -> Any:
    data = vtkPolyData()
    points = vtkPoints()
    points.SetData(numpy_to_vtk(surface.vertices, deep=1))
    data.SetPoints(points)
    cells = vtkCellArray()
    offsets = np.arange(0, 3 * len(surface.triangles) + 1, 3, dtype=np.int64)
    corners = np.ascontiguousarray(surface.triangles).ravel()
    cells.SetData(numpy_to_vtkIdTypeArray(offsets, deep=1), numpy_to_vtkIdTypeArray(corners, deep=1))
    data.SetPolys(cells)
    if surface.normals is not None:
        data.GetPointData().SetNormals(_named("Normals", surface.normals))
    if surface.uvs is not None:
        data.GetPointData().SetTCoords(_named("TCoords", surface.uvs))
    return data


def _named(name: str, values: np.ndarray) -> Any:
    array = numpy_to_vtk(values, deep=1)
    array.SetName(name)
    return array


def projection(info: CameraInfo, clipping: ClippingRange, size: tuple[int, int]) -> np.ndarray:
    """The matrix that takes points in V to homogeneous normalized device coordinates, see (1); shape [4, 4].

    Args:
        info: of the image.
        clipping: distances of the near and far planes.
        size: width and height of the image whose lower left part it is.
    """
    (W, H), near, far = size, clipping.near(), clipping.far()
    center_y = info.center_y() + H - info.height()
    P = np.zeros((4, 4))
    P[0, 0], P[0, 2] = 2.0 * info.focal_x() / W, 1.0 - (2.0 * info.center_x() + 1.0) / W
    P[1, 1], P[1, 2] = 2.0 * info.focal_y() / H, (2.0 * center_y + 1.0) / H - 1.0
    P[2, 2], P[2, 3] = -(far + near) / (far - near), -2.0 * far * near / (far - near)
    P[3, 2] = -1.0
    return P


def aim(camera: Any, core: RenderCameraCore, X_WR: RigidTransform, size: tuple[int, int]) -> None:
    """Sets the pose of a VTK camera by a sensor frame R, and its projection.

    Args:
        camera: of VTK.
        core: our camera.
        X_WR: pose of the sensor frame in the world.
        size: as of `projection`.
    """
    p_WR, R_WR = X_WR.translation(), X_WR.rotation().matrix()
    camera.SetPosition(p_WR)
    camera.SetFocalPoint(p_WR + R_WR[:, 2])
    camera.SetViewUp(-R_WR[:, 1])
    info, clipping = core.intrinsics(), core.clipping()
    camera.SetClippingRange(clipping.near(), clipping.far())
    camera.SetViewAngle(np.rad2deg(info.fov_y()))
    matrix = vtkMatrix4x4()
    matrix.DeepCopy(projection(info, clipping, size).ravel())
    camera.SetExplicitProjectionTransformMatrix(matrix)
    camera.UseExplicitProjectionTransformMatrixOn()


@lru_cache(maxsize=256)
def primitive(shape: Shape) -> Surface:
    """The triangles of a shape that is not a mesh.

    Raises:
        TypeError: it is one.
    """
    if isinstance(shape, Mesh | Convex):
        raise TypeError(f"{shape!r} is not a primitive shape.")
    return Surface(*drawn_surface(shape))
