"""Programs of many variables, which the interior-point method gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import (
    ChooseBestSolver,
    InteriorPointSolver,
    IpoptSolver,
    MathematicalProgram,
    SlsqpSolver,
    SolutionResult,
    Solve,
    SolverOptions,
)
from merganser.framework.symbolic import cos


def chain(num_links: int) -> tuple[MathematicalProgram, Any]:
    """A chain of rigid links between two pegs: the least height of its centre of mass; equations are of two points."""
    prog = MathematicalProgram()
    p = prog.NewContinuousVariables(num_links + 1, 2, "p")
    for k in range(num_links):
        prog.AddConstraint(
            lambda z: [(z[2] - z[0]) ** 2 + (z[3] - z[1]) ** 2], [0.01], [0.01], np.concatenate([p[k], p[k + 1]])
        ).evaluator().set_description(f"link {k}")
    span = 0.08 * num_links
    prog.AddBoundingBoxConstraint([0.0, 0.0], [0.0, 0.0], p[0])
    prog.AddBoundingBoxConstraint([span, 0.0], [span, 0.0], p[-1])
    prog.AddLinearCost(np.ones(num_links + 1), p[:, 1])
    guess = np.column_stack([np.linspace(0.0, span, num_links + 1), -0.05 * np.ones(num_links + 1)])
    prog.SetInitialGuess(p, guess)
    return prog, p


def test_a_chain_hangs_as_a_catenary() -> None:
    prog, p = chain(40)
    assert ChooseBestSolver(prog) == InteriorPointSolver.id()
    result = Solve(prog)
    assert result.is_success() and result.get_solver_id() == InteriorPointSolver.id()
    x, y = result.GetSolution(p).T
    np.testing.assert_allclose(np.hypot(np.diff(x), np.diff(y)), 0.1, rtol=1e-7)
    np.testing.assert_allclose(y, y[::-1], atol=1e-6)
    # A chain of n links of length l in discrete equilibrium: slopes grow by equal amounts from link to link.
    steps = np.diff(np.diff(y) / np.diff(x))
    np.testing.assert_allclose(steps, steps.mean(), rtol=1e-4)
    assert result.get_solver_details().iterations > 0


def test_small_programs_get_the_same_solution_from_either_solver() -> None:
    prog, p = chain(6)
    assert ChooseBestSolver(prog) == SlsqpSolver.id()
    dense, sparse, stand_in = Solve(prog), InteriorPointSolver().Solve(prog), IpoptSolver().Solve(prog)
    assert stand_in.get_solver_id() == InteriorPointSolver.id()
    for other in (sparse, stand_in):
        np.testing.assert_allclose(other.GetSolution(p), dense.GetSolution(p), atol=1e-5)
        assert other.get_optimal_cost() == pytest.approx(dense.get_optimal_cost(), abs=1e-6)


def test_prices_are_those_of_the_dense_solver() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    row = prog.AddConstraint(lambda z: [z[0] * z[1]], [1.0], [np.inf], x)
    box = prog.AddBoundingBoxConstraint(2.0, np.inf, x[:1])
    prog.AddCost(x[0] + x[1])
    prog.SetInitialGuess(x, [3.0, 3.0])
    for solver in (SlsqpSolver(), InteriorPointSolver()):
        result = solver.Solve(prog)
        np.testing.assert_allclose(result.GetSolution(x), [2.0, 0.5], atol=1e-6)
        np.testing.assert_allclose(result.GetDualSolution(row), [0.5], atol=1e-5)
        np.testing.assert_allclose(result.GetDualSolution(box), [0.75], atol=1e-5)


def test_infeasible_unbounded_and_too_long_programs_are_reported() -> None:
    prog, _ = chain(40)
    options = SolverOptions()
    options.SetOption(InteriorPointSolver.id(), "max_iter", 2)
    assert Solve(prog, None, options).get_solution_result() is SolutionResult.kIterationLimit
    options.SetOption(InteriorPointSolver.id(), "maximum", 2)
    with pytest.raises(ValueError, match="there is no option 'maximum'; there are acceptable_iter"):
        Solve(prog, None, options)
    prog, p = chain(40)
    prog.AddBoundingBoxConstraint(9.0, 10.0, p[20, :1])
    assert Solve(prog).get_solution_result() is SolutionResult.kInfeasibleConstraints
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(70, "x")
    prog.AddCost(lambda z: -(z @ z), x)
    prog.SetInitialGuess(x, np.ones(70))
    assert Solve(prog).get_solution_result() is SolutionResult.kUnbounded


def test_callbacks_see_the_points_that_are_accepted() -> None:
    prog, p = chain(40)
    seen: list[float] = []
    prog.AddVisualizationCallback(lambda z: seen.append(float(z.sum())), p[:, 1])
    result = Solve(prog)
    assert len(seen) >= result.get_solver_details().iterations
    assert seen[-1] == pytest.approx(result.get_optimal_cost(), abs=1e-6)


def test_a_function_that_raises_ends_the_solve_with_its_exception() -> None:
    prog, p = chain(40)
    calls = [0]

    def failing(z: Any) -> Any:
        calls[0] += 1
        if calls[0] > 20:
            raise ZeroDivisionError("of the user")
        return z[0] * z[0]

    prog.AddCost(failing, p[3, :1])
    with pytest.raises(ZeroDivisionError, match="of the user"):
        Solve(prog)
    calls[0] = -(10**9)
    assert Solve(prog).is_success()


def test_further_searches_may_find_a_better_optimum() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    for each, k in zip(x, (2.0, 3.0)):
        prog.AddCost(0.5 * each**2 - 3.0 * cos(k * each))
    prog.AddBoundingBoxConstraint(-5.0, 5.0, x)
    prog.AddConstraint(x[0] * x[1] >= -9.0)
    costs = []
    for num_starts in (1, 3, 6):
        options = SolverOptions(options={"InteriorPoint": {"num_starts": num_starts}})
        result = InteriorPointSolver().Solve(prog, np.array([4.0, 4.0]), options)
        assert result.is_success()
        costs.append(result.get_optimal_cost())
    assert costs[0] >= costs[1] >= costs[2]
    assert costs[0] > costs[2] + 1.0


def test_lengths_that_equations_make_zero_do_not_keep_searches_from_their_end() -> None:
    prog = MathematicalProgram()
    p = prog.NewContinuousVariables(6, 2, "p")
    for k in range(5):
        prog.AddL2NormCost(np.hstack((np.eye(2), -np.eye(2))), np.zeros(2), p[k : k + 2].ravel())
    for first, second, place in ((0, 1, [0.0, 0.0]), (4, 5, [4.0, 1.0])):
        prog.AddBoundingBoxConstraint(place, place, p[first if first == 0 else second])
        prog.AddLinearConstraint(np.hstack((np.eye(2), -np.eye(2))), [0, 0], [0, 0], p[[first, second]].ravel())
    for point in p[2:4]:  # outside of a disk that is between the ends
        prog.AddConstraint((point[0] - 2.0) ** 2 + (point[1] - 0.2) ** 2 >= 1.0)
    guess = np.array([[0, 0], [0, 0], [1, 1.5], [3, 1.5], [4, 1], [4, 1]], float)
    result = InteriorPointSolver().Solve(prog, guess.ravel())
    assert result.is_success() and result.get_solver_details().iterations < 60
    assert result.get_optimal_cost() >= np.hypot(4.0, 1.0) - 1e-6
    np.testing.assert_allclose(result.GetSolution(p[1]), 0.0, atol=1e-6)
