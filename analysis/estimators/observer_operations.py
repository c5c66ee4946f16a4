"""A Luenberger observer as an operation of the native plan (framework/native/operations/operations.py)."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from numpy.typing import NDArray

from merganser.analysis.plan.model_tape import move_model, run_model, take_results, tape_at
from merganser.framework.native.memory.addresses import place_at
from merganser.framework.native.memory.records_of_arrays import FLOAT, ArrayOf, Floats, record_at
from merganser.framework.native.memory.tape import FAILED, integers_at
from merganser.framework.native.operations.operations import CompiledOperation

__all__ = ["LUENBERGER", "Observer"]


class Observer(NamedTuple):
    """What the operation finds in its list of integers, after the address of where it notes a failure.

    Attributes:
        dynamics, output: addresses of two tapes.
        xhat, y, u, result: in the flat array; u has no elements if there is none.
        gain: L.
        error: room for y - g.
    """

    dynamics: int
    output: int
    xhat: Annotated[Any, ArrayOf(FLOAT, 1, True)]
    y: Annotated[Any, ArrayOf(FLOAT, 1, True)]
    u: Annotated[Any, ArrayOf(FLOAT, 1, True)]
    result: Annotated[Any, ArrayOf(FLOAT, 1, True)]
    gain: Annotated[NDArray[Any], ArrayOf(FLOAT, 2)]
    error: Floats


_observer_at = record_at(Observer)


def luenberger(values: Any, numbers: Any, integers: Any) -> None:
    """f(xhat, u) + L (y - g(xhat, u)); integers: where to note a failure, then an Observer."""
    o = _observer_at(values, integers_at(place_at(integers, 1)))
    dynamics, output = tape_at(o.dynamics), tape_at(o.output)
    y, result, gain, error = o.y, o.result, o.gain, o.error
    move_model(dynamics, values[0], o.xhat, 0, o.u, 0)
    if not (run_model(output) and run_model(dynamics)):
        integers_at(integers[0])[0] = FAILED
        return
    take_results(output, error, 0)
    for j in range(len(y)):
        error[j] = y[j] - error[j]
    take_results(dynamics, result, 0)
    for i in range(len(result)):
        total = gain[i, 0] * error[0]
        for j in range(1, len(y)):
            total += gain[i, j] * error[j]
        result[i] += total


LUENBERGER = CompiledOperation(luenberger)
