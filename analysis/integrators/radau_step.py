"""A step of a Radau method in compiled form; whoever calls it computes the derivatives.

`radau_step` takes an attempt as far as it gets without derivatives, sets time and state to where it needs them, and
returns; it is called again when they are there. So the same code serves steps that are taken in Python and the
compiled loop of a simulation. What it knows stands in two arrays (radau_fields.py), together with what is kept from
step to step: a Jacobian with its factors, and the stages of the last step.

It does what radau.py, implicit.py and newton.py do for other scalars and for large systems; see there for the reasons.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators import radau_fields as f
from merganser.analysis.integrators.implicit import GROWN, SHARE_OF_ACCURACY, SHARE_OF_STATE, SLOW
from merganser.analysis.integrators.jacobian import EPSILON, SMALL, SMALL_CENTRAL
from merganser.analysis.integrators.newton import LEAST_RATE, MAX_ITERATIONS, NOISE
from merganser.analysis.integrators.radau_algebra import estimate, factor, guess, improve
from merganser.framework.native import device, kernel
from merganser.framework.native.tape import call_operation, call_operations, doubles_at, integers_at

__all__ = ["radau_attempt", "radau_step"]

_CUBE_ROOT_EPSILON = EPSILON ** (1 / 3)


def radau_step(values: Any, numbers: Any, integers: Any) -> None:
    """Takes an attempt as far as it gets: an operation (framework/native/operations.py) on the fields of integers."""
    r = doubles_at(integers[f.REALS])
    wanted = f.NOTHING
    while wanted == f.NOTHING:
        phase = integers[f.PHASE]
        if phase == f.STAGE:
            wanted = _note_stage(integers, r, values)
        elif phase == f.CHANGE:
            wanted = _iterate(integers, r)
        elif phase == f.ITERATION:
            wanted = _begin_iteration(integers, r, values)
        elif phase == f.CONCLUDE or phase == f.FILTER:
            wanted = _conclude(integers, r, values)
        elif phase == f.BEGIN:
            wanted = _begin(integers, r)
        elif phase == f.START:
            wanted = _note_start(integers, values)
        elif phase == f.SOLVE:
            wanted = _solve(integers, r)
        elif phase == f.FACTOR:
            wanted = _factor(integers, r, values)
        elif phase == f.COLUMN:
            wanted = _note_column(integers, r, values)
        elif phase == f.JACOBIAN or phase == f.END:
            wanted = _begin_jacobian(integers, r, values)
        elif phase == f.RETRY:
            wanted = _retry(integers, r)
        else:
            wanted = _restore(integers, r)
    integers[f.WANTED] = wanted


@kernel
def radau_attempt(
    # Operations that compute the derivatives, see framework/native/tape.py:
    addresses_in: Any,
    starts_in: Any,
    values_place: int,
    numbers_place: int,
    # The step:
    operation: int,  # address of `radau_step`
    place: int,  # address of the fields of integers
) -> int:
    """Takes a whole attempt, where all derivatives are compiled; returns how often they were computed."""
    i = integers_at(place)
    num_evaluations = 0
    call_operation(operation, values_place, numbers_place, place)
    while i[f.WANTED] != f.OVER:
        call_operations(addresses_in, starts_in, values_place, numbers_place)
        num_evaluations += 1
        call_operation(operation, values_place, numbers_place, place)
    return num_evaluations


@device
def _begin(i: Any, r: Any) -> int:
    """An attempt begins; if it is the first one of its step, notes what is kept from before."""
    if not i[f.KNOWS_START]:
        for k in range(f.NUM_KEPT):
            i[f.SAVED + k] = i[f.KEPT + k]
        for k in range(f.NUM_KEPT_REALS):
            r[f.SAVED_REALS + k] = r[f.KEPT_REALS + k]
        i[f.IS_J_SAVED] = 0
        # The last attempt was accepted, and the state may have been changed since.
        x_start, x_tried = doubles_at(i[f.X_START]), doubles_at(i[f.X_TRIED])
        r[f.H_BEFORE] = r[f.H_TRIED]
        for j in range(i[f.NUM_STATES]):
            if not abs(x_start[j] - x_tried[j]) <= f.SAME_STATE * (1.0 + abs(x_tried[j])):
                r[f.H_BEFORE] = 0.0
        z, z_before = doubles_at(i[f.Z]), doubles_at(i[f.Z_BEFORE])
        for j in range(i[f.NUM_STAGES] * i[f.NUM_STATES]):
            z_before[j] = z[j]
    r[f.H_TRIED] = 0.0
    i[f.PHASE] = f.SOLVE if i[f.KNOWS_START] else f.START
    return f.NOTHING if i[f.KNOWS_START] else f.DERIVATIVES_HERE


@device
def _note_start(i: Any, values: Any) -> int:
    """The derivatives at the start are there; drops a Jacobian that must or should not be kept."""
    n = i[f.NUM_STATES]
    xdot_start = doubles_at(i[f.XDOT_START])
    for j in range(n):
        xdot_start[j] = values[1 + n + j]
    i[f.KNOWS_START], i[f.IS_NEW] = 1, 0
    i[f.COUNTS + f.EVALUATIONS] += 1
    if i[f.IS_SLOW] or i[f.IS_FULL_NEWTON] or not i[f.REUSES_JACOBIAN]:
        i[f.HAS_J] = 0
    i[f.IS_SLOW] = 0
    i[f.PHASE] = f.SOLVE
    return f.NOTHING


@device
def _solve(i: Any, r: Any) -> int:
    """Begins to solve the equations of the step."""
    n, num_stages = i[f.NUM_STATES], i[f.NUM_STAGES]
    guess(i, r)
    z, z_guess, x_start = doubles_at(i[f.Z]), doubles_at(i[f.Z_GUESS]), doubles_at(i[f.X_START])
    magnitude = 1.0
    for j in range(n):
        magnitude = max(magnitude, abs(x_start[j]))
    for j in range(num_stages * n):
        z_guess[j] = z[j]
    if i[f.IS_FIXED_STEP]:
        r[f.TOLERANCE] = SHARE_OF_STATE * magnitude
    else:
        r[f.TOLERANCE] = max(SHARE_OF_ACCURACY * r[f.ACCURACY], 1e-14 * magnitude)
    i[f.ITERATION_NUMBER] = 0
    if i[f.IS_FULL_NEWTON]:
        i[f.PHASE] = f.ITERATION
        return f.NOTHING
    if r[f.H] > GROWN * r[f.H_LINEARIZED]:
        i[f.HAS_J] = 0
    i[f.PURPOSE] = f.FOR_STEPS
    i[f.PHASE] = f.FACTOR if i[f.HAS_J] else f.JACOBIAN
    return f.NOTHING


@device
def _move(i: Any, values: Any, time: float, change: Any) -> None:
    """Sets the time, and the state to that at the start of the step plus `change`."""
    x_start = doubles_at(i[f.X_START])
    for j in range(i[f.NUM_STATES]):
        values[1 + j] = x_start[j] + change[j]
    values[0] = time


@device
def _begin_iteration(i: Any, r: Any, values: Any) -> int:
    """Moves to the first stage, or to the last one, if a Jacobian is wanted there."""
    i[f.PHASE], i[f.STAGE_NUMBER] = f.STAGE, 0
    if i[f.IS_FULL_NEWTON]:
        i[f.PHASE], i[f.STAGE_NUMBER] = f.END, i[f.NUM_STAGES] - 1
    return _move_to_stage(i, r, values)


@device
def _move_to_stage(i: Any, r: Any, values: Any) -> int:
    stage = i[f.STAGE_NUMBER]
    c = doubles_at(i[f.METHOD])[i[f.NUM_STAGES] * f.C + stage]
    _move(i, values, r[f.TIME] + c * r[f.H], doubles_at(i[f.Z] + 8 * i[f.NUM_STATES] * stage))
    return f.DERIVATIVES


@device
def _factor(i: Any, r: Any, values: Any) -> int:
    """Prepares to solve with the Jacobian; then to the first stage."""
    factor(i, r)
    i[f.PHASE], i[f.STAGE_NUMBER] = f.STAGE, 0
    return _move_to_stage(i, r, values)


@device
def _note_stage(i: Any, r: Any, values: Any) -> int:
    """The derivatives at a stage are there."""
    n = i[f.NUM_STATES]
    derivatives = doubles_at(i[f.F] + 8 * n * i[f.STAGE_NUMBER])
    for j in range(n):
        derivatives[j] = values[1 + n + j]
    i[f.STAGE_NUMBER] += 1
    if i[f.STAGE_NUMBER] == i[f.NUM_STAGES]:
        i[f.PHASE] = f.CHANGE
        return f.NOTHING
    return _move_to_stage(i, r, values)


# ---------------------------------------------------------------------- Newton iterations


@device
def _iterate(i: Any, r: Any) -> int:
    """A Newton step, as in NewtonSolver.solve."""
    i[f.COUNTS + f.EVALUATIONS] += i[f.NUM_STAGES]
    i[f.COUNTS + f.ITERATIONS] += 1
    size, tolerance = improve(i, r), r[f.TOLERANCE]
    has_converged = size == 0.0
    has_failed = not math.isfinite(size)
    if i[f.ITERATION_NUMBER] > 0 and not has_failed:
        theta = size / r[f.SIZE_BEFORE]
        r[f.RATE] = theta
        if theta >= 1.0:
            has_converged = size <= NOISE * tolerance
            has_failed = not has_converged
        else:
            cautious = max(theta, LEAST_RATE)
            left = MAX_ITERATIONS - 1.0 - i[f.ITERATION_NUMBER]
            if cautious / (1.0 - cautious) * size <= tolerance:
                has_converged = True
            has_failed = theta**left / (1.0 - theta) * size > tolerance
    r[f.SIZE_BEFORE] = size
    i[f.ITERATION_NUMBER] += 1
    if has_converged:
        i[f.PHASE] = f.CONCLUDE
    elif has_failed or i[f.ITERATION_NUMBER] == MAX_ITERATIONS:
        i[f.PHASE] = f.RETRY
    else:
        i[f.PHASE] = f.ITERATION
    return f.NOTHING


@device
def _retry(i: Any, r: Any) -> int:
    """The iterations have failed: once more with a new Jacobian, unless it was new."""
    if i[f.IS_FULL_NEWTON] or i[f.IS_NEW]:
        r[f.ERROR] = math.inf
        return f.OVER
    i[f.HAS_J], i[f.ITERATION_NUMBER] = 0, 0
    z, z_guess = doubles_at(i[f.Z]), doubles_at(i[f.Z_GUESS])
    for j in range(i[f.NUM_STAGES] * i[f.NUM_STATES]):
        z[j] = z_guess[j]
    i[f.PHASE] = f.JACOBIAN
    return f.NOTHING


# ---------------------------------------------------------------------- Jacobians


@device
def _begin_jacobian(i: Any, r: Any, values: Any) -> int:
    """Begins with the differences, as in difference_jacobian: at the start, or here for one iteration."""
    n = i[f.NUM_STATES]
    if i[f.PHASE] == f.END:
        i[f.PURPOSE] = f.FOR_ITERATION
        i[f.COUNTS + f.EVALUATIONS] += 1
    else:
        if not i[f.IS_J_SAVED]:
            J, J_before = doubles_at(i[f.J]), doubles_at(i[f.J_BEFORE])
            for j in range(n * n):
                J_before[j] = J[j]
            i[f.IS_J_SAVED] = 1
        x_start, xdot_start = doubles_at(i[f.X_START]), doubles_at(i[f.XDOT_START])
        for j in range(n):
            values[1 + j], values[1 + n + j] = x_start[j], xdot_start[j]
        values[0] = r[f.TIME]
    x, xdot = doubles_at(i[f.X_BASE]), doubles_at(i[f.XDOT_BASE])
    for j in range(n):
        x[j], xdot[j] = values[1 + j], values[1 + n + j]
    i[f.PHASE], i[f.COLUMN_NUMBER], i[f.IS_DOWN] = f.COLUMN, 0, 0
    return _change_variable(i, r, values)


@device
def _change_variable(i: Any, r: Any, values: Any) -> int:
    """Moves to where the derivatives are needed for a column of the Jacobian."""
    column = i[f.COLUMN_NUMBER]
    x = doubles_at(i[f.X_BASE])[column]
    if i[f.IS_CENTRAL]:
        step = _CUBE_ROOT_EPSILON * max(abs(x), SMALL_CENTRAL)
    else:
        step = math.sqrt(EPSILON * max(abs(x), SMALL))
    values[1 + column] = x - step if i[f.IS_DOWN] else x + step
    if not i[f.IS_DOWN]:
        r[f.STEP_UP] = values[1 + column] - x  # what the sum has kept of it
    return f.DERIVATIVES


@device
def _note_column(i: Any, r: Any, values: Any) -> int:
    """The derivatives for a difference are there."""
    n, column = i[f.NUM_STATES], i[f.COLUMN_NUMBER]
    J = doubles_at((i[f.J_ITERATION] if i[f.PURPOSE] == f.FOR_ITERATION else i[f.J]) + 8 * n * column)
    x, xdot = doubles_at(i[f.X_BASE])[column], doubles_at(i[f.XDOT_BASE])
    if i[f.IS_CENTRAL] and not i[f.IS_DOWN]:
        for j in range(n):
            J[j] = values[1 + n + j]
        i[f.IS_DOWN] = 1
        return _change_variable(i, r, values)
    step = r[f.STEP_UP] + (x - values[1 + column]) if i[f.IS_DOWN] else r[f.STEP_UP]
    for j in range(n):
        J[j] = (J[j] - values[1 + n + j]) / step if i[f.IS_DOWN] else (values[1 + n + j] - xdot[j]) / step
    values[1 + column] = x
    i[f.COLUMN_NUMBER], i[f.IS_DOWN] = column + 1, 0
    if column + 1 < n:
        return _change_variable(i, r, values)
    return _note_jacobian(i, r)


@device
def _note_jacobian(i: Any, r: Any) -> int:
    """A Jacobian is complete."""
    purpose = i[f.PURPOSE]
    evaluations = 2 * i[f.NUM_STATES] if i[f.IS_CENTRAL] else i[f.NUM_STATES]
    counts = f.ERROR_COUNTS if purpose == f.FOR_FILTER else f.COUNTS
    i[counts + f.EVALUATIONS] += evaluations
    i[counts + f.EVALUATIONS_FOR_JACOBIANS] += evaluations
    i[counts + f.JACOBIANS] += 1
    if purpose != f.FOR_ITERATION:
        i[f.HAS_J] = 1
        i[f.J_NUMBER] += 1
    if purpose == f.FOR_STEPS:
        i[f.IS_NEW] = 1
        r[f.H_LINEARIZED] = r[f.H]
    i[f.PHASE] = f.CONCLUDE if purpose == f.FOR_FILTER else f.FACTOR
    return f.NOTHING


# ---------------------------------------------------------------------- the end of a step


@device
def _conclude(i: Any, r: Any, values: Any) -> int:
    """The stages are found: estimates the error, if need be twice, and moves to the end of the step."""
    n = i[f.NUM_STATES]
    is_first = i[f.PHASE] == f.CONCLUDE
    error = 0.0
    if is_first and not i[f.IS_FULL_NEWTON] and r[f.RATE] > SLOW:
        i[f.IS_SLOW] = 1
    if not i[f.IS_FIXED_STEP]:
        if not i[f.HAS_J]:  # full Newton iterations keep none
            i[f.PURPOSE] = f.FOR_FILTER
            i[f.PHASE] = f.JACOBIAN
            return f.NOTHING
        error = estimate(i, r, doubles_at(i[f.XDOT_START] if is_first else i[f.VALUES] + 8 * (1 + n)))
        if is_first and error > r[f.ACCURACY] and r[f.H_BEFORE] == 0.0:
            _move(i, values, r[f.TIME], doubles_at(i[f.WORK]))
            i[f.ERROR_COUNTS + f.EVALUATIONS] += 1
            i[f.PHASE] = f.FILTER
            return f.DERIVATIVES
    _move(i, values, r[f.TIME] + r[f.H], doubles_at(i[f.Z] + 8 * n * (i[f.NUM_STAGES] - 1)))
    x_tried = doubles_at(i[f.X_TRIED])
    for j in range(n):
        x_tried[j] = values[1 + j]
    r[f.H_TRIED], r[f.ERROR] = r[f.H], error
    return f.OVER


@device
def _restore(i: Any, r: Any) -> int:
    """Returns all that is kept to what it was before the step in progress, so that it can be taken anew."""
    for k in range(f.NUM_KEPT - f.NUM_COUNTS if i[f.KEEPS_COUNTS] else f.NUM_KEPT):
        i[f.KEPT + k] = i[f.SAVED + k]
    for k in range(f.NUM_KEPT_REALS):
        r[f.KEPT_REALS + k] = r[f.SAVED_REALS + k]
    n = i[f.NUM_STATES]
    x_start, x_tried = doubles_at(i[f.X_START]), doubles_at(i[f.X_TRIED])
    r[f.H_TRIED] = r[f.H_BEFORE]  # the last step ended where this one began, or says nothing
    for j in range(n):
        x_tried[j] = x_start[j]
    z, z_before = doubles_at(i[f.Z]), doubles_at(i[f.Z_BEFORE])
    for j in range(i[f.NUM_STAGES] * n):
        z[j] = z_before[j]
    J, J_before = doubles_at(i[f.J]), doubles_at(i[f.J_BEFORE])
    if i[f.IS_J_SAVED]:
        for j in range(n * n):
            J[j] = J_before[j]
    i[f.IS_J_SAVED] = 0
    i[f.HAS_LOST_FACTORS] = i[f.HAS_LOST_FILTER] = 1
    return f.OVER
