"""What all tests share: warnings that come once in a process come once in each test."""

from __future__ import annotations

import pytest

from merganser.framework.core import source_location


class _All:
    """A set of everything."""

    def __contains__(self, item: object) -> bool:
        return True


@pytest.fixture(autouse=True)
def _warnings_about_files_come_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which test reads a file first does not matter."""
    source_location.warn_of_file.cache_clear()
    monkeypatch.setattr(source_location, "_have_said_how", _All())
