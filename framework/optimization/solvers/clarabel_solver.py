"""Convex programs by Clarabel, an interior-point method for cones (Goulart and Chen 2024)."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.forms.conic_form import ConicForm, Scaled
from merganser.framework.optimization.kinds import CommonSolverOption, ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.judgement import KEPT, box_of, keeps_constraints, units
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface, interruptible, is_installed
from merganser.framework.optimization.solvers.solver_options import SolverOptions, check_names

_A = ProgramAttribute
CONVEX = frozenset(
    {
        _A.kLinearCost, _A.kQuadraticCost, _A.kL2NormCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint,
        _A.kQuadraticConstraint, _A.kLorentzConeConstraint, _A.kRotatedLorentzConeConstraint,
        _A.kPositiveSemidefiniteConstraint, _A.kExponentialConeConstraint,
    }
)  # fmt: skip
_GIVEN_UP, _SOLVED = ("NumericalError", "InsufficientProgress"), ("Solved", "AlmostSolved")
_ALMOST = ("AlmostSolved", "AlmostPrimalInfeasible", "AlmostDualInfeasible")
# Refinement of the linear systems takes a third of the time, and changes nothing for 592 of 600 small random programs:
# it is left out first, and done where the answer is in doubt. Without it a maze of 625 cells takes 1.6 times as long.
_REFINEMENT, _UNSURE = "iterative_refinement_enable", (*_GIVEN_UP, *_ALMOST, "MaxIterations")
_GAP = 1e-5  # relative difference of the costs, at most, of what is almost solved
_MOST_SCALINGS = 2
_LARGE_X = 1e3
_TOLERATED = 10.0  # tolerances of options, which are of norms, in those of each row
_CLEAR = 1e-2  # of the tolerance of a row, within which no cone of several rows is left by more than that
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
    """What Clarabel reports: time [s], iterations, its own word for how it ended; costs without constants, residuals
    of equations, and prices y, values s of the rows and x of the conic form."""

    solve_time: float
    iterations: int
    status: str
    primal_objective: float = np.nan
    dual_objective: float = np.nan
    primal_residual: float = np.nan
    dual_residual: float = np.nan
    y: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    s: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    x: Array = field(default_factory=lambda: np.zeros(0), repr=False)


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
    PRIORITY = 60
    TAKES = CONVEX
    REMEDY = "Install it: pip install clarabel."

    def available(self) -> bool:
        """Whether clarabel is installed."""
        return is_installed("clarabel")

    def _objection(self, prog: MathematicalProgram) -> str:
        return convexity_objection(prog)

    def _crossed(self, prog: MathematicalProgram, guess: Array) -> Outcome:
        details = ClarabelSolverDetails(0.0, 0, "PrimalInfeasible")
        return Outcome(SolutionResult.kInfeasibleConstraints, guess, details)

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        import clarabel

        form = ConicForm.of(prog)
        settings = _settings(clarabel, options)
        outcome, is_sure = Outcome(SolutionResult.kSolverSpecificError, guess), False
        if form.is_balanced:
            own, asked = options.of(self.NAME), settings.iterative_refinement_enable
            for is_refined in (asked,) if _REFINEMENT in own or form.is_large else (False, asked):
                settings.iterative_refinement_enable = is_refined
                key = is_refined, tuple(own.items()), settings.verbose, settings.max_threads
                solver = form.solvers.pop(key, None) or _made(clarabel, form, form.as_it_is, settings)
                outcome, is_sure = _attempt(solver, form, form.as_it_is, settings)
                if not form.is_large:
                    form.solvers[key] = solver
                if is_sure and outcome.details.status not in _UNSURE:
                    break
        sizes = None
        for _ in range(_MOST_SCALINGS):
            if is_sure:
                break
            scaled = form.balanced(sizes)
            outcome, is_sure = _attempt(_made(clarabel, form, scaled, settings), form, scaled, settings)
            x = outcome.details.x
            sizes = np.maximum(_units(form), np.abs(x)) if np.isfinite(x).all() else None  # those at its end
        if outcome.details.status in _GIVEN_UP and _falls_forever(clarabel, form):
            outcome.result = SolutionResult.kDualInfeasible
        elif outcome.result is SolutionResult.kSolutionFound and not is_sure:
            outcome.result = SolutionResult.kSolverSpecificError
        return outcome


def _made(clarabel: Any, form: ConicForm, program: Scaled, settings: Any) -> Any:
    return clarabel.DefaultSolver(program.P, program.q, program.A, program.b, cones_of(clarabel, form), settings)


def _attempt(solver: Any, form: ConicForm, program: Scaled, settings: Any) -> tuple[Outcome, bool]:
    """How Clarabel ends at a program, and whether that is sure."""
    solution = interruptible(solver.solve) if form.is_large else solver.solve()
    status = str(solution.status)
    z, x = program.of_prices * np.array(solution.z), program.of_x * np.array(solution.x)
    details = _details(solution, z, np.array(solution.s), x)
    result = OUTCOMES.get(status, SolutionResult.kSolverSpecificError)
    outcome = Outcome(result, form.point(x), details, functools.partial(form.duals, z))
    if result is not SolutionResult.kSolutionFound:
        return outcome, status not in (*_GIVEN_UP, *_ALMOST)
    is_kept = program is form.as_it_is and bool((form.violations(x, details.s) <= _clear_violations(form)).all())
    kept = max(KEPT, _TOLERATED * settings.tol_feas)
    outcome.is_judged = is_kept or keeps_constraints(form.prog, outcome.x, None, kept)
    gap = abs(solution.obj_val - solution.obj_val_dual)
    is_close = status not in _ALMOST or gap <= max(_GAP, settings.tol_gap_rel) * max(1.0, abs(solution.obj_val))
    return outcome, outcome.is_judged and is_close and _is_optimal(form, program, x, z, settings.tol_gap_rel)


def _clear_violations(form: ConicForm) -> Array:
    """By how much rows may differ from slacks in the cones, so that they hold by judgement.py without a doubt."""
    tolerances: Array = form.prog._remembered(
        _clear_violations, [form.slopes], lambda: _CLEAR * KEPT * form.sizes_of_rows(_units(form))
    )
    return tolerances


def _details(solution: Any, z: Array, s: Array, x: Array) -> ClarabelSolverDetails:
    return ClarabelSolverDetails(
        solution.solve_time, solution.iterations, str(solution.status), solution.obj_val, solution.obj_val_dual,
        solution.r_prim, solution.r_dual, z, s, x,
    )  # fmt: skip


def _is_optimal(form: ConicForm, program: Scaled, x: Array, z: Array, gap: float) -> bool:
    """Whether what is left of the gradient of the Lagrangian makes no difference to the cost, where x is large."""
    has_cost = form.q.any() or form.curvatures.data.size
    if not has_cost or (program.A is form.slopes and np.abs(x).max(initial=0.0) <= _LARGE_X):
        return True
    square = form.P @ x
    if form.P.nnz:
        square = square + form.P.T @ x - form.P.diagonal() * x
    terms = np.abs(form.q * x).sum() + np.abs(square @ x)
    return bool(np.abs((form.q + square + form.A.T @ z) * x).sum() <= max(KEPT, _TOLERATED * gap) * terms)


def with_inexact_equations(prog: MathematicalProgram, tolerance: float) -> Outcome | None:
    """The solution where equations hold up to a tolerance; None if infeasible."""
    import clarabel
    from scipy.sparse import vstack

    form = ConicForm.of(prog)
    m = form.linear.num_equations
    E, others, e = form.A[:m], form.A[m:], form.b[:m]
    A, b = vstack((E, -E, others), format="csc"), np.concatenate((e + tolerance, tolerance - e, form.b[m:]))
    cones = [clarabel.NonnegativeConeT(2 * m), *cones_of(clarabel, form)[bool(m) :]]
    solution = solved(clarabel, form.P, form.q, A, b, cones)
    x, z = np.array(solution.x), np.array(solution.z)
    is_found = m and str(solution.status) in _SOLVED
    if not is_found or not keeps_constraints(prog, form.point(x), slack=2.0 * tolerance):
        return None
    prices = np.concatenate((z[:m] - z[m : 2 * m], z[2 * m :]))
    details = _details(solution, prices, np.array(solution.s)[m:], x)
    return Outcome(SolutionResult.kSolutionFound, form.point(x), details, form.duals(prices), is_judged=True)


def _units(form: ConicForm) -> Array:
    """Those of the variables of the program; of others 1."""
    return np.append(units(form.prog, box_of(form.prog)), np.ones(form.num_columns - form.prog.num_vars()))


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
    found = solved(clarabel, 0.0 * form.P, form.q, A, b, cones)
    return str(found.status) in _SOLVED and found.obj_val < -_FALL * max(1.0, float(np.abs(form.q).max(initial=0.0)))


def solved(clarabel: Any, P: Any, q: Array, A: Any, b: Array, cones: list[Any]) -> Any:
    """What Clarabel says of a program in conic form, by its own settings."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    return clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()


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
    given = options.of(ClarabelSolver.NAME)
    if given:
        check_names(ClarabelSolver, given, [name for name in dir(settings) if not name.startswith("_")])
    for name, value in given.items():
        setattr(settings, name, type(getattr(settings, name))(value))
    return settings
