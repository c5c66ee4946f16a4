"""Which solver a program gets, Solve, and several programs at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from merganser.framework.common.parallelism import Parallelism
from merganser.framework.optimization.kinds import ProgramAttribute, ProgramType, SolverId
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.framework.optimization.solvers.outer_approximation_solver import OuterApproximationSolver
from merganser.framework.optimization.solvers.slsqp_solver import LocalSearch
from merganser.framework.optimization.solvers.solver import SOLVERS, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions


def _best(prog: MathematicalProgram) -> SolverInterface:
    taking = prog._derived.get("solvers")
    if taking is None:
        has = prog.required_capabilities()
        taking = prog._derived["solvers"] = [
            kind() for kind in SOLVERS.values() if has <= kind.TAKES and math.inf > kind.PRIORITY
        ]
    for solver in taking:
        if solver.suits(prog) and solver.available() and not solver._objection(prog):
            return solver
    raise ValueError(
        "ChooseBestSolver: no solver takes this program. "
        + " ".join(kind().ExplainUnsatisfiedProgramAttributes(prog) for kind in (OuterApproximationSolver, LocalSearch))
    )


def ChooseBestSolver(prog: MathematicalProgram) -> SolverId:
    """The solver that Solve takes for a program: `MakeSolver(ChooseBestSolver(prog)).Solve(prog)` is Solve(prog).

    Raises:
        ValueError: none takes it.
    """
    return _best(prog).solver_id()


def MakeSolver(id: SolverId) -> SolverInterface:
    """A solver by its name.

    Raises:
        ValueError: no solver has this name.
    """
    if id.name() not in SOLVERS:
        names = ", ".join(SOLVERS)
        raise ValueError(f"MakeSolver: expected the name of a solver, one of {names}; got {id.name()!r}.")
    return SOLVERS[id.name()]()


def MakeFirstAvailableSolver(solver_ids: Iterable[SolverId]) -> SolverInterface:
    """The first solver of a list that is available.

    Raises:
        ValueError: none is.
    """
    names = list(solver_ids)
    for id in names:
        solver = MakeSolver(id)
        if solver.available() and solver.enabled():
            return solver
    raise ValueError(f"MakeFirstAvailableSolver: none of {', '.join(map(str, names))} is available.")


def Solve(
    prog: MathematicalProgram, initial_guess: Any = None, solver_options: SolverOptions | None = None
) -> MathematicalProgramResult:
    """Solves a program by the solver that suits it best, and leaves the program as it was.

    `get_solver_id()` of the result names the one that ran: InteriorPoint where SLSQP ended without a solution, as it
    does where derivatives of equations depend on each other (contact forces in balance), and Clarabel where the answer
    of DAQP is not sure.

    Args:
        prog: the program.
        initial_guess: values of all variables, shape [num_vars]; by default the guess of the program.
        solver_options: these are used before those of the program.

    Raises:
        ValueError: no solver takes the program, data are wrong, or a lower bound is above the upper one.
    """
    return _best(prog)._solved(prog, initial_guess, solver_options)


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
    if min(given.num_threads(), count) < 2 or not all(program.IsThreadSafe() for program in progs):
        return [_solved(*task) for task in tasks]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(given.num_threads()) as pool:
        return list(pool.map(lambda task: _solved(*task), tasks))


def _solved(
    prog: MathematicalProgram, guess: Any, options: SolverOptions | None, solver: SolverId | None
) -> MathematicalProgramResult:
    return Solve(prog, guess, options) if solver is None else MakeSolver(solver).Solve(prog, guess, options)


_A = ProgramAttribute
_LINEAR = frozenset({_A.kLinearCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint})
_QUADRATIC = _LINEAR | {_A.kQuadraticCost}
_CONES = _LINEAR | {_A.kLorentzConeConstraint, _A.kRotatedLorentzConeConstraint}
_MATRICES = _CONES | {_A.kPositiveSemidefiniteConstraint}
_KINDS = (
    (ProgramType.kLP, ProgramType.kMILP, _LINEAR),
    (ProgramType.kQP, ProgramType.kMIQP, _QUADRATIC),
    (ProgramType.kSOCP, ProgramType.kMISOCP, _CONES),
    (ProgramType.kSDP, ProgramType.kMISDP, _MATRICES),
    (ProgramType.kQuadraticCostConicConstraint, ProgramType.kUnknown, _MATRICES | {_A.kQuadraticCost}),
    (ProgramType.kCGP, ProgramType.kUnknown, _MATRICES | {_A.kExponentialConeConstraint}),
)


def GetProgramType(prog: MathematicalProgram) -> ProgramType:
    """The class of a program: the first of LP, QP, SOCP, SDP, ... that it belongs to."""
    has = prog.required_capabilities()
    if not has:
        return ProgramType.kUnknown
    if has == {_A.kLinearComplementarityConstraint}:
        return ProgramType.kLCP
    is_mixed = _A.kBinaryVariable in has
    is_convex = all(binding.evaluator().is_convex() for binding in prog.quadratic_costs())
    for kind, mixed, attributes in _KINDS:
        if has - {_A.kBinaryVariable} <= attributes and (is_convex or _A.kQuadraticCost not in has):
            return mixed if is_mixed else kind
    general = {_A.kGenericCost, _A.kGenericConstraint, _A.kQuadraticConstraint, _A.kLinearComplementarityConstraint}
    if not is_mixed and (has & general or not is_convex):
        return ProgramType.kNLP
    return ProgramType.kUnknown


def GetAvailableSolvers(prog_type: ProgramType) -> list[SolverId]:
    """The solvers that are available and take programs of a class."""
    needed = {kind: attributes for kind, _, attributes in _KINDS}
    needed |= {mixed: attributes | {_A.kBinaryVariable} for _, mixed, attributes in _KINDS}
    needed[ProgramType.kNLP] = frozenset({_A.kGenericCost, _A.kGenericConstraint})
    needed[ProgramType.kLCP] = frozenset({_A.kLinearComplementarityConstraint})
    if prog_type is ProgramType.kUnknown or prog_type not in needed:
        return []
    return [kind.id() for kind in SOLVERS.values() if kind().available() and needed[prog_type] <= kind.TAKES]
