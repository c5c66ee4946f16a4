"""DrakeVisualizer: sends what a SceneGraph looks like over LCM, to viewers such as Meldis.

Geometries as messages that Drake's viewers read: what there is (load), and where it is (draw, deformable).
"""

from __future__ import annotations

import base64
import copy
import json
import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, DiagramBuilder, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.scalars.scalars import cast_array, numeric_scalars
from merganser.framework.core.scalars.templates import SystemTemplate
from merganser.framework.lcm.drake_lcm import DrakeLcm, DrakeLcmInterface, interface_of
from merganser.framework.lcm.messages.viewers import (
    lcmt_viewer_draw,
    lcmt_viewer_geometry_data,
    lcmt_viewer_link_data,
    lcmt_viewer_load_robot,
)
from merganser.framework.math import RigidTransform
from merganser.geometry.meshes import ConvertVolumeToSurfaceMesh, VolumeMesh
from merganser.geometry.meshes.mesh_source import MemoryFile, MeshSource
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.registration.ids import FrameId, GeometryId
from merganser.geometry.registration.properties import GeometryVersion, Role
from merganser.geometry.scene.inspector import SceneGraphInspector, rigid_geometries
from merganser.geometry.scene.pose_layout import PoseLayout
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.scene.scene_graph import SceneGraph
from merganser.geometry.shapes import HalfSpace, Mesh, Shape
from merganser.geometry.shapes.measures import hull_of, is_surface_known, triangles_of
from merganser.geometry.visualizers.params import DrakeVisualizerParams, add_visualizer, query_output_port

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
    surface: tuple[Array, Array] | None = None
    if params.show_hydroelastic and params.role == Role.kProximity:
        mesh = inspector.maybe_get_hydroelastic_mesh(geometry_id)
        mesh = ConvertVolumeToSurfaceMesh(mesh) if isinstance(mesh, VolumeMesh) else mesh
    is_drawn_as_triangles = shape.kind.viewer_sizes is None and is_surface_known(shape)
    if mesh is not None:
        surface = mesh.vertex_array(), mesh.triangle_array()
    elif is_drawn_as_triangles and not isinstance(shape, Mesh):
        surface = triangles_of(shape)
    elif is_drawn_as_triangles and params.role == Role.kProximity:  # of a Mesh the hull is what touches
        surface = hull_of(shape).vertex_array(), hull_of(shape).triangle_array()
    if surface is not None:
        data.type, data.float_data = data.MESH, _triangles(surface[0][surface[1]])
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
    if isinstance(shape, HalfSpace):
        return lcmt_viewer_geometry_data.BOX, _HALF_SPACE
    if shape.kind.viewer_sizes is None:
        raise RuntimeError(f"DrakeVisualizer: messages to viewers have no shape {type(shape).__name__}.")
    name, sizes = shape.kind.viewer_sizes(shape)
    return getattr(lcmt_viewer_geometry_data, name), sizes


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


_SUFFIXES = {Role.kIllustration: "_ILLUSTRATION", Role.kProximity: "_PROXIMITY", Role.kPerception: "_PERCEPTION"}


class DrakeVisualizer(LeafSystem):
    """Sends the geometries of one role of a SceneGraph, and where they are, as messages, periodically.

    Channels: DRAKE_VIEWER_LOAD_ROBOT says what there is, at first and whenever geometries of the role have changed;
    DRAKE_VIEWER_DRAW where it is; DRAKE_VIEWER_DEFORMABLE where the surfaces of deformable geometries are, of all
    roles as in pydrake. Copies of this system, and those for other scalars, use the same DrakeLcm.

    Ports:
        input `query_object`: QueryObject of a SceneGraph.

    Args:
        lcm: sends the messages; None for a new DrakeLcm with the default URL.
        params: what is sent, and how often.

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the role is kUnassigned, or the period not positive.
        ImportError: there is no `lcm`, and the package lcm is not installed (extra `lcm`).
    """

    _keeps_derivatives = True

    def __init__(self, lcm: DrakeLcmInterface | None = None, params: DrakeVisualizerParams | None = None) -> None:
        super().__init__()
        self._params = _checked(params)
        self._lcm: DrakeLcm = interface_of(lcm, "DrakeVisualizer")
        self._version: GeometryVersion | None = None  # of what was sent last
        self._frames: list[FrameId] = []
        self._message = lcmt_viewer_draw()
        self._deformables: DeformableMessage | None = None
        self._layout: PoseLayout | None = None
        self._rows = np.zeros(0, dtype=np.intp)
        self._port = self.DeclareAbstractInputPort("query_object", Value(QueryObject()))
        self.DeclarePeriodicPublishEvent(self._params.publish_period, 0.0, self._send)
        self.DeclareForcedPublishEvent(self._send)

    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        scene_graph: SceneGraph,
        lcm: DrakeLcmInterface | None = ...,
        params: DrakeVisualizerParams = ...,
    ) -> DrakeVisualizer: ...
    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        query_object_port: OutputPort,
        /,
        lcm: DrakeLcmInterface | None = ...,
        params: DrakeVisualizerParams = ...,
    ) -> DrakeVisualizer: ...
    @overload
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        *,
        query_object_port: OutputPort,
        lcm: DrakeLcmInterface | None = ...,
        params: DrakeVisualizerParams = ...,
    ) -> DrakeVisualizer: ...
    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        scene_graph: Any = None,
        lcm: DrakeLcmInterface | None = None,
        params: DrakeVisualizerParams | None = None,
        *,
        query_object_port: OutputPort | None = None,
    ) -> DrakeVisualizer:
        """Adds a DrakeVisualizer to a diagram and connects it.

        Args:
            builder: of the diagram.
            scene_graph: what it shows. Or `query_object_port`, an output port with a QueryObject.
            lcm: sends the messages; None for a new DrakeLcm with the default URL.
            params: what is sent, and how often.

        Returns:
            The visualizer; its name is 'drake_visualizer(<role>)', unless another system has that.

        Raises:
            TypeError: an argument has another type.
            RuntimeError, ImportError: as of DrakeVisualizer.
        """
        port = query_output_port("DrakeVisualizer", builder, scene_graph, query_object_port)
        visualizer = DrakeVisualizer(lcm, params)
        name = f"drake_visualizer({_SUFFIXES[visualizer._params.role][1:].lower()})"
        return add_visualizer(builder, visualizer, name, port)

    @staticmethod
    def DispatchLoadMessage(
        scene_graph: SceneGraph, lcm: DrakeLcmInterface, params: DrakeVisualizerParams | None = None
    ) -> None:
        """Sends the geometries of the model of a SceneGraph, without any Context.

        Args:
            scene_graph: the SceneGraph.
            lcm: sends the message.
            params: of which role, and in which color.
        """
        checked = _checked(params)
        inspector = scene_graph.model_inspector()
        message = load_message(inspector, checked, moving_frames(inspector, checked.role))
        channel = f"DRAKE_VIEWER_LOAD_ROBOT{_suffix(checked)}"
        interface_of(lcm, "DrakeVisualizer.DispatchLoadMessage").Publish(channel, message.encode(), 0.0)

    def query_object_input_port(self) -> InputPort:
        """Returns the port that takes the QueryObject of a SceneGraph."""
        return self._port

    def _send(self, context: Context) -> None:
        """Sends what has changed, and all poses."""
        query: QueryObject = self._port.Eval(context)
        time = float(cast_array([context.get_time()], float)[0])
        inspector, suffix = query.inspector(), _suffix(self._params)
        version = inspector.geometry_version()
        if self._version is None or not version.IsSameAs(self._version, self._params.role):
            self._frames = moving_frames(inspector, self._params.role)
            load = load_message(inspector, self._params, self._frames)
            self._lcm.Publish(f"DRAKE_VIEWER_LOAD_ROBOT{suffix}", load.encode(), time)
            self._message = draw_message(inspector, self._frames)
            self._deformables = DeformableMessage(inspector, self._params)
            self._version, self._layout = copy.copy(version), None
        set_poses(self._message, self._poses(query), time)
        self._lcm.Publish(f"DRAKE_VIEWER_DRAW{suffix}", self._message.encode(), time)
        assert self._deformables is not None
        self._lcm.Publish(f"DRAKE_VIEWER_DEFORMABLE{suffix}", self._deformables.encoded(query), time)

    def _poses(self, query: QueryObject) -> Any:
        """Poses of the moving frames in the world, shape [n, 4, 4]."""
        if not self._frames:
            return np.zeros((0, 4, 4))
        poses = query.world_poses()
        if poses.layout is not self._layout:
            self._layout = poses.layout
            self._rows = np.array([poses.layout.frame_rows[frame_id] for frame_id in self._frames])
        return cast_array(poses.X_WF[self._rows], float)


DrakeVisualizer_ = SystemTemplate(DrakeVisualizer, numeric_scalars)


def _suffix(params: DrakeVisualizerParams) -> str:
    """The suffix of the names of channels."""
    return _SUFFIXES[params.role] if params.use_role_channel_suffix else ""


def _checked(params: Any) -> DrakeVisualizerParams:
    """A copy of the settings.

    Raises:
        TypeError: they are something else.
        RuntimeError: a setting is out of its range.
    """
    params = DrakeVisualizerParams() if params is None else params
    if not isinstance(params, DrakeVisualizerParams):
        raise TypeError(f"DrakeVisualizer takes DrakeVisualizerParams; given {params!r}.")
    if not (params.publish_period > 0 and math.isfinite(params.publish_period)):
        raise RuntimeError(f"DrakeVisualizer requires a positive publish period; given {params.publish_period}.")
    if params.role == Role.kUnassigned:
        raise RuntimeError(
            "DrakeVisualizer sends geometries of a role: kIllustration, kProximity or kPerception; given "
            f"{params.role!r}."
        )
    return copy.deepcopy(params)
