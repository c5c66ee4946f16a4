"""Compiled operations that cannot do their work: the same error as in Python, and nothing uses their results."""

from __future__ import annotations

from typing import Any

import pytest

import merganser.framework.symbolic as sym
from merganser.analysis import (
    BogackiShampine3Integrator,
    ExplicitEulerIntegrator,
    Radau3Integrator,
    RungeKutta3Integrator,
    Simulator,
)
from merganser.framework import Diagram, DiagramBuilder, LeafSystem
from merganser.framework.primitives import Integrator, LogVectorOutput, Saturation, Sine, SymbolicVectorSystem

METHODS = {
    "Euler": lambda system, context: ExplicitEulerIntegrator(system, 0.01, context),
    "RK3": RungeKutta3Integrator,
    "Bogacki-Shampine": BogackiShampine3Integrator,
    "Radau": Radau3Integrator,
}


def diagram(has_state: bool, builder: DiagramBuilder | None = None) -> tuple[Diagram, Any]:
    """Limits that cross at time pi / 4: the upper one is cos(t), the lower one is sin(t)."""
    builder = DiagramBuilder() if builder is None else builder
    limited = builder.AddNamedSystem("limited", Saturation(input_size=1))
    wave = builder.AddSystem(Sine(1.0, 1.0, 0.0, 1))
    builder.Connect(wave.get_output_port(0), limited.get_input_port(0))
    builder.Connect(wave.get_output_port(1), limited.get_max_value_port())
    builder.Connect(wave.get_output_port(0), limited.get_min_value_port())
    if has_state:
        integrator = builder.AddSystem(Integrator(1))
        builder.Connect(limited.get_output_port(), integrator.get_input_port())
        sink = LogVectorOutput(integrator.get_output_port(), builder, 0.1)
    else:
        sink = LogVectorOutput(limited.get_output_port(), builder, 0.1)
    return builder.Build(), sink


def seen_in(simulator: Simulator, sink: Any) -> list[Any]:
    context = simulator.get_context()
    log = sink.FindLog(context)
    state = context.get_continuous_state_vector().CopyToVector().tolist()
    return [context.get_time(), state, log.sample_times().tolist(), log.data().tolist(), simulator.get_num_publishes()]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("use", ["the plan", "compiled steps", "Python"])
def test_a_step_with_an_operation_that_fails_is_not_taken(name: str, use: str) -> None:
    system, sink = diagram(has_state=True)
    simulator = Simulator(system)
    simulator.set_use_native_plan(use == "the plan", at_once=True)
    method = simulator.reset_integrator(METHODS[name](system, simulator.get_context()))
    method.set_maximum_step_size(0.01)
    simulator.Initialize()
    evaluator = simulator.get_context().derivative_evaluator()
    evaluator.uses_tape = use == "compiled steps"
    if evaluator.uses_tape:
        evaluator.lower()
        assert evaluator.operations() is not None
    with pytest.raises(ValueError, match="::limited': lower limits must not be above upper ones"):
        simulator.AdvanceTo(1.0)
    assert 0.76 < simulator.get_context().get_time() < 0.7901  # Euler only looks at the start of a step
    before = seen_in(simulator, sink)
    with pytest.raises(ValueError, match="::limited'"):
        simulator.AdvanceTo(1.0)
    assert seen_in(simulator, sink) == before
    if name != "Euler":
        simulator.set_use_native_plan(False)
        simulator.AdvanceTo(before[0] + 1e-6)  # it can still be advanced as far as that goes


@pytest.mark.parametrize("has_python_before", [False, True])
def test_nothing_is_logged_that_could_not_be_computed(has_python_before: bool) -> None:
    both = []
    for use_plan in (True, False):
        builder = DiagramBuilder()
        if has_python_before:
            builder.AddSystem(Publisher(calls := []))
        system, sink = diagram(False, builder)
        simulator = Simulator(system)
        simulator.set_use_native_plan(use_plan, at_once=True)
        with pytest.raises(ValueError, match="::limited': lower limits must not be above upper ones"):
            simulator.AdvanceTo(2.0)
        both.append([seen_in(simulator, sink), list(calls) if has_python_before else []])
        assert simulator.get_context().get_time() == pytest.approx(0.8)
        assert both[-1][0][2][-1] == pytest.approx(0.7)
    assert both[0] == both[1]


class Publisher(LeafSystem):
    def __init__(self, calls: list[float]) -> None:
        super().__init__()
        self._calls = calls
        self.DeclarePeriodicPublishEvent(0.1, 0.0, self._publish)

    def _publish(self, context: Any) -> None:
        self._calls.append(context.get_time())


class Doubler(LeafSystem):
    """In Python; refuses what no limit lets through."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareVectorOutputPort("y", 1, self._calc)
        self.last = 0.0

    def _calc(self, context: Any, output: Any) -> None:
        self.last = self.get_input_port().Eval(context)[0]
        output.SetFromVector([2.0 * self.last])


def test_python_blocks_never_see_what_an_operation_has_not_computed() -> None:
    builder = DiagramBuilder()
    x = sym.Variable("x")
    integrator = builder.AddSystem(Integrator([1.0]))
    logarithm = builder.AddNamedSystem("logarithm", SymbolicVectorSystem(input=[x], output=[sym.log(x)]))
    doubler = builder.AddSystem(Doubler())
    negative = builder.AddSystem(SymbolicVectorSystem(input=[x], output=[-1.0 - 0.0 * x]))
    second = builder.AddSystem(Integrator(1))
    builder.Connect(integrator.get_output_port(), negative.get_input_port())
    builder.Connect(negative.get_output_port(), integrator.get_input_port())
    builder.Connect(integrator.get_output_port(), logarithm.get_input_port())
    builder.Connect(logarithm.get_output_port(), doubler.get_input_port())
    builder.Connect(doubler.get_output_port(), second.get_input_port())
    system = builder.Build()
    seen = []
    for use_plan in (True, False):
        simulator = Simulator(system)
        simulator.set_use_native_plan(use_plan, at_once=True)
        simulator.get_mutable_integrator().set_fixed_step_mode(True)
        with pytest.raises((RuntimeError, ValueError)) as caught:
            simulator.AdvanceTo(2.0)
        seen.append([doubler.last, simulator.get_context().get_time(), str(caught.value)])
    assert seen[0] == seen[1]
