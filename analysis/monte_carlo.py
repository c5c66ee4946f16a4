"""Monte Carlo simulation: many runs of a stochastic simulation, each reproducible from its seed.

The main process draws one seed for each run and nothing else is shared between runs, so that results do not depend on
where, in what order and how many at a time they run.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import copy
import dataclasses
import functools
import os
import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from merganser.analysis.batch import num_workers
from merganser.analysis.executors import crosses_processes, make_executor, packed
from merganser.analysis.progress import SimulationProgress
from merganser.analysis.simulator import Simulator
from merganser.analysis.study_file import StudyFile
from merganser.framework import Context, RandomGenerator, System
from merganser.framework.core.arguments import checked_size

__all__ = ["FailedRun", "MonteCarloSimulation", "RandomSimulation", "RandomSimulationResult"]

MakeSimulator = Callable[[RandomGenerator], Simulator]
Output = Callable[[System, Context], Any]
_MOST_AHEAD = 64  # runs handed out for each worker that is not known to have ended; bounds what waits in queues


@dataclasses.dataclass
class RandomSimulationResult:
    """What one run has given.

    Attributes:
        generator_snapshot: the generator that the run began with; `RandomSimulation` with a copy of it gives the run
            again.
        output: of the run.
    """

    generator_snapshot: RandomGenerator
    output: Any


class FailedRun(NamedTuple):
    """A run that has raised.

    Attributes:
        run: which one.
        seed: RandomSimulation(make_simulator, output, final_time, RandomGenerator(seed)) raises again.
        traceback: as Python prints it.
    """

    run: int
    seed: int
    traceback: str


class _Ended(NamedTuple):
    """A run that has ended, one way or another."""

    run: int
    output: Any
    error: str | None


def RandomSimulation(
    make_simulator: MakeSimulator, output: Output, final_time: float, generator: RandomGenerator
) -> Any:
    """Runs one simulation whose randomness all comes from a generator.

    Args:
        make_simulator: called with the generator; returns a Simulator. Its context then gets random values by
            `SetRandomContext`.
        output: called with the system and its context at the end; returns a number.
        final_time: how far to simulate [s].
        generator: advanced by this function.

    Returns:
        What `output` has returned.
    """
    simulator = make_simulator(generator)
    if not isinstance(simulator, Simulator):
        raise TypeError(f"RandomSimulation: make_simulator must return a Simulator, got {type(simulator).__name__}.")
    system, context = simulator.get_system(), simulator.get_mutable_context()
    system.SetRandomContext(context, generator)
    simulator.AdvanceTo(final_time)
    return output(system, simulator.get_context())


def MonteCarloSimulation(
    make_simulator: MakeSimulator,
    output: Output,
    final_time: float,
    num_samples: int,
    generator: RandomGenerator | None = None,
    parallelism: bool | int = False,
    *,
    executor: Any = None,
    file: str | os.PathLike[str] | None = None,
    failures: list[FailedRun] | None = None,
) -> list[RandomSimulationResult]:
    """Runs many independent random simulations.

    Each run has a generator of its own, seeded by the next word of `generator`; results come in the order of the runs
    and are the same however they are computed. A progress bar appears on terminals.

    Args:
        make_simulator: see `RandomSimulation`.
        output: see `RandomSimulation`.
        final_time: how far to simulate [s].
        num_samples: number of runs.
        generator: gives the seeds, and is advanced. By default a new one, so that another call gives the same results.
        parallelism: how many runs at a time: False for one, True for as many as there are processors.
        executor: where runs happen: any `concurrent.futures.Executor`, a Dask Client, or "processes" (the default if
            there is parallelism), "threads", "dask" or "ray". Ours, not pydrake's.
        file: results are added to this file as they come, one line of JSON each. If it is there already, from a study
            with the same seeds that was cut short, its results are taken over and the rest is run. Ours.
        failures: gets the runs that raise. If it is None, a run that raises ends the study. Ours.

    Returns:
        The results of the runs that have not failed.

    Raises:
        RuntimeError: a run has failed and there is no list for it; the message has seed and traceback.
        ValueError: the file is that of another study.
    """
    count = checked_size(num_samples, "MonteCarloSimulation: num_samples")
    workers = num_workers(parallelism, "MonteCarloSimulation")
    generator = RandomGenerator() if generator is None else generator
    if not isinstance(generator, RandomGenerator):
        raise TypeError(f"MonteCarloSimulation: expected a RandomGenerator, got {type(generator).__name__}.")
    kept = copy.deepcopy(generator)
    seeds = [generator() for _ in range(count)]
    try:
        study = StudyFile(file, seeds, final_time)
    except Exception:
        generator._set_plain_state(kept._plain_state())
        raise
    outputs = study.outputs
    missing = [index for index in range(count) if index not in outputs]
    task = (make_simulator, output, float(final_time))
    if executor is None and workers == 1:
        runs: Iterator[_Ended] = (_run(task, index, seeds[index]) for index in missing)
    else:
        runs = _runs_elsewhere(task, seeds, missing, executor or "processes", workers)
    with study, contextlib.closing(runs), _progress(len(missing)) as progress:  # type: ignore[type-var]
        for number, ended in enumerate(runs, 1):
            seed = seeds[ended.run]
            study.add(ended.run, seed, ended.output, ended.error)
            if ended.error is None:
                outputs[ended.run] = ended.output
            elif failures is None:
                raise RuntimeError(
                    f"MonteCarloSimulation: run {ended.run} of {count} with seed {seed} has failed. To see it again: "
                    f"RandomSimulation(make_simulator, output, {final_time}, RandomGenerator({seed})). To go on with "
                    f"the others, give a list as `failures`.\n{ended.error}"
                )
            else:
                failures.append(FailedRun(ended.run, seed, ended.error))
            progress.update(number)
    return [RandomSimulationResult(RandomGenerator(seeds[index]), outputs[index]) for index in sorted(outputs)]


def _runs_elsewhere(
    task: tuple[Any, ...], seeds: list[int], missing: list[int], executor: Any, workers: int
) -> Iterator[_Ended]:
    """The runs as they end, in any order.

    If a process dies, which of the runs handed out has killed it is not known. Those that may have been running are
    tried again one at a time: one that kills its process then has failed, and all others have their results.
    """
    pool, is_ours = make_executor(executor, workers)
    run: Callable[..., _Ended] = functools.partial(_run, task)
    if crosses_processes(pool):
        run = functools.partial(_run_packed, packed(task))
    waiting = collections.deque(missing)
    pending: dict[concurrent.futures.Future[_Ended], int] = {}  # in the order in which they were handed out
    try:
        while waiting or pending:
            try:
                while waiting and len(pending) < _MOST_AHEAD * workers:
                    pending[pool.submit(run, waiting[0], seeds[waiting[0]])] = waiting[0]
                    waiting.popleft()
                done, _ = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    yield _result_of(future, pending[future])
                    del pending[future]
            except concurrent.futures.BrokenExecutor as error:
                if not isinstance(pool, concurrent.futures.ProcessPoolExecutor) or not is_ours:
                    raise _broken_down(error) from error
                lost = []
                for future, index in list(pending.items()):  # all of them end at once now
                    del pending[future]
                    if future.exception() is None:
                        yield future.result()
                    else:
                        lost.append(index)
                pool.shutdown(wait=True)
                pool, _ = make_executor(executor, workers)
                most_running = 2 * workers + 1  # with those that stand in the queue to the processes
                waiting.extendleft(reversed(lost[most_running:]))
                for index in lost[:most_running]:
                    yield _run_alone(run, index, seeds[index])
    finally:
        for future in pending:
            future.cancel()
        if is_ours:
            pool.shutdown(wait=True, cancel_futures=True)


def _result_of(future: concurrent.futures.Future[_Ended], index: int) -> _Ended:
    """How a run has ended; with an error also if its result did not come back.

    Raises:
        BrokenExecutor: there will be no results any more.
    """
    try:
        return future.result()
    except concurrent.futures.BrokenExecutor:
        raise
    except Exception:  # the engine's: a process of Dask or Ray has died several times, an output cannot be pickled
        return _Ended(index, None, traceback.format_exc())


def _run_alone(run: Callable[..., _Ended], index: int, seed: int) -> _Ended:
    """A run in a process of its own."""
    pool, _ = make_executor("processes", 1)
    with pool:
        try:
            return _result_of(pool.submit(run, index, seed), index)
        except concurrent.futures.BrokenExecutor:
            return _Ended(
                index,
                None,
                "The process of this run has died: killed from outside, out of memory, or by a crash in compiled code. "
                "Run it in a process that you can spare.",
            )


def _broken_down(error: Exception) -> RuntimeError:
    return RuntimeError(
        f"MonteCarloSimulation: the executor has broken down ({error}). Make a new one; with `file`, the same call "
        "goes on where this one has ended."
    )


def _run_packed(task: bytes, index: int, seed: int) -> _Ended:
    return _run(_unpacked(task), index, seed)


@functools.lru_cache(maxsize=4)
def _unpacked(task: bytes) -> Any:
    return pickle.loads(task)


def _run(task: tuple[Any, ...], index: int, seed: int) -> _Ended:
    make_simulator, output, final_time = task
    try:
        return _Ended(index, RandomSimulation(make_simulator, output, final_time, RandomGenerator(seed)), None)
    except Exception:
        return _Ended(index, None, traceback.format_exc())


@contextlib.contextmanager
def _progress(count: int) -> Iterator[SimulationProgress]:
    """One bar for the study; those of its runs, here and in processes to be started, stay away."""
    progress = SimulationProgress(0.0, count, lambda done, total, rate: f"{done:g}/{total:g} runs, {rate:.3g} a second")
    kept = os.environ.get("MERGANSER_PROGRESS")
    os.environ["MERGANSER_PROGRESS"] = "0"
    try:
        yield progress
    finally:
        progress.close()
        if kept is None:
            del os.environ["MERGANSER_PROGRESS"]
        else:
            os.environ["MERGANSER_PROGRESS"] = kept
