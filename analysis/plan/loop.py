"""The loop of a plan: events and the steps of integrators in one compiled call.

It does what `Simulator._advance_one_step` and `IntegratorBase._step_towards` do, in the same order and with the same
sums, to the last bit. Where Python has a part in it (a callback, an exception to raise, a log to enlarge) the loop
returns, and goes on where it was when it is called again: all that it knows stands in two arrays (fields.py).

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
from merganser.framework.native.tape import call_clock, call_operation, doubles_at, integers_at

__all__ = ["LOOP", "advance", "group_place", "time_after"]

_is_too_fine = device(is_too_fine)
_next_step_size = device(next_step_size)
_GO_ON = -1
_SPREAD = 0x1E3779B97F4A7C15  # its product with small numbers has bits all over; beyond 64 bits they do not count


@kernel
def advance(
    fields_place: int,  # address of the fields of integers
) -> int:
    """Runs steps until there is a reason to return, see fields.py."""
    i = integers_at(fields_place)
    r = doubles_at(i[f.REALS])
    values = doubles_at(i[f.VALUES])
    outcome = _GO_ON
    while outcome == _GO_ON:
        phase = i[f.PHASE]
        if phase == f.EVALUATE:
            outcome = _evaluate(i, r, values)
        elif phase == f.ATTEMPT:
            outcome = _attempt(i, r, values)
        elif phase == f.BEGIN:
            outcome = _begin(i)
        elif phase == f.UPDATE_INPUTS or phase == f.UPDATE:
            outcome = _update(i)
        elif phase == f.STATE_INPUTS or phase == f.STATE_UPDATE:
            outcome = _update_state(i)
        elif phase == f.TARGET:
            outcome = _choose_target(i, r, values)
        elif phase == f.NOTE:
            outcome = _note(i, r, values)
        elif phase == f.PUBLISH_INPUTS or phase == f.PUBLISH:
            outcome = _publish(i)
        else:
            i[f.PHASE] = f.BEGIN
            if values[0] >= r[f.BOUNDARY]:
                outcome = f.DONE
    return outcome


@device
def _must_pause(i: Any) -> bool:
    """Whether the loop has run for so long that Python is to look for signals."""
    watch = integers_at(i[f.WATCH])
    watch[f.PASSES_LEFT] -= 1
    if watch[f.PASSES_LEFT] > 0:
        return False
    if watch[f.GET_TIME] == 0:
        watch[f.PASSES_LEFT] = f.MOST_PASSES
        return True
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
    must_pause: bool = now >= watch[f.SLICE_END]
    return must_pause


@device
def _run(i: Any, begin: int, end: int) -> bool:
    """Runs a list of operations, from where it was left, up to its end or to one that is left to Python.

    Returns:
        Whether nothing is left to Python. That is also so when an operation has failed before: what reads its result
        must not be called, and the caller is to look for failures first of all.
    """
    addresses, starts = integers_at(i[f.ADDRESSES]), integers_at(i[f.STARTS])
    values, numbers = i[f.VALUES], i[f.NUMBERS]
    n = begin + i[f.PASSED]
    while n < end:
        if addresses[n] == 0:
            if integers_at(i[f.FAILURE])[0] != 0:
                break
            i[f.AT] = n
            i[f.PASSED] = n + 1 - begin
            return False
        call_operation(addresses[n], values, numbers, starts[n])
        n += 1
    i[f.PASSED] = 0
    return True


# ---------------------------------------------------------------------- events


@device
def _group(i: Any) -> Any:
    """The group of events that is pending."""
    return integers_at(i[f.GROUPS] + 8 * f.GROUP_SIZE * i[f.PENDING])


@device
def _begin(i: Any) -> int:
    if i[f.STEPS_LEFT] <= 0 or _must_pause(i):
        return f.PAUSE
    i[f.PHASE] = f.TARGET
    if i[f.PENDING] >= 0:
        flags = _group(i)[f.GROUP_FLAGS]
        if flags & f.NEEDS_PYTHON_STEP:
            i[f.PHASE] = f.BEGIN
            return f.PYTHON_STEP
        if flags & f.HAS_STATE_UPDATES:
            i[f.PHASE] = f.STATE_INPUTS
        elif flags & f.HAS_UPDATES:
            _begin_updates(i)
    return _GO_ON


@device
def _begin_updates(i: Any) -> None:
    i[f.HAS_EFFECT] = _group(i)[f.GROUP_FLAGS] & f.HAS_NATIVE_UPDATES
    i[f.PHASE] = f.UPDATE_INPUTS


@device
def _has_failed(i: Any) -> bool:
    """Whether an operation has failed; Python then does the step again, and says why."""
    failure = integers_at(i[f.FAILURE])
    has_failed = failure[0] != 0
    failure[0] = 0
    return has_failed


@device
def _update_state(i: Any) -> int:
    """Unrestricted updates, all of which are operations, come before the others, which see what they have done."""
    group = _group(i)
    if i[f.PHASE] == f.STATE_INPUTS:
        if not _run(i, group[f.STATE_INPUTS_BEGIN], group[f.STATE_INPUTS_END]):
            return f.PYTHON
        i[f.PHASE] = f.STATE_UPDATE
    _run(i, group[f.STATE_BEGIN], group[f.STATE_END])
    if _has_failed(i):
        i[f.PHASE] = f.BEGIN
        return f.PYTHON_STEP
    _run(i, group[f.STATE_COMMIT_BEGIN], group[f.STATE_COMMIT_END])
    _note_updates(i)
    i[f.NUM_STATE_UPDATES] += 1
    i[f.STATE_IS_UPDATED] = 1
    i[f.PHASE] = f.TARGET
    if group[f.GROUP_FLAGS] & f.HAS_UPDATES:
        _begin_updates(i)
    return _GO_ON


@device
def _note_updates(i: Any) -> None:
    if _group(i)[f.GROUP_FLAGS] & f.CHANGES_DERIVATIVES:
        i[f.KNOWS_DERIVATIVES] = 0
    i[f.CHANGED] |= 1 << min(f.FIRST_GROUP_BIT + i[f.PENDING], f.LAST_GROUP_BIT)
    i[f.NEEDS_ALL] = 1


@device
def _update(i: Any) -> int:
    """All updates see the values from before; then all changes are made at once."""
    group = _group(i)
    if i[f.PHASE] == f.UPDATE_INPUTS:
        if not _run(i, group[f.UPDATE_INPUTS_BEGIN], group[f.UPDATE_INPUTS_END]):
            return f.PYTHON
        if _has_failed(i):
            i[f.PHASE] = f.BEGIN
            return f.PYTHON_STEP
        i[f.PHASE] = f.UPDATE
        i[f.PASSED], i[f.RESUMES_AT] = i[f.RESUMES_AT], 0
    if not _run(i, group[f.UPDATE_BEGIN], group[f.UPDATE_END]):
        return f.PYTHON
    if _has_failed(i):
        i[f.PHASE] = f.BEGIN
        return f.PYTHON_STEP
    if i[f.HAS_EFFECT]:
        _run(i, group[f.COMMIT_BEGIN], group[f.COMMIT_END])
        _note_updates(i)
        i[f.NUM_UPDATES] += 1
    i[f.PHASE] = f.TARGET
    return f.STOPPED if i[f.MUST_STOP] else _GO_ON


@device
def _publish(i: Any) -> int:
    group = _group(i)
    if i[f.PHASE] == f.PUBLISH_INPUTS:
        if group[f.GROUP_FLAGS] & f.HAS_LOGS and i[f.PASSED] == 0:
            if i[f.ROOM_IN_LOGS] <= 0:
                return f.NEEDS_ROOM
            i[f.ROOM_IN_LOGS] -= 1
        if not _run(i, group[f.PUBLISH_INPUTS_BEGIN], group[f.PUBLISH_INPUTS_END]):
            return f.PYTHON
        if _has_failed(i):
            return f.PYTHON_PUBLISH
        i[f.PHASE] = f.PUBLISH
        i[f.PASSED], i[f.RESUMES_AT] = i[f.RESUMES_AT], 0
    if not _run(i, group[f.PUBLISH_BEGIN], group[f.PUBLISH_END]):
        return f.PYTHON
    if i[f.HAS_EFFECT]:
        i[f.NUM_PUBLISHES] += 1
    i[f.PHASE] = f.END
    return f.STOPPED if i[f.MUST_STOP] else _GO_ON


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


@device
def _note(i: Any, r: Any, values: Any) -> int:
    """Counts the step and makes the events pending that are due where it ends."""
    due = i[f.DUE] if values[0] >= r[f.NEXT_TIME] else 0
    found = _find_group(i, due)
    if found < 0:
        i[f.DUE] = due
        return f.NEEDS_GROUP
    i[f.PENDING] = found
    i[f.NUM_STEPS] += 1
    i[f.STEPS_LEFT] -= 1
    flags = _group(i)[f.GROUP_FLAGS]
    i[f.HAS_EFFECT] = flags & f.HAS_NATIVE_PUBLISHES
    i[f.PHASE] = f.PUBLISH_INPUTS if flags & f.HAS_PUBLISHES else f.END
    return _GO_ON


# ---------------------------------------------------------------------- continuous time


@device
def _choose_target(i: Any, r: Any, values: Any) -> int:
    i[f.PENDING] = -1
    i[f.STATE_IS_UPDATED] = 0
    time = values[0]
    if not _strike_after(i, r, time):
        i[f.PHASE] = f.BEGIN
        return f.PYTHON_STEP
    target = r[f.NEXT_TIME] if r[f.NEXT_TIME] < r[f.BOUNDARY] else r[f.BOUNDARY]
    r[f.TARGET_TIME] = target
    r[f.STEP_START] = time
    i[f.PHASE] = f.NOTE
    if target == time:
        return _GO_ON
    n = i[f.NUM_STATES]
    if n == 0:
        values[0] = target
        i[f.CHANGED] |= 1
        return _GO_ON
    room = target - time
    i[f.IS_LAST] = room <= STRETCH * r[f.MAX_STEP_SIZE]
    if not i[f.IS_LAST]:
        room = r[f.MAX_STEP_SIZE]
        if _is_too_fine(room, time):
            i[f.PHASE] = f.BEGIN
            return f.PYTHON_STEP
    r[f.ROOM] = room
    x_start = doubles_at(i[f.X_START])
    for j in range(n):
        x_start[j] = values[1 + j]
    i[f.KNOWS_START] = i[f.KNEW_DERIVATIVES] = 0
    if i[f.KNOWS_DERIVATIVES] and not i[f.IS_RADAU]:
        i[f.KNOWS_START] = i[f.KNEW_DERIVATIVES] = 1
        _take_derivatives(i, values, 0)
    i[f.EVALUATIONS_BEFORE] = i[f.NUM_EVALUATIONS]
    i[f.SHRINKAGES_BEFORE] = i[f.NUM_SHRINKAGES]
    i[f.FAILURES_BEFORE] = i[f.NUM_FAILURES]
    i[f.IS_CUT_SHORT] = 0
    h = room
    if not i[f.IS_FIXED_STEP]:
        h = min(r[f.IDEAL_STEP_SIZE], r[f.MAX_STEP_SIZE])
        i[f.IS_CUT_SHORT] = room < CUT_SHORT * h
        if i[f.IS_CUT_SHORT] or room < SLIVER * h:
            h = room
    r[f.H] = h
    i[f.PHASE] = f.ATTEMPT
    return _GO_ON


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
def _leave_to_python(i: Any, r: Any, values: Any) -> int:
    """A step that is not a regular one: Python repeats it, and says what is wrong or deals with it."""
    _move_back(i, r, values)
    if i[f.KNEW_DERIVATIVES]:
        n, xdot = i[f.NUM_STATES], doubles_at(i[f.DERIVATIVES])
        for j in range(n):
            values[1 + n + j] = xdot[j]
        i[f.KNOWS_DERIVATIVES] = 1
    i[f.NUM_EVALUATIONS] = i[f.EVALUATIONS_BEFORE]
    i[f.NUM_SHRINKAGES] = i[f.SHRINKAGES_BEFORE]
    i[f.NUM_FAILURES] = i[f.FAILURES_BEFORE]
    if i[f.IS_RADAU]:
        integers_at(i[f.RADAU])[rf.PHASE] = rf.RESTORE
        call_operation(i[f.RADAU_STEP], i[f.VALUES], i[f.NUMBERS], i[f.RADAU])
    i[f.PHASE] = f.BEGIN
    return f.PYTHON_STEP


@device
def _attempt(i: Any, r: Any, values: Any) -> int:
    h = r[f.H]
    if i[f.IS_RADAU]:
        integers, reals = integers_at(i[f.RADAU]), doubles_at(i[f.RADAU_REALS])
        integers[rf.PHASE], integers[rf.KNOWS_START] = rf.BEGIN, i[f.KNOWS_START]
        reals[rf.TIME], reals[rf.H] = r[f.STEP_START], h
        return _go_on_with_radau(i, r, values)
    if h != r[f.SCALED_FOR]:
        weights, scaled = doubles_at(i[f.WEIGHTS]), doubles_at(i[f.SCALED])
        for n in range((i[f.NUM_STAGES] + 2) * i[f.NUM_STAGES]):
            scaled[n] = weights[n] * h
        r[f.SCALED_FOR] = h
    i[f.STAGE] = 0
    i[f.PHASE] = f.EVALUATE
    return _next_stage(i, r, values) if i[f.KNOWS_START] else _GO_ON


@device
def _go_on_with_radau(i: Any, r: Any, values: Any) -> int:
    """Takes a Radau step as far as it gets."""
    call_operation(i[f.RADAU_STEP], i[f.VALUES], i[f.NUMBERS], i[f.RADAU])
    wanted = integers_at(i[f.RADAU])[rf.WANTED]
    if wanted != rf.DERIVATIVES_HERE:
        _note_move(i)
    if wanted == rf.OVER:
        return _judge(i, r, values, doubles_at(i[f.RADAU_REALS])[rf.ERROR])
    i[f.PHASE] = f.EVALUATE
    return _GO_ON


@device
def _next_stage(i: Any, r: Any, values: Any) -> int:
    """Goes on to the next stage, or to the end of the step."""
    i[f.STAGE] += 1
    stage = i[f.STAGE]
    if stage == i[f.NUM_STAGES]:
        return _finish(i, r, values)
    _move(i, values, r[f.STEP_START] + doubles_at(i[f.STAGE_TIMES])[stage] * r[f.H], stage, stage)
    return _GO_ON


@device
def _evaluate(i: Any, r: Any, values: Any) -> int:
    if i[f.PASSED] == 0 and _must_pause(i):
        return f.PAUSE
    if i[f.NEEDS_ALL]:
        if not _run(i, i[f.ALL_BEGIN], i[f.ALL_END]):
            return f.PYTHON
        i[f.NEEDS_ALL] = 0
    elif not _run(i, i[f.STAGE_BEGIN], i[f.STAGE_END]):
        return f.PYTHON
    if _has_failed(i):
        return _leave_to_python(i, r, values)
    i[f.NUM_EVALUATIONS] += 1
    i[f.KNOWS_START] = 1
    i[f.KNOWS_DERIVATIVES] = 1
    if i[f.IS_RADAU]:
        return _go_on_with_radau(i, r, values)
    _take_derivatives(i, values, i[f.STAGE])
    return _next_stage(i, r, values)


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
def _finish(i: Any, r: Any, values: Any) -> int:
    """The end of an explicit step."""
    num_stages = i[f.NUM_STAGES]
    if not i[f.ENDS_IN_LAST_STAGE]:
        _move(i, values, r[f.STEP_START] + r[f.H], num_stages, num_stages)  # (2)
    return _judge(i, r, values, 0.0 if i[f.IS_FIXED_STEP] else _error(i))


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
    """Accepts a step, or tries a shorter one."""
    h = r[f.H]
    minimum = max(r[f.MIN_STEP_SIZE], 1e-14 * max(abs(values[0]), 1.0))
    if not math.isfinite(error) and not (i[f.IS_RADAU] and _has_finite_start(i)):
        return _leave_to_python(i, r, values)
    if i[f.IS_FIXED_STEP] and math.isinf(error):  # the equations of the step could not be solved
        if 0.5 * h < minimum:
            return _leave_to_python(i, r, values)
        return _try_shorter(i, r, values, 0.5 * h, False)
    if i[f.IS_FIXED_STEP]:
        for j in range(i[f.NUM_STATES]):
            if not math.isfinite(values[1 + j]):
                return _leave_to_python(i, r, values)
        return _accept(i, r, values)
    wanted = _next_step_size(h, error, r[f.ACCURACY], i[f.ERROR_ORDER])
    if wanted >= h:
        if not i[f.IS_CUT_SHORT]:
            r[f.IDEAL_STEP_SIZE] = min(max(wanted, r[f.MIN_STEP_SIZE]), r[f.MAX_STEP_SIZE])
        return _accept(i, r, values)
    if h <= SLIVER * minimum:
        return _leave_to_python(i, r, values)
    return _try_shorter(i, r, values, max(wanted, minimum), math.isfinite(error))


@device
def _try_shorter(i: Any, r: Any, values: Any, h: float, is_for_error: bool) -> int:
    """Returns to the start of the step, to try the size h."""
    i[f.NUM_SHRINKAGES if is_for_error else f.NUM_FAILURES] += 1
    r[f.H] = h
    i[f.IS_CUT_SHORT] = 0
    _move_back(i, r, values)
    i[f.PHASE] = f.ATTEMPT
    return _GO_ON


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
def _accept(i: Any, r: Any, values: Any) -> int:
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
    i[f.PHASE] = f.NOTE
    return _GO_ON


LOOP = PreparedKernel(advance, 0)
