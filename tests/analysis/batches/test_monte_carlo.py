"""Studies of many random runs: reproducible run by run, on any engine, after any interruption."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import json
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest

from merganser.analysis import MonteCarloSimulation, RandomSimulation, Simulator
from merganser.framework import (
    BasicVector,
    DiagramBuilder,
    EventStatus,
    LeafSystem,
    RandomDistribution,
    RandomGenerator,
)
from merganser.framework.native import native
from merganser.framework.primitives import ConstantVectorSource, Integrator, LogVectorOutput, RandomSource


class Decay(LeafSystem):
    """xdot = -x from a random start."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(1)

    def SetRandomState(self, context: Any, state: Any, generator: RandomGenerator) -> None:
        state.get_mutable_continuous_state().SetFromVector([generator.uniform()])

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector(-context.get_continuous_state_vector().CopyToVector())


def make(generator: RandomGenerator) -> Simulator:
    return Simulator(Decay())


def final_state(system: Any, context: Any) -> float:
    return float(context.get_continuous_state_vector().GetAtIndex(0))


def fails_if_large(system: Any, context: Any) -> float:
    value = final_state(system, context)
    if value > 0.3:
        raise ArithmeticError(f"{value} is too large")
    return value


study = functools.partial(MonteCarloSimulation, make, final_state, 0.5)


def outputs(results: Any) -> list[float]:
    return [result.output for result in results]


def test_outputs_have_the_distribution_of_the_model() -> None:
    """x(0.5) is uniform on [0, exp(-0.5))."""
    values = np.array(outputs(study(200, RandomGenerator(3)))) / np.exp(-0.5)
    assert values.mean() == pytest.approx(0.5, abs=0.06)
    assert values.std() == pytest.approx(np.sqrt(1.0 / 12.0), abs=0.04)
    assert len(set(values)) == 200 and 0.0 <= values.min() < values.max() < 1.001


def test_any_single_run_can_be_played_back() -> None:
    for result in study(5, RandomGenerator(1)):
        assert RandomSimulation(make, final_state, 0.5, result.generator_snapshot) == result.output


def test_a_study_without_generator_repeats_and_one_generator_gives_new_samples() -> None:
    assert outputs(study(4)) == outputs(study(4))
    generator = RandomGenerator(1)
    first, second = outputs(study(4, generator)), outputs(study(4, generator))
    assert not set(first) & set(second)


@pytest.mark.parametrize("options", [{"parallelism": 2}, {"parallelism": 2, "executor": "threads"}])
def test_engines_change_nothing_but_time(options: dict[str, Any]) -> None:
    assert outputs(study(6, RandomGenerator(2), **options)) == outputs(study(6, RandomGenerator(2)))


def test_lambdas_are_sent_to_other_processes() -> None:
    pytest.importorskip("cloudpickle", reason="the extra `pickle` is not installed")
    results = MonteCarloSimulation(lambda g: Simulator(Decay()), lambda s, c: final_state(s, c), 0.5, 2, parallelism=2)
    assert outputs(results) == outputs(study(2))


def test_any_executor_will_do_and_stays_open() -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert outputs(study(3, executor=pool)) == outputs(study(3))
        assert pool.submit(int, 3).result() == 3
    with pytest.raises(ValueError, match="no engine 'fast'"):
        study(3, executor="fast")


@pytest.fixture
def _module_by_value() -> Any:
    """Workers cannot import this file: it is not on their path."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="the extra `pickle` is not installed")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.mark.usefixtures("_module_by_value")
def test_dask_runs_a_study_on_a_local_cluster() -> None:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        assert outputs(study(3, executor=client)) == outputs(study(3))
    assert outputs(study(3, executor="dask")) == outputs(study(3))


@pytest.mark.usefixtures("_module_by_value")
def test_ray_runs_a_study_on_a_local_cluster() -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    assert outputs(study(3, executor="ray")) == outputs(study(3))


@pytest.mark.parametrize("parallelism", [False, 2])
def test_failed_runs_are_collected_with_seed_and_traceback(parallelism: Any) -> None:
    failures: list[Any] = []
    results = MonteCarloSimulation(make, fails_if_large, 0.5, 10, RandomGenerator(4), parallelism, failures=failures)
    assert len(results) + len(failures) == 10 and results and failures
    for failure in failures:
        assert "in fails_if_large" in failure.traceback and "ArithmeticError" in failure.traceback
        with pytest.raises(ArithmeticError):
            RandomSimulation(make, fails_if_large, 0.5, RandomGenerator(failure.seed))
    with pytest.raises(RuntimeError, match=r"run \d+ of 10 with seed \d+ has failed"):
        MonteCarloSimulation(make, fails_if_large, 0.5, 10, RandomGenerator(4), parallelism)


def dies_if_large(system: Any, context: Any) -> float:
    value = final_state(system, context)
    if value > 0.55:
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def test_a_run_that_kills_its_process_has_failed_and_the_others_have_not() -> None:
    expected = outputs(study(20, RandomGenerator(4)))
    failures: list[Any] = []
    results = MonteCarloSimulation(make, dies_if_large, 0.5, 20, RandomGenerator(4), 2, failures=failures)
    assert outputs(results) == [value for value in expected if value <= 0.55]
    assert [failure.run for failure in failures] == [i for i, value in enumerate(expected) if value > 0.55] != []
    assert "process of this run has died" in failures[0].traceback


def test_a_worker_that_is_killed_from_outside_costs_nothing_but_time(tmp_path: Any) -> None:
    marker = tmp_path / "killed"

    def dies_once(system: Any, context: Any) -> float:
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return final_state(system, context)

    pytest.importorskip("cloudpickle", reason="the extra `pickle` is not installed")
    results = MonteCarloSimulation(make, dies_once, 0.5, 12, RandomGenerator(4), 2)
    assert marker.exists() and outputs(results) == outputs(study(12, RandomGenerator(4)))


def test_an_executor_of_the_user_that_breaks_down_is_not_replaced() -> None:
    with concurrent.futures.ProcessPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="has broken down"):
        MonteCarloSimulation(make, dies_if_large, 0.5, 20, RandomGenerator(4), executor=pool)


# ---------------------------------------------------------------------- chunks


class InTurn(concurrent.futures.Executor):
    """Makes each call when no other work is left, and notes how many runs it has."""

    _max_workers = 2

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        self.sizes.append(len(args[0]))
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            future.set_result(fn(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def pausing(seconds: float) -> Any:
    def output(system: Any, context: Any) -> float:
        time.sleep(seconds)
        return final_state(system, context)

    return output


@pytest.fixture
def _cloudpickle() -> None:
    pytest.importorskip("cloudpickle", reason="the extra `pickle` is not installed")


@pytest.mark.usefixtures("_cloudpickle")
def test_short_runs_are_sent_in_chunks_that_get_smaller_towards_the_end() -> None:
    pool = InTurn()
    results = MonteCarloSimulation(make, pausing(0.002), 0.5, 200, RandomGenerator(2), executor=pool)
    assert outputs(results) == outputs(study(200, RandomGenerator(2)))
    assert sum(pool.sizes) >= 200 and len(pool.sizes) < 150
    assert pool.sizes[0] == 1 and max(pool.sizes) > 2 and pool.sizes[-2:] == [1, 1]


@pytest.mark.usefixtures("_cloudpickle")
def test_long_runs_are_sent_one_by_one() -> None:
    pool = InTurn()
    MonteCarloSimulation(make, pausing(0.21), 0.5, 6, RandomGenerator(2), executor=pool)
    assert pool.sizes == [1] * 6


def slow_if_large(system: Any, context: Any) -> float:
    value = final_state(system, context)
    time.sleep(0.32 if value > 0.57 else 0.002)
    return value


def test_a_chunk_that_takes_too_long_leaves_its_other_runs_to_others() -> None:
    pool = InTurn()
    results = MonteCarloSimulation(make, slow_if_large, 0.5, 100, RandomGenerator(2), executor=pool)
    assert outputs(results) == outputs(study(100, RandomGenerator(2)))
    assert sum(pool.sizes) > 100


def gives_what_cannot_be_sent(system: Any, context: Any) -> Any:
    value = final_state(system, context)
    return (lambda: value) if value > 0.55 else value


def test_one_output_that_cannot_be_sent_back_fails_alone() -> None:
    expected, failures = outputs(study(40, RandomGenerator(4))), []
    results = MonteCarloSimulation(make, gives_what_cannot_be_sent, 0.5, 40, RandomGenerator(4), 2, failures=failures)
    assert outputs(results) == [value for value in expected if value <= 0.55]
    assert sorted(failure.run for failure in failures) == [i for i, value in enumerate(expected) if value > 0.55] != []
    assert all("output cannot be pickled" in failure.traceback for failure in failures)
    assert all("local object" in failure.traceback for failure in failures)  # in Python's words


def test_a_killed_process_costs_its_chunk_only(tmp_path: Any) -> None:
    done, killed = tmp_path / "done", tmp_path / "killed"

    def noted(system: Any, context: Any) -> float:
        with done.open("a") as file:
            file.write("x")
        time.sleep(0.01)
        if done.stat().st_size >= 50:
            with contextlib.suppress(FileExistsError):
                killed.touch(exist_ok=False)  # one process only
                os.kill(os.getpid(), signal.SIGKILL)
        return final_state(system, context)

    pytest.importorskip("cloudpickle", reason="the extra `pickle` is not installed")
    results = MonteCarloSimulation(make, noted, 0.5, 100, RandomGenerator(4), 2)
    assert outputs(results) == outputs(study(100, RandomGenerator(4)))
    assert 101 <= done.stat().st_size <= 120  # a chunk has twenty runs at most


SCRIPT = """
import sys, time
sys.path.insert(0, {folder!r})
from test_monte_carlo import RandomGenerator, MonteCarloSimulation, final_state, make

def slow(system, context):
    time.sleep(0.05)
    return final_state(system, context)

MonteCarloSimulation(make, slow, 0.5, 400, RandomGenerator(5), 2, file={file!r})
"""


def test_a_killed_study_leaves_no_process_behind_and_goes_on(tmp_path: Any) -> None:
    file, script = tmp_path / "study.jsonl", tmp_path / "script.py"
    folder = os.path.dirname(os.path.abspath(__file__))
    script.write_text(SCRIPT.format(folder=folder, file=str(file)))
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 60.0
    while not file.exists() or file.read_bytes().count(b"\n") < 4:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=30.0)  # the pipe is closed when the last process has ended
    done = file.read_bytes().count(b"\n") - 1
    made = []

    def counting(generator: RandomGenerator) -> Simulator:
        made.append(generator)
        return make(generator)

    results = MonteCarloSimulation(counting, final_state, 0.5, 400, RandomGenerator(5), file=file)
    assert outputs(results) == outputs(study(400, RandomGenerator(5)))
    assert 3 <= done < 400 and len(made) == 400 - done


def test_a_study_that_was_cut_off_in_a_line_goes_on_from_its_file(tmp_path: Any) -> None:
    file, expected = tmp_path / "study.jsonl", outputs(study(6, RandomGenerator(5)))
    assert outputs(study(6, RandomGenerator(5), file=file)) == expected
    lines = file.read_text().splitlines(keepends=True)
    assert len(lines) == 7
    file.write_text("".join(lines[:4]) + lines[4][:9])  # killed in the middle of a line
    made = []

    def counting(generator: RandomGenerator) -> Simulator:
        made.append(generator)
        return make(generator)

    assert outputs(MonteCarloSimulation(counting, final_state, 0.5, 6, RandomGenerator(5), file=file)) == expected
    assert len(made) == 3
    runs = [json.loads(line)["run"] for line in file.read_text().splitlines()[1:]]
    assert sorted(runs) == list(range(6))


def test_a_file_of_another_study_is_refused(tmp_path: Any) -> None:
    file = tmp_path / "study.jsonl"
    study(2, RandomGenerator(5), file=file)
    text, generator = file.read_text(), RandomGenerator(6)
    with pytest.raises(ValueError, match="line 2: run 0 has seed"):
        study(2, generator, file=file)
    with pytest.raises(ValueError, match="another study"):
        MonteCarloSimulation(make, final_state, 0.7, 2, RandomGenerator(5), file=file)
    assert file.read_text() == text
    assert generator() == RandomGenerator(6)()


class RandomStart(Integrator):
    """An integrator that starts anywhere."""

    def SetRandomState(self, context: Any, state: Any, generator: RandomGenerator) -> None:
        state.get_mutable_continuous_state().get_mutable_vector().SetFromVector([generator() / 2.0**32])


def integrator_set_to(value: float | None, system: Any = Integrator) -> Any:
    def make(generator: RandomGenerator) -> Simulator:
        builder = DiagramBuilder()
        integrator = builder.AddNamedSystem("sum", system(1))
        source = builder.AddSystem(ConstantVectorSource([1.0]))
        builder.Connect(source.get_output_port(), integrator.get_input_port())
        simulator = Simulator(builder.Build())
        if value is not None:
            integrator.set_integral_value(integrator.GetMyContextFromRoot(simulator.get_mutable_context()), [value])
        return simulator

    return make


def end_state(system: Any, context: Any) -> float:
    return float(context.get_continuous_state_vector()[0])


def test_a_state_that_is_set_and_overwritten_gives_one_warning() -> None:
    with pytest.warns(RuntimeWarning, match="state of '::Diagram::sum'.*initialization event") as warned:
        results = MonteCarloSimulation(integrator_set_to(5.0), end_state, 1.0, 4)
    assert len(warned) == 1
    assert [result.output for result in results] == [1.0] * 4


def test_parameters_that_are_overwritten_give_a_warning() -> None:
    def make(generator: RandomGenerator) -> Simulator:
        simulator: Simulator = integrator_set_to(None)(generator)
        simulator.get_mutable_context().get_mutable_numeric_parameter(0).SetFromVector([7.0])
        return simulator

    with pytest.warns(RuntimeWarning, match="parameters of '::Diagram::ConstantVectorSource'"):
        RandomSimulation(make, end_state, 1.0, RandomGenerator(1))


def test_nothing_is_reported_where_nothing_is_lost() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RandomSimulation(integrator_set_to(None), end_state, 1.0, RandomGenerator(1))
        RandomSimulation(integrator_set_to(None, RandomStart), end_state, 1.0, RandomGenerator(1))
        RandomSimulation(integrator_set_to(0.0), end_state, 1.0, RandomGenerator(1))


# ---------------------------------------------------------------------- compiled runs


@native
def _pendulum(xc, length, wind, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = xc[1]
    xdot[1] = wind[0] - 9.81 / length[0] * math.sin(xc[0])


class Pendulum(LeafSystem):
    """A pendulum of random length from a random angle, compiled; state [angle, rate]."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("wind", 1)
        self.DeclareStateOutputPort("state", self.DeclareContinuousState(2))
        self.DeclareNumericParameter(BasicVector([1.0]), name="length")
        self.DeclareTimeDerivatives(_pendulum)

    def SetRandomState(self, context: Any, state: Any, generator: RandomGenerator) -> None:
        state.get_mutable_continuous_state().SetFromVector([generator.uniform(), 0.0])

    def SetRandomParameters(self, context: Any, parameters: Any, generator: RandomGenerator) -> None:
        parameters.get_mutable_numeric_parameter(0).SetFromVector([0.5 + generator.uniform()])


def pendulum_in_the_wind() -> Any:
    builder = DiagramBuilder()
    pendulum = builder.AddNamedSystem("pendulum", Pendulum())
    wind = builder.AddSystem(RandomSource(RandomDistribution.kGaussian, 1, 0.05))
    builder.Connect(wind.get_output_port(), pendulum.get_input_port())
    LogVectorOutput(pendulum.get_output_port(), builder, 0.1).set_name("log")
    return builder.Build()


def trace(system: Any, context: Any) -> list[float]:
    """All samples, the end, and what the wind will be next."""
    log = system.GetSubsystemByName("log").FindLog(context)
    context.SetTime(context.get_time())  # whatever was cached
    wind = system.GetSystems()[1].get_output_port()
    end = wind.Eval(wind.get_system().GetMyContextFromRoot(context))
    return [*log.sample_times(), *log.data().ravel(), *context.get_continuous_state_vector().value(), *end]


@pytest.fixture
def compiled_runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Compiled code is used at once; gets the outcome of each run through a worker."""
    rows = pytest.importorskip("merganser.analysis.batches.rows")
    monkeypatch.setenv("MERGANSER_PLAN", "always")
    outcomes: list[Any] = []
    run = rows.BatchWorker.run

    def noting(self: Any, *arguments: Any) -> Any:
        outcomes.append(run(self, *arguments))
        return outcomes[-1]

    monkeypatch.setattr(rows.BatchWorker, "run", noting)
    return outcomes


def check_replays(make: Any, num: int = 6, output: Any = trace, **options: Any) -> None:
    results = MonteCarloSimulation(make, output, 0.93, num, RandomGenerator(8), **options)
    for result in results:
        assert RandomSimulation(make, output, 0.93, result.generator_snapshot) == result.output


@pytest.mark.parametrize("options", [{}, {"executor": "threads", "parallelism": 2}], ids=["in turn", "threads"])
def test_compiled_runs_are_single_simulations_to_the_last_bit(options: Any, compiled_runs: list[Any]) -> None:
    system = pendulum_in_the_wind()
    check_replays(lambda generator: Simulator(system), 12, **options)
    assert 8 <= compiled_runs.count(0) <= 11  # all but the first of each thread


def test_runs_with_settings_of_their_own_keep_them(compiled_runs: list[Any]) -> None:
    system = pendulum_in_the_wind()

    def make(generator: RandomGenerator) -> Simulator:
        simulator = Simulator(system)
        accuracy = 1e-2 if generator.uniform() < 0.5 else 1e-7
        simulator.get_mutable_integrator().set_target_accuracy(accuracy)
        simulator.get_mutable_context().SetTime(0.05 * round(generator.uniform()))
        return simulator

    check_replays(make, 16)
    assert 0 < compiled_runs.count(0) < 15


def test_one_run_with_other_wires_leaves_the_others_compiled(compiled_runs: list[Any]) -> None:
    system = pendulum_in_the_wind()
    pendulum, made = system.GetSubsystemByName("pendulum"), []

    def make(generator: RandomGenerator) -> Simulator:
        simulator, _ = Simulator(system), made.append(generator)
        if len(made) % 4 == 0:
            context = pendulum.GetMyMutableContextFromRoot(simulator.get_mutable_context())
            pendulum.get_input_port().FixValue(context, [0.3])
        return simulator

    outputs = [run.output for run in MonteCarloSimulation(make, trace, 0.93, 16, RandomGenerator(8))]
    assert 9 <= compiled_runs.count(0) <= 15
    made.clear()
    seeds = RandomGenerator(8)
    assert outputs == [RandomSimulation(make, trace, 0.93, RandomGenerator(seeds())) for _ in range(16)]


def ends_early(context: Any) -> EventStatus:
    angle = context.get_continuous_state_vector()[0]
    return EventStatus.ReachedTermination(None, "down") if angle < 0.1 else EventStatus.DidNothing()


@pytest.mark.parametrize("why", ["monitor", "begun", "diagrams of their own", "counts are read"])
def test_runs_in_which_python_has_a_part_keep_their_simulators(why: str, compiled_runs: list[Any]) -> None:
    shared, simulators = pendulum_in_the_wind(), []

    def make(generator: RandomGenerator) -> Simulator:
        simulator = Simulator(pendulum_in_the_wind() if why == "diagrams of their own" else shared)
        if why == "monitor":
            simulator.set_monitor(ends_early)
        elif why == "begun":
            simulator.Initialize()
        elif why == "counts are read":
            simulators.append(simulator)
        return simulator

    def output(system: Any, context: Any) -> list[float]:
        counts = [simulators[-1].get_num_steps_taken()] if simulators else []
        return [context.get_time(), *trace(system, context), *counts]

    check_replays(make, output=output)
    assert compiled_runs == []


@native
def _explodes(xc, rate, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = rate[0] * xc[0] * xc[0]


class Explosive(LeafSystem):
    """xdot = rate x^2 from 1, which is infinite at 1 / rate; the rate is random."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(BasicVector([1.0]))
        self.DeclareNumericParameter(BasicVector([0.5]), name="rate")
        self.DeclareTimeDerivatives(_explodes)

    def SetRandomParameters(self, context: Any, parameters: Any, generator: RandomGenerator) -> None:
        parameters.get_mutable_numeric_parameter(0).SetFromVector([2.0 * generator.uniform()])


def test_a_compiled_run_that_fails_says_why_and_where(compiled_runs: list[Any]) -> None:
    system, failures = Explosive(), []
    make = lambda generator: Simulator(system)  # noqa: E731
    results = MonteCarloSimulation(make, final_state, 1.0, 20, RandomGenerator(8), failures=failures)
    assert len(results) + len(failures) == 20 and results and len(failures) > 1 and compiled_runs.count(None) > 0
    for failure in failures:
        with pytest.raises(RuntimeError) as caught:
            RandomSimulation(make, final_state, 1.0, RandomGenerator(failure.seed))
        assert str(caught.value) in failure.traceback
