"""Small dense nonlinear programs by sequential quadratic programming (Kraft 1988), which scipy brings."""

from __future__ import annotations

__all__ = ["MOST_DENSE", "SlsqpSolver", "SlsqpSolverDetails"]

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.nonlinear_form import NonlinearForm, Remembered
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions

MOST_DENSE = 60  # variables; steps of larger programs take longer than those of a sparse method
_FEASIBLE = 1e-6  # what SNOPT calls its feasibility tolerance, too
_SINGULAR = 6  # scipy's status
_UNBOUNDED = 1e12  # a cost below minus this is taken for one that has no least


@dataclass(eq=False)
class SlsqpSolverDetails:
    """What the solver tells: its status as a number and as text, iterations and starts."""

    status: int
    message: str
    iterations: int
    num_starts: int

    def is_singular(self) -> bool:
        """Whether there was no step to take, as derivatives of equations depend on each other."""
        return self.status == _SINGULAR


class SlsqpSolver(SolverInterface):
    """Nonlinear programs of up to some hundred variables, from the initial guess to a local optimum.

    Options: maxiter (1000), ftol (1e-9), and num_starts (5): how many guesses are tried if no point that satisfies the
    constraints is found from the first.
    """

    NAME = "SLSQP"
    TAKES = frozenset(ProgramAttribute) - {ProgramAttribute.kBinaryVariable}

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        form = NonlinearForm(prog)
        given = {"maxiter": 1000, "ftol": 1e-9, "num_starts": 5, **options.of(self.NAME)}
        best: tuple[float, Any, SolutionResult] | None = None
        starts = _starts(form, guess / form.scale, int(given.pop("num_starts")))
        count = 0
        for start in starts:
            count += 1
            found, result = _run(form, start, given)
            gap = form.violation(found.x, form.constraints(found.x)[0])
            is_end = result in (SolutionResult.kSolutionFound, SolutionResult.kUnbounded)
            if best is None or is_end or gap < best[0]:
                best = (gap, found, result)
            if is_end:
                break
        assert best is not None
        _, found, result = best
        details = SlsqpSolverDetails(int(found.status), str(found.message), int(found.nit), count)
        duals = _duals(form, found.x) if result is SolutionResult.kSolutionFound else {}
        return Outcome(result, found.x * form.scale, details, duals)


def _starts(form: NonlinearForm, guess: Array, count: int) -> Iterator[Array]:
    """The guess, and then points around it, ever farther, by a fixed seed."""
    lower, upper = form.x_lower, form.x_upper
    yield np.clip(guess, lower, upper)
    rng = np.random.default_rng(0)
    width = np.where(np.isfinite(upper - lower), upper - lower, 1.0 + np.abs(guess))
    for k in range(1, count if form.g_lower.size else 1):
        yield np.clip(guess + width * (k / count) * rng.uniform(-1.0, 1.0, guess.size), lower, upper)


class _FallsForever(Exception):
    """The cost is so low that it is taken for one that has no least."""

    def __init__(self, x: Array) -> None:
        super().__init__()
        self.x = x


def _run(form: NonlinearForm, start: Array, options: dict[str, Any]) -> tuple[Any, SolutionResult]:
    from scipy.optimize import minimize

    def rows(x: Array) -> tuple[Array, Array]:
        g, blocks = form.constraints(x)
        return g, form.jacobian(blocks)

    def cost(x: Array) -> tuple[float, Array]:
        value, gradient = form.cost(x)
        if value < -_UNBOUNDED and form.violation(x, remembered(x)[0]) <= _FEASIBLE * max(1.0, float(np.abs(x).max())):
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
        found = SimpleNamespace(x=start, fun=cost(start)[0], status=0, message="All variables are fixed.", nit=0)
        return found, _result(form, found)
    try:
        found = minimize(
            cost, start, jac=True, method="SLSQP", bounds=np.column_stack((form.x_lower, form.x_upper)),
            constraints=constraints, callback=form.show, options=options,
        )  # fmt: skip
    except _FallsForever as end:
        found = SimpleNamespace(x=end.x, status=-1, message="The cost falls without end.", nit=0)
        return found, SolutionResult.kUnbounded
    return found, _result(form, found)


def _result(form: NonlinearForm, found: Any) -> SolutionResult:
    kinds = SolutionResult
    g = form.constraints(found.x)[0]
    if not (np.isfinite(found.x).all() and np.isfinite(found.fun) and np.isfinite(g).all()):
        return kinds.kSolverSpecificError
    scale = max(1.0, float(np.abs(found.x).max(initial=0.0)))
    if form.violation(found.x, g) > _FEASIBLE * scale:
        return kinds.kIterationLimit if found.status == 9 else kinds.kInfeasibleConstraints
    if found.status == 0 or _is_stationary(form, found.x):
        return kinds.kSolutionFound
    return kinds.kIterationLimit if found.status == 9 else kinds.kSolverSpecificError


def _prices(form: NonlinearForm, x: Array) -> tuple[Array, Array, float]:
    """Prices of the rows of g and of the box that make up the gradient of f best, and what is left of it."""
    _, gradient = form.cost(x)
    g, blocks = form.constraints(x)
    margin = 1e-6
    rows = np.flatnonzero((g <= form.g_lower + margin) | (g >= form.g_upper - margin))
    box = np.flatnonzero((x <= form.x_lower + margin) | (x >= form.x_upper - margin))
    active = np.vstack((form.jacobian(blocks)[rows], np.eye(x.size)[box]))
    prices = np.linalg.lstsq(active.T, gradient, rcond=None)[0]
    of_rows, of_box = np.zeros(g.size), np.zeros(x.size)
    of_rows[rows], of_box[box] = prices[: rows.size], prices[rows.size :]
    return of_rows, of_box, float(np.abs(gradient - active.T @ prices).max(initial=0.0))


def _is_stationary(form: NonlinearForm, x: Array) -> bool:
    return _prices(form, x)[2] <= 1e-4 * max(1.0, float(np.abs(form.cost(x)[1]).max(initial=0.0)))


def _duals(form: NonlinearForm, x: Array) -> dict[Binding, Array]:
    of_rows, of_box, _ = _prices(form, x)
    return form.duals(of_rows, of_box)
