"""VectorSystem: a leaf system with one vector input, one vector output and one kind of state, written on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.errors import Where, call_to_write
from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.core.values.state import ContinuousState, DiscreteValues
from merganser.framework.core.values.values import BasicVector

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context

Array = NDArray[Any]


class VectorSystem(LeafSystem):
    """A block y = g(u, x) with dx/dt = f(u, x) or x[n+1] = f(u, x).

    A subclass declares its state in `__init__`, either continuous or one discrete group, and overrides
    `DoCalcVectorOutput`, `DoCalcVectorTimeDerivatives` and `DoCalcVectorDiscreteVariableUpdates` as needed. These
    get plain arrays; the last argument is to be filled in. The discrete update is a forced event; to have it happen
    periodically, declare an event with `self.CalcDiscreteUpdate` as its handler.

    Args:
        input_size: number of elements of the input port; without a port if 0.
        output_size: number of elements of the output port; without a port if 0.
        direct_feedthrough: False says that the output does not depend directly on the input; then
            `DoCalcVectorOutput` gets an empty input.
        converter: how to make the same system for other scalars, see `LeafSystem`.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        direct_feedthrough: bool | None = None,
        converter: SystemScalarConverter | None = None,
    ) -> None:
        super().__init__(converter)
        self._sys_feeds_through = direct_feedthrough is not False
        if input_size:
            self.DeclareVectorInputPort(kUseDefaultName, input_size)
        if output_size:
            sources = self.all_sources_ticket if self._sys_feeds_through else self.all_sources_except_input_ports_ticket
            self.DeclareVectorOutputPort(kUseDefaultName, output_size, self._calc_output, {sources()})
        self.DeclareForcedDiscreteUpdateEvent(self.CalcDiscreteUpdate)

    def DeclareContinuousState(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse_mixed_state(bool(self._sys_discrete_models))
        return super().DeclareContinuousState(*args, **kwargs)

    def DeclareDiscreteState(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse_mixed_state(bool(self._sys_discrete_models) or sum(self._sys_continuous_sizes) > 0)
        return super().DeclareDiscreteState(*args, **kwargs)

    def _refuse_mixed_state(self, has_other: bool) -> None:
        if has_other:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}': a VectorSystem has either continuous state or one group of "
                "discrete state; for more, derive from LeafSystem."
            )

    # ------------------------------------------------------------------ overrides

    def DoCalcVectorOutput(self, context: Context, input: Array, state: Array, output: Array, /) -> None:
        """Override: fills in the output, shape [output_size]."""
        raise self._missing("DoCalcVectorOutput(context, input, state, output)")

    def DoCalcVectorTimeDerivatives(self, context: Context, input: Array, state: Array, derivatives: Array, /) -> None:
        """Override: fills in the time derivatives of the continuous state."""
        raise self._missing("DoCalcVectorTimeDerivatives(context, input, state, derivatives)")

    def DoCalcVectorDiscreteVariableUpdates(
        self, context: Context, input: Array, state: Array, next_state: Array, /
    ) -> None:
        """Override: fills in the next value of the discrete state."""
        raise self._missing("DoCalcVectorDiscreteVariableUpdates(context, input, state, next_state)")

    def _missing(self, method: str) -> Exception:
        return RuntimeError(f"System '{self.GetSystemPathname()}' ({type(self).__name__}) must override {method}.")

    # ------------------------------------------------------------------ from contexts to arrays

    def EvalVectorInput(self, context: Context, port_index: int | None = None) -> Any:
        """Returns the input as an array, empty if there is no port; with an index, as `System.EvalVectorInput`."""
        if port_index is not None:
            return super().EvalVectorInput(context, port_index)
        return self.get_input_port().Eval(context) if self._sys_input_ports else np.empty(0)

    def GetVectorState(self, context: Context) -> Array:
        """Returns a copy of the continuous or discrete state, empty without state."""
        if self._sys_discrete_models:
            return context.get_discrete_state_vector().CopyToVector()
        return context.get_continuous_state_vector().CopyToVector()

    def CalcDiscreteUpdate(self, context: Context, discrete_values: DiscreteValues) -> None:
        """The handler of discrete updates."""
        if self._sys_discrete_models:
            given, state = self.EvalVectorInput(context), self.GetVectorState(context)
            next_state = discrete_values.get_mutable_value()
            where = Where("Discrete update of system '{}'", self)
            call_to_write(where, self.DoCalcVectorDiscreteVariableUpdates, context, given, state, next_state)

    def _calc_output(self, context: Context, output: BasicVector) -> None:
        given = self.EvalVectorInput(context) if self._sys_feeds_through else np.empty(0)
        where, y = Where("Output of system '{}'", self), output.get_mutable_value()
        call_to_write(where, self.DoCalcVectorOutput, context, given, self.GetVectorState(context), y)

    def DoCalcTimeDerivatives(self, context: Context, derivatives: ContinuousState, /) -> None:
        call_to_write(
            Where("Time derivatives of system '{}'", self),
            self.DoCalcVectorTimeDerivatives,
            context,
            self.EvalVectorInput(context),
            self.GetVectorState(context),
            derivatives.get_mutable_vector().get_mutable_value(),
        )
