"""The derivatives or discrete updates of one system for many times, states and inputs, in one compiled loop.

Columns are lowered once, like a plan: operations on the flat array of a Context, into which the loop puts time, state
and input of one column after the other, and from which it takes the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.events import EventKind, TriggerType
from merganser.framework.native import kernel
from merganser.framework.native.assembly import Assembly, order_of_computation, place_relative_to
from merganser.framework.native.tape import call_operations, doubles_at, integers_at

__all__ = ["Columns"]

Array = NDArray[Any]
_FIRST_STATE = 1  # in the flat array; the time stands before


@kernel
def run_columns(
    # Model: operations and places in the flat array
    addresses: Any,  # of the operations, shape [m]
    starts: Any,  # address of each operation's list of integers, shape [m]
    values: int,  # address of the flat array
    numbers: int,  # address of the constants
    failure: int,  # address of the integer that operations set if they fail
    state: int,  # place of the state
    input_: int,  # place of the input
    results: Any,  # places of the results, shape [n]
    # In:
    times_in: Any,  # [s], shape [N]
    period: float,  # time between two steps [s]
    num_steps: int,  # that are made from each state
    states_in: Any,  # shape [N, n]
    inputs_in: Any,  # shape [N, size of the input]
    # Out:
    results_out: Any,  # shape [N, n]
) -> int:
    """Returns how many columns could be computed."""
    flat, has_failed = doubles_at(values), integers_at(failure)
    for column in range(times_in.shape[0]):
        for i in range(states_in.shape[1]):
            flat[state + i] = states_in[column, i]
        for i in range(inputs_in.shape[1]):
            flat[input_ + i] = inputs_in[column, i]
        for step in range(num_steps):
            flat[0] = times_in[column] + step * period
            call_operations(addresses, starts, values, numbers)
            if has_failed[0] != 0:
                return column
            if step + 1 < num_steps:
                for i in range(states_in.shape[1]):
                    flat[state + i] = flat[results[i]]
        for i in range(states_in.shape[1]):
            results_out[column, i] = flat[results[i]]
    num_columns: int = times_in.shape[0]
    return num_columns


class Columns:
    """Operations for a batch.

    What the Context has cached does not hold after a run, until time, state and input are set again.

    Args:
        context: of a system alone, with floats; its state is continuous only, or one discrete group.
        fixed_input: what stands at the input port that changes; None if there is none.
        is_discrete: whether to compute the periodic discrete update, or the time derivatives.

    Raises:
        LookupError: something has to be left to Python.
    """

    def __init__(self, context: Any, fixed_input: Any, is_discrete: bool) -> None:
        self._context = context
        self._assembly = Assembly(context._store)
        flat = context._store.flat
        self._state, places = self._add_update() if is_discrete else self._add_derivatives()
        self._results = np.array(places, dtype=np.int64)
        has_input = fixed_input is not None and fixed_input.value.size()
        self._input = place_relative_to(flat, fixed_input.value._values) if has_input else 0
        # Kept here, as only their addresses are passed on.
        self._addresses, self._starts, self._integers, self._numbers = self._assembly.finish()

    def run(self, times: Array, states: Array, inputs: Array, period: float, num_steps: int) -> tuple[Array, int]:
        """Computes all columns.

        Args:
            times: [s], shape [N].
            states: shape [N, n].
            inputs: shape [N, size of the input].
            period: between two steps [s].
            num_steps: how many updates to make.

        Returns:
            Results, shape [N, n], and how many of them there are until the first one that could not be computed.
        """
        t, x, u = (np.ascontiguousarray(values, dtype=np.float64) for values in (times, states, inputs))
        results = np.empty_like(x)
        flat, failure = self._context._store.flat, self._assembly.failure
        count = run_columns(
            self._addresses,
            self._starts,
            flat.ctypes.data,
            self._numbers.ctypes.data,
            failure.ctypes.data,
            self._state,
            self._input,
            self._results,
            *(t, float(period), int(num_steps), x, u, results),
        )
        failure[0] = 0
        for settle in self._assembly.settlers:
            settle()
        return results, int(count)

    def _add_derivatives(self) -> tuple[int, list[int]]:
        """Adds operations; returns the place of the state, and those of its derivatives."""
        slots = [slot for slot in self._context._xcdot_slots if slot.entry.vector_size]
        self._add_entries(slots)
        offsets = [(slot.context._layout.entry_offsets[slot.number], slot.entry.vector_size) for slot in slots]
        return _FIRST_STATE, [offset + i for offset, size in offsets for i in range(size)]

    def _add_update(self) -> tuple[int, list[int]]:
        """Adds operations; returns the place of the state, and those of its next values."""
        context, assembly = self._context, self._assembly
        events = [
            (leaf, event)
            for leaf, event in context._system._events_with(context, TriggerType.kPeriodic)
            if event.kind is EventKind.DISCRETE_UPDATE
        ]
        codes = [(leaf, event.native and event.native.resolve(leaf)) for leaf, event in events]
        if not all(code is not None for _, code in codes):
            raise LookupError
        sources = [leaf._inputs[port] for leaf, code in codes for port in code.inputs()]
        self._add_entries([source for source in sources if hasattr(source, "entry")])
        leaf = events[0][0]  # all are of the leaf system that has the state
        state, room = leaf._layout.discrete_offsets[0], leaf._room_for_update()._items[0]
        following = place_relative_to(context._store.flat, room._values)
        assembly.add_copy(room.size(), state, following)
        if not all(assembly.add(code, leaf) for leaf, code in codes):
            raise LookupError
        return state, [following + i for i in range(room.size())]

    def _add_entries(self, slots: list[Any]) -> None:
        order, _ = order_of_computation(self._assembly, slots)
        if not all(self._assembly.add_entry(slot) for slot in order):
            raise LookupError
