"""Sparse nonlinear programs by the interior-point method of `interior_point/`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.interior_point import NonlinearProblem, Progress, Settings, Status, solve
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.feasible_points import feasible_point
from merganser.framework.optimization.solvers.judgement import KEPT, cost_at
from merganser.framework.optimization.solvers.nonlinear_form import NonlinearForm, is_curved_without_equations
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions, check_names

_RESULTS = {
    Status.SOLVED: SolutionResult.kSolutionFound,
    Status.ACCEPTABLE: SolutionResult.kSolutionFound,
    Status.INFEASIBLE: SolutionResult.kInfeasibleConstraints,
    Status.UNBOUNDED: SolutionResult.kUnbounded,
    Status.ITERATION_LIMIT: SolutionResult.kIterationLimit,
    Status.STOPPED: SolutionResult.kIterationLimit,
}
_FAILED = SolutionResult.kSolverSpecificError
_MAY_BE_BETTER = (SolutionResult.kSolutionFound, _FAILED)
# Variables up to which dense quadratic programs take less time than sparse steps: splines of 71 to 141 variables, whose
# second derivatives are known and whose equations are linear, 1.3 to 17 times less. Curved equations make them slow.
MOST_DENSE, _MOST_CURVED = 60, 150
_MOST_SQUARED = 800  # variables, up to which least squares lead to where searches begin
# Further searches: the part of the guess in where they begin, the rest of which is the best end so far; steps of least
# squares from there; first weight of the barrier. The largest one comes first, as it mostly ends soon, and others then
# where they cost more: swing-ups of 61 break points take a fifth of the time that they take with it as the last.
_FURTHER = ((1.0, 7, 1.0), (1.0, 20, 0.1), (0.75, 4, 0.1), (0.5, 4, 0.1), (0.0, 0, 0.3))
_BETTER = 1e-3  # part of the cost, by which they look for less
_PATIENCE = 100  # iterations of these, twice as many while they cost less, and of the first unless they find nothing
_NEAR, _SETTLED = 1e-2, 0.1  # violation; change of the cost, and weight, beside the way to a better one: where they end
_SHARP = 1e-4  # what may be left of the gradient, in units of what variables change by


@dataclass(eq=False)
class InteriorPointSolverDetails:
    """What the solver reports: how it ended, its iterations, and residuals of the optimality conditions."""

    status: str
    iterations: int
    violation: float
    dual_residual: float
    complementarity: float


class InteriorPointSolver(SolverInterface):
    """Nonlinear programs with many variables, each constraint on few of them.

    Second derivatives are those of costs and constraints if all have them, else approximated (limited-memory BFGS).

    Options: those of `interior_point.Settings`, which have IPOPT's names, and num_starts (1), up to 6: the best of so
    many searches. The first one has a small weight of the barrier and ends near the guess. Others begin between the
    guess and the best end so far, with time steps twice as long if the program is a motion, where some steps of least
    squares lead towards points that keep the constraints, with other weights: that way leads to other optima, as those
    of motions with more swings. They end early where they come near a point that costs more.
    """

    NAME = "InteriorPoint"
    PRIORITY = 80
    TAKES = frozenset(ProgramAttribute) - {ProgramAttribute.kBinaryVariable}

    def suits(self, prog: MathematicalProgram) -> bool:
        """Whether there are so many variables that sparse steps are faster than dense ones."""
        n = prog.num_vars()
        return n > MOST_DENSE and not (n <= _MOST_CURVED and is_curved_without_equations(prog))

    def _crossed(self, prog: MathematicalProgram, guess: Array) -> Outcome:
        details = InteriorPointSolverDetails("bounds cross", 0, np.nan, np.nan, np.nan)
        return Outcome(SolutionResult.kInfeasibleConstraints, guess, details)

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        given: dict[str, Any] = options.of(self.NAME)
        check_names(type(self), given, {each.name for each in fields(Settings)} | {"num_starts"})
        num_starts = int(given.pop("num_starts", 1))
        settings = Settings(**given)
        form, found = NonlinearForm(prog), SolutionResult.kSolutionFound
        most = min(settings.max_iter, _PATIENCE if num_starts > 1 else settings.max_iter)
        best = first = _search(form, guess, replace(settings, max_iter=most))
        for part, num_steps, weight in _FURTHER[: max(num_starts - 1, 0)]:
            if best.result is SolutionResult.kUnbounded or (best.result is found and not form.has_cost):
                break
            end = best.x if np.isfinite(best.x).all() else guess
            start, weight = _start(form, part * guess + (1.0 - part) * end, num_steps, weight)
            cost = cost_at(prog, best.x) if best.result is found else np.inf
            less = form.cost_scale * (cost - _BETTER * abs(cost)) if cost < np.inf else np.inf
            other, _ = _attempt(form, start, replace(settings, mu_init=weight), _below(less))
            if other.result is found and cost_at(prog, other.x) < cost:
                best = other
        is_cut_short = best is first and best.details.status == Status.ITERATION_LIMIT.value
        return _search(form, guess, settings) if is_cut_short and most < settings.max_iter else best


def _below(cost: float) -> Callable[[Progress], bool]:
    """Whether a search may go on: not near a point that costs more, nor for long while it costs more or is restored."""
    last = np.inf

    def may_go_on(at: Progress) -> bool:
        nonlocal last
        if at.is_restoration or at.cost <= cost:
            return at.iteration < (_PATIENCE if at.is_restoration else 2 * _PATIENCE)
        change, last = abs(at.cost - last), at.cost
        is_settled = at.violation <= _NEAR and max(change, at.mu) < _SETTLED * (at.cost - cost)
        return not is_settled and at.iteration < _PATIENCE

    return may_go_on


def _start(form: NonlinearForm, begin: Array, num_steps: int, weight: float) -> tuple[Array, float]:
    """Where a further search begins, and the weight of the barrier: a larger one where least squares lead nowhere."""
    x, steps = np.clip(begin / form.scale, form.x_lower, form.x_upper), form.prog._time_steps
    x[steps] = np.minimum(2.0 * x[steps], form.x_upper[steps])
    if not num_steps or form.num_vars > _MOST_SQUARED:
        return x * form.scale, weight
    start = feasible_point(form, x, num_steps)[0]
    return start * form.scale, weight * (100.0 if (start == x).all() else 1.0)


def _search(form: NonlinearForm, guess: Array, settings: Settings) -> Outcome:
    """How the method ends; where scales were bad, in better ones."""
    outcome, is_sharp = _attempt(form, guess, settings)
    end = outcome.x if np.isfinite(outcome.x).all() else guess
    if not is_sharp and outcome.result in _MAY_BE_BETTER and form.rescale(end):
        second, _ = _attempt(form, guess if outcome.result is _FAILED else end, settings)
        is_better = second.result is SolutionResult.kSolutionFound
        outcome = second if is_better or outcome.result is SolutionResult.kSolutionFound else outcome
    return outcome


def _attempt(
    form: NonlinearForm, guess: Array, settings: Settings, may_go_on: Callable[[Progress], bool] | None = None
) -> tuple[Outcome, bool]:
    """How the method ends in the units of a form, and whether the answer would be the same in others."""
    start = np.clip(guess / form.scale, form.x_lower, form.x_upper)
    found = solve(_problem(form, start), start, settings, may_go_on)
    result = _RESULTS.get(found.status, _FAILED)
    details = InteriorPointSolverDetails(
        found.status.value, found.iterations, found.violation, found.dual_residual, found.complementarity
    )
    x = found.x * form.scale
    if result is not SolutionResult.kSolutionFound:
        return Outcome(result, x, details), False
    of_box = found.x_lower_multipliers - found.x_upper_multipliers
    outcome = Outcome(result, x, details, form.duals(-found.g_multipliers, of_box))
    outcome.is_judged = form.keeps_constraints(found.x, max(KEPT, settings.tol))
    if not outcome.is_judged:
        outcome.result = _FAILED
        return outcome, False
    weight = form.weight()
    if not form.has_cost or (weight == 1.0).all():
        return outcome, True
    slope = weight * form.cost(found.x)[1]
    (rows, columns), values = form.entries, form.constraints(found.x)[1]
    of_rows = np.bincount(columns, values * found.g_multipliers[rows], form.num_vars)
    left = slope + weight * (of_rows - of_box)
    return outcome, bool(np.abs(left).max() <= _SHARP * np.abs(slope).max())


def _problem(form: NonlinearForm, start: Array) -> NonlinearProblem:
    """The program as functions, of values alone where points are tried, and of derivatives where they are accepted."""
    form.constraints(start)  # rows are to be defined there

    def gradient(x: Array) -> Array:
        form.show(x)
        return form.cost(x)[1]

    def jacobian(x: Array) -> Array:
        if not form.has_cost:
            form.show(x)
        return form.constraints(x)[1]

    hessian, places = (form.hessian, form.hessian_entries) if form.has_hessian else (None, ((), ()))
    return NonlinearProblem(
        form.x_lower, form.x_upper, form.cost_value if form.has_cost else None, gradient, form.g_lower, form.g_upper,
        form.constraint_values, jacobian, *form.entries, hessian, *places,
    )  # fmt: skip
