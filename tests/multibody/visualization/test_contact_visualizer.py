"""ContactVisualizer: where arrows and patches are, what they are called, when they are drawn, and recordings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack
from viewer_clients import color_at, matrix_at, property_at

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, InputPort
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    Box,
    HydroelasticContactRepresentation,
    Meshcat,
    ProximityProperties,
    Rgba,
    Sphere,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, ContactResults, CoulombFriction
from merganser.multibody.tree import SpatialInertia
from merganser.multibody.visualization import ContactVisualizer, ContactVisualizer_, ContactVisualizerParams
from merganser.multibody.visualization.contact_drawing import (
    PointContactDrawing,
    SurfaceContact,
    SurfaceContactDrawing,
    colors_of_pressures,
)

WEIGHT = 9.81  # of a ball of 1 kg [N]


@pytest.fixture(scope="module")
def meshcat() -> Meshcat:
    return Meshcat(port=0)


@pytest.fixture(autouse=True)
def _clean(meshcat: Meshcat) -> None:
    meshcat.Delete()
    meshcat.StopRecording()
    meshcat.DeleteRecording()


class Balls:
    """Balls of 1 kg at rest on the ground, in a row 1 m apart; of two models, the last ball of the second one."""

    def __init__(self, count: int = 2, is_soft: bool = False, num_grounds: int = 1) -> None:
        self.builder = DiagramBuilder()
        self.plant, self.graph = AddMultibodyPlantSceneGraph(self.builder, time_step=0.001)
        self.plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
        properties = ProximityProperties()
        AddContactMaterial(friction=CoulombFriction(0.5, 0.5), dissipation=10.0, properties=properties)
        if is_soft:
            AddCompliantHydroelasticProperties(0.05, 1e5, properties)
        for i in range(num_grounds):
            X_WG = RigidTransform([9.0 * i, 0, -0.5])
            self.plant.RegisterCollisionGeometry(
                self.plant.world_body(), X_WG, Box(8, 8, 1), f"ground{i}", properties
            )
        models = self.plant.AddModelInstance("one"), self.plant.AddModelInstance("two")
        self.balls = []
        for i in range(count):
            model = models[int(i == count - 1)]
            name = "ball" if i in (0, count - 1) else f"ball{i}"
            ball = self.plant.AddRigidBody(name, model, SpatialInertia.SolidSphereWithMass(1.0, 0.1))
            self.plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.1), "skin", properties)
            self.balls.append(ball)

    def simulator(self) -> Simulator:
        self.simulation = Simulator(self.builder.Build())
        self.inside = self.plant.GetMyMutableContextFromRoot(self.simulation.get_mutable_context())
        for i, ball in enumerate(self.balls):
            self.plant.SetFreeBodyPose(self.inside, ball, RigidTransform([i, 0, 0.0999]))
        return self.simulation

    def lift(self, ball: Any) -> None:
        self.plant.SetFreeBodyPose(self.inside, ball, RigidTransform([5, 0, 2]))


def pose_of(meshcat: Meshcat, path: str, *parts: str) -> np.ndarray:
    """The pose, in the world, of what is below a path, shape [4, 4]."""
    X = matrix_at(meshcat, path)
    for part in parts:
        path = f"{path}/{part}"
        X = X @ matrix_at(meshcat, path)
    return X


# ------------------------------------------------------------------ points


def test_arrows_are_at_contact_points_along_the_force(meshcat: Meshcat) -> None:
    scene = Balls()
    scene.plant.Finalize()
    params = ContactVisualizerParams(newtons_per_meter=5.0, radius=0.01, color=Rgba(1, 0, 1, 0.5), prefix="forces")
    visualizer = ContactVisualizer.AddToBuilder(scene.builder, scene.plant, meshcat, params)
    assert visualizer.get_name() == "meshcat_contact_visualizer"
    scene.simulator().AdvanceTo(0.5)
    for i, model in enumerate(("one", "two")):
        path = f"forces/point/world+{model}.ball"
        assert property_at(meshcat, path, "visible") is True
        half = WEIGHT / 5.0
        for part, z, length in (("cylinder", 0.0, half), ("head", -half - 0.02, 1.0), ("tail", half + 0.02, 1.0)):
            X = pose_of(meshcat, path, part)
            np.testing.assert_allclose(X[:3, 3], [i, 0, z], atol=2e-3)
            np.testing.assert_allclose(np.linalg.norm(X[:3, :3], axis=0), [1, 1, length], rtol=2e-3)
            np.testing.assert_allclose(abs(X[2, 2]), length, rtol=2e-3)
            assert color_at(meshcat, f"{path}/{part}") == (0xFF00FF, 0.5)
        assert pose_of(meshcat, path, "tail")[2, 2] == pytest.approx(-1.0)  # its tip is above
        cylinder = umsgpack.unpackb(meshcat._GetPackedObject(f"{path}/cylinder"))["object"]["geometries"][0]
        assert cylinder["height"] == 2.0 and cylinder["radiusTop"] == 0.01


def test_names_have_models_and_geometries_where_bodies_are_not_enough(meshcat: Meshcat) -> None:
    scene = Balls(count=3, num_grounds=2)
    scene.plant.Finalize()
    ContactVisualizer.AddToBuilder(scene.builder, scene.plant, meshcat)
    results = scene.plant.get_contact_results_output_port()
    nameless = ContactVisualizerParams(prefix="nameless")
    other = ContactVisualizer.AddToBuilder(scene.builder, results, meshcat, nameless)
    assert other.get_name() != "meshcat_contact_visualizer"
    scene.simulator().AdvanceTo(0.1)
    names = [f"contact_forces/point/world.ground0+{name}" for name in ("one.ball", "ball1", "two.ball")]
    assert [meshcat.HasPath(path) for path in names] == [True] * 3
    ground = scene.plant.GetCollisionGeometriesForBody(scene.plant.world_body())[0].get_value()
    assert meshcat.HasPath(f"nameless/point/world.Id({ground})+one.ball")


def test_several_points_of_one_pair_have_an_arrow_each(meshcat: Meshcat) -> None:
    drawing = PointContactDrawing(meshcat, ContactVisualizerParams(prefix="c"))
    points = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    forces = np.array([[1.0, 2, 3], [0, 0, -1], [-1, 0, 0]])
    drawing.update(["a+b", "a+b", "a+c"], forces, points, 0.0)
    for path, point, force in zip(("a+b", "a+b#2", "a+c"), points, forces):
        X = matrix_at(meshcat, f"c/point/{path}")
        np.testing.assert_allclose(X[:3, 3], point)
        np.testing.assert_allclose(X[:3, :3], RotationMatrix.MakeFromOneVector(force, 2).matrix(), atol=1e-15)


def test_contacts_that_end_or_are_weak_disappear_and_come_back(meshcat: Meshcat) -> None:
    drawing = PointContactDrawing(meshcat, ContactVisualizerParams(prefix="c"))
    here = np.zeros((1, 3))

    def shown(size: float | None) -> bool:
        if size is None:
            drawing.update([], np.zeros((0, 3)), np.zeros((0, 3)), 0.0)
        else:
            drawing.update(["a+b"], np.array([[0.0, size, 0]]), here, 0.0)
        return meshcat.HasPath("c/point/a+b") and property_at(meshcat, "c/point/a+b", "visible")

    assert [shown(size) for size in (0.0099, 0.01, None, 1.0, 0.001, 0.0, 0.02)] == [
        False, True, False, True, False, False, True,
    ]  # fmt: skip


# ------------------------------------------------------------------ surfaces


@pytest.mark.parametrize("is_soft", [False, True])
def test_arrows_are_no_longer_than_a_part_of_the_model_if_that_is_wanted(meshcat: Meshcat, is_soft: bool) -> None:
    scene = Balls(is_soft=is_soft)
    X_WL, wall = RigidTransform([0, 20, 5]), Box(40, 0.5, 10)
    scene.plant.RegisterCollisionGeometry(scene.plant.world_body(), X_WL, wall, "wall", CoulombFriction(1, 1))
    scene.plant.Finalize()
    params = ContactVisualizerParams(newtons_per_meter=1e-3, longest=0.5)  # 10 km
    ContactVisualizer.AddToBuilder(scene.builder, scene.plant, meshcat, params)
    scene.simulator().AdvanceTo(0.1)
    size = np.linalg.norm([1.2, 0.2, 0.2])  # of the two balls, without floor and wall
    path = f"contact_forces/{'hydroelastic' if is_soft else 'point'}/world.ground0+one.ball"
    X = pose_of(meshcat, path, *(["force_C_W"] if is_soft else []), "cylinder")
    assert np.linalg.norm(X[:3, 2]) == pytest.approx(0.5 * size, rel=0.01)
    radius = 0.5 * size / 40
    parent = path + ("/force_C_W" if is_soft else "")
    (cylinder,) = umsgpack.unpackb(meshcat._GetPackedObject(f"{parent}/cylinder"))["object"]["geometries"]
    (head,) = umsgpack.unpackb(meshcat._GetPackedObject(f"{parent}/head"))["object"]["geometries"]
    assert cylinder["radiusTop"] == pytest.approx(radius, rel=0.01)
    assert head["height"] == pytest.approx(4 * radius, rel=0.01)
    with pytest.raises(RuntimeError, match="longest must be positive; given 0"):
        ContactVisualizer(meshcat, ContactVisualizerParams(longest=0.0))


def test_patches_have_their_force_and_moment_at_the_centroid(meshcat: Meshcat) -> None:
    scene = Balls(is_soft=True)
    scene.plant.Finalize()
    ContactVisualizer.AddToBuilder(scene.builder, scene.plant, meshcat)
    scene.simulator().AdvanceTo(0.5)
    results = scene.plant.get_contact_results_output_port().Eval(scene.inside)
    assert results.num_hydroelastic_contacts() == 2 and not meshcat.HasPath("contact_forces/point")
    for i, model in enumerate(("one", "two")):
        path = f"contact_forces/hydroelastic/world+{model}.ball"
        surface = results.hydroelastic_contact_info(i).contact_surface()
        np.testing.assert_allclose(matrix_at(meshcat, path)[:3, 3], surface.centroid(), atol=1e-9)
        head = pose_of(meshcat, path, "force_C_W", "head")  # of the force on the ground
        np.testing.assert_allclose(head[:3, 3], [i, 0, surface.centroid()[2] - WEIGHT / 10 - 0.004], atol=2e-3)
        assert property_at(meshcat, f"{path}/force_C_W", "visible") is True
        assert property_at(meshcat, f"{path}/moment_C_W", "visible") is False
        data = umsgpack.unpackb(meshcat._GetPackedObject(f"{path}/contact_surface"))["object"]["geometries"][0]["data"]
        vertices = np.frombuffer(data["attributes"]["position"]["array"].data, "<f4").reshape(-1, 3)
        expected, triangles, pressures = surface.as_triangles()
        np.testing.assert_allclose(vertices + surface.centroid(), expected, atol=1e-6)
        assert pressures.min() >= 0.0 and triangles.max() == len(expected) - 1


@pytest.mark.parametrize("kind", list(HydroelasticContactRepresentation))
def test_surfaces_as_triangles_have_their_area_and_pressures(kind: HydroelasticContactRepresentation) -> None:
    scene = Balls(count=1, is_soft=True)
    scene.plant.set_contact_surface_representation(kind)
    scene.plant.Finalize()
    scene.simulator().AdvanceTo(0.01)
    results = scene.plant.get_contact_results_output_port().Eval(scene.inside)
    surface = results.hydroelastic_contact_info(0).contact_surface()
    assert surface.representation() == kind
    p_WV, triangles, pressures = surface.as_triangles()
    corners = p_WV[triangles]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    assert areas.sum() == pytest.approx(surface.total_area(), rel=1e-9) and len(pressures) == len(p_WV)
    field = surface.tri_e_MN() if surface.is_triangle() else surface.poly_e_MN()
    np.testing.assert_allclose(pressures, [field.EvaluateAtVertex(v) for v in range(len(p_WV))])
    p_WV += 1.0  # the caller may move them
    np.testing.assert_allclose(surface.as_triangles()[0], p_WV - 1.0, atol=1e-12)


def surface_contact(force: Any = (0, 0, 5), moment: Any = (0, 0, 0), pressures: Any = (1, 2, 3)) -> SurfaceContact:
    vertices = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    numbers = (np.array(each, dtype=float) for each in (vertices.mean(axis=0), force, moment))
    return SurfaceContact("a+b", *numbers, vertices, np.array([[0, 1, 2]]), np.array(pressures, dtype=float))


def test_each_arrow_of_a_patch_has_its_threshold(meshcat: Meshcat) -> None:
    drawing = SurfaceContactDrawing(meshcat, ContactVisualizerParams(prefix="c", moment_threshold=0.5))
    paths = ["c/hydroelastic/a+b", "c/hydroelastic/a+b/force_C_W", "c/hydroelastic/a+b/moment_C_W"]
    for force, moment, expected in (
        ((0, 0, 5), (0, 0, 0), [True, True, False]),
        ((0, 0, 0), (3, 0, 0), [True, False, True]),
        ((1, 2, 3), (1, 0, 0), [True, True, True]),
        ((0, 0.001, 0), (0, 0.4, 0), [False, True, True]),  # hidden with all below
    ):
        drawing.update([surface_contact(force, moment)], 0.0)
        assert [property_at(meshcat, path, "visible") for path in paths] == expected
    drawing.update([surface_contact((0, 0, 5), (6, 0, 0))], 0.0)
    X = pose_of(meshcat, *paths[:1], "moment_C_W", "cylinder")
    np.testing.assert_allclose(X[:3, 2], [2, 0, 0], atol=1e-12)  # 3 N m for each meter
    np.testing.assert_allclose(X[:3, 3], [1 / 3 + 1, 1 / 3, 1 / 3], atol=1e-12)
    drawing.update([], 0.0)
    assert property_at(meshcat, paths[0], "visible") is False


def test_colors_go_from_the_least_to_the_greatest_pressure() -> None:
    colors = colors_of_pressures(np.array([2.0, 4, 6, 8, 10, 3]))
    expected = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0.5]]
    np.testing.assert_allclose(colors, expected, atol=1e-12)
    uniform = colors_of_pressures(np.array([5.0, 5.0 + 1e-9, 5.0]))
    np.testing.assert_array_equal(uniform, [[1, 0, 0]] * 3)
    assert colors_of_pressures(np.zeros(0)).shape == (0, 3) and not np.isnan(colors_of_pressures(np.zeros(2))).any()


# ------------------------------------------------------------------ when


def test_simulations_draw_at_the_end_and_delete_at_the_beginning(meshcat: Meshcat) -> None:
    for deletes in (True, False):
        scene = Balls()
        scene.plant.Finalize()
        params = ContactVisualizerParams(delete_on_initialization_event=deletes, publish_period=0.1)
        ContactVisualizer.AddToBuilder(scene.builder, scene.plant, meshcat, params)
        meshcat.SetObject("contact_forces/old", Sphere(0.1))
        simulator = scene.simulator()
        simulator.Initialize()
        assert meshcat.HasPath("contact_forces/old") is not deletes
        simulator.AdvanceTo(0.25)
        scene.lift(scene.balls[0])
        simulator.AdvanceTo(0.31)
        path = "contact_forces/point/world+one.ball"
        assert property_at(meshcat, path, "visible") is False
        assert property_at(meshcat, "contact_forces/point/world+two.ball", "visible") is True
        meshcat.Delete()


def test_what_was_deleted_is_drawn_again(meshcat: Meshcat) -> None:
    scene = Balls()
    scene.plant.Finalize()
    visualizer = ContactVisualizer.AddToBuilder(scene.builder, scene.plant, meshcat)
    simulator = scene.simulator()
    simulator.AdvanceTo(0.1)
    visualizer.Delete()
    assert not meshcat.HasPath("contact_forces")
    visualizer.ForcedPublish(visualizer.GetMyContextFromRoot(simulator.get_context()))
    assert meshcat._GetPackedObject("contact_forces/point/world+one.ball/tail")


def test_recordings_have_contacts_only_while_they_last(meshcat: Meshcat) -> None:
    scene = Balls(count=1, is_soft=True)
    scene.plant.Finalize()
    ContactVisualizer.AddToBuilder(scene.builder, scene.plant, meshcat, ContactVisualizerParams(publish_period=0.125))
    simulator = scene.simulator()
    scene.lift(scene.balls[0])
    meshcat.StartRecording(8.0)
    simulator.AdvanceTo(0.25)
    scene.plant.SetFreeBodyPose(scene.inside, scene.balls[0], RigidTransform([0, 0, 0.099]))
    scene.plant.SetVelocities(scene.inside, np.zeros(6))
    simulator.AdvanceTo(0.625)
    scene.lift(scene.balls[0])
    simulator.AdvanceTo(0.875)
    command = umsgpack.unpackb(meshcat.get_mutable_recording().message().data)
    tracks = {each["path"]: {t["name"]: t for t in each["clip"]["tracks"]} for each in command["animations"]}
    path = "/drake/contact_forces/hydroelastic/world+ball"
    visible = tracks[path][".visible"]
    assert dict(zip(visible["times"], visible["values"])) == {0: False, 3: True, 4: True, 5: True, 6: False, 7: False}
    scale = tracks[f"{path}/force_C_W/cylinder"][".scale"]
    numbers = np.frombuffer(scale["values"].data, "<f4").reshape(-1, 3)
    np.testing.assert_allclose(numbers[:, :2], 1.0, atol=1e-6)
    assert len(numbers) == 3 and (numbers[:, 2] > 0.1).all()
    (sequence,) = command["sequences"]
    assert sequence["path"] == f"{path}/contact_surface"
    assert len(np.frombuffer(sequence["vertexCounts"].data, "<u4")) == 3


# ------------------------------------------------------------------ ports, settings, scalars


def test_ports_may_be_connected_by_hand(meshcat: Meshcat) -> None:
    visualizer = ContactVisualizer(meshcat)
    ports: list[InputPort] = [visualizer.contact_results_input_port(), visualizer.query_object_input_port()]
    assert [port.get_name() for port in ports] == ["contact_results", "query_object"]
    context = visualizer.CreateDefaultContext()
    with pytest.raises(RuntimeError, match="contact_results"):
        visualizer.ForcedPublish(context)
    ports[0].FixValue(context, ContactResults())
    visualizer.ForcedPublish(context)
    scene = Balls()
    scene.plant.Finalize()
    results, query = scene.plant.get_contact_results_output_port(), scene.graph.get_query_output_port()
    ContactVisualizer.AddToBuilder(scene.builder, results, query, meshcat)
    ContactVisualizer.AddToBuilder(builder=scene.builder, plant=scene.plant, meshcat=meshcat)
    ContactVisualizer.AddToBuilder(
        builder=scene.builder, contact_results_port=results, query_object_port=query, meshcat=meshcat,
        params=ContactVisualizerParams(),
    )  # fmt: skip
    visualizers = [each for each in scene.builder.GetSystems() if isinstance(each, ContactVisualizer)]
    wires = scene.builder.connection_map()
    assert len(visualizers) == 3 and all((each, i) in wires for each in visualizers for i in (0, 1))
    for wrong in ((), (meshcat,), (scene.plant,), (results, query, meshcat, ContactVisualizerParams(), 3)):
        with pytest.raises(TypeError, match="takes a"):
            ContactVisualizer.AddToBuilder(scene.builder, *wrong)


def test_settings_out_of_range_are_refused(meshcat: Meshcat) -> None:
    for name, value in (
        ("publish_period", -1.0), ("force_threshold", -0.1), ("newtons_per_meter", 0.0), ("radius", np.nan),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=f"ContactVisualizerParams.{name} must"):
            ContactVisualizer(meshcat, ContactVisualizerParams(**{name: value}))
    with pytest.raises(TypeError, match="hydro_force_color must be an Rgba; given 'red'"):
        ContactVisualizer(meshcat, ContactVisualizerParams(hydro_force_color="red"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a Meshcat and ContactVisualizerParams"):
        ContactVisualizer(meshcat, 3)  # type: ignore[arg-type]


def test_contacts_of_derivatives_are_drawn(meshcat: Meshcat) -> None:
    for is_soft, path in ((False, "point"), (True, "hydroelastic")):
        scene = Balls(count=1, is_soft=is_soft)
        scene.plant.SetUseSampledOutputPorts(False)
        scene.plant.Finalize()
        ContactVisualizer.AddToBuilder(scene.builder, scene.plant, meshcat)
        simulator = scene.simulator()
        simulator.AdvanceTo(0.05)
        diagram = simulator.get_system().ToAutoDiffXd()
        visualizer = diagram.GetSubsystemByName("meshcat_contact_visualizer")
        assert isinstance(visualizer, ContactVisualizer_[AutoDiffXd])
        context = diagram.CreateDefaultContext()
        context.SetTimeStateAndParametersFrom(simulator.get_context())
        meshcat.Delete()
        visualizer.Delete()
        diagram.ForcedPublish(context)
        assert property_at(meshcat, f"contact_forces/{path}/world+ball", "visible") is True
