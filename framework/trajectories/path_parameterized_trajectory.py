"""PathParameterizedTrajectory: a path r(s) and the way s(t) along it.

Its derivatives are those of a composition (Faa di Bruno): with r_k the k-th derivative of the path by s, and B(n, k)
the partial Bell polynomials of the derivatives s_1, s_2, ... of s by t,

    d^n/dt^n r(s(t)) = sum_k r_k B(n, k),                                                           (1)
    B(n, k) = sum_i binom(n - 1, i - 1) s_i B(n - i, k - 1),    B(0, 0) = 1                         (2)

(L. Comtet, 1974, "Advanced Combinatorics", section 3.3).
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.trajectories._breaks import times_of_values
from merganser.framework.trajectories._scalars import Array, clamped
from merganser.framework.trajectories.derivative_trajectory import DerivativeTrajectory
from merganser.framework.trajectories.trajectory import Trajectory


class PathParameterizedTrajectory(Trajectory):
    """The path r(s(t)), from the start to the end time of s; beyond, value and derivatives are those there.

    Args:
        path: r.
        time_scaling: s, of shape [1, 1].

    Both are copied.

    Raises:
        ValueError: the time scaling has another shape.
    """

    def __init__(self, path: Trajectory, time_scaling: Trajectory) -> None:
        if (time_scaling.rows(), time_scaling.cols()) != (1, 1):
            raise ValueError(
                f"PathParameterizedTrajectory: time_scaling must have shape (1, 1), got ({time_scaling.rows()}, "
                f"{time_scaling.cols()})."
            )
        self._path: Trajectory = path.Clone()
        self._time_scaling: Trajectory = time_scaling.Clone()

    def path(self) -> Trajectory:
        """Returns the path r."""
        return self._path

    def time_scaling(self) -> Trajectory:
        """Returns the way s."""
        return self._time_scaling

    def do_rows(self) -> int:
        return self._path.rows()

    def do_cols(self) -> int:
        return self._path.cols()

    def do_start_time(self) -> Any:
        return self._time_scaling.start_time()

    def do_end_time(self) -> Any:
        return self._time_scaling.end_time()

    def do_value(self, t: Any) -> Array:
        return self._path.value(self._time_scaling.value(self._clamped(t)).item())

    def do_has_derivative(self) -> bool:
        return self._path.has_derivative() and self._time_scaling.has_derivative()

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        time, n = self._clamped(t), derivative_order
        s, *rates = (self._time_scaling.EvalDerivative(time, k).item() for k in range(n + 1))
        terms = [self._path.EvalDerivative(s, k) * _bell(n, k, rates) for k in range(1, n + 1)]  # (1)
        return sum(terms[1:], terms[0])

    def DoMakeDerivative(self, derivative_order: int) -> Trajectory:
        return DerivativeTrajectory(self, derivative_order)

    def _clamped(self, t: Any) -> Any:
        return clamped(t, self.start_time(), self.end_time(), self._name)

    def _scalar_type(self) -> Any:
        return self._path._scalar_type()

    def _breaks_to_look_at(self) -> list[float]:
        own = self._time_scaling._breaks_to_look_at()
        return [*own, *times_of_values(self._time_scaling, self._path._breaks_to_look_at())]

    def _cast(self, T: Any) -> PathParameterizedTrajectory:
        return PathParameterizedTrajectory(self._path._cast(T), self._time_scaling._cast(T))


def _bell(n: int, k: int, x: list[Any]) -> Any:
    """B(n, k) of x_1, x_2, ..., by (2)."""
    if n == 0 or k == 0:
        return 1.0 if n == k else 0.0
    total: Any = 0.0
    for i in range(1, n - k + 2):  # sum() adds floats with compensation since Python 3.12; compiled code does not
        total = total + math.comb(n - 1, i - 1) * x[i - 1] * _bell(n - i, k - 1, x)
    return total
