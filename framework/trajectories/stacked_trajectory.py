"""StackedTrajectory: the values of several trajectories as one matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.trajectories._scalars import Array, plain
from merganser.framework.trajectories.trajectory import Trajectory


class StackedTrajectory(Trajectory):
    """The values of several trajectories with the same start and end time, stacked.

    Args:
        rowwise: whether they are stacked on top of each other (with the same number of columns), or side by side
            (with the same number of rows).
    """

    def __init__(self, rowwise: bool = True) -> None:
        self._rowwise = bool(rowwise)
        self._children: list[Trajectory] = []

    def Append(self, traj: Trajectory) -> None:
        """Stacks a copy of another trajectory onto this one.

        Raises:
            TypeError: it is not a trajectory.
            ValueError: its shape, start or end time does not go with the others.
        """
        if not isinstance(traj, Trajectory):
            raise TypeError(f"StackedTrajectory.Append() takes a Trajectory, got {type(traj).__name__}.")
        if self._children:
            what, ours, given = "rows", self.rows(), traj.rows()
            if self._rowwise:
                what, ours, given = "columns", self.cols(), traj.cols()
            if ours != given:
                raise ValueError(f"StackedTrajectory.Append(): there are {ours} {what}, but {given} were given.")
            times = [(plain(t.start_time()), plain(t.end_time())) for t in (self, traj)]
            if times[0] != times[1]:
                raise ValueError(
                    f"StackedTrajectory.Append(): start and end time are {times[0]}, but {times[1]} were given."
                )
        self._children.append(traj.Clone())

    def rowwise(self) -> bool:
        """Whether trajectories are on top of each other, and not side by side."""
        return self._rowwise

    def children(self) -> list[Trajectory]:
        """The trajectories that are stacked, in their order."""
        return list(self._children)

    def do_rows(self) -> int:
        sizes = [child.rows() for child in self._children]
        return sum(sizes) if self._rowwise else max(sizes, default=0)

    def do_cols(self) -> int:
        sizes = [child.cols() for child in self._children]
        return max(sizes, default=0) if self._rowwise else sum(sizes)

    def do_start_time(self) -> Any:
        return self._children[0].start_time() if self._children else 0.0

    def do_end_time(self) -> Any:
        return self._children[0].end_time() if self._children else 0.0

    def do_value(self, t: Any) -> Array:
        return self._stacked([child.value(t) for child in self._children])

    def do_has_derivative(self) -> bool:
        return all(child.has_derivative() for child in self._children)

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        return self._stacked([child.EvalDerivative(t, derivative_order) for child in self._children])

    def DoMakeDerivative(self, derivative_order: int) -> StackedTrajectory:
        result = StackedTrajectory(self._rowwise)
        for child in self._children:
            result.Append(child.MakeDerivative(derivative_order))
        return result

    def _stacked(self, matrices: list[Array]) -> Array:
        return np.concatenate(matrices, axis=0 if self._rowwise else 1) if matrices else np.zeros((0, 0))

    def _scalar_type(self) -> Any:
        return self._children[0]._scalar_type() if self._children else float

    def _breaks_to_look_at(self) -> list[float]:
        return [time for child in self._children for time in child._breaks_to_look_at()]

    def _cast(self, T: Any) -> StackedTrajectory:
        result = StackedTrajectory(self._rowwise)
        result._children = [child._cast(T) for child in self._children]
        return result
