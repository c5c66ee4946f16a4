"""Problems without a minimum, with none of something, with degenerate derivatives, and functions that misbehave."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hock_schittkowski import PROBLEMS
from nonlinear_problems import dense_problem

from merganser.framework.optimization.interior_point import NonlinearProblem, Progress, Settings, Status, solve
from merganser.framework.optimization.interior_point.kkt import KktSystem

INF = np.inf
FREE = ([-INF, -INF], [INF, INF])
EITHER = pytest.mark.parametrize("is_exact", [True, False], ids=["exact", "quasi-Newton"])


@EITHER
@pytest.mark.parametrize(
    "constraints, g_lower, g_upper",
    [
        (lambda x: [x[0] + x[1], x[0] + x[1]], [1.0, -INF], [INF, 0.0]),
        (lambda x: [x[0] ** 2 + x[1] ** 2], [-1.0], [-1.0]),
        (lambda x: [x[0], x[0]], [0.0, 1.0], [0.0, 1.0]),
        (lambda x: [x @ x, x[0] + x[1]], [-INF, 3.0], [1.0, INF]),
    ],
    ids=["half-planes apart", "no real solution", "contradicting rows", "disk and half-plane"],
)
def test_infeasible_problems_end_where_they_are_least_infeasible(constraints, g_lower, g_upper, is_exact):
    for guess in ([0.0, 0.0], [2.0, -3.0]):
        problem = dense_problem(*FREE, lambda x: x @ x, constraints, g_lower, g_upper, is_exact)
        assert solve(problem, guess, Settings(max_iter=300)).status == Status.INFEASIBLE


@EITHER
def test_without_a_cost_the_first_feasible_point_is_a_solution(is_exact):
    """Complementarity has feasible points without an inside, where multipliers run off as mu goes to zero."""

    def constraints(x):
        return [x[0] * x[1], x[0] + x[1], x[0] + x[1]]

    bounds = ([0.0, 0.0], [INF, INF]), ([-INF, 1.0, 1.0], [1e-4, 1.0, 1.0])
    problem = dense_problem(*bounds[0], None, constraints, *bounds[1], is_exact)
    for guess in ([0.7, 0.2], [0.2, 0.6], [3.0, 1.0], [0.0, 1.0]):
        result = solve(problem, guess)
        assert result.status == Status.SOLVED and result.violation < 1e-7 and result.iterations < 60
        assert not result.g_multipliers.any() and result.dual_residual == 0.0 == result.complementarity


def test_bounds_that_exclude_the_constraints_are_infeasible():
    problem = dense_problem([0.0, 0.0], [1.0, 1.0], lambda x: x[0], lambda x: [x[0] + x[1]], [5.0], [INF])
    assert solve(problem, [0.5, 0.5]).status == Status.INFEASIBLE


@EITHER
@pytest.mark.parametrize(
    "cost", [lambda x: -x[0], lambda x: -x[0] * x[0], lambda x: x[0] * x[1], lambda x: -(x[0] ** 3)]
)
def test_costs_without_a_minimum_are_unbounded(cost, is_exact):
    problem = dense_problem([0.0, -INF], [INF, INF], cost, is_exact=is_exact)
    assert solve(problem, [1.0, -1.0], Settings(max_iter=500)).status == Status.UNBOUNDED


def test_a_cost_unbounded_along_a_constraint_is_unbounded():
    problem = dense_problem(*FREE, lambda x: x[0], lambda x: [x[0] - x[1]], [0.0], [0.0])
    assert solve(problem, [0.0, 0.0]).status == Status.UNBOUNDED


@EITHER
def test_contradicting_constraints_are_found_even_if_the_cost_is_unbounded(is_exact):
    """Iterates run off along x_0 + x_1 = 0 before they can satisfy the other two rows."""
    problem = dense_problem(
        *FREE, lambda x: x[0] - 2.0 * x[1], lambda x: [x[0] + x[1], 2.0 * x[0] + 2.0 * x[1]], [0.0, 1.0], [0.0, 1.0],
        is_exact,
    )  # fmt: skip
    assert solve(problem, [0.0, 0.0]).status == Status.INFEASIBLE


def test_restoration_may_end_at_a_feasible_point_that_the_filter_knows_better_than():
    guess = [2.3, 2.3, 1.158763567115828, -0.9239498484582245, -1.9650898023036656]
    known = PROBLEMS[81]
    bounds = np.array(known.lower, float), np.array(known.upper, float)
    problem = dense_problem(*bounds, known.cost, known.equations, np.zeros(3), np.zeros(3))
    assert solve(problem, guess).status == Status.SOLVED


@EITHER
def test_dependent_rows_are_no_obstacle(is_exact):
    rows = [[1.0, 2.0], [2.0, 4.0], [0.5, 1.0]]
    problem = dense_problem(
        *FREE, lambda x: x @ x, lambda x: np.array(rows) @ x, [5.0, 10.0, 2.5], [5.0, 10.0, 2.5], is_exact
    )
    result = solve(problem, [3.0, -2.0])
    assert result.status == Status.SOLVED
    np.testing.assert_allclose(result.x, [1.0, 2.0], atol=1e-7)
    np.testing.assert_allclose(2.0 * result.x + np.array(rows).T @ result.g_multipliers, 0.0, atol=1e-6)


def test_a_constraint_whose_gradient_vanishes_at_the_solution():
    problem = dense_problem(*FREE, lambda x: x[0] + x[1] ** 2, lambda x: [x[0] ** 2], [0.0], [0.0])
    result = solve(problem, [1.0, 1.0])
    assert result.violation < 1e-6
    np.testing.assert_allclose(result.x, 0.0, atol=1e-3)


def test_fixed_variables_stay_and_get_their_multiplier():
    problem = dense_problem([2.0, -INF], [2.0, INF], lambda x: x[0] ** 2 + (x[1] - x[0]) ** 2)
    result = solve(problem, [7.0, 0.0])
    np.testing.assert_allclose(result.x, [2.0, 2.0], atol=1e-8)
    np.testing.assert_allclose(result.x_lower_multipliers, [4.0, 0.0], atol=1e-7)
    assert result.x_upper_multipliers[0] == 0.0


@pytest.mark.parametrize("target, expected", [(1.0, Status.SOLVED), (2.0, Status.INFEASIBLE)])
def test_all_variables_fixed(target, expected):
    problem = dense_problem([1.0], [1.0], lambda x: x[0], lambda x: [x[0]], [target], [target])
    result = solve(problem, [0.0])
    assert result.status == expected
    assert result.x == [1.0]


def test_no_variables():
    assert solve(NonlinearProblem([], []), []).status == Status.SOLVED


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_sided_bounds_and_their_multipliers(sign):
    bounds = ([1.0], [INF]) if sign > 0.0 else ([-INF], [-1.0])
    result = solve(dense_problem(*bounds, lambda x: 3.0 * sign * x[0]), [5.0 * sign])
    np.testing.assert_allclose(result.x, sign, atol=1e-7)
    multipliers = [result.x_lower_multipliers[0], result.x_upper_multipliers[0]]
    np.testing.assert_allclose(multipliers, [3.0, 0.0] if sign > 0.0 else [0.0, 3.0], atol=1e-6)


@pytest.mark.parametrize("guess", [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-7.0, 9.0]])
def test_guesses_at_and_beyond_bounds(guess):
    result = solve(dense_problem([0.0, 0.0], [1.0, 1.0], lambda x: (x[0] - 2.0) ** 2 + (x[1] - 0.25) ** 2), guess)
    assert result.status == Status.SOLVED
    np.testing.assert_allclose(result.x, [1.0, 0.25], atol=1e-7)
    assert result.x[0] <= 1.0  # within the bounds that were given, not the relaxed ones


def test_without_constraints_and_bounds():
    result = solve(dense_problem(*FREE, lambda x: (x[0] - 3.0) ** 4 + (x[1] + 1.0) ** 2), [0.0, 0.0])
    assert result.status == Status.SOLVED
    np.testing.assert_allclose(result.x, [3.0, -1.0], atol=1e-2)


def test_without_cost_a_feasible_point_is_found():
    problem = dense_problem(*FREE, None, lambda x: [x @ x, x[0] - x[1]], [4.0, -INF], [4.0, -1.0])
    result = solve(problem, [1.0, 0.5])
    assert result.status == Status.SOLVED
    assert result.violation < 1e-7


@pytest.mark.parametrize(
    "guess, status, expected",
    [
        ([-0.69682926, 2.54496777, 1.0120517], Status.SOLVED, [1.0, 0.0, 0.5]),
        ([-2.0, 3.0, 1.0], Status.INFEASIBLE, [-1.0, 0.0, 0.0]),
    ],
)
def test_where_steps_end_at_bounds_feasibility_is_restored(guess, status, expected):
    """x_0^2 - x_1 = 1 and x_0 - x_2 = 1/2, on which Newton's steps get stuck (Waechter and Biegler 2000).

    (-1, 0, 0) is a local minimum of the violation, where IPOPT ends from the second guess too.
    """
    problem = dense_problem(
        [-INF, 0.0, 0.0], [INF] * 3, lambda x: x[0], lambda x: [x[0] ** 2 - x[1] - 1.0, x[0] - x[2] - 0.5],
        [0.0, 0.0], [0.0, 0.0],
    )  # fmt: skip
    seen: list[Progress] = []
    result = solve(problem, guess, callback=seen.append)
    assert any(progress.is_restoration for progress in seen)
    assert result.status == status
    np.testing.assert_allclose(result.x, expected, atol=1e-6)


def test_damping_of_steps_none_of_which_is_any_good_ends_and_begins_again():
    nothing = np.zeros(0, np.intp)
    form = SimpleNamespace(
        num_variables=1, num_constraints=0, has_hessian=True, hessian_rows=np.zeros(1, np.intp),
        hessian_columns=np.zeros(1, np.intp), rows=nothing, columns=nothing,
    )  # fmt: skip
    kkt, steps = KktSystem(form), []
    while kkt.factor(np.ones(1), np.zeros(1), np.zeros(0), np.ones(1)):
        steps.append(kkt.solution[0])
        kkt.adapt(0.0)
        assert len(steps) < 40
    assert steps[0] == 1.0 and steps[-1] < 1e-18 and (np.diff(steps) <= 0.0).all()
    assert kkt.factor(np.ones(1), np.zeros(1), np.zeros(0), np.ones(1)) and kkt.solution[0] == 1.0


def test_steps_to_where_a_callback_is_nan_are_shortened():
    """log(x - 1) - 10 x is NaN where the first step of Newton's method leads."""
    calls: list[bool] = []

    def cost(x):
        with np.errstate(invalid="ignore"):
            value = 10.0 * x[0] - np.log(x[0] - 1.0)
        calls.append(bool(np.isnan(value.real)))
        return value

    result = solve(dense_problem([-INF], [INF], cost), [3.0])
    assert any(calls)
    assert result.status == Status.SOLVED
    np.testing.assert_allclose(result.x, 1.1, atol=1e-7)


def test_nan_at_the_start_is_an_error():
    assert solve(dense_problem([-INF], [INF], lambda x: x[0] * np.nan), [1.0]).status == Status.NOT_FINITE


@pytest.mark.parametrize("when", [0, 7, 40])
def test_what_a_callback_raises_comes_out_and_the_problem_can_be_solved_again(when):
    count = [0]

    def cost(x):
        count[0] += 1
        if count[0] == when + 1:
            raise ZeroDivisionError("of the user's")
        return (x[0] - 1.0) ** 4

    problem = dense_problem([-INF], [INF], cost)
    with pytest.raises(ZeroDivisionError, match="of the user's"):
        solve(problem, [0.0])
    count[0] = 1000
    assert solve(problem, [0.0]).is_success()


def test_the_callback_and_the_iteration_limit_end_a_solve():
    problem = dense_problem(*FREE, lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2)
    result = solve(problem, [-1.2, 1.0], callback=lambda progress: progress.iteration < 3)
    assert (result.status, result.iterations) == (Status.STOPPED, 3)
    result = solve(problem, [-1.2, 1.0], Settings(max_iter=3))
    assert (result.status, result.iterations) == (Status.ITERATION_LIMIT, 3)


def test_an_interrupt_ends_a_solve_at_once():
    problem = dense_problem(*FREE, lambda x: (x[0] - 3.0) ** 4 + x[1] ** 2)
    solve(problem, [0.0, 1.0])  # an interrupt of the first one waits for code that is compiled
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    struck: list[float] = []

    def strike():
        struck.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.05, strike)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                solve(problem, [0.0, 1.0])
        assert time.process_time() - struck[0] < 0.1
    finally:
        timer.join()
        signal.signal(signal.SIGINT, previous)


def test_progress_is_printed(capsys):
    solve(dense_problem([0.0], [1.0], lambda x: x[0]), [0.5], Settings(print_level=5))
    assert "violation" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given, message",
    [
        ({"x_lower": [1.0], "x_upper": [0.0]}, r"bounds of x\[0\] are 1.0 and 0.0"),
        ({"x_lower": [np.nan], "x_upper": [0.0]}, r"bounds of x\[0\]"),
        ({"x_lower": [INF], "x_upper": [INF]}, r"bounds of x\[0\]"),
        ({"x_lower": [0.0], "x_upper": [0.0, 1.0]}, "x_lower has 1 elements and x_upper 2"),
        ({"x_lower": [0.0], "x_upper": [1.0], "g_lower": [0.0], "g_upper": [1.0]}, "give g and jacobian"),
        ({"x_lower": [0.0], "x_upper": [1.0], "f": lambda x: 0.0}, "give its gradient"),
        ({"x_lower": [0.0], "x_upper": [1.0], "hessian_rows": [1], "hessian_columns": [0]}, r"at \(1, 0\), outside"),
    ],
)
def test_problems_that_make_no_sense_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        NonlinearProblem(**given)


def test_guesses_and_results_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match="guess must be 2 finite numbers"):
        solve(NonlinearProblem(*FREE), [0.0])
    problem = NonlinearProblem(*FREE, f=lambda x: 0.0, gradient=lambda x: np.zeros(3))
    with pytest.raises(ValueError, match=r"gradient returned an array of shape \(3,\); expected \(2,\)"):
        solve(problem, [0.0, 0.0])
