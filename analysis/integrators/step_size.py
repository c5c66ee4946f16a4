"""Step-size control from an error estimate.

With an error estimate of order p, the next step has the size

    h_new = 0.9 h (accuracy / error)^(1 / p),  0.1 h <= h_new <= 5 h            (1)

(Hairer, Norsett, Wanner 1993, II.4), except that small changes are not made.
"""

from __future__ import annotations

import math

RESOLUTION = 2.0**-52  # of time, about: the distance to the next number, as a share of it
_LEAST_TIME = 1e-30  # where time is less, this counts [s]

_SAFETY = 0.9
_SHRINK_LIMIT = 0.1
_GROWTH_LIMIT = 5.0
_HALF = 0.5
_GROWTH_THRESHOLD = 1.2
_SHRINK_THRESHOLD = 0.9


def next_step_size(h: float, error: float, accuracy: float, order: int) -> float:
    """The size of the next step, or, if it is less than h, the size with which to repeat the last step.

    Args:
        h: size of the step just tried [s].
        error: its largest estimated error; nan if a value was not finite, inf if the equations of the step could
            not be solved (the step is halved then).
        accuracy: largest error that is accepted.
        order: the p in error = O(h^p).
    """
    if not math.isfinite(error):
        return (_HALF if error == math.inf else _SHRINK_LIMIT) * h
    if error == 0.0:
        return _GROWTH_LIMIT * h
    wanted = _SAFETY * h * (accuracy / error) ** (1.0 / order)
    if error <= accuracy:
        return min(wanted, _GROWTH_LIMIT * h) if wanted >= _GROWTH_THRESHOLD * h else h
    return min(max(wanted, _SHRINK_LIMIT * h), _SHRINK_THRESHOLD * h)


def is_too_fine(interval: float, time: float) -> bool:
    """Whether a period or step [s] is less than what time can resolve: adding it to the time rounds it away."""
    return not interval >= RESOLUTION * max(abs(time), _LEAST_TIME)


def rounding_at(time: float) -> float:
    """Times [s] that differ by no more than this, a few roundings of sums, count as the same."""
    return 4.0 * RESOLUTION * max(abs(time), 1.0)


def latest_time(interval: float) -> float:
    """The latest time [s] at which a period is not too fine; -1 if it is always too fine."""
    return -1.0 if is_too_fine(interval, 0.0) else interval / RESOLUTION
