"""Compiling the functions of users: `@native` (core/native_function.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from merganser.framework.core.native_function import NativeFunction
from merganser.framework.native.compiler import prepare
from merganser.framework.native.extending import interrupts_wait
from merganser.framework.native.fingerprints import fingerprint
from merganser.framework.native.kernel_cache import KernelCache
from merganser.framework.native.operations import signature_of_operation

__all__ = ["CompiledFunction", "global_compiler_lock"]


class CompiledFunction:
    """A native function in compiled form.

    Args:
        function: the native function.

    Attributes:
        call: takes what the function takes, with contiguous arrays of floats.

    Raises:
        TypeError: numba cannot compile it.
    """

    def __init__(self, function: NativeFunction) -> None:
        self._function = function
        plain = function.interpreted
        compiled: Any = numba.njit(plain, nogil=True, error_model="numpy")
        self._dispatcher = compiled
        self._cfuncs: dict[Any, Any] = {}
        if not hasattr(self._dispatcher, "py_func"):  # NUMBA_DISABLE_JIT=1
            self.call: Any = plain
            return
        self._stamp = fingerprint(plain)
        self._dispatcher._cache = KernelCache(plain, self._known_by)
        self.call = self._compile(lambda: self._entry_point())

    def address(self) -> int:
        """Where the operation stands that calls the function on places in the flat array of a Context.

        Its integers are three for each parameter: place, what to add to it, size.
        """
        return self._address(signature_of_operation())

    def complex_address(self) -> int:
        """Where the operation stands that takes the array of a Context of complex numbers; so is its time."""
        return self._address(signature_of_operation(is_complex=True))

    def _address(self, signature: Any) -> int:
        if signature not in self._cfuncs:
            with global_compiler_lock:  # threads wait for the first one's code rather than make their own
                if signature not in self._cfuncs:
                    self._cfuncs[signature] = self._operation(signature)
        address: int = self._cfuncs[signature].address
        return address

    def _operation(self, signature: Any) -> CFunc:
        wrapper = _operation_of(self._function, self._dispatcher)
        compiled: Any = CFunc(wrapper, signature, {}, {"error_model": "numpy"})
        compiled._cache = KernelCache(wrapper, self._known_by)
        self._compile(compiled.compile)
        return compiled

    def _known_by(self) -> str | None:
        """The fingerprint, unless it has changed: code that was compiled before may have old values in it."""
        return self._stamp if fingerprint(self._function.interpreted) == self._stamp else None

    def _entry_point(self) -> Any:
        array = types.Array(types.float64, 1, "C")
        signature = tuple(types.float64 if number else array for number in self._function.takes_number)
        self._dispatcher.compile(signature)
        return self._dispatcher.overloads[signature].entry_point

    def _compile(self, work: Callable[[], Any]) -> Any:
        prepare()
        try:
            with interrupts_wait():  # which are lost where LLVM calls Python, and the machine code with them
                return work()
        except NumbaError as error:
            reason = str(error).strip()
            raise TypeError(
                f"{self._function.describe()} cannot be compiled. Use numbers, arrays and loops only, and helpers "
                f"decorated with @device; or pass it on without @native. The compiler says:\n{reason}"
            ) from error


@intrinsic
def _further(typingctx: Any, pointer: Any, distance: Any) -> Any:
    """A pointer some elements further on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, types.int64), generate


def _operation_of(function: NativeFunction, dispatcher: Any) -> Callable[..., None]:
    """An operation (see operations.py) that calls the function; written out, because numba wants every argument."""
    arguments = [
        f"values[integers[{3 * i}]]"
        if number
        else f"carray(further(values, integers[{3 * i}] + integers[{3 * i + 1}]), integers[{3 * i + 2}])"
        for i, number in enumerate(function.takes_number)
    ]
    source = f"def operation(values, numbers, integers):\n    function({', '.join(arguments)})\n"
    names: dict[str, Any] = {
        "__name__": __name__, "function": dispatcher, "carray": numba.carray, "further": _further,
    }  # fmt: skip
    exec(compile(source, f"<operation of {function.__name__}>", "exec"), names)
    operation: Any = names["operation"]
    operation.__qualname__ = f"operation_of_{function.__name__}"
    return operation
