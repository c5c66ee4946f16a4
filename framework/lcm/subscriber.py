"""Subscriber and Mailbox: the last message that has come on a channel."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from merganser.framework.core.declarations.events import Notification
from merganser.framework.lcm.drake_lcm import DrakeLcm, interface_of


class Subscriber:
    """Keeps the last message that has come on a channel, for programs without simulation.

    Args:
        lcm: the DrakeLcm whose `HandleSubscriptions` hands on the messages.
        channel: its name.
        lcm_type: type of the messages.

    Attributes:
        lcm_type: as given.
        count: how many messages have come since the last `clear()`.
        raw: the last one as bytes.
        message: the last one; where none has come, a new message.
    """

    def __init__(self, lcm: DrakeLcm, channel: str, lcm_type: Any) -> None:
        self.lcm_type = lcm_type
        self.clear()
        interface_of(lcm, "Subscriber").Subscribe(channel, self._handler)

    def clear(self) -> None:
        """Forgets the messages that have come."""
        self.count = 0
        self.raw: Any = []
        self.message = self.lcm_type()

    def _handler(self, raw: bytes) -> None:
        self.count += 1
        self.raw = raw
        self.message = self.lcm_type.decode(raw)


class Mailbox:
    """The last message that has come on a channel, as bytes; one thread may bring it and others read it.

    It is subscribed to the channel as long as it lives.

    Args:
        lcm: the DrakeLcm whose `HandleSubscriptions` hands on the messages.
        channel: its name.

    Attributes:
        notification: sent at each message.
    """

    _never_changes = True  # copies of a system share it

    def __init__(self, lcm: DrakeLcm, channel: str) -> None:
        self.notification = Notification()
        self._data: bytes | None = None
        self._count = 0
        self._has_come = threading.Condition()
        deliver = weakref.WeakMethod(self._deliver)
        end = lcm._subscribe_to(channel, lambda data: _call(deliver, data))
        weakref.finalize(self, end).atexit = False

    def _deliver(self, data: bytes) -> None:
        """Puts a message in place of the last one."""
        with self._has_come:
            self._data = data
            self._count += 1
            self._has_come.notify_all()
        self.notification.send()

    def count(self) -> int:
        """How many messages have come."""
        return self._count

    def read(self) -> tuple[bytes | None, int]:
        """The last message, None before the first one or after it was discarded; and how many have come."""
        with self._has_come:
            return self._data, self._count

    def discard(self, data: bytes | None) -> None:
        """Forgets the last message if it is this one."""
        with self._has_come:
            if self._data is data:
                self._data = None

    def wait_for(self, count: int, timeout: float | None) -> None:
        """Returns when more than `count` messages have come, or after a time.

        Args:
            count: number of messages.
            timeout: how long to wait at most [s]; None for as long as it takes.
        """
        with self._has_come:
            self._has_come.wait_for(lambda: self._count > count, timeout)


def _call(method: weakref.WeakMethod[Any], data: bytes) -> None:
    """Calls a method, unless its object is gone."""
    function = method()
    if function is not None:
        function(data)
