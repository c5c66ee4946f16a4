"""Explicit Runge-Kutta integrators: one text, any tableau."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from merganser.analysis.integrators.base import IntegratorBase
from merganser.analysis.integrators.fixed_steps import FixedStepIntegrator
from merganser.analysis.integrators.problem import (
    Problem,
    arrays_of_method,
    combine,
    evaluate,
    evaluate_start,
    largest,
    move,
    scale,
    step_of,
)
from merganser.analysis.integrators.tableaus import (
    BOGACKI_SHAMPINE3,
    DORMAND_PRINCE5,
    EULER,
    HEUN2,
    RK3,
    ButcherTableau,
)
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.framework.native.memory.tape import SUCCEEDED


class RungeKuttaArrays(NamedTuple):
    """The arrays of an attempt.

    Attributes:
        c: of the tableau.
        weights: rows of a, then b, then b - b_hat.
        scaled, scaled_for: the same times h, and that h.
        k: derivatives at the stages.
        change: workspace, for sums of these.
        ends_in_last_stage: whether the last stage is at the result.
    """

    c: Floats
    weights: FloatTable
    scaled: FloatTable
    scaled_for: Floats
    k: FloatTable
    change: Floats
    ends_in_last_stage: int


_arrays_of = arrays_of_method(RungeKuttaArrays)


@kernel
def try_runge_kutta_step(p: Problem) -> int:
    """Equations (1) to (3) of tableaus.py. Sums are taken in a fixed order, so that all forms have the same results."""
    s, a = step_of(p), _arrays_of(p)
    c, k, change = a.c, a.k, a.change
    time, h = s.start, s.h
    _scale_weights(p, h)
    h_a, num_stages = a.scaled, len(k)
    status = evaluate_start(p, k[0])
    for i in range(1, num_stages):
        if status != SUCCEEDED:
            return status
        combine(change, h_a[i], k, i)
        move(p, time + c[i] * h, change)
        status = evaluate(p, k[i])  # (1)
    if not a.ends_in_last_stage:
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
    scaled, scaled_for = _arrays_of(p).scaled, _arrays_of(p).scaled_for
    if h != scaled_for[0]:
        scaled_for[0] = math.nan  # an interrupt may come
        scale(scaled, h, _arrays_of(p).weights)
        scaled_for[0] = h


class ExplicitRungeKutta(IntegratorBase):
    """Steps by the method of a Butcher tableau: a derived class only names its tableau.

    Attributes:
        tableau: the method.
    """

    tableau: ButcherTableau
    attempt = try_runge_kutta_step

    def supports_error_estimation(self) -> bool:
        return bool(self.tableau.b_hat)

    def get_error_estimate_order(self) -> int:
        return self.tableau.error_order

    def _make_arrays(self, n: int, dtype: Any) -> RungeKuttaArrays:
        arrays = self._arrays_of_size(n, dtype)
        self._xdot_start = arrays.k[0]
        return arrays

    def _make_arrays_in_lanes(self, num_lanes: int) -> RungeKuttaArrays:
        return self._arrays_of_size(len(self._x) * num_lanes, np.float64)

    def _arrays_of_size(self, n: int, dtype: Any) -> RungeKuttaArrays:
        tableau, num_stages = self.tableau, len(self.tableau.b)
        weights = tableau.weights.astype(dtype)
        k = np.zeros((num_stages, n), dtype)
        return RungeKuttaArrays(
            np.array(tableau.c), weights, weights.copy(), np.array([math.nan]), k, np.zeros(n, dtype),
            int(tableau.ends_in_last_stage),
        )  # fmt: skip


class _FixedStepRungeKutta(FixedStepIntegrator, ExplicitRungeKutta):
    """A method without error estimate, for systems of expressions, too."""

    takes_expressions = True


class ExplicitEulerIntegrator(_FixedStepRungeKutta):
    """Euler's method, of order 1: one evaluation a step, and no error control."""

    scheme = "explicit_euler"
    tableau = EULER


class RungeKutta2Integrator(_FixedStepRungeKutta):
    """Heun's explicit method of order 2: two evaluations a step, and no error control."""

    scheme = "runge_kutta2"
    tableau = HEUN2


class RungeKutta3Integrator(ExplicitRungeKutta):
    """Third-order explicit Runge-Kutta with an embedded second-order method for error control.

    The default integrator of `Simulator`: right for smooth systems that are not stiff, at accuracies down to
    about 1e-8.
    """

    scheme = "runge_kutta3"
    tableau = RK3


class BogackiShampine3Integrator(ExplicitRungeKutta):
    """Third-order explicit Runge-Kutta of Bogacki and Shampine, with an embedded second-order method.

    Its error estimate is sharper than that of RungeKutta3Integrator, so that its steps are longer; three
    evaluations a step, since the last of four stages is the first of the next step.
    """

    scheme = "bogacki_shampine3"
    tableau = BOGACKI_SHAMPINE3


class RungeKutta5Integrator(ExplicitRungeKutta):
    """Fifth-order explicit Runge-Kutta of Dormand and Prince, with an embedded fourth-order method.

    Right for smooth systems at accuracies of 1e-5 and better; six evaluations a step, since the last of seven
    stages is the first of the next step.
    """

    default_accuracy = 1e-5
    loosest_accuracy = 1e-3
    scheme = "runge_kutta5"
    tableau = DORMAND_PRINCE5
