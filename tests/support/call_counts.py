"""How much work something is, in calls rather than time: the same on every machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any


def num_calls(work: Callable[[], Any], of_python_only: bool = False) -> int:
    """How many functions are called, of Python and of C, and generators resumed.

    Garbage of other tests is not collected meanwhile: it may have finalizers, whose calls would be counted.
    """
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call" or not of_python_only

    before = sys.getprofile()
    was_enabled = gc.isenabled()
    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        if was_enabled:
            gc.enable()
    return count
