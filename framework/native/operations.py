"""The operations of the tape: compiled functions that are called by their address.

Each takes three bare pointers: to the flat array of a Context, to constants, and to its own list of integers. The
integers say how much to do and where (see core/native_code.py). An operation computes to the last bit what the
Python callback of its block computes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.ccallback import CFunc

from merganser.framework.native.compile import enable_kernel_cache

__all__ = ["OPERATIONS", "address_of"]

OPERATIONS: dict[str, Callable[..., None]] = {}

_SIGNATURE = (
    (types.CPointer(types.float64), types.CPointer(types.float64), types.CPointer(types.int64)),
    types.void,
)


def _operation(function: Callable[..., None]) -> Callable[..., None]:
    OPERATIONS[function.__name__] = function
    return function


@functools.cache
def address_of(name: str) -> int:
    """The address of a compiled operation; compiled, or taken from the disk, when first asked for."""
    compiled = CFunc(OPERATIONS[name], _SIGNATURE, {}, {})
    enable_kernel_cache(compiled, OPERATIONS[name])
    compiled.compile()
    _KEPT_ALIVE.append(compiled)
    assert compiled.address is not None
    return compiled.address


_KEPT_ALIVE: list[Any] = []


@_operation
def copy(values: Any, numbers: Any, integers: Any) -> None:
    """to[0:n] = from[0:n]; integers: n, from, to."""
    n, source, target = integers[0], integers[1], integers[2]
    for i in range(n):
        values[target + i] = values[source + i]


@_operation
def constant(values: Any, numbers: Any, integers: Any) -> None:
    """to[0:n] = c[0:n]; integers: n, c, to."""
    n, c, target = integers[0], integers[1], integers[2]
    for i in range(n):
        values[target + i] = numbers[c + i]


@_operation
def gain(values: Any, numbers: Any, integers: Any) -> None:
    """y[i] = k[i] * u[i]; integers: n, k, u, y."""
    n, k, u, y = integers[0], integers[1], integers[2], integers[3]
    for i in range(n):
        values[y + i] = numbers[k + i] * values[u + i]


@_operation
def add(values: Any, numbers: Any, integers: Any) -> None:
    """sum[i] = u0[i] + u1[i] + ...; integers: n, number of inputs, sum, u0, u1, ..."""
    n, num_inputs, total = integers[0], integers[1], integers[2]
    for i in range(n):
        values[total + i] = 0.0
    for k in range(num_inputs):
        u = integers[3 + k]
        for i in range(n):
            values[total + i] += values[u + i]


@_operation
def stack(values: Any, numbers: Any, integers: Any) -> None:
    """y = [u0; u1; ...]; integers: number of inputs, y, then size and place of each input."""
    num_inputs, y = integers[0], integers[1]
    for k in range(num_inputs):
        size, u = integers[2 + 2 * k], integers[3 + 2 * k]
        for i in range(size):
            values[y + i] = values[u + i]
        y += size


@_operation
def part(values: Any, numbers: Any, integers: Any) -> None:
    """y[0:n] = u[start:start + n]; integers: n, start, u, y."""
    n, start, u, y = integers[0], integers[1], integers[2], integers[3]
    for i in range(n):
        values[y + i] = values[u + start + i]
