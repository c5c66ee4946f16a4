"""The form that is solved: min f(z) subject to c(z) = 0 and lower <= z <= upper.

z = (x, s) has the variables that are not fixed, and a slack for each inequality:

    c_i(z) = r_i (g_i(x) - g_i)    of an equation g_i(x) = g_i                              (1)
    c_i(z) = r_i g_i(x) - s_k      of an inequality, r_i g_lower_i <= s_k <= r_i g_upper_i  (2)

The scales r of the constraints and that of the cost bring their gradients at the start down to a given size, or up from
very small ones. Bounds are relaxed by a little, so that there is always an inside.

Source: A. Waechter, L. Biegler, Math. Program. 106 (2006), sections 3.4, 3.5 and 3.8.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.optimization.interior_point.problem import Array, NonlinearProblem, Settings

_SMALL, _MOST_SCALE = 1e-2, 1e12  # slopes that are scaled up, and by how much at most
_NEARBY = 0.1  # units
_GOLDEN = 0.6180339887498949  # whose multiples are spread evenly between whole numbers


class StandardForm:
    """A problem with slacks and scales.

    Attributes:
        num_variables, num_constraints, num_x: sizes of z, c and x; x comes first in z.
        lower, upper: relaxed bounds of z, shape [num_variables].
        rows, columns: indices of the entries of the Jacobian of c.
        hessian_rows, hessian_columns: indices of those of the Hessian.
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
        width = self.upper - self.lower
        self.lower = self.lower - relax * np.maximum(1.0, np.abs(self.lower)) * np.minimum(1.0, width)
        self.upper = self.upper + relax * np.maximum(1.0, np.abs(self.upper)) * np.minimum(1.0, width)

    def _lay_out(self, place: Array) -> None:
        """Indices of the entries of derivatives with respect to z; those of fixed variables are left out."""
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
        """Sets the scales by the derivatives at x, and nearby where some are small at x, as at an optimum."""
        of_cost, of_rows = self._slopes(x)
        if (self.has_cost and of_cost < _SMALL) or (of_rows < _SMALL).any():
            unit = np.minimum(1.0, self._problem.x_upper - self._problem.x_lower)[self.free]
            try:
                beside = nearby(x, unit, self._problem.x_lower[self.free], self._problem.x_upper[self.free])
                slopes = self._slopes(beside)
            except (ArithmeticError, RuntimeError, ValueError):  # not defined there
                slopes = 1.0, np.ones(self.num_constraints)
            of_cost, of_rows = max(of_cost, min(slopes[0], 1.0)), np.maximum(of_rows, np.minimum(slopes[1], 1.0))
        self.cost_scale = float(_scale_of(np.array([of_cost]), largest)[0])
        self.row_scale = _scale_of(of_rows, largest)

    def _slopes(self, x: Array) -> tuple[float, Array]:
        """The largest derivatives of the cost and of each constraint."""
        slopes = np.zeros(self.num_constraints)
        if self.num_constraints:
            np.maximum.at(slopes, self.rows[: len(self._kept)], np.abs(self.jacobian(x))[: len(self._kept)])
        return float(np.abs(self.gradient(x)).max(initial=0.0)), slopes

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


def nearby(x: Array, unit: Array, lower: Array, upper: Array) -> Array:
    """A point between bounds where derivatives show what they may hide at x, such as at an optimum.

    All variables differ from x by a tenth of their units at most, each by another part.
    """
    part = np.modf(_GOLDEN * np.arange(1, x.size + 1))[0]
    step = _NEARBY * unit * (0.5 + part / 2.0) * np.where(part < 0.5, 1.0, -1.0)
    return np.clip(np.where((x + step <= upper) & (x + step >= lower), x + step, x - step), lower, upper)


def _scale_of(slopes: Array, largest: float) -> Array:
    """Factors that bring slopes below a largest one, and small ones up to 1."""
    with np.errstate(all="ignore"):
        down = np.where(slopes > largest, np.maximum(largest / slopes, 1e-8), 1.0)
        return np.where((slopes > 0.0) & (slopes < _SMALL), np.minimum(1.0 / slopes, _MOST_SCALE), down)


def _sized(name: str, values: Array, size: int) -> Array:
    values = np.asarray(values, float)
    if values.shape != (size,):
        raise ValueError(f"{name} returned an array of shape {values.shape}; expected ({size},).")
    return values
