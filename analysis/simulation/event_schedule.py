"""The events of a system in simulation: which happen at a given time, and in what order; what comes from outside."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.clocks import (
    FINEST_PERIOD,
    clocks_at,
    forget_strikes,
    make_clocks,
    strike_after,
)
from merganser.analysis.simulation.exact_periods import combinations_of_clocks
from merganser.framework import Context, System, TriggerType
from merganser.framework.core.declarations.events import Arrivals, Notification
from merganser.framework.core.declarations.execution import in_phases
from merganser.framework.core.inside import declared_events
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.tape import SUCCEEDED

if TYPE_CHECKING:
    from merganser.analysis.simulation.due_events import DueEvents
    from merganser.analysis.simulation.simulator import Simulator
    from merganser.framework.core.context.leaf_context import LeafContext
    from merganser.framework.core.declarations.events import DeclaredEvent

_CELL, _SEEN = range(2)
_NEVER = -1  # before any is sent


class ArrivalWatch:
    """The events of a simulation that happen when values arrive from outside.

    Simulations in Python ask each system after the updates of every step; compiled ones leave their loop where a
    notification has been sent since they last asked. So nothing is missed, and both see it at the same step.

    Args:
        events: with arrivals, each with the context of its leaf, in the order in which they are asked.

    Attributes:
        notifications: for each event the address of the cell of its notification, and the number there when it was
            last asked, shape [n, 2].
        are_unannounced: whether some of them may come without a notification.
    """

    def __init__(self, events: Sequence[tuple[LeafContext, DeclaredEvent]]) -> None:
        self._events = events
        self._arrivals: list[Arrivals] = [event.arrivals for _, event in events if event.arrivals is not None]
        self._notifications = [each.notification or Notification() for each in self._arrivals]
        self.are_unannounced = any(each.notification is None for each in self._arrivals)
        self.notifications: NDArray[Any] = np.full((len(events), 2), _NEVER, dtype=np.int64)
        self.notifications[:, _CELL] = [address_of_array(notification.cell) for notification in self._notifications]

    def look(self) -> None:
        """Makes a compiled loop stop for arrivals that already wait."""
        for number, ((context, _), each) in enumerate(zip(self._events, self._arrivals)):
            if each.has_come(context):
                self.notifications[number, _SEEN] = _NEVER

    def take_in(self) -> list[tuple[LeafContext, DeclaredEvent]]:
        """Reads the arrivals; returns the events to happen now."""
        # First the numbers: what comes after that sends another notification.
        for number, notification in enumerate(self._notifications):
            self.notifications[number, _SEEN] = notification.cell[0]
        return [item for item, each in zip(self._events, self._arrivals) if each.take_in(item[0])]


EventList = list[tuple["LeafContext", "DeclaredEvent"]]

# Among simultaneous events of one leaf system, those of lower rank come first.
_RANKS = {
    TriggerType.kInitialization: 0,
    TriggerType.kPerStep: 1,
    TriggerType.kPeriodic: 2,
    TriggerType.kTimed: 2,
    TriggerType.kWitness: 3,
}


class SimultaneousEvents(NamedTuple):
    """Events that happen together, by when they happen; by leaf system, then by rank.

    Attributes:
        unrestricted: updates that come first.
        discrete: discrete updates, and after them unrestricted updates that join them, see DeclaredEvent.
        publish: publish events, before all updates.
        number: what `EventSchedule.step_events` knows them by; -1 if they are not from there.
        flags: which of these there are, see step_codes.py.
    """

    unrestricted: EventList
    discrete: EventList
    publish: EventList
    number: int = -1
    flags: int = 0


NOTHING = SimultaneousEvents([], [], [], 0)


class EventSchedule:
    """Knows when the declared events of a system happen.

    Periodic events that share period and offset share a *clock*. Which clocks strike together decides which
    events are simultaneous; each such combination is sorted once, when it first occurs.

    Args:
        system: a system.
        context: its root context.
        publishes: whether publish events happen.

    Attributes:
        events: simultaneous events that have been asked for, by number; -1 for those at the start.
        initialization: events of the initialization of a simulation, its publish events apart.
        arrivals: looks for what comes from outside; None if nothing does.
        must_ask: whether things may come from outside without a notification, so that one has to ask at each step.
    """

    def __init__(self, system: System, context: Context, publishes: bool = True) -> None:
        self._declared = declared_events(system, context)
        self._ordered = [item for item in _in_order(self._declared) if publishes or item[1].kind.changes_state]
        periodic = [event for _, event in self._ordered if event.trigger is TriggerType.kPeriodic]
        self._periods = list(dict.fromkeys((event.period, event.offset) for event in periodic))
        self._clocks = make_clocks(self._periods)
        self._asked_at = self._boundary_time = math.nan
        self.events: dict[int, SimultaneousEvents] = {}  # see `step_events`
        self._of_others: dict[tuple[int, ...], int] = {}
        self._parts: dict[int, tuple[int, EventList]] = {}
        self.initialization = _by_phase([i for i in self._ordered if i[1].trigger is TriggerType.kInitialization])
        self.step_events(0)
        self._next = math.nan, 0  # the answer to the last question
        coming = [item for item in self._ordered if item[1].arrivals is not None]
        self.arrivals = ArrivalWatch(coming) if coming else None
        self.must_ask = self.arrivals is not None and self.arrivals.are_unannounced

    def refuse(self, time: float) -> NoReturn:
        """Raises an error that names the event that is too frequent for the resolution of time."""
        period, context, event = min(
            ((event.period, context, event) for context, event in self._ordered if event.period),
            key=operator.itemgetter(0),
        )
        raise RuntimeError(
            f"The {event.kind.kind_name} event of system '{context.system.GetSystemPathname()}' with the period "
            f"{period} s happens more often than time can resolve at {time} s, which is about "
            f"{FINEST_PERIOD * abs(time):.3g} s. Begin at an earlier time, or declare a longer period."
        )

    def is_up_to_date(self, system: System, context: Context) -> bool:
        """Whether these are still all events that the system has declared, in the same contexts."""
        mine, present = self._declared, declared_events(system, context)
        return len(mine) == len(present) and all(a[0] is b[0] and a[1] is b[1] for a, b in zip(mine, present))

    def num_clocks(self) -> int:
        """Number of clocks."""
        return len(self._periods)

    def combinations(self, most: int) -> list[int]:
        """The bits of all clocks that may strike together, see `combinations_of_clocks`."""
        return combinations_of_clocks(self._periods, most)

    def clocks(self) -> list[float]:
        """The clocks, see clocks.py."""
        return list(self._clocks)

    def clocks_at(self, time: float) -> int:
        """The bits of the clocks that strike at exactly `time`."""
        clocks = clocks_at(self._clocks, len(self._periods), time)
        if clocks < 0:
            self.refuse(time)
        return clocks

    def step_events(self, clocks: int) -> SimultaneousEvents:
        """The per-step events together with other events that are due.

        Args:
            clocks: the bits of the clocks that strike, or a number from `with_others`.
        """
        events = self.events.get(clocks)
        if events is None:
            events = self.events[clocks] = self._select(clocks, {TriggerType.kPerStep}, clocks)
        return events

    def first_publish_events(self, clocks: int, with_initialization: bool) -> SimultaneousEvents:
        """The publish events at the start of a simulation when these clocks strike."""
        triggers = {TriggerType.kInitialization} if with_initialization else set()
        first = self._select(clocks, triggers | {TriggerType.kPerStep})
        return SimultaneousEvents([], [], first.publish, -1, first.flags & codes.HAS_PUBLISHES)

    def with_others(self, clocks: int, others: EventList) -> int:
        """A number for the events of clocks, given by their bits, and others: of witness functions, or arrivals."""
        if not others:
            return clocks
        key = (clocks, *(id(part) for item in others for part in item))
        number = self._of_others.get(key)
        if number is None:
            number = (len(self._of_others) + 1) << len(self._periods)  # more than any bits of clocks
            events = self.step_events(clocks)
            together = [*events.unrestricted, *events.discrete, *events.publish, *others]
            self.events[number] = _by_phase(_in_order(together), number)
            self._of_others[key] = number
            self._parts[number] = clocks, others
        return number

    def parts(self, number: int) -> tuple[int, EventList]:
        """The bits of clocks and the other events that have a number, see `with_others`."""
        return self._parts.get(number, (number, []))

    def _select(self, clocks: int, triggers: set[TriggerType], number: int = -1) -> SimultaneousEvents:
        if not self._ordered:
            return NOTHING
        struck = {period for n, period in enumerate(self._periods) if clocks >> n & 1}
        return _by_phase([
            (context, event)
            for context, event in self._ordered
            if event.trigger in triggers
            or (event.trigger is TriggerType.kPeriodic and (event.period, event.offset) in struck)
        ], number)  # fmt: skip


def find_next_events(p: Simulator, now: DueEvents) -> int:
    """Finds the next time of periodic events (infinity without any) and the number of all that are due then.

    Arrivals so far are read and due at once, with the per-step events. What is due at the
    boundary time but for rounding, as that may be k * period, is due there.
    """
    schedule, time, boundary_time = p._schedule, now.time, now.boundary
    now.statuses = []
    come = schedule.arrivals.take_in() if schedule.arrivals is not None else None
    if come:
        now.next_time, now.due = time, schedule.with_others(0, come)
        return SUCCEEDED
    if not (schedule._asked_at <= time < schedule._next[0] and boundary_time == schedule._boundary_time):
        if not time >= schedule._asked_at:
            forget_strikes(schedule._clocks, len(schedule._periods))
        next_time, clocks = strike_after(schedule._clocks, len(schedule._periods), time, boundary_time)
        if math.isnan(next_time):
            schedule.refuse(time)
        if clocks not in schedule.events:
            schedule.step_events(clocks)
        schedule._next, schedule._boundary_time = (next_time, clocks), boundary_time
    schedule._asked_at = time
    now.next_time, now.due = schedule._next
    return SUCCEEDED


def _in_order(events: EventList) -> EventList:
    """The events of a simulation by leaf system, then by rank, then as they were declared."""
    relevant = [item for item in events if item[1].trigger in _RANKS]
    return sorted(relevant, key=lambda item: (item[0].layout.leaf_number, _RANKS[item[1].trigger]))


def _by_phase(events: EventList, number: int = -1) -> SimultaneousEvents:
    unrestricted, discrete, publish = in_phases(events) if events else ([], [], [])
    flags = codes.HAS_STATE_UPDATES * bool(unrestricted) | codes.HAS_PUBLISHES * bool(publish)
    if discrete:
        flags |= codes.HAS_UPDATES
        flags |= codes.HAS_DISCRETE_UPDATES * (not discrete[0][1].joins_discrete_updates)
        flags |= codes.HAS_JOINING_UPDATES * discrete[-1][1].joins_discrete_updates
    return SimultaneousEvents(unrestricted, discrete, publish, number, flags)
