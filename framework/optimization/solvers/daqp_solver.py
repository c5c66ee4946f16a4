"""Small dense linear and quadratic programs by DAQP, a dual active-set method (Arnstroem, Bemporad and Axehill 2022).

An optimum of a convex program is proved by prices: with the bounds that are active, it is where

    H x + f + A'z = 0,   z_i >= 0 at upper bounds, z_i <= 0 at lower ones                                        (1)

This is checked. Where gradients of active rows depend on each other there are many such prices: of quadratic programs
those in the middle are taken then, which Clarabel finds. That there is no x is proved by prices, too. What DAQP says
otherwise is confirmed by a second solver, Clarabel or of linear programs HiGHS, or replaced by its answer: of badly
scaled programs DAQP may find that they are infeasible where they are not.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.clarabel_solver import ClarabelSolver, convexity_objection
from merganser.framework.optimization.solvers.highs_solver import HighsSolver
from merganser.framework.optimization.solvers.judgement import KEPT, box_of, keeps_constraints
from merganser.framework.optimization.solvers.quadratic_form import BoxPrices, LinearRows, QuadraticCosts
from merganser.framework.optimization.solvers.scales import has_rows_and_columns_of_one
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface, is_installed
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_A = ProgramAttribute
# Numbers in H and A up to which programs are small, or large, and which part of them is not 0 in dense ones: of random
# dense programs of up to 300 variables it solves all 3 to 90 times as fast as Clarabel; of predictive control, programs
# of 62 variables 3 times, of 104 twice, of 244 half as fast; chains of 100 variables twice, of 300 a quarter as fast.
# A solution cannot be interrupted: of large programs it may take more than 50 ms.
_SMALL, _LARGE, _DENSE = 20_000, 100_000, 0.25
_FEW = 10  # variables, of which a solution is found before a guess is made use of
_ROWS = ("linear_constraints", "linear_equality_constraints")
_LISTS = ("linear_costs", "quadratic_costs", *_ROWS, "bounding_box_constraints")
_EQUATION = 5  # the sense of rows that are active for good
_LEFT = 1e-14  # the square of what rounding may leave of the gradient in (1), relative to its terms
_ROUNDING = 1e-12  # of rows
_ACTIVE = 1e-9  # from bounds, where rows count as active
_SETTINGS: dict[str, Any] = {"primal_tol": 1e-9, "eta_prox": 1e-9}  # 1e-6 each, unless an option says otherwise
_OUTCOMES = {
    1: SolutionResult.kSolutionFound,
    -1: SolutionResult.kInfeasibleConstraints,
    -3: SolutionResult.kUnbounded,
    -4: SolutionResult.kIterationLimit,
    -7: SolutionResult.kIterationLimit,
}

_WITHOUT_MINIMUM = SolutionResult.kDualInfeasible, SolutionResult.kUnbounded


@dataclass(eq=False)
class DaqpSolverDetails:
    """What DAQP reports.

    Attributes:
        exitflag: 1 solved, -1 infeasible, -2 cycling, -3 unbounded, -4 limit of iterations, -5 not convex,
            -6 dependent rows, -7 limit of time.
        iterations: changes of the set of active rows.
        setup_time, solve_time: [s].
        multipliers: z of (1), of the bounds of the variables and then of the rows; of the opposite sign of prices.
    """

    exitflag: int
    iterations: int = 0
    setup_time: float = 0.0
    solve_time: float = 0.0
    multipliers: Array = field(default_factory=lambda: np.zeros(0), repr=False)


class DaqpSolver(SolverInterface):
    """Linear and quadratic programs that are convex and small.

    Options are the settings of DAQP, by their names: iter_limit, primal_tol, dual_tol, eps_prox, ... With more than ten
    variables the guess says which bounds are active first.
    """

    NAME = "DAQP"
    TAKES = frozenset({_A.kLinearCost, _A.kQuadraticCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint})
    REMEDY = "Install it: pip install daqp."

    def available(self) -> bool:
        """Whether daqp is installed."""
        return is_installed("daqp")

    def suits(self, prog: MathematicalProgram) -> bool:
        """Whether the program is small, or not sparse: zeros take as long as other numbers."""
        n = prog.num_vars()
        size = n * (n + sum(rows._num_outputs for _, rows, _ in prog._placed(*_ROWS)))
        if size <= _SMALL or size > _LARGE:
            return size <= _SMALL
        numbers = [each._entries for _, each, _ in prog._placed(*_ROWS)]
        numbers += [cost._Q for _, cost, _ in prog._placed("quadratic_costs")]
        return sum(map(np.count_nonzero, numbers)) >= _DENSE * size

    def _objection(self, prog: MathematicalProgram) -> str:
        return convexity_objection(prog) if prog._bindings["quadratic_costs"] else ""

    def _crossed(self, prog: MathematicalProgram, guess: Array) -> Outcome:
        return Outcome(SolutionResult.kInfeasibleConstraints, guess, DaqpSolverDetails(-1))

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        import daqp

        own = options.of(self.NAME) if options.options else {}
        given = _settings(daqp, own) if own else _SETTINGS
        form: _DenseForm = prog._remembered(_DenseForm, prog._numbers(*_LISTS), lambda: _DenseForm(prog))
        if not form.is_balanced:
            return self._confirmed(prog, guess, options, DaqpSolverDetails(0))
        solve = functools.partial(daqp.solve, form.H, form.f, form.A, form.upper, form.lower, form.sense, **given)
        if guess.size <= _FEW or not guess.any():
            x, value, flag, info = solve()
        else:
            x, value, flag, info = solve(primal_start=guess)
            if flag <= 0:  # where the rows that the guess makes active depend on each other
                x, value, flag, info = solve()
        details = DaqpSolverDetails(flag, info["iterations"], info["setup_time"], info["solve_time"])
        if _OUTCOMES.get(flag) is SolutionResult.kIterationLimit and own:
            return Outcome(SolutionResult.kIterationLimit, x, details)
        if _OUTCOMES.get(flag) is SolutionResult.kInfeasibleConstraints:
            nearest = _nearest_where_infeasible(daqp, form)
            if nearest is not None:
                return Outcome(SolutionResult.kInfeasibleConstraints, nearest, details)
        if flag <= 0:
            return self._confirmed(prog, guess, options, details)
        z, is_linear = info["lam"], not prog._bindings["quadratic_costs"]
        if is_linear:
            x = form.at_bounds(x, z)
            value = form.f.dot(x)
        y, Hx = form.both.dot(x), form.H.dot(x)
        distance, left = np.minimum(y - form.lower, form.upper - y), Hx + form.f + z.dot(form.both)
        is_optimal = left.dot(left) <= _LEFT * (Hx.dot(Hx) + form.size_of_f)  # (1)
        if not is_optimal or (np.count_nonzero(distance < -_ROUNDING) and not keeps_constraints(prog, x, form.box)):
            return self._confirmed(prog, guess, options, details)
        details.multipliers, is_active = z, distance <= _ACTIVE
        duals: Any = functools.partial(form.duals, z)
        has_many = np.count_nonzero(is_active) > np.count_nonzero(z)
        if has_many and not is_linear and not _are_independent(form.both[is_active]):
            duals = _central_prices(prog, guess, options) or duals
        found = SolutionResult.kSolutionFound
        return Outcome(found, x, details, duals, is_judged=True, cost=value + form.constant)

    def _confirmed(
        self, prog: MathematicalProgram, guess: Array, options: SolverOptions, details: DaqpSolverDetails
    ) -> Outcome:
        """The outcome of a second solver, in its name where it is another than that of DAQP."""
        result = _OUTCOMES.get(details.exitflag, SolutionResult.kSolverSpecificError)
        other = ClarabelSolver() if prog._bindings["quadratic_costs"] else HighsSolver()
        if not other.available():
            is_proved = result is not SolutionResult.kSolutionFound
            return Outcome(result if is_proved else SolutionResult.kSolverSpecificError, guess, details)
        outcome = other._solve(prog, guess, options)
        if outcome.result is result is SolutionResult.kInfeasibleConstraints or (
            outcome.result in _WITHOUT_MINIMUM and result is SolutionResult.kUnbounded
        ):
            outcome.details = details
        else:
            outcome.solver = other.NAME
        return outcome


class _DenseForm:
    """min 0.5 x'H x + f'x + constant, lower <= [x; A x] <= upper, as DAQP takes it; `both` is [I; A]."""

    def __init__(self, prog: MathematicalProgram) -> None:
        costs, self._rows, self.box = QuadraticCosts.of(prog), LinearRows.of(prog, *_ROWS), box_of(prog)
        self.H, self.f, self.constant = costs.hessian(), costs.f, costs.constant
        self.size_of_f = float(self.f.dot(self.f))
        self.both, self._n = self._rows.below_identity(), prog.num_vars()
        self.A = self.both[self._n :]
        self.is_balanced: bool = prog._remembered("sizes", [self.A], lambda: has_rows_and_columns_of_one(self.A))
        bounds = self.box[0], self._rows.lower, self.box[1], self._rows.upper
        of_bounds = prog._remembered("bounds", list(bounds), lambda: (*_bounds(*bounds), BoxPrices(prog, self.box)))
        self.lower, self.upper, self.sense, self._boxes = of_bounds

    def at_bounds(self, x: Array, z: Array) -> Array:
        """The solution of a linear program in a vertex to the last digits: DAQP approaches it by quadratic programs."""
        active = z.nonzero()[0]
        rows, bounds = self.both[active], np.where(z > 0.0, self.upper, self.lower)[active]
        try:
            correction: Array = rows.T.dot(np.linalg.solve(rows.dot(rows.T), bounds - rows.dot(x)))
        except np.linalg.LinAlgError:
            return x
        return x + correction

    def duals(self, z: Array) -> dict[Binding, Array]:
        """Prices of the constraints."""
        return {**self._rows.by_binding(-z[self._n :]), **self._boxes.by_binding(-z[: self._n])}


def _nearest_where_infeasible(daqp: Any, form: _DenseForm) -> Array | None:
    """The x in its box with the least t, where rows of length 1 are violated by t at most; None if t may be 0.

    min t, G x - t <= h is a linear program with a solution, whose prices prove that there is no x with t = 0 (Farkas).
    """
    n, (low, high) = form.box[0].size, (form.lower, form.upper)
    is_above, is_below = high[n:] < np.inf, low[n:] > -np.inf
    G = np.concatenate((form.A[is_above], -form.A[is_below]))
    sizes = np.linalg.norm(G, axis=1)
    if not sizes.all():
        return None
    rows = np.column_stack((G / sizes[:, np.newaxis], -np.ones(sizes.size)))
    limits = np.concatenate((high[n:][is_above], -low[n:][is_below])) / sizes
    upper, lower = np.concatenate((high[:n], [np.inf], limits)), np.full(n + 1 + sizes.size, -np.inf)
    lower[:n] = low[:n]
    cost, sense = np.eye(n + 1)[-1], sense_of_rows(lower, upper)
    x, _, flag, info = daqp.solve(np.zeros((n + 1, n + 1)), cost, rows, upper, lower, sense, **_SETTINGS)
    z = info["lam"]
    z[n + 1 :] = np.maximum(z[n + 1 :], 0.0)
    left, active = cost + z[: n + 1] + z[n + 1 :].dot(rows), z.nonzero()[0]
    t = -np.where(z > 0.0, upper, lower)[active].dot(z[active])
    is_proved = flag > 0 and left.dot(left) <= _LEFT and t > KEPT * max(1.0, float(np.abs(limits).max()))
    return x[:-1] if is_proved else None


def _are_independent(rows: Array) -> bool:
    return len(rows) <= rows.shape[1] and int(np.linalg.matrix_rank(rows)) == len(rows)


def _central_prices(prog: MathematicalProgram, guess: Array, options: SolverOptions) -> dict[Binding, Array]:
    if not ClarabelSolver().available():
        return {}
    outcome = ClarabelSolver()._solve(prog, guess, options)
    return dict(outcome.duals) if outcome.result is SolutionResult.kSolutionFound else {}


def _bounds(lower: Array, low: Array, upper: Array, high: Array) -> tuple[Array, Array, Any]:
    least, most = np.concatenate((lower, low)), np.concatenate((upper, high))
    return least, most, sense_of_rows(least, most)


def sense_of_rows(lower: Array, upper: Array) -> Any:
    """Which rows are equations, as DAQP takes it."""
    return np.multiply(lower == upper, _EQUATION, dtype=np.intc)


def _settings(daqp: Any, own: dict[str, Any]) -> dict[str, Any]:
    given = {**_SETTINGS, **own}
    unknown = given.keys() - daqp.Model().settings.keys()
    if unknown:
        raise ValueError(f"DaqpSolver: there is no option {min(unknown)!r}.")
    return given
