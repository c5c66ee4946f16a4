"""Geometries as messages that Drake's viewers read: what there is (load), and where it is (draw, deformable)."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.lcm.messages.viewers import (
    lcmt_viewer_draw,
    lcmt_viewer_geometry_data,
    lcmt_viewer_link_data,
    lcmt_viewer_load_robot,
)
from merganser.framework.math import RigidTransform
from merganser.geometry.ids import FrameId, GeometryId
from merganser.geometry.inspector import SceneGraphInspector, rigid_geometries
from merganser.geometry.memory_file import MemoryFile
from merganser.geometry.mesh_source import MeshSource
from merganser.geometry.meshes import ConvertVolumeToSurfaceMesh, VolumeMesh
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.query_object import QueryObject
from merganser.geometry.rgba import Rgba
from merganser.geometry.roles import Role
from merganser.geometry.shapes import Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, Mesh, Shape, Sphere
from merganser.geometry.visualizers.params import DrakeVisualizerParams

__all__ = ["DeformableMessage", "draw_message", "load_message", "moving_frames", "set_poses"]

Array = NDArray[Any]

_HALF_SPACE = (50.0, 50.0, 1.0)  # sizes of the box that is drawn for it [m]


def moving_frames(inspector: SceneGraphInspector, role: Role) -> list[FrameId]:
    """The frames with geometries of a role, without the world."""
    frames = inspector.GetAllFrameIds()[1:]
    return [frame_id for frame_id in frames if inspector.NumGeometriesForFrameWithRole(frame_id, role)]


def load_message(
    inspector: SceneGraphInspector, params: DrakeVisualizerParams, frames: Sequence[FrameId]
) -> lcmt_viewer_load_robot:
    """Says what there is to see: the world, if it has geometries, and the frames.

    Raises:
        RuntimeError: a viewer knows no such shape, or the file of a Convex cannot be read.
    """
    world_id = inspector.world_frame_id()
    message = lcmt_viewer_load_robot()
    message.link = [
        _link(inspector, params, frame_id)
        for frame_id in (world_id, *frames)
        if frame_id != world_id or inspector.NumGeometriesForFrameWithRole(world_id, params.role)
    ]
    message.num_links = len(message.link)
    return message


def draw_message(inspector: SceneGraphInspector, frames: Sequence[FrameId]) -> lcmt_viewer_draw:
    """Names the frames; `set_poses` then says where they are."""
    message = lcmt_viewer_draw()
    message.num_links = len(frames)
    message.link_name = [_name(inspector, frame_id) for frame_id in frames]
    message.robot_num = [inspector.GetFrameGroup(frame_id) for frame_id in frames]
    return message


def set_poses(message: lcmt_viewer_draw, X_WF: Array, time: float) -> None:
    """Says where the frames of a message are.

    Args:
        message: as `draw_message` returns it.
        X_WF: poses of its frames F, shape [n, 4, 4].
        time: of now [s].
    """
    message.timestamp = int(1000.0 * time)
    message.position = X_WF[:, :3, 3]
    message.quaternion = _quaternions(X_WF[:, :3, :3])


class DeformableMessage:
    """The message that says where the surfaces of all deformable geometries are.

    Args:
        inspector: of the SceneGraph.
        params: in which color, of the properties of which role.
    """

    def __init__(self, inspector: SceneGraphInspector, params: DrakeVisualizerParams) -> None:
        self._message = lcmt_viewer_link_data()
        self._message.name = "deformable_geometries"
        self._surfaces = []  # geometry, and which vertices of its mesh are on the surface
        for geometry_id in inspector.GetAllDeformableGeometryIds():
            mesh = inspector.GetReferenceMesh(geometry_id)
            assert mesh is not None
            vertices, triangles = np.unique(boundary_triangles(mesh), return_inverse=True)
            properties = inspector.GetProperties(geometry_id, params.role)
            color = params.default_color
            if properties is not None:
                color = properties.GetPropertyOrDefault("phong", "diffuse", color)
            data = lcmt_viewer_geometry_data()
            data.type, data.string_data, data.color = data.MESH, inspector.GetName(geometry_id), color.rgba
            data.quaternion = (1.0, 0.0, 0.0, 0.0)  # vertices are in the world
            counts, positions = [len(vertices), triangles.size // 3], np.zeros(3 * len(vertices))
            data.float_data = np.concatenate([counts, positions, triangles.ravel()])
            data.num_float_data = len(data.float_data)
            self._message.geom.append(data)
            self._surfaces.append((geometry_id, vertices))
        self._message.num_geom = len(self._surfaces)

    def encoded(self, query: QueryObject) -> bytes:
        """Returns the message of where they are now."""
        for data, (geometry_id, vertices) in zip(self._message.geom, self._surfaces, strict=True):
            p_WV = query.GetConfigurationsInWorld(geometry_id).reshape(-1, 3)[vertices]
            data.float_data[2 : 2 + p_WV.size] = p_WV.ravel()
        return self._message.encode()


def _quaternions(R: Array) -> Array:
    """Of rotation matrices, shape [n, 3, 3]: [w, x, y, z] with w >= 0, shape [n, 4]."""
    from scipy.spatial.transform import Rotation

    if not len(R):
        return np.zeros((0, 4))
    return np.roll(Rotation.from_matrix(R).as_quat(canonical=True), 1, axis=1)


def _name(inspector: SceneGraphInspector, frame_id: FrameId) -> str:
    return f"{inspector.GetOwningSourceName(frame_id)}::{inspector.GetName(frame_id)}"


def _link(inspector: SceneGraphInspector, params: DrakeVisualizerParams, frame_id: FrameId) -> Any:
    link = lcmt_viewer_link_data()
    if frame_id == inspector.world_frame_id():
        link.name = "world"
    else:
        link.name, link.robot_num = _name(inspector, frame_id), inspector.GetFrameGroup(frame_id)
    link.geom = [
        _geometry(inspector, params, geometry_id) for geometry_id in rigid_geometries(inspector, frame_id, params.role)
    ]
    link.num_geom = len(link.geom)
    return link


def _geometry(inspector: SceneGraphInspector, params: DrakeVisualizerParams, geometry_id: GeometryId) -> Any:
    data = lcmt_viewer_geometry_data()
    shape: Any = inspector.GetShape(geometry_id)
    X_FG = inspector.GetPoseInFrame(geometry_id)
    mesh: Any = None
    if params.show_hydroelastic and params.role == Role.kProximity:
        mesh = inspector.maybe_get_hydroelastic_mesh(geometry_id)
        mesh = ConvertVolumeToSurfaceMesh(mesh) if isinstance(mesh, VolumeMesh) else mesh
    if mesh is None and (isinstance(shape, Convex) or (isinstance(shape, Mesh) and params.role == Role.kProximity)):
        mesh = inspector.GetConvexHull(geometry_id)
    if mesh is not None:
        data.type, data.float_data = data.MESH, _triangles(mesh.vertex_array()[mesh.triangle_array()])
    elif isinstance(shape, Mesh):
        data.type, data.float_data, data.string_data = data.MESH, shape.scale3(), _mesh_file(shape.source())
    else:
        data.type, data.float_data = _type_and_sizes(shape)
        if isinstance(shape, HalfSpace):
            X_FG = X_FG @ RigidTransform([0.0, 0.0, -0.5 * _HALF_SPACE[2]])
    data.num_float_data = len(data.float_data)
    data.position = X_FG.translation()
    data.quaternion = X_FG.rotation().ToQuaternion().wxyz()
    data.color = _color(inspector, params, geometry_id).rgba
    return data


def _type_and_sizes(shape: Shape) -> tuple[int, tuple[float, ...]]:
    types = lcmt_viewer_geometry_data
    match shape:
        case Sphere():
            return types.SPHERE, (shape.radius(),)
        case Box():
            return types.BOX, (shape.width(), shape.depth(), shape.height())
        case Cylinder():
            return types.CYLINDER, (shape.radius(), shape.length())
        case Capsule():
            return types.CAPSULE, (shape.radius(), shape.length())
        case Ellipsoid():
            return types.ELLIPSOID, (shape.a(), shape.b(), shape.c())
        case HalfSpace():
            return types.BOX, _HALF_SPACE
    raise RuntimeError(f"DrakeVisualizer: messages to viewers have no shape {type(shape).__name__}.")


def _triangles(corners: Array) -> Array:
    """A mesh as it is sent, with corners of its own for each triangle.

    Args:
        corners: of the triangles [m], shape [n, 3, 3].
    """
    num_vertices = 3 * len(corners)
    return np.concatenate([[num_vertices, len(corners)], corners.ravel(), np.arange(float(num_vertices))])


def _mesh_file(source: MeshSource) -> str:
    """The path of a mesh file; of one in memory, the file itself and those that it refers to, as JSON."""
    if source.is_path():
        return str(source.path())
    mesh = source.in_memory()
    content: dict[str, Any] = {"mesh_file": _memory_file(mesh.mesh_file)}
    if mesh.supporting_files:
        content["supporting_files"] = {
            name: _memory_file(file) if isinstance(file, MemoryFile) else {"path": str(file)}
            for name, file in sorted(mesh.supporting_files.items())
        }
    return json.dumps({"in_memory_mesh": content}, separators=(",", ":"))


def _memory_file(file: MemoryFile) -> dict[str, str]:
    contents = base64.b64encode(file.contents()).decode()
    return {"contents": contents, "extension": file.extension(), "filename_hint": file.filename_hint()}


def _color(inspector: SceneGraphInspector, params: DrakeVisualizerParams, geometry_id: GeometryId) -> Rgba:
    """That of the role, or else of the illustration, or else the usual one."""
    color = params.default_color
    for role in (Role.kIllustration, params.role):
        properties = inspector.GetProperties(geometry_id, role)
        if properties is not None:
            color = properties.GetPropertyOrDefault("phong", "diffuse", color)
    return color
