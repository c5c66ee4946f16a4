"""How compiled loops run operations and let Python look for signals."""

from __future__ import annotations

from typing import Any

from merganser.analysis.integrators.problem import step_of
from merganser.analysis.plan import loop_state as f
from merganser.analysis.plan.loop_state import patience_of, problem_at
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.tape import SUCCEEDED, call_clock, call_python
from merganser.framework.native.operations.operation_list import run_part


@device
def look_now_and_then(p: Any) -> int:
    """Calls Python to check for signals when the loop has run for long enough."""
    patience = patience_of(p)
    patience.passes_left -= 1
    if patience.passes_left > 0:
        return SUCCEEDED
    if patience.get_time == 0:
        patience.passes_left = f.MOST_PASSES
        return call_python(p.look, p.failure)
    call_clock(patience.get_time, patience.which_clock, p.patience)
    elapsed = 1_000_000_000 * patience.seconds + patience.nanoseconds
    if patience.slice_end == 0:
        patience.slice_end = elapsed + f.SLICE
    elif elapsed - patience.last_look > f.SLICE // 100:
        patience.passes = 1
    else:
        patience.passes = min(2 * patience.passes, f.MOST_PASSES)
    patience.passes_left = patience.passes
    patience.last_look = elapsed
    if elapsed < patience.slice_end:
        return SUCCEEDED
    return call_python(p.look, p.failure)


@device
def run(p: Any, begin: int, end: int) -> int:
    """Runs operations until one fails; returns its status."""
    return run_part(p.operations, begin, end)


@kernel
def evaluate(problem: int, number: int) -> int:
    """Computes what an attempt of the integrator asks for, by its number."""
    p = problem_at(problem)
    now = p.progress
    status = look_now_and_then(p)
    if status != SUCCEEDED:
        return status
    note_move(p, now)
    if now.needs_all:
        status = run(p, p.constants_begin, p.constants_end)
    if status == SUCCEEDED:
        status = run(p, p.ranges[number, 0], p.ranges[number, 1])
    if status == SUCCEEDED:
        now.needs_all = 0
    return status


@device
def note_move(p: Any, now: Any) -> None:
    """Notes for Python whether time or continuous state have changed."""
    s = step_of(p.step)
    if s.has_moved:
        now.changed |= 1
        s.has_moved = 0
