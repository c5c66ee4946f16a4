"""RerunVisualizer, ViserVisualizer: a SceneGraph in the viewers rerun and viser.

Both draw by SceneDrawing, as MeshcatVisualizer does; a *canvas* says how each viewer draws.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, DiagramBuilder, InputPort, LeafSystem, Value
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.math import RotationMatrix
from merganser.geometry.meshes import TriangleSurfaceMesh
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.rendering.mesh_parts import convex_parts, mesh_parts
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.scene.scene_graph import SceneGraph
from merganser.geometry.shapes import Convex, Mesh, Shape
from merganser.geometry.shapes.measures import drawn_surface
from merganser.geometry.visualizers.params import MeshcatVisualizerParams, add_visualizer, query_output_port
from merganser.geometry.visualizers.scene_drawing import SceneDrawing

Array = NDArray[Any]


def _required(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"This viewer needs the package {module}. Install the extra: pip install 'merganser[{extra}]'."
        ) from error


def colored_triangles(shape: Shape | TriangleSurfaceMesh, rgba: Rgba) -> list[tuple[Array, Array, Array]]:
    """A shape's surface in its frame: vertices, shape [n, 3], triangles, shape [m, 3], and a color (red, green, blue,
    opacity from 0 to 1) for each part."""
    color = rgba.rgba
    if isinstance(shape, TriangleSurfaceMesh):
        return [(shape.vertex_array(), shape.triangle_array(), color)]
    if isinstance(shape, (Mesh, Convex)):
        parts = mesh_parts(shape) if isinstance(shape, Mesh) else convex_parts(shape)
        return [
            (p.surface.vertices, p.surface.triangles, color if p.material is None else np.array(p.material.color))
            for p in parts
        ]
    surface = drawn_surface(shape)
    return [(surface.vertices, surface.triangles, color)]


class _Canvas(Protocol):
    """How a viewer draws: an object with triangles, a pose, nothing."""

    def set_time(self, time: float) -> None: ...
    def add(self, path: str, vertices: Array, triangles: Array, color: Array) -> None: ...
    def place(self, path: str, R: Array, p: Array) -> None: ...
    def remove(self, path: str) -> None: ...


class _Drawing:
    """What SceneDrawing asks of a Meshcat, by a canvas."""

    def __init__(self, canvas: _Canvas) -> None:
        self._canvas = canvas

    def Delete(self, path: str) -> None:
        self._canvas.remove(path)

    def SetProperty(self, path: str, property: str, value: Any) -> None:
        pass

    def add_toggle(self, name: str, path: str) -> None:
        pass

    def SetObject(self, path: str, shape: Shape | TriangleSurfaceMesh, rgba: Rgba) -> None:
        for n, (vertices, triangles, color) in enumerate(colored_triangles(shape, rgba)):
            self._canvas.add(f"{path}/{n}", vertices, triangles, color)

    def set_covered(self, path: str, shape: Shape, rgba: Rgba, contents: bytes, repeats: Array) -> None:
        self.SetObject(path, shape, rgba)  # without its texture

    def SetTriangleMesh(
        self, path: str, vertices: Array, faces: Array, rgba: Rgba, time_in_recording: float | None = None
    ) -> None:
        self._canvas.add(path, vertices.T, faces.T, rgba.rgba)

    def SetTransform(self, path: str, X: Array) -> None:
        self._canvas.place(path, X[:3, :3], X[:3, 3])

    def add_pose_block(self, paths: list[str]) -> list[str]:
        return paths

    def set_poses(self, paths: list[str], X_WF: Array, time: float) -> None:
        for path, X in zip(paths, X_WF):
            self._canvas.place(path, X[:3, :3], X[:3, 3])


class _SceneViewer(LeafSystem):
    """Draws the geometries of one role periodically on a canvas; copies draw on the same one.

    Ports:
        input `query_object`: QueryObject of a SceneGraph.
    """

    def __init__(self, canvas: _Canvas, params: MeshcatVisualizerParams | None) -> None:
        super().__init__()
        self._params = params or MeshcatVisualizerParams()
        self._canvas: Any = canvas
        self._drawing = SceneDrawing(_Drawing(canvas), self._params)  # type: ignore[arg-type]  # what it asks for
        self._port = self.DeclareAbstractInputPort("query_object", Value(QueryObject()))
        self.DeclareForcedPublishEvent(self._draw)
        if self._params.publish_period > 0.0:
            self.DeclarePeriodicPublishEvent(self._params.publish_period, 0.0, self._draw)
        else:
            self.DeclarePerStepPublishEvent(self._draw)

    def query_object_input_port(self) -> InputPort:
        """Returns the port that takes the QueryObject of a SceneGraph."""
        return self._port

    def _draw(self, context: Context) -> None:
        time = float(cast_array([context.get_time()], float)[0])
        self._canvas.set_time(time)
        self._drawing.update(self._port.Eval(context), time)


class RerunVisualizer(_SceneViewer):
    """Draws the geometries of a SceneGraph in rerun, live or in a file .rrd, on the timeline "time".

    Ports:
        input `query_object`: QueryObject of a SceneGraph.

    Args:
        recording: a rerun.RecordingStream; by default a new one, `recording`, which `recording.save("run.rrd")`,
            `recording.spawn()` or `recording.serve_grpc()` says where to send: before the simulation.
        params: what is drawn, and how often; as of MeshcatVisualizer.

    Raises:
        ImportError: the extra `rerun` is not installed.
    """

    def __init__(self, recording: Any = None, params: MeshcatVisualizerParams | None = None) -> None:
        super().__init__(_RerunCanvas(recording), params)

    @property
    def recording(self) -> Any:
        """The rerun.RecordingStream."""
        return self._canvas.recording

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        scene_graph: SceneGraph,
        recording: Any = None,
        params: MeshcatVisualizerParams | None = None,
    ) -> RerunVisualizer:
        """Adds a RerunVisualizer to a diagram and connects it to a SceneGraph; the rest as of the class."""
        port = query_output_port("RerunVisualizer", builder, scene_graph, None)
        return add_visualizer(builder, RerunVisualizer(recording, params), "rerun_visualizer", port)


class _RerunCanvas:
    _never_changes = True  # copies of a system share it

    def __init__(self, recording: Any) -> None:
        self._rerun = rerun = _required("rerun", "rerun")
        self.recording = rerun.RecordingStream("merganser") if recording is None else recording
        self.recording.log("/", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> _RerunCanvas:
        return self

    def set_time(self, time: float) -> None:
        self.recording.set_time("time", duration=time)

    def add(self, path: str, vertices: Array, triangles: Array, color: Array) -> None:
        corners = np.asarray(vertices)[triangles]  # each triangle has its own, and one normal, by which it is lit
        n = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        n /= np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
        positions, normals = corners.reshape(-1, 3), np.repeat(n, 3, axis=0)
        indices = np.arange(len(positions)).reshape(-1, 3)
        mesh = self._rerun.Mesh3D(
            vertex_positions=positions, vertex_normals=normals, triangle_indices=indices, albedo_factor=color
        )
        self.recording.log(path, mesh)

    def place(self, path: str, R: Array, p: Array) -> None:
        self.recording.log(path, self._rerun.Transform3D(translation=p, mat3x3=R))

    def remove(self, path: str) -> None:
        self.recording.log(path, self._rerun.Clear(recursive=True))


class ViserVisualizer(_SceneViewer):
    """Draws the geometries of a SceneGraph in viser, which pages of a browser show.

    Ports:
        input `query_object`: QueryObject of a SceneGraph.

    Args:
        server: a viser.ViserServer; by default a new one, `server`, which this machine alone can reach.
        params: what is drawn, and how often; as of MeshcatVisualizer.

    Raises:
        ImportError: the extra `viser` is not installed.
    """

    def __init__(self, server: Any = None, params: MeshcatVisualizerParams | None = None) -> None:
        super().__init__(_ViserCanvas(server), params)

    @property
    def server(self) -> Any:
        """The viser.ViserServer."""
        return self._canvas.server

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        scene_graph: SceneGraph,
        server: Any = None,
        params: MeshcatVisualizerParams | None = None,
    ) -> ViserVisualizer:
        """Adds a ViserVisualizer to a diagram and connects it to a SceneGraph; the rest as of the class."""
        port = query_output_port("ViserVisualizer", builder, scene_graph, None)
        return add_visualizer(builder, ViserVisualizer(server, params), "viser_visualizer", port)


class _ViserCanvas:
    _never_changes = True  # copies of a system share it

    def __init__(self, server: Any) -> None:
        viser = _required("viser", "viser")
        self.server = viser.ViserServer(host="localhost", verbose=False) if server is None else server
        self.server.scene.set_up_direction("+z")
        self._nodes: dict[str, Any] = {}  # by path

    def __deepcopy__(self, memo: dict[int, Any]) -> _ViserCanvas:
        return self

    def set_time(self, time: float) -> None:
        pass

    def add(self, path: str, vertices: Array, triangles: Array, color: Array) -> None:
        rgb, opacity = tuple(round(255 * float(c)) for c in color[:3]), float(color[3])
        self._nodes[path] = self.server.scene.add_mesh_simple(
            f"/{path}", vertices, triangles, color=rgb, opacity=None if opacity >= 1.0 else opacity
        )

    def place(self, path: str, R: Array, p: Array) -> None:
        if path not in self._nodes:
            self._nodes[path] = self.server.scene.add_frame(f"/{path}", show_axes=False)
        node = self._nodes[path]
        node.wxyz, node.position = RotationMatrix(R).ToQuaternion().wxyz(), p

    def remove(self, path: str) -> None:
        for below in [each for each in self._nodes if each == path or each.startswith(f"{path}/")]:
            self._nodes.pop(below).remove()
