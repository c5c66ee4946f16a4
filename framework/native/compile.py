"""Compiling kernels: one source, three scalars.

A kernel is a free function over arrays and record arrays: explicit loops, no allocation, no exceptions,
outputs and workspace owned by the caller. The same function serves

- float64 and complex128, compiled by numba on first use and kept on disk;
- every other scalar (symbolic expressions), as plain Python on object arrays: ``kernel.interpreted``.

Two decorators, because numba compiles a function either as an entry point or as a helper:

- ``@device`` marks a helper that kernels call, and ``@inlined`` a small one that inner loops call;
- ``@kernel`` marks an entry point that Python calls.

The disk cache is keyed by a hash of all kernel sources of a package and of those below it, not only of the file that a
kernel stands in, so a change in a helper of another file never leaves a stale kernel behind. It lives in the user's
cache folder (``$MERGANSER_CACHE_DIR``, else ``$XDG_CACHE_HOME/merganser``, else ``~/.cache/merganser``).
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.runtime import rtsys
from numba.extending import register_jitable

from merganser.framework.native.announce import announce_compilation
from merganser.framework.native.compilers import HelperCompiler, KernelCompiler
from merganser.framework.native.parallel_compilation import note_kernel, wait_for

__all__ = [
    "PreparedKernel",
    "cache_directory",
    "device",
    "enable_kernel_cache",
    "inlined",
    "kernel",
    "kernel_address",
    "source_hash",
    "specialize",
]

# Folders and files of kernels, by the package that they belong to; kernels call helpers of their own package and of
# those below.
_KERNEL_FOLDERS = {
    "framework": ("framework.native",),
    "analysis": ("analysis.integrators", "analysis.plan"),
    "geometry": ("geometry.proximity", "geometry.pose_kernels"),
    "multibody": ("multibody.kernels", "multibody.contact"),
}
_BELOW = {"framework": (), "analysis": ("framework",), "geometry": ("framework",)}
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


def enable_kernel_cache(compiled: Any, function: Callable[..., Any], cache: Any = None) -> None:
    """Keeps what numba compiles of `function` in this package's cache folder, if that can be written to.

    Args:
        compiled: what numba has made of the function, not compiled yet.
        function: the function.
        cache: the class of the cache; by default that of kernels.
    """
    try:
        compiled._cache = (_KernelCache if cache is None else cache)(function)
    except RuntimeError:  # numba found no place
        _warn_that_nothing_is_kept()


@functools.cache
def _warn_that_nothing_is_kept() -> None:
    """Warns once a process."""
    warnings.warn(
        f"Compiled kernels cannot be kept in '{cache_directory()}', which cannot be written to: every process will "
        "compile them anew. Set the environment variable MERGANSER_CACHE_DIR to another folder.",
        RuntimeWarning,
        stacklevel=2,
    )


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


def cache_directory(package: str = "") -> Path:
    """The folder of this version's compiled kernels of a package; of kernels outside this one, if none is given."""
    root = os.environ.get("MERGANSER_CACHE_DIR")
    if root is None:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "merganser")
    return Path(root) / f"{package or 'user'}-kernels-{source_hash(package)[:16]}"


@functools.cache
def source_hash(package: str = "") -> str:
    """Hash of every kernel source that kernels of a package may use, of numba's version and of Python's."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    package_root = Path(__file__).resolve().parents[2]
    used = (*_BELOW[package], package) if package in _BELOW else tuple(_KERNEL_FOLDERS)
    for folder in (folder for name in used for folder in _KERNEL_FOLDERS[name]):
        place = package_root / Path(*folder.split("."))
        for path in (*sorted(place.rglob("*.py")), *place.parent.glob(f"{place.name}.py")):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


class _KernelCacheLocator(_CacheLocator):
    """Tells numba where the kernels of this package are kept, and when they are out of date."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._py_file = py_file
        self._line = py_func.__code__.co_firstlineno
        names = py_func.__module__.split(".")
        self._package = names[1] if names[0] == "merganser" and names[1:2] and names[1] in _KERNEL_FOLDERS else ""

    def get_cache_path(self) -> str:
        return str(cache_directory(self._package))

    def get_source_stamp(self) -> str:
        return source_hash(self._package)

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _KernelCacheLocator | None:
        locator = cls(py_func, py_file)
        try:
            locator.ensure_cache_path()
        except OSError:  # a read-only home: compile afresh in every process rather than fail
            return None
        return locator


class _KernelCacheImpl(CompileResultCacheImpl):
    _locator_classes = [_KernelCacheLocator]


class _KernelCache(FunctionCache):
    _impl_class = _KernelCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Takes machine code from the disk without making numba ready to compile any, which takes 0.4 s.

        Numba's own method calls target_context.refresh() first, for all that knows how to compile anything. Machine
        code only needs the functions of numba's runtime that it calls.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


announce_compilation()
