"""LcmScopeSystem: a vector as a message, for programs that plot signals."""

from __future__ import annotations

from typing import Any

from merganser.framework.common.indices import PortDataType
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.ports import OutputPort
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.core.values.arguments import checked_size, require_types
from merganser.framework.core.values.values import AbstractValue, Value
from merganser.framework.lcm.drake_lcm import DrakeLcmInterface
from merganser.framework.lcm.lcm_interface_system import LcmInterfaceSystem
from merganser.framework.lcm.lcm_publisher_system import LcmPublisherSystem
from merganser.framework.lcm.message import microseconds
from merganser.framework.lcm.messages.signals import lcmt_scope


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
