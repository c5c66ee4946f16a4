"""ZeroOrderHold: samples a signal periodically and keeps the sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import copy
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.state import State
from merganser.framework.core.values.values import AbstractValue
from merganser.framework.primitives._arguments import checked_period, checked_size

__all__ = ["ZeroOrderHold"]


class ZeroOrderHold(LeafSystem):
    """Gives the value that its input had at the latest sample time: y(t) = u(offset + k period).

    Its output does not depend on its input at the same instant, so that it breaks algebraic loops.

    Args:
        period_sec: time between two samples [s].
        vector_size: number of elements; or a box with the initial abstract value (also as
            `abstract_model_value=`).
        offset_sec: time of the first sample [s].
    """

    def __init__(
        self,
        period_sec: float,
        vector_size: int | AbstractValue | None = None,
        offset_sec: float = 0.0,
        *,
        abstract_model_value: AbstractValue | None = None,
    ) -> None:
        super().__init__()
        if (vector_size is None) == (abstract_model_value is None):
            raise TypeError("ZeroOrderHold takes either a vector_size or an abstract_model_value.")
        self._period = checked_period(period_sec, "ZeroOrderHold: period_sec")
        self._offset = checked_period(offset_sec, "ZeroOrderHold: offset_sec")
        if self._period == 0.0:
            raise ValueError("ZeroOrderHold: period_sec must be positive, got 0.")
        model = vector_size if abstract_model_value is None else abstract_model_value
        if isinstance(model, AbstractValue):
            self._u = self.DeclareAbstractInputPort("u", model)
            self.DeclareStateOutputPort("y", self.DeclareAbstractState(model))
            self.DeclarePeriodicUnrestrictedUpdateEvent(self._period, self._offset, self._latch_abstract)
        else:
            size = checked_size(model, "ZeroOrderHold: vector_size")
            self._u = self.DeclareVectorInputPort("u", size)
            self.DeclareStateOutputPort("y", self.DeclareDiscreteState(np.zeros(size)))
            self.DeclarePeriodicDiscreteUpdateEvent(self._period, self._offset, copy.given(source=self._u))

    def period(self) -> float:
        """Returns the time between two samples [s]."""
        return self._period

    def offset(self) -> float:
        """Returns the time of the first sample [s]."""
        return self._offset

    def SetVectorState(self, context: Context, value: ArrayLike) -> None:
        """Sets the sample that is being held in a context, for vector-valued holds.

        Raises:
            ValueError: wrong size.
        """
        self.ValidateContext(context)
        context.SetDiscreteState(0, value)

    def _latch_abstract(self, context: Context, state: State) -> None:
        state.get_mutable_abstract_state(0).SetFrom(self._u.EvalAbstract(context))
