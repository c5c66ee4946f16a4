"""Small dense nonlinear programs: where searches begin, and how their ends are judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult, SolverId
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.feasible_points import EXACT, MOST_STEPS, feasible_point
from merganser.framework.optimization.solvers.interior_point_solver import InteriorPointSolver
from merganser.framework.optimization.solvers.judgement import KEPT, cost_at
from merganser.framework.optimization.solvers.nonlinear_form import NonlinearForm
from merganser.framework.optimization.solvers.sequential_quadratic import LIMIT, MESSAGES, SINGULAR, local_optimum
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_BEGINNING = 1e-2  # largest violation of points that are refined
_ENOUGH = 1e-3  # and of those where a search for the least cost begins, as its steps bring it to 0 just as fast
_ROUNDING = 1e-9  # sizes of rows below it are rounding
_SHARP = 1e-4  # what is left of the gradient where no search with better scales is needed
_FARTHEST = 10.0  # of the size of a guess, how far from it other starts are
_ALIKE = 0.3  # part by which violations may differ that are of one place; the next start is then twice as far
_MANY_STARTS = 20  # none of which led to a point: then the interior-point method, 10 times as slow, finds none either
_LAST_RESORT = 100  # iterations, from where least squares have found no point
_NOTHING = 1e-6  # part of the gradient, less than which is rounding, and what is of second order in steps
_STATIONARY = 1e-4  # what may be left of the gradient where a search ended otherwise
_MOST_ITERATIONS = 500  # of the interior-point method, unless an option sets it
_OPTIMAL = 1e-3  # what of the gradient may be left at an optimum; more of it is at kinks, too
_UNBOUNDED = 1e12  # a cost below minus this is taken for one that has no least


@dataclass(eq=False)
class SlsqpSolverDetails:
    """What the solver reports: its status as a number and as text, iterations and starts.

    `residual` is what prices leave of the gradient of the cost at a solution, relative to the largest element of that.
    """

    status: int
    message: str
    iterations: int
    num_starts: int
    residual: float = 0.0

    def is_singular(self) -> bool:
        """Whether there was no step to take, as linearized constraints contradict each other, but for rounding."""
        return self.status == SINGULAR


class SlsqpSolver(SolverInterface):
    """Nonlinear programs of up to some hundred variables, from the initial guess to a local optimum.

    Without a cost, any point that keeps the constraints is a solution; `feasible_points.py` finds one. With a cost,
    later searches begin at such a point, and with `begin_feasible` the first one, too.

    Options: maxiter (1000) of each search, ftol (1e-9), begin_feasible (False), and num_starts (5, without a cost 20):
    how many guesses are tried as long as no point that keeps the constraints is found.
    """

    NAME = "SLSQP"
    TAKES = frozenset(ProgramAttribute) - {ProgramAttribute.kBinaryVariable}

    def _crossed(self, prog: MathematicalProgram, guess: Array) -> Outcome:
        return Outcome(SolutionResult.kInfeasibleConstraints, guess, SlsqpSolverDetails(-1, "Bounds cross.", 0, 0))

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        form = NonlinearForm(prog)
        num_starts = 5 if form.has_cost else 20
        given: dict[str, Any] = {"maxiter": 1000, "ftol": 1e-9, "num_starts": num_starts, "begin_feasible": False}
        given |= options.of(self.NAME)
        given["maxiter"] = int(given["maxiter"])
        num_starts, begin_feasible = int(given.pop("num_starts")), bool(given.pop("begin_feasible"))
        best, count = _search(form, guess, num_starts, begin_feasible, given)
        is_found = best.result is SolutionResult.kSolutionFound
        end, duals = best.x * form.scale, _duals(form, best)
        is_done = best.result is SolutionResult.kUnbounded or (is_found and best.is_sharp())
        if not is_done and form.rescale(end if np.isfinite(end).all() else guess):
            second, more = _search(form, end if is_found else guess, num_starts, begin_feasible, given)
            count += more
            there = second.x * form.scale
            if not is_found or (second.is_end() and not cost_at(prog, end) <= cost_at(prog, there)):
                best, end, duals = second, there, _duals(form, second)
        details = SlsqpSolverDetails(best.status, best.message, best.iterations, count)
        if best.prices is not None:
            details.residual = best.prices[2]
        return Outcome(best.result, end, details, duals, is_judged=True)


class LocalSearch(SlsqpSolver):
    """SlsqpSolver; InteriorPointSolver where that has no step to take, or a cost but no optimum to end at.

    But not where searches from many starts found no point. It is what programs get under the name SLSQP. Of the
    problems of Hock and Schittkowski, 13 is found by the second alone.
    """

    NAME = SlsqpSolver.NAME
    PRIORITY = 90

    def SolverName(self) -> str:
        """The name of the class that its id belongs to."""
        return SlsqpSolver.__name__

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        first = super()._solve(prog, guess, options)
        is_found, is_singular = first.result is SolutionResult.kSolutionFound, first.details.is_singular()
        is_optimal = is_found and first.details.residual <= _OPTIMAL and not is_singular
        if first.result is SolutionResult.kUnbounded or is_optimal:
            return first
        if not is_found and first.details.num_starts >= _MANY_STARTS:
            return first
        is_cut_short = first.result is SolutionResult.kIterationLimit or not prog.GetAllCosts()
        if is_cut_short and not is_singular:
            return first
        name = InteriorPointSolver.NAME
        limited = SolverOptions(options=options.options)
        if "max_iter" not in options.of(name):
            limited.SetOption(SolverId(name), "max_iter", _MOST_ITERATIONS)
        second = InteriorPointSolver()._solve(prog, guess, limited)
        if second.result is not SolutionResult.kSolutionFound:
            return first
        if is_found and cost_at(prog, first.x) <= cost_at(prog, second.x):
            return first
        second.solver = name
        return second


def _duals(form: NonlinearForm, found: _Found) -> dict[Binding, Array]:
    if found.result is not SolutionResult.kSolutionFound:
        return {}
    of_rows, of_box, _ = found.prices or (np.zeros(form.g_lower.size), np.zeros(form.num_vars), 0.0)
    return form.duals(of_rows, of_box)


def _search(
    form: NonlinearForm, guess: Array, num_starts: int, begin_feasible: bool, given: dict[str, Any]
) -> tuple[_Found, int]:
    """The best of searches from several starts, and their number."""
    maxiter = given["maxiter"]
    guess = np.clip(guess / form.scale, form.x_lower, form.x_upper)
    has_rows = bool(form.g_lower.size)
    tried: list[_Found] = []
    if not has_rows or (form.has_cost and not begin_feasible):
        tried.append(_run(form, guess, given))
    least, nearest, count = np.inf, guess, len(tried)
    part, num_starts = 0.0, num_starts if has_rows else 0
    for number in range(num_starts):
        if tried and tried[-1].is_end():
            break
        count += 1
        if number == 1:  # most searches need one start only
            rng = np.random.default_rng(0)
        start = _start(form, guess, part, rng) if number else guess
        enough = _ENOUGH if form.has_cost else EXACT
        x, violation, steps = feasible_point(form, start, min(maxiter, MOST_STEPS), enough)
        is_known = abs(violation - least) < _ALIKE * least
        part = min(1.0, max(part + 1.0 / num_starts, 2.0 * part if is_known else 0.0))
        if violation < least:
            least, nearest = violation, x
        is_near = violation <= _ENOUGH if form.has_cost else violation == 0.0
        if is_near or (violation <= _BEGINNING and form.keeps_constraints(x)):
            all_hold = SolutionResult.kSolutionFound, 0.0, 0, "All constraints hold, and there is no cost.", steps
            tried.append(_run(form, x, given) if form.has_cost else _Found(x, *all_hold))
    if not tried or not tried[-1].is_end():
        tried.append(_run(form, nearest, {**given, "maxiter": min(maxiter, _LAST_RESORT)}))
    best = tried[-1] if tried[-1].is_end() else min(tried, key=lambda each: each.violation)
    if least < best.violation and not best.is_end():
        best = best._replace(x=nearest, violation=least, result=SolutionResult.kInfeasibleConstraints)
    return best, count


def _start(form: NonlinearForm, guess: Array, part: float, rng: np.random.Generator) -> Array:
    """A point around the guess: near it for a small part, anywhere within bounds for 1, or far off without bounds."""
    lower, upper = form.x_lower, form.x_upper
    width = np.where(np.isfinite(upper - lower), part * (upper - lower), _FARTHEST * part**2 * (1.0 + np.abs(guess)))
    return np.clip(guess + width * rng.uniform(-1.0, 1.0, guess.size), lower, upper)


class _Found(NamedTuple):
    """How a search ended; status and message are those of sequential_quadratic.py."""

    x: Array
    result: SolutionResult
    violation: float
    status: int
    message: str
    iterations: int
    prices: Any = None  # of the rows of g and of the box, and what part of the gradient they leave

    def is_sharp(self) -> bool:
        """Whether prices make up all of the gradient of the cost."""
        return self.prices is None or self.prices[2] <= _SHARP

    def is_end(self) -> bool:
        """Whether no other search is needed."""
        return self.result in (SolutionResult.kSolutionFound, SolutionResult.kUnbounded)


def _run(form: NonlinearForm, start: Array, options: dict[str, Any]) -> _Found:
    if (form.x_lower == form.x_upper).all():
        return _judged(form, start, form.cost_value(start), 0, "All variables are fixed.", 0)
    x, status, iterations, z = local_optimum(form, start, options["maxiter"], options["ftol"])
    cost = form.cost_value(x)
    if cost < -_UNBOUNDED * max(1.0, form.cost_scale) and form.keeps_constraints(x):
        return _Found(x, SolutionResult.kUnbounded, 0.0, -1, "The cost falls without end.", iterations)
    return _judged(form, x, cost, status, MESSAGES[status], iterations, z)


def _judged(
    form: NonlinearForm, x: Array, cost: float, status: int, message: str, iterations: int, z: Array | None = None
) -> _Found:
    kinds = SolutionResult
    if not (np.isfinite(x).all() and np.isfinite(cost)):
        return _Found(x, kinds.kSolverSpecificError, np.inf, status, message, iterations)
    if not form.keeps_constraints(x):
        g = form.constraints(x)[0]
        outside = np.maximum(form.g_lower - g, g - form.g_upper)
        violation = float(outside.max(initial=0.0)) if np.isfinite(g).all() else np.inf
        result = kinds.kIterationLimit if status == LIMIT else kinds.kInfeasibleConstraints
        result = result if violation < np.inf else kinds.kSolverSpecificError
        return _Found(x, result, violation, status, message, iterations)
    prices = _prices(form, x, z if status == 0 else None) if form.has_cost else None
    if status == 0 or prices is None or prices[2] <= _STATIONARY:
        result = kinds.kSolutionFound
    else:
        result = kinds.kIterationLimit if status == LIMIT else kinds.kSolverSpecificError
    return _Found(x, result, 0.0, status, message, iterations, prices)


def _prices(form: NonlinearForm, x: Array, z: Array | None) -> tuple[Array, Array, float]:
    """Prices of the rows of g and of the box that make up the gradient of f best, and what part of it is left.

    Those of the last step, -z of the box and of g, are taken where they leave nothing.

    Parts are compared by what they change f by as variables change by what they may. Where f has no slope, its size is
    that of slopes nearby.
    """
    _, gradient = form.cost(x)
    g, entries = form.constraints(x)
    if not np.isfinite(gradient).all():
        return np.zeros(g.size), np.zeros(x.size), np.inf
    weight = form.weight()
    slope, J = weight * gradient, form.dense(entries) * weight
    size = float(np.abs(slope).max(initial=0.0))
    if z is not None and z.size == g.size + x.size:
        left = float(np.abs(slope + J.T @ z[x.size :] + weight * z[: x.size]).max(initial=0.0))
        if left <= _NOTHING * size:
            return -z[x.size :], -z[: x.size], left / size if size > 0.0 else 0.0
    margin = KEPT * np.maximum(np.abs(J).max(axis=1, initial=0.0), _ROUNDING)
    near = KEPT * weight
    at_low = np.concatenate((g <= form.g_lower + margin, x <= form.x_lower + near))
    at_high = np.concatenate((g >= form.g_upper - margin, x >= form.x_upper - near))
    chosen = np.flatnonzero(at_low | at_high)
    active = np.vstack((J, np.diag(weight)))[chosen]
    prices = np.linalg.lstsq(active.T, slope, rcond=None)[0]
    may_rise, may_fall = at_low[chosen], at_high[chosen]
    if ((prices > 0.0) & ~may_rise | (prices < 0.0) & ~may_fall).any():
        prices = _of_right_signs(active, slope, may_rise, may_fall)
    everything = np.zeros(g.size + x.size)
    everything[chosen] = prices
    left = float(np.abs(slope - active.T @ prices).max(initial=0.0))
    if left > 0.0 and size < 1.0:
        size = max(size, form.slope_nearby(x))
    return everything[: g.size], everything[g.size :], left / size if size > 0.0 else 0.0


def _of_right_signs(active: Array, slope: Array, may_rise: Array, may_fall: Array) -> Array:
    """The prices, at least 0 of lower bounds and at most 0 of upper ones, that make up a slope best."""
    from scipy.optimize import nnls

    result = np.zeros(len(active))
    parts = nnls(np.vstack((active[may_rise], -active[may_fall])).T, slope)[0]
    result[may_rise] = parts[: int(may_rise.sum())]
    result[may_fall] -= parts[int(may_rise.sum()) :]
    return result
