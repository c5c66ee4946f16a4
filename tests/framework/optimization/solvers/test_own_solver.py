"""Solvers that users define: a class with NAME and TAKES is known, one with a PRIORITY is chosen."""

from collections.abc import Iterator

import numpy as np
import pytest

from merganser.framework.optimization import (
    ChooseBestSolver,
    ClarabelSolver,
    GetAvailableSolvers,
    MakeSolver,
    MathematicalProgram,
    ProgramAttribute,
    ProgramType,
    ProjectedGradientDescentSolver,
    SlsqpSolver,
    SolutionResult,
    Solve,
    SolverId,
    SolverInterface,
)
from merganser.framework.optimization.solvers import solver
from merganser.framework.optimization.solvers.solver import Outcome


@pytest.fixture(autouse=True)
def own_names() -> Iterator[None]:
    """Solvers that a test defines are unknown to the others."""
    known = dict(solver.SOLVERS)
    yield
    solver.SOLVERS.clear()
    solver.SOLVERS.update(known)


def distance_to(target: float) -> MathematicalProgram:
    """min (x - target)^2 with x >= 2."""
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(1, "x")
    prog.AddQuadraticErrorCost(np.eye(1), [target], x)
    prog.AddLinearConstraint(np.eye(1), [2.0], [np.inf], x)
    return prog


class _AtTheBound(SolverInterface, is_known=False):
    """Answers 2."""

    TAKES = frozenset({ProgramAttribute.kQuadraticCost, ProgramAttribute.kLinearConstraint})

    def _solve(self, prog: MathematicalProgram, guess: np.ndarray, options: object) -> Outcome:
        return Outcome(SolutionResult.kSolutionFound, np.full(prog.num_vars(), 2.0))


def test_a_class_with_a_name_is_known_and_is_asked_for_by_it() -> None:
    class Named(_AtTheBound):
        NAME = "named"

    assert type(MakeSolver(SolverId("named"))) is Named
    prog = distance_to(0.0)
    assert ChooseBestSolver(prog) != Named.id()
    result = MakeSolver(Named.id()).Solve(prog)
    assert result.get_solver_id() == Named.id() and result.get_x_val() == [2.0]


def test_a_class_with_a_priority_is_chosen_before_those_with_higher_ones() -> None:
    class Chosen(_AtTheBound):
        NAME, PRIORITY = "chosen", 1.0

    prog = distance_to(0.0)
    assert ChooseBestSolver(prog) == Chosen.id() == Solve(prog).get_solver_id()
    everything = distance_to(0.0)
    everything.AddBoundingBoxConstraint(0.0, 3.0, everything.decision_variables())
    everything.AddCost(everything.decision_variables()[0] ** 4)  # Chosen does not take it
    assert ChooseBestSolver(everything) != Chosen.id()


def test_available_solvers_are_those_that_take_the_class_of_programs() -> None:
    class Quadratic(_AtTheBound):
        NAME = "quadratic"
        TAKES = ClarabelSolver.TAKES

    class Missing(Quadratic):
        NAME = "missing"

        def available(self) -> bool:
            return False

    names = [each.name() for each in GetAvailableSolvers(ProgramType.kQP)]
    assert "quadratic" in names and "missing" not in names
    assert Quadratic.id() not in GetAvailableSolvers(ProgramType.kMIQP)


def test_a_name_that_is_taken_is_refused_and_the_first_solver_stays() -> None:
    with pytest.raises(TypeError, match="ClarabelSolver has the NAME 'Clarabel' already"):
        type("Other", (_AtTheBound,), {"NAME": "Clarabel"})
    assert type(MakeSolver(SolverId("Clarabel"))) is ClarabelSolver


def test_a_class_without_a_name_of_its_own_takes_no_place() -> None:
    type("Tuned", (ClarabelSolver,), {})
    assert type(MakeSolver(ClarabelSolver.id())) is ClarabelSolver


def test_slsqp_by_name_is_the_search_that_solve_chooses() -> None:
    assert isinstance(MakeSolver(SlsqpSolver.id()), SlsqpSolver)
    with pytest.raises(ValueError, match=r"one of Linear system, EqConstrainedQP, DAQP, .*; got 'PGD'"):
        MakeSolver(ProjectedGradientDescentSolver().solver_id())  # pydrake knows it by its class alone, too
