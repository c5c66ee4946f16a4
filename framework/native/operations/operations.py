"""The operations of the tape: compiled functions that are called by their address.

Each takes three bare pointers: to the flat array of a Context, to constants, and to its own list of integers. The
integers say how much to do and where (see core/context/native_code.py). An operation computes to the last bit what the
Python callback of its block computes.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from merganser.framework.core.context.native_code import Operation
from merganser.framework.core.declarations.native_function import NativeOperation
from merganser.framework.native.compiler.code_files import CodeFiles
from merganser.framework.native.compiler.extending import import_whole
from merganser.framework.native.compiler.kernels import Code, compiler_lock, obtain
from merganser.framework.native.compiler.portable_code import note_source
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.tape import FAILED, call_python, integers_at
from merganser.framework.native.operations.expression_operations import expressions
from merganser.framework.native.operations.native_operations import signature_of_operation
from merganser.framework.native.operations.trajectory_operations import trajectory

OPERATIONS: dict[str, Callable[..., None]] = {
    function.__name__: function for function in (expressions, trajectory)
}


_OF_COMPLEX = {"copy", "expressions"}  # those that compute derivatives by the complex step


def _operation(function: Callable[..., None]) -> Callable[..., None]:
    OPERATIONS[function.__name__] = function
    return function


def address_of(operation: str | NativeOperation | Operation, is_complex: bool = False) -> int:
    """The address of a compiled operation; compiled, or taken from the disk, when first asked for.

    Args:
        operation: which.
        is_complex: whether it is to work on complex numbers, see has_complex_form().

    Raises:
        TypeError: numba cannot compile it.
    """
    if isinstance(operation, str):
        return _address_of(operation, is_complex)
    if is_complex and isinstance(operation, NativeOperation):
        return operation.complex_address()
    return operation.address()


def is_kept(operation: str | NativeOperation | Operation) -> bool:
    """Whether an operation on floats is on the disk; functions of users are compiled when Python calls them, too."""
    if operation not in _KEPT:
        if isinstance(operation, str):
            found = CompiledOperation(OPERATIONS[operation]).is_kept()
        elif isinstance(operation, NativeOperation) and operation.function.is_ours:
            found = operation.compiled().is_kept()
        else:
            found = True
        if not found:
            return False
        _KEPT.add(operation)
    return True


_KEPT: set[str | NativeOperation | Operation] = set()


def has_complex_form(operation: str | NativeOperation | Operation) -> bool:
    """Whether an operation may work on the array of a Context of complex numbers.

    Functions of users may: those that cannot be compiled so raise a TypeError when their address is asked for.
    """
    if isinstance(operation, CompiledOperation):
        return operation.has_complex_form
    return isinstance(operation, NativeOperation) or operation in _OF_COMPLEX


@functools.cache
def _address_of(name: str, is_complex: bool) -> int:
    return CompiledOperation(OPERATIONS[name], is_complex).address()


def caller_of(operation: Operation, values: Any, integers: Any) -> Callable[[], None]:
    """A function that Python calls to have an operation work on an array of float64, with this list of integers.

    The caller keeps both arrays, and all that the integers refer to.
    """
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)
    arguments = (ctypes.c_void_p(address_of_array(array)) for array in (values, values, integers))
    return functools.partial(kind(operation.address()), *arguments)


class CompiledOperation:
    """A function of the three pointers as an operation, compiled when it is first used.

    Args:
        function: the function.
        is_complex: whether it works on complex numbers.
        has_complex_form: whether what it does on floats another one may do on complex numbers.
    """

    def __init__(
        self, function: Callable[..., None], is_complex: bool = False, has_complex_form: bool = False
    ) -> None:
        self._function, self._is_complex = function, is_complex
        self.has_complex_form = is_complex or has_complex_form
        self._code: Code | None = None

    def is_kept(self) -> bool:
        """Whether it is on the disk."""
        return CodeFiles(self._function).has(self._types())

    def _types(self) -> str:
        return "operation of complex numbers" if self._is_complex else "operation"

    def address(self) -> int:
        """Where the operation stands; compiled, or taken from the disk, when first asked for."""
        if self._code is None:
            with compiler_lock:
                if self._code is None:
                    files = CodeFiles(self._function)
                    self._code = obtain(files, self._types(), self._compile)
                    note_source(self._code.address, files, self._types(), self._compile)
                    _KEPT_ALIVE.append(self._code)
        return self._code.address

    def _compile(self) -> Any:
        compiler = import_whole("merganser.framework.native.compiler.numba_front")
        return compiler.compile_operation(self._function, signature_of_operation(self._is_complex))


_KEPT_ALIVE: list[Any] = []


@_operation
def copy(values: Any, numbers: Any, integers: Any) -> None:
    """to[0:n] = from[0:n]; integers: n, from, to."""
    n, source, target = integers[0], integers[1], integers[2]
    for i in range(n):
        values[target + i] = values[source + i]


@_operation
def call_back(values: Any, numbers: Any, integers: Any) -> None:
    """Calls a function of Python; integers: its address, and that of what operations come to."""
    integers_at(integers[1])[0] = call_python(integers[0], integers[1])


@_operation
def call_back_on_demand(values: Any, numbers: Any, integers: Any) -> None:
    """Calls a function of Python if it is wanted, or notes that it was not called; integers: those of call_back, then
    the addresses of whether it is wanted, and of the note."""
    if integers_at(integers[2])[0]:
        integers_at(integers[1])[0] = call_python(integers[0], integers[1])
    else:
        integers_at(integers[3])[0] = 1


@_operation
def switch(values: Any, numbers: Any, integers: Any) -> None:
    """y = u of the selected port; integers: failure, n, offset of its number, y, number of ports, each and its u."""
    n, selected, y = integers[1], int(values[integers[2]]), integers[3]
    for k in range(integers[4]):
        if integers[5 + 2 * k] == selected:
            for i in range(n):
                values[y + i] = values[integers[6 + 2 * k] + i]
            return
    integers_at(integers[0])[0] = FAILED


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
