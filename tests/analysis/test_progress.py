"""The progress bar: on terminals only, after a while only, and gone at the end."""

from __future__ import annotations

import contextlib
import io
import time
from typing import Any

import pytest

from merganser.analysis import Simulator, progress
from merganser.framework import EventStatus, LeafSystem

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"


class Terminal(io.StringIO):
    """Standard error, when it is a terminal."""

    def isatty(self) -> bool:
        return True


class Ticking(LeafSystem):
    """Takes a quarter of a second for one of a thousand events each; fails at t = 0.5 on request."""

    def __init__(self, error: type[BaseException] | None = None) -> None:
        super().__init__()
        self._error = error
        self.DeclarePeriodicPublishEvent(1e-3, 0.0, self._tick)

    def _tick(self, context: Any) -> None:
        time.sleep(2.5e-4)
        if self._error is not None and context.get_time() >= 0.5:
            raise self._error


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal to put on standard error, and a bar that appears at once."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "MERGANSER_PROGRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    return Terminal()


def advance(simulator: Simulator, end: float, stderr: io.StringIO | None) -> bool:
    """Whether the simulation got there; errors and interruptions pass through."""
    with contextlib.redirect_stderr(stderr):
        return simulator.AdvanceTo(end).succeeded()


def test_the_bar_shows_simulated_time_and_rate(terminal: Terminal) -> None:
    advance(Simulator(Ticking()), 0.1, terminal)
    text = terminal.getvalue()
    assert "simulating" in text and "/0.10 s" in text and "x real time" in text


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_the_bar_leaves_a_clean_terminal(terminal: Terminal, error: type[BaseException] | None) -> None:
    simulator = Simulator(Ticking(error))
    if error is None:
        advance(simulator, 0.6, terminal)
    else:
        with pytest.raises(error):
            advance(simulator, 0.6, terminal)
    text = terminal.getvalue()
    assert text.count(HIDE_CURSOR) == text.count(SHOW_CURSOR) == 1
    after = text[text.rindex(SHOW_CURSOR) :]
    assert "simulating" not in after and "\x1b[2K" in after  # the line is erased


def test_an_endless_advance_has_a_bar_too(terminal: Terminal) -> None:
    simulator = Simulator(Ticking())
    simulator.set_monitor(
        lambda context: EventStatus.ReachedTermination(None, "done") if context.get_time() > 0.02 else None
    )
    assert not advance(simulator, float("inf"), terminal)
    assert "/inf s" in terminal.getvalue()


def test_quick_advances_show_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 1.0)
    advance(Simulator(Ticking()), 0.1, terminal)
    assert terminal.getvalue() == ""


def test_the_environment_can_forbid_the_bar(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERGANSER_PROGRESS", "0")
    advance(Simulator(Ticking()), 0.1, terminal)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_is_shown_where_there_is_no_terminal(terminal: Terminal, stream: io.StringIO | None) -> None:
    assert advance(Simulator(Ticking()), 0.1, stream)
    assert stream is None or stream.getvalue() == ""
