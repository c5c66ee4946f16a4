"""Errors and interrupts within what runs in Python beside compiled code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from merganser.analysis import Simulator

# What runs while an interrupt is being dealt with, or before the loop has begun; callbacks, which may fail; what runs
# every 10 ms, however many these are.
_NOT_AT_RISK = (
    "AdvanceTo", "_note_what_is_done", "_finish_updates", "_look", "_begin_slice",
    "may_be_lowered_further", "_return_to", "forget_since",
)  # fmt: skip


class Fault:
    """Raises an error when a Python function of some modules is called for the nth time.

    Signals are looked at there, where a loop goes back and where a function written in C has returned.
    """

    def __init__(self, modules: tuple[ModuleType, ...], error: BaseException | None = None, number: int = -1) -> None:
        self._files = {str(Path(module.__file__ or "")) for module in modules}
        self._error = error
        self._left = number
        self.num_calls = 0

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        name = frame.f_code.co_name
        if frame.f_code.co_filename in self._files and not name.startswith("<") and name not in _NOT_AT_RISK:
            self.num_calls += 1
            self._left -= 1
            if self._left == 0:
                assert self._error is not None
                raise self._error


def advance_with(trace: Callable[..., Any], simulator: Simulator, end: float) -> None:
    """Advances to a time [s] while `trace` sees every call."""
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        simulator.AdvanceTo(end)
    finally:
        sys.settrace(previous)
