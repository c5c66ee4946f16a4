"""Nonlinear programs with known optima: Hock and Schittkowski, Test Examples for Nonlinear Programming Codes, 1981."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import MathematicalProgram, SnoptSolver
from merganser.framework.symbolic import log

# number: start, cost, constraints, bounds of all variables, least cost
Problem = tuple[list[float], Callable[[Any], Any], Callable[[Any], list[Any]], tuple[float, float], float]
FREE = (-np.inf, np.inf)
PROBLEMS: dict[int, Problem] = {
    6: ([-1.2, 1], lambda x: (1 - x[0]) ** 2, lambda x: [10 * (x[1] - x[0] ** 2) == 0], FREE, 0.0),
    7: (
        [2, 2],
        lambda x: log(1 + x[0] ** 2) - x[1],
        lambda x: [(1 + x[0] ** 2) ** 2 + x[1] ** 2 == 4],
        FREE,
        -np.sqrt(3),
    ),
    10: (
        [-10, 10],
        lambda x: x[0] - x[1],
        lambda x: [-3 * x[0] ** 2 + 2 * x[0] * x[1] - x[1] ** 2 + 1 >= 0],
        FREE,
        -1.0,
    ),
    12: (
        [0, 0],
        lambda x: 0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1],
        lambda x: [25 - 4 * x[0] ** 2 - x[1] ** 2 >= 0],
        FREE,
        -30.0,
    ),
    26: (
        [-2.6, 2, 2],
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4,
        lambda x: [(1 + x[1] ** 2) * x[0] + x[2] ** 4 - 3 == 0],
        FREE,
        0.0,
    ),
    39: (
        [2, 2, 2, 2],
        lambda x: -x[0],
        lambda x: [x[1] - x[0] ** 3 - x[2] ** 2 == 0, x[0] ** 2 - x[1] - x[3] ** 2 == 0],
        FREE,
        -1.0,
    ),
    40: (
        [0.8, 0.8, 0.8, 0.8],
        lambda x: -x[0] * x[1] * x[2] * x[3],
        lambda x: [x[0] ** 3 + x[1] ** 2 == 1, x[0] ** 2 * x[3] - x[2] == 0, x[3] ** 2 - x[1] == 0],
        FREE,
        -0.25,
    ),
    43: (
        [0, 0, 0, 0],
        lambda x: x @ x + x[2] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
        lambda x: [
            8 - x @ x - x[0] + x[1] - x[2] + x[3] >= 0,
            10 - x @ x - x[1] ** 2 - x[3] ** 2 + x[0] + x[3] >= 0,
            5 - 2 * x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - 2 * x[0] + x[1] + x[3] >= 0,
        ],
        FREE,
        -44.0,
    ),
    71: (
        [1, 5, 5, 1],
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
        lambda x: [x[0] * x[1] * x[2] * x[3] >= 25, x @ x == 40],
        (1, 5),
        17.0140173,
    ),
}


@pytest.mark.parametrize("number", PROBLEMS)
def test_the_known_optimum_is_found(number: int) -> None:
    start, cost, constraints, (lower, upper), least = PROBLEMS[number]
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(len(start))
    prog.AddCost(cost(x))
    for each in constraints(x):
        prog.AddConstraint(each)
    prog.AddBoundingBoxConstraint(lower, upper, x)
    result = SnoptSolver().Solve(prog, start)
    assert result.is_success()
    assert result.get_optimal_cost() == pytest.approx(least, abs=2e-6, rel=1e-6)
    assert prog.CheckSatisfied(prog.GetAllConstraints(), result.get_x_val(), 1e-5)
