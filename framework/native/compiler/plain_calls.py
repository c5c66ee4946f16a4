"""Calls of kernels by numba's own way, which `bind` takes where entry points cannot be used (entry_points.py).

Numba unpacks the arguments, with what it knows of the Python and the numpy that it was built for, and a function of one
line hands them on to the kernel at its address. It is the same machine code as behind an entry point, so that the
results are the same to the last bit; only the call takes longer, and its few instructions are compiled in each process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.extending import intrinsic

from merganser.framework.native.compiler.extending import interrupts_wait
from merganser.framework.native.compiler.kernels import Code
from merganser.framework.native.compiler.numba_front import types_of
from merganser.framework.native.compiler.numba_inside import call_at, cgutils, ended_message, raise_where


@interrupts_wait()
def plain_call(name: str, code: Code, examples: tuple[Any, ...], releases_lock: bool) -> Callable[..., Any]:
    """Makes a function that calls a kernel.

    Args:
        name: the kernel's, for messages.
        code: the kernel's.
        examples: values of the types of all arguments.
        releases_lock: whether other threads of Python may run while the kernel does.

    Returns:
        A function of all arguments. It raises TypeError if they are of other types, which numba does not turn into
        these, and IndexError if the kernel leaves an array and looks at its indices.
    """
    result = types.boolean if code.result == "bool" else getattr(types, code.result)
    call_code = _caller(result, ended_message(name))

    def call(address: int, arguments: Any) -> Any:
        return call_code(address, arguments)

    # The types are given, so that numba never makes another form of it for arguments that the kernel does not take.
    signature = result(types.int64, types.BaseTuple.from_types(types_of(examples)))
    compiled: Any = numba.njit(signature, nogil=releases_lock)(call)

    def call_kernel(*arguments: Any) -> Any:
        return compiled(code.address, arguments)

    call_kernel.__name__ = name
    return call_kernel


def _caller(result: Any, message: str) -> Any:
    """What calls the kernel at an address, for a result of this type, with a tuple of arguments."""

    def describe(typingctx: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            unpacked = cgutils.unpack_tuple(builder, values[1], len(arguments))
            is_outside, returned = call_at(context, builder, values[0], result, tuple(arguments), unpacked)
            raise_where(context, builder, is_outside, IndexError(message))
            return returned

        return result(types.int64, arguments), generate

    return intrinsic(describe)
