"""Machine code that was kept on the disk: loaded by LLVM's linker, without numba.

LLVM is called by the C functions of llvmlite's library. The Python of `llvmlite.binding` around them takes 18 ms to be
imported, four fifths of the time to load the code of a short program.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import sys
from ctypes import c_bool, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, NamedTuple

from merganser.framework.native.compiler.extending import import_whole, interrupts_wait


class MachineCode(NamedTuple):
    """A compiled function as the disk keeps it.

    Attributes:
        symbol: its name in the object file.
        result: what it returns: "none", "bool", "int64", "float64", or the name of another type of numba.
        content: the object file.
        needed: names that it may refer to, those of functions of C libraries, say.
    """

    symbol: str
    result: str
    content: bytes
    needed: tuple[str, ...]


_addresses: dict[str, int] = {}  # by names, not yet registered with LLVM


def name_address(name: str, address: int) -> None:
    """Gives an address a name by which compiled code knows it."""
    _addresses[name] = address


def tell_addresses() -> None:
    """Registers all names of addresses with LLVM."""
    for name, address in list(_addresses.items()):
        _call("AddSymbol", name.encode(), address)
        _addresses.pop(name, None)  # now, in case of an interrupt; another thread may have been faster


@functools.cache
@interrupts_wait()
def describe_machine() -> str:
    """What machine code depends on: the processor with its features, and numba's choices about them."""
    features = sorted(_text("GetHostCPUFeatures").split(","), key=lambda feature: feature[1:])
    chosen = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name in _CHOICES]
    return " ".join((_text("GetProcessTriple"), _text("GetHostCPUName"), ",".join(features), *chosen))


# Switches of numba that change what it compiles.
_CHOICES = (
    "NUMBA_CPU_FEATURES", "NUMBA_CPU_NAME", "NUMBA_DISABLE_INTEL_SVML", "NUMBA_ENABLE_AVX", "NUMBA_LOOP_VECTORIZE",
    "NUMBA_OPT", "NUMBA_SLP_VECTORIZE",
)  # fmt: skip


_END_OF_MEMORY = "NRT_MemInfo_call_dtor"  # numba's name of what is called when nothing refers to an array any longer


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _leave_memory(place: int) -> None:
    """In place of numba's, for code that counts references to arrays but cannot call anything that makes one.

    All its arrays are views of memory that others own: this is never called, and numba need not be imported for it.
    """


@interrupts_wait()
def load(code: MachineCode) -> tuple[int, Any] | None:
    """Where the function stands, and what must be kept as long as it may be called.

    Returns:
        None if it cannot be used here, as something is missing that it refers to.
    """
    tell_addresses()
    linked = _Linked()
    missing = [name for name in code.needed if not _is_known(name)]
    if missing == [_END_OF_MEMORY] and "numba" not in sys.modules:
        _call("AddSymbol", _END_OF_MEMORY.encode(), ctypes.cast(_leave_memory, c_void_p).value)
    elif missing:
        inside = import_whole("merganser.framework.native.compiler.numba_inside")
        inside.rtsys.initialize(inside.cpu_target.target_context)  # gives names to functions of numba's
        if not all(map(_is_known, missing)):
            return None
    address = linked.address_in(code.content, code.symbol)
    return (address, linked) if address else None


def _is_known(name: str) -> bool:
    return bool(_call("SearchAddressOfSymbol", name.encode()))


class _Linked:
    """An object file that LLVM has linked; it is dropped with the last reference to this object.

    An engine each: names in one object file may be those in another. From the first one on LLVM finds the names of what
    Python is linked with.
    """

    def __init__(self) -> None:
        nothing = _made("ParseAssembly", _call("GetGlobalContext"), b"")
        on_arm = platform.machine().lower() in ("arm64", "aarch64")  # with the memory manager of llvmlite
        self._engine = _made("CreateMCJITCompiler", nothing, _target_machine(), on_arm)  # has the target machine
        _made("RemoveModule", self._engine, nothing)  # which it would compile, in ten times the time of all the rest
        _call("DisposeModule", nothing)

    def address_in(self, content: bytes, symbol: str) -> int:
        """Links an object file; returns where a function of it is, or 0."""
        file = _call("CreateObjectFile", content, len(content))
        _call("MCJITAddObjectFile", self._engine, file)
        _call("DisposeObjectFile", file)
        _call("FinalizeObject", self._engine)
        address: int = _call("GetFunctionAddress", self._engine, symbol.encode())
        return address

    def __del__(self) -> None:
        if not sys.is_finalizing():
            _call("DisposeExecutionEngine", self._engine)


def _target_machine() -> Any:
    triple = _text("GetProcessTriple").encode()
    target = _made("GetTargetFromTriple", triple)
    triple += b"-elf" if os.name == "nt" else b""
    return _call("CreateTargetMachine", target, triple, b"", b"", 2, b"default", b"jitdefault", 0, 1, b"")


# ---------------------------------------------------------------------- LLVM

_OUT = ctypes.POINTER(c_char_p)
_TYPES: dict[str, tuple[Any, ...]] = {  # of what a function of the library returns, and of its arguments
    "AddSymbol": (None, c_char_p, c_void_p),
    "SearchAddressOfSymbol": (c_void_p, c_char_p),
    "InitializeNativeTarget": (None,),
    "InitializeNativeAsmPrinter": (None,),
    "GetHostCPUFeatures": (c_int, _OUT),
    "GetHostCPUName": (None, _OUT),
    "GetProcessTriple": (None, _OUT),
    "DisposeString": (None, c_char_p),
    "GetGlobalContext": (c_void_p,),
    "ParseAssembly": (c_void_p, c_void_p, c_char_p, _OUT),
    "DisposeModule": (None, c_void_p),
    "GetTargetFromTriple": (c_void_p, c_char_p, _OUT),
    "CreateTargetMachine": (c_void_p, c_void_p, *[c_char_p] * 3, c_int, c_char_p, c_char_p, c_int, c_int, c_char_p),
    "CreateMCJITCompiler": (c_void_p, c_void_p, c_void_p, c_bool, _OUT),
    "RemoveModule": (c_bool, c_void_p, c_void_p, _OUT),
    "CreateObjectFile": (c_void_p, c_char_p, c_size_t),
    "MCJITAddObjectFile": (None, c_void_p, c_void_p),
    "DisposeObjectFile": (None, c_void_p),
    "FinalizeObject": (None, c_void_p),
    "GetFunctionAddress": (c_uint64, c_void_p, c_char_p),
    "DisposeExecutionEngine": (None, c_void_p),
}


@functools.cache
def _functions() -> dict[str, Any]:
    """The functions of the library, which is the one that numba uses; they keep Python's lock."""
    from llvmlite.utils import get_library_name

    library = ctypes.PyDLL(str(Path(sys.modules["llvmlite"].__file__ or "").parent / "binding" / get_library_name()))
    functions = {name: getattr(library, f"LLVMPY_{name}") for name in _TYPES}
    for name, (result, *arguments) in _TYPES.items():
        functions[name].restype, functions[name].argtypes = result, arguments
    functions["InitializeNativeTarget"]()
    functions["InitializeNativeAsmPrinter"]()
    return functions


def _call(name: str, *arguments: Any) -> Any:
    """Calls a function of the library, while no other thread is in one, which it may be once numba is imported."""
    shared = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    with contextlib.nullcontext() if shared is None else shared._lock:
        return _functions()[name](*arguments)


def _text(name: str) -> str:
    """The text that a function writes."""
    text = c_char_p()
    _call(name, ctypes.byref(text))
    try:
        return (text.value or b"").decode()
    finally:
        _call("DisposeString", text)


def _made(name: str, *arguments: Any) -> Any:
    """The result of a function that writes what has gone wrong, if anything has."""
    message = c_char_p()
    made = _call(name, *arguments, ctypes.byref(message))
    if message.value:
        raise RuntimeError(f"LLVM cannot link machine code: {message.value.decode()}")
    return made
