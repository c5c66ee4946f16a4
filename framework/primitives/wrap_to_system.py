"""WrapToSystem: brings angles and other periodic signals back into one period."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import Changing
from merganser.framework.core.scalars.element_functions import is_finite, put
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.math.matrix_functions import wrap_to
from merganser.framework.primitives._arguments import checked_size

__all__ = ["WrapToSystem"]

Array = NDArray[Any]


@native
def wrapped(u: Array, wrapped_elements: Array, limits: Array, y: Array) -> bool:
    """y = u, some elements wrapped to an interval, a row of `limits`; returns whether one of them is not finite."""
    put(u, y, 0)
    for k in range(len(wrapped_elements)):
        i = wrapped_elements[k]
        if not is_finite(u[i]):
            return True
        y[i] = wrap_to(u[i], limits[k, 0], limits[k, 1])
    return False


class WrapToSystem(LeafSystem):
    """Shifts elements of its input by whole periods into intervals [low, high); others are passed on.

    Args:
        size: number of elements, at least one.

    Raises:
        ValueError: there are no elements.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self._intervals: dict[int, tuple[float, float]] = {}
        size = checked_size(size, "WrapToSystem: size", 1)
        self._u = self.DeclareVectorInputPort(kUseDefaultName, size)
        self._wrapped, self._limits = Changing(np.zeros(0, np.int64)), Changing(np.zeros((0, 2)))
        calc = wrapped.given(u=self._u, wrapped_elements=self._wrapped, limits=self._limits).or_raise(self._explain)
        self.DeclareVectorOutputPort(kUseDefaultName, size, calc)

    def set_interval(self, index: int, low: float, high: float) -> None:
        """Wraps element `index` to [low, high) from now on.

        Raises:
            IndexError: there is no such element.
            ValueError: the interval is empty or not finite.
        """
        where = f"System '{self.GetSystemPathname()}'"
        if not 0 <= index < self._u.size():
            raise IndexError(f"{where} has {self._u.size()} elements; cannot wrap element {index}.")
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise ValueError(f"{where}: expected a finite interval with low < high, got [{low}, {high}).")
        self._intervals[int(index)] = (float(low), float(high))
        self._limits.set(np.array(list(self._intervals.values())))  # first, so that none is missing in between
        self._wrapped.set(np.array(list(self._intervals)))

    def _explain(self, context: Context) -> None:
        """Raises an exception for an input that cannot be wrapped."""
        u = self._u.EvalBasicVector(context).value()
        for index, (low, high) in self._intervals.items():
            wrap_to(u[index], low, high)
