"""Monte Carlo simulation: many runs of a stochastic simulation, each reproducible from its seed.

The main process draws one seed for each run and nothing else is shared between runs, so that results do not depend on
where, in what order and how many at a time they run.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TextIO

from numpy.typing import NDArray

from merganser.analysis.batches.batch import num_workers
from merganser.analysis.batches.batch_simulation import SharedWorker
from merganser.analysis.batches.chunked_runs import EndedRun, runs_elsewhere
from merganser.analysis.progress import SimulationProgress
from merganser.analysis.simulation.simulator import Simulator
from merganser.framework import Context, RandomGenerator, System
from merganser.framework.common.records import settings
from merganser.framework.core.values.arguments import checked_size


class StudyFile:
    """Lines of JSON: one with the number of runs and the final time, then one for each run as it ends.

    A line that was cut off in the middle is dropped. Runs that had failed are not taken over. Numbers come back to the
    last bit; arrays come back as lists.

    Args:
        path: of the file; None for none.
        seeds: of all runs.
        final_time: of all runs [s].

    Attributes:
        outputs: by run, those that the file had.

    Raises:
        ValueError: the file is that of another study, or none.
    """

    def __init__(self, path: str | os.PathLike[str] | None, seeds: list[int], final_time: float) -> None:
        self._path = None if path is None else Path(path)
        self._header = {"merganser_study": 1, "final_time": float(final_time)}
        self._file: TextIO | None = None
        self.outputs: dict[int, Any] = {}
        self._length = 0  # of the lines that are whole [bytes]
        if self._path is not None and self._path.exists():
            self._read(self._path, seeds)

    def _read(self, path: Path, seeds: list[int]) -> None:
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):
                return
            where = f"{path}, line {number}"
            try:
                record = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{where}: not a line of a study ({error}); name another file.") from error
            if number == 1:
                if record != self._header:
                    raise ValueError(f"{where}: the file is of another study: {record}; expected {self._header}.")
            elif not (0 <= record["run"] < len(seeds) and record["seed"] == seeds[record["run"]]):
                raise ValueError(
                    f"{where}: run {record['run']} has seed {record['seed']}, which is of another study. Use the same "
                    "generator and as many samples, or name another file."
                )
            elif "error" not in record:
                self.outputs[record["run"]] = record["output"]
            self._length += len(line)

    def add(self, run: int, seed: int, output: Any, error: str | None) -> None:
        """Writes the end of a run, at once."""
        if self._file is None:
            return
        what = {"output": output} if error is None else {"error": error}
        self._write({"run": run, "seed": seed, **what})

    def _write(self, record: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(record, default=_plain) + "\n")
        self._file.flush()

    def __enter__(self) -> StudyFile:
        if self._path is not None:
            self._file = self._path.open("a")
            self._file.truncate(self._length)
            if self._length == 0:
                self._write(self._header)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _plain(value: Any) -> Any:
    """Arrays and numbers of numpy as lists and numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(
        f"A study with a file takes numbers, arrays and what JSON knows as outputs; got {type(value).__name__}."
    )


MakeSimulator = Callable[[RandomGenerator], Simulator]
Output = Callable[[System, Context], Any]


@settings
@dataclasses.dataclass(eq=False)
class RandomSimulationResult:
    """The result of one run.

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


def RandomSimulation(
    make_simulator: MakeSimulator, output: Output, final_time: float, generator: RandomGenerator
) -> Any:
    """Runs one simulation whose randomness all comes from a generator.

    Args:
        make_simulator: called with the generator; returns a Simulator. Its context then gets random values by
            `SetRandomContext`. State and parameters that it has set are lost by that, as in pydrake; a RuntimeWarning
            says which.
        output: called with the system and its context at the end; returns a number.
        final_time: how far to simulate [s].
        generator: advanced by this function.

    Returns:
        What `output` has returned.
    """
    return _simulate(make_simulator, output, final_time, generator, warns=True, shared=None)


def _simulate(
    make_simulator: MakeSimulator,
    output: Output,
    final_time: float,
    generator: RandomGenerator,
    warns: bool,
    shared: SharedWorker | None,
) -> Any:
    """A run.

    Args:
        warns: whether to look for values that are lost.
        shared: advances the contexts of simulators that no other code refers to, if it can.
    """
    simulator = make_simulator(generator)
    if not isinstance(simulator, Simulator):
        raise TypeError(f"RandomSimulation: make_simulator must return a Simulator, got {type(simulator).__name__}.")
    system, context = simulator.get_system(), simulator.get_mutable_context()
    before = context.store.flat.copy() if warns else None
    system.SetRandomContext(context, generator)
    if before is not None:
        _warn_of_lost_values(system, context, before)
    # Other code that refers to them may read their counts.
    is_referred_to = max(sys.getrefcount(simulator), sys.getrefcount(simulator.get_integrator())) > 2
    if shared is None or is_referred_to or not shared.advance(simulator, final_time):
        simulator.AdvanceTo(final_time)
    return output(system, simulator.get_context())


def _warn_of_lost_values(system: System, context: Context, before: NDArray[Any]) -> None:
    """Names the systems of which a state or parameters that differ from the default have been overwritten."""
    after, default = context.store.flat, system.CreateDefaultContext().store.flat
    is_lost = (before != default) & (before != after) & (before == before)
    lost = []
    for leaf in context.layout.leaves():
        kinds = {"state": (leaf.xc_range, leaf.xd_range), "parameters": (leaf.numeric_range,)}
        found = [kind for kind, ranges in kinds.items() if any(is_lost[slice(*part)].any() for part in ranges)]
        if found:
            lost.append(f"{' and '.join(found)} of '{leaf.system.GetSystemPathname()}'")
    if lost:
        warnings.warn(
            f"RandomSimulation: make_simulator has set {', '.join(lost)}, and SetRandomContext() has overwritten that "
            "with defaults or random values, as in pydrake. To keep values, make them the defaults of the system "
            "(such as joint.set_default_positions() before Finalize()), or set them in an initialization event; to "
            "have random ones, override SetRandomState() or SetRandomParameters(), or give joints a distribution.",
            RuntimeWarning,
            stacklevel=4,
        )


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

    Runs of one system without Python in it go through one compiled loop, wherever they are (SharedWorker): make the
    diagram once, outside `make_simulator`.

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
        failures: gets the runs that raise. By default a run that raises ends the study. Ours.

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
        generator.copy_from(kept)
        raise
    outputs = study.outputs
    missing = [index for index in range(count) if index not in outputs]
    task = (make_simulator, output, float(final_time), SharedWorker())
    if executor is None and workers == 1:
        runs: Iterator[EndedRun] = (_run(task, index, seeds[index]) for index in missing)
    else:
        runs = runs_elsewhere(_run, task, seeds, missing, executor or "processes", workers)
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


def _run(task: tuple[Any, ...], index: int, seed: int) -> EndedRun:
    make_simulator, output, final_time, shared = task
    try:
        result = _simulate(make_simulator, output, final_time, RandomGenerator(seed), index == 0, shared)
        return EndedRun(index, result, None)
    except Exception:
        return EndedRun(index, None, traceback.format_exc())


@contextlib.contextmanager
def _progress(count: int) -> Iterator[SimulationProgress]:
    """Shows one bar for the study, and none for its runs, here and in processes to be started."""
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
