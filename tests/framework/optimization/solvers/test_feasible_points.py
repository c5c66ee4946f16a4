"""Points that keep constraints: programs without a cost, and where searches with one begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import MathematicalProgram, SlsqpSolver, SolutionResult, Solve


def circle_and_line(guess: Any) -> tuple[MathematicalProgram, Any]:
    """x on the unit circle and on the diagonal, in a box that leaves one such point."""
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddBoundingBoxConstraint(-0.2, 2.0, x)
    prog.AddConstraint(x[0] ** 2 + x[1] ** 2 == 1.0)
    prog.AddLinearEqualityConstraint(x[0] - x[1], 0.0)
    prog.SetInitialGuess(x, guess)
    return prog, x


@pytest.mark.parametrize("guess", [[0.5, 0.1], [2.0, -0.2], [-0.2, 2.0], [-0.1, -0.1], [-5.0, 5.0]])
def test_a_point_is_found_exactly_and_within_the_box(guess: list[float]) -> None:
    prog, x = circle_and_line(guess)
    result = SlsqpSolver().Solve(prog)
    assert result.is_success()
    np.testing.assert_allclose(result.GetSolution(x), np.sqrt(0.5), atol=1e-9)
    for binding in prog.GetAllConstraints():
        assert not result.GetDualSolution(binding).any()


def test_scaled_variables_and_narrow_and_wide_bounds() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(3)
    for variable, scale in zip(x, (1e3, 1.0, 1e-3)):
        prog.SetVariableScaling(variable, scale)
    prog.AddConstraint(lambda z: [z[0] * z[1], z[1] + 1e3 * z[2], z[0] - z[1]], [5e3, -1e-5, -1e6], [6e3, 1e-5, 1e6], x)
    prog.SetInitialGuess(x, [1.0, 1.0, 1.0])
    result = SlsqpSolver().Solve(prog)
    assert result.is_success()
    assert result.GetInfeasibleConstraints(prog, 1e-9) == []


def bounces(heights: tuple[float, float], num_bounces: int) -> MathematicalProgram:
    """How long (h) and with which speeds (v) a ball flies between bounces from one height to another."""
    (z_first, z_last), gravity, restitution = heights, 9.8, 0.8
    prog = MathematicalProgram()
    h, v = prog.NewContinuousVariables(num_bounces + 1), prog.NewContinuousVariables(num_bounces + 1)
    prog.AddConstraint(h.sum() == 2 + num_bounces)
    prog.AddBoundingBoxConstraint(0.0, np.inf, h)
    prog.AddBoundingBoxConstraint(0.0, np.inf, v[0])
    rises = v * h - 0.5 * gravity * h * h
    rises[0] += z_first
    for i in range(num_bounces):
        prog.AddConstraint(rises[i] == 0.0)
        prog.AddConstraint(v[i + 1] == -restitution * (v[i] - gravity * h[i]))
    prog.AddConstraint(rises[-1] == z_last)
    return prog


def test_throws_with_bounces_are_found_from_a_guess_of_zeros() -> None:
    """SNOPT finds 12 of these 16."""
    found = [
        Solve(bounces(heights, count)).is_success()
        for heights in ((1.0, 1.0), (1.0, 3.0), (0.5, 2.0), (2.0, 1.0))
        for count in range(4)
    ]
    assert sum(found) >= 12


def test_starts_go_ever_farther_while_they_end_at_the_same_place() -> None:
    """A product that is 0 at -8 and 8 is least at 0, where a search from there ends, and one from beside."""
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(1)
    prog.AddBoundingBoxConstraint(-10.0, 10.0, x)
    prog.AddConstraint((x[0] ** 2 + 0.5) * (64.0 - x[0] ** 2) == 0.0)
    result = SlsqpSolver().Solve(prog, [0.1])
    assert abs(result.GetSolution(x[0])) == pytest.approx(8.0)
    assert result.get_solver_details().num_starts <= 7


def test_where_nothing_is_feasible_the_program_says_so_and_nan_is_no_point() -> None:
    prog, x = circle_and_line([0.5, 0.5])
    prog.AddConstraint(x[0] * x[1] >= 2.0)
    assert SlsqpSolver().Solve(prog).get_solution_result() is SolutionResult.kInfeasibleConstraints
    prog, x = circle_and_line([0.5, 0.5])
    prog.AddConstraint(lambda z: [np.nan * z[0]], [0.0], [1.0], x)
    assert not SlsqpSolver().Solve(prog).is_success()


def test_a_search_may_begin_at_a_feasible_point_and_ends_at_the_optimum() -> None:
    prog, x = circle_and_line([0.0, 2.0])
    prog.AddCost(lambda z: (z[0] - 3.0) ** 2, x)
    prog.SetSolverOption(SlsqpSolver.id(), "begin_feasible", True)
    result = SlsqpSolver().Solve(prog)
    assert result.is_success()
    np.testing.assert_allclose(result.GetSolution(x), np.sqrt(0.5), atol=1e-7)


def test_long_chains_of_unknowns_are_found_from_a_far_guess() -> None:
    """x_{k+1} = x_k + h cos(x_k), with both ends given, as motions without a cost are; 400 variables in any order."""
    rng, n = np.random.default_rng(3), 200
    prog = MathematicalProgram()
    x, u = prog.NewContinuousVariables(n), prog.NewContinuousVariables(n)
    places = rng.permutation(n - 1)
    for k in places:
        prog.AddConstraint(
            lambda z: [z[1] - z[0] - 0.05 * np.cos(z[0]) - 0.05 * z[2]], [0.0], [0.0], [x[k], x[k + 1], u[k]]
        )
    prog.AddBoundingBoxConstraint(-1.0, 1.0, u)
    prog.AddBoundingBoxConstraint(0.0, 0.0, x[0])
    prog.AddBoundingBoxConstraint(1.2, 1.2, x[-1])
    prog.SetInitialGuess(x, rng.normal(size=n))
    prog.SetInitialGuess(u, np.zeros(n))
    result = SlsqpSolver().Solve(prog)
    assert result.is_success()
    found, inputs = result.GetSolution(x), result.GetSolution(u)
    np.testing.assert_allclose(np.diff(found), 0.05 * (np.cos(found) + inputs)[:-1], rtol=0.0, atol=1e-8)
