"""Compilation for loops of calls: which process compiles, and when."""

from __future__ import annotations

import importlib
import io
import os
import pickle
import subprocess
import sys
import types
from typing import Any, NamedTuple

import numpy as np
import pytest

from merganser.analysis import SemiExplicitEulerIntegrator, Simulator
from merganser.framework import LeafSystem
from merganser.framework.native.compiler import parallel_compilation, when_to_compile
from merganser.framework.native.compiler.argument_types import example_of, text_of_types, type_key
from merganser.framework.native.compiler.when_to_compile import (
    OptionalCode,
    are_usable,
    may_use_compiled,
    missing,
    want,
)
from merganser.multibody import kernels
from merganser.multibody.kernels.lanes import over_lanes
from merganser.multibody.kernels.layout import topology_dtype

CODE = OptionalCode("merganser.multibody.dynamics.operation", "STEP", "no_such_function")
OTHER = OptionalCode("merganser.analysis.plan.loop", "LOOP", "no_such_function")
RUNNER = over_lanes(kernels.qdot_to_velocity)
TOPOLOGY = np.zeros(2, topology_dtype)
ARGUMENTS = 1, TOPOLOGY, np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1))

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


class Machine:
    """Clocks, other processes and the disk, as a test has them.

    Attributes:
        now: what both clocks show [s].
        kept: names of functions that are on the disk.
        requests: what other processes have been asked for.
        is_busy: whether one of them is still at it.
        num_helpers: how many there may be.
        num_compiled: how much this process has compiled.
    """

    def __init__(self) -> None:
        self.now, self.kept = 100.0, set[str]()
        self.requests: list[list[OptionalCode]] = []
        self.is_busy, self.num_helpers, self.num_compiled = False, 1, 0

    def compile_later(self, codes: list[OptionalCode]) -> bool:
        if self.is_busy:
            return False
        self.requests.append(list(codes))
        self.is_busy = True
        return True

    def address(self) -> int:
        self.num_compiled += 1
        return 1

    def answers(self, ask: Any, seconds: float, num: int) -> list[bool]:
        """The answers to repeated calls with some time in between."""
        found = []
        for _ in range(num):
            found.append(ask())
            self.now += seconds
        return found


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Machine:
    """Nothing is compiled, in this process or on the disk, and nothing has been asked for."""
    machine = Machine()
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    for name, empty in (("_usable", set()), ("_waiting", {}), ("_codes_of_kernels", {})):
        monkeypatch.setattr(when_to_compile, name, empty)
    clocks = types.SimpleNamespace(perf_counter=lambda: machine.now, process_time=lambda: machine.now)
    monkeypatch.setattr(when_to_compile, "time", clocks)
    monkeypatch.setattr(when_to_compile, "_has_loaded_code", lambda: True)
    monkeypatch.setattr(when_to_compile, "load_compiled", lambda *_: False)
    monkeypatch.setattr(OptionalCode, "is_kept", lambda code: code.function in machine.kept)
    monkeypatch.setattr(OptionalCode, "load", lambda _code: machine)
    monkeypatch.setattr(parallel_compilation, "compile_later", machine.compile_later)
    monkeypatch.setattr(parallel_compilation, "are_helpers_busy", lambda: machine.is_busy)
    monkeypatch.setattr(parallel_compilation, "num_helpers", lambda: machine.num_helpers)
    return machine


def may_use(work: int = 1) -> bool:
    return may_use_compiled(RUNNER, work, *ARGUMENTS)


def test_what_is_on_the_disk_is_used_at_once(machine: Machine) -> None:
    machine.kept = {CODE.function}
    assert are_usable(CODE, OTHER)
    assert not machine.requests


def test_where_no_code_is_loaded_python_goes_on_for_as_long_as_that_takes(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(when_to_compile, "_has_loaded_code", lambda: False)
    machine.kept = {CODE.function}
    answers = machine.answers(lambda: are_usable(CODE, OTHER), 0.01, 6)
    assert answers == sorted(answers) and 2 <= sum(answers) < 6
    assert not machine.requests


def test_what_is_not_is_asked_for_at_once_together_and_used_when_it_is_there(machine: Machine) -> None:
    wanted = OptionalCode("merganser.analysis.plan.loop", "LOOP", "wanted_before")
    want(wanted)
    assert not any(machine.answers(lambda: are_usable(CODE, OTHER), 0.05, 60))
    assert machine.requests == [[wanted, CODE, OTHER]] == [missing()]
    machine.kept = {CODE.function}
    assert are_usable(CODE)
    assert machine.num_compiled == 0


def test_other_threads_may_want_more_while_one_looks_for_what_is_missing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted_meanwhile = OptionalCode("merganser.analysis.plan.loop", "LOOP", "wanted_meanwhile")
    monkeypatch.setattr(OptionalCode, "is_kept", lambda _code: bool(want(wanted_meanwhile)))
    want(CODE, OTHER)
    assert missing() == [CODE, OTHER]
    assert missing() == [CODE, OTHER, wanted_meanwhile]


def test_the_disk_is_looked_at_ten_times_a_second_only(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    monkeypatch.setattr(OptionalCode, "is_kept", lambda _code: bool(looks.append(machine.now)))
    machine.is_busy = True
    machine.answers(CODE.is_usable, 0.001, 1000)
    assert len(set(looks)) == pytest.approx(10, abs=1)


def test_where_no_process_may_help_it_is_compiled_here_after_some_seconds(machine: Machine) -> None:
    machine.num_helpers = 0
    answers = machine.answers(CODE.is_usable, 1.0, 8)
    assert answers == sorted(answers) and sum(answers) == 3
    assert (machine.num_compiled, machine.requests) == (1, [])


def test_where_two_processes_have_failed_it_is_compiled_here(machine: Machine) -> None:
    def ask() -> bool:
        machine.is_busy = False  # the last one has ended without it
        return CODE.is_usable()

    assert machine.answers(ask, 3.0, 4) == [False, False, True, True]
    assert (machine.num_compiled, len(machine.requests)) == (1, 2)


def test_a_kernel_is_interpreted_until_another_process_has_compiled_it(machine: Machine) -> None:
    assert not any(machine.answers(may_use, 0.2, 50))
    ((code,),) = machine.requests
    machine.kept = {code.function}
    assert may_use()


def test_a_kernel_that_was_compiled_before_is_used_from_the_first_call(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(when_to_compile, "load_compiled", lambda *_: True)
    assert may_use()
    monkeypatch.setattr(when_to_compile, "load_compiled", None)  # it is not looked for again
    assert may_use()
    assert not machine.requests


def test_a_call_that_would_take_longer_than_to_compile_it_is_compiled_at_once(machine: Machine) -> None:
    assert may_use(work=1_000_000)
    assert not machine.requests


def test_a_process_that_gets_no_time_is_not_waited_for_without_end(machine: Machine) -> None:
    answers = machine.answers(may_use, 1.0, 40)
    assert answers == sorted(answers) and answers[0] is False and answers[-1] is True
    assert len(machine.requests) == 1


class Decay(LeafSystem):
    """xdot = -x, in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(1)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector(-context.get_continuous_state_vector().CopyToVector())


def test_compiled_steps_are_asked_for_with_those_of_their_method_and_python_goes_on(machine: Machine) -> None:
    system = Decay()
    integrator = SemiExplicitEulerIntegrator(system, 1e-3, system.CreateDefaultContext())
    integrator.IntegrateWithMultipleStepsToTime(0.01)
    assert [code.function for code in machine.requests[0]] == ["take_step", "try_semi_explicit_euler_step"]
    assert integrator.get_num_steps_taken() == 10
    assert machine.num_compiled == 0


def test_a_simulation_asks_for_all_that_its_loop_needs_before_its_first_step(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MERGANSER_PLAN", raising=False)
    simulator = Simulator(Decay())
    simulator.AdvanceTo(1e-3)
    assert {code.function for code in machine.requests[0]} == {"advance", "take_step", "try_runge_kutta_step"}
    assert simulator._plan is None


def test_a_simulation_whose_loop_is_on_the_disk_is_compiled_from_its_first_step(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MERGANSER_PLAN", raising=False)
    machine.kept = {"advance", "take_step", "try_runge_kutta_step"}
    simulator = Simulator(Decay())
    simulator.AdvanceTo(0.0)  # no time passes, for which nothing is loaded
    assert simulator._plan is None
    simulator.AdvanceTo(1e-3)
    assert simulator._plan is not None


@pytest.mark.parametrize(
    "value",
    [
        None, True, 1, 2.0, 1j, np.int32(3), np.zeros(3), np.zeros((2, 3), complex), np.zeros((2, 3)).T,
        np.zeros((4, 4))[::2, ::2], TOPOLOGY, TOPOLOGY[0], (1, np.zeros(2)), np.broadcast_to(0.0, (2, 2)),
    ],
)  # fmt: skip
def test_examples_have_the_types_of_their_names(value: Any) -> None:
    assert type_key(example_of(type_key(value))) == type_key(value)


class Pair(NamedTuple):
    first: Any
    second: Any


def test_tuples_of_different_types_are_distinguished() -> None:
    one, other = Pair(np.zeros(1), 1), Pair(np.zeros(1), 1.0)
    assert type_key(example_of(type_key(one))) == type_key(one)
    assert type_key(one) != type_key(other) and text_of_types((one,)) != text_of_types((other,))


@pytest.mark.parametrize("name", kernels.__all__)
def test_other_processes_find_each_kernel_by_its_name(name: str) -> None:
    kernel = getattr(kernels, name)
    code = when_to_compile.code_of_kernel(kernel, ())
    assert getattr(importlib.import_module(code.module), code.attribute) is kernel
    over = when_to_compile.code_of_kernel(over_lanes(kernel), ())
    assert getattr(importlib.import_module(over.module), over.attribute) is over_lanes(kernel)
    assert over.function == over_lanes(kernel).interpreted.__name__


# ------------------------------------------------------------------ processes


_SCRIPT = """
import os, time
os.sched_getaffinity = lambda _process: {0, 1}  # there may be one processor only
from merganser.framework.native.compiler.when_to_compile import OptionalCode, may_use_compiled
from merganser.multibody import kernels
from merganser.multibody.kernels.lanes import over_lanes
import numpy as np

code = OptionalCode("merganser.multibody.kernels.operations", "GATHER", "gather")
arguments = (1, np.zeros(2, TOPOLOGY), *(np.zeros((1, 1)) for _ in range(3)))
kernel = over_lanes(kernels.qdot_to_velocity)
end, calls = time.monotonic() + 120.0, 0
while time.monotonic() < end and not (code.is_usable() & may_use_compiled(kernel, 1, *arguments)):
    calls += 1
    time.sleep(0.05)
operation = code.load()
operation.address()
print(calls > 0, operation._code.is_from_disk)
"""


def test_code_compiled_by_another_process_is_loaded_from_the_disk(tmp_path: Any) -> None:
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(tmp_path), "MERGANSER_COMPILE_HELPERS": "1"}
    script = _SCRIPT.replace("TOPOLOGY", repr(topology_dtype.descr))

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert run() == ["True", "True"]
    assert run() == ["False", "True"]


def test_one_process_of_a_machine_compiles_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(parallel_compilation, "are_helpers_busy", lambda: False)
    started: list[Any] = []
    monkeypatch.setattr(parallel_compilation, "_start", lambda *arguments, **_: started.append(arguments) is None)
    script = """
import sys
from merganser.framework.native.compiler.parallel_compilation import only_one
with only_one() as is_mine:
    print(is_mine, flush=True)
    sys.stdin.read()
"""
    other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None and other.stdout.readline() == "True\n"
    assert not parallel_compilation.compile_later([CODE])
    other.communicate("")
    assert parallel_compilation.compile_later([CODE])
    assert len(started) == 1


@pytest.mark.parametrize(("is_urgent", "expected"), [(False, 1), (True, 0)])
def test_a_helper_of_a_run_that_is_over_compiles_one_code_for_the_next_run(
    is_urgent: bool, expected: int, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Else short runs, each over before its helper has begun, would never get any."""
    monkeypatch.setattr(os, "nice", lambda _more: 0, raising=False)
    sign = tmp_path / "folder of a run" / "helper"  # gone with the run
    order = os.getppid() + 1, str(sign), [], [tuple(CODE)] * 3, is_urgent
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(pickle.dumps(order))))
    parallel_compilation.help_()
    assert machine.num_compiled == expected
