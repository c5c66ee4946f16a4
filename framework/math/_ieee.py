"""Elementary functions of floats that follow IEEE 754: NaN and infinities instead of exceptions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def _ieee(name: str) -> Callable[[float], float]:
    """The function of `math` called `name`; where that raises, numpy's result: NaN or an infinity."""
    strict, lenient = getattr(math, name), getattr(np, name.replace("a", "arc", 1) if name[0] == "a" else name)

    def function(x: float) -> float:
        try:
            return strict(x)
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return float(lenient(float(x)))

    function.__name__ = name
    return function


#: Functions of one float by their C names.
ELEMENTARY: dict[str, Callable[[float], float]] = {
    name: _ieee(name)
    for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt")
}


def divide(a: float, b: float) -> float:
    """a / b; an infinity or NaN if b is zero."""
    try:
        return a / b
    except ZeroDivisionError:
        with np.errstate(all="ignore"):
            return float(np.float64(a) / np.float64(b))


def power(base: float, exponent: float) -> float:
    """base ** exponent among the reals; NaN for a negative base with a fractional exponent."""
    try:
        return math.pow(base, exponent)
    except (ValueError, OverflowError):
        with np.errstate(all="ignore"):
            return float(np.power(float(base), float(exponent)))
