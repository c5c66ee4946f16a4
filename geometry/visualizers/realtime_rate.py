"""How fast simulated time runs, by a clock that does not count compilation."""

from __future__ import annotations

import math
from collections.abc import Callable

from merganser.framework.common.running_time import running_time

__all__ = ["RealtimeRate"]


class RealtimeRate:
    """Measures simulated time per time of the clock, over periods of the clock.

    Args:
        period: time of the clock over which it is measured [s].
        clock: tells the time [s].

    Raises:
        RuntimeError: the period is not positive.
    """

    def __init__(self, period: float, clock: Callable[[], float] = running_time) -> None:
        if not (period > 0 and math.isfinite(period)):
            raise RuntimeError(f"MeshcatParams.realtime_rate_period must be positive; given {period}.")
        self._period = float(period)
        self._clock = clock
        self._began: tuple[float, float] | None = None  # simulated time and time of the clock
        self._last = -math.inf

    def update(self, sim_time: float) -> float | None:
        """Notes the simulated time [s].

        Returns:
            The rate, if a period has passed; 0 if simulated time has gone back, which starts over.
        """
        now = self._clock()
        if self._began is None or sim_time < self._last:
            is_reset = self._began is not None
            self._began, self._last = (sim_time, now), sim_time
            return 0.0 if is_reset else None
        self._last = sim_time
        simulated, elapsed = sim_time - self._began[0], now - self._began[1]
        if elapsed < self._period or simulated == 0.0:
            return None
        self._began = (sim_time, now)
        return simulated / elapsed
