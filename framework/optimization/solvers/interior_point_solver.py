"""Sparse nonlinear programs by the interior-point method of `interior_point/`."""

from __future__ import annotations

__all__ = ["InteriorPointSolver", "InteriorPointSolverDetails"]

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.interior_point import NonlinearProblem, Settings, Status, solve
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.nonlinear_form import NonlinearForm, Remembered
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_RESULTS = {
    Status.SOLVED: SolutionResult.kSolutionFound,
    Status.ACCEPTABLE: SolutionResult.kSolutionFound,
    Status.INFEASIBLE: SolutionResult.kInfeasibleConstraints,
    Status.UNBOUNDED: SolutionResult.kUnbounded,
    Status.ITERATION_LIMIT: SolutionResult.kIterationLimit,
}


@dataclass(eq=False)
class InteriorPointSolverDetails:
    """What the solver tells: how it ended, its iterations, and what is left of the optimality conditions."""

    status: str
    iterations: int
    violation: float
    dual_residual: float
    complementarity: float


class InteriorPointSolver(SolverInterface):
    """Nonlinear programs with many variables, each constraint on few of them.

    Second derivatives are approximated (limited-memory BFGS). Options: those of `interior_point.Settings`, which have
    IPOPT's names.
    """

    NAME = "InteriorPoint"
    TAKES = frozenset(ProgramAttribute) - {ProgramAttribute.kBinaryVariable}

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        form = NonlinearForm(prog)
        given: dict[str, Any] = dict(options.of(self.NAME))
        names = {each.name for each in fields(Settings)}
        unknown = sorted(set(given) - names)
        if unknown:
            there = ", ".join(sorted(names))
            raise ValueError(f"InteriorPointSolver: there is no option {unknown[0]!r}; there are {there}.")
        start = np.clip(guess / form.scale, form.x_lower, form.x_upper)
        found = solve(_problem(form, start), start, Settings(**given))
        result = _RESULTS.get(found.status, SolutionResult.kSolverSpecificError)
        of_box = found.x_lower_multipliers - found.x_upper_multipliers
        duals = form.duals(-found.g_multipliers, of_box) if result is SolutionResult.kSolutionFound else {}
        details = InteriorPointSolverDetails(
            found.status.value, found.iterations, found.violation, found.dual_residual, found.complementarity
        )
        return Outcome(result, found.x * form.scale, details, duals)


def _problem(form: NonlinearForm, start: Array) -> NonlinearProblem:
    """The program as functions with the places of the Jacobian's entries, which are found at the start."""
    pattern = form.sparse_jacobian(form.constraints(start)[1])
    rows = np.concatenate([np.zeros(0, np.int64), *map(np.ravel, pattern.rows)])
    columns = np.concatenate([np.zeros(0, np.int64), *map(np.ravel, pattern.columns)])

    # A point that is accepted is differentiated after it was evaluated, and both come from one call.
    cost, constraints = Remembered(form.cost), Remembered(form.constraints)

    def gradient(x: Array) -> Array:  # of points that are accepted
        form.show(x)
        return np.asarray(cost(x)[1])

    def jacobian(x: Array) -> Array:  # of points that are accepted
        if not form.has_cost:
            form.show(x)
        return np.concatenate([np.zeros(0), *map(np.ravel, form.sparse_jacobian(constraints(x)[1]).values)])

    f = (lambda x: cost(x)[0]) if form.has_cost else None
    return NonlinearProblem(
        form.x_lower, form.x_upper, f, gradient, form.g_lower, form.g_upper,
        lambda x: constraints(x)[0], jacobian, rows, columns,
    )  # fmt: skip
