"""Blocks that multiply and add: Gain and Adder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.primitives._arguments import checked_size, checked_vector

__all__ = ["Adder", "Gain"]

Array = NDArray[Any]


@native
def scaled(k: Array, u: Array, y: Array) -> None:
    """y = k u, element by element."""
    for i in elements(y):
        y[i] = k[i] * u[i]


@native
def summed(u: Sequence[Array], total: Array) -> None:
    """total = u[0] + u[1] + ..."""
    for i in elements(total):
        value = 0.0
        for k in range(len(u)):
            value += u[k][i]
        total[i] = value


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
        u = self.DeclareVectorInputPort(kUseDefaultName, factors.size)
        self.DeclareVectorOutputPort(kUseDefaultName, factors.size, scaled.given(k=factors, u=u))


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
        num_inputs = checked_size(num_inputs, "Adder: num_inputs")
        inputs = [self.DeclareVectorInputPort(kUseDefaultName, size) for _ in range(num_inputs)]
        self.DeclareVectorOutputPort("sum", size, summed.given(u=inputs))
