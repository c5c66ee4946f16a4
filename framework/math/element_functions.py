"""Functions of elements of arrays (core/scalars/element_functions.py) that are elementary functions, or choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.math import elementwise
from merganser.framework.math.elementary import ELEMENTARY

_TRUTHS = (bool, np.bool_)  # of numbers and derivatives; a comparison of symbols is a formula


def _of_elements(name: str) -> Callable[[Any], Any]:
    of_float, of_complex, of_object = ELEMENTARY[name].value, getattr(np, name), getattr(elementwise, name)

    def function(x: Any) -> Any:
        if type(x) is float:
            return of_float(x)
        kind = x.dtype.kind if isinstance(x, (np.ndarray, np.generic)) else "c" if isinstance(x, complex) else ""
        if kind == "c":
            return of_complex(x)
        if not isinstance(x, np.ndarray):
            return of_object(x)
        of_element = of_float if kind == "f" else of_object
        return np.array([of_element(element) for element in x.tolist()], dtype=x.dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The function {name} of a scalar of any type, or of each element of a vector.\n\n"
        "Floats are left to the C library, one by one, and not to numpy's vector loops, whose last bit depends on the\n"
        "processor: so compiled code gives the same."
    )
    return function


sin = _of_elements("sin")
cos = _of_elements("cos")
exp = _of_elements("exp")
tanh = _of_elements("tanh")


def clamp(u: Any, low: Any, high: Any) -> Any:
    """u where low <= u <= high, otherwise the limit that it passes; scalars, or vectors element by element.

    Complex numbers (derivatives by the complex step) are compared by their real parts. What is not a number stays so.
    If low > high, what is above `high` becomes that. At a limit itself the derivative is that of u.
    """
    if isinstance(u, np.ndarray) and u.dtype.kind == "O":
        return np.array([clamp(*scalars) for scalars in zip(*np.broadcast_arrays(u, low, high))], dtype=object)
    if not isinstance(u, (np.ndarray, complex)):
        is_above, is_below = u > high, u < low
        if isinstance(is_above, _TRUTHS) and isinstance(is_below, _TRUTHS):
            return elementwise.min(u, high) if is_above else elementwise.max(u, low) if is_below else u
        return elementwise.min(elementwise.max(u, low), high)
    result = np.array(u, dtype=np.result_type(u, low, high))
    np.copyto(result, low, where=u.real < low.real)
    np.copyto(result, high, where=u.real > high.real)
    return result


def floor(x: Any) -> Any:
    """The greatest whole number that is not above x; a scalar, or a vector element by element.

    Its derivative is zero: complex numbers (derivatives by the complex step) lose their imaginary part.
    """
    if isinstance(x, np.ndarray):
        if x.dtype.kind == "O":
            return np.array([elementwise.floor(element) for element in x.tolist()], dtype=object)
        return np.floor(x.real).astype(x.dtype)
    return complex(np.floor(x.real)) if isinstance(x, complex) else elementwise.floor(x)
