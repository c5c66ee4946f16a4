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
ROOMS = (
    "framework/core", "framework/native", "framework/primitives", "analysis/controllers", "analysis/estimators",
    "analysis/integrators", "analysis/plan", "multibody/plant",
)  # fmt: skip


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _below(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*.py")}


def _programs(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_say_how_data_flows(room):
    text = (ROOT / room / "README.md").read_text()
    assert re.search(r"^## (Data flow|A step|From )", text, re.MULTILINE)


@pytest.mark.parametrize("path", READMES, ids=_name)
def test_files_that_a_readme_names_are_there(path):
    named = set(re.findall(r"`((?:\.\./)*[\w/]+\.py)`", path.read_text()))
    places = [folder for folder in path.parents if folder.is_relative_to(ROOT)]  # from here up to the root
    assert {name for name in named if not any((folder / name).is_file() for folder in places)} <= _below(path.parent)


def test_programs_of_readmes_run(tmp_path):
    """Each is a module, as a reader would write it, all in one process: what they show is asserted in them."""
    programs = [(path, program) for path in READMES for program in _programs(path)]
    assert len({path for path, _ in programs}) >= 3
    names = []
    for number, (path, program) in enumerate(programs):
        names.append(f"{path.relative_to(ROOT).parent.as_posix().replace('/', '_')}_{number}")
        (tmp_path / f"{names[-1]}.py").write_text(program)
    code = f"import {', '.join(names)}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
