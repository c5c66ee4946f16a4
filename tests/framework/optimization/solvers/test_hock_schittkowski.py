"""Nonlinear programs with known optima: Hock and Schittkowski, Test Examples for Nonlinear Programming Codes, 1981.

The interior-point method alone has its own test of the simpler ones, interior_point/test_solve.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hard_hock_schittkowski import HARD_PROBLEMS
from hock_schittkowski import PROBLEMS, KnownProblem

from merganser.framework.optimization import IpoptSolver, MathematicalProgram, SlsqpSolver, SnoptSolver

ALL = dict(sorted({**PROBLEMS, **HARD_PROBLEMS}.items()))

# Local optima at which a search from the start of the book may end instead; IPOPT or SNOPT end there, too, but for 59.
# Problem 47 has no least cost, as the cube of its cost falls; 54 is flat at its start.
LOCAL = {2: 4.9412293180, 13: 0.9945785, 16: 23.1446609406, 20: 40.1987298, 25: 32.835, 33: -4.0, 44: -13.0, 54: 0.0,
         55: 20 / 3, 47: -0.0267141827, 57: 0.030646306, 59: -6.754566, 70: 0.01057355, 97: 4.07124,
         108: -0.6749814}  # fmt: skip
# By the interior-point method problem 109 takes steps that are too short for 3000 iterations, and 54 is too flat; 101
# takes three seconds, and is left to it by the other method anyway.
LEFT_TO_SNOPT = {54, 101, 109}
# Those that are written as expressions, and known to more digits.
SYMBOLIC = {*range(1, 13), *range(14, 19), 21, 22, 24, 26, 28, 29, 30, 31, 33, 34, 35, 36, 37, 39, 40, 41, 42, 43, 48,
            71, 76, 78, 100}  # fmt: skip


def program(known: KnownProblem) -> tuple[MathematicalProgram, Any]:
    prog, start = MathematicalProgram(), np.array(known.guess, float)
    x = prog.NewContinuousVariables(len(start))
    is_symbolic = any(known is ALL[number] for number in SYMBOLIC)
    if is_symbolic:
        prog.AddCost(known.cost(x))
    else:
        prog.AddCost(known.cost, vars=x)
    for function, most in ((known.inequalities, np.inf), (known.equations, 0.0)):
        size = len(function(start))
        if size and is_symbolic:
            prog.AddConstraint(np.array(function(x)), np.zeros(size), np.full(size, most))
        elif size:
            prog.AddConstraint(lambda x, f=function: np.array(f(x)), np.zeros(size), np.full(size, most), x)
    prog.AddBoundingBoxConstraint(*(np.broadcast_to(b, len(start)).astype(float) for b in known[-2:]), x)
    return prog, start


def assert_is_known(number: int, cost: float, margin: float) -> None:
    """That a cost is the least one, or that of a local optimum."""
    wanted = (ALL[number].optimum, LOCAL.get(number, ALL[number].optimum))
    assert any(abs(cost - each) <= margin * max(1.0, abs(each)) for each in wanted), (cost, wanted)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", ALL)
def test_an_optimum_is_found_from_the_start_of_the_book(number: int) -> None:
    prog, start = program(ALL[number])
    result = SnoptSolver().Solve(prog, start)
    assert result.is_success()
    assert_is_known(number, result.get_optimal_cost(), 2e-6 if number in SYMBOLIC else 2e-5)
    tolerance = 1e-5 if number in SYMBOLIC else 1e-4 * max(1.0, np.abs(result.get_x_val()).max())
    assert prog.CheckSatisfied(prog.GetAllConstraints(), result.get_x_val(), tolerance)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", sorted((set(HARD_PROBLEMS) | SYMBOLIC) - LEFT_TO_SNOPT))
def test_the_interior_point_method_finds_it_as_well(number: int) -> None:
    prog, start = program(ALL[number])
    result = IpoptSolver().Solve(prog, start)
    assert result.is_success()
    assert_is_known(number, result.get_optimal_cost(), 2e-5)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_last_digits_of_the_start_do_not_stall_the_interior_point_method() -> None:
    """A flat valley along a curved constraint, where the filter could take rounding of the constraint for violation."""
    prog, start = program(ALL[70])
    random = np.random.default_rng(0)
    for _ in range(3):
        result = IpoptSolver().Solve(prog, start * (1.0 + 1e-13 * random.standard_normal(start.size)))
        assert result.is_success() and result.get_solver_details().by.iterations < 300
        assert result.get_optimal_cost() == pytest.approx(LOCAL[70], rel=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", [84, 97, 99, 103])
def test_scales_make_up_for_units_that_differ_by_far(number: int) -> None:
    prog, start = program(ALL[number])
    result = SlsqpSolver().Solve(prog, start)
    assert result.is_success() and result.get_solver_details().residual < 1e-4
    assert_is_known(number, result.get_optimal_cost(), 1e-5)


def test_where_one_method_finds_no_optimum_another_does() -> None:
    prog, start = program(ALL[13])  # of which no prices prove that it is an optimum
    alone = SlsqpSolver().Solve(prog, start)
    assert alone.get_solver_details().is_singular()
    result = SnoptSolver().Solve(prog, start)
    assert result.is_success()
    assert result.get_solver_id().name() == "InteriorPoint"


def test_where_both_find_nothing_the_first_says_why() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddCost(x[0] ** 4 + x[1])
    prog.AddConstraint(x @ x <= 1.0)
    prog.AddConstraint(x[0] * x[1] >= 1.0).evaluator().set_description("far")
    result = SnoptSolver().Solve(prog, np.ones(2))
    assert not result.is_success()
    assert result.get_solver_id().name() == "SLSQP"
    assert any("far" in name for name in result.GetInfeasibleConstraintNames(prog))
