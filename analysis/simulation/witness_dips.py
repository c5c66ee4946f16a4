"""Where a function may dip below zero between two times at which it is positive.

All that is known of the function are values v_0, v_1 and slopes d_0, d_1 [1/s] at times t_0, t_1 [s]. The cubic with
these has the minimum (1), if it has one in between. Where the slopes point downward at the first end and upward at the
second, a convex function lies above both tangents, so that their intersection bounds it from below (2).
"""

from __future__ import annotations

import math

from merganser.framework.native import device


@device
def lowest_time(t_0: float, v_0: float, d_0: float, t_1: float, v_1: float, d_1: float) -> float:
    """The time [s] strictly between two points where the cubic through them has a minimum; nan if it has none.

    With s = (t - t_0) / h, the cubic is v_0 + h d_0 s + a s^2 + b s^3, where a = 3 (v_1 - v_0) - h (2 d_0 + d_1) and
    b = h (d_0 + d_1) - 2 (v_1 - v_0). Its derivative is zero and its second derivative 2 r positive at

        s = (r - a) / (3 b) = -h d_0 / (r + a),   r = sqrt(a^2 - 3 b h d_0)                                     (1)
    """
    h = t_1 - t_0
    rise, slope_0, slope_1 = v_1 - v_0, h * d_0, h * d_1
    a, b = 3.0 * rise - 2.0 * slope_0 - slope_1, slope_0 + slope_1 - 2.0 * rise
    square = a * a - 3.0 * b * slope_0
    if not square > 0.0:  # nan too, where a slope is not known
        return math.nan
    r = math.sqrt(square)
    numerator, denominator = (-slope_0, r + a) if a > 0.0 else (r - a, 3.0 * b)
    if denominator == 0.0:
        return math.nan
    time = t_0 + numerator / denominator * h
    return time if t_0 < time < t_1 else math.nan


@device
def lower_bound(t_0: float, v_0: float, d_0: float, t_1: float, v_1: float, d_1: float) -> float:
    """Lower bound (2) of a convex function through two points; minus infinity if there is no bound."""
    if not d_0 < 0.0 < d_1:
        return -math.inf
    return v_0 + d_0 * (v_0 - v_1 + d_1 * (t_1 - t_0)) / (d_1 - d_0)
