"""The page around the picture in a real browser: names, panel and camera; see test_in_browser.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browsers import SIZE, Page, chromium, color_of, mark

from merganser.framework.math import RigidTransform
from merganser.geometry import Box, HalfSpace, Mesh, Meshcat, Rgba, Shape, Sphere

chromium()  # or all is left out

pytest_plugins = ["browser_fixtures"]


HOSTILE = [
    "<img src=x onerror=\"document.title='run'\">", "</script><script>document.title='run'</script>",
    "<svg onload=\"document.title='run'\">", "${document.title='run'}", "');document.title='run';('", "__proto__",
    "constructor",
]  # fmt: skip


def test_names_are_text_whatever_they_hold_live_and_in_files(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    for name in HOSTILE:
        meshcat.AddButton(f"{name}!")
        meshcat.AddSlider(name, 0, 1, 0.1, 0.5)
        meshcat.put_in_group(name, f"{name} group")
        meshcat.add_toggle(name, f"shapes/{name}")
        meshcat.SetObject(f"shapes/{name}", Sphere(0.1))
    meshcat.StartRecording(10)
    meshcat.SetTransform(HOSTILE[0], RigidTransform(), 0.0)
    meshcat.SetTransform(HOSTILE[0], RigidTransform([1, 0, 0]), 1.0)
    meshcat.PublishRecording()
    (tmp_path / "page.html").write_text(meshcat.StaticHtml(), encoding="utf-8")
    shown = [name for name in HOSTILE if name != "__proto__" and "/" not in name]
    for url in (meshcat.web_url(), f"file://{tmp_path}/page.html"):
        page.open(url, shown[0])
        for name in shown:  # slashes part paths
            assert page.page.evaluate("n => node_at('/drake/shapes').children[n] !== undefined", name), name
        page.page.wait_for_function("n => viewer.gui_controllers[n] !== undefined", arg=HOSTILE[-1])
        labels = page.page.locator("#controls .row .name")
        assert sorted(labels.all_text_contents()) == sorted(HOSTILE)
        assert page.evaluate("document.title") == "Meshcat"
        assert page.page.locator("#panel img, #panel script, #panel #controls svg").count() == 0
        assert page.evaluate("({}).polluted === undefined && Object.keys(Object.prototype).length === 0")
    # And if a name were taken for HTML once, the page's policy would not let it run.
    page.evaluate("element('controls').innerHTML = `<img src=x onerror=\"document.title='run'\">`")
    page.page.wait_for_timeout(300)
    assert page.evaluate("document.title") == "Meshcat"
    page.problems = [each for each in page.problems if "Content Security Policy" not in each and "ERR_" not in each]


def test_long_lists_of_sliders_scroll_beside_the_model(page: Page, meshcat: Meshcat) -> None:
    page.page.set_viewport_size({"width": 1000, "height": 600})
    name = "a_joint_with_a_name_that_is_longer_than_a_line_of_the_panel_can_ever_be"
    for i in range(60):
        meshcat.AddSlider(f"{name}_{i}", -2.9671, 1.5, 0.01, 0.25)
        meshcat.put_in_group(f"{name}_{i}", "folded" if i < 10 else "open", is_folded=i < 10)
    meshcat.SetObject("box", Box(1, 1, 1))
    page.open(meshcat.web_url(), mark(meshcat))
    heights = page.evaluate("(e => [e.scrollHeight, e.clientHeight, innerHeight])(element('controls'))")
    assert heights[0] > 2 * heights[1] and heights[1] <= heights[2]
    assert page.evaluate("document.body.scrollHeight <= innerHeight")
    assert page.evaluate("element('meshcat-pane').clientWidth + element('panel').clientWidth") <= 1000
    row = page.page.locator(f"[data-slider='{name}_59']")
    row.scroll_into_view_if_needed()
    assert row.locator(".name").text_content() == f"{name}_59"
    assert row.locator(".name").evaluate("e => e.scrollWidth <= e.clientWidth")  # not cut
    assert row.locator(".scale span").all_text_contents() == ["-2.9671", "1.5"]
    assert not page.page.locator(f"[data-slider='{name}_3']").is_visible()
    page.page.get_by_text("folded", exact=True).click()
    assert page.page.locator(f"[data-slider='{name}_3']").is_visible()


# ------------------------------------------------------------------ the camera


def extent_in_picture(page: Page) -> tuple[float, float]:
    """The part of the picture's height that the corners of the model take, and how far their middle is from its own."""
    return tuple(
        page.evaluate("""(() => {
      viewer.render();
      const {box} = find_model(), heights = [], widths = [];
      for (let i = 0; i < 8; i++) {
        const corner = new THREE.Vector3(...["x", "y", "z"].map((axis, k) => box[i >> k & 1 ? "max" : "min"][axis]));
        const seen = viewer.scene.localToWorld(corner).project(viewer.camera);
        heights.push(seen.y); widths.push(seen.x);
      }
      const size = list => (Math.max(...list) - Math.min(...list)) / 2;
      const middle = list => Math.max(...list) + Math.min(...list);
      return [Math.max(size(heights), size(widths)), Math.hypot(middle(heights), middle(widths)) / 2];
    })()""")
    )


@pytest.mark.parametrize("size", [0.01, 1.0, 300.0])
def test_a_model_of_any_size_fills_the_picture(page: Page, meshcat: Meshcat, size: float) -> None:
    meshcat.SetObject("model/box", Box(size, 0.5 * size, 2 * size), Rgba(1, 0, 0))
    meshcat.SetTransform("model/box", RigidTransform([3 * size, 0, size]))
    meshcat.SetObject("floor", HalfSpace())
    meshcat.SetObject("contact_forces/arrow", Box(100 * size, size, size))
    page.open(meshcat.web_url(), mark(meshcat))
    extent, off = extent_in_picture(page)
    assert 0.6 < extent < 0.95 and off < 0.15
    image = page.image()
    assert color_of(image[SIZE // 2, SIZE // 2]) == "red"
    background = image[np.r_[2, SIZE - 3], SIZE // 2].astype(int)
    assert (background[:, :3] > 180).all() and (background < 256).all()
    seen = image.reshape(-1, 4)[:, :3].astype(int).min(axis=1)
    assert (seen >= 254).mean() < 0.02  # nothing is burnt out


@pytest.mark.parametrize("floor", [None, HalfSpace(), Box(20, 20, 0.2)], ids=["none", "half space", "box"])
def test_what_is_on_the_ground_has_a_soft_shadow(page: Page, meshcat: Meshcat, floor: Shape | None) -> None:
    meshcat.SetObject("ball", Sphere(0.5), Rgba(1, 0, 0))
    meshcat.SetTransform("ball", RigidTransform([0, 0, 0.5]))
    if floor is not None:
        meshcat.SetObject("floor", floor)
        meshcat.SetTransform("floor", RigidTransform([0, 0, -0.1 if isinstance(floor, Box) else 0.0]))
    for path in ("/Grid", "/Axes"):
        meshcat.SetProperty(path, "visible", False)
    meshcat.SetCameraPose([0, -6, 0.6], [0, 0, 0.3])
    page.open(meshcat.web_url(), mark(meshcat))
    image = page.image()[:, :, :3].astype(float).mean(axis=2)

    def brightness(x: float, y: float) -> float:
        seen = page.page.evaluate(
            "p => viewer.scene.localToWorld(new THREE.Vector3(...p)).project(viewer.camera).toArray()", [x, y, 0.0]
        )
        return float(image[int((1 - seen[1]) / 2 * SIZE), int((1 + seen[0]) / 2 * SIZE)])

    along = [brightness(x, -0.4) for x in (0.1, 0.3, 0.5, 0.7, 0.9, 1.8)]
    assert along[0] < 0.85 * along[-1] and along[-1] > 180  # dark below, light around
    assert np.all(np.diff(along) > -6)  # and soft in between
    meshcat.SetProperty("/Background", "visible", False)  # as for plots
    page.settle(meshcat)
    image = page.image()[:, :, 3].astype(float)
    assert floor is not None or brightness(0.1, -0.4) == 0.0


def test_a_plane_of_a_finite_size_is_a_floor_which_the_camera_need_not_show(page: Page, meshcat: Meshcat) -> None:
    meshcat.SetObject("ball", Sphere(0.5))
    corners = np.array([[-2, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0]]).T
    meshcat.SetTriangleMesh("floor", corners, np.array([[0, 1, 2], [0, 2, 3]]).T)
    page.open(meshcat.web_url(), mark(meshcat))
    assert page.evaluate("find_model().radius") == pytest.approx(0.5 * 3**0.5)


def test_the_camera_shows_what_moves_and_not_the_room_around_it(page: Page, meshcat: Meshcat) -> None:
    for i, (x, y) in enumerate(((20, 0), (-20, 0), (0, 20), (0, -20))):
        meshcat.SetObject(f"room/wall{i}", Box(0.5 if x else 40, 0.5 if y else 40, 4))
        meshcat.SetTransform(f"room/wall{i}", RigidTransform([x, y, 2]))
    meshcat.SetObject("room/floor", Box(8, 8, 0.2))  # is not so wide that it would be a floor by its size
    meshcat.SetTransform("room/floor", RigidTransform([0, 0, -0.1]))
    meshcat.SetObject("foot", Box(0.4, 0.4, 0.3))
    meshcat.SetTransform("foot", RigidTransform([0, 0, 0.15]))
    meshcat.SetObject("arm/link", Box(0.2, 0.2, 1.2), Rgba(1, 0, 0))
    meshcat.SetTransform("arm", RigidTransform([0, 0, 0.9]))
    meshcat.SetProperty("room", "is_fixed", True)
    meshcat.describe("foot", "foot", is_fixed=True)
    page.open(meshcat.web_url(), mark(meshcat))
    box = "Object.values(find_model().box).map(p => p.toArray()).flat()"
    assert page.evaluate(box) == pytest.approx([-0.2, -0.2, 0.0, 0.2, 0.2, 1.5], abs=1e-6)
    assert page.evaluate("find_model().level") == pytest.approx(0.0, abs=1e-6)
    assert 0.6 < extent_in_picture(page)[0] < 0.95
    assert color_of(page.image()[SIZE // 2, SIZE // 2]) == "red"
    casts = "n => node_at(n).object.children[0].castShadow"
    assert [page.page.evaluate(casts, f"/drake/{n}") for n in ("room/wall0", "foot", "arm/link")] == [False, True, True]
    meshcat.Delete("arm")  # where nothing moves, the room is what there is to see
    page.settle(meshcat)
    assert page.evaluate("find_model().radius") > 20


def test_a_recording_is_shown_with_its_whole_motion(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    meshcat.SetObject("ball", Sphere(0.5))
    meshcat.StartRecording(1)  # slow, so that it is still playing when one looks
    for i in range(21):
        meshcat.SetTransform("ball", RigidTransform([0.3 * i, 0, 0.5 + 0.1 * i]), i)
    for autoplay in (True, False):
        meshcat.get_mutable_recording().set_autoplay(autoplay)
        meshcat.PublishRecording()
        (tmp_path / "page.html").write_text(meshcat.StaticHtml())
        page.open(f"file://{tmp_path}/page.html", "ball")
        page.page.wait_for_function("() => motion !== null")
        page.page.wait_for_timeout(200)
        for point in ([0, 0, 0.5], [6, 0, 2.5], [3, 0, 1.5]):
            assert page.page.evaluate("p => is_in_picture(new THREE.Vector3(...p))", point)
        assert page.evaluate("viewer.animator.playing") is autoplay
        assert 0.6 < extent_in_picture(page)[0] < 0.95
    assert page.evaluate("node_at('/drake/ball').object.position.x") == pytest.approx(6.0)  # where it was left


def test_metals_and_dark_surfaces_reflect_a_room(page: Page, meshcat: Meshcat, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")

    def draw(name: str, color: float, metallic: float, x: float) -> None:
        ball = trimesh.creation.icosphere(subdivisions=3, radius=0.3)
        ball.visual = trimesh.visual.TextureVisuals(
            material=trimesh.visual.material.PBRMaterial(
                baseColorFactor=[color, color, color, 1.0], metallicFactor=metallic, roughnessFactor=0.5
            )
        )
        ball.export(tmp_path / f"{name}.gltf", merge_buffers=True)
        meshcat.SetObject(name, Mesh(str(tmp_path / f"{name}.gltf")))
        meshcat.SetTransform(name, RigidTransform([x, 0, 0]))

    draw("metal", 0.7, 1.0, -0.8)
    draw("black", 0.002, 0.0, 0.0)
    draw("paper", 0.9, 0.0, 0.8)
    meshcat.SetProperty("/Background", "visible", False)
    meshcat.SetCameraPose([0, -2, 0], [0, 0, 0])
    page.open(meshcat.web_url(), mark(meshcat))
    image = page.image()[:, :, :3].astype(float).mean(axis=2)

    def brightness(x: float) -> float:
        seen = page.page.evaluate(
            "p => viewer.scene.localToWorld(new THREE.Vector3(...p)).project(viewer.camera).toArray()", [x, -0.3, 0]
        )
        row, column = int((1 - seen[1]) / 2 * SIZE), int((1 + seen[0]) / 2 * SIZE)
        return float(image[row - 8 : row + 8, column - 8 : column + 8].mean())

    assert 100 < brightness(-0.8) < 230 and 15 < brightness(0.0) < 80 and 150 < brightness(0.8) < 254


def test_the_background_may_be_a_sky(page: Page, meshcat: Meshcat) -> None:
    meshcat.SetProperty("/Grid", "visible", False)
    meshcat.SetProperty("/Background", "top_color", [0.0, 0.0, 1.0])
    meshcat.SetProperty("/Background", "bottom_color", [0.0, 1.0, 0.0])
    meshcat.SetProperty("/Background", "sky", True)
    for height, expected in ((10.0, "blue"), (-10.0, "green")):  # up and down; the horizon has its color below, too
        meshcat.SetCameraPose([0, -0.1, 0], [0, 0, height])
        if height > 0:
            page.open(meshcat.web_url(), mark(meshcat))
        page.settle(meshcat)
        assert color_of(page.image()[SIZE // 2, SIZE // 3]) == expected


def test_the_camera_stays_where_a_program_or_a_user_has_put_it(page: Page, meshcat: Meshcat) -> None:
    meshcat.SetCameraPose([3, 0, 0], [0, 0, 0])
    meshcat.SetObject("box", Box(1, 1, 1))
    page.open(meshcat.web_url(), mark(meshcat))
    assert page.evaluate("viewer.camera.getWorldPosition(new THREE.Vector3()).toArray()") == pytest.approx([3, 0, 0])
    assert page.evaluate("viewer.camera.fov") == 75
    meshcat.ResetRenderMode()
    page.settle(meshcat)
    assert 0.6 < extent_in_picture(page)[0] < 0.95
    page.page.mouse.move(200, 200)
    page.page.mouse.down()
    page.page.mouse.move(240, 220, steps=3)
    page.page.mouse.up()
    turned = page.evaluate("viewer.camera.position.toArray()")
    meshcat.SetObject("other", Box(5, 5, 5))
    page.settle(meshcat)
    assert page.evaluate("viewer.camera.position.toArray()") == turned
    meshcat.Delete()
    meshcat.SetObject("another/model", Box(0.1, 0.1, 0.1))
    page.settle(meshcat)
    assert page.page.wait_for_function("() => shown_radius < 0.2")
    assert 0.6 < extent_in_picture(page)[0] < 0.95
    page.page.mouse.dblclick(200, 200)
    assert page.evaluate("pick(200, 200).path") == "/drake/another/model"
