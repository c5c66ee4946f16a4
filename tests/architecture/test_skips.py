"""The suite's summary of skipped tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FILE = "import pytest\npytest.importorskip('no_such_module')\ndef test_a(): pass\n"
TESTS = """
import pytest
@pytest.mark.parametrize("i", [1, 2])
def test_b(i): pytest.importorskip("no_such_module", reason="draws by the extra `view`")
@pytest.mark.skipif(True, reason="no network here")
def test_c(): pass
def test_d(): pass
"""


def test_skipped_tests_are_counted_by_what_is_missing(tmp_path: Path) -> None:
    suite = Path(__file__).resolve().parents[1] / "conftest.py"
    (tmp_path / "pytest.ini").touch()
    for name, text in (("reference/test_x.py", FILE), ("reference/test_y.py", FILE), ("test_z.py", TESTS)):
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "tests" / "conftest.py").write_text(suite.read_text())
    for processes in ([], ["-n", "1"]):
        command = [sys.executable, "-m", "pytest", "-q", *processes, "tests"]
        output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
        assert "\n   2 files: the extra `reference` is not installed\n" in output, output
        assert "\n   2 tests: the extra `view` is not installed\n" in output
        assert "\n   1 test: no network here\n" in output and output.count("importorskip") == 0
