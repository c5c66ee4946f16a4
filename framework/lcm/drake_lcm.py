"""DrakeLcm: sends and receives messages on channels; LcmInterfaceSystem hands them on during a simulation.

Transports bring messages from one program, or part of a program, to another: in memory, or by a network. Both kinds
keep received messages until they are handled, and may be used from any thread.
"""

from __future__ import annotations

import collections
import dataclasses
import operator
import os
import re
import select
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from merganser.framework.common.records import settings
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.events import DID_NOTHING, Arrivals, EventStatus, Notification, PublishEvent
from merganser.framework.core.inside import declare_arrivals
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.core.values.arguments import require_types

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


# ---------------------------------------------------------------------- messages on channels

_DEFAULT_URL = "udpm://239.255.76.67:7667?ttl=0"
_ALL_CHANNELS = ".*"


@settings
@dataclasses.dataclass(kw_only=True)
class DrakeLcmParams:
    """Settings of a DrakeLcm.

    Attributes:
        lcm_url: where messages go: "memq://" for within the DrakeLcm itself; "" for what the environment variable
            LCM_DEFAULT_URL says, or else this machine ("udpm://239.255.76.67:7667?ttl=0").
        channel_suffix: appended to the name of every channel, and taken off from what is received.
        defer_initialization: whether messages are received from the first HandleSubscriptions() on only.
    """

    lcm_url: str = ""
    channel_suffix: str = ""
    defer_initialization: bool = False


class DrakeLcmInterface:
    """Abstract: what sends and receives messages. Make a DrakeLcm, or ask LcmBuses for one."""

    _never_changes = True  # copies of a system share it

    def __init__(self) -> None:
        raise TypeError("DrakeLcmInterface is abstract; make a DrakeLcm.")

    def get_lcm_url(self) -> str:
        """Returns where messages go."""
        raise NotImplementedError

    def Publish(self, channel: str, buffer: bytes, time_sec: float | None = None) -> None:
        """Sends a message.

        Args:
            channel: its name, not empty.
            buffer: the message, encoded.
            time_sec: time of the message [s], if that is known; it is not sent.

        Raises:
            TypeError: an argument is of another type.
            RuntimeError: the channel has no name.
        """
        raise NotImplementedError

    def Subscribe(self, channel: str, handler: Callable[[bytes], None]) -> None:
        """Has handler(message) called with the messages on a channel, by HandleSubscriptions()."""
        raise NotImplementedError

    def SubscribeMultichannel(self, regex: str, handler: Callable[[str, bytes], None]) -> None:
        """Has handler(channel, message) called with messages on all channels whose whole name matches `regex`."""
        raise NotImplementedError

    def SubscribeAllChannels(self, handler: Callable[[str, bytes], None]) -> None:
        """Has handler(channel, message) called with messages on all channels."""
        raise NotImplementedError

    def HandleSubscriptions(self, timeout_millis: int) -> int:
        """Calls the handlers with all messages that have come since the last time.

        An exception in a handler is passed on; the messages after that one wait for the next call.

        Args:
            timeout_millis: how long to wait for the first message [ms].

        Returns:
            The number of messages.
        """
        raise NotImplementedError


class DrakeLcm(DrakeLcmInterface):
    """Sends and receives messages; may be used from any thread.

    Args:
        lcm_url: as of DrakeLcmParams, or such params.
        params: all settings.

    Raises:
        ImportError: messages are to leave the program, and the package lcm is not installed (extra `lcm`).
        RuntimeError: there is no way to send messages at that URL.
    """

    def __init__(self, lcm_url: str | DrakeLcmParams = "", *, params: DrakeLcmParams | None = None) -> None:
        given = lcm_url if params is None else params
        if params is not None and lcm_url != "":
            raise TypeError("DrakeLcm takes a URL or DrakeLcmParams, not both.")
        if isinstance(given, str):
            given = DrakeLcmParams(lcm_url=given)
        if not isinstance(given, DrakeLcmParams):
            raise TypeError(f"DrakeLcm takes a URL or DrakeLcmParams; given {given!r}.")
        require_types("DrakeLcm", lcm_url=(given.lcm_url, str), channel_suffix=(given.channel_suffix, str))
        self._url = given.lcm_url or os.environ.get("LCM_DEFAULT_URL") or _DEFAULT_URL
        self._suffix = given.channel_suffix
        self._transport = make_transport(self._url)
        self._deferred: list[Subscription] | None = [] if given.defer_initialization else None

    @staticmethod
    def available() -> bool:
        """Returns whether messages can leave the program: whether the package lcm is installed."""
        return find_spec("lcm") is not None

    def get_lcm_url(self) -> str:
        return self._url

    def Publish(self, channel: str, buffer: bytes, time_sec: float | None = None) -> None:
        _require_text(channel, "Publish", "channel")
        if not isinstance(buffer, bytes):
            raise TypeError(f"DrakeLcm.Publish: the message must be bytes; given {type(buffer).__name__}.")
        self._transport.publish(channel + self._suffix, buffer)

    def Subscribe(self, channel: str, handler: Callable[[bytes], None]) -> None:
        _require_handler(handler, "Subscribe")
        self._subscribe_to(channel, handler)

    def SubscribeMultichannel(self, regex: str, handler: Callable[[str, bytes], None]) -> None:
        _require_text(regex, "SubscribeMultichannel", "regex")
        _require_handler(handler, "SubscribeMultichannel")
        suffix = self._suffix

        def handle(channel: str, data: bytes) -> None:
            handler(channel.removesuffix(suffix), data)

        try:
            pattern = re.compile(f"(?:{regex}){re.escape(suffix)}" if suffix else regex)
        except re.error as error:
            raise RuntimeError(
                f"DrakeLcm.SubscribeMultichannel: '{regex}' is not a regular expression: {error}."
            ) from None
        self._subscribe(Subscription(pattern, handle))

    def SubscribeAllChannels(self, handler: Callable[[str, bytes], None]) -> None:
        _require_handler(handler, "SubscribeAllChannels")
        self.SubscribeMultichannel(_ALL_CHANNELS, handler)

    def HandleSubscriptions(self, timeout_millis: int) -> int:
        timeout = 1e-3 * operator.index(timeout_millis)
        if self._deferred is not None:
            subscriptions, self._deferred = self._deferred, None
            for each in subscriptions:
                self._transport.subscribe(each)
        count = 0
        while self._transport.handle_one(timeout if count == 0 else 0.0):
            count += 1
        return count

    def _subscribe_to(self, channel: str, handler: Callable[[bytes], None]) -> Callable[[], None]:
        """Subscribes to a channel; returns a function that ends it."""
        _require_text(channel, "Subscribe", "channel")
        subscription = Subscription(re.compile(re.escape(channel + self._suffix)), lambda _, data: handler(data))
        self._subscribe(subscription)
        return lambda: self._unsubscribe(subscription)

    def _notification(self) -> Notification | None:
        """Sent whenever a message comes in; None if messages come unannounced."""
        return self._transport.notification

    def _has_waiting(self) -> bool:
        """Whether HandleSubscriptions() has something to do."""
        return self._deferred is not None or self._transport.has_waiting()

    def _subscribe(self, subscription: Subscription) -> None:
        if self._deferred is None:
            self._transport.subscribe(subscription)
        else:
            self._deferred.append(subscription)

    def _unsubscribe(self, subscription: Subscription) -> None:
        if self._deferred is None:
            self._transport.unsubscribe(subscription)
        else:
            self._deferred = [each for each in self._deferred if each is not subscription]


def interface_of(lcm: Any, caller: str) -> DrakeLcm:
    """The bus for an argument `lcm`: itself, or that of an LcmInterfaceSystem.

    Args:
        lcm: the argument; None for a new DrakeLcm with the default URL.
        caller: who takes it, for messages.

    Raises:
        TypeError: it is something else.
    """
    lcm = DrakeLcm() if lcm is None else getattr(lcm, "_lcm_interface", lcm)
    if not isinstance(lcm, DrakeLcm):
        raise TypeError(f"{caller}: lcm must be a DrakeLcm or an LcmInterfaceSystem; given {type(lcm).__name__}.")
    return lcm


def _require_text(text: Any, function: str, what: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"DrakeLcm.{function}: {what} must be a str; given {type(text).__name__}.")
    if not text:
        raise RuntimeError(f"DrakeLcm.{function}: {what} must not be empty.")


def _require_handler(handler: Any, function: str) -> None:
    if not callable(handler):
        raise TypeError(f"DrakeLcm.{function}: handler must be callable; given {type(handler).__name__}.")


class LcmInterfaceSystem(LeafSystem):
    """Calls `HandleSubscriptions` of a DrakeLcm between the steps of a simulation.

    After messages have come, time does not advance until their subscribers have read them. Without this
    system, `HandleSubscriptions` must be called by the program, in any thread.

    It may be given instead of the DrakeLcm to whatever sends or receives messages.

    Args:
        lcm: sends and receives messages.
    """

    def __init__(self, lcm: DrakeLcmInterface) -> None:
        super().__init__(converter=SystemScalarConverter())
        if lcm is None:
            raise TypeError("LcmInterfaceSystem takes a DrakeLcm; given None.")
        self._lcm_interface: DrakeLcm = interface_of(lcm, "LcmInterfaceSystem")
        arrivals = Arrivals(self._has_come, self._take_in, self._lcm_interface._notification())
        declare_arrivals(self, PublishEvent, self._do_nothing, arrivals)

    def get_lcm_url(self) -> str:
        """Returns where messages go."""
        return self._lcm_interface.get_lcm_url()

    def HandleSubscriptions(self, timeout_millis: int) -> int:
        """Calls the handlers with all messages that have come; see `DrakeLcmInterface.HandleSubscriptions`."""
        return self._lcm_interface.HandleSubscriptions(timeout_millis)

    def _has_come(self, context: Context) -> bool:
        return self._lcm_interface._has_waiting()

    def _take_in(self, context: Context) -> bool:
        return self.HandleSubscriptions(0) > 0

    @staticmethod
    def _do_nothing(context: Context) -> EventStatus:
        return DID_NOTHING
