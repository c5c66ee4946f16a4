"""The events of a simulation that are due, and what has been done of them: nothing of it is lost by an interrupt."""

from __future__ import annotations

import math

from merganser.analysis.simulation.event_schedule import NOTHING, EventList, SimultaneousEvents
from merganser.analysis.simulation.simulator_status import SimulatorStatus
from merganser.analysis.simulation.step_codes import PUBLISHING, UPDATING
from merganser.framework.core.declarations.events import DID_NOTHING, EventStatus, most_severe
from merganser.framework.core.declarations.execution import NOTHING_BEGUN, UpdateList

__all__ = ["DueEvents"]


class DueEvents:
    """Where a simulation is in a step (steps.py), which events are due there, and how many there have been.

    An interrupt (Ctrl-C) may come at any moment; the next advance goes on from what stands here.

    Args:
        time: of the first step [s]; nan before the first initialization.
        events: simultaneous events by their numbers, see EventSchedule.

    Attributes:
        stage, time, pending, due, next_time, boundary, state_is_updated, has_updated, has_effect, must_stop, num_steps,
        num_state_updates, num_updates, num_publishes: as in the Progress of a compiled loop; but `pending` are events.
        flags: of the events that are pending; 0 if there are none.
        events: as given.
        statuses: what the first publish events of a step have come to; and then what all events of this time have come
            to, until an advance has ended with it.
        updates: what has been computed of those pending, to be made.
        begun: what has been computed of discrete updates before a compiled loop has left the others to Python.
        ending: the status of the first events that have ended the advance.
        status: of the advance.
        last_time: where an advance was to end that was interrupted after some steps [s]; nan if there is none. Asked
            for again, it only makes up for what is owed if it is there, and ends.
    """

    __slots__ = (
        "begun", "boundary", "due", "ending", "events", "flags", "has_effect", "has_updated", "last_time", "must_stop",
        "next_time", "num_publishes", "num_state_updates", "num_steps", "num_updates", "pending", "stage",
        "state_is_updated", "status", "statuses", "time", "updates",
    )  # fmt: skip

    def __init__(self, time: float, events: dict[int, SimultaneousEvents]) -> None:
        self.time = self.next_time = self.boundary = time
        self.events, self.pending = events, NOTHING
        self.stage = UPDATING
        self.due = self.flags = self.state_is_updated = self.has_updated = self.must_stop = 0
        self.has_effect = False
        self.statuses: list[EventStatus] = []
        self.updates: UpdateList = ()
        self.begun = NOTHING_BEGUN
        self.status: SimulatorStatus  # from the first advance on
        self.ending: EventStatus = DID_NOTHING
        self.last_time = math.nan
        self.num_steps = self.num_state_updates = self.num_updates = self.num_publishes = 0

    @property
    def owed(self) -> EventList:
        """The publish events of the step that has just ended, until all of them have happened."""
        return self.events[self.due].publish if self.stage == PUBLISHING else []

    def begin_advance(self, status: SimulatorStatus) -> None:
        """Updates that have been computed before, and not been made, happen again, as all that are pending."""
        self.status, self.boundary, self.must_stop, self.begun = status, status._boundary_time, 0, NOTHING_BEGUN

    def end_advance(self) -> None:
        """Who has asked for the advance learns what the events have come to."""
        self.statuses, self.last_time = [], math.nan

    def make_pending(self, number: int) -> None:
        """Makes events pending, by their number."""
        self.pending, self.stage = self.events[number], UPDATING
        self.flags = self.pending.flags

    def note_outcome(self, outcome: EventStatus) -> bool:
        """Whether events have had something to do; if what they came to is the end of the simulation, it will stop.

        Raises:
            RuntimeError: an event handler reported failure.
        """
        has_effect = self.status._note_outcome(outcome, self.time)
        if not (self.must_stop or self.status.succeeded()):
            self.must_stop, self.ending = 1, outcome
        return has_effect

    def note_statuses(self) -> None:
        """Ends the advance if what has happened is the end of the simulation."""
        self.status._note_outcome(most_severe(self.statuses), self.time)
