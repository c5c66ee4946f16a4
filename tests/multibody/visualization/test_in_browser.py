"""Sliders, contacts and models of files in a real browser; see tests/geometry/visualizers/test_in_browser.py."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsers import SIZE, Page, chromium, color_of, colors_at, look_from_the_front, mark, pixels, place_of, pull
from viewer_clients import eventually

from merganser.analysis import Simulator
from merganser.framework import BusValue, DiagramBuilder, Value
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    MakePhongIllustrationProperties,
    Meshcat,
    MeshcatVisualizer,
    ProximityProperties,
    Sphere,
)
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction
from merganser.multibody.tree import ActuatorLaw, MuscleCurves, SpatialInertia, SpatialTendon, TendonSite
from merganser.multibody.visualization import (
    ApplyVisualizationConfig,
    ContactVisualizer,
    ContactVisualizerParams,
    JointSliders,
    ModelVisualizer,
    TendonVisualizer,
    VisualizationConfig,
)

chromium()  # or all is left out

pytest_plugins = ["browser_fixtures"]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "models"


def material(kind: Any = None, *arguments: float) -> ProximityProperties:
    """Of contact with friction, and perhaps hydroelastic."""
    properties = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.8, 0.8), dissipation=1.0, properties=properties)
    if kind is not None:
        kind(*arguments, properties)
    return properties


# ------------------------------------------------------------------ sliders


def test_a_slider_moved_in_the_page_moves_a_joint_until_escape_is_pressed(page: Page, meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    Parser(plant).AddModels(str(EXAMPLES / "cart_pole.sdf"))
    plant.Finalize()
    MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    sliders = builder.AddSystem(JointSliders(meshcat, plant, lower_limit=-2.0, upper_limit=2.0))
    diagram = builder.Build()
    look_from_the_front(meshcat, 1.5)
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(sliders.Run(diagram)))
    thread.start()
    try:
        page.open(meshcat.web_url(), mark(meshcat))
        page.page.wait_for_function("() => viewer.gui_controllers['Stop JointSliders'] !== undefined")
        assert eventually(lambda: colors_at(page.image(), [(0.0, -0.4), (0.4, 0.0)], 1.5) == ["yellow", "nothing"])
        pull(page, "PolePin", 0.892)  # 90 degrees
        assert eventually(lambda: colors_at(page.image(), [(0.0, -0.4)], 1.5) == ["nothing"])
        assert {"yellow", "red"} & set(colors_at(page.image(), [(-0.4, 0.0), (0.4, 0.0)], 1.5))
    finally:
        page.page.keyboard.press("Escape")
        thread.join(10.0)
    assert results[0][1] == pytest.approx(np.pi / 2, abs=0.03)
    assert meshcat.GetButtonNames() == []


# ------------------------------------------------------------------ tendons


def test_a_muscle_is_as_thick_as_its_radius(page: Page, meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    sites = [TendonSite(plant.world_body(), p) for p in ([-0.3, 0, 0], [0, 0, 0.3], [0.3, 0, 0])]
    muscle = plant.AddActuator("m", plant.AddTransmission(SpatialTendon("t", sites)))
    muscle.set_law(ActuatorLaw("muscle", (0.01, 0.04), muscle=MuscleCurves(50.0, (0.1, 0.5))))
    plant.Finalize()
    visualizer = builder.AddSystem(TendonVisualizer(plant, meshcat, radius=0.02))
    context = builder.Build().CreateDefaultContext()
    mine = visualizer.GetMyMutableContextFromRoot(context)
    visualizer.plant_state_input_port().FixValue(mine, [])
    visualizer.ForcedPublish(mine)
    look_from_the_front(meshcat, 0.5)
    page.open(meshcat.web_url(), mark(meshcat))
    across = [(-0.15 - d, 0.15 + d) for d in (-0.018, -0.01, 0.0, 0.01, 0.018)]
    assert eventually(lambda: colors_at(page.image(), across, 0.5) == ["nothing", "red", "red", "red", "nothing"])


MODEL = """
<robot name="arm">
  <link name="base"><visual><origin xyz="0 0 -0.05"/><geometry><box size="0.4 0.4 0.1"/></geometry>
    <material name="gray"><color rgba="0.5 0.5 0.5 1"/></material></visual></link>
  <link name="rod"><visual><origin xyz="0 0 0.4"/><geometry><box size="0.1 0.1 0.8"/></geometry>
    <material name="mine"><color rgba="{}"/></material></visual>
    <collision><origin xyz="0 0 0.8"/><geometry><sphere radius="0.2"/></geometry></collision>
    <inertial><origin xyz="0 0 0.4"/><mass value="40"/><inertia ixx="2" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  <joint name="fixed" type="fixed"><parent link="world"/><child link="base"/></joint>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2"/></joint>
</robot>
"""


def test_a_model_of_a_file_is_shown_moved_read_again_and_left(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(MODEL.format("1 0 0 1"))
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(path)
    visualizer.Finalize()
    look_from_the_front(meshcat, 1.5)
    thread = threading.Thread(target=visualizer.Run)
    thread.start()
    try:
        page.open(meshcat.web_url(), mark(meshcat))
        page.page.wait_for_function("() => viewer.gui_controllers['Stop Running'] !== undefined")
        up, right = (0.0, 0.5), (0.5, 0.0)
        seen = [up, right, (0.12, 0.7)]
        assert eventually(lambda: colors_at(page.image(), seen, 1.5) == ["red", "nothing", "nothing"])
        pull(page, "hinge", 0.892)
        assert eventually(lambda: colors_at(page.image(), [up, right], 1.5) == ["nothing", "red"])

        path.write_text(MODEL.format("0 1 0 1"))
        page.page.get_by_text("Reload Model Files").click()
        assert eventually(lambda: colors_at(page.image(), [up, right], 1.5) == ["nothing", "green"], 20.0)

        path.write_text("<robot")
        page.page.get_by_text("Reload Model Files").click()
        assert eventually(lambda: colors_at(page.image(), [(0.0, 0.2), right], 1.5) == ["red", "nothing"], 20.0)
        path.write_text(MODEL.format("0 1 0 1"))
        page.page.get_by_text("Reload Model Files").click()
        assert eventually(lambda: colors_at(page.image(), [up, right], 1.5) == ["green", "nothing"], 20.0)

        for role, color, point in (("proximity", "red", (0.15, 0.8)), ("inertia", "blue", (0.15, 0.4))):
            meshcat.SetProperty("illustration", "visible", False)
            meshcat.SetProperty(role, "visible", True)
            page.settle(meshcat)
            assert colors_at(page.image(), [point], 1.5) == [color]
            pull(page, f"{role} α", 0.0)
            assert eventually(lambda: page.image()[place_of(*point, 1.5)][3] < 20)  # noqa: B023
            meshcat.SetProperty(role, "visible", False)
    finally:
        page.page.get_by_text("Stop Running").click()
        thread.join(10.0)
    assert not thread.is_alive() and meshcat.GetButtonNames() == []


def test_boxes_show_frames_contacts_and_inertias_which_are_off_at_first(
    page: Page, meshcat: Meshcat, tmp_path: Path
) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(MODEL.format("1 0 0 1"))
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(path)
    visualizer.Finalize()
    page.page.set_viewport_size({"width": 900, "height": 700})
    page.open(meshcat.web_url(), mark(meshcat))
    visible = {
        "inertia": "node_at('/drake/inertia').object.visible",
        "contact forces": "node_at('/drake/contact_forces').object.visible",
        "frames": "toggled({path: '/drake/illustration', part: '_frames'}).every(each => each.visible)",
    }
    for expression in visible.values():
        assert page.evaluate(expression) is False
    pull(page, "inertia α", 0.9)  # a look at inertias is what the slider is for
    assert page.evaluate(visible["inertia"]) is True
    assert page.page.locator("[data-slider='inertia α'] input[type=checkbox]").is_checked()
    for label in ("frames", "contact forces"):
        page.page.get_by_text(label, exact=True).click()
        assert page.evaluate(visible[label]) is True
    axes = page.evaluate(
        "(() => { const found = []; viewer.scene.traverse(o => { if (o.name === 'x-axis') "
        "found.push(o.children[0].geometry.parameters.height); }); return found; })()"
    )
    assert axes and max(axes) < 0.25  # of a model of 1.2 m


def test_a_picture_from_the_place_of_the_pages_camera_is_in_its_corner(
    page: Page, meshcat: Meshcat, tmp_path: Path
) -> None:
    pytest.importorskip("vtkmodules", reason="extra `render`")
    path = tmp_path / "arm.urdf"
    path.write_text(MODEL.format("1 0 0 1"))
    visualizer = ModelVisualizer(meshcat=meshcat, show_rgbd_sensor=True)
    visualizer.AddModels(path)
    visualizer.Finalize()
    meshcat.SetCameraPose([0.0, -1.5, 0.4], [0.0, 0.0, 0.4])
    thread = threading.Thread(target=visualizer.Run)
    thread.start()

    def colors() -> list[str]:
        """In the corner: on the rod, on the base, and beside them."""
        image = pixels(page.evaluate("document.getElementById('preview').src"))
        assert image.shape == (480, 640, 4)
        return [color_of(image[row, column]) for row, column in ((180, 320), (350, 320), (240, 200))]

    try:
        page.open(f"{meshcat.web_url()}/?tracked_camera=on", mark(meshcat))
        corner = page.page.locator("#preview")
        corner.wait_for(state="visible")
        assert eventually(lambda: colors() == ["red", "gray", "gray"])
        pull(page, "hinge", 0.108)  # to the left
        assert eventually(lambda: colors()[0] != "red")
        page.page.mouse.move(70, 100)
        seen = corner.get_attribute("src")
        page.page.mouse.down()
        page.page.mouse.move(70, 160, steps=3)
        page.page.mouse.up()
        assert eventually(lambda: corner.get_attribute("src") != seen)
    finally:
        page.page.get_by_text("Stop Running").click()
        thread.join(10.0)


# ------------------------------------------------------------------ contacts


def test_arrows_are_where_boxes_of_a_pile_touch(page: Page, meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
    X_WG = RigidTransform([0, 0, -0.5])
    plant.RegisterCollisionGeometry(plant.world_body(), X_WG, Box(5, 5, 1), "ground", material())
    boxes = [plant.AddRigidBody(f"box{i}", SpatialInertia.SolidBoxWithMass(0.5, 0.3, 0.3, 0.3)) for i in range(6)]
    for box in boxes:
        plant.RegisterCollisionGeometry(box, RigidTransform(), Box(0.3, 0.3, 0.3), "box", material())
    plant.Finalize()
    params = ContactVisualizerParams(radius=0.012, newtons_per_meter=20.0, force_threshold=0.5)
    ContactVisualizer.AddToBuilder(builder, plant, meshcat, params)
    simulator = Simulator(builder.Build())
    inside = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    rng = np.random.default_rng(3)
    for i, box in enumerate(boxes):
        turn = RollPitchYaw(rng.uniform(-0.5, 0.5, 3))
        plant.SetFreeBodyPose(inside, box, RigidTransform(turn, [*rng.uniform(-0.2, 0.2, 2), 0.3 + 0.35 * i]))
    look_from_the_front(meshcat, 2.0, height=0.5)
    page.open(meshcat.web_url(), mark(meshcat))
    simulator.AdvanceTo(1.5)  # early contacts are gone
    page.settle(meshcat)
    image = page.image()
    results = plant.get_contact_results_output_port().Eval(inside)
    infos = [results.point_pair_contact_info(i) for i in range(results.num_point_pair_contacts())]
    forces = [info for info in infos if np.linalg.norm(info.contact_force()) >= 0.5]
    assert len(forces) >= 6
    expected = np.zeros((SIZE, SIZE), dtype=bool)
    for info in forces:
        half = info.contact_force() / 20.0
        for s in np.linspace(-1.0, 1.0, 200):
            x, _, z = info.contact_point() + s * half
            row, column = place_of(x, z, 2.0, 0.5)
            if 0 <= row < SIZE and 0 <= column < SIZE:
                expected[row, column] = True
    shown = image[:, :, 3] > 0
    assert {color_of(pixel) for pixel in image[expected]} <= {"green", "black"}  # heads may be in the dark
    assert expected.sum() > 100
    near = sum(np.roll(expected, (i, j), (0, 1)) for i in range(-6, 7) for j in range(-6, 7)) > 0
    assert not (shown & ~near).any()  # nothing else


class Press:
    """A soft ball that falls onto a rigid plate, seen from above, with its contact surface."""

    def __init__(self, meshcat: Meshcat) -> None:
        builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
        self.plant.set_contact_model(ContactModel.kHydroelastic)
        rigid = material(AddRigidHydroelasticProperties, 0.1)
        world = self.plant.world_body()
        self.plant.RegisterCollisionGeometry(world, RigidTransform([0, 0, -0.1]), Box(1, 1, 0.2), "plate", rigid)
        self.ball = self.plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(2.0, 0.2))
        soft = material(AddCompliantHydroelasticProperties, 0.03, 2e3)
        self.plant.RegisterCollisionGeometry(self.ball, RigidTransform(), Sphere(0.2), "ball", soft)
        self.plant.Finalize()
        params = ContactVisualizerParams(force_threshold=0.1, newtons_per_meter=1e6)  # with arrows of no length
        self.visualizer = ContactVisualizer.AddToBuilder(builder, self.plant, meshcat, params)
        self.simulator = Simulator(builder.Build())
        self.inside = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        self.plant.SetFreeBodyPose(self.inside, self.ball, RigidTransform([0, 0, 0.25]))
        from_above = RigidTransform(RollPitchYaw(-np.pi / 2, 0, 0), [0, 0, 3])
        meshcat.Set2dRenderMode(from_above, xmin=-0.25, xmax=0.25, ymin=-0.25, ymax=0.25)

    def radius(self) -> float:
        """Of the contact surface."""
        results = self.plant.get_contact_results_output_port().Eval(self.inside)
        if not results.num_hydroelastic_contacts():
            return 0.0
        return float(np.sqrt(results.hydroelastic_contact_info(0).contact_surface().total_area() / np.pi))


def rings(page: Page, radius: float) -> list[set[str]]:
    """The colors of a round patch: in the middle, at 40 and 70 and 93 % of its radius, and outside."""
    image = page.image()
    found = []
    for part in (0.1, 0.55, 0.76, 1.2):
        points = [(part * radius * np.cos(a), part * radius * np.sin(a)) for a in np.linspace(0.3, 6.5, 12)]
        found.append(set(colors_at(image, points, 0.25)))
    return found


def test_a_hydroelastic_patch_has_its_size_and_pressures_live_and_recorded(page: Page, meshcat: Meshcat) -> None:
    press = Press(meshcat)
    page.open(meshcat.web_url(), mark(meshcat))
    meshcat.StartRecording(64)
    press.simulator.AdvanceTo(0.8)
    page.settle(meshcat)
    radius = press.radius()
    assert radius > 0.06
    live = rings(page, radius)
    # The pressure falls as 1 - r²: white and yellow in the middle, then red, then blue and black.
    assert live[0] <= {"gray", "yellow"} and live[1] <= {"red", "yellow"} and live[2] <= {"red", "purple", "blue"}
    assert live[3] == {"nothing"}
    press.plant.SetFreeBodyPose(press.inside, press.ball, RigidTransform([0, 0, 0.5]))
    press.simulator.AdvanceTo(0.9)
    page.settle(meshcat)
    assert rings(page, radius) == [{"nothing"}] * 4
    meshcat.get_mutable_recording().set_autoplay(False)
    meshcat.PublishRecording()
    page.settle(meshcat)
    for time, expected in ((0.05, [{"nothing"}] * 4), (0.8 - 1 / 64, live), (0.88, [{"nothing"}] * 4)):
        page.evaluate(f"viewer.animator.play(), viewer.animator.pause(), viewer.animator.seek({time})")
        found = rings(page, radius)
        assert found == expected or (expected is live and found[3] == {"nothing"} and found[0] <= {"gray", "yellow"})


# ------------------------------------------------------------------ belts


def test_the_picture_on_a_belt_goes_along_with_its_surface(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    """Two colors share 2 m; after 0.5 m a quarter has gone out at the right and come in at the left."""
    from PIL import Image

    colors_of_picture = np.array([[[255, 0, 0], [0, 0, 255]]], np.uint8)
    Image.fromarray(colors_of_picture.repeat(16, 0).repeat(16, 1)).save(tmp_path / "two.png")
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    belt = plant.AddRigidBody("belt", SpatialInertia.SolidBoxWithMass(1.0, 2.0, 0.2, 1.0))
    plant.WeldFrames(plant.world_frame(), belt.body_frame())
    look = MakePhongIllustrationProperties([1.0, 1.0, 1.0, 1.0])
    look.AddProperty("phong", "diffuse_map", str(tmp_path / "two.png"))
    X_BG = RigidTransform(RollPitchYaw(np.pi, 0.0, 0.0), np.zeros(3))  # the axis is one of the body
    plant.RegisterVisualGeometry(belt, X_BG, Box(2.0, 0.2, 1.0), "belt", look)
    plant.SetSurfaceVelocityAxis(belt, [0.0, 0.0, 1.0])
    plant.Finalize()
    ApplyVisualizationConfig(VisualizationConfig(publish_contacts=False), builder, meshcat=meshcat)
    simulator = Simulator(builder.Build())
    speeds = BusValue()
    speeds.Set(belt.scoped_name().get_full(), Value(1.0))
    plant.get_surface_speeds_input_port().FixValue(
        plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()), speeds
    )
    look_from_the_front(meshcat, 1.5)
    places = [(x, 0.0) for x in (-0.75, -0.25, 0.25, 0.75)]
    simulator.AdvanceTo(0.0)
    page.open(meshcat.web_url(), mark(meshcat))
    colors = colors_at(page.image(), places, 1.5)
    assert colors in (["red", "red", "blue", "blue"], ["blue", "blue", "red", "red"])
    simulator.AdvanceTo(0.5)
    page.settle(meshcat)
    assert colors_at(page.image(), places, 1.5) == [colors[3], *colors[:3]]
