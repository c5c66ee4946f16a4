"""How messages get from one program, or part of a program, to another: in memory, or by a network.

Both kinds keep received messages until they are handled, and may be used from any thread.
"""

from __future__ import annotations

import collections
import os
import re
import select
import threading
from collections.abc import Callable
from typing import Any

from merganser.framework.core.declarations.events import Notification

_LONGEST_CHANNEL = 63  # bytes
_NOTHING_MORE = "lcm_handle_timeout()"  # what the package lcm raises says at the end of a log

MultichannelHandler = Callable[[str, bytes], None]


class Subscription:
    """A handler for messages on some channels.

    Args:
        pattern: regular expression that the whole name of a channel is to match.
        handler: called as handler(channel, data).
    """

    __slots__ = ("handler", "pattern")

    def __init__(self, pattern: re.Pattern[str], handler: MultichannelHandler) -> None:
        self.pattern, self.handler = pattern, handler


class MemoryTransport:
    """Messages within the program: `memq://`.

    A message without subscribers when it is published is lost. All others wait, however many they are.

    Attributes:
        notification: sent whenever a message comes in.
    """

    def __init__(self) -> None:
        self.notification = Notification()
        self._waiting: collections.deque[tuple[str, bytes]] = collections.deque()
        self._subscriptions: dict[Subscription, None] = {}
        self._has_come = threading.Condition()

    def publish(self, channel: str, data: bytes) -> None:
        """Queues a message for the subscribers of its channel."""
        if any(each.pattern.fullmatch(channel) for each in list(self._subscriptions)):
            with self._has_come:
                self._waiting.append((channel, data))
                self._has_come.notify_all()
            self.notification.send()

    def subscribe(self, subscription: Subscription) -> None:
        """Adds a handler for messages."""
        self._subscriptions[subscription] = None

    def unsubscribe(self, subscription: Subscription) -> None:
        """Removes a handler, if it is subscribed."""
        self._subscriptions.pop(subscription, None)

    def has_waiting(self) -> bool:
        """Whether a message waits to be handled."""
        return bool(self._waiting)

    def handle_one(self, timeout: float) -> bool:
        """Passes the next message to its subscribers; returns whether there was one.

        Args:
            timeout: how long to wait for it at most [s].
        """
        with self._has_come:
            if not self._waiting and timeout > 0.0:
                self._has_come.wait_for(lambda: bool(self._waiting), timeout)
            if not self._waiting:
                return False
            channel, data = self._waiting.popleft()
        for each in list(self._subscriptions):
            if each.pattern.fullmatch(channel):
                each.handler(channel, data)
        return True


class NetworkTransport:
    """Messages between programs, by the package lcm (extra `lcm`).

    Unhandled messages are kept up to the capacity of that package.

    Args:
        url: of a provider of LCM, such as "udpm://239.255.76.67:7667?ttl=0".

    Raises:
        ImportError: the package is not installed.
        RuntimeError: there is no such provider, or the network does not let it.
    """

    notification: Notification | None = None  # messages come without one

    def __init__(self, url: str) -> None:
        try:
            import lcm
        except ImportError as error:
            raise ImportError(
                f"DrakeLcm: messages at {url} need the package lcm, which is not installed. Install the extra: "
                "pip install 'merganser[lcm]'. Messages within a program, at memq://, do without."
            ) from error
        try:
            self._lcm: Any = lcm.LCM(url)
        except RuntimeError as error:
            raise RuntimeError(
                f"DrakeLcm: there is no way to send messages at '{url}': {error}. Known are memq://, and those of LCM, "
                "such as udpm://239.255.76.67:7667?ttl=0 and file:///path/of/a.log?mode=r."
            ) from error
        self._lcm_subscriptions: dict[Subscription, Any] = {}
        self._ended: list[Any] = []  # kept, as another thread may be about to call their handlers
        self._is_handling = threading.RLock()  # the package refuses to do so in two threads at once

    def publish(self, channel: str, data: bytes) -> None:
        """Sends a message.

        Raises:
            RuntimeError: the name of the channel is too long for LCM.
        """
        if len(channel.encode()) > _LONGEST_CHANNEL:
            raise RuntimeError(
                f"DrakeLcm.Publish: LCM takes names of channels of at most {_LONGEST_CHANNEL} bytes; given '{channel}'."
            )
        self._lcm.publish(channel, data)

    def subscribe(self, subscription: Subscription) -> None:
        """Adds a handler for messages."""
        pattern = f"(?:{subscription.pattern.pattern})"
        self._lcm_subscriptions[subscription] = self._lcm.subscribe(pattern, subscription.handler)

    def unsubscribe(self, subscription: Subscription) -> None:
        """Removes a handler, if it is subscribed."""
        known = self._lcm_subscriptions.pop(subscription, None)
        if known is not None:
            self._ended.append(known)
            self._lcm.unsubscribe(known)

    def has_waiting(self) -> bool:
        """Whether a message waits to be handled, on a channel or to be passed over."""
        return bool(select.select([self._lcm.fileno()], [], [], 0.0)[0])

    def handle_one(self, timeout: float) -> bool:
        """Passes the next message to its subscribers; returns whether there was one.

        Args:
            timeout: how long to wait for it at most [s].
        """
        try:
            with self._is_handling:
                return bool(self._lcm.handle_timeout(max(0, round(1e3 * timeout))) > 0)
        except OSError as error:
            if _NOTHING_MORE not in str(error):  # it comes from a handler
                raise
            return False


def make_transport(url: str) -> MemoryTransport | NetworkTransport:
    """A transport for a URL.

    Raises:
        ImportError: it needs the package lcm, which is not installed.
        RuntimeError: no transport knows the URL, or the environment variable DRAKE_ALLOW_NETWORK, a list with colons
            between, has no "lcm" and so allows none but memq://.
    """
    if url.startswith("memq://"):
        return MemoryTransport()
    allowed = os.environ.get("DRAKE_ALLOW_NETWORK", "")
    if allowed and "lcm" not in allowed.split(":"):
        raise RuntimeError(
            f"DrakeLcm: messages at {url} are not allowed by the environment variable DRAKE_ALLOW_NETWORK, which is "
            f"'{allowed}'."
        )
    return NetworkTransport(url)
