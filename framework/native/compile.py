"""Compiling kernels: one source, three scalars.

A kernel is a free function over arrays and record arrays: explicit loops, no allocation, no exceptions,
outputs and workspace owned by the caller. The same function serves

- float64 and complex128, compiled by numba on first use and kept on disk;
- every other scalar (symbolic expressions), as plain Python on object arrays: ``kernel.interpreted``.

Two decorators, because numba compiles a function either as an entry point or as a helper:

- ``@device`` marks a helper that kernels call, and ``@inlined`` a small one that inner loops call;
- ``@kernel`` marks an entry point that Python calls.

Where compiled code is kept on the disk, and when it is out of date, stands in kernel_cache.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import register_jitable

from merganser.framework.native.announce import announce_compilation
from merganser.framework.native.compilers import HelperCompiler, KernelCompiler
from merganser.framework.native.kernel_cache import KernelCache
from merganser.framework.native.parallel_compilation import note_kernel, wait_for

__all__ = [
    "PreparedKernel",
    "device",
    "enable_kernel_cache",
    "inlined",
    "kernel",
    "kernel_address",
    "specialize",
]

_HELPER_OPTIONS: dict[str, Any] = {"pipeline_class": HelperCompiler, "no_cfunc_wrapper": True}


def device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a helper that kernels call: plain Python when interpreted, inlined when compiled."""
    helper: Callable[..., Any] = register_jitable(**_HELPER_OPTIONS)(function)
    return helper


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a small helper of inner loops: like `device`, but compiled code has it in place of every call.

    Left to itself the compiler calls a good part of them, and passes tuples through memory (20 % of a mass matrix).
    """
    inline: Callable[..., Any] = register_jitable(forceinline=True, **_HELPER_OPTIONS)(function)
    return inline


def kernel(function: Callable[..., Any]) -> Any:
    """Marks an entry point: a compiled function that is specialized to its argument types on first call.

    The plain Python function stays available as ``.interpreted``, for scalars that numba does not know.
    """
    # Kernels allocate nothing, so they need not count references to their arrays (12 % of an inverse dynamics).
    numba_options: Any = {"nogil": True, "error_model": "numpy", "_nrt": False, "pipeline_class": KernelCompiler}
    compiled: Any = numba.njit(function, **numba_options)
    if hasattr(compiled, "py_func"):  # absent when NUMBA_DISABLE_JIT=1
        enable_kernel_cache(compiled, function)
        note_kernel(compiled)
    compiled.interpreted = function
    return compiled


def enable_kernel_cache(
    compiled: Any, function: Callable[..., Any], known_by: Callable[[], str | None] | None = None
) -> None:
    """Keeps what numba compiles of `function` on the disk.

    Args:
        compiled: what numba has made of the function, not compiled yet.
        function: the function.
        known_by: see KernelCache.
    """
    compiled._cache = KernelCache(function, known_by)


def specialize(kernel: Any, *arguments: Any) -> Any:
    """Compiles a kernel for arguments of the given types, and returns the code itself.

    Calling that code takes some 0.05 us an argument less than calling the kernel, because it does not look at the
    types of its arguments: whoever calls it must pass arrays of the same scalar types, as contiguous as these.
    """
    if not hasattr(kernel, "overloads"):  # NUMBA_DISABLE_JIT=1
        return kernel
    return find_overload(kernel, arguments).entry_point


def find_overload(kernel: Any, arguments: tuple[Any, ...]) -> Any:
    """What numba has compiled of a kernel for arguments of the given types; compiled if there is nothing yet."""
    key = kernel, tuple(map(type_key, arguments))
    overload = _overloads.get(key)
    if overload is None:
        signature = tuple(numba.typeof(argument) for argument in arguments)
        if signature not in kernel.overloads:
            wait_for(kernel)
            kernel.compile(signature)
        overload = _overloads[key] = kernel.overloads[signature]
    return overload


_overloads: dict[Any, Any] = {}


def type_key(value: Any) -> Any:
    """Tells values of different types apart, as `numba.typeof` does, which takes milliseconds for records."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    if isinstance(value, tuple):
        return type(value), tuple(map(type_key, value))
    return value.dtype if isinstance(value, np.void) else type(value)


def kernel_address(kernel: Any, *arguments: Any) -> int:
    """Where the code of a kernel for arguments of the given types stands, for `call_kernel` (tape.py)."""
    overload = find_overload(kernel, arguments)
    address: int = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
    return address


class PreparedKernel:
    """A kernel for arguments of the given types, with the method of an operation."""

    def __init__(self, kernel: Any, *arguments: Any) -> None:
        self._kernel, self._arguments = kernel, arguments

    def address(self) -> int:
        """Where its code stands; compiled, or taken from the disk, when first asked for."""
        return kernel_address(self._kernel, *self._arguments)


announce_compilation()
if hasattr(os, "register_at_fork"):
    # A process that is forked while a thread compiles would wait for ever for that thread, which it does not have.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
