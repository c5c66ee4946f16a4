"""The program of a plan: operations for what the integrator asks for, and for each group of simultaneous events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.plan import loop_state as f
from merganser.analysis.plan.callbacks import Handler, SlotComputation, key_of
from merganser.analysis.plan.loop import group_place
from merganser.analysis.simulation import step_codes as codes
from merganser.framework.core.context.derivatives import slots_behind
from merganser.framework.core.context.store import CacheSlot
from merganser.framework.native.memory.growing_array import GrowingArray
from merganser.framework.native.memory.records_of_arrays import new_record, numbers_of
from merganser.framework.native.operations.assembly import Assembly, order_of_computation

if TYPE_CHECKING:
    from merganser.analysis.plan.plan import Plan
    from merganser.analysis.plan.watching import CompiledWatch
    from merganser.analysis.simulation.event_schedule import EventList, EventSchedule, SimultaneousEvents
    from merganser.framework import Context

_FIRST_PLACES = 64  # for groups; a power of 2


class Program:
    """Operations on one Context tree, and where the loop returns to Python.

    A program that an exception or interrupt has left while it was being made or added to is not to be used.

    Args:
        plan: whose loop runs it.
        context: the root context.
        schedule: of its events.
        computed: what the integrator asks for, see IntegratorBase.operations.
        known_groups: bits of the clocks of the groups that are known to occur, in the order of their numbers.
        reads: what event handlers are known to read, see `key_of`.
        is_patient: see Assembly.
        watch: has witness functions watched in the loop; None if it need not, or Python does so.

    Attributes:
        num_callbacks: how much is left to Python.
        group_numbers: the number of each group, by the bits of its clocks.
        records: what the loop needs to know of each group, see loop_state.py.
        groups, places_of_groups: the same one after the other, and where they are found.
        events: those of each group.
        changes: for each bit of CHANGED the mask of the cache entries that depend on what has changed.
        derivatives: mask of the time derivatives.
        constants: mask of the operations among what is computed for the integrator that neither time nor continuous
            state changes.
        constant_range: where what these compute begins and ends.
        ranges: where the rest does, for each of what the integrator asks for, shape [num, 2].
        most_samples: how many samples may be added to a log at once.
        logs: the logs that operations write to.
        update_handlers: those of discrete updates.
        on_demand: handlers of publish events that the loop skips while they are not wanted.
        watch: as given; None if Python takes the steps that are watched.
        operations, write_backs, checks, reads_abstract_state: see Assembly.
    """

    def __init__(
        self,
        plan: Plan,
        context: Context,
        schedule: EventSchedule,
        computed: Sequence[Sequence[CacheSlot]],
        known_groups: Sequence[int],
        reads: dict[int, int],
        is_patient: bool,
        watch: CompiledWatch | None = None,
    ) -> None:
        self._plan = plan
        self._store = context.store
        self._schedule = schedule
        self._reads = reads
        self._assembly = Assembly(self._store, is_patient)
        self.num_callbacks = 0
        self.group_numbers: dict[int, int] = {}
        self.events: list[SimultaneousEvents] = []
        self.records: list[Any] = []
        self._rows: list[int] = []
        self._row_array = GrowingArray(np.int64)
        self.places_of_groups: NDArray[Any] = np.zeros(_FIRST_PLACES, dtype=np.int64)
        down = context.layout.down
        self.changes = [down["time"] | down["xc"], *[0] * f.LAST_GROUP_BIT]
        self.most_samples = 1
        self.on_demand: list[Handler] = []
        self.update_handlers: list[Handler] = []
        self.watch = watch if watch is not None and watch.is_possible(self._assembly) else None
        self._add_computed(context, computed)
        for clocks in known_groups:
            self._add_group(clocks)
        self._finish()

    def add_group(self, clocks: int) -> None:
        """Adds a group of simultaneous events, by the bits of the clocks that strike."""
        self._add_group(clocks)
        self._finish()

    def may_be_lowered_further(self) -> bool:
        """Whether something that was left to Python is an operation by now."""
        return self._assembly.may_add_more()

    def is_current(self) -> bool:
        """Whether all operations are still right."""
        return not self.checks or self._assembly.is_current()

    def _finish(self) -> None:
        self.operations = self._assembly.finish()
        self._row_array.follow(self._rows)
        self.groups = self._row_array.values()
        self.logs, self.write_backs = self._assembly.logs, self._assembly.write_backs
        self.checks = self._assembly.checks
        self.reads_abstract_state = self._assembly.reads_abstract_state

    # ------------------------------------------------------------------ derivatives, and what else integrators ask for

    def _add_computed(self, context: Context, computed: Sequence[Sequence[CacheSlot]]) -> None:
        """Adds what neither time nor continuous state changes, once for all, then the rest for each number."""
        changing, watch = context.layout.down["time"] | context.layout.down["xc"], self.watch
        watched = [] if watch is None else watch.slots()
        orders = [order_of_computation(self._assembly, slots) for slots in (*computed, *watched)]
        constant = dict.fromkeys(slot for order, _ in orders for slot in order if not slot.bit & changing)
        of_all = {key: by for _, needed_by in orders for key, by in needed_by.items()}
        self.constant_range, self.constants = self._add_entries(list(constant), of_all)
        ranges = []
        for order, needed_by in orders:
            rest = [slot for slot in order if slot.bit & changing]
            ranges.append(self._add_entries(rest, needed_by, self.constants)[0])
        if watch is not None:
            ranges += watch.add_records(self._assembly)
            self.changes[0] |= watch.changes()
        self.ranges = np.array(ranges, np.int64)
        self.derivatives = sum(slot.bit for slot in computed[0])
        self._of_integrator = sum({slot.bit for slots in computed for slot in slots})

    def _add_entries(
        self, order: Sequence[CacheSlot], needed_by: dict[int, CacheSlot], valid: int = 0
    ) -> tuple[tuple[int, int], int]:
        """Adds the computation of cache entries; returns where it begins and ends, and the mask of what is valid then.

        Args:
            order: slots, each after those that it depends on.
            valid: mask of entries that are valid before.
        """
        begin = len(self._assembly)
        for slot in order:
            if self._assembly.add_entry(slot):
                valid |= slot.bit
            else:
                self._add_callback(SlotComputation(self._plan, slot, needed_by, valid))
        return (begin, len(self._assembly)), valid

    def _add_callback(self, callback: SlotComputation | Handler) -> None:
        demand = callback.demand if isinstance(callback, Handler) else None
        if isinstance(callback, Handler) and demand is not None:
            self._assembly.add_callback(callback, demand.cell, callback.left_out)
            self.on_demand.append(callback)
        else:
            self._assembly.add_callback(callback)
        self.num_callbacks += 1

    # ------------------------------------------------------------------ events

    def _add_group(self, clocks: int) -> None:
        events = self._schedule.step_events(clocks)
        row = new_record(f.Group)
        row.clocks = clocks
        changes = 0
        row.flags = events.flags
        joining = [item for item in events.discrete if item[1].joins_discrete_updates]
        if not self._are_native([*events.unrestricted, *joining]):
            row.flags = events.flags & codes.HAS_PUBLISHES | codes.HAS_STATE_UPDATES | codes.IS_LEFT_TO_PYTHON
        else:
            if events.unrestricted:
                changes |= self._add_state_updates(row, events.unrestricted)
            if events.discrete:
                changes |= self._add_updates(row, events.discrete)
        if events.publish:
            self._add_publishes(row, events.publish)
        if changes & self._of_integrator:
            row.flags |= codes.CHANGES_DERIVATIVES
        number = len(self.events)
        self.changes[min(f.FIRST_GROUP_BIT + number, f.LAST_GROUP_BIT)] |= changes
        self.events.append(events)
        self.records.append(row)
        self._rows += numbers_of(row).tolist()
        self._note_place(clocks, number)
        self.group_numbers[clocks] = number

    def _note_place(self, clocks: int, number: int) -> None:
        """Notes where the loop finds a group; at least half of the places stay empty."""
        if 2 * number >= len(self.places_of_groups):
            self.places_of_groups = np.zeros(2 * len(self.places_of_groups), dtype=np.int64)
            for known, known_number in self.group_numbers.items():
                self._note_place(known, known_number)
        last_place = len(self.places_of_groups) - 1
        place = group_place(clocks, last_place)
        while self.places_of_groups[place]:
            place = place + 1 & last_place
        self.places_of_groups[place] = number + 1

    def _add_state_updates(self, row: Any, events: EventList) -> int:
        """Unrestricted updates that are operations: they see to abstract state themselves.

        Returns:
            The mask of what depends on what they change.
        """
        by_leaf = _by_leaf(events)
        row.state_inputs_begin, row.state_inputs_end, *_ = self._add_inputs(by_leaf, [True] * len(by_leaf))
        row.state_begin = len(self._assembly)
        changes = 0
        for leaf in by_leaf:
            down = leaf[0][0].layout.down
            changes |= down["xc"] | down["xd"] | down["xa"]
            self._assembly.add_updates(leaf)
        row.state_end = row.state_commit_begin = len(self._assembly)
        for leaf in by_leaf:
            self._assembly.add_commit(leaf)
        row.state_commit_end = len(self._assembly)
        return changes

    def _add_updates(self, row: Any, events: EventList) -> int:
        """Discrete updates and those that join them; returns the mask of what depends on what they change."""
        by_leaf = _by_leaf(events)
        native = [self._are_native(leaf) for leaf in by_leaf]
        row.update_inputs_begin, row.update_inputs_end, *masks = self._add_inputs(by_leaf, native)
        row.update_begin = len(self._assembly)
        changes = 0
        handlers: list[Handler] = []
        for leaf, is_native in zip(by_leaf, native):
            context, event = leaf[0]
            down = context.layout.down
            changes |= down["xd"]
            if event.joins_discrete_updates:
                changes |= down["xc"] | down["xa"]
            if is_native:
                row.flags |= codes.HAS_NATIVE_UPDATES
                self._assembly.add_updates(leaf)
                for handler in handlers:
                    handler.comes_before_operations = True
            else:
                self._assembly.add_present_values(context)
                handlers.append(self._add_handler(leaf, *masks))
        self.update_handlers += handlers
        row.update_end = row.commit_begin = len(self._assembly)
        for leaf in by_leaf:
            self._assembly.add_commit(leaf)
        row.commit_end = len(self._assembly)
        return changes

    def _add_publishes(self, row: Any, events: EventList) -> None:
        """Publish events, one operation each."""
        single = [[item] for item in events]
        native = [self._are_native(item) for item in single]
        certain = [n for n, (_, event) in enumerate(events) if event.demand is None]
        row.publish_inputs_begin, row.publish_inputs_end, *masks = self._add_inputs(
            [single[n] for n in certain], [native[n] for n in certain]
        )
        row.publish_begin = len(self._assembly)
        num_samples: Counter[int] = Counter()
        handlers: list[Handler] = []
        for item, is_native in zip(single, native):
            if is_native:
                row.flags |= codes.HAS_NATIVE_PUBLISHES
                context, event = item[0]
                assert event.native is not None
                self._assembly.add(event.native, context)
                num_samples[id(context)] += self._assembly.writes_to_log(event.native, context)
                for handler in handlers:
                    handler.comes_before_operations = True
            else:
                handlers.append(self._add_handler(item, *masks))
                if handlers[-1].demand is not None:  # counts as having happened, also when it is left out
                    row.flags |= codes.HAS_NATIVE_PUBLISHES
        row.publish_end = len(self._assembly)
        if any(num_samples.values()):
            row.flags |= codes.HAS_LOGS
            self.most_samples = max(self.most_samples, *num_samples.values())

    def _add_handler(self, events: EventList, valid: int, inputs: int) -> Handler:
        reads = self._reads.get(key_of(events), 0)
        handler = Handler(self._plan, events, reads, valid, inputs, self._assembly.checks)
        handler.number = len(self._assembly)
        self._add_callback(handler)
        return handler

    def _are_native(self, events: EventList) -> bool:
        return all(self._assembly.can_add(event.native, context) for context, event in events)

    def _add_inputs(self, lists: Sequence[EventList], native: Sequence[bool]) -> tuple[int, int, int, int]:
        """Adds what brings the inputs of events up to date; returns its range, and `valid` and `inputs` of Handler.

        What operations read is always needed; what Python handlers read, only as far as it is compiled, since they
        may ask for it or not.
        """
        needed: list[CacheSlot] = []
        perhaps: list[CacheSlot] = []
        for events, is_native in zip(lists, native):
            context = events[0][0]
            if is_native:
                for _, event in events:
                    needed.extend(self._assembly.slots_read(event.native, context))
            else:
                perhaps.extend(slots_behind(context, self._reads.get(key_of(events), 0)))
        order, needed_by = order_of_computation(self._assembly, needed, perhaps)
        (begin, end), valid = self._add_entries(order, needed_by)
        inputs = 0
        for slot in order:
            inputs |= slot.bit
        return begin, end, valid, inputs


def _by_leaf(events: EventList) -> list[EventList]:
    """Events that stand together by leaf system, leaf by leaf."""
    lists: list[EventList] = []
    for item in events:
        if not lists or lists[-1][0][0] is not item[0]:
            lists.append([])
        lists[-1].append(item)
    return lists
