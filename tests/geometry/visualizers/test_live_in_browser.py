"""Live simulations in a real browser: the control bar, cards of bodies, dragging; see test_in_browser.py."""

from __future__ import annotations

import numpy as np
import pytest
from browsers import SIZE, Page, chromium, mark
from viewer_clients import eventually

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import Box, Meshcat

chromium()  # or all is left out

pytest_plugins = ["browser_fixtures"]

HOSTILE = "<img src=x onerror=\"document.title='run'\">"


def tilted_box(meshcat: Meshcat) -> RigidTransform:
    """A box in the middle of the picture, which can be clicked."""
    X_WB = RigidTransform(RollPitchYaw(0.1, -0.2, 0.3), [1.0, 2.0, 3.0])
    meshcat.SetObject("body/shape", Box(1, 1, 1))
    meshcat.SetTransform("body", X_WB)
    meshcat.describe("body", HOSTILE, {"mass": "2 kg", HOSTILE: HOSTILE})
    return X_WB


def test_the_bar_controls_the_simulation_and_shows_what_others_ask_for(page: Page, meshcat: Meshcat) -> None:
    bar = meshcat.simulation_bar()
    page.open(meshcat.web_url(), mark(meshcat))
    assert not page.page.locator("#simulation").is_visible()
    bar.show(is_paused=False, rate=1.0)
    bar.show_time(1.25)
    page.settle(meshcat)
    assert page.page.locator("#simulation-time").text_content() == "1.250 s"
    page.page.click("#pause")
    assert eventually(lambda: bar.is_paused)
    page.page.wait_for_function("() => !element('pause').classList.contains('is-playing')")
    for what in ("step", "reset", "stop"):
        page.page.click(f"#{what}")
        assert eventually(lambda what=what: bar.take(what))
    page.page.click("#pause")
    assert eventually(lambda: not bar.is_paused)
    page.page.select_option("#simulation-rate", "0.25")
    assert eventually(lambda: bar.rate == 0.25)
    bar.show(is_paused=False, rate=0.3)  # as a program does
    page.page.wait_for_function("() => element('simulation-rate').selectedOptions[0].textContent === '0.3×'")
    bar.hide()
    page.page.wait_for_function("() => element('simulation').hidden")


def test_a_click_shows_what_is_known_of_a_body_as_text(page: Page, meshcat: Meshcat) -> None:
    tilted_box(meshcat)
    page.open(meshcat.web_url(), mark(meshcat))
    page.evaluate("viewer.render()")
    assert not page.page.locator("#card").is_visible()
    page.page.mouse.click(SIZE / 2, SIZE / 2)
    assert page.page.locator("#card h2").text_content() == HOSTILE
    texts = page.page.locator("#card dd").all_text_contents()
    assert texts == ["1.0000, 2.0000, 3.0000 m", "0.100, -0.200, 0.300 rad", "2 kg", HOSTILE]
    assert page.page.locator("#card img").count() == 0
    meshcat.SetTransform("body", RigidTransform([1.0, 2.0, 3.5]))  # it is that of now
    page.settle(meshcat)
    page.page.wait_for_function("() => element('card-position').textContent === '1.0000, 2.0000, 3.5000 m'")
    page.page.mouse.click(3, SIZE - 3)  # nothing is there
    assert not page.page.locator("#card").is_visible()


def test_a_body_is_dragged_with_ctrl_while_the_camera_stays(page: Page, meshcat: Meshcat) -> None:
    X_WB = tilted_box(meshcat)
    meshcat.enable_dragging(True)
    page.open(meshcat.web_url(), mark(meshcat))
    page.evaluate("viewer.render()")
    camera = page.evaluate("viewer.camera.position.toArray()")
    taken = page.evaluate(f"pick({SIZE / 2}, {SIZE / 2}).point")
    normal = np.array(page.evaluate("ray_at(0.5 * innerWidth, 0.5 * innerHeight).ray.direction.toArray()"))
    normal = normal[[0, 2, 1]] * [1, -1, 1]  # of the world, whose z is the client's y
    page.page.keyboard.down("Control")
    page.page.mouse.move(SIZE / 2, SIZE / 2)
    page.page.mouse.down()
    page.page.mouse.move(SIZE / 2 + 60, SIZE / 2 - 40, steps=3)
    assert eventually(lambda: meshcat.dragged() is not None)
    page.page.wait_for_timeout(100)
    drag = meshcat.dragged()
    assert drag is not None and drag.path == "/drake/body"
    assert X_WB.multiply(drag.point) == pytest.approx(np.array(taken), abs=1e-6)
    moved = drag.target - np.array(taken)
    assert moved[2] > 0.05 and abs(moved @ normal) < 1e-6  # in the plane of the picture
    page.evaluate("viewer.render()")
    assert page.evaluate("spring.visible")
    assert page.evaluate("spring.scale.y") == pytest.approx(np.linalg.norm(moved), rel=1e-6)
    page.page.mouse.up()
    page.page.keyboard.up("Control")
    assert eventually(lambda: meshcat.dragged() is None)
    assert not page.evaluate("spring.visible")
    assert page.evaluate("viewer.camera.position.toArray()") == camera
    assert page.page.evaluate("element('card').hidden")


def test_without_a_simulation_ctrl_moves_the_camera(page: Page, meshcat: Meshcat) -> None:
    tilted_box(meshcat)
    page.open(meshcat.web_url(), mark(meshcat))
    camera = page.evaluate("viewer.camera.position.toArray()")
    page.page.keyboard.down("Control")
    page.page.mouse.move(SIZE / 2, SIZE / 2)
    page.page.mouse.down()
    page.page.mouse.move(SIZE / 2 + 60, SIZE / 2 - 40, steps=3)
    page.page.mouse.up()
    page.page.keyboard.up("Control")
    assert page.evaluate("viewer.camera.position.toArray()") != camera
    assert meshcat.dragged() is None
