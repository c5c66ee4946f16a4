"""The geometries of one role of a SceneGraph as objects of a Meshcat, kept up to date.

The surfaces of deformable geometries in a Meshcat, drawn again whenever a scene is drawn.

Shows the progress of what takes more than a second.
"""

from __future__ import annotations

import copy
import logging
import math
import os
import sys
import time
from collections.abc import Iterator, Sized
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.scalars.scalars import cast_array
from merganser.geometry.meshes import ConvertVolumeToSurfaceMesh, TriangleSurfaceMesh, VolumeMesh
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.registration.ids import FrameId, GeometryId
from merganser.geometry.registration.properties import GeometryVersion, Role
from merganser.geometry.scene.inspector import SceneGraphInspector, rigid_geometries
from merganser.geometry.scene.pose_layout import PoseLayout
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.shapes import Shape
from merganser.geometry.visualizers.meshcat import Meshcat
from merganser.geometry.visualizers.params import MeshcatVisualizerParams
from merganser.geometry.visualizers.scene import PoseBlock


class _Surface(NamedTuple):
    """What is drawn at a path.

    Attributes:
        geometry_id: whose surface it is.
        triangles: by index of vertices, shape [3, num_triangles].
        vertices: which of the mesh these are, shape [num_vertices].
        color: of all.
    """

    geometry_id: GeometryId
    triangles: NDArray[np.int64]
    vertices: NDArray[np.int64]
    color: Rgba


class DeformableDrawing:
    """Draws surfaces of deformable geometries.

    Args:
        meshcat: where.
    """

    def __init__(self, meshcat: Meshcat) -> None:
        self._meshcat = meshcat
        self._surfaces: dict[str, _Surface] = {}  # by path

    def forget(self) -> None:
        """Forgets all drawings."""
        self._surfaces = {}

    def set_geometries(self, inspector: Any, found: dict[str, tuple[GeometryId, Rgba]]) -> None:
        """Sets the geometries to draw, by paths, and their colors; others are deleted."""
        for path in self._surfaces.keys() - found.keys():
            self._meshcat.Delete(path)
        self._surfaces = {}
        for path, (geometry_id, color) in found.items():
            vertices, triangles = np.unique(
                boundary_triangles(inspector.GetReferenceMesh(geometry_id)), return_inverse=True
            )
            self._surfaces[path] = _Surface(geometry_id, triangles.reshape(-1, 3).T, vertices, color)

    def update(self, query: QueryObject, time: float) -> None:
        """Draws the current surfaces.

        Args:
            query: of the SceneGraph.
            time: simulated time, for recordings [s].
        """
        for path, surface in self._surfaces.items():
            p_WV = query.GetConfigurationsInWorld(surface.geometry_id).reshape(-1, 3)[surface.vertices]
            self._meshcat.SetTriangleMesh(path, p_WV.T, surface.triangles, surface.color, time_in_recording=time)


_PATIENCE = 1.0  # before anything is said [s]

T = TypeVar("T", covariant=True)


class _Countable(Sized, Protocol[T]):
    def __iter__(self) -> Iterator[T]: ...


def with_progress(items: _Countable[T], what: str) -> Iterator[T]:
    """Goes through some items; after a second there is a bar on a terminal, or else one line on standard error.

    Nothing is said where the environment variable MERGANSER_PROGRESS is 0.

    Args:
        items: what to go through.
        what: is done, for the message: "drawing meshes".
    """
    start, bar = time.monotonic(), None
    try:
        for number, item in enumerate(items):
            if bar is None and time.monotonic() - start > _PATIENCE and os.environ.get("MERGANSER_PROGRESS") != "0":
                bar = _Bar(what, len(items))
            if bar is not None:
                bar.show(number)
            yield item
    finally:
        if bar is not None:
            bar.close()


class _Bar:
    """A bar; a line where there is no terminal."""

    def __init__(self, what: str, total: int) -> None:
        self._progress: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task(what, total=total)
            self._progress.start()
        else:
            print(f"merganser: {what}, {total} in all ...", file=sys.stderr, flush=True)

    def show(self, number: int) -> None:
        """Shows how many are done."""
        if self._progress is not None:
            self._progress.update(self._task, completed=number)

    def close(self) -> None:
        """Takes the bar away."""
        if self._progress is not None:
            self._progress.stop()


_logger = logging.getLogger("merganser.geometry")


class _Drawn(NamedTuple):
    """What is drawn at a path."""

    shape: Shape | TriangleSurfaceMesh
    rgba: list[float]
    X_FG: list[float]
    texture: str
    repeats: list[float]
    is_fixed: bool
    frame_id: FrameId


class SceneDrawing:
    """Draws in a Meshcat, and knows what it has drawn, so that it draws again only what has changed.

    Args:
        meshcat: where.
        params: what, and in which color.
    """

    _never_changes = True  # copies of a system share it, as they draw in the same Meshcat

    def __init__(self, meshcat: Meshcat, params: MeshcatVisualizerParams) -> None:
        self._meshcat = meshcat
        self._params = params
        self._deformables = DeformableDrawing(meshcat)
        self._forget()

    def _forget(self) -> None:
        self._version: GeometryVersion | None = None
        self._drawn: dict[str, _Drawn] = {}  # by path
        self._frames: dict[str, FrameId] = {}  # by path
        self._block = PoseBlock([])
        self._layout: PoseLayout | None = None
        self._rows = np.zeros(0, dtype=np.intp)
        self._opacity = math.nan
        self._displacements: dict[FrameId, float] = {}  # of surfaces [m]
        self._deformables.forget()

    def delete(self) -> None:
        """Deletes all below the prefix."""
        self._meshcat.Delete(self._params.prefix)
        self._forget()

    def update(self, query: QueryObject, time: float) -> None:
        """Draws what has changed, at the poses of now.

        Args:
            query: of the SceneGraph.
            time: simulated time, for recordings [s].
        """
        inspector = query.inspector()
        version = inspector.geometry_version()
        if self._version is None or not version.IsSameAs(self._version, self._params.role):
            if self._version is None:
                self._meshcat.SetProperty(self._params.prefix, "visible", bool(self._params.visible_by_default))
                self._meshcat.add_toggle(self._params.prefix, self._params.prefix)
            self._draw_shapes(inspector)
            self._find_deformables(inspector)
            self._version = copy.copy(version)
        if self._frames:
            poses = query.world_poses()
            if poses.layout is not self._layout:
                self._layout = poses.layout
                self._rows = np.array([poses.layout.frame_rows[frame_id] for frame_id in self._frames.values()])
            X_WF: Any = poses.X_WF[self._rows]
            if X_WF.dtype == object:
                X_WF = cast_array(X_WF, float)
            self._meshcat.set_poses(self._block, X_WF, time)
        self._deformables.update(query, time)

    def set_opacity(self, opacity: float) -> None:
        """Multiplies the opacity of all by a factor."""
        if opacity != self._opacity:
            self._meshcat.SetProperty(self._params.prefix, "modulated_opacity", opacity)
            self._opacity = opacity

    def move_pictures(self, frame_id: FrameId, axis_F: NDArray[np.float64], displacement: float) -> None:
        """Moves the pictures on what is drawn of a frame F, whose surface has gone so far round an axis [m]."""
        if self._displacements.get(frame_id) == displacement:
            return
        self._displacements[frame_id] = displacement
        for path, drawn in self._drawn.items():
            if drawn.frame_id == frame_id:
                axis_G = axis_F @ np.array(drawn.X_FG).reshape(4, 4)[:3, :3]
                self._meshcat.SetProperty(path, "surface_displacement", [*axis_G.tolist(), displacement])

    def _draw_shapes(self, inspector: SceneGraphInspector) -> None:
        """Draws shapes that are new or have changed, and deletes those that are gone."""
        found: dict[str, _Drawn] = {}
        frames: dict[str, FrameId] = {}
        for frame_id in inspector.GetAllFrameIds():
            candidates = rigid_geometries(inspector, frame_id, self._params.role)
            geometry_ids = [geometry_id for geometry_id in candidates if self._accepts(inspector, geometry_id)]
            is_world = frame_id == inspector.world_frame_id()
            frame_path = self._params.prefix if is_world else self._path_below(inspector.GetName(frame_id))
            if geometry_ids and not is_world:
                frames[frame_path] = frame_id
            for geometry_id in geometry_ids:
                name = inspector.GetName(geometry_id).replace("::", "/")
                found[f"{frame_path}/{name}"] = self._to_draw(inspector, geometry_id, is_world, frame_id)
        for path in self._drawn.keys() - found.keys() | self._frames.keys() - frames.keys():
            self._meshcat.Delete(path)
        for path, new in with_progress(found.items(), "drawing shapes"):
            old = self._drawn.get(path)
            if old is None and new.is_fixed:
                self._meshcat.SetProperty(path, "is_fixed", True)
            if old is None or old._replace(X_FG=new.X_FG) != new:
                self._draw(path, new)
            if old is None or old.X_FG != new.X_FG:
                self._meshcat.SetTransform(path, np.array(new.X_FG).reshape(4, 4))
        if frames != self._frames:
            self._block = self._meshcat.add_pose_block(list(frames))
            self._layout = None
        self._drawn, self._frames = found, frames

    def _find_deformables(self, inspector: SceneGraphInspector) -> None:
        """Says which deformable geometries are drawn."""
        found: dict[str, tuple[GeometryId, Rgba]] = {}
        for geometry_id in inspector.GetAllDeformableGeometryIds():
            properties: Any = inspector.GetProperties(geometry_id, self._params.role)
            if properties is not None and self._accepts(inspector, geometry_id):
                color = properties.GetPropertyOrDefault("phong", "diffuse", self._params.default_color)
                found[self._path_below(inspector.GetName(geometry_id))] = geometry_id, color
        self._deformables.set_geometries(inspector, found)

    def _path_below(self, name: str) -> str:
        return f"{self._params.prefix}/{name.replace('::', '/')}"

    def _accepts(self, inspector: SceneGraphInspector, geometry_id: GeometryId) -> bool:
        """Whether a geometry is for this viewer."""
        properties: Any = inspector.GetProperties(geometry_id, self._params.role)
        if not properties.HasProperty("meshcat", "accepting"):
            return self._params.include_unspecified_accepting
        return bool(properties.GetProperty("meshcat", "accepting") == self._params.prefix)

    def _to_draw(
        self, inspector: SceneGraphInspector, geometry_id: GeometryId, is_fixed: bool, frame_id: FrameId
    ) -> _Drawn:
        properties: Any = inspector.GetProperties(geometry_id, self._params.role)
        texture = properties.GetPropertyOrDefault("phong", "diffuse_map", "")
        repeats = np.asarray(properties.GetPropertyOrDefault("phong", "diffuse_scale", np.ones(2)), dtype=np.float64)
        color: Rgba = properties.GetPropertyOrDefault(
            "phong", "diffuse", Rgba(1, 1, 1) if texture else self._params.default_color
        )
        shape: Shape | TriangleSurfaceMesh = inspector.GetShape(geometry_id)
        if self._params.show_hydroelastic and self._params.role == Role.kProximity:
            mesh = inspector.maybe_get_hydroelastic_mesh(geometry_id)
            if mesh is not None:
                shape = ConvertVolumeToSurfaceMesh(mesh) if isinstance(mesh, VolumeMesh) else mesh
        X_FG = inspector.GetPoseInFrame(geometry_id).GetAsMatrix4().ravel().tolist()
        return _Drawn(shape, color.rgba.tolist(), X_FG, os.fspath(texture), repeats.tolist(), is_fixed, frame_id)

    def _draw(self, path: str, drawn: _Drawn) -> None:
        contents = b""
        if drawn.texture:
            try:
                contents = Path(drawn.texture).read_bytes()
            except OSError as error:
                _logger.warning("Meshcat cannot draw the texture of '%s': %s", path, error)
        if contents and isinstance(drawn.shape, Shape):
            self._meshcat.set_covered(path, drawn.shape, Rgba(*drawn.rgba), contents, np.array(drawn.repeats))
        else:
            self._meshcat.SetObject(path, drawn.shape, Rgba(*drawn.rgba))
