"""When periodic events happen: at offset + k period, k = 0, 1, 2, ..., as rational numbers, rounded once.

Periodic events that share period and offset share a clock. Since period and offset are taken as rational numbers
(../exact_periods.py), and each time is the float next to the exact one, 7 periods of 0.01 s are one of 0.07 s after any
number of them. Sums are taken with twice the digits (Dekker 1971, A floating-point technique for extending the
available precision).

Times that differ by no more than a few roundings are the same: k * 0.01 as a boundary time is that of the k-th event,
and multiples of pi / 100 and of 7 * (pi / 100) meet. As the share of time that these are off does not grow, that holds
at all times. Where a period is hardly more than such a margin, the simulation is refused.

Clocks are numbers in a row: when each strikes next [s], and after those what is known of each, see below. Bits of an
integer say which strike together. One source serves the schedule of events in Python and the compiled loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from merganser.analysis.integrators.step_size import RESOLUTION, latest_time
from merganser.analysis.simulation.exact_periods import exact_seconds
from merganser.framework.native import device

# Record of a clock: its period as a sum of two numbers of 26 bits and the rest, and its offset as one of two
# numbers [s]; the latest time at which the period is not too fine [s]; and which strike is the next one, from 0.
_PERIOD, _SECOND_PART, _REST, _OFFSET, _REST_OF_OFFSET, _LATEST, _COUNT, _SIZE = range(8)

_BITS = 26
_MOST_EXACT = 2.0**_BITS  # products of numbers of 26 bits are exact
_MARGIN = 4.0 * RESOLUTION  # between times that count as the same, as a share: twice that of offset + k * period
FINEST_PERIOD = 4.0 * _MARGIN  # as a share of time


def make_clocks(periods: Sequence[tuple[float, float]]) -> list[float]:
    """Clocks of these periods and offsets [s], ready for any time."""
    clocks = [-math.inf] * len(periods)
    for period, offset in periods:
        exact_period, exact_offset = exact_seconds(period), exact_seconds(offset)
        first = _leading_bits(float(exact_period))
        second = _leading_bits(float(exact_period - Fraction(first)))
        rest = float(exact_period - Fraction(first) - Fraction(second))
        first_offset = float(exact_offset)
        latest = latest_time(period * RESOLUTION / FINEST_PERIOD)
        clocks += first, second, rest, first_offset, float(exact_offset - Fraction(first_offset)), latest, 0.0
    return clocks


def _leading_bits(number: float) -> float:
    """The first bits of a number."""
    mantissa, exponent = math.frexp(number)
    return math.ldexp(math.trunc(math.ldexp(mantissa, _BITS)), exponent - _BITS)


@device
def _strike(clocks: Any, at: int, count: float) -> float:
    """The time offset + count period [s], rounded once."""
    if count >= _MOST_EXACT:
        return _late_strike(clocks, at, count)
    # Both products are exact; what the sums lack is added at last, so that it counts in the last rounding.
    product, small, offset = count * clocks[at + _PERIOD], count * clocks[at + _SECOND_PART], clocks[at + _OFFSET]
    high = product + small
    total = high + offset
    of_offset = total - high
    lacking = (small - (high - product)) + ((high - (total - of_offset)) + (offset - of_offset))
    return total + (lacking + (count * clocks[at + _REST] + clocks[at + _REST_OF_OFFSET]))


@device
def _late_strike(clocks: Any, at: int, count: float) -> float:
    """The same for any number of periods, whose first and last bits are multiplied separately."""
    last = count % _MOST_EXACT
    high, low = clocks[at + _OFFSET], clocks[at + _REST_OF_OFFSET] + count * clocks[at + _REST]
    high, low = _add(high, low, (count - last) * clocks[at + _PERIOD])
    high, low = _add(high, low, (count - last) * clocks[at + _SECOND_PART])
    high, low = _add(high, low, last * clocks[at + _PERIOD])
    high, low = _add(high, low, last * clocks[at + _SECOND_PART])
    return high + low


@device
def _add(high: float, low: float, x: float) -> tuple[float, float]:
    """(high + low) + x as a rounded sum and what it lacks."""
    total = high + x
    of_x = total - high
    return total, low + ((high - (total - of_x)) + (x - of_x))


@device
def _count_from(clocks: Any, at: int, time: float) -> float:
    """The number of a clock's first strike at `time` or later."""
    if time <= clocks[at + _OFFSET]:
        return 0.0
    period = clocks[at + _PERIOD] + clocks[at + _SECOND_PART]
    count = float(math.ceil((time - clocks[at + _OFFSET]) / period))
    # The quotient is rounded, so that it may be too large or too small.
    while count > 0.0 and _strike(clocks, at, count - 1.0) >= time:
        count -= 1.0
    while _strike(clocks, at, count) < time:
        count += 1.0
    return count


@device
def strike_after(clocks: Any, num_clocks: int, time: float, boundary: float) -> tuple[float, int]:
    """The first time after `time` when clocks strike, and the bits of those that do.

    Args:
        clocks: those that strike at `time` or before are moved on.
        num_clocks: their number.
        time: no earlier than when this was last asked, unless `forget_strikes` has been called since [s].
        boundary: what strikes there but for rounding, strikes there [s].

    Returns:
        The time [s]: infinity if there are no clocks, nan if a period is too fine for it.
    """
    first = math.inf
    margin = _MARGIN * abs(time)
    for n in range(num_clocks):
        strike = clocks[n]
        if not strike > time + margin:
            at = num_clocks + _SIZE * n
            if not abs(time) <= clocks[at + _LATEST]:
                return math.nan, 0
            if strike >= time - margin:  # it has struck just now
                count = clocks[at + _COUNT] + 1.0
            else:
                count = _count_from(clocks, at, time - margin)
            strike = _strike(clocks, at, count)
            while not strike > time + margin:
                count += 1.0
                strike = _strike(clocks, at, count)
            clocks[n], clocks[at + _COUNT] = strike, count
        if strike < first:
            first = strike
    if abs(first - boundary) < _MARGIN * abs(first) < math.inf:
        first = boundary
    bits = 0
    for n in range(num_clocks):
        if clocks[n] <= first + _MARGIN * abs(first):
            bits |= 1 << n
    return first, bits


@device
def clocks_at(clocks: Any, num_clocks: int, time: float) -> int:
    """The bits of those that strike at any time; -1 if a period is too fine."""
    bits = 0
    margin = _MARGIN * abs(time)
    for n in range(num_clocks):
        at = num_clocks + _SIZE * n
        if not abs(time) <= clocks[at + _LATEST]:
            return -1
        if _strike(clocks, at, _count_from(clocks, at, time - margin)) <= time + margin:
            bits |= 1 << n
    return bits


@device
def forget_strikes(clocks: Any, num_clocks: int) -> None:
    """Allows any next time, also one earlier than the last."""
    for n in range(num_clocks):
        clocks[n] = -math.inf
