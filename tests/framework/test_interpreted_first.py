"""Some kernels are interpreted until another process has compiled them, or it pays to do that here."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

from merganser.framework import background_code, interpreted_first
from merganser.framework.native.compiler import parallel_compilation
from merganser.framework.native.compiler.argument_types import example_of, text_of_types, type_key
from merganser.multibody import kernels
from merganser.multibody.kernels.lanes import over_lanes
from merganser.multibody.kernels.layout import topology_dtype

RUNNER = over_lanes(kernels.qdot_to_velocity)
TOPOLOGY = np.zeros(2, topology_dtype)
ARGUMENTS = 1, TOPOLOGY, np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1))

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


@pytest.fixture
def asked(monkeypatch):
    """What another process has been asked for; it never ends. Nothing is compiled in this process, or on the disk."""
    asked = []
    for name, value in (("_state", background_code._State()), ("_wanted", {}), ("_there", set())):
        monkeypatch.setattr(background_code, name, value)
    for name, empty in (("_interpreted", Counter()), ("_usable", set()), ("_awaited", {})):
        monkeypatch.setattr(interpreted_first, name, empty)
    monkeypatch.setattr(interpreted_first, "load_compiled", lambda *_: False)
    monkeypatch.setattr(background_code, "_is_kept", lambda _code: False)
    monkeypatch.setattr(background_code, "_only_one", lambda: contextlib.nullcontext(True))
    monkeypatch.setattr(parallel_compilation, "num_helpers", lambda: 1)
    monkeypatch.setattr(parallel_compilation, "compile_later", lambda codes: asked.append(list(codes)))
    monkeypatch.setattr(parallel_compilation, "are_helpers_busy", lambda: bool(asked))
    return asked


def may_use_compiled(work: int) -> bool:
    return interpreted_first.may_use_compiled(RUNNER, work, *ARGUMENTS)


def test_the_first_call_asks_another_process_for_the_kernel_and_is_interpreted_as_all_that_follow(asked):
    assert not may_use_compiled(10)
    ((code,),) = asked
    assert code.load()._kernel is RUNNER
    assert not any(may_use_compiled(1000) for _ in range(20))
    assert len(asked) == 1


def test_the_kernel_is_used_as_soon_as_it_is_on_the_disk(asked, monkeypatch):
    assert not may_use_compiled(10)
    monkeypatch.setattr(background_code, "_is_kept", lambda _code: True)
    assert may_use_compiled(10)


def test_what_is_on_the_disk_is_used_from_the_first_call(asked, monkeypatch):
    monkeypatch.setattr(interpreted_first, "load_compiled", lambda *_: True)
    assert may_use_compiled(10)
    assert asked == []
    monkeypatch.setattr(interpreted_first, "load_compiled", None)  # it is not looked for again
    assert may_use_compiled(10)


def test_a_call_that_would_take_longer_than_to_compile_it_is_compiled_at_once(asked):
    assert may_use_compiled(1_000_000)
    assert asked == []


def test_where_nobody_helps_it_is_compiled_when_so_much_was_interpreted_that_it_pays(asked, monkeypatch):
    monkeypatch.setattr(parallel_compilation, "num_helpers", lambda: 0)
    made = Compiled()
    monkeypatch.setattr(background_code.BackgroundCode, "load", lambda _code: made)
    answers = [may_use_compiled(1000) for _ in range(5)]
    assert answers == [False, False, False, True, True]
    assert (made.count, asked) == (1, [])


def test_a_process_that_gets_no_time_is_not_waited_for_without_end(asked):
    answers = [may_use_compiled(1000) for _ in range(40)]
    assert answers == sorted(answers)
    assert answers[0] is False
    assert answers[-1] is True
    assert len(asked) == 1


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.mark.parametrize(
    "value",
    [
        None, True, 1, 2.0, 1j, np.int32(3), np.zeros(3), np.zeros((2, 3), complex), np.zeros((2, 3)).T,
        np.zeros((4, 4))[::2, ::2], TOPOLOGY, TOPOLOGY[0], (1, np.zeros(2)), np.broadcast_to(0.0, (2, 2)),
        Pair(np.zeros(2), 1j),
    ],
)  # fmt: skip
def test_examples_are_of_the_types_that_they_stand_for(value):
    assert type_key(example_of(type_key(value))) == type_key(value)


def test_tuples_of_different_types_are_told_apart():
    one, other = Pair(np.zeros(1), 1), Pair(np.zeros(1), 1.0)
    assert type_key(one) != type_key(other) and text_of_types((one,)) != text_of_types((other,))


class Compiled:
    """Stands for code that compiles in no time."""

    count = 0

    def address(self) -> int:
        self.count += 1
        return 1


_SCRIPT = """
import os, time
os.sched_getaffinity = lambda _process: {0, 1}  # there may be one processor only
from merganser.framework import interpreted_first, background_code
from merganser.multibody import kernels
from merganser.multibody.kernels.lanes import over_lanes
import numpy as np

single, arguments = kernels.qdot_to_velocity, (1, np.zeros(2, TOPOLOGY), *(np.zeros((1, 1)) for _ in range(3)))
kernel = over_lanes(single)
end, calls = time.monotonic() + 120.0, 0
while time.monotonic() < end and not interpreted_first.may_use_compiled(kernel, 1, *arguments):
    calls += 1
    time.sleep(0.05)
print(calls > 0, background_code._state.num_helpers)
"""


def test_another_process_compiles_it_for_this_one_and_all_later_ones(tmp_path):
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(tmp_path), "MERGANSER_COMPILE_HELPERS": "1"}
    script = _SCRIPT.replace("TOPOLOGY", repr(topology_dtype.descr))

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert run() == ["True", "1"]
    assert run() == ["False", "0"]  # from the disk before the first call


@pytest.mark.parametrize("name", kernels.__all__)
def test_other_processes_find_each_kernel_by_its_name(name):
    kernel = getattr(kernels, name)
    code = interpreted_first._later(kernel, ())
    assert getattr(importlib.import_module(code.module), code.attribute) is kernel
    over = interpreted_first._later(over_lanes(kernel), ())
    assert getattr(importlib.import_module(over.module), over.attribute) is over_lanes(kernel)
    assert over.function == over_lanes(kernel).interpreted.__name__
