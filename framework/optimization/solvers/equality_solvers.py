"""Programs that linear algebra solves: linear equations, and quadratic costs with linear equations."""

from __future__ import annotations

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.forms.quadratic_form import LinearRows, QuadraticCosts
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.judgement import keeps_constraints
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_A = ProgramAttribute


def _least_squares(E: Array, e: Array) -> tuple[Array, Array]:
    """The shortest x with the least |E x - e|, and a basis of the null space of E in columns."""
    n = E.shape[1]
    if not E.size:
        return np.zeros(n), np.eye(n)
    left, values, right = np.linalg.svd(E)
    rank = int((values > max(E.shape) * np.finfo(float).eps * values.max(initial=0.0)).sum())
    x = right[:rank].T @ ((left[:, :rank].T @ e) / values[:rank])
    return x, right[rank:].T


def _with_rows_of_one(E: Array, e: Array) -> tuple[Array, Array]:
    """The same equations, each divided by its largest coefficient: the rank does not depend on units of rows."""
    sizes = np.abs(E).max(axis=1, initial=0.0)
    sizes[sizes == 0.0] = 1.0
    return E / sizes[:, np.newaxis], e / sizes


class LinearSystemSolver(SolverInterface):
    """Linear equations: the shortest solution; if inconsistent, the shortest with the least sum of squared errors."""

    NAME = "Linear system"
    PRIORITY = 10
    TAKES = frozenset({_A.kLinearEqualityConstraint})

    def suits(self, prog: MathematicalProgram) -> bool:
        """Not for a program of nothing, which is one of a cost of 0."""
        return bool(prog._bindings["linear_equality_constraints"])

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        rows = LinearRows.of(prog, "linear_equality_constraints")
        E, e = rows.dense(), rows.lower
        x, _ = _least_squares(*_with_rows_of_one(E, e))
        if keeps_constraints(prog, x):
            return Outcome(SolutionResult.kSolutionFound, x, is_judged=True)
        return Outcome(SolutionResult.kInfeasibleConstraints, _least_squares(E, e)[0])


class EqualityConstrainedQPSolver(SolverInterface):
    """Quadratic costs with linear equations, by the null space of these (Nocedal and Wright 2006, section 16.2)."""

    NAME = "EqConstrainedQP"
    PRIORITY = 20
    TAKES = frozenset({_A.kLinearCost, _A.kQuadraticCost, _A.kLinearEqualityConstraint})

    def _objection(self, prog: MathematicalProgram) -> str:
        for binding in prog.quadratic_costs():
            if not prog.linear_equality_constraints() and not binding.evaluator().is_convex():
                return f"{binding.brief()} is not convex"
        return ""

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        rows, costs = LinearRows.of(prog, "linear_equality_constraints"), QuadraticCosts.of(prog)
        E, e, Q, c, n = rows.dense(), rows.lower, costs.hessian(), costs.f, prog.num_vars()
        x, Z = _least_squares(*_with_rows_of_one(E, e))
        if not keeps_constraints(prog, x):
            return Outcome(SolutionResult.kInfeasibleConstraints, _least_squares(E, e)[0])
        # x + Z y with Z'QZ y = -Z'(Q x + c)
        values, vectors = np.linalg.eigh(Z.T @ Q @ Z)
        slope = vectors.T @ (Z.T @ (Q @ x + c))
        margin = 1e-11 * max(float(np.abs(Q).max(initial=0.0)), np.finfo(float).tiny) * max(n, 1)
        curved = values > margin
        largest = [float(np.abs(each).max(initial=0.0)) for each in (c, Q, x)]
        scale = largest[0] + largest[1] * largest[2]
        if (values < -margin).any() or (np.abs(slope[~curved]) > 1e-9 * scale).any():
            return Outcome(SolutionResult.kUnbounded, np.full(n, np.nan))
        x = x - Z @ (vectors[:, curved] @ (slope[curved] / values[curved]))
        # the gradient is a combination of the equations: Q x + c = E'price
        price = np.linalg.lstsq(E.T, Q @ x + c, rcond=None)[0] if E.size else np.zeros(e.size)
        return Outcome(SolutionResult.kSolutionFound, x, None, rows.by_binding(price), is_judged=True)
