"""Searches that are compiled once, and called at their addresses by all code that needs them.

Left to itself the compiler takes a helper into each kernel that calls it, and into each helper on the way there, and
makes machine code of it every time. A function marked `shared` is a kernel of its own. Its address stands in a cell
that compiled code, be it from the disk, finds by name, and that `prepare` fills.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from merganser.framework.native import kernel, kernel_address
from merganser.geometry.proximity.hull_reference import HullsSample
from merganser.geometry.proximity.layout import Hulls, geometry_dtype, work_dtype

__all__ = ["job_of", "prepare", "shared"]

# By name of the function: its kernel, its cell, and samples of what follows the first four arguments.
_SHARED: dict[str, tuple[Any, NDArray[np.int64], tuple[Any, ...]]] = {}


def shared(restype: Any, *others: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a function of geometries A and B, hulls, work and perhaps more: compiled once, called at its address.

    In Python it stays what it is.

    Args:
        restype: numba's type of what it returns.
        others: values of the types of its further arguments.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = f"merganser_{function.__name__}"
        cell = np.zeros(1, np.int64)
        binding.add_symbol(name, cell.ctypes.data)
        _SHARED[function.__name__] = kernel(function), cell, others

        def call(typingctx: Any, arguments: Any) -> Any:
            return _call_at(name, restype, arguments)

        called: Any = intrinsic(call)

        def choose(*arguments: Any) -> Any:
            def implementation(*arguments: Any) -> Any:
                return called(arguments)

            return implementation

        overload(function)(choose)
        return function

    return decorate


def _call_at(name: str, restype: Any, arguments: Any) -> Any:
    """Numba's description of a call of the kernel whose address stands in the cell of this name."""
    argtypes = tuple(types.unliteral(kind) for kind in arguments)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        integer = ir.IntType(64)
        cell = builder.module.globals.get(name) or cgutils.add_global_variable(builder.module, integer, name)
        convention = context.call_conv
        function_type = convention.get_function_type(restype, argtypes)
        function = builder.inttoptr(builder.load(cell), function_type.as_pointer())
        unpacked = [
            context.cast(builder, value, kind, argtype)
            for value, kind, argtype in zip(
                cgutils.unpack_tuple(builder, values[0], len(argtypes)), arguments, argtypes
            )
        ]
        _, result = convention.call_function(builder, function, restype, argtypes, unpacked)
        return result

    return restype(arguments), generate


def prepare(names: Sequence[str]) -> None:
    """Compiles shared functions, or takes them from the disk; to be called before a kernel calls them."""
    for function_name in names:
        cell = _SHARED[function_name][1]
        code, arguments = job_of(function_name)
        if cell[0] == 0 and hasattr(code, "overloads"):  # not with NUMBA_DISABLE_JIT=1
            cell[0] = kernel_address(code, *arguments)


def job_of(function_name: str) -> tuple[Any, tuple[Any, ...]]:
    """The kernel that a shared function is, and arguments of its types; for `compile_ahead`."""
    code, _, others = _SHARED[function_name]
    return code, (*_samples(), *others)


@functools.cache
def _samples() -> tuple[Any, ...]:
    """Geometries A and B, hulls and work, of the types that shared functions take."""
    geometry, work = np.zeros(1, geometry_dtype)[0], np.zeros(1, work_dtype)[0]
    numbers, rows, planes, edges = np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 4)), np.zeros((0, 4), np.int64)
    hulls = Hulls(rows, numbers, numbers, planes, numbers, numbers, edges)
    return geometry, geometry, HullsSample(hulls), work
