"""The extended Kalman filter, one source for Python and compiled code, on a FilterWorkspace.

Equation numbers are those of estimators/extended_kalman_filter.py.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from merganser.analysis.estimators.filter_algebra import add_product, factor, solve
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
    careful_slopes,
    complex_slopes,
    evaluate,
    fields_of,
    reals_of,
)
from merganser.framework.math.difference_steps import DIFFERENCE_STEP, NOISE_OF_SLOPE, SHARE_OF_SLOPE
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.tape import FAILED, SUCCEEDED

__all__ = ["section_sizes", "update"]

_number = itertools.count(NUM_FIELDS)
# Sections beside those of every filter, with their sizes:
ERROR = next(_number)  # y - g: p
A = next(_number)  # n n
C = next(_number)  # p n
CP = next(_number)  # C P: p n
FACTORS = next(_number)  # p p
GAIN = next(_number)  # K: n p
KV = next(_number)  # K V: n p
SQUARE = next(_number)  # room for a matrix: n n
PRODUCT = next(_number)  # and for another one: n n
DIRECTION = next(_number)  # n
POINT = next(_number)  # n
ABOVE = next(_number)  # n or p, whichever is more
BELOW = next(_number)


def section_sizes(n: int, p: int) -> list[int]:
    """The sizes of these sections."""
    most = max(n, p)
    return [p, n * n, p * n, p * n, p * p, n * p, n * p, n * n, n * n, n, n, most, most]


@device
def _find_jacobian(p: Any, function: int, rows: int, target: int) -> int:
    """Puts the Jacobian of a function of the model at xhat to `target`.

    It is exact by the complex step, as far as one difference in a direction of all variables agrees with it. If none
    does, a callback may compare, or take no complex numbers: then it is found as `Linearize` does.
    """
    outcome = complex_slopes(p, function, fields_of(p)[STATE], target)
    if outcome == SUCCEEDED:
        outcome = _compare_with_difference(p, function, rows, target)
    if outcome == FAILED:
        outcome = careful_slopes(p, function, fields_of(p)[STATE], target)
    return outcome


@device
def _compare_with_difference(p: Any, function: int, rows: int, target: int) -> int:
    """Fails if the Jacobian at `target` is not that of the function."""
    r, f = reals_of(p), fields_of(p)
    n, x, point, direction, above, below = f[N], f[STATE], f[POINT], f[DIRECTION], f[ABOVE], f[BELOW]
    for j in range(n):
        r[direction + j] = math.cos(1.0 + j) * max(1.0, abs(r[x + j]))
        r[point + j] = r[x + j] + DIFFERENCE_STEP * r[direction + j]
    outcome = evaluate(p, function, point, above)
    if outcome != SUCCEEDED:
        return outcome
    for j in range(n):
        r[point + j] = r[x + j] - DIFFERENCE_STEP * r[direction + j]
    outcome = evaluate(p, function, point, below)
    if outcome != SUCCEEDED:
        return outcome
    for i in range(rows):
        slope = (r[above + i] - r[below + i]) / (2.0 * DIFFERENCE_STEP)
        noise = NOISE_OF_SLOPE * (abs(r[above + i]) + abs(r[below + i])) / DIFFERENCE_STEP
        total, size = 0.0, 0.0
        for j in range(n):
            term = r[target + n * i + j] * r[direction + j]
            total += term
            size += abs(term)
        if not abs(total - slope) <= SHARE_OF_SLOPE * size + noise:
            return FAILED
    return SUCCEEDED


@device
def _clear(r: Any, offset: int, size: int) -> None:
    for i in range(size):
        r[offset + i] = 0.0


@device
def _find_gain(r: Any, f: Any) -> None:
    """K = P C' S^-1, with S = V, in discrete time plus C P C'; and K V."""
    n, p, covariance = f[N], f[P], f[STATE] + f[N]
    _clear(r, f[CP], p * n)
    add_product(r, f[C], covariance, (p, n, n), False, f[CP])
    for i in range(p * p):
        r[f[FACTORS] + i] = r[f[SENSOR_NOISE] + i]
    if f[IS_DISCRETE] != 0:
        add_product(r, f[CP], f[C], (p, n, p), True, f[FACTORS])
    factor(r, p, f[FACTORS])
    for i in range(n):
        for k in range(p):
            r[f[GAIN] + p * i + k] = r[f[CP] + n * k + i]
        solve(r, p, f[FACTORS], f[GAIN] + p * i)
    _clear(r, f[KV], n * p)
    add_product(r, f[GAIN], f[SENSOR_NOISE], (n, p, p), False, f[KV])


@device
def _add_correction(r: Any, f: Any, target: int) -> None:
    """Adds K (y - g)."""
    add_product(r, f[GAIN], f[ERROR], (f[N], f[P], 1), False, target)


@device
def _take_measurement(r: Any, f: Any) -> None:
    """(1)"""
    n, p, covariance = f[N], f[P], f[STATE] + f[N]
    _add_correction(r, f, f[STATE])
    for i in range(n):
        for j in range(n):
            total = 1.0 if i == j else 0.0
            for k in range(p):
                total -= r[f[GAIN] + p * i + k] * r[f[C] + n * k + j]
            r[f[SQUARE] + n * i + j] = total  # I - K C
    _clear(r, f[PRODUCT], n * n)
    add_product(r, f[SQUARE], covariance, (n, n, n), False, f[PRODUCT])
    _clear(r, covariance, n * n)
    add_product(r, f[PRODUCT], f[SQUARE], (n, n, n), True, covariance)
    add_product(r, f[KV], f[GAIN], (n, p, n), True, covariance)


@device
def _predict_covariance(r: Any, f: Any) -> None:
    """A P A' + W, made symmetric, of (2)."""
    n, covariance, sum_ = f[N], f[STATE] + f[N], f[SQUARE]
    _clear(r, f[PRODUCT], n * n)
    add_product(r, f[A], covariance, (n, n, n), False, f[PRODUCT])
    for i in range(n * n):
        r[sum_ + i] = r[f[PROCESS_NOISE] + i]
    add_product(r, f[PRODUCT], f[A], (n, n, n), True, sum_)
    _store_symmetric(r, n, sum_, f[RESULT] + n)


@device
def _find_covariance_rate(r: Any, f: Any) -> None:
    """A P + P A' + W - K V K', made symmetric, of (3)."""
    n, p, sum_, covariance = f[N], f[P], f[SQUARE], f[STATE] + f[N]
    _clear(r, f[PRODUCT], n * n)
    add_product(r, f[KV], f[GAIN], (n, p, n), True, f[PRODUCT])
    for i in range(n * n):
        r[sum_ + i] = r[f[PROCESS_NOISE] + i] - r[f[PRODUCT] + i]
    add_product(r, f[A], covariance, (n, n, n), False, sum_)
    add_product(r, covariance, f[A], (n, n, n), True, sum_)
    _store_symmetric(r, n, sum_, f[RESULT] + n)


@device
def _store_symmetric(r: Any, n: int, source: int, target: int) -> None:
    for i in range(n):
        for j in range(n):
            r[target + n * i + j] = 0.5 * (r[source + n * i + j] + r[source + n * j + i])


@kernel
def update(
    p: Any,  # room of the filter, or its address
) -> int:
    """Computes the result from time, state, y and u; returns what that has come to, see tape.py."""
    r, f = reals_of(p), fields_of(p)
    outcome = evaluate(p, G, f[STATE], f[ERROR])
    if outcome != SUCCEEDED:
        return outcome
    for i in range(f[P]):
        r[f[ERROR] + i] = r[f[MEASURED] + i] - r[f[ERROR] + i]
    outcome = _find_jacobian(p, G, f[P], f[C])
    if outcome != SUCCEEDED:
        return outcome
    _find_gain(r, f)
    if f[IS_DISCRETE] != 0:
        _take_measurement(r, f)
    outcome = evaluate(p, F, f[STATE], f[RESULT])
    if outcome != SUCCEEDED:
        return outcome
    outcome = _find_jacobian(p, F, f[N], f[A])
    if outcome != SUCCEEDED:
        return outcome
    if f[IS_DISCRETE] != 0:
        _predict_covariance(r, f)
    else:
        _add_correction(r, f, f[RESULT])
        _find_covariance_rate(r, f)
    return SUCCEEDED
