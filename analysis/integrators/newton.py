"""Simplified Newton iterations for the stages of a collocation method (Hairer and Wanner 1996, IV.8).

With w = (T^-1 (x) I) z the equations (1) of collocation.py read

    (lambda_i / h) w_i = sum_j (T^-1)_ij f(t + c_j h, x + z_j),   z = (T (x) I) w         (1)

and a Newton step with one Jacobian J for all stages falls apart into s systems of the size of the state:

    (lambda_i / h I - J) dw_i = sum_j (T^-1)_ij f_j - (lambda_i / h) w_i                  (2)

Only one of two conjugate systems is solved, since dz is real. With theta the ratio of the sizes of two successive
changes, the iteration has converged when theta / (1 - theta) |dz| is within the tolerance (equation (8.10)), with a
theta of 0.3 at least.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators.collocation import CollocationMethod
from merganser.analysis.integrators.jacobian import Linearization

__all__ = ["NewtonCounts", "NewtonSolver"]

Array = NDArray[Any]

MAX_ITERATIONS = 10
# A smaller theta is not believed: variables of different sizes may converge at different rates.
LEAST_RATE = 0.3
NOISE = 0.1  # changes of this share of the tolerance may grow: at rest they are rounding errors
SAME_STEP_SIZE = 1e-3  # factors for a step size that differs by this share converge as well


@dataclasses.dataclass
class NewtonCounts:
    """What was computed to solve the equations of steps."""

    derivative_evaluations: int = 0
    jacobian_evaluations: int = 0
    derivative_evaluations_for_jacobian: int = 0
    factorizations: int = 0
    iterations: int = 0

    def add(self, evaluations: int, jacobians: int, for_jacobians: int, factorizations: int, iterations: int) -> None:
        """Adds to each of them, in the same order."""
        self.derivative_evaluations += evaluations
        self.jacobian_evaluations += jacobians
        self.derivative_evaluations_for_jacobian += for_jacobians
        self.factorizations += factorizations
        self.iterations += iterations


class NewtonSolver:
    """Solves for the stages of steps with one method; keeps the factors as long as they serve.

    Args:
        method: the collocation method.
        size: number of state variables.
        dtype: scalar type of the state.
    """

    def __init__(self, method: CollocationMethod, size: int, dtype: Any) -> None:
        self._method = method
        # (2) is real for a real eigenvalue; the upper one of two conjugates counts double.
        chosen = [i for i, value in enumerate(method.eigenvalues) if value.imag > -1e-9]
        self._is_real = [bool(abs(method.eigenvalues[i].imag) < 1e-9) for i in chosen]
        self._T = method.T[:, chosen] * [1.0 if real else 2.0 for real in self._is_real]
        self._T_inv = method.T_inv[chosen]
        self._lambda = method.eigenvalues[chosen]
        if all(self._is_real):
            self._T, self._T_inv, self._lambda = self._T.real, self._T_inv.real, self._lambda.real
        self._f = np.zeros((len(method.c), size), dtype)
        self._is_complex_state = np.dtype(dtype).kind == "c"
        self._solves: list[Callable[[Array], Array]] = []
        self._linearization: Linearization | None = None
        self._h = math.nan
        self.rate = 0.0  # the last theta

    def factor(self, linearization: Linearization, h: float, counts: NewtonCounts) -> None:
        """Prepares to solve with this linearization for steps of size h."""
        if linearization is self._linearization and abs(h - self._h) <= SAME_STEP_SIZE * h:
            return
        self._solves = [
            linearization.factor((value.real if real else value) / h)
            for value, real in zip(self._lambda, self._is_real, strict=True)
        ]
        self._linearization, self._h = linearization, h
        counts.factorizations += 1

    def solve(
        self,
        derivatives: Callable[[float, Array], Array],
        h: float,
        z: Array,
        tolerance: float,
        counts: NewtonCounts,
        before_iteration: Callable[[Array], None] | None = None,
    ) -> bool:
        """Improves the stages until they are as good as the tolerance.

        Args:
            derivatives: f at fraction c of the step and change z of the state.
            h: size of the step [s].
            z: a guess, overwritten by the result, shape [s, n].
            tolerance: largest error of a state variable.
            counts: where to count evaluations and iterations.
            before_iteration: called with z before each iteration; may call `factor`.

        Returns:
            Whether they are; False also if a value is not finite.
        """
        f = self._f
        size_before = math.nan
        for iteration in range(MAX_ITERATIONS):
            if before_iteration is not None:
                before_iteration(z)
            for i, c in enumerate(self._method.c):
                f[i] = derivatives(c, z[i])
            counts.derivative_evaluations += len(f)
            counts.iterations += 1
            if not np.isfinite(f).all():
                return False
            dz = self._change(f.real, z.real, h)
            if self._is_complex_state:  # J is real: the two parts do not mix
                dz = dz + 1j * self._change(f.imag, z.imag, h)
            z += dz
            size = float(np.abs(dz).max())
            if not math.isfinite(size):
                return False
            if iteration:
                self.rate = theta = size / size_before
                if theta >= 1.0:
                    return size <= NOISE * tolerance
                cautious = max(theta, LEAST_RATE)
                if cautious / (1.0 - cautious) * size <= tolerance:
                    return True
                left = MAX_ITERATIONS - 1 - iteration
                if theta**left / (1.0 - theta) * size > tolerance:
                    return False
            if size == 0.0:
                return True
            size_before = size
        return False

    def _change(self, f: Array, z: Array, h: float) -> Array:
        """The dz of a Newton step (2)."""
        residual = self._T_inv @ f - (self._lambda[:, np.newaxis] / h) * (self._T_inv @ z)
        dw = np.empty_like(residual)
        for i, (solve, real) in enumerate(zip(self._solves, self._is_real, strict=True)):
            dw[i] = solve(residual[i].real if real else residual[i])
        dz: Array = (self._T @ dw).real
        return dz
