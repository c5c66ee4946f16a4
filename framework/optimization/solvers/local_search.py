"""Small nonlinear programs by one method, and where that ends without a solution, by another."""

from __future__ import annotations

__all__ = ["LocalSearch"]

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import SolutionResult, SolverId
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.interior_point_solver import InteriorPointSolver
from merganser.framework.optimization.solvers.slsqp_solver import SlsqpSolver
from merganser.framework.optimization.solvers.solver import Outcome, cost_at
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_MOST_ITERATIONS = 500  # of the second method, where no option tells
_STATIONARY = 1e-3  # what of the gradient may be left at an optimum; more of it is at kinks, too


class LocalSearch(SlsqpSolver):
    """SlsqpSolver; InteriorPointSolver where that has no step to take, or a cost but no optimum to end at.

    Of the problems of Hock and Schittkowski, 55, 84, 97, 99 and 101 to 103 are found by the second alone.
    """

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        first = super()._solve(prog, guess, options)
        is_found = first.result is SolutionResult.kSolutionFound
        if first.result is SolutionResult.kUnbounded or (is_found and first.details.residual <= _STATIONARY):
            return first
        is_cut_short = first.result is SolutionResult.kIterationLimit or not prog.GetAllCosts()
        if is_cut_short and not first.details.is_singular():
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
