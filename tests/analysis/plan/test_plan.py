"""The native plan: the same trajectory, logs, events and counts as stepping in Python, to the last bit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merganser.analysis import (
    ApplySimulatorConfig,
    BogackiShampine3Integrator,
    ExplicitEulerIntegrator,
    ExtractSimulatorConfig,
    RungeKutta2Integrator,
    RungeKutta3Integrator,
    RungeKutta5Integrator,
    Simulator,
    SimulatorConfig,
)
from merganser.analysis.plan.plan import Plan
from merganser.framework import BasicVector, DiagramBuilder, EventStatus, LeafSystem
from merganser.framework.primitives import ConstantVectorSource, Gain, Integrator, LogVectorOutput, ZeroOrderHold
from tests.support.random_diagrams import random_diagram

FIXED_STEP = (ExplicitEulerIntegrator, RungeKutta2Integrator)
ERROR_CONTROLLED = (RungeKutta3Integrator, RungeKutta5Integrator, BogackiShampine3Integrator)


def run(use_plan: bool, seed: int, num_blocks: int, is_nested: bool, has_python: bool, ends: list[float]) -> list[Any]:
    """Everything that can be seen of a simulation."""
    rng = np.random.default_rng(seed)
    history: list[Any] = []
    diagram, sinks = random_diagram(rng, num_blocks, history, is_nested, has_python)
    simulator = Simulator(diagram)
    simulator.set_use_native_plan(use_plan, at_once=True)
    context = simulator.get_mutable_context()
    if rng.integers(2):
        simulator.reset_integrator(FIXED_STEP[rng.integers(2)](diagram, 0.02, context))
    else:
        integrator = simulator.reset_integrator(ERROR_CONTROLLED[rng.integers(3)](diagram, context))
        integrator.set_maximum_step_size(0.1)
        integrator.set_target_accuracy(1e-5)
        integrator.set_fixed_step_mode(bool(rng.integers(3) == 0))
    simulator.Initialize()
    failure = None
    try:
        for end in ends:
            simulator.AdvanceTo(end)
    except RuntimeError as error:  # a diagram that is not stable
        failure = str(error)
    state = context.get_state()
    xc = context.get_continuous_state_vector().CopyToVector().tolist()
    seen: list[Any] = [failure, context.get_time(), xc, history]
    discrete = state.get_discrete_state()
    seen.append([discrete.value(group).tolist() for group in range(discrete.num_groups())])
    for sink in sinks:
        log = sink.FindLog(context)
        seen.append((log.sample_times().tolist(), log.data().tolist()))
    seen.append([
        simulator.get_num_steps_taken(), simulator.get_num_discrete_updates(), simulator.get_num_publishes(),
        simulator.get_num_unrestricted_updates(),
    ])  # fmt: skip
    seen.append(repr(simulator.get_integrator().GetStatisticsSummary()))
    if use_plan:
        assert simulator._plan is not None
    return seen


@pytest.mark.filterwarnings("ignore:.*encountered in")
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), num_blocks=st.integers(1, 10), nested=st.booleans(), python=st.booleans())
def test_plan_equals_stepping_in_python_bit_for_bit(seed: int, num_blocks: int, nested: bool, python: bool) -> None:
    arguments = (seed, num_blocks, nested, python, [0.0, 0.31, 0.31, 0.6])
    assert run(True, *arguments) == run(False, *arguments)


# ---------------------------------------------------------------------- what Python has a part in


class Oscillator(LeafSystem):
    """A plain Python oscillator with a sampled output; may raise, fail or do something else at a given time."""

    def __init__(self, where: str = "", action: Callable[[Any], Any] = lambda _: None, time: float = 0.255) -> None:
        super().__init__()
        self._where, self._action, self._time = where, action, time
        self.has_acted = False
        self.DeclareVectorInputPort("u", 1)
        self.DeclareContinuousState(BasicVector([1.0, 0.0]), 1, 1, 0)
        group = self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(0.01, 0.0, self.update)
        self.DeclarePeriodicPublishEvent(0.01, 0.0, self.publish)
        self.DeclareStateOutputPort("sample", group)
        self.DeclareVectorOutputPort("q", 1, self.calc)

    def _act(self, where: str, context: Any) -> Any:
        if where == self._where and not self.has_acted and context.get_time() >= self._time:
            self.has_acted = True
            return self._action(context)
        return None

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        self._act("derivatives", context)
        q, v = context.get_continuous_state_vector().CopyToVector()
        derivatives.SetFromVector([v, -q + self.GetInputPort("u").Eval(context)[0]])

    def update(self, context: Any, discrete_state: Any) -> Any:
        outcome = self._act("update", context)
        discrete_state.set_value(0, [context.get_continuous_state_vector()[0] + discrete_state.value(0)[0]])
        return outcome

    def publish(self, context: Any) -> Any:
        return self._act("publish", context)

    def calc(self, context: Any, output: Any) -> None:
        output.SetFromVector([context.get_continuous_state_vector()[0]])


def simulator_of(use_plan: bool, *arguments: Any) -> tuple[Simulator, Any, Oscillator]:
    """An oscillator in a loop with native blocks, with a log of its output."""
    builder = DiagramBuilder()
    oscillator = builder.AddNamedSystem("oscillator", Oscillator(*arguments))
    gain = builder.AddNamedSystem("gain", Gain(k=-0.5, size=1))
    hold = builder.AddNamedSystem("hold", ZeroOrderHold(0.02, 1))
    builder.Connect(oscillator.GetOutputPort("q"), gain.get_input_port())
    builder.Connect(gain.get_output_port(), hold.get_input_port())
    builder.Connect(hold.get_output_port(), oscillator.get_input_port())
    sink = LogVectorOutput(oscillator.GetOutputPort("q"), builder, 0.01)
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(use_plan, at_once=True)
    return simulator, sink, oscillator


def seen_in(simulator: Simulator, sink: Any) -> list[Any]:
    context, log = simulator.get_context(), sink.FindLog(simulator.get_context())
    return [
        context.get_time(), context.get_continuous_state_vector().CopyToVector().tolist(),
        [context.get_discrete_state(group).CopyToVector().tolist() for group in range(2)],
        log.sample_times().tolist(), log.data().tolist(), simulator.get_num_steps_taken(),
        simulator.get_num_publishes(), simulator.get_num_discrete_updates(),
        repr(simulator.get_integrator().GetStatisticsSummary()),
    ]  # fmt: skip


def fail(error: BaseException) -> Callable[[Any], None]:
    def action(context: Any) -> None:
        raise error

    return action


@pytest.mark.parametrize("where", ["derivatives", "update", "publish"])
@pytest.mark.parametrize("error", [ValueError("out of order"), KeyboardInterrupt()])
def test_after_an_exception_of_a_callback_the_simulation_can_go_on(
    where: str, error: BaseException
) -> None:
    both = []
    for use_plan in (True, False):
        simulator, sink, _ = simulator_of(use_plan, where, fail(error))
        with pytest.raises(type(error)) as caught:
            simulator.AdvanceTo(0.5)
        notes = "\n".join(getattr(caught.value, "__notes__", ()))
        if isinstance(error, ValueError):
            assert "::oscillator'" in notes
        seen = [seen_in(simulator, sink), notes]
        simulator.AdvanceTo(0.5)
        both.append([*seen, seen_in(simulator, sink)])
        error.__notes__ = []
    assert both[0] == both[1]


@pytest.mark.parametrize("where", ["update", "publish"])
@pytest.mark.parametrize("status", [EventStatus.ReachedTermination, EventStatus.Failed])
def test_status_of_a_handler_ends_the_simulation_in_the_same_way(where: str, status: Any) -> None:
    both = []
    for use_plan in (True, False):
        simulator, sink, _ = simulator_of(use_plan, where, lambda context: status(None, "enough"))
        try:
            outcome = simulator.AdvanceTo(0.5).FormatMessage()
        except RuntimeError as error:
            outcome = str(error)
        assert "enough" in outcome
        both.append([outcome, seen_in(simulator, sink)])
    assert both[0] == both[1]


def test_log_that_a_handler_clears_goes_on_from_there() -> None:
    both = []
    for use_plan in (True, False):
        sinks: list[Any] = []
        simulator, sink, _ = simulator_of(
            use_plan, "publish", lambda context, s=sinks: s[0].FindMutableLog(s[1]).Clear(), 0.3
        )
        sinks += [sink, simulator.get_mutable_context()]
        simulator.AdvanceTo(0.6)
        both.append(seen_in(simulator, sink))
    assert both[0] == both[1]
    assert both[0][3][0] > 0.29


def test_input_that_a_handler_fixes_is_heeded() -> None:
    both = []
    for use_plan in (True, False):
        found: list[Any] = []

        def fix(context: Any, found: list[Any] = found) -> None:
            simulator, oscillator = found
            root = simulator.get_mutable_context()
            oscillator.get_input_port().FixValue(oscillator.GetMyMutableContextFromRoot(root), [2.0])

        simulator, sink, oscillator = simulator_of(use_plan, "publish", fix)
        found += [simulator, oscillator]
        simulator.AdvanceTo(0.6)
        both.append(seen_in(simulator, sink))
    assert both[0] == both[1]


class ReadsTimeLater(LeafSystem):
    """Depends on time only once that has come so far."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareVectorOutputPort("y", 1, self.calc)

    def calc(self, context: Any, output: Any) -> None:
        u = self.get_input_port().Eval(context)[0]
        output.SetFromVector([u if u < 0.45 else u + context.get_time()])


def test_dependency_that_shows_late_is_heeded() -> None:
    both = []
    for use_plan in (True, False):
        builder = DiagramBuilder()
        clock, late = builder.AddSystem(Integrator([0.0])), builder.AddSystem(ReadsTimeLater())
        gain, total = builder.AddSystem(Gain(k=1.0, size=1)), builder.AddSystem(Integrator(1))
        hold = builder.AddSystem(ZeroOrderHold(0.1, 1))
        builder.Connect(builder.AddSystem(ConstantVectorSource([1.0])).get_output_port(), clock.get_input_port())
        builder.Connect(clock.get_output_port(), hold.get_input_port())
        builder.Connect(hold.get_output_port(), late.get_input_port())
        builder.Connect(late.get_output_port(), gain.get_input_port())
        builder.Connect(gain.get_output_port(), total.get_input_port())
        diagram = builder.Build()
        simulator = Simulator(diagram)
        simulator.set_use_native_plan(use_plan, at_once=True)
        simulator.AdvanceTo(1.0)
        both.append(simulator.get_context().get_continuous_state_vector().CopyToVector().tolist())
    assert both[0] == both[1]
    held = np.floor(np.linspace(0.0, 0.9999, 100001) / 0.1 + 1e-9) * 0.1
    expected = np.trapezoid(held + np.where(held > 0.45, np.linspace(0.0, 0.9999, 100001), 0.0), dx=0.9999e-5)
    assert both[0][1] == pytest.approx(expected, abs=1e-3)


def test_monitor_is_called_after_every_step() -> None:
    both = []
    for use_plan in (True, False):
        simulator, sink, _ = simulator_of(use_plan)
        calls: list[Any] = []

        def monitor(context: Any, calls: list[Any] = calls, simulator: Simulator = simulator) -> Any:
            calls.append((context.get_time(), *context.get_continuous_state_vector().CopyToVector()))
            calls.append(simulator.get_num_steps_taken())
            return EventStatus.ReachedTermination(None, "far") if context.get_time() > 0.4 else EventStatus.DidNothing()

        simulator.set_monitor(monitor)
        both.append([simulator.AdvanceTo(0.6).FormatMessage(), calls, seen_in(simulator, sink)])
    assert both[0] == both[1]


def test_logs_grow_beyond_their_capacity() -> None:
    simulator, sink, _ = simulator_of(True)
    simulator.AdvanceTo(25.0)
    log = sink.FindLog(simulator.get_context())
    assert log.num_samples() == 2501
    assert np.allclose(log.sample_times(), 0.01 * np.arange(2501), atol=1e-9)


def test_config_can_forbid_the_plan() -> None:
    simulator, _, _ = simulator_of(True)
    ApplySimulatorConfig(SimulatorConfig(use_native_plan=False), simulator)
    assert not ExtractSimulatorConfig(simulator).use_native_plan
    simulator.AdvanceTo(0.1)
    assert simulator._plan is None


def test_cache_that_is_disabled_is_not_bypassed() -> None:
    simulator, _, _ = simulator_of(True)
    context = simulator.get_mutable_context()
    context.DisableCaching()
    simulator.AdvanceTo(0.3)
    expected, _, _ = simulator_of(False)
    expected.AdvanceTo(0.3)
    x = expected.get_context().get_continuous_state_vector().CopyToVector()
    assert context.get_continuous_state_vector().CopyToVector().tolist() == x.tolist()


def test_other_states_parameters_and_times_compile_nothing() -> None:
    from merganser.analysis.plan.loop import advance

    simulator, _, _ = simulator_of(True)
    simulator.AdvanceTo(0.1)
    program, compiled = simulator._plan._program, len(advance.codes)  # type: ignore[union-attr]
    simulator.get_mutable_context().SetTimeAndContinuousState(1.0, [3.0, -1.0])
    simulator.Initialize()
    simulator.AdvanceTo(1.3)
    assert simulator._plan._program is program and len(advance.codes) == compiled  # type: ignore[union-attr]


def test_other_threads_run_while_the_compiled_loop_does(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = DiagramBuilder()
    integrator, gain = builder.AddSystem(Integrator([1.0])), builder.AddSystem(Gain(k=-1.0, size=1))
    builder.Connect(integrator.get_output_port(), gain.get_input_port())
    builder.Connect(gain.get_output_port(), integrator.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(True, at_once=True)
    method = simulator.get_mutable_integrator()
    method.set_fixed_step_mode(True)
    method.set_maximum_step_size(1e-6)
    simulator.AdvanceTo(1e-3)
    assert simulator._plan is not None
    # The loop would let others run where it looks for signals: it does not look.
    monkeypatch.setattr(Plan, "_begin_slice", lambda plan: setattr(plan._patience, "passes_left", 1 << 60))
    thread = threading.Thread(target=simulator.AdvanceTo, args=(5.0,))
    start = last = time.perf_counter()
    thread.start()
    longest_wait = 0.0
    while thread.is_alive():
        now = time.perf_counter()
        longest_wait, last = max(longest_wait, now - last), now
    assert simulator.get_context().get_time() == 5.0
    assert longest_wait < 0.5 * (last - start)  # with the lock held it would be all of it


@pytest.mark.parametrize(("method", "new"), [(BogackiShampine3Integrator, 3), (RungeKutta5Integrator, 6)])
@pytest.mark.parametrize("use", ["the plan", "compiled steps", "Python"])
def test_the_last_stage_serves_the_next_step_unless_derivatives_change(
    method: Any, new: int, use: str
) -> None:
    def evaluations_of(period: float | None) -> tuple[int, int]:
        builder = DiagramBuilder()
        integrator, gain = builder.AddSystem(Integrator([1.0])), builder.AddSystem(Gain(k=-1.0, size=1))
        builder.Connect(integrator.get_output_port(), gain.get_input_port())
        if period is None:
            builder.Connect(gain.get_output_port(), integrator.get_input_port())
        else:
            hold = builder.AddSystem(ZeroOrderHold(period, 1))
            builder.Connect(gain.get_output_port(), hold.get_input_port())
            builder.Connect(hold.get_output_port(), integrator.get_input_port())
        LogVectorOutput(gain.get_output_port(), builder, 0.1)
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(use == "the plan", at_once=True)
        context = simulator.get_mutable_context()
        integration = simulator.reset_integrator(method(simulator.get_system(), context))
        integration.set_fixed_step_mode(True)
        integration.set_maximum_step_size(0.0625)
        if use == "compiled steps":
            context.derivative_evaluator().lower()
        else:
            context.derivative_evaluator().uses_tape = False
        for end in (0.25, 0.7, 0.7, 1.1, 2.0):
            simulator.AdvanceTo(end)
        return integration.get_num_derivative_evaluations(), integration.get_num_steps_taken()

    count, steps = evaluations_of(None)
    assert steps > 32 and count == new * steps + 1
    count, steps = evaluations_of(0.5)  # four updates, the first one before the first step
    assert count == new * steps + 4
