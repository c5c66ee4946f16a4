"""The program of a plan: lists of operations for the derivatives and for each group of simultaneous events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.plan import fields as f
from merganser.framework.core.derivatives import compute_for, slots_behind
from merganser.framework.core.events import DeclaredEvent, EventKind, EventStatus
from merganser.framework.core.execution import call_handler, compute_updates
from merganser.framework.core.store import CacheSlot
from merganser.framework.native.assembly import Assembly, order_of_computation, place_relative_to

if TYPE_CHECKING:
    from merganser.analysis.event_schedule import EventList, EventSchedule
    from merganser.framework import Context
    from merganser.framework.core.leaf_context import LeafContext

__all__ = ["HandlerStop", "Program", "SlotStop"]


class SlotStop:
    """An operation that is left to Python: the computation of a cache entry.

    Attributes:
        valid: mask of the entries that the loop has computed when it comes here.
    """

    def __init__(self, slot: CacheSlot, needed_by: dict[int, CacheSlot], valid: int) -> None:
        self.slot = slot
        self.valid = valid
        self._needed_by = needed_by

    def serve(self) -> None:
        """Computes the entry if it is out of date."""
        slot = self.slot
        if slot.store.invalid & slot.bit:
            compute_for(slot, self._needed_by)


class HandlerStop:
    """An operation that is left to Python: one publish event, or all discrete updates of a leaf system.

    Attributes:
        reads: nodes of the leaf system that the handlers have been seen to read.
        is_followed_by_another: whether the loop does nothing before it comes to the next one.
    """

    is_followed_by_another = False

    def __init__(self, events: EventList, kind: EventKind, reads: int, valid: int) -> None:
        self.events = events
        self.kind = kind
        self.reads = reads
        self.valid = valid

    def serve(self) -> EventStatus | None:
        """Calls the handlers; the results of updates stay where the loop finds them.

        Returns:
            The most severe status that they returned; None if they just succeeded.
        """
        context, event = self.events[0]
        store = context._store
        outer_reads, store.reads = store.reads, 0
        outer_reader, store.reader = store.reader, context
        try:
            if self.kind is EventKind.PUBLISH:
                return call_handler(context, event)
            if len(self.events) == 1:  # the loop has put the present values into the room for the new ones
                return call_handler(context, event, context._next_discrete)
            return compute_updates(self.events, self.kind)[0]
        finally:
            self.reads |= store.reads
            store.reads, store.reader = outer_reads, outer_reader


class Program:
    """Operations on one Context tree, and where the loop returns to Python.

    Args:
        context: the root context.
        schedule: of its events.
        known_groups: bits of the clocks of the groups that are known to occur.
        reads: what event handlers are known to read, by the number of their leaf system and of the event.

    Attributes:
        stops: what is left to Python, by number of the operation.
        groups: shape [number of groups, GROUP_SIZE], see fields.py.
        updated: for each group the mask of the cache entries that depend on what its updates change.
        logs: the logs that operations write to.
        failure, settlers, checks: see Assembly.
    """

    def __init__(
        self, context: Context, schedule: EventSchedule, known_groups: Sequence[int], reads: dict[int, int]
    ) -> None:
        self._store = context._store
        self._schedule = schedule
        self._reads = reads
        self._assembly = Assembly(self._store)
        self.stops: dict[int, SlotStop | HandlerStop] = {}
        self.groups: NDArray[Any] = np.zeros((0, f.GROUP_SIZE), dtype=np.int64)
        self.updated: list[int] = []
        self._add_derivatives(context)
        for clocks in known_groups:
            self._add_group(clocks)
        self._finish()

    def add_group(self, clocks: int) -> None:
        """Adds a group of simultaneous events, by the bits of the clocks that strike."""
        self._add_group(clocks)
        self._finish()

    def may_be_lowered_further(self) -> bool:
        """Whether something that was left to Python is an operation by now."""
        return any(native.resolve(context) is not None for native, context in self._assembly.waiting)

    def is_current(self) -> bool:
        """Whether all operations are still right."""
        return all(check() for check in self.checks)

    def _finish(self) -> None:
        self.addresses, self.starts, self.integers, self.numbers = self._assembly.finish()
        self.logs, self.settlers = self._assembly.logs, self._assembly.settlers
        self.failure, self.checks = self._assembly.failure, self._assembly.checks

    # ------------------------------------------------------------------ derivatives

    def _add_derivatives(self, context: Context) -> None:
        down = context._layout.down
        targets = [slot for slot in context._xcdot_slots if slot.entry.vector_size]
        order, needed_by = order_of_computation(self._assembly, targets)
        self.all_range, valid = self._add_entries(order, needed_by)
        changing = [slot for slot in order if slot.bit & (down["time"] | down["xc"])]
        for slot in changing:
            valid &= ~slot.bit
        self.stage_range, _ = self._add_entries(changing, needed_by, valid)

    def _add_entries(
        self, order: Sequence[CacheSlot], needed_by: dict[int, CacheSlot], valid: int = 0
    ) -> tuple[tuple[int, int], int]:
        """Adds the computation of cache entries; returns where it begins and ends, and the mask of what is valid then.

        Args:
            order: slots, each after those that it depends on.
            needed_by: see trace_upstream.
            valid: mask of entries that are valid before.
        """
        begin = len(self._assembly)
        for slot in order:
            if self._assembly.add_entry(slot):
                valid |= slot.bit
            else:
                self.stops[self._assembly.add_python()] = SlotStop(slot, needed_by, valid)
        return (begin, len(self._assembly)), valid

    # ------------------------------------------------------------------ events

    def _add_group(self, clocks: int) -> None:
        numbers = tuple(n for n in range(self._schedule.num_clocks()) if clocks >> n & 1)
        events = self._schedule.step_events(numbers)
        row = np.zeros(f.GROUP_SIZE, dtype=np.int64)
        row[f.GROUP_CLOCKS] = clocks
        self.groups = np.ascontiguousarray(np.vstack([self.groups, row]))
        self.updated.append(0)
        if events.unrestricted and not self._are_native(events.unrestricted):
            self.groups[-1, f.GROUP_FLAGS] = f.NEEDS_PYTHON_STEP
        elif events.unrestricted:
            self._add_state_updates(events.unrestricted)
        if events.discrete:
            self._add_updates(events.discrete)
        if events.publish:
            self._add_publishes(events.publish)

    def _add_state_updates(self, events: EventList) -> None:
        """Unrestricted updates that are operations: they change discrete state and see to abstract state themselves."""
        row = self.groups[-1]
        row[f.GROUP_FLAGS] |= f.HAS_STATE_UPDATES
        by_leaf = _by_leaf(events)
        row[f.STATE_INPUTS_BEGIN], row[f.STATE_INPUTS_END], _ = self._add_inputs(by_leaf, [True] * len(by_leaf))
        row[f.STATE_BEGIN] = len(self._assembly)
        for leaf in by_leaf:
            down = leaf[0][0]._layout.down
            self.updated[-1] |= down["xc"] | down["xd"] | down["xa"]
            self._add_native_updates(leaf)
        row[f.STATE_END] = row[f.STATE_COMMIT_BEGIN] = len(self._assembly)
        for leaf in by_leaf:
            self._add_commit(leaf[0][0])
        row[f.STATE_COMMIT_END] = len(self._assembly)

    def _add_updates(self, events: EventList) -> None:
        row = self.groups[-1]
        row[f.GROUP_FLAGS] |= f.HAS_UPDATES
        by_leaf = _by_leaf(events)
        native = [self._are_native(leaf) for leaf in by_leaf]
        row[f.UPDATE_INPUTS_BEGIN], row[f.UPDATE_INPUTS_END], valid = self._add_inputs(by_leaf, native)
        row[f.UPDATE_BEGIN] = len(self._assembly)
        for leaf, is_native in zip(by_leaf, native):
            context = leaf[0][0]
            self.updated[-1] |= context._layout.down["xd"]
            if is_native:
                row[f.GROUP_FLAGS] |= f.HAS_NATIVE_UPDATES
                self._add_native_updates(leaf)
            else:
                self._add_present_values(context)
                self._add_handler(leaf, EventKind.DISCRETE_UPDATE, valid)
        row[f.UPDATE_END] = row[f.COMMIT_BEGIN] = len(self._assembly)
        for leaf in by_leaf:
            self._add_commit(leaf[0][0])
        row[f.COMMIT_END] = len(self._assembly)

    def _add_native_updates(self, events: EventList) -> None:
        """The operations of a leaf system's updates; groups that they leave alone keep their values."""
        context = events[0][0]
        self._add_present_values(context)
        for _, event in events:
            assert event.native is not None
            self._assembly.add(event.native, context)

    def _add_present_values(self, context: LeafContext) -> None:
        for target, source in self._discrete_places(context):
            self._assembly.add_copy(source[1], source[0], target)

    def _add_commit(self, context: LeafContext) -> None:
        for source, target in self._discrete_places(context):
            self._assembly.add_copy(target[1], source, target[0])

    def _discrete_places(self, context: LeafContext) -> list[tuple[int, tuple[int, int]]]:
        """For each group of the discrete state: the place of its next value, then its own place and size."""
        room = context._room_for_update()
        return [
            (place_relative_to(self._store.flat, following._values), (offset, following.size()))
            for following, offset in zip(room._items, context._layout.discrete_offsets)
            if following.size()
        ]

    def _add_publishes(self, events: EventList) -> None:
        row = self.groups[-1]
        row[f.GROUP_FLAGS] |= f.HAS_PUBLISHES
        single = [[item] for item in events]
        native = [self._are_native(item) for item in single]
        row[f.PUBLISH_INPUTS_BEGIN], row[f.PUBLISH_INPUTS_END], valid = self._add_inputs(single, native)
        row[f.PUBLISH_BEGIN] = len(self._assembly)
        num_logs = len(self._assembly.logs)
        previous = None
        for item, is_native in zip(single, native):
            if is_native:
                row[f.GROUP_FLAGS] |= f.HAS_NATIVE_PUBLISHES
                context, event = item[0]
                assert event.native is not None
                self._assembly.add(event.native, context)
                previous = None
            else:
                if previous is not None:
                    previous.is_followed_by_another = True
                previous = self._add_handler(item, EventKind.PUBLISH, valid)
        row[f.PUBLISH_END] = len(self._assembly)
        if len(self._assembly.logs) > num_logs:
            row[f.GROUP_FLAGS] |= f.HAS_LOGS

    def _add_handler(self, events: EventList, kind: EventKind, valid: int) -> HandlerStop:
        stop = HandlerStop(events, kind, self._reads.get(key_of(events), 0), valid)
        self.stops[self._assembly.add_python()] = stop
        return stop

    def _are_native(self, events: EventList) -> bool:
        return all(self._assembly.can_add(event.native, context) for context, event in events)

    def _add_inputs(self, lists: Sequence[EventList], native: Sequence[bool]) -> tuple[int, int, int]:
        """Adds what brings the inputs of events up to date.

        What operations read is always needed; what Python handlers read, only as far as it is compiled, since they
        may ask for it or not.
        """
        needed: list[CacheSlot] = []
        perhaps: list[CacheSlot] = []
        for events, is_native in zip(lists, native):
            context = events[0][0]
            if is_native:
                for _, event in events:
                    needed.extend(self._sources(context, event))
            else:
                perhaps.extend(slots_behind(context, self._reads.get(key_of(events), 0)))
        order, needed_by = order_of_computation(self._assembly, needed, perhaps)
        (begin, end), valid = self._add_entries(order, needed_by)
        return begin, end, valid

    def _sources(self, context: LeafContext, event: DeclaredEvent) -> list[CacheSlot]:
        code = event.native.resolve(context) if event.native is not None else None
        assert code is not None
        sources = [context._inputs[port] for port in code.inputs()]
        return [source for source in sources if isinstance(source, CacheSlot)]


def key_of(events: EventList) -> int:
    """A number for the handlers of some events of one leaf system."""
    return hash((id(events[0][0]), tuple(id(event) for _, event in events)))


def _by_leaf(events: EventList) -> list[EventList]:
    """Events that stand together by leaf system, leaf by leaf."""
    lists: list[EventList] = []
    for item in events:
        if not lists or lists[-1][0][0] is not item[0]:
            lists.append([])
        lists[-1].append(item)
    return lists
