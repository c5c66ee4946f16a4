"""Small dense nonlinear programs by sequential quadratic programming (Kraft 1988), which scipy brings."""

from __future__ import annotations

__all__ = ["MOST_DENSE", "SlsqpSolver", "SlsqpSolverDetails"]

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.feasible_points import MOST_STEPS, feasible_point
from merganser.framework.optimization.solvers.nonlinear_form import NonlinearForm, Remembered
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions

MOST_DENSE = 60  # variables; steps of larger programs take longer than those of a sparse method
_FEASIBLE = 1e-6  # what SNOPT calls its feasibility tolerance, too
_LAST_RESORT = 100  # iterations, from where least squares have found no point
_SINGULAR = 6  # scipy's status
_UNBOUNDED = 1e12  # a cost below minus this is taken for one that has no least


@dataclass(eq=False)
class SlsqpSolverDetails:
    """What the solver tells: its status as a number and as text, iterations and starts.

    `residual` is what prices leave of the gradient of the cost at a solution, relative to the largest element of that.
    """

    status: int
    message: str
    iterations: int
    num_starts: int
    residual: float = 0.0

    def is_singular(self) -> bool:
        """Whether there was no step to take, as derivatives of equations depend on each other."""
        return self.status == _SINGULAR


class SlsqpSolver(SolverInterface):
    """Nonlinear programs of up to some hundred variables, from the initial guess to a local optimum.

    Without a cost, any point that keeps the constraints is a solution; `feasible_points.py` finds one. With a cost,
    later searches begin at such a point, and with `begin_feasible` the first one, too.

    Options: maxiter (1000) of each search, ftol (1e-9), begin_feasible (False), and num_starts (5): how many guesses
    are tried as long as no point that keeps the constraints is found.
    """

    NAME = "SLSQP"
    TAKES = frozenset(ProgramAttribute) - {ProgramAttribute.kBinaryVariable}

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        form = NonlinearForm(prog)
        given = {"maxiter": 1000, "ftol": 1e-9, "num_starts": 5, "begin_feasible": False, **options.of(self.NAME)}
        maxiter = given["maxiter"] = int(given["maxiter"])
        num_starts, begin_feasible = int(given.pop("num_starts")), bool(given.pop("begin_feasible"))
        guess = np.clip(guess / form.scale, form.x_lower, form.x_upper)
        has_rows = bool(form.g_lower.size)
        tried: list[_Found] = []
        if not has_rows or (form.has_cost and not begin_feasible):
            tried.append(_run(form, guess, given))
        least, nearest, count = np.inf, guess, len(tried)
        starts = _starts(form, guess, num_starts if has_rows else 0)
        while not (tried and tried[-1].is_end()) and (start := next(starts, None)) is not None:
            count += 1
            x, violation, steps = feasible_point(form, start, min(maxiter, MOST_STEPS))
            if violation < least:
                least, nearest = violation, x
            if violation <= _FEASIBLE * _size_of(x):
                tried.append(_run(form, x, given) if form.has_cost else _without_cost(form, x, steps))
        if not tried or not tried[-1].is_end():
            tried.append(_run(form, nearest, {**given, "maxiter": min(maxiter, _LAST_RESORT)}))
        best = tried[-1] if tried[-1].is_end() else min(tried, key=lambda each: each.violation)
        if least < best.violation and not best.is_end():
            best = best._replace(x=nearest, violation=least, result=SolutionResult.kInfeasibleConstraints)
        details = SlsqpSolverDetails(best.status, best.message, best.iterations, count)
        duals = {}
        if best.result is SolutionResult.kSolutionFound:
            of_rows, of_box, details.residual = _prices(form, best.x)
            duals = form.duals(of_rows, of_box)
        return Outcome(best.result, best.x * form.scale, details, duals)


def _starts(form: NonlinearForm, guess: Array, count: int) -> Iterator[Array]:
    """The guess, and then points around it, ever farther, by a fixed seed."""
    if count > 0:
        yield guess
    lower, upper = form.x_lower, form.x_upper
    rng = np.random.default_rng(0)
    width = np.where(np.isfinite(upper - lower), upper - lower, 1.0 + np.abs(guess))
    for k in range(1, count):
        yield np.clip(guess + width * (k / count) * rng.uniform(-1.0, 1.0, guess.size), lower, upper)


class _FallsForever(Exception):
    """The cost is so low that it is taken for one that has no least."""

    def __init__(self, x: Array) -> None:
        super().__init__()
        self.x = x


class _Found(NamedTuple):
    """How a search ended; status and message are scipy's."""

    x: Array
    result: SolutionResult
    violation: float
    status: int
    message: str
    iterations: int

    def is_end(self) -> bool:
        """Whether no other search is needed."""
        return self.result in (SolutionResult.kSolutionFound, SolutionResult.kUnbounded)


def _size_of(x: Array) -> float:
    return max(1.0, float(np.abs(x).max(initial=0.0)))


def _without_cost(form: NonlinearForm, x: Array, steps: int) -> _Found:
    return _Found(x, SolutionResult.kSolutionFound, 0.0, 0, "All constraints hold, and there is no cost.", steps)


def _run(form: NonlinearForm, start: Array, options: dict[str, Any]) -> _Found:
    from scipy.optimize import minimize

    def rows(x: Array) -> tuple[Array, Array]:
        g, blocks = form.constraints(x)
        return g, form.jacobian(blocks)

    def cost(x: Array) -> tuple[float, Array]:
        value, gradient = form.cost(x)
        if value < -_UNBOUNDED and form.violation(x, remembered(x)[0]) <= _FEASIBLE * _size_of(x):
            raise _FallsForever(x.copy())
        return value, gradient

    remembered = Remembered(rows)
    low, high = form.g_lower, form.g_upper
    equal = np.flatnonzero(low == high)
    lower = np.flatnonzero(np.isfinite(low) & (low != high))
    upper = np.flatnonzero(np.isfinite(high) & (low != high))
    constraints = []
    for kind, chosen, sign, bound in (("eq", equal, 1.0, low), ("ineq", lower, 1.0, low), ("ineq", upper, -1.0, high)):
        if chosen.size:
            constraints.append(
                {
                    "type": kind,
                    "fun": lambda x, i=chosen, s=sign, b=bound: s * (remembered(x)[0][i] - b[i]),
                    "jac": lambda x, i=chosen, s=sign: s * remembered(x)[1][i],
                }
            )
    if (form.x_lower == form.x_upper).all():  # scipy would tell no status
        return _judged(form, start, cost(start)[0], 0, "All variables are fixed.", 0)
    try:
        found = minimize(
            cost, start, jac=True, method="SLSQP", bounds=np.column_stack((form.x_lower, form.x_upper)),
            constraints=constraints, callback=form.show, options=options,
        )  # fmt: skip
    except _FallsForever as end:
        return _Found(end.x, SolutionResult.kUnbounded, 0.0, -1, "The cost falls without end.", 0)
    return _judged(form, found.x, float(found.fun), int(found.status), str(found.message), int(found.nit))


def _judged(form: NonlinearForm, x: Array, cost: float, status: int, message: str, iterations: int) -> _Found:
    kinds = SolutionResult
    g = form.constraints(x)[0]
    violation = form.violation(x, g)
    if not (np.isfinite(x).all() and np.isfinite(cost) and np.isfinite(g).all()):
        result, violation = kinds.kSolverSpecificError, np.inf
    elif violation > _FEASIBLE * _size_of(x):
        result = kinds.kIterationLimit if status == 9 else kinds.kInfeasibleConstraints
    elif status == 0 or _is_stationary(form, x):
        result = kinds.kSolutionFound
    else:
        result = kinds.kIterationLimit if status == 9 else kinds.kSolverSpecificError
    return _Found(x, result, violation, status, message, iterations)


def _prices(form: NonlinearForm, x: Array) -> tuple[Array, Array, float]:
    """Prices of the rows of g and of the box that make up the gradient of f best, and what part of it is left."""
    if not form.has_cost:
        return np.zeros(form.g_lower.size), np.zeros(x.size), 0.0
    _, gradient = form.cost(x)
    g, blocks = form.constraints(x)
    margin = 1e-6
    rows = np.flatnonzero((g <= form.g_lower + margin) | (g >= form.g_upper - margin))
    box = np.flatnonzero((x <= form.x_lower + margin) | (x >= form.x_upper - margin))
    active = np.vstack((form.jacobian(blocks)[rows], np.eye(x.size)[box]))
    prices = np.linalg.lstsq(active.T, gradient, rcond=None)[0]
    of_rows, of_box = np.zeros(g.size), np.zeros(x.size)
    of_rows[rows], of_box[box] = prices[: rows.size], prices[rows.size :]
    left = float(np.abs(gradient - active.T @ prices).max(initial=0.0))
    return of_rows, of_box, left / max(1.0, float(np.abs(gradient).max(initial=0.0)))


def _is_stationary(form: NonlinearForm, x: Array) -> bool:
    return _prices(form, x)[2] <= 1e-4

