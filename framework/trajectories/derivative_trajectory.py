"""DerivativeTrajectory: a derivative of a trajectory, evaluated through the latter."""

from __future__ import annotations

from typing import Any

from merganser.framework.trajectories._scalars import Array, derivative_order_of, plain
from merganser.framework.trajectories.trajectory import Trajectory


class DerivativeTrajectory(Trajectory):
    """A derivative of a trajectory; its value is what EvalDerivative() of the latter returns.

    Args:
        nominal: the trajectory, which is copied.
        derivative_order: at least 0.

    Raises:
        ValueError: the order is negative.
        RuntimeError: the trajectory has no derivatives.
    """

    def __init__(self, nominal: Trajectory, derivative_order: int = 1) -> None:
        self._order = derivative_order_of(derivative_order, "DerivativeTrajectory")
        if not nominal.has_derivative():
            raise RuntimeError(f"DerivativeTrajectory: a {type(nominal).__name__} has no derivatives.")
        self._nominal: Trajectory = nominal.Clone()
        start = plain(nominal.start_time())
        probe = self._nominal.EvalDerivative(start if abs(start) < float("inf") else 0.0, self._order)
        self._rows, self._cols = probe.shape  # derivatives of a quaternion or of a pose have other shapes than these

    def do_rows(self) -> int:
        return self._rows

    def do_cols(self) -> int:
        return self._cols

    def do_start_time(self) -> Any:
        return self._nominal.start_time()

    def do_end_time(self) -> Any:
        return self._nominal.end_time()

    def do_value(self, t: Any) -> Array:
        return self._nominal.EvalDerivative(t, self._order)

    def do_has_derivative(self) -> bool:
        return True

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        return self._nominal.EvalDerivative(t, self._order + derivative_order)

    def DoMakeDerivative(self, derivative_order: int) -> DerivativeTrajectory:
        return DerivativeTrajectory(self._nominal, self._order + derivative_order)

    def _scalar_type(self) -> Any:
        return self._nominal._scalar_type()

    def _breaks_to_look_at(self) -> list[float]:
        return self._nominal._breaks_to_look_at()

    def _cast(self, T: Any) -> DerivativeTrajectory:
        return DerivativeTrajectory(self._nominal._cast(T), self._order)
