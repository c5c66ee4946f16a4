"""Compiling kernels: one source, three scalars.

A kernel is a free function over arrays and record arrays: explicit loops, no allocation, no exceptions,
outputs and workspace owned by the caller. The same function serves

- float64 and complex128, compiled by numba on first use and kept on disk;
- every other scalar (symbolic expressions), as plain Python on object arrays: ``kernel.interpreted``.

Several decorators, because numba compiles a function either as an entry point or as a helper:

- ``@device`` marks a helper that kernels call, and ``@inlined`` a small one that inner loops call;
- ``@compiled_form(function)`` marks what kernels call in place of a function that is for Python only;
- ``@kernel`` marks an entry point that Python calls.

Machine code that is on the disk is loaded without numba (machine_code.py), which is imported when something has to be
compiled (compiler.py). Where the code is kept, and when it is out of date, is in code_files.py.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from merganser.framework.core.context.native_code import may_compile
from merganser.framework.native.compiler.argument_types import example_of, text_of_types, type_key
from merganser.framework.native.compiler.code_files import CodeFiles
from merganser.framework.native.compiler.extending import import_whole, interrupts_wait, register, registering_lock
from merganser.framework.native.compiler.machine_code import MachineCode, load
from merganser.framework.native.compiler.parallel_compilation import note_kernel, wait_for
from merganser.framework.native.compiler.portable_code import keep_bitcode, note_source

compiler_lock = threading.RLock()  # threads wait for the first one's code rather than make their own
_helpers: weakref.WeakSet[Callable[..., Any]] = weakref.WeakSet()  # what kernels may call


def device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a helper that kernels call: plain Python when interpreted, inlined when compiled."""
    if function not in _helpers:
        _helpers.add(function)
        register(lambda: _compiler().register_helper(function))
    return function


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a small helper of inner loops: like `device`, but compiled code has it in place of every call.

    Left to itself the compiler calls a good part of them, and passes tuples through memory (20 % of a mass matrix).
    """
    _helpers.add(function)
    register(lambda: _compiler().register_helper(function, forceinline=True))
    return function


def compiled_form(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks what kernels call in place of a function: that does the same with objects of Python."""

    def mark(form: Callable[..., Any]) -> Callable[..., Any]:
        register(lambda: _compiler().register_form(function, form))
        return form

    return mark


def kernel(function: Callable[..., Any]) -> Any:
    """Marks an entry point: a compiled function that is specialized to its argument types on first call.

    The plain Python function stays available as ``.interpreted``, for scalars that numba does not know.
    """
    if may_compile():
        return Kernel(function)
    plain: Any = function
    plain.interpreted = function
    return plain


class Code(NamedTuple):
    """Compiled code in memory.

    Attributes:
        address: where it stands.
        result: what it returns, as in MachineCode.
        owner: must be kept as long as the code may be called.
        is_from_disk: whether it was compiled before.
    """

    address: int
    result: str
    owner: Any
    is_from_disk: bool


def obtain(files: CodeFiles, types: str | None, make: Callable[[], tuple[Code, MachineCode | None]]) -> Code:
    """Takes code from the disk, or has it compiled and keeps it.

    Args:
        files: of the function.
        types: names the types of its arguments, see `text_of_types`.
        make: compiles it; gives the code and what to keep, or None if it cannot be kept.
    """
    key = files.key(types)  # now, as what it depends on may change while it is compiled
    kept = files.read(key)
    loaded = None if kept is None else load(kept)
    if kept is not None and loaded is not None:
        return Code(loaded[0], kept.result, loaded[1], is_from_disk=True)
    with interrupts_wait():
        code, made = make()
        if key is not None and made is not None:
            files.keep(key, made)
            keep_bitcode(files, key, code, made)
    return code


class Kernel:
    """A compiled function of arrays, records and numbers; made by `kernel`.

    Args:
        function: the plain function.

    Attributes:
        interpreted: the plain function.
        codes: the code for each `type_key` of all arguments.
    """

    _never_changes = True  # a copy of a system has the same

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.interpreted = function
        self.codes: dict[Any, Code] = {}
        self._files = CodeFiles(function)
        note_kernel(self)

    def __call__(self, *arguments: Any) -> Any:
        """Calls it with arguments of any types that numba knows."""
        return specialize(self, *arguments)(*arguments)

    def __reduce__(self) -> str:
        return self.interpreted.__qualname__

    @property
    def _numba_type_(self) -> Any:
        """Numba asks for this where one kernel calls another."""
        return _compiler().type_of_kernel(self.interpreted)

    def code(self, *arguments: Any) -> Code:
        """The code for arguments of the types of these; compiled, or taken from the disk, when first asked for.

        Raises:
            numba.core.errors.NumbaError: it cannot be compiled for these.
        """
        key = tuple(map(type_key, arguments))
        code = self.codes.get(key)
        if code is None:
            with compiler_lock:
                code = self.codes.get(key)
                if code is None:
                    wait_for(self)
                    types = text_of_types(arguments)
                    code = self._obtain(types, lambda: _compiler().types_of(arguments))
                    self._note(key, types, code)
        return code

    def load(self, *arguments: Any) -> bool:
        """Whether there is code for such arguments, in this process or, which is then loaded, on the disk."""
        key = tuple(map(type_key, arguments))
        if key not in self.codes:
            kept = self._files.read(self._files.key(text_of_types(arguments)))
            loaded = None if kept is None else load(kept)
            if kept is None or loaded is None:
                return False
            # Another thread may have been faster: its code is in use.
            self._note(key, text_of_types(arguments), Code(loaded[0], kept.result, loaded[1], is_from_disk=True))
        return True

    def _note(self, key: Any, types: str | None, code: Code) -> None:
        """Notes code for arguments of these types, and how to compile it again."""
        self.codes.setdefault(key, code)
        if types is not None:
            compile_again = functools.partial(self._compile_again, key)
            note_source(code.address, self._files, types, compile_again)

    def _compile_again(self, key: Any) -> tuple[Code, MachineCode | None]:
        compiler = _compiler()
        with compiler_lock:
            return compiler.compile_kernel(self.interpreted, compiler.types_of(tuple(map(example_of, key))))

    def compile_for(self, types: str | None, signature: Any) -> None:
        """Compiles the kernel and keeps it on the disk, for another process.

        Args:
            types: see `text_of_types`.
            signature: numba's types of the arguments.
        """
        self._obtain(types, lambda: signature)

    def is_on_disk(self) -> bool:
        """Whether it was compiled before, of whichever types."""
        return self._files.is_filled()

    def can_be_kept(self) -> bool:
        """Whether code could be kept, as far as one can see without trying."""
        return self._files.can_be_filled()

    def _obtain(self, types: str | None, signature: Callable[[], Any]) -> Code:
        return obtain(self._files, types, lambda: _compiler().compile_kernel(self.interpreted, signature()))


def load_compiled(kernel: Any, *arguments: Any) -> bool:
    """Whether a kernel is compiled for such arguments, in this process or, which is then loaded, in an earlier one."""
    return not isinstance(kernel, Kernel) or kernel.load(*arguments)


def specialize(kernel: Any, *arguments: Any) -> Any:
    """Compiles a kernel for arguments of the given types, and returns the code itself.

    Calling that code takes less time than calling the kernel, because it does not look at the types of its arguments:
    callers must pass arrays of the same scalar types, as contiguous as these. It does not hold Python's lock.
    """
    if not isinstance(kernel, Kernel):  # NUMBA_DISABLE_JIT=1
        return kernel
    key = kernel, tuple(map(type_key, arguments))
    code = _specialized.get(key)
    if code is None:
        from merganser.framework.native.compiler.entry_points import Given, bind

        with compiler_lock:
            if key not in _specialized:
                _specialized[key] = bind(kernel, *map(Given, arguments), releases_lock=True)
            code = _specialized[key]
    return code


_specialized: dict[Any, Any] = {}


def kernel_address(kernel: Any, *arguments: Any) -> int:
    """Where the code of a kernel for arguments of the given types stands, for `call_kernel` (tape.py)."""
    address: int = kernel.code(*arguments).address
    return address


class PreparedKernel:
    """A kernel for arguments of the given types, with the method of an operation."""

    def __init__(self, kernel: Any, *arguments: Any) -> None:
        self._kernel, self._arguments = kernel, arguments

    def address(self) -> int:
        """Where its code stands; compiled, or taken from the disk, when first asked for."""
        return kernel_address(self._kernel, *self._arguments)


def _compiler() -> Any:
    """The module that loads numba."""
    return import_whole("merganser.framework.native.compiler.numba_front")


def _locks() -> list[Any]:
    """Those that are held while something is compiled, in this order."""
    inside = sys.modules.get("merganser.framework.native.compiler.numba_inside")
    lock = getattr(inside, "global_compiler_lock", None)  # not there as long as it is being imported
    return [compiler_lock, registering_lock] if lock is None else [compiler_lock, lock, registering_lock]


_held = threading.local()  # by each thread that forks


def _hold_locks() -> None:
    _held.locks = []
    for lock in _locks():
        lock.acquire()
        _held.locks.append(lock)


def _release_locks() -> None:
    while _held.locks:
        _held.locks.pop().release()


if hasattr(os, "register_at_fork"):
    # A process that is forked while a thread compiles would wait for ever for that thread, which it does not have.
    os.register_at_fork(before=_hold_locks, after_in_parent=_release_locks, after_in_child=_release_locks)
