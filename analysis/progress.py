"""A progress bar for simulations that take long, on terminals only."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

__all__ = ["SimulationProgress"]

_PATIENCE = 1.0  # seconds of wall time before the bar appears
_INTERVAL = 0.1  # seconds between two updates


class SimulationProgress:
    """Shows how far an advance has got, once it has taken longer than a second.

    Nothing is shown where standard error is not a terminal, or where the environment variable MERGANSER_PROGRESS
    is 0.
    """

    def __init__(self, start_time: float, boundary_time: float) -> None:
        self._start, self._end = start_time, boundary_time
        self._bar: Any = None
        self._task: Any = None
        self._wall_start = time.perf_counter()
        wanted = os.environ.get("MERGANSER_PROGRESS", "1") != "0" and boundary_time > start_time
        self._next_update = self._wall_start + _PATIENCE if wanted and sys.stderr.isatty() else float("inf")

    def update(self, simulation_time: float) -> None:
        """Called after every step."""
        now = time.perf_counter()
        if now < self._next_update:
            return
        self._next_update = now + _INTERVAL
        if self._bar is None:
            self._open()
        rate = (simulation_time - self._start) / (now - self._wall_start)
        self._bar.update(self._task, completed=simulation_time - self._start, rate=f"{rate:.3g} x real time")

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        self._next_update = float("inf")

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("simulating"),
            BarColumn(),
            TextColumn("{task.completed:.2f}/{task.total:.2f} s, {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("simulating", total=self._end - self._start, rate="")
        self._bar.start()
