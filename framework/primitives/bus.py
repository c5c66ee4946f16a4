"""Blocks that pack named signals into one port and unpack them: BusCreator and BusSelector."""

from __future__ import annotations

import functools
from typing import Any

from merganser.framework.common.errors import nearest_names
from merganser.framework.common.indices import UseDefaultName, kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import OUTPUT, NativeCode, ValueOf
from merganser.framework.core.context.store import CacheSlot
from merganser.framework.core.declarations.ports import LeafOutputPort
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.bus_value import BusValue
from merganser.framework.core.values.values import AbstractValue, BasicVector, Value
from merganser.framework.primitives._arguments import checked_size


class BusCreator(LeafSystem):
    """Packs the values of its inputs into a BusValue, under the names of the ports.

    `DeclareVectorInputPort(name, size)` and `DeclareAbstractInputPort(name, model_value)` add inputs. An input that is
    not connected is left out of the bus. The value of a vector port is stored there as a BasicVector.

    Args:
        output_port_name: of the output port.
    """

    def __init__(self, output_port_name: str | UseDefaultName = kUseDefaultName) -> None:
        super().__init__()
        prerequisites = {self.all_input_ports_ticket()}
        self.DeclareAbstractOutputPort(output_port_name, _new_bus, self._calc_bus, prerequisites)

    def _calc_bus(self, context: Context, output: AbstractValue) -> None:
        bus = output.get_mutable_value()
        bus.Clear()
        for port in self._sys_input_ports:
            value = self.EvalAbstractInput(context, int(port.get_index()))
            if value is not None:
                bus.Set(port.get_name(), value)


class BusSelector(LeafSystem):
    """Unpacks signals of a BusValue: each output port gives the signal of its name.

    Signals for which there is no output port are ignored.

    Args:
        input_port_name: of the input port.
    """

    def __init__(self, input_port_name: str | UseDefaultName = kUseDefaultName) -> None:
        super().__init__()
        self._bus = self.DeclareAbstractInputPort(input_port_name, _new_bus())

    def DeclareVectorOutputPort(self, name: str | UseDefaultName, size: int) -> LeafOutputPort:  # type: ignore[override]
        """Adds an output port for the signal of the same name, a BasicVector of that size.

        Raises:
            ValueError: there is an output port of that name.
        """
        size = checked_size(size, f"System '{self.GetSystemPathname()}': size of an output")
        signal = self._sys_new_port_name(name, self._sys_output_ports, "y", "output")
        port = super().DeclareVectorOutputPort(name, size, functools.partial(self._calc_vector, signal), self._needs())
        port.cache_entry().use_native(_CodeOfSignal(signal, size))
        return port

    def DeclareAbstractOutputPort(  # type: ignore[override]
        self, name: str | UseDefaultName, model_value: AbstractValue
    ) -> LeafOutputPort:
        """Adds an output port for the signal of the same name, of the type of the value in `model_value`.

        Raises:
            ValueError: there is an output port of that name.
        """
        if not isinstance(model_value, AbstractValue):
            raise TypeError(f"model_value must be a Value, got {type(model_value).__name__}; write Value(...).")
        model = model_value.Clone()
        calc = functools.partial(
            self._calc_abstract,
            self._sys_new_port_name(name, self._sys_output_ports, "y", "output"),
            type(model.get_value()),
        )
        return super().DeclareAbstractOutputPort(name, model.Clone, calc, self._needs())

    def _needs(self) -> set[Any]:
        return {self._bus.ticket()}

    def _calc_vector(self, name: str, context: Context, output: BasicVector) -> None:
        signal = self._signal(context, name)
        if not isinstance(signal, BasicVector) or signal.size() != output.size():
            raise self._wrong_signal(name, f"a vector of size {output.size()}", signal)
        output.SetFrom(signal)

    def _calc_abstract(self, name: str, expected: type, context: Context, output: AbstractValue) -> None:
        signal = self._signal(context, name)
        if expected not in (object, type(None)) and not isinstance(signal, expected):
            raise self._wrong_signal(name, f"a value of type {expected.__name__}", signal)
        output.SetFrom(Value(signal))

    def _signal(self, context: Context, name: str) -> Any:
        bus = self._bus.EvalAbstract(context).get_value()
        signal = bus.Find(name)
        if signal is None and name not in list(bus):
            raise RuntimeError(
                f"{self.GetOutputPort(name).GetFullDescription()}: there is no signal of that name on the bus. "
                + nearest_names(name, bus)
            )
        return signal

    def _wrong_signal(self, name: str, expected: str, signal: Any) -> RuntimeError:
        found = f"a vector of size {signal.size()}" if isinstance(signal, BasicVector) else f"a {type(signal).__name__}"
        return RuntimeError(
            f"{self.GetOutputPort(name).GetFullDescription()}: expected {expected} on the bus, got {found}."
        )


class _CodeOfSignal:
    """A signal as an operation that reads past the bus, where that comes right from a BusCreator.

    All signals on the bus must be computed by operations, as Python computes all of them.

    Args:
        name: of the signal.
        size: number of its elements.
    """

    operation = ""

    def __init__(self, name: str, size: int) -> None:
        self._name, self._size = name, size

    def resolve(self, context: Context) -> NativeCode | None:
        """The operation; None if it must run in Python."""
        bus = context.sources[0]
        creator = bus.context.system if isinstance(bus, CacheSlot) else None
        if not isinstance(creator, BusCreator) or not creator.HasInputPort(self._name):
            return None
        port, inputs = creator.GetInputPort(self._name), bus.context.sources
        source = inputs[int(port.get_index())]
        if source is None or port._size != self._size:
            return None
        slots = tuple(source for source in inputs if isinstance(source, CacheSlot))
        arguments = self._size, ValueOf(source), OUTPUT
        return NativeCode("copy", arguments, unasked=slots, sources=slots)


def _new_bus() -> Value:
    return Value(BusValue())
