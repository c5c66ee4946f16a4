"""Machine code that was kept on the disk: loaded by LLVM's linker, without numba."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
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
        _llvm().add_symbol(name, address)
        _addresses.pop(name, None)  # now, in case of an interrupt; another thread may have been faster


@functools.cache
@interrupts_wait()
def describe_machine() -> str:
    """What machine code depends on: the processor with its features, and numba's choices about them."""
    llvm = _llvm()
    features = llvm.get_host_cpu_features().flatten()
    chosen = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name in _CHOICES]
    return " ".join((llvm.get_process_triple(), llvm.get_host_cpu_name(), features, *chosen))


def vector_width() -> int:
    """How many floats of 64 bits a vector register of the processor takes, for which code is compiled."""
    features = os.environ.get("NUMBA_CPU_FEATURES", "")
    if not (features or os.environ.get("NUMBA_CPU_NAME")):
        features = _llvm().get_host_cpu_features().flatten()
    return next((width for feature, width in (("+avx512f", 8), ("+avx2", 4)) if feature in features.split(",")), 2)


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
    llvm = _llvm()
    tell_addresses()
    # An engine each: names in one object file may be those in another. It finds what Python is linked with.
    nothing = llvm.parse_assembly("")
    target = _llvm().Target.from_triple(_llvm().get_process_triple())
    engine = llvm.create_mcjit_compiler(nothing, target.create_target_machine(codemodel="jitdefault", jit=True))
    engine.remove_module(nothing)  # which it would compile, in ten times the time that the rest takes
    missing = [name for name in code.needed if not llvm.address_of_symbol(name)]
    if missing == [_END_OF_MEMORY] and "numba" not in sys.modules:
        llvm.add_symbol(_END_OF_MEMORY, ctypes.cast(_leave_memory, ctypes.c_void_p).value)
    elif missing:
        inside = import_whole("merganser.framework.native.compiler.numba_inside")
        inside.rtsys.initialize(inside.cpu_target.target_context)  # gives names to functions of numba's
        if not all(map(llvm.address_of_symbol, missing)):
            return None
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.content))
    engine.finalize_object()
    address = engine.get_function_address(code.symbol)
    return (address, engine) if address else None


@functools.cache
def _llvm() -> Any:
    binding = import_whole("llvmlite.binding")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding
