"""Where the runs of a study happen: this process, threads, processes, Dask or Ray."""

from __future__ import annotations

import concurrent.futures
import importlib
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

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
