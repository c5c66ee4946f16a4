"""PortSwitch: passes on one of several inputs."""

from __future__ import annotations

from merganser.framework.core.context import Context
from merganser.framework.core.indices import InputPortIndex
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.ports import InputPort
from merganser.framework.core.values import AbstractValue, BasicVector, Value
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
            self.DeclareVectorOutputPort("value", self._size, self._copy_vector, prerequisites)

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

    def _selected(self, context: Context) -> InputPort:
        index = int(self._selector.EvalAbstract(context).get_value())
        if not 0 < index < len(self._input_ports):
            choices = ", ".join(f"{int(p.get_index())} ('{p.get_name()}')" for p in self._input_ports[1:]) or "none"
            raise RuntimeError(
                f"Input port 'port_selector' of system '{self.GetSystemPathname()}' selects input {index}, which is "
                f"none to choose from; there are {choices}."
            )
        return self._input_ports[index]

    def _copy_vector(self, context: Context, output: BasicVector) -> None:
        output.SetFrom(self._selected(context).EvalBasicVector(context))

    def _copy_abstract(self, context: Context, output: AbstractValue) -> None:
        output.SetFrom(self._selected(context).EvalAbstract(context))
