"""Radau IIA integrators."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import step_state as f
from merganser.analysis.integrators.collocation import CollocationMethod, radau_iia
from merganser.analysis.integrators.implicit import ImplicitIntegrator, Shapes
from merganser.analysis.integrators.newton import begin_attempt, linearize_at_start, solve
from merganser.analysis.integrators.newton_algebra import factor_shifted, solve_factored
from merganser.analysis.integrators.newton_arrays import NewtonArrays, SolverArrays, newton_of
from merganser.analysis.integrators.problem import (
    Problem,
    arrays_of_method,
    clear,
    copy,
    evaluate,
    largest,
    move,
    save_bulk,
    state_of,
    step_of,
)
from merganser.framework import Context, System
from merganser.framework.native import compiled_form, device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.tape import SUCCEEDED

Array = NDArray[Any]

_FARTHEST_GUESS = 5.0  # a step is continued into the next up to this many times its size
# A state that differs by no more than this share from where the last step went (unit quaternions were scaled) goes on
# from there.
_SAME_STATE = 1e-9


class RadauArrays(NamedTuple):
    """The arrays of an attempt.

    Attributes:
        newton: what all solvers share.
        solver: of the method.
        z_before: the stages of the last step.
        x_tried: where the last step tried went.
        lu_filter, pivots_filter: factors for the error estimate.
    """

    newton: NewtonArrays
    solver: SolverArrays
    z_before: FloatTable
    x_tried: Floats
    lu_filter: FloatTable
    pivots_filter: Integers


_arrays_of = arrays_of_method(RadauArrays)


@kernel
def try_radau_step(p: Problem) -> int:
    """Solves equation (1) of collocation.py for the stages z, and estimates the error (5)."""
    s, kept, solver = step_of(p), newton_of(p).kept, _arrays_of(p).solver
    time, h, z = s.start, s.h, solver.z
    s.error = 0.0
    _note_last_step(p)
    status = begin_attempt(p)
    if status != SUCCEEDED:
        return status
    _guess(p, h)
    status = solve(p, solver, time, h, s.counts.of_result)
    if status == f.UNSOLVED:
        s.error = math.inf
        return SUCCEEDED
    if status == SUCCEEDED and not s.is_fixed_step:
        status = _estimate_error(p)
    if status == SUCCEEDED:
        move(p, time + h, z[len(z) - 1])
        copy(_arrays_of(p).x_tried, state_of(p))
        kept["h_tried"] = h
    return status


@device
def _note_last_step(p: Problem) -> None:
    """Saves the stages of the last step, and whether this one starts at its end: the state may have been changed."""
    kept, z, z_before = newton_of(p).kept, _arrays_of(p).solver.z, _arrays_of(p).z_before
    if not step_of(p).knows_start:  # the last step tried was accepted
        goes_on = is_near(newton_of(p).x_start, _arrays_of(p).x_tried)
        kept["h_before"] = kept["h_tried"] if goes_on else 0.0
        for k in range(len(z)):
            copy(z_before[k], z[k])
    kept["h_tried"] = 0.0


@device
def _guess(p: Problem, h: float) -> None:
    """Begins with the continuation of the last step."""
    h_before = newton_of(p).kept["h_before"]
    if h <= _FARTHEST_GUESS * h_before:
        extrapolate(p, h / h_before)
    else:
        z = _arrays_of(p).solver.z
        for k in range(len(z)):
            clear(z[k])


@device
def _estimate_error(p: Problem) -> int:
    """Sets the error of the step, equation (5)."""
    s, kept, error = step_of(p), newton_of(p).kept, newton_of(p).residual
    if not kept["has_J"]:  # full Newton iterations keep none
        status = linearize_at_start(p, s.counts.of_error)
        if status != SUCCEEDED:
            return status
    status = SUCCEEDED
    _filter(p, newton_of(p).xdot_start)
    s.error = largest(error)
    if s.error > s.accuracy and kept["h_before"] == 0.0:
        # Far from equilibrium a stiff component spoils it; a second time through the filter mends that
        # (IV.8, (8.20)). Elsewhere that would hide steps that leap over a sudden change.
        xdot = newton_of(p).xdot_up
        move(p, s.start, error)
        status = evaluate(p, xdot)
        if status == SUCCEEDED:
            s.counts.of_error.evaluations += 1
            _filter(p, xdot)
            s.error = largest(error)
    return status


@device
def _filter(p: Problem, xdot: Array) -> None:
    """residual = (I - h gamma_0 J)^-1 (h gamma_0 xdot + sum_i e_i z_i), equation (5)."""
    s, kept, gamma_0 = step_of(p), newton_of(p).kept, _arrays_of(p).solver.gamma_0
    h = s.h
    mu = 1.0 / (gamma_0 * h)
    if kept["filtered_for"] != kept["J_number"] or kept["h_filtered"] != h:
        kept["filtered_for"] = -1.0
        save_bulk(p)
        factor_filter(p, mu)
        kept["filtered_for"], kept["h_filtered"] = kept["J_number"], h
        s.counts.of_error.factorizations += 1
    apply_filter(p, mu, xdot)


# ---------------------------------------------------------------------- algebra, in Python and in compiled code


def is_near(x: Array, x_tried: Array) -> bool:
    """Whether two states are the same, but for rounding."""
    return bool((np.abs(x - x_tried) <= _SAME_STATE * (1.0 + np.abs(x_tried))).all())


@compiled_form(is_near)
def _is_near(x: Array, x_tried: Array) -> bool:
    result = True
    for j in range(len(x)):
        result = result and abs(x[j] - x_tried[j]) <= _SAME_STATE * (1.0 + abs(x_tried[j]))
    return result


def extrapolate(p: RadauMethod, ratio: float) -> None:
    """Continues the polynomial through the stages of the last step into one that is `ratio` times as long."""
    p._arrays.solver.z[:] = p._method.extrapolate(p._arrays.z_before, ratio)


@compiled_form(extrapolate)
def _extrapolate(p: int, ratio: float) -> None:
    solver, z_before = _arrays_of(p).solver, _arrays_of(p).z_before
    z, c, extrapolation = solver.z, solver.c, solver.extrapolation
    num_stages, n = z.shape
    for k in range(num_stages):
        clear(z[k])
        x = 1.0 + ratio * c[k]
        for m in range(num_stages):
            weight, power = 0.0, 1.0
            for i in range(num_stages):
                power *= x
                weight += (power - 1.0) * extrapolation[i, m]
            for j in range(n):
                z[k, j] += weight * z_before[m, j]


def factor_filter(p: RadauMethod, mu: float) -> None:
    """Factors mu I - J for the error estimate."""
    a = p._arrays
    p._linear_algebra.factor(mu, a.newton.J, a.lu_filter, a.pivots_filter)


@compiled_form(factor_filter)
def _factor_filter(p: int, mu: float) -> None:
    a = _arrays_of(p)
    factor_shifted(mu, a.newton.J, a.lu_filter, a.pivots_filter)


def apply_filter(p: RadauMethod, mu: float, xdot: Array) -> None:
    """residual = (mu I - J)^-1 (xdot + mu sum_i e_i z_i)."""
    a = p._arrays
    right = xdot + mu * (p._method.e @ a.solver.z)
    a.newton.residual[:] = p._linear_algebra.solve(mu, a.newton.J, a.lu_filter, a.pivots_filter, right)


@compiled_form(apply_filter)
def _apply_filter(p: int, mu: float, xdot: Array) -> None:
    a = _arrays_of(p)
    z, e, error = a.solver.z, a.solver.e, a.newton.residual
    for j in range(len(error)):
        total = e[0] * z[0, j]
        for k in range(1, len(z)):
            total += e[k] * z[k, j]
        error[j] = xdot[j] + mu * total
    solve_factored(a.lu_filter, a.pivots_filter, error)


# ---------------------------------------------------------------------- integrators


class RadauMethod(ImplicitIntegrator):
    """Steps by a Radau IIA method (equations (1) to (5) of collocation.py)."""

    num_stages: int
    attempt = try_radau_step

    def get_error_estimate_order(self) -> int:
        return radau_iia(self.num_stages).error_order

    def _methods(self) -> list[CollocationMethod]:
        self._method = radau_iia(self.num_stages)
        return [self._method]

    def _further_arrays(self, n: int, dtype: Any) -> tuple[Shapes, Shapes]:
        return [((self.num_stages, n), dtype), ((n,), dtype)], [((n, n), float), ((n,), np.int64)]

    def _gather(self, newton: NewtonArrays, solvers: list[SolverArrays], further: list[Array]) -> RadauArrays:
        (solver,), (z_before, x_tried, lu_filter, pivots_filter) = solvers, further
        return RadauArrays(newton, solver, z_before, x_tried, lu_filter, pivots_filter)


class Radau1Integrator(RadauMethod):
    """The Radau IIA method with one stage: the implicit Euler method, of order 1, with an error estimate of order 2."""

    scheme = "radau1"
    default_accuracy = 0.1
    loosest_accuracy = 0.5
    num_stages = 1


class Radau3Integrator(RadauMethod):
    """The Radau IIA method with two stages, of order 3, with an error estimate of order 3.

    The integrator for stiff systems at accuracies of 1e-2 to about 1e-7.
    """

    scheme = "radau3"
    num_stages = 2


class RadauIntegrator(RadauMethod):
    """The Radau IIA method with 1, 2 or 3 stages, of order 1, 3 or 5.

    Args:
        system: the system to integrate.
        context: where its values are; if it is not given here, call `reset_context` before integrating.
        num_stages: with three stages the error estimate has order 4: for tight accuracies.

    Raises:
        ValueError: another number of stages.
    """

    def __init__(self, system: System, context: Context | None = None, num_stages: int = 2) -> None:
        radau_iia(num_stages)  # refuses other numbers
        self.num_stages = num_stages
        super().__init__(system, context)
