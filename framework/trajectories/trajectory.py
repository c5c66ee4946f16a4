"""Trajectory, a matrix that is a function of a scalar, called time; and PiecewiseTrajectory, of segments in a row."""

from __future__ import annotations

import bisect
import copy
import itertools
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from merganser.framework.trajectories._scalars import Array, cast_list, derivative_order_of, plain, scalar_of_list

EPSILON_TIME = 2.0**-52  # the least time between two breaks [s]


class Trajectory:
    """A matrix that is a function of time; base of all trajectories.

    A class of one's own overrides `do_value`, `do_rows`, `do_cols`, `do_start_time`, `do_end_time`, and, if it has
    derivatives, `do_has_derivative`, `DoEvalDerivative` and `DoMakeDerivative`. Methods of the public names may be
    overridden instead.
    """

    def value(self, t: Any) -> Array:
        """Returns the value at time t, shape [rows, cols]."""
        return self.do_value(t)

    def vector_values(self, t: Iterable[Any]) -> Array:
        """Returns values at several times, if there is one column (or one row).

        Args:
            t: n times.

        Returns:
            A matrix with the value at time i as column i, shape [rows, n]; or, if there are several columns but only
            one row, as row i, shape [n, cols].

        Raises:
            RuntimeError: there are several rows and columns.
        """
        rows, cols = self.rows(), self.cols()
        if 1 not in (rows, cols):
            raise RuntimeError(
                f"{self._name}.vector_values() is for vectors only, but values have shape ({rows}, {cols}); "
                "call value()."
            )
        values = [self.value(time).reshape(-1) for time in t]
        if cols == 1:
            return np.array(values).T if values else np.zeros((rows, 0))
        return np.array(values) if values else np.zeros((0, cols))

    def has_derivative(self) -> bool:
        """Returns whether there are derivatives, of all orders and at all times."""
        return self.do_has_derivative()

    def EvalDerivative(self, t: Any, derivative_order: int = 1) -> Array:
        """Returns a derivative at time t; the value itself for order 0.

        Raises:
            ValueError: the order is negative.
            RuntimeError: there are no derivatives.
        """
        order = derivative_order_of(derivative_order, f"{self._name}.EvalDerivative()")
        return self.value(t) if order == 0 else self.DoEvalDerivative(t, order)

    def MakeDerivative(self, derivative_order: int = 1) -> Trajectory:
        """Returns the trajectory of a derivative; a copy of this one for order 0.

        Raises:
            ValueError: the order is negative.
            RuntimeError: there are no derivatives.
        """
        order = derivative_order_of(derivative_order, f"{self._name}.MakeDerivative()")
        return self.Clone() if order == 0 else self.DoMakeDerivative(order)

    def rows(self) -> int:
        """Returns the number of rows of value()."""
        return self.do_rows()

    def cols(self) -> int:
        """Returns the number of columns of value()."""
        return self.do_cols()

    def start_time(self) -> Any:
        """Returns the time where the trajectory starts."""
        return self.do_start_time()

    def end_time(self) -> Any:
        """Returns the time where the trajectory ends."""
        return self.do_end_time()

    def Clone(self) -> Self:
        """Returns a copy that shares nothing that can change."""
        return copy.deepcopy(self)

    def __copy__(self) -> Any:
        return self.Clone()

    # ------------------------------------------------------------------ for derived classes

    def do_value(self, t: Any) -> Array:
        """Override: see value()."""
        raise self._missing("do_value")

    def do_rows(self) -> int:
        """Override: see rows()."""
        raise self._missing("do_rows")

    def do_cols(self) -> int:
        """Override: see cols()."""
        raise self._missing("do_cols")

    def do_start_time(self) -> Any:
        """Override: see start_time()."""
        raise self._missing("do_start_time")

    def do_end_time(self) -> Any:
        """Override: see end_time()."""
        raise self._missing("do_end_time")

    def do_has_derivative(self) -> bool:
        """Override: see has_derivative(). False by default."""
        return False

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        """Override: see EvalDerivative(); the order is positive."""
        raise self._missing("DoEvalDerivative") if self.has_derivative() else self._without_derivatives()

    def DoMakeDerivative(self, derivative_order: int) -> Trajectory:
        """Override: see MakeDerivative(); the order is positive."""
        raise self._missing("DoMakeDerivative") if self.has_derivative() else self._without_derivatives()

    def _breaks_to_look_at(self) -> list[float]:
        """Times at which the value or a derivative may jump, the ends among them; any of them may be smooth, too."""
        return []

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _missing(self, method: str) -> RuntimeError:
        return RuntimeError(f"{self._name} is a Trajectory without a method {method}(); the class must define it.")

    def _without_derivatives(self) -> RuntimeError:
        return RuntimeError(f"{self._name} does not support derivatives.")

    def _scalar_type(self) -> Any:
        """The scalar type of the numbers that the trajectory holds; None if it computes with any."""
        return float

    def _cast(self, T: Any) -> Any:
        """The trajectory with its numbers as scalars of type T; itself if it holds none of its own."""
        return self


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
