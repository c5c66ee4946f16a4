"""Trajectories made of others: derivatives, paths r(s(t)), stacked ones, and one after the other.

Derivatives of r(s(t)) are those of a composition (Faa di Bruno): with r_k the k-th derivative of the path by s, and
B(n, k) the partial Bell polynomials of the derivatives s_1, s_2, ... of s by t,

    d^n/dt^n r(s(t)) = sum_k r_k B(n, k),                                                           (1)
    B(n, k) = sum_i binom(n - 1, i - 1) s_i B(n - i, k - 1),    B(0, 0) = 1                         (2)

(L. Comtet, 1974, "Advanced Combinatorics", section 3.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.framework.trajectories._breaks import times_of_values
from merganser.framework.trajectories._scalars import Array, as_matrix, clamped, derivative_order_of, plain
from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial
from merganser.framework.trajectories.trajectory import EPSILON_TIME, PiecewiseTrajectory, Trajectory


class DerivativeTrajectory(Trajectory):
    """A derivative of a trajectory; its value is what EvalDerivative() of the latter returns.

    Args:
        nominal: the trajectory, which is copied.
        derivative_order: at least 0.

    Raises:
        ValueError: the order is negative.
        RuntimeError: the trajectory has no derivatives.
    """

    def __init__(self, nominal: Trajectory, derivative_order: int = 1) -> None:
        self._order = derivative_order_of(derivative_order, "DerivativeTrajectory")
        if not nominal.has_derivative():
            raise RuntimeError(f"DerivativeTrajectory: a {type(nominal).__name__} has no derivatives.")
        self._nominal: Trajectory = nominal.Clone()
        start = plain(nominal.start_time())
        probe = self._nominal.EvalDerivative(start if abs(start) < float("inf") else 0.0, self._order)
        self._rows, self._cols = probe.shape  # derivatives of a quaternion or of a pose have other shapes than these

    def do_rows(self) -> int:
        return self._rows

    def do_cols(self) -> int:
        return self._cols

    def do_start_time(self) -> Any:
        return self._nominal.start_time()

    def do_end_time(self) -> Any:
        return self._nominal.end_time()

    def do_value(self, t: Any) -> Array:
        return self._nominal.EvalDerivative(t, self._order)

    def do_has_derivative(self) -> bool:
        return True

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        return self._nominal.EvalDerivative(t, self._order + derivative_order)

    def DoMakeDerivative(self, derivative_order: int) -> DerivativeTrajectory:
        return DerivativeTrajectory(self._nominal, self._order + derivative_order)

    def _scalar_type(self) -> Any:
        return self._nominal._scalar_type()

    def _breaks_to_look_at(self) -> list[float]:
        return self._nominal._breaks_to_look_at()

    def _cast(self, T: Any) -> DerivativeTrajectory:
        return DerivativeTrajectory(self._nominal._cast(T), self._order)


class PathParameterizedTrajectory(Trajectory):
    """The path r(s(t)), from the start to the end time of s; beyond, value and derivatives are those there.

    Args:
        path: r.
        time_scaling: s, of shape [1, 1].

    Both are copied.

    Raises:
        ValueError: the time scaling has another shape.
    """

    def __init__(self, path: Trajectory, time_scaling: Trajectory) -> None:
        if (time_scaling.rows(), time_scaling.cols()) != (1, 1):
            raise ValueError(
                f"PathParameterizedTrajectory: time_scaling must have shape (1, 1), got ({time_scaling.rows()}, "
                f"{time_scaling.cols()})."
            )
        self._path: Trajectory = path.Clone()
        self._time_scaling: Trajectory = time_scaling.Clone()

    def path(self) -> Trajectory:
        """Returns the path r."""
        return self._path

    def time_scaling(self) -> Trajectory:
        """Returns the way s."""
        return self._time_scaling

    def do_rows(self) -> int:
        return self._path.rows()

    def do_cols(self) -> int:
        return self._path.cols()

    def do_start_time(self) -> Any:
        return self._time_scaling.start_time()

    def do_end_time(self) -> Any:
        return self._time_scaling.end_time()

    def do_value(self, t: Any) -> Array:
        return self._path.value(self._time_scaling.value(self._clamped(t)).item())

    def do_has_derivative(self) -> bool:
        return self._path.has_derivative() and self._time_scaling.has_derivative()

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        time, n = self._clamped(t), derivative_order
        s, *rates = (self._time_scaling.EvalDerivative(time, k).item() for k in range(n + 1))
        terms = [self._path.EvalDerivative(s, k) * _bell(n, k, rates) for k in range(1, n + 1)]  # (1)
        return sum(terms[1:], terms[0])

    def DoMakeDerivative(self, derivative_order: int) -> Trajectory:
        return DerivativeTrajectory(self, derivative_order)

    def _clamped(self, t: Any) -> Any:
        return clamped(t, self.start_time(), self.end_time(), self._name)

    def _scalar_type(self) -> Any:
        return self._path._scalar_type()

    def _breaks_to_look_at(self) -> list[float]:
        own = self._time_scaling._breaks_to_look_at()
        return [*own, *times_of_values(self._time_scaling, self._path._breaks_to_look_at())]

    def _cast(self, T: Any) -> PathParameterizedTrajectory:
        return PathParameterizedTrajectory(self._path._cast(T), self._time_scaling._cast(T))


def _bell(n: int, k: int, x: list[Any]) -> Any:
    """B(n, k) of x_1, x_2, ..., by (2)."""
    if n == 0 or k == 0:
        return 1.0 if n == k else 0.0
    total: Any = 0.0
    for i in range(1, n - k + 2):  # sum() adds floats with compensation since Python 3.12; compiled code does not
        total = total + math.comb(n - 1, i - 1) * x[i - 1] * _bell(n - i, k - 1, x)
    return total


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


class ExponentialPlusPiecewisePolynomial(PiecewiseTrajectory):
    """On segment j, which starts at t_j, the value is K exp(A (t - t_j)) alpha_j + p(t).

    Beyond the ends, the exponential goes on, and p(t) is that at the end. There are no derivatives.

    Args:
        K: shape [rows, n].
        A: shape [n, n].
        alpha: alpha_j as columns, shape [n, number of segments].
        piecewise_polynomial_part: p, of shape [rows, 1].

    Raises:
        ValueError: sizes do not go together.
    """

    def __init__(self, K: Any, A: Any, alpha: Any, piecewise_polynomial_part: PiecewisePolynomial) -> None:
        name = "ExponentialPlusPiecewisePolynomial"
        self._K, self._A, self._alpha = (
            as_matrix(m, f"{name}: {what}") for m, what in ((K, "K"), (A, "A"), (alpha, "alpha"))
        )
        self._part: PiecewisePolynomial = piecewise_polynomial_part.Clone()
        n, segments = len(self._A), self._part.get_number_of_segments()
        shapes = {"K": (self._part.rows(), n), "A": (n, n), "alpha": (n, segments)}
        for (what, expected), matrix in zip(shapes.items(), (self._K, self._A, self._alpha)):
            if matrix.shape != expected:
                raise ValueError(f"{name}: {what} must have shape {expected}, got {matrix.shape}.")
        super().__init__(self._part._times)

    def shiftRight(self, offset: float) -> None:
        """Moves all breaks: afterwards, the value at t is that from t - offset before."""
        self._part.shiftRight(offset)
        self._set_breaks(self._part._times)

    def do_rows(self) -> int:
        return self._part.rows()

    def do_cols(self) -> int:
        return self._part.cols()

    def do_value(self, t: Any) -> Array:
        from scipy.linalg import expm  # most programs need no matrix exponentials

        index = self.get_segment_index(t)
        growth = expm(self._A * (plain(t) - self._breaks[index]))
        return self._part.value(t) + (self._K @ growth @ self._alpha[:, index]).reshape(-1, 1)
