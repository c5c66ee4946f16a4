"""PortSwitch: passes on one of several inputs."""

from __future__ import annotations

from typing import Any

from merganser.framework.common.indices import InputPortIndex
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import FAILURE, OUTPUT, InputOf, NativeCode, ValueOf
from merganser.framework.core.context.store import CacheSlot
from merganser.framework.core.declarations.ports import InputPort
from merganser.framework.core.inside import declare_vector_entry, input_ports
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.values import AbstractValue, BasicVector, Value
from merganser.framework.primitives._arguments import checked_size

__all__ = ["PortSwitch"]

_NO_PORT = InputPortIndex(-1)


class PortSwitch(LeafSystem):
    """Gives, at 'value', the value of the input port whose InputPortIndex it gets at 'port_selector'.

    Other inputs are not evaluated. After construction, `DeclareInputPort(name)` adds the inputs to choose from.

    Args:
        vector_size: number of elements of each input and of the output, at least one; or a box with a model of
            abstract values.

    Raises:
        ValueError: `vector_size` is less than one.
    """

    def __init__(self, vector_size: int | AbstractValue) -> None:
        super().__init__()
        self._model = vector_size.Clone() if isinstance(vector_size, AbstractValue) else None
        self._selector = self.DeclareAbstractInputPort("port_selector", Value(_NO_PORT))
        prerequisites = {self.all_input_ports_ticket()}
        if self._model is not None:
            self.DeclareAbstractOutputPort("value", self._model.Clone, self._copy_abstract, prerequisites)
        else:
            self._size = checked_size(vector_size, "PortSwitch: vector_size", 1)
            # For compiled code, which cannot look into abstract values.
            number = declare_vector_entry(
                self, "number of the selected port", BasicVector([0.0]), self._calc_number, {self._selector.ticket()}
            )
            prerequisites.add(number.ticket())
            port = self.DeclareVectorOutputPort("value", self._size, self._copy_vector, prerequisites)
            port.cache_entry().use_native(_CodeOfSwitch(number.cache_index()))

    def DeclareInputPort(self, name: str) -> InputPort:  # type: ignore[override]
        """Adds an input to choose from, before any Context is made; returns the port, whose index selects it.

        Raises:
            ValueError: there is an input of that name.
        """
        if self._model is not None:
            return self.DeclareAbstractInputPort(name, self._model)
        return self.DeclareVectorInputPort(name, self._size)

    def get_port_selector_input_port(self) -> InputPort:
        """Returns the input port for the index of the input to pass on, an InputPortIndex."""
        return self._selector

    def _calc_number(self, context: Context, output: BasicVector) -> None:
        output.SetAtIndex(0, float(int(self._selector.EvalAbstract(context).get_value())))

    def _selected(self, context: Context) -> InputPort:
        index = int(self._selector.EvalAbstract(context).get_value())
        if not 0 < index < self.num_input_ports():
            choices = ", ".join(f"{int(p.get_index())} ('{p.get_name()}')" for p in input_ports(self)[1:]) or "none"
            raise RuntimeError(
                f"Input port 'port_selector' of system '{self.GetSystemPathname()}' selects input {index}, which is "
                f"none to choose from; there are {choices}."
            )
        return self.get_input_port(index)

    def _copy_vector(self, context: Context, output: BasicVector) -> None:
        output.SetFrom(self._selected(context).EvalBasicVector(context))

    def _copy_abstract(self, context: Context, output: AbstractValue) -> None:
        output.SetFrom(self._selected(context).EvalAbstract(context))


class _CodeOfSwitch:
    """Passing on one of several vectors as an operation, where all of them are computed by operations.

    Args:
        number_entry: the cache entry that has the number of the selected port.
    """

    operation = ""

    def __init__(self, number_entry: int) -> None:
        self._number_entry = number_entry

    def resolve(self, context: Any) -> NativeCode:
        """The operation."""
        ports = [port for port in range(1, len(context.sources)) if context.has_input(port)]
        choices = [item for port in ports for item in (port, InputOf(port))]
        number = ValueOf(context.slots[self._number_entry])
        sources = (context.sources[port] for port in ports)
        unasked = tuple(source for source in sources if isinstance(source, CacheSlot))
        arguments = FAILURE, context.system._size, number, OUTPUT, len(ports), *choices
        return NativeCode("switch", arguments, unasked=unasked)
