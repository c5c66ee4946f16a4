"""Functions of the elements of an array of any scalar type, for the callbacks of blocks.

Float arrays are computed by the C library's functions, element by element, and not by numpy's vector loops, whose last
bit depends on the processor: so compiled code can agree with a block to the last bit. For the few elements of a signal
this is also faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import elementwise
from merganser.framework.math._ieee import ELEMENTARY

__all__ = ["clamp", "cosine", "hyperbolic_tangent", "left_to_right_product", "sine"]

Array = NDArray[Any]


def _of_array(name: str) -> Callable[[Array], Array]:
    of_float, of_complex, of_object = ELEMENTARY[name], getattr(np, name), getattr(elementwise, name)

    def function(x: Array) -> Array:
        kind = x.dtype.kind
        if kind == "f":
            return np.array([of_float(element) for element in x.tolist()])
        if kind == "c":
            return of_complex(x)
        return np.array([of_object(element) for element in x.tolist()], dtype=object)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The function {name} of each element of a vector, shape [n]."
    return function


sine = _of_array("sin")
cosine = _of_array("cos")
hyperbolic_tangent = _of_array("tanh")


def clamp(u: Array, low: Array, high: Array) -> Array:
    """Each element of u where low <= u <= high, otherwise the limit that it passes; shapes [n].

    Complex elements (derivatives by the complex step) are compared by their real parts. An element that is not a
    number stays so.
    """
    if any(array.dtype.kind == "O" for array in (u, low, high)):
        # At a limit itself, the derivative is that of u: max and min give their first argument where both are equal.
        items = zip(u.tolist(), low.tolist(), high.tolist())
        return np.array([elementwise.min(elementwise.max(x, a), b) for x, a, b in items], dtype=object)
    result = np.array(u, dtype=np.result_type(u, low, high))
    np.copyto(result, low, where=u.real < low.real)
    np.copyto(result, high, where=u.real > high.real)
    return result


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
