"""Interrupts while a plan runs or is made do not change the results of the simulation."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import merganser.analysis.plan.callbacks as callbacks_module
import merganser.analysis.plan.plan as plan_module
import merganser.analysis.plan.program as program_module
import merganser.analysis.simulation.simulator as simulator_module
import merganser.framework.native.memory.growing_array as growing_array_module
import merganser.framework.native.operations.assembly as assembly_module
import merganser.framework.native.operations.lowering as lowering_module
from merganser.analysis import BogackiShampine3Integrator, Radau3Integrator, Simulator
from merganser.analysis.progress import SimulationProgress
from merganser.framework import BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.primitives import Gain, LinearSystem, LogVectorOutput, SymbolicVectorSystem, ZeroOrderHold
from merganser.framework.symbolic import Variable
from tests.support.faults import Fault, advance_with

_LOWERING = (program_module, assembly_module, growing_array_module, lowering_module)
_ALL = (*_LOWERING, callbacks_module, plan_module, simulator_module)
_END = 0.249  # where no event is due, since an advance from there makes the updates that an advance to it leaves


class Counter(LeafSystem):
    """Counts in Python, at two rates; its output is read by an update and by a log."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        group = self.DeclareDiscreteState(BasicVector([0.0]))
        self.DeclarePeriodicDiscreteUpdateEvent(0.05, 0.0, self._count)
        self.DeclarePeriodicDiscreteUpdateEvent(0.03, 0.01, self._count)
        self.DeclareStateOutputPort("y", group)
        self.DeclareVectorOutputPort("z", 1, self._calc)

    def _count(self, context: Any, values: Any) -> None:
        values.set_value(0, values.value(0) + 1.0 + 0.1 * self.get_input_port().Eval(context))

    def _calc(self, context: Any, output: Any) -> None:
        output.SetFromVector(2.0 * context.get_discrete_state_vector().value())


def simulation(method: Any = BogackiShampine3Integrator) -> tuple[Simulator, list[Any]]:
    """Continuous and discrete state, compiled and not, at several rates, with logs."""
    builder = DiagramBuilder()
    x, v, u = Variable("x"), Variable("v"), Variable("u")
    oscillator = builder.AddSystem(SymbolicVectorSystem(state=[x, v], input=[u], dynamics=[v, u - 9.0 * x], output=[x]))
    gain, hold = builder.AddSystem(Gain(-0.5, 1)), builder.AddSystem(ZeroOrderHold(0.02, 1))
    counter = builder.AddSystem(Counter())
    builder.Connect(oscillator.get_output_port(), gain.get_input_port())
    builder.Connect(gain.get_output_port(), hold.get_input_port())
    builder.Connect(hold.get_output_port(), oscillator.get_input_port())
    builder.Connect(oscillator.get_output_port(), counter.get_input_port())
    sinks = [
        LogVectorOutput(oscillator.get_output_port(), builder, 0.01),
        LogVectorOutput(counter.GetOutputPort("y"), builder),
        LogVectorOutput(counter.GetOutputPort("z"), builder, 0.03),
    ]
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(True, at_once=True)
    integrator = simulator.reset_integrator(method(simulator.get_system(), simulator.get_context()))
    integrator.set_maximum_step_size(0.02)
    integrator.set_target_accuracy(1e-5)
    context = simulator.get_mutable_context()
    context.SetContinuousState([1.0, 0.0])
    simulator.Initialize()
    return simulator, sinks


def outcome(simulator: Simulator, sinks: list[Any]) -> list[Any]:
    """State, logs and counts of events; those of derivatives differ, as what was cut short is repeated."""
    context = simulator.get_context()
    logs = [sink.FindLog(context) for sink in sinks]
    return [
        context.get_time(),
        context.get_continuous_state_vector().CopyToVector().tolist(),
        [context.get_discrete_state(n).CopyToVector().tolist() for n in range(context.num_discrete_state_groups())],
        [(log.sample_times().tolist(), log.data().tolist()) for log in logs],
        simulator.get_num_steps_taken(),
        simulator.get_num_discrete_updates(),
        simulator.get_integrator().get_num_steps_taken(),
    ]


def is_unfinished(simulator: Simulator) -> bool:
    """Whether anything is left to do; one more advance to where a simulation is would be one more step."""
    return simulator.get_context().get_time() < _END or len(simulator._due.statuses) < len(simulator._due.owed)


def go_on(simulator: Simulator) -> None:
    """Does what is left to do."""
    if is_unfinished(simulator):
        simulator.AdvanceTo(_END)


def calls_in(modules: tuple[ModuleType, ...], method: Any) -> tuple[int, list[Any]]:
    """How often functions of some modules are called, and what comes of the simulation."""
    simulation(method)[0].AdvanceTo(_END)  # what is compiled is compiled without being traced
    fault = Fault(modules)
    simulator, sinks = simulation(method)
    advance_with(fault, simulator, _END)
    assert simulator._plan is not None
    return fault.num_calls, outcome(simulator, sinks)


@pytest.mark.parametrize("method", [BogackiShampine3Integrator, Radau3Integrator])
@pytest.mark.parametrize(
    ("modules", "errors"),
    [(_LOWERING, (MemoryError, OSError)), (_ALL, (KeyboardInterrupt,))],
    ids=["lowering fails", "interrupts"],
)
def test_a_plan_cut_short_in_any_function_goes_on_as_if_nothing_had_happened(
    modules: tuple[ModuleType, ...], errors: tuple[type[BaseException], ...], method: Any
) -> None:
    num_calls, expected = calls_in(modules, method)
    assert num_calls > 500
    rng, num_struck = np.random.default_rng(num_calls), 0
    for number in rng.choice(num_calls, size=60, replace=False) + 1:
        error = errors[number % len(errors)]()
        simulator, sinks = simulation(method)
        try:
            advance_with(Fault(modules, error, number), simulator, _END)
        except type(error):
            num_struck += 1
        go_on(simulator)
        assert outcome(simulator, sinks) == expected, f"{type(error).__name__} in call {number}"
    assert num_struck > 40  # not always: where it takes long the plan looks for signals, which makes some calls more


class Struck(BaseException):
    """The exception of a signal in these tests."""


def test_signals_at_random_moments_change_nothing() -> None:
    def strike(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    simulation()[0].AdvanceTo(_END)  # what has to be compiled or loaded takes no time later
    simulator, sinks = simulation()
    start = time.perf_counter()
    simulator.AdvanceTo(_END)
    duration = time.perf_counter() - start
    expected = outcome(simulator, sinks)
    rng = np.random.default_rng(11)
    previous = signal.signal(signal.SIGALRM, strike)
    num_struck = 0
    try:
        for count in range(600):
            if count >= 60 and num_struck > 30:  # on a busy machine a simulation may be over before it is struck
                break
            simulator, sinks = simulation()
            while is_unfinished(simulator):
                try:
                    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, duration) if num_struck < 90 else 0.0)
                    simulator.AdvanceTo(_END)
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                except KeyboardInterrupt:
                    num_struck += 1
            assert outcome(simulator, sinks) == expected
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
    assert num_struck > 30


@pytest.mark.parametrize("size", [1, 300])
def test_the_compiled_loop_looks_for_signals_all_the_time(size: int) -> None:
    """However long a step takes, or a hundred thousand of them."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(size, size)) - 40.0 * np.eye(size)
    system = LinearSystem(A, np.zeros((size, 0)), np.eye(size), np.zeros((size, 0)))
    simulator = Simulator(system)
    simulator.set_use_native_plan(True, at_once=True)
    integrator = simulator.get_mutable_integrator()
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(1e-7)
    simulator.AdvanceTo(1e-5)
    assert simulator._plan is not None
    times: list[float] = []
    update = SimulationProgress.update

    def note(self: Any, now: float) -> None:
        times.append(time.process_time())
        update(self, now)

    with pytest.MonkeyPatch.context() as patch:
        # Progress is shown where Python looks for signals.
        patch.setattr(SimulationProgress, "update", note)
        previous = signal.signal(signal.SIGALRM, _raise_struck)
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(Struck):
            simulator.AdvanceTo(1e9)
        signal.signal(signal.SIGALRM, previous)
    assert len(times) > 5
    assert max(np.diff(times)) < 0.1


def _raise_struck(number: int, frame: Any) -> None:
    raise Struck


class Late(LeafSystem):
    """A discrete update that reads its input by an output, only after a while, and then calls `hook`."""

    def __init__(self, hook: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._hook = hook
        self.num_calls = 0
        self.DeclareVectorInputPort("u", 1)
        state = self.DeclareDiscreteState(BasicVector([1.0]))
        self.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.0, self._update)
        self.DeclareStateOutputPort("y", state)
        self.DeclareVectorOutputPort("change", 1, self._calc_change)

    def _calc_change(self, context: Any, output: Any) -> None:
        output.SetFromVector(self.get_input_port().Eval(context) if context.get_time() > 0.45 else [1.0])

    def _update(self, context: Any, values: Any) -> None:
        self.num_calls += 1
        values.set_value(0, values.value(0) + self.GetOutputPort("change").Eval(context)[0])
        if context.get_time() > 0.45:
            self._hook()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_updates_of_which_the_last_fails_are_all_made_by_the_next_advance(error: type[BaseException]) -> None:
    """Also where the loop has computed the first of them, and left the others to Python."""

    def states_and_calls(use_plan: bool) -> list[float]:
        failures = [error()]

        def fail_once() -> None:
            if failures:
                raise failures.pop()

        builder = DiagramBuilder()
        first, hold = builder.AddSystem(Late()), builder.AddSystem(ZeroOrderHold(0.1, 1))
        last = builder.AddSystem(Late(fail_once))
        for source, block in ((last, first), (first, hold), (hold, last)):
            builder.Connect(source.get_output_port(0), block.get_input_port())
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(use_plan, at_once=True)
        with pytest.raises(error):
            simulator.AdvanceTo(0.65)
        assert simulator.get_context().get_time() == pytest.approx(0.5)
        simulator.AdvanceTo(0.65)
        states = [simulator.get_context().get_discrete_state(n).value()[0] for n in range(3)]
        return [*states, first.num_calls, last.num_calls]

    assert states_and_calls(True) == states_and_calls(False)
