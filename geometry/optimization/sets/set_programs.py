"""Programs over points of a set: some point of it, the farthest in a direction, the nearest to a point.

The smallest flat around a set: all affine combinations of its points.

Nearest points of polytopes, without a program: by DAQP, or by least squares with weights of at least 0.

Source of the latter: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from merganser.framework.optimization.forms.dense_programs import SETTINGS, DenseProgram
from merganser.framework.optimization.forms.scales import has_rows_and_columns_of_one
from merganser.framework.optimization.kinds import SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.choose import Solve
from merganser.framework.optimization.solvers.clarabel_solver import ClarabelSolver
from merganser.framework.optimization.solvers.daqp_solver import SMALL
from merganser.framework.optimization.solvers.solver import is_installed
from merganser.framework.optimization.solvers.solver_options import SolverOptions
from merganser.geometry.optimization.sets.arguments import Array
from merganser.geometry.optimization.sets.placement import Placement, Recorder

if TYPE_CHECKING:
    from merganser.geometry.optimization.sets.convex_set import ConvexSet


_NOT_SOLVED = (SolutionResult.kSolverSpecificError, SolutionResult.kIterationLimit)
UNBOUNDED = (SolutionResult.kUnbounded, SolutionResult.kDualInfeasible, SolutionResult.kInfeasibleOrUnbounded)
# Tighter than a cost alone needs, for points: near a least square their error is the root of that of the cost. Where
# rounding stops the solver before, what it has counts if it is as good as by default; else less is asked for.
_TIGHT = [
    SolverOptions(
        options={
            ClarabelSolver.NAME: {
                **dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance),
                **dict.fromkeys(("reduced_tol_gap_abs", "reduced_tol_gap_rel", "reduced_tol_feas"), 1e-8),
            }
        }
    )
    for tolerance in (1e-12, 1e-10)
]
_OUTSIDE = 1e-8  # of rows, where what DAQP finds counts
_NEAR = 1e-2  # where a square loses more digits than a length


class Extreme(NamedTuple):
    """How far a set goes in a direction.

    Attributes:
        value: the greatest direction'x; infinity if it is unbounded, -infinity if the set is empty.
        point: where it is, shape [n]; None if unknown.
    """

    value: float
    point: Array | None


def solved(prog: MathematicalProgram) -> Any:
    """The result of a program, as exact as can be had."""
    for options in _TIGHT:
        result = Solve(prog, None, options)
        if result.get_solution_result() not in _NOT_SOLVED:
            return result
    return Solve(prog)


def failure(where: str, result: Any) -> RuntimeError:
    """What is to be raised where a solver came to no end."""
    return RuntimeError(
        f"{where}: {result.get_solver_id().name()} ended with {result.get_solution_result().name} "
        f"({result.get_solver_details()})."
    )


class Least(NamedTuple):
    """The least cost that a solver found: how it ended, the cost, the variables, and what it says of itself."""

    result: SolutionResult
    cost: float
    x: Array
    said: str = "DAQP"

    def is_found(self, where: str) -> bool:
        """Whether there is a solution.

        Raises:
            RuntimeError: the solver did not converge.
        """
        if self.result in (SolutionResult.kSolutionFound, SolutionResult.kInfeasibleConstraints):
            return self.result is SolutionResult.kSolutionFound
        raise RuntimeError(f"{where}: {self.said} ended with {self.result.name}.")


class Points:
    """Some variables with constraints that sets add, and the least of one linear cost after the other.

    What is linear becomes arrays for DAQP, a tenth of the time of a program; where there are cones, or DAQP does not
    prove what it says, it becomes a MathematicalProgram.

    Args:
        num: the number of variables.
        add: adds constraints to a program, or to what records them, of these variables.
    """

    def __init__(self, num: int, add: Callable[[Any, Any], object]) -> None:
        self._num, self._add, recorder = num, add, Recorder()
        self._prog: MathematicalProgram | None = None
        self._rows: LinearProgram | None = None
        try:
            add(recorder, recorder.NewContinuousVariables(num))
        except (AttributeError, TypeError):  # of a user's set, which adds formulas
            return
        if not recorder.cones:
            self._rows = LinearProgram(*recorder.linear())

    @staticmethod
    def of(*sets: ConvexSet) -> Points:
        """A point that is in sets of one dimension n > 0."""

        def add(prog: Any, x: Any) -> None:
            for each in sets:
                _add_point(each, prog, x)

        return Points(sets[0].ambient_dimension(), add)

    def least(self, cost: Array | None = None) -> Least:
        """The least cost'x, or some x without a cost."""
        if self._rows is not None:
            costs = np.zeros(self._rows.A.shape[1])
            if cost is not None:
                costs[: self._num] = cost
            return self._rows.least(costs)
        if self._prog is None:
            self._prog = MathematicalProgram()
            self._x = self._prog.NewContinuousVariables(self._num, "x")
            self._add(self._prog, self._x)
            self._cost: Any = None
        if cost is not None and self._cost is None:
            self._cost = self._prog.AddLinearCost(cost, self._x).evaluator()
        elif cost is not None:
            self._cost.UpdateCoefficients(cost)
        return _least(self._prog, solved(self._prog))


def _add_point(set: ConvexSet, prog: Any, x: Any) -> None:
    set._add(prog, Placement.of_point(x))


def _least(prog: MathematicalProgram, result: Any) -> Least:
    said = f"{result.get_solver_id().name()} ({result.get_solver_details()})"
    return Least(result.get_solution_result(), result.get_optimal_cost(), result.get_x_val(), said)


def is_small(A: Array) -> bool:
    """Whether DAQP may be asked about rows A x."""
    m, n = A.shape
    return n * (n + m) <= SMALL and is_installed("daqp") and has_rows_and_columns_of_one(A)


class LinearProgram:
    """min c'x so that lower <= A x <= upper, low <= x <= high, for one c after the other."""

    def __init__(
        self, A: Array, lower: Array, upper: Array, low: Array | None = None, high: Array | None = None
    ) -> None:  # fmt: skip
        m, n = A.shape
        self.A, self.bounds = A, np.full((2, n + m), ((-np.inf,), (np.inf,)))
        self.bounds[0, n:], self.bounds[1, n:] = lower, upper
        if low is not None and high is not None:
            self.bounds[0, :n], self.bounds[1, :n] = low, high
        self._is_small = is_small(A)

    def least(self, cost: Array) -> Least:
        """The least cost'x; some x, if the cost is 0."""
        A, n, (lower, upper) = self.A, cost.size, self.bounds
        if self._is_small:
            answer = DenseProgram(None, cost, A, lower, upper).solve()
            if answer.result is SolutionResult.kInfeasibleConstraints or (
                answer.result is SolutionResult.kSolutionFound and answer.distance.min(initial=0.0) >= -_OUTSIDE
            ):
                return Least(answer.result, answer.cost, answer.x)
        prog = MathematicalProgram()
        x = prog.NewContinuousVariables(n, "x")
        prog.AddBoundingBoxConstraint(lower[:n], upper[:n], x)
        if len(A):
            prog.AddLinearConstraint(A, lower[n:], upper[n:], x)
        if cost.any():
            prog.AddLinearCost(cost, x)
        return _least(prog, solved(prog))


def feasible_point(set: ConvexSet, where: str, *others: ConvexSet) -> Array | None:
    """A point that is in a set and in others of the same dimension n > 0, shape [n]; None if they have no common point.

    Raises:
        RuntimeError: the solver did not converge.
    """
    found = Points.of(set, *others).least()
    return found.x[: set.ambient_dimension()] if found.is_found(where) else None


def meet_moved(set: ConvexSet, other: ConvexSet, offset: Array, where: str) -> bool:
    """Whether a set, moved by an offset, and another one have a point in common.

    Raises:
        RuntimeError: the solver did not converge.
    """
    n = offset.size

    def add(prog: Any, x: Any) -> None:
        _add_point(set, prog, x)
        other._add(prog, Placement(np.eye(n), offset, np.zeros(n), 1.0, x))

    return Points(n, add).least().is_found(where)


def extremes(set: ConvexSet, directions: Iterable[Array], where: str) -> Iterator[Extreme]:
    """The greatest direction'x of the points x of a set, of one direction after the other.

    Raises:
        RuntimeError: the solver did not converge.
    """
    points, n = Points.of(set), set.ambient_dimension()
    for direction in directions:
        found = points.least(-direction)
        if found.result is SolutionResult.kSolutionFound:
            yield Extreme(-found.cost, found.x[:n])
        elif found.result is SolutionResult.kInfeasibleConstraints:
            yield Extreme(-np.inf, None)
        elif found.result in UNBOUNDED or _has_ray(set, direction):  # which keeps some solvers from an end
            yield Extreme(-np.inf if set.IsEmpty() else np.inf, None)
        else:
            found.is_found(where)


def _has_ray(set: ConvexSet, direction: Array) -> bool:
    """Whether there is an x in the recession cone of a set with direction'x > 0, as far as the solver can resolve."""
    n = direction.size

    def add(prog: Any, x: Any) -> None:
        set._add(prog, Placement(np.eye(n), np.zeros(n), np.zeros(n), 0.0, x))
        prog.AddBoundingBoxConstraint(-1.0, 1.0, x)

    found = Points(n, add).least(-direction)
    return found.result is SolutionResult.kSolutionFound and -found.cost > 1e-3 * float(np.abs(direction).max())


def distance_to(set: ConvexSet, point: Array, where: str) -> float:
    """The least |x - point| of points x of a set, where |.| is the greatest absolute entry; infinity if it is empty.

    Raises:
        RuntimeError: the solver did not converge.
    """
    n = point.size
    ones, least = np.ones((n, 1)), np.full(n, -np.inf)

    def add(prog: Any, both: Any) -> None:  # x - e <= point, -x - e <= -point
        _add_point(set, prog, both[:n])
        prog.AddLinearConstraint(np.hstack((np.eye(n), -ones)), least, point, both)
        prog.AddLinearConstraint(np.hstack((-np.eye(n), -ones)), least, -point, both)

    found = Points(n + 1, add).least(np.eye(n + 1)[n])
    return float(np.abs(found.x[:n] - point).max()) if found.is_found(where) else float(np.inf)


def nearest_point(set: ConvexSet, W: Array, target: Array, where: str) -> Array | None:
    """The point x of a set with the least |W (x - target)|, shape [n]; None if the set is empty.

    Raises:
        RuntimeError: the solver did not converge.
    """
    result, point = _nearest(set, W, target, squared=True)
    if point is not None and np.linalg.norm(W @ (point - target)) < _NEAR:
        closer = _nearest(set, W, target, squared=False)[1]
        point = point if closer is None else closer
    if point is None and result.get_solution_result() is not SolutionResult.kInfeasibleConstraints:
        point = _nearest(set, W, target, squared=False)[1]
        if point is None:
            raise failure(where, result)
    return point


def _nearest(set: ConvexSet, W: Array, target: Array, squared: bool) -> tuple[Any, Array | None]:
    """The result of a program for the nearest point, and that, if there is one.

    A square is flat near 0, and a length has a corner there, and less curvature far away.
    """
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(set.ambient_dimension(), "x")
    _add_point(set, prog, x)
    if squared:
        prog.Add2NormSquaredCost(W, W @ target, x)
    else:
        prog.AddL2NormCost(W, -W @ target, x)
    result = solved(prog)
    return result, np.asarray(result.GetSolution(x)) if result.is_success() else None


class Flat(NamedTuple):
    """The points translation + basis y.

    Attributes:
        basis: orthonormal columns, shape [n, m].
        translation: one of the points, shape [n].
    """

    basis: Array
    translation: Array

    def local(self, points: Array) -> Array:
        """Coordinates y of points that are in the flat, shape [m, num_points]."""
        return np.asarray(self.basis.T @ (points - self.translation[:, np.newaxis]))

    def ambient(self, y: Array) -> Array:
        """Points of coordinates y, shape [n, num_points]."""
        return np.asarray(self.basis @ y + self.translation[:, np.newaxis])


def span_of(vectors: Array, tol: float | None = None) -> Array:
    """An orthonormal basis of what columns span, shape [n, rank]; the axes, if that is the whole space.

    Args:
        vectors: shape [n, m].
        tol: singular values up to tol times the greatest count as 0; by default max(n, m) times the rounding of 1.
    """
    n, m = vectors.shape
    if not m or not n:
        return np.zeros((n, 0))
    U, sizes, _ = np.linalg.svd(vectors, full_matrices=False)
    margin = max(n, m) * float(np.finfo(float).eps) if tol is None else tol
    rank = int((sizes > margin * sizes[0]).sum())
    return np.eye(n) if rank == n else np.asarray(U[:, :rank])


def complement_of(basis: Array) -> Array:
    """An orthonormal basis of the vectors that are orthogonal to m independent columns, shape [n, n - m]."""
    n, m = basis.shape
    if not m or not n:
        return np.eye(n)
    U, _, _ = np.linalg.svd(basis, full_matrices=True)
    return np.asarray(U[:, m:])


def affine_hull_by_programs(set: ConvexSet, tol: float) -> Flat:
    """The affine hull of a set that is not empty, direction by direction.

    For each axis i the two points x, y of the set are found whose difference is the longest along it, among those with
    differences orthogonal to the directions that are known:

        max (x - y)_i  so that  B'(x - y) = 0,  -1 <= x - y <= 1

    A difference longer than tol is a new direction. The bounds keep programs of unbounded sets bounded; 0 is among the
    differences, so that shorter ones of the same direction are too.

    Raises:
        RuntimeError: the set is empty, or the solver did not converge.
    """
    where = "AffineSubspace"
    n = set.ambient_dimension()
    translation = set.MaybeGetFeasiblePoint()
    if translation is None:
        raise RuntimeError(f"{where}: expected a set that is not empty; this {type(set).__name__} is.")
    basis = np.zeros((n, 0))
    for i in range(n):
        while basis.shape[1] < n:
            difference = _longest_difference(set, basis, i, where)
            if difference[i] <= tol:
                break
            rest = difference - basis @ (basis.T @ difference)
            rest -= basis @ (basis.T @ rest)  # twice, against rounding
            basis = np.column_stack((basis, rest / np.linalg.norm(rest)))
    return Flat(basis, translation)


def _longest_difference(set: ConvexSet, basis: Array, axis: int, where: str) -> Array:
    n = set.ambient_dimension()
    minus = np.hstack((np.eye(n), -np.eye(n)))

    def add(prog: Any, both: Any) -> None:
        _add_point(set, prog, both[:n])
        _add_point(set, prog, both[n:])
        prog.AddLinearConstraint(minus, -np.ones(n), np.ones(n), both)
        if basis.shape[1]:
            prog.AddLinearEqualityConstraint(basis.T @ minus, np.zeros(basis.shape[1]), both)

    found = Points(2 * n, add).least(-minus[axis])
    if not found.is_found(where):
        raise RuntimeError(f"{where}: {found.said} found no points of a {type(set).__name__}.")
    return minus @ found.x[: 2 * n]


_EXACT = 1e-10  # relative error that is allowed
_SETTINGS = {**SETTINGS, "primal_tol": 1e-12}


def nearest_in_hull(V: Array, W: Array, target: Array) -> Array | None:
    """The point x of the hull of the columns of V, shape [n, m], with the least |W (x - target)|; None if in doubt.

    With P = W (V - target) / s, the least |P u|^2 + (1'u - 1)^2, u >= 0, is at a multiple of the weights of x: along
    u = t w, 1'w = 1, it is t^2 |P w|^2 + (t - 1)^2, which for every t is the less the shorter P w is.
    """
    if not V.shape[1]:
        return None
    P = W @ (V - target[:, np.newaxis])
    size = float(np.abs(P).max(initial=0.0))
    u = _multipliers(np.vstack((P / (size or 1.0), np.ones(V.shape[1]))))
    if u is None or not u.sum() > 0.0:
        return None
    w = u / u.sum()
    y = P @ w
    # it is the nearest if no vertex is nearer in its direction: y'(P_j - y) >= 0
    is_nearest = float((y @ P).min()) >= float(y @ y) - _EXACT * size * size
    return np.asarray(V @ w) if is_nearest else None


def nearest_in_half_spaces(A: Array, b: Array, W: Array, target: Array) -> Array | None:
    """The point x with A x <= b and the least |W (x - target)|, shape [n]; None if in doubt, or if it does not exist.

    It is found as the shortest y = W (x - target) / s.
    """
    if W.shape[0] != W.shape[1] or not b.size or not is_small(A):
        return None
    limits = b - A @ target
    size = -float(limits.min())
    if size <= 0.0:
        return target.copy()
    try:
        back = np.linalg.inv(W)
    except np.linalg.LinAlgError:
        return None
    n = target.size
    upper = np.concatenate((np.full(n, np.inf), limits / size))
    rows = A @ back
    answer = DenseProgram(np.eye(n), np.zeros(n), rows, np.full(upper.size, -np.inf), upper).solve(None, _SETTINGS)
    is_found = answer.result is SolutionResult.kSolutionFound
    if not is_found or answer.distance.min() < -_EXACT * max(1.0, float(np.abs(rows).max())):
        return None
    return target + size * (back @ answer.x)


def _multipliers(E: Array) -> Array | None:
    """The u >= 0 with the least |E u - (0, ..., 0, 1)|; None if the search did not converge."""
    from scipy.optimize import nnls

    goal = np.zeros(E.shape[0])
    goal[-1] = 1.0
    try:
        return np.asarray(nnls(E, goal)[0])
    except RuntimeError:
        return None
