"""What is compiled when: the one rule.

What is called is compiled when it is first called (kernels.py). Other code only makes loops of calls faster: the loop
of a simulation, steps of integrators and plants, kernels of derivatives. Python does the same, to the last bit, as long
as such `OptionalCode` is not there:

1. What is on the disk is loaded when a loop of calls begins: its first step is compiled. Where the process has loaded
   no machine code yet, Python takes the first steps for as long as it takes to load what runs such code: a short
   simulation of a few blocks may be over by then.
2. What is not is compiled by another process, at the lowest priority, one at a time on a machine. Python goes on
   meanwhile, and looks at the disk ten times a second.
3. Where no other process may help, or has failed twice, it is compiled here, when this process has computed for longer
   without it than that is likely to take.

Within `compiled_at_once` all of it is compiled here, at once.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from merganser.framework.native.compiler import parallel_compilation
from merganser.framework.native.compiler.argument_types import example_of, type_key
from merganser.framework.native.compiler.code_files import SUFFIX, cache_directory, package_of_module
from merganser.framework.native.compiler.kept_files import names_in
from merganser.framework.native.compiler.kernels import PreparedKernel, load_compiled

_INTERVAL = 0.1  # between looks at the disk [s]
_TIME_TO_LOAD = 0.03  # LLVM, about, of processor time [s]
# How long this process computes without code that no other process compiles; and without a small piece of it, which
# is compiled in less than a second [s].
_PATIENCE, _PATIENCE_IF_SMALL = 5.0, 0.5
_LONGEST_WAIT = 30.0  # for a process that gets no time, where all processors are busy [s]
_MOST_REQUESTS = 2
_MOST_AT_ONCE = 5_000  # bodies times directions; to interpret more takes longer than to compile


class OptionalCode(NamedTuple):
    """Code that a loop of calls does without as long as it is not compiled.

    Attributes:
        module: where it is defined.
        attribute: its name there; it has a method `address()`, which compiles it or takes it from the disk.
        function: the name of the function that it is made of.
        types: of its arguments, as `type_key` gives them, if the attribute is a kernel, which has no such method.
    """

    module: str
    attribute: str
    function: str
    types: tuple[Any, ...] | None = None

    def load(self) -> Any:
        """The object with the method `address()`."""
        found = getattr(importlib.import_module(self.module), self.attribute)
        return found if self.types is None else PreparedKernel(found, *self._arguments())

    def _arguments(self) -> tuple[Any, ...]:
        return tuple(map(example_of, self.types or ()))

    def is_kept(self) -> bool:
        """Whether the disk has it; a kernel for arguments of these types, and no others."""
        if self.types is not None:
            return load_compiled(getattr(importlib.import_module(self.module), self.attribute), *self._arguments())
        start = f"{self.module.rpartition('.')[2]}.{self.function}-"
        names = names_in(cache_directory(package_of_module(self.module)))
        return any(name.startswith(start) and name.endswith(SUFFIX) for name in names)

    def is_usable(self) -> bool:
        """Whether to use it now; if it is missing, has it compiled as the rule says."""
        if self in _usable:
            return True
        if _at_once.get():
            self.load().address()
            _usable.add(self)
            return True
        waiting, now = _waiting_for(self), time.perf_counter()
        if now < waiting.next_look:
            return False
        waiting.next_look = now + _INTERVAL
        if self.is_kept() or self._is_compiled_here(waiting):
            _usable.add(self)
        return self in _usable

    def _is_compiled_here(self, waiting: _Waiting) -> bool:
        """Whether it is compiled in this process, or to be; otherwise asks another one for all that is missing."""
        waited = time.process_time() - waiting.since
        if not must_compile_here(self) and waited < _LONGEST_WAIT:
            codes = missing()
            if parallel_compilation.compile_later(codes):
                for code in codes:
                    _waiting[code].num_requests += 1
            return False
        if waited < _PATIENCE:
            return False
        with parallel_compilation.only_one() as is_mine:
            if is_mine:
                self.load().address()
        return is_mine or self.types is not None  # a kernel is compiled when it is called


TAPES = OptionalCode("merganser.framework.native.operations.operation_list", "RUN", "run_operations")


class _Waiting:
    """How long something has been missing."""

    def __init__(self) -> None:
        self.since = time.process_time()
        self.next_look = 0.0  # at the disk, on the clock `time.perf_counter` [s]
        self.num_requests = 0  # to other processes


_at_once: contextvars.ContextVar[bool] = contextvars.ContextVar("_at_once", default=False)


@contextlib.contextmanager
def compiled_at_once() -> Iterator[None]:
    """Here, all optional code is compiled when it is asked for: Python is to have no part in what is made."""
    token = _at_once.set(True)
    try:
        yield
    finally:
        _at_once.reset(token)


_usable: set[Any] = set()
_waiting: dict[Any, _Waiting] = {}  # codes, in the order in which they were wanted
_codes_of_kernels: dict[Any, OptionalCode] = {}


def _waiting_for(code: Any) -> _Waiting:
    found = _waiting.get(code)
    if found is None:
        found = _waiting[code] = _Waiting()
    return found


def want(*codes: OptionalCode) -> None:
    """Says that something would be faster with this code: who asks another process asks for all of it together."""
    for code in codes:
        _waiting_for(code)


def missing() -> list[OptionalCode]:
    """What is wanted and not there."""
    codes = [*_waiting]  # other threads add what they want meanwhile
    return [code for code in codes if isinstance(code, OptionalCode) and code not in _usable and not code.is_kept()]


def are_usable(*codes: OptionalCode) -> bool:
    """Whether to use codes now that are of use together only, see `OptionalCode.is_usable`: a loop of calls asks."""
    if _usable.issuperset(codes):
        return True
    want(*codes)
    if not (_has_loaded_code() or _at_once.get()) and time.process_time() - _waiting[codes[0]].since < _TIME_TO_LOAD:
        return False
    return sum(code.is_usable() for code in codes) == len(codes)  # all of them are looked for


def _has_loaded_code() -> bool:
    return "llvmlite" in sys.modules


def must_compile_here(code: OptionalCode | None = None) -> bool:
    """Whether no other process may compile for this one; or whether they have failed to compile this code."""
    has_failed = code is not None and _waiting_for(code).num_requests >= _MOST_REQUESTS
    if _at_once.get() or parallel_compilation.num_helpers() == 0:
        return True
    return has_failed and not parallel_compilation.are_helpers_busy()


def pays_to_compile(what: Any) -> bool:
    """Whether a small piece of code is to be compiled here that is not kept: Python has done without it for a while."""
    return time.process_time() - _waiting_for(what).since >= _PATIENCE_IF_SMALL


def may_use_compiled(kernel: Any, work: int, *arguments: Any) -> bool:
    """Whether a kernel is to be called compiled, rather than `interpreted`, which takes milliseconds.

    Args:
        kernel: the kernel.
        work: how many bodies it goes through, times the number of directions; of other things, as many as take as long.
        arguments: what it is called with.
    """
    key = kernel, tuple(map(type_key, arguments))
    if key in _usable:
        return True
    code = _codes_of_kernels.get(key)
    if code is None:
        if load_compiled(kernel, *arguments):
            _usable.add(key)
            return True
        code = _codes_of_kernels[key] = code_of_kernel(*key)
    if work > _MOST_AT_ONCE or code.is_usable():
        _usable.add(key)
    return key in _usable


def code_of_kernel(kernel: Any, types: tuple[Any, ...]) -> OptionalCode:
    """A kernel for arguments of these types, as other processes find it."""
    function: Any = kernel.interpreted
    name = function.__name__
    # Kernels that are made of others say where they are found.
    return OptionalCode(function.__module__, getattr(function, "place", name.removeprefix("calc_")), name, types)
