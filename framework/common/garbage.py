"""When Python looks for garbage."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["garbage_waits"]


@contextlib.contextmanager
def garbage_waits() -> Iterator[None]:
    """Has Python not look for garbage while many objects are made that stay.

    It would do so again and again, and look through all of them each time, in vain.
    """
    was_enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was_enabled:
            gc.enable()
