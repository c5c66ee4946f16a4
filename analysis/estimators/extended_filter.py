"""The extended Kalman filter, one source for Python and compiled code, on the record of a FilterWorkspace.

Equation numbers are those of estimators/extended_kalman_filter.py.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from merganser.analysis.estimators.filter_algebra import add_product, copy_matrix, factor, solve, symmetric
from merganser.analysis.estimators.filter_workspace import (
    F,
    FilterRecord,
    G,
    careful_slopes,
    complex_slopes,
    evaluate,
)
from merganser.framework.math.difference_steps import DIFFERENCE_STEP, NOISE_OF_SLOPE, SHARE_OF_SLOPE
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.framework.native.memory.records_of_arrays import record_at_address
from merganser.framework.native.memory.tape import FAILED, SUCCEEDED


class ExtendedFilter(NamedTuple):
    """The arrays of an extended Kalman filter.

    Attributes:
        common: what every filter has.
        error: y - g, shape [p].
        A, C: Jacobians of f and g, shapes [n, n] and [p, n].
        CP: C P.
        factors: of the covariance of the error, shape [p, p].
        K: gain, shape [n, p].
        KV: K V.
        square, product: workspace, shape [n, n].
        direction, above, below: workspace of `_compare_with_difference`; the latter two for n or p numbers.
        moved: a state next to xhat.
    """

    common: FilterRecord
    error: Floats
    A: FloatTable
    C: FloatTable
    CP: FloatTable
    factors: FloatTable
    K: FloatTable
    KV: FloatTable
    square: FloatTable
    product: FloatTable
    direction: Floats
    above: Floats
    below: Floats
    moved: Floats


def new_record(common: FilterRecord) -> ExtendedFilter:
    """The record of a filter."""
    n, p = len(common.x), len(common.y)
    of_states, of_outputs, square = np.zeros((n, p)), np.zeros((p, n)), np.zeros((n, n))
    return ExtendedFilter(
        common, error=np.zeros(p), A=square, C=of_outputs, CP=of_outputs.copy(), factors=np.zeros((p, p)), K=of_states,
        KV=of_states.copy(), square=square.copy(), product=square.copy(), direction=np.zeros(n),
        above=np.zeros(max(n, p)), below=np.zeros(max(n, p)), moved=np.zeros(n),
    )  # fmt: skip


_record_of = record_at_address(ExtendedFilter, lambda p: p.record)


@device
def _find_jacobian(p: Any, function: int, J_out: Any) -> int:
    """Computes the Jacobian of a function of the model at xhat.

    It is exact by the complex step, as far as one difference in a direction of all variables agrees with it. If none
    does, a callback may compare, or take no complex numbers: then it is found as `Linearize` does.
    """
    x = _record_of(p).common.x
    outcome = complex_slopes(p, function, x, J_out)
    if outcome == SUCCEEDED:
        outcome = _compare_with_difference(p, function, J_out)
    if outcome == FAILED:
        outcome = careful_slopes(p, function, x, J_out)
    return outcome


@device
def _compare_with_difference(p: Any, function: int, J: Any) -> int:
    """Compares the Jacobian with differences of the function; fails if they disagree."""
    record = _record_of(p)
    x, moved, direction, above, below = record.common.x, record.moved, record.direction, record.above, record.below
    n = len(x)
    for j in range(n):
        direction[j] = math.cos(1.0 + j) * max(1.0, abs(x[j]))
        moved[j] = x[j] + DIFFERENCE_STEP * direction[j]
    outcome = evaluate(p, function, moved, above)
    if outcome != SUCCEEDED:
        return outcome
    for j in range(n):
        moved[j] = x[j] - DIFFERENCE_STEP * direction[j]
    outcome = evaluate(p, function, moved, below)
    if outcome != SUCCEEDED:
        return outcome
    for i in range(J.shape[0]):
        slope = (above[i] - below[i]) / (2.0 * DIFFERENCE_STEP)
        noise = NOISE_OF_SLOPE * (abs(above[i]) + abs(below[i])) / DIFFERENCE_STEP
        total, size = 0.0, 0.0
        for j in range(n):
            term = J[i, j] * direction[j]
            total += term
            size += abs(term)
        if not abs(total - slope) <= SHARE_OF_SLOPE * size + noise:
            return FAILED
    return SUCCEEDED


@device
def _find_gain(record: Any) -> None:
    """K = P C' S^-1, with S = V, in discrete time plus C P C'; and K V."""
    common, C, CP, K, KV, factors = record.common, record.C, record.CP, record.K, record.KV, record.factors
    CP[:] = 0.0
    add_product(C, common.P, False, CP)
    copy_matrix(common.V, factors)
    if common.is_discrete != 0:
        add_product(CP, C, True, factors)
    factor(factors)
    for i in range(K.shape[0]):
        for k in range(K.shape[1]):
            K[i, k] = CP[k, i]
        solve(factors, K[i])
    KV[:] = 0.0
    add_product(K, common.V, False, KV)


@device
def _add_correction(record: Any, x_inout: Any) -> None:
    """Adds K (y - g)."""
    K, error = record.K, record.error
    for i in range(K.shape[0]):
        total = 0.0
        for k in range(K.shape[1]):
            total += K[i, k] * error[k]
        x_inout[i] += total


@device
def _take_measurement(record: Any) -> None:
    """(1)"""
    P, C, K, square, product = record.common.P, record.C, record.K, record.square, record.product
    _add_correction(record, record.common.x)
    for i in range(K.shape[0]):
        for j in range(K.shape[0]):
            total = 1.0 if i == j else 0.0
            for k in range(K.shape[1]):
                total -= K[i, k] * C[k, j]
            square[i, j] = total  # I - K C
    product[:] = 0.0
    add_product(square, P, False, product)
    P[:] = 0.0
    add_product(product, square, True, P)
    add_product(record.KV, K, True, P)


@device
def _predict_covariance(record: Any) -> None:
    """A P A' + W, made symmetric, of (2)."""
    A, square, product = record.A, record.square, record.product
    product[:] = 0.0
    add_product(A, record.common.P, False, product)
    copy_matrix(record.common.W, square)
    add_product(product, A, True, square)
    _store_symmetric(square, record.common.P_result)


@device
def _find_covariance_rate(record: Any) -> None:
    """A P + P A' + W - K V K', made symmetric, of (3)."""
    A, P, W, square, product = record.A, record.common.P, record.common.W, record.square, record.product
    product[:] = 0.0
    add_product(record.KV, record.K, True, product)
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            square[i, j] = W[i, j] - product[i, j]
    add_product(A, P, False, square)
    add_product(P, A, True, square)
    _store_symmetric(square, record.common.P_result)


@device
def _store_symmetric(A: Any, S_out: Any) -> None:
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            S_out[i, j] = symmetric(A, i, j)


@kernel
def update(
    p: Any,  # workspace of the filter, or the address of its record
) -> int:
    """Computes the result from time, state, y and u; returns a status, see tape.py."""
    record = _record_of(p)
    common, error = record.common, record.error
    x, y, x_result = common.x, common.y, common.x_result
    outcome = evaluate(p, G, x, error)
    if outcome != SUCCEEDED:
        return outcome
    for i in range(len(y)):
        error[i] = y[i] - error[i]
    outcome = _find_jacobian(p, G, record.C)
    if outcome != SUCCEEDED:
        return outcome
    _find_gain(record)
    if common.is_discrete != 0:
        _take_measurement(record)
    outcome = evaluate(p, F, x, x_result)
    if outcome != SUCCEEDED:
        return outcome
    outcome = _find_jacobian(p, F, record.A)
    if outcome != SUCCEEDED:
        return outcome
    if common.is_discrete != 0:
        _predict_covariance(record)
    else:
        _add_correction(record, x_result)
        _find_covariance_rate(record)
    return SUCCEEDED
