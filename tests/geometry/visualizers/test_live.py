"""The bar of live simulations, cards and dragging: what pages may ask for, and what they are told."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack
from viewer_clients import PageClient, as_page, eventually, what_a_page_is_told

from merganser.geometry import Meshcat


@pytest.fixture
def meshcat() -> Meshcat:
    return Meshcat(port=0)


def tell(meshcat: Meshcat, **message: Any) -> None:
    meshcat._InjectWebsocketMessage(umsgpack.packb(message))


def test_pages_pause_step_reset_stop_and_set_the_speed(meshcat: Meshcat) -> None:
    bar = meshcat.simulation_bar()
    bar.show(is_paused=False, rate=1.0)
    tell(meshcat, type="simulation", action="step")
    tell(meshcat, type="simulation", action="step")
    assert bar.is_paused  # a step is one of a simulation that waits
    assert [bar.take("step") for _ in range(3)] == [True, True, False]
    tell(meshcat, type="simulation", action="continue")
    assert not bar.is_paused
    for action in ("reset", "stop"):
        tell(meshcat, type="simulation", action=action)
        assert [bar.take(action), bar.take(action)] == [True, False]
    tell(meshcat, type="simulation_rate", rate=0.25)
    assert bar.rate == 0.25


def test_pages_that_come_later_know_the_state_of_the_bar(meshcat: Meshcat) -> None:
    bar = meshcat.simulation_bar()
    bar.show(is_paused=False, rate=2.0)
    tell(meshcat, type="simulation", action="pause")
    bar.show_time(1.5)
    told = {command["type"]: command for command in what_a_page_is_told(meshcat)}
    assert told["set_simulation"] == {"type": "set_simulation", "is_shown": True, "is_paused": True, "rate": 2.0}
    assert told["set_simulation_time"]["time"] == 1.5


@pytest.mark.parametrize(
    "message",
    [
        {"type": "simulation", "action": "explode"},
        {"type": "simulation", "action": ["pause"]},
        {"type": "simulation_rate", "rate": -1.0},
        {"type": "simulation_rate", "rate": 1e9},
        {"type": "simulation_rate", "rate": math.nan},
        {"type": "drag", "path": "/a", "point": [0, 0, 0], "target": [0, 0, math.inf]},
        {"type": "drag", "path": "/a", "point": [0, 0], "target": [0, 0, 0]},
        {"type": "drag", "path": "/a", "point": [0, 0, 0], "target": [1e300, 0, 0]},
        {"type": "drag", "path": 3, "point": [0, 0, 0], "target": [0, 0, 0]},
    ],
)
def test_messages_that_are_wrong_change_nothing(meshcat: Meshcat, message: dict[str, Any], caplog: Any) -> None:
    bar = meshcat.simulation_bar()
    bar.show(is_paused=False, rate=1.0)
    meshcat.enable_dragging(True)
    tell(meshcat, **message)
    assert "ignored a message" in caplog.text
    assert (bar.is_paused, bar.rate, meshcat.dragged()) == (False, 1.0, None)


def test_nothing_is_controlled_or_dragged_where_no_simulation_is(meshcat: Meshcat) -> None:
    tell(meshcat, type="simulation", action="pause")
    tell(meshcat, type="drag", path="/a", point=[0, 0, 0], target=[0, 0, 1])
    assert not meshcat.simulation_bar().is_paused and meshcat.dragged() is None


def test_a_drag_goes_on_until_the_mouse_lets_go(meshcat: Meshcat) -> None:
    meshcat.enable_dragging(True)
    tell(meshcat, type="drag", path="/a", point=[1, 2, 3], target=[0, 0, 1])
    tell(meshcat, type="drag", path="/a", point=[1, 2, 3], target=[0, 0, 2])
    drag = meshcat.dragged()
    assert drag is not None and drag.path == "/a"
    assert drag.point.tolist() == [1, 2, 3] and drag.target.tolist() == [0, 0, 2]
    tell(meshcat, type="drag", path="")
    assert meshcat.dragged() is None
    tell(meshcat, type="drag", path="/a", point=[1, 2, 3], target=[0, 0, 1])
    again = meshcat.dragged()
    assert again is not None and again.number != drag.number


def test_a_page_that_is_closed_lets_go(meshcat: Meshcat) -> None:
    meshcat.enable_dragging(True)

    async def visit(page: PageClient) -> None:
        await page.read(lambda commands: bool(commands))
        message = '{"type": "drag", "path": "/a", "point": [0, 0, 0], "target": [0, 0, 1]}'
        await page.socket.write_message(message)
        while meshcat.dragged() is None:
            await asyncio.sleep(0.01)

    as_page(meshcat, visit)
    assert eventually(lambda: meshcat.dragged() is None)


def test_cards_are_kept_when_what_they_describe_is_drawn_anew(meshcat: Meshcat) -> None:
    meshcat.describe("robot/link", "link", {"mass": "1 kg"})
    meshcat.Delete("robot")
    cards = [command for command in what_a_page_is_told(meshcat) if command["type"] == "set_card"]
    assert cards == [
        {"type": "set_card", "path": "/drake/robot/link", "title": "link", "rows": [["mass", "1 kg"]]}
    ]
