"""Runs of a study in other threads, processes or machines, several of them in one task.

To send a task and to take its results costs the main process a millisecond, with some engines several. So a task is a
chunk of runs that take a fifth of a second together, and of ever fewer runs towards the end of a study, so that all
workers end at the same time (guided self-scheduling: Polychronopoulos, Kuck 1987).
"""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import importlib
import os
import pickle
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

_SUPPOSED_WORKERS = 64  # of an executor that does not report its size


class RayExecutor(concurrent.futures.Executor):
    """Runs functions as tasks of Ray (extra `ray`), as any `concurrent.futures.Executor` does.

    Args:
        num_workers: processors of the local cluster that is started where Ray is not running yet; by default all.

    Raises:
        ImportError: Ray is not installed.
    """

    def __init__(self, num_workers: int | None = None) -> None:
        self._ray = _required("ray", "ray")
        self._started = not self._ray.is_initialized()
        if self._started:
            self._ray.init(num_cpus=num_workers, include_dashboard=False, log_to_driver=False)
        self._call = self._ray.remote(_call)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        """Schedules a call, and returns its future."""
        future: concurrent.futures.Future[Any] = self._call.remote(fn, args, kwargs).future()
        return future

    def num_workers(self) -> int:
        """How many calls run at a time: the processors of the cluster."""
        return int(self._ray.cluster_resources().get("CPU", 1))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends Ray, if it was started for this executor."""
        if self._started:
            self._ray.shutdown()
            self._started = False


def make_executor(executor: Any, workers: int) -> tuple[concurrent.futures.Executor, bool]:
    """The executor for an argument, and whether it was made here and must be shut down.

    Args:
        executor: an Executor; a Dask Client; or one of "processes", "threads", "dask", "ray".
        workers: how many, for those that are made here.

    Raises:
        ValueError: there is no such engine.
        TypeError: it is nothing of that kind.
        ImportError: the engine is not installed.
    """
    if isinstance(executor, concurrent.futures.Executor):
        return executor, False
    if hasattr(executor, "get_executor"):  # a client of Dask
        return executor.get_executor(), False
    if executor == "processes":
        return concurrent.futures.ProcessPoolExecutor(workers, initializer=_end_with_parent), True
    if executor == "threads":
        return concurrent.futures.ThreadPoolExecutor(workers), True
    if executor == "dask":
        return _DaskExecutor(workers), True
    if executor == "ray":
        return RayExecutor(workers), True
    if isinstance(executor, str):
        raise ValueError(f"There is no engine '{executor}'; choose 'processes', 'threads', 'dask' or 'ray'.")
    raise TypeError(
        "Expected a concurrent.futures.Executor, a Dask Client or the name of an engine; got "
        f"{type(executor).__name__}."
    )


def num_at_a_time(executor: concurrent.futures.Executor, workers: int) -> int:
    """How many calls an executor runs at a time, at the moment.

    Args:
        executor: as `make_executor` gives it.
        workers: what to return if the executor does not report it; 1 means unknown.
    """
    if isinstance(executor, RayExecutor | _DaskExecutor):
        return executor.num_workers()
    if hasattr(executor, "_client"):  # of a client of Dask
        return sum(executor._client.nthreads().values())
    known = getattr(executor, "_max_workers", None)  # of those in the standard library, and of others
    if isinstance(known, int):
        return known
    return workers if workers > 1 else _SUPPOSED_WORKERS


def crosses_processes(executor: concurrent.futures.Executor) -> bool:
    """Whether functions must be pickled on the way to where they run."""
    return not isinstance(executor, concurrent.futures.ThreadPoolExecutor)


def packed(task: Any) -> bytes:
    """A task as bytes; by cloudpickle where it is installed, which takes lambdas and local functions too.

    Raises:
        TypeError: it cannot be pickled.
    """
    try:
        return importlib.import_module("cloudpickle").dumps(task)
    except ImportError:
        pass
    try:
        return pickle.dumps(task)
    except Exception as error:
        raise TypeError(
            f"The functions of this study cannot be sent to other processes ({error}). Define them at the top of a "
            "module, install cloudpickle (extra `pickle`), or use executor='threads'."
        ) from error


class _DaskExecutor(concurrent.futures.Executor):
    """A local cluster of Dask (extra `dask`), for as long as this executor lives."""

    def __init__(self, workers: int) -> None:
        distributed = _required("distributed", "dask")
        self._cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=None
        )
        self._client = distributed.Client(self._cluster)
        self._executor = self._client.get_executor()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = self._executor.submit(fn, *args, pure=False, **kwargs)
        return future

    def num_workers(self) -> int:
        return sum(self._client.nthreads().values())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._client.close()
        self._cluster.close()


def _end_with_parent() -> None:
    """Lets a worker process end when the one that started it was killed, rather than wait for work for ever."""
    import multiprocessing

    parent = multiprocessing.parent_process()

    def watch() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    if parent is not None:
        threading.Thread(target=watch, daemon=True).start()


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


def _required(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"This needs {module}: pip install 'merganser[{extra}]'.") from error


_CHUNK = 0.2  # how long a chunk of runs should take [s]
_LONGEST_CHUNK = 0.3  # after that a chunk begins no further run [s]
_MOST_RUNS = 1000  # of a chunk
_CHUNKS_TO_COME = 2  # for each worker, of the size of the next one, as long as there is plenty to do
_PERIOD = 5.0  # between two looks at how many workers there are [s]
_DEAD = (
    "The process of this run has died: killed from outside, out of memory, or by a crash in compiled code. Run it in a "
    "process that you can spare."
)
_NOTHING_BACK = (
    "Nothing came back from where this run was: its output cannot be pickled, or the executor has lost it. Return "
    "numbers, arrays, or objects of classes at the top of a module.\n"
)

RunOne = Callable[[Any, int, int], "EndedRun"]


class EndedRun(NamedTuple):
    """A run that has ended, with a result or an exception.

    Attributes:
        run: which one.
        output: what it has given.
        error: the traceback, if it has failed.
    """

    run: int
    output: Any
    error: str | None


def runs_elsewhere(
    run_one: RunOne, task: Any, seeds: Sequence[int], missing: Sequence[int], executor: Any, workers: int
) -> Iterator[EndedRun]:
    """Yields the runs as they end, in any order.

    A process that dies costs the chunk that it was at, whose runs are tried again one at a time: one with which a
    process dies again has failed. A chunk whose results cannot be sent back is taken apart in the same way.

    Args:
        run_one: called with the task, the number of the run and its seed; never raises.
        task: what all runs have in common.
        seeds: of all runs.
        missing: which of them to run.
        executor: see `make_executor`.
        workers: how many runs at a time, unless the executor knows.

    Raises:
        RuntimeError: an executor of the user's has broken down.
    """
    # A process each of their own, so that it is known at which chunk one was when it died.
    num_groups, width = (workers, 1) if executor == "processes" else (1, workers)
    groups = [_Workers(executor, width) for _ in range(num_groups)]
    try:
        run: Callable[..., _EndedChunk] = functools.partial(_run_chunk, run_one, task)
        if crosses_processes(groups[0].pool):
            run = functools.partial(_run_packed_chunk, packed((run_one, task)))
        yield from _Schedule(run, seeds, missing, groups).runs()
    finally:
        for group in groups:
            group.close()


class _Workers:
    """Where chunks run: one process of ours, or all workers of another executor.

    Args:
        executor: see `make_executor`.
        workers: how many runs at a time, unless the executor knows.

    Attributes:
        pool: the executor.
        pending: calls that have not ended, with the runs of each, in the order in which they were made.
    """

    def __init__(self, executor: Any, workers: int) -> None:
        self._made_from, self._workers = executor, workers
        self.pool, self._is_ours = make_executor(executor, workers)
        self.pending: dict[concurrent.futures.Future[_EndedChunk], list[int]] = {}
        self._width, self._looks_again_at = 0, 0.0

    def width(self) -> int:
        """The number of chunks that can run at a time."""
        now = time.monotonic()
        if now >= self._looks_again_at:
            self._width = max(num_at_a_time(self.pool, self._workers), 1)
            self._looks_again_at = now + _PERIOD
        return self._width

    def load(self) -> float:
        """The number of calls for each worker."""
        return len(self.pending) / self.width()

    def repair(self, error: Exception) -> None:
        """Replaces an executor that broke down and lost all calls.

        Raises:
            RuntimeError: it is not ours.
        """
        if not (self._is_ours and isinstance(self.pool, concurrent.futures.ProcessPoolExecutor)):
            raise RuntimeError(
                f"MonteCarloSimulation: the executor has broken down ({error}). Make a new one; with `file`, the same "
                "call goes on where this one has ended."
            ) from error
        self.pending.clear()
        self.pool.shutdown(wait=True)
        self.pool, _ = make_executor(self._made_from, self._workers)

    def close(self) -> None:
        """Drops calls that have not begun; waits for others in executors of ours."""
        for future in self.pending:
            future.cancel()
        if self._is_ours:
            self.pool.shutdown(wait=True, cancel_futures=True)


class _Schedule:
    """Schedules runs: which wait, and which go to which worker next.

    Args:
        run: runs a chunk, given the numbers of its runs and their seeds.
        seeds: of all runs.
        missing: which of them to run.
        groups: of workers, where the chunks run.
    """

    def __init__(
        self, run: Callable[..., _EndedChunk], seeds: Sequence[int], missing: Sequence[int], groups: Sequence[_Workers]
    ) -> None:
        self._run, self._seeds, self._groups = run, seeds, groups
        self._waiting = collections.deque(missing)
        self._alone: collections.deque[int] = collections.deque()  # runs to be tried again one at a time
        self._suspects: set[int] = set()  # with which a process has died
        self._time_of_run = _CHUNK  # nearly [s]
        self._done: queue.SimpleQueue[tuple[_Workers, concurrent.futures.Future[_EndedChunk]]] = queue.SimpleQueue()

    def runs(self) -> Iterator[EndedRun]:
        """The runs as they end."""
        self._hand_out()
        while any(group.pending for group in self._groups):
            group, future = self._done.get()
            if future not in group.pending:  # the group has been repaired in between
                continue
            try:
                ended = self._take(group, future)
            except concurrent.futures.BrokenExecutor as error:
                # Repairs a group. A process works on its calls in their order: it died at the first one that is
                # pending
                first, *others = group.pending.values()
                group.repair(error)
                self._waiting.extendleft(reversed([index for runs in others for index in runs]))
                failed = [index for index in first if index in self._suspects]
                self._alone.extend(index for index in first if index not in self._suspects)
                self._suspects.update(first)
                ended = [EndedRun(index, None, _DEAD) for index in failed]
            self._hand_out()  # first of all, so that no worker waits
            yield from ended

    def _take(self, group: _Workers, future: concurrent.futures.Future[_EndedChunk]) -> list[EndedRun]:
        """The runs of a chunk that have ended; the others wait again.

        Raises:
            BrokenExecutor: the group has lost all its calls, this one first.
        """
        try:
            ended, self._time_of_run = future.result()
        except concurrent.futures.BrokenExecutor:
            raise
        except Exception:  # the engine's: a process of Dask or Ray has died several times, an output cannot be pickled
            runs = group.pending.pop(future)
            if len(runs) == 1:
                return [EndedRun(runs[0], None, traceback.format_exc() + _NOTHING_BACK)]
            self._alone.extend(runs)
            return []
        self._waiting.extendleft(reversed(group.pending.pop(future)[len(ended) :]))
        return ended

    def _hand_out(self) -> None:
        """Gives a chunk to each idle worker and, while many are left, a second one to each."""
        while self._alone or self._waiting:
            group = min(self._groups, key=_Workers.load)
            workers = sum(other.width() for other in self._groups)
            # The number of waiting runs in the next chunk
            share = len(self._waiting) // (_CHUNKS_TO_COME * workers)
            size = max(min(int(_CHUNK / max(self._time_of_run, 1e-6)), _MOST_RUNS, share), 1)
            has_plenty = not self._alone and len(self._waiting) > _CHUNKS_TO_COME * workers * size
            if group.load() >= (2.0 if has_plenty else 1.0):
                return
            runs = [self._alone.popleft()] if self._alone else [self._waiting.popleft() for _ in range(size)]
            try:
                future = group.pool.submit(self._run, runs, [self._seeds[index] for index in runs])
            except concurrent.futures.BrokenExecutor as error:
                self._waiting.extendleft(reversed(runs))
                if group.pending:  # these will say so
                    return
                group.repair(error)
                continue
            group.pending[future] = runs
            future.add_done_callback(functools.partial(self._note_done, group))

    def _note_done(self, group: _Workers, future: concurrent.futures.Future[_EndedChunk]) -> None:
        self._done.put((group, future))


class _EndedChunk(NamedTuple):
    """The results of a chunk.

    Attributes:
        ended: its first runs.
        time_of_run: that they have taken each [s].
    """

    ended: list[EndedRun]
    time_of_run: float


def _run_chunk(run_one: RunOne, task: Any, runs: Sequence[int], seeds: Sequence[int]) -> _EndedChunk:
    """Runs one after the other, until the time of a chunk is used up."""
    ended: list[EndedRun] = []
    start, elapsed = time.perf_counter(), 0.0
    for index, seed in zip(runs, seeds, strict=True):
        if elapsed > _LONGEST_CHUNK:
            break
        ended.append(run_one(task, index, seed))
        elapsed = time.perf_counter() - start
    return _EndedChunk(ended, elapsed / len(ended))


def _run_packed_chunk(what: bytes, runs: Sequence[int], seeds: Sequence[int]) -> _EndedChunk:
    run_one, task = _unpacked(what)
    return _run_chunk(run_one, task, runs, seeds)


@functools.lru_cache(maxsize=4)
def _unpacked(what: bytes) -> Any:
    return pickle.loads(what)
