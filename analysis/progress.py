"""A progress bar for simulations that take long, on terminals only."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from merganser.framework.common.running_time import running_time

_PATIENCE = 1.0  # seconds of wall time before the bar appears
_INTERVAL = 0.1  # seconds between two updates


class SimulationProgress:
    """Shows the progress of an advance that takes longer than a second.

    Nothing is shown where standard error is not a terminal, or where the environment variable
    MERGANSER_PROGRESS is 0.

    Args:
        start_time: time at which the advance begins [s].
        boundary_time: time at which it will end [s]; may be infinite.
        describe: called with the time, the end, and the rate a second of wall time; returns the text beside the bar.

    Attributes:
        next_update: on the clock `time.perf_counter`, before which there is nothing to show [s].
    """

    def __init__(
        self,
        start_time: float,
        boundary_time: float,
        describe: Callable[[float, float, float], str] | None = None,
    ) -> None:
        self._describe = describe or _in_seconds
        self._start, self._end = start_time, boundary_time
        self._bar: Any = None
        self._task: Any = None
        self._run_start = running_time()
        self.next_update = time.perf_counter() + _PATIENCE if boundary_time > start_time else math.inf

    def update(self, simulation_time: float) -> None:
        """Called after every step."""
        now = time.perf_counter()
        if now < self.next_update:
            return
        if self._bar is None:
            if os.environ.get("MERGANSER_PROGRESS") == "0" or not (sys.stderr is not None and sys.stderr.isatty()):
                self.next_update = math.inf
                return
            self._open()
        self.next_update = now + _INTERVAL
        rate = (simulation_time - self._start) / (running_time() - self._run_start)
        text = self._describe(simulation_time, self._end, rate)
        self._bar.update(self._task, completed=simulation_time - self._start, text=text)

    def close(self) -> None:
        """Removes the bar, if it has appeared."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        self.next_update = math.inf

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("simulating"),
            BarColumn(),
            TextColumn("{task.fields[text]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        total = self._end - self._start if math.isfinite(self._end) else None
        self._task = self._bar.add_task("simulating", total=total, text="")
        self._bar.start()


def _in_seconds(time: float, end: float, rate: float) -> str:
    return f"{time:.2f}/{end:.2f} s, {rate:.3g} x real time"
