"""How compiled loops run operations and let Python look for signals."""

from __future__ import annotations

from typing import Any

from merganser.analysis.plan import fields as f
from merganser.framework.native import device
from merganser.framework.native.tape import (
    SUCCEEDED,
    call_clock,
    call_operation,
    call_python,
    integers_at,
)

__all__ = ["look_now_and_then", "run"]


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
