"""PiecewiseTrajectory: a trajectory of segments, one after the other."""

from __future__ import annotations

import bisect
import itertools
from typing import Any

from merganser.framework.trajectories._scalars import cast_list, plain, scalar_of_list
from merganser.framework.trajectories.trajectory import Trajectory

EPSILON_TIME = 2.0**-52  # the least time between two breaks [s]


class PiecewiseTrajectory(Trajectory):
    """Segments between breaks; segment i reaches from break i to break i + 1. Base of piecewise trajectories.

    Args:
        breaks: times in increasing order, shape [n + 1] for n segments; or none.

    Raises:
        ValueError: two breaks are less than EPSILON_TIME apart, or one is not a number.
    """

    def __init__(self, breaks: Any = ()) -> None:
        self._set_breaks(list(breaks))

    def _set_breaks(self, times: list[Any]) -> None:
        """Keeps the breaks as they are, and as plain numbers to search in."""
        breaks = [plain(time) for time in times]
        for before, after in itertools.pairwise(breaks):
            if not after - before >= EPSILON_TIME:
                raise ValueError(f"{self._name}: breaks must increase, but {after} follows {before}.")
        self._breaks = breaks
        self._times = breaks if scalar_of_list(times) is float else times

    def get_number_of_segments(self) -> int:
        """Returns the number of segments."""
        return max(len(self._breaks) - 1, 0)

    def get_segment_times(self) -> list[Any]:
        """Returns the breaks, shape [n + 1]."""
        return list(self._times)

    def get_segment_index(self, t: Any) -> int:
        """Returns the number of the segment with t; the one after a break at it, the nearest one beyond the ends.

        Raises:
            RuntimeError: t is an expression of variables.
        """
        return self._segment_at(plain(t)) if self._breaks else 0

    def is_time_in_range(self, t: Any) -> bool:
        """Returns whether t is within the start and end times."""
        return bool(self._breaks) and self._breaks[0] <= plain(t) <= self._breaks[-1]

    def start_time(self, segment_index: int | None = None) -> Any:
        """Returns the time where the trajectory starts, or one of its segments.

        Raises:
            RuntimeError: there is no such segment.
        """
        return self.do_start_time() if segment_index is None else self._times[self._checked_segment(segment_index)]

    def end_time(self, segment_index: int | None = None) -> Any:
        """Returns the time where the trajectory ends, or one of its segments.

        Raises:
            RuntimeError: there is no such segment.
        """
        return self.do_end_time() if segment_index is None else self._times[self._checked_segment(segment_index) + 1]

    def duration(self, segment_index: int) -> Any:
        """Returns the time from the start to the end of a segment.

        Raises:
            RuntimeError: there is no such segment.
        """
        return self.end_time(segment_index) - self.start_time(segment_index)

    def do_start_time(self) -> Any:
        return self._times[self._checked_segment(0)]

    def do_end_time(self) -> Any:
        return self._times[self._checked_segment(self.get_number_of_segments() - 1) + 1]

    def _segment_with(self, t: Any) -> int:
        """As get_segment_index(), with a message that says why the segment cannot be found."""
        try:
            return self._segment_at(plain(t))
        except RuntimeError as error:
            raise RuntimeError(
                f"{self._name} has several segments; which of them has the time {t} is unknown."
            ) from error

    def _segment_at(self, t: float) -> int:
        breaks = self._breaks
        return min(max(bisect.bisect_right(breaks, t) - 1, 0), max(len(breaks) - 2, 0))

    def _checked_segment(self, index: int) -> int:
        count = self.get_number_of_segments()
        if not 0 <= index < count:
            raise RuntimeError(f"{self._name}: there is no segment {index}; there are {count}.")
        return int(index)

    def _breaks_to_look_at(self) -> list[float]:
        return list(self._breaks)

    def _scalar_type(self) -> Any:
        return scalar_of_list(self._times)

    def _cast_breaks(self, T: Any) -> None:
        self._set_breaks(cast_list(self._times, T))
