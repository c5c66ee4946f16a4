"""Compiling the functions of users: `@native` (core/declarations/native_function.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types

from merganser.framework.core.declarations.native_function import NativeFunction
from merganser.framework.native.compiler.code_files import CodeFiles
from merganser.framework.native.compiler.extending import interrupts_wait
from merganser.framework.native.compiler.fingerprints import fingerprint
from merganser.framework.native.compiler.kernel_cache import KernelCache
from merganser.framework.native.compiler.numba_front import compile_operation, prepare
from merganser.framework.native.compiler.numba_inside import CFunc, NumbaError, global_compiler_lock
from merganser.framework.native.compiler.portable_code import note_source
from merganser.framework.native.operations.native_operations import (
    operation_calling,
    signature_of_operation,
    type_codes_of,
)

_ARRAY = types.Array(types.float64, 1, "C")
_TYPES = {
    "w": _ARRAY, "c": _ARRAY, "m": types.Array(types.float64, 2, "C"), "r": types.Array(types.float64, 2, "C"),
    "k": types.Array(types.float64, 2, "F"), "n": types.Array(types.int64, 1, "C"),
    "t": types.float64, "f": types.float64, "i": types.int64,
}  # fmt: skip


class CompiledFunction:
    """A native function in compiled form, for parameters of certain kinds.

    Args:
        function: the native function.
        kinds: what its parameters stand for, see NativeOperation.

    Raises:
        TypeError: numba cannot compile it.
    """

    def __init__(self, function: NativeFunction, kinds: str) -> None:
        self._function = function
        self._kinds = kinds
        plain = function.interpreted
        compiled: Any = numba.njit(plain, nogil=True, error_model="numpy", boundscheck=True)
        self._dispatcher = compiled
        self._cfuncs: dict[Any, Any] = {}
        self._call: Any = None
        if hasattr(self._dispatcher, "py_func"):  # not with NUMBA_DISABLE_JIT=1
            self._stamp = fingerprint(plain)
            self._dispatcher._cache = KernelCache(plain, self._known_by)
        else:
            self._call = plain

    @property
    def call(self) -> Any:
        """What takes what the function takes, with contiguous arrays of floats."""
        if self._call is None:
            with global_compiler_lock:
                if self._call is None:
                    self._call = self._compile(self._entry_point)
        return self._call

    def address(self) -> int:
        """Where the operation stands that calls the function on offsets in the flat array of a Context."""
        return self._address(signature_of_operation())

    def complex_address(self) -> int:
        """Where the operation stands that takes the array of a Context of complex numbers; so is its time."""
        return self._address(signature_of_operation(is_complex=True))

    def _address(self, signature: Any) -> int:
        if signature not in self._cfuncs:
            with global_compiler_lock:  # threads wait for the first one's code rather than make their own
                if signature not in self._cfuncs:
                    wrapper = operation_calling(self._dispatcher, self._kinds)
                    compiled: Any = CFunc(wrapper, signature, {}, {"error_model": "numpy"})
                    compiled._cache = KernelCache(wrapper, self._known_by)
                    self._compile(compiled.compile)
                    self._cfuncs[signature] = compiled
                    files, what = CodeFiles(self._function.interpreted, self._known_by), f"{self._kinds} {signature}"
                    note_source(compiled.address, files, what, lambda: self._compile_again(signature))
        address: int = self._cfuncs[signature].address
        return address

    def _compile_again(self, signature: Any) -> Any:
        wrapper = operation_calling(self._dispatcher, self._kinds)
        return self._compile(lambda: compile_operation(wrapper, signature))

    def _known_by(self) -> str | None:
        """The fingerprint, unless it has changed: code that was compiled before may have old values in it."""
        return self._stamp if fingerprint(self._function.interpreted) == self._stamp else None

    def _entry_point(self) -> Any:
        signature = tuple(_TYPES[kind] for kind in type_codes_of(self._kinds))
        self._dispatcher.compile(signature)
        return self._dispatcher.overloads[signature].entry_point

    def _compile(self, work: Callable[[], Any]) -> Any:
        try:
            with interrupts_wait():
                prepare()
                return work()
        except NumbaError as error:
            reason = str(error).strip()
            raise TypeError(
                f"{self._function.describe()} cannot be compiled. Use numbers, arrays and loops only, and helpers "
                f"decorated with @device; or pass it on without @native. The compiler says:\n{reason}"
            ) from error
