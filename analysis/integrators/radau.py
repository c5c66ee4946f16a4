"""Radau IIA integrators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from merganser.analysis.integrators.base import largest_magnitude
from merganser.analysis.integrators.collocation import radau_iia
from merganser.analysis.integrators.implicit import Array, ImplicitIntegrator
from merganser.analysis.integrators.newton import NewtonSolver
from merganser.analysis.integrators.radau_fields import DERIVATIVES_HERE, OVER, SAME_STATE
from merganser.framework import Context, System

if TYPE_CHECKING:
    from merganser.analysis.integrators.radau_stepper import RadauStepper

__all__ = ["Radau1Integrator", "Radau3Integrator", "RadauIntegrator", "RadauMethod"]

FARTHEST_GUESS = 5.0  # a step is continued into the next up to this many times its size
_MOST_COMPILED = 30  # state variables of compiled steps; beyond, LAPACK's factorizations are faster


class RadauMethod(ImplicitIntegrator):
    """Steps by a Radau IIA method (equations (1) to (5) of collocation.py).

    For up to 30 state variables that are floats the algebra is compiled, see radau_step.py.
    """

    num_stages: int
    _stepper: RadauStepper | None = None

    def get_error_estimate_order(self) -> int:
        return radau_iia(self.num_stages).error_order

    def _prepare_solvers(self) -> None:
        self._method = radau_iia(self.num_stages)
        self._stepper = None
        self._may_be_compiled = self._x.dtype == np.float64 and 0 < len(self._x) <= _MOST_COMPILED
        self._solver = NewtonSolver(self._method, len(self._x), self._x.dtype)
        self._z = np.zeros((self.num_stages, len(self._x)), self._x.dtype)
        self._filter_for: tuple[object, float] = (None, math.nan)
        self._z_before = self._z.copy()  # the stages of the last step
        self._h_before = 0.0  # its size; 0 if it says nothing about the next one
        self._h_tried = 0.0  # size of the last step tried; 0 if its equations could not be solved
        self._x_tried = self._x.copy()  # where it went

    def _drop_jacobian(self) -> None:
        super()._drop_jacobian()
        if self._stepper is not None:
            self._stepper.drop_jacobian()

    def _find_stepper(self) -> RadauStepper | None:
        """The compiled form of the steps, which keeps what they leave for the next one; None if there is none."""
        if self._stepper is None and self._may_be_compiled:
            from merganser.analysis.integrators.radau_stepper import RadauStepper, is_available

            self._may_be_compiled = is_available()
            if self._may_be_compiled:
                self._stepper = RadauStepper(self._method, self._store.flat, self._x_start, self._xdot_start)
        return self._stepper

    def _step(self, time: float, h: float) -> float:
        stepper = self._find_stepper()
        return self._interpreted_step(time, h) if stepper is None else self._compiled_step(stepper, time, h)

    def _compiled_step(self, stepper: RadauStepper, time: float, h: float) -> float:
        store, down = self._store, self._down  # what depends on time and state may become more while it is learnt
        stepper.note_settings(self)
        stepper.begin(time, h, self._knows_start)
        operations = None if self._is_searching_for_blame else self._derivatives.operations()
        try:
            if operations is not None:
                num_evaluations = stepper.finish(*operations[:4])
                if not self._derivatives.have_failed():
                    self._num_derivative_evaluations += num_evaluations
                else:  # Python says why
                    stepper.restore()
                    self._move_back(time)
                    stepper.begin(time, h, False)
                    operations = None
            if operations is None:
                while (wanted := stepper.go_on()) != OVER:
                    if wanted != DERIVATIVES_HERE:
                        store.invalid |= down["time"] | down["xc"]
                    self._evaluate()
        except BaseException:
            stepper.restore(keeps_counts=True)
            raise
        finally:
            stepper.take_counts(self._counts, self._error_counts)
        store.invalid |= down["time"] | down["xc"]
        self._knows_start = True
        return stepper.error()

    # ------------------------------------------------------------------ other scalars, large systems

    def _guess(self, h: float) -> None:
        """Continues the last step, unless the state has been changed since."""
        if not self._knows_start:  # the last step tried was accepted
            moved = np.abs(self._x_start - self._x_tried) <= SAME_STATE * (1.0 + np.abs(self._x_tried))
            has_gone_on = self._h_tried > 0.0 and bool(moved.all())
            self._h_before = self._h_tried if has_gone_on else 0.0
            self._z_before[:] = self._z
        self._h_tried = 0.0
        if h <= FARTHEST_GUESS * self._h_before:
            self._z[:] = self._method.extrapolate(self._z_before, h / self._h_before)
        else:
            self._z[:] = 0.0

    def _interpreted_step(self, time: float, h: float) -> float:
        self._guess(h)
        self._begin_attempt(time)
        z = self._z
        if not self._solve(self._solver, time, h, z, self._counts):
            return math.inf
        change = z[-1]
        error = 0.0
        if not self._is_fixed_step:
            estimate = self._estimate(h, self._xdot_start)
            error = largest_magnitude(estimate, self._work)
            if error > self.get_accuracy_in_use() and self._h_before == 0.0:
                # Far from equilibrium a stiff component spoils it; a second time through the filter mends that
                # (IV.8, (8.20)). Elsewhere that would hide steps that leap over a sudden change.
                self._move(time, estimate)
                self._error_counts.derivative_evaluations += 1
                error = largest_magnitude(self._estimate(h, self._evaluate()), self._work)
        self._move(time + h, change)
        self._x_tried[:] = self._x
        self._h_tried = h
        return error

    def _estimate(self, h: float, xdot: Array) -> Array:
        """The error of the step, equation (5)."""
        method = self._method
        mu = 1.0 / (method.gamma_0 * h)
        if self._linearization is None:  # full Newton iterations keep none
            counts = self._error_counts
            start = self._x_start.copy()
            self._linearization = self._linearize_at(self._start_time, start, self._xdot_start, counts)
        if self._filter_for != (self._linearization, mu):
            self._solve_filter = self._linearization.factor(mu)
            self._filter_for = (self._linearization, mu)
            self._error_counts.factorizations += 1
        return self._solve_filter(xdot + mu * (method.e @ self._z))


class Radau1Integrator(RadauMethod):
    """The Radau IIA method with one stage: the implicit Euler method, of order 1, with an error estimate of order 2."""

    default_accuracy = 0.1
    loosest_accuracy = 0.5
    num_stages = 1


class Radau3Integrator(RadauMethod):
    """The Radau IIA method with two stages, of order 3, with an error estimate of order 3.

    The integrator for stiff systems at accuracies of 1e-2 to about 1e-7.
    """

    num_stages = 2


class RadauIntegrator(RadauMethod):
    """The Radau IIA method with 1, 2 or 3 stages, of order 1, 3 or 5.

    Args:
        system: the system to integrate.
        context: where its values are; if it is not given here, call `reset_context` before integrating.
        num_stages: with three stages the error estimate has order 4: for tight accuracies.

    Raises:
        ValueError: another number of stages.
    """

    def __init__(self, system: System, context: Context | None = None, num_stages: int = 2) -> None:
        radau_iia(num_stages)  # refuses other numbers
        self.num_stages = num_stages
        super().__init__(system, context)
