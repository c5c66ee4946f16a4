"""Simplified Newton iterations for the stages of a collocation method (Hairer and Wanner 1996, IV.8).

With w = (T^-1 (x) I) z the equations (1) of collocation.py read

    (lambda_i / h) w_i = sum_j (T^-1)_ij f(t + c_j h, x + z_j),   z = (T (x) I) w         (1)

and a Newton step with one Jacobian J for all stages falls apart into s systems of the size of the state:

    (lambda_i / h I - J) dw_i = sum_j (T^-1)_ij f_j - (lambda_i / h) w_i                  (2)

Only one of two conjugate systems is solved, since dz is real. With theta the ratio of the sizes of two successive
changes, the iteration has converged when theta / (1 - theta) |dz| is within the tolerance (equation (8.10)), with a
theta of 0.3 at least.

The Jacobian comes from differences, and stays from step to step until iterations converge slowly.

This is one source for compiled steps and those in Python (problem.py); the algebra is in newton_algebra.py. Functions
return SUCCEEDED, UNSOLVED, or the status of an evaluation.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators import step_state as f
from merganser.analysis.integrators.newton_algebra import difference, factor, improve
from merganser.analysis.integrators.newton_arrays import newton_of
from merganser.analysis.integrators.problem import (
    Problem,
    add,
    copy,
    evaluate,
    go_to,
    largest,
    move,
    save_bulk,
    state_of,
    step_of,
)
from merganser.framework.native import device
from merganser.framework.native.memory.tape import SUCCEEDED

_MAX_ITERATIONS = 10
# A smaller theta is not believed: variables of different sizes may converge at different rates.
_LEAST_RATE = 0.3
_NOISE = 0.1  # changes of this share of the tolerance may grow: at rest they are rounding errors
_SAME_STEP_SIZE = 1e-3  # factors for a step size that differs by this share converge as well
# The error of the iterations, as a share of the accuracy or, in steps without error control, of the state.
_SHARE_OF_ACCURACY = 0.03
_SHARE_OF_STATE = 1e-10
_SLOW = 0.2  # a Jacobian with which iterations converge more slowly than this is not used in the next step
# Nor is one computed for a step this many times shorter. It came from a faster phase of the motion, and can make
# the changes of an iteration small although its errors are not.
_GROWN = 3.0
_EPSILON = 2.0**-52
_CUBE_ROOT_EPSILON = _EPSILON ** (1 / 3)
# A variable smaller than this is changed as if it were this large.
_SMALL = 1e-5
_SMALL_CENTRAL = 1e-2


@device
def begin_attempt(p: Problem) -> int:
    """Evaluates the start of the step, once for all attempts, and drops an outdated Jacobian."""
    s = step_of(p)
    if s.knows_start:
        return SUCCEEDED
    status = evaluate(p, newton_of(p).xdot_start)
    if status == SUCCEEDED:
        s.knows_start = 1
        s.counts.of_result.evaluations += 1
        kept, knobs = newton_of(p).kept, newton_of(p).knobs
        kept["is_new"] = 0.0
        if kept["is_slow"] or knobs["is_full_newton"] or not knobs["reuses_jacobian"]:
            kept["has_J"] = 0.0
        kept["is_slow"] = 0.0
    return status


@device
def solve(p: Problem, solver: Any, time: float, h: float, counts: Any) -> int:
    """Solves for the stages of a step, with a new Jacobian if need be.

    Args:
        p: the problem. The step begins at the state x_start + offset.
        solver: its SolverArrays. z holds a guess of the changes of the state up to the stages, which is overwritten by
            the result.
        time: where the step begins [s].
        h: its size [s].
        counts: where to count, a NewtonCounts.
    """
    kept, z, guess = newton_of(p).kept, solver.z, solver.z_guess
    factored, tolerance = solver.factored, _tolerance(p)
    if newton_of(p).knobs["is_full_newton"]:
        return _iterate(p, solver, time, h, tolerance, counts)
    if h > _GROWN * kept["h_linearized"]:
        kept["has_J"] = 0.0
    for k in range(len(z)):
        copy(guess[k], z[k])
    status = SUCCEEDED
    while status == SUCCEEDED:
        if not kept["has_J"]:
            status = linearize_at_start(p, counts)
            if status != SUCCEEDED:
                return status
            kept["is_new"], kept["h_linearized"] = 1.0, h
        _factor_for(p, solver, h, counts)
        status = _iterate(p, solver, time, h, tolerance, counts)
        if status == SUCCEEDED:
            if factored["rate"] > _SLOW:
                kept["is_slow"] = 1.0
            return status
        if status == f.UNSOLVED and not kept["is_new"]:
            kept["has_J"] = 0.0
            for k in range(len(z)):
                copy(z[k], guess[k])
            status = SUCCEEDED
    return status


@device
def _tolerance(p: Problem) -> float:
    """Largest error of the iterations in any state variable."""
    magnitude = max(1.0, largest(newton_of(p).x_start))
    if step_of(p).is_fixed_step:
        return _SHARE_OF_STATE * magnitude
    return max(_SHARE_OF_ACCURACY * step_of(p).accuracy, 1e-14 * magnitude)


@device
def _iterate(p: Problem, solver: Any, time: float, h: float, tolerance: float, counts: Any) -> int:
    """Improves the stages until they are as good as the tolerance; UNSOLVED also if a value is not finite."""
    newton, z, xdot, c, factored = newton_of(p), solver.z, solver.xdot, solver.c, solver.factored
    change, is_full_newton, num_stages = newton.change, newton.knobs["is_full_newton"], len(z)
    size_before = math.nan
    for iteration in range(_MAX_ITERATIONS):
        if is_full_newton:
            status = _linearize_at_end(p, solver, time, h, counts)
            if status != SUCCEEDED:
                return status
        for k in range(num_stages):
            add(change, newton.offset, z[k])
            move(p, time + c[k] * h, change)
            status = evaluate(p, xdot[k])
            if status != SUCCEEDED:
                return status
        counts.evaluations += num_stages
        counts.iterations += 1
        size = improve(p, solver, h)
        if size == 0.0:
            return SUCCEEDED
        if not math.isfinite(size):
            return f.UNSOLVED
        if iteration > 0:
            theta = size / size_before
            factored["rate"] = theta
            if theta >= 1.0:
                return SUCCEEDED if size <= _NOISE * tolerance else f.UNSOLVED
            cautious = max(theta, _LEAST_RATE)
            if cautious / (1.0 - cautious) * size <= tolerance:
                return SUCCEEDED
            left = _MAX_ITERATIONS - 1.0 - iteration
            if theta**left / (1.0 - theta) * size > tolerance:
                return f.UNSOLVED
        size_before = size
    return f.UNSOLVED


@device
def _factor_for(p: Problem, solver: Any, h: float, counts: Any) -> None:
    """Prepares to solve (2) for steps of size h, unless the current factors are good enough."""
    kept, factored = newton_of(p).kept, solver.factored
    is_same_J = factored["J_number"] == kept["J_number"]
    if not (is_same_J and abs(h - factored["h"]) <= _SAME_STEP_SIZE * h):
        factored["J_number"] = -1.0
        save_bulk(p)
        factor(p, solver, newton_of(p).J, h)
        factored["J_number"], factored["h"] = kept["J_number"], h
        counts.factorizations += 1


# ---------------------------------------------------------------------- Jacobians


@device
def linearize_at_start(p: Problem, counts: Any) -> int:
    """Computes the Jacobian at the start of the step."""
    newton, kept = newton_of(p), newton_of(p).kept
    copy(newton.x_base, newton.x_start)
    copy(newton.xdot_base, newton.xdot_start)
    kept["J_number"] += 1.0
    save_bulk(p)
    status = _take_differences(p, step_of(p).start, newton.J, counts)
    kept["has_J"] = 1.0 if status == SUCCEEDED else 0.0
    return status


@device
def _linearize_at_end(p: Problem, solver: Any, time: float, h: float, counts: Any) -> int:
    """Prepares to solve (2) with a Jacobian at the last stage, for one iteration."""
    newton, z, change = newton_of(p), solver.z, newton_of(p).change
    add(change, newton.offset, z[len(z) - 1])
    move(p, time + h, change)
    status = evaluate(p, newton.xdot_base)
    if status != SUCCEEDED:
        return status
    counts.evaluations += 1
    copy(newton.x_base, state_of(p))
    J = newton.J_iteration
    status = _take_differences(p, time + h, J, counts)
    if status == SUCCEEDED:
        solver.factored["J_number"] = -1.0
        save_bulk(p)
        factor(p, solver, J, h)
        counts.factorizations += 1
    return status


@device
def _take_differences(p: Problem, time: float, J: Any, counts: Any) -> int:
    """The partials of the derivatives at x_base, where they are xdot_base; row j is for variable j."""
    newton = newton_of(p)
    x, up, down, is_central = newton.x_base, newton.xdot_up, newton.xdot_base, newton.knobs["is_central"]
    num_evaluations = 0
    for j in range(len(x)):
        value = x[j]
        size = abs(value.real)
        if is_central:
            step = _CUBE_ROOT_EPSILON * max(size, _SMALL_CENTRAL)
        else:
            step = math.sqrt(_EPSILON * max(size, _SMALL))
        x[j] = value + step
        width = (x[j] - value).real  # what the sum has kept of it
        go_to(p, time, x)
        status = evaluate(p, up)
        if status == SUCCEEDED and is_central:
            x[j] = value - step
            width += (value - x[j]).real
            go_to(p, time, x)
            down = newton.xdot_down
            status = evaluate(p, down)
            num_evaluations += 1
        if status != SUCCEEDED:
            return status
        x[j] = value
        num_evaluations += 1
        difference(J[j], up, down, width)
    counts.jacobians += 1
    counts.evaluations += num_evaluations
    counts.evaluations_for_jacobians += num_evaluations
    return SUCCEEDED
