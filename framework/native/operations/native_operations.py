"""Native functions (core/declarations/native_function.py) as operations: code that fetches arguments and calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from merganser.framework.core.declarations.wire_codes import WIRE_CODES
from merganser.framework.core.system.random_values import next_word, spare_of, uniform
from merganser.framework.native.compiler.code_files import CodeFiles
from merganser.framework.native.compiler.extending import import_whole, intrinsic, ir, overload, register_module, types
from merganser.framework.native.compiler.kernels import Code, compiler_lock, device, obtain
from merganser.framework.native.compiler.portable_code import note_source
from merganser.framework.native.memory.addresses import SIZE_OF_TWISTER
from merganser.framework.native.memory.tape import doubles_at, integers_at, words_at

if TYPE_CHECKING:
    from merganser.framework.core.declarations.native_function import NativeOperation

device(uniform)


def _call_for_word(typingctx: Any, function: Any, state: Any) -> Any:
    """The next word of a generator, from the function and the state at two addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(ir.IntType(32), [pointer])
        callee = builder.inttoptr(arguments[0], function_type.as_pointer())
        word = builder.call(callee, [builder.inttoptr(arguments[1], pointer)])
        return builder.zext(word, ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


_next_word: Any = intrinsic(_call_for_word)


@device
def generator_at(state: int, function: int, spare: int, before: int, spare_before: int, was_called: int) -> Any:
    """A generator of whose present state a copy is kept.

    Args:
        state: address of the generator.
        function: that of numpy's function for its next word.
        spare: that of its spare number.
        before, spare_before: where the copies go.
        was_called: address of an integer to set to 1.

    Returns:
        What `next_word` takes.
    """
    present, copy = words_at(state), words_at(before)
    for i in range(SIZE_OF_TWISTER):
        copy[i] = present[i]
    kept, kept_before = doubles_at(spare), doubles_at(spare_before)
    kept_before[0], kept_before[1] = kept[0], kept[1]
    integers_at(was_called)[0] = 1
    return function, state, kept


@overload(next_word)
def _word_of(generator: Any) -> Any:
    def word_of(generator: Any) -> Any:
        return _next_word(generator[0], generator[1])

    return word_of


@overload(spare_of)
def _spare_of(generator: Any) -> Any:
    def spare(generator: Any) -> Any:
        return generator[2]

    return spare


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
                    code = self._codes[is_complex] = obtain(files, what, lambda: self._compile(is_complex))
                    note_source(code.address, files, what, lambda: self._compile(is_complex))
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
    from merganser.framework.native.operations.native_operations import generator_at

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
