"""Programs of the operation `trajectory`: what evaluates a trajectory in compiled code.

A program is made of the trajectory's pieces: a CompositeTrajectory becomes its segments, each behind a guard; a
StackedTrajectory its parts, side by side; a PathParameterizedTrajectory its time scaling, then its path. Only the
classes here, not those derived from them, which may compute otherwise.

This file loads numba; callers import it only when a program is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from merganser.framework.core.context.native_code import CURRENT_TIME, OUTPUT, NativeCode
from merganser.framework.native.operations import trajectory_operations as steps
from merganser.framework.trajectories._scalars import Array, plain
from merganser.framework.trajectories.bezier_curve import BezierCurve
from merganser.framework.trajectories.bspline_trajectory import BsplineTrajectory
from merganser.framework.trajectories.composed_trajectories import (
    CompositeTrajectory,
    DerivativeTrajectory,
    PathParameterizedTrajectory,
    StackedTrajectory,
)
from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial
from merganser.framework.trajectories.piecewise_quaternion_slerp import PiecewiseQuaternionSlerp, slerp_angle
from merganser.framework.trajectories.trajectory import Trajectory

_NOW = 0  # index of the current time in the pool


def code_of_values(
    values: Sequence[tuple[Trajectory, int]], limits: tuple[float, float] | None = None
) -> NativeCode | None:
    """The operation that gives values of trajectories at the current time; None if a piece of them is none.

    Args:
        values: for each value the trajectory and the order of its derivative; they come one after the other, row by
            row.
        limits: times before and after which all values but the first one are zero.
    """
    program, sizes = Program(), [r.rows() * r.cols() for r, _ in values]
    place = first = program.room(sum(sizes))
    try:
        for (r, order), size in zip(values, sizes):
            if size:
                program.evaluate(r, order, place)
            place += size
    except Unsupported:
        return None
    if limits is not None:
        program.zero_beyond(limits, first + sizes[0], sum(sizes[1:]))
    program.copy_to_output(first, sum(sizes))
    return program.code()


class Unsupported(Exception):
    """A trajectory has a piece that is not an operation."""


class Program:
    """A list of steps, and the pool of their numbers; see framework/native/operations/trajectory_operations.py."""

    def __init__(self) -> None:
        self._pool: list[float] = [0.0]
        self._steps: list[Any] = []

    def code(self) -> NativeCode:
        """The operation; one of its steps must say what goes to the output."""
        return NativeCode("trajectory", (CURRENT_TIME, np.array(self._pool), OUTPUT, len(self._steps), *self._steps))

    def room(self, size: int) -> int:
        """Room for `size` results; returns the place of the first one."""
        return self._constants(np.zeros(size))

    def evaluate(self, trajectory: Trajectory, order: int, result: int, time: int = _NOW) -> None:
        """Adds steps that evaluate a derivative.

        Args:
            trajectory: of floats.
            order: of the derivative.
            result: place of its elements, row by row.
            time: place of the time.

        Raises:
            Unsupported: there are no steps for it.
        """
        add = _PIECES.get(type(trajectory))
        if add is None or trajectory._scalar_type() is not float:
            raise Unsupported
        add(self, trajectory, order, result, time)

    def zero_beyond(self, limits: Sequence[float], result: int, size: int) -> None:
        """Zeros for `size` results if the current time is beyond the limits."""
        self._steps += [steps.ZERO_BEYOND, _NOW, self._constants(limits), result, size]

    def copy_to_output(self, result: int, size: int) -> None:
        """The results are the output."""
        self._steps += [steps.RESULT, size, result]

    # ------------------------------------------------------------------ pieces

    def _constants(self, values: Any) -> int:
        place = len(self._pool)
        self._pool += np.asarray(values, dtype=np.float64).ravel().tolist()
        return place

    def _polynomial(self, r: PiecewisePolynomial, order: int, result: int, time: int) -> None:
        coefficients = r._held(order)[0]  # [segment, rising power, row, column]
        num_segments, powers = coefficients.shape[:2]
        falling = np.moveaxis(coefficients[:, ::-1].reshape(num_segments, powers, -1), 1, 2)
        sizes = falling.shape[1], num_segments, powers
        places = self._constants(r._breaks), self._constants(falling)
        self._steps += [steps.POLYNOMIAL, time, result, *sizes, *places]

    def _spline(self, r: BsplineTrajectory, order: int, result: int, time: int) -> None:
        basis, points = r._derived_curve(order)
        if basis._scalar_type() is not float:
            raise Unsupported
        limits = basis.initial_parameter_value(), basis.final_parameter_value()
        knots = basis.knots()
        sizes = points[0].size, basis.order(), knots.index(limits[1])
        places = (self._constants(values) for values in (limits, knots, points, np.zeros(basis.order())))
        self._steps += [steps.SPLINE, time, result, *sizes, *places]

    def _bernstein(self, r: BezierCurve, order: int, result: int, time: int) -> None:
        limits = r.start_time(), r.end_time()
        if not limits[0] < limits[1] or r.order() < 0:
            raise Unsupported
        points: Array = r._derivative_points(order)
        n = points.shape[1] - 1
        binomials = [math.comb(n, i) for i in range(n + 1)]
        places = (self._constants(values) for values in (limits, binomials, points.T))
        self._steps += [steps.BERNSTEIN, time, result, len(points), n, *places]

    def _slerp(self, r: PiecewiseQuaternionSlerp, order: int, result: int, time: int) -> None:
        if order > 0:
            raise Unsupported
        pairs = list(zip(r._quaternions, r._quaternions[1:]))
        angles = [-1.0 if angle is None else angle for angle in (slerp_angle(*pair) for pair in pairs)]
        places = (self._constants(values) for values in (r._breaks, r._quaternions, angles))
        self._steps += [steps.SLERP, time, result, len(pairs), *places]

    def _composite(self, r: CompositeTrajectory, order: int, result: int, time: int) -> None:
        breaks = r.get_segment_times()
        breaks[0], breaks[-1] = -math.inf, math.inf
        for low, high, segment in zip(breaks, breaks[1:], r._segments):
            self._steps += [steps.GUARD, time, self._constants([low, high]), 0]
            start = len(self._steps)
            self.evaluate(segment, order, result, time)
            self._steps[start - 1] = len(self._steps) - start

    def _stacked(self, r: StackedTrajectory, order: int, result: int, time: int) -> None:
        if not r._rowwise:
            raise Unsupported
        for child in r._children:
            self.evaluate(child, order, result, time)
            result += child.rows() * child.cols()

    def _derivative(self, r: DerivativeTrajectory, order: int, result: int, time: int) -> None:
        self.evaluate(r._nominal, r._order + order, result, time)

    def _composed(self, r: PathParameterizedTrajectory, order: int, result: int, time: int) -> None:
        now = self.room(1)
        limits = self._constants([plain(r.start_time()), plain(r.end_time())])
        self._steps += [steps.CLAMP, time, limits, now]
        s, size = self.room(order + 1), r.rows() * r.cols()
        for k in range(order + 1):
            self.evaluate(r.time_scaling(), k, s + k, now)
        if order == 0:
            self.evaluate(r.path(), 0, result, s)
            return
        slopes = self.room(order * size)
        for k in range(order):
            self.evaluate(r.path(), k + 1, slopes + k * size, s)
        work = self.room((order + 1) ** 2)
        binomials = self._constants([[math.comb(m, i) for i in range(order + 1)] for m in range(order + 1)])
        self._steps += [steps.COMPOSE, result, size, order, slopes, s + 1, work, binomials]


_PIECES: dict[type[Trajectory], Callable[[Program, Any, int, int, int], None]] = {
    BezierCurve: Program._bernstein,
    BsplineTrajectory: Program._spline,
    CompositeTrajectory: Program._composite,
    DerivativeTrajectory: Program._derivative,
    PathParameterizedTrajectory: Program._composed,
    PiecewisePolynomial: Program._polynomial,
    PiecewiseQuaternionSlerp: Program._slerp,
    StackedTrajectory: Program._stacked,
}
