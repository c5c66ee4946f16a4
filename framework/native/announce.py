"""Says on a terminal that kernels are being compiled, which makes a first run wait."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["announced", "announcer"]

_PACKAGE = "merganser."
_MESSAGE = "merganser: compiling {name} (first run only, kept for the next) ..."


class _Announcer:
    """Shows one line on standard error while a kernel of this package is compiled, and takes it away again.

    On terminals only, and not where the environment variable MERGANSER_PROGRESS is 0.
    """

    def __init__(self) -> None:
        self._depth = 0

    def start(self, function: Any) -> None:
        if not _is_ours(function):
            return
        self._depth += 1
        if self._depth == 1 and _is_wanted():
            sys.stderr.write(
                "\r\033[K" + _MESSAGE.format(name=function.__name__.removeprefix("calc_").replace("_", " "))
            )
            sys.stderr.flush()

    def end(self, function: Any) -> None:
        if not _is_ours(function):
            return
        self._depth -= 1
        if self._depth == 0 and _is_wanted():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


announcer = _Announcer()


def _is_ours(function: Any) -> bool:
    """Whether a function is of this package; those that exec() has made may have no module."""
    return (function.__module__ or "").startswith(_PACKAGE)


@contextlib.contextmanager
def announced(function: Any) -> Iterator[None]:
    """Announces a function that another process compiles."""
    announcer.start(function)
    try:
        yield
    finally:
        announcer.end(function)


def _is_wanted() -> bool:
    return sys.stderr.isatty() and os.environ.get("MERGANSER_PROGRESS", "1") != "0"
