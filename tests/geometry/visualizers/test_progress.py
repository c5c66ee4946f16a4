"""What takes more than a second tells how far it has come, and nothing else does."""

from __future__ import annotations

import pytest

from merganser.geometry.visualizers import progress


@pytest.mark.parametrize(("patience", "switch", "num_lines"), [(60.0, "1", 0), (-1.0, "1", 1), (-1.0, "0", 0)])
def test_progress_is_told_once_after_a_while_if_nobody_forbids_it(monkeypatch, capsys, patience, switch, num_lines):
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    monkeypatch.setenv("MERGANSER_PROGRESS", switch)
    assert list(progress.told(["a", "b", "c"], "drawing shapes")) == ["a", "b", "c"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == num_lines and all("drawing shapes, 3 in all" in line for line in lines)


def test_a_bar_on_a_terminal_ends_with_the_work(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setenv("MERGANSER_PROGRESS", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with pytest.raises(ValueError, match="inside"):
        for _ in progress.told([1, 2], "drawing shapes"):
            raise ValueError("inside")
    assert list(progress.told([1, 2], "drawing shapes")) == [1, 2]
