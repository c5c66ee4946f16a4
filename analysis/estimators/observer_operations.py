"""A Luenberger observer as an operation of the native plan (framework/native/operations/operations.py)."""

from __future__ import annotations

from typing import Any, NamedTuple

from merganser.analysis.plan.model_tape import move_model, run_model, take_results, tape_at
from merganser.framework.native.memory.addresses import place_at
from merganser.framework.native.memory.hinted_types import Floats, FloatsInContext, FloatTable
from merganser.framework.native.memory.records_of_arrays import record_at
from merganser.framework.native.memory.tape import FAILED, integers_at
from merganser.framework.native.operations.operations import CompiledOperation


class Observer(NamedTuple):
    """The operation's list of integers, after the address to which it writes a failure.

    Attributes:
        dynamics, output: addresses of two tapes.
        xhat, y, u, result: in the flat array; u is empty without input.
        gain: L.
        error: scratch array for y - g.
    """

    dynamics: int
    output: int
    xhat: FloatsInContext
    y: FloatsInContext
    u: FloatsInContext
    result: FloatsInContext
    gain: FloatTable
    error: Floats


_observer_at = record_at(Observer)


def luenberger(values: Any, numbers: Any, integers: Any) -> None:
    """f(xhat, u) + L (y - g(xhat, u)); integers: address of a failure, then an Observer."""
    o = _observer_at(values, integers_at(place_at(integers, 1)))
    dynamics, output = tape_at(o.dynamics), tape_at(o.output)
    y, result, gain, error = o.y, o.result, o.gain, o.error
    move_model(dynamics, values[0], o.xhat, o.u)
    if not (run_model(output) and run_model(dynamics)):
        integers_at(integers[0])[0] = FAILED
        return
    take_results(output, error)
    for j in range(len(y)):
        error[j] = y[j] - error[j]
    take_results(dynamics, result)
    for i in range(len(result)):
        total = gain[i, 0] * error[0]
        for j in range(1, len(y)):
            total += gain[i, j] * error[j]
        result[i] += total


LUENBERGER = CompiledOperation(luenberger)
