"""Each test file alone, in a process that has run nothing else.

    python tests/support/alone.py [--some N] [--most N] [FILE or FOLDER ...]

Files are taken from tests/ if none are given, but for those that compare with pydrake or run examples or notebooks.
What they import is loaded once, and each file runs in a fork of that process: see fresh_processes.py. What a file lacks
that others leave behind shows in its first tests: with --most, so many of each file run, others each time; with --some,
so many of the files.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis  # noqa: F401  # loaded here, once
import pytest
from fresh_processes import get_ready, run_each

TESTS = Path(__file__).resolve().parents[1]
_LEFT_OUT = ("reference", "examples", "benchmarks", "docs", "support")


class _Some:
    """A plugin that leaves so many tests of a file, chosen by chance."""

    def __init__(self, most: int) -> None:
        self._most = most

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if len(items) > self._most:
            items[:] = random.SystemRandom().sample(items, self._most)


def _run(file: Path, most: int) -> Callable[[], int]:
    def run() -> int:
        given = [str(file), "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"]
        status = int(pytest.main(given, plugins=[_Some(most)]))
        return 0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else status

    return run


def main(arguments: list[str]) -> int:
    """Runs the files; prints the output of those that fail, and returns how many do."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--some", type=int, default=sys.maxsize)
    parser.add_argument("--most", type=int, default=sys.maxsize)
    parser.add_argument("places", nargs="*", type=Path)
    options = parser.parse_args(arguments)
    given: list[Path] = options.places
    files = [file for place in given for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])]
    if not given:
        folders = [path for path in sorted(TESTS.iterdir()) if path.is_dir() and path.name not in _LEFT_OUT]
        files = [file for folder in folders for file in sorted(folder.rglob("test_*.py"))]
    files = random.SystemRandom().sample(files, min(options.some, len(files)))
    get_ready()
    outcomes = run_each((str(file), _run(file, options.most)) for file in files)
    failures = [outcome for outcome in outcomes if not outcome.passed]
    for outcome in failures:
        print(f"{outcome.name}: {outcome.status}\n{outcome.output}")
    for outcome in sorted(outcomes, key=lambda outcome: -outcome.seconds)[:10]:
        print(f"{outcome.seconds:6.1f} s  {Path(outcome.name).name}")
    print(f"test files alone: {len(outcomes) - len(failures)} passed, {len(failures)} failed")
    return len(failures)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
