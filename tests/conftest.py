"""What all tests share: each begins anew, and processes do not spend their time on what no test is about."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest

from merganser.framework.common import source_location

# Programs that tests start begin from bytecode, as those of users do: half as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


class _All:
    """A set of everything."""

    def __contains__(self, item: object) -> bool:
        return True


@pytest.fixture(autouse=True)
def _warnings_about_files_come_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings that come once in a process come once in each test: which test reads a file first does not matter."""
    source_location.warn_of_file.cache_clear()
    monkeypatch.setattr(source_location, "_have_said_how", _All())


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Looks for no garbage while tests are collected: that would be a third of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Looks for garbage among what comes later from here on: 700,000 objects of the tests themselves stay."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a file stay in one process, which has what they need; one that has none left takes some of others."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None
