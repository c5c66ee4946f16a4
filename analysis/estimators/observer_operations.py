"""A Luenberger observer as an operation of the native plan (framework/native/operations/operations.py)."""

from __future__ import annotations

import itertools
from typing import Any

from merganser.analysis.plan import model_tape
from merganser.analysis.plan.model_tape import move_model, run_model, take_results
from merganser.framework.native.memory.tape import FAILED, integers_at
from merganser.framework.native.operations.operations import CompiledOperation

__all__ = ["LUENBERGER"]

# What the operation finds in its list of integers.
_number = itertools.count()
FAILURE = next(_number)  # address
DYNAMICS = next(_number)  # addresses of the fields of two tapes
OUTPUT = next(_number)
STATE = next(_number)  # offsets in the flat array: xhat, y, u (0 if there is none) and the result
MEASURED = next(_number)
INPUT = next(_number)
RESULT = next(_number)
GAIN = next(_number)  # offsets among the constants: L by rows, room for y - g
ERROR = next(_number)
NUM_FIELDS = next(_number)


def luenberger(values: Any, numbers: Any, f: Any) -> None:
    """f(xhat, u) + L (y - g(xhat, u)); integers: see above."""
    dynamics, output = integers_at(f[DYNAMICS]), integers_at(f[OUTPUT])
    n, p = dynamics[model_tape.NUM_RESULTS], output[model_tape.NUM_RESULTS]
    result, error = f[RESULT], f[ERROR]
    move_model(dynamics, values[0], values, f[STATE], values, f[INPUT])
    if not (run_model(output) and run_model(dynamics)):
        integers_at(f[FAILURE])[0] = FAILED
        return
    take_results(output, numbers, error)
    for j in range(p):
        numbers[error + j] = values[f[MEASURED] + j] - numbers[error + j]
    take_results(dynamics, values, result)
    for i in range(n):
        row = f[GAIN] + p * i
        total = numbers[row] * numbers[error]
        for j in range(1, p):
            total += numbers[row + j] * numbers[error + j]
        values[result + i] += total


LUENBERGER = CompiledOperation(luenberger)
