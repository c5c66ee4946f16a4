"""Programs over points of a set: some point of it, the farthest in a direction, the nearest to a point.

The smallest flat around a set: all affine combinations of its points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.kinds import SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.choose import Solve
from merganser.framework.optimization.solvers.clarabel_solver import ClarabelSolver
from merganser.framework.optimization.solvers.solver_options import SolverOptions
from merganser.geometry.optimization.sets import set_programs
from merganser.geometry.optimization.sets.arguments import Array
from merganser.geometry.optimization.sets.placement import Placement

if TYPE_CHECKING:
    from merganser.geometry.optimization.sets.convex_set import ConvexSet


_NOT_SOLVED = (SolutionResult.kSolverSpecificError, SolutionResult.kIterationLimit)
_UNBOUNDED = (SolutionResult.kUnbounded, SolutionResult.kDualInfeasible, SolutionResult.kInfeasibleOrUnbounded)
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
_NEAR = 1e-2  # where a square loses more digits than a length


class Extreme(NamedTuple):
    """How far a set goes in a direction.

    Attributes:
        value: the greatest direction'x; infinity if it is unbounded, -infinity if the set is empty.
        point: where it is, shape [n]; None if unknown.
    """

    value: float
    point: Array | None


def start(set: ConvexSet) -> tuple[MathematicalProgram, Objects]:
    """A program and its variables x, shape [n], in a set of dimension n > 0."""
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(set.ambient_dimension(), "x")
    set.AddPointInSetConstraints(prog, x)
    return prog, x


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


def feasible_point(set: ConvexSet, where: str, *others: ConvexSet) -> Array | None:
    """A point that is in a set and in others of the same dimension n > 0, shape [n]; None if they have no common point.

    Raises:
        RuntimeError: the solver did not converge.
    """
    prog, x = start(set)
    for other in others:
        other.AddPointInSetConstraints(prog, x)
    result = solved(prog)
    if result.is_success():
        return np.asarray(result.GetSolution(x))
    if result.get_solution_result() is SolutionResult.kInfeasibleConstraints:
        return None
    raise failure(where, result)


def meet_moved(set: ConvexSet, other: ConvexSet, offset: Array, where: str) -> bool:
    """Whether a set, moved by an offset, and another one have a point in common.

    Raises:
        RuntimeError: the solver did not converge.
    """
    prog, x = start(set)
    n = offset.size
    other._add(prog, Placement(np.eye(n), offset, np.zeros(n), 1.0, x))
    result = solved(prog)
    if result.is_success() or result.get_solution_result() is SolutionResult.kInfeasibleConstraints:
        return bool(result.is_success())
    raise failure(where, result)


def extremes(set: ConvexSet, directions: Iterable[Array], where: str) -> Iterator[Extreme]:
    """The greatest direction'x of the points x of a set, of one direction after the other.

    Raises:
        RuntimeError: the solver did not converge.
    """
    prog, x = start(set)
    cost = prog.AddLinearCost(np.zeros(x.size), x).evaluator()
    for direction in directions:
        cost.UpdateCoefficients(-direction)
        result = solved(prog)
        kind = result.get_solution_result()
        if result.is_success():
            yield Extreme(-float(result.get_optimal_cost()), np.asarray(result.GetSolution(x)))
        elif kind is SolutionResult.kInfeasibleConstraints:
            yield Extreme(-np.inf, None)
        elif kind in _UNBOUNDED or _has_ray(set, direction):  # which keeps some solvers from an end
            yield Extreme(-np.inf if set.IsEmpty() else np.inf, None)
        else:
            raise failure(where, result)


def _has_ray(set: ConvexSet, direction: Array) -> bool:
    """Whether there is an x in the recession cone of a set with direction'x > 0, as far as the solver can resolve."""
    prog = MathematicalProgram()
    n = direction.size
    x = prog.NewContinuousVariables(n, "x")
    set._add(prog, Placement(np.eye(n), np.zeros(n), np.zeros(n), 0.0, x))
    prog.AddBoundingBoxConstraint(-1.0, 1.0, x)
    prog.AddLinearCost(-direction, x)
    result = solved(prog)
    return bool(result.is_success()) and -result.get_optimal_cost() > 1e-3 * float(np.abs(direction).max())


def distance_to(set: ConvexSet, point: Array, where: str) -> float:
    """The least |x - point| of points x of a set, where |.| is the greatest absolute entry; infinity if it is empty.

    Raises:
        RuntimeError: the solver did not converge.
    """
    prog, x = start(set)
    n = point.size
    e = prog.NewContinuousVariables(1, "e")
    both = np.concatenate((x, e))
    ones, least = np.ones((n, 1)), np.full(n, -np.inf)
    # x - e <= point, -x - e <= -point
    prog.AddLinearConstraint(np.hstack((np.eye(n), -ones)), least, point, both)
    prog.AddLinearConstraint(np.hstack((-np.eye(n), -ones)), least, -point, both)
    prog.AddLinearCost(np.ones(1), e)
    result = solved(prog)
    if result.is_success():
        return float(np.abs(np.asarray(result.GetSolution(x)) - point).max())
    if result.get_solution_result() is SolutionResult.kInfeasibleConstraints:
        return float(np.inf)
    raise failure(where, result)


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
    prog, x = start(set)
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
    prog, x = set_programs.start(set)
    n = x.size
    y = prog.NewContinuousVariables(n, "y")
    set.AddPointInSetConstraints(prog, y)
    both = np.concatenate((x, y))
    minus = np.hstack((np.eye(n), -np.eye(n)))
    prog.AddLinearConstraint(minus, -np.ones(n), np.ones(n), both)
    if basis.shape[1]:
        prog.AddLinearEqualityConstraint(basis.T @ minus, np.zeros(basis.shape[1]), both)
    prog.AddLinearCost(-minus[axis], both)
    result = set_programs.solved(prog)
    if not result.is_success():
        raise set_programs.failure(where, result)
    return np.asarray(result.GetSolution(x) - result.GetSolution(y))
