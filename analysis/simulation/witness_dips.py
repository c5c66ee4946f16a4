"""Where a function may dip below zero between two times at which it is positive.

All that is known of the function are values and slopes at both ends. The cubic with these has the minimum (1), if it
has one in between. Where the slopes point downward at the first end and upward at the second, a convex function lies
above both tangents, so that their intersection bounds it from below (2).
"""

from __future__ import annotations

import dataclasses
import math


@dataclasses.dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of a function of time: time [s], value and slope [1/s]."""

    time: float
    value: float
    slope: float


def lowest_time(first: CurvePoint, last: CurvePoint) -> float | None:
    """The time [s] strictly between two points where the cubic through them has a minimum; None if it has none.

    With s = (t - t_0) / h, the cubic is v_0 + h d_0 s + a s^2 + b s^3, where a = 3 (v_1 - v_0) - h (2 d_0 + d_1) and
    b = h (d_0 + d_1) - 2 (v_1 - v_0). Its derivative is zero and its second derivative 2 r positive at

        s = (r - a) / (3 b) = -h d_0 / (r + a),   r = sqrt(a^2 - 3 b h d_0)                                     (1)
    """
    h = last.time - first.time
    rise, slope_0, slope_1 = last.value - first.value, h * first.slope, h * last.slope
    a, b = 3.0 * rise - 2.0 * slope_0 - slope_1, slope_0 + slope_1 - 2.0 * rise
    square = a * a - 3.0 * b * slope_0
    if not square > 0.0:  # nan too, where a slope is not known
        return None
    r = math.sqrt(square)
    numerator, denominator = (-slope_0, r + a) if a > 0.0 else (r - a, 3.0 * b)
    if denominator == 0.0:
        return None
    time = first.time + numerator / denominator * h
    return time if first.time < time < last.time else None


def lower_bound(first: CurvePoint, last: CurvePoint) -> float:
    """Lower bound (2) of a convex function through two points; minus infinity if there is no bound."""
    if not first.slope < 0.0 < last.slope:
        return -math.inf
    h = last.time - first.time
    return first.value + first.slope * (first.value - last.value + last.slope * h) / (last.slope - first.slope)
