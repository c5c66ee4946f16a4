"""AddDefaultVisualization, ApplyVisualizationConfig, InertiaVisualizer and AddFrameTriadIllustration."""

from __future__ import annotations

import copy
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack
from viewer_clients import color_at, matrix_at, property_at

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.lcm import DrakeLcm, LcmBuses
from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix
from merganser.geometry import Box, Cylinder, Meshcat, Rgba, Role, SceneGraph
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import (
    ActuatorLaw,
    FixedOffsetFrame,
    FrameIndex,
    MuscleCurves,
    PrismaticJoint,
    SpatialInertia,
    SpatialTendon,
    TendonPulley,
    TendonSite,
    UnitInertia,
)
from merganser.multibody.visualization import (
    AddDefaultVisualization,
    AddFrameTriadIllustration,
    ApplyVisualizationConfig,
    InertiaVisualizer,
    VisualizationConfig,
)
from merganser.multibody.visualization.plant_visualizers import TendonVisualizer, spatial_tendons, tube

ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm7.urdf"
VIEWERS = [
    "meshcat_visualizer(illustration)", "meshcat_visualizer(inertia)", "meshcat_visualizer(proximity)",
    "meshcat_contact_visualizer",
]  # fmt: skip
SENDERS = [
    "drake_visualizer(illustration)", "drake_visualizer(proximity)", "contact_to_lcm", "contact_results_publisher",
]  # fmt: skip


@pytest.fixture(scope="module")
def meshcat() -> Meshcat:
    return Meshcat(port=0)


@pytest.fixture(autouse=True)
def _clean(meshcat: Meshcat) -> None:
    meshcat.Delete()
    meshcat.DeleteAddedControls()


def boxes(*inertias: SpatialInertia) -> tuple[DiagramBuilder, MultibodyPlant, SceneGraph, list[Any]]:
    """Bodies that float, each with a box of 0.2 m to see and to touch; finalized."""
    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    bodies = []
    for i, inertia in enumerate(inertias or (SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.2, 0.2),)):
        body = plant.AddRigidBody(f"box{i}", inertia)
        plant.RegisterVisualGeometry(body, RigidTransform(), Box(0.2, 0.2, 0.2), "v", [0, 1, 0, 1])
        plant.RegisterCollisionGeometry(body, RigidTransform(), Box(0.2, 0.2, 0.2), "c", CoulombFriction(1, 1))
        bodies.append(body)
    plant.Finalize()
    return builder, plant, graph, bodies


# ------------------------------------------------------------------ all at once


def test_default_visualization_shows_illustrations_and_has_the_rest_ready(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
    Parser(plant).AddModels(str(ARM))
    plant.Finalize()
    AddDefaultVisualization(builder, meshcat)
    simulator = Simulator(builder.Build())
    names = [system.get_name() for system in simulator.get_system().GetSystems()]
    assert set(names[2:]) == {*VIEWERS, "inertia_visualizer"}
    inside = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.get_actuation_input_port().FixValue(inside, np.zeros(7))
    plant.SetPositions(inside, np.linspace(0.2, 0.8, 7))
    simulator.AdvanceTo(3 / 64)  # when there is a picture
    assert [property_at(meshcat, path, "visible") for path in ("illustration", "inertia", "proximity")] == [
        True, False, False,
    ]  # fmt: skip
    X_WL = plant.EvalBodyPoseInWorld(inside, plant.GetBodyByName("link_5")).GetAsMatrix4()
    for role in ("illustration", "proximity"):
        np.testing.assert_allclose(matrix_at(meshcat, f"{role}/arm7/link_5"), X_WL, atol=1e-12)
    body = plant.GetBodyByName("link_5")
    M_BBo_B = body.default_spatial_inertia()
    X_WE = matrix_at(meshcat, "inertia/InertiaVisualizer/arm7/link_5")
    p_WBcm = (X_WL @ [*M_BBo_B.get_com(), 1.0])[:3]
    np.testing.assert_allclose(X_WE[:3, 3], p_WBcm, atol=1e-12)
    assert not meshcat.HasPath("inertia/arm7") and not meshcat.HasPath("illustration/InertiaVisualizer")
    assert meshcat.GetSliderNames() == []


@pytest.mark.parametrize("left_out", ["illustration", "inertia", "proximity", "contacts"])
def test_each_viewer_can_be_left_out(meshcat: Meshcat, left_out: str) -> None:
    builder, *_ = boxes()
    ApplyVisualizationConfig(VisualizationConfig(**{f"publish_{left_out}": False}), builder, meshcat=meshcat)
    rest = [name for name in VIEWERS if left_out.rstrip("s") not in name]
    names = [system.get_name() for system in builder.GetSystems()]
    assert [name for name in names if name in VIEWERS] == rest
    assert ("inertia_visualizer" in names) is (left_out != "inertia")


def test_bodies_are_dragged_where_a_stiffness_is_given_and_the_port_is_free(meshcat: Meshcat) -> None:
    for stiffness, is_taken, drags in ((None, False, False), (49.0, False, True), (49.0, True, False)):
        builder, plant, _, _ = boxes()
        if is_taken:
            builder.ExportInput(plant.get_applied_spatial_force_input_port(), "forces")
        ApplyVisualizationConfig(VisualizationConfig(mouse_interaction_stiffness=stiffness), builder, meshcat=meshcat)
        springs = [system for system in builder.GetSystems() if system.get_name() == "drag_spring"]
        assert [spring._frequency for spring in springs] == [7.0] * drags


def test_tendons_are_drawn_as_tubes_that_move_with_their_bodies(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    body = plant.AddRigidBody("b", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddJoint(PrismaticJoint("j", plant.world_frame(), body.body_frame(), [0, 0, 1]))
    path = [TendonSite(plant.world_body(), [0, 0, 0.3]), TendonSite(body), TendonPulley(2.0)]
    plant.AddTransmission(SpatialTendon("t", [*path, TendonSite(body), TendonSite(plant.world_body(), [1, 0, 0])]))
    plant.Finalize()
    ApplyVisualizationConfig(VisualizationConfig(), builder, meshcat=meshcat)
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    assert meshcat.HasPath("tendons/t/0") and meshcat.HasPath("tendons/t/1")
    assert not meshcat.HasPath("tendons/t/2")
    (tendon,) = spatial_tendons(plant)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    simulator.AdvanceTo(0.1)
    fallen = plant.GetPositions(context)[0]
    np.testing.assert_allclose(tendon.CalcPath(context)[0], [[0, 0, 0.3], [0, 0, fallen]], atol=1e-15)
    with pytest.raises(ValueError, match=r"the radius must be positive and finite, but is 0\.0"):
        TendonVisualizer(plant, meshcat, radius=0.0)


@pytest.mark.parametrize("num_points", [1, 2, 5])
def test_tubes_keep_their_radius_where_points_coincide_and_lines_turn_back(num_points):
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 0.5, 0]], float)[:num_points]
    vertices, triangles = tube(points, 0.1)
    rings = vertices.reshape(num_points, 8, 3)
    np.testing.assert_allclose(np.linalg.norm(rings - points[:, None], axis=2), 0.1, rtol=1e-12)
    assert len(triangles) == 16 * (num_points - 1)
    np.testing.assert_array_equal(np.unique(triangles), np.arange(len(vertices) if num_points > 1 else 0))
    if num_points > 1:
        np.testing.assert_allclose(rings[:2, :, 0], [[0.0] * 8, [1.0] * 8], atol=1e-12)  # across the first line
        np.testing.assert_allclose(rings[1] - rings[0], np.broadcast_to([1.0, 0.0, 0.0], (8, 3)), atol=1e-12)


@pytest.mark.parametrize("time_step", [0.0, 0.001])
def test_muscles_are_blue_at_rest_and_red_when_active(meshcat: Meshcat, time_step: float) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    body = plant.AddRigidBody("b", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddJoint(PrismaticJoint("j", plant.world_frame(), body.body_frame(), [0, 0, 1]))
    sites = [TendonSite(plant.world_body(), [0, 0, 0.3]), TendonSite(body)]
    tendon = plant.AddTransmission(SpatialTendon("t", sites))
    muscle = plant.AddActuator("m", tendon)
    muscle.set_law(ActuatorLaw("muscle", (0.01, 0.04), muscle=MuscleCurves(50.0, (0.1, 0.5))))
    plant.Finalize()
    ApplyVisualizationConfig(VisualizationConfig(), builder, meshcat=meshcat)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    mine = plant.GetMyMutableContextFromRoot(context)
    plant.get_actuation_input_port().FixValue(mine, [0.0])
    for activation, color in ((0.0, 0x334DCC), (1.0, 0xD91A1A), (0.25, 0x5C40A0)):
        muscle.SetActivation(mine, activation)
        np.testing.assert_array_equal(plant.get_activations_output_port().Eval(mine), [activation])
        diagram.ForcedPublish(context)
        packed = umsgpack.unpackb(meshcat._GetPackedObject("tendons/t/0"))
        found = packed["object"]["materials"][0]["color"]
        assert [abs((found >> s & 255) - (color >> s & 255)) <= 1 for s in (0, 8, 16)] == [True] * 3, hex(found)


def test_settings_reach_viewers(meshcat: Meshcat) -> None:
    builder, plant, graph, _ = boxes()
    config = VisualizationConfig(
        publish_period=0.25, default_proximity_color=Rgba(0, 0, 1), initial_proximity_alpha=0.3,
        enable_alpha_sliders=True, delete_on_initialization_event=False,
    )  # fmt: skip
    kept = copy.deepcopy(config)
    ApplyVisualizationConfig(config, builder, plant=plant, scene_graph=graph, meshcat=meshcat)
    assert config == kept
    names = ["illustration α", "inertia α", "proximity α"]
    assert meshcat.GetSliderNames() == names
    np.testing.assert_allclose([meshcat.GetSliderValue(name) for name in names], [1.0, 0.5, 0.3])
    meshcat.SetProperty("illustration/old", "visible", True)
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    assert meshcat.HasPath("illustration/old")
    assert color_at(meshcat, "proximity/box0/c") == (0x0000FF, 1.0)
    assert property_at(meshcat, "proximity", "modulated_opacity") == pytest.approx(0.3)
    simulator.AdvanceTo(0.25)
    height = matrix_at(meshcat, "illustration/box0")[2, 3]
    simulator.AdvanceTo(0.45)
    assert matrix_at(meshcat, "illustration/box0")[2, 3] == height < 0.0
    assert matrix_at(meshcat, "proximity/box0")[2, 3] == height


def test_there_may_be_no_meshcat(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "merganser.geometry")  # commands that ran before may have made it log more
    builder, *_ = boxes()
    ApplyVisualizationConfig(VisualizationConfig(enable_meshcat_creation=False), builder)
    assert [system.get_name() for system in builder.GetSystems()][2:] == ["inertia_visualizer"]
    assert "Meshcat listening" not in capfd.readouterr().err
    builder, *_ = boxes()
    AddDefaultVisualization(builder)
    assert "Meshcat listening" in capfd.readouterr().err
    builder.Build().CreateDefaultContext()


def test_messages_are_sent_where_there_is_a_bus(meshcat: Meshcat) -> None:
    lcm, nowhere, buses = DrakeLcm("memq://"), DrakeLcm("memq://null"), LcmBuses()
    buses.Add("tv", lcm)
    buses.Add("default", nowhere)
    cases: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
        ({}, {}, []),
        ({}, {"lcm": nowhere}, []),
        ({}, {"lcm_buses": buses}, []),
        ({"lcm_bus": "tv"}, {"lcm_buses": buses}, SENDERS),
        ({"lcm_bus": "tv", "publish_illustration": False, "publish_contacts": False}, {"lcm_buses": buses},
         SENDERS[1:2]),
        ({"publish_proximity": False}, {"lcm": lcm}, [SENDERS[0], *SENDERS[2:]]),
    ]  # fmt: skip
    for settings, given, expected in cases:
        builder, *_ = boxes()
        config = VisualizationConfig(enable_meshcat_creation=False, publish_inertia=False, **settings)
        ApplyVisualizationConfig(config, builder, **given)
        assert [system.get_name() for system in builder.GetSystems()][2:] == expected
    builder, *_ = boxes()
    ApplyVisualizationConfig(VisualizationConfig(publish_period=0.02), builder, meshcat=meshcat, lcm=lcm)
    channels: list[str] = []
    lcm.SubscribeAllChannels(lambda channel, data: channels.append(channel))
    Simulator(builder.Build()).AdvanceTo(0.05)
    lcm.HandleSubscriptions(0)
    assert {name: channels.count(name) for name in ("CONTACT_RESULTS", "DRAKE_VIEWER_DRAW_PROXIMITY")} == {
        "CONTACT_RESULTS": 3, "DRAKE_VIEWER_DRAW_PROXIMITY": 3,
    }  # fmt: skip


def test_what_does_not_fit_is_refused(meshcat: Meshcat) -> None:
    with pytest.raises(RuntimeError, match="plant"):
        AddDefaultVisualization(DiagramBuilder(), meshcat)
    builder = DiagramBuilder()
    AddMultibodyPlantSceneGraph(builder, 0.0)
    with pytest.raises(RuntimeError, match=r"call Finalize\(\) of plant 'plant' first"):
        AddDefaultVisualization(builder, meshcat)
    builder, plant, _, _ = boxes()
    for config, text in (
        (VisualizationConfig(publish_period=0.0), "publish_period must be positive"),
        (VisualizationConfig(lcm_bus="other"), "non-default LCM bus 'other', and there are no LcmBuses"),
        (VisualizationConfig(initial_proximity_alpha=2.0), "must be from 0 to 1"),
        (VisualizationConfig(mouse_interaction_stiffness=-1.0), "must be positive and finite, or None; given -1.0"),
    ):
        with pytest.raises(RuntimeError, match=text):
            ApplyVisualizationConfig(config, builder, meshcat=meshcat)
    with pytest.raises(RuntimeError, match="the plant that is given"):
        ApplyVisualizationConfig(VisualizationConfig(), builder, plant=boxes()[1], meshcat=meshcat)
    with pytest.raises(TypeError, match="takes a VisualizationConfig and a DiagramBuilder"):
        ApplyVisualizationConfig(builder, VisualizationConfig())  # type: ignore[arg-type]
    before = len(builder.GetSystems())
    for given, kind, text in (
        ({"lcm_buses": object()}, TypeError, "lcm_buses must be of type LcmBuses"),
        ({"lcm": "memq://"}, TypeError, "lcm must be a DrakeLcm or an LcmInterfaceSystem"),
        ({"lcm_buses": LcmBuses()}, RuntimeError, "ApplyVisualizationConfig requested an LCM bus 'default'"),
    ):
        with pytest.raises(kind, match=text):
            ApplyVisualizationConfig(VisualizationConfig(), builder, meshcat=meshcat, **given)
    assert len(builder.GetSystems()) == before
    ApplyVisualizationConfig(VisualizationConfig(), builder, meshcat=meshcat)
    with pytest.raises(RuntimeError, match="inertia_visualizer"):
        ApplyVisualizationConfig(VisualizationConfig(), builder, plant=plant, meshcat=meshcat)


# ------------------------------------------------------------------ inertias


def ellipsoid_of(inertia: SpatialInertia) -> tuple[np.ndarray, np.ndarray]:
    """Half axes, and the pose of the ellipsoid in the body."""
    builder, plant, graph, _ = boxes(inertia)
    visualizer = InertiaVisualizer.AddToBuilder(builder, plant, graph)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    inspector = graph.model_inspector()
    (geometry_id,) = inspector.GetAllGeometryIds(Role.kIllustration)[1:]
    assert inspector.GetOwningSourceName(geometry_id) == "inertia_visualizer"
    assert visualizer.source_id() in inspector.GetAllSourceIds()
    shape = inspector.GetShape(geometry_id)
    query = graph.get_query_output_port().Eval(graph.GetMyContextFromRoot(context))
    return np.array([shape.a(), shape.b(), shape.c()]), query.GetPoseInWorld(geometry_id).GetAsMatrix4()


def test_ellipsoids_of_water_have_mass_and_moments_of_the_body() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        sizes = rng.uniform(0.1, 1.0, 3)
        R_BE = RotationMatrix(RollPitchYaw(rng.uniform(-2, 2, 3)))
        p_BoBcm_B, mass = rng.uniform(-1, 1, 3), float(rng.uniform(1.0, 5.0))
        G_BBcm_E = UnitInertia.SolidBox(*sizes)
        G_BBcm_B = G_BBcm_E.ReExpress(R_BE)
        M_BBo_B = SpatialInertia.MakeFromCentralInertia(mass, p_BoBcm_B, mass * G_BBcm_B)
        half_axes, X_BE = ellipsoid_of(M_BBo_B)
        a, b, c = half_axes
        assert 4 / 3 * np.pi * a * b * c * 1000.0 == pytest.approx(mass, rel=1e-9)
        np.testing.assert_allclose(X_BE[:3, 3], p_BoBcm_B, atol=1e-12)
        # Of an ellipsoid of the same shape and mass, moments are in the ratio of the body's.
        moments = np.array([b * b + c * c, a * a + c * c, a * a + b * b])
        I_E = X_BE[:3, :3] @ np.diag(moments) @ X_BE[:3, :3].T
        expected = G_BBcm_B.CopyToFullMatrix3()
        np.testing.assert_allclose(I_E / np.trace(I_E), expected / np.trace(expected), atol=1e-9)


@pytest.mark.parametrize(
    ("inertia", "ratios"),
    [
        (SpatialInertia.PointMass(2.0, [0.1, 0.2, 0.3]), [1, 1, 1]),
        (SpatialInertia(1.0, [0, 0, 0], UnitInertia.StraightLine(1.0, [0, 0, 1])), [1, 0.01, 0.01]),
        (SpatialInertia.SolidBoxWithMass(2.0, 1e-6, 1e-2, 1.0), [1, 0.01, 0.01]),
    ],
    ids=["point", "rod", "needle"],
)
def test_thin_ellipsoids_are_thick_enough_to_be_seen(inertia: SpatialInertia, ratios: list[float]) -> None:
    half_axes, _ = ellipsoid_of(inertia)
    np.testing.assert_allclose(np.sort(half_axes / half_axes.max())[::-1], ratios, rtol=1e-6)
    assert 4 / 3 * np.pi * half_axes.prod() * 1000.0 == pytest.approx(inertia.get_mass())


def test_bodies_without_mass_have_a_small_ball_and_those_of_the_world_nothing() -> None:
    half_axes, _ = ellipsoid_of(SpatialInertia.Zero())
    assert half_axes.tolist() == [0.001] * 3
    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    fixed, loose = (plant.AddRigidBody(name, SpatialInertia.PointMass(1.0, [0, 0, 0])) for name in ("fixed", "loose"))
    plant.WeldFrames(plant.world_frame(), fixed.body_frame())
    plant.Finalize()
    InertiaVisualizer.AddToBuilder(builder, plant, graph)
    inspector = graph.model_inspector()
    names = [inspector.GetName(each) for each in inspector.GetAllGeometryIds()]
    assert names == [f"$inertia({int(loose.index())})"]


# ------------------------------------------------------------------ frames


def test_triads_are_along_the_axes_of_frames() -> None:
    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    body = plant.AddRigidBody("body", SpatialInertia.PointMass(1.0, [0, 0, 0]))
    X_BF = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1, 2, 3])
    frame = plant.AddFrame(FixedOffsetFrame("offset", body.body_frame(), X_BF))
    body_frame_id = plant.GetBodyFrameIdOrThrow(body.index())
    X_FT = RigidTransform([0, 0, 0.5])
    cases = [
        ({"body": body}, RigidTransform(), f"body({int(body.model_instance())})", 1.0),
        ({"frame": frame}, X_BF, f"offset({int(body.model_instance())})", 0.5),
        ({"frame_index": frame.index(), "plant": plant, "name": "by index"}, X_BF, "by index", 0.5),
        ({"frame_id": body_frame_id, "plant": plant, "name": "by id", "X_FT": X_FT}, X_FT, "by id", 1.0),
    ]  # fmt: skip
    inspector = graph.model_inspector()
    for arguments, X_BT, name, brightness in cases:
        ids = AddFrameTriadIllustration(scene_graph=graph, length=0.4, radius=0.01, opacity=0.7, **arguments)
        for axis, geometry_id in enumerate(ids):
            assert inspector.GetName(geometry_id) == f"_frames::{name}::{'xyz'[axis]}-axis"
            assert inspector.GetFrameId(geometry_id) == body_frame_id
            shape = inspector.GetShape(geometry_id)
            assert isinstance(shape, Cylinder) and (shape.radius(), shape.length()) == (0.01, 0.4)
            X_BG = inspector.GetPoseInFrame(geometry_id)
            R_BT = X_BT.rotation().matrix()
            np.testing.assert_allclose(X_BG.translation(), X_BT.translation() + 0.2 * R_BT[:, axis], atol=1e-12)
            np.testing.assert_allclose(np.abs(X_BG.rotation().matrix()[:, 2] @ R_BT[:, axis]), 1.0)
            color = inspector.GetIllustrationProperties(geometry_id).GetProperty("phong", "diffuse")
            np.testing.assert_allclose(color.rgba, [*(brightness * np.eye(3)[axis]), 0.7])


def test_triads_of_what_does_not_fit_are_refused() -> None:
    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    body = plant.AddRigidBody("body", SpatialInertia.PointMass(1.0, [0, 0, 0]))
    for arguments, text in (
        ({}, "exactly one of"),
        ({"body": body, "frame": body.body_frame()}, "exactly one of"),
        ({"frame_index": FrameIndex(1)}, "needs plant="),
        ({"body": body, "plant": MultibodyPlant(0.0)}, "belongs to plant 'plant'"),
        ({"frame_id": graph.world_frame_id(), "plant": MultibodyPlant(0.0)}, "no body of plant"),
    ):
        with pytest.raises(ValueError, match=text):
            AddFrameTriadIllustration(scene_graph=graph, **arguments)  # type: ignore[arg-type]
    alone = MultibodyPlant(0.0)
    with pytest.raises(RuntimeError, match="not a source of a SceneGraph"):
        AddFrameTriadIllustration(scene_graph=graph, body=alone.world_body())
    AddFrameTriadIllustration(scene_graph=graph, body=body)
    with pytest.raises(RuntimeError, match="x-axis"):
        AddFrameTriadIllustration(scene_graph=graph, body=body)
