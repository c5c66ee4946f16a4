"""The rational number that is meant by a period or an offset given as a float.

A float such as 0.01 or 1/3 is the number next to the one that was meant; its multiples stray from those of that
number, and k 0.07 from 7 k 0.01. What was meant is a guess, the first of these that fits:

1. a decimal of up to 12 digits that is read as this float: 0.01, 1e-7, 0.123456789;
2. a fraction p / q with p q <= 1e12 that differs from it by no more than two roundings: 1/3, 1/60, 1001/30000, and 3/10
   for 3 * 0.1. A number without a meaning comes under this rule once in 4000 times, and changes by no more than that;
3. a decimal of up to 15 digits;
4. the float itself: of pi, the multiples are those of the float.

Such a fraction is a convergent of the continued fraction of the float (Hardy, Wright, An Introduction to the Theory of
Numbers, theorem 184), as it is nearer than 1 / (2 q^2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

_SHORT_DECIMAL = 12  # digits
_LONG_DECIMAL = 15  # decimals of so many digits have distinct floats (IEEE 754)
_LARGEST_PRODUCT = 10**12
_TWO_ROUNDINGS = Fraction(1, 2**51)  # as a share of the number


def exact_seconds(seconds: float) -> Fraction:
    """The rational number [s] that is meant by a finite float >= 0."""
    text, value = repr(seconds), Fraction(seconds)
    num_digits = len(text.partition("e")[0].replace(".", "").strip("0"))
    if num_digits <= _SHORT_DECIMAL:
        return Fraction(text)
    return _simple_fraction(value) or (Fraction(text) if num_digits <= _LONG_DECIMAL else value)


def _simple_fraction(value: Fraction) -> Fraction | None:
    """The first convergent that differs from a number > 0 by no more than two roundings; None if none is simple."""
    p_before, p, q_before, q = 0, 1, 1, 0
    rest = value
    while True:
        whole = rest.numerator // rest.denominator
        p_before, p, q_before, q = p, whole * p + p_before, q, whole * q + q_before
        if p * q > _LARGEST_PRODUCT:
            return None
        if abs(p - value * q) <= _TWO_ROUNDINGS * value * q:
            return Fraction(p, q)
        rest = 1 / (rest - whole)


def combinations_of_clocks(periods: Sequence[tuple[float, float]], most: int) -> list[int]:
    """Which clocks strike together, at any time whatever: bits of each combination that may occur, with 0 for none.

    A clock strikes at times t = offset (mod period), from its offset on. The common times of several are of this form,
    too, by the Chinese remainder theorem; so these sets of times are few, even of many clocks.

    Args:
        periods: of the clocks, and their offsets [s].
        most: how many combinations there may be.

    Raises:
        ValueError: there are more.
    """
    exact = [(exact_seconds(period), exact_seconds(offset)) for period, offset in periods]
    unit = math.lcm(*(number.denominator for pair in exact for number in pair))
    clocks = [(int(period * unit), int(offset * unit)) for period, offset in exact]
    found = {0}
    for start in {offset for _, offset in clocks}:
        begun = [(1 << n, period, offset) for n, (period, offset) in enumerate(clocks) if offset <= start]
        times = {(1, 0)}  # sets of them: period, offset
        for _, period, offset in begun:
            times.update([both for each in times if (both := _common_times(each, (period, offset)))])
            if len(times) > most:
                raise ValueError(f"There are more than {most} combinations of clocks that strike together.")
        for all_periods, at in times:
            found.add(sum(bit for bit, *clock in begun if all_periods % clock[0] == 0 == (at - clock[1]) % clock[0]))
    return sorted(found)


def _common_times(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int] | None:
    """The times of two clocks, each a period and an offset below it, as those of one clock; None without any."""
    (m, a), (n, b) = first, second
    common = math.gcd(m, n)
    steps, rest = divmod(b - a, common)
    if rest:
        return None
    together = m // common * n
    return together, (a + m * (steps * pow(m // common, -1, n // common))) % together
