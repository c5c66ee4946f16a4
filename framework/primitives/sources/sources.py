"""Blocks without inputs: constants."""

from __future__ import annotations

from numpy.typing import ArrayLike

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import copy
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.values import AbstractValue, BasicVector
from merganser.framework.primitives._arguments import checked_vector

__all__ = ["ConstantValueSource", "ConstantVectorSource"]


class ConstantVectorSource(LeafSystem):
    """Gives a constant vector, y0 = source_value.

    The value is a numeric parameter, so that each Context may have its own.

    Args:
        source_value: the default value, a vector or a BasicVector (of which the output then has the type).
    """

    _keeps_derivatives = True

    def __init__(self, source_value: ArrayLike | BasicVector) -> None:
        super().__init__()
        if isinstance(source_value, BasicVector):
            model = source_value.Clone()
        else:
            model = BasicVector(checked_vector(source_value, "ConstantVectorSource: source_value"))
        self._value_index = self.DeclareNumericParameter(model)
        self.DeclareVectorOutputPort(kUseDefaultName, model, copy.given(source=self._value_index))

    def get_source_value(self, context: Context) -> BasicVector:
        """Returns the value that the block has in this context."""
        self.ValidateContext(context)
        return context.get_numeric_parameter(self._value_index)

    def get_mutable_source_value(self, context: Context) -> BasicVector:
        """Returns the value that the block has in this context, for changing it."""
        self.ValidateContext(context)
        return context.get_mutable_numeric_parameter(self._value_index)


class ConstantValueSource(LeafSystem):
    """Gives a constant abstract value at y0.

    Args:
        value: the box with the value; copied.
    """

    def __init__(self, value: AbstractValue) -> None:
        super().__init__()
        if not isinstance(value, AbstractValue):
            raise TypeError(f"ConstantValueSource: expected a Value, got {type(value).__name__}; write Value(...).")
        self._value = value.Clone()
        self.DeclareAbstractOutputPort(kUseDefaultName, self._value.Clone, self._calc_output, {self.nothing_ticket()})

    def _calc_output(self, context: Context, output: AbstractValue) -> None:
        output.SetFrom(self._value)
