"""How compiled loops run operations and let Python look for signals."""

from __future__ import annotations

from typing import Any

from merganser.analysis.integrators import step_fields as sf
from merganser.analysis.plan import fields as f
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.tape import SUCCEEDED, call_clock, call_python, integers_at
from merganser.framework.native.operations.operation_list import run_part

__all__ = ["evaluate", "look_now_and_then", "note_move", "run"]


@device
def look_now_and_then(i: Any) -> int:
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
def run(i: Any, begin: int, end: int) -> int:
    """Runs operations, up to one that does not succeed: returns what that has come to."""
    return run_part(i[f.OPERATIONS], begin, end)


@kernel
def evaluate(fields_address: int) -> int:
    """Computes the derivatives, for a step of the integrator."""
    i = integers_at(fields_address)
    status = look_now_and_then(i)
    if status != SUCCEEDED:
        return status
    note_move(i)
    if i[f.NEEDS_ALL]:
        status = run(i, i[f.ALL_BEGIN], i[f.ALL_END])
    else:
        status = run(i, i[f.STAGE_BEGIN], i[f.STAGE_END])
    if status == SUCCEEDED:
        i[f.NEEDS_ALL] = 0
    return status


@device
def note_move(i: Any) -> None:
    """Notes for Python that time or continuous state have changed, if they have."""
    s = integers_at(i[f.STEP])
    if s[sf.HAS_MOVED]:
        i[f.CHANGED] |= 1
        s[sf.HAS_MOVED] = 0
