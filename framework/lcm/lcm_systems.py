"""Systems that send and receive messages.

LcmPublisherSystem and LcmScopeSystem send their input as a message; the second a vector, for plots. Subscriber and
Mailbox keep the last message on a channel, LcmSubscriberSystem gives it at an output port.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Iterable
from typing import Any

from merganser.framework.common.indices import AbstractStateIndex, PortDataType, kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.events import (
    DID_ITS_WORK,
    DID_NOTHING,
    Arrivals,
    EventStatus,
    Notification,
    TriggerType,
    UnrestrictedUpdateEvent,
)
from merganser.framework.core.declarations.ports import OutputPort
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.inside import declare_arrivals
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.core.values.arguments import checked_number, checked_size, require_types
from merganser.framework.core.values.state import State
from merganser.framework.core.values.values import AbstractValue, Value
from merganser.framework.lcm.drake_lcm import DrakeLcm, DrakeLcmInterface, LcmInterfaceSystem, interface_of
from merganser.framework.lcm.message import SerializerInterface, microseconds, serializer_for
from merganser.framework.lcm.messages.signals import lcmt_scope

_SUPPORTED = {TriggerType.kForced, TriggerType.kPeriodic, TriggerType.kPerStep}


class LcmPublisherSystem(LeafSystem):
    """Sends what is at its input as a message on a channel, whenever it publishes.

    Ports:
        input `lcm_message`: the message.

    Args:
        channel: its name.
        serializer: makes messages of values.
        lcm: sends them; None for a new DrakeLcm with the default URL.
        publish_triggers: when to publish, a set of kForced, kPeriodic and kPerStep; by default on forced publishes and,
            if there is a period, periodically, otherwise in every step. The period, and then the offset, may be given
            here.
        publish_period: time between two messages [s]; positive if and only if the triggers include kPeriodic.
        publish_offset: time of the first one [s].

    Raises:
        RuntimeError: the channel has no name; the triggers are none or others, or do not go with period and offset.
        TypeError: an argument is of another type.
    """

    def __init__(
        self,
        channel: str,
        serializer: SerializerInterface,
        lcm: LcmInterfaceSystem | DrakeLcmInterface | None,
        publish_triggers: Iterable[TriggerType] | float | None = None,
        publish_period: float = 0.0,
        publish_offset: float = 0.0,
    ) -> None:
        super().__init__(converter=SystemScalarConverter())
        if not isinstance(channel, str) or not isinstance(serializer, SerializerInterface):
            raise TypeError(
                f"LcmPublisherSystem takes a channel and a serializer; given {channel!r} and {serializer!r}."
            )
        if not channel:
            raise RuntimeError("LcmPublisherSystem: the channel must have a name.")
        if isinstance(publish_triggers, (int, float)):
            publish_period, publish_offset = publish_triggers, publish_offset or publish_period
            publish_triggers = None
        triggers, period, offset = _when_to_publish(channel, publish_triggers, publish_period, publish_offset)
        self._channel, self._serializer = channel, serializer
        self._lcm = interface_of(lcm, "LcmPublisherSystem")
        self._message = self.DeclareAbstractInputPort("lcm_message", serializer.CreateDefaultValue())
        if TriggerType.kForced in triggers:
            self.DeclareForcedPublishEvent(self._publish)
        if TriggerType.kPeriodic in triggers:
            self.DeclarePeriodicPublishEvent(period, offset, self._publish)
        if TriggerType.kPerStep in triggers:
            self.DeclarePerStepPublishEvent(self._publish)
        self._sys_suggest_name(f"LcmPublisherSystem({channel})")

    @staticmethod
    def Make(
        channel: str,
        lcm_type: Any,
        lcm: LcmInterfaceSystem | DrakeLcmInterface | None,
        publish_period: float = 0.0,
        use_cpp_serializer: bool = False,
        *,
        publish_triggers: Iterable[TriggerType] | None = None,
        publish_offset: float = 0.0,
    ) -> LcmPublisherSystem:
        """Returns a publisher of messages of a type.

        Args:
            channel: its name.
            lcm_type: type of the messages, see PySerializer.
            lcm: sends them; None for a new DrakeLcm with the default URL.
            publish_period: time between two messages [s]; 0 for one in every step.
            use_cpp_serializer: whether the values come from this package's blocks; then `lcm_type` may also be the
                class of that name from an installed drake.
            publish_triggers: as of the constructor.
            publish_offset: time of the first message [s].
        """
        serializer = serializer_for(lcm_type, use_cpp_serializer)
        return LcmPublisherSystem(channel, serializer, lcm, publish_triggers, publish_period, publish_offset)

    def _publish(self, context: Context) -> None:
        """Sends a message."""
        value = self._message.EvalAbstract(context)
        try:
            message = self._serializer.Serialize(value)
        except Exception as error:
            error.add_note(f"in a message for channel '{self._channel}'")
            raise
        self._lcm.Publish(self._channel, message, context.get_time())


def _when_to_publish(
    channel: str, publish_triggers: Iterable[TriggerType] | None, publish_period: float, publish_offset: float
) -> tuple[set[TriggerType], float, float]:
    """Triggers, period and offset [s] from the arguments."""
    where = f"LcmPublisherSystem of channel '{channel}'"
    period = checked_number(publish_period, f"{where}: publish_period")
    offset = checked_number(publish_offset, f"{where}: publish_offset")
    if publish_triggers is None:
        triggers = {TriggerType.kForced, TriggerType.kPeriodic if period > 0.0 else TriggerType.kPerStep}
    else:
        triggers = set(publish_triggers) if isinstance(publish_triggers, Iterable) else {None}
    if not all(isinstance(trigger, TriggerType) for trigger in triggers):
        raise TypeError(f"{where}: publish_triggers must be a set of TriggerType; given {publish_triggers!r}.")
    names = sorted(trigger.name for trigger in triggers)
    if not triggers or triggers - _SUPPORTED:
        raise RuntimeError(f"{where}: publish_triggers must be some of kForced, kPeriodic and kPerStep; given {names}.")
    is_periodic = TriggerType.kPeriodic in triggers
    if not (period > 0.0 if is_periodic else period == 0.0 and offset == 0.0) or offset < 0.0:
        raise RuntimeError(
            f"{where}: with the trigger kPeriodic, and only with it, go a positive publish_period and an offset that "
            f"is not negative; given {names}, {period} s and {offset} s."
        )
    return triggers, period, offset


class LcmScopeSystem(LeafSystem):
    """Gives the vector at its input with the time, as an lcmt_scope.

    Ports:
        input `input`: a vector of `size` elements.
        output `output`: lcmt_scope.

    Args:
        size: number of elements of the input.

    Raises:
        ValueError: it is negative.
    """

    def __init__(self, size: int) -> None:
        super().__init__(converter=SystemScalarConverter())
        self._signal = self.DeclareVectorInputPort("input", checked_size(size, "LcmScopeSystem: size"))
        self.DeclareAbstractOutputPort("output", lambda: Value(lcmt_scope()), self._calc_message)

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        lcm: LcmInterfaceSystem | DrakeLcmInterface,
        signal: OutputPort,
        channel: str,
        publish_period: float,
    ) -> list[Any]:
        """Adds to a diagram what sends the values of an output port.

        Args:
            builder: of the diagram.
            lcm: sends the messages.
            signal: a vector output port of a system in the diagram.
            channel: its name.
            publish_period: time between two messages [s]; 0 for one in every step.

        Returns:
            The LcmScopeSystem and the LcmPublisherSystem.

        Raises:
            TypeError: `signal` is not a vector output port, or another argument is of another type.
        """
        if not isinstance(signal, OutputPort) or signal.get_data_type() != PortDataType.kVectorValued:
            raise TypeError(f"LcmScopeSystem.AddToBuilder takes a vector output port; given {signal!r}.")
        require_types("LcmScopeSystem.AddToBuilder", builder=(builder, DiagramBuilder))
        builder.require_member(signal.get_system(), signal)
        publisher = LcmPublisherSystem.Make(channel, lcmt_scope, lcm, publish_period)
        scope = builder.AddSystem(LcmScopeSystem(signal.size()))
        builder.AddSystem(publisher)
        builder.Connect(signal, scope.get_input_port())
        builder.Connect(scope.get_output_port(), publisher.get_input_port())
        return [scope, publisher]

    def _calc_message(self, context: Context, output: AbstractValue) -> None:
        message = lcmt_scope()
        message.utime = microseconds(context.get_time())
        message.value = self._signal.Eval(context).tolist()
        message.size = len(message.value)
        output.set_value(message)


# ---------------------------------------------------------------------- messages that come in

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


_logger = logging.getLogger("merganser.lcm")

_MESSAGE, _COUNT = 0, 1  # of the abstract state
_LONGEST_WAIT = 0.1  # [s] between checks for signals


class LcmSubscriberSystem(LeafSystem):
    """Gives the last message that has come on a channel; at first, and while none has come, an empty one.

    Messages may come at any moment and in any thread. A simulation takes in the last one between two steps, after the
    updates that are due then; what is in a Context changes at no other time. `ExecuteForcedEvents` and
    `CalcForcedUnrestrictedUpdate` take it in without a simulation.

    Ports:
        output `y0`: the message.

    State:
        abstract 0: the message; abstract 1: how many had come then.

    Args:
        channel: its name.
        serializer: makes values of messages.
        lcm: receives the messages; a simulation needs an LcmInterfaceSystem with it, unless the program calls
            `HandleSubscriptions` itself.
        wait_for_message_on_initialization_timeout: how long the initialization of a simulation waits for a first
            message [s]; infinity for as long as it takes, 0 or less for not at all.

    Raises:
        RuntimeError: the channel has no name.
        TypeError: an argument is of another type.
    """

    def __init__(
        self,
        channel: str,
        serializer: SerializerInterface,
        lcm: LcmInterfaceSystem | DrakeLcmInterface,
        wait_for_message_on_initialization_timeout: float = 0.0,
    ) -> None:
        super().__init__(converter=SystemScalarConverter())
        if lcm is None or not isinstance(serializer, SerializerInterface):
            raise TypeError(f"LcmSubscriberSystem takes a serializer and a DrakeLcm; given {serializer!r} and {lcm!r}.")
        self._channel, self._serializer = channel, serializer
        self._timeout = float(wait_for_message_on_initialization_timeout)
        self._lcm = interface_of(lcm, "LcmSubscriberSystem")
        self._mailbox = Mailbox(self._lcm, channel)
        self.DeclareAbstractState(serializer.CreateDefaultValue())
        self.DeclareAbstractState(Value(0))
        self.DeclareStateOutputPort(kUseDefaultName, AbstractStateIndex(_MESSAGE))
        self.DeclareForcedUnrestrictedUpdateEvent(self._take_in)
        self.DeclareInitializationUnrestrictedUpdateEvent(self._initialize)
        arrivals = Arrivals(self._has_come, self._has_come, self._mailbox.notification)
        declare_arrivals(self, UnrestrictedUpdateEvent, self._take_in, arrivals)
        self._sys_suggest_name(f"LcmSubscriberSystem({channel})")

    @staticmethod
    def Make(
        channel: str,
        lcm_type: Any,
        lcm: LcmInterfaceSystem | DrakeLcmInterface,
        use_cpp_serializer: bool = False,
        *,
        wait_for_message_on_initialization_timeout: float = 0.0,
    ) -> LcmSubscriberSystem:
        """Returns a subscriber of messages of a type.

        Args:
            channel: its name.
            lcm_type: type of the messages, see PySerializer.
            lcm: receives the messages.
            use_cpp_serializer: whether the values are for this package's blocks; then `lcm_type` may also be the class
                of that name from an installed drake.
            wait_for_message_on_initialization_timeout: as of the constructor.
        """
        serializer = serializer_for(lcm_type, use_cpp_serializer)
        return LcmSubscriberSystem(channel, serializer, lcm, wait_for_message_on_initialization_timeout)

    def WaitForMessage(
        self, old_message_count: int, message: AbstractValue | None = None, timeout: float = -1.0
    ) -> int:
        """Waits until more messages have come than a number; some other thread has to call `HandleSubscriptions`.

        Args:
            old_message_count: the number.
            message: is set to the last message, if one has come.
            timeout: how long to wait at most [s]; 0 or less for as long as it takes.

        Returns:
            How many messages have come.

        Raises:
            ValueError: `message` is given, and the last message is damaged.
        """
        end = time.monotonic() + timeout
        while self._mailbox.count() <= old_message_count:
            left = end - time.monotonic() if timeout > 0.0 else _LONGEST_WAIT
            if left <= 0.0:
                return self._mailbox.count()
            self._mailbox.wait_for(old_message_count, min(left, _LONGEST_WAIT))
        data, count = self._mailbox.read()
        if message is not None and data is not None:
            self._deserialize(data, message)
        return count

    def _has_come(self, context: Context) -> bool:
        count: int = context.get_abstract_state(_COUNT).get_value()
        return count != self._mailbox.count()

    def _take_in(self, context: Context, state: State) -> EventStatus:
        data, count = self._mailbox.read()
        if data is not None:
            self._deserialize(data, state.get_mutable_abstract_state(_MESSAGE))
        state.get_mutable_abstract_state(_COUNT).set_value(count)
        return DID_ITS_WORK

    def _deserialize(self, data: bytes, value: AbstractValue) -> None:
        """Sets a value to what a message says; a message that is damaged is forgotten, so that it fails once."""
        try:
            self._serializer.Deserialize(data, value)
        except Exception as error:
            self._mailbox.discard(data)
            error.add_note(f"in a message on channel '{self._channel}' at {self._lcm.get_lcm_url()}")
            raise

    def _initialize(self, context: Context, state: State) -> EventStatus:
        if self._mailbox.count() == 0 and self._timeout > 0.0:
            _logger.info("Waiting for messages on %s", self._channel)
            end = time.monotonic() + self._timeout
            while self._mailbox.count() == 0:
                left = end - time.monotonic()
                if left <= 0.0:
                    raise RuntimeError(
                        f"System '{self.GetSystemPathname()}' has waited {self._timeout} s for a message on channel "
                        f"'{self._channel}' at {self._lcm.get_lcm_url()}, and none has come."
                    )
                self._lcm.HandleSubscriptions(round(1e3 * min(left, _LONGEST_WAIT)))
        return self._take_in(context, state) if self._has_come(context) else DID_NOTHING
