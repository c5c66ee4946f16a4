"""Sine: a sine wave with its first and second derivatives."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.arguments import bind_overload
from merganser.framework.core.context import Context
from merganser.framework.core.indices import kUseDefaultName
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.native_code import CURRENT_TIME, OUTPUT, InputOf, NativeCode
from merganser.framework.core.ports import InputPort
from merganser.framework.core.values import BasicVector
from merganser.framework.primitives._arguments import checked_size, checked_vector
from merganser.framework.primitives._scalar_functions import cosine, sine

__all__ = ["Sine"]

Array = NDArray[Any]
_ONE_FOR_ALL = ("amplitude", "frequency", "phase", "size", "is_time_based")
_ONE_FOR_EACH = ("amplitudes", "frequencies", "phases", "is_time_based")


class Sine(LeafSystem):
    """Gives a sine wave and its first two derivatives by t,

        y0 = a sin(f t + p),    y1 = a f cos(f t + p),    y2 = -a f^2 sin(f t + p).

    t is the time, or, with `is_time_based=False`, the input u0, which has as many elements as the outputs.

    Args:
        amplitude: a, for all elements; or `amplitudes`, shape [n].
        frequency: f [rad/s], for all elements; or `frequencies`, shape [n].
        phase: p [rad], for all elements; or `phases`, shape [n].
        size: number of elements, if a, f and p are single numbers.
        is_time_based: whether t is the time.

    Raises:
        ValueError: vectors have different sizes, or an element is not a number.
    """

    @overload
    def __init__(
        self, amplitude: float, frequency: float, phase: float, size: int, is_time_based: bool = True
    ) -> None: ...
    @overload
    def __init__(
        self, amplitudes: ArrayLike, frequencies: ArrayLike, phases: ArrayLike, is_time_based: bool = True
    ) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        a, f, p, is_time_based = _parameters(*args, **kwargs)
        size = a.size
        self._frequency, self._phase = f, p
        self._factors = (a, a * f, -(a * f * f))
        self._u: InputPort | None = None
        if not is_time_based:
            self._u = self.DeclareVectorInputPort(kUseDefaultName, size)
        source = self.time_ticket() if self._u is None else self._u.ticket()
        place, stride = (CURRENT_TIME, 0) if self._u is None else (InputOf(0), 1)
        for number, calc in enumerate((self._calc_value, self._calc_first_derivative, self._calc_second_derivative)):
            port = self.DeclareVectorOutputPort(kUseDefaultName, size, calc, {source})
            is_cosine = int(number == 1)
            code = NativeCode("sine", (size, is_cosine, self._factors[number], f, p, stride, place, OUTPUT))
            port.cache_entry().use_native(code)

    # The order of operations, element by element, is that of the lines below: first f * t, then + p, then sin or cos,
    # then the factor times that, where the factors are a, a * f and -((a * f) * f).

    def _angle(self, context: Context) -> Array:
        t = context.get_time() if self._u is None else self._u.EvalBasicVector(context).value()
        return self._frequency * t + self._phase

    def _calc_value(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._factors[0] * sine(self._angle(context)))

    def _calc_first_derivative(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._factors[1] * cosine(self._angle(context)))

    def _calc_second_derivative(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._factors[2] * sine(self._angle(context)))


def _parameters(*args: Any, **kwargs: Any) -> tuple[Array, Array, Array, bool]:
    """Amplitudes, frequencies and phases, shapes [n], and whether t is the time."""
    is_single = "amplitude" in kwargs or (len(args) > 0 and np.ndim(args[0]) == 0)
    names = _ONE_FOR_ALL if is_single else _ONE_FOR_EACH
    given = bind_overload("Sine", names, {"is_time_based": True}, args, kwargs)
    a, f, p = (checked_vector(given[name], f"Sine: {name}") for name in names[:3])
    if is_single:
        for name, vector in zip(names, (a, f, p)):
            if vector.size != 1:
                raise ValueError(f"Sine: `size` goes with a single {name}; got {vector.size} numbers.")
        size = checked_size(given["size"], "Sine: size")
        a, f, p = np.repeat(a, size), np.repeat(f, size), np.repeat(p, size)
    elif not a.size == f.size == p.size:
        raise ValueError(
            f"Sine: there must be equally many amplitudes, frequencies and phases; got {a.size}, {f.size} and {p.size}."
        )
    return a, f, p, bool(given["is_time_based"])
