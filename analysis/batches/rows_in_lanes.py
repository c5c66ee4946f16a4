"""Worlds side by side: rows of which as many as a vector register holds numbers take their steps together.

Where all that happens in a simulation is one discrete update, or fixed steps of one continuous state, that can be
computed in lanes (NativeCode.in_lanes), rows that begin and end at the same times are advanced towards their end; where
they do not reach it, the loop of rows.py goes on. So lanes need not do everything: rows whose updates part, because a
limit is reached in one world and not in the others, say, are left where they are, and so are their samples, failures
and last steps. The bits are those that each row has alone: updates and derivatives in lanes have them, and a simulation
that goes on from a row is one that has not been interrupted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.batches.batch_contexts import independent_offsets
from merganser.analysis.integrators.compiled_steps import StepsInLanes
from merganser.analysis.integrators.problem import step_problem_at
from merganser.analysis.plan.loop_state import problem_at
from merganser.analysis.simulation.clocks import clocks_at, forget_strikes, strike_after
from merganser.analysis.simulation.event_schedule import EventSchedule
from merganser.framework import TriggerType
from merganser.framework.core.context.native_code import CONTINUOUS_STATE, OUTPUT, ParameterOf
from merganser.framework.core.declarations import events as phases
from merganser.framework.core.declarations.execution import periodic_discrete_updates
from merganser.framework.native import device, kernel, kernel_address, specialize
from merganser.framework.native.compiler.argument_types import type_key
from merganser.framework.native.compiler.when_to_compile import OptionalCode, are_usable, may_use_compiled
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
from merganser.framework.native.memory.tape import FAILED, SUCCEEDED, call_kernel, call_operation
from merganser.framework.native.operations.assembly import offset_in_context

if TYPE_CHECKING:
    from merganser.analysis.batches.rows import BatchWorker
    from merganser.framework.core.context.native_code import CodeInLanes

Array = NDArray[Any]
_MOST_STEPS = 64  # of one block of rows at a time
CODE = (
    OptionalCode(__name__, "advance_in_lanes", "advance_in_lanes", (type_key(0),)),
    OptionalCode(__name__, "derivatives_in_lanes", "derivatives_in_lanes", (type_key(0), type_key(0))),
)


class LaneRows(NamedTuple):
    """Rows that are advanced in lanes, and how far they are; Python keeps the arrays.

    Attributes:
        problem: address of the plan's Problem, whose clocks say when updates are due, and what takes steps.
        steps: address of the StepProblem of continuous states in lanes; 0 without such.
        operation: address of the update or of the derivatives in lanes.
        values_at, operands_at: addresses of what it is given.
        row: the first one of the block in progress, or of the next one.
        size: how many rows there are in the block in progress; 0 between two blocks.
        num_updates: updates or steps that have been made with these rows.
        num_steps: of a simulation before the first of these.
        steps_left: of one block of rows, until Python is asked.
        leaves_last: whether the last update before the end is for the loop.
        operands: integers of the operation; the first one is how many updates to make, and how many it has made.
        values: for each number of the flat array one of each row, shape [size of the flat array, number of lanes].
        times: how far the block is, then when updates are due [s], shape [_MOST_STEPS + 1].
        offsets: in the flat array: time, then other values, shape [m].
        results_at: where time and state are in the flat array, shape [k].
        boundaries: up to which time each row is simulated [s], shape [n].
        rows: values at `offsets`, shape [n, m].
        results: get time and state of rows that have made steps, shape [n, k].
        counts: gets the numbers of steps, shape [n].
    """

    problem: int
    steps: int
    operation: int
    values_at: int
    operands_at: int
    row: int
    size: int
    num_updates: int
    num_steps: int
    steps_left: int
    leaves_last: int
    operands: Integers
    values: Annotated[Array, ArrayOf(FLOAT, 2)]
    times: Floats
    offsets: Integers
    results_at: Integers
    boundaries: Floats
    rows: Annotated[Array, ArrayOf(FLOAT, 2)]
    results: Annotated[Array, ArrayOf(FLOAT, 2)]
    counts: Integers


_rows_at = record_at_address(LaneRows)


@kernel
def advance_in_lanes(
    address: int,  # of a LaneRows
) -> int:
    """Advances rows, until all have been or `steps_left` is used up; returns whether there are rows left."""
    given = _rows_at(address)
    while given.row < given.rows.shape[0]:
        if given.size == 0:
            _begin_block(given)
        num_before, num_wanted = given.num_updates, _MOST_STEPS
        if given.size < 2:
            num_wanted = 0
        elif given.steps:
            _take_steps(given, num_wanted)
        else:
            num_wanted = _make_updates(given)
        given.steps_left -= num_wanted
        if num_wanted < _MOST_STEPS or given.num_updates - num_before < num_wanted:
            _end_block(given)
        if given.steps_left <= 0:
            break
    return 1 if given.row < given.rows.shape[0] else 0


@device
def _make_updates(given: Any) -> int:
    """Makes updates of a block until one that is for the loop, or that worlds make alone; returns how many are due."""
    clocks, num_clocks = problem_at(given.problem).clocks, problem_at(given.problem).num_clocks
    times, operands, end, num_wanted = given.times, given.operands, given.boundaries[given.row], 0
    while num_wanted < _MOST_STEPS and times[num_wanted] < end:
        following, _ = strike_after(clocks, num_clocks, times[num_wanted], end)
        if math.isnan(following) or (given.leaves_last and not following < end):
            break
        num_wanted += 1
        times[num_wanted] = min(following, end)
    operands[0] = num_wanted
    if num_wanted > 0:
        call_operation(given.operation, given.values_at, 0, given.operands_at)
    given.num_updates += operands[0]
    times[0] = times[operands[0]]
    return num_wanted


@device
def _take_steps(given: Any, num_wanted: int) -> None:
    """Takes so many steps of a block, or those up to its end, or to one that worlds take alone."""
    times, end = given.times, given.boundaries[given.row]
    for _ in range(num_wanted):
        if not times[0] < end or call_kernel(problem_at(given.problem).take_step, (given.steps, end)) != SUCCEEDED:
            break
        given.num_updates += 1
        times[0] = given.values[0, 0]


@kernel
def derivatives_in_lanes(
    address: int,  # of a LaneRows
    number: int,  # of an operation of the integrator, which has no other
) -> int:
    """Computes time derivatives of a block; returns whether that has succeeded in all worlds."""
    given = _rows_at(address)
    values, operands = given.values, given.operands
    for lane in range(1, values.shape[1]):
        values[0, lane] = values[0, 0]
    operands[0] = 1
    call_operation(given.operation, given.values_at, 0, given.operands_at)
    return SUCCEEDED if operands[0] == 1 else FAILED


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
def _begin_block(given: Any) -> None:
    """Loads as many rows as there are lanes, if they begin and end together; one that does not is a block alone."""
    clocks, num_clocks = problem_at(given.problem).clocks, problem_at(given.problem).num_clocks
    rows, ends, values, offsets, first = given.rows, given.boundaries, given.values, given.offsets, given.row
    num_lanes, time, size = values.shape[1], rows[first, 0], 1
    while size < num_lanes and first + size < rows.shape[0]:
        if rows[first + size, 0] != time or ends[first + size] != ends[first]:
            break
        size += 1
    given.times[0], given.num_updates, given.num_steps = time, 0, 0
    if given.steps:
        step_problem_at(given.steps).step.is_current = 0
    else:
        forget_strikes(clocks, num_clocks)
        due = clocks_at(clocks, num_clocks, time)
        if due == 0:
            given.times[0], due = strike_after(clocks, num_clocks, time, ends[first])
            given.num_steps = 1
        size = size if due > 0 and given.times[0] < ends[first] else 1
    given.size = size
    for k in range(len(offsets)):
        for lane in range(num_lanes):  # those that are left over do what the last row does
            values[offsets[k], lane] = rows[first + min(lane, size - 1), k]


@device
def _end_block(given: Any) -> None:
    """Writes what its rows have come to, if that is any further."""
    results, values, results_at = given.results, given.values, given.results_at
    if given.num_updates > 0:
        for lane in range(given.size):
            row = given.row + lane
            results[row, 0] = given.times[0]
            for k in range(1, len(results_at)):
                results[row, k] = values[results_at[k], lane]
            given.counts[row] = given.num_steps + given.num_updates
    given.row += given.size
    given.size = 0


class LanesOfWorker:
    """What advances the rows of a worker side by side.

    Args:
        worker: the worker.

    Attributes:
        period: of the update, or length of a step [s].

    Raises:
        LookupError: more happens in its simulations than one update that is made in lanes, or fixed steps of one plant
            whose derivatives are computed in lanes, for now at least.
    """

    def __init__(self, worker: BatchWorker) -> None:
        context, plan, integrator = worker.context, worker._plan, worker._simulator.get_integrator()
        events, slots = EventSchedule(context.system, context)._ordered, _derivative_slots(context)
        if len(events) + len(slots) != 1 or not (num_lanes() and are_usable(*CODE)):
            raise LookupError
        values, places = repeated(context.store.flat), {}
        if slots:
            if worker.settled:  # by the loop, of which steps in lanes leave nothing
                raise LookupError
            leaf, computed_by, self.period = slots[0].context, slots[0].entry.native, integrator.get_maximum_step_size()
            places = _places_of_derivatives(context, slots[0])
        else:
            leaf, event = events[0]
            computed_by, self.period = event.native, event.period
            if event.trigger is not TriggerType.kPeriodic or event.phase != phases.DISCRETE_PHASE:
                raise LookupError
        code, self._operands = _code_in_lanes(leaf, computed_by, values, worker.offsets, places)
        self._kept = code, values, np.zeros(_MOST_STEPS + 1)
        self._rows = rows = new_record(LaneRows)
        self._address = address_of_record(rows)
        if slots:
            kernel = kernel_address(derivatives_in_lanes, self._address, 0)
            self._steps = StepsInLanes(integrator, values, kernel, self._address)
            rows.steps = self._steps.address
        rows.problem, rows.operation = plan.address, code.operation.address()
        rows.values_at, rows.operands_at = address_of_array(values), address_of_array(self._operands)
        place_arrays(rows, operands=self._operands, values=values, times=self._kept[2])
        place_arrays(rows, offsets=worker.offsets, results_at=worker.results_at)

    def begin(self, rows: Array, ends: Array, results: Array, counts: Array, leaves_last: bool) -> None:
        """Begins with rows.

        Args:
            rows: values at the worker's offsets, shape [n, m].
            ends: up to which time [s], shape [n].
            results: time and state of each, which change, shape [n, k].
            counts: gets how many steps have been taken, shape [n].
            leaves_last: whether rows stop before their last update, which leaves a sample in the worker's Context.
        """
        self._arrays = rows, ends, results, counts
        place_arrays(self._rows, rows=rows, boundaries=ends, results=results, counts=counts)
        self._rows.row, self._rows.size, self._rows.leaves_last = 0, 0, leaves_last

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
        flat, slots = context.store.flat, [] if is_discrete else _derivative_slots(context)
        computed: list[tuple[Any, Any]] = [(slot.context, slot.entry.native) for slot in slots]
        if is_discrete:
            computed = [(leaf, event.native) for leaf, event in periodic_discrete_updates(context.system, context)]
        if len(computed) != 1 or not num_lanes():
            raise LookupError
        if is_discrete:
            x_at = output = offset_in(flat, context.peek_state().get_discrete_state(0).value())
            places = {}
        else:
            places = _places_of_derivatives(context, slots[0])
            x_at, output = places[CONTINUOUS_STATE], places[OUTPUT]
        self._flat, self._values = flat, repeated(flat)
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


def _derivative_slots(context: Any) -> list[Any]:
    """What has the time derivatives of the systems of a Context that have any."""
    return [slot for slot in context.derivative_slots if slot.entry.vector_size]


def _places_of_derivatives(context: Any, slot: Any) -> dict[Any, int]:
    """Offsets in the flat array of the continuous state and of its derivatives, which all are in one slot."""
    x = context.peek_state().get_continuous_state().get_vector().value()
    return {CONTINUOUS_STATE: offset_in(context.store.flat, x), OUTPUT: slot.context.layout.entry_offsets[slot.number]}


def _code_in_lanes(
    leaf: Any, computed_by: Any, values: Array, offsets: Array, places: dict[Any, int]
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
    found = [places[each] if each in places else _offset_in(offsets, each, leaf) for each in code.arguments]
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
