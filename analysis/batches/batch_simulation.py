"""Many simulations of one system: from an array of states, or from Contexts, in compiled code and in threads.

Where Python has no part in a simulation, the system is lowered once (rows.py): each thread has a *worker*, a Context
with a plan, whose array is loaded with the initial values of one simulation after the other. All others are simulated
by a Simulator of their own. The results are the same to the last bit.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import copy
import dataclasses
import threading
import time as wall_clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.batches.batch import num_workers
from merganser.analysis.batches.batch_contexts import are_same, fits
from merganser.analysis.batches.worlds import Runs, Worlds, runs_of_contexts, runs_of_states
from merganser.analysis.progress import SimulationProgress
from merganser.analysis.simulation.simulator import Simulator
from merganser.analysis.simulation.simulator_config import ApplySimulatorConfig, SimulatorConfig
from merganser.analysis.simulation.simulator_status import SimulatorStatus
from merganser.framework import Context, System
from merganser.framework.common.errors import note_place
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.core.values.arguments import checked_number
from merganser.framework.native.compiler.argument_types import type_key
from merganser.framework.native.compiler.when_to_compile import OptionalCode, are_usable

if TYPE_CHECKING:
    from merganser.analysis.batches.rows import BatchWorker

Array = NDArray[Any]
_SLICE = 0.005  # how long compiled code runs before it is looked for interrupts, about [s]
_FIRST_STEPS, _MOST_STEPS = 256, 1 << 20
_FIRST_BLOCK, _MOST_IN_BLOCK = 4, 4096  # simulations that a thread takes at a time
_FIRST_ALONE = 16  # steps that worlds take one after the other when they have parted
_ROWS = OptionalCode("merganser.analysis.batches.rows", "advance_rows", "advance_rows", (type_key(0),))
_WORTH_A_THREAD = 0.01  # as long as it takes to make another worker, and more [s]


@dataclasses.dataclass(frozen=True)
class BatchResult:
    """Where simulations have ended.

    Attributes:
        times: [s], shape [n].
        states: continuous state, then all groups of the discrete state, one simulation a column; shape
            [num_states, n].
        num_steps: how many steps each has taken, shape [n].
        statuses: how each has ended.
        logs: what each has logged, by sink (VectorLogSink and its like): lists of n logs.
    """

    times: Array
    states: Array
    num_steps: Array
    statuses: list[SimulatorStatus]
    logs: dict[System, list[Any]]


class BatchSimulator:
    """Simulates one system many times.

    What is lowered for the first batch serves the following ones, too. Use it from one thread at a time.

    Args:
        system: shared by all simulations; its callbacks must not keep values in the system itself.
        context: root context, whose values hold where nothing else is said; by default a new one. It is not changed.
        config: settings of the simulators, or a Simulator with such settings; start times come from the contexts or
            from `times`.
        parallelize: number of threads; True for as many as there are processors. Results do not depend on it.

    Raises:
        ValueError: the context belongs to another system, or the number of threads is not positive.
        RuntimeError: the context is part of the context of a larger diagram.
    """

    def __init__(
        self,
        system: System,
        context: Context | None = None,
        *,
        config: SimulatorConfig | Simulator | None = None,
        parallelize: bool | int = True,
    ) -> None:
        self._system = system
        self._config = config
        self._num_threads = num_workers(parallelize, "BatchSimulator")
        self._context = system.CreateDefaultContext() if context is None else context
        self._make_simulator(self._context.Clone())  # refuses what is wrong
        self._workers: list[BatchWorker] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_workers": []}  # each belongs to one; a copy makes its own

    def simulate(
        self,
        states: ArrayLike,
        final_time: float,
        *,
        times: ArrayLike | None = None,
        inputs: Mapping[int, ArrayLike] | None = None,
        parameters: Mapping[int, ArrayLike] | None = None,
        failures: dict[int, Exception] | None = None,
    ) -> BatchResult:
        """Simulates from many states.

        Args:
            states: continuous state, then all groups of the discrete state, one simulation a column; shape
                [num_states, n].
            final_time: up to which time [s].
            times: when they start [s], shape [n]; by default the time of the context.
            inputs: values of input ports, by index of the port; shape [size of the port, n] each. They are held.
            parameters: values of groups of numeric parameters, by index of the group; shape [size, n] each.
            failures: gets the exceptions of simulations that fail, by their index. By default the first one is
                raised when all others have ended.

        Raises:
            ValueError: sizes do not match.
            IndexError: there is no such port or group.
        """
        runs = runs_of_states(self._system, self._context, states, times, inputs or {}, parameters or {})
        statuses = self._run(runs, final_time, failures)
        times_and_states = np.ascontiguousarray(runs.results().T)
        return BatchResult(times_and_states[0].copy(), times_and_states[1:], runs.num_steps, statuses, runs.logs())

    def make_worlds(self, num_worlds: int, set_up: Callable[[Context, int], object] | None = None) -> Worlds:
        """Makes many copies of the system, to be advanced side by side, in a hundredth of the room of Contexts.

        Args:
            num_worlds: how many.
            set_up: called with a Context that has the values of the batch's, and the number of the world; sets there
                what the world starts with: state, time, parameters such as masses, fixed inputs, seeds.

        Raises:
            ValueError: the number is negative.
        """
        return Worlds(self._context, num_worlds, set_up)

    def advance(
        self,
        contexts: Sequence[Context] | Worlds,
        final_time: ArrayLike,
        *,
        failures: dict[int, Exception] | None = None,
    ) -> list[SimulatorStatus]:
        """Advances many root contexts of the system, or worlds, each from its own time.

        After an interrupt, some are at the final time, and all others where they were. Worlds that are at the final
        time stay as they are, so that the same call goes on. (A Simulator, and so a Context, would make the updates
        that are due at that time.)

        Args:
            contexts: each has its own time, state, parameters, fixed inputs and logs.
            final_time: up to which time [s]: one for all, or one for each.
            failures: gets the exceptions of simulations that fail, by their index. By default the first one is
                raised when all others have ended.

        Returns:
            How each simulation has ended.

        Raises:
            ValueError: a context is there twice, or belongs to another system, or the number of times does not match.
        """
        if isinstance(contexts, Worlds):
            self._system.ValidateContext(contexts.template)
            return self._run(contexts, final_time, failures)
        contexts = list(contexts)
        runs = runs_of_contexts(self._system, contexts) if contexts else self.make_worlds(0)
        return self._run(runs, final_time, failures)

    # ------------------------------------------------------------------ one after the other

    def _run(self, runs: Runs, final_time: ArrayLike, failures: dict[int, Exception] | None) -> list[Any]:
        if isinstance(final_time, (np.ndarray, list, tuple)) and np.ndim(final_time):
            ends = np.array(final_time, dtype=np.float64)
            if ends.shape != (len(runs),):
                raise ValueError(f"Batch: {len(runs)} simulations take as many final times, got {ends.shape}.")
        else:
            ends = np.full(len(runs), checked_number(final_time, "Batch simulation: final time [s]"))
        failed: dict[int, Exception] = {}
        progress = SimulationProgress(0.0, len(runs), _in_runs)
        work = _Work(runs, ends, failed, progress)
        try:
            self._run_all(work)
        finally:
            progress.close()
        if failures is None and failed:
            first = min(failed)
            note_place(failed[first], f"in simulation {first} of a batch of {len(runs)}")
            raise failed[first]
        if failures is not None:
            failures.update(sorted(failed.items()))
        return list(runs.statuses)

    def _run_all(self, work: _Work) -> None:
        num, at, chunk = len(work.runs), 0, self._num_threads
        while at < num:
            # Whether there is a worker for these runs; makes one, if that is possible and worth while
            template = work.runs.template
            self._workers = [worker for worker in self._workers if worker.is_usable() and fits(template, worker)]
            if self._workers or self._add_worker(template):
                self._run_by_workers(work, at)
                self._run_alone(work, sorted(work.left))
                return
            self._run_alone(work, range(at, min(at + chunk, num)))
            at, chunk = at + chunk, 2 * chunk

    def _run_alone(self, work: _Work, indices: Sequence[int]) -> None:
        """By a Simulator for each."""
        if not indices:
            return
        workers = min(self._num_threads, len(indices))
        if workers == 1:
            for index in indices:
                self._simulate_alone(work, index)
            return
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(self._simulate_alone, work, index) for index in indices]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                for future in futures:
                    future.cancel()
                raise

    def _simulate_alone(self, work: _Work, index: int) -> None:
        context, end = work.runs.context(index), float(work.ends[index])
        if work.runs.may_rest and context.get_time() == end:
            work.note(1)
            return
        simulator = self._make_simulator(context)
        status = SimulatorStatus(end)
        try:
            status = simulator.AdvanceTo(end)
        except Exception as error:
            work.failed[index] = error
            reason = SimulatorStatus.ReturnReason.kEventHandlerFailed
            status._stop(reason, context.store.flat.item(0), None, f"{type(error).__name__}: {error}")
        work.runs.take(index, context, status, simulator.get_num_steps_taken())
        work.note(1)

    def _make_simulator(self, context: Context) -> Simulator:
        if isinstance(self._config, Simulator):
            simulator = copy.copy(self._config)
            simulator.reset_context(context)
            return simulator
        start = context.get_time()
        simulator = Simulator(self._system, context)
        if self._config is not None:
            ApplySimulatorConfig(self._config, simulator)
            context.SetTime(start)
        return simulator

    # ------------------------------------------------------------------ by workers

    def is_compiled(self) -> bool:
        """Whether simulations from states run in compiled code, which is available and in which Python has no part."""
        return any(worker.is_usable() for worker in self._workers) or self._add_worker(self._context)

    def _add_worker(self, template: Context) -> bool:
        worker = _worker_of(self._make_simulator(template.Clone())) if _may_have_worker(template) else None
        if worker is not None:
            self._workers.append(worker)
        return worker is not None

    def _run_by_workers(self, work: _Work, first: int) -> None:
        """Runs simulations by one worker, which measures their time, and then by as many as pay."""
        work.begin(first)
        self._serve(work, self._workers[0], True)
        others = min(self._num_threads - 1, int(work.time_left() / _WORTH_A_THREAD))
        while len(self._workers) < 1 + others and self._add_worker(work.runs.template):
            pass
        helpers = self._workers[1 : 1 + others]
        if not helpers:
            self._serve(work, self._workers[0], False)
            return
        with concurrent.futures.ThreadPoolExecutor(len(helpers)) as pool:
            futures = [pool.submit(self._serve, work, worker, False) for worker in helpers]
            try:
                self._serve(work, self._workers[0], False)
            except BaseException:
                work.is_stopped = True
                raise
            for future in futures:
                future.result()

    def _serve(self, work: _Work, worker: BatchWorker, is_first: bool) -> None:
        """Lets a worker take blocks of simulations as long as there are any; the first one alone, to see how long."""
        try:
            for start, end in work.blocks(is_first):
                _run_block(work, worker, start, end)
        except BaseException:
            work.is_stopped = True
            raise


def _may_have_worker(context: Context) -> bool:
    return may_compile() and context.store.flat.dtype == np.float64


def _worker_of(simulator: Simulator) -> BatchWorker | None:
    """A worker that takes over a Simulator; None if Python has a part in its simulation, for now at least."""
    if not (simulator.get_use_native_plan() and simulator._may_load_plan()):
        return None
    from merganser.analysis.batches.rows import BatchWorker  # loads compiled code

    with contextlib.suppress(LookupError):
        return BatchWorker(simulator)
    return None


class SharedWorker:
    """Advances Simulators of one system, one after the other, by a worker that those of a thread share.

    Each Simulator would lower its diagram again, which takes longer than many a simulation.
    """

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def __reduce__(self) -> tuple[type[SharedWorker], tuple[()]]:
        return SharedWorker, ()  # another process makes workers of its own

    def advance(self, simulator: Simulator, final_time: float) -> bool:
        """Advances the Context of a new Simulator, to the last bit as its `AdvanceTo` would.

        Returns:
            Whether it has; otherwise nothing has changed. It has not if this Simulator is the first one with its
            system and settings; if Python has a part in the simulation (blocks, witness functions, a monitor, a
            real-time rate); if it has been initialized; or if it ends before the final time.
        """
        context, settings, mine = simulator.get_context(), _settings_of(simulator), self._of_thread.__dict__
        if settings is None or not _may_have_worker(context):
            return False
        known = mine.get("settings", (None,))
        if known[0] is not settings[0] or not are_same(known, settings):
            mine.update(settings=settings, worker=None, num_misfits=0)
            return False
        worker: BatchWorker | None = mine["worker"]
        if worker is None or not (worker.is_usable() and fits(context, worker)):
            if simulator._when_to_plan != "always" and not are_usable(_ROWS):
                return False
            mine["num_misfits"] += 1
            worker = None
            if mine["num_misfits"].bit_count() == 1:  # tried ever less often
                with contextlib.suppress(Exception):  # the Simulator itself raises what concerns the user
                    worker = _worker_of(copy.copy(simulator))
            if worker is None:
                return False
            mine["worker"] = worker
        work = _Work(runs_of_contexts(settings[0], [context]), np.array([final_time]), {})
        _run_block(work, worker, 0, 1)
        return not work.left


def _settings_of(simulator: Simulator) -> list[Any] | None:
    """What a simulation depends on beside its Context, the system first; None if it is one for Python or has begun."""
    integrator: Any = simulator.get_integrator()
    is_plain = type(simulator) is Simulator and not (simulator._publishes_every_step or simulator._target_rate)
    has_begun = simulator._is_initialized or integrator.is_initialized() or integrator.get_dense_output() is not None
    if has_begun or not is_plain or simulator._publishes_at_initialization or simulator._monitor is not None:
        return None
    state = integrator.__getstate__()
    state["_step"] = state["_step"].tobytes()  # some are not a number
    del state["_system"], state["_context"]
    return [simulator.get_system(), type(integrator), state, simulator._uses_native_plan, simulator._when_to_plan]


class _Work:
    """What the threads of a batch share.

    Args:
        runs: where simulations start, and where their results go.
        ends: up to which time each is simulated [s], shape [n].
        failed: gets exceptions, by index.
        progress: shows how many are done, if it is given.

    Attributes:
        left: indices of the simulations that the workers have left to Python.
        is_stopped: whether all threads are to stop as soon as they can.
    """

    def __init__(
        self, runs: Runs, ends: Array, failed: dict[int, Exception], progress: SimulationProgress | None = None
    ) -> None:
        self.runs, self.ends, self.failed = runs, ends, failed
        self.left: list[int] = []
        self.is_stopped = False
        self.num_steps = _FIRST_STEPS
        self._progress = progress
        self._num_done = 0
        self._lock = threading.Lock()
        self._next, self._block = 0, _FIRST_BLOCK
        self._time_of_one = 0.0

    def begin(self, first: int) -> None:
        """All before `first` are done."""
        self._next = first

    def blocks(self, is_first: bool) -> Iterator[tuple[int, int]]:
        """Which simulations to run next: from, and up to; only once if it is the first block."""
        while not self.is_stopped:
            with self._lock:
                start = self._next
                end = self._next = min(start + self._block, len(self.runs))
            if start == end:
                return
            begin = wall_clock.perf_counter()
            yield start, end
            elapsed = wall_clock.perf_counter() - begin
            self._time_of_one = elapsed / (end - start)
            if elapsed < _SLICE:
                self._block = min(2 * self._block, _MOST_IN_BLOCK)
            if is_first:
                return

    def time_left(self) -> float:
        """How long one thread will need, about [s]."""
        return self._time_of_one * (len(self.runs) - self._next)

    def note(self, num: int) -> None:
        """Counts simulations that are done."""
        self._num_done += num
        if self._progress is not None and threading.current_thread() is threading.main_thread():
            self._progress.update(self._num_done)


def _run_block(work: _Work, worker: BatchWorker, start: int, end: int) -> None:
    """Has a worker run simulations; what it cannot do is left."""
    runs = work.runs
    indices, rows = runs.load(worker, start, end)
    work.left.extend(sorted(set(range(start, end)).difference(indices)))
    ends = work.ends[indices]
    if runs.may_rest and (rows[:, 0] == ends).any():
        moving = np.flatnonzero(rows[:, 0] != ends)
        indices, rows, ends = [indices[n] for n in moving], rows[moving], ends[moving]
    singly = runs.wants_traces(worker, indices)
    reached, ahead = _advance_in_lanes(work, worker, rows, ends, singly)
    if ahead.any():
        is_over = (reached[:, 0] == ends) & (ahead > 0)
        over, left = np.flatnonzero(is_over), np.flatnonzero(~is_over)
        counts = np.zeros((len(over), worker.num_counts), dtype=np.int64)
        counts[:, 0] = ahead[over]
        runs.put(worker, [indices[n] for n in over], reached[over], counts, ends[over])
        work.note(len(over))
        indices, rows, ends, ahead = [indices[n] for n in left], rows[left], ends[left], ahead[left]
        rows[:, worker.results_in_rows] = reached[left]
    parts = [slice(n, n + 1) for n in range(len(rows))] if singly else [slice(0, len(rows))]
    for part in parts:
        results = np.empty((len(rows[part]), len(worker.results_at)))
        counts = np.zeros((len(results), worker.num_counts), dtype=np.int64)
        mine = indices[part]
        if singly:
            runs.lend_traces(worker, mine[0])
        is_complete = False
        try:
            skipped = _run_rows(work, worker, rows[part], ends[part], results, counts)
            is_complete = not (skipped or work.is_stopped)
        finally:
            if singly and not is_complete:
                worker.forget_samples()
        if work.is_stopped:
            return
        counts[:, 0] += ahead[part]
        work.left.extend(mine[n] for n in skipped)
        done = [n for n in range(len(mine)) if n not in skipped]
        runs.put(worker, [mine[n] for n in done], results[done], counts[done], ends[part][done])
        work.note(len(done))


def _advance_in_lanes(
    work: _Work, worker: BatchWorker, rows: Array, ends: Array, leaves_last: bool
) -> tuple[Array, Array]:
    """Advances rows side by side as far as that goes; returns time and state of each, and how many steps it has made.

    Those that part take some steps alone, then as many more each time, before they try again.
    """
    reached, ahead = rows[:, worker.results_in_rows], np.zeros(len(rows), dtype=np.int64)
    lanes = worker.lanes() if len(rows) > 1 and (rows[:, 0] <= ends).all() else None
    if lanes is None:
        return reached, ahead
    part, mine, num_alone = rows, np.arange(len(rows)), _FIRST_ALONE
    num_wanted, num_together = float((ends - rows[:, 0]).sum()) / lanes.period, 0
    while len(mine) > 1:
        results, counts = reached[mine], np.zeros(len(mine), dtype=np.int64)
        lanes.begin(part, ends[mine], results, counts, leaves_last)
        while not work.is_stopped and lanes.run(work.num_steps):
            pass
        reached[mine], ahead[mine] = results, ahead[mine] + counts
        num_together += int(counts.sum())
        mine = mine[(reached[:, 0] + 2 * num_alone * lanes.period < ends)[mine]]
        if work.is_stopped or not len(mine):
            break
        part = rows[mine]
        part[:, worker.results_in_rows] = reached[mine]
        results, counts = np.empty_like(reached[mine]), np.zeros((len(mine), worker.num_counts), dtype=np.int64)
        skipped = _run_rows(work, worker, part, ends[mine], results, counts, num_alone)
        done = [n for n in range(len(mine)) if n not in skipped and not work.is_stopped]
        part, mine, num_alone = part[done], mine[done], 2 * num_alone
        part[:, worker.results_in_rows] = reached[mine] = results[done]
        ahead[mine] += counts[done, 0]
    worker.note_share(num_together / max(num_wanted, 1.0))
    return reached, ahead


def _run_rows(
    work: _Work, worker: BatchWorker, rows: Array, ends: Array, results: Array, counts: Array, *most_steps: int
) -> set[int]:
    """Runs rows to the end, or so many steps of each; returns those that Python has to simulate."""
    skipped: set[int] = set()
    if not (rows[:, 0] <= ends).all():  # a Simulator says what is wrong with that, or with NaN
        return set(range(len(rows)))
    worker.begin()
    while not work.is_stopped:
        begin = wall_clock.perf_counter()
        outcome = worker.run(rows, ends, results, counts, work.num_steps, *most_steps)
        if outcome == 0:
            break
        if outcome is None:
            skipped.add(worker.row())
            worker.skip_row()
            continue
        elapsed = wall_clock.perf_counter() - begin
        if elapsed < _SLICE and work.num_steps < _MOST_STEPS:
            work.num_steps *= 2
        elif elapsed > 3.0 * _SLICE and work.num_steps > 1:
            work.num_steps //= 2
    return skipped


def batch_simulate(
    system: System,
    contexts: Sequence[Context],
    final_time: float,
    *,
    config: SimulatorConfig | None = None,
    parallelize: bool | int = True,
    failures: dict[int, Exception] | None = None,
) -> list[SimulatorStatus]:
    """Simulates one system from many Contexts, in threads; compiled blocks run at the same time.

    It does what a Simulator for each context does. Where all blocks are compiled, they are made ready once for all
    contexts; `BatchSimulator` keeps that for further batches, and takes arrays of states too.

    Args:
        system: shared by all simulations; its callbacks must not keep values in the system itself.
        contexts: root contexts, each with its own time; they are advanced.
        final_time: up to which time [s].
        config: settings of the simulators; start times come from the contexts.
        parallelize: number of threads; True for as many as there are processors.
        failures: gets the exceptions of simulations that fail, by their index in `contexts`. By default the first
            one is raised when all others have ended.

    Returns:
        How each simulation ended.

    Raises:
        ValueError: a context is there twice, or belongs to another system.
    """
    contexts = list(contexts)
    if not contexts:
        num_workers(parallelize, "batch_simulate")
        return []
    runs = runs_of_contexts(system, contexts)
    batch = BatchSimulator(system, runs.template, config=config, parallelize=parallelize)
    return batch._run(runs, final_time, failures)


def _in_runs(done: float, total: float, rate: float) -> str:
    return f"{done:g}/{total:g} simulations, {rate:.3g} a second"
