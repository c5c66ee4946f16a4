"""Implicit Euler integrators with step doubling."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from merganser.analysis.integrators import step_state as f
from merganser.analysis.integrators.collocation import CollocationMethod, radau_iia
from merganser.analysis.integrators.implicit import ImplicitIntegrator
from merganser.analysis.integrators.jacobian import FullMatrix, LinearAlgebra, VelocityMatrix
from merganser.analysis.integrators.newton import begin_attempt, solve
from merganser.analysis.integrators.newton_arrays import NewtonArrays, SolverArrays
from merganser.analysis.integrators.problem import (
    Problem,
    add,
    arrays_of_method,
    clear,
    copy,
    largest,
    move,
    scale,
    step_of,
    subtract,
)
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.tape import SUCCEEDED


class EulerArrays(NamedTuple):
    """The arrays of an attempt.

    Attributes:
        newton: what both solvers share.
        whole, half: solvers of (3), and of (1) and (2).
    """

    newton: NewtonArrays
    whole: SolverArrays
    half: SolverArrays


_arrays_of = arrays_of_method(EulerArrays)


@kernel
def try_implicit_euler_step(p: Problem) -> int:
    """Equations (1) to (3) of ImplicitEulerIntegrator."""
    s = step_of(p)
    status = begin_attempt(p)
    if status == SUCCEEDED:
        status = _take_both_halves(p, s.start, s.h, not s.is_fixed_step)
    if status == f.UNSOLVED:
        s.error = math.inf
        status = SUCCEEDED
    return status


@device
def _take_both_halves(p: Problem, time: float, h: float, has_estimate: bool) -> int:
    a, s = _arrays_of(p), step_of(p)
    whole, half, offset, change = a.whole.z, a.half.z, a.newton.offset, a.newton.change
    clear(whole[0])
    clear(offset)
    status = SUCCEEDED
    if has_estimate:
        status = solve(p, a.whole, time, h, s.counts.of_error)  # (3)
    scale(half, 0.5, whole)
    if status == SUCCEEDED:
        status = solve(p, a.half, time, 0.5 * h, s.counts.of_result)  # (1)
    copy(offset, half[0])
    if has_estimate:
        subtract(half[0], whole[0], offset)
    if status == SUCCEEDED:
        status = solve(p, a.half, time + 0.5 * h, 0.5 * h, s.counts.of_result)  # (2)
    if status == SUCCEEDED:
        add(change, offset, half[0])
        move(p, time + h, change)
        s.error = 0.0
        if has_estimate:
            subtract(whole[0], whole[0], change)
            s.error = largest(whole[0])
    return status


class _StepDoublingEuler(ImplicitIntegrator):
    """Steps by the implicit Euler method, in two halves.

        x_1/2  = x(t) + h/2 f(t + h/2, x_1/2)                                   (1)
        x(t+h) = x_1/2 + h/2 f(t + h, x(t+h))                                   (2)
        x^     = x(t) + h f(t + h, x^)                                          (3)

    The result is that of (2), of order 1. Its error is estimated by x^ - x(t+h), which is O(h^2) (Hairer, Norsett,
    Wanner 1993, II.4, equation (4.4) for order 1). With fixed steps (3) is left out.
    """

    default_accuracy = 0.1
    loosest_accuracy = 0.5
    attempt = try_implicit_euler_step

    def get_error_estimate_order(self) -> int:
        return 2

    def _methods(self) -> list[CollocationMethod]:
        return [radau_iia(1), radau_iia(1)]

    def _gather(self, newton: NewtonArrays, solvers: list[SolverArrays], further: list[Any]) -> EulerArrays:
        whole, half = solvers
        return EulerArrays(newton, whole, half)


class ImplicitEulerIntegrator(_StepDoublingEuler):
    """The implicit Euler method, of order 1, for stiff systems at loose accuracies.

    Each step is taken in two halves, and in one for the error estimate.
    """

    scheme = "implicit_euler"


class VelocityImplicitEulerIntegrator(_StepDoublingEuler):
    """The implicit Euler method for mechanical systems, of order 1.

    It solves the same equations as ImplicitEulerIntegrator; where there are more than 30 state variables, with matrices
    of the size of the velocities and other variables: positions follow from qdot = N(q) v.
    """

    scheme = "velocity_implicit_euler"

    def _make_linear_algebra(self) -> LinearAlgebra:
        q, v, z = self._bound_context().layout.xc_partition
        return VelocityMatrix(q, np.concatenate([v, z])) if len(q) else FullMatrix()
