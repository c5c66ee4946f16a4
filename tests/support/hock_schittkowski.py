"""Problems of Hock and Schittkowski with their known optimal values.

Source: W. Hock, K. Schittkowski, Test Examples for Nonlinear Programming Codes, Lecture Notes in Economics and
Mathematical Systems 187 (1981). Elements of x count from 1 there and from 0 here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy import cos, exp, log, sin, sqrt

_INF = np.inf


class KnownProblem(NamedTuple):
    """One problem.

    Attributes:
        cost: f(x).
        guess: where the source starts.
        optimum: the least value.
        inequalities, equations: functions that are >= 0, or = 0.
        lower, upper: bounds; one number for all, or a list.
    """

    cost: Callable[[Any], Any]
    guess: list[float]
    optimum: float
    inequalities: Callable[[Any], list[Any]] = lambda x: []
    equations: Callable[[Any], list[Any]] = lambda x: []
    lower: Any = -_INF
    upper: Any = _INF


def _valley(x: Any) -> Any:
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def _product(x: Any) -> Any:
    return x[0] * x[1] * x[2] * x[3] * x[4]


def _three(x: Any) -> list[Any]:  # of 78, 80 and 81
    return [x @ x - 10, x[1] * x[2] - 5 * x[3] * x[4], x[0] ** 3 + x[1] ** 3 + 1]


def _grid(x: Any) -> list[Any]:  # of 74 and 75
    return [
        1000 * (sin(-x[2] - 0.25) + sin(-x[3] - 0.25)) + 894.8 - x[0],
        1000 * (sin(x[2] - 0.25) + sin(x[2] - x[3] - 0.25)) + 894.8 - x[1],
        1000 * (sin(x[3] - 0.25) + sin(x[3] - x[2] - 0.25)) + 1294.8,
    ]


def _power(x: Any) -> Any:
    return 3 * x[0] + 1e-6 * x[0] ** 3 + 2 * x[1] + 2e-6 / 3 * x[1] ** 3


def _mixture(x: Any) -> Any:
    c = np.array([-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.1, -10.708, -26.662, -22.179])
    return x @ (c + log(x / np.sum(x)))


_R2, _R3 = sqrt(2.0), sqrt(3.0)
_A, _B = np.arcsin(sqrt(1 / 4.2)), np.arcsin(sqrt(5 / 7.2))

# fmt: off
PROBLEMS: dict[int, KnownProblem] = {
    1: KnownProblem(_valley, [-2, 1], 0, lower=[-_INF, -1.5]),
    3: KnownProblem(lambda x: x[1] + 1e-5 * (x[1] - x[0]) ** 2, [10, 1], 0, lower=[-_INF, 0]),
    4: KnownProblem(lambda x: (x[0] + 1) ** 3 / 3 + x[1], [1.125, 0.125], 8 / 3, lower=[1, 0]),
    5: KnownProblem(
        lambda x: sin(x[0] + x[1]) + (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1, [0, 0],
        -sqrt(3) / 2 - np.pi / 3, lower=[-1.5, -3], upper=[4, 3]),
    6: KnownProblem(lambda x: (1 - x[0]) ** 2, [-1.2, 1], 0, equations=lambda x: [10 * (x[1] - x[0] ** 2)]),
    7: KnownProblem(
        lambda x: log(1 + x[0] ** 2) - x[1], [2, 2], -_R3,
        equations=lambda x: [(1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4]),
    8: KnownProblem(
        lambda x: -1.0 + 0 * x[0], [2, 1], -1, equations=lambda x: [x[0] ** 2 + x[1] ** 2 - 25, x[0] * x[1] - 9]),
    9: KnownProblem(
        lambda x: sin(np.pi * x[0] / 12) * cos(np.pi * x[1] / 16), [0, 0], -0.5,
        equations=lambda x: [4 * x[0] - 3 * x[1]]),
    10: KnownProblem(
        lambda x: x[0] - x[1], [-10, 10], -1, lambda x: [-3 * x[0] ** 2 + 2 * x[0] * x[1] - x[1] ** 2 + 1]),
    11: KnownProblem(
        lambda x: (x[0] - 5) ** 2 + x[1] ** 2 - 25, [4.9, 0.1], -8.498464223, lambda x: [-x[0] ** 2 + x[1]]),
    12: KnownProblem(
        lambda x: 0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1], [0, 0], -30,
        lambda x: [25 - 4 * x[0] ** 2 - x[1] ** 2]),
    14: KnownProblem(
        lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, [2, 2], 9 - 2.875 * sqrt(7),
        lambda x: [-0.25 * x[0] ** 2 - x[1] ** 2 + 1], lambda x: [x[0] - 2 * x[1] + 1]),
    15: KnownProblem(
        _valley, [-2, 1], 306.5, lambda x: [x[0] * x[1] - 1, x[0] + x[1] ** 2], upper=[0.5, _INF]),
    16: KnownProblem(
        _valley, [-2, 1], 0.25, lambda x: [x[0] + x[1] ** 2, x[0] ** 2 + x[1]],
        lower=[-0.5, -_INF], upper=[0.5, 1]),
    17: KnownProblem(
        _valley, [-2, 1], 1, lambda x: [x[1] ** 2 - x[0], x[0] ** 2 - x[1]],
        lower=[-0.5, -_INF], upper=[0.5, 1]),
    18: KnownProblem(
        lambda x: 0.01 * x[0] ** 2 + x[1] ** 2, [2, 2], 5,
        lambda x: [x[0] * x[1] - 25, x[0] ** 2 + x[1] ** 2 - 25], lower=[2, 0], upper=50),
    19: KnownProblem(
        lambda x: (x[0] - 10) ** 3 + (x[1] - 20) ** 3, [20.1, 5.84], -6961.81388,
        lambda x: [(x[0] - 5) ** 2 + (x[1] - 5) ** 2 - 100, 82.81 - (x[1] - 5) ** 2 - (x[0] - 6) ** 2],
        lower=[13, 0], upper=100),
    20: KnownProblem(
        _valley, [-2, 1], 81.5 - 25 * _R3,
        lambda x: [x[0] + x[1] ** 2, x[0] ** 2 + x[1], x[0] ** 2 + x[1] ** 2 - 1],
        lower=[-0.5, -_INF], upper=[0.5, _INF]),
    21: KnownProblem(
        lambda x: 0.01 * x[0] ** 2 + x[1] ** 2 - 100, [-1, -1], -99.96, lambda x: [10 * x[0] - x[1] - 10],
        lower=[2, -50], upper=50),
    22: KnownProblem(
        lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, [2, 2], 1, lambda x: [2 - x[0] - x[1], x[1] - x[0] ** 2]),
    23: KnownProblem(
        lambda x: x[0] ** 2 + x[1] ** 2, [3, 1], 2,
        lambda x: [x[0] + x[1] - 1, x[0] ** 2 + x[1] ** 2 - 1, 9 * x[0] ** 2 + x[1] ** 2 - 9, x[0] ** 2 - x[1],
                   x[1] ** 2 - x[0]], lower=-50, upper=50),
    24: KnownProblem(
        lambda x: ((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * _R3), [1, 0.5], -1,
        lambda x: [x[0] / _R3 - x[1], x[0] + _R3 * x[1], 6 - x[0] - _R3 * x[1]], lower=0),
    26: KnownProblem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, [-2.6, 2, 2], 0,
        equations=lambda x: [(1 + x[1] ** 2) * x[0] + x[2] ** 4 - 3]),
    27: KnownProblem(
        lambda x: 0.01 * (x[0] - 1) ** 2 + (x[1] - x[0] ** 2) ** 2, [2, 2, 2], 0.04,
        equations=lambda x: [x[0] + x[2] ** 2 + 1]),
    28: KnownProblem(
        lambda x: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2, [-4, 1, 1], 0,
        equations=lambda x: [x[0] + 2 * x[1] + 3 * x[2] - 1]),
    29: KnownProblem(
        lambda x: -x[0] * x[1] * x[2], [1, 1, 1], -16 * _R2,
        lambda x: [48 - x[0] ** 2 - 2 * x[1] ** 2 - 4 * x[2] ** 2]),
    30: KnownProblem(
        lambda x: x @ x, [1, 1, 1], 1, lambda x: [x[0] ** 2 + x[1] ** 2 - 1], lower=[1, -10, -10], upper=10),
    31: KnownProblem(
        lambda x: 9 * x[0] ** 2 + x[1] ** 2 + 9 * x[2] ** 2, [1, 1, 1], 6, lambda x: [x[0] * x[1] - 1],
        lower=[-10, 1, -10], upper=[10, 10, 1]),
    32: KnownProblem(
        lambda x: (x[0] + 3 * x[1] + x[2]) ** 2 + 4 * (x[0] - x[1]) ** 2, [0.1, 0.7, 0.2], 1,
        lambda x: [6 * x[1] + 4 * x[2] - x[0] ** 3 - 3], lambda x: [1 - x[0] - x[1] - x[2]], lower=0),
    33: KnownProblem(
        lambda x: (x[0] - 1) * (x[0] - 2) * (x[0] - 3) + x[2], [0, 0, 3], _R2 - 6,
        lambda x: [x[2] ** 2 - x[1] ** 2 - x[0] ** 2, x @ x - 4], lower=0, upper=[_INF, _INF, 5]),
    34: KnownProblem(
        lambda x: -x[0], [0, 1.05, 2.9], -log(log(10)), lambda x: [x[1] - exp(x[0]), x[2] - exp(x[1])],
        lower=0, upper=[100, 100, 10]),
    35: KnownProblem(
        lambda x: 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2
        + 2 * x[0] * x[1] + 2 * x[0] * x[2], [0.5, 0.5, 0.5], 1 / 9,
        lambda x: [3 - x[0] - x[1] - 2 * x[2]], lower=0),
    36: KnownProblem(
        lambda x: -x[0] * x[1] * x[2], [10, 10, 10], -3300, lambda x: [72 - x[0] - 2 * x[1] - 2 * x[2]],
        lower=0, upper=[20, 11, 42]),
    37: KnownProblem(
        lambda x: -x[0] * x[1] * x[2], [10, 10, 10], -3456,
        lambda x: [72 - x[0] - 2 * x[1] - 2 * x[2], x[0] + 2 * x[1] + 2 * x[2]], lower=0, upper=42),
    38: KnownProblem(
        lambda x: _valley(x) + 90 * (x[3] - x[2] ** 2) ** 2 + (1 - x[2]) ** 2
        + 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2) + 19.8 * (x[1] - 1) * (x[3] - 1),
        [-3, -1, -3, -1], 0, lower=-10, upper=10),
    39: KnownProblem(
        lambda x: -x[0], [2, 2, 2, 2], -1,
        equations=lambda x: [x[1] - x[0] ** 3 - x[2] ** 2, x[0] ** 2 - x[1] - x[3] ** 2]),
    40: KnownProblem(
        lambda x: -x[0] * x[1] * x[2] * x[3], [0.8] * 4, -0.25,
        equations=lambda x: [x[0] ** 3 + x[1] ** 2 - 1, x[0] ** 2 * x[3] - x[2], x[3] ** 2 - x[1]]),
    41: KnownProblem(
        lambda x: 2 - x[0] * x[1] * x[2], [2] * 4, 52 / 27,
        equations=lambda x: [x[0] + 2 * x[1] + 2 * x[2] - x[3]], lower=0, upper=[1, 1, 1, 2]),
    42: KnownProblem(
        lambda x: np.sum((x - np.arange(1, 5)) ** 2), [1] * 4, 28 - 10 * _R2,
        equations=lambda x: [x[0] - 2, x[2] ** 2 + x[3] ** 2 - 2]),
    43: KnownProblem(
        lambda x: x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
        [0] * 4, -44,
        lambda x: [8 - x @ x - x[0] + x[1] - x[2] + x[3],
                   10 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - 2 * x[3] ** 2 + x[0] + x[3],
                   5 - 2 * x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - 2 * x[0] + x[1] + x[3]]),
    45: KnownProblem(lambda x: 2 - _product(x) / 120, [2] * 5, 1, lower=0, upper=[1, 2, 3, 4, 5]),
    46: KnownProblem(
        lambda x: (x[0] - x[1]) ** 2 + (x[2] - 1) ** 2 + (x[3] - 1) ** 4 + (x[4] - 1) ** 6,
        [_R2 / 2, 1.75, 0.5, 2, 2], 0,
        equations=lambda x: [x[0] ** 2 * x[3] + sin(x[3] - x[4]) - 1, x[1] + x[2] ** 4 * x[3] ** 2 - 2]),
    48: KnownProblem(
        lambda x: (x[0] - 1) ** 2 + (x[1] - x[2]) ** 2 + (x[3] - x[4]) ** 2, [3, 5, -3, 2, -2], 0,
        equations=lambda x: [np.sum(x) - 5, x[2] - 2 * (x[3] + x[4]) + 3]),
    49: KnownProblem(
        lambda x: (x[0] - x[1]) ** 2 + (x[2] - 1) ** 2 + (x[3] - 1) ** 4 + (x[4] - 1) ** 6, [10, 7, 2, -3, 0.8], 0,
        equations=lambda x: [x[0] + x[1] + x[2] + 4 * x[3] - 7, x[2] + 5 * x[4] - 6]),
    50: KnownProblem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 2 + (x[2] - x[3]) ** 4 + (x[3] - x[4]) ** 2,
        [35, -31, 11, 5, -5], 0,
        equations=lambda x: [x[i] + 2 * x[i + 1] + 3 * x[i + 2] - 6 for i in range(3)]),
    51: KnownProblem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] + x[2] - 2) ** 2 + (x[3] - 1) ** 2 + (x[4] - 1) ** 2,
        [2.5, 0.5, 2, -1, 0.5], 0,
        equations=lambda x: [x[0] + 3 * x[1] - 4, x[2] + x[3] - 2 * x[4], x[1] - x[4]]),
    52: KnownProblem(
        lambda x: (4 * x[0] - x[1]) ** 2 + (x[1] + x[2] - 2) ** 2 + (x[3] - 1) ** 2 + (x[4] - 1) ** 2,
        [2] * 5, 1859 / 349, equations=lambda x: [x[0] + 3 * x[1], x[2] + x[3] - 2 * x[4], x[1] - x[4]]),
    53: KnownProblem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] + x[2] - 2) ** 2 + (x[3] - 1) ** 2 + (x[4] - 1) ** 2,
        [2] * 5, 176 / 43, equations=lambda x: [x[0] + 3 * x[1], x[2] + x[3] - 2 * x[4], x[1] - x[4]],
        lower=-10, upper=10),
    55: KnownProblem(
        lambda x: x[0] + 2 * x[1] + 4 * x[4] + exp(x[0] * x[3]), [1, 2, 0, 0, 0, 2], 19 / 3,
        equations=lambda x: [x[0] + 2 * x[1] + 5 * x[4] - 6, x[0] + x[1] + x[2] - 3, x[3] + x[4] + x[5] - 2,
                             x[0] + x[3] - 1, x[1] + x[4] - 2, x[2] + x[5] - 2],
        lower=0, upper=[1, _INF, _INF, 1, _INF, _INF]),
    56: KnownProblem(
        lambda x: -x[0] * x[1] * x[2], [1, 1, 1, _A, _A, _A, _B], -3.456,
        equations=lambda x: [x[0] - 4.2 * sin(x[3]) ** 2, x[1] - 4.2 * sin(x[4]) ** 2, x[2] - 4.2 * sin(x[5]) ** 2,
                             x[0] + 2 * x[1] + 2 * x[2] - 7.2 * sin(x[6]) ** 2]),
    60: KnownProblem(
        lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, [2, 2, 2], 0.03256820025,
        equations=lambda x: [x[0] * (1 + x[1] ** 2) + x[2] ** 4 - 4 - 3 * _R2], lower=-10, upper=10),
    61: KnownProblem(
        lambda x: 4 * x[0] ** 2 + 2 * x[1] ** 2 + 2 * x[2] ** 2 - 33 * x[0] + 16 * x[1] - 24 * x[2], [0, 0, 0],
        -143.6461422, equations=lambda x: [3 * x[0] - 2 * x[1] ** 2 - 7, 4 * x[0] - x[2] ** 2 - 11]),
    62: KnownProblem(
        lambda x: -32.174 * (
            255 * log((x[0] + x[1] + x[2] + 0.03) / (0.09 * x[0] + x[1] + x[2] + 0.03))
            + 280 * log((x[1] + x[2] + 0.03) / (0.07 * x[1] + x[2] + 0.03))
            + 290 * log((x[2] + 0.03) / (0.13 * x[2] + 0.03))),
        [0.7, 0.2, 0.1], -26272.51448, equations=lambda x: [np.sum(x) - 1], lower=0, upper=1),
    63: KnownProblem(
        lambda x: 1000 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - x[0] * x[1] - x[0] * x[2], [2, 2, 2], 961.7151721,
        equations=lambda x: [8 * x[0] + 14 * x[1] + 7 * x[2] - 56, x @ x - 25], lower=0),
    64: KnownProblem(
        lambda x: 5 * x[0] + 5e4 / x[0] + 20 * x[1] + 7.2e4 / x[1] + 10 * x[2] + 1.44e5 / x[2], [1, 1, 1],
        6299.842428, lambda x: [1 - 4 / x[0] - 32 / x[1] - 120 / x[2]], lower=1e-5),
    65: KnownProblem(
        lambda x: (x[0] - x[1]) ** 2 + (x[0] + x[1] - 10) ** 2 / 9 + (x[2] - 5) ** 2, [-5, 5, 0], 0.9535288567,
        lambda x: [48 - x @ x], lower=[-4.5, -4.5, -5], upper=[4.5, 4.5, 5]),
    66: KnownProblem(
        lambda x: 0.2 * x[2] - 0.8 * x[0], [0, 1.05, 2.9], 0.5181632741,
        lambda x: [x[1] - exp(x[0]), x[2] - exp(x[1])], lower=0, upper=[100, 100, 10]),
    71: KnownProblem(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], [1, 5, 5, 1], 17.0140173,
        lambda x: [x[0] * x[1] * x[2] * x[3] - 25], lambda x: [x @ x - 40], lower=1, upper=5),
    72: KnownProblem(
        lambda x: 1 + np.sum(x), [1] * 4, 727.67937,
        lambda x: [0.0401 - 4 / x[0] - 2.25 / x[1] - 1 / x[2] - 0.25 / x[3],
                   0.010085 - 0.16 / x[0] - 0.36 / x[1] - 0.64 / x[2] - 0.64 / x[3]],
        lower=0.001, upper=[4e5, 3e5, 2e5, 1e5]),
    73: KnownProblem(
        lambda x: 24.55 * x[0] + 26.75 * x[1] + 39 * x[2] + 40.5 * x[3], [1] * 4, 29.894378,
        lambda x: [2.3 * x[0] + 5.6 * x[1] + 11.1 * x[2] + 1.3 * x[3] - 5,
                   12 * x[0] + 11.9 * x[1] + 41.8 * x[2] + 52.1 * x[3] - 21 - 1.645 * sqrt(
                       0.28 * x[0] ** 2 + 0.19 * x[1] ** 2 + 20.5 * x[2] ** 2 + 0.62 * x[3] ** 2)],
        lambda x: [np.sum(x) - 1], lower=0),
    74: KnownProblem(
        _power, [0] * 4, 5126.4981, lambda x: [x[3] - x[2] + 0.55, x[2] - x[3] + 0.55], _grid,
        lower=[0, 0, -0.55, -0.55], upper=[1200, 1200, 0.55, 0.55]),
    75: KnownProblem(
        _power, [0] * 4, 5174.4129, lambda x: [x[3] - x[2] + 0.48, x[2] - x[3] + 0.48], _grid,
        lower=[0, 0, -0.48, -0.48], upper=[1200, 1200, 0.48, 0.48]),
    76: KnownProblem(
        lambda x: x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2 - x[0] * x[2] + x[2] * x[3]
        - x[0] - 3 * x[1] + x[2] - x[3], [0.5] * 4, -4.681818182,
        lambda x: [5 - x[0] - 2 * x[1] - x[2] - x[3], 4 - 3 * x[0] - x[1] - 2 * x[2] + x[3],
                   x[1] + 4 * x[2] - 1.5], lower=0),
    77: KnownProblem(
        lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[2] - 1) ** 2 + (x[3] - 1) ** 4 + (x[4] - 1) ** 6,
        [2] * 5, 0.24150513,
        equations=lambda x: [x[0] ** 2 * x[3] + sin(x[3] - x[4]) - 2 * _R2, x[1] + x[2] ** 4 * x[3] ** 2 - 8 - _R2]),
    78: KnownProblem(_product, [-2, 1.5, 2, -1, -1], -2.91970041, equations=_three),
    79: KnownProblem(
        lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 2 + (x[2] - x[3]) ** 4
        + (x[3] - x[4]) ** 4, [2] * 5, 0.0787768209,
        equations=lambda x: [x[0] + x[1] ** 2 + x[2] ** 3 - 2 - 3 * _R2, x[1] - x[2] ** 2 + x[3] + 2 - 2 * _R2,
                             x[0] * x[4] - 2]),
    80: KnownProblem(
        lambda x: exp(_product(x)), [-2, 2, 2, -1, -1], 0.0539498478, equations=_three,
        lower=[-2.3, -2.3, -3.2, -3.2, -3.2], upper=[2.3, 2.3, 3.2, 3.2, 3.2]),
    81: KnownProblem(
        lambda x: exp(_product(x)) - 0.5 * (x[0] ** 3 + x[1] ** 3 + 1) ** 2, [-2, 2, 2, -1, -1], 0.0539498478,
        equations=_three, lower=[-2.3, -2.3, -3.2, -3.2, -3.2], upper=[2.3, 2.3, 3.2, 3.2, 3.2]),
    100: KnownProblem(
        lambda x: (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2 + 10 * x[4] ** 6
        + 7 * x[5] ** 2 + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6], [1, 2, 0, 4, 0, 1, 1], 680.6300573,
        lambda x: [127 - 2 * x[0] ** 2 - 3 * x[1] ** 4 - x[2] - 4 * x[3] ** 2 - 5 * x[4],
                   282 - 7 * x[0] - 3 * x[1] - 10 * x[2] ** 2 - x[3] + x[4],
                   196 - 23 * x[0] - x[1] ** 2 - 6 * x[5] ** 2 + 8 * x[6],
                   -4 * x[0] ** 2 - x[1] ** 2 + 3 * x[0] * x[1] - 2 * x[2] ** 2 - 5 * x[5] + 11 * x[6]]),
    112: KnownProblem(
        _mixture, [0.1] * 10, -47.76109086,
        equations=lambda x: [x[0] + 2 * x[1] + 2 * x[2] + x[5] + x[9] - 2, x[3] + 2 * x[4] + x[5] + x[6] - 1,
                             x[2] + x[6] + x[7] + 2 * x[8] + x[9] - 1], lower=1e-6),
    113: KnownProblem(
        lambda x: x[0] ** 2 + x[1] ** 2 + x[0] * x[1] - 14 * x[0] - 16 * x[1] + (x[2] - 10) ** 2
        + 4 * (x[3] - 5) ** 2 + (x[4] - 3) ** 2 + 2 * (x[5] - 1) ** 2 + 5 * x[6] ** 2 + 7 * (x[7] - 11) ** 2
        + 2 * (x[8] - 10) ** 2 + (x[9] - 7) ** 2 + 45, [2, 3, 5, 5, 1, 2, 7, 3, 6, 10], 24.3062091,
        lambda x: [105 - 4 * x[0] - 5 * x[1] + 3 * x[6] - 9 * x[7], -10 * x[0] + 8 * x[1] + 17 * x[6] - 2 * x[7],
                   8 * x[0] - 2 * x[1] - 5 * x[8] + 2 * x[9] + 12,
                   -3 * (x[0] - 2) ** 2 - 4 * (x[1] - 3) ** 2 - 2 * x[2] ** 2 + 7 * x[3] + 120,
                   -5 * x[0] ** 2 - 8 * x[1] - (x[2] - 6) ** 2 + 2 * x[3] + 40,
                   -0.5 * (x[0] - 8) ** 2 - 2 * (x[1] - 4) ** 2 - 3 * x[4] ** 2 + x[5] + 30,
                   -x[0] ** 2 - 2 * (x[1] - 2) ** 2 + 2 * x[0] * x[1] - 14 * x[4] + 6 * x[5],
                   3 * x[0] - 6 * x[1] - 12 * (x[8] - 8) ** 2 + 7 * x[9]]),
}
# fmt: on
