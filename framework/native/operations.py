"""The operations of the tape: compiled functions that are called by their address.

Each takes three bare pointers: to the flat array of a Context, to constants, and to its own list of integers. The
integers say how much to do and where (see core/native_code.py). An operation computes to the last bit what the
Python callback of its block computes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from merganser.framework.core.native_code import Operation
from merganser.framework.core.native_function import NativeFunction
from merganser.framework.native.block_operations import (
    interpolate,
    perceptron,
    saturate_between,
    sparse_product,
    switch,
    wrap,
)
from merganser.framework.native.code_files import CodeFiles
from merganser.framework.native.compile import Code, compiler_lock, device, obtain
from merganser.framework.native.density_operations import transform, transformed_density
from merganser.framework.native.expression_operations import expressions, expressions_with_slopes
from merganser.framework.native.extending import import_whole, types
from merganser.framework.native.random_operations import random_sample
from merganser.framework.native.tape import call_python, integers_at
from merganser.framework.native.trajectory_operations import trajectory

__all__ = ["OPERATIONS", "CompiledOperation", "address_of", "has_complex_form", "signature_of_operation"]

OPERATIONS: dict[str, Callable[..., None]] = {
    function.__name__: function
    for function in (
        expressions,
        interpolate,
        perceptron,
        random_sample,
        saturate_between,
        sparse_product,
        switch,
        trajectory,
        transform,
        transformed_density,
        wrap,
    )
}


def signature_of_operation(is_complex: bool = False) -> Any:
    """Numba's types of the three pointers, and of nothing, which is returned."""
    number = types.complex128 if is_complex else types.float64
    return (types.CPointer(number), types.CPointer(types.float64), types.CPointer(types.int64)), types.void


# Those that neither compare values nor call functions of floats, and so compute derivatives by the complex step.
_OF_COMPLEX = {
    "add", "affine", "constant", "copy", "euler_step", "gain", "low_pass", "part", "pick", "pid_control", "shift_in",
    "sparse_product", "stack", "state_error", "transform",
}  # fmt: skip
_FOR_COMPLEX: dict[str, Callable[..., None]] = {"expressions": expressions_with_slopes}  # those that are others then


def _operation(function: Callable[..., None]) -> Callable[..., None]:
    OPERATIONS[function.__name__] = function
    return function


def address_of(operation: str | NativeFunction | Operation, is_complex: bool = False) -> int:
    """The address of a compiled operation; compiled, or taken from the disk, when first asked for.

    Args:
        operation: which.
        is_complex: whether it is to work on complex numbers, see has_complex_form().

    Raises:
        TypeError: numba cannot compile it.
    """
    if isinstance(operation, str):
        return _address_of(operation, is_complex)
    if is_complex:
        assert isinstance(operation, NativeFunction)
        return operation.complex_address()
    return operation.address()


def has_complex_form(operation: str | NativeFunction | Operation) -> bool:
    """Whether an operation may work on the array of a Context of complex numbers.

    Functions of users may: those that cannot be compiled so raise a TypeError when their address is asked for.
    """
    return isinstance(operation, NativeFunction) or operation in _OF_COMPLEX or operation in _FOR_COMPLEX


@functools.cache
def _address_of(name: str, is_complex: bool) -> int:
    form = _FOR_COMPLEX.get(name) if is_complex else None
    return CompiledOperation(form or OPERATIONS[name], is_complex).address()


class CompiledOperation:
    """A function of the three pointers as an operation, compiled when it is first used."""

    def __init__(self, function: Callable[..., None], is_complex: bool = False) -> None:
        self._function, self._is_complex = function, is_complex
        self._code: Code | None = None

    def address(self) -> int:
        """Where the operation stands; compiled, or taken from the disk, when first asked for."""
        if self._code is None:
            with compiler_lock:
                if self._code is None:
                    types = "operation of complex numbers" if self._is_complex else "operation"
                    self._code = obtain(CodeFiles(self._function), types, self._compile)
                    _KEPT_ALIVE.append(self._code)
        return self._code.address

    def _compile(self) -> Any:
        compiler = import_whole("merganser.framework.native.compiler")
        return compiler.compile_operation(self._function, signature_of_operation(self._is_complex))


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
def call_back(values: Any, numbers: Any, integers: Any) -> None:
    """Calls a function of Python; integers: its address, and that of what operations come to."""
    integers_at(integers[1])[0] = call_python(integers[0], integers[1])


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


@_operation
def sine(values: Any, numbers: Any, integers: Any) -> None:
    """y[i] = a[i] * sin(f[i] * t[i] + p[i]), or cos; integers: n, is cos, a, f, p, from one t[i] to the next, t, y."""
    n, is_cosine, a, f, p = integers[0], integers[1], integers[2], integers[3], integers[4]
    stride, t, y = integers[5], integers[6], integers[7]
    for i in range(n):
        angle = numbers[f + i] * values[t + stride * i] + numbers[p + i]
        values[y + i] = numbers[a + i] * (math.cos(angle) if is_cosine else math.sin(angle))


@_operation
def saturate(values: Any, numbers: Any, integers: Any) -> None:
    """y[i] = u[i] within low[i] and high[i]; integers: n, low, high, u, y."""
    n, low, high, u, y = integers[0], integers[1], integers[2], integers[3], integers[4]
    for i in range(n):
        value = values[u + i]
        if value < numbers[low + i]:
            value = numbers[low + i]
        if values[u + i] > numbers[high + i]:
            value = numbers[high + i]
        values[y + i] = value


@device
def _row_times_vector(values: Any, numbers: Any, row: int, size: int, vector: int) -> Any:
    """Sum over j of row[j] * vector[j], from left to right."""
    total = numbers[row] * values[vector]
    for j in range(1, size):
        total += numbers[row + j] * values[vector + j]
    return total


@_operation
def affine(values: Any, numbers: Any, integers: Any) -> None:
    """y = c + M0 v0 + M1 v1 + ...; integers: n, number of products, c, y, then size of v, M (by rows), v of each."""
    n, num_products, c, y = integers[0], integers[1], integers[2], integers[3]
    for i in range(n):
        total = numbers[c + i]
        for k in range(num_products):
            size, matrix, vector = integers[4 + 3 * k], integers[5 + 3 * k], integers[6 + 3 * k]
            total += _row_times_vector(values, numbers, matrix + size * i, size, vector)
        values[y + i] = total


@device
def _error(values: Any, numbers: Any, integers: Any, i: int) -> Any:
    """Element i of desired - P estimated; integers: size of the estimated state (0: P = 1), P, estimated, desired."""
    size, projection, estimated, desired = integers[0], integers[1], integers[2], integers[3]
    if size == 0:
        return values[desired + i] - values[estimated + i]
    return values[desired + i] - _row_times_vector(values, numbers, projection + size * i, size, estimated)


@_operation
def state_error(values: Any, numbers: Any, integers: Any) -> None:
    """The first elements of a state error; integers: those of _error, then n and where the result goes."""
    n, target = integers[4], integers[5]
    for i in range(n):
        values[target + i] = _error(values, numbers, integers, i)


@device
def _pid_command(values: Any, numbers: Any, integers: Any, i: int) -> Any:
    """kp e + ki z + kd edot of element i; integers: those of _error, then n, kp, ki, kd, z."""
    n, kp, ki, kd, z = integers[4], integers[5], integers[6], integers[7], integers[8]
    e, edot = _error(values, numbers, integers, i), _error(values, numbers, integers, n + i)
    return numbers[kp + i] * e + numbers[ki + i] * values[z + i] + numbers[kd + i] * edot


@_operation
def pid_control(values: Any, numbers: Any, integers: Any) -> None:
    """Q (kp e + ki z + kd edot); integers: those of _pid_command, number of rows of Q or 0 for Q = 1, Q, result."""
    n, num_rows, projection, target = integers[4], integers[9], integers[10], integers[11]
    if num_rows == 0:
        for i in range(n):
            values[target + i] = _pid_command(values, numbers, integers, i)
        return
    for k in range(num_rows):
        total = numbers[projection + n * k] * _pid_command(values, numbers, integers, 0)
        for i in range(1, n):
            total += numbers[projection + n * k + i] * _pid_command(values, numbers, integers, i)
        values[target + k] = total


@_operation
def append_sample(values: Any, numbers: Any, integers: Any) -> None:
    """Adds the time and u[0:n] to a log with room left; integers: n, u, capacity, number of samples, times, data."""
    n, u, capacity, count, times, data = (
        integers[0], integers[1], integers[2], integers[3], integers[4], integers[5],
    )  # fmt: skip
    number = int(values[count])
    if number < capacity:
        values[times + number] = values[0]
        for i in range(n):
            values[data + n * number + i] = values[u + i]
        values[count] = number + 1


@_operation
def pick(values: Any, numbers: Any, integers: Any) -> None:
    """y[i] = u[j]; integers: n, y, then place of u and j for each i."""
    n, y = integers[0], integers[1]
    for i in range(n):
        values[y + i] = values[integers[2 + 2 * i] + integers[3 + 2 * i]]


@_operation
def shift_in(values: Any, numbers: Any, integers: Any) -> None:
    """next = [x[m:n]; u[0:m]]; integers: n, m, x, u, next."""
    n, m, x, u, target = integers[0], integers[1], integers[2], integers[3], integers[4]
    for i in range(n - m):
        values[target + i] = values[x + m + i]
    for i in range(m):
        values[target + n - m + i] = values[u + i]


@_operation
def euler_step(values: Any, numbers: Any, integers: Any) -> None:
    """next[i] = x[i] + h * u[i]; integers: n, h, x, u, next."""
    n, h, x, u, target = integers[0], integers[1], integers[2], integers[3], integers[4]
    for i in range(n):
        values[target + i] = values[x + i] + numbers[h] * values[u + i]


@_operation
def low_pass(values: Any, numbers: Any, integers: Any) -> None:
    """zdot[i] = (u[i] - z[i]) / tau[i]; integers: n, tau, u, z, zdot."""
    n, tau, u, z, zdot = integers[0], integers[1], integers[2], integers[3], integers[4]
    for i in range(n):
        values[zdot + i] = (values[u + i] - values[z + i]) / numbers[tau + i]


@_operation
def take_sample(values: Any, numbers: Any, integers: Any) -> None:
    """Of the two latest samples drops the older; integers: n, u, latest, the next ones, then old and new count or 0."""
    n, u, latest, next_latest, next_before = integers[0], integers[1], integers[2], integers[3], integers[4]
    has_count, count, next_count = integers[5], integers[6], integers[7]
    for i in range(n):
        values[next_before + i] = values[latest + i]
        values[next_latest + i] = values[u + i]
    if has_count:
        values[next_count] = values[count] + 1.0


@_operation
def difference_quotient(values: Any, numbers: Any, integers: Any) -> None:
    """y[i] = (latest[i] - before[i]) / h, times 0 until there are two samples if these are counted.

    Integers: n, h, latest, before, y, whether there is a count, and its place.
    """
    n, h, latest, before, y = integers[0], integers[1], integers[2], integers[3], integers[4]
    has_count, count = integers[5], integers[6]
    for i in range(n):
        values[y + i] = (values[latest + i] - values[before + i]) / numbers[h]
        if has_count and values[count] < 2.0:
            values[y + i] *= 0.0
