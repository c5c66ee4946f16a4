"""DenseOutput: the continuous state between the ends of steps."""

from __future__ import annotations

import bisect
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial, trajectory_of_powers

Array = NDArray[Any]
_NUM_CORRECTIONS = 2  # of rounding errors at the ends of cubics


class _Piece(NamedTuple):
    """A step, from time start to time end [s]."""

    start: float
    end: float
    x_0: Array
    x_1: Array
    h_xdot_0: Array
    h_xdot_1: Array


class DenseOutput:
    """The continuous state as a function of time, one cubic for each step.

    With s = (t - t_0) / h in a step from t_0 to t_0 + h, the cubic with the states and derivatives at both ends is
    (Hairer, Norsett, Wanner 1993, II.6, equation (6.7))

        x(t) = (1 - s) x_0 + s x_1 + s (s - 1) [(1 - 2 s) (x_1 - x_0) + (s - 1) h xdot_0 + s h xdot_1]      (1)

    Its error is O(h^4). The state may jump between steps; at a jump the value is the one after it, save at the end
    of the recording.

    Args:
        time: where the recording starts [s].
        x: the state there, shape [rows].
    """

    def __init__(self, time: float, x: Array) -> None:
        self._start = time
        self._x_first = x.copy()
        self._pieces: list[_Piece] = []

    def _append(self, start: float, end: float, x_0: Array, x_1: Array, xdot_0: Array, xdot_1: Array) -> None:
        """Adds a step from `start`, where the recording ended so far, to `end` [s]."""
        if not self._pieces:
            self._start, self._x_first = start, x_0.copy()
        if start != self.end_time():
            raise RuntimeError(
                f"The dense output ends at time {self.end_time()} s, but the next step begins at {start} s: the "
                "time was changed. Call StopDenseIntegration() before that and StartDenseIntegration() after it."
            )
        h = end - start
        self._pieces.append(_Piece(start, end, x_0.copy(), x_1.copy(), h * xdot_0, h * xdot_1))

    def _drop_from(self, number: int) -> None:
        """Drops the steps of these numbers and beyond."""
        del self._pieces[number:]

    def trajectory(self) -> PiecewisePolynomial:
        """The recorded states as a trajectory: the cubics (1) in powers of t - t_0; constant if no step was recorded.

        It ends in the last state to the last bit, unless that is a small difference of large numbers.
        """
        if not self._pieces:
            return PiecewisePolynomial(self._x_first[:, np.newaxis])
        start, end, x_0, x_1, h_xdot_0, h_xdot_1 = (np.array(column) for column in zip(*self._pieces))
        h = (end - start)[:, np.newaxis]
        # (1) is x_0 + s h xdot_0 + s^2 (3 d - 2 h xdot_0 - h xdot_1) + s^3 (h xdot_0 + h xdot_1 - 2 d), d = x_1 - x_0.
        d = x_1 - x_0
        square, cube = 3.0 * d - 2.0 * h_xdot_0 - h_xdot_1, h_xdot_0 + h_xdot_1 - 2.0 * d
        powers = [x_0, h_xdot_0 / h, square / h**2, cube / h**3]
        for _ in range(_NUM_CORRECTIONS):
            powers[1] = powers[1] + (x_1 - (((powers[3] * h + powers[2]) * h + powers[1]) * h + powers[0])) / h
        return trajectory_of_powers(self.get_segment_times(), np.stack(powers, axis=1)[..., np.newaxis])

    def start_time(self) -> float:
        """Where the recording starts [s]."""
        return self._start

    def end_time(self) -> float:
        """Where the recording ends [s]."""
        return self._pieces[-1].end if self._pieces else self._start

    def rows(self) -> int:
        """Number of state variables."""
        return len(self._x_first)

    def cols(self) -> int:
        """Number of columns of a value: one."""
        return 1

    def get_number_of_segments(self) -> int:
        """Number of steps recorded."""
        return len(self._pieces)

    def get_segment_times(self) -> list[float]:
        """The ends of all steps [s]."""
        return [self._start, *(piece.end for piece in self._pieces)]

    def value(self, t: float) -> Array:
        """The state at time t [s], shape [rows, 1]; before the start and after the end, that at the start or end.

        Raises:
            ValueError: t is not a number.
        """
        if t != t:
            raise ValueError("The dense output has no value at time nan.")
        if not self._pieces:
            return self._x_first[:, np.newaxis].copy()
        time = min(max(t, self._start), self.end_time())
        number = bisect.bisect_right(self._pieces, time, key=lambda piece: piece.end)
        start, end, x_0, x_1, h_xdot_0, h_xdot_1 = self._pieces[min(number, len(self._pieces) - 1)]
        s = (time - start) / (end - start)
        bend = (1.0 - 2.0 * s) * (x_1 - x_0) + (s - 1.0) * h_xdot_0 + s * h_xdot_1
        x = (1.0 - s) * x_0 + s * x_1 + s * (s - 1.0) * bend  # (1)
        return x[:, np.newaxis]
