"""Implicit Euler integrators with step doubling."""

from __future__ import annotations

import numpy as np

from merganser.analysis.integrators.base import largest_magnitude
from merganser.analysis.integrators.collocation import radau_iia
from merganser.analysis.integrators.implicit import Array, ImplicitIntegrator
from merganser.analysis.integrators.jacobian import FullLinearization, Linearization, VelocityLinearization
from merganser.analysis.integrators.newton import NewtonSolver

__all__ = ["ImplicitEulerIntegrator", "VelocityImplicitEulerIntegrator"]


class _StepDoublingEuler(ImplicitIntegrator):
    """Steps by the implicit Euler method, in two halves.

        x_1/2  = x(t) + h/2 f(t + h/2, x_1/2)                                   (1)
        x(t+h) = x_1/2 + h/2 f(t + h, x(t+h))                                   (2)
        x^     = x(t) + h f(t + h, x^)                                          (3)

    The result is that of (2), of order 1. Its error is estimated by x^ - x(t+h), which is O(h^2) (Hairer, Norsett,
    Wanner 1993, II.4, equation (4.4) for order 1). With fixed steps (3) is left out.
    """

    default_accuracy = 0.1
    loosest_accuracy = 0.5

    def get_error_estimate_order(self) -> int:
        return 2

    def _prepare_solvers(self) -> None:
        method, size, dtype = radau_iia(1), len(self._x), self._x.dtype
        self._whole = NewtonSolver(method, size, dtype)
        self._half = NewtonSolver(method, size, dtype)
        self._z_whole = np.zeros((1, size), dtype)
        self._z_first = np.zeros((1, size), dtype)
        self._z_second = np.zeros((1, size), dtype)

    def _step(self, time: float, h: float) -> float:
        self._begin_attempt(time)
        whole, first, second = self._z_whole, self._z_first, self._z_second
        has_estimate = not self._is_fixed_step
        if has_estimate:
            whole[:] = 0.0
            if not self._solve(self._whole, time, h, whole, self._error_counts):  # (3)
                return np.inf
        first[:] = 0.5 * whole if has_estimate else 0.0
        if not self._solve(self._half, time, 0.5 * h, first, self._counts):  # (1)
            return np.inf
        second[:] = whole - first if has_estimate else first
        if not self._solve(self._half, time + 0.5 * h, 0.5 * h, second, self._counts, first[0]):  # (2)
            return np.inf
        change = first[0] + second[0]
        self._move(time + h, change)
        return largest_magnitude(whole[0] - change, self._work) if has_estimate else 0.0


class ImplicitEulerIntegrator(_StepDoublingEuler):
    """The implicit Euler method, of order 1, for stiff systems at loose accuracies.

    Each step is taken in two halves, and in one for the error estimate.
    """


class VelocityImplicitEulerIntegrator(_StepDoublingEuler):
    """The implicit Euler method for mechanical systems, of order 1.

    It solves the same equations as ImplicitEulerIntegrator, with matrices of the size of the velocities and other
    variables: positions follow from qdot = N(q) v. That pays off where there are many positions.
    """

    def _linearize(self, J: Array) -> Linearization:
        q, v, z = self._bound_context().layout.xc_partition
        return VelocityLinearization(J, q, np.concatenate([v, z])) if len(q) else FullLinearization(J)
