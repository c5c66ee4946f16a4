"""Constraints of a trajectory that is a spline of control points, stretched to a duration.

With the path r(s) = sum_j w_j(s) p_j, its derivatives r^(k)(s) = sum_j w_kj p_j and the duration T,

    q(t) = r(t / T),     d^k q / dt^k = r^(k) / T^k                                                      (1)
    d/dp_j (d^k q / dt^k) = w_kj / T^k,     d/dT (d^k q / dt^k) = -k / T d^k q / dt^k                     (2)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.optimization import Constraint

__all__ = ["DerivativeBounds", "PointConstraint"]

Array = NDArray[np.float64]


class DerivativeBounds(Constraint):
    """Bounds on the control points of a time derivative of one position, which bound it at all times.

        r^(k) - lower T^k >= 0,     r^(k) - upper T^k <= 0                                               (3)

    for the control points of r^(k). As T^k is a factor and no divisor, all is smooth at T = 0, and only T is nonlinear:
    an arm whose program did not end after 3000 iterations with bounds on r^(k) / T^k takes 65 of them.

    The variables are T, and the position's control points, shape [1 + n]. Infinite bounds have no rows.

    Args:
        M: by which these control points become those of the derivative by s, shape [n, m].
        order: k.
        lower, upper: bounds of the derivative by time.
    """

    def __init__(self, M: Array, order: int, lower: float, upper: float, description: str) -> None:
        n, m = M.shape
        bounds = [bound for bound in (lower, upper) if np.isfinite(bound)]
        low = np.full(m * np.isfinite(lower), 0.0), np.full(m * np.isfinite(upper), -np.inf)
        super().__init__(1 + n, np.concatenate(low), np.where(np.isinf(np.concatenate(low)), 0.0, np.inf), description)
        self._rows = np.vstack([np.zeros((0, n)), *(M.T for _ in bounds)])
        self._bounds, self._order = np.repeat(bounds, m), order

    def _eval(self, x: Any) -> Any:
        return self._rows @ x[1:] - self._bounds * x[0] ** self._order

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        by_duration = -self._order * self._bounds * x[0] ** (self._order - 1)
        return self._eval(x), np.column_stack((by_duration, self._rows))


class PointConstraint(Constraint):
    """A constraint on [q, qdot, ...] at one time of a trajectory, as one on its control points.

    The variables are T, if there are derivatives by time, and then the control points, one after the other:
    shape [1 + n * num_positions].

    Args:
        constraint: takes q and as many of its derivatives by time as there are weights of.
        weights: w_kj of (1), shape [1 + greatest k, n].
    """

    def __init__(self, constraint: Constraint, weights: Array, description: str) -> None:
        orders, n = weights.shape
        self._constraint, self._weights = constraint, weights
        self._num_positions = constraint.num_vars() // orders
        num_vars = n * self._num_positions + (orders > 1)
        super().__init__(num_vars, constraint.lower_bound(), constraint.upper_bound(), description)

    def _state(self, x: Any) -> Any:
        """[q, qdot, ...], one row for each order, by (1)."""
        orders, n = self._weights.shape
        first = int(orders > 1)
        points = x[first:].reshape(n, self._num_positions)
        rows = [row @ points for row in self._weights]
        return np.array([row / x[0] ** k if k else row for k, row in enumerate(rows)], dtype=x.dtype)

    def _eval(self, x: Any) -> Any:
        return self._constraint._eval(self._state(x).ravel())

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        state = self._state(x)
        orders, n = self._weights.shape
        value, slopes = self._constraint._value_and_jacobian(state.ravel())
        by_order = slopes.reshape(value.size, orders, self._num_positions)
        scales = np.array([x[0] ** -k if k else 1.0 for k in range(orders)])
        by_points = np.einsum("kj,mki->mji", scales[:, np.newaxis] * self._weights, by_order)  # (2)
        by_points = by_points.reshape(value.size, n * self._num_positions)
        if orders == 1:
            return value, by_points
        by_duration = np.einsum("mki,ki,k->m", by_order, state, -np.arange(orders) / x[0])
        return value, np.column_stack((by_duration, by_points))

    def is_thread_safe(self) -> bool:
        """As the constraint."""
        return self._constraint.is_thread_safe()
