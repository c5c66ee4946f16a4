"""PyPlotVisualizer and PlanarSceneGraphVisualizer: where outlines are, when they are drawn, and animations of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from matplotlib.figure import Figure

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem, Value
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.primitives import ConstantVectorSource, LogVectorOutput, Sine
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.geometry import (
    Box,
    Capsule,
    ConnectPlanarSceneGraphVisualizer,
    Convex,
    Cylinder,
    Ellipsoid,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    HalfSpace,
    MakePhongIllustrationProperties,
    Mesh,
    MeshcatCone,
    PlanarSceneGraphVisualizer,
    PyPlotVisualizer,
    SceneGraph,
    Sphere,
)


class Turner(LeafSystem):
    """Turns a frame around y as fast as time, 1 m above the origin."""

    def __init__(self, frame_id: Any) -> None:
        super().__init__()
        self._frame_id = frame_id
        self.DeclareAbstractOutputPort("poses", lambda: Value(FramePoseVector()), self._calc)

    def _calc(self, context: Any, output: Any) -> None:
        X_WF = RigidTransform(RollPitchYaw(0, context.get_time(), 0), [0, 0, 1])
        output.get_mutable_value().set_value(self._frame_id, X_WF)


class Scene:
    """A frame that turns, and the diagram around."""

    def __init__(self) -> None:
        self.builder = DiagramBuilder()
        self.graph = self.builder.AddSystem(SceneGraph())
        self.source = self.graph.RegisterSource("robot")
        self.frame = self.graph.RegisterFrame(self.source, GeometryFrame("link"))
        turner = self.builder.AddSystem(Turner(self.frame))
        self.builder.Connect(turner.get_output_port(), self.graph.get_source_pose_port(self.source))

    def add(self, name: str, shape: Any, color: Any = (1, 0, 0, 1), X: RigidTransform | None = None) -> Any:
        instance = GeometryInstance(X or RigidTransform(), shape, name)
        properties = MakePhongIllustrationProperties(color)
        if name == "private":
            properties.AddProperty("meshcat", "accepting", "inertia")
        instance.set_illustration_properties(properties)
        return self.graph.RegisterGeometry(self.source, self.frame, instance)

    def view(self, time: float = 0.0, **options: Any) -> PlanarSceneGraphVisualizer:
        """The viewer after it has drawn the scene of a time."""
        viewer = ConnectPlanarSceneGraphVisualizer(self.builder, self.graph, show=False, **options)
        context = self.builder.Build().CreateDefaultContext()
        context.SetTime(time)
        viewer.draw(viewer.GetMyContextFromRoot(context))
        return viewer


def extents(viewer: Any) -> list[list[float]]:
    """Of each outline the least and greatest coordinates in the picture, x first."""
    boxes = [patch.get_path().get_extents() for patch in viewer.ax.patches]
    return [[box.x0, box.x1, box.y0, box.y1] for box in boxes]


SHAPES = [
    (Box(0.2, 9.0, 0.4), [0.1, 0.2]),
    (Sphere(0.3), [0.3, 0.3]),
    (Cylinder(0.1, 0.6), [0.1, 0.3]),
    (Capsule(0.1, 0.4), [0.1, 0.3]),
    (Ellipsoid(0.1, 5.0, 0.3), [0.1, 0.3]),
    (Convex(np.array([[0.1, -0.1, 0, 0], [0, 0, 1, -1], [0.2, -0.2, 0, 0]]), "points"), [0.1, 0.2]),
    (MeshcatCone(0.4, 0.1, 0.2), None),
    (HalfSpace(), None),
]


@pytest.mark.parametrize(("shape", "half"), SHAPES, ids=lambda value: type(value).__name__)
def test_outlines_are_the_projections_of_shapes(shape: Any, half: Any) -> None:
    scene = Scene()
    scene.add("shape", shape)
    (found,) = extents(scene.view())
    expected = {MeshcatCone: [-0.1, 0.1, 1.0, 1.4], HalfSpace: [-50, 50, 0, 1]}.get(type(shape))
    if expected is None:
        expected = [-half[0], half[0], 1 - half[1], 1 + half[1]]
    np.testing.assert_allclose(found, expected, rtol=0.005, atol=1e-9)


def test_outlines_turn_with_their_frames_and_follow_the_projection() -> None:
    scene = Scene()
    scene.add("box", Box(0.2, 0.2, 1.0), X=RigidTransform([0, 0, 0.5]))
    viewer = scene.view(time=np.pi / 2)
    np.testing.assert_allclose(extents(viewer), [[0, 1, 0.9, 1.1]], atol=1e-9)
    assert viewer.ax.get_title() == "t = 1.6"
    scene = Scene()
    scene.add("box", Box(0.2, 0.6, 1.0))
    from_above = [[0, 1, 0, 0.5], [1, 0, 0, 0], [0, 0, 0, 1]]  # y, moved, and x
    np.testing.assert_allclose(extents(scene.view(T_VW=from_above)), [[0.2, 0.8, -0.1, 0.1]], atol=1e-9)
    scene = Scene()
    scene.add("box", Box(0.2, 0.2, 0.2))
    perspective = [[1, 0, 0, 0], [0, 0, 1, -1], [0, 1, 0, 1]]  # from y = -1
    np.testing.assert_allclose(extents(scene.view(T_VW=perspective)), [[-1 / 9, 1 / 9, -1 / 9, 1 / 9]], atol=1e-9)


def test_what_is_nearer_covers_what_is_behind() -> None:
    graph, builder = SceneGraph(), DiagramBuilder()
    builder.AddSystem(graph)
    source = graph.RegisterSource("two")
    poses = FramePoseVector()
    for name, y in (("near", -1.0), ("far", 1.0)):
        frame = graph.RegisterFrame(source, GeometryFrame(name))
        instance = GeometryInstance(RigidTransform(), Box(0.2, 0.2, 0.2), name)
        instance.set_illustration_properties(MakePhongIllustrationProperties([1, 0, 0, 1]))
        graph.RegisterGeometry(source, frame, instance)
        poses.set_value(frame, RigidTransform([0, y, 0]))
    viewer = ConnectPlanarSceneGraphVisualizer(builder, graph, show=False)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    graph.get_source_pose_port(source).FixValue(graph.GetMyContextFromRoot(context), poses)
    viewer.draw(viewer.GetMyContextFromRoot(context))
    assert [patch.get_zorder() for patch in viewer.ax.patches] == [1.0, -1.0]


def test_colors_are_those_of_geometries_or_of_bodies() -> None:
    scene = Scene()
    scene.add("a", Box(1, 1, 1), (0, 1, 0, 0.5))
    scene.add("b", Sphere(1), (0, 0, 1, 1))
    scene.add("private", Sphere(1))  # is for one viewer only
    scene.add("point", Sphere(0.0))
    faces = [tuple(patch.get_facecolor()) for patch in scene.view().ax.patches]
    assert faces == [(0, 1, 0, 0.5), (0, 0, 1, 1)]
    scene = Scene()
    scene.add("a", Box(1, 1, 1), (0, 1, 0, 0.5))
    scene.add("b", Sphere(1), (0, 0, 1, 1))
    one, other = (tuple(patch.get_facecolor()) for patch in scene.view(use_random_colors=True).ax.patches)
    assert one == other != (0, 1, 0, 0.5)


def test_meshes_that_cannot_be_read_have_substitutes(tmp_path: Path) -> None:
    corners = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1))
    (tmp_path / "part.obj").write_text(corners + "f 1 2 3\nf 1 3 5\nf 2 4 8\nf 5 7 6\nf 3 7 8\nf 1 2 6\n")
    (tmp_path / "part.xyz").write_text("?")
    scene = Scene()
    scene.add("part", Mesh(tmp_path / "part.xyz", scale=0.5))
    np.testing.assert_allclose(extents(scene.view()), [[0, 0.5, 1, 1.5]], atol=1e-9)
    scene = Scene()
    scene.add("part", Mesh(tmp_path / "part.xyz"))
    with pytest.raises(RuntimeError, match=r"part\.xyz"):
        scene.view(substitute_collocated_mesh_files=False)


def test_changes_in_the_context_are_drawn() -> None:
    scene = Scene()
    scene.add("a", Box(0.2, 0.2, 0.2))
    viewer = ConnectPlanarSceneGraphVisualizer(scene.builder, scene.graph, show=False)
    diagram = scene.builder.Build()
    context = diagram.CreateDefaultContext()
    instance = GeometryInstance(RigidTransform([0.5, 0, 0]), Sphere(0.1), "late")
    instance.set_illustration_properties(MakePhongIllustrationProperties([1, 0, 0, 1]))
    scene.graph.RegisterGeometry(scene.graph.GetMyMutableContextFromRoot(context), scene.source, scene.frame, instance)
    viewer.draw(viewer.GetMyContextFromRoot(context))
    np.testing.assert_allclose(extents(viewer)[1], [0.4, 0.6, 0.9, 1.1], atol=0.001)


def test_axes_of_ones_own_are_drawn_into_with_exact_limits() -> None:
    scene = Scene()
    ax = Figure().add_subplot()
    viewer = scene.view(ax=ax, xlim=[-2, 3], ylim=[-1, 0])
    viewer.fig.canvas.draw()
    assert viewer.ax is ax and ax.get_xlim() == (-2, 3) and ax.get_ylim() == (-1, 0)
    assert viewer.get_name() == "planar_scenegraph_visualizer" and viewer.time_step == 1 / 32
    inspector = scene.graph.model_inspector()
    names = [PlanarSceneGraphVisualizer.frame_name(each, inspector) for each in inspector.GetAllFrameIds()]
    assert names == ["world", "robot::link"]


# ------------------------------------------------------------------ animations


def test_a_recording_becomes_a_page_and_a_gif(tmp_path: Path) -> None:
    from PIL import Image

    scene = Scene()
    scene.add("rod", Box(0.1, 0.1, 0.8), X=RigidTransform([0, 0, 0.4]))
    viewer = ConnectPlanarSceneGraphVisualizer(
        scene.builder, scene.graph, draw_period=0.25, xlim=[-1, 1], ylim=[0, 2], show=False
    )
    simulator = Simulator(scene.builder.Build())
    with pytest.raises(RuntimeError, match=r"Call start_recording\(\) before"):
        viewer.get_recording_as_animation()
    simulator.AdvanceTo(0.5)
    viewer.start_recording()
    simulator.AdvanceTo(1.5)
    viewer.stop_recording()
    simulator.AdvanceTo(2.0)
    animation = viewer.get_recording_as_animation(repeat=False)
    assert animation.to_jshtml().count("data:image/png") == 4  # at 0.75, 1, 1.25 and 1.5
    np.testing.assert_allclose(extents(viewer)[0][1], 0.8 * np.sin(1.5) + 0.05 * np.cos(1.5), atol=1e-9)
    animation.save(tmp_path / "rod.gif", writer="pillow")
    with Image.open(tmp_path / "rod.gif") as gif:
        assert gif.n_frames == 4 and gif.info["duration"] == 250
    viewer.reset_recording()
    with pytest.raises(RuntimeError, match="nothing to animate"):
        viewer.get_recording_as_animation()


class Dot(PyPlotVisualizer):
    """Draws a vector as a dot."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.DeclareVectorInputPort("point", 2)
        self.ax.set_xlim(-1, 1)
        self.ax.set_ylim(-1, 1)
        (self.dot,) = self.ax.plot([0], [0], "ko")
        self.drawn: list[Any] = []

    def draw(self, context: Any) -> None:
        x, y = context if isinstance(context, np.ndarray) else self.get_input_port().Eval(context)
        self.dot.set_data([x], [y])
        self.drawn.append((float(x), float(y)))


def test_windows_are_drawn_periodically_and_recordings_without_one() -> None:
    for show, expected in ((True, 1 + 9), (False, 0)):
        builder = DiagramBuilder()
        source, dot = builder.AddSystem(ConstantVectorSource([0.5, 0.25])), builder.AddSystem(Dot(show=show))
        builder.Connect(source.get_output_port(), dot.get_input_port())
        Simulator(builder.Build()).AdvanceTo(0.25)
        assert len(dot.drawn) == expected and set(dot.drawn) <= {(0.5, 0.25)}
        assert dot.get_name() == "pyplot_visualization"


def test_logs_and_trajectories_are_animated() -> None:
    builder = DiagramBuilder()
    sine = builder.AddSystem(Sine([1.0, 1.0], [1.0, 1.0], [0.0, 0.0]))
    log = LogVectorOutput(sine.get_output_port(0), builder, publish_period=0.1)
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    dot = Dot(draw_period=0.05, show=False)
    samples = log.FindLog(simulator.get_context())
    for resample, count in ((True, 20), (False, 11)):
        dot.drawn.clear()
        page = dot.animate(samples, resample=resample).to_jshtml()
        assert page.count("data:image/png") == count
        step = 1.0 / 20 if resample else 0.1
        times = step * np.arange(count)
        np.testing.assert_allclose([x for x, _ in dot.drawn[-count:]], np.sin(times), atol=0.002)
    line = PiecewisePolynomial.FirstOrderHold([0.0, 0.5], np.array([[0.0, 1.0], [1.0, 0.0]]))
    dot.drawn.clear()
    dot.animate(line).to_jshtml()
    np.testing.assert_allclose(dot.drawn[-1], (0.9, 0.1), atol=1e-9)
    with pytest.raises(TypeError, match="takes a VectorLog or a Trajectory"):
        dot.animate(np.zeros((2, 3)))  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(RuntimeError, match="draw_period must be positive; given 0"):
        PyPlotVisualizer(draw_period=0.0, show=False)
    with pytest.raises(NotImplementedError, match="PyPlotVisualizer must override draw"):
        PyPlotVisualizer(show=False).draw(None)
    with pytest.raises(TypeError, match="takes a SceneGraph"):
        PlanarSceneGraphVisualizer(DiagramBuilder(), show=False)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"T_VW must have the shape \(3, 4\)"):
        PlanarSceneGraphVisualizer(SceneGraph(), T_VW=np.eye(4), show=False)
    with pytest.raises(RuntimeError, match="T_VW must be finite"):
        PlanarSceneGraphVisualizer(SceneGraph(), T_VW=np.full((3, 4), np.nan), show=False)
    limits: Any
    for limits in ([1.0], [np.nan, 1.0], [1.0, -1.0], "ab"):
        with pytest.raises(RuntimeError, match="ylim must be two finite numbers, the first below the second; given"):
            PlanarSceneGraphVisualizer(SceneGraph(), ylim=limits, show=False)
    with pytest.raises(TypeError, match="ax must be axes of matplotlib; given 3"):
        PyPlotVisualizer(ax=3, show=False)
    with pytest.raises(TypeError, match="takes a DiagramBuilder first"):
        ConnectPlanarSceneGraphVisualizer(None, SceneGraph())  # type: ignore[arg-type]


def test_a_diagram_may_have_several_planar_visualizers() -> None:
    builder = DiagramBuilder()
    graph = builder.AddSystem(SceneGraph())
    viewers = [ConnectPlanarSceneGraphVisualizer(builder, graph, show=False) for _ in range(2)]
    names = [viewer.get_name() for viewer in viewers]
    assert names == ["planar_scenegraph_visualizer", "planar_scenegraph_visualizer_2"]
