"""The scene: objects, lines, triangles, their transforms and properties."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RigidTransform
from merganser.geometry.meshes import TriangleSurfaceMesh
from merganser.geometry.perception import PointCloud
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.shapes import Mesh, Shape
from merganser.geometry.visualizers.animation import Drawing, MeshcatAnimation, kind_of_property
from merganser.geometry.visualizers.encoding import encode
from merganser.geometry.visualizers.face.parts import MeshcatParts, from_part
from merganser.geometry.visualizers.objects import (
    cloud_object,
    cover,
    finite_points,
    line_object,
    shape_object,
    triangles_object,
)
from merganser.geometry.visualizers.params import SideOfFaceToRender
from merganser.geometry.visualizers.scene import Scene, full_path, joined_path

_logger = logging.getLogger("merganser.geometry")

_DARK = Rgba(0.1, 0.1, 0.1, 1.0)
_LIGHT = Rgba(0.9, 0.9, 0.9, 1.0)
_BLUE = Rgba(0.1, 0.1, 0.9, 1.0)
_BOTH_SIDES = SideOfFaceToRender.kDoubleSide


class DrawingFace(MeshcatParts):
    """The functions of Meshcat about what is in the scene.

    A path is a string such as 'robot/arm/link'; it begins at /drake unless it begins with '/'. Transforms and
    properties of a path are those of everything below it. The object of a path is at `<path>/<object>`.

    Functions that take `time_in_recording` record what they do at this time [s], if a recording is on.
    """

    @overload
    def SetObject(self, path: str, shape: Shape, rgba: Rgba = ..., diffuse_map: str = "") -> None: ...
    @overload
    def SetObject(
        self,
        path: str,
        cloud: PointCloud,
        point_size: float = 0.001,
        rgba: Rgba = ...,
        time_in_recording: float | None = None,
    ) -> None: ...
    @overload
    def SetObject(
        self,
        path: str,
        mesh: TriangleSurfaceMesh,
        rgba: Rgba = ...,
        wireframe: bool = False,
        wireframe_line_width: float = 1.0,
        side: SideOfFaceToRender = ...,
        time_in_recording: float | None = None,
    ) -> None: ...
    def SetObject(self, path: str, *args: Any, **kwargs: Any) -> None:
        """Sets the object at a path, instead of the one that is there.

        Args:
            path: where.
            shape: a Shape; or `cloud`, a PointCloud; or `mesh`, a TriangleSurfaceMesh. Of a Mesh, the file's materials
                and textures are shown, and the color is that of parts that have none. A file that cannot be read is
                left out, with a warning. A HalfSpace is drawn as a square of 50 m.
            rgba: the color; of points that have none, and of a surface.
            diffuse_map: path of a picture (PNG, JPEG or WebP) on each face of a shape, in which white has the color
                `rgba`; not used for Mesh and Convex. One that cannot be read is left out, with a warning.
            point_size: of points [m].
            wireframe: whether only the edges of triangles are drawn.
            wireframe_line_width: of edges [pixels]; browsers may draw one pixel whatever it is.
            side: the sides from which triangles are seen.
            time_in_recording: of clouds and surfaces; see above.

        Raises:
            TypeError: an argument has another type.
            RuntimeError: the vertices of a Convex cannot be read; a cloud has no positions.
        """
        shape, args = _first_of(args, kwargs, ("shape", "cloud", "mesh"))
        if isinstance(shape, Shape):
            self._set_shape(path, shape, *args, **kwargs)
        elif isinstance(shape, PointCloud):
            self._set_cloud(path, shape, *args, **kwargs)
        elif isinstance(shape, TriangleSurfaceMesh):
            self._set_mesh(path, shape, *args, **kwargs)
        else:
            raise TypeError(
                f"Meshcat.SetObject('{path}') takes a Shape, a PointCloud or a TriangleSurfaceMesh; given {shape!r}."
            )

    def SetLine(
        self,
        path: str,
        vertices: ArrayLike,
        line_width: float = 1.0,
        rgba: Rgba = _DARK,
        time_in_recording: float | None = None,
    ) -> None:
        """Draws a line from each vertex to the next.

        Args:
            path: where.
            vertices: positions [m], shape [3, n].
            line_width: [pixels]; browsers may draw one pixel whatever it is.
            rgba: the color.
            time_in_recording: see above.

        Raises:
            TypeError: the vertices have another shape.
            RuntimeError: a coordinate is not finite.
        """
        points = _points("SetLine", "vertices", vertices)
        command = line_object("Line", points, line_width, _color("SetLine", rgba))
        self._draw(path, command, Drawing(points), time_in_recording)

    def SetLineSegments(
        self,
        path: str,
        start: ArrayLike,
        end: ArrayLike,
        line_width: float = 1.0,
        rgba: Rgba = _DARK,
        time_in_recording: float | None = None,
    ) -> None:
        """Draws lines, each from a start to an end.

        Args:
            path: where.
            start: positions [m], shape [3, n].
            end: positions [m], shape [3, n].
            line_width: [pixels]; browsers may draw one pixel whatever it is.
            rgba: the color.
            time_in_recording: see above.

        Raises:
            TypeError: the positions have another shape.
            RuntimeError: there are not as many ends as starts; a coordinate is not finite.
        """
        starts, ends = _points("SetLineSegments", "start", start), _points("SetLineSegments", "end", end)
        if len(starts) != len(ends):
            raise RuntimeError(
                f"Meshcat.SetLineSegments('{path}') needs as many ends as starts; given {len(starts)} starts and "
                f"{len(ends)} ends."
            )
        points = np.stack([starts, ends], axis=1).reshape(-1, 3)
        command = line_object("LineSegments", points, line_width, _color("SetLineSegments", rgba))
        self._draw(path, command, Drawing(points), time_in_recording)

    def SetTriangleMesh(
        self,
        path: str,
        vertices: ArrayLike,
        faces: ArrayLike,
        rgba: Rgba = _DARK,
        wireframe: bool = False,
        wireframe_line_width: float = 1.0,
        side: SideOfFaceToRender = _BOTH_SIDES,
        time_in_recording: float | None = None,
    ) -> None:
        """Draws triangles.

        Args:
            path: where.
            vertices: positions [m], shape [3, n].
            faces: the corners of triangles, by index of vertices, shape [3, m].
            rgba: the color.
            wireframe: whether only edges are drawn.
            wireframe_line_width: of edges [pixels].
            side: the sides that are seen.
            time_in_recording: see above.

        Raises:
            TypeError: vertices or faces have another shape.
            RuntimeError: a face has a vertex that is not there; a coordinate is not finite.
        """
        points = _points("SetTriangleMesh", "vertices", vertices)
        triangles = _triangles("SetTriangleMesh", faces, len(points))
        color = _color("SetTriangleMesh", rgba)
        command = triangles_object(points, triangles, color, side, wireframe, wireframe_line_width)
        self._draw(path, command, Drawing(points, triangles), time_in_recording)

    def SetTriangleColorMesh(
        self,
        path: str,
        vertices: ArrayLike,
        faces: ArrayLike,
        colors: ArrayLike,
        wireframe: bool = False,
        wireframe_line_width: float = 1.0,
        side: SideOfFaceToRender = _BOTH_SIDES,
        time_in_recording: float | None = None,
    ) -> None:
        """Draws triangles whose vertices have colors.

        Args:
            path: where.
            vertices: positions [m], shape [3, n].
            faces: the corners of triangles, by index of vertices, shape [3, m].
            colors: red, green and blue of each vertex, from 0 to 1, shape [3, n].
            wireframe: whether only edges are drawn.
            wireframe_line_width: of edges [pixels].
            side: the sides that are seen.
            time_in_recording: see above.

        Raises:
            TypeError: an array has another shape.
            RuntimeError: a face has a vertex that is not there; a number is not finite; there are not as many colors as
                vertices.
        """
        points = _points("SetTriangleColorMesh", "vertices", vertices)
        triangles = _triangles("SetTriangleColorMesh", faces, len(points))
        shades = _points("SetTriangleColorMesh", "colors", colors)
        if len(shades) != len(points):
            raise RuntimeError(
                f"Meshcat.SetTriangleColorMesh('{path}') needs as many colors as vertices; given {len(shades)} colors "
                f"and {len(points)} vertices."
            )
        shown = np.rint(np.clip(shades, 0.0, 1.0) * 255).astype(np.uint8)
        command = triangles_object(points, triangles, shown, side, wireframe, wireframe_line_width)
        self._draw(path, command, Drawing(points, triangles, shown), time_in_recording)

    def PlotSurface(
        self,
        path: str,
        X: ArrayLike,
        Y: ArrayLike,
        Z: ArrayLike,
        rgba: Rgba = _BLUE,
        wireframe: bool = False,
        wireframe_line_width: float = 1.0,
        time_in_recording: float | None = None,
    ) -> None:
        """Draws a surface over a grid, as matplotlib's plot_surface; where a number is not finite is a hole.

        Args:
            path: where.
            X: coordinates of the vertices [m], shape [m, n], as numpy.meshgrid gives them.
            Y: of the same shape.
            Z: of the same shape.
            rgba: the color.
            wireframe: whether only edges are drawn.
            wireframe_line_width: of edges [pixels].
            time_in_recording: see above.

        Raises:
            RuntimeError: the arrays have different shapes, or not two dimensions.
        """
        grids = [np.asarray(each, dtype=np.float64) for each in (X, Y, Z)]
        if grids[0].ndim != 2 or len({grid.shape for grid in grids}) > 1:
            shapes = ", ".join(f"{name} {grid.shape}" for name, grid in zip("XYZ", grids))
            raise RuntimeError(f"Meshcat.PlotSurface('{path}') takes three matrices of one shape; given {shapes}.")
        points = np.stack([grid.ravel() for grid in grids], axis=1)
        at = np.arange(len(points)).reshape(grids[0].shape)
        a, b, c, d = (each.ravel() for each in (at[:-1, :-1], at[:-1, 1:], at[1:, :-1], at[1:, 1:]))
        triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([c, b, d], axis=1)])
        is_there = np.all(np.isfinite(points), axis=1)
        triangles = triangles[is_there[triangles].all(axis=1)]
        points[~is_there] = 0.0
        color = _color("PlotSurface", rgba)
        content = triangles_object(points, triangles, color, _BOTH_SIDES, wireframe, wireframe_line_width)
        self._draw(path, content, Drawing(points, triangles), time_in_recording)

    # ------------------------------------------------------------------ transforms and properties

    @overload
    def SetTransform(self, path: str, X_ParentPath: RigidTransform, time_in_recording: float | None = None) -> None: ...
    @overload
    def SetTransform(self, path: str, matrix: ArrayLike) -> None: ...
    def SetTransform(self, path: str, *args: Any, **kwargs: Any) -> None:
        """Sets the pose of a path in its parent.

        Args:
            path: where.
            X_ParentPath: the pose. Or `matrix`, of shape [4, 4], which may scale.
            time_in_recording: see above.

        Raises:
            TypeError: it is no RigidTransform and no matrix of this shape.
            RuntimeError: a number is not finite.
        """
        X_ParentPath, args = _first_of(args, kwargs, ("X_ParentPath", "matrix"))
        self._set_transform(path, X_ParentPath, *args, **kwargs)

    def _set_transform(self, path: str, X_ParentPath: Any, time_in_recording: float | None = None) -> None:
        is_pose = isinstance(X_ParentPath, RigidTransform)
        try:
            matrix = X_ParentPath.GetAsMatrix4() if is_pose else np.asarray(X_ParentPath, dtype=np.float64)
        except (TypeError, ValueError):
            matrix = np.empty(0)
        if matrix.shape != (4, 4) or (time_in_recording is not None and not is_pose):
            raise TypeError(
                f"Meshcat.SetTransform('{path}') takes a RigidTransform and perhaps a time, or a matrix of shape "
                f"(4, 4); given {X_ParentPath!r}."
            )
        matrix = np.asarray(matrix, dtype=np.float64)
        if not np.isfinite(matrix).all():
            raise RuntimeError(f"Meshcat.SetTransform('{path}'): the pose is not finite: {X_ParentPath!r}.")

        def record(animation: MeshcatAnimation, frame: int) -> None:
            animation.SetTransform(frame, path, X_ParentPath)

        if self._recording.take(time_in_recording, (path, "transform"), record):
            self._scene.set_transform(path, matrix)

    def SetProperty(
        self,
        path: str,
        property: str,
        value: bool | float | list[float],
        time_in_recording: float | None = None,
    ) -> None:
        """Sets a property of what is at a path.

        Args:
            path: where; properties of objects of three.js have paths that end with '/<object>'.
            property: its name: 'visible', 'color' and 'modulated_opacity' of anything, 'top_color' and 'bottom_color'
                of '/Background' (beyond pydrake: with 'sky' true, these are the colors above and at the horizon),
                'intensity' of lights, 'zoom' of cameras, and all that three.js has.
            value: a bool, a float or a list of floats.
            time_in_recording: see above.

        Raises:
            TypeError: the value is something else.
            RuntimeError: a recording has values of another type.
        """
        if not isinstance(property, str):
            raise TypeError(f"Meshcat.SetProperty('{path}'): the name of a property is a string; given {property!r}.")
        _, plain = kind_of_property(value)

        def record(animation: MeshcatAnimation, frame: int) -> None:
            animation.SetProperty(frame, path, property, plain)

        if self._recording.take(time_in_recording, (path, "property", property), record):
            parts = full_path(path)
            if parts == ["Background", "<object>"]:
                parts = parts[:1]  # the client has one background, and it is not an object
            command = {"type": "set_property", "path": joined_path(parts), "property": property, "value": plain}
            self._scene.set_at(path, f"property {property}", encode(command))

    Delete = from_part(Scene.delete)
    HasPath = from_part(Scene.has_path)

    # ------------------------------------------------------------------ helpers

    def set_object(self, path: str, content: dict[str, Any]) -> None:
        """Sets the object at a path, in the form in which three.js reads it."""
        command = {"type": "set_object", "path": joined_path(full_path(path)), "object": content}
        self._scene.set_at(path, "object", encode(command))

    def _draw(self, path: str, content: dict[str, Any], drawing: Drawing, time: float | None) -> None:
        """Sets an object, and records it, if that is on."""

        def record(animation: MeshcatAnimation, frame: int) -> None:
            animation.set_drawing(frame, path, drawing)

        if self._recording.take(time, (path, "drawing"), record) or not self._scene.has_path(path):
            self.set_object(path, content)

    def set_covered(self, path: str, shape: Shape, rgba: Rgba, contents: bytes, repeats: NDArray[np.float64]) -> None:
        """SetObject with a picture on each face of the shape, in which white has the color `rgba`; beyond pydrake.

        Args:
            path: where.
            shape: no Mesh or Convex, as these bring pictures of their own, if any.
            rgba: the color.
            contents: of the picture's file: PNG, JPEG or WebP.
            repeats: repetitions of the texture on a face, in both directions, shape [2].
        """
        content = self._shape(path, shape, rgba)
        if content is not None:
            self.set_object(path, cover(content, contents, repeats) if contents else content)

    def _set_shape(self, path: str, shape: Shape, rgba: Rgba = _LIGHT, diffuse_map: str = "") -> None:
        content = self._shape(path, shape, rgba)
        if content is not None and diffuse_map:
            try:
                content = cover(content, Path(diffuse_map).read_bytes(), np.ones(2))
            except OSError as error:
                _logger.warning("Meshcat cannot draw the texture of '%s': %s", path, error)
        if content is not None:
            self.set_object(path, content)

    def _shape(self, path: str, shape: Shape, rgba: Rgba) -> dict[str, Any] | None:
        """A shape as three.js reads it; None for a mesh that cannot be read, after a warning."""
        try:
            return shape_object(shape, _color("SetObject", rgba))
        except RuntimeError as error:
            if not isinstance(shape, Mesh):
                raise
            _logger.warning("Meshcat cannot draw the mesh at '%s': %s", path, error)
            return None

    def _set_cloud(
        self,
        path: str,
        cloud: PointCloud,
        point_size: float = 0.001,
        rgba: Rgba = _LIGHT,
        time_in_recording: float | None = None,
    ) -> None:
        points, colors = finite_points(cloud)
        content = cloud_object(points, colors, point_size, _color("SetObject", rgba))
        self._draw(path, content, Drawing(points, colors=colors), time_in_recording)

    def _set_mesh(
        self,
        path: str,
        mesh: TriangleSurfaceMesh,
        rgba: Rgba = _DARK,
        wireframe: bool = False,
        wireframe_line_width: float = 1.0,
        side: SideOfFaceToRender = _BOTH_SIDES,
        time_in_recording: float | None = None,
    ) -> None:
        points, triangles = mesh.vertex_array(), mesh.triangle_array()
        color = _color("SetObject", rgba)
        content = triangles_object(points, triangles, color, side, wireframe, wireframe_line_width)
        self._draw(path, content, Drawing(points, triangles), time_in_recording)


def _first_of(args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The first argument, or the one with one of these names, taken out of the keywords; and those after it."""
    found = [kwargs.pop(name) for name in names if name in kwargs]
    if len(found) + len(args) == 0 or len(found) > 1:
        raise TypeError(f"This takes one of {', '.join(names)}.")
    return (found[0], args) if found else (args[0], args[1:])


def _color(function: str, rgba: Rgba) -> Rgba:
    if not isinstance(rgba, Rgba):
        raise TypeError(f"Meshcat.{function}(): the color must be an Rgba, such as Rgba(1, 0, 0); given {rgba!r}.")
    return rgba


def _points(function: str, name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Columns of three numbers as rows, shape [n, 3]."""
    try:
        columns = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        columns = np.empty(0)
    if columns.shape == (3,):
        columns = columns[:, None]
    if columns.ndim != 2 or columns.shape[0] != 3:
        given = f"shape {np.shape(value)}" if columns.size else repr(value)
        raise TypeError(f"Meshcat.{function}(): {name} must be an array of shape (3, n); given {given}.")
    if not np.isfinite(columns).all():
        column = int(np.flatnonzero(~np.isfinite(columns).all(axis=0))[0])
        raise RuntimeError(
            f"Meshcat.{function}(): {name} must be finite; column {column} is {columns[:, column].tolist()}."
        )
    return np.ascontiguousarray(columns.T)


def _triangles(function: str, faces: ArrayLike, num_vertices: int) -> NDArray[np.int64]:
    """Columns of three indices as rows, shape [m, 3]."""
    columns = np.asarray(faces)
    if columns.shape == (3,):
        columns = columns[:, None]
    if columns.ndim != 2 or columns.shape[0] != 3 or columns.dtype.kind not in "iuf":
        raise TypeError(f"Meshcat.{function}(): faces must be an array of shape (3, m); given shape {columns.shape}.")
    triangles = np.ascontiguousarray(columns.T.astype(np.int64))
    wrong = (triangles != columns.T) | (triangles < 0) | (triangles >= num_vertices)
    if wrong.any():
        face = int(np.flatnonzero(wrong.any(axis=1))[0])
        raise RuntimeError(
            f"Meshcat.{function}(): face {face} has the vertices {columns[:, face].tolist()}, and there are "
            f"{num_vertices} vertices, counted from 0."
        )
    return triangles
