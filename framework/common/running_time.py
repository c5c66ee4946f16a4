"""A clock that stops while kernels are compiled, so that rates are those of the simulation alone."""

from __future__ import annotations

import time

_compiling = 0.0  # what compilation has taken so far in this process [s]


def note_compilation(seconds: float) -> None:
    """Adds to the time spent with compilation."""
    global _compiling
    _compiling += seconds


def time_compiling() -> float:
    """How long this process has waited for compilation [s]."""
    return _compiling


def running_time() -> float:
    """Seconds of the clock `time.perf_counter`, less what this process has spent with compilation."""
    return time.perf_counter() - _compiling


def sleep_until(when: float) -> None:
    """Sleeps until this clock shows `when` [s], or not at all if it is later."""
    time.sleep(max(0.0, when - running_time()))
