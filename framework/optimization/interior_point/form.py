"""The form that is solved: min f(z) subject to c(z) = 0 and lower <= z <= upper.

z = (x, s) has the variables that are not fixed, and a slack for each inequality:

    c_i(z) = r_i (g_i(x) - g_i)    of an equation g_i(x) = g_i                              (1)
    c_i(z) = r_i g_i(x) - s_k      of an inequality, r_i g_lower_i <= s_k <= r_i g_upper_i  (2)

The scales r of the constraints and that of the cost bring their gradients at the start down to a given size. Bounds are
relaxed by a little, so that there is always an inside.

Source: A. Waechter, L. Biegler, Math. Program. 106 (2006), sections 3.4, 3.5 and 3.8.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.optimization.interior_point.problem import Array, NonlinearProblem, Settings

__all__ = ["StandardForm"]


class StandardForm:
    """A problem with slacks and scales.

    Attributes:
        num_variables, num_constraints, num_x: sizes of z, c and x; x comes first in z.
        lower, upper: relaxed bounds of z, shape [num_variables].
        rows, columns: where the entries of the Jacobian of c stand.
        hessian_rows, hessian_columns: where those of the Hessian stand.
        has_hessian: whether there is an exact Hessian.
        has_cost: whether anything is minimized.
        cost_scale, row_scale: by which f and c are multiplied.
    """

    def __init__(self, problem: NonlinearProblem, guess: Array, settings: Settings) -> None:
        self._problem, self._fixed = problem, problem.x_lower == problem.x_upper
        self.x = np.where(self._fixed, problem.x_lower, guess)
        self.free = np.flatnonzero(~self._fixed)
        self.num_x, self.num_constraints = len(self.free), len(problem.g_lower)
        self.inequalities = np.flatnonzero(problem.g_lower != problem.g_upper)
        self.num_variables = self.num_x + len(self.inequalities)
        place = np.full(len(self.x), -1)
        place[self.free] = np.arange(self.num_x)
        self._lay_out(place)
        self.cost_scale, self.row_scale = 1.0, np.ones(self.num_constraints)
        start = self._push_inside(self.x[self.free], problem.x_lower[self.free], problem.x_upper[self.free], settings)
        self._scale(start, settings.nlp_scaling_max_gradient)
        scale = self.row_scale[self.inequalities]
        self.lower = np.concatenate([problem.x_lower[self.free], scale * problem.g_lower[self.inequalities]])
        self.upper = np.concatenate([problem.x_upper[self.free], scale * problem.g_upper[self.inequalities]])
        self._equation = np.where(problem.g_lower == problem.g_upper, problem.g_lower, 0.0)
        slacks = (self.row_scale * self._g(start))[self.inequalities] if self.num_constraints else np.zeros(0)
        self.start = self._push_inside(np.concatenate([start, slacks]), self.lower, self.upper, settings)
        relax = settings.bound_relax_factor
        self.lower = self.lower - relax * np.maximum(1.0, np.abs(self.lower))
        self.upper = self.upper + relax * np.maximum(1.0, np.abs(self.upper))

    def _lay_out(self, place: Array) -> None:
        """Where the entries of derivatives with respect to z stand; those of fixed variables are left out."""
        problem = self._problem
        columns = place[problem.jacobian_columns]
        self._kept = np.flatnonzero(columns >= 0)
        slacks = self.num_x + np.arange(len(self.inequalities))
        self.rows = np.concatenate([problem.jacobian_rows[self._kept], self.inequalities])
        self.columns = np.concatenate([columns[self._kept], slacks])
        self.has_hessian, self.has_cost = problem.hessian is not None, problem.f is not None
        rows, columns = place[problem.hessian_rows], place[problem.hessian_columns]
        self._kept_hessian = np.flatnonzero((rows >= 0) & (columns >= 0))
        self.hessian_rows, self.hessian_columns = rows[self._kept_hessian], columns[self._kept_hessian]

    @staticmethod
    def _push_inside(z: Array, lower: Array, upper: Array, settings: Settings) -> Array:
        widest = settings.bound_frac * (upper - lower)
        with np.errstate(invalid="ignore"):
            low = lower + np.minimum(settings.bound_push * np.maximum(1.0, np.abs(lower)), widest)
            high = upper - np.minimum(settings.bound_push * np.maximum(1.0, np.abs(upper)), widest)
        low, high = np.where(np.isfinite(lower), low, -np.inf), np.where(np.isfinite(upper), high, np.inf)
        return np.minimum(np.maximum(z, low), high)

    def _scale(self, x: Array, largest: float) -> None:
        slope = np.max(np.abs(self.gradient(x)), initial=0.0)
        if slope > largest:
            self.cost_scale = max(largest / slope, 1e-8)
        if self.num_constraints:
            slopes = np.zeros(self.num_constraints)
            values = np.abs(self.jacobian(x))[: len(self._kept)]
            np.maximum.at(slopes, self.rows[: len(self._kept)], values)
            with np.errstate(divide="ignore"):
                self.row_scale = np.where(slopes > largest, np.maximum(largest / slopes, 1e-8), 1.0)

    # ------------------------------------------------------------------ the functions

    def full_x(self, z: Array) -> Array:
        """All variables of the problem, shape [n], a new array."""
        x = self.x.copy()
        x[self.free] = z[: self.num_x]
        return x

    def cost(self, z: Array) -> float:
        return 0.0 if self._problem.f is None else self.cost_scale * float(self._problem.f(self.full_x(z)))

    def gradient(self, z: Array) -> Array:
        """Of the cost, shape [num_variables]."""
        gradient = np.zeros(self.num_variables)
        if self._problem.gradient is not None and self._problem.f is not None:
            values = _sized("gradient", self._problem.gradient(self.full_x(z)), len(self.x))
            gradient[: self.num_x] = self.cost_scale * values[self.free]
        return gradient

    def _g(self, z: Array) -> Array:
        if self._problem.g is None:
            return np.zeros(0)
        return _sized("g", self._problem.g(self.full_x(z)), self.num_constraints)

    def constraints(self, z: Array) -> Array:
        """c(z), equations (1) and (2)."""
        values: Array = self.row_scale * (self._g(z) - self._equation)
        values[self.inequalities] -= z[self.num_x :]
        return values

    def jacobian(self, z: Array) -> Array:
        """Entries of dc/dz."""
        values = np.full(len(self.rows), -1.0)
        if self._problem.jacobian is not None:
            given = _sized("jacobian", self._problem.jacobian(self.full_x(z)), len(self._problem.jacobian_rows))
            kept = len(self._kept)
            values[:kept] = self.row_scale[self.rows[:kept]] * given[self._kept]
        return values

    def hessian(self, z: Array, sigma: float, y: Array) -> Array:
        """Entries of the Hessian of sigma f + y . c."""
        assert self._problem.hessian is not None
        weight = 0.0 if self._problem.f is None else sigma * self.cost_scale
        values = self._problem.hessian(self.full_x(z), weight, y * self.row_scale)
        return _sized("hessian", values, len(self._problem.hessian_rows))[self._kept_hessian]


def _sized(name: str, values: Array, size: int) -> Array:
    values = np.asarray(values, float)
    if values.shape != (size,):
        raise ValueError(f"{name} returned an array of shape {values.shape}; expected ({size},).")
    return values
