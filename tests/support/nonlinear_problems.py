"""Nonlinear programs of functions that complex numbers pass, with derivatives by the complex step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.optimization.interior_point import NonlinearProblem

Array = np.ndarray[Any, Any]


def _jacobian(function: Callable[[Array], Any], x: Array) -> Array:
    columns = [np.imag(function(x + 1e-30j * direction)) / 1e-30 for direction in np.eye(len(x))]
    return np.stack(columns, axis=-1)


def dense_problem(
    x_lower: Any,
    x_upper: Any,
    cost: Callable[[Array], Any] | None = None,
    constraints: Callable[[Array], Any] | None = None,
    g_lower: Any = (),
    g_upper: Any = (),
    is_exact: bool = True,
) -> NonlinearProblem:
    """A problem all of whose derivatives are dense; the Hessian, if exact, is a central difference of gradients."""
    n, m = len(x_lower), len(g_lower)

    def g(x: Array) -> Array:
        return np.array(constraints(x)) if constraints else np.zeros(0)

    def hessian(x: Array, sigma: float, y: Array) -> Array:
        def slope(at: Array) -> Array:
            total = sigma * _jacobian(cost, at) if cost else np.zeros(n)
            return total + (y @ _jacobian(g, at) if m else 0.0)

        steps = 1e-5 * np.maximum(1e-3, np.abs(x))
        rows = [(slope(x + h * d) - slope(x - h * d)) / (2.0 * h) for h, d in zip(steps, np.eye(n))]
        H = np.stack(rows)
        return (0.5 * (H + H.T))[np.tril_indices(n)]

    rows, columns = np.divmod(np.arange(n * m), n)
    below = np.tril_indices(n) if is_exact else (np.zeros(0, int), np.zeros(0, int))
    return NonlinearProblem(
        x_lower=x_lower, x_upper=x_upper, f=(lambda x: float(cost(x))) if cost else None,
        gradient=(lambda x: _jacobian(cost, x)) if cost else None, g_lower=np.array(g_lower), g_upper=np.array(g_upper),
        g=g, jacobian=lambda x: _jacobian(g, x).ravel(), jacobian_rows=rows, jacobian_columns=columns,
        hessian=hessian if is_exact else None, hessian_rows=below[0], hessian_columns=below[1],
    )  # fmt: skip
