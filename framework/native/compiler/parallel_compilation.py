"""Compiling kernels in other processes while this one compiles those that it needs first.

Numba compiles in one thread, and a first step with contact needs a minute of it. Code that knows what comes next gives
it to `compile_ahead`. Its helpers go through the list, keep what they make on the disk, where this process finds it,
and leave out what another process has begun with: who compiles a kernel claims it by a file first. `wait_for`, called
before a kernel is compiled here, claims it, or waits for the helper that has. A helper that fails only costs time. The
last helper to end removes these files: their process may have been killed.

When helpers are through with the list, they go on with what this process can do without (when_to_compile.py).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from merganser.framework.native.compiler.announce import announced
from merganser.framework.native.compiler.argument_types import text_of_types
from merganser.framework.native.compiler.code_files import cache_directory
from merganser.framework.native.compiler.extending import import_whole
from merganser.framework.native.compiler.kept_files import make_folder

Job: TypeAlias = tuple[Any, tuple[Any, ...]]  # a kernel, and arguments of the types that it will be called with

_MAX_HELPERS = 2
_CODE = f"import sys; sys.path[:] = {{path!r}}; from {__name__} import help_; help_()"
_LOWEST_PRIORITY = 19
_AT_LOWEST_PRIORITY = f"import os; getattr(os, 'nice', int)({_LOWEST_PRIORITY}); "
_PATIENCE = 0.01  # [s], between looks at what helpers have done

_kernels: dict[tuple[str, str], Any] = {}  # by their places
_helpers: list[subprocess.Popen[bytes]] = []
_patient_helpers: list[subprocess.Popen[bytes]] = []  # at what this process can do without
_claims: dict[Any, Path] = {}  # of kernels that helpers have been asked for; another file says that it is on the disk


def note_kernel(kernel: Any) -> None:
    """Makes a kernel known to helpers, which import its module to find it."""
    _kernels[_place_of(kernel)] = kernel


def num_helpers() -> int:
    """How many processes may help this one: as many as there are other processors, and no more than two.

    None help a process that is a helper itself, or a worker of multiprocessing. The environment variable
    MERGANSER_COMPILE_HELPERS limits their number, too.
    """
    workers = sys.modules.get("multiprocessing.process")  # which multiprocessing imports in its workers
    is_worker = workers is not None and workers.parent_process() is not None
    if is_worker or not Path(sys.executable or "").name.startswith("python"):
        return 0
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(0, min(processors - 1, int(os.environ.get("MERGANSER_COMPILE_HELPERS", _MAX_HELPERS))))


def compile_ahead(jobs: Sequence[Job], is_needed_soon: bool = True) -> None:
    """Has other processes compile kernels, in this order, but for those that are on the disk already.

    Args:
        jobs: what; what this process needs last comes first, so that it seldom needs what a helper has just begun with.
        is_needed_soon: whether this process will wait for them. Otherwise what makes its steps faster comes first
            (when_to_compile.py), and one process does it all at the lowest priority.
    """
    jobs = [job for job in jobs if is_missing(job[0])]
    number = num_helpers()
    if not jobs or not number:
        return
    folder = _folder()
    _claims.update((kernel, folder / "-".join(_place_of(kernel))) for kernel, _ in jobs)
    types_of = import_whole("merganser.framework.native.compiler.numba_front").types_of
    order = [(str(_claims[k]), *_place_of(k), text_of_types(values), types_of(values)) for k, values in jobs]
    later = importlib.import_module("merganser.framework.native.compiler.when_to_compile").missing()
    for _ in range(number if is_needed_soon else 1):
        if not _start(order, later, is_needed_soon):
            return


def compile_later(codes: Sequence[Any]) -> bool:
    """Has another process compile, at the lowest priority, what this one can do without.

    Args:
        codes: OptionalCode of when_to_compile.py.

    Returns:
        Whether one has been started: not if one is at it already, for this process or another.
    """
    if not codes or are_helpers_busy():
        return False
    with only_one() as is_free:
        pass
    return is_free and _start([], codes, is_urgent=False)


@contextlib.contextmanager
def only_one() -> Iterator[bool]:
    """Whether no other process of this machine compiles what it can do without; none begins with it in this context."""
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


def are_helpers_busy() -> bool:
    """Whether other processes compile for this one."""
    return any(helper.poll() is None for helper in (*_helpers, *_patient_helpers))


def _start(order: Any, later: Any, is_urgent: bool) -> bool:
    """Starts a helper, which begins with `order` if that is urgent; returns whether it was possible."""
    code, helpers = (_CODE, _helpers) if is_urgent else (_AT_LOWEST_PRIORITY + _CODE, _patient_helpers)
    sign = _folder() / f"helper-{os.getpid()}-{len(_helpers) + len(_patient_helpers)}"
    # Ctrl-C does not end it, which goes to this group of processes. Linux gives sessions equal times, and looks at
    # priorities within each: a patient helper is in this one, and an urgent one has as much as this process.
    try:
        sign.touch()
        helper = subprocess.Popen(
            [sys.executable, "-c", code.format(path=sys.path)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "MERGANSER_COMPILE_HELPERS": "0"},
            start_new_session=is_urgent, process_group=None if is_urgent else 0,
        )  # fmt: skip
        assert helper.stdin is not None
        helpers.append(helper)
        with helper.stdin as pipe:
            pipe.write(pickle.dumps((os.getpid(), str(sign), order, [tuple(code) for code in later], is_urgent)))
    except OSError:  # there can be no more processes, or this one has ended at once
        _leave(sign)
        return False
    return True


def is_missing(kernel: Any) -> bool:
    """Whether a kernel can be compiled and kept, and has not been; of which types does not matter here."""
    if kernel in _claims or not hasattr(kernel, "codes"):  # the latter with NUMBA_DISABLE_JIT=1
        return False
    return not kernel.codes and not kernel.is_on_disk() and kernel.can_be_kept()


def is_at_hand(kernel: Any) -> bool:
    """Whether a kernel has been compiled, here or before."""
    return not hasattr(kernel, "codes") or bool(kernel.codes) or kernel.is_on_disk()


def wait_for(kernel: Any) -> None:
    """Sees that no helper begins with a kernel any more; waits for one that has, until it succeeds or fails."""
    claim = _claims.pop(kernel, None)
    if claim is None or _is_claimed_here(claim):
        return
    with announced(kernel.interpreted):
        while claim.exists() and not _done(claim).exists() and are_helpers_busy():
            time.sleep(_PATIENCE)


@functools.cache
def _place() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="merganser-")


def _folder() -> Path:
    """Where claims are, and a file for each helper, as long as this process lives and is helped."""
    folder = Path(_place().name)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _done(claim: Path) -> Path:
    return claim.with_name(f"{claim.name}-done")


def _is_claimed_here(claim: Path) -> bool:
    """Claims a kernel, unless that has been done before. Where there is no folder any more, no other process will."""
    try:
        claim.touch(exist_ok=False)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _place_of(kernel: Any) -> tuple[str, str]:
    """The module of the function that a kernel is made of, and its name there."""
    return kernel.interpreted.__module__, kernel.interpreted.__name__


def help_() -> None:
    """What a helper does with the lists that it reads from its standard input, while the process lives that wrote them.

    It finishes the kernel that it is at when that process ends; what is for later runs, too, is at least one, so that
    runs that are over before a helper has begun get it one after the other.
    """
    parent, sign, order, later, is_urgent = pickle.load(sys.stdin.buffer)
    optional_code = importlib.import_module("merganser.framework.native.compiler.when_to_compile").OptionalCode
    num_compiled = 0

    def is_needed() -> bool:
        if not (is_urgent or num_compiled):
            return True
        return os.path.exists(sign) and (not hasattr(os, "nice") or os.getppid() == parent)

    def compile_needed() -> None:
        nonlocal num_compiled
        for claim, module, name, types, signature in order:
            if is_needed() and _is_claimed_here(Path(claim)):
                __import__(module)
                _kernels[module, name].compile_for(types, signature)
                num_compiled += 1
                with contextlib.suppress(OSError):  # the folder goes with the process that asked
                    _done(Path(claim)).touch(exist_ok=False)

    def compile_optional() -> None:
        nonlocal num_compiled
        if later and hasattr(os, "nice"):
            os.nice(_LOWEST_PRIORITY)
        with only_one() as is_mine:
            for code in (optional_code(*fields) for fields in later):
                if not (is_mine and is_needed()):
                    return
                if not code.is_kept():
                    code.load().address()
                    num_compiled += 1

    try:
        for work in (compile_needed, compile_optional) if is_urgent else (compile_optional, compile_needed):
            work()
    finally:
        _leave(Path(sign))


def _leave(sign: Path) -> None:
    """Takes a helper's sign away, and the folder if it was the last one."""
    sign.unlink(missing_ok=True)
    if not any(sign.parent.glob("helper-*")):
        shutil.rmtree(sign.parent, ignore_errors=True)
