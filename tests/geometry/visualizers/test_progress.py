"""What takes more than a second shows its progress, and nothing else does."""

from __future__ import annotations

import pytest

from merganser.geometry.visualizers import scene_drawing as progress


@pytest.mark.parametrize(("patience", "switch", "num_lines"), [(60.0, "1", 0), (-1.0, "1", 1), (-1.0, "0", 0)])
def test_progress_is_shown_after_a_while_unless_switched_off(monkeypatch, capsys, patience, switch, num_lines):
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    monkeypatch.setenv("MERGANSER_PROGRESS", switch)
    assert list(progress.with_progress(["a", "b", "c"], "drawing shapes")) == ["a", "b", "c"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == num_lines and all("drawing shapes, 3 in all" in line for line in lines)


def test_a_bar_on_a_terminal_ends_with_the_work(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setenv("MERGANSER_PROGRESS", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with pytest.raises(ValueError, match="inside"):
        for _ in progress.with_progress([1, 2], "drawing shapes"):
            raise ValueError("inside")
    assert list(progress.with_progress([1, 2], "drawing shapes")) == [1, 2]
