"""What a simulator does beside the callbacks, counted in calls of Python functions: the same on every machine."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem, Value
from merganser.framework.primitives import LinearSystem

_TICKS = 200


class Ticking(LeafSystem):
    """One event of some kind each millisecond, with a callback that calls nothing."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.DeclareDiscreteState(1)
        self.DeclareAbstractState(Value(0))
        declare = {
            "publish": self.DeclarePeriodicPublishEvent,
            "discrete update": self.DeclarePeriodicDiscreteUpdateEvent,
            "unrestricted update": self.DeclarePeriodicUnrestrictedUpdateEvent,
        }
        declare[kind](1e-3, 0.0, self.handle)

    def handle(self, context: Any, changes: Any = None) -> None:
        pass


def calls_in(work: Callable[[], Any]) -> int:
    """Number of calls of Python functions."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(("kind", "most"), [("publish", 10), ("discrete update", 17), ("unrestricted update", 20)])
def test_an_event_takes_few_calls(kind: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERGANSER_PLAN", "never")
    builder = DiagramBuilder()
    builder.AddSystem(Ticking(kind))
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(0.01)
    calls = calls_in(lambda: simulator.AdvanceTo(0.01 + 1e-3 * _TICKS))
    assert calls <= most * _TICKS + 20


@pytest.mark.parametrize(("kind", "most"), [("publish", 8), ("discrete update", 9)])
def test_an_event_in_the_compiled_loop_takes_few_calls(kind: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERGANSER_PLAN", "always")
    builder = DiagramBuilder()
    builder.AddSystem(Ticking(kind))
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(0.01)
    calls = calls_in(lambda: simulator.AdvanceTo(0.01 + 1e-3 * _TICKS))
    assert calls <= most * _TICKS + 100


def test_steps_of_systems_without_cache_entries_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    monkeypatch.setenv("MERGANSER_PLAN", "never")
    monkeypatch.setattr("merganser.analysis.simulation.simulator.note_steps", lambda steps, _: counts.append(steps))
    simulator = Simulator(Ticking("publish"))
    assert not simulator.get_context().slots
    simulator.AdvanceTo(1e-3 * _TICKS)
    assert sum(counts) >= _TICKS


def test_a_short_advance_of_the_compiled_loop_takes_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERGANSER_PLAN", "always")
    system = LinearSystem(-np.eye(2), np.ones((2, 1)), np.eye(2), np.zeros((2, 1)))
    simulator = Simulator(system)
    system.get_input_port().FixValue(simulator.get_mutable_context(), [0.0])
    simulator.AdvanceTo(0.1)
    times = [0.1 + 1e-3 * number for number in range(1, _TICKS + 1)]
    calls = calls_in(lambda: [simulator.AdvanceTo(time) for time in times])
    assert calls <= 40 * _TICKS


def test_making_a_simulator_takes_few_calls() -> None:
    system = LinearSystem(-np.eye(2), np.ones((2, 1)), np.eye(2), np.zeros((2, 1)))
    context = system.CreateDefaultContext()
    Simulator(system, context).Initialize()
    assert calls_in(lambda: Simulator(system, context)) <= 47
    assert calls_in(lambda: Simulator(system, context).Initialize()) <= 100
