"""The events of a simulation that are due, and what has been done of them: nothing of it is lost by an interrupt."""

from __future__ import annotations

from merganser.analysis.event_schedule import NOTHING, EventList, SimultaneousEvents
from merganser.framework.core.events import EventKind, EventStatus
from merganser.framework.core.execution import NOTHING_BEGUN, Updates, make_updates

__all__ = ["DueEvents"]


class DueEvents:
    """The events of one time.

    An interrupt (Ctrl-C) may come at any moment; the next advance goes on from what stands here.

    Attributes:
        pending: updates that are due now and have not been made yet, and the publish events of the same time.
        owed: the publish events of the step that has just ended, until all of them have happened.
        statuses: what the first ones of these have come to; and then what all events of this time have come to, until
            an advance has ended with it.
        begun: what has been computed of the discrete updates that are pending.
        journal: updates that are made, or nearly so, but may still be among those pending.
    """

    __slots__ = ("begun", "journal", "owed", "pending", "statuses")

    def __init__(self) -> None:
        self.pending = NOTHING
        self.owed: EventList = []
        self.statuses: list[EventStatus] = []
        self.begun = NOTHING_BEGUN
        self.journal: list[Updates] = []

    def begin_advance(self) -> None:
        """Updates that have been computed before, and not been made, happen anew, as all that are pending."""
        self.begun = NOTHING_BEGUN
        self.journal.clear()

    def end_advance(self) -> None:
        """Who has asked for the advance learns what the events have come to."""
        self.statuses = []

    def finish_updates(self) -> None:
        """Completes updates that an interrupt has cut short, and strikes them from the events that are pending."""
        for kind, updates, status in self.journal:
            make_updates(kind, updates)
            is_discrete = kind is EventKind.DISCRETE_UPDATE
            self.pending = SimultaneousEvents([], [] if is_discrete else self.pending.discrete, [])
            self.statuses = [*self.statuses, status]
        self.journal.clear()
