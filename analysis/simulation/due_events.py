"""The events of a simulation that are due, and what has been done of them: nothing of it is lost by an interrupt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from merganser.analysis.simulation.event_schedule import NOTHING, EventList, SimultaneousEvents
from merganser.analysis.simulation.simulator_status import SimulatorStatus
from merganser.framework.core.declarations.events import (
    DID_ITS_WORK,
    DeclaredEvent,
    EventKind,
    EventStatus,
    most_severe,
)
from merganser.framework.core.declarations.execution import NOTHING_BEGUN, Updates, execute, make_updates

__all__ = ["DueEvents"]

_NONE_SO_FAR = SimulatorStatus.ReturnReason.kReachedBoundaryTime


class DueEvents:
    """The events of one time, what becomes of them, and how many there have been.

    Updates and publish events happen here, also those that a plan leaves to Python. An interrupt (Ctrl-C) may come at
    any moment; the next advance goes on from what stands here.

    Attributes:
        time: where the last step has ended [s]; nan before the first initialization.
        pending: updates that are due now and have not been made yet, and the publish events of the same time.
        owed: the publish events of the step that has just ended, until all of them have happened.
        statuses: what the first ones of these have come to; and then what all events of this time have come to, until
            an advance has ended with it.
        begun: what has been computed of the discrete updates that are pending.
        journal: updates that are made, or nearly so, but may still be among those pending.
        num_before: how many unrestricted and discrete updates there had been before those of this time.
        last_time: where an advance was to end that was interrupted after some steps [s]; nan if there is none. Asked
            for again, it only makes up for what is owed if it is there, and ends.
        num_steps, num_unrestricted_updates, num_discrete_updates, num_publishes: counts, see Simulator.
    """

    __slots__ = (
        "begun", "journal", "last_time", "num_before", "num_discrete_updates", "num_publishes", "num_steps",
        "num_unrestricted_updates", "owed", "pending", "statuses", "time",
    )  # fmt: skip

    def __init__(self, time: float) -> None:
        self.time = time
        self.pending = NOTHING
        self.owed: EventList = []
        self.statuses: list[EventStatus] = []
        self.begun = NOTHING_BEGUN
        self.journal: list[Updates] = []
        self.num_before = 0, 0
        self.last_time = math.nan
        self.num_steps = self.num_unrestricted_updates = self.num_discrete_updates = self.num_publishes = 0

    def begin_advance(self) -> None:
        """Updates that have been computed before, and not been made, happen again, as all that are pending."""
        self.begun = NOTHING_BEGUN
        self.journal.clear()

    def end_advance(self) -> None:
        """Who has asked for the advance learns what the events have come to."""
        self.statuses, self.last_time = [], math.nan

    def update(self, status: SimulatorStatus) -> None:
        """Makes the updates that are pending: unrestricted ones, then the discrete ones and those that join them.

        Args:
            status: of the advance; where it ends by an update, all of them stay pending.
        """
        pending = self.pending
        self.num_before = self.num_unrestricted_updates, self.num_discrete_updates
        if pending.unrestricted:
            outcome = execute(pending.unrestricted, EventKind.UNRESTRICTED_UPDATE, self.journal)
            self.num_unrestricted_updates += outcome is DID_ITS_WORK or status._note_outcome(outcome, self.time)
            if status._reason is _NONE_SO_FAR:
                self.pending = SimultaneousEvents([], pending.discrete, [])
        if pending.discrete:
            outcome = execute(pending.discrete, EventKind.DISCRETE_UPDATE, self.journal, begun=self.begun)
            if outcome is DID_ITS_WORK or status._note_outcome(outcome, self.time):
                num_unrestricted, num_discrete = _count(pending.discrete)
                self.num_unrestricted_updates += num_unrestricted
                self.num_discrete_updates += num_discrete
        if status._reason is _NONE_SO_FAR:
            self.begun, self.pending = NOTHING_BEGUN, NOTHING
            self.journal.clear()

    def publish(self, status: SimulatorStatus) -> None:
        """Carries out the publish events of the last step, or the first ones; after an interrupt, those that are left.

        An event whose handler was interrupted happens again; after one whose handler raised an exception, none does.
        """
        try:
            outcome = execute(self.owed, EventKind.PUBLISH, done=self.statuses)
            is_effective = outcome is DID_ITS_WORK or status._note_outcome(outcome, self.time)
        except Exception:
            self.owed = []
            raise
        self.owed, self.num_publishes = [], self.num_publishes + is_effective  # no signal is looked at in between

    def note_statuses(self, status: SimulatorStatus) -> None:
        """Ends the advance if what has happened is the end of the simulation."""
        status._note_outcome(most_severe(self.statuses), self.time)

    def finish_updates(self) -> None:
        """Completes updates that an interrupt has cut short, counts them and strikes them from those pending."""
        if not self.journal:
            return
        num_unrestricted, num_discrete = self.num_before
        for kind, updates, status, together in self.journal:
            make_updates(updates)
            is_discrete = kind is EventKind.DISCRETE_UPDATE
            counts = _count(together) if is_discrete else (1, 0)
            num_unrestricted, num_discrete = num_unrestricted + counts[0], num_discrete + counts[1]
            self.pending = SimultaneousEvents([], [] if is_discrete else self.pending.discrete, [])
            self.statuses = [*self.statuses, status]
        self.num_unrestricted_updates, self.num_discrete_updates = num_unrestricted, num_discrete
        self.journal.clear()


def _count(together: Sequence[tuple[Any, DeclaredEvent]]) -> tuple[int, int]:
    """How many unrestricted and discrete updates events count as that are made together, in the phase of the latter."""
    return int(together[-1][1].joins_discrete_updates), int(together[0][1].kind is EventKind.DISCRETE_UPDATE)
