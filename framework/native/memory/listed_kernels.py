"""Kernels that compiled code calls without knowing them: by their places in a list of addresses.

Where a program brings functions of its own for something that kernels of this package go through, as joints of its own
are, these are compiled apart. The kernels are given the address of a list, in which one place stands for one purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from merganser.framework.native.compiler.extending import cgutils, intrinsic, ir, types
from merganser.framework.native.compiler.kernels import kernel, kernel_address
from merganser.framework.native.memory.addresses import address_of_array


class KernelList:
    """Functions compiled for given arguments, and the list of their addresses.

    Args:
        functions: by their places; None for a gap. They return nothing, or all an integer.
        examples: arguments of each, of the types that it is called with.

    Attributes:
        address: of the list; 0 if nothing is compiled in this process. Not to be used longer than the object lives.
    """

    def __init__(
        self, functions: Sequence[Callable[..., Any] | None], examples: Sequence[tuple[Any, ...]]
    ) -> None:
        self._addresses = np.zeros(len(functions), np.int64)
        self._kernels = [None if function is None else kernel(function) for function in functions]
        self.address = 0
        for place, (function, compiled) in enumerate(zip(functions, self._kernels)):
            if function is not None and compiled is not function:
                self._addresses[place] = kernel_address(compiled, *examples[place])
                self.address = address_of_array(self._addresses)


LEFT_ARRAY = -1  # status of a kernel that an exception has ended, as at an index out of range


def calls_listed(
    place: int, in_python: Callable[..., int], *, has_status: bool = False, num_constant: int = 0
) -> Any:
    """A function of compiled code that calls a listed kernel: call(list, complex_list, arguments).

    The list is the one for complex numbers if one of the arguments is an array of these. Nothing is called if its
    address, or that in the place, is 0. It returns LEFT_ARRAY if the kernel was left by an exception, and for lanes
    (simd.py), of which no kernel is listed; or else 0, or what the kernel returns.

    Args:
        place: in the list.
        in_python: what Python calls instead; returns the same.
        has_status: whether the kernels of this place return an integer.
        num_constant: how many arguments at the front are records whose numbers are floats, whatever the others are.
    """

    def call(typingctx: Any, addresses: Any, complex_addresses: Any, arguments: Any) -> Any:
        argtypes = tuple(map(_as_compiled, arguments))
        from merganser.framework.native.memory.simd_code import LanesType

        numbers = set().union(*map(_numbers_in, argtypes[num_constant:]))
        if len(numbers) > 1:
            raise TypeError(f"Listed kernels take floats or complex numbers, not both: {arguments}.")
        result = types.int64 if has_status else types.none
        is_complex = any(getattr(kind, "dtype", None) == types.complex128 for kind in argtypes)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            from merganser.framework.native.compiler.numba_inside import call_at

            integer = ir.IntType(64)
            if any(isinstance(kind, LanesType) for kind in numbers):
                return integer(LEFT_ARRAY)
            status = cgutils.alloca_once_value(builder, integer(0))
            start = values[1 if is_complex else 0]
            with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, start)):
                pointer = builder.gep(builder.inttoptr(start, integer.as_pointer()), [integer(place)])
                address = builder.load(pointer)
                with cgutils.if_likely(builder, cgutils.is_not_null(builder, address)):
                    given = cgutils.unpack_tuple(builder, values[2], len(argtypes))
                    has_left, returned = call_at(context, builder, address, result, argtypes, given)
                    answer = returned if has_status else integer(0)
                    builder.store(builder.select(has_left, integer(LEFT_ARRAY), answer), status)
            return builder.load(status)

        return types.int64(types.int64, types.int64, arguments), generate

    return intrinsic(call, in_python)


def _as_compiled(kind: Any) -> Any:
    """The type of an argument: of those that are alike in memory, the one that an example has."""
    if isinstance(kind, types.Record):
        return kind
    if isinstance(kind, types.Array) and kind.layout == "C":
        return kind.copy(readonly=False)
    raise TypeError(f"Listed kernels take records and contiguous arrays, not {kind}.")


def _numbers_in(kind: Any) -> set[Any]:
    """Whether a record or an array has floats, complex numbers, lanes or several of these."""
    if isinstance(kind, types.Record):
        return set().union(*(_numbers_in(kind.typeof(name)) for name in kind.fields))
    if isinstance(kind, types.Array | types.NestedArray):
        return _numbers_in(kind.dtype)
    return set() if isinstance(kind, types.Integer | types.Boolean) else {kind}
