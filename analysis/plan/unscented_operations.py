"""The arithmetic of the unscented Kalman filter, and the filter as an operation of the native plan.

Callbacks in Python and the operation run the same functions, so that both give the same to the last bit. They work on
one array of floats, r, whose sections begin where an array of integers, f, says. Matrices stand there by rows; points
and what the model gives for them, one in a row. Equation numbers are those of estimators/unscented_kalman_filter.py.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.plan.filter_algebra import factor, solve
from merganser.analysis.plan.model_tape import move_model, run_model, take_results
from merganser.framework.native import device, kernel
from merganser.framework.native.operations import CompiledOperation
from merganser.framework.native.tape import FAILED, call_kernel, doubles_at, integers_at

__all__ = ["UNSCENTED", "UnscentedRoom", "unscented_stage"]

_MOST_SWEEPS = 50
_SMALL = 1e-34  # square of the rounding error

_number = itertools.count()
N = next(_number)  # state variables
P = next(_number)  # measured outputs
# Sections, with their sizes:
SPREAD = next(_number)  # n + lambda: 1
MEAN_WEIGHTS = next(_number)  # 2 n + 1
WEIGHTS = next(_number)  # for covariances: 2 n + 1
PROCESS_NOISE = next(_number)  # W: n n
SENSOR_NOISE = next(_number)  # V: p p
STATE = next(_number)  # xhat: n, then its covariance: n n
MEASURED = next(_number)  # y: p
POINTS = next(_number)  # (2 n + 1) n
OUTPUTS = next(_number)  # g of the points: (2 n + 1) p
IMAGES = next(_number)  # f of the points: (2 n + 1) n
MEAN_OUTPUT = next(_number)  # p
CROSS = next(_number)  # covariance of points and outputs: n p
GAIN = next(_number)  # K: n p
SQUARE = next(_number)  # room for a matrix: n n
VECTORS = next(_number)  # and for another one: n n
FACTORS = next(_number)  # covariance of the outputs, then its factors: p p
RESULT = next(_number)  # next xhat or its rate: n, then that of the covariance: n n
NUM_FIELDS = next(_number)


class UnscentedRoom:
    """The two arrays for one filter.

    Args:
        spread: n + lambda.
        mean_weights, weights: (2), shape [2 n + 1].
        W: covariance of the process noise, shape [n, n].
        V: covariance of the measurement noise, shape [p, p].

    Attributes:
        reals: r.
        fields: f.
    """

    def __init__(self, spread: float, mean_weights: ArrayLike, weights: ArrayLike, W: Any, V: Any) -> None:
        n, p = len(W), len(V)
        count = 2 * n + 1
        sizes = [1, count, count, n * n, p * p, n + n * n, p, count * n, count * p, count * n, p, n * p, n * p]
        sizes += [n * n, n * n, p * p, n + n * n]
        places = np.concatenate([[0], np.cumsum(sizes)])
        self.fields: NDArray[np.int64] = np.array([n, p, *places[:-1]], dtype=np.int64)
        self.reals = np.zeros(places[-1])
        for field, values in ((SPREAD, spread), (MEAN_WEIGHTS, mean_weights), (WEIGHTS, weights)):
            self.section(field)[: np.size(values)] = values
        self.section(PROCESS_NOISE)[: n * n], self.section(SENSOR_NOISE)[: p * p] = W.ravel(), V.ravel()

    def section(self, field: int) -> NDArray[np.float64]:
        """The array from the beginning of a section."""
        return self.reals[self.fields[field] :]

    def rows(self, field: int, columns: int) -> NDArray[np.float64]:
        """A section of points or what the model gives for them, shape [2 n + 1, columns]."""
        count = 2 * int(self.fields[N]) + 1
        return self.section(field)[: count * columns].reshape(count, columns)


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
def place_points(r: Any, f: Any) -> None:
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
def take_measurement(r: Any, f: Any) -> None:
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
def predict(r: Any, f: Any) -> None:
    """The result: mean and covariance of the images of the points."""
    n, result, noise = f[N], f[RESULT], f[PROCESS_NOISE]
    _mean(r, f, f[IMAGES], n, result)
    for i in range(n * n):
        r[result + n + i] = 0.5 * (r[noise + i] + r[noise + n * (i % n) + i // n])
    _covariance(r, f, f[IMAGES], result, n, f[IMAGES], result, n, result + n)


@device
def find_rates(r: Any, f: Any) -> None:
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


# Stages of an update, between which the model is evaluated.
PLACE_POINTS, TAKE_MEASUREMENT, PREDICT, FIND_RATES = range(4)


@kernel
def unscented_stage(
    stage: int,
    reals: int,  # address of r
    fields: int,  # address of f
) -> int:
    """One stage; compiled once for callbacks and the operation, since that takes seconds."""
    r, f = doubles_at(reals), integers_at(fields)
    if stage == PLACE_POINTS:
        place_points(r, f)
    elif stage == TAKE_MEASUREMENT:
        take_measurement(r, f)
    elif stage == PREDICT:
        predict(r, f)
    else:
        find_rates(r, f)
    return 0


# What the operation finds in its list of integers.
_number = itertools.count()
OP_FAILURE = next(_number)  # address
OP_REALS = next(_number)  # addresses of r and f
OP_FIELDS = next(_number)
OP_STAGE = next(_number)  # and of unscented_stage
OP_DYNAMICS = next(_number)  # addresses of the fields of two tapes, see model_tape.py
OP_OUTPUT = next(_number)
OP_IS_DISCRETE = next(_number)
OP_STATE = next(_number)  # places in the flat array: xhat and covariance, y, u (0 if there is none), result
OP_MEASURED = next(_number)
OP_INPUT = next(_number)
OP_RESULT = next(_number)
OP_NUM_FIELDS = next(_number)


@device
def _call(op: Any, stage: int) -> None:
    call_kernel(op[OP_STAGE], (stage, op[OP_REALS], op[OP_FIELDS]))


@device
def _evaluate(values: Any, r: Any, f: Any, op: Any, tape: Any, columns: int, target: int) -> bool:
    """What a tape gives for all points."""
    n = f[N]
    for k in range(2 * n + 1):
        move_model(tape, values[0], r, f[POINTS] + n * k, values, op[OP_INPUT])
        if not run_model(tape):
            return False
        take_results(tape, r, target + columns * k)
    return True


def unscented(values: Any, numbers: Any, op: Any) -> None:
    """The next state of an unscented Kalman filter, or its rate; integers: see above."""
    r, f = doubles_at(op[OP_REALS]), integers_at(op[OP_FIELDS])
    dynamics, output = integers_at(op[OP_DYNAMICS]), integers_at(op[OP_OUTPUT])
    n, p = f[N], f[P]
    size = n + n * n
    for i in range(size):
        r[f[STATE] + i] = values[op[OP_STATE] + i]
    for j in range(p):
        r[f[MEASURED] + j] = values[op[OP_MEASURED] + j]
    _call(op, PLACE_POINTS)
    is_complete, total = _evaluate(values, r, f, op, output, p, f[OUTPUTS]), 0.0
    if is_complete and op[OP_IS_DISCRETE] != 0:
        _call(op, TAKE_MEASUREMENT)
        _call(op, PLACE_POINTS)
    is_complete = is_complete and _evaluate(values, r, f, op, dynamics, n, f[IMAGES])
    if is_complete and op[OP_IS_DISCRETE] != 0:
        _call(op, PREDICT)
        for i in range(size):
            total += r[f[RESULT] + i] * 0.0
    elif is_complete:
        _call(op, FIND_RATES)
    if not is_complete or total != 0.0:  # Python says why
        integers_at(op[OP_FAILURE])[0] = FAILED
        return
    for i in range(size):
        values[op[OP_RESULT] + i] = r[f[RESULT] + i]


UNSCENTED = CompiledOperation(unscented)
