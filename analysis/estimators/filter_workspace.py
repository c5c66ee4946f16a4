"""Workspace of a Kalman filter: its numbers, and the model with its derivatives.

The source of a filter (extended_filter.py, unscented_filter.py) takes one argument p and works on a record of arrays
that begins with a FilterRecord. Compiled, p is the address of the record; where there is no compiler, it is the
FilterWorkspace that has it. Whatever p is, `evaluate`, `complex_slopes` and `careful_slopes` ask the model: compiled
code runs its operations, or calls Python where it has none.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.plan.model_tape import (
    ModelTape,
    complex_tape_at,
    move_complex_model,
    move_model,
    run_model,
    take_results,
    take_slopes,
    tape_at,
)
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.native import compiled_form, device, kernel_address
from merganser.framework.native.memory.addresses import address_of_array, place_at
from merganser.framework.native.memory.hinted_types import Floats, FloatsInContext, FloatTable, Integers
from merganser.framework.native.memory.records_of_arrays import integers_of, record_at, record_at_address
from merganser.framework.native.memory.tape import (
    FAILED,
    RAISED,
    SUCCEEDED,
    call_kernel,
    call_python,
    integers_at,
    no_failure,
    raise_kept,
)
from merganser.framework.native.operations.operations import CompiledOperation

if TYPE_CHECKING:
    from merganser.analysis.estimators.observed_model import ObservedModel

Array = NDArray[Any]
F, G = range(2)  # the functions of the model: dynamics and output


class FilterRecord(NamedTuple):
    """Workspace of every filter; n state variables, m inputs, p measured outputs.

    Attributes:
        is_discrete: whether the model is one in discrete time.
        failure: where an exception goes that Python has raised.
        answer: function of Python that does what operations do not; 0 if it is not to be called.
        tapes: addresses of the tapes (model_tape.py) of F and G; 0 without one.
        complex_tapes: and of those for complex numbers.
        asked: what Python is asked for: which of _WORDS, of which function.
        time: [s], one element.
        u, y: input and measurement.
        state: xhat, then its covariance by rows; x, P: these two.
        result: the next state, or its rate; x_result, P_result: its two parts.
        W, V: covariances of the noises, shapes [n, n] and [p, p].
        point, value, slopes: where Python is asked, shape [n], and what it answers.
    """

    is_discrete: int
    failure: int
    answer: int
    tapes: Integers
    complex_tapes: Integers
    asked: Integers
    time: Floats
    u: Floats
    y: Floats
    state: Floats
    x: Floats
    P: FloatTable
    result: Floats
    x_result: Floats
    P_result: FloatTable
    W: FloatTable
    V: FloatTable
    point: Floats
    value: Floats
    slopes: FloatTable


class FilterWorkspace:
    """The arrays of one filter, and its model.

    Args:
        text: the module of the filter: `update`, and `new_record`, which adds arrays of its own to a FilterRecord.
        model: the model, which owns the workspace; None if Python is not to be called for what operations do not do.
        noises: the covariances W, shape [n, n], and V, shape [p, p].
        num_inputs: of the model.
        is_discrete: whether it is a model in discrete time.
        tapes: of F and G, then both for complex numbers; fewer if some do not exist.

    Attributes:
        record: the arrays.
        address: of the record, for compiled code.
        has_tapes: whether there are any.
        model: gives the model.
    """

    def __init__(
        self,
        text: Any,
        model: ObservedModel | None,
        noises: tuple[Array, Array],
        num_inputs: int,
        is_discrete: bool,
        tapes: Sequence[ModelTape],
    ) -> None:
        (W, V), n, p = noises, len(noises[0]), len(noises[1])
        self._update = text.update
        self._failure = no_failure()
        self.has_tapes = len(tapes) > 0
        self._tapes = tuple(tapes)  # kept here, as only their addresses are passed on
        self.model: Any = None if model is None else weakref.ref(model)
        addresses = np.array([*(tape.address for tape in tapes), *[0] * (4 - len(tapes))], np.int64)
        state, result = np.zeros(n + n * n), np.zeros(n + n * n)
        self.record: Any = text.new_record(
            FilterRecord(
                is_discrete=int(is_discrete), failure=address_of_array(self._failure),
                answer=0 if model is None else id(self), tapes=addresses[:2], complex_tapes=addresses[2:],
                asked=np.zeros(2, np.int64), time=np.zeros(1), u=np.zeros(num_inputs), y=np.zeros(p),
                state=state, x=state[:n], P=state[n:].reshape(n, n),
                result=result, x_result=result[:n], P_result=result[n:].reshape(n, n),
                W=np.array(W, order="C"), V=np.array(V, order="C"),
                point=np.zeros(n), value=np.zeros(max(n, p)), slopes=np.zeros((max(n, p), n)),
            )
        )  # fmt: skip
        self._integers = np.array(integers_of(self.record), np.int64)
        self.address = address_of_array(self._integers)

    def address_of_update(self) -> int:
        """The address of the compiled source."""
        return kernel_address(self._update, self.address)

    def run(self, time: float, state: Array, y: Array, u: Array | None) -> Array:
        """Computes the next state of a filter, or its rate, from state, measurement and input.

        Args:
            time: [s].
            state: the estimate, then its covariance by rows, shape [n + n n].
            y: the measurement, shape [p].
            u: the input; None if the model has none.
        """
        c: FilterRecord = self.record.common
        c.time[0], c.state[:], c.y[:] = time, state, y
        if u is not None:
            c.u[:] = u
        outcome = self._update(self.address) if may_compile() else self._update.interpreted(self)
        if outcome == RAISED:
            raise_kept(self._failure)
        return c.result

    def __call__(self) -> int:
        """Runs the function that compiled code requests."""
        c: FilterRecord = self.record.common
        word, function = c.asked.tolist()
        return _WORDS[word](self, function, c.point, c.slopes if word else c.value)

    def arguments(self, x: Array) -> tuple[float, Array, Array]:
        """Arguments of the model's functions at a state: time, state and input."""
        c: FilterRecord = self.record.common
        return c.time.item(), x, c.u


_record_at = record_at_address(FilterRecord)


@device
def _ask_python(p: int, word: int, function: int, x: Any) -> int:
    """Calls Python, if allowed."""
    c = _record_at(p)
    if c.answer == 0:
        return FAILED
    asked, point = c.asked, c.point
    asked[0], asked[1] = word, function
    for i in range(len(point)):
        point[i] = x[i]
    return call_python(c.answer, c.failure)


@device
def _ask_for_slopes(p: int, word: int, function: int, x: Any, slopes_out: Any) -> int:
    outcome = _ask_python(p, word, function, x)
    if outcome == SUCCEEDED:
        slopes = _record_at(p).slopes
        for i in range(slopes_out.shape[0]):
            for j in range(slopes_out.shape[1]):
                slopes_out[i, j] = slopes[i, j]
    return outcome


# ---------------------------------------------------------------------- functions of a filter: all return a status


def evaluate(p: FilterWorkspace, function: int, x: Array, value_out: Array) -> int:
    """Writes the value of a function of the model at the state x into the first elements of `value_out`."""
    values = p.model().values(function, *p.arguments(x))
    value_out[: len(values)] = values
    return SUCCEEDED


@compiled_form(evaluate)
def _evaluate(p: int, function: int, x: Any, value_out: Any) -> int:
    c = _record_at(p)
    tapes = c.tapes
    if tapes[function] != 0:
        tape = tape_at(tapes[function])
        move_model(tape, c.time[0], x, c.u)
        if run_model(tape):
            take_results(tape, value_out)
            return SUCCEEDED
    outcome = _ask_python(p, 0, function, x)  # which may do better, or says why not
    if outcome == SUCCEEDED:
        value = c.value
        for i in range(len(c.x) if function == F else len(c.y)):
            value_out[i] = value[i]
    return outcome


def complex_slopes(p: FilterWorkspace, function: int, x: Array, slopes_out: Array) -> int:
    """Computes the Jacobian of a function at the state x by the complex step; fails where it does not apply."""
    try:
        slopes = p.model().complex_jacobian(function, *p.arguments(x))
    except Exception:  # some callback takes no complex numbers
        return FAILED
    slopes_out[: len(slopes)] = slopes
    return SUCCEEDED


@compiled_form(complex_slopes)
def _complex_slopes(p: int, function: int, x: Any, slopes_out: Any) -> int:
    c = _record_at(p)
    tapes = c.complex_tapes
    if tapes[function] == 0:
        return _ask_for_slopes(p, 1, function, x, slopes_out)
    tape = complex_tape_at(tapes[function])
    for j in range(len(c.x)):
        move_complex_model(tape, c.time[0], x, c.u, 0, j)
        if not run_model(tape):
            return _ask_for_slopes(p, 1, function, x, slopes_out)
        take_slopes(tape, slopes_out, j)
    return SUCCEEDED


def careful_slopes(p: FilterWorkspace, function: int, x: Array, slopes_out: Array) -> int:
    """Computes the Jacobian of a function that may not take complex numbers."""
    slopes = p.model().careful_jacobian(function, *p.arguments(x))
    slopes_out[: len(slopes)] = slopes
    return SUCCEEDED


@compiled_form(careful_slopes)
def _careful_slopes(p: int, function: int, x: Any, slopes_out: Any) -> int:
    return _ask_for_slopes(p, 2, function, x, slopes_out)


_WORDS: tuple[Callable[..., int], ...] = evaluate, complex_slopes, careful_slopes

# ---------------------------------------------------------------------- filters as operations


class FilterOperation(NamedTuple):
    """The operation's list of integers, after the address to which it writes a failure.

    Attributes:
        record: address of the record of the filter.
        update: address of the source of the filter, which takes seconds to compile.
        state, y, u, result: in the flat array: xhat and covariance, the measurement, the input, what comes out.
    """

    record: int
    update: int
    state: FloatsInContext
    y: FloatsInContext
    u: FloatsInContext
    result: FloatsInContext


_operation_at = record_at(FilterOperation)


@device
def _copy(values_in: Any, values_out: Any) -> None:
    for i in range(len(values_in)):
        values_out[i] = values_in[i]


def kalman_filter(values: Any, numbers: Any, integers: Any) -> None:
    """The next state of a filter, or its rate; integers: address of a failure, then a FilterOperation."""
    op = _operation_at(values, integers_at(place_at(integers, 1)))
    c = _record_at(op.record)
    time, result = c.time, c.result
    time[0] = values[0]
    _copy(op.state, c.state)
    _copy(op.y, c.y)
    _copy(op.u, c.u)
    outcome, total = call_kernel(op.update, (op.record,)), 0.0
    if outcome == SUCCEEDED and c.is_discrete != 0:
        for i in range(len(result)):
            total += result[i] * 0.0
    if outcome != SUCCEEDED or total != 0.0:  # Python tries another method, or raises
        integers_at(integers[0])[0] = FAILED
        return
    _copy(result, op.result)


KALMAN_FILTER = CompiledOperation(kalman_filter)
