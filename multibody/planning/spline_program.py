"""The variables of a KinematicTrajectoryOptimization, and trajectories as their values."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.arguments import bind_overload, checked_size, require_types
from merganser.framework.math import BsplineBasis
from merganser.framework.optimization import Binding, MathematicalProgram, MathematicalProgramResult
from merganser.framework.trajectories import BsplineTrajectory
from merganser.multibody.planning.limits import positive_number

__all__ = ["SplineProgram"]

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
        from merganser.framework.symbolic import MakeVectorContinuousVariable  # takes 0.3 s to import

        self._basis, self._prog = basis, MathematicalProgram()
        count = basis.num_basis_functions()
        self._points: Objects = self._prog.NewContinuousVariables(num_positions, count, "control_point")
        self._duration = self._prog.NewContinuousVariables(1, "duration")[0]
        self._unit = BsplineTrajectory(basis, np.eye(count))  # value i is weight i of the control points
        self._placeholders = [MakeVectorContinuousVariable(num_positions, each) for each in ("q", "qdot", "qddot")]
        self._described(self._prog.AddBoundingBoxConstraint(0.0, np.inf, self._duration), "duration is not negative")
        self._prog.SetInitialGuess(self._points, np.zeros(self._points.shape))
        self._prog.SetInitialGuess(self._duration, duration)

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
        """Returns variables that stand for q; they are not in the program."""
        return self._placeholders[0].copy()

    def qdot(self) -> Objects:
        """Returns variables that stand for qdot, for AddVelocityConstraintAtNormalizedTime()."""
        return self._placeholders[1].copy()

    def qddot(self) -> Objects:
        """Returns variables that stand for qddot; they are not in the program."""
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
        else:  # at the means of the knots of each control point, where a spline is well told by its values
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
        return np.asarray(self._unit.EvalDerivative(s, order), float).ravel()

    def _described(self, binding: Binding, description: str) -> Binding:
        binding.evaluator().set_description(description)
        return binding


def _check_column(caller: str, trajectory: BsplineTrajectory) -> None:
    if trajectory.cols() != 1:
        raise ValueError(f"{caller}: trajectory must have one column, got {trajectory.cols()}.")


def _duration_of(caller: str, trajectory: BsplineTrajectory) -> float:
    duration = float(trajectory.end_time()) - float(trajectory.start_time())
    return positive_number(duration, f"{caller}: the duration of trajectory")
