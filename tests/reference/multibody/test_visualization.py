"""Systems around the viewer beside pydrake's: sliders, contacts, inertias, frames, models, planar pictures."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
pytest.importorskip("umsgpack", reason="extra `view`")
import pydrake.all as drake
import pydrake.multibody.meshcat as drake_meshcat
import pydrake.systems.drawing as drake_drawing
import pydrake.systems.planar_scenegraph_visualizer as drake_planar
import pydrake.visualization as drake_visualization
import umsgpack
from matplotlib.figure import Figure

import merganser.all as ours
import merganser.multibody.visualization as our_visualization
from merganser.multibody.visualization.contact_drawing import (
    PointContactDrawing,
    SurfaceContact,
    SurfaceContactDrawing,
)
from tests.support.pydrake_viewers import kept

pytestmark = pytest.mark.reference

ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm7.urdf"
LIBRARIES = [ours, drake]
_LATER = {  # of other modules, or of messages
    "ColorizeDepthImage", "ColorizeLabelImage", "ConcatenateImages", "VideoWriter",
}  # fmt: skip


@pytest.fixture(scope="module")
def meshcats() -> list[Any]:
    return [ours.Meshcat(port=0), kept(drake.Meshcat(drake.MeshcatParams(host="localhost")))]


@pytest.fixture(autouse=True)
def _clean(meshcats: list[Any]) -> None:
    for meshcat in meshcats:
        meshcat.Delete()
        meshcat.DeleteAddedControls()


def unpacked(packed: bytes) -> Any:
    return umsgpack.unpackb(packed) if packed else None


def world_pose(meshcat: Any, path: str) -> np.ndarray:
    """The product of all transforms from the root to a path, with scales and positions of properties."""
    X = np.eye(4)
    parts = path.split("/")
    for i in range(len(parts)):
        here = "/".join(parts[: i + 1])
        found = unpacked(meshcat._GetPackedTransform(here))
        if found is not None:
            X = X @ np.array(found["matrix"]).reshape(4, 4).T
        for name in ("position", "scale"):
            value = unpacked(meshcat._GetPackedProperty(here, name))
            if value is not None:
                Y = np.eye(4)
                Y[:3, 3] = value["value"] if name == "position" else 0.0
                X = X @ (Y if name == "position" else np.diag([*value["value"], 1.0]))
    return X


def visible(meshcat: Any, path: str) -> Any:
    found = unpacked(meshcat._GetPackedProperty(path, "visible"))
    return None if found is None else found["value"]


# ------------------------------------------------------------------ names and settings


@pytest.mark.parametrize("module", [drake_visualization, drake_meshcat, drake_planar, drake_drawing])
def test_all_names_are_there(module: Any) -> None:
    wanted = {name for name in dir(module) if name.isascii() and not name.startswith("_")}
    wanted = {name for name in wanted if str(getattr(getattr(module, name), "__module__", "")).startswith("pydrake")}
    if module in (drake_planar, drake_drawing):
        wanted = {name for name in wanted if name.startswith(("Planar", "Connect", "plot", "PyPlot"))}
    found = {*dir(ours), *dir(our_visualization)}
    assert wanted - _LATER - found == set() and len(wanted - _LATER) >= 2


@pytest.mark.parametrize(
    "name", ["JointSliders", "ContactVisualizer", "MeshcatPoseSliders", "ModelVisualizer", "PlanarSceneGraphVisualizer"]
)
def test_all_functions_are_there(name: str) -> None:
    theirs = getattr(drake_planar if name.startswith("Planar") else drake, name)
    names = {each for each in dir(theirs) if each.isascii() and not each.startswith("_")}
    assert sorted(each for each in names if not hasattr(getattr(ours, name), each)) == []


@pytest.mark.parametrize("name", ["ContactVisualizerParams", "VisualizationConfig"])
def test_settings_have_the_same_names_and_defaults(name: str) -> None:
    one, other = getattr(ours, name)(), getattr(drake, name)()
    names = [field.name for field in other.__fields__]
    assert list(vars(one))[: len(names)] == names  # ours may have more, at the end
    assert [repr(getattr(one, each)) for each in names] == [repr(getattr(other, each)) for each in names]


@pytest.mark.parametrize(
    "name", ["ModelVisualizer.__init__", "ModelVisualizer.Run", "ModelVisualizer.Finalize", "ModelVisualizer.AddModels",
             "AddFrameTriadIllustration", "PlanarSceneGraphVisualizer.__init__", "PyPlotVisualizer.__init__",
             "ConnectPlanarSceneGraphVisualizer", "plot_sublevelset_quadratic", "plot_sublevelset_expression"],
)  # fmt: skip
def test_arguments_are_the_same(name: str) -> None:
    signatures = []
    for library in (ours, drake):
        found = library
        for part in name.split("."):
            found = getattr(found, part)
        parameters = inspect.signature(found).parameters.values()
        signatures.append([(each.name, each.kind, each.default) for each in parameters if each.name != "self"])
    assert [each[:2] for each in signatures[0]] == [each[:2] for each in signatures[1]]
    for (_, _, one), (_, _, other) in zip(*signatures):
        assert (one is inspect.Parameter.empty) == (other is inspect.Parameter.empty)
        if one is not inspect.Parameter.empty and one is not None and other is not None:  # ours fit the model
            assert np.array_equal(np.asarray(one), np.asarray(other))


# ------------------------------------------------------------------ sliders


def jointed_plant(library: Any) -> Any:
    """A plant with joints of many types, some with limits and defaults, and a body that floats."""
    plant = library.MultibodyPlant(0.0)
    inertia = library.SpatialInertia.SolidSphereWithMass(1.0, 0.1)
    world = plant.world_frame()

    def body(name: str) -> Any:
        return plant.AddRigidBody(name, inertia).body_frame()

    plant.AddJoint(library.RevoluteJoint("hinge", world, body("a"), [0, 1, 0], -1.0, 2.096))
    slide = plant.AddJoint(library.PrismaticJoint("slide", world, body("b"), [1, 0, 0], -np.inf, 0.5))
    slide.set_default_translation(0.2)
    plant.AddJoint(library.PlanarJoint("flat", world, body("c"), [0, 0, 0]))
    plant.AddJoint(library.RpyFloatingJoint("fly", world, body("d")))
    plant.AddJoint(library.BallRpyJoint("ball", world, body("e")))
    plant.AddJoint(library.UniversalJoint("cross", world, body("f")))
    plant.AddJoint(library.WeldJoint("weld", world, body("g"), library.RigidTransform()))
    body("free")
    plant.Finalize()
    return plant


SLIDERS: list[dict[str, Any]] = [
    {},
    {"lower_limit": -0.5, "upper_limit": 0.3, "step": 0.1},
    {"initial_value": np.linspace(-0.4, 0.6, 25), "step": 0.05},
    {"lower_limit": 3.0},
    {"initial_value": [1.0]},
    {"lower_limit": [1.0, 2.0]},
    {"step": -1.0},
    {"decrement_keycodes": ["KeyA"]},
]


@pytest.mark.parametrize("arguments", SLIDERS, ids=lambda arguments: "-".join(arguments) or "defaults")
def test_joint_sliders_have_the_same_names_values_and_ranges(meshcats: list[Any], arguments: dict[str, Any]) -> None:
    found = []
    for library, meshcat in zip(LIBRARIES, meshcats):
        plant = jointed_plant(library)
        given = dict(arguments)
        if len(np.atleast_1d(given.get("initial_value", 0.0))) > 20:
            given["initial_value"] = np.linspace(-0.4, 0.6, plant.num_positions())
        try:
            sliders = library.JointSliders(meshcat, plant, **given)
        except RuntimeError:
            found.append("refused")
            continue
        context = sliders.CreateDefaultContext()
        outcome = {name: [meshcat.GetSliderValue(name)] for name in meshcat.GetSliderNames()}
        for name, values in outcome.items():
            values += [meshcat.SetSliderValue(name, value) for value in (-99.0, 99.0, 0.123)]
        q = np.linspace(-0.3, 0.7, plant.num_positions())
        sliders.SetPositions(q)
        port = sliders.get_output_port()
        outcome["output"] = [port.size(), *port.Eval(context)]
        sliders.Delete()
        outcome["deleted"] = [len(meshcat.GetSliderNames()), *port.Eval(context)]
        found.append(outcome)
    one, other = found
    if "refused" in found:
        assert one == other or (one == "refused" and arguments.get("step") == -1.0)
        return
    assert list(one) == list(other)
    for name, values in one.items():
        # Ours stay at an end of the range that is not a multiple of the step.
        np.testing.assert_allclose(values, other[name], atol=0.0051, err_msg=name)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"prefix": "hand", "visible": [1, 0, 1, 1, 0, 1]}, {"lower_limit": [-0.5] * 6, "step": [0.125] * 6}],
    ids=["defaults", "some", "limits"],
)
def test_pose_sliders_have_the_same_names_values_and_poses(meshcats: list[Any], arguments: dict[str, Any]) -> None:
    found = []
    for library, meshcat in zip(LIBRARIES, meshcats):
        X = library.RigidTransform(library.RollPitchYaw(0.1, -0.2, 0.3), [0.4, 0.5, 0.6])
        sliders = library.MeshcatPoseSliders(meshcat, X, **arguments)
        ports = [sliders.get_input_port(0).get_name(), sliders.get_output_port(0).get_name()]
        context = sliders.CreateDefaultContext()
        poses = [sliders.get_output_port().Eval(context).GetAsMatrix4()]
        names = meshcat.GetSliderNames()
        values = [meshcat.GetSliderValue(name) for name in names]
        values += [meshcat.SetSliderValue(name, value) for name in names for value in (-9.0, 9.0, 0.3)]
        poses.append(sliders.get_output_port().Eval(context).GetAsMatrix4())
        sliders.SetPose(library.RigidTransform([0.1, 0.2, 3.0]))
        poses.append(sliders.get_output_port().Eval(context).GetAsMatrix4())
        sliders.Delete()
        poses.append(sliders.get_output_port().Eval(context).GetAsMatrix4())
        found.append((ports, names, values, poses))
    assert found[0][:2] == found[1][:2]
    np.testing.assert_allclose(found[0][2], found[1][2], atol=1e-12)
    np.testing.assert_allclose(found[0][3], found[1][3], atol=1e-12)


# ------------------------------------------------------------------ all at once


@pytest.mark.parametrize(
    "settings",
    [{}, {"enable_alpha_sliders": True, "initial_proximity_alpha": 0.3}, {"publish_inertia": False},
     {"publish_contacts": False, "publish_illustration": False}, {"enable_meshcat_creation": False}],
    ids=str,
)  # fmt: skip
def test_the_same_systems_are_added_and_wired(meshcats: list[Any], settings: dict[str, Any]) -> None:
    found = []
    for library, meshcat in zip(LIBRARIES, meshcats):
        builder = library.DiagramBuilder()
        plant, _ = library.AddMultibodyPlantSceneGraph(builder, 0.001)
        library.Parser(plant).AddModels(str(ARM))
        plant.Finalize()
        config = library.VisualizationConfig(**settings)
        has_one = settings.get("enable_meshcat_creation", True)
        library.ApplyVisualizationConfig(config, builder, meshcat=meshcat if has_one else None)
        wires = {
            (start.get_name(), start.get_output_port(o).get_name(), to.get_name(), to.get_input_port(i).get_name())
            for (to, i), (start, o) in builder.connection_map().items()
        }
        names = {"plant", "scene_graph", "inertia_visualizer"}
        wires = {each for each in wires if all(name in names or "meshcat" in name for name in (each[0], each[2]))}
        wires = {each for each in wires if "configuration" not in each[1]}
        library.Simulator(builder.Build()).Initialize()
        sliders = {name: round(meshcat.GetSliderValue(name), 9) for name in meshcat.GetSliderNames()}
        roles = {path: visible(meshcat, path) for path in ("illustration", "inertia", "proximity")}
        found.append((wires, sliders, roles))
    assert found[0] == found[1]


INERTIAS = [
    lambda of: of.SolidBoxWithMass(2.0, 0.1, 0.2, 0.4),
    lambda of: of.Zero(),
    lambda of: of.SolidCylinderWithMass(1.0, 0.1, 0.5, [1 / 3, 2 / 3, 2 / 3]),
    lambda of: of.SolidBoxWithMass(2.0, 1e-6, 1e-2, 1.0),
    lambda of: of.SolidEllipsoidWithMass(3.0, 0.1, 0.2, 0.3),
]


@pytest.mark.parametrize("make", INERTIAS)
def test_ellipsoids_of_inertia_are_the_same(make: Any) -> None:
    found = []
    for library in LIBRARIES:
        builder = library.DiagramBuilder()
        plant, graph = library.AddMultibodyPlantSceneGraph(builder, 0.001)
        plant.AddRigidBody("body", make(library.SpatialInertia))
        plant.Finalize()
        config = library.VisualizationConfig(enable_meshcat_creation=False)
        library.ApplyVisualizationConfig(config, builder)
        context = builder.Build().CreateDefaultContext()
        inspector = graph.model_inspector()
        (geometry_id,) = inspector.GetAllGeometryIds()
        shape = inspector.GetShape(geometry_id)
        query = graph.get_query_output_port().Eval(graph.GetMyContextFromRoot(context))
        X_WE = query.GetPoseInWorld(geometry_id).GetAsMatrix4()
        axes = X_WE[:3, :3] * [shape.a(), shape.b(), shape.c()]
        color = inspector.GetIllustrationProperties(geometry_id).GetProperty("phong", "diffuse")
        names = [inspector.GetName(geometry_id), inspector.GetName(inspector.GetFrameId(geometry_id))]
        found.append((names, repr(color), X_WE[:3, 3], axes @ axes.T))
    assert found[0][:2] == found[1][:2]
    np.testing.assert_allclose(found[0][2], found[1][2], atol=1e-12)
    np.testing.assert_allclose(found[0][3], found[1][3], atol=1e-9 * np.abs(found[1][3]).max())


def test_triads_are_the_same() -> None:
    found = []
    for library in LIBRARIES:
        builder = library.DiagramBuilder()
        plant, graph = library.AddMultibodyPlantSceneGraph(builder, 0.001)
        library.Parser(plant).AddModels(str(ARM))
        X_FT = library.RigidTransform(library.RollPitchYaw(0.1, 0.2, 0.3), [0.1, 0.2, 0.3])
        link = plant.GetBodyByName("link_3")
        add = library.AddFrameTriadIllustration
        frames = (plant.get_frame(library.FrameIndex(i)) for i in range(1, plant.num_frames()))
        offset = next(frame for frame in frames if not frame.is_body_frame())
        ids = [
            *add(scene_graph=graph, body=link),
            *add(scene_graph=graph, frame=offset, length=0.1, radius=0.01, opacity=0.5, X_FT=X_FT),
            *add(scene_graph=graph, plant=plant, frame_index=link.body_frame().index(), name="named"),
            *add(scene_graph=graph, plant=plant, frame_id=plant.GetBodyFrameIdOrThrow(link.index()), name="id"),
        ]
        inspector = graph.model_inspector()
        for each in ids:
            X_FG, color = inspector.GetPoseInFrame(each), inspector.GetIllustrationProperties(each)
            shape, phong = inspector.GetShape(each), color.GetProperty("phong", "diffuse")
            numbers = [*X_FG.translation(), *np.abs(X_FG.rotation().matrix()[:, 2]), shape.radius(), shape.length()]
            found.append((inspector.GetName(each), repr(phong), numbers))
    count = len(found) // 2
    assert [each[:2] for each in found[:count]] == [each[:2] for each in found[count:]]
    np.testing.assert_allclose([e[2] for e in found[:count]], [e[2] for e in found[count:]], atol=1e-12)


# ------------------------------------------------------------------ contacts


class Pile:
    """Balls and boxes on the ground, at points and on surfaces; of two models, some with two geometries."""

    def __init__(self, library: Any, meshcat: Any) -> None:
        builder = library.DiagramBuilder()
        plant, graph = library.AddMultibodyPlantSceneGraph(builder, 0.001)
        plant.set_contact_model(library.ContactModel.kHydroelasticWithFallback)
        hard = library.ProximityProperties()
        library.AddContactMaterial(friction=library.CoulombFriction(0.5, 0.5), dissipation=10.0, properties=hard)
        soft = library.ProximityProperties(hard)
        library.AddCompliantHydroelasticProperties(0.05, 1e5, soft)
        X = library.RigidTransform
        world = plant.world_body()
        for i in range(2):
            plant.RegisterCollisionGeometry(world, X([20.0 * i, 0, -0.5]), library.Box(9, 9, 1), f"ground{i}", soft)
        places = []
        for i, (model, name, properties, count) in enumerate(
            [("one", "a", hard, 1), ("one", "b", soft, 1), ("two", "a", hard, 2), ("two", "c", soft, 1)]
        ):
            if not plant.HasModelInstanceNamed(model):
                plant.AddModelInstance(model)
            instance = plant.GetModelInstanceByName(model)
            body = plant.AddRigidBody(name, instance, library.SpatialInertia.SolidSphereWithMass(1.0 + i, 0.1))
            for k in range(count):
                plant.RegisterCollisionGeometry(body, X([0, 0, 0.3 * k]), library.Sphere(0.1), f"skin{k}", properties)
            places.append((body, X([i, 0, 0.0995])))
        plant.Finalize()
        library.ContactVisualizer.AddToBuilder(builder, plant, meshcat)
        by_id = library.ContactVisualizerParams(prefix="nameless")
        self.ids = [each.get_value() for body, _ in places for each in plant.GetCollisionGeometriesForBody(body)]
        results = plant.get_contact_results_output_port()
        library.ContactVisualizer.AddToBuilder(builder, results, meshcat, by_id)
        simulator = library.Simulator(builder.Build())
        inside = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        for body, place in places:
            plant.SetFreeBodyPose(inside, body, place)
        simulator.AdvanceTo(0.5)
        self.results = results.Eval(inside)
        self.graph, self.simulator = graph, simulator


def test_contacts_are_drawn_at_the_same_paths_and_poses(meshcats: list[Any]) -> None:
    piles = [Pile(library, meshcat) for library, meshcat in zip(LIBRARIES, meshcats)]
    paths = {
        "point/world.ground0+one.a": ("cylinder", "head", "tail"),
        "point/world.ground0+two.a.skin0": ("cylinder", "head", "tail"),
        "hydroelastic/world.ground0+b": ("force_C_W/cylinder", "force_C_W/head"),
        "hydroelastic/world.ground0+c": ("force_C_W/cylinder", "force_C_W/head"),
    }
    assert piles[1].results.num_point_pair_contacts() == piles[1].results.num_hydroelastic_contacts() == 2
    one, other = meshcats
    for path, parts in paths.items():
        path = f"contact_forces/{path}"
        assert one.HasPath(path) and other.HasPath(path), path
        assert visible(one, path) is True is visible(other, path)
        for part in parts:
            whole = f"{path}/{part}"
            # About its axis an arrow may turn as rounding has it.
            poses = [world_pose(m, whole)[:, 2:] for m in meshcats]
            np.testing.assert_allclose(*poses, atol=0.03, err_msg=whole)
            objects = [unpacked(m._GetPackedObject(whole))["object"] for m in meshcats]
            geometries = [each["geometries"][0] for each in objects]
            for name in ("type", "radiusTop", "radiusBottom", "height"):
                assert geometries[0][name] == geometries[1][name]
            assert objects[0]["materials"][0]["color"] == objects[1]["materials"][0]["color"]
    for path in ("hydroelastic/world.ground0+b/contact_surface", "hydroelastic/world.ground0+b/moment_C_W/head"):
        assert one.HasPath(f"contact_forces/{path}") and other.HasPath(f"contact_forces/{path}")


ARROWS = [(0, 0, 5), (0, 0, -5), (1, 0, 0), (-1, 2, 1), (0, 3, 0), (0.3, -0.4, 0), (-1, -2, -9)]


def test_arrows_of_points_are_the_same(meshcats: list[Any]) -> None:
    params = [library.ContactVisualizerParams(prefix="p", newtons_per_meter=4.0) for library in LIBRARIES]
    mine = PointContactDrawing(meshcats[0], params[0])
    theirs = drake_meshcat._PointContactVisualizer(meshcats[1], params[1])
    points = np.random.default_rng(0).normal(size=(len(ARROWS), 3))
    names = [f"a{i}+b" for i in range(len(ARROWS))]
    for forces in (np.array(ARROWS, float), np.array(ARROWS[::-1], float) * [[0.001]] * 3):
        mine.update(names, forces, points, 0.0)
        item = drake_meshcat._PointContactVisualizerItem
        theirs.Update(0.0, [item(f"a{i}", "b", force, p) for i, (force, p) in enumerate(zip(forces, points))])
        for name in names:
            assert meshcats[0].HasPath(f"p/point/{name}") and meshcats[1].HasPath(f"p/{name}")
            shown = visible(meshcats[0], f"p/point/{name}"), visible(meshcats[1], f"p/{name}")
            assert shown[0] == shown[1]
            for part in ("cylinder", "head", "tail"):
                if shown[0]:
                    poses = [world_pose(m, f"p/{sub}{name}/{part}") for m, sub in zip(meshcats, ("point/", ""))]
                    np.testing.assert_allclose(*poses, atol=1e-12)


def test_patches_and_their_arrows_are_the_same(meshcats: list[Any]) -> None:
    params = [library.ContactVisualizerParams(prefix="h") for library in LIBRARIES]
    mine = SurfaceContactDrawing(meshcats[0], params[0])
    theirs = drake_meshcat._HydroelasticContactVisualizer(meshcats[1], params[1])
    rng = np.random.default_rng(1)
    for force, moment in zip(ARROWS, [*ARROWS[1:], (0, 0, 0.001)]):
        p_WV, pressures = rng.normal(size=(9, 3)), rng.uniform(10, 20, 9)
        faces = np.arange(9).reshape(3, 3)
        p_WC, f, t = p_WV.mean(axis=0), np.array(force, float), np.array(moment, float)
        mine.update([SurfaceContact("a+b", p_WC, f, t, p_WV, faces, pressures)], 0.0)
        item = drake_meshcat._HydroelasticContactVisualizerItem("a", "b", p_WC, f, t, p_WV.T, faces.T, pressures)
        theirs.Update(0.0, [item])
        bases = ("h/hydroelastic/a+b", "h/a+b")
        for part in ("", "/force_C_W", "/moment_C_W"):
            assert visible(meshcats[0], bases[0] + part) == visible(meshcats[1], bases[1] + part)
            for piece in ("/cylinder", "/head") if part and visible(meshcats[1], bases[1] + part) else ():
                poses = [world_pose(m, base + part + piece) for m, base in zip(meshcats, bases)]
                np.testing.assert_allclose(*poses, atol=1e-12)
        found = []
        for meshcat, base in zip(meshcats, bases):
            path = f"{base}/contact_surface"
            data = unpacked(meshcat._GetPackedObject(path))["object"]["geometries"][0]["data"]["attributes"]
            points = np.frombuffer(data["position"]["array"].data, "<f4").reshape(-1, 3)
            colors = data["color"]["array"].data
            is_bytes = len(colors) == 3 * len(points)
            colors = np.frombuffer(colors, np.uint8) / 255 if is_bytes else np.frombuffer(colors, "<f4")
            X = world_pose(meshcat, path)
            found.append((points @ X[:3, :3].T + X[:3, 3], colors))
        np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-6)
        np.testing.assert_allclose(found[0][1], found[1][1], atol=1 / 255)


# ------------------------------------------------------------------ matplotlib, files


def test_planar_outlines_and_sublevel_sets_are_the_same() -> None:
    found = []
    for library in LIBRARIES:
        builder = library.DiagramBuilder()
        plant, graph = library.AddMultibodyPlantSceneGraph(builder, 0.0)
        library.Parser(plant).AddModels(str(ARM))
        plant.Finalize()
        T_VW = np.array([[1, 0.2, 0, 0.1], [0, 0.1, 1, 0], [0, 0, 0, 1]])
        viewer = library.ConnectPlanarSceneGraphVisualizer(builder, graph, T_VW=T_VW, show=False)
        context = builder.Build().CreateDefaultContext()
        plant.SetPositions(plant.GetMyMutableContextFromRoot(context), np.linspace(0.1, 1.3, 7))
        viewer.draw(viewer.GetMyContextFromRoot(context))
        boxes = [patch.get_path().get_extents() for patch in viewer.ax.patches]
        colors = [patch.get_facecolor() for patch in viewer.ax.patches]
        orders = [patch.get_zorder() for patch in viewer.ax.patches]
        A, b = [[2.0, 0.3], [0.1, 1.0]], [0.1, 0.2]
        (polygon,) = library.plot_sublevelset_quadratic(Figure().add_subplot(), A, b, -0.3, vertices=20)
        found.append((np.array([each.extents for each in boxes]), np.array(colors), orders, polygon.get_xy()))
    for one, other, tolerance in zip(*found, (5e-3, 1e-12, 1e-9, 1e-12)):
        np.testing.assert_allclose(one, other, atol=tolerance)


def test_models_of_files_have_the_same_sliders_buttons_and_paths(meshcats: list[Any]) -> None:
    found = []
    for library, meshcat in zip(LIBRARIES, meshcats):
        visualizer = library.ModelVisualizer(meshcat=meshcat, visualize_frames=True, triad_length=0.1)
        visualizer.AddModels(str(ARM))
        visualizer.AddModels(ARM)
        visualizer.Run(position=np.linspace(0.1, 0.5, 14), loop_once=True)
        values = {name: round(meshcat.GetSliderValue(name), 9) for name in meshcat.GetSliderNames()}
        paths = [
            f"{role}/{model}/link_3/{name}"
            for model in ("arm7", "arm7_1")
            for role, name in (
                ("illustration", f"{model}/visual"), ("proximity", f"{model}/collision"),
                ("illustration", "_frames/link_3(2)/x-axis"), ("illustration", "_frames/link_3(3)/z-axis"),
            )
        ]  # fmt: skip
        paths += ["inertia/InertiaVisualizer/arm7/link_3/$inertia(4)", "/PARSE_ERROR"]
        poses = [world_pose(meshcat, f"illustration/{model}/link_7") for model in ("arm7", "arm7_1")]
        found.append((values, meshcat.GetButtonNames(), [meshcat.HasPath(path) for path in paths], poses))
    assert found[0][:3] == found[1][:3] and True in found[0][2]
    np.testing.assert_allclose(found[0][3], found[1][3], atol=1e-9)
