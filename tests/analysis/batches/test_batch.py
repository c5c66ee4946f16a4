"""Batches give what single evaluations give."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from merganser.analysis import BatchEvalTimeDerivatives, BatchEvalUniquePeriodicDiscreteUpdate
from merganser.framework import DiagramBuilder, InputPortSelection, LeafSystem
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue
from merganser.framework.native import native
from merganser.framework.primitives import LinearSystem, WrapToSystem
from merganser.framework.symbolic import Evaluate, Expression, Variable

RANDOM = np.random.default_rng(1)
A, B = RANDOM.normal(size=(2, 2)), RANDOM.normal(size=(2, 1))
X, U, T = RANDOM.normal(size=(2, 7)), RANDOM.normal(size=(1, 7)), np.linspace(0.0, 1.0, 7)


def system(period: float = 0.0) -> tuple[LinearSystem, Any]:
    made = LinearSystem(A, B, np.eye(2), np.zeros((2, 1)), period)
    return made, made.CreateDefaultContext()


@pytest.mark.parametrize("parallelize", [False, True, 3])
def test_derivatives_and_updates_are_those_of_the_equations(parallelize: Any) -> None:
    rates = BatchEvalTimeDerivatives(*system(), T, X, U, parallelize=parallelize)
    np.testing.assert_allclose(rates, A @ X + B @ U, atol=1e-14)
    after = BatchEvalUniquePeriodicDiscreteUpdate(*system(0.1), T[None], X, U, 3, parallelize=parallelize)
    expected = X
    for _ in range(3):
        expected = A @ expected + B @ U
    np.testing.assert_allclose(after, expected, atol=1e-13)


@pytest.mark.parametrize("scalar", [AutoDiffXd, Expression])
def test_batches_of_other_scalars_are_those_of_the_equations(scalar: Any) -> None:
    factor = Variable("v") if scalar is Expression else AutoDiffXd(2.0, [1.0])
    for evaluate, period in ((BatchEvalTimeDerivatives, 0.0), (BatchEvalUniquePeriodicDiscreteUpdate, 0.1)):
        other = system(period)[0].ToScalarType[scalar]()
        rates = evaluate(other, other.CreateDefaultContext(), T, X * factor, U)
        assert rates.shape == X.shape and all(isinstance(rate, scalar) for rate in rates.ravel())
        if scalar is Expression:
            np.testing.assert_allclose(Evaluate(rates, {factor: 2.0}), 2.0 * A @ X + B @ U, atol=1e-13)
        else:
            np.testing.assert_allclose(ExtractValue(rates), 2.0 * A @ X + B @ U, atol=1e-13)
            np.testing.assert_allclose(ExtractGradient(rates.reshape(-1, 1)).ravel(), (A @ X).ravel(), atol=1e-13)


class Clock(LeafSystem):
    """xdot = t."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(1)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector([context.get_time()])


def test_times_count_and_the_context_stays_as_it_was() -> None:
    clock = Clock()
    context = clock.CreateDefaultContext()
    context.SetTime(9.0)
    rates = BatchEvalTimeDerivatives(clock, context, T, np.zeros((1, 7)), np.zeros((0, 7)))
    np.testing.assert_array_equal(rates, T[None])
    assert context.get_time() == 9.0


def test_fixed_inputs_hold_where_no_port_is_chosen() -> None:
    made, context = system()
    made.get_input_port().FixValue(context, [2.0])
    none = InputPortSelection.kNoInput
    rates = BatchEvalTimeDerivatives(made, context, T, X, np.zeros((0, 0)), none)
    np.testing.assert_allclose(rates, A @ X + 2.0 * B, atol=1e-14)


def damped(block: Any, period: float = 0.0) -> Any:
    """A LinearSystem whose input goes through a block, as a Diagram."""
    builder = DiagramBuilder()
    linear = builder.AddSystem(LinearSystem(A, B, np.eye(2), np.zeros((2, 1)), period))
    builder.AddSystem(block)
    builder.Connect(block.get_output_port(), linear.get_input_port())
    builder.ExportInput(block.get_input_port(), "u")
    return builder.Build()


def wrapping() -> WrapToSystem:
    block = WrapToSystem(1)
    block.set_interval(0, -0.5, 0.5)
    return block


MANY = 300
_random = np.random.default_rng(2)
MANY_X, MANY_U, MANY_T = _random.normal(size=(2, MANY)), _random.normal(size=(1, MANY)), np.linspace(0.0, 1.0, MANY)


@pytest.fixture
def _compiled(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As if the compiled loop had been loaded before; counts the columns that it computes."""
    tapes = pytest.importorskip("merganser.analysis.plan.model_tape")
    counts, run = [], tapes.ModelTape.run

    def counting(self: Any, *arguments: Any) -> int:
        counts.append(run(self, *arguments))
        return counts[-1]

    monkeypatch.setattr(tapes.ModelTape, "run", counting)
    return counts


@pytest.mark.parametrize("num_time_steps", [None, 1, 3])
@pytest.mark.parametrize("make", [lambda period: system(period)[0], lambda period: damped(wrapping(), period)])
def test_compiled_columns_are_those_of_callbacks_to_the_last_bit(
    make: Any, num_time_steps: int | None, _compiled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(0.0 if num_time_steps is None else 0.1)
    every_second = np.repeat(MANY_T, 2)[::2]  # arrays need not be contiguous
    arguments: Any = (made, made.CreateDefaultContext(), every_second, MANY_X, MANY_U)
    if num_time_steps is None:
        found = [BatchEvalTimeDerivatives(*arguments) for _ in range(2)]
    else:
        found = [BatchEvalUniquePeriodicDiscreteUpdate(*arguments, num_time_steps) for _ in range(2)]
    assert sum(_compiled) > 1.9 * MANY
    monkeypatch.setattr("merganser.analysis.batches.batch.may_compile", lambda: False)
    arguments = (made, made.CreateDefaultContext(), *arguments[2:])  # nothing is compiled for this context
    if num_time_steps is None:
        expected = BatchEvalTimeDerivatives(*arguments)
    else:
        expected = BatchEvalUniquePeriodicDiscreteUpdate(*arguments, num_time_steps)
    assert sum(_compiled) < 2.1 * MANY
    for result in found:
        np.testing.assert_array_equal(result, expected)


class Cubed(LeafSystem):
    """y = u^3, in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareVectorOutputPort("y", 1, lambda c, y: y.SetFromVector(self.get_input_port().Eval(c) ** 3))


def test_what_is_left_to_python_is_computed_there(_compiled: list[int]) -> None:
    made = damped(Cubed())
    rates = BatchEvalTimeDerivatives(made, made.CreateDefaultContext(), MANY_T, MANY_X, MANY_U)
    np.testing.assert_allclose(rates, A @ MANY_X + B @ MANY_U**3, atol=1e-13)
    assert _compiled == []


def test_what_is_left_to_python_is_tried_in_compiled_code_ever_less_often(
    _compiled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    trials: list[Any] = []
    monkeypatch.setattr("merganser.analysis.batches.batch._ScratchContext.lower", lambda *given: trials.append(given))
    made = damped(Cubed())
    context = made.CreateDefaultContext()
    for _ in range(100):
        BatchEvalTimeDerivatives(made, context, T, X, U)
    assert 2 < len(trials) < 12


def test_an_error_in_a_column_is_that_of_the_block(_compiled: list[int]) -> None:
    made, inputs = damped(wrapping()), MANY_U.copy()
    inputs[0, 100] = np.inf
    with pytest.raises(ValueError, match="expected finite value"):
        BatchEvalTimeDerivatives(made, made.CreateDefaultContext(), MANY_T, MANY_X, inputs, parallelize=False)
    assert sum(_compiled) + 4 == 100


def test_sizes_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match=r"7 times take states of shape \(2, 7\), inputs of shape \(1, 7\)"):
        BatchEvalTimeDerivatives(*system(), T, X[:, :5], U)
    with pytest.raises(RuntimeError, match="one discrete group"):
        BatchEvalUniquePeriodicDiscreteUpdate(*system(), T, X, U)


def test_small_batches_of_one_context_are_lowered_once(_compiled: list[int]) -> None:
    made, context = system()
    for _ in range(3):
        rates = BatchEvalTimeDerivatives(made, context, T, X, U)
    assert _compiled[0] == 3 and sum(_compiled) == 17  # the columns of one call may be computed in several goes
    np.testing.assert_allclose(rates, A @ X + B @ U, atol=1e-14)


class Scaled(LeafSystem):
    """xdot = -p x; compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(1)
        self.DeclareNumericParameter([1.0], name="p")
        self.DeclareTimeDerivatives(_scaled)


@native
def _scaled(xc, p, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = -p[0] * xc[0]


def test_what_was_changed_in_the_context_counts_in_its_next_batch(
    _compiled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("merganser.analysis.batches.batch._WORTH_A_THREAD", np.inf)  # however slow the machine is
    scaled = Scaled()
    context = scaled.CreateDefaultContext()
    x, nothing = np.arange(7.0)[None], np.zeros((0, 7))
    for value in (1.0, 2.0, 3.0):
        context.get_mutable_numeric_parameter(0).SetFromVector([value])
        np.testing.assert_array_equal(BatchEvalTimeDerivatives(scaled, context, T, x, nothing), -value * x)
    assert sum(_compiled) == 17
    made, context = system()
    none = InputPortSelection.kNoInput
    for value in (1.0, 2.0, 3.0):
        made.get_input_port().FixValue(context, [value])
        rates = BatchEvalTimeDerivatives(made, context, T, X, nothing, none)
        np.testing.assert_allclose(rates, A @ X + value * B, atol=1e-14)


def test_what_was_lowered_goes_with_the_context(_compiled: list[int]) -> None:
    made, context = system()
    BatchEvalTimeDerivatives(made, context, T, X, U)
    kept = weakref.ref(context)
    del context
    gc.collect()
    assert kept() is None
