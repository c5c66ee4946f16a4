"""Fixtures of all tests: each starts from a fresh state, and processes skip work that no test is about."""

from __future__ import annotations

import collections
import gc
import os
import random
import re
from typing import Any

import pytest

from merganser.framework.common import source_location

# Programs that tests start begin from bytecode, as those of users do: half as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Each processor has a worker: threads of another one's matrices would wait for it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class _All:
    """A set of everything."""

    def __contains__(self, item: object) -> bool:
        return True


@pytest.fixture(autouse=True)
def _warn_about_files_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings that come once in a process come once in each test: which test reads a file first does not matter."""
    source_location.warn_of_file.cache_clear()
    monkeypatch.setattr(source_location, "_have_said_how", _All())


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds an option for slow ways to run all tests, such as kernels that check their indices."""
    parser.addoption("--share", type=float, default=1.0, help="run so large a part of the files, others each time")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves a part of the files; processes that run side by side choose the same ones."""
    share = config.getoption("share")
    if share < 1.0:
        run = getattr(config, "workerinput", {}).get("testrunuid", os.getpid())
        items[:] = [item for item in items if random.Random(f"{run} {item.path}").random() < share]


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Looks for no garbage while tests are collected: that would be a third of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Looks for garbage among what comes later from here on: 700,000 objects of the tests themselves stay."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says what was skipped and why: a line for each package or extra that is missing, and for each other reason."""
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for report in terminalreporter.getreports("skipped"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        is_file = report.when == "collect"  # all tests of a file are skipped while it is collected
        extra = re.search(r"extra `(\w+)`", reason)
        if extra or (is_file and report.nodeid.startswith("tests/reference/")):
            reason = f"the extra `{extra[1] if extra else 'reference'}` is not installed"
        counts[reason, "file" if is_file else "test"] += 1
    if counts:
        terminalreporter.section("skipped", "-")
    for (reason, kind), count in sorted(counts.items()):
        terminalreporter.write_line(f"{count:4d} {kind}{'s' * (count > 1)}: {reason}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a file stay in one process, which has what they need; one that has none left takes some of others."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None
