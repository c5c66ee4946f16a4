"""More problems of Hock and Schittkowski, as in hock_schittkowski.py: with data, powers, or many local optima.

Not among them: 67, 85 and 87 to 92, whose functions have loops or jumps, 68 and 69, which need the normal distribution,
and 105, with data of 235 measurements. There are no problems 82, 94 and 115. Optimal values are those of the source but
of 109 and 116, where lower ones are known (N. Gould, D. Orban, Ph. Toint, CUTEst, 2015), and 54, in closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hock_schittkowski import KnownProblem
from numpy import cos, exp, log, sin, sqrt

_INF = np.inf
_R2 = sqrt(2.0)


def _numbers(text: str) -> Any:
    return np.array(text.split(), float)


def _valley(x: Any) -> Any:
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


# 25, 57 and 70: least squares.


def _errors_of_25(x: Any) -> Any:
    i = np.arange(1, 100)
    u = 25 + (-50 * log(0.01 * i)) ** (2 / 3)
    return np.array([-0.01 * k + exp(-exp(x[2] * log(each - x[1])) / x[0]) for k, each in zip(i, u)])


_A57 = np.repeat(np.arange(8, 43, 2), [2, 4, 4, 3, 3, 2, 3, 3, 3, 3, 2, 3, 2, 1, 2, 2, 1, 1])
_B57 = _numbers("""49 49 48 47 48 47 46 46 45 43 45 43 43 44 43 43 46 45 42 42 43 41 41 40 42 40 40 41 40 41 41 40 40
    40 38 41 40 40 41 38 40 40 39 39""") / 100


def _errors_of_57(x: Any) -> Any:
    return np.array([b - x[0] - (0.49 - x[0]) * exp(-x[1] * (a - 8)) for a, b in zip(_A57, _B57)])


_C70 = np.array([0.1, *range(1, 19)])
_Y70 = _numbers("""0.00189 0.1038 0.268 0.506 0.577 0.604 0.725 0.898 0.947 0.845 0.702 0.528 0.385 0.257 0.159 0.0869
    0.0453 0.01509 0.00189""")


def _errors_of_70(x: Any) -> Any:
    b = x[2] + (1 - x[2]) * x[3]

    def share(power: Any, rate: Any) -> Any:
        height = (power / 6.2832) ** 0.5 * (1 + 1 / (12 * power))
        return height * exp(power * (log(rate) + 1 - rate * _C70 / 7.658) + (power - 1) * log(_C70 / 7.658))

    return x[2] * share(x[1], b) + (1 - x[2]) * share(x[0], b / x[3]) - _Y70


def _squares(errors: Any) -> Any:
    return lambda x: np.sum(errors(x) ** 2)


def _of_54(x: Any) -> Any:
    a, b = (x[0] - 1e4) / 8e3, x[1] - 1
    h = (a**2 + 0.4 * a * b + b**2) / 0.96 + (x[2] - 2e6) ** 2 / 4.9e13 + (x[3] - 10) ** 2 / 2.5e3
    return -exp(-0.5 * (h + (x[4] - 1e-3) ** 2 / 2.5e-3 + (x[5] - 1e8) ** 2 / 2.5e17))


def _of_59(x: Any) -> Any:
    a, b = x[0], x[1]
    return (
        -75.196 + 3.8112 * a - 0.12694 * a**2 + 2.0567e-3 * a**3 - 1.0345e-5 * a**4 + 6.8306 * b - 0.030234 * a * b
        + 1.28134e-3 * a**2 * b - 3.5256e-5 * a**3 * b + 2.266e-7 * a**4 * b - 0.25645 * b**2 + 3.4604e-3 * b**3
        - 1.3514e-5 * b**4 + 28.106 / (b + 1) + 5.2375e-6 * a**2 * b**2 + 6.3e-8 * a**3 * b**2 - 7e-10 * a**3 * b**3
        - 3.4054e-4 * a * b**2 + 1.6638e-6 * a * b**3 + 2.8673 * exp(5e-4 * a * b)
    )  # fmt: skip


def _rows_of_83(x: Any) -> list[Any]:
    a = 85.334407 + 0.0056858 * x[1] * x[4] + 0.0006262 * x[0] * x[3] - 0.0022053 * x[2] * x[4]
    b = 80.51249 + 0.0071317 * x[1] * x[4] + 0.0029955 * x[0] * x[1] + 0.0021813 * x[2] ** 2 - 90
    c = 9.300961 + 0.0047026 * x[2] * x[4] + 0.0012547 * x[0] * x[2] + 0.0019085 * x[2] * x[3] - 20
    return [a, 92 - a, b, 20 - b, c, 5 - c]


_A84 = _numbers("""-8720288.849 150512.5253 -156.6950325 476470.3222 729482.8271 -145421.402 2931.1506 -40.427932
    5106.192 15711.36 -155011.1084 4360.53352 12.9492344 10236.884 13176.786 -326669.5104 7390.68412 -27.8986976
    16643.076 30988.146""").reshape(4, 5)


def _sums_of_84(x: Any) -> Any:
    return _A84 @ np.array([x[0], *(x[0] * x[1:])])


# 86 and its dual, 117.
_E86, _D86 = np.array([-15, -27, -36, -18, -12]), np.array([4, 8, 10, 6, 2])
_C86 = np.array([[30, -20, -10, 32, -10], [-20, 39, -6, -31, 32], [-10, -6, 10, -6, -10], [32, -31, -6, 39, -20],
                 [-10, 32, -10, -20, 30]])  # fmt: skip
_A86 = np.array([[-16, 2, 0, 1, 0], [0, -2, 0, 0.4, 2], [-3.5, 0, 2, 0, 0], [0, -2, 0, -4, -1], [0, -9, -2, 1, -2.8],
                 [2, 0, -4, 0, 0], [-1] * 5, [-1, -2, -3, -2, -1], [1, 2, 3, 4, 5], [1] * 5])  # fmt: skip
_B86 = np.array([-40, -2, -0.25, -4, -4, -1, -40, -60, 5, 1])


def _terms_of_93(x: Any) -> tuple[Any, Any]:
    return x[0] * x[3] * (x[0] + x[1] + x[2]), x[1] * x[2] * (x[0] + 1.57 * x[1] + x[3])


def _rows_of_95(*least: float) -> Any:
    """Those of 95 to 98, which have other right-hand sides."""
    A = _numbers("""17.1 38.2 204.2 212.3 623.4 1495.5 17.9 36.8 113.9 169.7 337.8 1385.2 0 -273 0 -70 -819 0
        159.9 -311 0 587 391 2198""").reshape(4, 6)

    def rows(x: Any) -> Any:
        products = np.array([
            -169 * x[0] * x[2] - 3580 * x[2] * x[4] - 3810 * x[3] * x[4] - 18500 * x[3] * x[5] - 24300 * x[4] * x[5],
            -139 * x[0] * x[2] - 2450 * x[3] * x[4] - 16600 * x[3] * x[5] - 17200 * x[4] * x[5],
            26000 * x[3] * x[4],
            -14000 * x[0] * x[5],
        ])  # fmt: skip
        return A @ x + products - np.array(least)

    return rows


def _mixing(*least: float, optimum: float) -> KnownProblem:
    return KnownProblem(
        lambda x: _numbers("4.3 31.8 63.3 15.8 68.5 4.7") @ x, [0] * 6, optimum, _rows_of_95(*least), lower=0,
        upper=[0.31, 0.046, 0.068, 0.042, 0.028, 0.0134],
    )  # fmt: skip


def _rocket(x: Any) -> tuple[Any, Any, Any]:
    """r, q and s of 99 at the end."""
    r, q, s = 0.0, 0.0, 0.0
    for a, dt, angle in zip([50, 50, 75, 75, 75, 100, 100], np.diff([0, 25, 50, 100, 150, 200, 290, 380]), x):
        thrust = a * sin(angle) - 32
        r, q, s = r + a * dt * cos(angle), q + 0.5 * dt**2 * thrust + dt * s, s + dt * thrust
    return r, q, s


def _geometric(a: float, optimum: float) -> KnownProblem:
    """101 to 103."""

    def cost(x: Any) -> Any:
        p, q, r, s, t, u, v = x
        return (
            10 * p * s**2 * v**a / (q * u**3) + 15 * r * s / (p * q**2 * t * v**0.5)
            + 20 * q * u / (p**2 * s * t**2) + 25 * p**2 * q**2 * t**0.5 * v / (r * u**2)
        )  # fmt: skip

    def rows(x: Any) -> list[Any]:
        p, q, r, s, t, u, v = x
        third = 1 / 3
        return [
            1 - 0.5 * p**0.5 * v / (r * u**2) - 0.7 * p**3 * q * u * v**0.5 / r**2
            - 0.2 * r * u ** (2 * third) * v**0.25 / (q * s**0.5),
            1 - 1.3 * q * u / (p**0.5 * r * t) - 0.8 * r * u**2 / (s * t) - 3.1 * q**0.5 * u**third / (p * s**2 * t),
            1 - 2 * p * t * v**third / (r**1.5 * u) - 0.1 * q * t / (r**0.5 * u * v**0.5) - q * r**0.5 * t / p
            - 0.65 * r * t * v / (q**2 * u),
            1 - 0.2 * q * t**0.5 * v**third / (p**2 * s)
            - 0.3 * p**0.5 * q**2 * r * s**third * v**0.25 / t ** (2 * third)
            - 0.4 * r * t * v**0.75 / (p**3 * q**2) - 0.5 * s * v**0.5 / r**2,
            cost(x) - 100, 3000 - cost(x),
        ]  # fmt: skip

    return KnownProblem(cost, [6] * 7, optimum, rows, lower=[0.1] * 6 + [0.01], upper=10)


def _of_104(x: Any) -> Any:
    return 0.4 * x[0] ** 0.67 * x[6] ** -0.67 + 0.4 * x[1] ** 0.67 * x[7] ** -0.67 + 10 - x[0] - x[1]


def _rows_of_104(x: Any) -> list[Any]:
    return [
        1 - 0.0588 * x[4] * x[6] - 0.1 * x[0],
        1 - 0.0588 * x[5] * x[7] - 0.1 * x[0] - 0.1 * x[1],
        1 - 4 * x[2] / x[4] - 2 * x[2] ** -0.71 / x[4] - 0.0588 * x[2] ** -1.3 * x[6],
        1 - 4 * x[3] / x[5] - 2 * x[3] ** -0.71 / x[5] - 0.0588 * x[3] ** -1.3 * x[7],
        _of_104(x) - 1, 4.2 - _of_104(x),
    ]  # fmt: skip


def _flows_of_107(x: Any) -> list[Any]:
    c, d = 48.4 / 50.176 * sin(0.25), 48.4 / 50.176 * cos(0.25)
    s8, c8, s9, c9, s89, c89 = sin(x[7]), cos(x[7]), sin(x[8]), cos(x[8]), sin(x[7] - x[8]), cos(x[7] - x[8])
    ab, ac, bc = x[4] * x[5], x[4] * x[6], x[5] * x[6]
    return [
        0.4 - x[0] + 2 * c * x[4] ** 2 - ab * (d * s8 + c * c8) - ac * (d * s9 + c * c9),
        0.4 - x[1] + 2 * c * x[5] ** 2 + ab * (d * s8 - c * c8) + bc * (d * s89 - c * c89),
        0.8 + 2 * c * x[6] ** 2 + ac * (d * s9 - c * c9) - bc * (d * s89 + c * c89),
        0.2 - x[2] + 2 * d * x[4] ** 2 + ab * (c * s8 - d * c8) + ac * (c * s9 - d * c9),
        0.2 - x[3] + 2 * d * x[5] ** 2 - ab * (c * s8 + d * c8) - bc * (c * s89 + d * c89),
        -0.337 + 2 * d * x[6] ** 2 - ac * (c * s9 + d * c9) + bc * (c * s89 - d * c89),
    ]  # fmt: skip


def _rows_of_108(x: Any) -> list[Any]:
    return [
        1 - x[2] ** 2 - x[3] ** 2, 1 - x[8] ** 2, 1 - x[4] ** 2 - x[5] ** 2, 1 - x[0] ** 2 - (x[1] - x[8]) ** 2,
        1 - (x[0] - x[4]) ** 2 - (x[1] - x[5]) ** 2, 1 - (x[0] - x[6]) ** 2 - (x[1] - x[7]) ** 2,
        1 - (x[2] - x[4]) ** 2 - (x[3] - x[5]) ** 2, 1 - (x[2] - x[6]) ** 2 - (x[3] - x[7]) ** 2,
        1 - x[6] ** 2 - (x[7] - x[8]) ** 2, x[0] * x[3] - x[1] * x[2], x[2] * x[8], -x[4] * x[8],
        x[4] * x[7] - x[5] * x[6],
    ]  # fmt: skip


def _flows_of_109(x: Any) -> list[Any]:
    a, b, c = 50.176, sin(0.25), cos(0.25)
    uv, uw, vw = x[4] * x[5], x[4] * x[6], x[5] * x[6]
    y = 0.7533e-3 * a - 2 * c
    return [
        uv * sin(-x[2] - 0.25) + uw * sin(-x[3] - 0.25) + 2 * b * x[4] ** 2 - a * x[0] + 400 * a,
        uv * sin(x[2] - 0.25) + vw * sin(x[2] - x[3] - 0.25) + 2 * b * x[5] ** 2 - a * x[1] + 400 * a,
        uw * sin(x[3] - 0.25) + vw * sin(x[3] - x[2] - 0.25) + 2 * b * x[6] ** 2 + 881.779 * a,
        a * x[7] + uv * cos(-x[2] - 0.25) + uw * cos(-x[3] - 0.25) - 200 * a + y * x[4] ** 2,
        a * x[8] + uv * cos(x[2] - 0.25) + vw * cos(x[2] - x[3] - 0.25) - 200 * a + y * x[5] ** 2,
        uw * cos(x[3] - 0.25) + vw * cos(x[3] - x[2] - 0.25) + 22.938 * a + y * x[6] ** 2,
    ]  # fmt: skip


_C111 = _numbers("-6.089 -17.164 -34.054 -5.914 -24.721 -14.986 -24.1 -10.708 -26.662 -22.179")


def _of_111(x: Any) -> Any:
    y = exp(x)
    return np.sum(y * (_C111 + x - log(np.sum(y))))


def _rows_of_111(x: Any) -> list[Any]:
    y = exp(x)
    return [y[0] + 2 * y[1] + 2 * y[2] + y[5] + y[9] - 2, y[3] + 2 * y[4] + y[5] + y[6] - 1,
            y[2] + y[6] + y[7] + 2 * y[8] + y[9] - 1]  # fmt: skip


def _rows_of_114(x: Any) -> list[Any]:
    a, b = 0.99, 0.9
    g1, g2 = 35.82 - 0.222 * x[9] - b * x[8], -133 + 3 * x[6] - a * x[9]
    g5 = 1.12 * x[0] + 0.13167 * x[0] * x[7] - 0.00667 * x[0] * x[7] ** 2 - a * x[3]
    g6 = 57.425 + 1.098 * x[7] - 0.038 * x[7] ** 2 + 0.325 * x[5] - a * x[6]
    return [g1, g2, -g1 + x[8] * (1 / b - b), -g2 + (1 / a - a) * x[9], g5, g6, -g5 + (1 / a - a) * x[3],
            -g6 + (1 / a - a) * x[6]]  # fmt: skip


def _rows_of_116(x: Any) -> list[Any]:
    a, b, c = 0.002, 1.262626, 1.231059

    def stage(given: Any, left: Any) -> Any:
        return left - 0.03475 * given - 0.975 * given * left + 0.00975 * given**2

    cost = x[10] + x[11] + x[12]
    return [
        x[2] - x[1], x[1] - x[0], 1 - a * (x[6] - x[7]), cost - 50, 250 - cost,
        x[12] - b * x[9] + c * x[2] * x[9], stage(x[1], x[4]), stage(x[2], x[5]), stage(x[0], x[3]),
        x[11] - b * x[8] + c * x[1] * x[8], x[10] - b * x[7] + c * x[0] * x[7],
        x[4] * x[6] - x[0] * x[7] - x[3] * x[6] + x[3] * x[7],
        1 - a * (x[1] * x[8] + x[4] * x[7] - x[0] * x[7] - x[5] * x[8]) - x[4] - x[5],
        x[1] * x[8] - x[2] * x[9] - x[5] * x[8] - 500 * x[1] + 500 * x[5] + x[1] * x[9],
        x[1] - 0.9 - a * (x[1] * x[9] - x[2] * x[9]),
    ]  # fmt: skip


def _rows_of_118(x: Any) -> list[Any]:
    steps = [x[3 * j + i] - x[3 * j - 3 + i] + 7 for j in range(1, 5) for i in range(3)]
    over = [(14 if n % 3 == 1 else 13) - step for n, step in enumerate(steps)]
    return [*steps, *over, *(sum(x[3 * j : 3 * j + 3]) - least for j, least in enumerate([60, 50, 70, 85, 100]))]


# Which elements of the matrix of 119 are 1 beside those of its diagonal, by rows.
_PAIRS119 = [(3, 6, 7, 15), (2, 6, 9), (6, 8, 9, 13), (6, 10, 14), (5, 9, 11, 15), (7, 14), (10, 12), (9, 14), (11, 15),
             (13,), (12,), (13,), (13,)]  # fmt: skip
_B119 = np.hstack([
    _numbers("""0.22 0.2 0.19 0.25 0.15 0.11 0.12 0.13   -1.46 0 -1.3 1.82 -1.15 0 0.8 0
        1.29 -0.89 0 0 -1.16 -0.96 0 -0.49   -1.1 -1.06 0.95 -0.54 0 -1.78 -0.41 0   0 0 0 -1.43 1.51 0.59 -0.33 -0.43
        0 -1.72 -0.33 0 1.62 1.24 0.21 -0.26   1.12 0 0 0.31 0 0 1.12 0
        0 0.45 0.26 -1.1 0.58 0 -1.03 0.1""").reshape(8, 8),
    np.eye(8),
])  # fmt: skip
_B119[6, 8] = -0.36


def _of_119(x: Any) -> Any:
    y = x**2 + x + 1
    return np.sum(y**2) + sum(y[i] * y[j] for i, others in enumerate(_PAIRS119) for j in others)


# fmt: off
HARD_PROBLEMS: dict[int, KnownProblem] = {
    2: KnownProblem(_valley, [-2, 1], 0.0504261879, lower=[-_INF, 1.5]),
    13: KnownProblem(
        lambda x: (x[0] - 2) ** 2 + x[1] ** 2, [-2, -2], 1, lambda x: [(1 - x[0]) ** 3 - x[1]], lower=0),
    25: KnownProblem(_squares(_errors_of_25), [100, 12.5, 3], 0, lower=[0.1, 0, 0], upper=[100, 25.6, 5]),
    44: KnownProblem(
        lambda x: x[0] - x[1] - x[2] - x[0] * x[2] + x[0] * x[3] + x[1] * x[2] - x[1] * x[3], [0] * 4, -15,
        lambda x: [8 - x[0] - 2 * x[1], 12 - 4 * x[0] - x[1], 12 - 3 * x[0] - 4 * x[1], 8 - 2 * x[2] - x[3],
                   8 - x[2] - 2 * x[3], 5 - x[2] - x[3]], lower=0),
    47: KnownProblem(
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 3 + (x[2] - x[3]) ** 4 + (x[3] - x[4]) ** 4,
        [2, _R2, -1, 2 - _R2, 0.5], 0,
        equations=lambda x: [x[0] + x[1] ** 2 + x[2] ** 3 - 3, x[1] - x[2] ** 2 + x[3] - 1, x[0] * x[4] - 1]),
    54: KnownProblem(
        _of_54, [6e3, 1.5, 4e6, 2, 3e-3, 5e7], -exp(-27 / 280), equations=lambda x: [x[0] + 4e3 * x[1] - 1.76e4],
        lower=[0, -10, 0, 0, -1, 0], upper=[2e4, 10, 1e7, 20, 1, 2e8]),
    57: KnownProblem(
        _squares(_errors_of_57), [0.42, 5], 0.02845966972, lambda x: [0.49 * x[1] - x[0] * x[1] - 0.09],
        lower=[0.4, -4]),
    58: KnownProblem(
        _valley, [-2, 1], 3.19033354957,
        lambda x: [x[1] ** 2 - x[0], x[0] ** 2 - x[1], x[0] ** 2 + x[1] ** 2 - 1],
        lower=[-2, -_INF], upper=[0.5, _INF]),
    59: KnownProblem(
        _of_59, [90, 10], -7.804226324,
        lambda x: [x[0] * x[1] - 700, x[1] - x[0] ** 2 / 125, (x[1] - 50) ** 2 - 5 * (x[0] - 55)],
        lower=0, upper=[75, 65]),
    70: KnownProblem(
        _squares(_errors_of_70), [2, 4, 0.04, 2], 0.007498464, lambda x: [x[2] + (1 - x[2]) * x[3]],
        lower=1e-5, upper=[100, 100, 1, 100]),
    83: KnownProblem(
        lambda x: 5.3578547 * x[2] ** 2 + 0.8356891 * x[0] * x[4] + 37.293239 * x[0] - 40792.141,
        [78, 33, 27, 27, 27], -30665.53867, _rows_of_83, lower=[78, 33, 27, 27, 27], upper=[102, 45, 45, 45, 45]),
    84: KnownProblem(
        lambda x: 24345 - _sums_of_84(x)[0], [2.52, 2, 37.5, 9.25, 6.8], -5280335.133,
        lambda x: [*_sums_of_84(x)[1:], *([294000, 294000, 277200] - _sums_of_84(x)[1:])],
        lower=[0, 1.2, 20, 9, 6.5], upper=[1000, 2.4, 60, 9.3, 7]),
    86: KnownProblem(
        lambda x: _E86 @ x + x @ (_C86 @ x) + _D86 @ x**3, [0, 0, 0, 0, 1], -32.34867897,
        lambda x: _A86 @ x - _B86, lower=0),
    93: KnownProblem(
        lambda x: _terms_of_93(x) @ np.array([0.0204 + 0.0607 * x[4] ** 2, 0.0187 + 0.0437 * x[5] ** 2]),
        [5.54, 4.4, 12.02, 11.82, 0.702, 0.852], 135.075961,
        lambda x: [0.001 * np.prod(x) - 2.07,
                   1 - 0.00062 * _terms_of_93(x)[0] * x[4] ** 2 - 0.00058 * _terms_of_93(x)[1] * x[5] ** 2], lower=0),
    95: _mixing(4.97, -1.88, -29.08, -78.02, optimum=0.015619514),
    96: _mixing(4.97, -1.88, -69.08, -118.02, optimum=0.015619514),
    97: _mixing(32.97, 25.12, -29.08, -78.02, optimum=3.1358091),
    98: _mixing(32.97, 25.12, -124.08, -173.02, optimum=3.1358091),
    99: KnownProblem(
        lambda x: -_rocket(x)[0] ** 2, [0.5] * 7, -831079892, equations=lambda x: np.array(_rocket(x)[1:]) - [1e5, 1e3],
        lower=0, upper=1.58),
    101: _geometric(-0.25, 1809.76476),
    102: _geometric(0.125, 911.880571),
    103: _geometric(0.5, 543.667958),
    104: KnownProblem(
        _of_104, [6, 3, 0.4, 0.2, 6, 6, 1, 0.5], 3.9511634396, _rows_of_104, lower=0.1, upper=10),
    106: KnownProblem(
        lambda x: x[0] + x[1] + x[2], [5000, 5000, 5000, 200, 350, 150, 225, 425], 7049.330923,
        lambda x: [1 - 0.0025 * (x[3] + x[5]), 1 - 0.0025 * (x[4] + x[6] - x[3]), 1 - 0.01 * (x[7] - x[4]),
                   x[0] * x[5] - 833.33252 * x[3] - 100 * x[0] + 83333.333,
                   x[1] * x[6] - 1250 * x[4] - x[1] * x[3] + 1250 * x[3],
                   x[2] * x[7] - 1250000 - x[2] * x[4] + 2500 * x[4]],
        lower=[100, 1000, 1000, 10, 10, 10, 10, 10], upper=[10000] * 3 + [1000] * 5),
    107: KnownProblem(
        lambda x: 3000 * x[0] + 1000 * x[0] ** 3 + 2000 * x[1] + 666.667 * x[1] ** 3,
        [0.8, 0.8, 0.2, 0.2, 1.0454, 1.0454, 1.0454, 0, 0], 5055.011803, equations=_flows_of_107,
        lower=[0, 0, -_INF, -_INF, 0.90909, 0.90909, 0.90909, -_INF, -_INF],
        upper=[_INF] * 4 + [1.0909] * 3 + [_INF] * 2),
    108: KnownProblem(
        lambda x: -0.5 * (x[0] * x[3] - x[1] * x[2] + x[2] * x[8] - x[4] * x[8] + x[4] * x[7] - x[5] * x[6]), [1] * 9,
        -0.8660254038, _rows_of_108, lower=[-_INF] * 8 + [0]),
    109: KnownProblem(
        lambda x: 3 * x[0] + 1e-6 * x[0] ** 3 + 2 * x[1] + 0.522074e-6 * x[1] ** 3, [0] * 9, 5326.85131,
        lambda x: [x[3] - x[2] + 0.55, x[2] - x[3] + 0.55, 2250000 - x[0] ** 2 - x[7] ** 2,
                   2250000 - x[1] ** 2 - x[8] ** 2], _flows_of_109,
        lower=[0, 0, -0.55, -0.55, 196, 196, 196, -400, -400],
        upper=[_INF, _INF, 0.55, 0.55, 252, 252, 252, 800, 800]),
    110: KnownProblem(
        lambda x: np.sum(log(x - 2) ** 2 + log(10 - x) ** 2) - np.prod(x) ** 0.2, [9] * 10, -45.77846971,
        lower=2.001, upper=9.999),
    111: KnownProblem(_of_111, [-2.3] * 10, -47.76109026, equations=_rows_of_111, lower=-100, upper=100),
    114: KnownProblem(
        lambda x: 5.04 * x[0] + 0.035 * x[1] + 10 * x[2] + 3.36 * x[4] - 0.063 * x[3] * x[6],
        [1745, 12000, 110, 3048, 1974, 89.2, 92.8, 8, 3.6, 145], -1768.80696, _rows_of_114,
        lambda x: [1.22 * x[3] - x[0] - x[4], 98000 * x[2] / (x[3] * x[8] + 1000 * x[2]) - x[5],
                   (x[1] + x[4]) / x[0] - x[7]],
        lower=[1e-5] * 5 + [85, 90, 3, 1.2, 145], upper=[2000, 16000, 120, 5000, 2000, 93, 95, 12, 4, 162]),
    116: KnownProblem(
        lambda x: x[10] + x[11] + x[12], [0.5, 0.8, 0.9, 0.1, 0.14, 0.5, 489, 80, 650, 450, 150, 150, 150], 97.5875096,
        _rows_of_116, lower=[0.1, 0.1, 0.1, 1e-4, 0.1, 0.1, 0.1, 0.1, 500, 0.1, 1, 1e-4, 1e-4],
        upper=[1, 1, 1, 0.1, 0.9, 0.9, 1000, 1000, 1000, 500, 150, 150, 150]),
    117: KnownProblem(
        lambda x: -_B86 @ x[:10] + x[10:] @ (_C86 @ x[10:]) + 2 * _D86 @ x[10:] ** 3, [0.001] * 6 + [60] + [0.001] * 8,
        32.34867897, lambda x: 2 * _C86 @ x[10:] + 3 * _D86 * x[10:] ** 2 + _E86 - _A86.T @ x[:10], lower=0),
    118: KnownProblem(
        lambda x: np.tile([2.3, 1.7, 2.2], 5) @ x + np.tile([1e-4, 1e-4, 1.5e-4], 5) @ x**2,
        [20, 55, 15] + [20, 60, 20] * 4, 664.82045, _rows_of_118, lower=[8, 43, 3] + [0] * 12,
        upper=[21, 57, 16] + [90, 120, 60] * 4),
    119: KnownProblem(
        _of_119, [10] * 16, 244.899698,
        equations=lambda x: _B119 @ x - np.array([2.5, 1.1, -3.1, -3.5, 1.3, 2.1, 2.3, -1.5]), lower=0, upper=5),
}
# fmt: on
