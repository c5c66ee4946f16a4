"""The elementary functions of one number, in one table: what floats, derivatives, symbols and programs know of them.

Values are those of IEEE 754: NaN and infinities instead of exceptions. The table is read by

    math/elementwise.py                             functions of any scalar
    autodiff/scalar.py                              methods of AutoDiffXd, by value and slope
    symbolic/{trees, derivatives, numeric}.py       values and slopes of the nodes of expressions
    native/operations/expression_operations.py      their numbers in compiled programs

so that a new one is a line here, a kind of node (symbolic/nodes.py) and, for programs, an instruction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np


class Elementary(NamedTuple):
    """An elementary function y = f(x).

    Attributes:
        method: its name in numpy, and that of the method of scalars that are objects.
        value: f of a float.
        slope: slope(of, x, y) is f'(x); `of` has the elementary functions and `reciprocal` of the scalars x and y.
    """

    method: str
    value: Callable[[float], float]
    slope: Callable[[Any, Any, Any], Any]


def _ieee(name: str, method: str) -> Callable[[float], float]:
    """The function of `math` called `name`; where that raises, numpy's result: NaN or an infinity."""
    strict, lenient = getattr(math, name), getattr(np, method)

    def function(x: float) -> float:
        try:
            return strict(x)
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return float(lenient(float(x)))

    function.__name__ = name
    return function


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


#: Elementary functions by their C names.
ELEMENTARY: dict[str, Elementary] = {
    name: Elementary(method, _ieee(name, method), slope)
    for name, method, slope in (
        ("sin", "sin", lambda of, x, y: of.cos(x)),
        ("cos", "cos", lambda of, x, y: -of.sin(x)),
        ("tan", "tan", lambda of, x, y: 1.0 + y * y),
        ("asin", "arcsin", lambda of, x, y: of.reciprocal(of.sqrt(1.0 - x * x))),
        ("acos", "arccos", lambda of, x, y: -of.reciprocal(of.sqrt(1.0 - x * x))),
        ("atan", "arctan", lambda of, x, y: of.reciprocal(1.0 + x * x)),
        ("sinh", "sinh", lambda of, x, y: of.cosh(x)),
        ("cosh", "cosh", lambda of, x, y: of.sinh(x)),
        ("tanh", "tanh", lambda of, x, y: 1.0 - y * y),
        ("exp", "exp", lambda of, x, y: y),
        ("log", "log", lambda of, x, y: of.reciprocal(x)),
        ("sqrt", "sqrt", lambda of, x, y: 0.5 * of.reciprocal(y)),
    )
}
#: The functions that slopes of floats are made of.
OF_FLOATS = SimpleNamespace(
    reciprocal=lambda x: divide(1.0, x), **{name: function.value for name, function in ELEMENTARY.items()}
)
