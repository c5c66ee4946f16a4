"""When periodic events happen: at offset + k period, k = 0, 1, 2, ...

Periodic events that share period and offset share a clock. Clocks are numbers in a row, three of each: its period and
offset and when it strikes next [s]. Which of them strike together is told by bits of an integer. The same text serves
the schedule of events in Python and the compiled loop.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators.step_size import is_too_fine
from merganser.framework.native import device

__all__ = ["NUM_COLUMNS", "PERIOD", "clocks_at", "clocks_that_strike", "forget_strikes", "next_strike", "strike_after"]

PERIOD, OFFSET, NEXT, NUM_COLUMNS = range(4)

_is_too_fine = device(is_too_fine)


@device
def next_strike(period: float, offset: float, time: float) -> float:
    """The first of the times offset + k period that is after `time` [s]."""
    if time < offset:
        return offset
    k = math.ceil((time - offset) / period)
    # The quotient is rounded, so that k may be one too large or too small.
    if k > 0 and offset + (k - 1) * period > time:
        k -= 1
    following = offset + k * period
    return following if following > time else offset + (k + 1) * period


@device
def strike_after(clocks: Any, num_clocks: int, time: float) -> float:
    """The first time after `time` when clocks strike [s]; infinity if there are none, nan if time cannot resolve it.

    Args:
        clocks: what is in NEXT must be right where it is later than `time`, and is brought up to date elsewhere.
        num_clocks: their number.
        time: no earlier than the last time this was asked, unless `forget_strikes` has been called since.
    """
    first = math.inf
    for n in range(num_clocks):
        at = NUM_COLUMNS * n
        if not clocks[at + NEXT] > time:
            if _is_too_fine(clocks[at + PERIOD], time):
                return math.nan
            clocks[at + NEXT] = next_strike(clocks[at + PERIOD], clocks[at + OFFSET], time)
        first = min(first, clocks[at + NEXT])
    return first if first > time else math.nan


@device
def clocks_that_strike(clocks: Any, num_clocks: int, time: float) -> int:
    """The bits of those that strike at a time that has come from `strike_after`."""
    bits = 0
    for n in range(num_clocks):
        if clocks[NUM_COLUMNS * n + NEXT] == time:
            bits |= 1 << n
    return bits


@device
def clocks_at(clocks: Any, num_clocks: int, time: float, just_before: float) -> int:
    """The bits of those that strike at any time, given the largest number that is less than it."""
    bits = 0
    for n in range(num_clocks):
        at = NUM_COLUMNS * n
        if next_strike(clocks[at + PERIOD], clocks[at + OFFSET], just_before) == time:
            bits |= 1 << n
    return bits


@device
def forget_strikes(clocks: Any, num_clocks: int) -> None:
    """Makes ready for any time, also one that is earlier than the last."""
    for n in range(num_clocks):
        clocks[NUM_COLUMNS * n + NEXT] = -math.inf
