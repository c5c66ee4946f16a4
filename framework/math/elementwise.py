"""Elementary functions of one scalar of any type (pydrake.math.sin and its companions), and smooth bounds of several.

A scalar is a number, or an object with a method of the function's name: AutoDiffXd, Expression, Variable. The
functions do not know these classes. Numbers follow IEEE 754: the logarithm of -1 is NaN, not an error. For arrays
there are numpy's functions, which call the same methods.

Of several numbers x_i, with S the logarithm of the sum of exponentials and W the mean weighted by exponentials,

    S(x) = log(sum_i exp(alpha x_i)) / alpha  >= max(x),        (1)
    W(x) = sum_i x_i exp(alpha x_i) / sum_i exp(alpha x_i) <= max(x),   (2)

both tend to max(x) as alpha grows, and with -alpha to min(x). Exponents are taken relative to the extreme element, so
that they do not overflow.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from merganser.framework.math.elementary import ELEMENTARY, power

_NUMBER = (float, int, np.floating, np.integer)


def _refuse(name: str, argument: Any) -> TypeError:
    of_arrays = {"max": "maximum", "min": "minimum", "pow": "power"}.get(name, name)
    hint = f" For arrays use numpy.{of_arrays}." if isinstance(argument, (np.ndarray, list, tuple)) else ""
    return TypeError(
        f"{name}(): expected a number, an AutoDiffXd or an Expression, got {type(argument).__name__}.{hint}"
    )


def _unary(name: str, of_number: Callable[[float], float]) -> Callable[[Any], Any]:
    """The function of a number, or of an object that has a method called `name`."""

    def function(x: Any) -> Any:
        if isinstance(x, _NUMBER):
            return of_number(float(x))
        method = None if isinstance(x, np.ndarray) else getattr(x, name, None)
        if method is None:
            raise _refuse(name, x)
        return method()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The function {name} of a number, an AutoDiffXd or an Expression; a scalar of its type."
    return function


def _binary(name: str, of_numbers: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
    """The function of two scalars, one of which may be a number."""

    def function(x: Any, y: Any) -> Any:
        numbers = isinstance(x, _NUMBER), isinstance(y, _NUMBER)
        if all(numbers):
            return of_numbers(float(x), float(y))
        for argument, is_number in ((x, numbers[0]), (y, numbers[1])):
            if not is_number and (isinstance(argument, np.ndarray) or not hasattr(argument, name)):
                raise _refuse(name, argument)
        receiver = y.lift(x) if numbers[0] else x
        return getattr(receiver, name)(y)

    function.__name__ = function.__qualname__ = name
    return function


sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, exp, log, sqrt = (
    _unary(ELEMENTARY[name].method, ELEMENTARY[name].value)
    for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt")
)
arcsin, arccos, arctan = asin, acos, atan
abs = _unary("abs", builtins.abs)
floor = _unary("floor", lambda x: float(np.floor(x)))
ceil = _unary("ceil", lambda x: float(np.ceil(x)))
isnan = _unary("isnan", math.isnan)
atan2 = arctan2 = _binary("arctan2", math.atan2)
max = _binary("max", builtins.max)
min = _binary("min", builtins.min)
pow = _binary("pow", power)


# ---------------------------------------------------------------------- smooth bounds


def SoftOverMax(x: Sequence[Any], alpha: float = 1.0) -> Any:
    """A smooth function that is nowhere less than max(x): (1).

    Args:
        x: at least one number, or AutoDiffXd.
        alpha: positive and finite; the larger, the nearer to max(x).

    Raises:
        ValueError: `x` is empty, or `alpha` out of its range.
    """
    largest, weights = _weights("SoftOverMax", x, alpha, 1.0)
    return largest + log(_sum(weights)) / alpha


def SoftUnderMax(x: Sequence[Any], alpha: float = 1.0) -> Any:
    """A smooth function that is nowhere more than max(x): (2). The arguments are those of `SoftOverMax`."""
    _, weights = _weights("SoftUnderMax", x, alpha, 1.0)
    return _mean(x, weights)


def SoftOverMin(x: Sequence[Any], alpha: float = 1.0) -> Any:
    """A smooth function that is nowhere less than min(x): (2) with -alpha. The arguments are those of `SoftOverMax`."""
    _, weights = _weights("SoftOverMin", x, alpha, -1.0)
    return _mean(x, weights)


def SoftUnderMin(x: Sequence[Any], alpha: float = 1.0) -> Any:
    """A smooth function that is nowhere more than min(x): (1) with -alpha. The arguments are those of `SoftOverMax`."""
    smallest, weights = _weights("SoftUnderMin", x, alpha, -1.0)
    return smallest - log(_sum(weights)) / alpha


def _weights(function: str, x: Sequence[Any], alpha: float, sign: float) -> tuple[Any, list[Any]]:
    """The largest (sign 1) or smallest (sign -1) element, and exp(sign alpha (x_i - that)), none above 1."""
    if len(x) == 0:
        raise ValueError(f"{function}: x must have at least one element.")
    if not 0.0 < alpha < math.inf:
        raise ValueError(f"{function}: alpha must be positive and finite, got {alpha}.")
    extreme = x[0]
    for element in x[1:]:
        if sign * (element - extreme) > 0:
            extreme = element
    return extreme, [exp(sign * alpha * (element - extreme)) for element in x]


def _sum(terms: Sequence[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _mean(x: Sequence[Any], weights: Sequence[Any]) -> Any:
    return _sum([element * weight for element, weight in zip(x, weights)]) / _sum(weights)
