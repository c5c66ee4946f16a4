"""Integrators without error control: what they share, and SemiExplicitEulerIntegrator, velocities before positions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from merganser.analysis.integrators.base import IntegratorBase
from merganser.analysis.integrators.problem import (
    Problem,
    arrays_of_method,
    evaluate,
    evaluate_start,
    indices_in_lanes,
    move,
    scale_at,
    step_of,
)
from merganser.framework import Context, System
from merganser.framework.native import kernel
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.tape import SUCCEEDED


class FixedStepIntegrator(IntegratorBase):
    """A method without error estimate.

    Args:
        system: the system to integrate.
        max_step_size: the size of all steps, except those that an event cuts short [s].
        context: where the values are; if it is not given here, call `reset_context` before integrating.

    Raises:
        ValueError: the step size is not positive.
    """

    takes_step_size = True

    def __init__(self, system: System, max_step_size: float, context: Context | None = None) -> None:
        super().__init__(system, context)
        self.set_maximum_step_size(max_step_size)

    def supports_error_estimation(self) -> bool:
        return False

    def get_error_estimate_order(self) -> int:
        return 0


class SemiExplicitEulerArrays(NamedTuple):
    """The arrays of an attempt.

    Attributes:
        positions, others: indices of positions in the state, and of all else.
        xdot_start, xdot: derivatives at the start, and with the new velocities.
        change_of_others: 0 for positions.
        change: of the state.
    """

    positions: Integers
    others: Integers
    xdot_start: Floats
    xdot: Floats
    change_of_others: Floats
    change: Floats


_arrays_of = arrays_of_method(SemiExplicitEulerArrays)


@kernel
def try_semi_explicit_euler_step(p: Problem) -> int:
    """Equations (1) and (2) of SemiExplicitEulerIntegrator."""
    s, a = step_of(p), _arrays_of(p)
    positions, others, xdot_start, xdot = a.positions, a.others, a.xdot_start, a.xdot
    change_of_others, change = a.change_of_others, a.change
    time, h = s.start, s.h
    s.error = 0.0
    status = evaluate_start(p, xdot_start)
    scale_at(change, others, h, xdot_start)  # (1)
    if len(positions) > 0 and status == SUCCEEDED:
        scale_at(change_of_others, others, h, xdot_start)
        move(p, time, change_of_others)
        status = evaluate(p, xdot)
        scale_at(change, positions, h, xdot)  # (2)
    if status == SUCCEEDED:
        move(p, time + h, change)
    return status


class SemiExplicitEulerIntegrator(FixedStepIntegrator):
    """The symplectic Euler method, of order 1: it keeps the energy of mechanical systems from drifting.

    With positions q, velocities v, other variables z, and qdot = N(q) v (Hairer, Lubich, Wanner 2006, I.1.2),

        v(t+h) = v + h vdot(t, q, v, z),  z(t+h) = z + h zdot(t, q, v, z)       (1)
        q(t+h) = q + h N(q) v(t+h)                                              (2)

    N(q) v(t+h) is the qdot of a second evaluation of the derivatives. Without positions this is Euler's method.
    """

    attempt = try_semi_explicit_euler_step
    scheme = "semi_explicit_euler"

    def _make_arrays(self, n: int, dtype: Any) -> SemiExplicitEulerArrays:
        positions = np.array(self._bound_context().layout.xc_partition[0], dtype=np.int64)
        others = np.setdiff1d(np.arange(n), positions)
        return SemiExplicitEulerArrays(positions, others, self._xdot_start, *np.zeros((3, n), dtype))

    def _make_arrays_in_lanes(self, num_lanes: int) -> SemiExplicitEulerArrays:
        indices = (indices_in_lanes(each, num_lanes) for each in self._arrays[:2])
        return SemiExplicitEulerArrays(*indices, *np.zeros((4, len(self._x) * num_lanes)))
