"""When periodic events happen: at offset + k period, k = 0, 1, 2, ...

Periodic events that share period and offset share a clock. Clocks are numbers in a row: when each strikes next [s], and
after those period and offset of each, and the latest time at which its period is not too fine [s]. Which of them strike
together is told by bits of an integer. One text serves the schedule of events in Python and the compiled loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from merganser.analysis.integrators.step_size import latest_time
from merganser.framework.native import device

__all__ = ["clocks_at", "forget_strikes", "make_clocks", "next_strike", "strike_after"]


def make_clocks(periods: Sequence[tuple[float, float]]) -> list[float]:
    """Clocks of these periods and offsets [s], ready for any time."""
    clocks = [-math.inf] * len(periods)
    for period, offset in periods:
        clocks += period, offset, latest_time(period)
    return clocks


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
def strike_after(clocks: Any, num_clocks: int, time: float) -> tuple[float, int]:
    """The first time after `time` when clocks strike, and the bits of those that do.

    Args:
        clocks: those that strike at `time` or before are moved on.
        num_clocks: their number.
        time: no earlier than when this was last asked, unless `forget_strikes` has been called since [s].

    Returns:
        The time [s]: infinity if there are no clocks, nan if a period is too fine for it.
    """
    first, bits = math.inf, 0
    for n in range(num_clocks):
        strike = clocks[n]
        if not strike > time:
            at = num_clocks + 3 * n
            if not abs(time) <= clocks[at + 2]:
                return math.nan, 0
            strike = clocks[n] = next_strike(clocks[at], clocks[at + 1], time)
        if strike < first:
            first, bits = strike, 1 << n
        elif strike == first:
            bits |= 1 << n
    return first, bits


@device
def clocks_at(clocks: Any, num_clocks: int, time: float, just_before: float) -> int:
    """The bits of those that strike at any time, given the largest number that is less; -1 if a period is too fine."""
    bits = 0
    for n in range(num_clocks):
        at = num_clocks + 3 * n
        if not abs(time) <= clocks[at + 2]:
            return -1
        if next_strike(clocks[at], clocks[at + 1], just_before) == time:
            bits |= 1 << n
    return bits


@device
def forget_strikes(clocks: Any, num_clocks: int) -> None:
    """Makes ready for any time, also one that is earlier than the last."""
    for n in range(num_clocks):
        clocks[n] = -math.inf
