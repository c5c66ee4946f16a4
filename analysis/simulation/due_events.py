"""The events of a simulation that are due, and what has been done of them: nothing of it is lost by an interrupt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from merganser.analysis.simulation.event_schedule import NOTHING, EventList, SimultaneousEvents
from merganser.framework.core.declarations.events import DeclaredEvent, EventKind, EventStatus
from merganser.framework.core.declarations.execution import NOTHING_BEGUN, Updates, make_updates

__all__ = ["DueEvents", "count_updates"]


def count_updates(together: Sequence[tuple[Any, DeclaredEvent]]) -> tuple[int, int]:
    """How many unrestricted and discrete updates events count as that are made together, in the phase of the latter."""
    return int(together[-1][1].joins_discrete_updates), int(together[0][1].kind is EventKind.DISCRETE_UPDATE)


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
        num_before: how many unrestricted and discrete updates there had been before those of this time.
        last_time: where an advance was to end that was interrupted after some steps [s]; nan if there is none. Asked
            for again, it only makes up for what is owed if it is there, and ends.
    """

    __slots__ = ("begun", "journal", "last_time", "num_before", "owed", "pending", "statuses")

    def __init__(self) -> None:
        self.pending = NOTHING
        self.owed: EventList = []
        self.statuses: list[EventStatus] = []
        self.begun = NOTHING_BEGUN
        self.journal: list[Updates] = []
        self.num_before = 0, 0
        self.last_time = math.nan

    def begin_advance(self) -> None:
        """Updates that have been computed before, and not been made, happen again, as all that are pending."""
        self.begun = NOTHING_BEGUN
        self.journal.clear()

    def end_advance(self) -> None:
        """Who has asked for the advance learns what the events have come to."""
        self.statuses, self.last_time = [], math.nan

    def finish_updates(self) -> tuple[int, int]:
        """Completes updates that an interrupt has cut short, and strikes them from the events that are pending.

        Returns:
            How many unrestricted and discrete updates there have been by now; not all may have been counted.
        """
        num_unrestricted, num_discrete = self.num_before
        for kind, updates, status, together in self.journal:
            make_updates(updates)
            is_discrete = kind is EventKind.DISCRETE_UPDATE
            counts = count_updates(together) if is_discrete else (1, 0)
            num_unrestricted, num_discrete = num_unrestricted + counts[0], num_discrete + counts[1]
            self.pending = SimultaneousEvents([], [] if is_discrete else self.pending.discrete, [])
            self.statuses = [*self.statuses, status]
        self.journal.clear()
        return num_unrestricted, num_discrete
