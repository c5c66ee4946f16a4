"""Meshcat, its animations and visualizers beside pydrake's."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
pytest.importorskip("umsgpack", reason="extra `view`")
import pydrake.geometry as drake
import pydrake.math as drake_math
import pydrake.multibody.parsing as drake_parsing
import pydrake.multibody.plant as drake_plant
import pydrake.systems.analysis as drake_analysis
import pydrake.systems.framework as drake_framework
import umsgpack

import merganser.analysis as our_analysis
import merganser.framework as our_framework
import merganser.framework.math as our_math
import merganser.geometry as ours
import merganser.multibody.parsing as our_parsing
import merganser.multibody.plant as our_plant
from tests.support.pydrake_viewers import kept

pytestmark = pytest.mark.reference

MODELS = Path(__file__).resolve().parents[3] / "examples" / "models"
LIBRARIES = [(ours, our_math), (drake, drake_math)]


@pytest.fixture(scope="module")
def meshcats() -> list[tuple[Any, Any, Any]]:
    return [(geometry, math, kept(geometry.Meshcat(port=0))) for geometry, math in LIBRARIES]


def both(meshcats: Any, act: Any) -> tuple[Any, Any]:
    """The results of the same calls in a clean scene: a value or the type of an exception."""
    outcomes = []
    for geometry, math, meshcat in meshcats:
        meshcat.Delete()
        meshcat.DeleteAddedControls()
        try:
            outcomes.append(act(geometry, math, meshcat))
        except (TypeError, RuntimeError) as error:
            outcomes.append(type(error))
    return outcomes[0], outcomes[1]


@pytest.mark.parametrize("name", ["Meshcat", "MeshcatAnimation", "MeshcatVisualizer", "MeshcatPointCloudVisualizer"])
def test_all_functions_are_there(name: str) -> None:
    there = {each for each in dir(getattr(drake, name)) if each.isascii()}
    there -= {each for each in there if each.startswith("_" if "Visualizer" in name else "_pybind11")}
    assert sorted(each for each in there if not hasattr(getattr(ours, name), each)) == []


@pytest.mark.parametrize("name", ["MeshcatParams", "MeshcatVisualizerParams"])
def test_settings_have_the_same_names_and_defaults_except_for_the_host(name: str) -> None:
    params = getattr(ours, name)(), getattr(drake, name)()
    names = [field.name for field in params[1].__fields__]
    assert list(vars(params[0])) == names
    different = [each for each in names if repr(getattr(params[0], each)) != repr(getattr(params[1], each))]
    assert different == (["host"] if name == "MeshcatParams" else [])


def test_small_records_are_the_same() -> None:
    for name in ("Gamepad", "OrthographicCamera", "PerspectiveCamera"):
        assert repr(getattr(ours.Meshcat, name)()) == repr(getattr(drake.Meshcat, name)())
    for one, other in (
        (ours.Meshcat.SideOfFaceToRender, drake.Meshcat.SideOfFaceToRender),
        (ours.MeshcatAnimation.LoopMode, drake.MeshcatAnimation.LoopMode),
    ):
        assert {each.name: int(each) for each in one} == {each: int(m) for each, m in other.__members__.items()}


PATHS = ["", "/", "a", "a/", "/drake", "/drake/a", "//drake//a/b", "/a", "a/b/c", "b", "a/b/<object>", "/Grid", "x/y"]


def test_paths_are_there_and_gone_at_the_same_times(meshcats: Any) -> None:
    def act(geometry: Any, math: Any, meshcat: Any) -> Any:
        found = []
        meshcat.SetTransform("a/b/c", math.RigidTransform())
        meshcat.SetObject("a/b", geometry.Sphere(1))
        meshcat.SetProperty("x/y", "visible", True)
        for delete in (None, "a/b/<object>", "nothing", "/", "a/b", "/drake/x", ""):
            if delete is not None:
                meshcat.Delete(delete)
            found.append([meshcat.HasPath(path) for path in PATHS])
        return found

    one, other = both(meshcats, act)
    assert one == other


SHAPES = [
    ("Sphere", 0.5), ("Box", 1, 2, 3), ("Cylinder", 0.5, 2), ("Capsule", 0.5, 2), ("Ellipsoid", 1, 2, 3),
    ("MeshcatCone", 1, 2, 3),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape[0])
def test_shapes_have_the_same_pose_size_and_material(meshcats: Any, shape: Any) -> None:
    def act(geometry: Any, math: Any, meshcat: Any) -> Any:
        meshcat.SetObject("shape", getattr(geometry, shape[0])(*shape[1:]), geometry.Rgba(0.1, 0.2, 0.3, 0.4))
        return umsgpack.unpackb(meshcat._GetPackedObject("shape"))

    one, other = both(meshcats, act)
    assert one["path"] == other["path"] and one["type"] == other["type"]
    np.testing.assert_allclose(one["object"]["object"]["matrix"], other["object"]["object"]["matrix"], atol=1e-12)
    materials = [each["object"]["materials"][0] for each in (one, other)]
    for name in ("color", "opacity", "transparent", "type", "side"):
        assert materials[0][name] == materials[1][name]
    geometries = [each["object"]["geometries"][0] for each in (one, other)]
    if shape[0] == "Capsule":  # the client has none
        assert max(point["x"] for point in geometries[0]["points"]) == geometries[1]["radius"]
        return
    assert geometries[0]["type"] == geometries[1]["type"]
    for name in ("radius", "width", "height", "depth", "radiusTop", "radiusBottom"):
        assert geometries[0].get(name) == geometries[1].get(name)


def test_lines_triangles_and_surfaces_have_the_same_vertices(meshcats: Any) -> None:
    def act(geometry: Any, math: Any, meshcat: Any) -> Any:
        rng = np.random.default_rng(0)
        vertices, faces = rng.normal(size=(3, 6)), rng.permutation(6).reshape(3, 2)
        meshcat.SetLine("line", vertices)
        meshcat.SetLineSegments("segments", vertices, 2 * vertices)
        meshcat.SetTriangleMesh("mesh", vertices, faces)
        X, Y = np.meshgrid(np.arange(3.0), np.arange(4.0))
        meshcat.PlotSurface("surface", X, Y, X * Y)
        found = {}
        for path in ("line", "segments", "mesh", "surface"):
            content = umsgpack.unpackb(meshcat._GetPackedObject(path))["object"]
            data = content["geometries"][0]["data"]
            positions = np.frombuffer(data["attributes"]["position"]["array"].data, dtype="<f4").reshape(-1, 3)
            index = np.arange(len(positions))
            if "index" in data:
                index = np.frombuffer(data["index"]["array"].data, dtype="<u4")
            kind = content["object"]["type"]
            corners = positions[index]
            if kind == "Mesh":  # triangles in any order, beginning with any of their corners
                corners = np.array(sorted(sorted(triangle.tolist()) for triangle in corners.reshape(-1, 3, 3)))
            if path == "surface":  # squares may be cut along either diagonal
                corners = np.unique(positions, axis=0)
            found[path] = kind, corners
        return found

    one, other = both(meshcats, act)
    for path, (kind, corners) in one.items():
        assert kind == other[path][0]
        np.testing.assert_array_equal(corners, other[path][1])


def test_transforms_and_properties_are_the_same_commands(meshcats: Any) -> None:
    def act(geometry: Any, math: Any, meshcat: Any) -> Any:
        meshcat.SetTransform("a", math.RigidTransform(math.RollPitchYaw(0.1, 0.2, 0.3), [1, 2, 3]))
        meshcat.SetTransform("b", np.arange(16.0).reshape(4, 4))
        found = [umsgpack.unpackb(meshcat._GetPackedTransform(path)) for path in "ab"]
        for value in (True, 1.5, 2, [1.0, 2.0], np.array([1, 2])):
            meshcat.SetProperty("a", "p", value)
            found.append(umsgpack.unpackb(meshcat._GetPackedProperty("a", "p")))
        return [*found, meshcat._GetPackedObject("a"), meshcat._GetPackedProperty("a", "q")]

    one, other = both(meshcats, act)
    np.testing.assert_allclose(one[0].pop("matrix"), other[0].pop("matrix"), atol=1e-15)
    assert one == other


SLIDERS = [
    (0, 1, 0.1, 0.55), (0, 1, 0.1, 5), (0, 1, 3, 0.7), (0, 1, 0.3, 0.95), (-1, 1, 0.25, -0.4), (2, 2, 1, 0),
    (-np.pi, np.pi, 0.01, 0.1), (0.05, 1, 0.1, 0.45), (-1, 2.2, 0.3, 5),
]  # fmt: skip


@pytest.mark.parametrize("slider", SLIDERS)
def test_sliders_round_in_the_same_way(meshcats: Any, slider: Any) -> None:
    def act(geometry: Any, math: Any, meshcat: Any) -> Any:
        values = [meshcat.AddSlider("s", *slider)]
        values += [meshcat.SetSliderValue("s", value) for value in np.linspace(-2, 2, 41)]
        return [*values, meshcat.GetSliderValue("s")]

    one, other = both(meshcats, act)
    np.testing.assert_allclose(one, other, atol=1e-12)


CONTROLS = [
    lambda m: [m.AddButton("b"), m.AddButton("b", "KeyA"), m.AddButton("b", "KeyA"), m.GetButtonNames()],
    lambda m: [m.AddButton("b", "KeyA"), m.AddButton("b", "KeyB")],
    lambda m: [m.AddButton("b", "KeyA"), m.AddButton("b")],
    lambda m: [m.AddButton("b"), m.AddSlider("b", 0, 1, 0.1, 0)],
    lambda m: [m.AddSlider("b", 0, 1, 0.1, 0), m.AddButton("b")],
    lambda m: [m.AddSlider("b", 0, 1, 0.1, 0), m.AddSlider("b", 0, 1, 0.1, 0)],
    lambda m: m.GetSliderValue("b"),
    lambda m: m.GetButtonClicks("b"),
    lambda m: m.DeleteButton("b"),
    lambda m: [m.DeleteButton("b", strict=False), m.DeleteSlider("b", False)],
    lambda m: [m.AddButton("b"), m.DeleteSlider("b")],
    lambda m: [m.AddButton("c"), m.AddButton("a"), m.GetButtonNames()],
    lambda m: [m.AddSlider("c", 0, 1, 1, 0), m.AddSlider("a", 0, 1, 1, 0), m.GetSliderNames()],
    lambda m: [
        m.AddButton("b"), m._InjectWebsocketMessage(message=umsgpack.packb({"type": "button", "name": "b"})),
        m.GetButtonClicks("b"), m.AddButton("b"), m.GetButtonClicks("b"),
    ],
    lambda m: [
        m.AddSlider("s", 0, 1, 0.1, 0),
        m._InjectWebsocketMessage(message=umsgpack.packb({"type": "slider", "name": "s", "value": 0.333})),
        m.GetSliderValue("s"),
    ],
    lambda m: m._InjectWebsocketMessage(message=umsgpack.packb({"type": "slider", "name": "none", "value": 0.3})),
    lambda m: m.SetProperty("x", "p", "text"),
    lambda m: m.SetProperty("x", "p", None),
    lambda m: m.SetTransform("x", np.eye(3)),
    lambda m: m.SetObject("x", 3),
    lambda m: m.SetLine("x", np.zeros((2, 3))),
    lambda m: m.SetCamera(3),
    lambda m: m.SetAnimation(None),
    lambda m: m.SetEnvironmentMap("/no/where.png"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CONTROLS)))
def test_controls_and_wrong_arguments_come_to_the_same(meshcats: Any, number: int) -> None:
    one, other = both(meshcats, lambda geometry, math, meshcat: CONTROLS[number](meshcat))
    assert one == other, inspect.getsource(CONTROLS[number])


def test_gamepads_and_tracked_cameras_are_the_same(meshcats: Any) -> None:
    def act(geometry: Any, math: Any, meshcat: Any) -> Any:
        X = math.RigidTransform(math.RollPitchYaw(0.3, -0.4, 2), [1, 2, 3]).GetAsMatrix4()
        pad = {"index": 2, "button_values": [0.5, 1.0], "axes": [-0.5]}
        camera = {"type": "camera_pose", "camera_pose": X.T.ravel().tolist(), "is_perspective": True}
        meshcat._InjectWebsocketMessage(message=umsgpack.packb({"type": "gamepad", "name": "", "gamepad": pad}))
        meshcat._InjectWebsocketMessage(message=umsgpack.packb(camera))
        return repr(meshcat.GetGamepad()), meshcat.GetTrackedCameraPose().GetAsMatrix4()

    one, other = both(meshcats, act)
    assert one[0] == other[0]
    np.testing.assert_allclose(one[1], other[1], atol=1e-12)


def test_animations_count_frames_and_refuse_types_in_the_same_way() -> None:
    for geometry, math in LIBRARIES:
        animation = geometry.MeshcatAnimation(frames_per_second=32)
        assert [animation.frame(t) for t in (0, 0.01, 0.03125, 1.99)] == [0, 0, 1, 63]
        assert (animation.autoplay(), animation.clamp_when_finished(), animation.repetitions()) == (True, True, 1)
        animation.SetProperty(0, "x", "visible", True)
        animation.SetTransform(0, "y", math.RigidTransform())
        for path, name, value in (("x", "visible", 1.0), ("y", "position", True)):
            with pytest.raises(RuntimeError, match=r"type boolean|type vector3"):
                animation.SetProperty(1, path, name, value)


# ------------------------------------------------------------------ visualizers


def published(parts: Any, model: str, params: dict[str, Any]) -> tuple[Any, str]:
    """A Meshcat in which a model has been drawn, and the name of the visualizer."""
    geometry, framework, plant_module, parsing, analysis = parts
    meshcat = kept(geometry.Meshcat(port=0))
    builder = framework.DiagramBuilder()
    plant, scene_graph = plant_module.AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    parsing.Parser(plant).AddModels(str(MODELS / model))
    plant.Finalize()
    if "role" in params:
        params = {**params, "role": getattr(geometry.Role, params["role"])}
    visualizer = geometry.MeshcatVisualizer.AddToBuilder(
        builder, scene_graph, meshcat, geometry.MeshcatVisualizerParams(**params)
    )
    simulator = analysis.Simulator(builder.Build())
    context = simulator.get_mutable_context()
    positions = 0.1 * np.arange(1, 1 + plant.num_positions())
    plant.SetPositions(plant.GetMyMutableContextFromRoot(context), positions)
    simulator.Initialize()
    return meshcat, visualizer.get_name(), plant, simulator


def unpacked(command: bytes) -> Any:
    return umsgpack.unpackb(command) if command else None


@pytest.mark.parametrize("model", ["arm7.urdf", "cart_pole.sdf"])
@pytest.mark.parametrize("params", [{}, {"role": "kProximity", "prefix": "/hit/me", "visible_by_default": False}])
def test_models_are_drawn_at_the_same_paths_and_poses(model: str, params: dict[str, Any]) -> None:
    one, name, _plant, _alive = published((ours, our_framework, our_plant, our_parsing, our_analysis), model, params)
    other, other_name, _plant, _also = published(
        (drake, drake_framework, drake_plant, drake_parsing, drake_analysis), model, params
    )
    assert name == other_name
    prefix = params.get("prefix", "visualizer")
    assert one.HasPath(prefix) == other.HasPath(prefix)
    inspector = _alive.get_system().GetSubsystemByName("scene_graph").model_inspector()
    paths = [prefix]
    for frame_id in inspector.GetAllFrameIds():
        frame = f"{prefix}/{inspector.GetName(frame_id).replace('::', '/')}"
        frame = prefix if frame_id == inspector.world_frame_id() else frame
        names = [inspector.GetName(g).replace("::", "/") for g in inspector.GetGeometries(frame_id)]
        paths += [frame, *(f"{frame}/{name}" for name in names)]
    assert len(paths) > 5
    for path in paths:
        assert one.HasPath(path) == other.HasPath(path), path
        transforms = [unpacked(meshcat._GetPackedTransform(path)) for meshcat in (one, other)]
        assert (transforms[0] is None) == (transforms[1] is None), path
        if transforms[0] is not None:
            np.testing.assert_allclose(transforms[0]["matrix"], transforms[1]["matrix"], atol=1e-12)
        objects = [unpacked(meshcat._GetPackedObject(path)) for meshcat in (one, other)]
        assert (objects[0] is None) == (objects[1] is None), path
        if objects[0] is not None:
            colors = [each["object"]["materials"][0]["color"] for each in objects]
            assert colors[0] == colors[1]
    assert one._GetPackedProperty(prefix, "visible") == other._GetPackedProperty(prefix, "visible")
