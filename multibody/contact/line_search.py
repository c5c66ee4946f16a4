"""The exact line search: where l(v + alpha dv) has its minimum.

    f(alpha) = dl/d alpha = dv^T A (v - v*) + alpha dv^T A dv - sum_c gamma_c(v_c + alpha dv_c) . dv_c      (1)

increases with alpha, by at least dv^T A dv, and is negative at 0. Newton's method finds its zero, from alpha = 1; a
bracket catches steps that leave it, or that do not halve it, as f has kinks where contacts open or start to slide.
J dv is computed once, so that each iteration takes a time proportional to the number of constraints.

Source: Castro et al. (2022), section IV.D; W. Press et al., Numerical Recipes (2007), section 9.4 (safe Newton).
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.multibody.contact.layout import Laws
from merganser.multibody.contact.potential import calc_slope
from merganser.multibody.linear.records import Problem

_SLOPE_ROUNDING = 4e-16  # of the terms of f, times the square root of their number
_MOST_ITERATIONS = 100
_MOST_EXPANSIONS = 60


@device
def find_step_length(
    problem: Problem,
    approximation: int,
    constraints: Integers,  # of the island
    laws: Laws,
    velocity: Floats,  # v_c, shape [num_rows]
    velocity_step: Floats,  # J dv, shape [num_rows]
    momentum_slope: float,  # dv^T A (v - v*)
    momentum_curvature: float,  # dv^T A dv
    relative_tolerance: float,  # of f, to |f(0)|
) -> tuple[float, int]:
    """alpha where (1) is zero, or 0 if (1) is not negative at 0, and the number of iterations."""
    slope_0, _, size = calc_slope(problem, approximation, constraints, laws, velocity, velocity_step, 0.0)
    slope_0 += momentum_slope
    if not slope_0 < 0.0:
        return 0.0, 0
    tolerance = relative_tolerance * abs(slope_0)
    rounding = _SLOPE_ROUNDING * math.sqrt(1.0 * velocity_step.shape[0])
    low, high, is_bracketed = 0.0, 1.0, False
    alpha = 1.0
    count = 0
    while count < _MOST_ITERATIONS:
        count += 1
        slope, curvature, size = calc_slope(problem, approximation, constraints, laws, velocity, velocity_step, alpha)
        size += abs(momentum_slope) + alpha * momentum_curvature
        slope += momentum_slope + alpha * momentum_curvature
        curvature += momentum_curvature
        if abs(slope) <= max(tolerance, rounding * size):
            break
        if slope < 0.0:
            low = alpha
        else:
            high, is_bracketed = alpha, True
        previous = alpha
        alpha -= slope / curvature
        if not is_bracketed:
            if count > _MOST_EXPANSIONS:
                break
            high = 4.0 * previous
            if not alpha < high:
                alpha = high
        elif not low < alpha < high or count % 4 == 0:
            alpha = 0.5 * (low + high)
        if is_bracketed and high - low <= 1e-15 * high:
            break
    return alpha, count
