"""Linear programs, with integer variables or without, by HiGHS (Huangfu and Hall 2018), which scipy brings."""

from __future__ import annotations

__all__ = ["HighsSolver", "HighsSolverDetails"]

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import CommonSolverOption, ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.interruptible import interruptible
from merganser.framework.optimization.solvers.linear_rows import LinearRows
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface, is_solution
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_A = ProgramAttribute
_LARGE = 10_000  # variables and entries; programs without integers that are smaller take less than 50 ms


@dataclass(eq=False)
class HighsSolverDetails:
    """What HiGHS tells: its status as a number and as text, and iterations."""

    status: int
    message: str
    iterations: int


class MixedIntegerForm:
    """Minimize c'x so that E x = e, G x <= h, lower <= x <= upper, and some x are integers."""

    def __init__(self, prog: MathematicalProgram) -> None:
        n = prog.num_vars()
        self._prog = prog
        self.c = np.zeros(n)
        for binding in prog.linear_costs():
            np.add.at(self.c, prog._places_of(binding._variables), binding.evaluator()._a)
        self.rows = LinearRows()
        for binding in prog.linear_constraints() + prog.linear_equality_constraints():
            self.rows.add(binding, prog._places_of(binding._variables))
        kinds = [variable.get_type().name for variable in prog._variables]
        self.integrality = np.array([kind in ("BINARY", "INTEGER") for kind in kinds], dtype=np.uint8)
        self.lower, self.upper = box_of(prog)

    def duals(
        self, of_equations: Array, of_inequalities: Array, of_lower: Array, of_upper: Array
    ) -> dict[Binding, Array]:
        """Prices of the constraints; of several boxes of one variable, the tightest has them."""
        result = self.rows.duals(of_equations, of_inequalities)
        lower, upper = of_lower.copy(), of_upper.copy()
        for binding in self._prog.bounding_box_constraints():
            places, box = self._prog._places_of(binding._variables), binding.evaluator()
            dual = np.zeros(places.size)
            for k, place in enumerate(places):
                if box._lower[k] == self.lower[place]:
                    dual[k] += lower[place]
                    lower[place] = 0.0
                if box._upper[k] == self.upper[place]:
                    dual[k] += upper[place]
                    upper[place] = 0.0
            result[binding] = dual
        return result


def box_of(prog: MathematicalProgram) -> tuple[Array, Array]:
    """The tightest bounds of all variables, shape [num_vars]; of binary ones, 0 and 1."""
    lower, upper = np.full(prog.num_vars(), -np.inf), np.full(prog.num_vars(), np.inf)
    for i, variable in enumerate(prog._variables):
        if variable.get_type().name == "BINARY":
            lower[i], upper[i] = 0.0, 1.0
    for binding in prog.bounding_box_constraints():
        places = prog._places_of(binding._variables)
        np.maximum.at(lower, places, binding.evaluator()._lower)
        np.minimum.at(upper, places, binding.evaluator()._upper)
    return lower, upper


class HighsSolver(SolverInterface):
    """Linear programs, with integer variables or without. Options: time_limit [s], mip_rel_gap, maxiter, presolve."""

    NAME = "HiGHS"
    TAKES = frozenset({_A.kLinearCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint, _A.kBinaryVariable})

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        form = MixedIntegerForm(prog)
        if (form.lower > form.upper).any():
            return Outcome(SolutionResult.kInfeasibleConstraints, guess, HighsSolverDetails(2, "Bounds cross.", 0))
        if form.integrality.any() and is_solution(prog, guess):
            return Outcome(SolutionResult.kSolutionFound, guess, HighsSolverDetails(0, "The guess is a solution.", 0))
        found = self._minimum(form, form.c, options)
        kinds = SolutionResult
        result = {
            0: kinds.kSolutionFound,
            1: kinds.kIterationLimit,
            2: kinds.kInfeasibleConstraints,
            3: kinds.kUnbounded,
        }.get(found.status, kinds.kSolverSpecificError)
        if found.status in (2, 3, 4):  # of what has no least cost HiGHS may say that it is infeasible, and the reverse
            feasible = self._minimum(form, np.zeros_like(form.c), options)
            result = {0: kinds.kUnbounded, 2: kinds.kInfeasibleConstraints}.get(feasible.status, result)
        iterations = int(getattr(found, "nit", 0) or 0)
        details = HighsSolverDetails(int(found.status), str(found.message), iterations)
        x = np.array(found.x) if found.x is not None else np.full(prog.num_vars(), np.nan)
        if result is kinds.kInfeasibleConstraints:
            x = _least_violation(form)
        if found.x is None or form.integrality.any():
            return Outcome(result, np.where(form.integrality, np.round(x), x), details)
        duals = form.duals(found.eqlin.marginals, found.ineqlin.marginals, found.lower.marginals, found.upper.marginals)
        return Outcome(result, x, details, duals)

    def _minimum(self, form: MixedIntegerForm, c: Array, options: SolverOptions) -> Any:
        from scipy.optimize import linprog

        n, rows = c.size, form.rows
        given: dict[str, Any] = options.of(self.NAME)
        given["disp"] = bool(options.common(CommonSolverOption.kPrintToConsole, 0))
        minimize = partial(
            linprog,
            c,
            A_ub=rows.inequalities.csc((rows.num_inequalities, n)) if rows.num_inequalities else None,
            b_ub=rows.limits() if rows.num_inequalities else None,
            A_eq=rows.equations.csc((rows.num_equations, n)) if rows.num_equations else None,
            b_eq=rows.right() if rows.num_equations else None,
            bounds=np.column_stack((form.lower, form.upper)),
            integrality=form.integrality if form.integrality.any() else None,
            method="highs",
            options=given,
        )
        return interruptible(minimize) if form.integrality.any() or n + rows.num_entries() > _LARGE else minimize()


def _least_violation(form: MixedIntegerForm) -> Array:
    """The x in its box with the least sum of violations of the rows, so that one sees which rows are at odds."""
    from scipy.optimize import linprog
    from scipy.sparse import csc_matrix, eye, hstack

    n, rows = form.c.size, form.rows
    m, k = rows.num_equations, rows.num_inequalities
    E, G = rows.equations.csc((m, n)), rows.inequalities.csc((k, n))
    # E x + p - n = e and G x - s <= h with p, n, s >= 0
    found = linprog(
        np.concatenate((np.zeros(n), np.ones(2 * m + k))),
        A_ub=hstack([G, csc_matrix((k, 2 * m)), -eye(k)], format="csc") if k else None,
        b_ub=rows.limits() if k else None,
        A_eq=hstack([E, eye(m), -eye(m), csc_matrix((m, k))], format="csc") if m else None,
        b_eq=rows.right() if m else None,
        bounds=np.vstack((np.column_stack((form.lower, form.upper)), np.tile([0.0, np.inf], (2 * m + k, 1)))),
        method="highs",
    )
    return np.array(found.x[:n]) if found.x is not None else np.full(n, np.nan)
