"""ArrivalWatch: looks, between two steps of a simulation, for what has come from outside, such as messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.declarations.events import Arrivals, Notification
from merganser.framework.native.memory.addresses import address_of_array

if TYPE_CHECKING:
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
