"""Programs that linear algebra solves: linear equations, and quadratic costs with linear equations."""

from __future__ import annotations

__all__ = ["EqualityConstrainedQPSolver", "LinearSystemSolver"]

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.linear_rows import LinearRows
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_A = ProgramAttribute


def _equations(prog: MathematicalProgram) -> tuple[LinearRows, Array, Array]:
    rows = LinearRows()
    for binding in prog.linear_equality_constraints():
        rows.add(binding, prog._places_of(binding._variables))
    return rows, rows.equations.csc((rows.num_equations, prog.num_vars())).toarray(), rows.right()


def _least_squares(E: Array, e: Array) -> tuple[Array, bool, Array]:
    """The shortest x with the least |E x - e|, whether E x = e, and a basis of the null space of E in columns."""
    n = E.shape[1]
    if not E.size:
        return np.zeros(n), bool((np.abs(e) == 0.0).all()), np.eye(n)
    left, values, right = np.linalg.svd(E)
    rank = int((values > max(E.shape) * np.finfo(float).eps * values.max(initial=0.0)).sum())
    x = right[:rank].T @ ((left[:, :rank].T @ e) / values[:rank])
    scale = max(1.0, float(np.abs(e).max(initial=0.0)), float(np.abs(E).max(initial=0.0) * np.abs(x).max(initial=0.0)))
    return x, bool(np.abs(E @ x - e).max(initial=0.0) <= 1e-9 * scale), right[rank:].T


class LinearSystemSolver(SolverInterface):
    """Linear equations: the shortest solution; if there is none, the shortest with the least sum of squared errors."""

    NAME = "Linear system"
    TAKES = frozenset({_A.kLinearEqualityConstraint})

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        _, E, e = _equations(prog)
        x, holds, _ = _least_squares(E, e)
        return Outcome(SolutionResult.kSolutionFound if holds else SolutionResult.kInfeasibleConstraints, x)


class EqualityConstrainedQPSolver(SolverInterface):
    """Quadratic costs with linear equations, by the null space of these (Nocedal and Wright 2006, section 16.2)."""

    NAME = "EqConstrainedQP"
    TAKES = frozenset({_A.kLinearCost, _A.kQuadraticCost, _A.kLinearEqualityConstraint})

    def _objection(self, prog: MathematicalProgram) -> str:
        for binding in prog.quadratic_costs():
            if not prog.linear_equality_constraints() and not binding.evaluator().is_convex():
                return f"{binding.brief()} is not convex"
        return ""

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        rows, E, e = _equations(prog)
        n = prog.num_vars()
        Q, c = np.zeros((n, n)), np.zeros(n)
        for binding in prog.quadratic_costs():
            places, cost = prog._places_of(binding._variables), binding.evaluator()
            cost.check_convexity()
            np.add.at(Q, (places[:, np.newaxis], places), cost._Q)
            np.add.at(c, places, cost._b)
        for binding in prog.linear_costs():
            np.add.at(c, prog._places_of(binding._variables), binding.evaluator()._a)
        x, holds, Z = _least_squares(E, e)
        if not holds:
            return Outcome(SolutionResult.kInfeasibleConstraints, x)
        # x + Z y with Z'QZ y = -Z'(Q x + c)
        values, vectors = np.linalg.eigh(Z.T @ Q @ Z)
        slope = vectors.T @ (Z.T @ (Q @ x + c))
        margin = 1e-11 * max(float(np.abs(Q).max(initial=0.0)), np.finfo(float).tiny) * max(n, 1)
        curved = values > margin
        scale = max(1.0, float(np.abs(c).max(initial=0.0)))
        if (values < -margin).any() or (np.abs(slope[~curved]) > 1e-9 * scale).any():
            return Outcome(SolutionResult.kUnbounded, np.full(n, np.nan))
        x = x - Z @ (vectors[:, curved] @ (slope[curved] / values[curved]))
        # the gradient is a combination of the equations: Q x + c = E'price
        price = np.linalg.lstsq(E.T, Q @ x + c, rcond=None)[0] if E.size else np.zeros(e.size)
        return Outcome(SolutionResult.kSolutionFound, x, None, rows.duals(price, np.zeros(0)))
