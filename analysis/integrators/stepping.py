"""The control of steps: how long they are, which attempts are accepted, what is counted.

One source serves steps in Python, where `p` is the integrator, and compiled ones, see problem.py. Steps begin with
`begin_step`; then `complete_step` tries, and `note_step` counts what has been taken. Functions return SUCCEEDED, or why
the step is not taken (step_state.py).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.analysis.integrators import step_state as f
from merganser.analysis.integrators.problem import (
    Problem,
    attempt,
    breaks_of,
    end_derivatives_of,
    evaluate,
    is_finite_start,
    largest,
    move_back,
    quaternions_of,
    record,
    remember,
    return_to_start,
    set_time,
    state_changes,
    state_of,
    step_of,
    time_of,
)
from merganser.analysis.integrators.step_size import is_too_fine, next_step_size, rounding_at
from merganser.framework.native import device
from merganser.framework.native.memory.tape import SUCCEEDED

# A step may be this much longer than the maximum, or than wanted, so that no sliver is left before an event;
# one that an event cuts to less than this share of its size does not count for the choice of the next.
_STRETCH = 1.01
_SLIVER = 1.001
_CUT_SHORT = 0.95
_RESOLUTION = 1e-14  # of time, for the shortest step

_is_too_fine, _next_step_size, _margin = device(is_too_fine), device(next_step_size), device(rounding_at)


@device
def shortest_step_size(p: Problem) -> float:
    """The shortest step in use [s]: what was asked for, or what time can resolve."""
    return max(step_of(p).min_step_size, _RESOLUTION * max(abs(time_of(p)), 1.0))


@device
def first_step_size(p: Problem) -> float:
    """The size of the first attempt from here on [s]."""
    s = step_of(p)
    return min(max(s.wanted_first, shortest_step_size(p)), s.max_step_size)


@device
def begin_step(p: Problem, target: float) -> int:
    """Notes where the step starts, and chooses the size of the first attempt.

    Args:
        p: the problem.
        target: time where the step is to end at the latest, later than the present one [s].
    """
    s = step_of(p)
    time, longest = time_of(p), s.max_step_size
    s.end = target
    if s.num_breaks and not s.is_single:
        target = _stop_before_break(p, time, target)
    room = target - time
    is_last = room <= _STRETCH * longest
    if not is_last:
        room = longest
        if _is_too_fine(room, time):
            return f.TOO_FINE
    h = room
    is_cut_short = False
    if not s.is_fixed_step:
        h = min(s.ideal_step_size, longest)
        is_cut_short = room < _CUT_SHORT * h
        if is_cut_short or room < _SLIVER * h:
            h = room
    s.start, s.target, s.room, s.h, s.ideal_before = time, target, room, h, s.ideal_step_size
    s.is_last, s.is_cut_short, s.knows_start = is_last, is_cut_short, 0
    remember(p)
    return SUCCEEDED


@device
def _stop_before_break(p: Problem, time: float, target: float) -> float:
    """A time just before the next break if that is no later than the target, otherwise the target [s].

    So all derivatives of a step are those of one side. Those of the next step are of the other, also at its start.
    """
    s, breaks, margin = step_of(p), breaks_of(p), _margin(time)
    low, high = 0, s.num_breaks
    while low < high:  # until the number of breaks that are not later than now, but for rounding
        middle = (low + high) // 2
        if breaks[2 * middle] <= time + margin:
            low = middle + 1
        else:
            high = middle
    if low > 0 and breaks[2 * low - 2] > time:
        set_time(p, min(breaks[2 * low - 2], target))
    if low == s.num_breaks or breaks[2 * low] > target:
        return target
    if target - breaks[2 * low] > _margin(target):
        s.end = breaks[2 * low]
    return float(breaks[2 * low + 1])


@device
def complete_step(p: Problem) -> int:
    """Tries ever shorter steps until one is accurate enough; changes nothing if all fail."""
    s = step_of(p)
    s.is_stepping = 1
    status = f.SHORTER
    while status == f.SHORTER:
        status = attempt(p)
        if status == SUCCEEDED:
            status = _judge(p, s)
        if status == f.SHORTER:
            s.is_cut_short = 0
            move_back(p)
            if s.is_single:
                break
    if status == SUCCEEDED:
        status = _finish(p, s)
    if status != SUCCEEDED:
        return_to_start(p)
    s.is_stepping = 0
    return status


@device
def _judge(p: Problem, s: Any) -> int:
    """Accepts or rejects an attempt; if rejected, chooses the size of the next one."""
    h, error = s.h, s.error
    minimum = shortest_step_size(p)
    if s.is_fixed_step:
        return _judge_fixed_step(p, s, 0.5 * h, minimum)
    wanted = _next_step_size(h, error, s.accuracy, s.error_order)
    if wanted >= h:
        if not s.is_cut_short:  # such a step says little about the next one
            s.ideal_step_size = min(max(wanted, s.min_step_size), s.max_step_size)
        return SUCCEEDED
    if h <= _SLIVER * minimum:
        if not math.isfinite(error):
            return f.NOT_FINITE
        if s.throws:
            return f.INACCURATE
        s.ideal_step_size = h
        return SUCCEEDED
    if math.isfinite(error):
        s.counts.num_shrinkages += 1
    else:
        s.counts.num_failures += 1
        if not is_finite_start(p):
            return f.NOT_FINITE
    s.h = max(wanted, minimum)
    return f.SHORTER


@device
def _judge_fixed_step(p: Problem, s: Any, half: float, minimum: float) -> int:
    """Accepts a step without error control, or halves it if its equations were not solved."""
    if not math.isinf(s.error):
        return SUCCEEDED if math.isfinite(largest(state_of(p))) else f.NOT_FINITE
    if not is_finite_start(p):
        return f.NOT_FINITE
    s.counts.num_failures += 1
    if not s.is_single:
        s.h = half
        if half < minimum:
            return f.NOT_FINITE
    return f.SHORTER


@device
def _finish(p: Problem, s: Any) -> int:
    """Sets the time to exactly where the step is to end, and records the step if asked to."""
    is_last = s.is_last != 0 and s.h == s.room
    s.is_last = is_last
    if is_last and time_of(p) != s.target:  # time + h may differ from it in the last digit
        set_time(p, s.target)
    if s.num_quaternions and scale_quaternions(p, state_of(p)):
        state_changes(p)
    status = SUCCEEDED
    if s.is_recorded:
        xdot_end = end_derivatives_of(p)
        status = evaluate(p, xdot_end)
        if status == SUCCEEDED and not math.isfinite(largest(xdot_end)):
            status = f.NOT_FINITE
    if is_last and s.end != s.target:
        set_time(p, s.end)
    return record(p) if status == SUCCEEDED and s.is_recorded else status


@device
def scale_quaternions(p: Problem, x: Any) -> bool:
    """Gives the quaternions in a state length 1 again; integration preserves it to its accuracy only.

    Returns:
        Whether that has changed it.
    """
    quaternions, has_changed = quaternions_of(p), False
    for n in range(step_of(p).num_quaternions):
        i, j, k, m = quaternions[n, 0], quaternions[n, 1], quaternions[n, 2], quaternions[n, 3]
        length = np.sqrt(x[i] * x[i] + x[j] * x[j] + x[k] * x[k] + x[m] * x[m])
        if length != 1.0 and length != 0.0:
            has_changed = True
            x[i] /= length
            x[j] /= length
            x[k] /= length
            x[m] /= length
    return has_changed


@device
def note_step(p: Problem) -> None:
    """Counts a step that has been taken."""
    s = step_of(p)
    h = s.h
    if s.num_steps == 0:
        s.first_step_size = s.largest_step_size = h
    s.num_steps += 1
    s.previous_step_size = h
    if h > s.largest_step_size:
        s.largest_step_size = h
    if not s.is_fixed_step and not (s.is_last or h >= s.smallest_step_size):
        s.smallest_step_size = h
