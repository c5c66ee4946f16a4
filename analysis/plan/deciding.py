"""Steps before which blocks change their state (state machines), compiled: as WitnessWatch._take_decided_step.

`w` is the Watch of simulation/watch_state.py; the rounds are those of framework/primitives/state_machines/rounds.py. A
step before which the blocks change their state without end, or do not know which transition to take, is undone, and
Python takes it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.analysis.integrators.problem import copy, go_to, state_of, time_of
from merganser.analysis.plan.watching import compute_for_watch, note_change, note_move
from merganser.analysis.simulation.watch_state import ACTIONS, DECISIONS, MOST_ROUNDS, watch_at
from merganser.analysis.simulation.witness_isolation import RESOLUTION, keep_step, take_watched_step, undo_step
from merganser.framework.core.declarations.cache import CacheEntry
from merganser.framework.native import PreparedKernel, device, kernel
from merganser.framework.native.memory.records_of_arrays import (
    address_of_record,
    fields_of,
    new_record,
    place_arrays,
)
from merganser.framework.native.memory.tape import FAILED, SUCCEEDED
from merganser.framework.native.operations.assembly import offset_of_input
from merganser.framework.primitives.state_machines.rounds import (
    ChartTable,
    Machine,
    end_of_step,
    machine_at,
    make_round,
    note_sides,
)

if TYPE_CHECKING:
    from merganser.analysis.simulation.witness_watch import WitnessWatch
    from merganser.framework.core.context.store import CacheSlot
    from merganser.framework.native.operations.assembly import Assembly


@kernel
def advance_decided(watch: int, target: float) -> int:
    """Lets blocks change their state, and takes a step to this time at the latest [s]; returns its status."""
    w = watch_at(watch)
    begin = time_of(w.step)
    _keep(w)
    status, end = change_states(w), target
    if status == SUCCEEDED:
        end = end_of_decided_step(w, target)
        keep_step(w)
        status = take_watched_step(w, end)
        if status == SUCCEEDED and not w.now.chattering:
            status = note_ends(w)
        if status != SUCCEEDED:
            undo_step(w)
    if status != SUCCEEDED or w.now.chattering:
        go_to(w.step, begin, w.x_decided)
        _put_back(w)
    return status


DECIDED_WATCH = PreparedKernel(advance_decided, 0, 0.0)


@device
def _keep(w: Any) -> None:
    copy(w.x_decided, state_of(w.step))
    for n in range(len(w.machines)):
        m = machine_at(w.machines[n])
        copy(m.kept, m.values)


@device
def _put_back(w: Any) -> None:
    for n in range(len(w.machines)):
        m = machine_at(w.machines[n])
        copy(m.values, m.kept)
    note_change(w)
    w.now.is_stale = 1


@device
def change_states(w: Any) -> int:
    """Lets blocks change their state until none does; notes which witness functions count then."""
    status, has_changed, number = SUCCEEDED, True, 0
    while status == SUCCEEDED and has_changed:
        status = _read_signals(w) if number < MOST_ROUNDS else FAILED
        has_changed = False
        for n in range(len(w.machines)):
            m = machine_at(w.machines[n])
            if status == SUCCEEDED:
                copy(m.before, m.values)
                copy(m.state_before, m.state)
                status = make_round(m, number == 0)
                has_changed = has_changed or _differ(m.values, m.before) or _differ(m.state, m.state_before)
                if status == SUCCEEDED and not (_are_finite(m.values) and _are_finite(m.state)):
                    status = FAILED
        if has_changed:
            note_change(w)
            w.now.knows_slopes = 0
        number += 1
    for i in range(w.now.num_witnesses):
        if w.places_of_owners[i] >= 0:
            w.direction[i] = w.full_direction[i] if w.flat[w.places_of_owners[i]] > 0.5 else 0
    return status


@device
def _read_signals(w: Any) -> int:
    """Takes the signals of all guards, and the time, for a round."""
    status = compute_for_watch(w, DECISIONS)
    for n in range(len(w.machines)):
        m = machine_at(w.machines[n])
        m.now.time = time_of(w.step)
        for k in range(len(m.signals)):
            m.signals[k] = w.flat[m.places[k]]
    return status


@device
def _differ(values: Any, others: Any) -> bool:
    for j in range(len(values)):  # noqa: SIM110  it is compiled
        if values[j] != others[j]:
            return True
    return False


@device
def _are_finite(values: Any) -> bool:
    for j in range(len(values)):  # noqa: SIM110  it is compiled
        if not math.isfinite(values[j]):
            return False
    return True


@device
def end_of_decided_step(w: Any, target: float) -> float:
    """When the step must end [s]: a clock that strikes just after that would be passed over."""
    time, end = time_of(w.step), target
    for n in range(len(w.machines)):
        end = min(end, end_of_step(machine_at(w.machines[n])))
    return target if end >= target - RESOLUTION * max(abs(time), abs(target)) else end


@device
def note_ends(w: Any) -> int:
    """Notes on which side of their levels signals are, and which events have happened."""
    status = _read_signals(w)
    for n in range(len(w.machines)):
        note_sides(machine_at(w.machines[n]))
    for i in range(w.now.num_witnesses):
        if w.is_triggered[i] and w.places_of_events[i] >= 0:
            w.flat[w.places_of_events[i]] = 1.0
    note_move(w)
    return status


# ---------------------------------------------------------------------- where everything is


class CompiledMachines:
    """The data of blocks that decide, for compiled steps.

    Args:
        watch: whose blocks they are.
    """

    def __init__(self, watch: WitnessWatch) -> None:
        self._watch = watch
        self._kept: list[Any] = []  # records and arrays, as only their addresses are passed on

    def is_possible(self, assembly: Assembly) -> bool:
        """Whether signals and inputs are among the numbers of the Context, and laws of actions are operations.

        An action must not read the state of a block in place, which other assignments may have changed by then.
        """
        deciding = self._watch.deciding
        if any(block._sys_actions is None for _, block in deciding):
            return False
        inputs = [offset_of_input(leaf.sources[port.get_index()]) for leaf, port in self._inputs()]
        states = [of for leaf, _ in deciding for of in (leaf.layout.xd_range, leaf.layout.xc_range)]
        return (
            all(at is not None and not any(first <= at < end for first, end in states) for at in inputs)
            and all(self._place_of(leaf, source) is not None for leaf, source, _ in self._signals())
            and all(assembly.can_add(each.native, leaf) for leaf, item in self._assignments() for each in item.entries)
        )

    def slots(self) -> list[CacheSlot]:
        """What is computed before a round: the signals of guards, and the inputs that actions read."""
        read = [(leaf, source) for leaf, source, _ in self._signals()] + self._inputs()
        found = [_source(leaf, source) for leaf, source in read]
        return [source for source in found if hasattr(source, "entry")]

    def _signals(self) -> list[tuple[Any, Any, int]]:
        return [(leaf, *signal) for leaf, block in self._watch.deciding for signal in block._sys_signals]

    def _assignments(self) -> list[tuple[Any, Any]]:
        deciding = self._watch.deciding
        return [(leaf, item) for leaf, block in deciding for action in block._sys_actions for item in action or ()]

    def _inputs(self) -> list[tuple[Any, Any]]:
        return [(leaf, port) for leaf, item in self._assignments() for port in item.inputs]

    def _place_of(self, leaf: Any, source: Any) -> int | None:
        """The offset of a computation or an input port."""
        if isinstance(source, CacheEntry):
            return leaf.layout.entry_offsets[source.cache_index()]
        return offset_of_input(leaf.sources[source.get_index()])

    def add_actions(self, assembly: Assembly) -> list[tuple[int, int]]:
        """Adds the actions of all blocks; returns where each begins and ends."""
        ranges = []
        for leaf, block in self._watch.deciding:
            for action in block._sys_actions:
                begin = len(assembly)
                if action is None:
                    assembly.add_callback(_leave_to_python)
                for entry in (entry for item in action or () for entry in item.entries):
                    assembly.add(entry.native, leaf, self._place_of(leaf, entry) or 0)
                for item in action or ():
                    group = leaf.layout.xc_range[0] if item.group is None else leaf.layout.discrete_offsets[item.group]
                    assembly.add_copy(item.size, self._place_of(leaf, item.entries[-1]) or 0, group + item.first)
                ranges.append((begin, len(assembly)))
        return ranges

    def place(self, first: int, kernel: int, argument: int) -> None:
        """Writes down where everything is.

        Args:
            first: number of the first computation of the watch among those of the loop.
            kernel, argument: what computes it.
        """
        watch, flat, at = self._watch, self._watch.context.store.flat, first + ACTIONS
        records, self._kept = [], []
        for leaf, machine in watch.deciding:
            record, layout, table = new_record(Machine), leaf.layout, machine.table
            record.now.first_state, record.now.kernel, record.now.argument = machine.first_state, kernel, argument
            record.now.first_action, at = at, at + len(machine._sys_actions)
            kinds = {name: field.kind.dtype for name, field in fields_of(ChartTable).items()}
            chart = {name: np.array(numbers, kinds[name]) for name, numbers in table._asdict().items()}
            place_arrays(record.chart, **chart)
            values, state = flat[slice(*layout.xd_range)], flat[slice(*layout.xc_range)]
            groups = [slice(at, at + leaf.get_discrete_state(n).size()) for n, at in enumerate(layout.discrete_offsets)]
            names = "active", "entered", "last_child", "memory"
            arrays = {name: flat[groups[n]] for name, n in zip(names, machine.groups())}
            of_states = "chosen", "is_asked", "was_active", "is_entered", "recalls"
            arrays |= {name: np.zeros(len(table.parent), np.int64) for name in of_states}
            places = [(self._place_of(leaf, source) or 0) + k for source, k in machine._sys_signals]
            arrays |= {
                "values": values, "before": values.copy(), "kept": values.copy(), "state": state,
                "state_before": state.copy(), "happens": np.zeros(len(table.source), np.int64),
                "places": np.array(places, np.int64), "signals": np.zeros(len(places)),
            }  # fmt: skip
            place_arrays(record, **arrays)
            records.append(address_of_record(record))
            self._kept += [record, chart, arrays]
        owners, events = [], []
        for leaf, witness in watch.active:
            block: Any = witness.get_system()
            is_mine = block._sys_decides
            offsets = [leaf.layout.discrete_offsets[group] for group in block.groups()] if is_mine else []
            event = block.event_of(witness) if is_mine else -1
            owners.append(offsets[0] + block.owner_of(witness) if is_mine else -1)
            events.append(offsets[3] + event if event >= 0 else -1)
        watch.machines = np.array(records, np.int64)
        watch.places_of_owners, watch.places_of_events = np.array(owners, np.int64), np.array(events, np.int64)
        watch.x_decided = watch.step._x.copy()


def _leave_to_python() -> int:
    """In place of an action that is a function: Python takes the step."""
    return FAILED


def _source(leaf: Any, source: Any) -> Any:
    return leaf.slots[source.cache_index()] if isinstance(source, CacheEntry) else leaf.sources[source.get_index()]
