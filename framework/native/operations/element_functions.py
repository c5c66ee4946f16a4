"""What the functions of core/scalars/element_functions.py and math/element_functions.py are in compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.core.scalars.element_functions import (
    add_products,
    are_ordered,
    elements,
    is_finite,
    product,
    put,
)
from merganser.framework.math.element_functions import clamp, cos, exp, floor, sin, tanh
from merganser.framework.math.matrix_functions import wrap_to
from merganser.framework.native.compiler.extending import overload, types
from merganser.framework.native.compiler.kernels import device

_LARGE = 22.0  # from there on tanh is 1


@overload(elements, inline="always")
def _elements(array: Any) -> Any:
    def indices(array: Any) -> Any:
        return range(array.shape[0])

    return indices


# In compiled code of floats, and of complex numbers by the formulas of the C library


@device
def _complex_tanh(x: Any) -> Any:
    a, sine, cosine = x.real, math.sin(x.imag), math.cos(x.imag)
    if abs(a) > _LARGE:
        return complex(math.copysign(1.0, a), 4.0 * sine * cosine * math.exp(-2.0 * abs(a)))
    denominator = math.sinh(a) ** 2 + cosine * cosine
    return complex(math.sinh(a) * math.cosh(a) / denominator, sine * cosine / denominator)


def _compile_as(function: Any, of_float: Callable[[Any], Any], of_complex: Callable[[Any], Any]) -> None:
    overload(function)(lambda x: of_complex if isinstance(x, types.Complex) else of_float)


_compile_as(
    sin,
    lambda x: math.sin(x),
    lambda x: complex(math.sin(x.real) * math.cosh(x.imag), math.cos(x.real) * math.sinh(x.imag)),
)
_compile_as(
    cos,
    lambda x: math.cos(x),
    lambda x: complex(math.cos(x.real) * math.cosh(x.imag), -math.sin(x.real) * math.sinh(x.imag)),
)
_compile_as(tanh, lambda x: math.tanh(x), lambda x: _complex_tanh(x))
_compile_as(
    exp,
    lambda x: math.exp(x),
    lambda x: complex(math.exp(x.real) * math.cos(x.imag), math.exp(x.real) * math.sin(x.imag)),
)
_compile_as(floor, lambda x: np.floor(x), lambda x: complex(np.floor(x.real), 0.0))


@overload(clamp)
def _clamp(u: Any, low: Any, high: Any) -> Any:
    def clamp_compiled(u: Any, low: Any, high: Any) -> Any:
        value = u
        if u.real < low.real:
            value = low
        if u.real > high.real:
            value = high
        return value

    return clamp_compiled


@overload(are_ordered)
def _are_ordered(low: Any, high: Any) -> Any:
    def are_ordered_compiled(low: Any, high: Any) -> bool:
        is_ordered: bool = low.real <= high.real
        return is_ordered

    return are_ordered_compiled


@overload(is_finite)
def _is_finite(x: Any) -> Any:
    def is_finite_compiled(x: Any) -> bool:
        return bool(np.isfinite(x))

    return is_finite_compiled


@overload(wrap_to)
def _wrap_to(value: Any, low: float, high: float) -> Any:
    def wrapped_to(value: Any, low: float, high: float) -> Any:
        period = high - low
        wrapped = value - period * np.floor((value.real - low) / period)
        # Round-off may leave a number just outside.
        return wrapped if low <= wrapped.real < high else wrapped - wrapped.real + low

    return wrapped_to


@overload(product)
def _product(matrix: Any, vector: Any, i: Any) -> Any:
    def product_compiled(matrix: Any, vector: Any, i: Any) -> Any:
        if matrix.shape[1] != vector.shape[0] or not -matrix.shape[0] <= i < matrix.shape[0]:
            raise IndexError("product: the vector has another size, or the matrix no such row.")
        if vector.shape[0] == 0:
            return 0.0
        total = matrix[i, 0] * vector[0]
        for j in range(1, vector.shape[0]):
            total += matrix[i, j] * vector[j]
        return total

    return product_compiled


@overload(add_products, jit_options={"boundscheck": True})
def _add_products(factors: Any, rows: Any, columns: Any, vector: Any, to: Any) -> Any:
    def add_products_compiled(factors: Any, rows: Any, columns: Any, vector: Any, to: Any) -> None:
        for k in range(factors.shape[0]):
            to[rows[k]] += factors[k] * vector[columns[k]]

    return add_products_compiled


@overload(put)
def _put(source: Any, to: Any, start: int) -> Any:
    def put_compiled(source: Any, to: Any, start: int) -> Any:
        if not 0 <= start <= to.shape[0] - source.shape[0]:
            raise IndexError("put: the elements are not all in the vector.")
        for i in range(source.shape[0]):
            to[start + i] = source[i]

    return put_compiled
