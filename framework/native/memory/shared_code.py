"""Functions that are compiled once, and called at their addresses by all code that needs them.

Left to itself the compiler takes a helper into each kernel that calls it, and into each helper on the way there, and
makes machine code of it every time. A function marked `shared` is a kernel of its own. Its address is in a cell
that compiled code, be it from the disk, finds by name. As long as the cell is empty the caller has `_find_code`
fill it, which compiles the function or takes it from the disk: what is never needed is never compiled, and nothing can
be called before it is there.
"""

from __future__ import annotations

import _thread
import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.compiler.extending import cgutils, intrinsic, ir, overload, types
from merganser.framework.native.compiler.kernels import kernel
from merganser.framework.native.compiler.machine_code import name_address
from merganser.framework.native.compiler.parallel_compilation import Job
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.hinted_types import hinted_address, hinted_job

_SHARED: dict[str, tuple[Any, NDArray[np.int64]]] = {}  # by name of the function: its kernel, and its cell
_FEATURES: dict[str, str] = {}  # by name of the function
_FINDER = "merganser_find_code"  # the name by which compiled code knows `_find_code`
_NONE_FOUND = -1  # what a function returns that could not be compiled, or False


def shared(restype: type[int], feature: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a function that is compiled once and called at its address; in Python it stays what it is.

    Where it cannot be compiled, for want of memory say, that is printed, and its callers get -1 or False.

    Args:
        restype: what it returns: `int` or `bool`. What it takes, the hints of its parameters say (hinted_types.py).
        feature: what alone it is for: outside of Python, operations call it that name this (`NativeCode.features`).
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = f"merganser_{function.__name__}"
        cell = _cell_of(function)
        name_address(name, address_of_array(cell))
        _SHARED[function.__name__], _FEATURES[function.__name__] = (kernel(function), cell), feature

        def call(typingctx: Any, arguments: Any) -> Any:
            return _call_at(name, types.boolean if restype is bool else types.int64, arguments)

        called: Any = intrinsic(call)

        def choose(*arguments: Any) -> Any:
            def implementation(*arguments: Any) -> Any:
                return called(arguments)

            return implementation

        overload(function)(choose)
        return function

    return decorate


def _cell_of(function: Callable[..., Any]) -> NDArray[np.int64]:
    """An empty cell: that of its predecessor if the module is loaded again, as compiled code has its address."""
    if function.__name__ not in _SHARED:
        return np.zeros(1, np.int64)
    predecessor, cell = _SHARED[function.__name__]
    if predecessor.__module__ != function.__module__:
        raise ValueError(f"There is a shared function {function.__name__}() in {predecessor.__module__} already.")
    cell[0] = 0
    return cell


def _call_at(name: str, restype: Any, arguments: Any) -> Any:
    """Numba's description of a call of the kernel whose address is in the cell of this name."""
    argtypes = tuple(types.unliteral(kind) for kind in arguments)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        from merganser.framework.native.compiler.numba_inside import call_from_kernel

        module, integer = builder.module, ir.IntType(64)
        cell = module.globals.get(name) or cgutils.add_global_variable(module, integer, name)
        unpacked = [
            context.cast(builder, value, kind, argtype)
            for value, kind, argtype in zip(
                cgutils.unpack_tuple(builder, values[0], len(argtypes)), arguments, argtypes
            )
        ]
        address = cgutils.alloca_once_value(builder, builder.load(cell))
        with builder.if_then(builder.icmp_unsigned("==", builder.load(address), integer(0)), likely=False):
            find = cgutils.get_or_insert_function(module, ir.FunctionType(ir.VoidType(), [cell.type]), _FINDER)
            builder.call(find, [cell])
            builder.store(builder.load(cell), address)
        kind = context.get_value_type(restype)
        outcome = cgutils.alloca_once_value(builder, kind(0 if restype == types.boolean else _NONE_FOUND))
        with builder.if_then(builder.icmp_unsigned("!=", builder.load(address), integer(0)), likely=True):
            returned = call_from_kernel(context, builder, builder.load(address), restype, argtypes, unpacked)
            builder.store(returned, outcome)
        return builder.load(outcome)

    return restype(arguments), generate


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _find_code(place: int) -> None:
    """Writes the address of a function into its cell, which stands at a place; leaves it empty if that is impossible.

    Compiled code calls this, so that nothing may be raised from here. Ctrl-C waits until the function is compiled and
    the kernel that calls it is done.
    """
    function, cell = next((function, cell) for function, cell in _SHARED.values() if address_of_array(cell) == place)
    was_interrupted = False
    while cell[0] == 0:
        try:
            cell[0] = hinted_address(function)
        except KeyboardInterrupt:
            was_interrupted = True
        except BaseException as error:  # memory, say
            name = function.interpreted.__name__
            print(f"{name} cannot be compiled, what needs it is not solved: {error!r}", file=sys.stderr)
            break
    if was_interrupted:
        _thread.start_new_thread(_interrupt_soon, ())


def _interrupt_soon() -> None:
    """Interrupts the main thread when it has left the kernel, which holds Python's lock."""
    time.sleep(0.05)
    _thread.interrupt_main()


name_address(_FINDER, ctypes.cast(_find_code, ctypes.c_void_p).value or 0)


def job_of(function_name: str) -> Job:
    """The kernel that a shared function is, and arguments of its types; for `compile_ahead`."""
    return hinted_job(_SHARED[function_name.removeprefix("merganser_")][0])


def shared_names() -> list[str]:
    """The names of all shared functions of the modules that have been imported."""
    return list(_SHARED)


def is_cell(name: str) -> bool:
    """Whether compiled code knows the cell of a shared function by a name."""
    return name.startswith("merganser_") and name.removeprefix("merganser_") in _SHARED


def feature_of(name: str) -> str:
    """What alone the function of a cell is for; empty if it is for all."""
    return _FEATURES[name.removeprefix("merganser_")]


def shared_address(name: str) -> int:
    """The address of the function of a cell."""
    return hinted_address(_SHARED[name.removeprefix("merganser_")][0])
