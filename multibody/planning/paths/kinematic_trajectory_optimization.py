"""KinematicTrajectoryOptimization: trajectories of positions that are the solutions of mathematical programs."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context
from merganser.framework.core.values.arguments import bind_overload, checked_number, require_types
from merganser.framework.optimization import (
    Binding,
    BoundingBoxConstraint,
    Constraint,
    L2NormCost,
    LinearConstraint,
    QuadraticCost,
)
from merganser.framework.optimization.evaluators.evaluators import copies_of
from merganser.framework.optimization.evaluators.linear_constraints import copy_with
from merganser.framework.optimization.programs.program_bindings import add_alike
from merganser.multibody.planning.limits import checked_limits, nonnegative_number
from merganser.multibody.planning.paths.splines import DerivativeBounds, PointConstraint, SplineProgram
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant

Array = NDArray[np.float64]
Objects = NDArray[Any]

_BOUNDS = ("lb", "ub")


class KinematicTrajectoryOptimization(SplineProgram):
    """A program for a trajectory q(t) = r(t / T), with a B-spline r(s), s from 0 to 1, and a duration T.

    Its variables are the control points of r, and T. What is said of the *path* is about r and its derivatives by s,
    and is linear; other things are about q and its derivatives by time [s]. As a spline is in the convex hull of its
    control points, bounds on these are kept at all times; they are a bit stricter than need be.

    Two forms, KinematicTrajectoryOptimization(num_positions, num_control_points, spline_order=4, duration=1.0) and
    KinematicTrajectoryOptimization(trajectory). The guess is q = 0 for the duration, or the trajectory.

    Args:
        num_positions: size of q.
        num_control_points: how many the spline has, at least spline_order.
        spline_order: 4 for a cubic spline.
        duration: guess of T [s].
        trajectory: a BsplineTrajectory of shape [num_positions, 1]; r has its basis, scaled.

    Raises:
        ValueError: a size does not fit, or the duration is not positive.

    Splines and their hulls: L. Piegl and W. Tiller, 1997, "The NURBS Book", chapter 3.
    """

    # ------------------------------------------------------------------ at one place of the path

    @overload
    def AddPathPositionConstraint(self, lb: ArrayLike, ub: ArrayLike, s: float) -> Binding: ...
    @overload
    def AddPathPositionConstraint(self, constraint: Constraint, s: float) -> Binding: ...
    def AddPathPositionConstraint(self, *args: Any, **kwargs: Any) -> Binding:
        """Adds lb <= r(s) <= ub, which is linear; or any constraint of r(s).

        Args:
            lb, ub: shape [num_positions] each.
            constraint: one that takes num_positions variables.
            s: from 0 to 1.

        Raises:
            ValueError: a size does not fit, bounds are NaN or cross, or s is out of its range.
        """
        caller = "KinematicTrajectoryOptimization.AddPathPositionConstraint"
        if (args and isinstance(args[0], Constraint)) or "constraint" in kwargs:
            given = bind_overload(caller, ("constraint", "s"), {}, args, kwargs)
            s = _place(caller, given["s"])
            return self._add_at_point(caller, given["constraint"], s, 1, f"path position constraint at s={s:g}")
        given = bind_overload(caller, ("lb", "ub", "s"), {}, args, kwargs)
        return self._add_path_row(caller, "position", 0, given["lb"], given["ub"], given["s"])

    def AddPathVelocityConstraint(self, lb: ArrayLike, ub: ArrayLike, s: float) -> Binding:
        """Adds lb <= dr/ds <= ub at s, which is linear; shape [num_positions] each. It does not bound qdot.

        Raises:
            ValueError: as AddPathPositionConstraint().
        """
        caller = "KinematicTrajectoryOptimization.AddPathVelocityConstraint"
        return self._add_path_row(caller, "velocity", 1, lb, ub, s)

    def AddPathAccelerationConstraint(self, lb: ArrayLike, ub: ArrayLike, s: float) -> Binding:
        """Adds lb <= d2r/ds2 <= ub at s, which is linear; shape [num_positions] each. It does not bound qddot.

        Raises:
            ValueError: as AddPathPositionConstraint().
        """
        caller = "KinematicTrajectoryOptimization.AddPathAccelerationConstraint"
        return self._add_path_row(caller, "acceleration", 2, lb, ub, s)

    @overload
    def AddVelocityConstraintAtNormalizedTime(self, constraint: Constraint, s: float) -> Binding: ...
    @overload
    def AddVelocityConstraintAtNormalizedTime(self, binding: Binding, s: float) -> list[Binding]: ...
    def AddVelocityConstraintAtNormalizedTime(self, *args: Any, **kwargs: Any) -> Binding | list[Binding]:
        """Adds a constraint of [q, qdot] at the time s T; or one of qdot, which becomes linear in control points and T.

        Args:
            constraint: one that takes 2 num_positions variables.
            binding: of a LinearConstraint and some of the variables qdot().
            s: from 0 to 1.

        Raises:
            ValueError: a size does not fit, a variable is none of qdot(), or s is out of its range.
        """
        caller = "KinematicTrajectoryOptimization.AddVelocityConstraintAtNormalizedTime"
        if (args and isinstance(args[0], Binding)) or "binding" in kwargs:
            given = bind_overload(caller, ("binding", "s"), {}, args, kwargs)
            return self._add_linear_velocity(caller, given["binding"], _place(caller, given["s"]))
        given = bind_overload(caller, ("constraint", "s"), {}, args, kwargs)
        s = _place(caller, given["s"])
        return self._add_at_point(caller, given["constraint"], s, 2, f"velocity constraint at s={s:g}")

    def AddEffortBoundsAtNormalizedTimes(
        self,
        plant: MultibodyPlant,
        s: ArrayLike,
        lb: ArrayLike | None = None,
        ub: ArrayLike | None = None,
        plant_context: Context | None = None,
    ) -> list[Binding]:
        """Adds B lb <= M(q) vdot + C(q, v) v - tau_g(q) - tau_app(q, v) <= B ub at times s T, for actuation by B.

        It may not hold between these times. A constraint has a Context of the plant of its own.

        Args:
            plant: finalized, of floats, with num_positions positions and qdot = v.
            s: from 0 to 1, shape [n].
            lb, ub: efforts [N m, N], shape [num_actuators] each; the limits of the plant's actuators by default.
            plant_context: its parameters are used, and copied; the default ones if None.

        Returns:
            One constraint for each s.

        Raises:
            TypeError, RuntimeError: the plant is not as it should be.
            ValueError: a size does not fit, bounds are NaN or cross, or s is out of its range.
        """
        from merganser.multibody.planning.paths.splines import EffortConstraint  # inverse_kinematics has masks

        caller = "KinematicTrajectoryOptimization.AddEffortBoundsAtNormalizedTimes"
        self._check_plant(caller, plant)
        lower = plant.GetEffortLowerLimits() if lb is None else lb
        upper = plant.GetEffortUpperLimits() if ub is None else ub
        efforts = checked_limits(caller, lower, upper, plant.num_actuators(), _BOUNDS)
        # B times efforts, where infinite ones do nothing to joints that they do not act on
        B = plant.MakeActuationMatrix()
        low, high = ((B * np.where(B == 0.0, 0.0, each)).sum(axis=1) for each in efforts)
        low, high = checked_limits(caller, low, high, plant.num_velocities(), ("B lb", "B ub"))
        bindings = []
        for each in [_place(caller, value) for value in np.ravel(np.asarray(s))]:
            context = plant.CreateDefaultContext()
            if plant_context is not None:
                plant.ValidateContext(plant_context)
                context.SetTimeStateAndParametersFrom(plant_context)
            constraint = EffortConstraint(plant, context, low, high)
            bindings.append(self._add_at_point(caller, constraint, each, 3, f"effort bound at s={each:g}"))
        return bindings

    # ------------------------------------------------------------------ at all times

    def AddDurationConstraint(self, lb: float | None, ub: float | None) -> Binding:
        """Adds lb <= T <= ub [s]; None for 0, or for no bound above.

        Raises:
            ValueError: a bound is NaN, or they cross.
        """
        caller = "KinematicTrajectoryOptimization.AddDurationConstraint"
        low, high = checked_limits(caller, [0.0 if lb is None else lb], [np.inf if ub is None else ub], 1, _BOUNDS)
        return self._described(self._prog.AddBoundingBoxConstraint(low, high, [self._duration]), "duration constraint")

    def AddPositionBounds(self, lb: ArrayLike, ub: ArrayLike) -> list[Binding]:
        """Adds bounds that q keeps at all times, shape [num_positions] each: one constraint for each control point.

        Raises:
            ValueError: a size does not fit, or bounds are NaN or cross.
        """
        caller = "KinematicTrajectoryOptimization.AddPositionBounds"
        low, high = checked_limits(caller, lb, ub, self.num_positions(), _BOUNDS)
        names = (f"position bound {i}" for i in range(self.num_control_points()))
        return add_alike(self._prog, copies_of(BoundingBoxConstraint(low, high), names), self._points.T)

    def AddVelocityBounds(self, lb: ArrayLike, ub: ArrayLike) -> list[Binding]:
        """Adds bounds that qdot keeps at all times, shape [num_positions] each [rad/s, m/s].

        They are linear: T lb <= control points of dr/ds <= T ub.

        Returns:
            For each position the lower bounds, then the upper ones; infinite ones are left out.

        Raises:
            ValueError: as AddPositionBounds().
        """
        caller = "KinematicTrajectoryOptimization.AddVelocityBounds"
        low, high = checked_limits(caller, lb, ub, self.num_positions(), _BOUNDS)
        M = self._derivative_of_points(1).T
        zeros, infinite = np.zeros(len(M)), np.full(len(M), np.inf)
        limits = (zeros, infinite), (-infinite, zeros)
        kinds = [LinearConstraint(np.column_stack((zeros, M)), *each) for each in limits]
        bounds = np.column_stack((low, high)).ravel()
        chosen = np.flatnonzero(np.isfinite(bounds))
        slopes = np.empty((chosen.size, len(M), 1 + M.shape[1]))
        slopes[..., 0], slopes[..., 1:] = -bounds[chosen, np.newaxis], M
        rows = [
            copy_with(kinds[k % 2], A, f"velocity {'upper' if k % 2 else 'lower'} bound for position {k // 2}")
            for k, A in zip(chosen.tolist(), slopes)
        ]
        return add_alike(self._prog, rows, self._rows[chosen // 2])

    def AddAccelerationBounds(self, lb: ArrayLike, ub: ArrayLike) -> list[Binding]:
        """Adds bounds that d2q/dt2 keeps at all times, shape [num_positions] each [rad/s^2, m/s^2]; not linear.

        Returns:
            One constraint for each position: rows of lower bounds, then of upper ones.

        Raises:
            ValueError: as AddPositionBounds().
        """
        return self._add_derivative_bounds("acceleration", 2, lb, ub)

    def AddJerkBounds(self, lb: ArrayLike, ub: ArrayLike) -> list[Binding]:
        """Adds bounds that d3q/dt3 keeps at all times, shape [num_positions] each [rad/s^3, m/s^3]; not linear.

        Returns, Raises: as AddAccelerationBounds().
        """
        return self._add_derivative_bounds("jerk", 3, lb, ub)

    # ------------------------------------------------------------------ costs

    def AddDurationCost(self, weight: float = 1.0) -> Binding:
        """Adds weight T."""
        slope = _weight("AddDurationCost", weight)
        return self._described(self._prog.AddLinearCost([slope], 0.0, [self._duration]), "duration cost")

    def AddPathLengthCost(self, weight: float = 1.0, use_conic_constraint: bool = False) -> list[Binding]:
        """Adds weight times the sum of the distances of neighbouring control points, which the path is not longer than.

        Args:
            weight: at least 0.
            use_conic_constraint: whether each distance is a new variable, of a cone; for programs that are convex.

        Returns:
            One cost for each pair of neighbours.
        """
        A, zeros = _weight("AddPathLengthCost", weight) * self._difference(), np.zeros(self.num_positions())
        if not use_conic_constraint:
            return self._add_to_neighbours(L2NormCost(A, zeros), "path length cost")
        costs = [self._prog.AddL2NormCostUsingConicConstraint(A, zeros, pair)[1] for pair in self._neighbours()]
        return [self._described(cost, f"path length cost {i + 1}") for i, cost in enumerate(costs)]

    def AddPathEnergyCost(self, weight: float = 1.0) -> list[Binding]:
        """Adds weight times the sum of the squared distances of neighbouring control points.

        It leads to short paths, too, with control points at equal distances, and has a gradient everywhere.

        Returns:
            One cost for each pair of neighbours.
        """
        A, zeros = self._difference(), np.zeros(2 * self.num_positions())
        cost = QuadraticCost(2.0 * _weight("AddPathEnergyCost", weight) * A.T @ A, zeros, is_convex=True)
        return self._add_to_neighbours(cost, "path energy cost")

    # ------------------------------------------------------------------ inside

    def _add_path_row(self, caller: str, what: str, order: int, lb: Any, ub: Any, s: Any) -> Binding:
        """Bounds on a derivative of the path at s, with its control points."""
        low, high = checked_limits(caller, lb, ub, self.num_positions(), _BOUNDS)
        s = _place(caller, s)
        weights = self._weights(s, order)
        places = _others_than_zero(weights)
        A = np.zeros((self.num_positions(), self.num_positions(), places.size))
        A[np.arange(len(A)), np.arange(len(A))] = weights[places]
        row = self._prog.AddLinearConstraint(A.reshape(len(A), -1), low, high, self._points[:, places].ravel())
        return self._described(row, f"path {what} constraint at s={s:g}")

    def _add_at_point(self, caller: str, constraint: Any, s: float, orders: int, description: str) -> Binding:
        """A constraint of q and its first derivatives by time, at s."""
        require_types(caller, constraint=(constraint, Constraint))
        if constraint.num_vars() != orders * self.num_positions():
            raise ValueError(
                f"{caller}: the constraint must take {orders * self.num_positions()} variables, {orders} for each "
                f"position; {type(constraint).__name__} takes {constraint.num_vars()}."
            )
        weights = np.array([self._weights(s, order) for order in range(orders)])
        places = _others_than_zero(weights)
        points = self._points[:, places].T.ravel()
        variables = points if orders == 1 else np.concatenate(([self._duration], points))
        return self._prog.AddConstraint(PointConstraint(constraint, weights[:, places], description), variables)

    def _add_linear_velocity(self, caller: str, binding: Binding, s: float) -> list[Binding]:
        """lb <= A qdot <= ub as T lb <= A dr/ds <= T ub."""
        constraint = binding.evaluator()
        require_types(caller, evaluator=(constraint, LinearConstraint))
        numbers = {variable.get_id(): i for i, variable in enumerate(self._placeholders[1])}
        ids = [variable.get_id() for variable in binding.variables()]
        if not set(ids) <= set(numbers):
            raise ValueError(f"{caller}: binding must have variables of qdot() only; got {binding.brief()}.")
        weights = self._weights(s, 1)
        places = _others_than_zero(weights)
        A = np.kron(constraint.GetDenseA(), weights[places])
        variables = np.concatenate((self._points[[numbers[each] for each in ids]][:, places].ravel(), [self._duration]))
        low, high = constraint.lower_bound(), constraint.upper_bound()
        kept, bounded = np.isfinite(low), np.isfinite(high)
        order = np.argsort(np.concatenate((np.flatnonzero(kept), np.flatnonzero(bounded))), kind="stable")
        rows = np.vstack((np.column_stack((A, -low))[kept], np.column_stack((A, -high))[bounded]))[order]
        lower = np.concatenate((np.zeros(kept.sum()), np.full(bounded.sum(), -np.inf)))[order]
        upper = np.where(np.isinf(lower), 0.0, np.inf)
        if not len(rows):
            return []
        row = self._prog.AddLinearConstraint(rows, lower, upper, variables)
        return [self._described(row, f"velocity constraint at s={s:g}")]

    def _add_derivative_bounds(self, what: str, order: int, lb: Any, ub: Any) -> list[Binding]:
        name = f"KinematicTrajectoryOptimization.Add{what.capitalize()}Bounds"
        low, high = checked_limits(name, lb, ub, self.num_positions(), _BOUNDS)
        bounds = DerivativeBounds.of_positions(self._derivative_of_points(order), order, low, high, f"{what} bound")
        return add_alike(self._prog, bounds, self._rows)

    def _difference(self) -> Array:
        """A with A [p, o] = p - o, shape [num_positions, 2 num_positions]."""
        identity = np.eye(self.num_positions())
        return np.hstack((identity, -identity))

    def _neighbours(self) -> Objects:
        """The variables of each control point but the first, and of the one before it: one row for each."""
        return np.hstack((self._points.T[1:], self._points.T[:-1]))

    def _add_to_neighbours(self, cost: Any, name: str) -> list[Binding]:
        pairs = self._neighbours()
        return add_alike(self._prog, copies_of(cost, (f"{name} {i + 1}" for i in range(len(pairs)))), pairs)

    def _check_plant(self, caller: str, plant: MultibodyPlant) -> None:
        require_plant(plant, caller)
        if plant.num_positions() != self.num_positions():
            raise ValueError(
                f"{caller}: plant '{plant.get_name()}' has {plant.num_positions()} positions, expected "
                f"{self.num_positions()}."
            )
        if not plant.IsVelocityEqualToQDot():
            raise ValueError(f"{caller}: velocities of plant '{plant.get_name()}' must be the rates of its positions.")


def _others_than_zero(weights: Array) -> NDArray[np.intp]:
    """Relevant control points, at least one; weights of shape [n] or [orders, n]."""
    places = np.flatnonzero(weights if weights.ndim == 1 else weights.any(axis=0))
    return places if places.size else np.zeros(1, np.intp)


def _weight(function: str, weight: Any) -> float:
    return nonnegative_number(weight, f"KinematicTrajectoryOptimization.{function}: weight")


def _place(caller: str, s: Any) -> float:
    value = checked_number(s, f"{caller}: s")
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{caller}: s must be from 0 to 1, got {value}.")
    return value
