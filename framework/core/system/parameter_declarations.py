"""Declarations of parameters of a leaf system."""

from __future__ import annotations

from typing import Any

from merganser.framework.common.errors import Where
from merganser.framework.common.indices import AbstractParameterIndex, DependencyTicket, NumericParameterIndex
from merganser.framework.core.values.arguments import checked_model_value, checked_units
from merganser.framework.core.values.values import AbstractValue, BasicVector


class ParameterDeclarations:
    """What a leaf system declares of parameters."""

    _sys_numeric_parameter_names: tuple[str, ...] = ()
    _sys_numeric_parameter_units: tuple[str | None, ...] = ()

    def DeclareNumericParameter(
        self: Any, model_vector: BasicVector, *, name: str | None = None, units: str | None = None
    ) -> NumericParameterIndex:
        """Declares a group of numeric parameters with default values.

        Args:
            model_vector: the default values.
            name: by which native functions, and `SetNumericParameter`, know it.
            units: of the elements, such as "rad/s", in the syntax of pint; see `SetNumericParameter`.

        Raises:
            ValueError: there is a group of this name.
            TypeError: the units are not text.
        """
        index = len(self._sys_numeric_parameter_models)
        where = Where("System '{}', DeclareNumericParameter", self)
        units = None if units is None else checked_units(units, where)
        model = self._checked_model_vector(model_vector, "DeclareNumericParameter")
        self._sys_numeric_parameter_names += (self._new_parameter_name(name, index),)
        self._sys_numeric_parameter_units += (units,)
        self._sys_numeric_parameter_models += (model,)
        self._sys_dependency_table.add_node("pn", f"numeric parameter {index}")
        return NumericParameterIndex(index)

    def DeclareAbstractParameter(self: Any, model_value: AbstractValue) -> AbstractParameterIndex:
        """Declares an abstract parameter with its default value."""
        where = Where("System '{}', DeclareAbstractParameter", self)
        self._sys_abstract_parameter_models += (checked_model_value(model_value, where),)
        index = len(self._sys_abstract_parameter_models) - 1
        self._sys_dependency_table.add_node("pa", f"abstract parameter {index}")
        return AbstractParameterIndex(index)

    def numeric_parameter_ticket(self: Any, index: int) -> DependencyTicket:
        """Depends on numeric parameter group `index`."""
        return self._group_ticket("pn", index, "numeric parameter")

    def abstract_parameter_ticket(self: Any, index: int) -> DependencyTicket:
        """Depends on abstract parameter `index`."""
        return self._group_ticket("pa", index, "abstract parameter")
