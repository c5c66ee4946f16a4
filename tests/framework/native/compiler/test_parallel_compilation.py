"""Kernels that other processes compile while this one is busy."""

import os
import subprocess
import sys
import time

import pytest

from merganser.framework.native.compiler import parallel_compilation

_SCRIPT = """
import os, sys, time
import numpy as np
from merganser.framework.native import compile_ahead, is_missing, specialize
from merganser.multibody.kernels.checked_arrays import is_finite

os.sched_getaffinity = lambda _process: {{0, 1}}  # there may be one processor only
values = np.ones(3)
assert is_missing(is_finite)
sys.executable = {executable!r} or sys.executable
compile_ahead([(is_finite, (values,))])
assert not is_missing(is_finite), "asked for twice"
end = time.monotonic() + {patience}
while time.monotonic() < end and not is_finite.is_on_disk():
    time.sleep(0.05)
code = specialize(is_finite, values)
assert code(values) and not code(np.array([1.0, np.nan, 1.0]))
print(*(code.is_from_disk for code in is_finite.codes.values()), flush=True)
os._exit(0)  # as one that is killed
"""


def run(folder, patience, executable=""):
    """Whether the kernel came from the disk, as a text.

    Args:
        folder: of the kernels.
        patience: how long this process looks whether a helper has compiled the kernel, before it needs it [s].
        executable: that of helpers.
    """
    script = _SCRIPT.format(executable=executable, patience=patience)
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(folder), "MERGANSER_COMPILE_HELPERS": "1"}
    environment["TMPDIR"] = str(folder.parent)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_kernel_comes_from_the_helper_that_has_compiled_it(tmp_path):
    assert run(tmp_path / "kernels", 60.0) == ["True"]


def test_a_kernel_that_no_helper_compiles_is_compiled_in_this_process(tmp_path):
    assert run(tmp_path / "kernels", 0.0) == ["False"]
    end = time.monotonic() + 60.0
    while list(tmp_path.glob("merganser-*")):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_helpers_that_end_at_once_leave_the_kernel_to_this_process(tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "python").chmod(0o755)
    assert run(tmp_path / "kernels", 0.5, str(tmp_path / "python")) == ["False"]


@pytest.mark.parametrize(("processors", "allowed", "expected"), [(1, "", 0), (2, "", 1), (8, "", 2), (8, "0", 0)])
def test_there_are_helpers_for_other_processors_if_they_are_allowed(processors, allowed, expected, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(processors)), raising=False)
    monkeypatch.delenv("MERGANSER_COMPILE_HELPERS", raising=False)
    if allowed:
        monkeypatch.setenv("MERGANSER_COMPILE_HELPERS", allowed)
    assert parallel_compilation.num_helpers() == expected


@pytest.mark.skipif(not hasattr(os, "getsid"), reason="there are no sessions")
def test_helpers_are_safe_from_interrupts_and_their_priority_counts(monkeypatch):
    monkeypatch.setattr(parallel_compilation, "_CODE", "import time; time.sleep(60.0)")
    helpers = parallel_compilation._patient_helpers
    assert parallel_compilation._start([], [], is_urgent=False)
    helper = helpers.pop()
    try:
        assert os.getpgid(helper.pid) == helper.pid  # Ctrl-C on a terminal goes to the group of this process
        assert os.getsid(helper.pid) == os.getsid(0)  # on Linux, processes of other sessions are given as much time
    finally:
        helper.kill()
        helper.wait()
