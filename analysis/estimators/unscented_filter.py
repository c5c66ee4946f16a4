"""The unscented Kalman filter, one source for Python and compiled code, on the record of a FilterWorkspace.

Points, and the model's values at them, are rows. Equation numbers are those of
estimators/unscented_kalman_filter.py.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from merganser.analysis.estimators.filter_algebra import copy_matrix, factor, solve, symmetric
from merganser.analysis.estimators.filter_workspace import F, FilterRecord, G, evaluate
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.framework.native.memory.records_of_arrays import record_at_address
from merganser.framework.native.memory.tape import SUCCEEDED

_MOST_SWEEPS = 50
_SMALL = 1e-34  # square of the rounding error


class UnscentedFilter(NamedTuple):
    """The arrays of an unscented Kalman filter.

    Attributes:
        common: what every filter has.
        spread: n + lambda, one element.
        mean_weights, weights: of means and of covariances, shape [2 n + 1].
        points, outputs, images: with g and f of each, shapes [2 n + 1, n], [2 n + 1, p] and [2 n + 1, n].
        mean_output: shape [p].
        cross: covariance of points and outputs, shape [n, p].
        K: gain, shape [n, p].
        square, vectors: workspace, shape [n, n].
        factors: covariance of the outputs, then its factors, shape [p, p].
    """

    common: FilterRecord
    spread: Floats
    mean_weights: Floats
    weights: Floats
    points: FloatTable
    outputs: FloatTable
    images: FloatTable
    mean_output: Floats
    cross: FloatTable
    K: FloatTable
    square: FloatTable
    vectors: FloatTable
    factors: FloatTable


def new_record(common: FilterRecord) -> UnscentedFilter:
    """The record of a filter."""
    n, p = len(common.x), len(common.y)
    count = 2 * n + 1
    points, gain, square = np.zeros((count, n)), np.zeros((n, p)), np.zeros((n, n))
    return UnscentedFilter(
        common, spread=np.zeros(1), mean_weights=np.zeros(count), weights=np.zeros(count), points=points,
        outputs=np.zeros((count, p)), images=points.copy(), mean_output=np.zeros(p), cross=gain, K=gain.copy(),
        square=square, vectors=square.copy(), factors=np.zeros((p, p)),
    )  # fmt: skip


_record_of = record_at_address(UnscentedFilter, lambda p: p.record)


@device
def _diagonalize(A_inout: Any, V_out: Any) -> None:
    """Rotates a symmetric matrix to diagonal form; its eigenvectors become the columns of V.

    Jacobi's method by rows (Golub and Van Loan 2013, section 8.5).
    """
    n = A_inout.shape[0]
    for i in range(n):
        for j in range(n):
            V_out[i, j] = 1.0 if i == j else 0.0
    for _ in range(_MOST_SWEEPS):
        diagonal, rest = 0.0, 0.0
        for i in range(n):
            diagonal += A_inout[i, i] * A_inout[i, i]
            for j in range(i):
                rest += A_inout[i, j] * A_inout[i, j]
        if rest <= _SMALL * diagonal:
            break
        for i in range(n - 1):
            for j in range(i + 1, n):
                _rotate(A_inout, V_out, i, j)


@device
def _rotate(A: Any, V: Any, i: int, j: int) -> None:
    """Makes element (i, j) of A zero."""
    element = A[i, j]
    if element == 0.0:
        return
    tau = (A[j, j] - A[i, i]) / (2.0 * element)
    root = math.sqrt(1.0 + tau * tau)
    t = 1.0 / (tau + root) if tau >= 0.0 else 1.0 / (tau - root)
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    n = A.shape[0]
    for k in range(n):
        x, y = A[k, i], A[k, j]
        A[k, i], A[k, j] = c * x - s * y, s * x + c * y
        x, y = V[k, i], V[k, j]
        V[k, i], V[k, j] = c * x - s * y, s * x + c * y
    for k in range(n):
        x, y = A[i, k], A[j, k]
        A[i, k], A[j, k] = c * x - s * y, s * x + c * y
    A[i, j] = A[j, i] = 0.0


@device
def _place_points(record: Any) -> None:
    """(1): xhat, and xhat plus and minus each column of a root of the covariance."""
    x, P, spread = record.common.x, record.common.P, record.spread[0]
    points, square, vectors = record.points, record.square, record.vectors
    n = len(x)
    for i in range(n):
        for j in range(n):
            square[i, j] = spread * symmetric(P, i, j)
    _diagonalize(square, vectors)
    for i in range(n):
        points[0, i] = x[i]
    for k in range(n):
        value = square[k, k]
        root = math.sqrt(value) if not value < 0.0 else 0.0
        for i in range(n):
            offset = vectors[i, k] * root
            points[1 + k, i] = x[i] + offset
            points[1 + n + k, i] = x[i] - offset


@device
def _mean(record: Any, rows: Any, mean_out: Any) -> None:
    """Weighted mean of some rows."""
    weights = record.mean_weights
    for j in range(rows.shape[1]):
        total = weights[0] * rows[0, j]
        for k in range(1, len(weights)):
            total += weights[k] * rows[k, j]
        mean_out[j] = total


@device
def _covariance(record: Any, A: Any, mean_a: Any, B: Any, mean_b: Any, C_inout: Any) -> None:
    """Adds the covariance of the rows of A and of B."""
    weights = record.weights
    for i in range(A.shape[1]):
        for j in range(B.shape[1]):
            total = 0.0
            for k in range(len(weights)):
                total += weights[k] * (A[k, i] - mean_a[i]) * (B[k, j] - mean_b[j])
            C_inout[i, j] += total


@device
def _find_gain(record: Any, has_output_spread: bool) -> None:
    """K = cov(X, Y) S^-1, with S = V, in discrete time plus cov(Y, Y)."""
    outputs, mean_output, cross = record.outputs, record.mean_output, record.cross
    factors, K = record.factors, record.K
    _mean(record, outputs, mean_output)
    cross[:] = 0.0
    copy_matrix(record.common.V, factors)
    _covariance(record, record.points, record.common.x, outputs, mean_output, cross)
    if has_output_spread:
        _covariance(record, outputs, mean_output, outputs, mean_output, factors)
    factor(factors)
    copy_matrix(cross, K)
    for i in range(K.shape[0]):
        solve(factors, K[i])


@device
def _correction(record: Any, i: int) -> Any:
    """Element i of K (y - mean of the outputs)."""
    y, mean_output, K = record.common.y, record.mean_output, record.K
    total = 0.0
    for j in range(len(y)):
        total += K[i, j] * (y[j] - mean_output[j])
    return total


@device
def _explained(record: Any, i: int, j: int) -> Any:
    """Element (i, j) of K S K' = K cov(X, Y)', made symmetric."""
    K, cross = record.K, record.cross
    total = 0.0
    for k in range(K.shape[1]):
        total += K[i, k] * cross[j, k] + K[j, k] * cross[i, k]
    return 0.5 * total


@device
def _take_measurement(record: Any) -> None:
    """xhat and its covariance, from the points, their outputs and y."""
    x, P = record.common.x, record.common.P
    _find_gain(record, True)
    for i in range(len(x)):
        for j in range(len(x)):
            P[i, j] -= _explained(record, i, j)
    for i in range(len(x)):
        x[i] += _correction(record, i)


@device
def _predict(record: Any) -> None:
    """The result: mean and covariance of the images of the points."""
    x_result, P_result, W, images = record.common.x_result, record.common.P_result, record.common.W, record.images
    _mean(record, images, x_result)
    for i in range(len(x_result)):
        for j in range(len(x_result)):
            P_result[i, j] = symmetric(W, i, j)
    _covariance(record, images, x_result, images, x_result, P_result)


@device
def _find_rates(record: Any) -> None:
    """The result: (3), the rates of xhat and of its covariance."""
    x_result, P_result, W = record.common.x_result, record.common.P_result, record.common.W
    images, cross = record.images, record.square
    _find_gain(record, False)
    _mean(record, images, x_result)
    cross[:] = 0.0
    _covariance(record, record.points, record.common.x, images, x_result, cross)
    for i in range(len(x_result)):
        for j in range(len(x_result)):
            P_result[i, j] = cross[i, j] + cross[j, i] + symmetric(W, i, j) - _explained(record, i, j)
    for i in range(len(x_result)):
        x_result[i] += _correction(record, i)


@device
def _evaluate_points(p: Any, function: int, values_out: Any) -> int:
    """Computes a function of the model at all points."""
    points = _record_of(p).points
    outcome = SUCCEEDED
    for k in range(points.shape[0]):
        if outcome == SUCCEEDED:
            outcome = evaluate(p, function, points[k], values_out[k])
    return outcome


@kernel
def update(
    p: Any,  # workspace of the filter, or the address of its record
) -> int:
    """Computes the result from time, state, y and u; returns a status, see tape.py."""
    record = _record_of(p)
    is_discrete = record.common.is_discrete != 0
    _place_points(record)
    outcome = _evaluate_points(p, G, record.outputs)
    if outcome == SUCCEEDED and is_discrete:
        _take_measurement(record)
        _place_points(record)
    if outcome == SUCCEEDED:
        outcome = _evaluate_points(p, F, record.images)
    if outcome == SUCCEEDED and is_discrete:
        _predict(record)
    elif outcome == SUCCEEDED:
        _find_rates(record)
    return outcome
