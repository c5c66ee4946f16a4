"""What numba has to know of this package, registered when something is first compiled.

To import numba takes longer than all else that a program imports, and where machine code is on the disk it is not
needed. So modules of kernels do not import it. What they have to register is noted here; `register_all` passes it on
before the first compilation. Names of numba and llvmlite that only functions use are here, too, and import these
libraries when something of them is first used.
"""

from __future__ import annotations

import contextlib
import importlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

registering_lock = threading.RLock()  # held while something is registered
_unregistered: list[Callable[[], Any]] = []


def import_whole(name: str) -> Any:
    """Imports a module that imports numba or llvmlite, or SciPy within a step. Ctrl-C waits for that.

    What is left of an import of theirs that was cut short cannot be imported any more in the same process: extension
    modules refuse to be loaded twice.
    """
    with interrupts_wait():
        return importlib.import_module(name)


@contextlib.contextmanager
def interrupts_wait() -> Iterator[None]:
    """Has Ctrl-C do what it does when this ends; other threads than the main one are not interrupted anyway.

    Whatever makes numba or LLVM work is within one of these. Neither can be cut short: of what is left behind, numba
    finds half of a list, and LLVM gives memory back twice.
    """
    act = signal.getsignal(signal.SIGINT)
    if not callable(act) or threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *arguments: noted.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, act)
        if noted:
            act(*noted[0])


class _Module:
    """A module that is imported when something of it is first used, or what it has of a name."""

    def __init__(self, name: str, part: str | None = None) -> None:
        self._name, self._part = name, part

    def __getattr__(self, name: str) -> Any:
        module = importlib.import_module(self._name)
        return getattr(module if self._part is None else getattr(module, self._part), name)


types: Any = _Module("numba.types")
cgutils: Any = _Module("merganser.framework.native.compiler.numba_inside", "cgutils")
ir: Any = _Module("llvmlite.ir")


class Later:
    """Stands for something that numba knows in the code of kernels.

    Args:
        make: makes it.
        source: the function that says what it does, by default the same.
        fingerprint_rest: what it depends on beside this source.
    """

    _never_changes = True

    def __init__(
        self,
        make: Callable[[], Any],
        source: Callable[..., Any] | None = None,
        fingerprint_rest: Callable[[], str] = str,
    ) -> None:
        self._make = make
        self.source = make if source is None else source
        self.fingerprint_rest = fingerprint_rest
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        raise NotImplementedError("This function is there in compiled code only.")

    @property
    def _numba_type_(self) -> Any:
        """Numba asks for this by this name."""
        from merganser.framework.native.compiler.numba_inside import cpu_target

        with registering_lock:
            if self._made is None:
                self._made = self._make()
                cpu_target.typing_context.refresh()  # takes notice of it
        return cpu_target.typing_context.resolve_value_type(self._made)


def _carray() -> Any:
    import numba

    return numba.carray


carray: Any = Later(_carray)


def intrinsic(
    describe: Callable[..., Any],
    in_python: Callable[..., Any] | None = None,
    fingerprint_rest: Callable[[], str] = str,
) -> Any:
    """Numba's `intrinsic` of a function that gives types of arguments and result, and what writes the code.

    Args:
        describe: the function.
        in_python: what Python calls; by default it is for compiled code only.
        fingerprint_rest: what the code depends on beside the source of `describe`.
    """

    def make() -> Any:
        from numba.extending import intrinsic

        return intrinsic(describe)

    if in_python is None:
        return Later(make, describe, fingerprint_rest)
    kind: Any = type("Later", (Later,), {"__call__": staticmethod(in_python)})  # without a call in between
    return kind(make, describe, fingerprint_rest)


def overload(function: Callable[..., Any], **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Numba's `overload`: what is decorated chooses the code of calls of a function."""

    def decorate(choose: Callable[..., Any]) -> Callable[..., Any]:
        def pass_on() -> None:
            from numba.extending import overload

            overload(function, **options)(choose)

        register(pass_on)
        return choose

    return decorate


def register_module(name: str) -> None:
    """Notes a module that registers something with numba when it is imported; called where that is first needed."""
    register(lambda: import_whole(name))


def register(action: Callable[[], Any]) -> None:
    """Notes something that is to be done before anything is compiled."""
    with registering_lock:
        _unregistered.append(action)
    if _has_begun:  # a function that numba compiles by itself may call it
        register_all()


_has_begun = False


def register_all() -> None:
    """Registers with numba all that has been noted, so that functions of `numba.njit` find helpers of this package."""
    global _has_begun
    with registering_lock, interrupts_wait():
        _has_begun = True
        while _unregistered:
            action = _unregistered.pop(0)
            try:
                action()
            except BaseException:  # the next compilation needs it
                _unregistered.insert(0, action)
                raise
