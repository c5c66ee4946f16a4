"""Base of all solvers, and how they are called so that Ctrl-C ends the wait."""

from __future__ import annotations

import functools
import importlib
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult, SolverId
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.framework.optimization.solvers.judgement import (
    check_bounds,
    cost_at,
    crosses,
    keeps_constraints,
)
from merganser.framework.optimization.solvers.solver_options import SolverOptions


@functools.cache
def is_installed(module: str) -> bool:
    """Whether a module can be imported; looked for once."""
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


# All solvers by NAME, in the order in which Solve considers them; those that it never chooses come last. Their classes
# register themselves.
SOLVERS: dict[str, type[SolverInterface]] = {}


@dataclass(slots=True)
class Outcome:
    """The outcome of a solver: how it ended, values of all variables, and details."""

    result: SolutionResult
    x: Array
    details: Any = None
    duals: Any = field(default_factory=dict)  # prices by binding, or a function that returns them
    suboptimal: list[tuple[float, Array]] = field(default_factory=list)
    solver: str = ""  # the name of the solver that really ran, where it is another
    is_judged: bool = False  # whether the solver itself has looked whether x keeps the constraints
    cost: float | None = None  # at x, if it is known

    def prices(self) -> dict[Binding, Array]:
        """The prices by binding."""
        if callable(self.duals):
            self.duals = self.duals()
        prices: dict[Binding, Array] = self.duals
        return prices


class SolverInterface:
    """A solver: which programs it takes, and how it solves them.

    A subclass sets NAME and TAKES and defines `_solve`; `_objection` refuses programs by what attributes do not
    say, such as convexity. From then on `MakeSolver` and `GetAvailableSolvers` know it by its NAME (unless it says
    `is_known=False`); if it sets PRIORITY, `Solve` and `ChooseBestSolver` may choose it. A class that repeats the NAME
    of its base takes that one's place.

    Raises:
        TypeError: another solver has this NAME.
    """

    NAME: ClassVar[str] = ""
    TAKES: ClassVar[frozenset[ProgramAttribute]] = frozenset()
    PRIORITY: ClassVar[float] = math.inf  # lower is chosen earlier: the more special, the lower; inf is never chosen
    REMEDY: ClassVar[str] = ""  # how to get a solver that is not there

    def __init_subclass__(cls, is_known: bool = True) -> None:
        super().__init_subclass__()
        if not is_known or "NAME" not in vars(cls):
            return
        other = SOLVERS.get(cls.NAME)
        if other is not None and not issubclass(cls, other) and cls.__qualname__ != other.__qualname__:
            raise TypeError(f"{cls.__name__}: {other.__name__} has the NAME {cls.NAME!r} already; choose another one.")
        SOLVERS[cls.NAME] = cls
        in_order = sorted(SOLVERS.items(), key=lambda item: (item[1].PRIORITY, item[0].lower()))
        SOLVERS.clear()
        SOLVERS.update(in_order)

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        raise NotImplementedError

    def _crossed(self, prog: MathematicalProgram, guess: Array) -> Outcome:
        """The outcome where bounds of one variable exclude each other, so that there is nothing to search."""
        return Outcome(SolutionResult.kInfeasibleConstraints, guess)

    def suits(self, prog: MathematicalProgram) -> bool:
        """Whether Solve and ChooseBestSolver may choose this solver for a program that it takes."""
        return True

    def _objection(self, prog: MathematicalProgram) -> str:
        """Why the solver refuses a program with supported attributes; empty if it does not."""
        return ""

    @classmethod
    def id(cls) -> SolverId:
        """The name of the solver."""
        return SolverId(cls.NAME)

    def solver_id(self) -> SolverId:
        """The name of the solver."""
        return self.id()

    def SolverName(self) -> str:
        """The name of the solver, as that of `solver_id`."""
        return self.NAME

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
        others = sorted(each.name.removeprefix("k") for each in prog.required_capabilities() - self.TAKES)
        if others:
            verb = "were" if len(others) > 1 else "was"
            plural = "are" if len(others) > 1 else "is"
            return (
                f"{type(self).__name__} is unable to solve because {', '.join(others)} {verb} declared but {plural} "
                "not supported."
            )
        objection = self._objection(prog)
        return f"{type(self).__name__} is unable to solve because {objection}." if objection else ""

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
            raise ValueError(f"{type(self).__name__} cannot solve: it is not available. {self.REMEDY}")
        explanation = self.ExplainUnsatisfiedProgramAttributes(prog)
        if explanation:
            raise ValueError(explanation)
        return self._solved(prog, initial_guess, solver_options, result)

    def _solved(
        self, prog: MathematicalProgram, initial_guess: Any, solver_options: SolverOptions | None,
        result: MathematicalProgramResult | None = None,
    ) -> MathematicalProgramResult:  # fmt: skip
        """Solves a program whose kinds were checked."""
        check_bounds(prog)
        if initial_guess is None:
            guess = prog._guess_to_begin_with()
        else:
            guess = np.array(initial_guess, dtype=np.float64).ravel()
        if guess.size != prog.num_vars():
            raise ValueError(f"{type(self).__name__}: expected a guess of {prog.num_vars()} values, got {guess.size}.")
        guess[guess != guess] = 0.0  # NaN
        options = prog._options.merged(solver_options)
        if crosses(prog):
            outcome = self._crossed(prog, guess)
        else:
            outcome = self._solve(prog, guess, options)
        is_found = outcome.result is SolutionResult.kSolutionFound and not outcome.is_judged
        if is_found and not keeps_constraints(prog, outcome.x):
            outcome.result = SolutionResult.kSolverSpecificError
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
        result._cost = cost_at(prog, outcome.x) if outcome.cost is None else outcome.cost
    return result


_BETWEEN_LOOKS = 0.05  # [s]


def interruptible(function: Callable[[], Any]) -> Any:
    """Calls a function that releases the GIL in a thread of its own, so that Ctrl-C ends the wait at once.

    After that the function itself goes on to its end in the background, and its result is dropped.

    Raises:
        BaseException: whatever the function raises.
    """
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:  # panics of Rust are no Exceptions
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_BETWEEN_LOOKS)
    if errors:
        raise errors[0]
    return results[0]
