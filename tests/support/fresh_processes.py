"""Many cases, each as the first thing that happens in a process, for the price of a fork each.

The process that calls `run_each` has imported what the cases need and has used none of it: no kernel is loaded. Each
case runs in a fork of it, so that it neither finds what others have left behind nor leaves anything behind itself, and
a crash ends that case alone.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO, TypeAlias

import numba

Case: TypeAlias = tuple[str, Callable[[], Any]]  # its name, and what to call
_LIMIT = 600  # [s], after which a case is taken for one that hangs
_BETWEEN_LOOKS = 0.005  # [s], at processes that may have ended


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Attributes:
        name: of the case.
        status: "passed", "failed", or the name of the signal that ended its process.
        output: what it printed, with the traceback if it raised.
        seconds: how long it took.
    """

    name: str
    status: str
    output: str
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether it neither raised nor crashed."""
        return self.status == "passed"


def get_ready() -> None:
    """Imports what most cases need, and has numba load what it needs to load kernels: a second for each otherwise."""
    for name in ("analysis", "geometry.proximity", "multibody.contact", "multibody.controllers", "multibody.parsing"):
        importlib.import_module(f"merganser.{name}")
    numba.core.registry.cpu_target.target_context.refresh()
    gc.collect()
    gc.freeze()  # or each process would look for garbage in all of that, and get copies of it


def chosen(cases: Iterable[Case], texts: list[str]) -> Iterator[Case]:
    """The cases whose names contain all words of one of the texts; all of them if there are no texts."""
    groups = [text.split() for text in texts] or [[]]
    return (case for case in cases if any(all(word in case[0] for word in words) for words in groups))


def run_each(cases: Iterable[Case], num_processes: int | None = None) -> list[Outcome]:
    """Runs each case in a fork of this process.

    Args:
        cases: names, and what to call. A case fails if it raises, or if it returns a number that is not 0.
        num_processes: how many at once; by default one for each processor.
    """
    limit = num_processes or len(os.sched_getaffinity(0))
    running: dict[int, tuple[str, TextIO, float]] = {}
    outcomes: list[Outcome] = []
    for name, case in cases:
        if len(running) == limit:
            outcomes.append(_wait_for_one(running))
        output = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  # closed when the case has ended
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            _be_child(case, output)
        running[process] = name, output, time.monotonic()
    while running:
        outcomes.append(_wait_for_one(running))
    return outcomes


def _be_child(case: Callable[[], Any], output: TextIO) -> None:
    """Runs a case in this process, which ends with it."""
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    sys.stdout = sys.stderr = output  # which pytest may have put something else in place of
    signal.alarm(_LIMIT)
    status = 1
    try:
        result = case()
        status = result if isinstance(result, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(min(abs(status), 1))


def _wait_for_one(running: dict[int, tuple[str, TextIO, float]]) -> Outcome:
    process, status = _first_to_end(running)
    name, output, start = running.pop(process)
    with output:
        output.seek(0)
        text = output.read()
    if os.WIFSIGNALED(status):
        ending = signal.Signals(os.WTERMSIG(status)).name
    else:
        ending = "passed" if os.WEXITSTATUS(status) == 0 else "failed"
    return Outcome(name, ending, text, time.monotonic() - start)


def _first_to_end(processes: Iterable[int]) -> tuple[int, int]:
    """The first of these processes to end, and its status; others, which compile for this one, are left alone."""
    while True:
        for process in processes:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return ended, status
        time.sleep(_BETWEEN_LOOKS)
