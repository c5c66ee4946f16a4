"""Ctrl-C at any moment, or a lack of memory, leaves a simulation that goes on as if nothing had happened.

`python tests/support/interrupts.py` strikes a thousand times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bouncing_ball import make_ball
from interrupts import SCENES, differences, strike_at_line, strike_by_signal, undisturbed

import merganser.analysis.simulation.due_events as due_events
import merganser.analysis.simulation.step_parts as step_parts
import merganser.analysis.simulation.steps as steps
import merganser.framework as framework
import merganser.framework.core.declarations.execution as execution
from merganser.analysis import Simulator
from merganser.analysis.simulation.event_schedule import EventSchedule
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.core.context.store import CacheSlot
from merganser.framework.primitives import (
    AbstractLog,
    Gain,
    Integrator,
    LogOutput,
    LogVectorOutput,
    VectorLog,
)


class Everything(LeafSystem):
    """Continuous and discrete state and events of many kinds; each callback first calls `hook`."""

    def __init__(self, hook: Callable[[], None]) -> None:
        super().__init__()
        self._hook = hook
        self.DeclareContinuousState(1)
        self.DeclareDiscreteState(1)
        self.DeclareVectorInputPort("u", 1)
        self.DeclareVectorOutputPort("y", 1, self._calc_output)
        self.DeclarePerStepUnrestrictedUpdateEvent(self._add(100.0))
        self.DeclarePeriodicUnrestrictedUpdateEvent(0.25, 0.0, self._add(10.0))
        self.DeclarePeriodicDiscreteUpdateEvent(0.25, 0.0, self._count)
        direction = framework.WitnessFunctionDirection.kCrossesZero
        event = framework.UnrestrictedUpdateEvent(lambda context, event, state: self._add(1000.0)(context, state))
        self._witness = self.MakeWitnessFunction("w", direction, self._calc_witness, event)

    def _add(self, amount: float) -> Callable[[Any, Any], None]:
        def update(context: Any, state: Any) -> None:
            self._hook()
            group = state.get_mutable_discrete_state().get_mutable_vector(0)
            group[0] += amount

        return update

    def _count(self, context: Any, values: Any) -> None:
        self._hook()
        values.set_value(0, context.get_discrete_state_vector().value() + 1.0)

    def _calc_witness(self, context: Any) -> float:
        self._hook()
        return float(context.get_continuous_state_vector()[0]) - 0.6

    def _calc_output(self, context: Any, output: Any) -> None:
        self._hook()
        output.SetFromVector(context.get_continuous_state_vector().value())

    def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
        return [self._witness]

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        u = self.get_input_port().Eval(context)
        self._hook()
        derivatives.get_mutable_vector().SetFromVector(1.0 - 0.1 * u)


def simulation(hook: Callable[[], None]) -> Simulator:
    """The system above in a loop with a gain and an integrator, stepping by 0.1 s."""
    builder = DiagramBuilder()
    system, gain, integrator = builder.AddSystem(Everything(hook)), builder.AddSystem(Gain(2.0, 1)), Integrator(1)
    builder.AddSystem(integrator)
    builder.Connect(system.get_output_port(), integrator.get_input_port())
    builder.Connect(integrator.get_output_port(), gain.get_input_port())
    builder.Connect(gain.get_output_port(), system.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.get_mutable_integrator().set_maximum_step_size(0.1)
    simulator.Initialize()
    return simulator


def outcome(simulator: Simulator) -> list[float]:
    context = simulator.get_context()
    return [context.get_time(), *context.get_continuous_state_vector().value(), *context.get_discrete_state(0).value()]


def outcome_and_counts(simulator: Simulator) -> list[float]:
    updates = [simulator.get_num_unrestricted_updates(), simulator.get_num_discrete_updates()]
    return [*outcome(simulator), simulator.get_num_steps_taken(), *updates, simulator.get_num_publishes()]


def test_an_advance_interrupted_in_any_callback_goes_on_as_if_nothing_had_happened() -> None:
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    whole = simulation(count)
    calls = 0
    whole.AdvanceTo(1.0)
    expected, num_calls = outcome(whole), calls
    assert num_calls > 100
    for fatal in range(1, num_calls, 3):
        left = np.inf

        def hook() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

        simulator = simulation(hook)
        left = fatal
        with pytest.raises(KeyboardInterrupt):
            simulator.AdvanceTo(1.0)
        store = simulator.get_context().store
        assert store.computing == 0 and store.stack == []
        left = np.inf
        simulator.AdvanceTo(1.0)
        assert outcome(simulator) == expected, f"interrupted in call {fatal}"
        assert simulator.get_num_steps_taken() == whole.get_num_steps_taken()


def test_an_interrupt_between_the_end_of_a_step_and_its_account_loses_no_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A signal may arrive when the integrator has just returned."""
    log: list[float] = []
    simulator = Simulator(make_ball(framework, 0.8, log=log))
    simulator.set_use_native_plan(False)
    simulator.get_mutable_context().SetContinuousState([1.0, 0.0])
    simulator.Initialize()
    note_end = step_parts.note_end

    def note_or_interrupt(now: Any, time: float, *arguments: Any) -> None:
        if 0.45 < time < 0.46:
            monkeypatch.undo()
            raise KeyboardInterrupt
        note_end(now, time, *arguments)

    monkeypatch.setattr(step_parts, "note_end", note_or_interrupt)
    with pytest.raises(KeyboardInterrupt):
        simulator.AdvanceTo(1.0)
    assert log == []
    simulator.AdvanceTo(1.0)
    assert log == [pytest.approx(np.sqrt(2.0 / 9.81), abs=1e-10)]


def test_an_advance_interrupted_at_any_line_makes_each_update_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal may arrive between any two lines of the loop, also while updates are made."""
    monkeypatch.setenv("MERGANSER_PLAN", "never")  # else all is compiled after some of these advances
    # No advance is so slow that it looks for progress: all have as many lines.
    monkeypatch.setattr(sys.modules[Simulator.__module__], "perf_counter", lambda: 0.0)
    modules = sys.modules[Simulator.__module__], execution, due_events, steps, step_parts
    files = {str(Path(module.__file__ or "")) for module in modules}
    num_lines, fatal = 0, -1

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal num_lines
        if frame.f_code.co_filename not in files or frame.f_code.co_name in _NOT_AT_RISK:
            return None
        if event == "line":
            num_lines += 1
            if num_lines == fatal:
                raise KeyboardInterrupt
        return trace

    def advance(simulator: Simulator) -> None:
        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            simulator.AdvanceTo(0.3)
        finally:
            sys.settrace(previous)

    whole = simulation(lambda: None)
    advance(whole)
    expected, total = outcome_and_counts(whole), num_lines
    assert total > 100
    for fatal in range(1, total):
        simulator, num_lines = simulation(lambda: None), 0
        with pytest.raises(KeyboardInterrupt):
            advance(simulator)
        num_lines = 10 * total
        if simulator.get_context().get_time() < 0.3:  # otherwise the updates of the next advance would be made
            simulator.AdvanceTo(0.3)
        assert outcome_and_counts(simulator) == expected, f"interrupted at line {fatal}"


# What runs before the loop has begun.
_NOT_AT_RISK = {"AdvanceTo"}


class Beginner(LeafSystem):
    """Has initialization events of all kinds, which add to all kinds of state, and an event in every step."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(1)
        self.DeclareDiscreteState(1)
        self.DeclareAbstractState(framework.Value([0]))
        self.DeclareVectorOutputPort("y", 1, self._calc_output)
        self.DeclareInitializationUnrestrictedUpdateEvent(self._begin)
        self.DeclareInitializationDiscreteUpdateEvent(self._count)
        self.DeclareInitializationPublishEvent(self._look)
        self.DeclarePerStepUnrestrictedUpdateEvent(self._begin)

    def _begin(self, context: Any, state: Any) -> None:
        state.get_mutable_continuous_state().get_mutable_vector()[0] += 1.0
        state.get_mutable_abstract_state().get_mutable_value(0).get_mutable_value().append(7)

    def _count(self, context: Any, values: Any) -> None:
        values.set_value(0, values.value(0) + context.get_continuous_state_vector()[0])

    def _look(self, context: Any) -> None:
        self.get_output_port().Eval(context)

    def _calc_output(self, context: Any, output: Any) -> None:
        output.SetFromVector(context.get_discrete_state_vector().value())

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.get_mutable_vector().SetFromVector([0.5])


def beginning() -> tuple[Simulator, list[Any]]:
    """A simulation, not initialized, with two logs that get a sample each at its beginning."""
    builder = DiagramBuilder()
    beginner, gain = builder.AddSystem(Beginner()), builder.AddSystem(Gain(2.0, 1))
    builder.Connect(beginner.get_output_port(), gain.get_input_port())
    logs = [LogVectorOutput(gain.get_output_port(), builder), LogOutput(beginner.get_output_port(), builder)]
    return Simulator(builder.Build()), logs


def state_and_logs(simulator: Simulator, logs: list[Any]) -> list[Any]:
    context = simulator.get_context()
    samples = [(log.FindLog(context).sample_times().tolist(), len(log.FindLog(context).data())) for log in logs]
    boxes = context.get_abstract_state()
    return [*outcome(simulator), boxes.get_value(0).get_value(), samples, logs[0].FindLog(context).data().tolist()]


@pytest.mark.parametrize(
    ("again", "error", "first_line"), [("Initialize", KeyboardInterrupt, 1), ("AdvanceTo", MemoryError, 2)]
)
def test_an_initialization_interrupted_at_any_line_can_be_repeated(
    again: str, error: Any, first_line: int
) -> None:
    files = [sys.modules[kind.__module__].__file__ for kind in (Simulator, VectorLog, AbstractLog, EventSchedule)]
    places = {str(Path(file or "")) for file in [*files, execution.__file__, __file__]}
    num_lines, fatal = 0, -1

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal num_lines
        if frame.f_code.co_filename not in places or frame.f_code.co_name in _RESTORES:
            return None
        if event == "line":
            num_lines += 1
            if num_lines == fatal:
                raise error
        return trace

    def initialize(simulator: Simulator) -> None:
        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            simulator.Initialize()
        finally:
            sys.settrace(previous)

    untouched = state_and_logs(*beginning())
    whole, logs = beginning()
    initialize(whole)
    begun, total = state_and_logs(whole, logs), num_lines
    whole.AdvanceTo(0.25)
    expected = state_and_logs(whole, logs)
    assert total > 100 and untouched != begun != expected
    for fatal in range(first_line, total, 2):
        (simulator, logs), num_lines = beginning(), 0
        with pytest.raises(error):
            initialize(simulator)
        num_lines = 10 * total
        assert state_and_logs(simulator, logs) == untouched, f"line {fatal}"
        if again == "Initialize":
            simulator.Initialize()
            assert state_and_logs(simulator, logs) == begun, f"line {fatal}"
        simulator.AdvanceTo(0.25)
        assert state_and_logs(simulator, logs) == expected, f"line {fatal}"


_RESTORES = {"initialize", "Initialize", "keep_first"}


def test_an_evaluation_interrupted_in_the_cache_leaves_a_usable_context() -> None:
    """Also while a computation ends, after others have recorded what they depend on."""
    file = str(Path(sys.modules[CacheSlot.__module__].__file__ or ""))
    num_lines, fatal = 0, -1

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal num_lines
        if frame.f_code.co_filename != file or frame.f_code.co_name == "return_to":
            return None
        if event == "line":
            num_lines += 1
            if num_lines == fatal:
                raise KeyboardInterrupt
        return trace

    def values_after(context: Any, time: float) -> Any:
        context.SetTime(time)
        context.SetContinuousState([time, 2.0 * time])
        return diagram.EvalTimeDerivatives(context).CopyToVector().tolist()

    def evaluate_traced(fatal_line: int) -> int:
        """Evaluates the derivatives of a system that has learnt nothing yet; returns how many lines that has taken."""
        nonlocal diagram, context, num_lines, fatal
        diagram = simulation(lambda: None).get_system()
        context = diagram.CreateDefaultContext()
        num_lines, fatal = 0, fatal_line
        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            values_after(context, 1.0)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(previous)
        return num_lines

    diagram: Any = None
    context: Any = None
    total = evaluate_traced(-1)
    assert total > 60
    for line in range(1, total):
        evaluate_traced(line)
        store = context.store
        assert store.computing == 0 and store.stack == [] and store.reader is None, f"interrupted at line {line}"
        fresh = diagram.CreateDefaultContext()
        for time in (2.0, 3.0):
            assert values_after(context, time) == values_after(fresh, time), f"interrupted at line {line}"


_NUM_STRIKES = 3  # of each kind


@pytest.mark.parametrize("name", SCENES)
def test_what_comes_after_an_interrupt_is_what_comes_without(name: str) -> None:
    """States to the last bit, counts of steps, updates and publish events, and logs."""
    make, rng = SCENES[name], np.random.default_rng(sorted(SCENES).index(name))
    expected = undisturbed(make)
    num_struck = 0
    for strike in (strike_at_line, strike_by_signal):
        for _ in range(_NUM_STRIKES):
            where, found = strike(make, expected, rng)
            num_struck += bool(where)
            assert not differences(where, found, expected.outcome), f"{where}: {found.counts}"
    assert num_struck >= _NUM_STRIKES
