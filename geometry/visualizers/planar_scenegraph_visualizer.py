"""PlanarSceneGraphVisualizer: the outlines of all bodies, projected onto a plane, by matplotlib.

A point V has the coordinates p_WV in the world and p in the picture:

    s [p; 1] = T_VW [p_WV; 1]    (1)

with s = 1 unless T_VW has a perspective. Of each geometry the convex hull is drawn, whose outline is the hull of the
projected points.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import DiagramBuilder, InputPort, OutputPort, Value
from merganser.framework.core.scalars.scalars import cast_array
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.registration.ids import FrameId
from merganser.geometry.registration.properties import GeometryVersion, Role
from merganser.geometry.scene.inspector import SceneGraphInspector, rigid_geometries
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.scene.scene_graph import SceneGraph
from merganser.geometry.shapes import Convex, Mesh, Shape
from merganser.geometry.shapes.measures import outline_of
from merganser.geometry.visualizers.pyplot_visualizer import PyPlotVisualizer

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context

Array = NDArray[np.float64]

_FROM_THE_FRONT = ((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))  # x to the right, z upwards
_GRAY = Rgba(0.9, 0.9, 0.9, 1.0)
_SAME_DEPTH = 9  # digits after the point [m]; what is as deep is drawn in the order in which it was registered
_READABLE = (".obj", ".vtk", ".gltf")


class _Piece(NamedTuple):
    """A geometry as it is drawn.

    Attributes:
        frame_id: the frame F to which it is fixed.
        p_FV: corners of its convex hull, or points on it, in F, shape [n, 3].
        outline: the polygon in the picture, as matplotlib has it.
    """

    frame_id: FrameId
    p_FV: Array
    outline: Any


class PlanarSceneGraphVisualizer(PyPlotVisualizer):
    """Draws the illustrations in a SceneGraph onto a plane, as convex outlines; what is nearer covers what is behind.

    Geometries that are for one Meshcat viewer only, by a property ('meshcat', 'accepting'), are left out. When
    geometries change in the Context, they are drawn as they are then.

    Ports:
        input `geometry_query`: QueryObject of the SceneGraph.

    Args:
        scene_graph: what is drawn.
        draw_period: simulated time between two pictures [s]; 1/32 by default.
        T_VW: the projection (1), shape [3, 4]; by default x is to the right and z upwards.
        xlim: left and right edge of the picture [m].
        ylim: lower and upper edge.
        facecolor: of the figure.
        use_random_colors: whether each body has a color of its own, instead of those of its geometries.
        substitute_collocated_mesh_files: whether, instead of a mesh file that cannot be read, one of the same name
            that ends with .obj, .vtk or .gltf is taken.
        ax: axes to draw into, instead of those of a new figure.
        show: as of PyPlotVisualizer.

    Raises:
        TypeError: `scene_graph` is none; T_VW is not of numbers, shape [3, 4].
        RuntimeError: the period is not positive; a mesh cannot be read.
    """

    def __init__(
        self,
        scene_graph: SceneGraph,
        draw_period: float | None = None,
        T_VW: ArrayLike = _FROM_THE_FRONT,
        xlim: Any = (-1.0, 1.0),
        ylim: Any = (-1.0, 1.0),
        facecolor: Any = (1.0, 1.0, 1.0),
        use_random_colors: bool = False,
        substitute_collocated_mesh_files: bool = True,
        ax: Any = None,
        show: bool | None = None,
    ) -> None:
        from matplotlib import rcParams

        if not isinstance(scene_graph, SceneGraph):
            raise TypeError(f"PlanarSceneGraphVisualizer takes a SceneGraph; given {scene_graph!r}.")
        self._T_VW = np.array(T_VW, dtype=np.float64)
        if self._T_VW.shape != (3, 4):
            raise TypeError(f"PlanarSceneGraphVisualizer: T_VW must have the shape (3, 4), not {self._T_VW.shape}.")
        if not np.isfinite(self._T_VW).all():
            raise RuntimeError(f"PlanarSceneGraphVisualizer: T_VW must be finite; given {T_VW!r}.")
        (left, right), (bottom, top) = _limits("xlim", xlim), _limits("ylim", ylim)
        width = rcParams["figure.figsize"][0]
        figsize = (width, width * (top - bottom) / (right - left))
        super().__init__(draw_period, facecolor, figsize, ax, show)
        self._sys_suggest_name("planar_scenegraph_visualizer")
        self._port = self.DeclareAbstractInputPort("geometry_query", Value(QueryObject()))
        self._has_random_colors = use_random_colors
        self._substitutes = substitute_collocated_mesh_files
        self.ax.set_aspect("equal", adjustable="box")  # so that the limits are these
        self.ax.set_xlim(left, right)
        self.ax.set_ylim(bottom, top)
        self.fig.set_size_inches(figsize)
        self._pieces: list[_Piece] = []
        self._version: GeometryVersion | None = None
        self._make_pieces(scene_graph.model_inspector())

    def get_geometry_query_input_port(self) -> InputPort:
        """Returns the port that takes the QueryObject of the SceneGraph."""
        return self._port

    @staticmethod
    def frame_name(frame_id: FrameId, inspector: SceneGraphInspector) -> str:
        """Returns the name of a frame, after that of its source; 'world' for the world."""
        if frame_id == inspector.world_frame_id():
            return "world"
        return f"{inspector.GetOwningSourceName(frame_id)}::{inspector.GetName(frame_id)}"

    def draw(self, context: Context) -> None:
        """Draws all geometries at their poses."""
        query: QueryObject = self._port.Eval(context)
        inspector = query.inspector()
        if self._version is None or not inspector.geometry_version().IsSameAs(self._version, Role.kIllustration):
            self._make_pieces(inspector)
        poses = query.world_poses()
        toward_viewer = np.cross(self._T_VW[0, :3], self._T_VW[1, :3])
        for piece in self._pieces:
            X_WF = cast_array(poses.X_WF[poses.layout.frame_rows[piece.frame_id]], float)
            piece.outline.set_xy(self._outline(X_WF, piece.p_FV))
            piece.outline.set_zorder(round(float(X_WF[:3, 3] @ toward_viewer), _SAME_DEPTH))
        self.ax.set_title(f"t = {float(cast_array([context.get_time()], float)[0]):.1f}")

    def _outline(self, X_WF: Array, p_FV: Array) -> Array:
        """The corners of what is seen of points, one after the other, shape [n, 2]."""
        p_WV = p_FV @ X_WF[:3, :3].T + X_WF[:3, 3]
        projected = p_WV @ self._T_VW[:, :3].T + self._T_VW[:, 3]  # (1)
        return _hull(projected[:, :2] / projected[:, 2:])

    def _make_pieces(self, inspector: SceneGraphInspector) -> None:
        """Takes over the geometries as they are now, at the poses that they have in their frames."""
        for piece in self._pieces:
            piece.outline.remove()
        self._pieces = []
        for frame_id, geometry_ids, color in self._bodies(inspector):
            for geometry_id in geometry_ids:
                p_GV = self._points(inspector.GetShape(geometry_id))
                if not len(p_GV):
                    continue
                X_FG = inspector.GetPoseInFrame(geometry_id).GetAsMatrix4()
                p_FV = p_GV @ X_FG[:3, :3].T + X_FG[:3, 3]
                properties: Any = inspector.GetIllustrationProperties(geometry_id)
                rgba: Rgba = properties.GetPropertyOrDefault("phong", "diffuse", _GRAY)
                face = rgba.rgba if color is None else color
                corners = self._outline(np.eye(4), p_FV).T
                (outline,) = self.ax.fill(*corners, zorder=0, edgecolor="k", facecolor=face, closed=True)
                self._pieces.append(_Piece(frame_id, p_FV, outline))
        self._version = copy.copy(inspector.geometry_version())

    def _bodies(self, inspector: SceneGraphInspector) -> Iterator[tuple[FrameId, list[Any], Any]]:
        """Frames with what is drawn of them, and the color of the frame, if it has one."""
        from matplotlib import colormaps

        found = {}
        for frame_id in inspector.GetAllFrameIds():
            geometry_ids = rigid_geometries(inspector, frame_id, Role.kIllustration)
            shown = [each for each in geometry_ids if _is_for_all(inspector.GetIllustrationProperties(each))]
            if shown:
                found[frame_id] = shown
        colors: Any = [None] * len(found)
        if self._has_random_colors:
            colors = colormaps["rainbow"](np.linspace(0, 1, len(found)))
        for (frame_id, shown), color in zip(found.items(), colors):
            yield frame_id, shown, color

    def _points(self, shape: Shape) -> Array:
        """Points of which a shape is the convex hull, or nearly so, shape [n, 3]."""
        if isinstance(shape, (Convex, Mesh)):
            return self._corners_of_hull(shape)
        return outline_of(shape)

    def _corners_of_hull(self, shape: Convex | Mesh) -> Array:
        """The corners of a mesh's convex hull, shape [n, 3]."""
        try:
            hull = shape.GetConvexHull()
        except (RuntimeError, ImportError):
            source = shape.source()
            if not (self._substitutes and source.is_path()) or source.extension() in _READABLE:
                raise
            paths = [source.path().with_suffix(suffix) for suffix in _READABLE]
            found = next((path for path in paths if path.exists()), None)
            if found is None:
                raise
            hull = Convex(found, shape.scale3()).GetConvexHull()
        return np.array([hull.vertex(v) for v in range(hull.num_vertices())])


def ConnectPlanarSceneGraphVisualizer(
    builder: DiagramBuilder, scene_graph: SceneGraph, output_port: OutputPort | None = None, **kwargs: Any
) -> PlanarSceneGraphVisualizer:
    """Adds a PlanarSceneGraphVisualizer to a diagram and connects it.

    Args:
        builder: of the diagram.
        scene_graph: what is drawn.
        output_port: with its QueryObject, where the SceneGraph is inside of another diagram.
        kwargs: for the PlanarSceneGraphVisualizer.

    Raises:
        TypeError: the first argument is no DiagramBuilder.
    """
    if not isinstance(builder, DiagramBuilder):
        raise TypeError(f"ConnectPlanarSceneGraphVisualizer() takes a DiagramBuilder first; given {builder!r}.")
    visualizer = builder.AddSystem(PlanarSceneGraphVisualizer(scene_graph, **kwargs))
    port = scene_graph.get_query_output_port() if output_port is None else output_port
    builder.Connect(port, visualizer.get_geometry_query_input_port())
    return visualizer


def _limits(name: str, given: Any) -> Array:
    """The ends of an axis, shape [2].

    Raises:
        RuntimeError: they are not two finite numbers, the first below the second.
    """
    try:
        ends = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.empty(0)
    if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] >= ends[1]:
        raise RuntimeError(
            f"PlanarSceneGraphVisualizer: {name} must be two finite numbers, the first below the second; "
            f"given {given!r}."
        )
    return ends


def _is_for_all(properties: Any) -> bool:
    """Whether a geometry may be shown by any viewer."""
    return not properties.HasProperty("meshcat", "accepting")


def _hull(points: Array) -> Array:
    """The corners of the convex hull of points, counter-clockwise, shape [n, 2]; the ends if they lie on a line."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except QhullError:
        along = points @ np.linalg.svd(points - points.mean(axis=0))[2][0]
        return points[[along.argmin(), along.argmax()]]
