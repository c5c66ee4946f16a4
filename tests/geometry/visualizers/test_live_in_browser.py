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


def test_keys_control_a_simulation_unless_a_program_has_them_or_text_is_typed(page: Page, meshcat: Meshcat) -> None:
    tilted_box(meshcat)
    bar = meshcat.simulation_bar()
    bar.show(is_paused=False, rate=1.0)
    meshcat.AddSlider("gain", 0, 1, 0.1, 0.5)
    page.open(meshcat.web_url(), mark(meshcat))
    assert not page.page.locator("#panel").is_visible()  # which would cover a narrow page
    page.page.set_viewport_size({"width": 800, "height": 500})
    page.page.click("#open")
    press = page.page.keyboard.press
    press("Space")
    assert eventually(lambda: bar.is_paused)
    press("ArrowRight")
    assert eventually(lambda: bar.take("step"))
    press("Backspace")
    assert eventually(lambda: bar.take("reset"))
    page.page.click("#pause")  # which leaves the keys to the page
    assert eventually(lambda: not bar.is_paused)
    press("Space")
    assert eventually(lambda: bar.is_paused)
    for key, rate in (("+", 2.0), ("+", 4.0), ("+", 0.0), ("+", 0.0), ("-", 4.0), ("-", 2.0), ("-", 1.0), ("-", 0.5)):
        press(key)
        assert eventually(lambda rate=rate: bar.rate == rate)
        page.settle(meshcat)
    page.page.mouse.move(200, 200)
    page.page.mouse.wheel(0, 2000)
    away = page.evaluate("viewer.camera.position.length()")
    press("f")
    assert page.evaluate("viewer.camera.position.length()") != away
    page.page.locator("[data-slider='gain'] input").click()
    for key in ("Space", "ArrowRight", "Backspace"):
        press(key)
    page.page.locator("[data-slider='gain'] .bar").focus()
    press("ArrowRight")
    assert eventually(lambda: meshcat.GetSliderValue("gain") != 0.5)
    page.evaluate("document.activeElement.blur()")
    meshcat.AddButton("jump", "Space")
    page.page.wait_for_function("() => viewer.gui_controllers['jump'] !== undefined")
    press("Space")
    assert eventually(lambda: meshcat.GetButtonClicks("jump") == 1)
    page.page.wait_for_timeout(100)
    assert bar.is_paused and not bar.take("step") and not bar.take("reset")


def test_keys_play_a_recording_and_go_from_frame_to_frame(page: Page, meshcat: Meshcat) -> None:
    tilted_box(meshcat)
    meshcat.StartRecording(1)
    for i in range(11):
        meshcat.SetTransform("body", RigidTransform([0.1 * i, 0, 0]), i)
    meshcat.get_mutable_recording().set_autoplay(False)
    meshcat.PublishRecording()
    page.open(meshcat.web_url(), mark(meshcat))
    press = page.page.keyboard.press
    for expected in (0.1, 0.2, 0.3):
        press("ArrowRight")
        assert page.evaluate("node_at('/drake/body').object.position.x") == pytest.approx(expected, abs=1e-4)
    press("Backspace")
    assert page.evaluate("viewer.animator.time") == 0
    press("+")
    assert page.evaluate("viewer.animator.mixer.timeScale") == 2
    press("Space")
    assert page.evaluate("viewer.animator.playing") is True
    press("Space")
    assert page.evaluate("viewer.animator.playing") is False


def test_after_a_reset_the_model_is_seen_again(page: Page, meshcat: Meshcat) -> None:
    meshcat.SetObject("body/shape", Box(1, 1, 1))
    bar = meshcat.simulation_bar()
    bar.show(is_paused=False, rate=1.0)
    page.open(meshcat.web_url(), mark(meshcat))
    bar.show_time(5.0)
    meshcat.SetTransform("body", RigidTransform([500, 0, 0]))
    page.settle(meshcat)
    page.page.wait_for_timeout(600)
    page.page.mouse.dblclick(200, 200)  # a user may have moved the camera
    is_seen = "is_in_picture(new THREE.Vector3(0, 0, 0))"
    look_away = "is_untouched = false, viewer.controls.target.set(500, 0, 0), viewer.controls.update()"
    assert page.evaluate(f"{look_away}, {is_seen}") is False  # before the next picture is drawn, too
    meshcat.SetTransform("body", RigidTransform())
    bar.show_time(0.0)
    page.settle(meshcat)
    page.page.wait_for_function(f"() => {is_seen}")


@pytest.mark.parametrize("width", [880, 400])
def test_the_rate_is_seen_beside_or_above_the_bars(page: Page, meshcat: Meshcat, width: int) -> None:
    page.page.set_viewport_size({"width": width, "height": 500})
    meshcat.SetRealtimeRate(0.98)
    meshcat.SetObject("body", Box(1, 1, 1))
    meshcat.StartRecording(10)
    for i in range(3):
        meshcat.SetTransform("body", RigidTransform([i, 0, 0]), i / 10)
    page.open(meshcat.web_url(), mark(meshcat))

    def boxes(*names: str) -> list[dict[str, float]]:
        return [page.page.locator(name).bounding_box() for name in names]

    for show, names in (
        (lambda: meshcat.simulation_bar().show(is_paused=True, rate=1.0), ("#simulation",)),
        (meshcat.PublishRecording, ("#simulation", "#playback")),
        (meshcat.simulation_bar().hide, ("#playback",)),
    ):
        show()
        page.settle(meshcat)
        rate, *bars = boxes("#rate", *names)
        for bar in bars:
            is_above = rate["y"] + rate["height"] <= bar["y"]
            assert is_above or rate["x"] + rate["width"] <= bar["x"]
        assert rate["y"] > 0 and rate["x"] > 0


# ------------------------------------------------------------------ plots


def colors_in_plot(page: Page) -> set[str]:
    """Which lines of the first three are drawn."""
    found = page.evaluate("""(() => {
      const [canvas] = document.querySelectorAll("#plots canvas");
      const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), seen = {};
      for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 250) seen[data.slice(i, i + 3).join()] = 1;
      return Object.keys(seen);
    })()""")
    names = {"47,125,209": "blue", "217,72,15": "orange", "43,138,62": "green"}
    return {names[each] for each in found if each in names}


def test_signals_are_plotted_as_text_and_lines_of_which_users_choose(page: Page, meshcat: Meshcat) -> None:
    page.page.set_viewport_size({"width": 900, "height": 500})
    meshcat.set_plot(HOSTILE, ["angle", HOSTILE, "hidden"], shown=["angle", HOSTILE], span=2.0)
    for i in range(21):
        meshcat.add_sample(HOSTILE, 0.1 * i, [np.sin(0.3 * i), -0.02 * i, 5.0])
    page.open(meshcat.web_url(), mark(meshcat))  # it comes late, and sees what was before
    page.evaluate("viewer.render()")
    assert page.page.locator("#plots summary").text_content() == HOSTILE
    assert page.page.locator("#plots label span").all_text_contents() == ["angle", HOSTILE, "hidden"]
    assert page.page.locator("#plots output").all_text_contents() == ["-0.2794", "-0.4000", "5.0000"]
    assert colors_in_plot(page) == {"blue", "orange"}
    page.page.locator("#plots label", has_text="angle").click()
    page.page.locator("#plots label", has_text="hidden").click()
    assert colors_in_plot(page) == {"orange", "green"}
    meshcat.add_sample(HOSTILE, 2.1, [7.0, 7.0, 7.0])
    page.settle(meshcat)
    assert page.evaluate("Object.values(plots)[0].times.length") == 22
    meshcat.add_sample(HOSTILE, 0.0, [1.0, 2.0, 3.0])  # a simulation begins again
    page.settle(meshcat)
    page.page.wait_for_function("() => element('plots').textContent.includes('3.0000')")
    assert page.evaluate("Object.values(plots)[0].times") == [0]
    assert page.evaluate("document.title") == "Meshcat" and page.page.locator("#plots img").count() == 0
    meshcat.DeleteAddedControls()
    page.settle(meshcat)
    assert page.page.locator("#plots details").count() == 0 and not page.page.locator("#panel").is_visible()


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
    assert page.evaluate("viewer.camera.position.toArray()") == pytest.approx(camera, rel=1e-12)
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
