"""Explicit Runge-Kutta integrators: one loop, any tableau."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators.base import IntegratorBase, largest_magnitude
from merganser.analysis.integrators.tableaus import (
    BOGACKI_SHAMPINE3,
    DORMAND_PRINCE5,
    EULER,
    HEUN2,
    RK3,
    ButcherTableau,
)
from merganser.framework import Context, System

__all__ = [
    "BogackiShampine3Integrator",
    "ExplicitEulerIntegrator",
    "ExplicitRungeKutta",
    "RungeKutta2Integrator",
    "RungeKutta3Integrator",
    "RungeKutta5Integrator",
]


class ExplicitRungeKutta(IntegratorBase):
    """Steps by the method of a Butcher tableau (equations (1) to (3) in tableaus.py)."""

    tableau: ButcherTableau

    def supports_error_estimation(self) -> bool:
        return bool(self.tableau.b_hat)

    def get_error_estimate_order(self) -> int:
        return self.tableau.error_order

    def _prepare(self) -> None:
        tableau, dtype = self.tableau, self._x.dtype
        num_stages = len(tableau.b)
        self._k = np.zeros((num_stages, len(self._x)), dtype)
        self._xdot_start = self._k[0]
        self._weights = tableau.weights if dtype == np.float64 else tableau.weights.astype(dtype)
        self._scaled, self._scaled_for = self._weights.copy(), math.nan  # times the size of the step
        self._h_b, self._h_b_error = self._scaled[-2:]
        # For each stage but the first: c_i, h a_i, k_1 ... k_{i-1}, and where k_i goes.
        self._ends_in_last_stage = tableau.ends_in_last_stage
        # Sums of floats are taken in a fixed order, so that compiled steps may take over at any time.
        self._sums_in_order = dtype == np.float64
        self._native_code: Any = None
        self._c = np.array(tableau.c)
        self._stages = [(tableau.c[i], self._scaled[i, :i], self._k[:i], self._k[i]) for i in range(1, num_stages)]

    def _evaluate_start(self) -> None:
        if not self._knows_start and self._derivatives.are_current():  # the last stage of the step before
            self._xdot_start[:] = self._xdot
            self._knows_start = True
        super()._evaluate_start()

    def _step(self, time: float, h: float) -> float:
        k, change = self._k, self._work
        if h != self._scaled_for:
            np.multiply(self._weights, h, out=self._scaled)
            self._scaled_for = h
        if self._sums_in_order:
            return self._step_in_order(time, h)
        self._evaluate_start()  # k_1
        for c, h_a, k_before, k_here in self._stages:
            h_a.dot(k_before, change)
            self._move(time + c * h, change)
            k_here[:] = self._evaluate()  # (1)
        if not self._ends_in_last_stage:
            self._h_b.dot(k, change)
            self._move(time + h, change)  # (2)
        if self._is_fixed_step:
            return 0.0
        self._h_b_error.dot(k, change)  # (3)
        return largest_magnitude(change, change)

    # ------------------------------------------------------------------ all derivatives compiled

    def _step_in_order(self, time: float, h: float) -> float:
        """A step whose sums are taken in a fixed order, which its compiled form repeats bit for bit."""
        operations = None if self._is_searching_for_blame else self._derivatives.operations()
        if operations is not None:
            return self._native_step(operations, time, h)
        return self._step_stage_by_stage(time, h)

    def _step_stage_by_stage(self, time: float, h: float) -> float:
        k = self._k
        self._evaluate_start()
        for c, h_a, k_before, k_here in self._stages:
            self._move(time + c * h, _sum_in_order(h_a, k_before))
            k_here[:] = self._evaluate()
        if not self._ends_in_last_stage:
            self._move(time + h, _sum_in_order(self._h_b, k))
        if self._is_fixed_step:
            return 0.0
        return largest_magnitude(_sum_in_order(self._h_b_error, k), self._work)

    def _native_step(self, operations: tuple[Any, ...], time: float, h: float) -> float:
        *tape, mask = operations
        store, down, ends = self._store, self._down, self._ends_in_last_stage
        if not self._knows_start and self._derivatives.are_current():
            self._evaluate_start()
        arguments = (*tape, time, h, self._c, self._scaled, self._x_start, self._knows_start, ends, self._k, store.flat)
        if self._native_code is None:
            from merganser.analysis.integrators.native_step import runge_kutta_step
            from merganser.framework.native import specialize

            self._native_code = specialize(runge_kutta_step, *arguments)
        num_evaluations = len(self._k) - self._knows_start
        moved = down["time"] | down["xc"]
        store.invalid |= moved
        error: float = self._native_code(*arguments)
        if self._derivatives.have_failed():  # Python says why
            self._move_back(time)
            return self._step_stage_by_stage(time, h)
        self._num_derivative_evaluations += num_evaluations
        self._knows_start = True
        store.invalid &= ~mask if ends else ~mask | moved
        return 0.0 if self._is_fixed_step else error


def _sum_in_order(weights: NDArray[Any], k: NDArray[Any]) -> NDArray[Any]:
    """sum_i weights_i k_i, one term after the other."""
    return np.add.reduce(weights[:, np.newaxis] * k, axis=0)


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
