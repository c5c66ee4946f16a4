"""Toppra: the fastest way along a path.

Grid points along a path, dense where the path is curved.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.common.records import settings
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.values.arguments import checked_size, require_types
from merganser.framework.optimization import Binding, BoundingBoxConstraint, LinearConstraint
from merganser.framework.optimization.arrays import finite, vector
from merganser.framework.trajectories import (
    BsplineTrajectory,
    PiecewisePolynomial,
    PiecewiseTrajectory,
    Polynomial,
    Trajectory,
)
from merganser.multibody.planning.limits import checked_limits, nonnegative_number, positive_number, require_order
from merganser.multibody.planning.paths.reachability import SPEED_LIMIT, PathOfPlant, Rows, find_passage, squared_speeds
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant
from merganser.multibody.tree import Frame

Array = NDArray[np.float64]


@settings
@dataclasses.dataclass(kw_only=True)
class CalcGridPointsOptions:
    """How dense grid points are.

    Attributes:
        max_err: greatest error that interpolation between grid points may have, in units of positions.
        max_iter: how often segments are halved, at most, for the sake of max_err and max_seg_length.
        max_seg_length: greatest distance of grid points, in units of the path parameter.
        min_points: least number of grid points.
    """

    max_err: float = 1e-3
    max_iter: int = 100
    max_seg_length: float = 0.05
    min_points: int = 100


def calc_grid_points(path: Trajectory, options: CalcGridPointsOptions) -> Array:
    """Halves a path between its breaks until all segments of length D, with middle m, are short and nearly straight:

        D <= max_seg_length   and   max_j |q_j''(m)| D^2 / 2 <= max_err                               (1)

    and then halves all of them until there are min_points points. Curves between two middles that are straight are not
    seen: max_seg_length is to be less than they are long.

    Returns:
        The points in ascending order, from the start to the end of the path, shape [n].

    Raises:
        ValueError: a length or an error is not positive, or a count is negative.
    """
    caller = "Toppra.CalcGridPoints()"
    max_err = positive_number(options.max_err, f"{caller}: max_err")
    max_length = positive_number(options.max_seg_length, f"{caller}: max_seg_length")
    min_points = checked_size(options.min_points, f"{caller}: min_points")
    points = np.concatenate(([path.start_time()], breaks_of(path), [path.end_time()])).astype(float)
    is_new = np.ones(len(points) - 1, bool)  # for each segment; those that were left as they are need no second look
    for _ in range(checked_size(options.max_iter, f"{caller}: max_iter")):
        length, middle = np.diff(points), 0.5 * (points[:-1] + points[1:])
        is_coarse = is_new & (length > max_length)
        for i in np.flatnonzero(is_new & ~is_coarse):
            is_coarse[i] = 0.5 * np.abs(path.EvalDerivative(float(middle[i]), 2)).max() * length[i] ** 2 > max_err
        if not is_coarse.any():
            break
        points = np.insert(points, np.flatnonzero(is_coarse) + 1, middle[is_coarse])
        is_new = np.repeat(is_coarse, np.where(is_coarse, 2, 1))
    while len(points) < min_points:
        points = np.insert(points, np.arange(1, len(points)), 0.5 * (points[:-1] + points[1:]))
    return points


def breaks_of(path: Trajectory) -> Array:
    """Where segments of a path meet, and its derivatives may jump, between its ends; ascending, shape [n]."""
    if isinstance(path, PiecewiseTrajectory):
        breaks = np.array(path.get_segment_times(), float)
    elif isinstance(path, BsplineTrajectory):
        breaks = np.unique(np.array(path.basis().knots(), float))
    else:
        return np.zeros(0)
    return breaks[(breaks > path.start_time()) & (breaks < path.end_time())]


Pair = tuple[Binding, Binding]

_BESIDE = 1e-9  # how far before a break its left side is, as part of the segment

_logger = logging.getLogger("merganser.multibody.planning")


class ToppraDiscretization(Enumeration):
    """Where in a segment between two grid points limits of accelerations and forces hold."""

    kCollocation = 0  # at its start
    kInterpolation = 1  # at its start and at its end, with the same sddot: twice the rows, and truer


class Toppra:
    """Finds the fastest motion q(s(t)) along a path q(s) within limits: Pham and Pham (2018), see reachability.py.

    Add limits, then call SolvePathParameterization(). Limits hold at the grid points, and at breaks of the path, which
    are added to them; sddot is constant in between.

    Args:
        path: q(s), of shape [num_positions, 1], with two derivatives. It is evaluated here, and not kept.
        plant: finalized, with velocities that are the rates of its positions.
        gridpoints: s, ascending, from the start of the path to its end, shape [n]; see CalcGridPoints().

    Raises:
        TypeError: something is of another type.
        RuntimeError: the plant is not finalized, or the path has no derivatives.
        ValueError: qdot is not v, the path has another shape, or grid points are not as they should be; or there are
            values on the path that are not finite.
    """

    def __init__(self, path: Trajectory, plant: MultibodyPlant, gridpoints: ArrayLike) -> None:
        require_types("Toppra", path=(path, Trajectory))
        require_plant(plant, "Toppra")
        _check_plant(plant)
        _check_path(path, plant.num_positions())
        self._plant = plant
        self._s, breaks = _with_breaks(_checked_gridpoints(path, gridpoints), breaks_of(path))
        self._path = PathOfPlant(path, plant, self._s)
        # At a break the slope of the path may jump: limits of velocities hold on both sides.
        self._jumps = np.flatnonzero(np.isin(self._s, breaks))
        before = self._s[self._jumps] - _BESIDE * np.diff(self._s, prepend=-np.inf)[self._jumps].clip(max=1.0)
        self._before = PathOfPlant(path, plant, before) if self._jumps.size else None
        for name, values in (("path", self._path.q), ("path'", self._path.slope), ("path''", self._path.curvature)):
            finite(values, "Toppra", name)
        self._rows: list[Rows] = []
        self._relaxation = 0.0
        self._x_low, self._x_high = np.zeros(len(self._s)), np.full(len(self._s), SPEED_LIMIT**2)
        self._x, self._u = _placeholders()

    @staticmethod
    def CalcGridPoints(path: Trajectory, options: CalcGridPointsOptions) -> Array:
        """Returns grid points for a path, by halving what is long or curved: see CalcGridPointsOptions.

        Returns:
            s from the start to the end of the path, ascending, shape [n].

        Raises:
            RuntimeError: the path has no derivatives.
            ValueError: an option is out of its range.
        """
        caller = "Toppra.CalcGridPoints()"
        require_types(caller, path=(path, Trajectory), options=(options, CalcGridPointsOptions))
        _check_derivatives(path, caller)
        return calc_grid_points(path, options)

    def AddJointVelocityLimit(self, lower_limit: ArrayLike, upper_limit: ArrayLike) -> Binding:
        """Limits the velocities of all degrees of freedom [rad/s, m/s], shape [num_positions] each.

        Returns:
            The bounds of x = sdot^2 at the first grid point.

        Raises:
            ValueError: a limit is NaN, there are more or fewer of them, or a lower one is above its upper one.
        """
        limits = _constant(
            "Toppra.AddJointVelocityLimit()", lower_limit, upper_limit, self._plant.num_positions(), len(self._s)
        )
        return self._limit_speed(lambda path: path.slope, *limits)

    def AddJointAccelerationLimit(
        self,
        lower_limit: ArrayLike,
        upper_limit: ArrayLike,
        discretization: ToppraDiscretization = ToppraDiscretization.kInterpolation,
    ) -> Pair:
        """Limits the accelerations of all degrees of freedom [rad/s^2, m/s^2], shape [num_positions] each.

        Returns:
            The rows of (x, u) = (sdot^2, sddot) at the first grid point, and those of u at rest.

        Raises:
            ValueError: as AddJointVelocityLimit().
        """
        limits = _constant(
            "Toppra.AddJointAccelerationLimit()", lower_limit, upper_limit, self._plant.num_positions(), len(self._s)
        )
        return self._limit_rows(self._path.curvature, self._path.slope, *limits, discretization)

    def AddJointTorqueLimit(
        self,
        lower_limit: ArrayLike,
        upper_limit: ArrayLike,
        discretization: ToppraDiscretization = ToppraDiscretization.kInterpolation,
    ) -> Pair:
        """Limits the generalized forces that move the plant against inertia and gravity [N m, N].

        Damping, springs and contact take no part.

        Args:
            lower_limit, upper_limit: shape [num_positions] each.
            discretization: where they hold.

        Returns, Raises: as AddJointAccelerationLimit().
        """
        lower, upper = _constant(
            "Toppra.AddJointTorqueLimit()", lower_limit, upper_limit, self._plant.num_positions(), len(self._s)
        )
        by_x, by_u, gravity = self._path.forces()
        return self._limit_rows(by_x, by_u, lower + gravity, upper + gravity, discretization)

    def AddFrameVelocityLimit(self, constraint_frame: Frame, lower_limit: ArrayLike, upper_limit: ArrayLike) -> Binding:
        """Limits the elements of V_WF_W, the spatial velocity of a frame, [w_WF, v_WF] [rad/s, m/s], shape [6] each.

        Returns, Raises: as AddJointVelocityLimit(); RuntimeError if the frame is of another plant.
        """
        caller = "Toppra.AddFrameVelocityLimit()"
        self._check_frame(caller, constraint_frame)
        limits = _constant(caller, lower_limit, upper_limit, 6, len(self._s))
        return self._limit_speed(lambda path: path.frame_velocities(constraint_frame), *limits)

    @overload
    def AddFrameTranslationalSpeedLimit(self, constraint_frame: Frame, upper_limit: float) -> Binding: ...
    @overload
    def AddFrameTranslationalSpeedLimit(self, constraint_frame: Frame, upper_limit: Trajectory) -> Binding: ...
    def AddFrameTranslationalSpeedLimit(self, constraint_frame: Frame, upper_limit: Any) -> Binding:
        """Limits the magnitude of the translational velocity of a frame in the world [m/s].

        Args:
            constraint_frame: of the plant.
            upper_limit: a number, or a trajectory of shape [1, 1] over s. What of the path is before its start or
                beyond its end has no limit.

        Returns:
            As AddJointVelocityLimit().

        Raises:
            ValueError: a limit is NaN or negative; or a trajectory has another shape, or no part of the path.
            RuntimeError: the frame is of another plant.
        """
        caller = "Toppra.AddFrameTranslationalSpeedLimit()"
        self._check_frame(caller, constraint_frame)
        if isinstance(upper_limit, Trajectory):
            upper = self._along(caller, "upper_limit", upper_limit, 1, np.inf)
        else:
            upper = np.full((len(self._s), 1), vector([upper_limit], caller, "upper_limit", 1)[0])
        if (upper < 0.0).any():
            raise ValueError(f"{caller}: upper_limit must not be negative, got {upper.min()}.")

        def speed(path: PathOfPlant) -> Array:
            return np.linalg.norm(path.frame_velocities(constraint_frame)[:, 3:], axis=1, keepdims=True)

        return self._limit_speed(speed, np.zeros_like(upper), upper)

    @overload
    def AddFrameAccelerationLimit(
        self, constraint_frame: Frame, lower_limit: ArrayLike, upper_limit: ArrayLike,
        discretization: ToppraDiscretization = ...,
    ) -> Pair: ...  # fmt: skip
    @overload
    def AddFrameAccelerationLimit(
        self, constraint_frame: Frame, lower_limit: Trajectory, upper_limit: Trajectory,
        discretization: ToppraDiscretization = ...,
    ) -> Pair: ...  # fmt: skip
    def AddFrameAccelerationLimit(
        self,
        constraint_frame: Frame,
        lower_limit: Any,
        upper_limit: Any,
        discretization: ToppraDiscretization = ToppraDiscretization.kInterpolation,
    ) -> Pair:
        """Limits the elements of A_WF_W, the spatial acceleration of a frame, [alpha_WF, a_WF] [rad/s^2, m/s^2].

        Args:
            constraint_frame: of the plant.
            lower_limit, upper_limit: shape [6] each; or trajectories of shape [6, 1] over s. What of the path is not
                in the time of both has no limit.
            discretization: where they hold.

        Returns:
            As AddJointAccelerationLimit().

        Raises:
            TypeError: one is a trajectory, and the other is none.
            ValueError: as AddJointVelocityLimit(); or a trajectory has another shape, or no part of the path.
            RuntimeError: the frame is of another plant.
        """
        caller = "Toppra.AddFrameAccelerationLimit()"
        self._check_frame(caller, constraint_frame)
        if isinstance(lower_limit, Trajectory) or isinstance(upper_limit, Trajectory):
            require_types(caller, lower_limit=(lower_limit, Trajectory), upper_limit=(upper_limit, Trajectory))
            lower = self._along(caller, "lower_limit", lower_limit, 6, -np.inf)
            upper = self._along(caller, "upper_limit", upper_limit, 6, np.inf)
            require_order(caller, lower, upper)
            is_outside = np.isneginf(lower).all(axis=1) | np.isposinf(upper).all(axis=1)
            lower[is_outside], upper[is_outside] = -np.inf, np.inf
        else:
            lower, upper = _constant(caller, lower_limit, upper_limit, 6, len(self._s))
        coefficients = self._path.frame_accelerations(constraint_frame)
        return self._limit_rows(*coefficients, lower, upper, discretization)

    def set_constraint_relaxation(self, relaxation: float) -> None:
        """Sets by how much limits of accelerations and forces may be exceeded, in their units; 0 at first.

        Raises:
            ValueError: it is negative or not finite.
        """
        self._relaxation = nonnegative_number(relaxation, "Toppra.set_constraint_relaxation(): relaxation")

    def constraint_relaxation(self) -> float:
        """By how much limits of accelerations and forces may be exceeded."""
        return self._relaxation

    def SolvePathParameterization(self, s_dot_start: float = 0, s_dot_end: float = 0) -> PiecewisePolynomial | None:
        """Finds the fastest s(t) within all limits.

        Args:
            s_dot_start, s_dot_end: sdot at the start and at the end of the path, not negative.

        Returns:
            s(t), of shape [1, 1], from t = path.start_time() on, with one parabola for each segment between grid
            points; use it as the time scaling of a PathParameterizedTrajectory. None if there is no such motion; a
            warning of the logger `merganser.multibody.planning` says why.

        Raises:
            ValueError: a speed is negative or not finite.
        """
        caller = "Toppra.SolvePathParameterization()"
        start = nonnegative_number(s_dot_start, f"{caller}: s_dot_start")
        end = nonnegative_number(s_dot_end, f"{caller}: s_dot_end")
        found = find_passage(self._s, self._rows, self._x_low, self._x_high, start**2, end**2, self._relaxation)
        if found.x is None:
            _logger.warning("%s: %s.", caller, found.reason)
            return None
        s_dot = np.sqrt(np.maximum(found.x, 0.0))
        sums = s_dot[:-1] + s_dot[1:]
        if not sums.all():
            where = self._s[int((sums == 0.0).argmax())]
            _logger.warning("%s: the limits allow no motion at the path parameter %g.", caller, where)
            return None
        return _parabolas(self._s, s_dot, 2.0 * np.diff(self._s) / sums)

    def _limit_speed(self, b_along: Callable[[PathOfPlant], Array], lower: Array, upper: Array) -> Binding:
        """Adds lower <= b sdot <= upper, shape [n, m] each, for the b of a path on either side of its breaks."""
        x_low, x_high = squared_speeds(b_along(self._path), lower, upper)
        if self._before is not None:
            at = self._jumps
            low, high = squared_speeds(b_along(self._before), lower[at], upper[at])
            x_low[at], x_high[at] = np.maximum(x_low[at], low), np.minimum(x_high[at], high)
        self._x_low, self._x_high = np.maximum(self._x_low, x_low), np.minimum(self._x_high, x_high)
        return Binding(BoundingBoxConstraint(x_low[:1], x_high[:1]), [self._x])

    def _limit_rows(self, a: Array, b: Array, lower: Array, upper: Array, discretization: ToppraDiscretization) -> Pair:
        """Adds lower <= a x + b u <= upper, shape [n, m] each."""
        kind = ToppraDiscretization(discretization)
        self._rows.append(Rows(a, b, lower, upper, kind is ToppraDiscretization.kInterpolation))
        both = LinearConstraint(np.column_stack((a[0], b[0])), lower[0], upper[0])
        at_rest = LinearConstraint(b[0][:, np.newaxis], lower[0], upper[0])
        return Binding(both, [self._x, self._u]), Binding(at_rest, [self._u])

    def _check_frame(self, caller: str, frame: Frame) -> None:
        require_types(caller, constraint_frame=(frame, Frame))
        if frame.GetParentPlant() is not self._plant:
            raise RuntimeError(f"{caller}: frame '{frame.name()}' is not of plant '{self._plant.get_name()}'.")

    def _along(self, caller: str, name: str, limit: Trajectory, size: int, without: float) -> Array:
        """A trajectory at the grid points that it has, and `without` at others, shape [n, size]."""
        if (limit.rows(), limit.cols()) != (size, 1):
            raise ValueError(f"{caller}: {name} must have shape ({size}, 1), got ({limit.rows()}, {limit.cols()}).")
        start, end = float(limit.start_time()), float(limit.end_time())
        if end < self._s[0] or start > self._s[-1]:
            raise ValueError(
                f"{caller}: {name} goes from {start:g} to {end:g}, and has no part of the path, which goes from "
                f"{self._s[0]:g} to {self._s[-1]:g}."
            )
        result = np.full((len(self._s), size), without)
        for i in np.flatnonzero((self._s >= start) & (self._s <= end)):
            result[i] = vector(limit.value(float(self._s[i])), f"{caller} at s = {self._s[i]:g}", name, size)
        return result


def _check_plant(plant: MultibodyPlant) -> None:
    if scalar_of(plant) is not float:
        raise TypeError("Toppra: plant must be a MultibodyPlant of floats; got one of another scalar type.")
    if not plant.IsVelocityEqualToQDot():
        raise ValueError(
            f"Toppra: velocity i of plant '{plant.get_name()}' must be the rate of position i; that is not so, as it "
            "has bodies or joints that turn freely."
        )


def _check_derivatives(path: Trajectory, caller: str) -> None:
    if not path.has_derivative():
        raise RuntimeError(f"{caller}: path must have derivatives; a {type(path).__name__} has none.")


def _check_path(path: Trajectory, num_positions: int) -> None:
    _check_derivatives(path, "Toppra")
    if (path.rows(), path.cols()) != (num_positions, 1):
        raise ValueError(
            f"Toppra: path must have shape ({num_positions}, 1), the number of positions of the plant; got "
            f"({path.rows()}, {path.cols()})."
        )


def _checked_gridpoints(path: Trajectory, gridpoints: ArrayLike) -> Array:
    s = finite(vector(gridpoints, "Toppra", "gridpoints"), "Toppra", "gridpoints")
    start, end = float(path.start_time()), float(path.end_time())
    if len(s) < 2 or s[0] != start or s[-1] != end:
        ends = f"{s[0]!s} to {s[-1]!s}" if len(s) else "nowhere"
        raise ValueError(
            f"Toppra: gridpoints must go from the start of the path, {start}, to its end, {end}; got {len(s)} that go "
            f"from {ends}."
        )
    if not (np.diff(s) > 0.0).all():
        i = int((np.diff(s) <= 0.0).argmax())
        raise ValueError(f"Toppra: gridpoints must ascend; number {i} is {s[i]} and number {i + 1} is {s[i + 1]}.")
    return s


def _with_breaks(s: Array, breaks: Array) -> tuple[Array, Array]:
    """Grid points with the breaks of a path in place of those that are nearly there, and these breaks."""
    margin = _BESIDE * (s[-1] - s[0])
    breaks = breaks[(breaks > s[0] + margin) & (breaks < s[-1] - margin)]
    if not breaks.size:
        return s, breaks
    is_near = np.abs(s[:, np.newaxis] - breaks).min(axis=1) <= margin
    return np.union1d(s[~is_near], breaks), breaks


def _constant(caller: str, lower: ArrayLike, upper: ArrayLike, size: int, count: int) -> tuple[Array, Array]:
    """The same limits at all grid points, shape [count, size] each."""
    low, high = checked_limits(caller, lower, upper, size)
    return np.tile(low, (count, 1)), np.tile(high, (count, 1))


def _placeholders() -> tuple[Any, Any]:
    """The variables x and u that returned bindings have."""
    from merganser.framework.symbolic import Variable  # takes 0.3 s to import

    return Variable("x(0)"), Variable("u(0)")


def _parabolas(s: Array, s_dot: Array, durations: Array) -> PiecewisePolynomial:
    """s(t) from t = s_0 on, with a constant acceleration in each segment."""
    halves = 0.5 * np.diff(s_dot) / durations
    pieces = [Polynomial(each) for each in np.column_stack((s[:-1], s_dot[:-1], halves)).tolist()]
    return PiecewisePolynomial(pieces, s[0] + np.concatenate(([0.0], np.cumsum(durations))))
