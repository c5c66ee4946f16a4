"""The motion of a mass on a spring with a damper, in closed form.

    m xdd + b xd + k x = 0,    wn = sqrt(k / m),    zeta = b / (2 sqrt(m k))

With s = sqrt(|1 - zeta^2|) wn, x is exp(-zeta wn t) times x0 C + (v0 + zeta wn x0) S, where (C, S) is
(cos(s t), sin(s t) / s) for zeta < 1, (cosh, sinh / s) for zeta > 1, and (1, t) between.
"""

from __future__ import annotations

import math


class MassDamperSpringAnalyticalSolution:
    """x(t) of a mass [kg] with a damper b [N s/m] and a spring k [N/m], and its derivatives.

    Raises:
        ValueError: the mass or the spring constant is not positive, or the damping is negative.
    """

    def __init__(self, mass: float, b: float, k: float) -> None:
        if not (mass > 0.0 and b >= 0.0 and k > 0.0):
            raise ValueError(
                f"MassDamperSpringAnalyticalSolution: expected mass > 0, b >= 0 and k > 0, got {mass}, {b} and {k}."
            )
        self._stiffness, self._damping = k / mass, b / mass
        self._wn = math.sqrt(k / mass)
        self._zeta = b / (2.0 * math.sqrt(mass * k))
        self._x0 = self._v0 = 0.0

    def SetInitialValue(self, x0: float, xDt0: float) -> None:
        """Sets x [m] and its rate [m/s] at time 0."""
        self._x0, self._v0 = float(x0), float(xDt0)

    def get_x(self, t: float) -> float:
        """x at a time [m]."""
        C, S = self._pair(t)
        return self._decay(t) * (self._x0 * C + (self._v0 + self._zeta * self._wn * self._x0) * S)

    def get_xDt(self, t: float) -> float:
        """The rate of x [m/s]."""
        C, S = self._pair(t)
        slope = self._zeta * self._wn * self._v0 + self._stiffness * self._x0
        return self._decay(t) * (self._v0 * C - slope * S)

    def get_xDtDt(self, t: float) -> float:
        """The second derivative of x [m/s^2]."""
        return -self._damping * self.get_xDt(t) - self._stiffness * self.get_x(t)

    def _decay(self, t: float) -> float:
        return math.exp(-self._zeta * self._wn * t)

    def _pair(self, t: float) -> tuple[float, float]:
        s = self._wn * math.sqrt(abs(1.0 - self._zeta**2))
        if s * max(abs(t), 1.0) < 1e-9:
            return 1.0, t
        if self._zeta < 1.0:
            return math.cos(s * t), math.sin(s * t) / s
        return math.cosh(s * t), math.sinh(s * t) / s
