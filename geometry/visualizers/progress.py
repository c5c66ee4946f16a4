"""Tells how far something has come that takes more than a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sized
from typing import Any, Protocol, TypeVar

__all__ = ["told"]

_PATIENCE = 1.0  # before anything is said [s]

T = TypeVar("T", covariant=True)


class _Countable(Sized, Protocol[T]):
    def __iter__(self) -> Iterator[T]: ...


def told(items: _Countable[T], what: str) -> Iterator[T]:
    """Goes through some items; after a second there is a bar on a terminal, or else one line on standard error.

    Nothing is said where the environment variable MERGANSER_PROGRESS is 0.

    Args:
        items: what to go through.
        what: is done, for the message: "drawing meshes".
    """
    start, bar = time.monotonic(), None
    try:
        for number, item in enumerate(items):
            if bar is None and time.monotonic() - start > _PATIENCE and os.environ.get("MERGANSER_PROGRESS") != "0":
                bar = _Bar(what, len(items))
            if bar is not None:
                bar.show(number)
            yield item
    finally:
        if bar is not None:
            bar.close()


class _Bar:
    """A bar; a line where there is no terminal."""

    def __init__(self, what: str, total: int) -> None:
        self._progress: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task(what, total=total)
            self._progress.start()
        else:
            print(f"merganser: {what}, {total} in all ...", file=sys.stderr, flush=True)

    def show(self, number: int) -> None:
        """Tells how many are done."""
        if self._progress is not None:
            self._progress.update(self._task, completed=number)

    def close(self) -> None:
        """Takes the bar away."""
        if self._progress is not None:
            self._progress.stop()
