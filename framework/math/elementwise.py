"""Elementary functions of one scalar of any type (pydrake.math.sin and its companions).

A scalar is a number, or an object with a method of the function's name: AutoDiffXd, Expression, Variable. The
functions do not know these classes. Numbers follow IEEE 754: the logarithm of -1 is NaN, not an error. For arrays
there are numpy's functions, which call the same methods.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
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
