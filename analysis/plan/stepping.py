"""A step of an integrator in compiled form: what IntegratorBase._step_towards does, to the last bit.

Explicit Runge-Kutta steps stand here; equation numbers are those of integrators/tableaus.py. A Radau step is an
operation that asks for derivatives (integrators/radau_step.py). All that is known stands in two arrays (fields.py).
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators import radau_fields as rf
from merganser.analysis.integrators.base import CUT_SHORT, SLIVER
from merganser.analysis.integrators.step_size import next_step_size
from merganser.analysis.plan import fields as f
from merganser.analysis.plan.running import look_now_and_then, run
from merganser.framework.native import device
from merganser.framework.native.tape import FAILED, RAISED, SUCCEEDED, call_operation, doubles_at, integers_at

__all__ = ["integrate"]

_next_step_size = device(next_step_size)
_ACCEPTED, _SHORTER, _IRREGULAR = range(3)  # what becomes of an attempt


@device
def integrate(i: Any, r: Any, values: Any) -> int:
    """One accepted step of the integrator; if there is none, nothing is changed."""
    _begin_step(i, r, values)
    verdict = _SHORTER
    while verdict == _SHORTER:
        outcome = _attempt_radau(i, r, values) if i[f.IS_RADAU] else _attempt(i, r, values)
        if outcome == SUCCEEDED:
            verdict = _judge(i, r, values, r[f.ERROR])
        if outcome != SUCCEEDED or verdict == _IRREGULAR:
            _return_to_start(i, r, values, outcome == RAISED)
            return f.PYTHON_STEP if outcome in (SUCCEEDED, FAILED) else outcome
    _finish_step(i, r, values)
    return SUCCEEDED


@device
def _begin_step(i: Any, r: Any, values: Any) -> None:
    """Notes where the step starts, and chooses its size."""
    x_start = doubles_at(i[f.X_START])
    for j in range(i[f.NUM_STATES]):
        x_start[j] = values[1 + j]
    i[f.KNOWS_START] = i[f.KNEW_DERIVATIVES] = 0
    if i[f.KNOWS_DERIVATIVES] and not i[f.IS_RADAU]:
        i[f.KNOWS_START] = i[f.KNEW_DERIVATIVES] = 1
        _take_derivatives(i, values, 0)
    i[f.EVALUATIONS_BEFORE] = i[f.NUM_EVALUATIONS]
    i[f.SHRINKAGES_BEFORE] = i[f.NUM_SHRINKAGES]
    i[f.FAILURES_BEFORE] = i[f.NUM_FAILURES]
    i[f.IS_CUT_SHORT] = 0
    room = h = r[f.ROOM]
    if not i[f.IS_FIXED_STEP]:
        h = min(r[f.IDEAL_STEP_SIZE], r[f.MAX_STEP_SIZE])
        i[f.IS_CUT_SHORT] = room < CUT_SHORT * h
        if i[f.IS_CUT_SHORT] or room < SLIVER * h:
            h = room
    r[f.H] = h


@device
def _take_derivatives(i: Any, values: Any, stage: int) -> None:
    n = i[f.NUM_STATES]
    xdot = doubles_at(i[f.DERIVATIVES] + 8 * n * stage)
    for j in range(n):
        xdot[j] = values[1 + n + j]  # (1)


@device
def _note_move(i: Any) -> None:
    """Time and continuous state have changed."""
    i[f.CHANGED] |= 1
    if i[f.CHANGING]:
        i[f.KNOWS_DERIVATIVES] = 0


@device
def _move(i: Any, values: Any, time: float, row: int, num_stages: int) -> None:
    """Time, and x = x_start + sum_k h w_k f_k."""
    n = i[f.NUM_STATES]
    weights = doubles_at(i[f.SCALED] + 8 * row * i[f.NUM_STAGES])
    x_start, xdot = doubles_at(i[f.X_START]), doubles_at(i[f.DERIVATIVES])
    for j in range(n):
        change = weights[0] * xdot[j]
        for k in range(1, num_stages):
            change += weights[k] * xdot[n * k + j]
        values[1 + j] = x_start[j] + change
    values[0] = time
    _note_move(i)


@device
def _move_back(i: Any, r: Any, values: Any) -> None:
    """Returns to the start of the step."""
    x_start = doubles_at(i[f.X_START])
    for j in range(i[f.NUM_STATES]):
        values[1 + j] = x_start[j]
    values[0] = r[f.STEP_START]
    _note_move(i)


@device
def _return_to_start(i: Any, r: Any, values: Any, keeps_counts: bool) -> None:
    """Undoes a step that is not taken; it will be taken anew."""
    _move_back(i, r, values)
    if keeps_counts:  # what has been computed in vain counts
        i[f.KNOWS_DERIVATIVES] = 0
    else:
        i[f.NUM_EVALUATIONS] = i[f.EVALUATIONS_BEFORE]
        i[f.NUM_SHRINKAGES] = i[f.SHRINKAGES_BEFORE]
        i[f.NUM_FAILURES] = i[f.FAILURES_BEFORE]
        if i[f.KNEW_DERIVATIVES]:
            n, xdot = i[f.NUM_STATES], doubles_at(i[f.DERIVATIVES])
            for j in range(n):
                values[1 + n + j] = xdot[j]
            i[f.KNOWS_DERIVATIVES] = 1
    if i[f.IS_RADAU]:
        fields = integers_at(i[f.RADAU])
        fields[rf.PHASE], fields[rf.KEEPS_COUNTS] = rf.RESTORE, keeps_counts
        call_operation(i[f.RADAU_STEP], i[f.VALUES], i[f.NUMBERS], i[f.RADAU])


@device
def _evaluate(i: Any) -> int:
    """Computes the derivatives."""
    outcome = look_now_and_then(i)
    if outcome != SUCCEEDED:
        return outcome
    if i[f.NEEDS_ALL]:
        outcome = run(i, i[f.ALL_BEGIN], i[f.ALL_END])
    else:
        outcome = run(i, i[f.STAGE_BEGIN], i[f.STAGE_END])
    if outcome == SUCCEEDED:
        i[f.NEEDS_ALL] = 0
        i[f.NUM_EVALUATIONS] += 1
        i[f.KNOWS_DERIVATIVES] = 1
    return outcome


@device
def _attempt(i: Any, r: Any, values: Any) -> int:
    """Tries an explicit Runge-Kutta step of size h."""
    h, num_stages = r[f.H], i[f.NUM_STAGES]
    if h != r[f.SCALED_FOR]:
        weights, scaled = doubles_at(i[f.WEIGHTS]), doubles_at(i[f.SCALED])
        for n in range((num_stages + 2) * num_stages):
            scaled[n] = weights[n] * h
        r[f.SCALED_FOR] = h
    stage_times = doubles_at(i[f.STAGE_TIMES])
    for stage in range(num_stages):
        if stage > 0:
            _move(i, values, r[f.STEP_START] + stage_times[stage] * h, stage, stage)
        elif i[f.KNOWS_START]:
            continue
        outcome = _evaluate(i)
        if outcome != SUCCEEDED:
            return outcome
        _take_derivatives(i, values, stage)
        i[f.KNOWS_START] = 1
    if not i[f.ENDS_IN_LAST_STAGE]:
        _move(i, values, r[f.STEP_START] + h, num_stages, num_stages)  # (2)
    r[f.ERROR] = 0.0 if i[f.IS_FIXED_STEP] else _error(i)
    return SUCCEEDED


@device
def _attempt_radau(i: Any, r: Any, values: Any) -> int:
    """Tries a Radau step of size h."""
    integers, reals = integers_at(i[f.RADAU]), doubles_at(i[f.RADAU_REALS])
    integers[rf.PHASE], integers[rf.KNOWS_START] = rf.BEGIN, i[f.KNOWS_START]
    reals[rf.TIME], reals[rf.H] = r[f.STEP_START], r[f.H]
    wanted = rf.DERIVATIVES
    while wanted != rf.OVER:
        call_operation(i[f.RADAU_STEP], i[f.VALUES], i[f.NUMBERS], i[f.RADAU])
        wanted = integers[rf.WANTED]
        if wanted != rf.DERIVATIVES_HERE:
            _note_move(i)
        if wanted != rf.OVER:
            outcome = _evaluate(i)
            if outcome != SUCCEEDED:
                return outcome
            i[f.KNOWS_START] = 1
    r[f.ERROR] = reals[rf.ERROR]
    return SUCCEEDED


@device
def _error(i: Any) -> float:
    """The largest magnitude in the error estimate, nan if there is a nan."""
    n, num_stages = i[f.NUM_STATES], i[f.NUM_STAGES]
    weights = doubles_at(i[f.SCALED] + 8 * (num_stages + 1) * num_stages)
    xdot = doubles_at(i[f.DERIVATIVES])
    largest = 0.0
    for j in range(n):
        error = weights[0] * xdot[j]  # (3)
        for k in range(1, num_stages):
            error += weights[k] * xdot[n * k + j]
        if error != error:
            return math.nan
        largest = max(largest, abs(error))
    return largest


@device
def _has_finite_start(i: Any) -> bool:
    """Whether the derivatives at the start of the step are finite."""
    xdot = doubles_at(i[f.DERIVATIVES])
    is_finite = True
    for j in range(i[f.NUM_STATES]):
        is_finite = is_finite and math.isfinite(xdot[j])
    return is_finite


@device
def _judge(i: Any, r: Any, values: Any, error: float) -> int:
    """What becomes of an attempt with this outcome; if a shorter one is to be tried, makes ready for it."""
    h = r[f.H]
    minimum = max(r[f.MIN_STEP_SIZE], 1e-14 * max(abs(values[0]), 1.0))
    if not math.isfinite(error) and not (i[f.IS_RADAU] and _has_finite_start(i)):
        return _IRREGULAR
    if i[f.IS_FIXED_STEP] and math.isinf(error):  # the equations of the step could not be solved
        if 0.5 * h < minimum:
            return _IRREGULAR
        return _try_shorter(i, r, values, 0.5 * h, False)
    if i[f.IS_FIXED_STEP]:
        for j in range(i[f.NUM_STATES]):
            if not math.isfinite(values[1 + j]):
                return _IRREGULAR
        return _ACCEPTED
    wanted = _next_step_size(h, error, r[f.ACCURACY], i[f.ERROR_ORDER])
    if wanted >= h:
        if not i[f.IS_CUT_SHORT]:
            r[f.IDEAL_STEP_SIZE] = min(max(wanted, r[f.MIN_STEP_SIZE]), r[f.MAX_STEP_SIZE])
        return _ACCEPTED
    if h <= SLIVER * minimum:
        return _IRREGULAR
    return _try_shorter(i, r, values, max(wanted, minimum), math.isfinite(error))


@device
def _try_shorter(i: Any, r: Any, values: Any, h: float, is_for_error: bool) -> int:
    """Returns to the start of the step, to try the size h."""
    i[f.NUM_SHRINKAGES if is_for_error else f.NUM_FAILURES] += 1
    r[f.H] = h
    i[f.IS_CUT_SHORT] = 0
    _move_back(i, r, values)
    return _SHORTER


@device
def _scale_quaternions(i: Any, values: Any) -> None:
    """Gives the quaternions in the state length 1 again."""
    starts = integers_at(i[f.QUATERNIONS])
    for n in range(i[f.NUM_QUATERNIONS]):
        q = 1 + starts[n]
        w, x, y, z = values[q], values[q + 1], values[q + 2], values[q + 3]
        length = math.sqrt(w * w + x * x + y * y + z * z)
        if length != 1.0 and length != 0.0:
            i[f.CHANGED] |= 1
            if i[f.CHANGING] & f.WITH_STATE:
                i[f.KNOWS_DERIVATIVES] = 0
            for k in range(4):
                values[q + k] /= length


@device
def _finish_step(i: Any, r: Any, values: Any) -> None:
    """The step is accepted."""
    h = r[f.H]
    is_last = i[f.IS_LAST] and h == r[f.ROOM]
    if is_last and values[0] != r[f.TARGET_TIME]:
        values[0] = r[f.TARGET_TIME]
        i[f.CHANGED] |= 1
        if i[f.CHANGING] & f.WITH_TIME:
            i[f.KNOWS_DERIVATIVES] = 0
    _scale_quaternions(i, values)
    if i[f.NUM_INTEGRATOR_STEPS] == 0:
        r[f.FIRST_STEP_SIZE] = h
        r[f.LARGEST_STEP_SIZE] = h
    i[f.NUM_INTEGRATOR_STEPS] += 1
    r[f.PREVIOUS_STEP_SIZE] = h
    if h > r[f.LARGEST_STEP_SIZE]:
        r[f.LARGEST_STEP_SIZE] = h
    if not i[f.IS_FIXED_STEP] and not (is_last or h >= r[f.SMALLEST_STEP_SIZE]):
        r[f.SMALLEST_STEP_SIZE] = h
