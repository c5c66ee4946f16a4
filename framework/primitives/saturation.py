"""Saturation: a signal kept within limits."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.arguments import bind_overload
from merganser.framework.core.context import Context
from merganser.framework.core.indices import kUseDefaultName
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.native_code import FAILURE, OUTPUT, InputOf, NativeCode
from merganser.framework.core.ports import InputPort
from merganser.framework.core.values import BasicVector
from merganser.framework.primitives._arguments import checked_size, checked_vector
from merganser.framework.primitives._scalar_functions import clamp

__all__ = ["Saturation"]

Array = NDArray[Any]


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
            self._low, self._high = np.full(size, -np.inf), np.full(size, np.inf)
        else:
            given = bind_overload("Saturation", ("min_value", "max_value"), {}, args, kwargs)
            self._low, self._high = (checked_vector(given[name], f"Saturation: {name}") for name in given)
            size = _checked_limits(self._low, self._high)
        self._u = self.DeclareVectorInputPort(kUseDefaultName, size)
        if "input_size" in given:
            self._max_port = self.DeclareVectorInputPort(kUseDefaultName, size)
            self._min_port = self.DeclareVectorInputPort(kUseDefaultName, size)
        prerequisites = {self.all_input_ports_ticket()}
        port = self.DeclareVectorOutputPort(kUseDefaultName, size, self._calc_output, prerequisites)
        if self._min_port is None:
            code = NativeCode("saturate", (size, self._low, self._high, InputOf(0), OUTPUT))
            port.cache_entry().use_native(code)
        else:
            port.cache_entry().use_native(_CodeOfLimits(self))

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

    def _calc_output(self, context: Context, output: BasicVector) -> None:
        u = self._u.EvalBasicVector(context).value()
        low, high = (self._low, self._high) if self._min_port is None else self._limits(context)
        output.SetFromVector(clamp(u, low, high))

    def _limits(self, context: Context) -> tuple[Array, Array]:
        low = self.EvalVectorInput(context, self.get_min_value_port().get_index())
        high = self.EvalVectorInput(context, self.get_max_value_port().get_index())
        if low is None and high is None:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' has no limits: neither its input port 'u1' (upper limits) nor "
                "'u2' (lower limits) is connected. Connect one of them, or call port.FixValue(context, value)."
            )
        lower, upper = self._low if low is None else low.value(), self._high if high is None else high.value()
        if lower.dtype.kind != "O" and upper.dtype.kind != "O":
            above = np.flatnonzero(~(lower.real <= upper.real))
            if above.size:
                i = above[0]
                raise ValueError(
                    f"System '{self.GetSystemPathname()}': lower limits must not be above upper ones; element {i} of "
                    f"input port 'u2' is {lower[i]}, of 'u1' {upper[i]}."
                )
        return lower, upper


class _CodeOfLimits:
    """The operation where limits are inputs: it depends on which of them are connected."""

    operation = ""

    def __init__(self, system: Saturation) -> None:
        self._system = system

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation; None if there are no limits."""
        system = self._system
        given = [context.sources[port.get_index()] is not None for port in system._limit_ports()]
        places = [InputOf(port.get_index()) if has else 0 for port, has in zip(system._limit_ports(), given)]
        if not any(given):
            return None
        limits = (int(given[0]), places[0], int(given[1]), places[1])
        return NativeCode("saturate_between", (FAILURE, system._u.size(), InputOf(0), OUTPUT, *limits))


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
