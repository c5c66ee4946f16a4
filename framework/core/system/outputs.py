"""SystemOutput: the values of all output ports of a System at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from merganser.framework.core.system.system_base import SystemBase
from merganser.framework.core.values.values import AbstractValue, BasicVector

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context


class SystemOutput:
    """Room for the values of all output ports; made by `System.AllocateOutput`.

    Args:
        values: one box for each output port; that of a vector port holds a BasicVector.
    """

    __slots__ = ("_values",)

    def __init__(self, values: list[AbstractValue]) -> None:
        self._values = values

    def num_ports(self) -> int:
        """Number of output ports."""
        return len(self._values)

    def get_data(self, index: int) -> AbstractValue:
        """Returns the value of output port `index` in a box; that of a vector port holds a BasicVector."""
        self._check(index)
        return self._values[index]

    def get_vector_data(self, index: int) -> BasicVector:
        """Returns the value of vector output port `index`.

        Raises:
            TypeError: the port carries an abstract value.
        """
        self._check(index)
        value = self._values[index].get_value()
        if not isinstance(value, BasicVector):
            raise TypeError(f"Output port {index} carries an abstract value, not a vector; use get_data({index}).")
        return value

    def GetMutableData(self, index: int) -> AbstractValue:
        """Returns the value of output port `index`, for changing it."""
        return self.get_data(index)

    def GetMutableVectorData(self, index: int) -> BasicVector:
        """Returns the value of vector output port `index`, for changing it."""
        return self.get_vector_data(index)

    def _check(self, index: int) -> None:
        if not 0 <= index < len(self._values):
            raise IndexError(f"There is no output port {index}: there are {len(self._values)}.")

    def _scalar_type(self) -> Any:
        vectors = (box.get_value() for box in self._values)
        return next((vector._scalar_type() for vector in vectors if isinstance(vector, BasicVector)), None)


class OutputMethods(SystemBase):
    """What every System can do with all its outputs at once."""

    def AllocateOutput(self) -> SystemOutput:
        """Returns room for the values of all output ports."""
        return SystemOutput([port.Allocate() for port in self._sys_output_ports])

    def CalcOutput(self, context: Context, outputs: SystemOutput) -> None:
        """Copies the current values of all output ports into `outputs`, computing those that are out of date.

        Raises:
            ValueError: `outputs` was made by a system with another number of output ports.
        """
        self.ValidateContext(context)
        if not isinstance(outputs, SystemOutput):
            raise TypeError(
                f"CalcOutput: system '{self.GetSystemPathname()}' needs a SystemOutput, made by AllocateOutput(); got "
                f"{type(outputs).__name__}."
            )
        if outputs.num_ports() != len(self._sys_output_ports):
            raise ValueError(
                f"CalcOutput: system '{self.GetSystemPathname()}' has {len(self._sys_output_ports)} output ports, but "
                f"`outputs` has room for {outputs.num_ports()}; make it with AllocateOutput of the same system."
            )
        for port, box in zip(self._sys_output_ports, outputs._values):
            value = port._read(context)
            if isinstance(value, BasicVector):
                box.get_value().SetFrom(value)
            else:
                box.SetFrom(value)
