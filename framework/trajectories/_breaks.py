"""Where a trajectory, taken as a signal in time, is not smooth.

Integrators end a step there: an error estimate that is made of few values in a step sees nothing of what happens
between them, and orders hold for smooth functions. A break counts if the value jumps, its rate or its acceleration, by
more than rounding; so the breaks of cubic splines with continuous second derivatives do not.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.trajectories._scalars import plain
from merganser.framework.trajectories.trajectory import Trajectory

_SMOOTH_ORDER = 2  # the highest derivative that has to be continuous
_ROUNDING = 1e-9  # of the largest value at any break, as a share
_BISECTIONS = 60


def break_times(trajectory: Trajectory, num_derivatives: int = 0) -> tuple[float, ...]:
    """The times where the value of a trajectory or one of its first derivatives jumps, in order [s].

    Beyond the ends the value is that at the end, and all derivatives are zero.

    Args:
        trajectory: any; the result is empty without breaks, or if breaks are expressions.
        num_derivatives: how many derivatives of it are used, which are to be as smooth.
    """
    try:
        times = sorted({time for time in trajectory._breaks_to_look_at() if math.isfinite(time)})
        start, end = plain(trajectory.start_time()), plain(trajectory.end_time())
    except RuntimeError:  # expressions
        return ()
    found: set[float] = set()
    order = num_derivatives + _SMOOTH_ORDER if trajectory.has_derivative() else 0
    for k in range(order + 1):
        left = [_value(trajectory, k, math.nextafter(time, -math.inf), k and time <= start) for time in times]
        right = [_value(trajectory, k, time, k and time >= end) for time in times]
        scale = max((float(np.abs(value).max(initial=0.0)) for value in (*left, *right)), default=0.0)
        jumps = (bool((np.abs(a - b) > _ROUNDING * scale).any()) for a, b in zip(left, right))
        found.update(time for time, is_jump in zip(times, jumps) if is_jump)
    return tuple(sorted(found))


def _value(trajectory: Trajectory, order: int, time: float, is_outside: int | bool) -> NDArray[Any]:
    """A derivative in numbers; zero outside."""
    value = trajectory.EvalDerivative(time, order)
    if value.dtype == object:
        value = np.array([plain(x) for x in value.ravel()]).reshape(value.shape)
    return np.zeros_like(value) if is_outside else value


def times_of_values(scaling: Trajectory, values: list[float]) -> list[float]:
    """Times at which a scalar trajectory has given values, found where it is monotonic between its own breaks [s]."""
    times = sorted({time for time in scaling._breaks_to_look_at() if math.isfinite(time)})
    found = []
    for start, end in itertools.pairwise(times):
        at_start, at_end = (plain(scaling.value(time)) for time in (start, math.nextafter(end, -math.inf)))
        for value in values:
            if min(at_start, at_end) <= value <= max(at_start, at_end) and at_start != at_end:
                found.append(_bisect(scaling, value, start, end, at_end > at_start))
    return found


def _bisect(scaling: Trajectory, value: float, low: float, high: float, rises: bool) -> float:
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if (plain(scaling.value(middle)) < value) is rises:
            low = middle
        else:
            high = middle
    return high
