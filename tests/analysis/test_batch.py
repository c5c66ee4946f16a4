"""Batches give what single evaluations give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import (
    BatchEvalTimeDerivatives,
    BatchEvalUniquePeriodicDiscreteUpdate,
    Simulator,
    batch_simulate,
)
from merganser.framework import InputPortSelection, LeafSystem
from merganser.framework.primitives import LinearSystem

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


def test_sizes_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match=r"7 times take states of shape \(2, 7\), inputs of shape \(1, 7\)"):
        BatchEvalTimeDerivatives(*system(), T, X[:, :5], U)
    with pytest.raises(RuntimeError, match="one discrete group"):
        BatchEvalUniquePeriodicDiscreteUpdate(*system(), T, X, U)


def test_simulations_in_threads_are_those_one_after_the_other() -> None:
    made, _ = system()
    contexts = []
    for x, u in zip(X.T, U.T):
        context = made.CreateDefaultContext()
        context.SetContinuousState(x)
        made.get_input_port().FixValue(context, u)
        contexts.append(context)
    copies = [context.Clone() for context in contexts]
    statuses = batch_simulate(made, contexts, 1.0, parallelize=2)
    assert all(status.succeeded() for status in statuses)
    for context, copy in zip(contexts, copies):
        Simulator(made, copy).AdvanceTo(1.0)
        np.testing.assert_array_equal(
            context.get_continuous_state_vector().CopyToVector(), copy.get_continuous_state_vector().CopyToVector()
        )
    with pytest.raises(ValueError, match="there twice"):
        batch_simulate(made, [contexts[0]] * 2, 2.0)
