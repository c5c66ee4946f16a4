"""How much work something is, in calls rather than time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def num_calls(work: Callable[[], Any]) -> int:
    """How many functions are called, of Python and of C, and generators resumed."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
