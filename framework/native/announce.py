"""Says on a terminal that kernels are being compiled, which makes a first run wait."""

from __future__ import annotations

import os
import sys
from typing import Any

from numba.core import event

__all__ = ["announce_compilation"]

_PACKAGE = "merganser."
_MESSAGE = "merganser: compiling {name} (first run only, kept for the next) ..."


class _Announcer(event.Listener):
    """Shows one line on standard error while a kernel of this package is compiled, and takes it away again."""

    def __init__(self) -> None:
        self._depth = 0

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if not _is_ours(function):
            return
        self._depth += 1
        if self._depth == 1 and _is_wanted():
            sys.stderr.write(
                "\r\033[K" + _MESSAGE.format(name=function.__name__.removeprefix("calc_").replace("_", " "))
            )
            sys.stderr.flush()

    def on_end(self, event: Any) -> None:
        if not _is_ours(event.data["dispatcher"].py_func):
            return
        self._depth -= 1
        if self._depth == 0 and _is_wanted():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _is_ours(function: Any) -> bool:
    """Whether a function is of this package; those that exec() has made may have no module."""
    return (function.__module__ or "").startswith(_PACKAGE)


def announce_compilation() -> None:
    """From now on compilations of this package's kernels are announced, on terminals only.

    Nothing is shown where the environment variable MERGANSER_PROGRESS is 0.
    """
    event.register("numba:compile", _Announcer())


def _is_wanted() -> bool:
    return sys.stderr.isatty() and os.environ.get("MERGANSER_PROGRESS", "1") != "0"
