"""Convex programs by first-order methods, to moderate accuracy: OSQP (Stellato et al. 2020), SCS (O'Donoghue 2021).

They are extras; where they are not installed, Clarabel runs in their place. Their solutions are judged by their own
tolerances, so that programs that hold inexactly only have solutions, too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.forms.conic_form import ConicForm, lower_triangle
from merganser.framework.optimization.forms.quadratic_form import LINEAR, LinearRows, QuadraticCosts
from merganser.framework.optimization.forms.scales import unit_of_cost
from merganser.framework.optimization.kinds import CommonSolverOption, ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.clarabel_solver import CONVEX, ClarabelSolver, with_inexact_equations
from merganser.framework.optimization.solvers.judgement import KEPT, keeps_constraints
from merganser.framework.optimization.solvers.other_solvers import StandIn
from merganser.framework.optimization.solvers.solver import Outcome, interruptible, is_installed
from merganser.framework.optimization.solvers.solver_details import OsqpSolverDetails, ScsSolverDetails
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_A, _RESULT = ProgramAttribute, SolutionResult
_SCS_TOLERANCE = 1e-5  # as pydrake has it
_TOLERATED = 10.0  # tolerances of norms in those of each row


class _FirstOrderSolver(StandIn):
    """A solver that runs where its MODULE is installed, and another one for it where it is not."""

    MODULE: str
    DEFAULTS: dict[str, Any]
    BY = ClarabelSolver

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        if not is_installed(self.MODULE):
            return super()._solve(prog, guess, options)
        own = options.of(self.NAME)
        settings = {**self.DEFAULTS, **{_NAMES.get(name, name): value for name, value in own.items()}}
        settings.setdefault("verbose", bool(options.common(CommonSolverOption.kPrintToConsole, 0)))
        try:
            outcome = self._by_itself(prog, settings)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{type(self).__name__}: expected options of {self.NAME}, got {own}: {error}.") from error
        outcome.solver = self.NAME
        if outcome.result is _RESULT.kSolutionFound:
            left = _TOLERATED * max(float(settings.get(name, 0.0)) for name in ("eps_abs", "eps_rel"))
            outcome.is_judged = keeps_constraints(prog, outcome.x, None, max(KEPT, left), left)
        elif not np.isfinite(outcome.x).all():
            outcome.x = guess
        return outcome

    def _by_itself(self, prog: MathematicalProgram, settings: dict[str, Any]) -> Outcome:
        raise NotImplementedError


_NAMES = {"polish": "polishing", "warm_start": "warm_starting"}  # of options of OSQP, before its version 1


class OsqpSolver(_FirstOrderSolver):
    """Quadratic programs, by OSQP; without the package osqp, by Clarabel. Options are the settings of OSQP."""

    NAME, DETAILS = "OSQP", OsqpSolverDetails
    TAKES = frozenset({_A.kLinearCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint, _A.kQuadraticCost})
    MODULE, DEFAULTS = "osqp", {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 50_000}
    OPTIONS = {"max_iter": "max_iter", "time_limit": "time_limit", "eps_abs": "tol_gap_abs", "eps_rel": "tol_gap_rel"}

    def _by_itself(self, prog: MathematicalProgram, settings: dict[str, Any]) -> Outcome:
        import osqp

        rows, costs, n = LinearRows.of(prog, *LINEAR), QuadraticCosts.of(prog), prog.num_vars()
        P, solver = costs.upper_triangle().csc((n, n)), osqp.OSQP()
        k = unit_of_cost(np.concatenate((costs.f, P.data)))  # rows OSQP scales itself
        solver.setup(k * P, k * costs.f, rows.csc(), rows.lower, rows.upper, **settings)
        found = interruptible(functools.partial(solver.solve, raise_error=False))
        info, y = found.info, np.array(found.y) / k
        result = {
            1: _RESULT.kSolutionFound, 2: _RESULT.kSolutionFound, 3: _RESULT.kInfeasibleConstraints,
            4: _RESULT.kInfeasibleConstraints, 5: _RESULT.kDualInfeasible, 6: _RESULT.kDualInfeasible,
            7: _RESULT.kIterationLimit, 8: _RESULT.kIterationLimit,
        }.get(info.status_val, _RESULT.kSolverSpecificError)  # fmt: skip
        details = OsqpSolverDetails(
            info.iter, info.status_val, info.prim_res, info.dual_res / k, info.setup_time, info.solve_time,
            info.polish_time, info.run_time, y,
        )  # fmt: skip
        return Outcome(result, np.array(found.x), details, lambda: rows.by_binding(-y))


class ScsSolver(_FirstOrderSolver):
    """Conic programs, by SCS; without the package scs, by Clarabel. Options are the settings of SCS.

    Equations that cannot hold exactly may be wrong by 1e-5.
    """

    NAME, TAKES, DETAILS = "SCS", CONVEX - {_A.kQuadraticConstraint}, ScsSolverDetails
    MODULE, DEFAULTS = "scs", {"eps_abs": _SCS_TOLERANCE, "eps_rel": _SCS_TOLERANCE}
    OPTIONS = {
        "max_iters": "max_iter", "time_limit_secs": "time_limit", "eps_abs": "tol_gap_abs", "eps_rel": "tol_gap_rel",
    }  # fmt: skip

    def _by_itself(self, prog: MathematicalProgram, settings: dict[str, Any]) -> Outcome:
        import scs

        form = ConicForm.of(prog)
        k = unit_of_cost(np.concatenate((form.q, form.P.data)))  # rows SCS scales itself
        # SCS has the lower triangles of matrices, column by column.
        num_linear = form.linear.num_equations + form.linear.num_inequalities
        orders, first = [np.arange(num_linear)], num_linear
        for cone in form.cones:
            own = lower_triangle(cone.size) if cone.kind == "matrix" else np.arange(cone.size)
            orders.append(first + own)
            first += own.size
        order = np.concatenate(orders)
        sizes = {kind: [cone.size for cone in form.cones if cone.kind == kind] for kind in ("lorentz", "matrix")}
        cones = {
            "z": form.linear.num_equations, "l": form.linear.num_inequalities, "q": sizes["lorentz"],
            "s": sizes["matrix"], "ep": sum(cone.kind == "exponential" for cone in form.cones),
        }  # fmt: skip
        data = {"A": form.A[order].tocsc(), "b": form.b[order], "c": k * form.q}
        solver = scs.SCS({**data, "P": k * form.P} if form.P.nnz else data, cones, **settings)
        found = interruptible(solver.solve)
        info, z, s = found["info"], np.empty(order.size), np.empty(order.size)
        z[order], s[order] = found["y"] / k, found["s"]
        result = {
            1: _RESULT.kSolutionFound, 2: _RESULT.kIterationLimit, -1: _RESULT.kDualInfeasible,
            -6: _RESULT.kDualInfeasible, -2: _RESULT.kInfeasibleConstraints, -7: _RESULT.kInfeasibleConstraints,
        }.get(info["status_val"], _RESULT.kSolverSpecificError)  # fmt: skip
        constant = QuadraticCosts.of(prog).constant
        details = ScsSolverDetails(
            info["status_val"], info["iter"], info["pobj"] / k + constant, info["dobj"] / k + constant,
            info["res_pri"], info["res_infeas"], info["res_unbdd_a"], info["res_unbdd_p"], info["gap"] / k,
            info["setup_time"], info["solve_time"], z, s,
        )  # fmt: skip
        return Outcome(result, form.point(np.array(found["x"])), details, lambda: form.duals(z))

    def _translated(self, prog: MathematicalProgram, outcome: Outcome, seconds: float) -> Outcome:
        if outcome.result is _RESULT.kInfeasibleConstraints:
            outcome = with_inexact_equations(prog, _SCS_TOLERANCE) or outcome
        return super()._translated(prog, outcome, seconds)
