"""What all solvers have in common."""

from __future__ import annotations

__all__ = ["Outcome", "SolverInterface", "check_bounds"]

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult, SolverId
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_KEPT = 1e-6  # tolerance of constraints


@dataclass
class Outcome:
    """What a solver returns: how it ended, values of all variables, and what else it knows."""

    result: SolutionResult
    x: Array
    details: Any = None
    duals: dict[Binding, Array] = field(default_factory=dict)
    suboptimal: list[tuple[float, Array]] = field(default_factory=list)
    solver: str = ""  # the name of the solver that really ran, where it is another


class SolverInterface:
    """A solver: which programs it takes, and how it solves them.

    A subclass sets NAME and TAKES and defines `_solve`; it refuses programs by `_objection` for what attributes do not
    tell, such as convexity.
    """

    NAME: ClassVar[str] = ""
    TAKES: ClassVar[frozenset[ProgramAttribute]] = frozenset()
    REMEDY: ClassVar[str] = ""  # how to get a solver that is not there

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        raise NotImplementedError

    def _objection(self, prog: MathematicalProgram) -> str:
        """Why a program whose attributes are taken is not; empty if it is."""
        return ""

    @classmethod
    def id(cls) -> SolverId:
        """The name of the solver."""
        return SolverId(cls.NAME)

    def solver_id(self) -> SolverId:
        """The name of the solver."""
        return self.id()

    def SolverName(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def solver_type(self) -> Any:
        """The number of the solver in old programs, or None."""
        from merganser.framework.optimization.solvers.solver_options import type_of

        return type_of(self.NAME)

    def available(self) -> bool:
        """Whether it is installed."""
        return True

    def enabled(self) -> bool:
        """Whether it is licensed, where that takes a licence."""
        return self.available()

    def AreProgramAttributesSatisfied(self, prog: MathematicalProgram) -> bool:
        """Whether this solver takes a program."""
        return not self.ExplainUnsatisfiedProgramAttributes(prog)

    def ExplainUnsatisfiedProgramAttributes(self, prog: MathematicalProgram) -> str:
        """Why this solver does not take a program; empty if it does."""
        others = sorted(each.name.removeprefix("k") for each in prog.required_capabilities() - self._taken())
        if others:
            verb = "were" if len(others) > 1 else "was"
            plural = "are" if len(others) > 1 else "is"
            return (
                f"{self.SolverName()} is unable to solve because {', '.join(others)} {verb} declared but {plural} not "
                "supported."
            )
        objection = self._objection(prog)
        return f"{self.SolverName()} is unable to solve because {objection}." if objection else ""

    def _taken(self) -> frozenset[ProgramAttribute]:
        return self.TAKES

    def Solve(
        self,
        prog: MathematicalProgram,
        initial_guess: Any = None,
        solver_options: SolverOptions | None = None,
        result: MathematicalProgramResult | None = None,
    ) -> MathematicalProgramResult:
        """Solves a program, and leaves it as it was.

        Args:
            prog: the program.
            initial_guess: values of all variables, shape [num_vars]; by default the guess of the program. Where there
                is NaN it is 0.
            solver_options: these are used before those of the program.
            result: filled in place of a new one.

        Raises:
            ValueError: the solver is not available, does not take the program, or a bound is above the other.
        """
        if not self.available():
            raise ValueError(f"{self.SolverName()} cannot solve: it is not available. {self.REMEDY}")
        explanation = self.ExplainUnsatisfiedProgramAttributes(prog)
        if explanation:
            raise ValueError(explanation)
        return self._solved(prog, initial_guess, solver_options, result)

    def _solved(
        self, prog: MathematicalProgram, initial_guess: Any, solver_options: SolverOptions | None,
        result: MathematicalProgramResult | None = None,
    ) -> MathematicalProgramResult:  # fmt: skip
        """What Solve does with a program that is known to be taken."""
        check_bounds(prog)
        given = prog._guess_to_begin_with() if initial_guess is None else initial_guess
        guess = np.array(given, dtype=np.float64).ravel()
        if guess.size != prog.num_vars():
            raise ValueError(f"{self.SolverName()}: expected a guess of {prog.num_vars()} values, got {guess.size}.")
        options = prog.solver_options().merged(solver_options)
        outcome = self._solve(prog, np.where(np.isnan(guess), 0.0, guess), options)
        return _filled(result or MathematicalProgramResult(), prog, outcome, outcome.solver or self.NAME)


def _filled(
    result: MathematicalProgramResult, prog: MathematicalProgram, outcome: Outcome, solver: str
) -> MathematicalProgramResult:
    result._variables, result._places = list(prog._variables), dict(prog._places)
    result._x, result._outcome, result._details = outcome.x, outcome.result, outcome.details
    result._solver, result._duals, result._suboptimal = SolverId(solver), outcome.duals, outcome.suboptimal
    kinds = SolutionResult
    if outcome.result in (kinds.kInfeasibleConstraints, kinds.kInfeasibleOrUnbounded):
        result._cost = np.inf
    elif outcome.result in (kinds.kUnbounded, kinds.kDualInfeasible):
        result._cost = -np.inf
    else:
        result._cost = cost_at(prog, outcome.x)
    return result


def cost_at(prog: MathematicalProgram, x: Array) -> float:
    """The sum of all costs."""
    total = 0.0
    for binding in prog.GetAllCosts():
        total += float(binding.evaluator()._values(x[prog._places_of(binding._variables)])[0])
    return total


def is_solution(prog: MathematicalProgram, x: Array) -> bool:
    """Whether a program without costs needs no search, as these values keep all constraints."""
    if prog.GetAllCosts():
        return False
    for variable, value in zip(prog._variables, x.tolist()):
        kind = variable.get_type().name
        if kind in ("BINARY", "INTEGER") and abs(value - round(value)) > _KEPT:
            return False
        if kind == "BINARY" and not -_KEPT <= value <= 1.0 + _KEPT:
            return False
    return prog.CheckSatisfied(prog.GetAllConstraints(), x, _KEPT)


def check_bounds(prog: MathematicalProgram) -> None:
    """Raises ValueError where a lower bound is above the upper one, or no number can be between them."""
    for binding in prog.GetAllConstraints():
        constraint = binding.evaluator()
        low, high = constraint._lower, constraint._upper
        is_right = (low <= high) & (low < np.inf) & (high > -np.inf)
        if not is_right.all():
            i = int(is_right.argmin())
            raise ValueError(
                f"Solve: {binding.brief()}: nothing is between the lower bound {low[i]} and the upper bound {high[i]} "
                f"of row {i}."
            )
