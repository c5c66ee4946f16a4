"""Blocks that multiply and add: Gain and Adder.

Saturation: a signal kept within limits.

WrapToSystem: brings angles and other periodic signals back into one period.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import Changing, InputOr
from merganser.framework.core.declarations.ports import InputPort
from merganser.framework.core.scalars.element_functions import are_ordered, elements, is_finite, put
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.math.element_functions import clamp
from merganser.framework.math.matrix_functions import wrap_to
from merganser.framework.primitives._arguments import checked_size, checked_vector

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

    def _limit_port(self, port: InputPort | None) -> InputPort:
        if port is None:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' has constant limits and so no ports for them; make it as "
                "Saturation(input_size=n) to have limits as inputs."
            )
        return port

    def _explain(self, context: Context) -> None:
        """Raises an exception for limits that allow no output."""
        ports = self.get_min_value_port(), self.get_max_value_port()
        lower, upper = (self.EvalVectorInput(context, port.get_index()) for port in ports)
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
