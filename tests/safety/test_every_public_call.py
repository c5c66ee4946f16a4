"""Public functions as the first thing of a process, and with arguments that do not fit; a part of what CI does whole.

`python tests/support/first_use.py` and `python tests/support/bad_arguments.py` take every function, block and
integrator, each for every scalar.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fresh_processes import run_each

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        (
            "first_use.py",
            ("query AutoDiffXd sphere-box", "query AutoDiffXd capsule-ellipsoid", "port float discrete", "simulation"),
        ),
        ("bad_arguments.py", ("query", "Calc Jacobian continuous", "Set discrete")),
    ],
)
def test_calls_neither_crash_nor_depend_on_what_was_called_before(script, texts):
    run = subprocess.run([sys.executable, str(SUPPORT / script), *texts], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and " 0 failed" in run.stdout, run.stdout + run.stderr
    assert not run.stdout.split(" passed")[0].endswith(" 0"), run.stdout


def test_a_crash_an_error_and_a_good_end_are_distinguished():
    def crash() -> None:
        faulthandler.disable()  # or it would write about this as of a real one
        os.kill(os.getpid(), signal.SIGSEGV)

    def fail() -> None:
        raise ValueError("as expected")

    outcomes = {o.name: o for o in run_each([("crash", crash), ("fail", fail), ("pass", lambda: None)])}
    assert outcomes["crash"].status == "SIGSEGV"
    assert outcomes["fail"].status == "failed" and "as expected" in outcomes["fail"].output
    assert outcomes["pass"].passed


def test_the_end_of_a_process_outside_of_the_cases_is_left_to_its_parent():
    other = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and was not waited for yet
    (outcome,) = run_each([("pass", lambda: None)])
    assert outcome.passed
    assert other.wait() == 3
