"""An event handler that has ended the simulation has ended it, whatever interrupt comes afterwards."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest

import merganser.analysis.plan.callbacks as callbacks
import merganser.analysis.plan.plan as plan_module
import merganser.analysis.simulation.due_events as due_events
import merganser.analysis.simulation.step_parts as step_parts
import merganser.analysis.simulation.steps as steps
import merganser.framework.core.declarations.execution as execution
from merganser.analysis import Simulator, SimulatorStatus
from merganser.framework import DiagramBuilder, EventStatus, LeafSystem

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("plan")

Reason = SimulatorStatus.ReturnReason
_END = 0.25  # when the first one of the blocks ends the simulation


class Ending(LeafSystem):
    """Ends the simulation by an event of some kind; then `hook` is called by the event of another block."""

    def __init__(self, kind: str, hook: Any = None, status: Any = EventStatus.ReachedTermination) -> None:
        super().__init__()
        self._hook, self._status = hook, status
        self.times: list[float] = []
        self.DeclareDiscreteState(1)
        declare = {
            "publish": self.DeclarePeriodicPublishEvent,
            "discrete update": self.DeclarePeriodicDiscreteUpdateEvent,
            "unrestricted update": self.DeclarePeriodicUnrestrictedUpdateEvent,
        }
        declare[kind](0.05, 0.0, self._handle)

    def _handle(self, context: Any, changes: Any = None) -> EventStatus:
        if self._hook is not None and context.get_time() == _END:
            self._hook()
        self.times.append(context.get_time())
        is_end = self._hook is None and context.get_time() == _END
        return self._status(self, "far enough") if is_end else EventStatus.DidNothing()


def simulation(kinds: tuple[str, str], hook: Any, status: Any = EventStatus.ReachedTermination) -> Any:
    """A simulation that the event of the first block ends, and both blocks."""
    builder = DiagramBuilder()
    first = builder.AddSystem(Ending(kinds[0], status=status))
    second = builder.AddSystem(Ending(kinds[1], hook))
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    return simulator, first, second


def interrupting_once() -> Any:
    interrupts = [KeyboardInterrupt()]

    def interrupt() -> None:
        if interrupts:
            raise interrupts.pop()

    return interrupt


KINDS = [("publish", "publish"), ("unrestricted update", "discrete update"), ("discrete update", "discrete update")]


@pytest.mark.parametrize("kinds", KINDS)
def test_a_termination_is_reported_by_the_advance_after_an_interrupt(kinds: tuple[str, str]) -> None:
    simulator, first, second = simulation(kinds, interrupting_once())
    with pytest.raises(KeyboardInterrupt):
        simulator.AdvanceTo(1.0)
    status = simulator.AdvanceTo(1.0)
    assert status.reason() is Reason.kReachedTerminationCondition
    assert (status.system(), status.message(), status.return_time()) == (first, "far enough", _END)
    assert simulator.get_context().get_time() == _END
    if kinds[0] == "publish":
        assert first.times.count(_END) == second.times.count(_END) == 1
    assert simulator.AdvanceTo(1.0).return_time() in (_END, 1.0)  # it is reported once


def test_a_failure_is_reported_by_the_advance_after_an_interrupt() -> None:
    simulator, first, second = simulation(("publish", "publish"), interrupting_once(), EventStatus.Failed)
    with pytest.raises(KeyboardInterrupt):
        simulator.AdvanceTo(1.0)
    num_publishes = simulator.get_num_publishes()
    with pytest.raises(RuntimeError, match="far enough"):
        simulator.AdvanceTo(1.0)
    assert simulator.get_num_publishes() == num_publishes  # what fails does not count
    assert first.times == second.times
    assert simulator.AdvanceTo(1.0).succeeded()


# What runs while an interrupt is being dealt with, or in which none is looked at once the handler has returned.
_NOT_AT_RISK = {"AdvanceTo", "_note_what_is_done", "call_handler"}


def test_a_termination_is_reported_after_an_interrupt_at_any_moment() -> None:
    """From when the handler has returned until `AdvanceTo` does; signals are looked at where a function begins."""
    modules = sys.modules[Simulator.__module__], execution, due_events, steps, step_parts
    of_lines = {str(Path(module.__file__ or "")) for module in modules}
    of_calls = {str(Path(module.__file__ or "")) for module in (callbacks, plan_module)}
    num_moments, fatal = 0, -1

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal num_moments
        file, is_over = frame.f_code.co_filename, first.times[-1:] == [_END]
        if frame.f_code.co_name in _NOT_AT_RISK or file not in of_lines | of_calls:
            return None
        if is_over and event == ("line" if file in of_lines else "call"):
            num_moments += 1
            if num_moments == fatal:
                raise KeyboardInterrupt
        return trace

    def advance() -> Any:
        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            return simulator.AdvanceTo(1.0)
        finally:
            sys.settrace(previous)

    simulator, first, _ = simulation(("publish", "publish"), lambda: None)
    assert advance().reason() is Reason.kReachedTerminationCondition
    total = num_moments
    assert total > 10
    for fatal in range(1, total + 1):
        simulator, first, second = simulation(("publish", "publish"), lambda: None)
        num_moments = 0
        with pytest.raises(KeyboardInterrupt):
            advance()
        num_moments = 10 * total
        status = simulator.AdvanceTo(1.0)
        assert status.reason() is Reason.kReachedTerminationCondition, fatal
        assert simulator.get_context().get_time() == _END == first.times[-1] == second.times[-1], fatal


def test_publish_events_count_though_an_interrupt_comes_as_they_are_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    original, strike = SimulatorStatus._note_outcome, interrupting_once()

    def heed(*arguments: Any) -> bool:
        strike()
        return original(*arguments)

    simulator, _, _ = simulation(KINDS[0], None)
    simulator.AdvanceTo(1.0)
    expected = simulator.get_num_publishes()
    simulator, first, _ = simulation(KINDS[0], None)
    simulator.AdvanceTo(0.24)
    monkeypatch.setattr(SimulatorStatus, "_note_outcome", heed)
    with pytest.raises(KeyboardInterrupt):
        simulator.AdvanceTo(1.0)
    assert simulator.AdvanceTo(1.0).system() is first
    assert simulator.get_num_publishes() == expected > 0


def test_an_advance_interrupted_as_it_publishes_at_its_end_only_makes_up_for_that() -> None:
    counts = []
    for hook in (interrupting_once(), lambda: None):
        simulator, _, second = simulation(("discrete update", "publish"), hook, lambda *_: EventStatus.Succeeded())
        with contextlib.suppress(KeyboardInterrupt):
            simulator.AdvanceTo(_END)
        if simulator._due.owed:
            simulator.AdvanceTo(_END)
        assert second.times[-1] == _END
        counts.append([simulator.get_num_steps_taken(), simulator.get_num_discrete_updates(), second.times.copy()])
        simulator.AdvanceTo(0.4)
        counts[-1] += [simulator.get_num_steps_taken(), simulator.get_num_discrete_updates(), second.times]
    assert counts[0] == counts[1]
