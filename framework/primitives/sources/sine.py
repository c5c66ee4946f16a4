"""Sine: a sine wave with its first and second derivatives."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.math.element_functions import cos, sin
from merganser.framework.primitives._arguments import checked_size, checked_vector

__all__ = ["Sine"]

Array = NDArray[Any]


@native
def wave_in_time(a: Array, f: Array, p: Array, is_cosine: int, t: float, y: Array) -> None:
    """y = a sin(f t + p), or a cos(f t + p)."""
    for i in elements(y):
        angle = f[i] * t + p[i]
        y[i] = a[i] * (cos(angle) if is_cosine else sin(angle))


@native
def wave_of_input(a: Array, f: Array, p: Array, is_cosine: int, u: Array, y: Array) -> None:
    """y = a sin(f u + p), or a cos(f u + p)."""
    for i in elements(y):
        angle = f[i] * u[i] + p[i]
        y[i] = a[i] * (cos(angle) if is_cosine else sin(angle))


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
        wave = wave_in_time
        if not is_time_based:
            wave = wave_of_input.given(u=self.DeclareVectorInputPort(kUseDefaultName, a.size))
        for factors, is_cosine in ((a, False), (a * f, True), (-(a * f * f), False)):
            calc = wave.given(a=factors, f=f, p=p, is_cosine=is_cosine)
            self.DeclareVectorOutputPort(kUseDefaultName, a.size, calc)


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
