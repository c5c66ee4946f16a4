"""What is compiled when: the one policy.

What is called is compiled when it is first called (native/compiler/kernels.py). Other code only makes simulations
faster: the compiled loop, and steps of plants as operations in it. It takes seconds to compile, and Python does the
same, to the last bit, until it is there. For such a `BackgroundCode`:

1. What is on the disk is used.
2. What is not is compiled by another process, at low priority, one at a time on a machine, as soon as this process has
   compiled anything that it needs (so that it is among the first on this machine), or has made some hundred steps.
3. Where no other process may help, it is compiled here, when this process has made so many steps that it pays.

Steps are counted, of all plants of the process together. For the compiled loop, steps of integrators, and tapes, which
are themselves loaded only when that pays, steps of all simulators and integrators in Python are counted, and the cache
entries that each may have to compute again; so are evaluations of derivatives by programs that take steps of their own,
and the steps that an advance is certainly going to take. No clock is asked.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

__all__ = [
    "BackgroundCode",
    "compile_quietly",
    "may_be_helped",
    "missing",
    "must_compile_here",
    "note_call",
    "note_compilation",
    "note_evaluation",
    "note_steps",
    "note_work",
    "pays_to_load",
    "pays_to_load_tapes",
    "want",
    "work_of_steps",
]

_SOME_CALLS = 300  # from then on another process is asked
_MANY_CALLS = 20_000  # from then on it pays to compile here
# What a step in Python takes, about, and each cache entry in it [us]; there are so many evaluations.
_WORK_OF_STEP = 10
_WORK_OF_ENTRY = 5
_EVALUATIONS_OF_STEP = 3
# Work that takes about as long as to load the compiled loop, the first compiled code of a process or not; or as long as
# to compile it [us].
_WORK_TO_LOAD = 100_000
_WORK_TO_LOAD_MORE = 50_000
_WORK_TO_COMPILE = 5_000_000
_WORK_BETWEEN_LOOKS = 20_000  # at the disk, for what somebody else compiles
_MOST_HELPERS = 3  # that this process starts one after the other; if they all end early, there is something wrong
_LOWEST_PRIORITY = 19
_TAPES = "merganser.framework.native.operations.lowering"


class BackgroundCode(NamedTuple):
    """Code that simulations do without as long as it is not compiled.

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
        if self.types is None:
            return found
        from merganser.framework.native.compiler.argument_types import example_of
        from merganser.framework.native.compiler.kernels import PreparedKernel

        return PreparedKernel(found, *map(example_of, self.types))

    def is_there(self) -> bool:
        """Whether it has been compiled and kept before, or here."""
        if self not in _there and _is_kept(self):
            _there.add(self)
        return self in _there

    def is_worth_while(self, pays: bool | None = None) -> bool:
        """Whether to use it now. Where it is not there, other processes are asked for it, or it is compiled here.

        Args:
            pays: whether it pays to compile it; by default the number of calls of plants tells.
        """
        if self.is_there():
            return True
        want(self)
        if may_be_helped():
            if pays is not None or _state.num_calls >= _SOME_CALLS:
                _ask_for_help()
            return False
        if not (must_compile_here() if pays is None else pays):
            return False
        with _only_one() as is_mine:
            if is_mine:
                self.load().address()
                _there.add(self)
        return is_mine


class _State:
    """What this process has done."""

    work = 0  # of simulators and integrators in Python, by counts [us]
    num_calls = 0  # of the dynamics of all plants, as far as Python made them
    is_cold = False  # whether anything had to be compiled
    num_helpers = 0  # that were started for background code


_state = _State()
_there: set[BackgroundCode] = set()
_wanted: dict[BackgroundCode, None] = {}  # in this order
_next_look: dict[tuple[BackgroundCode, ...], int] = {}  # work in Python until somebody looks again


def note_call(weight: int = 1) -> None:
    """Counts a step that compiled code could have made.

    Args:
        weight: how much more than others it takes.
    """
    _state.num_calls += weight


def note_steps(num_steps: int, num_entries: int) -> None:
    """Counts steps of a simulator or integrator in Python, with so many cache entries."""
    _state.work += work_of_steps(num_steps, num_entries)


def note_evaluation(num_entries: int) -> None:
    """Counts an evaluation of derivatives in Python that belongs to no such step, with so many cache entries."""
    _state.work += work_of_steps(1, num_entries) // _EVALUATIONS_OF_STEP


def note_work(work: int) -> None:
    """Counts what Python does more in a step than most do [us]."""
    _state.work += work


def work_of_steps(num_steps: int, num_entries: int) -> int:
    """How long steps of a simulator in Python take, about, with so many cache entries [us]."""
    return num_steps * (_WORK_OF_STEP + _WORK_OF_ENTRY * num_entries)


def pays_to_load(*codes: BackgroundCode, work_to_come: int = 0) -> bool:
    """Whether there has been, or is to be, so much work in Python that compiled code is worth its while.

    Args:
        codes: what is needed of what may be missing on this machine; all of it together.
        work_to_come: what is certainly going to follow, see `work_of_steps` [us].
    """
    if not all(code.module in sys.modules for code in codes):
        least = _WORK_TO_LOAD_MORE if "llvmlite" in sys.modules else _WORK_TO_LOAD
        if _state.work + work_to_come < least:
            return False
    if _state.work < _next_look.get(codes, 0):
        return False
    _next_look[codes] = _state.work + _WORK_BETWEEN_LOOKS
    want(*(code for code in codes if not code.is_there()))
    if not all(code.is_worth_while(_state.work >= _WORK_TO_COMPILE) for code in codes):
        return False
    _next_look[codes] = 0
    return True


def pays_to_load_tapes() -> bool:
    """Whether there has been so much work in Python that to load what runs compiled operations is worth its while."""
    return _TAPES in sys.modules or _state.work >= _WORK_TO_LOAD


def note_compilation() -> None:
    """Notes that this process has to wait for a kernel: it is among the first on this machine."""
    _state.is_cold = True
    if _wanted and may_be_helped():
        _ask_for_help()


def must_compile_here() -> bool:
    """Whether it pays to compile here what makes steps faster, as there were many, and nobody else does it."""
    return _state.num_calls >= _MANY_CALLS and not may_be_helped()


def want(*codes: BackgroundCode) -> None:
    """Says that something would be faster with this code."""
    _wanted.update(dict.fromkeys(codes))


def missing() -> list[BackgroundCode]:
    """What is wanted and not there."""
    return [code for code in _wanted if not code.is_there()]


def compile_quietly(codes: Sequence[BackgroundCode], is_needed: Callable[[], bool]) -> None:
    """Compiles one after the other at low priority, if no other process does, and as long as `is_needed()`."""
    if codes and hasattr(os, "nice"):
        os.nice(_LOWEST_PRIORITY)
    with _only_one() as is_mine:
        for code in codes:
            if not (is_mine and is_needed()):
                return
            if not code.is_there():
                code.load().address()


def may_be_helped() -> bool:
    """Whether other processes may compile for this one."""
    from merganser.framework.native.compiler.parallel_compilation import num_helpers

    return _state.num_helpers < _MOST_HELPERS and num_helpers() > 0


def _ask_for_help() -> None:
    """Starts a process that compiles what is wanted, unless one is at it for this process or another."""
    from merganser.framework.native.compiler.parallel_compilation import are_helpers_busy, compile_later

    if are_helpers_busy() or not missing():
        return
    with _only_one() as is_nobody_at_it:
        pass
    if is_nobody_at_it:
        _state.num_helpers += 1
        compile_later(missing())


@contextlib.contextmanager
def _only_one() -> Iterator[bool]:
    """Whether no other process of this machine compiles background code; none begins with it in this context."""
    from merganser.framework.native.compiler.code_files import cache_directory
    from merganser.framework.native.compiler.kept_files import make_folder

    try:
        import fcntl

        make_folder(cache_directory())
        file = os.open(cache_directory().parent / "later.lock", os.O_RDWR | os.O_CREAT)
    except (ImportError, OSError):  # not on this system, or nothing can be kept anyway
        yield True
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_mine = True
    except OSError:
        is_mine = False
    try:
        yield is_mine
    finally:
        os.close(file)


def _is_kept(code: BackgroundCode) -> bool:
    """Whether the disk has it."""
    from merganser.framework.native.compiler.code_files import SUFFIX, cache_directory, package_of_module
    from merganser.framework.native.compiler.kept_files import names_in

    start = f"{code.module.rpartition('.')[2]}.{code.function}-"
    names = names_in(cache_directory(package_of_module(code.module)))
    return any(name.startswith(start) and name.endswith(SUFFIX) for name in names)
