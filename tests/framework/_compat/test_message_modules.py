"""The module `drake`, whose names are types of messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import drake
import drake.lcmt_scope
from drake import lcmt_iiwa_status, lcmt_scope
from drake.lcmt_point import lcmt_point
from pydrake.all import DiagramBuilder, LcmPublisherSystem
from pydrake.lcm import DrakeLcm, Subscriber
from pydrake.manipulation import IiwaStatusReceiver

lcm = DrakeLcm("memq://")
subscriber = Subscriber(lcm, "A", lcmt_scope)
message = drake.lcmt_scope()
message.size, message.value = 1, [0.5]
lcm.Publish("A", message.encode())
lcm.HandleSubscriptions(0)
IiwaStatusReceiver().get_input_port(0)
home = lcmt_iiwa_status.__module__.split(".")[0]
print(subscriber.message.value, lcmt_point().x, home, isinstance(drake.lcmt_scope, type))
from drake import *
print(lcmt_viewer_draw.__name__)
"""


def run(text: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(text)
    command = [sys.executable, *(arguments or ("-m", "merganser", "run")), "program.py"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_programs_find_types_of_messages(tmp_path: Path) -> None:
    done = run(PROGRAM, tmp_path)
    assert done.stdout == "(0.5,) 0.0 merganser True\nlcmt_viewer_draw\n", done.stderr


@pytest.mark.parametrize(
    "text", ["from drake import lcmt_nothing", "from drake import foo", "import drake.lcmt_nothing", "import drake.foo"]
)
def test_what_is_no_type_of_messages_is_not_found(tmp_path: Path, text: str) -> None:
    done = run(text, tmp_path)
    assert "ImportError" in done.stderr or "ModuleNotFoundError" in done.stderr
    assert "drake" in done.stderr.splitlines()[-1]


def test_another_module_of_this_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "drake").mkdir()
    (tmp_path / "drake" / "__init__.py").write_text("mallard = 5\n")
    (tmp_path / "drake" / "duck.py").write_text("")
    done = run("import pydrake.lcm, drake.duck; print(drake.mallard)", tmp_path)
    assert done.stdout == "5\n", done.stderr


def test_the_module_goes_when_the_names_of_pydrake_go(tmp_path: Path) -> None:
    text = """
import sys, merganser.drake
merganser.drake.install(shadow=True)
import drake, drake.lcmt_scope
merganser.drake.uninstall()
print([name for name in sys.modules if name.split(".")[0] == "drake"])
"""
    assert run(text, tmp_path, "-B").stdout == "[]\n"
