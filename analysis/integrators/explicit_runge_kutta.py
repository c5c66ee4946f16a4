"""Explicit Runge-Kutta integrators: one text, any tableau."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.analysis.integrators.base import IntegratorBase
from merganser.analysis.integrators.problem import (
    Problem,
    combine,
    evaluate,
    evaluate_start,
    largest,
    matrix,
    move,
    scale,
    step_of,
    vector,
)
from merganser.analysis.integrators.tableaus import (
    BOGACKI_SHAMPINE3,
    DORMAND_PRINCE5,
    EULER,
    HEUN2,
    RK3,
    ButcherTableau,
)
from merganser.framework import Context, System
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.tape import SUCCEEDED

__all__ = [
    "BogackiShampine3Integrator",
    "ExplicitEulerIntegrator",
    "ExplicitRungeKutta",
    "RungeKutta2Integrator",
    "RungeKutta3Integrator",
    "RungeKutta5Integrator",
]

# The arrays of an attempt.
(
    FRACTIONS,  # c of the tableau
    WEIGHTS,  # rows of a, then b, then b - b_hat
    SCALED,  # the same times h, and that h
    SCALED_FOR,
    K,  # derivatives at the stages
    CHANGE,  # room for sums of these
    ENDS_IN_LAST_STAGE,  # 1 if the last stage stands at the result
) = range(7)


@kernel
def try_runge_kutta_step(p: Problem) -> int:
    """Equations (1) to (3) of tableaus.py. Sums are taken in a fixed order, so that all forms have the same results."""
    s, c, k, change = step_of(p), vector(p, FRACTIONS), matrix(p, K), vector(p, CHANGE)
    time, h = s.start, s.h
    _scale_weights(p, h)
    h_a, num_stages = matrix(p, SCALED), len(k)
    status = evaluate_start(p, k[0])
    for i in range(1, num_stages):
        if status != SUCCEEDED:
            return status
        combine(change, h_a[i], k, i)
        move(p, time + c[i] * h, change)
        status = evaluate(p, k[i])  # (1)
    if vector(p, ENDS_IN_LAST_STAGE)[0] == 0.0:
        combine(change, h_a[num_stages], k, num_stages)
        move(p, time + h, change)  # (2)
    s.error = 0.0
    if not step_of(p).is_fixed_step:
        combine(change, h_a[num_stages + 1], k, num_stages)
        s.error = largest(change)  # (3)
    return status


@device
def _scale_weights(p: Problem, h: float) -> None:
    """Multiplies the weights by h."""
    scaled, scaled_for = matrix(p, SCALED), vector(p, SCALED_FOR)
    if h != scaled_for[0]:
        scaled_for[0] = math.nan  # an interrupt may come
        scale(scaled, h, matrix(p, WEIGHTS))
        scaled_for[0] = h


class ExplicitRungeKutta(IntegratorBase):
    """Steps by the method of a Butcher tableau: a class that is derived from this one names its tableau, and is done.

    Attributes:
        tableau: the method.
    """

    tableau: ButcherTableau
    attempt = try_runge_kutta_step

    def supports_error_estimation(self) -> bool:
        return bool(self.tableau.b_hat)

    def get_error_estimate_order(self) -> int:
        return self.tableau.error_order

    def _make_arrays(self, n: int, dtype: Any) -> list[Any]:
        tableau, num_stages = self.tableau, len(self.tableau.b)
        weights = tableau.weights.astype(dtype)
        k = np.zeros((num_stages, n), dtype)
        self._xdot_start = k[0]
        ends_in_last_stage = np.array([float(tableau.ends_in_last_stage)])
        return [
            np.array(tableau.c), weights, weights.copy(), np.array([math.nan]), k, np.zeros(n, dtype),
            ends_in_last_stage,
        ]  # fmt: skip


class _FixedStepRungeKutta(ExplicitRungeKutta):
    """A method without error estimate.

    Args:
        system: the system to integrate.
        max_step_size: the size of all steps, save those that an event cuts short [s].
        context: where the values are; if it is not given here, call `reset_context` before integrating.

    Raises:
        ValueError: the step size is not positive.
    """

    def __init__(self, system: System, max_step_size: float, context: Context | None = None) -> None:
        super().__init__(system, context)
        self.set_maximum_step_size(max_step_size)


class ExplicitEulerIntegrator(_FixedStepRungeKutta):
    """Euler's method, of order 1: one evaluation a step, and no error control."""

    tableau = EULER


class RungeKutta2Integrator(_FixedStepRungeKutta):
    """Heun's explicit method of order 2: two evaluations a step, and no error control."""

    tableau = HEUN2


class RungeKutta3Integrator(ExplicitRungeKutta):
    """Third-order explicit Runge-Kutta with an embedded second-order method for error control.

    The default integrator of `Simulator`: right for smooth systems that are not stiff, at accuracies down to
    about 1e-8.
    """

    tableau = RK3


class BogackiShampine3Integrator(ExplicitRungeKutta):
    """Third-order explicit Runge-Kutta of Bogacki and Shampine, with an embedded second-order method.

    Its error estimate is sharper than that of RungeKutta3Integrator, so that its steps are longer; three
    evaluations a step, since the last of four stages is the first of the next step.
    """

    tableau = BOGACKI_SHAMPINE3


class RungeKutta5Integrator(ExplicitRungeKutta):
    """Fifth-order explicit Runge-Kutta of Dormand and Prince, with an embedded fourth-order method.

    Right for smooth systems at accuracies of 1e-5 and better; six evaluations a step, since the last of seven
    stages is the first of the next step.
    """

    default_accuracy = 1e-5
    loosest_accuracy = 1e-3
    tableau = DORMAND_PRINCE5
