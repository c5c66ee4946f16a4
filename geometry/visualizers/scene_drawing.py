"""The geometries of one role of a SceneGraph as objects of a Meshcat, kept up to date."""

from __future__ import annotations

import copy
import logging
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from merganser.framework.core.scalars.scalars import cast_array
from merganser.geometry.geometry_version import GeometryVersion
from merganser.geometry.ids import FrameId, GeometryId
from merganser.geometry.inspector import SceneGraphInspector, rigid_geometries
from merganser.geometry.meshes import ConvertVolumeToSurfaceMesh, TriangleSurfaceMesh, VolumeMesh
from merganser.geometry.pose_layout import PoseLayout
from merganser.geometry.query_object import QueryObject
from merganser.geometry.rgba import Rgba
from merganser.geometry.roles import Role
from merganser.geometry.shapes import Shape
from merganser.geometry.visualizers.deformable_drawing import DeformableDrawing
from merganser.geometry.visualizers.meshcat import Meshcat
from merganser.geometry.visualizers.params import MeshcatVisualizerParams
from merganser.geometry.visualizers.pose_block import PoseBlock
from merganser.geometry.visualizers.progress import told

__all__ = ["SceneDrawing"]

_logger = logging.getLogger("merganser.geometry")


class _Drawn(NamedTuple):
    """What stands at a path."""

    shape: Shape | TriangleSurfaceMesh
    rgba: list[float]
    X_FG: list[float]
    texture: str
    repeats: list[float]


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
                found[f"{frame_path}/{name}"] = self._to_draw(inspector, geometry_id)
        for path in self._drawn.keys() - found.keys() | self._frames.keys() - frames.keys():
            self._meshcat.Delete(path)
        for path, new in told(found.items(), "drawing shapes"):
            old = self._drawn.get(path)
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

    def _to_draw(self, inspector: SceneGraphInspector, geometry_id: GeometryId) -> _Drawn:
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
        return _Drawn(shape, color.rgba.tolist(), X_FG, os.fspath(texture), repeats.tolist())

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
