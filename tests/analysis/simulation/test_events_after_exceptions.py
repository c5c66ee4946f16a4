"""After an exception in a callback the next advance does what was due at that time and had not happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import BasicVector, Context, DiagramBuilder, EventStatus, LeafSystem
from merganser.framework.primitives import LogVectorOutput, Sine


class FailingError(Exception):
    pass


class Fragile(LeafSystem):
    """Events of one kind; the callback fails when `fails(time)` says so, after it has noted the time."""

    def __init__(self, kind: str, fails: Callable[[float], bool]) -> None:
        super().__init__()
        self._fails = fails
        self.seen: list[float] = []
        self.DeclareDiscreteState(1)
        if kind == "per-step publish":
            self.DeclarePerStepPublishEvent(self._publish)
        elif kind == "periodic publish":
            self.DeclarePeriodicPublishEvent(0.1, 0.0, self._publish)
        elif kind == "discrete update":
            self.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.0, self._update)
        elif kind == "unrestricted update":
            self.DeclarePeriodicUnrestrictedUpdateEvent(0.1, 0.0, self._update)
        self.DeclareVectorOutputPort("y", 1, self._calc, {self.time_ticket()})

    def _publish(self, context: Context) -> None:
        self.seen.append(context.get_time())
        if self._fails(context.get_time()):
            raise FailingError

    def _update(self, context: Context, values: Any) -> None:
        self._publish(context)

    def _calc(self, context: Context, output: BasicVector) -> None:
        self._publish(context)
        output.SetAtIndex(0, context.get_time())


def once(time: float) -> Callable[[float], bool]:
    """Fails when it is first asked at a time."""
    left = [time]

    def fails(now: float) -> bool:
        if left and abs(now - left[0]) < 1e-9:
            left.clear()
            return True
        return False

    return fails


def simulation(plan: bool, is_first: bool, *blocks: LeafSystem, logs_output: bool = False) -> tuple[Simulator, Any]:
    """A simulation of a sine with a log, and blocks that stand before or after them."""
    builder = DiagramBuilder()
    if is_first:
        for block in blocks:
            builder.AddSystem(block)
    sine = builder.AddSystem(Sine(1.0, 1.0, 0.0, 1))
    log = LogVectorOutput(sine.get_output_port(0), builder, publish_period=0.1)
    if not is_first:
        for block in blocks:
            builder.AddSystem(block)
    if logs_output:
        log = LogVectorOutput(blocks[0].get_output_port(), builder, publish_period=0.1)
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(plan, at_once=True)
    return simulator, log


def advance_through(simulator: Simulator, boundary: float) -> int:
    """Repeats the advance until it gets through; returns how often it failed."""
    for count in range(20):
        try:
            simulator.AdvanceTo(boundary)
            return count
        except (FailingError, KeyboardInterrupt):
            pass
    raise AssertionError("no advance got through")


TENTHS = np.arange(11) * 0.1
KINDS = ["per-step publish", "periodic publish", "discrete update", "unrestricted update"]


@pytest.mark.parametrize("plan", [False, True])
@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("time", [0.1, 0.4, 1.0])
def test_a_callback_that_fails_costs_other_blocks_no_sample(time: float, kind: str, is_first: bool, plan: bool) -> None:
    simulator, log = simulation(plan, is_first, Fragile(kind, once(time)))
    at_boundary = time == 1.0 and kind.endswith("update")  # which waits for the next advance
    assert advance_through(simulator, 1.0) == (0 if at_boundary else 1)
    np.testing.assert_allclose(log.FindLog(simulator.get_context()).sample_times(), TENTHS, atol=1e-12)
    assert simulator.get_num_steps_taken() == 10
    assert advance_through(simulator, 1.2) == int(at_boundary)


@pytest.mark.parametrize("plan", [False, True])
def test_a_publish_handler_that_fails_each_time_does_not_stop_the_simulation(plan: bool) -> None:
    block = Fragile("periodic publish", lambda time: time > 0.05)
    simulator, log = simulation(plan, True, block)
    assert advance_through(simulator, 1.0) == 10
    np.testing.assert_allclose(block.seen, TENTHS, atol=1e-12)  # each once
    np.testing.assert_allclose(log.FindLog(simulator.get_context()).sample_times(), TENTHS, atol=1e-12)


@pytest.mark.parametrize("plan", [False, True])
@pytest.mark.parametrize("time", [0.4, 1.0])
def test_a_log_whose_value_could_not_be_computed_gets_it_later(time: float, plan: bool) -> None:
    simulator, log = simulation(plan, True, Fragile("", once(time)), logs_output=True)
    assert advance_through(simulator, 1.0) == 1
    found = log.FindLog(simulator.get_context())
    np.testing.assert_allclose(found.sample_times(), TENTHS, atol=1e-12)
    np.testing.assert_array_equal(found.data()[0], found.sample_times())


def test_a_log_whose_input_has_lost_its_value_gets_its_sample_when_that_is_mended() -> None:
    class Reader(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareVectorInputPort("u", 1)
            self.seen: list[float] = []
            self.DeclarePeriodicPublishEvent(0.5, 0.5, self._publish)

        def _publish(self, context: Context) -> None:
            self.seen.append(context.get_time() * self.get_input_port().Eval(context)[0])

    system = Reader()
    simulator = Simulator(system)
    with pytest.raises(RuntimeError, match="not connected"):
        simulator.AdvanceTo(1.0)
    system.get_input_port().FixValue(simulator.get_mutable_context(), [2.0])
    simulator.AdvanceTo(1.0)
    assert system.seen == [1.0, 2.0]


@pytest.mark.parametrize("plan", [False, True])
@pytest.mark.parametrize("error", [FailingError, KeyboardInterrupt])
@pytest.mark.parametrize("culprit", ["publish", "monitor"])
def test_a_monitor_is_called_after_each_step_whatever_fails(
    culprit: str, error: type[BaseException], plan: bool
) -> None:
    fails, seen = once(0.4), []

    def strike(time: float) -> None:
        if fails(time):
            raise error

    class Striking(Fragile):
        def _publish(self, context: Context) -> None:
            if culprit == "publish":
                strike(context.get_time())

    def monitor(context: Context) -> None:
        seen.append(context.get_time())
        if culprit == "monitor":
            strike(context.get_time())

    simulator, _ = simulation(plan, False, Striking("periodic publish", fails))
    simulator.set_monitor(monitor)
    assert advance_through(simulator, 1.0) == 1
    again = [0.4] if (culprit, error) == ("monitor", KeyboardInterrupt) else []  # what was interrupted happens again
    np.testing.assert_allclose(seen, sorted([*TENTHS, *again]), atol=1e-12)


@pytest.mark.parametrize("plan", [False, True])
def test_an_end_of_the_simulation_is_reported_though_the_monitor_failed_at_that_step(plan: bool) -> None:
    class Ending(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclarePeriodicPublishEvent(0.1, 0.0, self._publish)

        def _publish(self, context: Context) -> EventStatus | None:
            return EventStatus.ReachedTermination(self, "enough") if context.get_time() > 0.35 else None

    simulator, _ = simulation(plan, False, Ending())
    fails = once(0.4)

    def monitor(context: Context) -> None:
        if fails(context.get_time()):
            raise FailingError

    simulator.set_monitor(monitor)
    with pytest.raises(FailingError):
        simulator.AdvanceTo(1.0)
    status = simulator.AdvanceTo(1.0)
    assert status.reason() is status.ReturnReason.kReachedTerminationCondition and status.message() == "enough"
    assert status.return_time() == pytest.approx(0.4)


@pytest.mark.parametrize("plan", [False, True])
def test_a_failure_that_was_reported_is_not_reported_twice(plan: bool) -> None:
    class Reporting(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclarePeriodicPublishEvent(0.5, 0.5, self._publish)

        def _publish(self, context: Context) -> EventStatus:
            is_first = context.get_time() == 0.5
            return EventStatus.Failed(self, "no disk") if is_first else EventStatus.Succeeded()

    simulator, log = simulation(plan, False, Reporting())
    with pytest.raises(RuntimeError, match="no disk"):
        simulator.AdvanceTo(1.0)
    assert simulator.AdvanceTo(1.0).succeeded()
    np.testing.assert_allclose(log.FindLog(simulator.get_context()).sample_times(), TENTHS, atol=1e-12)
