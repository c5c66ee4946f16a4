"""Integrator: the integral of a signal over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import copy
from merganser.framework.core.inside import declare_derivatives
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives._arguments import checked_size, checked_vector

__all__ = ["Integrator"]


class Integrator(LeafSystem):
    """Integrates its input over time: dz/dt = u0, y0 = z.

    Args:
        size: number of elements, for an integral that starts at zero; or a vector, its initial value (also as
            `initial_value=`).
    """

    _keeps_derivatives = True

    def __init__(self, size: int | ArrayLike | None = None, *, initial_value: ArrayLike | None = None) -> None:
        super().__init__()
        if (size is None) == (initial_value is None):
            raise TypeError("Integrator takes either a size or an initial_value.")
        if isinstance(size, (int, np.integer)):
            start = np.zeros(checked_size(size, "Integrator: size"))
        else:
            value: Any = size if initial_value is None else initial_value
            start = checked_vector(value, "Integrator: initial_value")
        self._u = self.DeclareVectorInputPort(kUseDefaultName, start.size)
        state_index = self.DeclareContinuousState(BasicVector(start))
        declare_derivatives(self, copy.given(source=self._u), of=Integrator)
        self.DeclareStateOutputPort(kUseDefaultName, state_index)

    def set_default_integral_value(self, initial_value: ArrayLike) -> None:
        """Sets the value that the integral has in contexts made from now on, shape [size].

        Raises:
            ValueError: wrong size.
        """
        self.DeclareContinuousState(BasicVector(self._checked_integral(initial_value)))

    def set_integral_value(self, context: Context, value: ArrayLike) -> None:
        """Sets the value of the integral in a context, shape [size].

        Raises:
            ValueError: wrong size.
        """
        self.ValidateContext(context)
        context.SetContinuousState(self._checked_integral(value))

    def _checked_integral(self, value: ArrayLike) -> NDArray[Any]:
        where = f"Integrator '{self.GetSystemPathname()}'"
        vector = checked_vector(value, f"{where}: integral value")
        if vector.size != self._u.size():
            raise ValueError(f"{where} has size {self._u.size()}; got {vector.size} elements.")
        return vector
