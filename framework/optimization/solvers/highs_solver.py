"""Linear programs, with integer variables or without, by HiGHS (Huangfu and Hall 2018), which scipy brings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.forms import scales
from merganser.framework.optimization.forms.quadratic_form import (
    BoxPrices,
    LinearRows,
    OneSidedRows,
    QuadraticCosts,
)
from merganser.framework.optimization.forms.scales import balance, power_of_two, unit_of_cost
from merganser.framework.optimization.kinds import CommonSolverOption, ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.judgement import box_of, is_solution, keeps_constraints
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface, interruptible
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_A = ProgramAttribute
_DROPPED = 1e-8  # coefficients that HiGHS drops, or nearly
_FAR = 1e15  # bounds that no other unit of rows brings near
_LARGE = 10_000  # variables and entries; programs without integers that are smaller take less than 50 ms


@dataclass(eq=False)
class HighsSolverDetails:
    """What HiGHS reports: its status as a number and as text, and iterations."""

    status: int
    message: str
    iterations: int


class MixedIntegerForm:
    """Minimize c'x so that E x = e, G x <= h, lower <= x <= upper, and some x are integers."""

    def __init__(self, prog: MathematicalProgram) -> None:
        self._prog, self.c = prog, QuadraticCosts.of(prog).f
        self.rows = OneSidedRows(LinearRows.of(prog, "linear_constraints", "linear_equality_constraints"))
        self.integrality = prog._are("BINARY", "INTEGER").astype(np.uint8)
        self.lower, self.upper = box_of(prog)

    def duals(self, of_equations: Array, of_inequalities: Array, of_box: Array) -> dict[Binding, Array]:
        """Prices of the constraints."""
        of_boxes = BoxPrices(self._prog, (self.lower, self.upper)).by_binding(of_box)
        return {**self.rows.duals(of_equations, of_inequalities), **of_boxes}


class HighsSolver(SolverInterface):
    """Linear programs, with integer variables or without. Options: time_limit [s], mip_rel_gap, maxiter, presolve."""

    NAME = "HiGHS"
    PRIORITY = 40
    TAKES = frozenset({_A.kLinearCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint, _A.kBinaryVariable})

    def _crossed(self, prog: MathematicalProgram, guess: Array) -> Outcome:
        return Outcome(SolutionResult.kInfeasibleConstraints, guess, HighsSolverDetails(2, "Bounds cross.", 0))

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        form = MixedIntegerForm(prog)
        if form.integrality.any() and is_solution(prog, guess):
            return Outcome(SolutionResult.kSolutionFound, guess, HighsSolverDetails(0, "The guess is a solution.", 0))
        outcome = self._found(prog, form, _Units(form), options)
        if outcome.result is SolutionResult.kSolutionFound:
            outcome.is_judged = keeps_constraints(prog, outcome.x, (form.lower, form.upper))
            if not outcome.is_judged:
                outcome = self._found(prog, form, _Units(form, is_balanced=False), options)
        return outcome

    def _found(
        self, prog: MathematicalProgram, form: MixedIntegerForm, units: _Units, options: SolverOptions
    ) -> Outcome:
        """How HiGHS ends in these units."""
        found = self._minimum(form, units, 1.0, options)
        kinds = SolutionResult
        result = {
            0: kinds.kSolutionFound,
            1: kinds.kIterationLimit,
            2: kinds.kInfeasibleConstraints,
            3: kinds.kUnbounded,
        }.get(found.status, kinds.kSolverSpecificError)
        # Of what has no least cost HiGHS may say that it is infeasible, and the reverse.
        if found.status in (2, 3, 4) and form.c.any():
            feasible = self._minimum(form, units, 0.0, options)
            result = {0: kinds.kUnbounded, 2: kinds.kInfeasibleConstraints}.get(feasible.status, result)
        iterations = int(getattr(found, "nit", 0) or 0)
        details = HighsSolverDetails(int(found.status), str(found.message), iterations)
        x = units.D * found.x if found.x is not None else np.full(prog.num_vars(), np.nan)
        if result is kinds.kInfeasibleConstraints:
            x = _least_violation(form)
        if found.x is None or form.integrality.any():
            return Outcome(result, np.where(form.integrality, np.round(x), x), details)
        duals = form.duals(
            units.R[: form.rows.num_equations] * found.eqlin.marginals / units.k,
            units.R[form.rows.num_equations :] * found.ineqlin.marginals / units.k,
            (found.lower.marginals + found.upper.marginals) / (units.k * units.D),
        )  # fmt: skip
        return Outcome(result, x, details, duals)

    def _minimum(self, form: MixedIntegerForm, units: _Units, of_cost: float, options: SolverOptions) -> Any:
        """The result of linprog, in these units; a factor of 0 drops the cost."""
        given: dict[str, Any] = options.of(self.NAME)
        given["disp"] = bool(options.common(CommonSolverOption.kPrintToConsole, 0))
        bounds = np.column_stack((form.lower / units.D, form.upper / units.D))
        rows = units.G, units.h, units.E, units.e
        is_whole = form.integrality if form.integrality.any() else None
        minimize = partial(_linprog, of_cost * units.k * units.D * form.c, *rows, bounds, is_whole, given)
        is_large = form.c.size + form.rows.num_entries > _LARGE
        return interruptible(minimize) if is_whole is not None or is_large else minimize()


def _linprog(
    c: Array, G: Any, h: Array, E: Any, e: Array, bounds: Array, integrality: Any = None, options: Any = None
) -> Any:
    from scipy.optimize import linprog

    rows = {name: value for name, value in {"A_ub": G, "b_ub": h, "A_eq": E, "b_eq": e}.items() if value.shape[0]}
    return linprog(c, **rows, bounds=bounds, integrality=integrality, method="highs", options=options)


class _Units:
    """E x = e and G x <= h in units in which HiGHS may take them, see scales.py.

    HiGHS drops coefficients below 1e-9 and takes bounds of 1e20 and more for infinite ones.
    """

    def __init__(self, form: MixedIntegerForm, is_balanced: bool = True) -> None:
        n, rows = form.c.size, form.rows
        self.E, self.e = rows.equations().csc((rows.num_equations, n)), rows.right
        self.G, self.h = rows.inequalities().csc((rows.num_inequalities, n)), rows.limits
        self.R, self.D, self.k = np.ones(self.e.size + self.h.size), np.ones(n), 1.0
        bounds = np.abs(np.concatenate((form.lower, form.upper)))
        bounds[~np.isfinite(bounds)] = 0.0
        sizes = np.abs(np.concatenate((self.E.data, self.G.data)))
        is_small = sizes.min(initial=1.0) < _DROPPED and bool(((sizes > 0.0) & (sizes < _DROPPED)).any())
        right = np.concatenate((self.e, self.h, bounds))
        if is_balanced and not is_small and scales.is_balanced((self.E, self.G), right, form.c):
            return
        from scipy.sparse import diags, vstack

        A = vstack((self.E, self.G), format="csc")
        is_far = bounds.reshape(2, n).max(axis=0) > _FAR
        whole = form.integrality.astype(bool)
        first = np.where(is_far & ~whole, bounds.reshape(2, n).max(axis=0), 1.0)
        self.R, self.D = balance(A @ diags(first), None, None, whole | is_far)
        self.D *= first
        sizes = np.concatenate((np.abs(self.R * right[: self.R.size]), bounds / np.tile(self.D, 2)))
        sizes = sizes[sizes > 0.0]
        if sizes.size and not whole.any():
            self.D *= float(power_of_two(np.exp(np.log(sizes).mean())))
        self.k = unit_of_cost(self.D * form.c)
        A, m = (diags(self.R) @ A @ diags(self.D)).tocsr(), self.e.size
        self.E, self.G, self.e, self.h = A[:m], A[m:], self.R[:m] * self.e, self.R[m:] * self.h


def _least_violation(form: MixedIntegerForm) -> Array:
    """The x in its box with the least sum of violations of the rows, which shows contradicting rows."""
    from scipy.sparse import csc_matrix, eye, hstack

    n, rows = form.c.size, form.rows
    m, k = rows.num_equations, rows.num_inequalities
    E, G = rows.equations().csc((m, n)), rows.inequalities().csc((k, n))
    # E x + p - n = e and G x - s <= h with p, n, s >= 0
    found = _linprog(
        np.concatenate((np.zeros(n), np.ones(2 * m + k))),
        hstack([G, csc_matrix((k, 2 * m)), -eye(k)], format="csc"), rows.limits,
        hstack([E, eye(m), -eye(m), csc_matrix((m, k))], format="csc"), rows.right,
        np.vstack((np.column_stack((form.lower, form.upper)), np.tile([0.0, np.inf], (2 * m + k, 1)))),
    )  # fmt: skip
    return np.array(found.x[:n]) if found.x is not None else np.full(n, np.nan)
