"""Solver details under pydrake's names, of solvers that run in place of pydrake's.

`by` has the details of the solver that ran. Where that has no prices, as without a solution, these alone are given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import SolutionResult
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram

if TYPE_CHECKING:
    from merganser.framework.optimization.solvers.solver import Outcome

_NAN = float("nan")
_NOTHING = np.zeros(0)


@dataclass
class Run:
    """What details are made of: a program, how it ended, and how long that took [s]."""

    prog: MathematicalProgram
    outcome: Outcome
    seconds: float

    def code(self, found: int, infeasible: int, unbounded: int, limit: int, other: int) -> int:
        """The status number of a solver."""
        kinds = SolutionResult
        codes = {kinds.kSolutionFound: found, kinds.kInfeasibleConstraints: infeasible, kinds.kUnbounded: unbounded}
        codes |= {kinds.kDualInfeasible: unbounded, kinds.kIterationLimit: limit}
        return codes.get(self.outcome.result, other)

    def cost(self) -> float:
        """The cost at the end."""
        from merganser.framework.optimization.solvers.judgement import cost_at

        return cost_at(self.prog, self.outcome.x)

    def gap(self) -> float:
        """By how much the cost is above that of the dual solution."""
        found = self.outcome.details
        return float(found.primal_objective - found.dual_objective)

    def rows(self, bindings: list[Binding] | None = None) -> tuple[Array, Array]:
        """Values of constraints at the end, and prices, NaN where unknown.

        By default of all but boxes: nonlinear ones first, then linear ones and linear equations.
        """
        prog, outcome, linear = self.prog, self.outcome, self.prog.GetLinearConstraints()
        if bindings is None:
            known = set(map(id, linear + prog.bounding_box_constraints()))
            bindings = [each for each in prog.GetAllConstraints() if id(each) not in known] + linear
        values, prices = [_NOTHING], [_NOTHING]
        for binding in bindings:
            values.append(binding.evaluator()._values(outcome.x[prog._places_of(binding._variables)]))
            prices.append(outcome.prices().get(binding, np.full(values[-1].size, _NAN)))
        return np.concatenate(values), np.concatenate(prices)

    def boxes(self) -> Array:
        """Prices of bounds of the variables, shape [num_vars]; NaN if there is no solution."""
        prog, outcome, result = self.prog, self.outcome, np.zeros(self.prog.num_vars())
        if not outcome.prices():
            return result if outcome.result is SolutionResult.kSolutionFound else np.full_like(result, _NAN)
        for binding in prog.bounding_box_constraints():
            np.add.at(result, prog._places_of(binding._variables), outcome.prices().get(binding, 0.0))
        return result


@dataclass(eq=False)
class _Details:
    by: Any = field(default=None, kw_only=True)

    def is_known(self) -> bool:
        """Whether there are all arrays."""
        return not any(isinstance(each, np.ndarray) and np.isnan(each).any() for each in vars(self).values())


@dataclass(eq=False)
class ClpSolverDetails(_Details):
    """The status of CLP: 0 optimal, 1 infeasible, 2 unbounded, 3 stopped, 4 failed."""

    status: int

    @classmethod
    def _of(cls, run: Run) -> ClpSolverDetails:
        return cls(run.code(0, 1, 2, 3, 4))


@dataclass(eq=False)
class NloptSolverDetails(_Details):
    """The status of NLopt: 4 x converged, 5 limit of evaluations, -1 failed."""

    status: int

    @classmethod
    def _of(cls, run: Run) -> NloptSolverDetails:
        return cls(run.code(4, -1, -1, 5, -1))


@dataclass(eq=False)
class SnoptSolverDetails(_Details):
    """What SNOPT would report, of functions F = (cost, nonlinear constraints, linear ones, linear equations).

    Attributes:
        info: 1 optimal, 13 infeasible, 21 unbounded, 32 limit of iterations, 41 no better point.
        xmul: prices of bounds of the variables, shape [num_vars].
        F: values at the end.
        Fmul: prices of F; 0 for the cost. NaN where unknown.
        solve_time: [s].
    """

    info: int
    xmul: Array
    F: Array
    Fmul: Array
    solve_time: float

    @classmethod
    def _of(cls, run: Run) -> SnoptSolverDetails:
        values, prices = run.rows()
        F, Fmul = np.append(run.cost(), values), np.append(0.0, prices)
        return cls(run.code(1, 13, 21, 32, 41), run.boxes(), F, Fmul, run.seconds)


# In the order of IPOPT's SolverReturn.
_IPOPT = (
    "Success", "Max iterations exceeded", "CPU time exceeded", "Wall time exceeded", "Stop at tiny step",
    "Stop at acceptable point", "Local infeasibility", "User requested stop", "Feasible point found",
    "Diverging iterates", "Restoration failure", "Error in step computation", "Invalid number detected",
    "Too few degrees of freedom", "Invalid option", "Out of memory", "Internal error", "Unassigned",
)  # fmt: skip


@dataclass(eq=False)
class IpoptSolverDetails(_Details):
    """What IPOPT would report, of constraints g = (nonlinear ones, linear ones, linear equations).

    Attributes:
        status: 0 solved, 1 limit of iterations, 6 infeasible, 9 diverging, 11 no step.
        z_L, z_U: multipliers of the bounds of variables, not negative, shape [num_vars].
        g: values at the end.
        lambda_val: multipliers of g, of the opposite sign of prices.
    """

    status: int
    z_L: Array
    z_U: Array
    g: Array
    lambda_val: Array

    def ConvertStatusToString(self) -> str:
        """The status in words."""
        return _IPOPT[self.status]

    @classmethod
    def _of(cls, run: Run) -> IpoptSolverDetails:
        (values, prices), box = run.rows(), run.boxes()
        return cls(run.code(0, 6, 9, 1, 11), np.maximum(box, 0.0), np.maximum(-box, 0.0), values, -prices)


@dataclass(eq=False)
class OsqpSolverDetails(_Details):
    """What OSQP would report.

    Attributes:
        iter: iterations.
        status_val: 1 solved, 3 infeasible, 5 unbounded, 7 limit of iterations, 11 unsolved.
        primal_res, dual_res: greatest violation of constraints, and what is left of the gradient.
        setup_time, solve_time, polish_time, run_time: [s].
        y: multipliers, of the opposite sign of prices: of linear constraints, equations and bounds.
    """

    iter: int
    status_val: int
    primal_res: float
    dual_res: float
    setup_time: float
    solve_time: float
    polish_time: float
    run_time: float
    y: Array = field(default_factory=lambda: _NOTHING)

    @classmethod
    def _of(cls, run: Run) -> OsqpSolverDetails:
        found, seconds = run.outcome.details, run.seconds
        prices = run.rows(run.prog.GetLinearConstraints() + run.prog.bounding_box_constraints())[1]
        return cls(
            found.iterations, run.code(1, 3, 5, 7, 11), found.primal_residual, found.dual_residual,
            seconds - found.solve_time, found.solve_time, 0.0, seconds, -prices,
        )  # fmt: skip


@dataclass(eq=False)
class ScsSolverDetails(_Details):
    """What SCS would report.

    Attributes:
        scs_status: 1 solved, -2 infeasible, -1 unbounded, 2 inaccurate, -4 failed.
        iter: iterations.
        primal_objective, dual_objective: costs.
        primal_residue, residue_infeasibility, residue_unbounded_a, residue_unbounded_p: what is left of equations.
        duality_gap: the difference of the costs.
        scs_setup_time, scs_solve_time: [ms].
        y, s: prices and values of the rows of the conic form.
    """

    scs_status: int
    iter: int
    primal_objective: float
    dual_objective: float
    primal_residue: float
    residue_infeasibility: float
    residue_unbounded_a: float
    residue_unbounded_p: float
    duality_gap: float
    scs_setup_time: float
    scs_solve_time: float
    y: Array = field(default_factory=lambda: _NOTHING)
    s: Array = field(default_factory=lambda: _NOTHING)

    @classmethod
    def _of(cls, run: Run) -> ScsSolverDetails:
        found, cost, gap = run.outcome.details, run.cost(), run.gap()
        return cls(
            run.code(1, -2, -1, 2, -4), found.iterations, cost, cost - gap, found.primal_residual, _NAN, _NAN, _NAN,
            gap, 1e3 * (run.seconds - found.solve_time), 1e3 * found.solve_time, found.y, found.s,
        )  # fmt: skip


@dataclass(eq=False)
class CsdpSolverDetails(_Details):
    """What CSDP would report; the dual solution of its own form is not available.

    Attributes:
        return_code: 0 solved, 1 infeasible, 2 unbounded, 4 limit of iterations, 7 no progress.
        primal_objective, dual_objective: what it would maximize: minus the costs.
        y_val: empty.
        Z_val: None.
    """

    return_code: int
    primal_objective: float
    dual_objective: float
    y_val: Array = field(default_factory=lambda: _NOTHING)
    Z_val: Any = None

    @classmethod
    def _of(cls, run: Run) -> CsdpSolverDetails:
        cost = run.cost()
        return cls(run.code(0, 1, 2, 4, 7), -cost, run.gap() - cost)


@dataclass(eq=False)
class MosekSolverDetails:
    """What MOSEK would report; it is not available here."""

    optimizer_time: float
    rescode: int
    solution_status: int


@dataclass(eq=False)
class GurobiSolverDetails:
    """What Gurobi would report; it is not available here."""

    optimizer_time: float
    error_code: int
    optimization_status: int
    objective_bound: float
