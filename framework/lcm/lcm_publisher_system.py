"""LcmPublisherSystem and LcmScopeSystem: send their input as a message; the second a vector, for plots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from merganser.framework.common.indices import PortDataType
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.events import TriggerType
from merganser.framework.core.declarations.ports import OutputPort
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.core.values.arguments import checked_number, checked_size, require_types
from merganser.framework.core.values.values import AbstractValue, Value
from merganser.framework.lcm.drake_lcm import DrakeLcmInterface, LcmInterfaceSystem, interface_of
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
