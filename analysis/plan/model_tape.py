"""ModelTape: what one system computes, as operations that compiled code runs for many times, states and inputs.

A tape is lowered once, like a plan: operations on the flat array of a Context of the system alone. The caller puts
time, state and input into that array first, and afterwards takes the results from it. Two loops do so for the rows of
arrays, of which one computes slopes, too; so do blocks that contain a model, such as observers.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.declarations.execution import periodic_discrete_updates
from merganser.framework.core.inside import slot_of
from merganser.framework.math.difference_steps import COMPLEX_STEP
from merganser.framework.native import device, kernel, specialize
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.image import offset_in
from merganser.framework.native.memory.records_of_arrays import (
    Complexes,
    Floats,
    Integers,
    address_of_record,
    new_record,
    place_arrays,
    record_at_address,
)
from merganser.framework.native.memory.tape import SUCCEEDED, complexes_at, doubles_at
from merganser.framework.native.operations.assembly import Assembly, order_of_computation
from merganser.framework.native.operations.operation_list import run_all

Array = NDArray[Any]
_FIRST_STATE = 1  # in the flat array; the time is before it


class Tape(NamedTuple):
    """A tape as compiled code knows it.

    Attributes:
        operations: address of the list of operations.
        values: address of the flat array; results may be before and behind it, too.
        time, state, input: of the model.
        results: the offsets of the results.
    """

    operations: int
    values: int
    time: Floats
    state: Floats
    input: Floats
    results: Integers


class ComplexTape(NamedTuple):
    """The same of complex numbers."""

    operations: int
    values: int
    time: Complexes
    state: Complexes
    input: Complexes
    results: Integers


tape_at, complex_tape_at = record_at_address(Tape), record_at_address(ComplexTape)


@device
def move_model(tape: Any, time: float, state_in: Any, input_in: Any) -> None:
    """Sets the time, the state and the input of the model behind a tape."""
    x, u = tape.state, tape.input
    tape.time[0] = time
    for i in range(len(x)):
        x[i] = state_in[i]
    for i in range(len(u)):
        u[i] = input_in[i]


@device
def run_model(tape: Any) -> bool:
    """Runs a tape; returns whether all of its operations succeeded."""
    return run_all(tape.operations) == SUCCEEDED


@device
def take_results(tape: Any, results_out: Any) -> None:
    """Copies the results of a tape."""
    values, offsets = doubles_at(tape.values), tape.results
    for i in range(len(offsets)):
        results_out[i] = values[offsets[i]]


@device
def move_complex_model(tape: Any, time: float, state_in: Any, input_in: Any, first_input: int, j: int) -> None:
    """Puts time, state and input into a tape of complex numbers, with a tiny imaginary step in element j of [x; u].

    The input begins with input_in[first_input].
    """
    x, u = tape.state, tape.input
    tape.time[0] = complex(time, 0.0)
    for i in range(len(x)):
        x[i] = complex(state_in[i], COMPLEX_STEP if i == j else 0.0)
    for i in range(len(u)):
        u[i] = complex(input_in[first_input + i], COMPLEX_STEP if len(x) + i == j else 0.0)


@device
def take_real_results(tape: Any, results_out: Any) -> None:
    """Copies the real parts of the results of a tape of complex numbers."""
    values, offsets = complexes_at(tape.values), tape.results
    for i in range(len(offsets)):
        results_out[i] = values[offsets[i]].real


@device
def take_slopes(tape: Any, slopes_out: Any, j: int) -> None:
    """Writes the derivatives of the results by that element into column j."""
    values, offsets = complexes_at(tape.values), tape.results
    for i in range(len(offsets)):
        slopes_out[i, j] = values[offsets[i]].imag / COMPLEX_STEP


@kernel
def run_rows(
    # Model:
    address: int,  # of a Tape
    # In:
    times_in: Any,  # [s], shape [N]
    period: float,  # time between two steps [s]
    num_steps: int,  # that are made from each state
    states_in: Any,  # shape [N, n]
    inputs_in: Any,  # shape [N, size of the input]
    # Out:
    results_out: Any,  # shape [N, n]
) -> int:
    """Returns how many rows could be computed."""
    tape = tape_at(address)
    for row in range(times_in.shape[0]):
        state, result = states_in[row], results_out[row]
        for step in range(num_steps):
            move_model(tape, times_in[row] + step * period, state, inputs_in[row])
            if not run_model(tape):
                return row
            take_results(tape, result)
            state = result
    num_rows: int = times_in.shape[0]
    return num_rows


@kernel
def run_from(
    # Model:
    address: int,  # of a Tape
    # In:
    offsets_in: Any,  # in the flat array, shape [m]
    rows_in: Any,  # values at these offsets, shape [N, m]
    # Out:
    results_out: Any,  # shape [N, n]
) -> int:
    """Returns how many rows could be computed."""
    tape = tape_at(address)
    values = doubles_at(tape.values)
    for row in range(rows_in.shape[0]):
        for k in range(len(offsets_in)):
            values[offsets_in[k]] = rows_in[row, k]
        if not run_model(tape):
            return row
        take_results(tape, results_out[row])
    num_rows: int = rows_in.shape[0]
    return num_rows


@kernel
def run_slopes(
    # Model:
    address: int,  # of a ComplexTape
    # In:
    time: float,  # [s]
    points_in: Any,  # states and inputs, shape [N, n + m]
    # Out:
    values_out: Any,  # shape [N, n]
    slopes_out: Any,  # by state and input, shape [N, n, n + m]
) -> int:
    """By the complex step; returns the number of points at which all operations succeeded."""
    tape = complex_tape_at(address)
    n, m = len(tape.state), len(tape.input)
    for k in range(points_in.shape[0]):
        point = points_in[k]
        for j in range(n + m):
            move_complex_model(tape, time, point, point, n, j)
            if not run_model(tape):
                return k
            take_slopes(tape, slopes_out[k], j)
        take_real_results(tape, values_out[k])
    num_points: int = points_in.shape[0]
    return num_points


class ModelTape:
    """Operations that compute the time derivatives, the discrete update or an output of a system alone.

    What the Context has cached does not hold after a run, until time, state and input are set again.

    Args:
        context: of a system alone, with floats or complex numbers; its state is continuous only, or one discrete group.
        fixed_input: value of the input port that changes; None without such a port.
        is_discrete: whether its dynamics are a periodic discrete update, or time derivatives.
        output: the output port that is wanted; None for the dynamics.

    Attributes:
        address: of its Tape or ComplexTape.

    Raises:
        LookupError: something has to be left to Python.
        TypeError: a function of the user takes no complex numbers.
    """

    def __init__(self, context: Any, fixed_input: Any, is_discrete: bool, output: Any = None) -> None:
        self._context = context
        self._assembly = Assembly(context.store)
        if output is not None:
            slot = slot_of(output, self._context)
            self._add_entries([slot])
            offsets = _offsets_of(slot)
        else:
            offsets = self._add_update() if is_discrete else self._add_derivatives()
        if self._assembly.reads_abstract_state:
            raise LookupError  # it is tried out for numbers alone
        self._results = np.array(offsets, dtype=np.int64)
        flat = context.store.flat
        self._operations = self._assembly.finish()
        self._record = record = new_record(ComplexTape if flat.dtype == np.complex128 else Tape)
        self.address: int = address_of_record(record)
        record.operations = self._operations.address
        x = context.peek_state()
        state = x.get_discrete_state(0).value() if is_discrete else x.get_continuous_state().get_vector().value()
        start = offset_in(flat, state) if is_discrete else _FIRST_STATE
        record.values = address_of_array(flat)
        place_arrays(record, time=flat[:1], state=flat[start : start + len(state)], results=self._results)
        if fixed_input is not None and fixed_input.value.size():
            place_arrays(record, input=fixed_input.value.value())

    def is_current(self) -> bool:
        """Whether all operations are still valid, see NativeCode.is_current."""
        return self._assembly.is_current()

    def run(self, times: Array, states: Array, inputs: Array, period: float, num_steps: int, results: Array) -> int:
        """Computes rows of floats, all or those up to one that cannot be computed; arrays are contiguous.

        Args:
            times: [s], shape [N].
            states: shape [N, n].
            inputs: shape [N, size of the input].
            period: between two steps [s].
            num_steps: how many updates to make; 1 for time derivatives.
            results: gets the results, shape [N, n].

        Returns:
            How many of them there are.
        """
        count: int = self._run_rows(self.address, times, float(period), int(num_steps), states, inputs, results)
        for write_back in self._assembly.write_backs:  # Python takes over, see NativeCode.on_stop
            write_back()
        return count

    def run_from(self, offsets: Array, rows: Array, results: Array) -> int:
        """The same from values at any offsets in the flat array, in order.

        Args:
            offsets: of independent values, shape [m].
            rows: shape [N, m].
            results: gets the results, shape [N, n].
        """
        suitable = self._assembly.suits(offsets, rows)
        rows = rows if suitable.all() else rows[: suitable.argmin()]
        count: int = self._run_from(self.address, offsets, rows, results)
        for write_back in self._assembly.write_backs:
            write_back()
        return count

    def slopes(self, time: float, points: Array, num_states: int) -> tuple[Array, Array] | None:
        """Values, shape [N, n], and slopes, shape [N, n, n + m]; None if they need Python, or failed.

        Args:
            time: [s].
            points: states and inputs, contiguous floats, shape [N, n + m]; the Context has complex numbers.
            num_states: n.
        """
        count, size = points.shape
        values, slopes = np.empty((count, num_states)), np.empty((count, num_states, size))
        if not self.is_current() or self._run_slopes(self.address, time, points, values, slopes) < count:
            return None
        return values, slopes

    @functools.cached_property
    def _run_rows(self) -> Any:
        row = np.zeros((1, 1))
        return specialize(run_rows, self.address, row[0], 0.0, 1, row, row, row)

    @functools.cached_property
    def _run_from(self) -> Any:
        row = np.zeros((1, 1))
        return specialize(run_from, self.address, np.zeros(1, np.int64), row, row)

    @functools.cached_property
    def _run_slopes(self) -> Any:
        row = np.zeros((1, 1))
        return specialize(run_slopes, self.address, 0.0, row, row, row[None])

    def _add_derivatives(self) -> list[int]:
        """Adds operations; returns the offsets of the derivatives."""
        slots = [slot for slot in self._context.derivative_slots if slot.entry.vector_size]
        self._add_entries(slots)
        return [offset for slot in slots for offset in _offsets_of(slot)]

    def _add_update(self) -> list[int]:
        """Adds operations; returns the offsets of the next state."""
        context, assembly = self._context, self._assembly
        events = periodic_discrete_updates(context.system, context)
        if not all(assembly.can_add(event.native, leaf) for leaf, event in events):
            raise LookupError
        self._add_entries([slot for leaf, event in events for slot in assembly.slots_read(event.native, leaf)])
        following = assembly.add_updates(events)  # all are of the leaf system that has the state
        return [offset + i for offset, size in following for i in range(size)]

    def _add_entries(self, slots: list[Any]) -> None:
        order, _ = order_of_computation(self._assembly, slots)
        if not all(self._assembly.add_entry(slot) for slot in order):
            raise LookupError


def _offsets_of(slot: Any) -> list[int]:
    """The offsets of the elements of a cache entry's value."""
    offset = slot.context.layout.entry_offsets[slot.number]
    return [offset + i for i in range(slot.entry.vector_size)]
