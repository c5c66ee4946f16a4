"""Witness functions in the compiled loop: nothing differs from steps in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bouncing_ball import make_ball

import merganser.analysis.plan.callbacks as callbacks_module
import merganser.analysis.plan.plan as plan_module
import merganser.analysis.simulation.simulator as simulator_module
import merganser.analysis.simulation.witness_isolation as isolation_module
import merganser.framework as framework
from merganser.analysis import RungeKutta5Integrator, Simulator, SimulatorStatus
from merganser.framework import (
    DiagramBuilder,
    DiscreteUpdateEvent,
    LeafSystem,
    PublishEvent,
    UnrestrictedUpdateEvent,
    WitnessFunctionDirection,
)
from merganser.framework.primitives import Gain, Integrator, LogVectorOutput, Sine, ZeroOrderHold
from tests.support.faults import Fault, advance_with

FALLS, RISES = WitnessFunctionDirection.kPositiveThenNonPositive, WitnessFunctionDirection.kNegativeThenNonNegative
CROSSES = WitnessFunctionDirection.kCrossesZero
EVENTS = {"publish": PublishEvent, "discrete": DiscreteUpdateEvent, "unrestricted": UnrestrictedUpdateEvent}


class Thermostat(LeafSystem):
    """y is 1 or -1: it changes where the input comes to 0.3 from below, or to -0.2 from above; a third one looks on.

    Which functions count depends on the state, and each has an event of its own kind.
    """

    def __init__(self, kinds: tuple[str, ...], history: list[Any]) -> None:
        super().__init__()
        self._history = history
        u = self.DeclareVectorInputPort("u", 1)
        self.DeclareStateOutputPort("y", self.DeclareDiscreteState(1))
        self.DeclareInitializationDiscreteUpdateEvent(lambda context, values: values.set_value(0, [1.0]))
        self.DeclarePeriodicPublishEvent(0.13, 0.0, lambda context: self._note("clock", context))
        self.DeclarePerStepPublishEvent(lambda context: self._note("step", context))
        levels = {"warm": (0.3, RISES), "cold": (-0.2, FALLS), "zero": (0.0, CROSSES)}
        self._functions = {
            name: self.MakeWitnessFunction(
                name, direction, lambda context, level=level: u.Eval(context)[0] - level, self._event(name, kind)
            )
            for (name, (level, direction)), kind in zip(levels.items(), kinds)
        }

    def _event(self, name: str, kind: str) -> Any:
        def happen(context: Any, event: Any, changes: Any = None) -> None:
            if kind == "publish":
                self._note(name, context)
            elif kind == "discrete":
                changes.set_value(0, -context.get_discrete_state_vector().value())
            else:
                changes.get_mutable_discrete_state().set_value(0, -context.get_discrete_state_vector().value())

        return EVENTS[kind](happen)

    def _note(self, name: str, context: Any) -> None:
        y = context.get_discrete_state_vector()[0]
        self._history.append((name, context.get_time(), self.get_input_port().Eval(context)[0], y))

    def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
        names = ("warm", "zero") if context.get_discrete_state_vector()[0] > 0.0 else ("zero", "cold")
        return [self._functions[name] for name in names]


def simulation(
    use_plan: bool, kinds: tuple[str, ...] = ("discrete", "unrestricted", "publish"), method: Any = None
) -> tuple[Simulator, list[Any], list[Any]]:
    """A thermostat, deep inside, a ball that bounces, compiled and sampled blocks, and logs."""
    history: list[Any] = []
    inner = DiagramBuilder()
    thermostat = inner.AddSystem(Thermostat(kinds, history))
    inner.ExportInput(thermostat.get_input_port(), "u")
    inner.ExportOutput(thermostat.get_output_port(), "y")
    builder = DiagramBuilder()
    wave, gain, room = builder.AddSystem(Sine(0.2, 9.0, 0.1, 1)), builder.AddSystem(Gain(1.5, 1)), Integrator(1)
    builder.AddSystem(room)
    control, hold = builder.AddSystem(inner.Build()), builder.AddSystem(ZeroOrderHold(0.05, 1))
    builder.AddSystem(make_ball(framework, 0.7, log=history))
    builder.Cascade(control, gain)
    builder.Cascade(gain, room)
    builder.Cascade(room, control)
    builder.Connect(wave.get_output_port(0), hold.get_input_port())
    logs = [LogVectorOutput(block.get_output_port(), builder, 0.02) for block in (room, hold, control)]
    logs.append(LogVectorOutput(room.get_output_port(), builder))
    simulator = Simulator(builder.Build())
    context = simulator.get_mutable_context()
    if method is not None:
        simulator.reset_integrator(method(simulator.get_system(), context)).set_target_accuracy(1e-6)
    simulator.get_mutable_integrator().set_maximum_step_size(0.05)
    x = context.get_mutable_continuous_state_vector()
    x.SetFromVector([-0.1, 1.0, 0.0])
    simulator.set_use_native_plan(use_plan, at_once=use_plan)
    simulator.Initialize()
    return simulator, logs, history


def outcome(simulator: Simulator, logs: list[Any], history: list[Any]) -> list[Any]:
    context = simulator.get_context()
    found = [log.FindLog(context) for log in logs]
    return [
        context.get_time(),
        context.get_continuous_state_vector().value().tolist(),
        [context.get_discrete_state(n).value().tolist() for n in range(context.num_discrete_state_groups())],
        [(log.sample_times().tolist(), log.data().tolist()) for log in found],
        history,
        simulator.get_num_steps_taken(),
        simulator.get_num_publishes(),
        simulator.get_num_discrete_updates(),
        simulator.get_num_unrestricted_updates(),
        simulator.get_integrator().get_num_steps_taken(),
    ]


@pytest.mark.parametrize("method", [None, RungeKutta5Integrator])
@pytest.mark.parametrize(
    "kinds", [("discrete", "discrete", "publish"), ("unrestricted", "discrete", "unrestricted"), ("publish",) * 3]
)
def test_witness_functions_in_the_loop_equal_those_in_python_bit_for_bit(kinds: tuple[str, ...], method: Any) -> None:
    outcomes = []
    for use_plan in (False, True):
        parts = simulation(use_plan, kinds, method)
        for end in (0.35, 0.35, 1.9):
            parts[0].AdvanceTo(end)
        outcomes.append([*outcome(*parts), parts[0].get_integrator().get_num_derivative_evaluations()])
    assert outcomes[0] == outcomes[1]
    names = {item[0] for item in outcomes[0][4] if isinstance(item, tuple)}
    assert names >= {"step", "clock"} and (names & {"zero", "warm"} or kinds[0] != "publish")
    assert parts[0].get_num_discrete_updates() + parts[0].get_num_unrestricted_updates() > 3
    assert len([item for item in outcomes[0][4] if isinstance(item, float)]) > 2  # bounces


def test_no_step_is_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    num_left = 0
    original = simulator_module.take_step

    def counted(*arguments: Any) -> int:
        nonlocal num_left
        num_left += 1
        return original(*arguments)

    simulator, *_ = simulation(True, ("discrete", "discrete", "publish"))
    simulator.Initialize()
    monkeypatch.setattr(simulator_module, "take_step", counted)
    simulator.AdvanceTo(1.9)
    assert num_left == 0 < simulator.get_num_unrestricted_updates()


@pytest.mark.parametrize("restitution", [0.3, 0.8])
def test_triggers_without_end_stop_both_at_the_same_time(restitution: float) -> None:
    outcomes = []
    for use_plan in (False, True):
        log: list[float] = []
        simulator = Simulator(make_ball(framework, restitution, log=log))
        simulator.get_mutable_context().SetContinuousState([1.0, 0.0])
        simulator.set_use_native_plan(use_plan, at_once=use_plan)
        statuses = [simulator.AdvanceTo(20.0) for _ in range(2)]
        assert statuses[0].reason() is SimulatorStatus.ReturnReason.kZenoBehavior
        seen = [(status.reason(), status.return_time(), status.FormatMessage()) for status in statuses]
        x = simulator.get_context().get_continuous_state_vector().value().tolist()
        outcomes.append([seen, log, x, simulator.get_num_steps_taken()])
    assert outcomes[0] == outcomes[1]


class Fails(LeafSystem):
    """dx/dt = 1, with a witness function that cannot be computed after some time."""

    def __init__(self, fail: Callable[[], float]) -> None:
        super().__init__()
        self.DeclareContinuousState(1)
        self._fail = fail
        self._witness = self.MakeWitnessFunction("w", CROSSES, self._calc, None)

    def _calc(self, context: Any) -> float:
        return self._fail() if context.get_time() > 0.33 else -1.0

    def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
        return [self._witness]

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.get_mutable_vector().SetFromVector([1.0])


@pytest.mark.parametrize("fail", [lambda: 1 / 0, lambda: float("nan"), lambda: "one"])
def test_a_witness_function_that_fails_says_the_same_and_leaves_the_same(fail: Callable[[], float]) -> None:
    outcomes = []
    for use_plan in (False, True):
        simulator = Simulator(Fails(fail))
        simulator.set_use_native_plan(use_plan, at_once=use_plan)
        simulator.get_mutable_integrator().set_maximum_step_size(0.1)
        with pytest.raises((ZeroDivisionError, RuntimeError, TypeError)) as caught:
            simulator.AdvanceTo(1.0)
        context = simulator.get_context()
        notes = getattr(caught.value, "__notes__", [])
        x = context.get_continuous_state_vector()[0]
        outcomes.append([str(caught.value), notes, context.get_time(), x, simulator.get_num_steps_taken()])
    assert outcomes[0] == outcomes[1] and "'w' of system '::" in str(outcomes[0])


def interruptible() -> tuple[Simulator, list[Any], list[Any]]:
    """With fixed steps: what has been learnt about their size in a step that is undone changes the next one."""
    simulator, logs, history = simulation(True)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    return simulator, logs, history


def test_an_interrupt_in_any_function_changes_nothing_that_is_watched() -> None:
    end = 0.62  # where no clock strikes, after events of all kinds
    modules = (callbacks_module, plan_module, simulator_module, isolation_module)
    interruptible()[0].AdvanceTo(end)
    fault, parts = Fault(modules), interruptible()
    advance_with(fault, parts[0], end)
    expected, num_calls = outcome(*parts), fault.num_calls
    assert num_calls > 1000 and parts[0].get_num_discrete_updates() > 2
    # Not in the last step: an advance to where a simulation is would be one more.
    for number in np.random.default_rng(5).choice(int(0.95 * num_calls), size=25, replace=False) + 1:
        simulator, logs, history = interruptible()
        with pytest.raises(KeyboardInterrupt):
            advance_with(Fault(modules, KeyboardInterrupt(), number), simulator, end)
        due = simulator._due
        if simulator.get_context().get_time() < end or len(due.statuses) < len(due.owed):
            simulator.AdvanceTo(end)
        found = outcome(simulator, logs, history)
        assert found[:-1] == expected[:-1], f"interrupted in call {number}"  # steps of the integrator may be repeated


def test_an_interrupt_before_a_watched_step_is_noted_leaves_no_stale_derivatives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end, note, num_calls, struck = 1.249, plan_module.Plan.note_what_is_known, 0, -1

    def note_or_be_struck(plan: plan_module.Plan) -> None:
        nonlocal num_calls
        num_calls += 1
        if num_calls == struck:
            raise KeyboardInterrupt
        note(plan)

    def bounce() -> Simulator:
        simulator = Simulator(make_ball(framework, 0.8))
        simulator.get_mutable_context().SetContinuousState([1.0, 0.0])
        simulator.set_use_native_plan(True, at_once=True)
        return simulator

    monkeypatch.setattr(plan_module.Plan, "note_what_is_known", note_or_be_struck)
    undisturbed = bounce()
    undisturbed.AdvanceTo(end)
    expected = outcome(undisturbed, [], [])
    assert num_calls > 10
    for struck in range(1, num_calls):  # an advance from the end, where the last one is, would be one step more
        simulator, num_calls = bounce(), 0
        with pytest.raises(KeyboardInterrupt):
            simulator.AdvanceTo(end)
        simulator.AdvanceTo(end)
        assert outcome(simulator, [], []) == expected, f"struck before note {struck}"
