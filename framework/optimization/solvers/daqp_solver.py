"""Small dense linear and quadratic programs by DAQP; see `dense_programs.py`.

What DAQP says and does not prove is confirmed by a second solver, Clarabel or of linear programs HiGHS, or replaced by
its answer: of badly scaled programs DAQP may find that they are infeasible where they are not. Where gradients of
active rows depend on each other there are many prices: of quadratic programs those in the middle are taken then, which
Clarabel finds.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.forms import dense_programs
from merganser.framework.optimization.forms.dense_programs import DenseProgram, sense_of_rows
from merganser.framework.optimization.forms.quadratic_form import BoxPrices, LinearRows, QuadraticCosts
from merganser.framework.optimization.forms.scales import has_rows_and_columns_of_one
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.clarabel_solver import ClarabelSolver, convexity_objection
from merganser.framework.optimization.solvers.highs_solver import HighsSolver
from merganser.framework.optimization.solvers.judgement import box_of, keeps_constraints
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface, is_installed
from merganser.framework.optimization.solvers.solver_options import SolverOptions, check_names

_A = ProgramAttribute
# Numbers in H and A up to which programs are small, or large, and which part of them is not 0 in dense ones: of random
# dense programs of up to 300 variables it solves all 3 to 90 times as fast as Clarabel; of predictive control, programs
# of 62 variables 3 times, of 104 twice, of 244 half as fast; chains of 100 variables twice, of 300 a quarter as fast.
# A solution cannot be interrupted: of large programs it may take more than 50 ms.
SMALL, _LARGE, _DENSE = 20_000, 100_000, 0.25
_ROWS = ("linear_constraints", "linear_equality_constraints")
_LISTS = ("linear_costs", "quadratic_costs", *_ROWS, "bounding_box_constraints")
_ROUNDING = 1e-12  # of rows
_ACTIVE = 1e-9  # from bounds, where rows count as active


@dataclass(eq=False)
class DaqpSolverDetails:
    """What DAQP reports.

    Attributes:
        exitflag: 1 solved, -1 infeasible, -2 cycling, -3 unbounded, -4 limit of iterations, -5 not convex,
            -6 dependent rows, -7 limit of time.
        iterations: changes of the set of active rows.
        setup_time, solve_time: [s].
        multipliers: of the bounds of the variables and then of the rows; of the opposite sign of prices.
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
    PRIORITY = 30
    TAKES = frozenset({_A.kLinearCost, _A.kQuadraticCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint})
    REMEDY = "Install it: pip install daqp."

    def available(self) -> bool:
        """Whether daqp is installed."""
        return is_installed("daqp")

    def suits(self, prog: MathematicalProgram) -> bool:
        """Whether the program is small, or not sparse: zeros take as long as other numbers."""
        n = prog.num_vars()
        size = n * (n + sum(rows._num_outputs for _, rows, _ in prog._placed(*_ROWS)))
        if size <= SMALL or size > _LARGE:
            return size <= SMALL
        numbers = [each._entries for _, each, _ in prog._placed(*_ROWS)]
        numbers += [cost._Q for _, cost, _ in prog._placed("quadratic_costs")]
        return sum(map(np.count_nonzero, numbers)) >= _DENSE * size

    def _objection(self, prog: MathematicalProgram) -> str:
        return convexity_objection(prog) if prog._bindings["quadratic_costs"] else ""

    def _crossed(self, prog: MathematicalProgram, guess: Array) -> Outcome:
        return Outcome(SolutionResult.kInfeasibleConstraints, guess, DaqpSolverDetails(-1))

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        own = options.of(self.NAME) if options.options else {}
        form: _DenseForm = prog._remembered(_DenseForm, prog._numbers(*_LISTS), lambda: _DenseForm(prog))
        if not form.is_balanced:
            return self._confirmed(prog, guess, options, DaqpSolverDetails(0))
        answer = form.solve(guess, _settings(own) if own else dense_programs.SETTINGS)
        info, x = answer.info, answer.x
        details = DaqpSolverDetails(answer.exitflag, info["iterations"], info["setup_time"], info["solve_time"])
        if answer.said is SolutionResult.kIterationLimit and own:
            return Outcome(SolutionResult.kIterationLimit, x, details)
        if answer.result is SolutionResult.kInfeasibleConstraints:
            return Outcome(SolutionResult.kInfeasibleConstraints, x, details)
        if answer.result is not SolutionResult.kSolutionFound or (
            np.count_nonzero(answer.distance < -_ROUNDING) and not keeps_constraints(prog, x, form.box)
        ):
            return self._confirmed(prog, guess, options, details, answer.said)
        details.multipliers, is_active = answer.prices, answer.distance <= _ACTIVE
        duals: Any = functools.partial(form.duals, answer.prices)
        has_many = np.count_nonzero(is_active) > np.count_nonzero(answer.prices)
        # Prices of active rows that depend on each other are not unique: rank < number of rows.
        if has_many and not form.is_linear and np.linalg.matrix_rank(form.both[is_active]) < is_active.sum():
            duals = _central_prices(prog, guess, options) or duals
        found = SolutionResult.kSolutionFound
        return Outcome(found, x, details, duals, is_judged=True, cost=form.cost(answer))

    def _confirmed(
        self, prog: MathematicalProgram, guess: Array, options: SolverOptions, details: DaqpSolverDetails,
        said: SolutionResult = SolutionResult.kSolverSpecificError,
    ) -> Outcome:  # fmt: skip
        """The outcome of a second solver, in its name where it is another than that of DAQP."""
        other, kinds = ClarabelSolver() if prog._bindings["quadratic_costs"] else HighsSolver(), SolutionResult
        if not other.available():
            return Outcome(kinds.kSolverSpecificError if said is kinds.kSolutionFound else said, guess, details)
        outcome = other._solve(prog, guess, options)
        if (outcome.result is said is kinds.kInfeasibleConstraints) or (
            said is kinds.kUnbounded and outcome.result in (said, kinds.kDualInfeasible)
        ):
            outcome.details = details
        else:
            outcome.solver = other.NAME
        return outcome


class _DenseForm(DenseProgram):
    """The arrays of a MathematicalProgram; those whose numbers are the same as before are not made again."""

    def __init__(self, prog: MathematicalProgram) -> None:
        costs, self._rows, self.box = QuadraticCosts.of(prog), LinearRows.of(prog, *_ROWS), box_of(prog)
        self._n, self._constant = prog.num_vars(), costs.constant
        A = self._rows.below_identity()[self._n :]
        self.is_balanced: bool = prog._remembered("sizes", [A], lambda: has_rows_and_columns_of_one(A))
        bounds = self.box[0], self._rows.lower, self.box[1], self._rows.upper
        of_bounds = prog._remembered("bounds", list(bounds), lambda: (*_bounds(*bounds), BoxPrices(prog, self.box)))
        lower, upper, sense, self._boxes = of_bounds
        H = costs.hessian() if prog._bindings["quadratic_costs"] else None
        super().__init__(H, costs.f, A, lower, upper, sense)

    @property
    def both(self) -> Array:
        """[I; A]."""
        return self._rows.below_identity()

    def cost(self, answer: dense_programs.Answer) -> float:
        """The cost of an answer."""
        return answer.cost + self._constant

    def duals(self, z: Array) -> dict[Binding, Array]:
        """Prices of the constraints."""
        return {**self._rows.by_binding(-z[self._n :]), **self._boxes.by_binding(-z[: self._n])}


def _central_prices(prog: MathematicalProgram, guess: Array, options: SolverOptions) -> dict[Binding, Array]:
    if not ClarabelSolver().available():
        return {}
    outcome = ClarabelSolver()._solve(prog, guess, options)
    return outcome.prices() if outcome.result is SolutionResult.kSolutionFound else {}


def _bounds(lower: Array, low: Array, upper: Array, high: Array) -> tuple[Array, Array, Any]:
    least, most = np.concatenate((lower, low)), np.concatenate((upper, high))
    return least, most, sense_of_rows(least, most)


def _settings(own: dict[str, Any]) -> dict[str, Any]:
    import daqp

    check_names(DaqpSolver, own, daqp.Model().settings)
    return {**dense_programs.SETTINGS, **own}
