"""Code that simulations do without until it is compiled: who compiles it, and when."""

import os
import subprocess
import sys

import pytest

from merganser.analysis import SemiExplicitEulerIntegrator
from merganser.framework import LeafSystem, background_code
from merganser.framework.background_code import BackgroundCode
from merganser.framework.native.compiler import parallel_compilation

CODE = BackgroundCode("merganser.multibody.contact.step_operation", "STEP", "no_such_function")


class Compiled:
    """Stands for code that compiles in no time."""

    def __init__(self):
        self.count = 0

    def address(self):
        self.count += 1
        return 1


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """What is compiled here; this process has not done anything yet, is not helped, and has a cache of its own."""
    made = Compiled()
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(background_code, "_state", background_code._State())
    monkeypatch.setattr(background_code, "_wanted", {})
    monkeypatch.setattr(background_code, "_there", set())
    monkeypatch.setattr(background_code, "_next_look", {})
    monkeypatch.setattr(BackgroundCode, "load", lambda _code: made)
    monkeypatch.setenv("MERGANSER_COMPILE_HELPERS", "0")
    return made


@pytest.fixture
def asked(compiled, monkeypatch):
    """What another process has been asked for; it never ends."""
    asked = []
    monkeypatch.setenv("MERGANSER_COMPILE_HELPERS", "1")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1}, raising=False)
    monkeypatch.setattr(parallel_compilation, "compile_later", lambda codes: asked.append(list(codes)))
    monkeypatch.setattr(parallel_compilation, "are_helpers_busy", lambda: bool(asked))
    return asked


def test_where_nobody_helps_it_is_compiled_when_all_plants_together_have_made_many_steps(compiled):
    for _ in range(2):
        background_code.note_call(9_999)
        assert not CODE.is_worth_while()
    background_code.note_call(2)
    assert CODE.is_worth_while()
    assert CODE.is_worth_while()
    assert compiled.count == 1


def test_another_process_is_asked_once_after_some_hundred_steps_and_nothing_is_compiled_here(compiled, asked):
    assert not CODE.is_worth_while()
    background_code.note_call(299)
    assert not CODE.is_worth_while()
    assert asked == []
    background_code.note_call(100_000)
    for _ in range(3):
        assert not CODE.is_worth_while()
    assert asked == [[CODE]]
    assert compiled.count == 0


def test_another_process_is_asked_for_all_of_it_when_this_one_has_to_compile_a_kernel(asked):
    other = BackgroundCode("merganser.analysis.plan.loop", "LOOP", "no_such_function")
    background_code.want(other, CODE)
    assert asked == []
    background_code.note_compilation()
    assert asked == [[other, CODE]]


class Decay(LeafSystem):
    """xdot = -x, in Python."""

    def __init__(self):
        super().__init__()
        self.DeclareContinuousState(1)

    def DoCalcTimeDerivatives(self, context, derivatives):
        derivatives.SetFromVector(-context.get_continuous_state_vector().CopyToVector())


def test_compiled_steps_are_asked_for_with_those_of_their_method_and_python_goes_on(asked, compiled):
    system = Decay()
    integrator = SemiExplicitEulerIntegrator(system, 1e-3, system.CreateDefaultContext())
    background_code.note_steps(100_000, 1)
    integrator.IntegrateWithMultipleStepsToTime(0.01)
    assert [code.function for code in asked[0]] == ["take_step", "try_semi_explicit_euler_step"]
    assert integrator.get_num_steps_taken() == 10
    assert compiled.count == 0


@pytest.mark.usefixtures("asked")
def test_where_processes_that_help_end_without_it_it_is_compiled_here(compiled, monkeypatch):
    monkeypatch.setattr(parallel_compilation, "are_helpers_busy", lambda: False)
    background_code.note_call(20_000)
    assert [CODE.is_worth_while() for _ in range(4)] == [False, False, False, True]
    assert compiled.count == 1


def test_one_process_of_a_machine_compiles_at_a_time(compiled):
    script = """
import os, sys
from merganser.framework.background_code import BackgroundCode, _only_one, note_call
with _only_one() as is_mine:
    print(is_mine, flush=True)
    sys.stdin.read()
"""
    other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "True\n"
    background_code.note_call(20_000)
    assert not CODE.is_worth_while()
    other.communicate("")
    assert CODE.is_worth_while()
    assert compiled.count == 1


def test_a_process_that_helps_ends_when_it_is_not_needed_any_more(compiled, monkeypatch):
    monkeypatch.setattr(os, "nice", lambda _more: 0, raising=False)
    background_code.compile_quietly([CODE, CODE, CODE], iter([True, True, False]).__next__)
    assert compiled.count == 2


_SCRIPT = """
import os, sys, time
os.sched_getaffinity = lambda _process: {0, 1}  # there may be one processor only
from merganser.analysis import SemiExplicitEulerIntegrator
from merganser.framework import LeafSystem, background_code
from merganser.framework.background_code import BackgroundCode
from merganser.framework.native.operations.operations import CompiledOperation

code = BackgroundCode("merganser.multibody.kernels.operations", "GATHER", "gather")
background_code.note_call(300)
end = time.monotonic() + 120.0
assert not code.is_there()
while time.monotonic() < end and not code.is_worth_while():
    time.sleep(0.05)
operation = code.load()
operation.address()
print(operation._code.is_from_disk, background_code._state.num_helpers)
"""


def test_what_another_process_has_compiled_comes_from_the_disk(tmp_path):
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(tmp_path), "MERGANSER_COMPILE_HELPERS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False, env=environment
    )  # fmt: skip
    assert done.stdout.split() == ["True", "1"], done.stderr
