"""When Python looks for garbage."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def garbage_waits() -> Iterator[None]:
    """Stops garbage collection while many lasting objects are made.

    Python would run it again and again, through all of these objects each time, and free nothing.
    """
    was_enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was_enabled:
            gc.enable()
