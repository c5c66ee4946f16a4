"""What an FMU calls of the compiled loop beside `advance` (../plan/loop.py): it does what Python does between advances.

`problem` is the address of a Problem (../plan/loop_state.py), in the memory of one instance of the FMU.
"""

from __future__ import annotations

import math

from merganser.analysis.integrators.problem import step_of
from merganser.analysis.plan.loop import find_group
from merganser.analysis.plan.loop_state import group_of, patience_of, problem_at
from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.clocks import clocks_at, forget_strikes, strike_after
from merganser.analysis.simulation.steps import make_updates
from merganser.analysis.simulation.watch_state import watch_at
from merganser.analysis.simulation.witness_isolation import accumulation_time
from merganser.framework.native import kernel
from merganser.framework.native.memory.tape import SUCCEEDED

_WITHOUT_END = 1 << 62
AT_TRIGGER = 2  # in place of 1: the advance stops, and goes on when it is asked to


@kernel
def begin(problem: int, time: float) -> int:
    """Makes pending what is due at a time [s] by clocks (none for nan), and by witness functions; returns a status."""
    p = problem_at(problem)
    now, clocks = p.progress, 0
    forget_strikes(p.clocks, p.num_clocks)
    if not math.isnan(time):
        clocks = clocks_at(p.clocks, p.num_clocks, time)
    group = find_group(p, clocks | now.due)
    if clocks < 0 or group < 0:
        return codes.PYTHON_STEP
    now.due = 0
    now.stage, now.time = codes.UPDATING, p.values[0]
    now.pending, now.flags, now.state_is_updated, now.must_stop = group, group_of(p, group).flags, 0, 0
    return SUCCEEDED


@kernel
def prepare(problem: int, boundary: float, has_changed: bool, stops_at_triggers: bool) -> int:
    """Makes ready to advance.

    Args:
        problem: of the loop.
        boundary: when to end [s].
        has_changed: whether inputs, parameters or states are other ones.
        stops_at_triggers: whether to end where witness functions trigger, too.
    """
    p = problem_at(problem)
    now, patience = p.progress, patience_of(p)
    now.boundary, now.steps_left, now.needs_all = boundary, _WITHOUT_END, 1
    now.handled, now.is_out_of_date = 0, 0
    now.must_stop = 1 if now.must_stop == 1 else 0
    patience.passes_left = _WITHOUT_END
    forget_strikes(p.clocks, p.num_clocks)
    if has_changed:
        step_of(p.step).is_current = 0
    if p.watch:
        watched = watch_at(p.watch).now
        watched.is_stale, watched.stops_at_triggers = 1, 1 if stops_at_triggers else 0
    return SUCCEEDED


@kernel
def note_triggers(problem: int) -> int:
    """Notes that a step has ended where witness functions have triggered (`note_end` in Python)."""
    p = problem_at(problem)
    now, w, time = p.progress, watch_at(p.watch), p.values[0]
    now.due = now.due if time >= now.next_time else 0
    now.must_stop = AT_TRIGGER if w.now.stops_at_triggers and not now.must_stop else now.must_stop
    now.must_stop = 1 if w.now.chattering else now.must_stop
    scale = max(abs(time), time - w.now.time_start)
    for i in range(w.now.num_witnesses if w.now.num_triggered else 0):
        if w.is_triggered[i]:
            now.due |= w.event_bits[i]
            if not math.isnan(accumulation_time(w, i, scale)):
                now.must_stop = 1
    now.next_time, now.time, now.stage = time, time, codes.ENDING
    return SUCCEEDED


@kernel
def update(problem: int) -> int:
    """Makes the updates that are pending; returns a status."""
    p = problem_at(problem)
    return make_updates(p, p.progress)


@kernel
def start(problem: int) -> int:
    """Notes that the simulation starts at the time in the Context."""
    p = problem_at(problem)
    if p.watch:
        watch_at(p.watch).now.time_start = p.values[0]
    return SUCCEEDED


@kernel
def next_event(problem: int, time: float, is_in_piece: bool) -> float:
    """When clocks strike next after a time [s], or the piece (pieces.py) ends; infinity for never."""
    p = problem_at(problem)
    forget_strikes(p.clocks, p.num_clocks)
    strike = strike_after(p.clocks, p.num_clocks, time, math.inf)[0]
    return min(strike, watch_at(p.watch).now.region_end) if is_in_piece else strike


@kernel
def outlook(problem: int) -> int:
    """Bits: 1 if updates are pending, 2 if the simulation is to end."""
    now = problem_at(problem).progress
    return (1 if now.flags else 0) | (2 if now.must_stop == 1 else 0)
