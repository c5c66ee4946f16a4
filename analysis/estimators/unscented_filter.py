"""The unscented Kalman filter, one source for Python and compiled code, on a FilterWorkspace.

Points, and what the model gives for them, stand one in a row. Equation numbers are those of
estimators/unscented_kalman_filter.py.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from merganser.analysis.estimators.filter_algebra import factor, solve
from merganser.analysis.estimators.filter_workspace import (
    IS_DISCRETE,
    MEASURED,
    NUM_FIELDS,
    PROCESS_NOISE,
    RESULT,
    SENSOR_NOISE,
    STATE,
    F,
    G,
    N,
    P,
    evaluate,
    fields_of,
    reals_of,
)
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.tape import SUCCEEDED

__all__ = ["section_sizes", "update"]

_MOST_SWEEPS = 50
_SMALL = 1e-34  # square of the rounding error

_number = itertools.count(NUM_FIELDS)
# Sections beside those of every filter, with their sizes:
SPREAD = next(_number)  # n + lambda: 1
MEAN_WEIGHTS = next(_number)  # 2 n + 1
WEIGHTS = next(_number)  # for covariances: 2 n + 1
POINTS = next(_number)  # (2 n + 1) n
OUTPUTS = next(_number)  # g of the points: (2 n + 1) p
IMAGES = next(_number)  # f of the points: (2 n + 1) n
MEAN_OUTPUT = next(_number)  # p
CROSS = next(_number)  # covariance of points and outputs: n p
GAIN = next(_number)  # K: n p
SQUARE = next(_number)  # room for a matrix: n n
VECTORS = next(_number)  # and for another one: n n
FACTORS = next(_number)  # covariance of the outputs, then its factors: p p


def section_sizes(n: int, p: int) -> list[int]:
    """The sizes of these sections."""
    count = 2 * n + 1
    return [1, count, count, count * n, count * p, count * n, p, n * p, n * p, n * n, n * n, p * p]


@device
def _diagonalize(r: Any, n: int, a: int, v: int) -> None:
    """Rotates the matrix at `a` to diagonal form; its eigenvectors become the columns of that at `v`.

    Jacobi's method by rows (Golub and Van Loan 2013, section 8.5).
    """
    for i in range(n):
        for j in range(n):
            r[v + n * i + j] = 1.0 if i == j else 0.0
    for _ in range(_MOST_SWEEPS):
        diagonal, rest = 0.0, 0.0
        for i in range(n):
            diagonal += r[a + n * i + i] * r[a + n * i + i]
            for j in range(i):
                rest += r[a + n * i + j] * r[a + n * i + j]
        if rest <= _SMALL * diagonal:
            break
        for i in range(n - 1):
            for j in range(i + 1, n):
                _rotate(r, n, a, v, i, j)


@device
def _rotate(r: Any, n: int, a: int, v: int, i: int, j: int) -> None:
    """Makes element (i, j) of the matrix at `a` zero."""
    element = r[a + n * i + j]
    if element == 0.0:
        return
    tau = (r[a + n * j + j] - r[a + n * i + i]) / (2.0 * element)
    root = math.sqrt(1.0 + tau * tau)
    t = 1.0 / (tau + root) if tau >= 0.0 else 1.0 / (tau - root)
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    for k in range(n):
        x, y = r[a + n * k + i], r[a + n * k + j]
        r[a + n * k + i], r[a + n * k + j] = c * x - s * y, s * x + c * y
        x, y = r[v + n * k + i], r[v + n * k + j]
        r[v + n * k + i], r[v + n * k + j] = c * x - s * y, s * x + c * y
    for k in range(n):
        x, y = r[a + n * i + k], r[a + n * j + k]
        r[a + n * i + k], r[a + n * j + k] = c * x - s * y, s * x + c * y
    r[a + n * i + j] = r[a + n * j + i] = 0.0


@device
def _place_points(r: Any, f: Any) -> None:
    """(1): xhat, and xhat plus and minus each column of a root of the covariance."""
    n, x, points, a, v = f[N], f[STATE], f[POINTS], f[SQUARE], f[VECTORS]
    covariance, spread = x + n, r[f[SPREAD]]
    for i in range(n):
        for j in range(n):
            r[a + n * i + j] = spread * (0.5 * (r[covariance + n * i + j] + r[covariance + n * j + i]))
    _diagonalize(r, n, a, v)
    for i in range(n):
        r[points + i] = r[x + i]
    for k in range(n):
        value = r[a + n * k + k]
        root = math.sqrt(value) if not value < 0.0 else 0.0
        for i in range(n):
            offset = r[v + n * i + k] * root
            r[points + n * (1 + k) + i] = r[x + i] + offset
            r[points + n * (1 + n + k) + i] = r[x + i] - offset


@device
def _mean(r: Any, f: Any, rows: int, columns: int, target: int) -> None:
    """Weighted mean of some rows."""
    weights = f[MEAN_WEIGHTS]
    for j in range(columns):
        total = r[weights] * r[rows + j]
        for k in range(1, 2 * f[N] + 1):
            total += r[weights + k] * r[rows + columns * k + j]
        r[target + j] = total


@device
def _covariance(r: Any, f: Any, a: int, mean_a: int, num_a: int, b: int, mean_b: int, num_b: int, target: int) -> None:
    """Adds the covariance of the rows at `a` and at `b`."""
    weights = f[WEIGHTS]
    for i in range(num_a):
        for j in range(num_b):
            total = 0.0
            for k in range(2 * f[N] + 1):
                total += (
                    r[weights + k] * (r[a + num_a * k + i] - r[mean_a + i]) * (r[b + num_b * k + j] - r[mean_b + j])
                )
            r[target + num_b * i + j] += total


@device
def _find_gain(r: Any, f: Any, has_output_spread: bool) -> None:
    """K = cov(X, Y) S^-1, with S = V, in discrete time plus cov(Y, Y)."""
    n, p, factors = f[N], f[P], f[FACTORS]
    _mean(r, f, f[OUTPUTS], p, f[MEAN_OUTPUT])
    for i in range(n * p):
        r[f[CROSS] + i] = 0.0
    for i in range(p * p):
        r[factors + i] = r[f[SENSOR_NOISE] + i]
    outputs, mean_output = f[OUTPUTS], f[MEAN_OUTPUT]
    _covariance(r, f, f[POINTS], f[STATE], n, outputs, mean_output, p, f[CROSS])
    if has_output_spread:
        _covariance(r, f, outputs, mean_output, p, outputs, mean_output, p, factors)
    factor(r, p, factors)
    for i in range(n * p):
        r[f[GAIN] + i] = r[f[CROSS] + i]
    for i in range(n):
        solve(r, p, factors, f[GAIN] + p * i)


@device
def _correction(r: Any, f: Any, i: int) -> Any:
    """Element i of K (y - mean of the outputs)."""
    p = f[P]
    total = 0.0
    for j in range(p):
        total += r[f[GAIN] + p * i + j] * (r[f[MEASURED] + j] - r[f[MEAN_OUTPUT] + j])
    return total


@device
def _explained(r: Any, f: Any, i: int, j: int) -> Any:
    """Element (i, j) of K S K' = K cov(X, Y)', made symmetric."""
    p = f[P]
    total = 0.0
    for k in range(p):
        total += r[f[GAIN] + p * i + k] * r[f[CROSS] + p * j + k] + r[f[GAIN] + p * j + k] * r[f[CROSS] + p * i + k]
    return 0.5 * total


@device
def _take_measurement(r: Any, f: Any) -> None:
    """xhat and its covariance, from the points, their outputs and y."""
    n = f[N]
    x, covariance = f[STATE], f[STATE] + n
    _find_gain(r, f, True)
    for i in range(n):
        for j in range(n):
            r[covariance + n * i + j] -= _explained(r, f, i, j)
    for i in range(n):
        r[x + i] += _correction(r, f, i)


@device
def _predict(r: Any, f: Any) -> None:
    """The result: mean and covariance of the images of the points."""
    n, result, noise = f[N], f[RESULT], f[PROCESS_NOISE]
    _mean(r, f, f[IMAGES], n, result)
    for i in range(n * n):
        r[result + n + i] = 0.5 * (r[noise + i] + r[noise + n * (i % n) + i // n])
    _covariance(r, f, f[IMAGES], result, n, f[IMAGES], result, n, result + n)


@device
def _find_rates(r: Any, f: Any) -> None:
    """The result: (3), the rates of xhat and of its covariance."""
    n, result, noise, cross = f[N], f[RESULT], f[PROCESS_NOISE], f[SQUARE]
    _find_gain(r, f, False)
    _mean(r, f, f[IMAGES], n, result)
    for i in range(n * n):
        r[cross + i] = 0.0
    _covariance(r, f, f[POINTS], f[STATE], n, f[IMAGES], result, n, cross)
    for i in range(n):
        for j in range(n):
            spread = r[cross + n * i + j] + r[cross + n * j + i]
            added = 0.5 * (r[noise + n * i + j] + r[noise + n * j + i])
            r[result + n + n * i + j] = spread + added - _explained(r, f, i, j)
    for i in range(n):
        r[result + i] += _correction(r, f, i)


@device
def _evaluate_points(p: Any, function: int, columns: int, target: int) -> int:
    """Puts what a function of the model gives for all points to `target`, one in a row."""
    f = fields_of(p)
    outcome = SUCCEEDED
    for k in range(2 * f[N] + 1):
        if outcome == SUCCEEDED:
            outcome = evaluate(p, function, f[POINTS] + f[N] * k, target + columns * k)
    return outcome


@kernel
def update(
    p: Any,  # room of the filter, or its address
) -> int:
    """Computes the result from time, state, y and u; returns what that has come to, see tape.py."""
    r, f = reals_of(p), fields_of(p)
    _place_points(r, f)
    outcome = _evaluate_points(p, G, f[P], f[OUTPUTS])
    if outcome == SUCCEEDED and f[IS_DISCRETE] != 0:
        _take_measurement(r, f)
        _place_points(r, f)
    if outcome == SUCCEEDED:
        outcome = _evaluate_points(p, F, f[N], f[IMAGES])
    if outcome == SUCCEEDED and f[IS_DISCRETE] != 0:
        _predict(r, f)
    elif outcome == SUCCEEDED:
        _find_rates(r, f)
    return outcome
