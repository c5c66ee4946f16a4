"""CompositeTrajectory: trajectories of any kind, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from merganser.framework.trajectories._scalars import Array, plain
from merganser.framework.trajectories.path_parameterized_trajectory import PathParameterizedTrajectory
from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial
from merganser.framework.trajectories.piecewise_trajectory import EPSILON_TIME, PiecewiseTrajectory
from merganser.framework.trajectories.trajectory import Trajectory


class CompositeTrajectory(PiecewiseTrajectory):
    """Trajectories that each start where the one before ends; at such a time, the later one counts.

    Beyond the ends, the value is what the first or the last of them gives there.

    Args:
        segments: the trajectories, which are copied.

    Raises:
        ValueError: one does not start where the one before ends, or its values have another shape.
    """

    def __init__(self, segments: Sequence[Trajectory]) -> None:
        self._segments: list[Trajectory] = [segment.Clone() for segment in segments]
        for number, (before, after) in enumerate(zip(self._segments, self._segments[1:]), start=1):
            if not abs(plain(after.start_time()) - plain(before.end_time())) < EPSILON_TIME:
                raise ValueError(
                    f"CompositeTrajectory: segment {number} starts at {after.start_time()}, but the one before ends at "
                    f"{before.end_time()}; CompositeTrajectory.AlignAndConcatenate() moves them."
                )
        _check_shapes(self._segments)
        ends = [segment.end_time() for segment in self._segments]
        super().__init__([self._segments[0].start_time(), *ends] if ends else [])

    @staticmethod
    def AlignAndConcatenate(segments: Sequence[Trajectory]) -> CompositeTrajectory:
        """Makes a trajectory of segments that are moved in time, each to where the one before ends.

        Args:
            segments: at least one; the first one stays where it is.

        Raises:
            ValueError: segments is empty, or values have different shapes.
        """
        if not segments:
            raise ValueError("CompositeTrajectory.AlignAndConcatenate() takes at least one segment.")
        _check_shapes(list(segments))
        aligned: list[Trajectory] = [segments[0]]
        for segment in segments[1:]:
            start, end = segment.start_time(), segment.end_time()
            now = aligned[-1].end_time()
            scaling = PiecewisePolynomial.FirstOrderHold([now, now + (end - start)], [[start, end]])
            aligned.append(PathParameterizedTrajectory(segment, scaling))
        return CompositeTrajectory(aligned)

    def segment(self, segment_index: int) -> Trajectory:
        """Returns one of the trajectories.

        Raises:
            RuntimeError: the index is out of range.
        """
        return self._segments[self._checked_segment(segment_index)]

    def do_rows(self) -> int:
        return self._first("rows").rows()

    def do_cols(self) -> int:
        return self._first("columns").cols()

    def do_value(self, t: Any) -> Array:
        return self._segment_for(t).value(t)

    def do_has_derivative(self) -> bool:
        return all(segment.has_derivative() for segment in self._segments)

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        return self._segment_for(t).EvalDerivative(t, derivative_order)

    def DoMakeDerivative(self, derivative_order: int) -> CompositeTrajectory:
        return CompositeTrajectory([segment.MakeDerivative(derivative_order) for segment in self._segments])

    def _segment_for(self, t: Any) -> Trajectory:
        """The trajectory that has the value at a time; beyond the ends, it is up to the first or last one."""
        first = self._first("segments")
        return first if len(self._segments) == 1 else self._segments[self._segment_with(t)]

    def _first(self, what: str) -> Trajectory:
        if not self._segments:
            raise RuntimeError(f"CompositeTrajectory has no segments; the number of {what} is undefined.")
        return self._segments[0]

    def _breaks_to_look_at(self) -> list[float]:
        within = (time for segment in self._segments for time in segment._breaks_to_look_at())
        return [*self._breaks, *(time for time in within if self._breaks[0] <= time <= self._breaks[-1])]

    def _cast(self, T: Any) -> CompositeTrajectory:
        return CompositeTrajectory([segment._cast(T) for segment in self._segments])


def _check_shapes(segments: Sequence[Trajectory]) -> None:
    shapes = {(segment.rows(), segment.cols()) for segment in segments}
    if len(shapes) > 1:
        raise ValueError(f"CompositeTrajectory: values of all segments must have the same shape, got {sorted(shapes)}.")
