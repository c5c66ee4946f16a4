"""WrapToSystem: brings angles and other periodic signals back into one period."""

from __future__ import annotations

import numpy as np

from merganser.framework.core.context import Context
from merganser.framework.core.indices import kUseDefaultName
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.native_code import FAILURE, OUTPUT, InputOf, NativeCode
from merganser.framework.core.values import BasicVector
from merganser.framework.math.matrix_functions import wrap_to
from merganser.framework.primitives._arguments import checked_size
from merganser.framework.primitives._updatable_code import UpdatableCode

__all__ = ["WrapToSystem"]


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
        port = self.DeclareVectorOutputPort(kUseDefaultName, size, self._calc_output, {self._u.ticket()})
        self._code = UpdatableCode(self._native_code)
        port.cache_entry().use_native(self._code)

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
        self._code.renew()

    def _native_code(self) -> NativeCode:
        intervals = [item for i, limits in self._intervals.items() for item in (i, np.array(limits))]
        sizes = (FAILURE, self._u.size(), InputOf(0), OUTPUT, len(self._intervals))
        return NativeCode("wrap", (*sizes, *intervals))

    def _calc_output(self, context: Context, output: BasicVector) -> None:
        output.SetFrom(self._u.EvalBasicVector(context))
        y = output.get_mutable_value()
        for index, (low, high) in self._intervals.items():
            y[index] = wrap_to(y[index], low, high)
