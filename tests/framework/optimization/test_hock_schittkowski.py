"""Nonlinear programs with known optima: Hock and Schittkowski, Test Examples for Nonlinear Programming Codes, 1981."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import IpoptSolver, MathematicalProgram, SnoptSolver
from merganser.framework.symbolic import cos, exp, log, sin

# number: start, cost, constraints, bounds of all variables, least cost
Problem = tuple[list[float], Callable[[Any], Any], Callable[[Any], list[Any]], tuple[Any, Any], float]
FREE = (-np.inf, np.inf)
INF = np.inf


def valley(x: Any) -> Any:
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def nothing(x: Any) -> list[Any]:
    return []


def volume(x: Any) -> Any:
    return -x[0] * x[1] * x[2]


PROBLEMS: dict[int, Problem] = {
    1: ([-2, 1], valley, nothing, ([-INF, -1.5], INF), 0.0),
    2: ([-2, 1], valley, nothing, ([-INF, 1.5], INF), 0.0504261879),
    3: ([10, 1], lambda x: x[1] + 1e-5 * (x[1] - x[0]) ** 2, nothing, ([-INF, 0], INF), 0.0),
    4: ([1.125, 0.125], lambda x: (x[0] + 1) ** 3 / 3 + x[1], nothing, ([1, 0], INF), 8 / 3),
    5: (
        [0, 0],
        lambda x: sin(x[0] + x[1]) + (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1,
        nothing,
        ([-1.5, -3], [4, 3]),
        -np.sqrt(3) / 2 - np.pi / 3,
    ),
    8: ([2, 1], lambda x: -1 + 0 * x[0], lambda x: [x[0] ** 2 + x[1] ** 2 == 25, x[0] * x[1] == 9], FREE, -1.0),
    9: (
        [0, 0],
        lambda x: sin(np.pi * x[0] / 12) * cos(np.pi * x[1] / 16),
        lambda x: [4 * x[0] - 3 * x[1] == 0],
        FREE,
        -0.5,
    ),
    11: ([4.9, 0.1], lambda x: (x[0] - 5) ** 2 + x[1] ** 2 - 25, lambda x: [x[1] - x[0] ** 2 >= 0], FREE, -8.498464223),
    14: (
        [2, 2],
        lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2,
        lambda x: [1 - x[0] ** 2 / 4 - x[1] ** 2 >= 0, x[0] - 2 * x[1] + 1 == 0],
        FREE,
        9 - 2.875 * np.sqrt(7),
    ),
    15: ([-2, 1], valley, lambda x: [x[0] * x[1] >= 1, x[0] + x[1] ** 2 >= 0], (-INF, [0.5, INF]), 306.5),
    16: (
        [-2, 1],
        valley,
        lambda x: [x[0] + x[1] ** 2 >= 0, x[0] ** 2 + x[1] >= 0],
        ([-0.5, -INF], [0.5, 1]),
        0.25,
    ),
    17: (
        [-2, 1],
        valley,
        lambda x: [x[1] ** 2 - x[0] >= 0, x[0] ** 2 - x[1] >= 0],
        ([-0.5, -INF], [0.5, 1]),
        1.0,
    ),
    18: (
        [2, 2],
        lambda x: 0.01 * x[0] ** 2 + x[1] ** 2,
        lambda x: [x[0] * x[1] >= 25, x @ x >= 25],
        ([2, 0], 50),
        5.0,
    ),
    21: (
        [-1, -1],
        lambda x: 0.01 * x[0] ** 2 + x[1] ** 2 - 100,
        lambda x: [10 * x[0] - x[1] >= 10],
        ([2, -50], 50),
        -99.96,
    ),
    22: (
        [2, 2],
        lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2,
        lambda x: [x[0] + x[1] <= 2, x[1] - x[0] ** 2 >= 0],
        FREE,
        1.0,
    ),
    24: (
        [1, 0.5],
        lambda x: ((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * np.sqrt(3)),
        lambda x: [x[0] / np.sqrt(3) - x[1] >= 0, x[0] + np.sqrt(3) * x[1] >= 0, x[0] + np.sqrt(3) * x[1] <= 6],
        (0, INF),
        -1.0,
    ),
    28: (
        [-4, 1, 1],
        lambda x: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2,
        lambda x: [x[0] + 2 * x[1] + 3 * x[2] == 1],
        FREE,
        0.0,
    ),
    29: (
        [1, 1, 1],
        volume,
        lambda x: [x[0] ** 2 + 2 * x[1] ** 2 + 4 * x[2] ** 2 <= 48],
        FREE,
        -16 * np.sqrt(2),
    ),
    30: ([1, 1, 1], lambda x: x @ x, lambda x: [x[0] ** 2 + x[1] ** 2 >= 1], ([1, -10, -10], 10), 1.0),
    31: (
        [1, 1, 1],
        lambda x: 9 * x[0] ** 2 + x[1] ** 2 + 9 * x[2] ** 2,
        lambda x: [x[0] * x[1] >= 1],
        ([-10, 1, -10], [10, 10, 1]),
        6.0,
    ),
    33: (
        [0, 0, 3],
        lambda x: (x[0] - 1) * (x[0] - 2) * (x[0] - 3) + x[2],
        lambda x: [x[2] ** 2 - x[1] ** 2 - x[0] ** 2 >= 0, x @ x >= 4],
        (0, [INF, INF, 5]),
        np.sqrt(2) - 6,
    ),
    34: (
        [0, 1.05, 2.9],
        lambda x: -x[0],
        lambda x: [x[1] - exp(x[0]) >= 0, x[2] - exp(x[1]) >= 0],
        (0, [100, 100, 10]),
        -np.log(np.log(10)),
    ),
    35: (
        [0.5, 0.5, 0.5],
        lambda x: (
            9
            - 8 * x[0]
            - 6 * x[1]
            - 4 * x[2]
            + 2 * x[0] ** 2
            + 2 * x[1] ** 2
            + x[2] ** 2
            + 2 * x[0] * x[1]
            + 2 * x[0] * x[2]
        ),
        lambda x: [x[0] + x[1] + 2 * x[2] <= 3],
        (0, INF),
        1 / 9,
    ),
    36: ([10, 10, 10], volume, lambda x: [x[0] + 2 * x[1] + 2 * x[2] <= 72], (0, [20, 11, 42]), -3300.0),
    37: ([10, 10, 10], volume, lambda x: [x[0] + 2 * x[1] + 2 * x[2] <= 72], (0, 42), -3456.0),
    41: (
        [2, 2, 2, 2],
        lambda x: 2 - x[0] * x[1] * x[2],
        lambda x: [x[0] + 2 * x[1] + 2 * x[2] - x[3] == 0],
        (0, [1, 1, 1, 2]),
        52 / 27,
    ),
    42: (
        [1, 1, 1, 1],
        lambda x: sum((x[i] - i - 1) ** 2 for i in range(4)),
        lambda x: [x[0] == 2, x[2] ** 2 + x[3] ** 2 == 2],
        FREE,
        28 - 10 * np.sqrt(2),
    ),
    48: (
        [3, 5, -3, 2, -2],
        lambda x: (x[0] - 1) ** 2 + (x[1] - x[2]) ** 2 + (x[3] - x[4]) ** 2,
        lambda x: [sum(x) == 5, x[2] - 2 * (x[3] + x[4]) == -3],
        FREE,
        0.0,
    ),
    76: (
        [0.5, 0.5, 0.5, 0.5],
        lambda x: (
            x[0] ** 2
            + 0.5 * x[1] ** 2
            + x[2] ** 2
            + 0.5 * x[3] ** 2
            - x[0] * x[2]
            + x[2] * x[3]
            - x[0]
            - 3 * x[1]
            + x[2]
            - x[3]
        ),
        lambda x: [
            x[0] + 2 * x[1] + x[2] + x[3] <= 5,
            3 * x[0] + x[1] + 2 * x[2] - x[3] <= 4,
            x[1] + 4 * x[2] >= 1.5,
        ],
        (0, INF),
        -4.6818181818,
    ),
    78: (
        [-2, 1.5, 2, -1, -1],
        lambda x: x[0] * x[1] * x[2] * x[3] * x[4],
        lambda x: [x @ x == 10, x[1] * x[2] - 5 * x[3] * x[4] == 0, x[0] ** 3 + x[1] ** 3 == -1],
        FREE,
        -2.91970041,
    ),
    100: (
        [1, 2, 0, 4, 0, 1, 1],
        lambda x: (
            (x[0] - 10) ** 2
            + 5 * (x[1] - 12) ** 2
            + x[2] ** 4
            + 3 * (x[3] - 11) ** 2
            + 10 * x[4] ** 6
            + 7 * x[5] ** 2
            + x[6] ** 4
            - 4 * x[5] * x[6]
            - 10 * x[5]
            - 8 * x[6]
        ),
        lambda x: [
            127 - 2 * x[0] ** 2 - 3 * x[1] ** 4 - x[2] - 4 * x[3] ** 2 - 5 * x[4] >= 0,
            282 - 7 * x[0] - 3 * x[1] - 10 * x[2] ** 2 - x[3] + x[4] >= 0,
            196 - 23 * x[0] - x[1] ** 2 - 6 * x[5] ** 2 + 8 * x[6] >= 0,
            -4 * x[0] ** 2 - x[1] ** 2 + 3 * x[0] * x[1] - 2 * x[2] ** 2 - 5 * x[5] + 11 * x[6] >= 0,
        ],
        FREE,
        680.6300573,
    ),
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


# Local optima at which a search from the start of the book may end instead.
LOCAL = {2: 4.9412293180, 16: 23.1446609406, 33: -4.0}


def is_known(number: int, cost: float, least: float, margin: float) -> bool:
    """Whether a cost is the least one, or that of a local optimum."""
    return any(abs(cost - each) <= margin * max(1.0, abs(each)) for each in (least, LOCAL.get(number, least)))


def end_of(number: int, solver: Any) -> tuple[Any, MathematicalProgram, float]:
    """The result of a problem, the program, and its least cost."""
    start, cost, constraints, (lower, upper), least = PROBLEMS[number]
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(len(start))
    prog.AddCost(cost(x))
    for each in constraints(x):
        prog.AddConstraint(each)
    prog.AddBoundingBoxConstraint(*(np.broadcast_to(bound, len(start)) for bound in (lower, upper)), x)
    return solver().Solve(prog, start), prog, least


@pytest.mark.parametrize("number", PROBLEMS)
def test_the_known_optimum_is_found(number: int) -> None:
    result, prog, least = end_of(number, SnoptSolver)
    assert result.is_success()
    assert is_known(number, result.get_optimal_cost(), least, 2e-6), (result.get_optimal_cost(), least)
    assert prog.CheckSatisfied(prog.GetAllConstraints(), result.get_x_val(), 1e-5)


@pytest.mark.parametrize("number", PROBLEMS)
def test_the_interior_point_method_finds_it_as_well(number: int) -> None:
    result, _, least = end_of(number, IpoptSolver)
    assert result.is_success()
    assert is_known(number, result.get_optimal_cost(), least, 2e-5), (result.get_optimal_cost(), least)
