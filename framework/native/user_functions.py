"""Compiling the functions of users: `@native` (core/native_function.py)."""

from __future__ import annotations

import builtins
import hashlib
import types as python_types
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from merganser.framework.core.native_function import NativeFunction
from merganser.framework.native.compile import cache_directory, enable_kernel_cache
from merganser.framework.native.operations import COMPLEX_SIGNATURE, SIGNATURE

__all__ = ["CompiledFunction", "fingerprint", "native"]

_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))


def native(function: Callable[..., None]) -> NativeFunction:
    """Makes a function one that runs compiled, and as a part of the compiled simulation; see `NativeFunction`.

    What numba can compile is allowed: numbers, arrays, loops, numpy's and math's elementary functions, and helpers
    decorated with `merganser.framework.native.device`. Compilation takes place when the function is first called for
    floats, and is kept on disk as long as the function and all that it refers to stay the same.

        @native
        def calc_force(state, gains, force):  # two input ports, or an input port and a parameter; then the result
            force[0] = -gains[0] * state[0] - gains[1] * state[1]
    """
    return NativeFunction(function)


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
        self._dispatcher: Any = numba.njit(plain, nogil=True, error_model="numpy")
        self._cfuncs: dict[Any, Any] = {}
        if not hasattr(self._dispatcher, "py_func"):  # NUMBA_DISABLE_JIT=1
            self.call: Any = plain
            return
        _keep_on_disk(self._dispatcher, plain)
        self.call = self._compile(lambda: self._entry_point())

    def address(self) -> int:
        """Where the operation stands that calls the function on places in the flat array of a Context.

        Its integers are three for each parameter: place, what to add to it, size.
        """
        return self._address(SIGNATURE)

    def complex_address(self) -> int:
        """The same for the array of a Context of complex numbers; the time is one of them, too."""
        return self._address(COMPLEX_SIGNATURE)

    def _address(self, signature: Any) -> int:
        if signature not in self._cfuncs:
            with global_compiler_lock:  # threads wait for the first one's code rather than make their own
                if signature not in self._cfuncs:
                    self._cfuncs[signature] = self._operation(signature)
        address: int = self._cfuncs[signature].address
        return address

    def _operation(self, signature: Any) -> CFunc:
        wrapper = _operation_of(self._function, self._dispatcher)
        compiled = CFunc(wrapper, signature, {}, {"error_model": "numpy"})
        _keep_on_disk(compiled, wrapper)
        self._compile(compiled.compile)
        return compiled

    def _entry_point(self) -> Any:
        array = types.Array(types.float64, 1, "C")
        signature = tuple(types.float64 if number else array for number in self._function.takes_number)
        self._dispatcher.compile(signature)
        return self._dispatcher.overloads[signature].entry_point

    def _compile(self, work: Callable[[], Any]) -> Any:
        try:
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
    operation.fingerprint = fingerprint(function.interpreted)
    return operation


# ---------------------------------------------------------------------- the cache on disk


def fingerprint(function: Any) -> str | None:
    """Hash of the code of a function and of everything that it refers to; None if something cannot be hashed.

    The module belongs to it, since numba imports that when it takes the function from the disk.
    """
    digest = hashlib.sha256(str(function.__module__).encode())
    return digest.hexdigest() if _digest_function(function, digest, set()) else None


def _digest_function(function: Any, digest: Any, seen: set[int]) -> bool:
    if id(function) in seen:
        return True
    seen.add(id(function))
    code = function.__code__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    if not _digest_code(code, digest) or not all(_digest_value(v, digest, seen) for v in cells):
        return False
    names = _names_in(code)
    for name in names:
        if name in function.__globals__:
            digest.update(name.encode())
            if not _digest_value(function.__globals__[name], digest, seen):
                return False
    return True


def _names_in(code: Any) -> list[str]:
    inner = [name for constant in code.co_consts if hasattr(constant, "co_code") for name in _names_in(constant)]
    return [*code.co_names, *inner]


def _digest_code(code: Any, digest: Any) -> bool:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            _digest_code(constant, digest)
        else:
            digest.update(repr(constant).encode())
    return True


def _digest_value(value: Any, digest: Any, seen: set[int]) -> bool:
    """Adds a value that a function refers to; returns False if it is of a kind that may change unnoticed."""
    value = getattr(value, "py_func", getattr(value, "interpreted", value))
    if isinstance(value, _CONSTANTS):
        digest.update(repr(value).encode())
    elif isinstance(value, tuple):
        return all(_digest_value(item, digest, seen) for item in value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(repr((value.dtype.str, value.shape)).encode())
        digest.update(value.tobytes())
    elif isinstance(value, (python_types.ModuleType, python_types.BuiltinFunctionType, np.ufunc, type)):
        digest.update(repr(getattr(value, "__name__", value)).encode())
    elif isinstance(value, python_types.FunctionType):
        return _digest_function(value, digest, seen)
    else:
        return getattr(builtins, getattr(value, "__name__", ""), None) is value
    return True


class _UserCacheLocator(_CacheLocator):
    """Tells numba where compiled functions of users are kept, and when they are out of date."""

    def __init__(self, stamp: str) -> None:
        self._stamp = stamp

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return self._stamp[:16]

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _UserCacheLocator | None:
        locator = cls(getattr(py_func, "fingerprint", None) or fingerprint(py_func) or "")
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator


class _UserCacheImpl(CompileResultCacheImpl):
    _locator_classes: list[Any] = [_UserCacheLocator]


class _UserCache(FunctionCache):
    _impl_class = _UserCacheImpl


def _keep_on_disk(compiled: Any, function: Any) -> None:
    """Keeps what is compiled of a function, unless that may change unnoticed."""
    stamp = function.fingerprint if hasattr(function, "fingerprint") else fingerprint(function)
    if stamp is not None:
        enable_kernel_cache(compiled, function, _UserCache)
