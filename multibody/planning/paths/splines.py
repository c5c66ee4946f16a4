"""The variables of a KinematicTrajectoryOptimization, and trajectories as their values.

Constraints of a trajectory that is a spline of control points, stretched to a duration.

With the path r(s) = sum_j w_j(s) p_j, its derivatives r^(k)(s) = sum_j w_kj p_j and the duration T,

    q(t) = r(t / T),     d^k q / dt^k = r^(k) / T^k                                                      (1)
    d/dp_j (d^k q / dt^k) = w_kj / T^k,     d/dT (d^k q / dt^k) = -k / T d^k q / dt^k                     (2)

Limits of the efforts that a plant needs to move as a trajectory does.
"""

from __future__ import annotations

import functools
import math
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.core.values.arguments import bind_overload, checked_size, require_types
from merganser.framework.math import BsplineBasis
from merganser.framework.optimization import Binding, Constraint, MathematicalProgram, MathematicalProgramResult
from merganser.framework.optimization.evaluators.evaluators import copies_of
from merganser.framework.trajectories import BsplineTrajectory
from merganser.multibody.algorithms import inverse_dynamics_derivatives
from merganser.multibody.inverse_kinematics.posture_functions import PostureFunction
from merganser.multibody.planning.limits import positive_number
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import MultibodyForces

Array = NDArray[np.float64]
Objects = NDArray[Any]


class SplineProgram:
    """The part of KinematicTrajectoryOptimization that has the variables."""

    @overload
    def __init__(
        self, num_positions: int, num_control_points: int, spline_order: int = 4, duration: float = 1.0
    ) -> None: ...
    @overload
    def __init__(self, trajectory: BsplineTrajectory) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = "KinematicTrajectoryOptimization"
        if (args and isinstance(args[0], BsplineTrajectory)) or "trajectory" in kwargs:
            trajectory = bind_overload(name, ("trajectory",), {}, args, kwargs)["trajectory"]
            _check_column(name, trajectory)
            start, duration = float(trajectory.start_time()), _duration_of(name, trajectory)
            knots = [(float(knot) - start) / duration for knot in trajectory.basis().knots()]
            self._make(trajectory.rows(), BsplineBasis(trajectory.basis().order(), knots), duration)
            self.SetInitialGuess(trajectory)
            return
        names = ("num_positions", "num_control_points", "spline_order", "duration")
        given = bind_overload(name, names, {"spline_order": 4, "duration": 1.0}, args, kwargs)
        sizes = [checked_size(given[each], f"{name}: {each}", 1) for each in names[:3]]
        self._make(sizes[0], BsplineBasis(sizes[2], sizes[1]), positive_number(given["duration"], f"{name}: duration"))

    def _make(self, num_positions: int, basis: BsplineBasis, duration: float) -> None:
        self._basis, self._prog = basis, MathematicalProgram()
        count = basis.num_basis_functions()
        self._points: Objects = self._prog.NewContinuousVariables(num_positions, count, "control_point")
        self._duration = self._prog.NewContinuousVariables(1, "duration")[0]
        self._rows = np.column_stack((np.full(num_positions, self._duration), self._points))  # of constraints with T
        self._spline = basis.order(), tuple(basis.knots())
        self._described(self._prog.AddBoundingBoxConstraint(0.0, np.inf, self._duration), "duration is not negative")
        self._prog.SetInitialGuess(self._points, np.zeros(self._points.shape))
        self._prog.SetInitialGuess(self._duration, duration)

    @functools.cached_property
    def _placeholders(self) -> list[Objects]:
        from merganser.framework.symbolic import MakeVectorContinuousVariable  # takes 0.3 s to import

        return [MakeVectorContinuousVariable(self.num_positions(), each) for each in ("q", "qdot", "qddot")]

    # ------------------------------------------------------------------ what there is

    def num_positions(self) -> int:
        """Returns the size of q."""
        return self._points.shape[0]

    def num_control_points(self) -> int:
        """Returns the number of control points."""
        return self._points.shape[1]

    def basis(self) -> BsplineBasis:
        """Returns the basis of the path r, for s from 0 to 1."""
        return self._basis

    def control_points(self) -> Objects:
        """Returns the variables of the control points, as columns, shape [num_positions, num_control_points]."""
        return self._points.copy()

    def duration(self) -> Any:
        """Returns the variable T [s]."""
        return self._duration

    def prog(self) -> MathematicalProgram:
        """Returns the program, to add costs and constraints of other kinds, and to solve it."""
        return self._prog

    get_mutable_prog = prog

    def q(self) -> Objects:
        """Returns placeholder variables for q; they are not in the program."""
        return self._placeholders[0].copy()

    def qdot(self) -> Objects:
        """Returns placeholder variables for qdot, for AddVelocityConstraintAtNormalizedTime()."""
        return self._placeholders[1].copy()

    def qddot(self) -> Objects:
        """Returns placeholder variables for qddot; they are not in the program."""
        return self._placeholders[2].copy()

    def SetInitialGuess(self, trajectory: BsplineTrajectory) -> None:
        """Sets the guess to a trajectory; one of another basis is met at as many times as there are control points.

        Raises:
            ValueError: it has another shape than [num_positions, 1], or no duration.
        """
        caller = "KinematicTrajectoryOptimization.SetInitialGuess()"
        require_types(caller, trajectory=(trajectory, BsplineTrajectory))
        _check_column(caller, trajectory)
        if trajectory.rows() != self.num_positions():
            raise ValueError(f"{caller}: trajectory has {trajectory.rows()} rows, expected {self.num_positions()}.")
        start, duration = float(trajectory.start_time()), _duration_of(caller, trajectory)
        knots, order = np.array(self._basis.knots()), self._basis.order()
        theirs = trajectory.basis()
        is_known = theirs.order() == order and theirs.num_basis_functions() == self.num_control_points()
        if is_known and np.allclose(np.array(theirs.knots()), start + duration * knots):
            points = np.hstack(trajectory.control_points())
        else:  # at the means of the knots of each control point, where values determine a spline well
            s = [float(np.clip(knots[i + 1 : i + order].mean(), 0.0, 1.0)) if order > 1 else float(knots[i])
                 for i in range(self.num_control_points())]  # fmt: skip
            values = np.hstack([trajectory.value(start + each * duration) for each in s])
            points = np.linalg.solve(np.array([self._weights(each, 0) for each in s]), values.T).T
        self._prog.SetInitialGuess(self._points, points)
        self._prog.SetInitialGuess(self._duration, duration)

    def ReconstructTrajectory(self, result: MathematicalProgramResult) -> BsplineTrajectory:
        """Returns the trajectory q(t), t from 0 to T, of a solution.

        Raises:
            ValueError: T is not positive, so that there is no trajectory.
        """
        caller = "KinematicTrajectoryOptimization.ReconstructTrajectory()"
        require_types(caller, result=(result, MathematicalProgramResult))
        duration = positive_number(result.GetSolution(self._duration), f"{caller}: the duration of the solution")
        knots = [duration * knot for knot in self._basis.knots()]
        points = np.asarray(result.GetSolution(self._points), float)
        return BsplineTrajectory(BsplineBasis(self._basis.order(), knots), points)

    def _weights(self, s: float, order: int) -> Array:
        """w_j for which a derivative of the path at s is sum_j w_j p_j, shape [num_control_points]."""
        return _weights(*self._spline, s, order)

    def _derivative_of_points(self, order: int) -> Array:
        """M for which p M are the control points of a derivative of the path, shape [num_control_points, m]."""
        return _derivative_of_points(*self._spline, order)

    def _described(self, binding: Binding, description: str) -> Binding:
        binding.evaluator().set_description(description)
        return binding


def _of_units(spline_order: int, knots: tuple[float, ...]) -> BsplineTrajectory:
    """A spline whose value i is weight i of the control points."""
    basis = BsplineBasis(spline_order, list(knots))
    return BsplineTrajectory(basis, np.eye(basis.num_basis_functions()))


@functools.lru_cache(maxsize=256)  # of splines of many programs
def _weights(spline_order: int, knots: tuple[float, ...], s: float, order: int) -> Array:
    weights = np.asarray(_of_units(spline_order, knots).EvalDerivative(s, order), float).ravel()
    weights.flags.writeable = False
    return weights


@functools.lru_cache(maxsize=256)
def _derivative_of_points(spline_order: int, knots: tuple[float, ...], order: int) -> Array:
    derivative: Any = _of_units(spline_order, knots).MakeDerivative(order)
    M = np.hstack(derivative.control_points())
    M.flags.writeable = False
    return M


def _check_column(caller: str, trajectory: BsplineTrajectory) -> None:
    if trajectory.cols() != 1:
        raise ValueError(f"{caller}: trajectory must have one column, got {trajectory.cols()}.")


def _duration_of(caller: str, trajectory: BsplineTrajectory) -> float:
    duration = float(trajectory.end_time()) - float(trajectory.start_time())
    return positive_number(duration, f"{caller}: the duration of trajectory")


class DerivativeBounds(Constraint):
    """Bounds on the control points of a time derivative of one position, which bound it at all times.

        r^(k) - lower T^k >= 0,     r^(k) - upper T^k <= 0                                               (3)

    for the control points of r^(k). As T^k is a factor and no divisor, all is smooth at T = 0, and only T is nonlinear:
    an arm whose program did not end after 3000 iterations with bounds on r^(k) / T^k takes 65 of them.

    The variables are T, and the position's control points, shape [1 + n]. Infinite bounds have no rows.

    Args:
        M: by which these control points become those of the derivative by s, shape [n, m].
        order: k.
        lower, upper: bounds of the derivative by time.
    """

    def __init__(self, M: Array, order: int, lower: float, upper: float, description: str) -> None:
        n, m = M.shape
        kinds = [(lower, 0.0, np.inf)] * bool(np.isfinite(lower)) + [(upper, -np.inf, 0.0)] * bool(np.isfinite(upper))
        self._bounds, low, high = np.repeat(np.array(kinds, float).reshape(-1, 3).T, m, axis=1)
        super().__init__(1 + n, low, high, description)
        self._rows, self._order = np.concatenate([np.zeros((0, n)), *(M.T for _ in kinds)]), order

    @classmethod
    def of_positions(cls, M: Array, order: int, low: Array, high: Array, name: str) -> list[DerivativeBounds]:
        """Those of several positions, with a copy of the first one that is bounded from the same sides for each."""
        result, first = [], {}
        for i, limits in enumerate(zip(low.tolist(), high.tolist())):
            finite = tuple(filter(math.isfinite, limits))
            sides = tuple(map(math.isfinite, limits))
            if sides not in first:
                first[sides] = cls(M, order, *limits, name)
            result += copies_of(first[sides], [f"{name} for position {i}"])
            result[-1]._bounds = np.repeat(finite, M.shape[1])
        return result

    def _eval(self, x: Any) -> Any:
        return self._rows @ x[1:] - self._bounds * x[0] ** self._order

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        values, jacobians = self._stacked(x[np.newaxis])
        return values[0], jacobians[0]

    def _stack_key(self) -> Any:
        return DerivativeBounds, self._order, self._rows.shape, self._rows.tobytes(), self._bounds.tobytes()

    def _stacked(self, x: Array) -> tuple[Array, Array]:
        T, J = x[:, :1], np.empty((len(x), len(self._rows), x.shape[1]))
        J[..., 0], J[..., 1:] = -self._order * self._bounds * T ** (self._order - 1), self._rows
        return x[:, 1:] @ self._rows.T - self._bounds * T**self._order, J

    def _has_curvature(self) -> bool:
        return True

    def _curvature(self, x: Array, weights: Array) -> Array:
        H, k = np.zeros((len(x), x.shape[1], x.shape[1])), self._order
        H[:, 0, 0] = -k * (k - 1) * (weights @ self._bounds) * x[:, 0] ** (k - 2)
        return H


class PointConstraint(Constraint):
    """A constraint on [q, qdot, ...] at one time of a trajectory, as one on its control points.

    The variables are T, if there are derivatives by time, and then the control points, one after the other:
    shape [1 + n * num_positions].

    Args:
        constraint: takes q and as many of its derivatives by time as there are weights of.
        weights: w_kj of (1), shape [1 + greatest k, n].
    """

    def __init__(self, constraint: Constraint, weights: Array, description: str) -> None:
        orders, n = weights.shape
        self._constraint, self._weights = constraint, weights
        self._num_positions = constraint.num_vars() // orders
        num_vars = n * self._num_positions + (orders > 1)
        super().__init__(num_vars, constraint.lower_bound(), constraint.upper_bound(), description)

    def _state(self, x: Any) -> Any:
        """[q, qdot, ...], one row for each order, by (1)."""
        orders, n = self._weights.shape
        first = int(orders > 1)
        points = x[first:].reshape(n, self._num_positions)
        rows = [row @ points for row in self._weights]
        return np.array([row / x[0] ** k if k else row for k, row in enumerate(rows)], dtype=x.dtype)

    def _eval(self, x: Any) -> Any:
        return self._constraint._eval(self._state(x).ravel())

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        state = self._state(x)
        orders, n = self._weights.shape
        value, slopes = self._constraint._value_and_jacobian(state.ravel())
        by_order = slopes.reshape(value.size, orders, self._num_positions)
        scales = np.array([x[0] ** -k if k else 1.0 for k in range(orders)])
        by_points = np.einsum("kj,mki->mji", scales[:, np.newaxis] * self._weights, by_order)  # (2)
        by_points = by_points.reshape(value.size, n * self._num_positions)
        if orders == 1:
            return value, by_points
        by_duration = np.einsum("mki,ki,k->m", by_order, state, -np.arange(orders) / x[0])
        return value, np.column_stack((by_duration, by_points))

    def _has_curvature(self) -> bool:
        return self._constraint._has_curvature()

    def is_thread_safe(self) -> bool:
        """As the constraint."""
        return self._constraint.is_thread_safe()


class EffortConstraint(PostureFunction, Constraint):
    """lower <= M(q) vdot + C(q, v) v - tau_g(q) - tau_app(q, v) <= upper, a function of x = [q, v, vdot].

    tau_app are the forces of springs, dampers and other force elements, and the damping of joints. Derivatives by q, v
    and vdot are those of multibody/algorithms/derivatives.py, in closed form.

    Args:
        plant: finalized, with qdot = v.
        plant_context: of the plant; it is moved.
        lower, upper: generalized forces [N m, N], shape [num_velocities] each.
    """

    def __init__(self, plant: MultibodyPlant, plant_context: Context, lower: Array, upper: Array) -> None:
        self._take(plant, plant_context)
        Constraint.__init__(self, 3 * plant.num_positions(), lower, upper, "efforts")

    def _at(self, x: Array) -> tuple[Array, Array]:
        plant, context = self._plant, self._context
        _, v, vdot = x.reshape(3, -1)
        plant.SetVelocities(context, v)
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        tau = plant.CalcInverseDynamics(context, vdot, forces)
        by = inverse_dynamics_derivatives(plant, context, vdot)
        return tau, np.hstack((by.dtau_dq, by.dtau_dv, by.M))
