"""A step of an explicit Runge-Kutta method in one compiled call, where all derivatives are compiled operations.

The same sums in the same order as in explicit_runge_kutta.py, so that both give the same results to the last bit.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device, kernel
from merganser.framework.native.tape import call_operations

__all__ = ["runge_kutta_step"]


@device
def _advance(
    values_out: Any,  # the flat array of a Context
    x_start: Any,  # state at the start of the step, shape [n]
    k_in: Any,  # derivatives at the stages, shape [stages, n]
    weights_in: Any,  # h times the weights of the stages
    num_stages: int,  # how many of the stages count
    x_first: int,  # where the state stands in the flat array
) -> None:
    """x = x_start + sum_i weights_i k_i."""
    for j in range(x_start.shape[0]):
        change = weights_in[0] * k_in[0, j]
        for i in range(1, num_stages):
            change += weights_in[i] * k_in[i, j]
        values_out[x_first + j] = x_start[j] + change


@kernel
def runge_kutta_step(
    # Operations that compute the derivatives, see framework/native/tape.py:
    addresses_in: Any,
    starts_in: Any,
    values_place: int,
    numbers_place: int,
    # In:
    time: float,  # at the start of the step [s]
    h: float,  # size of the step [s]
    c_in: Any,  # fractions of the step at which the stages stand, shape [stages]
    scaled_in: Any,  # h times the rows of a, then of b, then of b - b_hat, shape [stages + 2, stages]
    x_start_in: Any,  # state at the start of the step, shape [n]
    knows_start: bool,  # whether k_work[0] is known already
    ends_in_last_stage: bool,  # whether the last stage stands at the result
    # Work:
    k_work: Any,  # derivatives at the stages, shape [stages, n]
    # Out:
    values_out: Any,  # the flat array: time first, then the state and its derivatives, each of size n
) -> float:
    """Computes the state at the end of a step, equations (1) to (3) in tableaus.py.

    Returns:
        The largest magnitude in the error estimate, nan if there is a nan.
    """
    num_stages, n = k_work.shape
    xdot_first = 1 + n
    if not knows_start:
        call_operations(addresses_in, starts_in, values_place, numbers_place)
        for j in range(n):
            k_work[0, j] = values_out[xdot_first + j]
    for stage in range(1, num_stages):
        _advance(values_out, x_start_in, k_work, scaled_in[stage], stage, 1)
        values_out[0] = time + c_in[stage] * h
        call_operations(addresses_in, starts_in, values_place, numbers_place)
        for j in range(n):
            k_work[stage, j] = values_out[xdot_first + j]  # (1)
    if not ends_in_last_stage:
        _advance(values_out, x_start_in, k_work, scaled_in[num_stages], num_stages, 1)  # (2)
        values_out[0] = time + h
    largest = 0.0
    weights = scaled_in[num_stages + 1]
    for j in range(n):
        error = weights[0] * k_work[0, j]  # (3)
        for i in range(1, num_stages):
            error += weights[i] * k_work[i, j]
        if error != error:
            return error
        largest = max(largest, abs(error))
    return largest
