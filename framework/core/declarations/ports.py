"""Input and output ports: where values enter and leave a System."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from merganser.framework.common.errors import name_owner
from merganser.framework.common.indices import DependencyTicket, InputPortIndex, OutputPortIndex, PortDataType
from merganser.framework.core.context.store import FixedInputPortValue
from merganser.framework.core.scalars.copying import PartOfSystem
from merganser.framework.core.scalars.scalars import cast_array, has_nan
from merganser.framework.core.values.arguments import checked_units
from merganser.framework.core.values.values import AbstractValue, BasicVector, Value, refuse_mask

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.system.system import System

ValueT = TypeVar("ValueT")  # what `Eval` of a port returns: an array, or the value of an abstract port


class _Port(PartOfSystem, Generic[ValueT]):
    """What input and output ports have in common."""

    _kind: str
    _units: str | None = None

    def __init__(self, system: System, index: int, name: str, size: int | None) -> None:
        self._system = system
        self._index: Any = index
        self._name = name
        self._size = size  # None for abstract ports

    def _owner(self) -> System:
        return self._system

    def get_name(self) -> str:
        """The port's name, unique among the input or output ports of its system."""
        return self._name

    def get_system(self) -> System:
        """The system that the port belongs to."""
        return self._system

    def get_data_type(self) -> PortDataType:
        """Whether the port carries a vector or an abstract value."""
        return PortDataType.kAbstractValued if self._size is None else PortDataType.kVectorValued

    def size(self) -> int:
        """Number of elements of a vector port; 0 for an abstract port."""
        return self._size or 0

    def get_units(self) -> str | None:
        """The units of the elements, such as "rad/s"; None where no units are given."""
        return self._units

    def set_units(self, units: str) -> None:
        """Says in which units the elements are, in the syntax of pint: of a port of a ready-made block, say.

        Wires between ports of different units are refused; plots and tables of logs show them.

        Raises:
            TypeError: the units are not text, or the port carries an abstract value.
        """
        if self._size is None:
            raise TypeError(f"{self.GetFullDescription()} carries an abstract value, which has no units.")
        self._units = checked_units(units, self.GetFullDescription())

    def GetFullDescription(self) -> str:
        """Names the port, its index and its system, for messages."""
        path = self._system.GetSystemPathname()
        return f"{self._kind} port '{self._name}' (index {int(self._index)}) of system '{path}'"

    def _read(self, context: Context) -> BasicVector | AbstractValue:
        """Override: the current value, computed if it is out of date."""
        raise NotImplementedError

    def Eval(self, context: Context) -> ValueT:
        """Returns the current value: a new array for a vector port, the value itself for an abstract port.

        Raises:
            UnconnectedInputError: it is an input port that is neither connected nor fixed.
        """
        value = self._read(context)
        result: Any = value._values.copy() if isinstance(value, BasicVector) else value.get_value()
        return result

    def EvalBasicVector(self, context: Context) -> BasicVector:
        """Returns the current value of a vector port."""
        value = self._read(context)
        if not isinstance(value, BasicVector):
            raise TypeError(f"{self.GetFullDescription()} carries an abstract value, not a vector.")
        return value

    def EvalAbstract(self, context: Context) -> AbstractValue:
        """Returns the current value in a box; that of a vector port holds a BasicVector."""
        value = self._read(context)
        return Value(value) if isinstance(value, BasicVector) else value

    def __repr__(self) -> str:
        what = "abstract" if self._size is None else f"size {self._size}"
        return f"<{self.GetFullDescription()}, {what}>"

    def _scalar_type(self) -> Any:
        return self._system._scalar


class InputPort(_Port[ValueT]):
    """Takes a value from the output port it is connected to, or from `FixValue`."""

    _kind = "Input"

    def __init__(
        self,
        system: System,
        index: int,
        name: str,
        model: BasicVector | AbstractValue | None,
        size: int | None,
        ticket: DependencyTicket | None = None,
        node: int = -1,
        random_type: Any = None,
    ) -> None:
        super().__init__(system, InputPortIndex(index), name, size)
        self._model: Any = model
        self._ticket = ticket
        self._node = node
        self._random_type = random_type

    def _counterpart_in(self, system: Any) -> InputPort:
        port: InputPort = system._sys_input_ports[self._index]
        return port

    def get_index(self) -> InputPortIndex:
        """Position among the system's input ports."""
        return self._index

    def ticket(self) -> DependencyTicket:
        """Ticket for computations that depend on this port."""
        if self._ticket is None:
            raise RuntimeError(f"{self.GetFullDescription()} has no ticket: only ports of leaf systems do.")
        return self._ticket

    def get_random_type(self) -> Any:
        """The distribution from which random inputs should be drawn, or None."""
        return self._random_type

    def _read(self, context: Context) -> BasicVector | AbstractValue:
        """The current value, computed if it is out of date."""
        if getattr(context, "system", None) is not self._system:
            raise _foreign_context(self, context)
        value = context.read_input(self._index)
        return context.require_input(self._index) if value is None else value

    def HasValue(self, context: Context) -> bool:
        """Whether the port is connected or fixed."""
        if getattr(context, "system", None) is not self._system:
            raise _foreign_context(self, context)
        return context.has_input(self._index)

    def FixValue(self, context: Context, value: Any) -> FixedInputPortValue:
        """Gives the port a value in this context; it takes the place of what the port is connected to.

        Args:
            context: of this port's system, or of a subsystem of a larger diagram.
            value: a number or an array of the port's size for a vector port; anything for an abstract port.

        Raises:
            ValueError: the value has the wrong size.
            TypeError: the value is no vector of numbers, or has another type than the port's model value.
        """
        if getattr(context, "system", None) is not self._system:
            raise _foreign_context(self, context)
        checked = self._checked_value(value)
        if self._size is not None and checked.dtype.kind in "cO" and context.store.flat.dtype.kind == "f":
            kind = "complex numbers" if checked.dtype.kind == "c" else type(checked[0]).__name__
            raise TypeError(f"{self.GetFullDescription()} cannot be fixed to {kind} in a context of floats.")
        return context.fix_input(self._index, checked)

    def Allocate(self) -> AbstractValue:
        """Returns a box with a value of the port's type."""
        if self._size is None:
            return self._model.Clone()
        return Value(cast_array(self._default_value(), self._system._scalar))

    def _default_value(self) -> Any:
        """Zeros or the model's elements for a vector port; the model value for an abstract port."""
        if self._size is None:
            return self._model.Clone()
        if self._model is None or has_nan(self._model._values):
            return np.zeros(self._size)
        return self._model._values

    def _checked_value(self, value: Any) -> Any:
        if isinstance(value, AbstractValue) and self._size is not None:
            value = value.get_value()
        if self._size is not None:
            array = refuse_mask(value._values if isinstance(value, BasicVector) else value)
            if array.shape == (self._size,) and array.dtype.kind == "f":  # nearly always
                return array
            array = np.atleast_1d(array)
            if array.dtype.kind not in "biufcO":
                raise TypeError(f"{self.GetFullDescription()} takes numbers; cannot fix it to {value!r}.")
            if array.size != self._size or (array.ndim > 1 and 1 not in array.shape):
                raise ValueError(
                    f"{self.GetFullDescription()} has size {self._size}; cannot fix it to a value of shape "
                    f"{array.shape}."
                )
            return array.reshape(self._size)
        box = value if isinstance(value, AbstractValue) else Value(value)
        expected = type(self._model.get_value()) if self._model is not None else object
        if expected not in (object, type(None)) and not isinstance(box.get_value(), expected):
            raise TypeError(
                f"{self.GetFullDescription()} takes values of type {expected.__name__}; "
                f"got {type(box.get_value()).__name__}."
            )
        return box.Clone()


class OutputPort(_Port[ValueT]):
    """Gives a value that its system computes."""

    _kind = "Output"

    def __init__(
        self, system: System, index: int, name: str, size: int | None, leaf_port: LeafOutputPort | None = None
    ) -> None:
        super().__init__(system, OutputPortIndex(index), name, size)
        self._leaf_port: Any = self if leaf_port is None else leaf_port  # the leaf system's port behind this one

    def _counterpart_in(self, system: Any) -> OutputPort:
        port: OutputPort = system._sys_output_ports[self._index]
        return port

    def get_index(self) -> OutputPortIndex:
        """Position among the system's output ports."""
        return self._index

    def get_units(self) -> str | None:
        """The units of the elements; those of the port inside where a diagram's port has none of its own."""
        return self._units or (None if self._leaf_port is self else self._leaf_port.get_units())

    def Allocate(self) -> AbstractValue:
        """Returns a box with a value of the port's type."""
        leaf_port = self._leaf_port
        entry = leaf_port._system._sys_cache_entries[leaf_port._entry_number]
        if isinstance(entry.model, BasicVector):
            return Value(entry.model._cast(self._system._scalar))
        return entry.allocate_value()

    def _read(self, context: Context) -> BasicVector | AbstractValue:
        """The current value, computed if it is out of date."""
        if getattr(context, "system", None) is not self._system:
            raise _foreign_context(self, context)
        leaf_port = self._leaf_port
        layout = context.layout.root.of_system[id(leaf_port._system)]
        store = context.store
        slot = store.slots[layout.first_bit + leaf_port._entry_number]  # type: ignore[attr-defined]
        if store.invalid & slot.bit:
            slot.compute()
        value = slot.made
        return slot.value if value is None else value


class LeafOutputPort(OutputPort[ValueT]):
    """An output port of a leaf system, with its cache entry."""

    def __init__(self, system: Any, index: int, name: str, size: int | None, entry_number: int) -> None:
        super().__init__(system, index, name, size)
        self._entry_number = entry_number

    def ticket(self) -> DependencyTicket:
        """Ticket for computations that depend on this port."""
        return self._system._sys_cache_entries[self._entry_number].ticket()  # type: ignore[attr-defined]

    def disable_caching_by_default(self) -> None:
        """Disables caching of the port's value in the contexts that are made from now on."""
        self.cache_entry().disable_caching_by_default()

    def cache_entry(self) -> Any:
        """The cache entry that keeps the port's value."""
        return self._system._sys_cache_entries[self._entry_number]  # type: ignore[attr-defined]

    def _read(self, context: Context) -> BasicVector | AbstractValue:
        own: Any = context  # a LeafContext
        if getattr(own, "system", None) is not self._system:
            raise _foreign_context(self, context)
        try:
            value: BasicVector | AbstractValue = own.read_entry(self._entry_number)
            return value
        except IndexError:
            if self._entry_number < len(own.slots):
                raise  # by what computes the value
            raise RuntimeError(
                f"{self.GetFullDescription()} was declared after this Context was made. Declare it before."
            ) from None


def _foreign_context(port: _Port, context: Any) -> Exception:
    """The exception for a port evaluated with the context of another system."""
    from merganser.framework.core.context.context import Context

    if not isinstance(context, Context):
        return TypeError(f"{port.GetFullDescription()} needs a Context; got {type(context).__name__}.")
    return ValueError(
        f"{port.GetFullDescription()} was given the context of {name_owner(context, port.get_system())}. "
        "Pass the context of the port's own system: system.GetMyContextFromRoot(root_context)."
    )
