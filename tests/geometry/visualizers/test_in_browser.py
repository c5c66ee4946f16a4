"""The viewer in a real browser: what is drawn where, controls, recordings.

Scenes are looked at without perspective, so that each point of the world has its pixel. Light falls on surfaces, so
that colors are compared by which of red, green and blue there is most of.
"""

from __future__ import annotations

import functools
import io
import os
import threading
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsers import (
    SIZE,
    Page,
    chromium,
    color_of,
    colors_at,
    look_from_the_front,
    mark,
    place_of,
    pull,
)
from viewer_clients import eventually

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix
from merganser.geometry import (
    AddContactMaterial,
    Box,
    Cylinder,
    HalfSpace,
    MakePhongIllustrationProperties,
    Mesh,
    Meshcat,
    MeshcatVisualizer,
    ProximityProperties,
    Rgba,
    Sphere,
)
from merganser.geometry.perception import PointCloud
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import SpatialInertia

chromium()  # or all is left out

pytest_plugins = ["browser_fixtures"]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "models"
MODELS = Path(os.environ.get("MERGANSER_MODELS", EXAMPLES.parents[2] / "shared" / "models"))


# ------------------------------------------------------------------ what is drawn


def test_shapes_lines_and_points_are_where_they_are_in_their_colors(page: Page, meshcat: Meshcat) -> None:
    look_from_the_front(meshcat, 2.0)
    meshcat.SetObject("box", Box(0.8, 0.1, 0.4), Rgba(1, 0, 0))
    meshcat.SetTransform("box", RigidTransform([-1, 0, 1]))
    meshcat.SetObject("cylinder", Cylinder(0.2, 1.0), Rgba(0, 1, 0))
    meshcat.SetTransform("cylinder", RigidTransform([1, 0, 1]))
    corners = [[-1.4, -0.6, -1.4], [0, 0, 0], [-1.4, -1.4, -0.6]]
    meshcat.SetTriangleMesh("triangle", corners, [[0], [1], [2]], Rgba(0, 0, 1))
    cloud = PointCloud(1)
    cloud.mutable_xyzs()[:] = [[1], [0], [-1]]
    meshcat.SetObject("cloud", cloud, point_size=40, rgba=Rgba(1, 0, 1))  # pixels, as there is no perspective
    meshcat.SetLine("line", [[-1.8, 1.8], [0, 0], [-0.02, -0.02]], rgba=Rgba(0, 1, 1))
    page.open(meshcat.web_url(), mark(meshcat))
    image = page.image()
    edges = [(-1.35, 1), (-1.45, 1), (-1, 1.15), (-1, 1.25), (1, 1.45), (1, 1.55), (1.25, 1), (1.15, 1)]
    assert colors_at(image, edges, 2) == ["red", "nothing", "red", "nothing", "green", "nothing", "nothing", "green"]
    inside = [(-1.2, -1.2), (-0.8, -0.8), (1, -1), (1, 0.55)]
    assert colors_at(image, inside, 2) == ["blue", "nothing", "purple", "green"]
    row, column = place_of(0, -0.02, 2)
    assert any(color_of(image[r, column]) == "cyan" for r in range(row - 2, row + 3))


def test_the_cart_pole_is_drawn_at_its_pose(page: Page, meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    Parser(plant).AddModels(str(EXAMPLES / "cart_pole.sdf"))
    plant.Finalize()
    MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    inside = plant.GetMyMutableContextFromRoot(context)
    look_from_the_front(meshcat, 1.0)
    diagram.ForcedPublish(context)
    page.open(meshcat.web_url(), mark(meshcat))
    for positions in ([0.3, 2.5], [-0.2, -0.9]):
        plant.SetPositions(inside, positions)
        diagram.ForcedPublish(context)
        page.settle(meshcat)
        image = page.image()
        X_WP = plant.EvalBodyPoseInWorld(inside, plant.GetBodyByName("pole"))
        rod = [X_WP.multiply([0, 0, -s])[[0, 2]] for s in (0.2, 0.4, 0.6, 0.78)]
        assert set(colors_at(image, rod, 1)) <= {"yellow", "red"}  # it is orange
        beyond = X_WP.multiply([0, 0, -0.85])[[0, 2]]
        cart = [(positions[0] - 0.12, 0.02), (positions[0] + 0.12, -0.02)]
        assert colors_at(image, [beyond, *cart], 1) == ["nothing", "blue", "blue"]


TEXTURED_ARM = """
<robot name="arm">
  <link name="upper"><visual name="skin"><geometry><mesh filename="{0}"/></geometry></visual>
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><visual name="skin"><geometry><mesh filename="{0}"/></geometry></visual>
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="world"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 1"/></joint>
</robot>
"""


def write_textured_link(folder: Path) -> Path:
    """A plate of 0.2 x 1 m, from z = 0 up, with a red, a green, a blue and a yellow field."""
    from PIL import Image

    picture = np.zeros((64, 64, 3), np.uint8)
    picture[:32, :32], picture[:32, 32:], picture[32:, :32], picture[32:, 32:] = (
        [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0],
    )  # fmt: skip
    Image.fromarray(picture).save(folder / "skin.png")
    (folder / "link.mtl").write_text("newmtl skin\nKd 1 1 1\nmap_Kd skin.png\n")
    (folder / "link.obj").write_text(
        "mtllib link.mtl\nv -0.1 0 0\nv 0.1 0 0\nv 0.1 0 1\nv -0.1 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nusemtl skin\n"
        "f 1/1 2/2 3/3 4/4\n"
    )
    return folder / "link.obj"


def test_an_arm_has_its_textures(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    Parser(plant).AddModelsFromString(TEXTURED_ARM.format(write_textured_link(tmp_path)), "urdf")
    plant.Finalize()
    MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    inside = plant.GetMyMutableContextFromRoot(context)
    plant.SetPositions(inside, [0.5, 1.2])
    diagram.ForcedPublish(context)
    look_from_the_front(meshcat, 2.0)
    page.open(meshcat.web_url(), mark(meshcat))
    image = page.image()
    for name in ("upper", "lower"):
        X_WL = plant.EvalBodyPoseInWorld(inside, plant.GetBodyByName(name))
        fields = [(-0.05, 0.75), (0.05, 0.75), (-0.05, 0.25), (0.05, 0.25), (0.15, 0.5)]
        points = [X_WL.multiply([x, 0, z])[[0, 2]] for x, z in fields]
        assert colors_at(image, points, 2) == ["red", "green", "blue", "yellow", "nothing"]


def test_boxes_and_planes_have_their_textures(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    from PIL import Image

    checker = np.zeros((2, 2, 3), np.uint8)
    checker[[0, 1], [0, 1]], checker[[0, 1], [1, 0]] = [255, 0, 0], [0, 0, 255]
    Image.fromarray(checker).resize((64, 64), Image.Resampling.NEAREST).save(tmp_path / "checker.png")
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    for name, x, repeats in (("box", -0.5, None), ("tiles", 0.5, [2, 1])):
        look = MakePhongIllustrationProperties([1.0, 1.0, 1.0, 1.0])
        look.AddProperty("phong", "diffuse_map", str(tmp_path / "checker.png"))
        if repeats is not None:
            look.AddProperty("phong", "diffuse_scale", np.array(repeats))
        box = Box(0.8, 0.8, 0.8)
        plant.RegisterVisualGeometry(plant.world_body(), RigidTransform([x, 0, 0]), box, name, look)
    plant.Finalize()
    MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    diagram = builder.Build()
    look_from_the_front(meshcat, 1.0)
    diagram.ForcedPublish(diagram.CreateDefaultContext())
    page.open(meshcat.web_url(), mark(meshcat))
    image = page.image()
    box = colors_at(image, [(-0.7, 0.2), (-0.3, 0.2), (-0.7, -0.2), (-0.3, -0.2)], 1)
    assert box in (["red", "blue", "blue", "red"], ["blue", "red", "red", "blue"])
    tiles = colors_at(image, [(x, 0.2) for x in (0.2, 0.4, 0.6, 0.8)], 1)
    assert tiles in (["red", "blue", "red", "blue"], ["blue", "red", "blue", "red"])


@pytest.mark.skipif(not MODELS.exists(), reason="needs model files of real robots (MERGANSER_MODELS)")
def test_a_real_arm_is_drawn_gray_and_orange(page: Page, meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
    parser = Parser(plant)
    parser.package_map().AddPackageXml(str(MODELS / "package.xml"))
    parser.AddModels(str(MODELS / "iiwa_description" / "urdf" / "iiwa14_no_collision.urdf"))
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("iiwa_link_0"))
    plant.Finalize()
    MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    diagram = builder.Build()
    diagram.ForcedPublish(diagram.CreateDefaultContext())
    look_from_the_front(meshcat, 0.8, height=0.7)
    page.open(meshcat.web_url(), mark(meshcat))
    image = page.image()
    names = np.array([color_of(pixel) for pixel in image[::4, ::4].reshape(-1, 4)])
    shown = names != "nothing"
    assert 0.06 < shown.mean() < 0.09  # an arm of 1.3 m in a picture of 1.6 m
    assert 0.7 < (names[shown] == "gray").mean() < 0.95
    assert colors_at(image, [(0.0, 0.8), (0.0, 0.3), (0.3, 0.8)], 0.8, 0.7) == ["red", "gray", "nothing"]
    rows = np.flatnonzero((image[:, :, 3] > 0).any(axis=1))
    assert abs(rows[-1] - place_of(0, 0, 0.8, 0.7)[0]) < 5  # it is at z = 0


def test_a_pile_of_boxes_covers_what_their_projections_cover(page: Page, meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
    ground = plant.AddRigidBody("ground", SpatialInertia.SolidBoxWithMass(1.0, 4, 4, 0.2))
    plant.WeldFrames(plant.world_frame(), ground.body_frame(), RigidTransform([0, 0, -0.1]))
    material = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.8, 0.8), properties=material)
    plant.RegisterCollisionGeometry(ground, RigidTransform(), Box(4, 4, 0.2), "ground", material)
    rng = np.random.default_rng(0)
    for i in range(8):
        body = plant.AddRigidBody(f"box{i}", SpatialInertia.SolidBoxWithMass(0.5, 0.3, 0.3, 0.3))
        plant.RegisterCollisionGeometry(body, RigidTransform(), Box(0.3, 0.3, 0.3), "box", material)
        plant.RegisterVisualGeometry(body, RigidTransform(), Box(0.3, 0.3, 0.3), "box", [*rng.uniform(size=3), 1.0])
    plant.Finalize()
    MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    simulator = Simulator(builder.Build())
    inside = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    bodies = [plant.GetBodyByName(f"box{i}") for i in range(8)]
    for i, body in enumerate(bodies):
        turn = RotationMatrix(RollPitchYaw(rng.uniform(-0.5, 0.5, 3)))
        plant.SetFreeBodyPose(inside, body, RigidTransform(turn, [*rng.uniform(-0.2, 0.2, 2), 0.3 + 0.35 * i]))
    look_from_the_front(meshcat, 1.5, height=1.0)
    simulator.Initialize()
    page.open(meshcat.web_url(), mark(meshcat))
    simulator.AdvanceTo(40 / 64)  # when there is a picture
    page.settle(meshcat)
    corners = 0.15 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]).T
    expected = np.zeros((SIZE, SIZE), dtype=bool)
    for body in bodies:
        p_W = plant.EvalBodyPoseInWorld(inside, body).multiply(corners)
        expected |= inside_of_hull(p_W[[0, 2]].T, extent=1.5, height=1.0)
    shown = page.image()[:, :, 3] > 0
    assert expected.mean() > 0.03
    assert (shown & expected).sum() / (shown | expected).sum() > 0.97


def inside_of_hull(points: np.ndarray, extent: float, height: float) -> np.ndarray:
    """Which pixels lie in the convex hull of points x, z."""
    from scipy.spatial import ConvexHull

    rows, columns = np.mgrid[:SIZE, :SIZE] + 0.5
    x, z = columns / SIZE * 2 * extent - extent, height + extent - rows / SIZE * 2 * extent
    equations = ConvexHull(points).equations
    return np.all([a * x + b * z + c <= 0 for a, b, c in equations], axis=0)


@pytest.mark.parametrize(
    ("X_WC", "right", "up"),
    [
        (RigidTransform([0.5, -1, 0.25]), [1, 0, 0], [0, 0, 1]),
        (RigidTransform(RollPitchYaw(0, 0, np.pi), [0.5, 1, 0.25]), [-1, 0, 0], [0, 0, 1]),  # from behind
        (RigidTransform(RollPitchYaw(-np.pi / 2, 0, 0), [0.5, 0.25, 3]), [1, 0, 0], [0, 1, 0]),  # from above
        (RigidTransform(RollPitchYaw(0, 0.5, 0.7), [0.1, 0.2, 0.3]), None, None),
    ],
    ids=["front", "back", "top", "any"],
)
def test_flat_views_are_from_any_side(page: Page, meshcat: Meshcat, X_WC: RigidTransform, right: Any, up: Any) -> None:
    R_WC = X_WC.rotation().matrix()
    if right is not None:
        np.testing.assert_allclose(R_WC[:, [0, 2]].T, [right, up], atol=1e-12)
    for name, (x, z), rgba in (("a", (0.5, 0.25), Rgba(1, 0, 0)), ("b", (-0.25, 0.5), Rgba(0, 0, 1))):
        meshcat.SetObject(name, Sphere(0.1), rgba)
        meshcat.SetTransform(name, RigidTransform(X_WC.multiply([x, 2.0, z])))
    meshcat.Set2dRenderMode(X_WC, xmin=-1, xmax=1, ymin=-1, ymax=1)
    page.open(meshcat.web_url(), mark(meshcat))
    image = page.image()
    points = [(0.5, 0.25), (-0.25, 0.5), (-0.5, 0.25), (0.25, 0.5)]
    assert colors_at(image, points, 1) == ["red", "blue", "nothing", "nothing"]


def test_properties_reach_what_they_are_set_on(page: Page, meshcat: Meshcat) -> None:
    look_from_the_front(meshcat, 1.0)
    meshcat.SetObject("a/left", Box(0.8, 0.1, 0.8), Rgba(1, 0, 0))
    meshcat.SetTransform("a/left", RigidTransform([-0.5, 0, 0]))
    meshcat.SetObject("b/right", Box(0.8, 0.1, 0.8), Rgba(0, 1, 0))
    meshcat.SetTransform("b/right", RigidTransform([0.5, 0, 0]))
    page.open(meshcat.web_url(), mark(meshcat))
    points = [(-0.5, 0.0), (0.5, 0.0)]

    def colors() -> list[str]:
        page.settle(meshcat)
        return colors_at(page.image(), points, 1)

    assert colors() == ["red", "green"]
    meshcat.SetProperty("a", "visible", False)
    assert colors() == ["nothing", "green"]
    meshcat.SetProperty("a", "visible", True)
    meshcat.SetProperty("b", "color", [0.0, 0.0, 1.0, 1.0])
    assert colors() == ["red", "blue"]
    solid = page.image()[place_of(0.5, 0, 1)]
    meshcat.SetProperty("/drake", "modulated_opacity", 0.5)
    meshcat.SetProperty("b", "modulated_opacity", 0.5)
    meshcat.SetObject("b/late", Box(0.1, 0.1, 0.1), Rgba(1, 0, 0))  # is in the folder, too
    page.settle(meshcat)
    image = page.image()
    # One sees through two sides of a box.
    image = image.astype(int)
    assert image[place_of(-0.5, 0, 1)][3] == pytest.approx(255 * (1 - 0.5**2), abs=3)
    assert image[place_of(0.5, 0.2, 1)][3] == pytest.approx(255 * (1 - 0.75**2), abs=3)
    assert page.evaluate("viewer.scene.getObjectByName('late').children[0].material.opacity") == 0.25
    meshcat.SetProperty("/drake", "modulated_opacity", 1.0)
    meshcat.SetProperty("b", "modulated_opacity", 1.0)
    page.settle(meshcat)
    assert page.image()[place_of(0.5, 0, 1)].tolist() == solid.tolist()
    meshcat.Delete("a")
    assert colors() == ["nothing", "blue"]
    meshcat.ResetRenderMode()
    meshcat.SetProperty("/Background", "top_color", [1.0, 0.0, 0.0])
    meshcat.SetProperty("/Background/<object>", "bottom_color", [0.0, 1.0, 0.0])
    page.settle(meshcat)
    image = page.image()
    assert [color_of(image[row, 2]) for row in (2, SIZE - 3)] == ["red", "green"]


def test_a_half_space_lies_below_the_grid(page: Page, meshcat: Meshcat) -> None:
    meshcat.SetObject("ground", HalfSpace(), Rgba(0, 1, 0))
    meshcat.SetCameraPose([0, -2, 2], [0, 0, 0])
    page.open(meshcat.web_url(), mark(meshcat))
    image = page.image()
    names = [color_of(pixel) for pixel in image[SIZE // 2 :, SIZE // 2 - 5]]
    assert names.count("green") > 0.8 * len(names) and len(set(names)) > 1  # lines of the grid on top


def test_shiny_things_mirror_the_surroundings(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    from PIL import Image

    trimesh = pytest.importorskip("trimesh", reason="extra `view`")
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.5)
    chrome = trimesh.visual.material.PBRMaterial(metallicFactor=1.0, roughnessFactor=0.2, baseColorFactor=[255] * 4)
    ball.visual = trimesh.visual.TextureVisuals(material=chrome)
    ball.export(tmp_path / "ball.glb")
    Image.fromarray(np.full((32, 64, 3), [0, 0, 255], np.uint8)).save(tmp_path / "sky.png")
    look_from_the_front(meshcat, 1.0)
    meshcat.SetObject("ball", Mesh(tmp_path / "ball.glb"))
    meshcat.SetEnvironmentMap(tmp_path / "sky.png")
    page.open(meshcat.web_url(), mark(meshcat))
    assert eventually(lambda: colors_at(page.image(), [(0.0, -0.3)], 1) == ["blue"])
    meshcat.SetEnvironmentMap("")
    page.settle(meshcat)
    assert colors_at(page.image(), [(0.0, -0.3)], 1) != ["blue"]


# ------------------------------------------------------------------ controls


def test_sliders_and_buttons_are_moved_and_clicked_by_mouse_and_keys(page: Page, meshcat: Meshcat) -> None:
    meshcat.AddSlider("gain", 0, 10, 0.5, 2.0, decrement_keycode="KeyQ", increment_keycode="KeyW")
    meshcat.AddButton("push", keycode="KeyP")
    meshcat.AddButton("other")
    page.open(meshcat.web_url(), mark(meshcat))
    pull(page, "gain", 0.75)
    assert eventually(lambda: meshcat.GetSliderValue("gain") == 7.5)
    page.page.keyboard.press("w")
    assert eventually(lambda: meshcat.GetSliderValue("gain") == 8.0)
    for _ in range(3):
        page.page.keyboard.press("q")
    assert eventually(lambda: meshcat.GetSliderValue("gain") == 6.5)
    page.page.get_by_text("push").click()
    page.page.keyboard.press("p")
    page.page.keyboard.press("p")
    assert eventually(lambda: meshcat.GetButtonClicks("push") == 3)
    page.page.get_by_text("other").click()
    assert eventually(lambda: meshcat.GetButtonClicks("other") == 1)

    meshcat.SetSliderValue("gain", 1.0)
    page.page.wait_for_function("() => viewer.gui_controllers.gain.getValue() === 1")
    for _ in range(5):
        page.page.keyboard.press("q")
    assert eventually(lambda: meshcat.GetSliderValue("gain") == 0.0)  # not below its least value
    meshcat.DeleteAddedControls()
    page.page.wait_for_function("() => Object.keys(viewer.gui_controllers).length === 0")
    page.page.keyboard.press("p")
    meshcat.AddButton("push")
    page.settle(meshcat)
    assert meshcat.GetButtonClicks("push") == 0


def test_a_button_stops_a_simulation(page: Page, meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
    Parser(plant).AddModels(str(EXAMPLES / "cart_pole.sdf"))
    plant.Finalize()
    MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    simulator = Simulator(builder.Build())
    simulator.set_target_realtime_rate(1.0)
    meshcat.AddButton("Stop", "Escape")
    page.open(meshcat.web_url(), mark(meshcat))
    ended = threading.Event()

    def run() -> None:
        while meshcat.GetButtonClicks("Stop") < 1 and simulator.get_context().get_time() < 20.0:
            simulator.AdvanceTo(simulator.get_context().get_time() + 0.1)
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    page.page.wait_for_function("() => document.getElementById('rate').textContent.includes('real-time rate')")
    page.page.keyboard.press("Escape")
    assert ended.wait(5.0)
    thread.join()
    assert simulator.get_context().get_time() < 10.0


def test_the_camera_of_a_page_is_known_if_the_page_reports_it(page: Page, meshcat: Meshcat) -> None:
    meshcat.SetCameraPose([1.0, -2.0, 1.5], [0.5, 0.5, 0.0])
    page.receive_late(0.3)
    sent: list[str] = []
    page.page.on("websocket", lambda socket: socket.on("framesent", lambda text: sent.append(text)))
    page.open(meshcat.web_url() + "/?tracked_camera=on", mark(meshcat))
    assert eventually(lambda: meshcat.GetTrackedCameraPose() is not None)
    page.page.wait_for_timeout(100)
    assert len([text for text in sent if "camera_pose" in text]) == 1  # and nothing of a camera that was not set yet
    X_WC = meshcat.GetTrackedCameraPose()
    np.testing.assert_allclose(X_WC.translation(), [1, -2, 1.5], atol=1e-6)
    direction = np.array([-0.5, 2.5, -1.5])
    np.testing.assert_allclose(X_WC.rotation().matrix()[:, 2], direction / np.linalg.norm(direction), atol=1e-6)
    page.page.mouse.move(200, 200)
    page.page.mouse.down()
    page.page.mouse.move(260, 200, steps=3)
    page.page.mouse.up()
    assert eventually(lambda: abs(meshcat.GetTrackedCameraPose().translation()[0] - 1.0) > 0.1)
    meshcat.Set2dRenderMode()
    assert eventually(lambda: meshcat.GetTrackedCameraPose() is None)


def test_a_page_comes_back_when_the_server_does(page: Page) -> None:
    meshcat = Meshcat(port=0)
    port = meshcat.port()
    meshcat.SetObject("old", Sphere(0.1))
    page.open(meshcat.web_url(), "old")
    del meshcat
    page.page.wait_for_function("() => !document.getElementById('status').hidden")
    meshcat = Meshcat(port)
    meshcat.SetObject("new", Sphere(0.1))
    has_new = "viewer.scene.getObjectByName('new') && !viewer.scene.getObjectByName('old')"
    page.page.wait_for_function(f"() => typeof viewer !== 'undefined' && {has_new}")
    page.problems = [each for each in page.problems if "ERR_CONNECTION_REFUSED" not in each]


def test_a_page_takes_whatever_may_be_set_in_any_order(browser: Any, page: Page, meshcat: Meshcat) -> None:
    page.open(meshcat.web_url(), mark(meshcat))
    meshcat.PublishRecording()  # of nothing
    meshcat.StartRecording()
    meshcat.SetObject("a", Sphere(0.3))
    meshcat.SetTransform("a/b", RigidTransform([1, 0, 0]), 0.0)
    meshcat.SetTriangleMesh("empty", np.zeros((3, 0)), np.zeros((3, 0), int), time_in_recording=0.0)
    meshcat.SetLine("empty/line", np.zeros((3, 0)), time_in_recording=0.5)
    meshcat.PublishRecording()
    page.settle(meshcat)
    for name in ("constructor", "toString", "<b>bold</b>", "'\"`${}"):
        meshcat.AddSlider(name, 0, 1, 0.1, 0.5)
        page.settle(meshcat)
        meshcat.SetSliderValue(name, 0.7)
        meshcat.DeleteSlider(name)
        meshcat.AddButton(name)
    meshcat.SetCamera(Meshcat.PerspectiveCamera(fov=20))
    meshcat.SetCamera(Meshcat.OrthographicCamera(top=1, bottom=-1))
    meshcat.SetCamera(Meshcat.PerspectiveCamera(), "/Cameras/other")
    meshcat.ResetRenderMode()
    meshcat.SetProperty("/Lights/SpotLight/<object>", "intensity", 2.0)
    for path in ("/Lights/PointLightNegativeX", "/Grid", "/Axes", "/Background", "", "never/there"):
        meshcat.Delete(path)
        page.settle(meshcat)
    late = Page(browser)
    late.open(meshcat.web_url(), mark(meshcat))
    late.close()


# ------------------------------------------------------------------ recordings


def record(meshcat: Meshcat, folder: Path) -> str:
    """A box and a patch that move for a second, one to the right and one upwards; returns the name of a marker."""
    look_from_the_front(meshcat, 1.0)
    meshcat.SetObject("box", Mesh(write_textured_link(folder), scale3=[1, 1, 0.4]))
    meshcat.SetObject("rest", Box(0.2, 0.2, 0.2), Rgba(0, 1, 1))
    meshcat.SetTransform("rest", RigidTransform([0, 0, -0.8]))
    meshcat.StartRecording(frames_per_second=10)
    for frame in range(11):
        s = frame / 10
        meshcat.SetTransform("box", RigidTransform([-0.8 + 1.6 * s, 0, 0.5]), s)
        z = -0.6 + 0.8 * s
        vertices = np.array([[-0.2, 0.2, 0.2, -0.2], [0, 0, 0, 0], [z, z, z + 0.2, z + 0.2]])
        colors = np.tile([[1 - s], [0], [s]], 4)
        meshcat.SetTriangleColorMesh("patch", vertices, [[0, 0], [1, 2], [2, 3]], colors, time_in_recording=s)
        meshcat.SetProperty("rest", "visible", frame < 5, s)
    meshcat.get_mutable_recording().set_loop_mode(meshcat.get_mutable_recording().LoopMode.kLoopOnce)
    meshcat.PublishRecording()
    return mark(meshcat)


def check_recording(page: Page) -> None:
    """The recording has played by itself; its time line leads to any time."""
    page.page.wait_for_function("() => viewer.animator.time > 0.3")
    page.page.wait_for_function("() => !viewer.animator.playing")
    begin = {(-0.85, 0.8): "red", (-0.75, 0.8): "green", (0, -0.5): "red", (0, -0.8): "cyan", (0.8, 0.7): "nothing"}
    end = {(0.75, 0.8): "red", (0.85, 0.6): "yellow", (0, 0.3): "blue", (0, -0.8): "nothing", (-0.8, 0.7): "nothing"}
    between = {(-0.05, 0.8): "red", (0.05, 0.6): "yellow", (0, -0.1): "purple", (0, 0.3): "nothing"}
    for time, points in ((0.0, begin), (1.0, end), (0.5, between)):
        page.page.locator("#time-line").fill(str(time))
        image = page.image()
        assert dict(zip(points, colors_at(image, list(points), 1))) == points, time


def test_a_recording_plays_from_a_file_without_a_network(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    marker = record(meshcat, tmp_path)
    path = tmp_path / "recording.html"
    path.write_text(meshcat.StaticHtml(), encoding="utf-8")
    page.page.context.set_offline(True)
    page.open(path.as_uri(), marker)
    check_recording(page)
    assert page.requests == [path.as_uri()]
    assert page.page.locator("#play").is_visible()


def test_recorded_sliders_move_with_the_time_line_of_a_file(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    meshcat.AddSlider("gain", 0, 1, 0.1, 0.5)
    meshcat.AddButton("push")
    meshcat.StartRecording(10)
    for frame, gain in enumerate((0.5, 0.8, 0.2, 0.2)):
        meshcat.SetSliderValue("gain", gain)
        meshcat.SetTransform("body", RigidTransform([gain, 0, 0]), frame / 10)
    meshcat.get_mutable_recording().set_autoplay(False)
    meshcat.PublishRecording()
    (tmp_path / "page.html").write_text(meshcat.StaticHtml())

    def seek(time: float) -> float:
        page.evaluate(f"viewer.animator.play(), viewer.animator.pause(), viewer.animator.seek({time})")
        return page.evaluate("viewer.gui_controllers['gain'].getValue()")

    page.open(f"file://{tmp_path}/page.html", "body")
    page.page.wait_for_function("() => viewer.gui_controllers['gain'] !== undefined")
    assert [seek(time) for time in (0.05, 0.15, 0.25, 0.05)] == pytest.approx([0.5, 0.8, 0.2, 0.5])
    assert page.evaluate("Object.keys(viewer.gui_controllers)") == ["gain"]
    page.open(meshcat.web_url(), mark(meshcat))  # there, they belong to the program
    page.page.wait_for_function("() => viewer.gui_controllers['push'] !== undefined && viewer.animator.duration > 0")
    assert seek(0.05) == pytest.approx(0.2) and meshcat.GetSliderValue("gain") == 0.2


def test_a_recording_plays_from_the_files_of_a_zip(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    marker = record(meshcat, tmp_path)
    with zipfile.ZipFile(io.BytesIO(meshcat.StaticZip())) as archive:
        archive.extractall(tmp_path / "site")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path / "site")) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            page.open(f"http://127.0.0.1:{server.server_port}/meshcat.html", marker)
            check_recording(page)
        finally:
            server.shutdown()
            thread.join()
    page.problems = [each for each in page.problems if "404" not in each]  # there is no icon


def test_a_recording_of_a_simulation_ends_where_the_simulation_does(page: Page, meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    Parser(plant).AddModels(str(EXAMPLES / "double_pendulum.urdf"))
    plant.Finalize()
    visualizer = MeshcatVisualizer.AddToBuilder(builder, scene_graph, meshcat)
    simulator = Simulator(builder.Build())
    inside = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(inside, [2.0, 1.0])
    visualizer.StartRecording()
    simulator.AdvanceTo(0.5)
    visualizer.get_mutable_recording().set_autoplay(False)
    visualizer.PublishRecording()
    page.open(meshcat.web_url(), mark(meshcat))
    page.evaluate("viewer.animator.play(), viewer.animator.pause(), viewer.animator.seek(0.5)")
    for body in (plant.GetBodyByName(name) for name in ("upper", "lower")):
        path = f"visualizer/{body.scoped_name().get_full().replace('::', '/')}"
        world = page.evaluate(
            f"(() => {{ const o = viewer.scene_tree.find(['drake', ...'{path}'.split('/')]).object;"
            " o.updateWorldMatrix(true, false); return o.matrix.elements })()"
        )
        X_WB = plant.EvalBodyPoseInWorld(inside, body).GetAsMatrix4()
        np.testing.assert_allclose(np.array(world).reshape(4, 4).T, X_WB, atol=1e-5)
