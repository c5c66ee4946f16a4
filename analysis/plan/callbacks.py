"""Calls of a compiled loop to Python: operations that call back (`call_back` of framework/native/operations).

Each brings what the Context knows up to date, does its work, and notes what that has changed. An exception ends the
loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.step_parts import note_end
from merganser.framework.core.context.derivatives import compute_for
from merganser.framework.core.context.store import must_repeat
from merganser.framework.core.declarations.events import DID_ITS_WORK, DID_NOTHING
from merganser.framework.core.declarations.execution import call_handler, compute_updates
from merganser.framework.native.memory.tape import AGAIN, SUCCEEDED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from merganser.analysis.plan.plan import Plan
    from merganser.analysis.simulation.event_schedule import EventList, EventSchedule
    from merganser.analysis.simulation.witness_watch import WitnessWatch
    from merganser.framework.core.context.store import CacheSlot


class DisturbanceError(Exception):
    """A computation changed inputs of the loop: from now on, Python takes the steps."""


class SlotComputation:
    """The computation of a cache entry.

    Args:
        plan: whose loop calls it.
        slot: of the entry.
        needed_by: see trace_upstream.
        valid: mask of the entries that the loop has computed when it comes here.
    """

    __slots__ = ("_needed_by", "_plan", "_slot", "_valid")

    def __init__(self, plan: Plan, slot: CacheSlot, needed_by: dict[int, CacheSlot], valid: int) -> None:
        self._plan, self._slot, self._needed_by, self._valid = plan, slot, needed_by, valid

    def __call__(self) -> int:
        """Computes the entry if it is out of date."""
        plan, slot = self._plan, self._slot
        store = slot.store
        plan.note_changes(self._valid)
        if store.invalid & slot.bit:
            compute_for(slot, self._needed_by)
        if store.num_disturbances:
            raise DisturbanceError
        return SUCCEEDED if plan.note_callback() else AGAIN


class Handler:
    """One publish event, or all discrete updates of a leaf system.

    Args:
        plan: whose loop calls it.
        events: what happens.
        kind: publish events or discrete updates.
        reads: nodes of the leaf system that the handlers have been seen to read.
        valid: mask of the entries that the loop has computed when it comes here.
        inputs: mask of all entries that the events of the group read, as far as that is known.
        checks: whether operations of the program are still right.

    Attributes:
        events: as given.
        number: of its operation.
        comes_before_operations: whether other events of the group come after it that are compiled.
        demand: whether a publish event is wanted; None if it always is.
        left_out: 1 if the loop skipped it because it was not wanted, shape [1].
    """

    __slots__ = (
        "_checks", "_context", "_first", "_inputs", "_is_single", "_key", "_kind", "_plan", "_reads", "_room", "_valid",
        "comes_before_operations", "demand", "events", "left_out", "number",
    )  # fmt: skip

    def __init__(
        self,
        plan: Plan,
        events: EventList,
        reads: int,
        valid: int,
        inputs: int,
        checks: Sequence[Callable[[], bool]],
    ) -> None:
        self._plan, self._reads, self._valid, self._inputs = plan, reads, valid, inputs
        self._checks = checks
        self._key = key_of(events)
        self.events, self._is_single = events, len(events) == 1
        self._context, self._first = events[0]
        self._kind = self._first.kind
        self._room = self._context.room_for_update() if self._kind.changes_state else None
        self.number = -1
        self.comes_before_operations = False
        self.demand = self._first.demand
        self.left_out = np.zeros(1, dtype=np.int64)

    def __call__(self) -> int:
        """Calls the handlers; leaves results of updates for the loop."""
        plan = self._plan
        now = plan.now
        plan.note_changes(self._valid)
        if self.demand is not None:
            self.left_out[0] = 0
        context = self._context
        store = context.store
        outer_reads, outer_reader, invalid = store.reads, store.reader, store.invalid
        store.reads, store.reader = 0, context
        try:
            if self._is_single:  # the loop has put the present values into the room for the new ones
                status = call_handler(context, self._first, self._room)
            else:
                status = compute_updates(self.events)[0]
            # Signals are not handled from the return of a handler until its status is noted.
            now.returned = self.number
            if status is DID_ITS_WORK:
                now.has_effect = 1
            elif status is not DID_NOTHING:
                plan.statuses += [status]
            if store.reads & ~self._reads:
                self._reads |= store.reads
                plan.note_reads(self._key, self._reads)
        except Exception as error:
            if not self._kind.changes_state and not must_repeat(error):
                now.returned = self.number  # it has happened, see `publish` of step_parts.py
            raise
        finally:
            store.reads, store.reader = outer_reads, outer_reader
        outcome = plan.note_statuses(self._kind) if plan.statuses else SUCCEEDED
        is_current = plan.note_callback(store.invalid != invalid)
        if outcome != SUCCEEDED:
            return outcome
        if not is_current or (self._checks and not plan.is_current()):
            now.is_out_of_date = 1
            if self.comes_before_operations:
                return AGAIN
        return codes.READ_AGAIN if store.invalid & self._inputs else SUCCEEDED


class WatchedStep:
    """A step of the integrator that ends where a witness function triggers (witness_isolation.py).

    Args:
        plan: whose loop calls it.
        schedule: of the events.
        watch: takes the step.
    """

    __slots__ = ("_plan", "_schedule", "watch")

    def __init__(self, plan: Plan, schedule: EventSchedule, watch: WitnessWatch) -> None:
        self._plan, self._schedule, self.watch = plan, schedule, watch

    def __call__(self) -> int:
        """Takes the step and notes what is due where it ends; if it fails, time and state are as before."""
        plan = self._plan
        plan.note_changes()
        now = plan.now
        now.stage = codes.WATCHING
        try:
            self.watch.step_towards(now.time, min(now.next_time, now.boundary), now)
        finally:
            plan.note_what_is_known()
            if self.watch.has_changed_states:
                now.needs_all = 1
        note_end(now, plan.time(), self._schedule, self.watch)
        return SUCCEEDED if plan.note_callback(has_effect=False) else AGAIN


def key_of(events: EventList) -> int:
    """A number for the handlers of some events of one leaf system."""
    return hash((id(events[0][0]), tuple(id(event) for _, event in events)))
