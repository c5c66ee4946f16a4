"""The loop of a plan: events and the steps of integrators in one compiled call.

It does what `Simulator._advance_one_step` and `IntegratorBase._step_towards` do, in the same order and with the same
sums, to the last bit. What is left to Python is an operation like others, see callbacks.py. All functions return
SUCCEEDED, or why the loop is to end; what it knows then stands in two arrays (fields.py).

Explicit Runge-Kutta steps are part of the loop; equation numbers are those of integrators/tableaus.py. A Radau step is
an operation that asks for derivatives (integrators/radau_step.py).
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators import radau_fields as rf
from merganser.analysis.integrators.base import CUT_SHORT, SLIVER, STRETCH
from merganser.analysis.integrators.step_size import is_too_fine, next_step_size
from merganser.analysis.plan import fields as f
from merganser.framework.native import PreparedKernel, device, kernel
from merganser.framework.native.tape import (
    AGAIN,
    FAILED,
    RAISED,
    SUCCEEDED,
    call_clock,
    call_operation,
    call_python,
    doubles_at,
    integers_at,
)

__all__ = ["LOOP", "advance", "group_place", "time_after"]

_is_too_fine = device(is_too_fine)
_next_step_size = device(next_step_size)
_SPREAD = 0x1E3779B97F4A7C15  # its product with small numbers has bits all over; beyond 64 bits they do not count
_ACCEPTED, _SHORTER, _IRREGULAR = range(3)  # what becomes of an attempt at a step


@kernel
def advance(
    fields_place: int,  # address of the fields of integers
) -> int:
    """Takes steps until there is a reason to end, see fields.py."""
    i = integers_at(fields_place)
    r = doubles_at(i[f.REALS])
    values = doubles_at(i[f.VALUES])
    outcome = _end_step(i, r, values) if i[f.PLACE] == f.ENDING else SUCCEEDED
    while outcome == SUCCEEDED:
        outcome = _take_step(i, r, values)
    return outcome


@device
def _take_step(i: Any, r: Any, values: Any) -> int:
    """Updates that are due, time up to the next event or as far as the integrator gets, publish events there."""
    i[f.PLACE] = f.UPDATING
    if i[f.STEPS_LEFT] <= 0:
        return f.PAUSE
    outcome = _look_now_and_then(i)
    if outcome == SUCCEEDED and i[f.PENDING] >= 0:
        outcome = _make_updates(i)
    if outcome == SUCCEEDED:
        i[f.PLACE] = f.STEPPING
        outcome = _pass_time(i, r, values)
    if outcome == SUCCEEDED:
        outcome = _end_step(i, r, values)
    return outcome


@device
def _look_now_and_then(i: Any) -> int:
    """Lets Python look for signals when the loop has run for long enough."""
    watch = integers_at(i[f.WATCH])
    watch[f.PASSES_LEFT] -= 1
    if watch[f.PASSES_LEFT] > 0:
        return SUCCEEDED
    if watch[f.GET_TIME] == 0:
        watch[f.PASSES_LEFT] = f.MOST_PASSES
        return call_python(i[f.LOOK], i[f.FAILURE])
    call_clock(watch[f.GET_TIME], watch[f.WHICH_CLOCK], i[f.WATCH])
    now = 1_000_000_000 * watch[f.SECONDS] + watch[f.NANOSECONDS]
    if watch[f.SLICE_END] == 0:
        watch[f.SLICE_END] = now + f.SLICE
    elif now - watch[f.LAST_LOOK] > f.SLICE // 100:
        watch[f.PASSES] = 1
    else:
        watch[f.PASSES] = min(2 * watch[f.PASSES], f.MOST_PASSES)
    watch[f.PASSES_LEFT] = watch[f.PASSES]
    watch[f.LAST_LOOK] = now
    if now < watch[f.SLICE_END]:
        return SUCCEEDED
    return call_python(i[f.LOOK], i[f.FAILURE])


@device
def _run(i: Any, begin: int, end: int) -> int:
    """Runs a list of operations, up to one that does not succeed: returns what that has come to, and notes which."""
    addresses, starts, failure = integers_at(i[f.ADDRESSES]), integers_at(i[f.STARTS]), integers_at(i[f.FAILURE])
    values, numbers = i[f.VALUES], i[f.NUMBERS]
    for n in range(begin, end):
        call_operation(addresses[n], values, numbers, starts[n])
        if failure[0] != SUCCEEDED:
            status = failure[0]
            failure[0] = SUCCEEDED
            i[f.AT] = n
            return status
    return SUCCEEDED


# ---------------------------------------------------------------------- events


@device
def _group(i: Any) -> Any:
    """The group of events that is pending."""
    return integers_at(i[f.GROUPS] + 8 * f.GROUP_SIZE * i[f.PENDING])


@device
def _handle(i: Any, inputs_begin: int, inputs_end: int, begin: int, end: int) -> int:
    """Brings up to date what events read, then runs the operations of the events."""
    i[f.HANDLED] = 0
    outcome = _run(i, inputs_begin, inputs_end)
    while outcome == SUCCEEDED:
        i[f.HAS_RETURNED] = 0
        outcome = _run(i, begin + i[f.HANDLED], end)
        if outcome == SUCCEEDED:
            return outcome
        i[f.HANDLED] = i[f.AT] - begin + i[f.HAS_RETURNED]
        if outcome != f.READ_ANEW:
            return outcome
        outcome = _run(i, inputs_begin, inputs_end)
    return outcome


@device
def _make_updates(i: Any) -> int:
    """Makes the updates that are due. If an operation fails nothing is changed; Python then says why."""
    group = _group(i)
    flags = group[f.GROUP_FLAGS]
    if flags & f.NEEDS_PYTHON_STEP:
        return f.PYTHON_STEP
    outcome = SUCCEEDED
    if flags & f.HAS_STATE_UPDATES and not i[f.STATE_IS_UPDATED]:
        outcome = _update_state(i, group)
    if outcome == SUCCEEDED and flags & f.HAS_UPDATES:
        outcome = _update(i, group)
    if outcome == FAILED:
        return f.PYTHON_STEP
    if outcome != SUCCEEDED or i[f.MUST_STOP]:
        return f.STOPPED if outcome == SUCCEEDED else outcome
    i[f.PENDING] = -1
    i[f.STATE_IS_UPDATED] = 0
    return AGAIN if i[f.IS_OUT_OF_DATE] else SUCCEEDED


@device
def _update_state(i: Any, group: Any) -> int:
    """Unrestricted updates, all of which are operations, come before the others, which see what they have done."""
    outcome = _run(i, group[f.STATE_INPUTS_BEGIN], group[f.STATE_INPUTS_END])
    if outcome == SUCCEEDED:
        outcome = _run(i, group[f.STATE_BEGIN], group[f.STATE_END])
    if outcome == SUCCEEDED:
        _run(i, group[f.STATE_COMMIT_BEGIN], group[f.STATE_COMMIT_END])
        _note_updates(i, group)
        i[f.NUM_STATE_UPDATES] += 1
        i[f.STATE_IS_UPDATED] = 1
    return outcome


@device
def _update(i: Any, group: Any) -> int:
    """All discrete updates see the values from before; then all changes are made at once."""
    i[f.HAS_EFFECT] = group[f.GROUP_FLAGS] & f.HAS_NATIVE_UPDATES
    outcome = _handle(
        i, group[f.UPDATE_INPUTS_BEGIN], group[f.UPDATE_INPUTS_END], group[f.UPDATE_BEGIN], group[f.UPDATE_END]
    )
    if outcome == SUCCEEDED and i[f.HAS_EFFECT]:
        _run(i, group[f.COMMIT_BEGIN], group[f.COMMIT_END])
        _note_updates(i, group)
        i[f.NUM_UPDATES] += 1
    if outcome == AGAIN and i[f.HANDLED] > 0:  # a handler is not called twice
        return f.PYTHON_UPDATES
    return outcome


@device
def _note_updates(i: Any, group: Any) -> None:
    if group[f.GROUP_FLAGS] & f.CHANGES_DERIVATIVES:
        i[f.KNOWS_DERIVATIVES] = 0
    i[f.CHANGED] |= 1 << min(f.FIRST_GROUP_BIT + i[f.PENDING], f.LAST_GROUP_BIT)
    i[f.NEEDS_ALL] = 1


@device
def _end_step(i: Any, r: Any, values: Any) -> int:
    """Counts the step, makes the events pending that are due where it ends, and publishes."""
    i[f.PLACE] = f.ENDING
    if not values[0] >= r[f.NEXT_TIME]:
        i[f.DUE] = 0
    if _find_group(i, i[f.DUE]) < 0:
        outcome = call_python(i[f.ADD_GROUP], i[f.FAILURE])
        if outcome != SUCCEEDED:
            return outcome
    i[f.PENDING] = _find_group(i, i[f.DUE])
    i[f.NUM_STEPS] += 1
    i[f.STEPS_LEFT] -= 1
    i[f.HANDLED] = 0
    i[f.PLACE] = f.PUBLISHING
    group = _group(i)
    if group[f.GROUP_FLAGS] & f.HAS_PUBLISHES:
        outcome = _publish(i, group)
        if outcome != SUCCEEDED:
            return outcome
    i[f.PLACE] = f.UPDATING
    if i[f.MUST_STOP]:
        return f.STOPPED
    if values[0] >= r[f.BOUNDARY]:
        return f.DONE
    return AGAIN if i[f.IS_OUT_OF_DATE] else SUCCEEDED


@device
def _publish(i: Any, group: Any) -> int:
    if group[f.GROUP_FLAGS] & f.HAS_LOGS:
        if i[f.ROOM_IN_LOGS] <= 0:
            outcome = call_python(i[f.MAKE_ROOM], i[f.FAILURE])
            if outcome != SUCCEEDED:
                return f.PYTHON_PUBLISH if outcome == AGAIN else outcome
        i[f.ROOM_IN_LOGS] -= 1
    i[f.HAS_EFFECT] = group[f.GROUP_FLAGS] & f.HAS_NATIVE_PUBLISHES
    outcome = _handle(
        i, group[f.PUBLISH_INPUTS_BEGIN], group[f.PUBLISH_INPUTS_END], group[f.PUBLISH_BEGIN], group[f.PUBLISH_END]
    )
    if outcome in (FAILED, AGAIN):
        return f.PYTHON_PUBLISH
    if outcome == SUCCEEDED and i[f.HAS_EFFECT]:
        i[f.NUM_PUBLISHES] += 1
    return outcome


@device
def time_after(period: float, offset: float, time: float) -> float:
    """As DeclaredEvent.next_time."""
    if time < offset:
        return offset
    k = math.ceil((time - offset) / period)
    if k > 0 and offset + (k - 1) * period > time:
        k -= 1
    next_time = offset + k * period
    return next_time if next_time > time else offset + (k + 1) * period


@device
def _strike_after(i: Any, r: Any, time: float) -> bool:
    """Finds the first time after `time` when clocks strike, and which they are; False if time cannot resolve it."""
    clocks = doubles_at(i[f.CLOCKS])
    next_time = math.inf
    for n in range(i[f.NUM_CLOCKS]):
        if not clocks[3 * n + 2] > time:
            if _is_too_fine(clocks[3 * n], time):
                return False
            clocks[3 * n + 2] = time_after(clocks[3 * n], clocks[3 * n + 1], time)
        next_time = min(next_time, clocks[3 * n + 2])
    due = 0
    for n in range(i[f.NUM_CLOCKS]):
        if clocks[3 * n + 2] == next_time:
            due |= 1 << n
    r[f.NEXT_TIME] = next_time
    i[f.DUE] = due
    return next_time > time


@device
def group_place(clocks: int, last_place: int) -> int:
    """Where to begin to look for a group of clocks; if another one stands there, the next places follow."""
    return ((clocks * _SPREAD) >> 40) & last_place


@device
def _find_group(i: Any, due: int) -> int:
    """The number of the group of these clocks; -1 if there is none."""
    groups, places, last_place = integers_at(i[f.GROUPS]), integers_at(i[f.PLACES_OF_GROUPS]), i[f.LAST_PLACE]
    place = group_place(due, last_place)
    while places[place] > 0:
        n = places[place] - 1
        if groups[f.GROUP_SIZE * n + f.GROUP_CLOCKS] == due:
            return n
        place = (place + 1) & last_place
    return -1


# ---------------------------------------------------------------------- continuous time


@device
def _pass_time(i: Any, r: Any, values: Any) -> int:
    """Lets time pass until the next event, until the boundary time, or as far as one step of the integrator gets."""
    time = values[0]
    if not _strike_after(i, r, time):
        return f.PYTHON_STEP
    target = r[f.NEXT_TIME] if r[f.NEXT_TIME] < r[f.BOUNDARY] else r[f.BOUNDARY]
    if target == time:
        return SUCCEEDED
    if i[f.NUM_STATES] == 0:
        values[0] = target
        i[f.CHANGED] |= 1
        return SUCCEEDED
    r[f.TARGET_TIME] = target
    r[f.STEP_START] = time
    room = target - time
    i[f.IS_LAST] = room <= STRETCH * r[f.MAX_STEP_SIZE]
    if not i[f.IS_LAST]:
        room = r[f.MAX_STEP_SIZE]
        if _is_too_fine(room, time):
            return f.PYTHON_STEP
    r[f.ROOM] = room
    return _integrate(i, r, values)


@device
def _integrate(i: Any, r: Any, values: Any) -> int:
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
    outcome = _look_now_and_then(i)
    if outcome != SUCCEEDED:
        return outcome
    if i[f.NEEDS_ALL]:
        outcome = _run(i, i[f.ALL_BEGIN], i[f.ALL_END])
    else:
        outcome = _run(i, i[f.STAGE_BEGIN], i[f.STAGE_END])
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


LOOP = PreparedKernel(advance, 0)
