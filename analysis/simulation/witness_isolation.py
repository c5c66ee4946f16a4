"""Finding the time at which witness functions trigger within a step, and noticing when they never stop.

A step from t0 to t1 has been taken. Witness function w triggers in it if its values w(t0), w(t1) say so. The step
is then taken again from t0 to trial times, which close in on the earliest trigger from both sides:

    left < t* <= right,  nothing has triggered at left,  something has at right                (1)

The trial times are those of ITP (Oliveira, Takahashi 2020, "An enhancement of the bisection method average
performance preserving minmax optimality", ACM TOMS 47(1)): regula falsi, truncated towards the middle and projected
onto the region that keeps the worst case of bisection plus one. With several witness functions, the earliest of
their estimates is tried.

After a trigger, w is zero but for the last digits of time, so that its sign there means nothing. Whether it triggers
again in the next step is decided by its sign after leaving zero: by the latest of the times t0 + (t1 - t0) / 8^k
where w lies clearly on the other side than at t1 (2). Where there is no such time, because w leaves zero by too little
to be seen, the slope dw/dt after the event decides: if it points to the other side than w(t1), w has left and come back
at once. So does a function that an update has stopped at zero, and that nonetheless goes on to where it was going.

Two passages within one step leave w(t0) and w(t1) on the same side. They are looked for where the cubic with values
and slopes of w at both ends has a minimum towards zero (witness_dips.py), on the trajectory itself. That finds every
dip, however narrow, of a function that has one turning point in the step, since its slopes then differ in sign. A
function that turns more often than that may hide a dip. Slopes cost one evaluation of w a step, at a point next to the
end of the step along its derivative; the end of one step is the start of the next.

One source serves Python and compiled loops, see watch_state.py. Functions return SUCCEEDED, or why the step is not
taken.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators.problem import copy, go_to, state_of, step_of, time_of
from merganser.analysis.simulation.held_regions import begin_regions, end_regions, measure_rates, read_values
from merganser.analysis.simulation.watch_parts import (
    come_back,
    go_near,
    keep,
    release,
    step_towards,
    undo,
    value_of,
    values_nearby,
)
from merganser.analysis.simulation.watch_state import FROM_NEGATIVE, FROM_POSITIVE, NUM_TIMES_KEPT, OUTER
from merganser.analysis.simulation.witness_dips import lower_bound, lowest_time
from merganser.framework.native import device
from merganser.framework.native.memory.tape import SUCCEEDED

# Length of the final bracket as a share of the time scale: well above rounding errors, well below what anyone asks.
RESOLUTION = 1e-13
_SEARCH_FACTOR = 0.125  # (2)
BAND_FACTOR = 4.0  # values up to this multiple of those in the final bracket count as zero after a trigger
_JUMP_SHARE = 1e-3  # a function that changes sign with values above this share of those at the ends jumps over zero
_TRUNCATION = 0.2  # kappa_1 of ITP, for a bracket of length 1
# Triggers that would all happen within this share of the time scale are taken for infinitely many.
_ZENO_SHARE = 1e-9
SLOPE_SHARE = 2.0**-20  # of a step, over which slopes are measured: rounding and curvature spoil six digits or less
STOPPED = 1e-9  # a function whose slope an update has reduced to this share is at rest
_TINY = 1e-300  # means "just beyond zero"
_MOST_GUESSES = 3  # trials where nothing but the cubic speaks for a minimum
_STRETCH = 1.01  # of the longest step, so that none is much shorter
_MOST_DIP_TRIALS = 12  # a minimum is found to half of all digits in four or five

# ---------------------------------------------------------------------- one step


@device
def take_watched_step(w: Any, target: float) -> int:
    """Takes one step of the integrator, or less than that if witness functions trigger in it.

    `keep_step` is to be called before; if the step fails, `undo_step`.

    Args:
        w: the watch.
        target: how far to go, later than the time in the context [s].
    """
    now, status = w.now, SUCCEEDED
    target = _limit_of_time(w, target)
    if now.num_blocks:
        status = begin_regions(w, target)
        now.knows_slopes = 0  # functions are those of other regions
        target = now.region_end
    if status == SUCCEEDED and now.chattering:
        release(w)
        return status
    if status == SUCCEEDED:
        status = read_values(w, w.before)
    s = step_of(w.step)
    # Dense output is to have the step where it ends in the end, and none of the trials.
    s.is_recorded = 0
    if status == SUCCEEDED:
        status = step_towards(w, target)
    if status == SUCCEEDED:
        status = _look_back(w)
    s.is_recorded = now.was_recorded
    if status == SUCCEEDED and now.was_recorded:
        status = _go_to(w, time_of(w.step))
    if status == SUCCEEDED and now.num_blocks:
        status = end_regions(w)
    return status


@device
def _limit_of_time(w: Any, target: float) -> float:
    """Where a step of the longest size ends [s], if no integrator sees to that as there is no continuous state."""
    longest, is_watched = step_of(w.step).max_step_size, w.now.num_blocks > 0
    for i in range(w.now.num_witnesses):
        is_watched = is_watched or w.direction[i] != 0
    is_long = target - w.now.start > _STRETCH * longest
    return w.now.start + longest if is_watched and is_long and len(w.x_start) == 0 else target


@device
def keep_step(w: Any) -> None:
    """Keeps what a step changes, for `undo_step`."""
    now = w.now
    now.start, now.num_triggered, now.chattering = time_of(w.step), 0, 0
    now.knew_slopes, now.slopes_time_before = now.knows_slopes, now.slopes_time
    now.was_recorded = step_of(w.step).is_recorded
    copy(w.x_start, state_of(w.step))
    copy(w.x_slopes_before, w.x_slopes)
    for i in range(now.num_witnesses):
        w.level[i], w.is_triggered[i] = 0.0, 0
        w.bands_before[i], w.slopes_of_triggers_before[i] = w.zero_band[i], w.slope_before[i]
        w.had_slope[i], w.slopes_before[i] = w.has_slope[i], w.end_slopes[i]
    keep(w)


@device
def undo_step(w: Any) -> None:
    """Puts back what `take_watched_step` has changed, all but what has been counted."""
    now = w.now
    go_to(w.step, now.start, w.x_start)
    undo(w)
    step_of(w.step).is_recorded = now.was_recorded
    now.num_triggered, now.chattering = 0, 0
    now.knows_slopes, now.slopes_time = now.knew_slopes, now.slopes_time_before
    copy(w.x_slopes, w.x_slopes_before)
    for i in range(now.num_witnesses):
        w.is_triggered[i] = 0
        w.zero_band[i], w.slope_before[i] = w.bands_before[i], w.slopes_of_triggers_before[i]
        w.has_slope[i], w.end_slopes[i] = w.had_slope[i], w.slopes_before[i]
        while w.num_times[i] > 0 and w.times[i, w.num_times[i] - 1] > now.start:
            w.num_times[i] -= 1


@device
def _look_back(w: Any) -> int:
    """Finds the earliest triggers in the step just taken, and moves there if there are any."""
    now, has_moved = w.now, False
    now.end = time_of(w.step)
    copy(w.x_end, state_of(w.step))
    status = read_values(w, w.after)
    for i in range(now.num_witnesses):
        at_end = w.after[i]
        w.start[i], w.armed_after[i] = w.before[i], -math.inf
        if abs(w.before[i]) > w.zero_band[i]:
            w.zero_band[i] = 0.0
        else:
            w.start[i] = 0.0
            if status == SUCCEEDED and triggers(w, i, -at_end, at_end):
                status = _search_departure(w, i, at_end)
                w.after[i] -= w.level[i]
                has_moved = True
    if status == SUCCEEDED and has_moved:
        go_to(w.step, now.end, w.x_end)
    if status == SUCCEEDED:
        status = _search_earliest_dip(w)
    if status == SUCCEEDED and not math.isnan(now.dip_time):
        status = _shorten(w, now.dip_time)
    if status == SUCCEEDED and _any_has_triggered(w, now.end, w.after):
        status = _isolate(w)
    return status


@device
def triggers(w: Any, i: int, w0: float, wf: float) -> bool:
    """Whether function i triggers if its value goes from w0 to wf."""
    if w0 > 0.0:
        return wf <= 0.0 and w.direction[i] & FROM_POSITIVE != 0
    return w0 < 0.0 <= wf and w.direction[i] & FROM_NEGATIVE != 0


@device
def _has_triggered(w: Any, i: int, time: float, value: float) -> bool:
    """Whether function i has triggered in this step by `time`, where it has this value."""
    return time > w.armed_after[i] and triggers(w, i, w.start[i], value)


@device
def _any_has_triggered(w: Any, time: float, values: Any) -> bool:
    is_any = False
    for i in range(w.now.num_witnesses):
        is_any = is_any or _has_triggered(w, i, time, values[i])
    return is_any


# ---------------------------------------------------------------------- after a trigger


@device
def _search_departure(w: Any, i: int, at_end: float) -> int:
    """Finds out whether function i has left zero to the other side than where it is at the end of the step (2)."""
    now = w.now
    status = _arm(w, i, at_end, True)
    if status == SUCCEEDED and not now.is_armed and abs(at_end) > w.zero_band[i]:
        status = _ask_whether_it_comes_back(w, i, at_end)
        if status == SUCCEEDED and now.comes_back:
            # How far it goes is lost in the last digits of its value at the start, but not beside that value.
            w.level[i] = w.before[i]
            status = _arm(w, i, at_end, False)
            if not now.is_armed:
                w.start[i], w.armed_after[i] = -math.copysign(_TINY, at_end), now.start
    return status


@device
def _arm(w: Any, i: int, at_end: float, must_be_clear: bool) -> int:
    """Arms function i at the latest of the times (2) where its value is on the other side than at the end.

    Args:
        w: the watch.
        i: number of the function.
        at_end: its value at the end of the step.
        must_be_clear: whether the value must be more than that of the start but for rounding.
    """
    now, status = w.now, SUCCEEDED
    room, shortest = now.end - now.start, _resolution(now.start, now.end)
    now.is_armed = 0
    while status == SUCCEEDED and room > shortest and not now.is_armed:
        room *= _SEARCH_FACTOR
        status = _go_to(w, now.start + room)
        if status == SUCCEEDED:
            status = _read_value(w, i, w.values)
        value = w.values[i]
        is_clear = not must_be_clear or value * w.before[i] < 0.0 or abs(value) > w.zero_band[i]
        if status == SUCCEEDED and value * at_end < 0.0 and is_clear:
            w.start[i], w.armed_after[i], now.is_armed = value, now.start + room, 1
    return status


@device
def _ask_whether_it_comes_back(w: Any, i: int, at_end: float) -> int:
    """Whether an update that was just triggered left function i at zero, or it leaves zero by too little to be seen
    towards the side opposite to that at the end."""
    now = w.now
    go_to(w.step, now.start, w.x_start)
    status, slope = read_slope(w, i, w.before[i], SLOPE_SHARE * (now.end - now.start))
    last = w.times[i, w.num_times[i] - 1] if w.num_times[i] else math.nan
    was_going_there = w.slope_before[i] * at_end > 0.0 and last == now.start
    is_stopped = was_going_there and abs(slope) <= STOPPED * abs(w.slope_before[i])
    now.comes_back = 1 if slope * at_end < 0.0 or is_stopped else 0
    return status


# ---------------------------------------------------------------------- two passages within one step


@device
def _search_earliest_dip(w: Any) -> int:
    """Finds the earliest time [s] where a function that is on the same side at both ends has triggered, or nan.

    One that triggers on its way back only is armed, and so has triggered at the end. The context is at the end of
    the step before and after that.
    """
    now, num_candidates, earliest = w.now, 0, math.nan
    now.dip_time = math.nan
    for i in range(now.num_witnesses):
        at_end = w.after[i]
        has_side = w.before[i] * at_end > 0.0 or w.start[i] == 0.0
        may_trigger = triggers(w, i, at_end, 0.0) or triggers(w, i, -at_end, 0.0)
        is_candidate = may_trigger and has_side and not _has_triggered(w, i, now.end, at_end)
        w.is_candidate[i] = 1 if is_candidate else 0
        num_candidates += int(w.is_candidate[i])
    if not num_candidates:
        return SUCCEEDED
    status = _read_slopes_at_ends(w)
    for i in range(now.num_witnesses):
        side = math.copysign(1.0, w.after[i])
        v_0, d_0 = side * w.before[i] if w.start[i] else 0.0, side * w.start_slopes[i]
        if status == SUCCEEDED and w.is_candidate[i] and (w.start[i] or d_0 > 0.0):
            status = _search_dip(w, i, side, v_0, d_0)
            if status == SUCCEEDED and not math.isnan(now.dip_time):
                if triggers(w, i, w.after[i], 0.0):
                    earliest = now.dip_time if math.isnan(earliest) else min(earliest, now.dip_time)
                elif now.dip_value < 0.0:
                    w.start[i], w.armed_after[i] = side * now.dip_value, now.dip_time
    if status == SUCCEEDED and time_of(w.step) != now.end:
        go_to(w.step, now.end, w.x_end)
    now.dip_time = earliest
    return status


@device
def _read_slopes_at_ends(w: Any) -> int:
    """The slopes of candidates at both ends of the step; those at the start are often known from the step before."""
    now, num_missing = w.now, 0
    shift = SLOPE_SHARE * (now.end - now.start)
    is_known = now.knows_slopes != 0 and now.slopes_time == now.start
    for j in range(len(w.x_start)):
        is_known = is_known and w.x_slopes[j] == w.x_start[j]
    for i in range(now.num_witnesses):
        w.has_start[i], w.start_slopes[i] = 1 if is_known and w.has_slope[i] else 0, w.end_slopes[i]
        w.is_chosen[i] = w.has_slope[i] = w.is_candidate[i]
    status = _read_slopes(w, w.after, -shift, w.end_slopes)
    now.knows_slopes, now.slopes_time = 1, now.end
    copy(w.x_slopes, w.x_end)
    for i in range(now.num_witnesses):
        w.is_chosen[i] = 1 if w.is_candidate[i] and not w.has_start[i] else 0
        num_missing += int(w.is_chosen[i])
    if status == SUCCEEDED and num_missing:
        go_to(w.step, now.start, w.x_start)
        status = _read_slopes(w, w.before, shift, w.start_slopes)
    return status


@device
def _search_dip(w: Any, i: int, side: float, v_0: float, d_0: float) -> int:
    """Finds a point within the step where side * w, positive at both ends, is not positive.

    Args:
        w: the watch; takes time and value of the point as `dip_time`, which is nan if none is found, and `dip_value`.
        i: number of the function.
        side: 1 or -1.
        v_0, d_0: of side * w at the start of the step: value and slope [1/s].
    """
    now = w.now
    t_0, t_1, v_1, d_1 = now.start, now.end, side * w.after[i], side * w.end_slopes[i]
    now.dip_time = math.nan
    for trial in range(_MOST_DIP_TRIALS):
        has_turned = d_0 < 0.0 < d_1
        time = lowest_time(t_0, v_0, d_0, t_1, v_1, d_1) if has_turned or trial < _MOST_GUESSES else math.nan
        if math.isnan(time):
            break
        status = _go_to(w, time)
        if status == SUCCEEDED:
            status = _read_value(w, i, w.values)
        if status != SUCCEEDED:
            return status
        value = side * w.values[i]
        if value <= 0.0:
            now.dip_time, now.dip_value = time, value
            break
        status, slope = read_slope(w, i, side * value, SLOPE_SHARE * (t_1 - time))
        if status != SUCCEEDED:
            return status
        if side * slope < 0.0:
            t_0, v_0, d_0 = time, value, side * slope
        else:
            t_1, v_1, d_1 = time, value, side * slope
        if lower_bound(t_0, v_0, d_0, t_1, v_1, d_1) > 0.0:
            break
    return SUCCEEDED


@device
def _shorten(w: Any, dip_time: float) -> int:
    """Ends the step at `dip_time` [s]."""
    now = w.now
    status = _go_to(w, dip_time)
    if status == SUCCEEDED:
        now.end = dip_time
        copy(w.x_end, state_of(w.step))
        status = read_values(w, w.after)
    now.knows_slopes = 0
    for i in range(now.num_witnesses):
        value = w.after[i]
        if status == SUCCEEDED and w.start[i] == 0.0 and triggers(w, i, -value, value):
            status = _search_departure(w, i, value)
            w.after[i] -= w.level[i]
    return status


@device
def read_slope(w: Any, i: int, value: float, shift: float) -> tuple[int, float]:
    """The slope of function i [1/s], see _read_slopes."""
    for k in range(w.now.num_witnesses):
        w.is_chosen[k] = 0
    w.is_chosen[i] = 1
    w.rights[i] = value
    status = _read_slopes(w, w.rights, shift, w.values)
    return status, w.values[i]


@device
def _read_slopes(w: Any, values_in: Any, shift: float, slopes_out: Any) -> int:
    """The slopes dw/dt [1/s] of chosen functions where the context is now, from their values there and next to it.

    The context comes back as it was, and what was current before and was not computed next to it is so again.

    Args:
        w: the watch.
        values_in: what they are now.
        shift: how far to go along the derivatives [s].
        slopes_out: by function; nan where it cannot be evaluated.
    """
    time = time_of(w.step)
    shift = (time + shift) - time
    for i in range(w.now.num_witnesses):
        if w.is_chosen[i]:
            slopes_out[i] = math.nan
    status = go_near(w, OUTER, shift, True)
    if status == SUCCEEDED and w.is_near[OUTER]:
        status = measure_rates(w)
        if status == SUCCEEDED:
            status = values_nearby(w, slopes_out)
        come_back(w, OUTER)
        for i in range(w.now.num_witnesses):
            if w.is_chosen[i]:
                slopes_out[i] = (slopes_out[i] - values_in[i]) / shift
    return status


# ---------------------------------------------------------------------- isolation


@device
def _isolate(w: Any) -> int:
    """Closes in on the earliest trigger (1) and moves to the right end of the bracket."""
    now, n = w.now, w.now.num_witnesses
    left, right = now.start, now.end
    resolution = _resolution(left, right)
    # ITP with epsilon = resolution / 2: bisection would take this many trials.
    num_bisections = max(0, math.ceil(math.log2((right - left) / resolution)))
    reach = 0.5 * resolution * 2.0 ** (num_bisections + 1)
    first_length = right - left
    copy(w.x_right, w.x_end)
    for i in range(n):
        w.lefts[i] = w.start[i] if w.armed_after[i] > -math.inf else w.before[i]
        w.rights[i] = w.after[i]
    while right - left > resolution:
        trial = _trial_time(w, left, right, reach, first_length)
        trial = min(max(trial, left + 0.5 * resolution), right - 0.5 * resolution)
        if not left < trial < right:
            break
        status = _go_to(w, trial)
        if status == SUCCEEDED:
            status = read_values(w, w.values)
        if status != SUCCEEDED:
            return status
        if _any_has_triggered(w, trial, w.values):
            right = trial
            copy(w.rights, w.values)
            copy(w.x_right, state_of(w.step))
        else:
            left = trial
            for i in range(n):
                if trial > w.armed_after[i]:
                    w.lefts[i] = w.values[i]
        reach *= 0.5
    go_to(w.step, right, w.x_right)
    return _note_triggers(w, right, first_length)


@device
def _note_triggers(w: Any, right: float, first_length: float) -> int:
    """Notes which functions have triggered, and when; their values on both sides of that are known.

    Args:
        w: the watch.
        right: the time [s].
        first_length: of the step that was taken first [s].
    """
    now, num_stoppable = w.now, 0
    for i in range(now.num_witnesses):
        at_left, at_right = w.lefts[i], w.rights[i]
        residual = max(abs(at_left), abs(at_right))
        is_small = residual <= _JUMP_SHARE * max(abs(w.before[i]), abs(w.after[i]))
        if w.armed_after[i] < right and at_left * at_right <= 0.0 and is_small:
            w.zero_band[i] = BAND_FACTOR * residual + abs(w.level[i])
        w.is_triggered[i] = 1 if _has_triggered(w, i, right, at_right) else 0
        w.is_chosen[i] = 1 if w.is_triggered[i] and w.updates[i] else 0
        now.num_triggered += int(w.is_triggered[i])
        num_stoppable += int(w.is_chosen[i])
        if w.is_triggered[i]:
            append_time(w, i, right)
    status = SUCCEEDED
    if num_stoppable:
        status = _read_slopes(w, w.rights, -SLOPE_SHARE * first_length, w.values)
        for i in range(now.num_witnesses):
            if w.is_chosen[i]:
                w.slope_before[i] = w.values[i]
    return status


@device
def append_time(w: Any, i: int, time: float) -> None:
    """Notes when function i has triggered; the oldest of many times is forgotten."""
    if w.num_times[i] == NUM_TIMES_KEPT:
        for k in range(NUM_TIMES_KEPT - 1):
            w.times[i, k] = w.times[i, k + 1]
        w.num_times[i] -= 1
    w.times[i, w.num_times[i]] = time
    w.num_times[i] += 1


@device
def _trial_time(w: Any, left: float, right: float, reach: float, first_length: float) -> float:
    """The time that ITP tries next; `reach` is epsilon 2^(n_max - j)."""
    length, middle, falsi = right - left, 0.5 * (left + right), math.inf
    for i in range(w.now.num_witnesses):
        if _has_triggered(w, i, right, w.rights[i]):
            falsi = min(falsi, left + length * (w.lefts[i] / (w.lefts[i] - w.rights[i])))
    towards = math.copysign(1.0, middle - falsi)
    truncation = _TRUNCATION * length * length / first_length
    truncated = falsi + towards * truncation if truncation <= abs(middle - falsi) else middle
    radius = max(0.0, reach - 0.5 * length)
    return truncated if abs(truncated - middle) <= radius else middle - towards * radius


# ---------------------------------------------------------------------- moving about


@device
def _resolution(start: float, end: float) -> float:
    return RESOLUTION * max(abs(end), abs(start), end - start)


@device
def _read_value(w: Any, i: int, out: Any) -> int:
    """How far function i is from its level now."""
    status = measure_rates(w)
    if status == SUCCEEDED:
        status = value_of(w, i, out)
    return status


@device
def _go_to(w: Any, time: float) -> int:
    """Integrates again from the start of the step."""
    go_to(w.step, w.now.start, w.x_start)
    status = SUCCEEDED
    while status == SUCCEEDED and time_of(w.step) != time:
        status = step_towards(w, time)
    return status


# ---------------------------------------------------------------------- triggers without end


@device
def accumulation_time(w: Any, i: int, scale: float) -> float:
    """The time [s] at which triggers of function i accumulate; nan if they do not seem to.

    Either the last two intervals d1 > d2 between triggers are terms of a geometric series whose rest
    d2 r / (1 - r), r = d2 / d1, is too short to be resolved, or many triggers have come in as short a time.
    """
    times, n, shortest = w.times, w.num_times[i], _ZENO_SHARE * scale
    if n == NUM_TIMES_KEPT and times[i, n - 1] - times[i, 0] <= shortest:
        return float(times[i, n - 1])
    if n < 3:
        return math.nan
    d1, d2 = times[i, n - 2] - times[i, n - 3], times[i, n - 1] - times[i, n - 2]
    rest = d2 * d2 / (d1 - d2) if d2 < d1 else math.inf
    return float(times[i, n - 1] + rest) if max(d2, rest) <= shortest else math.nan
