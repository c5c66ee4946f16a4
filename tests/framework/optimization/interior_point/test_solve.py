"""Minima that are known: published ones, and those of quadratic programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cart_pole_collocation import cart_pole, guess
from hock_schittkowski import PROBLEMS, KnownProblem
from nonlinear_problems import dense_problem

from merganser.framework.optimization.interior_point import NonlinearProblem, Settings, Status, solve

EITHER = pytest.mark.parametrize("is_exact", [True, False], ids=["exact", "quasi-Newton"])

# From where the source starts, other stationary points of these are found, of 56 by the
# quasi-Newton approximation alone; those of 20 and 55 by IPOPT too (tests/reference).
_OTHER_GUESSES: dict[int, list[float]] = {
    16: [0.4, 0.4],
    20: [0.4, 0.9],
    55: [0.0, 1.3, 1.7, 1.0, 0.7, 0.3],
    56: [2.2, 1.1, 1.2, 0.8, 0.6, 0.6, 1.5],
}


def problem_of(test: KnownProblem, is_exact: bool) -> NonlinearProblem:
    n, x = len(test.guess), np.array(test.guess, float)
    inequalities, equations = len(test.inequalities(x)), len(test.equations(x))
    return dense_problem(
        np.broadcast_to(test.lower, n), np.broadcast_to(test.upper, n), test.cost,
        lambda x: [*test.inequalities(x), *test.equations(x)], np.zeros(inequalities + equations),
        [np.inf] * inequalities + [0.0] * equations, is_exact,
    )  # fmt: skip


def conditions(problem: NonlinearProblem, result: Any) -> list[float]:
    """Residuals of the conditions of an optimum, from the problem's own functions."""
    J = np.zeros((len(problem.g_lower), len(result.x)))
    np.add.at(J, (problem.jacobian_rows, problem.jacobian_columns), problem.jacobian(result.x))
    z = result.x_upper_multipliers - result.x_lower_multipliers
    scale = max(1.0, *np.abs(result.g_multipliers), *np.abs(z))
    slope = problem.gradient(result.x) + J.T @ result.g_multipliers + z
    low, high = np.maximum(-result.g_multipliers, 0.0), np.maximum(result.g_multipliers, 0.0)
    gaps = [(result.g - problem.g_lower)[low > 1e-6 * scale], (problem.g_upper - result.g)[high > 1e-6 * scale]]
    return [*slope / scale, *np.concatenate(gaps), result.violation]


@EITHER
@pytest.mark.parametrize("number", PROBLEMS)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
def test_hock_schittkowski(number, is_exact):
    test = PROBLEMS[number]
    problem = problem_of(test, is_exact)
    result = solve(problem, _OTHER_GUESSES.get(number, test.guess), Settings(max_iter=200))
    assert result.status == Status.SOLVED
    # Relaxed bounds are worth 1e-8 times their multipliers, 1.3e-6 of the cost of problem 72.
    assert abs(result.cost - test.optimum) <= 2e-6 * max(1.0, abs(test.optimum))
    np.testing.assert_allclose(conditions(problem, result), 0.0, atol=1e-5)


def quadratic_program(Q: Any, q: Any, A: Any, g_lower: Any, is_exact: bool) -> NonlinearProblem:
    """min x^T Q x / 2 + q^T x subject to A x >= g_lower, -1 <= x <= 1."""
    return dense_problem(
        -np.ones(len(q)), np.ones(len(q)), lambda x: 0.5 * x @ (Q @ x) + q @ x, lambda x: A @ x, g_lower,
        np.full(len(A), np.inf), is_exact,
    )  # fmt: skip


@EITHER
def test_quadratic_programs_satisfy_their_optimality_conditions(is_exact):
    rng = np.random.default_rng(0)
    for _ in range(10):
        n, m = int(rng.integers(2, 8)), int(rng.integers(1, 6))
        root, A = rng.normal(size=(n, n)), rng.normal(size=(m, n))
        q, inside = rng.normal(size=n), rng.uniform(-1.0, 1.0, n)
        g_lower = A @ inside - rng.uniform(0.0, 1.0, m) * (rng.random(m) < 0.7)
        problem = quadratic_program(root @ root.T, q, A, g_lower, is_exact)
        result = solve(problem, np.zeros(n))
        assert result.status == Status.SOLVED
        np.testing.assert_allclose(conditions(problem, result), 0.0, atol=1e-6)


@EITHER
def test_entries_at_the_same_place_are_added_up(is_exact):
    """min (x - 3)^2, 2 x <= 4, with both derivatives in two parts."""
    problem = NonlinearProblem(
        [-np.inf], [np.inf], lambda x: (x[0] - 3.0) ** 2, lambda x: 2.0 * (x - 3.0), [-np.inf], [4.0],
        lambda x: 2.0 * x, lambda x: np.array([0.5, 1.5]), [0, 0], [0, 0],
        (lambda x, sigma, y: np.array([sigma, sigma])) if is_exact else None,
        [0, 0] if is_exact else [], [0, 0] if is_exact else [],
    )  # fmt: skip
    result = solve(problem, [0.0])
    np.testing.assert_allclose([result.x[0], result.g_multipliers[0]], [2.0, 1.0], atol=1e-6)


@EITHER
@pytest.mark.parametrize("num_knots", [21, 81])
def test_cart_pole_swings_up_in_few_iterations(num_knots, is_exact):
    problem, start = cart_pole(num_knots, is_exact), guess(num_knots).ravel()
    result = solve(problem, start)
    assert result.iterations <= (20 if is_exact else 60)
    assert result.status == Status.SOLVED
    assert result.violation < 1e-8
    np.testing.assert_allclose(result.cost, {21: 60.6824649024, 81: 58.9452992824}[num_knots], rtol=1e-8)
