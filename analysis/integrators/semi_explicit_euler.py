"""SemiExplicitEulerIntegrator: velocities first, then positions with the new velocities."""

from __future__ import annotations

from merganser.analysis.integrators.base import IntegratorBase
from merganser.framework import Context, System

__all__ = ["SemiExplicitEulerIntegrator"]


class SemiExplicitEulerIntegrator(IntegratorBase):
    """The symplectic Euler method, of order 1: it keeps the energy of mechanical systems from drifting.

    With positions q, velocities v, other variables z, and qdot = N(q) v (Hairer, Lubich, Wanner 2006, I.1.2),

        v(t+h) = v + h vdot(t, q, v, z),  z(t+h) = z + h zdot(t, q, v, z)       (1)
        q(t+h) = q + h N(q) v(t+h)                                              (2)

    N(q) v(t+h) is the qdot of a second evaluation of the derivatives. Without positions this is Euler's method.

    Args:
        system: the system to integrate.
        max_step_size: the size of all steps, save those that an event cuts short [s].
        context: where the values are; if it is not given here, call `reset_context` before integrating.

    Raises:
        ValueError: the step size is not positive.
    """

    def __init__(self, system: System, max_step_size: float, context: Context | None = None) -> None:
        super().__init__(system, context)
        self.set_maximum_step_size(max_step_size)

    def supports_error_estimation(self) -> bool:
        return False

    def get_error_estimate_order(self) -> int:
        return 0

    def _prepare(self) -> None:
        self._q = self._bound_context().layout.xc_partition[0]
        self._change = self._x.copy()

    def _step(self, time: float, h: float) -> float:
        q, change = self._q, self._change
        self._evaluate_start()
        change[:] = h * self._xdot_start  # (1)
        if len(q):
            change[q] = 0.0
            self._move(time, change)
            change[q] = h * self._evaluate()[q]  # (2)
        self._move(time + h, change)
        return 0.0
