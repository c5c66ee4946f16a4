"""Calls of libraries that do not look for Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_BETWEEN_LOOKS = 0.05  # [s]


def interruptible(function: Callable[[], Any]) -> Any:
    """Calls a function that releases the GIL in a thread of its own, so that Ctrl-C ends the wait at once.

    After that the function itself goes on to its end in the background, and its result is dropped.

    Raises:
        BaseException: whatever the function raises.
    """
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:  # panics of Rust are no Exceptions
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_BETWEEN_LOOKS)
    if errors:
        raise errors[0]
    return results[0]
