"""Convex programs by Clarabel, an interior-point method for cones (Goulart and Chen 2024)."""

from __future__ import annotations

__all__ = ["ClarabelSolver", "ClarabelSolverDetails"]

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import CommonSolverOption, ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.conic_form import ConicForm
from merganser.framework.optimization.solvers.interruptible import interruptible
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_A = ProgramAttribute
CONVEX = frozenset(
    {
        _A.kLinearCost, _A.kQuadraticCost, _A.kL2NormCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint,
        _A.kQuadraticConstraint, _A.kLorentzConeConstraint, _A.kRotatedLorentzConeConstraint,
        _A.kPositiveSemidefiniteConstraint, _A.kExponentialConeConstraint,
    }
)  # fmt: skip
_LARGE = 10_000  # entries of P and A; less than that takes less than 50 ms, which nobody interrupts
_GIVEN_UP, _SOLVED = ("NumericalError", "InsufficientProgress"), ("Solved", "AlmostSolved")
_FALL = 1e-6  # of the cost along a direction, that is no rounding
OUTCOMES = {
    "Solved": SolutionResult.kSolutionFound,
    "AlmostSolved": SolutionResult.kSolutionFound,
    "PrimalInfeasible": SolutionResult.kInfeasibleConstraints,
    "AlmostPrimalInfeasible": SolutionResult.kInfeasibleConstraints,
    "DualInfeasible": SolutionResult.kDualInfeasible,
    "AlmostDualInfeasible": SolutionResult.kDualInfeasible,
    "MaxIterations": SolutionResult.kIterationLimit,
    "MaxTime": SolutionResult.kIterationLimit,
}


@dataclass(eq=False)
class ClarabelSolverDetails:
    """What Clarabel tells: time [s], iterations, its own word for how it ended; costs without constants, what is left
    of equations, and prices y and values s of the rows of the conic form."""

    solve_time: float
    iterations: int
    status: str
    primal_objective: float = np.nan
    dual_objective: float = np.nan
    primal_residual: float = np.nan
    dual_residual: float = np.nan
    y: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    s: Array = field(default_factory=lambda: np.zeros(0), repr=False)


def convexity_objection(prog: MathematicalProgram) -> str:
    """Which cost or constraint of a program is not convex; empty if all are."""
    for binding in prog.quadratic_costs() + prog.quadratic_constraints():
        if not binding.evaluator().is_convex():
            return f"{binding.brief()} is not convex"
    return ""


class ClarabelSolver(SolverInterface):
    """Linear, quadratic, second-order cone, semidefinite and exponential cone programs.

    Options are the settings of Clarabel, by their names: max_iter, tol_gap_abs, tol_feas, ...
    """

    NAME = "Clarabel"
    TAKES = CONVEX
    REMEDY = "Install it: pip install clarabel."

    def available(self) -> bool:
        """Whether clarabel is installed."""
        try:
            import clarabel  # noqa: F401
        except ImportError:
            return False
        return True

    def _objection(self, prog: MathematicalProgram) -> str:
        return convexity_objection(prog)

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        import clarabel

        form = ConicForm(prog)
        settings = _settings(clarabel, options)

        def solve() -> Any:
            cones = cones_of(clarabel, form)
            return clarabel.DefaultSolver(form.P, form.q, form.A, form.b, cones, settings).solve()

        solution = interruptible(solve) if form.A.nnz + form.P.nnz > _LARGE else solve()
        status = str(solution.status)
        z = np.array(solution.z)
        details = ClarabelSolverDetails(
            solution.solve_time, solution.iterations, status, solution.obj_val, solution.obj_val_dual,
            solution.r_prim, solution.r_dual, z, np.array(solution.s),
        )  # fmt: skip
        result = OUTCOMES.get(status, SolutionResult.kSolverSpecificError)
        if status in _GIVEN_UP and _falls_forever(clarabel, form):
            result = SolutionResult.kDualInfeasible
        return Outcome(result, form.point(np.array(solution.x)), details, form.duals(z))


def _falls_forever(clarabel: Any, form: ConicForm) -> bool:
    """Whether there is a direction d along which the cost falls: P d = 0, -A d in the cones and q'd < 0.

    That is a program as well, with a solution in any case, if d is bounded. It is asked where Clarabel gives up: at
    four of a hundred unbounded programs with small matrices it does so, on its way to infinity.
    """
    from scipy.sparse import identity, triu, vstack

    n = form.q.size
    eye = identity(n, format="csc")
    A = vstack((form.P + triu(form.P, 1).T, form.A, eye, -eye), format="csc")
    b = np.concatenate((np.zeros(n + form.b.size), np.ones(2 * n)))
    cones = [clarabel.ZeroConeT(n), *cones_of(clarabel, form), clarabel.NonnegativeConeT(2 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    found = clarabel.DefaultSolver(0.0 * form.P, form.q, A, b, cones, settings).solve()
    return str(found.status) in _SOLVED and found.obj_val < -_FALL * max(1.0, float(np.abs(form.q).max(initial=0.0)))


def cones_of(clarabel: Any, form: ConicForm) -> list[Any]:
    kinds = {"lorentz": clarabel.SecondOrderConeT, "matrix": clarabel.PSDTriangleConeT}
    cones: list[Any] = []
    if form.linear.num_equations:
        cones.append(clarabel.ZeroConeT(form.linear.num_equations))
    if form.linear.num_inequalities:
        cones.append(clarabel.NonnegativeConeT(form.linear.num_inequalities))
    for cone in form.cones:
        cones.append(clarabel.ExponentialConeT() if cone.kind == "exponential" else kinds[cone.kind](cone.size))
    return cones


def _settings(clarabel: Any, options: SolverOptions) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = bool(options.common(CommonSolverOption.kPrintToConsole, 0))
    threads = options.common(CommonSolverOption.kMaxThreads)
    if threads is not None:
        settings.max_threads = int(threads)
    for name, value in options.of(ClarabelSolver.NAME).items():
        if not hasattr(settings, name):
            raise ValueError(f"ClarabelSolver: there is no option {name!r}.")
        setattr(settings, name, type(getattr(settings, name))(value))
    return settings
