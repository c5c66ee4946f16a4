"""What compiled code calls by address: operations, kernels, functions of Python; and what stands at an address."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.compiler.extending import cgutils, intrinsic, ir, types

# What operations come to; all others are left undone then.
(
    SUCCEEDED,
    FAILED,  # numbers do not allow it; Python does it again and says why
    RAISED,  # a function of Python has raised an exception
    AGAIN,  # the list of operations is out of date, and has to be made again
) = range(4)


def _call_operation(typingctx: Any, address: Any, values: Any, numbers: Any, integers: Any) -> Any:
    """Calls the operation at an address with three pointers, all given as integers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double_p = ir.DoubleType().as_pointer()
        int_p = ir.IntType(64).as_pointer()
        function_type = ir.FunctionType(ir.VoidType(), [double_p, double_p, int_p])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        pointers = [builder.inttoptr(a, t) for a, t in zip(arguments[1:], (double_p, double_p, int_p))]
        builder.call(function, pointers)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), generate


def _call_clock(typingctx: Any, address: Any, clock: Any, time: Any) -> Any:
    """Calls `clock_gettime` of the C library: the number of a clock, and where seconds and nanoseconds go."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        int_p = ir.IntType(64).as_pointer()
        function_type = ir.FunctionType(ir.IntType(32), [ir.IntType(32), int_p])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        clock_number = builder.trunc(arguments[1], ir.IntType(32))
        builder.call(function, [clock_number, builder.inttoptr(arguments[2], int_p)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _call_at(restype: Any, given: Any) -> Any:
    argtypes = tuple(types.unliteral(kind) for kind in given)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from merganser.framework.native.compiler.numba_inside import call_from_kernel

        values = cgutils.unpack_tuple(builder, arguments[1], len(argtypes))
        return call_from_kernel(context, builder, arguments[0], restype, argtypes, values)

    return restype(types.int64, given), generate


def _call_kernel(typingctx: Any, address: Any, arguments: Any) -> Any:
    """Calls the kernel at an address (see `kernel_address`), which returns an integer, with a tuple of arguments.

    What calls it is compiled without the kernel: in a second, where the kernel takes ten.
    """
    return _call_at(types.int64, arguments)


def _call_quiet_kernel(typingctx: Any, address: Any, arguments: Any) -> Any:
    """Calls the kernel at an address, which returns nothing, with a tuple of arguments."""
    return _call_at(types.none, arguments)


def _call_asking_kernel(typingctx: Any, address: Any, arguments: Any) -> Any:
    """Calls the kernel at an address, which returns a bool, with a tuple of arguments."""
    return _call_at(types.boolean, arguments)


def _call_python(typingctx: Any, function: Any, failure: Any) -> Any:
    """Calls the function of Python at an address, without arguments; it returns an integer.

    The thread takes Python's lock for it. If the function raises an exception, or an interrupt comes, RAISED is
    returned; the exception stands after the integer at the address `failure`, for `raise_kept`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer, lock_state, nothing = ir.IntType(64), ir.IntType(32), ir.VoidType()
        thing = ir.IntType(8).as_pointer()

        def call(name: str, result: Any, *arguments: Any) -> Any:
            function_type = ir.FunctionType(result, [argument.type for argument in arguments])
            return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), arguments)

        status = cgutils.alloca_once_value(builder, integer(RAISED))
        lock = call("PyGILState_Ensure", lock_state)
        result = call("PyObject_CallObject", thing, builder.inttoptr(arguments[0], thing), thing(None))
        with builder.if_else(cgutils.is_null(builder, result)) as (has_raised, has_returned):
            with has_raised:
                kept = builder.inttoptr(arguments[1], thing.as_pointer())
                call("PyErr_Fetch", nothing, *(builder.gep(kept, [integer(n)]) for n in (1, 2, 3)))
            with has_returned:
                builder.store(call("PyLong_AsLongLong", integer, result), status)
                call("Py_DecRef", nothing, result)
        call("PyGILState_Release", nothing, lock)
        return builder.load(status)

    return types.int64(types.int64, types.int64), generate


def no_failure() -> NDArray[np.int64]:
    """An integer for what operations come to, and room for an exception that one of them has raised."""
    return np.zeros(4, dtype=np.int64)


def raise_kept(failure: NDArray[np.int64]) -> None:
    """Raises the exception that a function of Python has raised, which compiled code has called."""
    kept = failure[1:].tolist()
    failure[1:] = 0
    ctypes.pythonapi.PyErr_Restore(*map(ctypes.c_void_p, kept))


def _pointer_to(number: Any) -> Any:
    kind = types.CPointer(number)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(kind))

    return kind(types.int64), generate


def _doubles_at(typingctx: Any, address: Any) -> Any:
    """The floats at an address, as something to index."""
    return _pointer_to(types.float64)


def _integers_at(typingctx: Any, address: Any) -> Any:
    """The integers at an address, as something to index."""
    return _pointer_to(types.int64)


def _words_at(typingctx: Any, address: Any) -> Any:
    """The 32-bit integers at an address, as something to index."""
    return _pointer_to(types.int32)


def _complexes_at(typingctx: Any, address: Any) -> Any:
    """The complex numbers at an address, as something to index."""
    return _pointer_to(types.complex128)


def _called(kernel: Any, arguments: tuple[Any, ...]) -> Any:
    return kernel(*arguments)


# In Python, these three take a function in place of an address, so that one source serves Python and compiled code.
call_asking_kernel: Any = intrinsic(_call_asking_kernel, in_python=_called)
call_clock: Any = intrinsic(_call_clock)
call_kernel: Any = intrinsic(_call_kernel, in_python=_called)
call_operation: Any = intrinsic(_call_operation)
call_python: Any = intrinsic(_call_python)
call_quiet_kernel: Any = intrinsic(_call_quiet_kernel, in_python=_called)
complexes_at: Any = intrinsic(_complexes_at)
doubles_at: Any = intrinsic(_doubles_at)
integers_at: Any = intrinsic(_integers_at)
words_at: Any = intrinsic(_words_at)


def clock_address() -> tuple[int, int]:
    """The address of the function that `call_clock` calls, 0 without one, and the number of a clock for it."""
    try:
        function: Any = ctypes.CDLL(None).clock_gettime
    except (AttributeError, OSError, TypeError):
        return 0, 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0, getattr(time, "CLOCK_MONOTONIC", 0)
