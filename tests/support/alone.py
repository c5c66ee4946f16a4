"""Each test file alone, in a process that has run nothing else.

    python tests/support/alone.py [FILE or FOLDER ...]

Files are taken from tests/ if none are given, but for those that compare with pydrake or run examples or notebooks.
What they import is loaded once, and each file runs in a fork of that process: see fresh_processes.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis  # noqa: F401  # loaded here, once
import pytest
from fresh_processes import get_ready, run_each

TESTS = Path(__file__).resolve().parents[1]
_LEFT_OUT = ("reference", "examples", "benchmarks", "docs", "support")
__all__ = ["main"]


def _run(file: Path) -> Callable[[], int]:
    def run() -> int:
        status = int(pytest.main([str(file), "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"]))
        return 0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else status

    return run


def main(places: list[str]) -> int:
    """Runs the files; prints the output of those that fail, and returns how many do."""
    given = [Path(place) for place in places]
    files = [file for place in given for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])]
    if not given:
        folders = [path for path in sorted(TESTS.iterdir()) if path.is_dir() and path.name not in _LEFT_OUT]
        files = [file for folder in folders for file in sorted(folder.rglob("test_*.py"))]
    get_ready()
    outcomes = run_each((str(file), _run(file)) for file in files)
    failures = [outcome for outcome in outcomes if not outcome.passed]
    for outcome in failures:
        print(f"{outcome.name}: {outcome.status}\n{outcome.output}")
    for outcome in sorted(outcomes, key=lambda outcome: -outcome.seconds)[:10]:
        print(f"{outcome.seconds:6.1f} s  {Path(outcome.name).name}")
    print(f"test files alone: {len(outcomes) - len(failures)} passed, {len(failures)} failed")
    return len(failures)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
