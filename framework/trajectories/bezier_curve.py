"""BezierCurve: a polynomial curve inside the convex hull of its control points.

With n the order, p_i the control points, s = (t - t_0) / (t_1 - t_0) and B(i, n) the Bernstein polynomials
(G. Farin, 2002, "Curves and Surfaces for CAGD", chapters 4 and 5),

    r(t) = sum_i p_i B(i, n)(s),      B(i, n)(s) = binom(n, i) s^i (1 - s)^(n - i),               (1)
    r'(t) has the order n - 1 and the control points n / (t_1 - t_0) (p_(i+1) - p_i),             (2)
    r(t) has the order n + 1 with control points i / (n + 1) p_(i-1) + (1 - i / (n + 1)) p_i.     (3)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.trajectories._scalars import (
    Array,
    as_matrix,
    cast_entries,
    cast_list,
    clamped,
    derivative_order_of,
    plain,
    scalar_of_array,
    scalar_of_list,
)
from merganser.framework.trajectories.polynomial import Polynomial
from merganser.framework.trajectories.trajectory import Trajectory


class BezierCurve(Trajectory):
    """A Bezier curve; before its start and beyond its end, value and derivatives are those there.

    Args:
        start_time, end_time: where the curve is at its first and last control point.
        control_points: p_0 ... p_n as columns, shape [rows, n + 1].

    Without arguments, the curve is empty, from 0 to 1.

    Raises:
        ValueError: the end time is before the start time.
    """

    def __init__(self, start_time: Any = 0.0, end_time: Any = 1.0, control_points: Any = None) -> None:
        points = np.zeros((0, 0)) if control_points is None else as_matrix(control_points, "BezierCurve")
        if plain(end_time) < plain(start_time):
            raise ValueError(f"BezierCurve: the end time {end_time} is before the start time {start_time}.")
        self._times = [float(time) if isinstance(time, (int, float)) else time for time in (start_time, end_time)]
        self._points = points

    def order(self) -> int:
        """Returns n, the degree of the polynomial; -1 for an empty curve."""
        return self._points.shape[1] - 1

    def control_points(self) -> Array:
        """Returns a copy of the control points, shape [rows, n + 1]."""
        return self._points.copy()

    def BernsteinBasis(self, i: int, time: Any, order: int | None = None) -> Any:
        """Returns the Bernstein polynomial B(i, order) at a time, by (1); zero if i is out of range.

        Args:
            i: its number.
            time: may be beyond the ends.
            order: that of the curve by default.
        """
        n = self.order() if order is None else int(order)
        start, end = self._times
        return _bernstein(i, n, (time - start) / (end - start))

    def AsLinearInControlPoints(self, derivative_order: int = 1) -> Any:
        """Returns the matrix M for which the control points of a derivative are control_points() M.

        Returns:
            A scipy.sparse.csc_matrix of shape [n + 1, n + 1 - derivative_order].

        Raises:
            ValueError: the order is negative.
        """
        from scipy import sparse  # most programs need no sparse matrices

        order = derivative_order_of(derivative_order, "BezierCurve.AsLinearInControlPoints()")
        return sparse.csc_matrix(self._differences(np.eye(self.order() + 1), order))

    def GetExpression(self, time: Any = None) -> Array:
        """Returns the polynomial of the curve as expressions of a variable.

        Args:
            time: the Variable; by default a new one called t.

        Returns:
            Shape [rows].
        """
        from merganser.framework.symbolic import Expression, Variable  # needs an extra

        t = Expression(Variable("t") if time is None else time)
        start, end = self._times
        s = Polynomial([-start / (end - start), 1.0 / (end - start)])
        curve = [Polynomial() for _ in range(self.rows())]
        for i in range(self.order() + 1):
            basis = Polynomial(float(math.comb(self.order(), i)))
            for factor in [s] * i + [1.0 - s] * (self.order() - i):
                basis = basis * factor
            curve = [total + basis * p for total, p in zip(curve, self._points[:, i].tolist())]
        powers = [t**k if k else Expression(1.0) for k in range(self.order() + 1)]
        terms = [zip(polynomial.GetCoefficients().tolist(), powers) for polynomial in curve]
        return np.array([sum((c * power for c, power in row), Expression(0.0)) for row in terms], dtype=object)

    def ElevateOrder(self) -> None:
        """Raises the order by one, by (3), without a change of the curve."""
        count = self.order() + 1
        share = np.arange(count + 1) / max(count, 1)
        padded = np.concatenate([0.0 * self._points[:, :1], self._points, 0.0 * self._points[:, :1]], axis=1)
        self._points = padded[:, :-1] * share + padded[:, 1:] * (1.0 - share)

    def do_rows(self) -> int:
        return self._points.shape[0]

    def do_cols(self) -> int:
        return 1

    def do_start_time(self) -> Any:
        return self._times[0]

    def do_end_time(self) -> Any:
        return self._times[1]

    def do_value(self, t: Any) -> Array:
        return self._evaluate(self._points, t)

    def _breaks_to_look_at(self) -> list[float]:
        return [plain(self.start_time()), plain(self.end_time())]

    def do_has_derivative(self) -> bool:
        return True

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        return self._evaluate(self._derivative_points(derivative_order), t)

    def DoMakeDerivative(self, derivative_order: int) -> BezierCurve:
        start, end = self._times
        return BezierCurve(start, end, self._derivative_points(derivative_order))

    def _evaluate(self, points: Array, t: Any) -> Array:
        start, end = self._times
        s = (clamped(t, start, end, self._name) - start) / (end - start)
        n = points.shape[1] - 1
        total: Any = np.zeros(len(points))
        for i in range(n + 1):  # (1)
            total = total + points[:, i] * _bernstein(i, n, s)
        return np.asarray(total).reshape(-1, 1)

    def _derivative_points(self, order: int) -> Array:
        """Control points of a derivative, a single zero if its order exceeds that of the curve."""
        if order > self.order():
            return 0.0 * self._points[:, :1]
        return self._differences(self._points, order)

    def _differences(self, points: Array, order: int) -> Array:
        start, end = self._times
        for _ in range(min(order, points.shape[1])):  # (2)
            points = np.diff(points, axis=1) * ((points.shape[1] - 1) / (end - start))
        return points

    def _scalar_type(self) -> Any:
        of_points = scalar_of_array(self._points)
        return scalar_of_list(self._times) if of_points is float else of_points

    def _cast(self, T: Any) -> BezierCurve:
        start, end = cast_list(self._times, T)
        return BezierCurve(start, end, cast_entries(self._points, T))


def _bernstein(i: int, n: int, s: Any) -> Any:
    """(1); powers with the exponent 0 are left out, whose derivatives would be 0 / 0 at the ends."""
    if not 0 <= i <= n:
        return 0.0
    result: Any = float(math.comb(n, i))
    for factor in [s] * i + [1.0 - s] * (n - i):
        result = result * factor
    return result
