"""Blocks of expressions, and limits that are inputs, in compiled code: the same as in Python, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, RandomGenerator
from merganser.framework.core.inside import slot_of
from merganser.framework.core.system.random_values import GeneratorBox
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.primitives import LogVectorOutput, Saturation, Sine, SymbolicVectorSystem

sym = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra", exc_type=ImportError)
x, y = sym.Variable("x"), sym.Variable("y")


def outputs(system: Any, u: Any) -> tuple[Any, Any]:
    """The output as Python computes it, and as compiled code does."""
    results = []
    for is_compiled in (False, True):
        context = system.CreateDefaultContext()
        system.get_input_port(0).FixValue(context, u)
        slot = slot_of(system.get_output_port(), context)
        if is_compiled:
            slot.value.SetFromVector(np.full(slot.value.size(), np.nan))
            tape = Tape(context, [slot])
            assert tape.num_operations() == 1
            tape.run()
            results.append(slot.value.CopyToVector())
        else:
            results.append(system.get_output_port().Eval(context))
    return results[0], results[1]


EXPRESSIONS = {
    "sums": lambda: x + 0.1 * y - 3.0 + x * y + 1e-17 * y * y,
    "quotients": lambda: (x - y) / (1.0 + x * x) - 2.0 / (y + 20.0),
    "powers": lambda: sym.pow(x, 3) + sym.sqrt(y * y + 0.5) + sym.pow(sym.abs(x) + 0.1, y),
    "trigonometry": lambda: sym.sin(x) + sym.cos(y) * sym.tan(0.1 * x) + sym.atan2(y, x) + sym.atan(x * y),
    "inverse": lambda: sym.asin(0.1 * x) - sym.acos(0.1 * y),
    "growth": lambda: sym.exp(0.3 * x) + sym.log(sym.abs(y) + 0.5) + sym.sinh(y) - sym.cosh(x) * sym.tanh(x),
    "steps": lambda: sym.floor(x) + 2.0 * sym.ceil(y) + sym.abs(x - y),
    "extremes": lambda: sym.max(x, y) - 3.0 * sym.min(x, sym.sin(y)),
    "choices": lambda: sym.if_then_else(
        sym.logical_and(x < y, sym.logical_not(y > 2.0)), x * y, sym.if_then_else(x >= 1.0, sym.log(x), 2.0 + y)
    ),
    "either": lambda: sym.if_then_else(sym.logical_or(x > 1.0, y <= 0.0), sym.sin(x), sym.sin(x) + sym.cos(y)),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_compiled_expressions_compute_the_same(name: str) -> None:
    expression = EXPRESSIONS[name]()
    system = SymbolicVectorSystem(input=[x, y], output=[expression, 2.0 * expression - x])
    rng = np.random.default_rng(5)
    for u in rng.uniform(-3.0, 3.0, (30, 2)):
        python, compiled = outputs(system, u)
        np.testing.assert_array_equal(compiled, python)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_on_complex_numbers_compiled_expressions_have_values_and_slopes(name: str) -> None:
    """Real parts are those of floats to the last bit, imaginary ones a tiny step times the directional derivative."""
    system = SymbolicVectorSystem(input=[x, y], output=[EXPRESSIONS[name]()])
    context: Any = system._make_context(np.dtype(np.complex128))
    fixed = context.fix_input(0, np.zeros(2))
    slot = slot_of(system.get_output_port(), context)
    tape = Tape(context, [slot])
    assert tape.num_operations() == 1
    rng = np.random.default_rng(5)
    for u in rng.uniform(-3.0, 3.0, (30, 2)):
        direction, h = rng.normal(size=2), 1e-6
        fixed.GetMutableVectorData().SetFromVector(u + 1e-100j * direction)
        tape.run()
        (result,) = slot.value.CopyToVector()
        value, above, below = (outputs(system, u + step * direction)[0].item() for step in (0.0, h, -h))
        assert result.real == value
        assert result.imag / 1e-100 == pytest.approx((above - below) / (2.0 * h), rel=1e-6, abs=1e-7)


def test_slopes_of_powers_at_zero_and_of_constants_are_finite() -> None:
    system = SymbolicVectorSystem(input=[x, y], output=[sym.pow(x, 2) + sym.pow(y, 1.5) + sym.sqrt(2.0 + 0.0 * x)])
    context: Any = system._make_context(np.dtype(np.complex128))
    context.fix_input(0, np.array([1e-100j, 0.0]))
    slot = slot_of(system.get_output_port(), context)
    Tape(context, [slot]).run()
    assert slot.value.CopyToVector() == [np.sqrt(2.0) + 0.0j]


def test_the_arm_that_is_not_chosen_is_not_computed() -> None:
    """It contains log(-1)."""
    system = SymbolicVectorSystem(input=[x, y], output=[sym.if_then_else(x > 0.0, sym.log(x), y)])
    python, compiled = outputs(system, [-1.0, 4.0])
    assert python == compiled == [4.0]


@pytest.mark.parametrize(
    ("expression", "u", "reason"),
    [
        (lambda: 1.0 / x, [0.0, 1.0], "division by zero"),
        (lambda: sym.log(x), [-1.0, 1.0], "log"),
        (lambda: sym.sqrt(x), [-1.0, 1.0], "sqrt"),
        (lambda: x * y, [np.nan, 1.0], "NaN"),
    ],
)
def test_what_is_not_defined_is_said_as_in_python(expression: Any, u: Any, reason: str) -> None:
    system = SymbolicVectorSystem(input=[x, y], output=[expression() + y])
    context = system.CreateDefaultContext()
    system.get_input_port(0).FixValue(context, u)
    messages = []
    for compute in (
        lambda: system.get_output_port().Eval(context),
        Tape(context, [slot_of(system.get_output_port(), context)]).run,
    ):
        with pytest.raises((RuntimeError, ValueError), match=reason) as caught:
            compute()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_simulations_of_expressions_are_left_to_compiled_code() -> None:
    t, p = sym.Variable("t"), sym.Variable("p")
    ends = []
    for is_compiled in (False, True):
        system = SymbolicVectorSystem(t, [x, y], [], [p], [y, p * (1.0 - x * x) * y - x + sym.cos(t)], [x + t])
        builder = DiagramBuilder()
        builder.AddSystem(system)
        log = LogVectorOutput(system.get_output_port(), builder, 0.1)
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(is_compiled, at_once=True)
        context = system.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        context.get_mutable_numeric_parameter(0).SetFromVector([0.7])
        context.SetContinuousState([1.0, 0.5])
        simulator.AdvanceTo(2.0)
        ends.append(log.FindLog(simulator.get_context()).data().copy())
        assert not is_compiled or not simulator._plan._program.num_callbacks
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("connected", [("max",), ("min",), ("max", "min")])
def test_limits_that_are_inputs(connected: Any) -> None:
    system = Saturation(input_size=3)
    context = system.CreateDefaultContext()
    system.get_input_port(0).FixValue(context, [-2.0, 0.1, np.nan])
    if "max" in connected:
        system.get_max_value_port().FixValue(context, [1.0, 0.0, 1.0])
    if "min" in connected:
        system.get_min_value_port().FixValue(context, [-1.0, -0.5, 0.0])
    expected = system.get_output_port().Eval(context)
    slot = slot_of(system.get_output_port(), context)
    system.get_input_port(0).FixValue(context, [-2.0, 0.1, np.nan])
    slot.value.SetFromVector(np.full(3, 7.0))
    tape = Tape(context, [slot])
    assert tape.num_operations() == 1
    tape.run()
    np.testing.assert_array_equal(slot.value.CopyToVector(), expected)


def test_crossed_limits_are_named_in_compiled_simulations_too() -> None:
    builder = DiagramBuilder()
    system = builder.AddNamedSystem("limited", Saturation(input_size=1))
    wave = builder.AddSystem(Sine(1.0, 1.0, 0.0, 1))
    for port in range(3):
        builder.Connect(wave.get_output_port(1 if port == 2 else 0), system.get_input_port(port))
    LogVectorOutput(system.get_output_port(), builder, 0.1)
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(True, at_once=True)
    with pytest.raises(ValueError, match=r"::limited': lower limits must not be above upper ones; element 0"):
        simulator.AdvanceTo(1.0)  # cos(t) at once stands above sin(t)


def test_boxes_of_generators_keep_to_themselves() -> None:
    first, second = GeneratorBox(RandomGenerator(3)), GeneratorBox(RandomGenerator(4))
    second.SetFrom(first)
    assert second.get_value() is not first.get_value()
    words = [first.get_value()() for _ in range(700)]  # more than the generator makes at a time
    assert [second.get_value()() for _ in range(700)] == words
    clone = first.Clone()
    assert isinstance(clone, GeneratorBox)
    assert clone.get_value()() == first.get_value()() == second.get_value()()
    with pytest.raises(TypeError, match="Expected a RandomGenerator, got int"):
        first.set_value(3)
