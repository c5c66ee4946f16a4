"""Kernels that compiled code calls without knowing them: by their places in a list of addresses.

Where a program brings functions of its own for something that kernels of this package go through, as joints of its own
are, these are compiled apart. The kernels are given the address of a list, in which one place stands for one purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from merganser.framework.native.addresses import address_of_array
from merganser.framework.native.compile import kernel, kernel_address
from merganser.framework.native.extending import cgutils, intrinsic, ir, types

__all__ = ["KernelList", "calls_listed"]


class KernelList:
    """Functions compiled for given arguments, and the list of their addresses.

    Args:
        functions: that return nothing, by their places; None where there is none.
        examples: arguments of each, of the types that it is called with.

    Attributes:
        address: of the list; 0 if nothing is compiled in this process. Not to be used longer than the object lives.
    """

    def __init__(
        self, functions: Sequence[Callable[..., None] | None], examples: Sequence[tuple[Any, ...]]
    ) -> None:
        self._addresses = np.zeros(len(functions), np.int64)
        self._kernels = [None if function is None else kernel(function) for function in functions]
        self.address = 0
        for place, (function, compiled) in enumerate(zip(functions, self._kernels)):
            if function is not None and compiled is not function:
                self._addresses[place] = kernel_address(compiled, *examples[place])
                self.address = address_of_array(self._addresses)


def calls_listed(place: int, in_python: Callable[..., bool]) -> Any:
    """A function of compiled code that calls a listed kernel: call(list, complex_list, arguments).

    The list is the one for complex numbers if one of the arguments is an array of these. Nothing is called if its
    address, or that in the place, is 0. It returns whether the kernel was left by an exception, as at an index out of
    range.

    Args:
        place: in the list.
        in_python: what Python calls instead; returns False.
    """

    def call(typingctx: Any, addresses: Any, complex_addresses: Any, arguments: Any) -> Any:
        argtypes = tuple(map(_as_compiled, arguments))
        is_complex = any(getattr(kind, "dtype", None) == types.complex128 for kind in argtypes)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            from merganser.framework.native.numba_inside import call_at

            integer = ir.IntType(64)
            start = values[1 if is_complex else 0]
            has_failed = cgutils.alloca_once_value(builder, cgutils.false_bit)
            with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, start)):
                pointer = builder.gep(builder.inttoptr(start, integer.as_pointer()), [integer(place)])
                address = builder.load(pointer)
                with cgutils.if_likely(builder, cgutils.is_not_null(builder, address)):
                    given = cgutils.unpack_tuple(builder, values[2], len(argtypes))
                    failure, _ = call_at(context, builder, address, types.none, argtypes, given)
                    builder.store(failure, has_failed)
            return builder.load(has_failed)

        return types.boolean(types.int64, types.int64, arguments), generate

    return intrinsic(call, in_python)


def _as_compiled(kind: Any) -> Any:
    """The type of an argument: of those that stand in memory alike, the one that an example has."""
    if isinstance(kind, types.Record):
        return kind
    if isinstance(kind, types.Array) and kind.layout == "C":
        return kind.copy(readonly=False)
    raise TypeError(f"Listed kernels take records and contiguous arrays, not {kind}.")
