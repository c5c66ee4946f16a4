"""Functions for native functions (native_function.py) that work on elements of arrays, of any scalar type.

Compiled code and Python with derivatives or symbols go from element to element. For numbers in Python that would take
100 ns an element and more, where numpy takes one: so there `elements` gives one "index" that stands for all elements,
and what is written for an element is computed for all of them at once, to the same bits. Functions of elements in this
file take both. What they are in compiled code stands in native/element_functions.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import elementwise
from merganser.framework.math._ieee import ELEMENTARY

__all__ = [
    "are_ordered",
    "clamp",
    "cos",
    "elements",
    "is_finite",
    "left_to_right_product",
    "product",
    "put",
    "sin",
    "tanh",
]

Array = NDArray[Any]
_ALL_AT_ONCE = (...,)
_NUMBERS = (np.ndarray, np.generic, float, complex)


def elements(array: Array) -> Iterable[Any]:
    """The indices of an array, to loop over; what is done with an element must not depend on the others.

    Conditions on values need a function of their own, such as `clamp`, as there may be many values at once.

    Args:
        array: shape [n].
    """
    return range(len(array)) if array.dtype.kind == "O" else _ALL_AT_ONCE


def _of_elements(name: str) -> Callable[[Any], Any]:
    of_float, of_complex, of_object = ELEMENTARY[name], getattr(np, name), getattr(elementwise, name)

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
tanh = _of_elements("tanh")


def clamp(u: Any, low: Any, high: Any) -> Any:
    """u where low <= u <= high, otherwise the limit that it passes; scalars, or vectors element by element.

    Complex numbers (derivatives by the complex step) are compared by their real parts. What is not a number stays so.
    """
    if isinstance(u, np.ndarray) and u.dtype.kind == "O":
        return np.array([clamp(*scalars) for scalars in zip(*np.broadcast_arrays(u, low, high))], dtype=object)
    if isinstance(u, float):  # a sixth of the time that arrays take
        return low if u < low else high if u > high else u
    if not isinstance(u, (np.ndarray, np.generic, complex)):
        # At a limit itself, the derivative is that of u: max and min give their first argument where both are equal.
        return elementwise.min(elementwise.max(u, low), high)
    result = np.array(u, dtype=np.result_type(u, low, high))
    np.copyto(result, low, where=u.real < low.real)
    np.copyto(result, high, where=u.real > high.real)
    return result


def are_ordered(low: Any, high: Any) -> bool:
    """Whether low <= high, of numbers, everywhere; not a number is not. Of other scalars that is not asked."""
    if isinstance(low, _NUMBERS) and isinstance(high, _NUMBERS):
        return bool(np.all(low.real <= high.real))
    return True


def is_finite(x: Any) -> bool:
    """Whether a number is neither infinite nor not a number. Of other scalars that is not asked."""
    if isinstance(x, float):
        return math.isfinite(x)
    return bool(np.all(np.isfinite(x))) if isinstance(x, _NUMBERS) else True


def product(matrix: Array, vector: Array, i: Any) -> Any:
    """Element i of matrix @ vector, summed from left to right: (m[i, 0] x[0] + m[i, 1] x[1]) + ...; 0 if x is empty.

    Args:
        matrix: shape [m, n].
        vector: shape [n].
        i: from `elements`.
    """
    if i is ...:
        return left_to_right_product(matrix, vector)  # a sixth of the time of a loop, for 10 x 10
    row, x = matrix[i].tolist(), vector.tolist()
    if not x:
        return 0.0
    total = row[0] * x[0]
    for j in range(1, len(x)):
        total = total + row[j] * x[j]
    return total


def left_to_right_product(matrix: Array, vector: Array) -> Array:
    """matrix @ vector, each element summed from left to right: ((m0 x0 + m1 x1) + m2 x2) + ...

    The order in which `@` sums is up to the BLAS library.

    Args:
        matrix: shape [m, n].
        vector: shape [n].

    Returns:
        Shape [m].
    """
    if matrix.shape[1] == 0:
        return np.zeros(matrix.shape[0])
    return np.add.accumulate(matrix * vector, axis=1)[:, -1]


def put(source: Array, to: Array, start: int) -> None:
    """to[start:start + n] = source, for vectors of any scalar type, the source of shape [n]."""
    to[start : start + len(source)] = source
