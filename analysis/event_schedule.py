"""The events of a system in simulation: which come next, and which come in every step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from merganser.framework import Context, System, TriggerType

if TYPE_CHECKING:
    from merganser.framework.core.context import LeafContext
    from merganser.framework.core.events import DeclaredEvent

__all__ = ["EventList", "EventSchedule"]

EventList = list[tuple["LeafContext", "DeclaredEvent"]]


class EventSchedule:
    """Sorts the declared events of a system by what triggers them.

    Attributes:
        initialization: events that happen when the simulation is initialized.
        per_step: events that happen in every step.
    """

    def __init__(self, system: System, context: Context) -> None:
        self.initialization = system._events_with(context, TriggerType.kInitialization)
        self.per_step = system._events_with(context, TriggerType.kPerStep)
        # Periodic events that share period and offset happen together: one clock for each such group.
        groups: dict[tuple[float, float], EventList] = {}
        for item in system._events_with(context, TriggerType.kPeriodic):
            groups.setdefault((item[1].period, item[1].offset), []).append(item)
        self._clocks: list[Any] = [[math.nan, events[0][1], events] for events in groups.values()]
        self._asked_at = math.nan
        self._merged: dict[tuple[int, ...], EventList] = {}

    def next_timed(self, time: float) -> tuple[float, EventList]:
        """The time of the next periodic events after `time`, and these events in the order of their declaration."""
        next_time = math.inf
        continues = time >= self._asked_at
        for clock in self._clocks:
            if not (continues and clock[0] > time):
                clock[0] = clock[1].next_time(time)
            next_time = min(next_time, clock[0])
        self._asked_at = time
        due = tuple(number for number, clock in enumerate(self._clocks) if clock[0] == next_time)
        return next_time, self._events_of(due)

    def timed_at(self, time: float) -> EventList:
        """The periodic events that happen at exactly `time`."""
        just_before = math.nextafter(time, -math.inf)
        due = tuple(n for n, clock in enumerate(self._clocks) if clock[1].next_time(just_before) == time)
        return self._events_of(due)

    def _events_of(self, due: tuple[int, ...]) -> EventList:
        if len(due) == 1:
            return self._clocks[due[0]][2]  # type: ignore[no-any-return]
        if due not in self._merged:
            self._merged[due] = [item for number in due for item in self._clocks[number][2]]
        return self._merged[due]
