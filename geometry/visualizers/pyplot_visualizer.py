"""Systems that draw with matplotlib, live or as an animation.

PyPlotVisualizer is for drawings of one's own; PlanarSceneGraphVisualizer shows the outlines of all bodies, projected
onto a plane. A point V has the coordinates p_WV in the world and p in the picture:

    s [p; 1] = T_VW [p_WV; 1]    (1)

with s = 1 unless T_VW has a perspective. Of each geometry the convex hull is drawn, whose outline is the hull of the
projected points.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context, DiagramBuilder, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.core.values.arguments import checked_number
from merganser.framework.primitives import VectorLog
from merganser.framework.trajectories import Trajectory
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.registration.ids import FrameId
from merganser.geometry.registration.properties import GeometryVersion, Role
from merganser.geometry.scene.inspector import SceneGraphInspector, rigid_geometries
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.scene.scene_graph import SceneGraph
from merganser.geometry.shapes import Convex, Mesh, Shape
from merganser.geometry.shapes.measures import outline_of

Array = NDArray[np.float64]
_DRAW_PERIOD = 1 / 32  # [s], a binary fraction, so that no step ends just beside the time of a picture
_WHITE = (1.0, 1.0, 1.0)


class PyPlotVisualizer(LeafSystem):
    """Draws into axes of matplotlib at the start of a simulation and periodically, and keeps what it needs to do so
    again.

    A derived class declares its input port, sets the limits of the axes, and overrides `draw`. Pictures that are
    recorded become a `matplotlib.animation.Animation`, which has `to_jshtml()` for notebooks and pages, and
    `save('pictures.gif', writer='pillow')`.

    Args:
        draw_period: simulated time between two pictures [s]; 1/32 by default.
        facecolor: of the figure.
        figsize: of the figure [inches].
        ax: axes to draw into, instead of those of a new figure.
        show: whether there is a window, which is drawn while the simulation runs; by default that is so unless
            matplotlib's backend is 'template'. Recordings need none.

    Attributes:
        fig: the figure.
        ax: the axes.
        time_step: simulated time between two pictures [s].

    Raises:
        RuntimeError: the period is not positive.
        ImportError: matplotlib's backend cannot be loaded.
    """

    def __init__(
        self,
        draw_period: float | None = None,
        facecolor: Any = _WHITE,
        figsize: tuple[float, float] | None = None,
        ax: Any = None,
        show: bool | None = None,
    ) -> None:
        super().__init__()
        self._plt = _pyplot()
        self.time_step = _DRAW_PERIOD if draw_period is None else checked_number(draw_period, "draw_period")
        if not (self.time_step > 0 and math.isfinite(self.time_step)):
            raise RuntimeError(f"{type(self).__name__}: draw_period must be positive; given {draw_period}.")
        self._sys_suggest_name("pyplot_visualization")
        self.DeclareForcedPublishEvent(self._publish)
        self.DeclarePeriodicPublishEvent(self.time_step, 0.0, self._publish)
        self.DeclareInitializationPublishEvent(self._begin)
        if ax is None:
            self.fig = self._plt.figure(facecolor=facecolor, figsize=figsize)
            self.ax = self.fig.add_subplot()
        else:
            if not hasattr(ax, "get_figure"):
                raise TypeError(f"{type(self).__name__}: ax must be axes of matplotlib; given {ax!r}.")
            self.ax, self.fig = ax, ax.get_figure()
        self._show = self._plt.get_backend().lower() != "template" if show is None else bool(show)
        self.ax.axis("equal")
        self.ax.axis("off")
        if not self._show:
            self._plt.close(self.fig)  # notebooks would show it as it is now
        self._is_recording = False
        self._recorded_contexts: list[Context] = []

    # ------------------------------------------------------------------ drawing

    def draw(self, context: Any) -> None:
        """Draws one picture; to be overridden.

        Args:
            context: of this system; or, in `animate`, the value of its input port, shape [n].

        Raises:
            NotImplementedError: it is not overridden.
        """
        raise NotImplementedError(f"{type(self).__name__} must override draw(context).")

    def _begin(self, context: Context) -> None:
        """At the start of a simulation."""
        if self._show:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*non-interactive.*")  # backends that draw into files
                self.fig.show()
        self._publish(context)

    def _publish(self, context: Context) -> None:
        if self._show:
            self.draw(context)
            self.fig.canvas.draw()
            self.fig.canvas.flush_events()
        if self._is_recording:
            snapshot = self.AllocateContext()
            snapshot.SetTimeStateAndParametersFrom(context)
            self.FixInputPortsFrom(self, context, snapshot)
            self._recorded_contexts.append(snapshot)

    # ------------------------------------------------------------------ animations

    def start_recording(self) -> None:
        """From now on, what is published is recorded."""
        self._is_recording = True

    def stop_recording(self) -> None:
        """From now on, nothing is recorded."""
        self._is_recording = False

    def reset_recording(self) -> None:
        """Forgets what was recorded."""
        self._recorded_contexts = []

    def get_recording_as_animation(self, **kwargs: Any) -> Any:
        """Returns what was recorded as an animation.

        Args:
            kwargs: for matplotlib.animation.FuncAnimation, such as `repeat=False`.

        Raises:
            RuntimeError: nothing was recorded.
        """
        contexts = self._recorded_contexts
        return self._animation(lambda frame: self.draw(contexts[frame]), len(contexts), kwargs)

    def animate(self, log: VectorLog | Trajectory, resample: bool = True, **kwargs: Any) -> Any:
        """Returns an animation of what was logged; `draw` gets the values, as vectors.

        Args:
            log: samples of what the input port takes; or a trajectory of it.
            resample: whether samples are interpolated at multiples of the draw period, or shown one by one.
            kwargs: for matplotlib.animation.FuncAnimation.

        Raises:
            TypeError: `log` is something else.
            RuntimeError: there is nothing in it.
        """
        if isinstance(log, VectorLog):
            values = np.array(log.data())
            if resample and values.shape[1]:
                values = _resampled(log.sample_times(), values, self.time_step)
        elif isinstance(log, Trajectory):
            times = np.arange(log.start_time(), log.end_time(), self.time_step)
            values = np.array([np.asarray(log.value(time)).ravel() for time in times]).T.reshape(-1, len(times))
        else:
            raise TypeError(f"{type(self).__name__}.animate() takes a VectorLog or a Trajectory; given {log!r}.")
        return self._animation(lambda frame: self.draw(values[:, frame]), values.shape[1], kwargs)

    def _animation(self, draw: Any, num_frames: int, options: dict[str, Any]) -> Any:
        from matplotlib.animation import FuncAnimation

        if num_frames == 0:
            raise RuntimeError(
                f"'{self.get_name()}' has nothing to animate. Call start_recording() before the simulation begins, or "
                "animate(log) with what was logged."
            )
        milliseconds = 1000 * self.time_step
        return FuncAnimation(fig=self.fig, func=draw, frames=num_frames, interval=milliseconds, **options)


def _resampled(times: NDArray[Any], values: NDArray[Any], period: float) -> NDArray[Any]:
    """Samples, shape [n, num_samples], interpolated at multiples of a period from the first one on."""
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[:, order]
    new_times = np.arange(times[0], times[-1], period)
    return np.array([np.interp(new_times, times, row) for row in values]).reshape(len(values), -1)


def _pyplot() -> Any:
    """matplotlib's pyplot.

    Raises:
        ImportError: its backend cannot be loaded.
    """
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError(
            f"matplotlib cannot draw here ({error}). On Ubuntu its windows need 'sudo apt install python3-tk'; the "
            "environment variable MPLBACKEND=Agg draws without a window."
        ) from error
    return pyplot


# ---------------------------------------------------------------------- outlines of bodies

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
