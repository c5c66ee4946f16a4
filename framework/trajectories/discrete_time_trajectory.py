"""DiscreteTimeTrajectory: values at single times, and nowhere between them."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.framework.trajectories._scalars import (
    Array,
    as_matrix,
    cast_entries,
    cast_list,
    matrices_of,
    plain,
    scalar_of_array,
)
from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial
from merganser.framework.trajectories.trajectory import Trajectory


class DiscreteTimeTrajectory(Trajectory):
    """Values at single times; there are no values at others, and no derivatives.

    Args:
        times: increasing, shape [n].
        values: n matrices of the same shape; vectors count as columns.
        time_comparison_tolerance: how far from one of the times a value is still found, at least 0.

    Raises:
        ValueError: there are not as many values as times, times are not apart by more than the tolerance, or values
            have different shapes.
    """

    def __init__(
        self, times: Sequence[Any], values: Any, time_comparison_tolerance: float = float(np.finfo(float).eps)
    ) -> None:
        self._times = [time if hasattr(time, "lift") else float(time) for time in times]
        self._numbers = [plain(time) for time in self._times]
        self._tolerance = float(time_comparison_tolerance)
        matrices = [as_matrix(value, "DiscreteTimeTrajectory: values") for value in values]
        if len(matrices) != len(self._times) or len({matrix.shape for matrix in matrices}) > 1:
            raise ValueError(
                f"DiscreteTimeTrajectory: there must be as many values as times, of the same shape; got "
                f"{len(self._times)} times and {len(matrices)} values of shapes {sorted({m.shape for m in matrices})}."
            )
        if not self._tolerance >= 0.0:
            raise ValueError(f"DiscreteTimeTrajectory: time_comparison_tolerance is at least 0, got {self._tolerance}.")
        for before, after in itertools.pairwise(self._numbers):
            if not after - before > self._tolerance:
                raise ValueError(f"DiscreteTimeTrajectory: times must increase, but {after} follows {before}.")
        self._values = matrices_of(matrices, "DiscreteTimeTrajectory: values") if matrices else np.zeros((0, 0, 0))

    def get_times(self) -> list[Any]:
        """Returns the times, shape [n]."""
        return list(self._times)

    def num_times(self) -> int:
        """Returns the number of times."""
        return len(self._times)

    def time_comparison_tolerance(self) -> float:
        """Returns how far from one of the times a value is still found."""
        return self._tolerance

    def ToZeroOrderHold(self) -> PiecewisePolynomial:
        """Returns the trajectory that keeps each value until the next time.

        Raises:
            RuntimeError: there are less than two times.
        """
        return PiecewisePolynomial.ZeroOrderHold(self._times, list(self._values))

    def do_rows(self) -> int:
        self._require_times()
        return self._values.shape[1]

    def do_cols(self) -> int:
        self._require_times()
        return self._values.shape[2]

    def do_start_time(self) -> Any:
        self._require_times()
        return self._times[0]

    def do_end_time(self) -> Any:
        self._require_times()
        return self._times[-1]

    def do_value(self, t: Any) -> Array:
        time = plain(t)
        if not math.isnan(time):
            index = bisect.bisect_left(self._numbers, time - self._tolerance)
            if index < len(self._numbers) and self._numbers[index] <= time + self._tolerance:
                return self._values[index].copy()
        raise RuntimeError(
            f"DiscreteTimeTrajectory: no value at the time {time}: it is not one of its times within the "
            f"tolerance {self._tolerance}; ToZeroOrderHold() gives a trajectory with values between the times."
        )

    def _require_times(self) -> None:
        if not self._times:
            raise RuntimeError("DiscreteTimeTrajectory: this one has no times, hence no shape, start or end.")

    def _scalar_type(self) -> Any:
        return scalar_of_array(self._values)

    def _cast(self, T: Any) -> DiscreteTimeTrajectory:
        values = list(cast_entries(self._values, T))
        return DiscreteTimeTrajectory(cast_list(self._times, T), values, self._tolerance)
