"""The derivatives or discrete updates of one system for many times, states and inputs, in one compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.plan.model_tape import ModelTape, move_model, run_model, take_results, tape_at
from merganser.framework.native import kernel, specialize

Array = NDArray[Any]


@kernel
def run_columns(
    # Model:
    address: int,  # of a Tape, see model_tape.py
    # In:
    times_in: Any,  # [s], shape [N]
    period: float,  # time between two steps [s]
    num_steps: int,  # that are made from each state
    states_in: Any,  # shape [N, n]
    inputs_in: Any,  # shape [N, size of the input]
    # Out:
    results_out: Any,  # shape [N, n]
) -> int:
    """Returns how many columns could be computed."""
    tape = tape_at(address)
    for column in range(times_in.shape[0]):
        state, result = states_in[column], results_out[column]
        for step in range(num_steps):
            move_model(tape, times_in[column] + step * period, state, inputs_in[column])
            if not run_model(tape):
                return column
            take_results(tape, result)
            state = result
    num_columns: int = times_in.shape[0]
    return num_columns


class Columns:
    """Operations for a batch, see ModelTape.

    Args:
        context: of a system alone, with floats; its state is continuous only, or one discrete group.
        fixed_input: value of the input port that changes; None without such a port.
        is_discrete: whether to compute the periodic discrete update, or the time derivatives.

    Raises:
        LookupError: something has to be left to Python.
    """

    def __init__(self, context: Any, fixed_input: Any, is_discrete: bool) -> None:
        self._tape = ModelTape(context, fixed_input, is_discrete)
        one, row = np.zeros(1), np.zeros((1, 1))
        self._run = specialize(run_columns, self._tape.address, one, 0.0, 1, row, row, row)

    def is_current(self) -> bool:
        """Whether the operations are still valid."""
        return self._tape.is_current()

    def run(self, times: Array, states: Array, inputs: Array, period: float, num_steps: int, results: Array) -> int:
        """Computes all columns, or those up to one that cannot be computed; arrays are contiguous, of floats.

        Args:
            times: [s], shape [N].
            states: shape [N, n].
            inputs: shape [N, size of the input].
            period: between two steps [s].
            num_steps: how many updates to make.
            results: gets the results, shape [N, n].

        Returns:
            How many of them there are.
        """
        count: int = self._run(self._tape.address, times, float(period), int(num_steps), states, inputs, results)
        self._tape.settle()
        return count
