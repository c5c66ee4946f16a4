"""Explicit Runge-Kutta integrators: one loop, any tableau."""

from __future__ import annotations

import math

import numpy as np

from merganser.analysis.integrators.base import IntegratorBase
from merganser.analysis.integrators.tableaus import RK3, ButcherTableau
from merganser.framework import Context, System
from merganser.framework.core.nonfinite import blame_derivatives

__all__ = ["RungeKutta3Integrator"]


class _ExplicitRungeKutta(IntegratorBase):
    """Steps by the method of a Butcher tableau (equations (1) to (3) in tableaus.py)."""

    tableau: ButcherTableau

    def __init__(self, system: System, context: Context) -> None:
        super().__init__(system, context)
        stages = len(self.tableau.b)
        self._k = np.zeros((stages, len(self._x)), dtype=self._x.dtype)
        self._a = [np.array(row) for row in self.tableau.a]
        self._b = np.array(self.tableau.b)
        has_estimate = bool(self.tableau.b_hat)
        self._b_error = self._b - np.array(self.tableau.b_hat) if has_estimate else None

    def supports_error_estimation(self) -> bool:
        return bool(self.tableau.b_hat)

    def get_error_estimate_order(self) -> int:
        return self.tableau.error_order

    def _step(self, h: float) -> float:
        time, x, k = self._store.flat.item(0), self._x.copy(), self._k
        k[0] = self._current_derivatives()
        if not math.isfinite(abs(k[0].sum())):
            raise RuntimeError(blame_derivatives(self._context))
        for i in range(1, len(k)):
            k[i] = self._derivatives_at(time + self.tableau.c[i] * h, x + h * (self._a[i] @ k[:i]))  # (1)
        store, down = self._store, self._context._layout.down
        store.change(down["time"] | down["xc"], self._context)
        store.flat[0] = time + h
        self._x[:] = x + h * (self._b @ k)  # (2)
        if self._b_error is None or len(x) == 0:
            return 0.0
        return h * float(np.abs(self._b_error @ k).max())  # (3)


class RungeKutta3Integrator(_ExplicitRungeKutta):
    """Third-order explicit Runge-Kutta with an embedded second-order method for error control.

    The default integrator of `Simulator`: right for smooth systems that are not stiff, at accuracies down to about
    1e-8.
    """

    tableau = RK3
