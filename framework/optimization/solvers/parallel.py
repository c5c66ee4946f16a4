"""Several programs at once."""

from __future__ import annotations

__all__ = ["SolveInParallel"]

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from merganser.framework.common.parallelism import Parallelism
from merganser.framework.optimization.kinds import SolverId
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.framework.optimization.solvers.choose import MakeSolver, Solve
from merganser.framework.optimization.solvers.solver_options import SolverOptions


def SolveInParallel(
    progs: Sequence[MathematicalProgram],
    initial_guesses: Sequence[Any] | None = None,
    solver_options: Sequence[SolverOptions | None] | SolverOptions | None = None,
    solver_ids: Sequence[SolverId | None] | SolverId | None = None,
    parallelism: Any = True,
    dynamic_schedule: bool = False,
    *,
    solver_id: SolverId | None = None,
) -> list[MathematicalProgramResult]:
    """Solves several programs in threads; those that call functions of a user's, in turn.

    Args:
        progs: the programs; one may be there several times, with different guesses.
        initial_guesses: a guess for each, or None for that of its program.
        solver_options: options of each, or for all.
        solver_ids: the solver of each, or for all; None: that which suits it best.
        parallelism: True, False, a number of threads, or a Parallelism.
        dynamic_schedule: nothing here; threads take the next program when they are free.

    Returns:
        The results, in the order of the programs.

    Raises:
        ValueError: there are not as many guesses, options or solvers as programs.
    """
    count = len(progs)

    def each(given: Any, what: str) -> list[Any]:
        values = list(given) if isinstance(given, (list, tuple)) else [given] * count
        if len(values) != count:
            raise ValueError(f"SolveInParallel: {count} programs, and {len(values)} {what}.")
        return values

    ids = each(solver_id if solver_ids is None else solver_ids, "solvers")
    guesses = each(None if initial_guesses is None else list(initial_guesses), "guesses")
    tasks = list(zip(progs, guesses, each(solver_options, "options"), ids))
    given = parallelism if isinstance(parallelism, Parallelism) else Parallelism(parallelism)
    if given.num_threads() < 2 or not all(program.IsThreadSafe() for program in progs):
        return [_solved(*task) for task in tasks]
    with ThreadPoolExecutor(given.num_threads()) as pool:
        return list(pool.map(lambda task: _solved(*task), tasks))


def _solved(
    prog: MathematicalProgram, guess: Any, options: SolverOptions | None, solver: SolverId | None
) -> MathematicalProgramResult:
    return Solve(prog, guess, options) if solver is None else MakeSolver(solver).Solve(prog, guess, options)
