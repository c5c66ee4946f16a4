"""Compilation by numba. Whatever is on the disk already needs neither this module nor numba."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
from numba.extending import overload, register_jitable

from merganser.framework.native.compiler.announce import announcer
from merganser.framework.native.compiler.code_files import package_of
from merganser.framework.native.compiler.extending import import_whole, register_all
from merganser.framework.native.compiler.kernels import Code
from merganser.framework.native.compiler.machine_code import MachineCode, tell_addresses
from merganser.framework.native.compiler.numba_inside import (
    compiled_kernel,
    compiled_operation,
    compiler_of,
    cpu_target,
    event,
    object_code,
)

_HELPER_OPTIONS: dict[str, Any] = {"pipeline_class": compiler_of("helper"), "no_cfunc_wrapper": True}
# Kernels allocate nothing, so they need not count references to their arrays (12 % of an inverse dynamics).
_KERNEL_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}


def register_helper(function: Callable[..., Any], **options: Any) -> None:
    """Registers a function that kernels may call; one of a user looks whether indices are in range."""
    register_jitable(boundscheck=not package_of(function), **options, **_HELPER_OPTIONS)(function)


def register_form(function: Callable[..., Any], form: Callable[..., Any]) -> None:
    """Registers what kernels call in place of a function."""
    options: Any = dict(_HELPER_OPTIONS)
    overload(function, jit_options=options, strict=False)(lambda *arguments: form)


def types_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numba's types of values."""
    register_all()
    with_lanes = import_whole("merganser.framework.native.memory.simd_code").with_lanes
    return tuple(with_lanes(numba.typeof(argument)) for argument in arguments)


def compile_kernel(function: Callable[..., Any], signature: tuple[Any, ...]) -> tuple[Code, MachineCode | None]:
    """Compiles a function for arguments of these types."""
    prepare()
    library, symbol, result = compiled_kernel(_dispatcher(function), signature)
    return finished(library, symbol, "bool" if result == numba.types.boolean else str(result))


def compile_operation(
    function: Callable[..., Any], signature: Any, counts_no_references: bool = False
) -> tuple[Code, MachineCode | None]:
    """Compiles a function that is called as C does, for pointers.

    Args:
        function: the function.
        signature: numba's types of its arguments and of the result.
        counts_no_references: whether nothing in it returns an array; code that counts references to arrays may call
            functions of numba's, for which numba is imported.
    """
    prepare()
    options = _KERNEL_OPTIONS if counts_no_references else {"error_model": "numpy"}
    library, symbol = compiled_operation(function, signature, options)
    return finished(library, symbol, "none")


def type_of_kernel(function: Callable[..., Any]) -> Any:
    """Numba's type of a kernel that another one calls."""
    return numba.typeof(_dispatcher(function))


@functools.cache
def _dispatcher(function: Callable[..., Any]) -> Any:
    # Python calls kernels by entry points of their own (entry_points.py).
    own: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    own["boundscheck"] = not package_of(function)  # one of a user looks whether indices are in range
    return numba.njit(function, pipeline_class=compiler_of("kernel"), **own, **_KERNEL_OPTIONS)


def prepare() -> None:
    """Registers with numba and LLVM all that code may refer to."""
    register_all()
    tell_addresses()
    cpu_target.typing_context.refresh()  # imports what knows how to compile anything
    cpu_target.target_context.refresh()


def finished(library: Any, symbol: str, result: str) -> tuple[Code, MachineCode | None]:
    """Makes machine code of a library of numba's; gives the code of one function in it, and what can be kept of it."""
    address, kept = object_code(library, symbol)
    code = Code(address, result, library, is_from_disk=False)
    return code, None if kept is None else MachineCode(symbol, result, *kept)


class _Listener(event.Listener):
    """Announces what numba compiles."""

    def on_start(self, event: Any) -> None:
        announcer.start(event.data["dispatcher"].py_func)

    def on_end(self, event: Any) -> None:
        announcer.end(event.data["dispatcher"].py_func)


event.register("numba:compile", _Listener())
