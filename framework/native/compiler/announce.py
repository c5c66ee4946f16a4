"""Says that kernels are being compiled, which makes a first run wait, and counts the time that it takes."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from merganser.framework.common.running_time import note_compilation

_PACKAGE = "merganser."
_MESSAGE = "merganser: compiling {name} (first run only, kept for the next) ..."
_MESSAGE_ONCE = (
    "merganser: compiling kernels, which the first run on a machine waits for; they are kept for the next "
    "(MERGANSER_PROGRESS=0 silences this)\n"
)


class _Announcer:
    """Says on standard error that a kernel of this package is compiled.

    A terminal shows one line for as long as that takes; a file or a notebook gets one line for the whole process.
    Nothing is said where the environment variable MERGANSER_PROGRESS is 0.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._start = 0.0
        self._is_shown = False
        self._was_said = False

    def start(self, function: Any) -> None:
        """Called before a function is compiled; within, for those that it calls, too."""
        self._depth += 1
        if self._depth > 1:
            return
        self._start = time.perf_counter()
        # Whether a function is of this package; those that exec() has made may have no module
        if not (function.__module__ or "").startswith(_PACKAGE) or os.environ.get("MERGANSER_PROGRESS", "1") == "0":
            return
        if sys.stderr.isatty():
            name = function.__name__.removeprefix("calc_").replace("_", " ")
            _write("\r" + _MESSAGE.format(name=name))
            self._is_shown = True
        elif not self._was_said:
            self._was_said = True
            _write(_MESSAGE_ONCE)

    def end(self, function: Any) -> None:
        """Called when the function of the last start() has been compiled, or could not be."""
        self._depth -= 1
        if self._depth > 0:
            return
        note_compilation(time.perf_counter() - self._start)
        if self._is_shown:
            self._is_shown = False
            _write("\r\033[K")


announcer = _Announcer()


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


@contextlib.contextmanager
def announced(function: Any) -> Iterator[None]:
    """Announces a function that another process compiles."""
    announcer.start(function)
    try:
        yield
    finally:
        announcer.end(function)
