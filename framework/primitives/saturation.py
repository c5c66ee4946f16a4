"""Saturation: a signal kept within limits."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import InputOr
from merganser.framework.core.declarations.ports import InputPort
from merganser.framework.core.scalars.element_functions import are_ordered, elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.math.element_functions import clamp
from merganser.framework.primitives._arguments import checked_size, checked_vector

__all__ = ["Saturation"]

Array = NDArray[Any]


@native
def saturated(u: Array, low: Array, high: Array, y: Array) -> None:
    """y = u within low and high, element by element."""
    for i in elements(y):
        y[i] = clamp(u[i], low[i], high[i])


@native
def saturated_by_inputs(u: Array, low: Array, high: Array, y: Array) -> bool:
    """y = u within limits; empty ones are none. Returns whether both are empty, or a lower one is above its upper."""
    if len(low) == 0 and len(high) == 0:
        return True
    for i in elements(y):
        least = low[i] if len(low) > 0 else -math.inf
        most = high[i] if len(high) > 0 else math.inf
        if not are_ordered(least, most):
            return True
        y[i] = clamp(u[i], least, most)
    return False


class Saturation(LeafSystem):
    """Keeps each element of its input within limits: y0 = u_min if u0 < u_min, u_max if u0 > u_max, else u0.

    Limits are constants, or inputs: `Saturation(input_size=n)` has the ports u1, the upper limits, and u2, the lower
    ones. One of these two may stay unconnected, for no limit on that side.

    Args:
        min_value: lower limits, shape [n]; -inf for none.
        max_value: upper limits, shape [n]; inf for none.
        input_size: n, for limits that are inputs.

    Raises:
        ValueError: there are no elements, sizes differ, or a lower limit is above the upper one. For limits that are
            inputs this is found when the output is computed.
    """

    @overload
    def __init__(self, min_value: ArrayLike, max_value: ArrayLike) -> None: ...
    @overload
    def __init__(self, input_size: int) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._max_port: InputPort | None = None
        self._min_port: InputPort | None = None
        if len(args) + len(kwargs) == 1 and "min_value" not in kwargs and "max_value" not in kwargs:
            given = bind_overload("Saturation", ("input_size",), {}, args, kwargs)
            size = checked_size(given["input_size"], "Saturation: input_size", 1)
        else:
            given = bind_overload("Saturation", ("min_value", "max_value"), {}, args, kwargs)
            low, high = (checked_vector(given[name], f"Saturation: {name}") for name in given)
            size = _checked_limits(low, high)
        self._u = self.DeclareVectorInputPort(kUseDefaultName, size)
        if "input_size" in given:
            self._max_port = self.DeclareVectorInputPort(kUseDefaultName, size)
            self._min_port = self.DeclareVectorInputPort(kUseDefaultName, size)
            calc = saturated_by_inputs.given(low=InputOr(self._min_port, []), high=InputOr(self._max_port, []))
            calc = calc.or_raise(self._explain)
        else:
            calc = saturated.given(low=low, high=high)
        self.DeclareVectorOutputPort(kUseDefaultName, size, calc.given(u=self._u))

    def get_min_value_port(self) -> InputPort:
        """Returns the input port of the lower limits.

        Raises:
            RuntimeError: the limits are constants.
        """
        return self._limit_port(self._min_port)

    def get_max_value_port(self) -> InputPort:
        """Returns the input port of the upper limits.

        Raises:
            RuntimeError: the limits are constants.
        """
        return self._limit_port(self._max_port)

    def _limit_ports(self) -> tuple[InputPort, InputPort]:
        """The ports of lower and upper limits."""
        return self.get_min_value_port(), self.get_max_value_port()

    def _limit_port(self, port: InputPort | None) -> InputPort:
        if port is None:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' has constant limits and so no ports for them; make it as "
                "Saturation(input_size=n) to have limits as inputs."
            )
        return port

    def _explain(self, context: Context) -> None:
        """Raises an exception for limits that allow no output."""
        lower, upper = (self.EvalVectorInput(context, port.get_index()) for port in self._limit_ports())
        if lower is None and upper is None:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' has no limits: neither its input port 'u1' (upper limits) nor "
                "'u2' (lower limits) is connected. Connect one of them, or call port.FixValue(context, value)."
            )
        low = np.full(self._u.size(), -np.inf) if lower is None else lower.value()
        high = np.full(self._u.size(), np.inf) if upper is None else upper.value()
        i = np.flatnonzero(~(low.real <= high.real))[0]
        raise ValueError(
            f"System '{self.GetSystemPathname()}': lower limits must not be above upper ones; element {i} of "
            f"input port 'u2' is {low[i]}, of 'u1' {high[i]}."
        )


def _checked_limits(low: Array, high: Array) -> int:
    if low.size != high.size or low.size == 0:
        raise ValueError(
            f"Saturation: min_value and max_value must have the same number of elements, at least one; got {low.size} "
            f"and {high.size}."
        )
    wrong = np.flatnonzero(~(low <= high))
    if wrong.size:
        i = wrong[0]
        raise ValueError(
            f"Saturation: lower limits must not be above upper ones; element {i} of min_value is {low[i]}, of "
            f"max_value {high[i]}."
        )
    return low.size
