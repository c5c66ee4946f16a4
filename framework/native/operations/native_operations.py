"""Native functions (core/declarations/native_function.py) as operations: code that fetches arguments and calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from merganser.framework.core.declarations.wire_codes import WIRE_CODES
from merganser.framework.native.compiler.code_files import CodeFiles
from merganser.framework.native.compiler.extending import import_whole, register_module, types
from merganser.framework.native.compiler.kernels import Code, compiler_lock, obtain

if TYPE_CHECKING:
    from merganser.framework.core.declarations.native_function import NativeOperation


def form_of(operation: NativeOperation) -> Any:
    """The compiled forms of an operation: of functions of this package, or of a user."""
    if operation.function.is_ours:
        return OwnOperation(operation)
    functions = import_whole("merganser.framework.native.operations.user_functions")
    return functions.CompiledFunction(operation.function, operation.kinds)


def signature_of_operation(is_complex: bool = False) -> Any:
    """Numba's types of the three pointers, and of nothing, which is returned."""
    number = types.complex128 if is_complex else types.float64
    return (types.CPointer(number), types.CPointer(types.float64), types.CPointer(types.int64)), types.void


class OwnOperation:
    """A function of this package, which neither allocates nor raises exceptions, as an operation."""

    def __init__(self, operation: NativeOperation) -> None:
        self._function, self._kinds = operation.function.interpreted, operation.kinds
        self._codes: dict[bool, Code] = {}

    def is_kept(self) -> bool:
        """Whether the operation on floats need not be compiled."""
        return False in self._codes or CodeFiles(self._function).has(self._what(is_complex=False))

    def _what(self, is_complex: bool) -> str:
        return f"native operation {self._kinds}{' of complex numbers' if is_complex else ''}"

    def address(self) -> int:
        """Where the operation stands; compiled, or taken from the disk, when first asked for."""
        return self._address(is_complex=False)

    def complex_address(self) -> int:
        """Where it stands for complex numbers."""
        return self._address(is_complex=True)

    def _address(self, is_complex: bool) -> int:
        if is_complex not in self._codes:
            with compiler_lock:
                if is_complex not in self._codes:
                    files, what = CodeFiles(self._function), self._what(is_complex)
                    self._codes[is_complex] = obtain(files, what, lambda: self._compile(is_complex))
        return self._codes[is_complex].address

    def _compile(self, is_complex: bool) -> Any:
        compiler = import_whole("merganser.framework.native.compiler.numba_front")
        if self._function not in _registered:
            compiler.register_helper(self._function)
            _registered.add(self._function)
        function = operation_calling(self._function, self._kinds)
        return compiler.compile_operation(function, signature_of_operation(is_complex), counts_no_references=True)


_registered: set[Any] = set()


def type_codes_of(kinds: str) -> str:
    """What the parameters of an operation stand for, see NativeOperation, without how it may fail."""
    return kinds.lstrip("se")


def operation_calling(function: Any, kinds: str) -> Callable[..., None]:
    """A function of the three pointers that calls another; written out, because numba wants every argument.

    Args:
        function: as numba takes it.
        kinds: see NativeOperation.
    """
    from merganser.framework.native.memory.tape import FAILED, integers_at
    from merganser.framework.native.operations.generators import generator_at

    wire_arrays = import_whole("merganser.framework.native.memory.wire_arrays")

    returns_status, may_raise = "s" in kinds, "e" in kinds
    at = int(returns_status or may_raise)
    arguments = []
    for code in type_codes_of(kinds):
        names_of_integers = WIRE_CODES[code].integers.split()
        fetched = {name: f"integers[{at + k}]" for k, name in enumerate(names_of_integers)}
        arguments.append(WIRE_CODES[code].fetch.format(**fetched))
        at += len(names_of_integers)
    call = f"function({', '.join(arguments)})"
    lines = ["if {call}:", "    {fail}"] if returns_status else ["{call}"]
    if may_raise:
        lines = ["try:", *(f"    {line}" for line in lines), "except Exception:", "    {fail}"]
    body = "\n    ".join(lines).format(call=call, fail=f"integers_at(integers[0])[0] = {FAILED}")
    names: dict[str, Any] = {
        **vars(wire_arrays), "__name__": __name__, "function": function, "integers_at": integers_at,
        "generator_at": generator_at,
    }  # fmt: skip
    source = f"def operation(values, numbers, integers):\n    {body}\n"
    exec(compile(source, f"<operation of {function.__name__}>", "exec"), names)
    operation: Any = names["operation"]
    operation.__qualname__ = f"operation_of_{function.__name__}_{kinds}"  # by which the disk knows it
    return operation


register_module("merganser.framework.native.memory.wire_arrays")
