"""Native code: how kernels are compiled and kept, and `@native` for the functions of users."""

from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import Changing, InputOr, MatrixOf, PartOf
from merganser.framework.core.scalars.element_functions import (
    add_products,
    are_ordered,
    elements,
    is_finite,
    product,
    put,
)
from merganser.framework.math.element_functions import clamp, cos, exp, floor, sin, tanh
from merganser.framework.native.compiler.code_files import cache_directory, source_hash
from merganser.framework.native.compiler.entry_points import Given, Result, bind
from merganser.framework.native.compiler.extending import register_all, register_module
from merganser.framework.native.compiler.kernels import (
    PreparedKernel,
    compiled_form,
    device,
    inlined,
    kernel,
    kernel_address,
    specialize,
)
from merganser.framework.native.compiler.parallel_compilation import compile_ahead, is_at_hand, is_missing
from merganser.framework.native.memory.listed_kernels import KernelList, calls_listed

__all__ = [
    "Changing",
    "Given",
    "InputOr",
    "KernelList",
    "MatrixOf",
    "PartOf",
    "PreparedKernel",
    "Result",
    "add_products",
    "are_ordered",
    "bind",
    "cache_directory",
    "calls_listed",
    "clamp",
    "compile_ahead",
    "compiled_form",
    "cos",
    "device",
    "elements",
    "exp",
    "floor",
    "inlined",
    "is_at_hand",
    "is_finite",
    "is_missing",
    "kernel",
    "kernel_address",
    "native",
    "product",
    "put",
    "register_all",
    "sin",
    "source_hash",
    "specialize",
    "tanh",
]

register_module("merganser.framework.native.operations.element_functions")
