"""Which trial points a line search accepts: those that a filter of violations and barrier costs lets through.

A point is worth going to if it is sufficiently better than the current one in its violation theta or in its barrier
cost phi, and than every pair that the filter holds in one of them. Where the step promises a descent of phi that is
large beside theta, phi itself must descend (Armijo).

Source: A. Waechter, L. Biegler, Math. Program. 106 (2006), section 2.3, equations (18) to (23).
"""

from __future__ import annotations

import math

import numpy as np

_GAMMA_THETA, _GAMMA_PHI = 1e-5, 1e-5
_DELTA, _S_THETA, _S_PHI = 1.0, 1.1, 2.3
_ETA = 1e-4
_STEEPEST = 1e100  # slopes whose power is a number
ROUNDING = 10.0 * float(np.finfo(float).eps)  # relative


class Filter:
    """Pairs of violation and barrier cost that trial points must improve on.

    Args:
        theta: the violation at the start, which limits those of all trial points.
    """

    def __init__(self, theta: float) -> None:
        self._least_theta, self._most_theta = 1e-4 * max(1.0, theta), 1e4 * max(1.0, theta)
        self._pairs: list[tuple[float, float]] = []

    def clear(self) -> None:
        """Forgets all pairs, as when the barrier changes."""
        self._pairs.clear()

    def add(self, theta: float, phi: float) -> None:
        """Forbids what is not sufficiently better than this pair."""
        self._pairs.append(((1.0 - _GAMMA_THETA) * theta, phi - _GAMMA_PHI * theta))

    def lets_through(self, theta: float, phi: float) -> bool:
        """Whether a point is finite and better than all pairs."""
        if not (theta <= self._most_theta and math.isfinite(phi)):
            return False
        slack = ROUNDING * abs(phi)
        return all(theta < pair[0] or phi - slack < pair[1] for pair in self._pairs)

    def _switches(self, alpha: float, theta: float, slope: float) -> bool:
        """Whether a step promises a descent that is large beside the violation, equation (19)."""
        fall = min(-slope, _STEEPEST)
        return bool(fall > 0.0 and alpha * fall**_S_PHI > _DELTA * theta**_S_THETA)

    def accepts(self, current: tuple[float, float], trial: tuple[float, float], alpha: float, slope: float) -> bool:
        """Whether to go from the current pair to the trial pair, along alpha times a step of this slope of phi.

        The current pair comes into the filter unless phi descends as it should.
        """
        theta, phi = current
        if not self.lets_through(*trial):
            return False
        slack = ROUNDING * abs(phi)
        descends = trial[1] - phi - slack <= _ETA * alpha * slope
        if theta <= self._least_theta and self._switches(alpha, theta, slope):
            return descends
        improves = trial[0] < (1.0 - _GAMMA_THETA) * theta or trial[1] - phi - slack <= -_GAMMA_PHI * theta
        if improves and not (self._switches(alpha, theta, slope) and descends):
            self.add(theta, phi)
        return improves

    def least_step(self, theta: float, slope: float) -> float:
        """The step size below which restoration takes over, equation (23)."""
        least = _GAMMA_THETA
        if slope < 0.0:
            least = min(least, _GAMMA_PHI * theta / -slope)
            if theta <= self._least_theta:
                least = min(least, _DELTA * theta**_S_THETA / min(-slope, _STEEPEST) ** _S_PHI)
        return 0.05 * least
