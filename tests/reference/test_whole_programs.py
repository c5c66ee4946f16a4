"""Programs written for pydrake give the same numbers there and, as they are, by `python -m merganser run`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pydrake")

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
# Of the largest number in the result. Those of some programs are what the accuracy of integrators, or the tolerance of
# the solver, permits.
SMOOTH = 1e-9
TOLERANCE = {
    "swing_up": 1e-6, "van_der_pol": 1e-7, "arm_and_ball": 1e-5, "viewers": 1e-3, "walkers": 1e-6, "reach": 1e-8,
    "bin_of_bricks": 1e-5, "point_cloud_of_a_table": 1e-6, "loop_the_loop": 1e-6,
}  # fmt: skip

# Where events meet, periods and steps are powers of two, so that clocks meet in pydrake too, and the plant of a
# discrete controller has live output ports (docs/learn/differences.md). So "arm_and_ball", "scenario_from_yaml" and
# "reach" differ by 1e-15, 2e-14 and 1e-13.

# Runs a program with forces of velocity products as pydrake has them.
AS_PYDRAKE = """
import functools, sys
from merganser.cli import main
from merganser.multibody.tree.tree import MultibodyTree


@functools.wraps(MultibodyTree.__init__)
def begin(tree, *arguments, made=MultibodyTree.__init__, **named):
    made(tree, *arguments, **named)
    tree.has_explicit_products = True


MultibodyTree.__init__ = begin
sys.exit(main(["run", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_gives_what_it_gives_with_pydrake(program: Path, tmp_path: Path) -> None:
    def result(*command: str) -> np.ndarray:
        folder = tmp_path / str(len(command))
        folder.mkdir()
        done = subprocess.run([sys.executable, *command, str(program)], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return np.loadtxt(folder / "result.txt")

    theirs, ours = result(), result("-c", AS_PYDRAKE)
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=TOLERANCE.get(program.stem, SMOOTH) * np.abs(theirs).max())
