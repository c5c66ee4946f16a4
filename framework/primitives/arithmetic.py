"""Blocks that multiply and add: Gain and Adder."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework.core.context import Context
from merganser.framework.core.indices import kUseDefaultName
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.native_code import OUTPUT, InputOf, NativeCode
from merganser.framework.core.values import BasicVector
from merganser.framework.primitives._arguments import checked_size, checked_vector

__all__ = ["Adder", "Gain"]


class Gain(LeafSystem):
    """Multiplies each element of its input by a constant, y0 = k * u0.

    Args:
        k: one factor for all elements, together with `size`; or a vector of factors, without `size`.
        size: number of elements of input and output.
    """

    _keeps_derivatives = True

    def __init__(self, k: float | ArrayLike, size: int | None = None) -> None:
        super().__init__()
        factors = checked_vector(k, "Gain: k")
        if size is not None:
            if factors.size != 1:
                raise ValueError(f"Gain: `size` goes with a single factor k; got {factors.size} factors.")
            factors = np.repeat(factors, checked_size(size, "Gain: size"))
        self._factors = factors
        self._u = self.DeclareVectorInputPort(kUseDefaultName, factors.size)
        port = self.DeclareVectorOutputPort(kUseDefaultName, factors.size, self._calc_output, {self._u.ticket()})
        port.cache_entry().use_native(NativeCode("gain", (factors.size, factors, InputOf(0), OUTPUT)))

    def _calc_output(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._factors * self._u.EvalBasicVector(context).value())


class Adder(LeafSystem):
    """Adds its inputs element by element, sum = u0 + u1 + ...

    Args:
        num_inputs: number of input ports.
        size: number of elements of each input and of the output.
    """

    _keeps_derivatives = True

    def __init__(self, num_inputs: int, size: int) -> None:
        super().__init__()
        size = checked_size(size, "Adder: size")
        self._inputs = [
            self.DeclareVectorInputPort(kUseDefaultName, size)
            for _ in range(checked_size(num_inputs, "Adder: num_inputs"))
        ]
        port = self.DeclareVectorOutputPort("sum", size, self._calc_sum, {self.all_input_ports_ticket()})
        inputs = (InputOf(i) for i in range(len(self._inputs)))
        port.cache_entry().use_native(NativeCode("add", (size, len(self._inputs), OUTPUT, *inputs)))

    def _calc_sum(self, context: Context, output: BasicVector) -> None:
        total = output.get_mutable_value()
        total[:] = 0
        for port in self._inputs:
            total += port.EvalBasicVector(context).value()
