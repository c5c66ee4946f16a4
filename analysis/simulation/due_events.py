"""The events of a simulation that are due, and what has been done of them: no exception or interrupt loses any."""

from __future__ import annotations

import math

from merganser.analysis.simulation.event_schedule import NOTHING, EventList, SimultaneousEvents
from merganser.analysis.simulation.simulator_status import SimulatorStatus
from merganser.analysis.simulation.step_codes import PUBLISHING, UPDATING
from merganser.framework.core.declarations.events import DID_NOTHING, EventStatus, most_severe
from merganser.framework.core.declarations.execution import NOTHING_BEGUN, UpdateList


class DueEvents:
    """Where a simulation is in a step (steps.py), which events are due there, and how many there have been.

    An exception or interrupt (Ctrl-C) may come at any moment; the next advance goes on from what is noted here.

    Args:
        time: of the first step [s]; nan before the first initialization.
        events: simultaneous events by their numbers, see EventSchedule.

    Attributes:
        stage, time, pending, due, next_time, boundary, state_is_updated, has_updated, has_effect, must_stop, num_steps,
        num_state_updates, num_updates, num_publishes: as in the Progress of a compiled loop; but `pending` are events.
        flags: of the events that are pending; 0 without pending events.
        events: as given.
        statuses: of the first publish events of a step; and then of all events of this time, until an advance has
            ended with it.
        updates: what has been computed of those pending, to be made.
        begun: what has been computed of discrete updates before a compiled loop has left the others to Python.
        ending: the status of the first events that have ended the advance.
        status: of the advance.
        last_time: target time [s] of an advance that was interrupted after some steps; nan without one. Repeating
            that advance only finishes pending publishes.
        num_shown, num_monitored: for how many of the steps `num_steps` the publishing and the monitor that the user
            has asked for after each step are done.
    """

    __slots__ = (
        "begun", "boundary", "due", "ending", "events", "flags", "has_effect", "has_updated", "last_time", "must_stop",
        "next_time", "num_monitored", "num_publishes", "num_shown", "num_state_updates", "num_steps", "num_updates",
        "pending", "stage", "state_is_updated", "status", "statuses", "time", "updates",
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
        self.num_shown = self.num_monitored = 0

    @property
    def owed(self) -> EventList:
        """The publish events of the step that has just ended, until all of them have happened."""
        return self.events[self.due].publish if self.stage == PUBLISHING else []

    def begin_advance(self, status: SimulatorStatus) -> None:
        """Starts an advance; updates that were computed but not made are pending again."""
        self.status, self.boundary, self.must_stop, self.begun = status, status._boundary_time, 0, NOTHING_BEGUN

    def end_advance(self) -> None:
        """Returns the status of the events to the caller of the advance."""
        self.statuses, self.last_time = [], math.nan

    def make_pending(self, number: int) -> None:
        """Makes events pending, by their number."""
        self.pending, self.stage = self.events[number], UPDATING
        self.flags = self.pending.flags

    def note_outcome(self, outcome: EventStatus) -> bool:
        """Notes whether events had an effect, and whether their status ends the simulation.

        Raises:
            RuntimeError: an event handler reported failure.
        """
        has_effect = self.status._note_outcome(outcome, self.time)
        if not (self.must_stop or self.status.succeeded()):
            self.must_stop, self.ending = 1, outcome
        return has_effect

    def note_statuses(self) -> None:
        """Ends the advance if a status ends the simulation."""
        self.status._note_outcome(most_severe(self.statuses), self.time)
