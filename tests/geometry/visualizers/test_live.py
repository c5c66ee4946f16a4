"""The bar of live simulations, cards and dragging: what pages may request, and what they are sent."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack
from viewer_clients import PageClient, as_page, commands_for_a_page, eventually

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import TrajectorySource
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.geometry import Meshcat, MeshcatSignalPlot


@pytest.fixture
def meshcat() -> Meshcat:
    return Meshcat(port=0)


def send(meshcat: Meshcat, **message: Any) -> None:
    meshcat._InjectWebsocketMessage(umsgpack.packb(message))


def with_arrays(command: dict[str, Any]) -> dict[str, Any]:
    """A command as the page has it, with arrays of float32."""
    return {k: np.frombuffer(v.data, "<f4") if isinstance(v, umsgpack.Ext) else v for k, v in command.items()}


def test_pages_pause_step_reset_stop_and_set_the_speed(meshcat: Meshcat) -> None:
    bar = meshcat.simulation_bar()
    bar.show(is_paused=False, rate=1.0)
    send(meshcat, type="simulation", action="step")
    send(meshcat, type="simulation", action="step")
    assert bar.is_paused  # a step is one of a simulation that waits
    assert [bar.take("step") for _ in range(3)] == [True, True, False]
    send(meshcat, type="simulation", action="continue")
    assert not bar.is_paused
    for action in ("reset", "stop"):
        send(meshcat, type="simulation", action=action)
        assert [bar.take(action), bar.take(action)] == [True, False]
    send(meshcat, type="simulation_rate", rate=0.25)
    assert bar.rate == 0.25


def test_pages_that_come_later_know_the_state_of_the_bar(meshcat: Meshcat) -> None:
    bar = meshcat.simulation_bar()
    bar.show(is_paused=False, rate=2.0)
    send(meshcat, type="simulation", action="pause")
    bar.show_time(1.5)
    commands = {command["type"]: command for command in commands_for_a_page(meshcat)}
    assert commands["set_simulation"] == {"type": "set_simulation", "is_shown": True, "is_paused": True, "rate": 2.0}
    assert commands["set_simulation_time"]["time"] == 1.5


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
    send(meshcat, **message)
    assert "ignored a message" in caplog.text
    assert (bar.is_paused, bar.rate, meshcat.dragged()) == (False, 1.0, None)


def test_nothing_is_controlled_or_dragged_where_no_simulation_is(meshcat: Meshcat) -> None:
    send(meshcat, type="simulation", action="pause")
    send(meshcat, type="drag", path="/a", point=[0, 0, 0], target=[0, 0, 1])
    assert not meshcat.simulation_bar().is_paused and meshcat.dragged() is None


def test_a_drag_goes_on_until_the_mouse_lets_go(meshcat: Meshcat) -> None:
    meshcat.enable_dragging(True)
    send(meshcat, type="drag", path="/a", point=[1, 2, 3], target=[0, 0, 1])
    send(meshcat, type="drag", path="/a", point=[1, 2, 3], target=[0, 0, 2])
    drag = meshcat.dragged()
    assert drag is not None and drag.path == "/a"
    assert drag.point.tolist() == [1, 2, 3] and drag.target.tolist() == [0, 0, 2]
    send(meshcat, type="drag", path="")
    assert meshcat.dragged() is None
    send(meshcat, type="drag", path="/a", point=[1, 2, 3], target=[0, 0, 1])
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


def test_cards_are_kept_when_what_they_describe_is_redrawn(meshcat: Meshcat) -> None:
    meshcat.describe("robot/link", "link", {"mass": "1 kg"})
    meshcat.Delete("robot")
    cards = [command for command in commands_for_a_page(meshcat) if command["type"] == "set_card"]
    assert cards == [
        {
            "type": "set_card", "path": "/drake/robot/link", "title": "link", "rows": [["mass", "1 kg"]],
            "is_fixed": False,
        }
    ]


# ------------------------------------------------------------------ plots


def test_each_page_gets_the_samples_that_it_lacks(meshcat: Meshcat) -> None:
    meshcat.set_plot("angles", ["a", "b"], shown=["b"], span=3.0)
    for i in range(5000):
        meshcat.add_sample("angles", 0.01 * i, [i, -i])

    def samples(commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [with_arrays(command) for command in commands if command["type"] == "add_samples"]

    async def visit(page: PageClient) -> None:
        await page.read(lambda commands: bool(samples(commands)))
        (plot,) = [command for command in page.commands if command["type"] == "set_plot"]
        assert (plot["names"], plot["is_shown"], plot["span"]) == (["a", "b"], [False, True], 3.0)
        (first,) = samples(page.commands)
        assert first["is_start"] and len(first["times"]) == 4096 and first["times"][-1] == 49.99  # the last ones
        assert first["values"].reshape(-1, 2)[-1].tolist() == [4999, -4999]
        meshcat.add_sample("angles", 50.0, [1, 2])
        await page.read(lambda commands: len(samples(commands)) > 1)
        second = samples(page.commands)[1]
        assert (second["is_start"], second["times"], second["values"].tolist()) == (False, [50.0], [1, 2])
        meshcat.add_sample("angles", 0.0, [3, 4])  # begins again
        await page.read(lambda commands: len(samples(commands)) > 2)
        third = samples(page.commands)[2]
        assert (third["is_start"], third["times"], third["values"].tolist()) == (True, [0.0], [3, 4])
        meshcat.delete_plot("angles")
        await page.read(lambda commands: commands[-1] == {"type": "delete_plot", "title": "angles"})

    as_page(meshcat, visit)
    assert not any("plot" in command["type"] for command in commands_for_a_page(meshcat))


def test_plots_that_cannot_be_are_refused(meshcat: Meshcat) -> None:
    meshcat.set_plot("p", ["a", "b"])
    for names, words in (([], "of different names"), (["a", "a"], "of different names")):
        with pytest.raises(ValueError, match=words):
            meshcat.set_plot("q", names)
    with pytest.raises(ValueError, match=r"plot 'q' has no signal 'c'. It has \['a'\]"):
        meshcat.set_plot("q", ["a"], shown=["c"])
    with pytest.raises(ValueError, match="span must be positive"):
        meshcat.set_plot("q", ["a"], span=0.0)
    with pytest.raises(TypeError, match="takes a title and names"):
        meshcat.set_plot("q", [1])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'p' has 2 signals; given 3 values"):
        meshcat.add_sample("p", 0.0, [1, 2, 3])
    with pytest.raises(RuntimeError, match=r"no plot 'q'. Call set_plot\(\) first"):
        meshcat.add_sample("q", 0.0, [1])


def test_a_port_is_plotted_as_a_simulation_runs(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    source = builder.AddSystem(TrajectorySource(PiecewisePolynomial.FirstOrderHold([0, 1], [[0, 1], [0, 2], [0, 3]])))
    MeshcatSignalPlot.AddToBuilder(builder, source.get_output_port(), meshcat, "s", ["z", "x"], elements=[2, 0])
    simulator = Simulator(builder.Build())
    meshcat.StartRecording()  # so that each sample is wanted
    simulator.AdvanceTo(1.0)
    (samples,) = [with_arrays(each) for each in commands_for_a_page(meshcat) if each["type"] == "add_samples"]
    np.testing.assert_allclose(samples["times"], np.arange(33) / 32)
    np.testing.assert_allclose(samples["values"].reshape(-1, 2), np.outer(np.arange(33) / 32, [3, 1]), rtol=1e-6)
    for elements in ([3], [-1], [0, 1]):
        with pytest.raises(ValueError, match="need as many elements of an input of 3, numbered from 0"):
            MeshcatSignalPlot(meshcat, "s", ["z"], size=3, elements=elements)
    with pytest.raises(RuntimeError, match="publish_period must not be negative"):
        MeshcatSignalPlot(meshcat, "s", ["z"], publish_period=-1.0)
