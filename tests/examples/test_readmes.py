"""The README of each room: its programs run, and the files that it names are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("framework", "geometry", "analysis", "multibody")
READMES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("README.md"))
ROOMS = ("framework/core", "framework/primitives", "analysis/controllers", "analysis/estimators", "multibody/plant")
_FILES = {path.name for folder in (*PACKAGES, "tests", "examples") for path in (ROOT / folder).rglob("*.py")}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _programs(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_say_which_way_the_data_takes(room):
    text = (ROOT / room / "README.md").read_text()
    assert re.search(r"^## The way", text, re.MULTILINE)


@pytest.mark.parametrize("path", READMES, ids=_name)
def test_files_that_a_readme_names_are_there(path):
    named = {Path(name).name for name in re.findall(r"`((?:\.\./)*[\w/]+\.py)`", path.read_text())}
    assert named - _FILES == set()


def test_programs_of_readmes_run():
    """In one process, each with names of its own: what they show is asserted in them."""
    programs = [(_name(path), program) for path in READMES for program in _programs(path)]
    assert len({name for name, _ in programs}) >= 3
    code = "import sys\n" + "".join(
        f"exec(compile({program!r}, {name!r}, 'exec'), {{'__name__': 'readme'}})\n" for name, program in programs
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
