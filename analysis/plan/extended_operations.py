"""The extended Kalman filter in compiled code, for models whose functions take complex numbers too.

Callbacks in Python and the operation of the native plan run the same function, so that both give the same to the last
bit. It works on one array of floats, r, whose sections begin where an array of integers, f, says. Matrices stand there
by rows. Equation numbers are those of estimators/extended_kalman_filter.py.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.plan.filter_algebra import add_product, factor, solve
from merganser.analysis.plan.model_tape import (
    ModelTape,
    move_complex_model,
    move_model,
    run_model,
    take_results,
    take_slopes,
)
from merganser.framework.native import device, kernel
from merganser.framework.native.addresses import address_of_array
from merganser.framework.native.operations import CompiledOperation
from merganser.framework.native.tape import FAILED, call_kernel, doubles_at, integers_at
from merganser.framework.primitives.linearization import DIFFERENCE_STEP, NOISE_OF_SLOPE, SHARE_OF_SLOPE

__all__ = ["EXTENDED", "ExtendedRoom", "extended_update"]

_number = itertools.count()
N = next(_number)  # state variables
P = next(_number)  # measured outputs
M = next(_number)  # inputs
IS_DISCRETE = next(_number)
DYNAMICS = next(_number)  # addresses of the fields of tapes, see model_tape.py
OUTPUT = next(_number)
COMPLEX_DYNAMICS = next(_number)
COMPLEX_OUTPUT = next(_number)
# Sections, with their sizes:
TIME = next(_number)  # 1
PROCESS_NOISE = next(_number)  # W: n n
SENSOR_NOISE = next(_number)  # V: p p
STATE = next(_number)  # xhat: n, then its covariance: n n
MEASURED = next(_number)  # y: p
INPUT = next(_number)  # u: m
RESULT = next(_number)  # next xhat or its rate: n, then that of the covariance: n n
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
NUM_FIELDS = next(_number)


class ExtendedRoom:
    """The two arrays for one filter.

    Args:
        W: covariance of the process noise, shape [n, n].
        V: covariance of the measurement noise, shape [p, p].
        num_inputs: of the model.
        is_discrete: whether it is a model in discrete time.
        tapes: f and g, then both for complex numbers.

    Attributes:
        reals: r.
        fields: f.
    """

    def __init__(self, W: Any, V: Any, num_inputs: int, is_discrete: bool, tapes: tuple[ModelTape, ...]) -> None:
        n, p = len(W), len(V)
        most = max(n, p)
        sizes = [1, n * n, p * p, n + n * n, p, num_inputs, n + n * n, p, n * n, p * n, p * n, p * p, n * p, n * p]
        sizes += [n * n, n * n, n, n, most, most]
        places = np.concatenate([[0], np.cumsum(sizes)])
        self._tapes = tapes  # kept here, as only their addresses are passed on
        addresses = [address_of_array(tape.fields) for tape in tapes]
        self.fields: NDArray[np.int64] = np.array([n, p, num_inputs, is_discrete, *addresses, *places[:-1]], np.int64)
        self.reals = np.zeros(places[-1])
        self.section(PROCESS_NOISE)[: n * n], self.section(SENSOR_NOISE)[: p * p] = W.ravel(), V.ravel()

    def section(self, field: int) -> NDArray[np.float64]:
        """The array from the beginning of a section."""
        return self.reals[self.fields[field] :]


@device
def _evaluate(r: Any, f: Any, tape: Any, x: int, target: int) -> bool:
    """What a tape gives at the state x."""
    move_model(tape, r[f[TIME]], r, x, r, f[INPUT])
    if not run_model(tape):
        return False
    take_results(tape, r, target)
    return True


@device
def _find_jacobian(r: Any, f: Any, tape: Any, complex_tape: Any, x: int, rows: int, target: int) -> bool:
    """The Jacobian by the complex step at the state x; returns whether a difference agrees with it."""
    n, point, direction, above, below = f[N], f[POINT], f[DIRECTION], f[ABOVE], f[BELOW]
    for j in range(n):
        move_complex_model(complex_tape, r[f[TIME]], r, x, r, f[INPUT], j)
        if not run_model(complex_tape):
            return False
        take_slopes(complex_tape, r, target + j, n)
    for j in range(n):
        r[direction + j] = math.cos(1.0 + j) * max(1.0, abs(r[x + j]))
        r[point + j] = r[x + j] + DIFFERENCE_STEP * r[direction + j]
    if not _evaluate(r, f, tape, point, above):
        return False
    for j in range(n):
        r[point + j] = r[x + j] - DIFFERENCE_STEP * r[direction + j]
    if not _evaluate(r, f, tape, point, below):
        return False
    for i in range(rows):
        slope = (r[above + i] - r[below + i]) / (2.0 * DIFFERENCE_STEP)
        noise = NOISE_OF_SLOPE * (abs(r[above + i]) + abs(r[below + i])) / DIFFERENCE_STEP
        total, size = 0.0, 0.0
        for j in range(n):
            term = r[target + n * i + j] * r[direction + j]
            total += term
            size += abs(term)
        if not abs(total - slope) <= SHARE_OF_SLOPE * size + noise:
            return False
    return True


@device
def _clear(r: Any, place: int, size: int) -> None:
    for i in range(size):
        r[place + i] = 0.0


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


@device
def _update(r: Any, f: Any) -> bool:
    """The result; returns whether there is one, which is not so if a Jacobian is not exact."""
    dynamics, output = integers_at(f[DYNAMICS]), integers_at(f[OUTPUT])
    x, p = f[STATE], f[P]
    if not _evaluate(r, f, output, x, f[ERROR]):
        return False
    for i in range(p):
        r[f[ERROR] + i] = r[f[MEASURED] + i] - r[f[ERROR] + i]
    if not _find_jacobian(r, f, output, integers_at(f[COMPLEX_OUTPUT]), x, p, f[C]):
        return False
    _find_gain(r, f)
    if f[IS_DISCRETE] != 0:
        _take_measurement(r, f)
    if not _evaluate(r, f, dynamics, x, f[RESULT]):
        return False
    if not _find_jacobian(r, f, dynamics, integers_at(f[COMPLEX_DYNAMICS]), x, f[N], f[A]):
        return False
    if f[IS_DISCRETE] != 0:
        _predict_covariance(r, f)
    else:
        _add_correction(r, f, f[RESULT])
        _find_covariance_rate(r, f)
    return True


@kernel
def extended_update(
    reals: int,  # address of r
    fields: int,  # address of f
) -> int:
    """Computes the result from time, state, y and u; returns whether there is one."""
    return 1 if _update(doubles_at(reals), integers_at(fields)) else 0


# What the operation finds in its list of integers.
_number = itertools.count()
OP_FAILURE = next(_number)  # address
OP_REALS = next(_number)  # addresses of r and f
OP_FIELDS = next(_number)
OP_UPDATE = next(_number)  # and of extended_update, which takes seconds to compile
OP_STATE = next(_number)  # places in the flat array: xhat and covariance, y, u (0 if there is none), result
OP_MEASURED = next(_number)
OP_INPUT = next(_number)
OP_RESULT = next(_number)
OP_NUM_FIELDS = next(_number)


def extended(values: Any, numbers: Any, op: Any) -> None:
    """The next state of an extended Kalman filter, or its rate; integers: see above."""
    r, f = doubles_at(op[OP_REALS]), integers_at(op[OP_FIELDS])
    size = f[N] + f[N] * f[N]
    r[f[TIME]] = values[0]
    for i in range(size):
        r[f[STATE] + i] = values[op[OP_STATE] + i]
    for i in range(f[P]):
        r[f[MEASURED] + i] = values[op[OP_MEASURED] + i]
    for i in range(f[M]):
        r[f[INPUT] + i] = values[op[OP_INPUT] + i]
    is_complete, total = call_kernel(op[OP_UPDATE], (op[OP_REALS], op[OP_FIELDS])) != 0, 0.0
    if is_complete and f[IS_DISCRETE] != 0:
        for i in range(size):
            total += r[f[RESULT] + i] * 0.0
    if not is_complete or total != 0.0:  # Python finds another way, or says why there is none
        integers_at(op[OP_FAILURE])[0] = FAILED
        return
    for i in range(size):
        values[op[OP_RESULT] + i] = r[f[RESULT] + i]


EXTENDED = CompiledOperation(extended)
