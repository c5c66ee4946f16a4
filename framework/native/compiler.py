"""Compilation by numba. Whatever is on the disk already needs neither this module nor numba."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import overload, register_jitable

from merganser.framework.native.announce import announcer
from merganser.framework.native.compile import Code
from merganser.framework.native.compilers import HelperCompiler, KernelCompiler, OperationCompiler
from merganser.framework.native.extending import interrupts_wait, tell_compiler
from merganser.framework.native.machine_code import MachineCode, tell_addresses

__all__ = [
    "compile_kernel",
    "compile_operation",
    "finished",
    "plain_form",
    "prepare",
    "tell_form",
    "tell_helper",
    "type_of_kernel",
    "types_of",
]

_HELPER_OPTIONS: dict[str, Any] = {"pipeline_class": HelperCompiler, "no_cfunc_wrapper": True}
# Kernels allocate nothing, so they need not count references to their arrays (12 % of an inverse dynamics).
_KERNEL_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}


def tell_helper(function: Callable[..., Any], **options: Any) -> None:
    """Tells numba that kernels may call a function."""
    register_jitable(**options, **_HELPER_OPTIONS)(function)


def tell_form(function: Callable[..., Any], form: Callable[..., Any]) -> None:
    """Tells numba what kernels call in place of a function."""
    options: Any = dict(_HELPER_OPTIONS)
    overload(function, jit_options=options, strict=False)(lambda *arguments: form)


def types_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numba's types of values."""
    tell_compiler()
    return tuple(numba.typeof(argument) for argument in arguments)


def compile_kernel(function: Callable[..., Any], signature: tuple[Any, ...]) -> tuple[Code, MachineCode | None]:
    """Compiles a function for arguments of these types."""
    prepare()
    dispatcher = _dispatcher(function)
    dispatcher.compile(signature)
    overload = dispatcher.overloads[signature]
    result = numba.types.unliteral(overload.signature.return_type)  # that of 0 is Literal[int](0), which is an int64
    return finished(overload.library, overload.fndesc.llvm_func_name, _name_of(result))


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
    compiled: Any = CFunc(function, signature, {}, dict(options), pipeline_class=OperationCompiler)
    compiled.compile()
    return finished(compiled._library, compiled.native_name, "none")


@functools.cache
def plain_form(function: Callable[..., Any]) -> Any:
    """What numba makes of a kernel if left to itself; not kept on the disk."""
    prepare()
    return numba.njit(function, nogil=True, **_KERNEL_OPTIONS)


def type_of_kernel(function: Callable[..., Any]) -> Any:
    """Numba's type of a kernel that another one calls."""
    return numba.typeof(_dispatcher(function))


@functools.cache
def _dispatcher(function: Callable[..., Any]) -> Any:
    # Python calls kernels by entry points of their own (entry_points.py).
    options: dict[str, Any] = {"pipeline_class": KernelCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(function, **options, **_KERNEL_OPTIONS)


def prepare() -> None:
    """Tells numba and LLVM all that code may refer to."""
    tell_compiler()
    tell_addresses()
    with interrupts_wait():  # what knows how to compile anything is imported when it is first asked for
        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


@global_compiler_lock
def finished(library: Any, symbol: str, result: str) -> tuple[Code, MachineCode | None]:
    """Makes machine code of a library of numba's; gives the code of one function in it, and what can be kept of it."""
    with interrupts_wait():  # which are lost where LLVM calls Python
        if not library._finalized:
            library.enable_object_caching()
            library.finalize()
        code = Code(library.get_pointer_to_function(symbol), result, library, is_from_disk=False)
        if library.has_dynamic_globals:  # addresses that are others in the next process
            return code, None
        (content, _) = library.serialize_using_object_code()[2]
    module = library._final_module
    declared = (*module.functions, *module.global_variables)
    needed = tuple(each.name for each in declared if each.is_declaration and not each.name.startswith("llvm."))
    return code, MachineCode(symbol, result, content, needed)


def _name_of(kind: Any) -> str:
    return "bool" if kind == numba.types.boolean else str(kind)


class _Listener(event.Listener):
    """Announces what numba compiles."""

    def on_start(self, event: Any) -> None:
        announcer.start(event.data["dispatcher"].py_func)

    def on_end(self, event: Any) -> None:
        announcer.end(event.data["dispatcher"].py_func)


event.register("numba:compile", _Listener())
