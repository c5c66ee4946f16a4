"""Native code: how kernels are compiled and kept, and `@native` for the functions of users."""

from merganser.framework.core.native_function import native
from merganser.framework.native.code_files import cache_directory, source_hash
from merganser.framework.native.compile import (
    PreparedKernel,
    compiled_form,
    device,
    inlined,
    kernel,
    kernel_address,
    specialize,
)
from merganser.framework.native.entry_points import Given, Result, bind
from merganser.framework.native.extending import tell_compiler
from merganser.framework.native.parallel_compilation import compile_ahead, is_at_hand, is_missing

__all__ = [
    "Given",
    "PreparedKernel",
    "Result",
    "bind",
    "cache_directory",
    "compile_ahead",
    "compiled_form",
    "device",
    "inlined",
    "is_at_hand",
    "is_missing",
    "kernel",
    "kernel_address",
    "native",
    "source_hash",
    "specialize",
    "tell_compiler",
]
