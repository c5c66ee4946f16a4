"""Feasibility restoration: the least violation of the constraints near a point where no step was acceptable.

    min  rho sum(p + n) + zeta/2 |D (z - z_R)|^2   subject to   c(z) - p + n = 0,  p, n >= 0,  lower <= z <= upper   (1)

is again of the form that is solved, so the method solves it as it does any other, until the point pleases the filter of
the first problem. A minimum of (1) that violates the constraints says that the problem is locally infeasible.

Source: A. Waechter, L. Biegler, Math. Program. 106 (2006), section 3.3.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.optimization.interior_point.form import StandardForm
from merganser.framework.optimization.interior_point.problem import Array

_RHO = 1000.0


class RestorationForm:
    """Problem (1) for a form, in the terms of a form."""

    def __init__(self, form: StandardForm, reference: Array, mu: float) -> None:
        self._form, self._reference = form, reference
        self.inner_size = n = form.num_variables
        m = self.num_constraints = form.num_constraints
        self.num_variables = self.num_x = n + 2 * m
        self.lower = np.concatenate([form.lower, np.zeros(2 * m)])
        self.upper = np.concatenate([form.upper, np.full(2 * m, np.inf)])
        each = np.arange(m)
        self.rows = np.concatenate([form.rows, each, each])
        self.columns = np.concatenate([form.columns, n + each, n + m + each])
        self.has_hessian, self.has_cost = form.has_hessian, True
        self.hessian_rows = np.concatenate([form.hessian_rows, np.arange(n)])
        self.hessian_columns = np.concatenate([form.hessian_columns, np.arange(n)])
        self.cost_scale, self.row_scale = 1.0, np.ones(m)
        self._weight = np.sqrt(mu) * np.minimum(1.0, 1.0 / np.maximum(np.abs(reference), 1e-300)) ** 2
        self._ends = np.concatenate([-np.ones(m), np.ones(m)])

    def with_violations(self, z: Array, mu: float) -> Array:
        """z with the p and n that are optimal for it and this weight of the barrier."""
        c = self._form.constraints(z)
        half = (mu - _RHO * c) / (2.0 * _RHO)
        below = half + np.sqrt(half**2 + mu * c / (2.0 * _RHO))
        below = np.maximum(below, 1e-16)
        return np.concatenate([z, np.maximum(c + below, 1e-16), below])

    def cost(self, z: Array) -> float:
        away = z[: self.inner_size] - self._reference
        return float(_RHO * np.sum(z[self.inner_size :]) + 0.5 * np.dot(self._weight * away, away))

    def gradient(self, z: Array) -> Array:
        away = z[: self.inner_size] - self._reference
        return np.concatenate([self._weight * away, np.full(2 * self.num_constraints, _RHO)])

    def constraints(self, z: Array) -> Array:
        n, m = self.inner_size, self.num_constraints
        return self._form.constraints(z[:n]) - z[n : n + m] + z[n + m :]

    def jacobian(self, z: Array) -> Array:
        return np.concatenate([self._form.jacobian(z[: self.inner_size]), self._ends])

    def hessian(self, z: Array, sigma: float, y: Array) -> Array:
        return np.concatenate([self._form.hessian(z[: self.inner_size], 0.0, y), sigma * self._weight])
