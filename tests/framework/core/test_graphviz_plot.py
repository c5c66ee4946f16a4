"""plot_graphviz and plot_system_graphviz: pictures by Graphviz, here by a program in its place."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from merganser.framework import DiagramBuilder, plot_graphviz, plot_system_graphviz
from merganser.framework.primitives import Adder, Gain

DOT = """#!{python}
import struct, sys, zlib
text = sys.stdin.read()
if "broken" in text:
    sys.exit("syntax error in line 1")
assert sys.argv[1:] == ["-Tpng"]
open({log!r}, "w").write(text)
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
pixels = zlib.compress(b"".join(b"\\0" + bytes([255, 0, 0] * 3) for _ in range(2)))
header = struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0)
parts = [b"\\x89PNG\\r\\n\\x1a\\n", chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
sys.stdout.buffer.write(b"".join(parts))
"""


@pytest.fixture
def dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that draws two rows of three red pixels; the file has what it was given."""
    log = tmp_path / "log"
    program = tmp_path / "dot"
    program.write_text(DOT.format(python=sys.executable, log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return log


def chain() -> Any:
    builder = DiagramBuilder()
    first, second = builder.AddNamedSystem("first", Gain(2.0, 1)), builder.AddNamedSystem("second", Adder(1, 1))
    builder.Connect(first.get_output_port(), second.get_input_port(0))
    return builder.Build()


def test_systems_are_drawn_into_the_current_axes(dot: Path) -> None:
    plt.figure()
    picture = plot_system_graphviz(chain(), max_depth=1)
    assert picture.axes is plt.gca() and not plt.gca().axison
    np.testing.assert_allclose(np.asarray(picture.get_array())[..., :3], np.tile([1.0, 0.0, 0.0], (2, 3, 1)))
    assert "name=first" in dot.read_text()
    plot_system_graphviz(chain(), max_depth=0)
    assert "name=first" not in dot.read_text()
    plt.close()


def test_without_graphviz_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, dot: Path) -> None:
    with pytest.raises(RuntimeError, match="does not understand the description: syntax error in line 1"):
        plot_graphviz("broken {{")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match=r"needs the program 'dot' of Graphviz.*plot_diagram\(system\)"):
        plot_system_graphviz(chain())


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_graphviz_itself_draws_a_diagram() -> None:
    plt.figure()
    picture = plot_system_graphviz(chain())
    assert np.asarray(picture.get_array()).min() < 0.5
    plt.close()
