"""Model exchange: pieces of a motion, from event to event, in which the regions and states of blocks do not change.

The solver of another tool takes the steps, and looks for sign changes of the event indicators z. These are the witness
functions w, less a level l:

    z = w - l,   l = 0 where w begins the piece clearly on a side of zero                                     (1)
    l = -s (1 + 2^-40) |w(t0)|,   s = sign(dw/dt(t0)),   where a trigger has left w(t0) in its last digits     (2)

so that z begins on the side s to which w goes: passing zero the other way is a change of sign, however soon it comes.
Once w has left zero, l is 0. A function that an update has stopped at zero goes on to where it was going, as in
witness_isolation.py. Functions return SUCCEEDED, STOPPED where pieces have no length and never end, or why not.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators.problem import copy, step_of, time_of
from merganser.analysis.plan.deciding import change_states, end_of_decided_step, note_ends
from merganser.analysis.plan.loop_state import problem_at
from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.held_regions import begin_regions, end_regions, read_values
from merganser.analysis.simulation.watch_parts import release
from merganser.analysis.simulation.watch_state import watch_at
from merganser.analysis.simulation.witness_isolation import (
    BAND_FACTOR,
    SLOPE_SHARE,
    STOPPED,
    accumulation_time,
    append_time,
    read_slope,
    triggers,
)
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.tape import SUCCEEDED

BEGIN, INDICATORS, COMPLETE, END = range(4)  # what to do, see `in_piece`; the same in instance.c
_BEYOND = 1.0 + 2.0**-40  # (2)
_TINY = 1e-300


@kernel
def in_piece(problem: int, what: int) -> int:
    """Begins a piece, computes its indicators, takes note of a step of the solver, or ends it."""
    p = problem_at(problem)
    w = watch_at(p.watch)
    if what == BEGIN:
        return _begin(w)
    return _go_on(p, w, what, False)


@kernel
def in_decided_piece(problem: int, what: int) -> int:
    """The same where blocks decide (state machines)."""
    p = problem_at(problem)
    w = watch_at(p.watch)
    if what != BEGIN:
        return _go_on(p, w, what, True)
    status = change_states(w)
    if status == SUCCEEDED:
        status = _begin(w)
    w.now.region_end = min(w.now.region_end, end_of_decided_step(w, math.inf))
    return status


@device
def _go_on(p: Any, w: Any, what: int, are_deciding: bool) -> int:
    if what == END:
        return _end(p, w, are_deciding)
    status = read_values(w, w.values)
    for i in range(w.now.num_witnesses if what == COMPLETE else 0):
        if w.start[i] * (w.values[i] + w.level[i]) > 0.0:
            w.level[i] = 0.0
    return status


@device
def _begin(w: Any) -> int:
    """Decides about regions, and on which side of zero each function begins; notes when the piece must end."""
    now, status, time = w.now, SUCCEEDED, time_of(w.step)
    longest = step_of(w.step).max_step_size
    now.chattering, now.knows_slopes, now.region_end = 0, 0, math.inf
    for i in range(now.num_witnesses):
        w.start[i] = w.level[i] = 0.0
    if now.num_blocks:
        release(w)
        status = begin_regions(w, time + longest)
        now.region_end = now.region_end if now.region_end < time + longest else math.inf
        if now.chattering:
            release(w)
            return codes.STOPPED
    if status == SUCCEEDED:
        status = read_values(w, w.before)
    for i in range(now.num_witnesses):
        if status == SUCCEEDED and w.direction[i]:
            status = _choose_side(w, i, time, SLOPE_SHARE * longest)
    return status


@device
def _choose_side(w: Any, i: int, time: float, shift: float) -> int:
    """Notes on which side of zero function i begins, and its level (2); 0 if it rests there."""
    value = w.before[i]
    if abs(value) > w.zero_band[i]:
        w.zero_band[i], w.start[i] = 0.0, math.copysign(1.0, value)
        return SUCCEEDED
    status, slope = read_slope(w, i, value, shift)
    has_just_triggered = w.num_times[i] > 0 and w.times[i, w.num_times[i] - 1] == time
    if w.updates[i] and has_just_triggered and abs(slope) <= STOPPED * abs(w.slope_before[i]):
        slope = -w.slope_before[i]
    if abs(slope) > 0.0:
        side = w.start[i] = math.copysign(1.0, slope)
        w.level[i] = 0.0 if side * value > 0.0 else -side * (_BEYOND * abs(value) + _TINY)
    return status


@device
def _end(p: Any, w: Any, are_deciding: bool) -> int:
    """Notes what has triggered, and brings memories up to date, before inputs jump; regions follow from inputs then."""
    now, time = w.now, time_of(w.step)
    status = read_values(w, w.after)
    due, must_stop, now.num_triggered = 0, False, 0
    copy(w.lefts, w.after)
    for i in range(now.num_witnesses):
        w.is_triggered[i] = 1 if triggers(w, i, w.start[i], w.after[i]) else 0
        if w.is_triggered[i]:
            now.num_triggered, due = now.num_triggered + 1, due | w.event_bits[i]
            w.zero_band[i] = BAND_FACTOR * abs(w.after[i] + w.level[i])
            append_time(w, i, time)
            scale = max(abs(time), time - now.time_start)
            must_stop = must_stop or not math.isnan(accumulation_time(w, i, scale))
    for i in range(now.num_witnesses):
        if status == SUCCEEDED and w.is_triggered[i] and w.updates[i]:
            shift = -SLOPE_SHARE * step_of(w.step).max_step_size
            status, w.slope_before[i] = read_slope(w, i, w.lefts[i], shift)
    if status == SUCCEEDED and now.num_blocks:
        status = end_regions(w)
    if status == SUCCEEDED and are_deciding:
        status = note_ends(w)
    p.progress.due = due
    return codes.STOPPED if status == SUCCEEDED and must_stop else status
