"""The derivatives or the discrete update of one system at states and inputs, with slopes, in one compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.plan.model_tape import (
    ModelTape,
    complex_tape_at,
    move_complex_model,
    run_model,
    take_real_results,
    take_slopes,
)
from merganser.framework.native import kernel, specialize

Array = NDArray[Any]


@kernel
def run_slopes(
    # Model:
    address: int,  # of a ComplexTape, see model_tape.py
    # In:
    time: float,  # [s]
    points_in: Any,  # states and inputs, shape [N, n + m]
    # Out:
    values_out: Any,  # shape [N, n]
    slopes_out: Any,  # by state and input, shape [N, n, n + m]
) -> int:
    """By the complex step; returns the number of points at which all operations succeeded."""
    tape = complex_tape_at(address)
    n, m = len(tape.state), len(tape.input)
    for k in range(points_in.shape[0]):
        point = points_in[k]
        for j in range(n + m):
            move_complex_model(tape, time, point, point, n, j)
            if not run_model(tape):
                return k
            take_slopes(tape, slopes_out[k], j)
        take_real_results(tape, values_out[k])
    num_points: int = points_in.shape[0]
    return num_points


class Slopes:
    """Operations for the values and slopes of a system, see ModelTape.

    Args:
        context: of a system alone, with complex numbers; its state is continuous only, or one discrete group.
        fixed_input: value of the input port that changes; None without such a port.
        is_discrete: whether to compute the periodic discrete update, or the time derivatives.

    Raises:
        LookupError: something has to be left to Python.
        TypeError: a function of the user takes no complex numbers.
    """

    def __init__(self, context: Any, fixed_input: Any, is_discrete: bool) -> None:
        self._tape = ModelTape(context, fixed_input, is_discrete)
        row = np.zeros((1, 1))
        self._run = specialize(run_slopes, self._tape.address, 0.0, row, row, row[None])

    def at(self, time: float, points: Array, num_states: int) -> tuple[Array, Array] | None:
        """Values, shape [N, n], and slopes, shape [N, n, n + m]; None if they need Python, or failed.

        Args:
            time: [s].
            points: states and inputs, contiguous, shape [N, n + m].
            num_states: n.
        """
        count, size = points.shape
        values, slopes = np.empty((count, num_states)), np.empty((count, num_states, size))
        if not self._tape.is_current() or self._run(self._tape.address, time, points, values, slopes) < count:
            return None
        return values, slopes
