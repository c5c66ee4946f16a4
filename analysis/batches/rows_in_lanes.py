"""Worlds side by side: rows of which as many as a vector register holds numbers take their steps together.

Where all that happens in a simulation is one discrete update that can be made in lanes (NativeCode.in_lanes), rows that
begin and end at the same times are advanced by it to the last update before their end; the loop of rows.py goes on from
there. So lanes need not do everything: rows whose updates part, because a limit is reached in one world and not in the
others, say, are left where they are, and so are their samples, failures and last steps. The bits are those that each
row has alone: an update in lanes makes them, and a simulation that goes on from a row is one that has not been
interrupted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.batches.batch_contexts import independent_offsets
from merganser.analysis.plan.loop_state import problem_at
from merganser.analysis.simulation.clocks import clocks_at, forget_strikes, strike_after
from merganser.analysis.simulation.event_schedule import EventSchedule
from merganser.framework import TriggerType
from merganser.framework.core.context.native_code import CONTINUOUS_STATE, OUTPUT, ParameterOf
from merganser.framework.core.declarations import events as phases
from merganser.framework.core.declarations.execution import periodic_discrete_updates
from merganser.framework.native import device, kernel, specialize
from merganser.framework.native.compiler.argument_types import type_key
from merganser.framework.native.compiler.when_to_compile import OptionalCode, may_use_compiled
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.image import offset_in
from merganser.framework.native.memory.records_of_arrays import (
    FLOAT,
    ArrayOf,
    Floats,
    Integers,
    address_of_record,
    new_record,
    place_arrays,
    record_at_address,
)
from merganser.framework.native.memory.simd import num_lanes, repeated
from merganser.framework.native.memory.tape import call_operation
from merganser.framework.native.operations.assembly import offset_in_context

if TYPE_CHECKING:
    from merganser.analysis.batches.rows import BatchWorker
    from merganser.framework.core.context.native_code import CodeInLanes

Array = NDArray[Any]
_MOST_STEPS = 64  # of one block of rows at a time
LOOP = OptionalCode(__name__, "advance_in_lanes", "advance_in_lanes", (type_key(0),))


class LaneRows(NamedTuple):
    """Rows that are advanced in lanes, and how far they are; Python keeps the arrays.

    Attributes:
        problem: address of the plan's Problem, whose clocks say when updates are due.
        operation: address of the update in lanes.
        values_at, operands_at: addresses of what it is given.
        row: the first one of the block in progress, or of the next one.
        size: how many rows there are in the block in progress; 0 between two blocks.
        num_updates: that have been made with these rows.
        num_steps: of a simulation before the first of these.
        steps_left: of one block of rows, until Python is asked.
        operands: integers of the operation; the first one is how many updates to make, and how many it has made.
        values: for each number of the flat array one of each row, shape [size of the flat array, number of lanes].
        times: when updates are due [s], shape [_MOST_STEPS + 1].
        offsets: in the flat array: time, then other values, shape [m].
        state_at: which of these are the state that updates change.
        boundaries: up to which time each row is simulated [s], shape [n].
        rows: values at `offsets`, shape [n, m].
        counts: gets the numbers of steps, shape [n].
    """

    problem: int
    operation: int
    values_at: int
    operands_at: int
    row: int
    size: int
    num_updates: int
    num_steps: int
    steps_left: int
    operands: Integers
    values: Annotated[Array, ArrayOf(FLOAT, 2)]
    times: Floats
    offsets: Integers
    state_at: Integers
    boundaries: Floats
    rows: Annotated[Array, ArrayOf(FLOAT, 2)]
    counts: Integers


_rows_at = record_at_address(LaneRows)


@kernel
def advance_in_lanes(
    address: int,  # of a LaneRows
) -> int:
    """Advances rows, until all have been or `steps_left` is used up; returns whether there are rows left."""
    given = _rows_at(address)
    clocks, num_clocks = problem_at(given.problem).clocks, problem_at(given.problem).num_clocks
    times, operands = given.times, given.operands
    while given.row < given.rows.shape[0]:
        if given.size == 0:
            _begin_block(given, clocks, num_clocks)
        end, num_wanted = given.boundaries[given.row], 0
        while num_wanted < _MOST_STEPS and given.size > 1:
            following, _ = strike_after(clocks, num_clocks, times[num_wanted], end)
            if not following < end:  # the last update is for the loop
                break
            num_wanted += 1
            times[num_wanted] = following
        operands[0] = num_wanted
        if num_wanted > 0:
            call_operation(given.operation, given.values_at, 0, given.operands_at)
        given.num_updates += operands[0]
        times[0] = times[operands[0]]
        if num_wanted < _MOST_STEPS or operands[0] < num_wanted:
            _end_block(given)
        given.steps_left -= num_wanted
        if given.steps_left <= 0:
            break
    return 1 if given.row < given.rows.shape[0] else 0


class Update(NamedTuple):
    """An update, or time derivatives, in lanes.

    Attributes:
        operation: its address.
        values_at, operands_at: addresses of what it is given.
        state_at, input_at, results_at: offsets of state, input and results in the flat array.
        operands, values: as in LaneRows.
    """

    operation: int
    values_at: int
    operands_at: int
    state_at: int
    input_at: int
    results_at: int
    operands: Array
    values: Array


@kernel
def update_in_lanes(
    # Model:
    given: Update,
    # In:
    num_updates: int,
    states_in: Array,  # shape [n, num_states]
    inputs_in: Array,  # shape [n, size of the input]
    # Out:
    results_out: Array,  # states after the updates, or derivatives, shape [n, num_states]
    is_done_out: Array,  # 1 for each row with results, shape [n]
) -> None:
    """Makes so many updates from each row, block by block; not where worlds part, nor in rows that fill no block."""
    values, operands, num_lanes = given.values, given.operands, given.values.shape[1]
    for first in range(0, states_in.shape[0] - num_lanes + 1, num_lanes):
        for lane in range(num_lanes):
            for k in range(states_in.shape[1]):
                values[given.state_at + k, lane] = states_in[first + lane, k]
            for k in range(inputs_in.shape[1]):
                values[given.input_at + k, lane] = inputs_in[first + lane, k]
        operands[0] = num_updates
        call_operation(given.operation, given.values_at, 0, given.operands_at)
        if operands[0] == num_updates:
            for lane in range(num_lanes):
                is_done_out[first + lane] = 1
                for k in range(states_in.shape[1]):
                    results_out[first + lane, k] = values[given.results_at + k, lane]


@device
def _begin_block(given: Any, clocks: Any, num_clocks: int) -> None:
    """Loads as many rows as there are lanes, if they begin and end together; one that does not is a block alone."""
    rows, ends, values, offsets, first = given.rows, given.boundaries, given.values, given.offsets, given.row
    num_lanes, time, size = values.shape[1], rows[first, 0], 1
    while size < num_lanes and first + size < rows.shape[0]:
        if rows[first + size, 0] != time or ends[first + size] != ends[first]:
            break
        size += 1
    forget_strikes(clocks, num_clocks)
    due = clocks_at(clocks, num_clocks, time)
    given.times[0], given.num_updates, given.num_steps = time, 0, 0
    if due == 0:
        given.times[0], due = strike_after(clocks, num_clocks, time, ends[first])
        given.num_steps = 1
    given.size = size if due > 0 and given.times[0] < ends[first] else 1
    for lane in range(num_lanes):  # those that are left over do what the last row does
        row = first + min(lane, given.size - 1)
        for k in range(len(offsets)):
            values[offsets[k], lane] = rows[row, k]


@device
def _end_block(given: Any) -> None:
    """Writes what its rows have come to, if that is any further."""
    rows, values, offsets, state_at = given.rows, given.values, given.offsets, given.state_at
    if given.num_updates > 0:
        for lane in range(given.size):
            row = given.row + lane
            rows[row, 0] = given.times[0]
            for k in range(len(state_at)):
                rows[row, state_at[k]] = values[offsets[state_at[k]], lane]
            given.counts[row] = given.num_steps + given.num_updates
    given.row += given.size
    given.size = 0


class LanesOfWorker:
    """What advances the rows of a worker side by side.

    Args:
        worker: the worker.

    Attributes:
        period: of the update [s].

    Raises:
        LookupError: more happens in its simulations than one update that is made in lanes, for now at least.
    """

    def __init__(self, worker: BatchWorker) -> None:
        context, plan = worker.context, worker._plan
        events = EventSchedule(context.system, context)._ordered
        if len(events) != 1 or context.num_continuous_states() or not (num_lanes() and LOOP.is_usable()):
            raise LookupError
        (leaf, event), values = events[0], repeated(context.store.flat)
        if event.trigger is not TriggerType.kPeriodic or event.phase != phases.DISCRETE_PHASE:
            raise LookupError
        self.period = event.period
        code, self._operands = _code_in_lanes(leaf, event.native, values, worker.offsets)
        self._kept = code, values, np.zeros(_MOST_STEPS + 1)
        self._state_at = np.searchsorted(worker.offsets, worker.results_at[1:])
        self._rows = rows = new_record(LaneRows)
        self._address = address_of_record(rows)
        rows.problem, rows.operation = plan.address, code.operation.address()
        rows.values_at, rows.operands_at = address_of_array(values), address_of_array(self._operands)
        place_arrays(rows, operands=self._operands, values=values, times=self._kept[2])
        place_arrays(rows, offsets=worker.offsets, state_at=self._state_at)

    def begin(self, rows: Array, ends: Array, counts: Array) -> None:
        """Begins with rows, which change: values at the worker's offsets.

        Args:
            rows: shape [n, m].
            ends: up to which time [s], shape [n].
            counts: gets how many steps have been taken, shape [n].
        """
        self._arrays = rows, ends, counts
        place_arrays(self._rows, rows=rows, boundaries=ends, counts=counts)
        self._rows.row = self._rows.size = 0

    def run(self, num_steps: int) -> bool:
        """Goes on for about so many steps; returns whether there is something left to do."""
        self._rows.steps_left = num_steps
        return bool(advance_in_lanes(self._address))


class LanesOfModel:
    """The time derivatives of a system, or its discrete update a number of times, from several states side by side.

    Args:
        context: root Context of the system, whose values hold where nothing else is said.
        fixed_input: value of the input port that changes; None without such a port.
        is_discrete: whether it is the update.

    Raises:
        LookupError: there is more than one update or derivative, or it is not made in lanes, for now at least.
    """

    def __init__(self, context: Any, fixed_input: Any, is_discrete: bool) -> None:
        state, flat, slots = context.peek_state(), context.store.flat, []
        if is_discrete:
            computed = [(leaf, event.native) for leaf, event in periodic_discrete_updates(context.system, context)]
            x = state.get_discrete_state(0).value()
        else:
            slots = [slot for slot in context.derivative_slots if slot.entry.vector_size]
            computed = [(slot.context, slot.entry.native) for slot in slots]
            x = state.get_continuous_state().get_vector().value()
        if len(computed) != 1 or not num_lanes():
            raise LookupError
        x_at = offset_in(flat, x)
        output = slots[0].context.layout.entry_offsets[slots[0].number] if slots else x_at
        self._flat, self._values = flat, repeated(flat)
        places = {CONTINUOUS_STATE: x_at, OUTPUT: output}
        self._code, self._operands = _code_in_lanes(*computed[0], self._values, independent_offsets(context), places)
        has_input = fixed_input is not None and fixed_input.value.size()
        u_at = offset_in(flat, fixed_input.value.value()) if has_input else 0
        addresses = self._code.operation.address(), address_of_array(self._values), address_of_array(self._operands)
        self._given = Update(*addresses, x_at, u_at, output, self._operands, self._values)
        row = np.zeros((1, 1))
        arguments = self._given, 1, row, row, row, np.zeros(1, np.int64)
        if not may_use_compiled(update_in_lanes, 1, *arguments):
            raise LookupError
        self._update = specialize(update_in_lanes, *arguments)

    def run(self, states: Array, inputs: Array, num_updates: int, results: Array) -> Array:
        """Computes rows, as many at a time as there are lanes.

        Args:
            states, inputs: shapes [n, num_states] and [n, size of the input], contiguous.
            num_updates: how many to make; 1 for derivatives.
            results: gets the states after them, or the derivatives, shape as states.

        Returns:
            Numbers of the rows that are left, as those of a block part, or too few remain for a block.
        """
        is_done = np.zeros(len(states), np.int64)
        self._values[:] = self._flat[:, np.newaxis]
        self._update(self._given, num_updates, states, inputs, results, is_done)
        return np.flatnonzero(is_done == 0)


def _code_in_lanes(
    leaf: Any, computed_by: Any, values: Array, offsets: Array, places: dict[Any, Any] | None = None
) -> tuple[CodeInLanes, Array]:
    """An update or derivatives in lanes, with the integers that they are given.

    Args:
        leaf: Context of the system that declares them.
        computed_by: has their operation.
        values: what lanes work on, from repeated().
        offsets: of independent values in the flat array.
        places: offsets of other arguments.

    Raises:
        LookupError: they are not made in lanes, for now at least.
    """
    native = None if computed_by is None else computed_by.resolve(leaf)
    code = None if native is None or native.in_lanes is None else native.in_lanes(values)
    if code is None:
        raise LookupError
    others = places or {}
    found = [others[each] if each in others else _offset_in(offsets, each, leaf) for each in code.arguments]
    return code, np.array(found, np.int64)


def _offset_in(offsets: Array, argument: Any, leaf: Any) -> int:
    """The offset of what an operation is given, which must be among those of rows.

    Raises:
        LookupError: it is computed by another block.
    """
    if isinstance(argument, int | np.integer):
        return int(argument)
    offset = offset_in_context(argument, leaf)
    parameters = leaf.peek_parameters()
    is_empty = isinstance(argument, ParameterOf) and not parameters.get_numeric_parameter(argument.index).size()
    if offset is None or not (is_empty or offset in offsets):
        raise LookupError
    return offset
