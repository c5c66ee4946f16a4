"""Samples of an edge between two configurations, and checks whether they are free."""

from __future__ import annotations

import math
import queue
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Parallelism
from merganser.framework.optimization.arrays import vector
from merganser.multibody.planning.checking.records import EdgeMeasure

if TYPE_CHECKING:
    from merganser.multibody.planning.checking.collision_checker import CollisionChecker
    from merganser.multibody.planning.checking.records import CollisionCheckerContext

Array = NDArray[Any]
Edge = tuple[ArrayLike, ArrayLike]
Found = TypeVar("Found")
_FIRST = 16  # samples of an edge that are checked together; then twice as many each time
_MOST = 4096
_WORTH_A_THREAD = 128  # configurations; a thread takes as long to start


class Unanswered(Exception):
    """A configuration needs a Context to be checked, which belongs to another thread."""


class Probe(Protocol):
    """Checks configurations, in one thread at a time."""

    def are_free(self, configurations: Array) -> Array:
        """Which of some configurations are free, shape [N, nq]; bool, shape [N]."""

    def count_free(self, configurations: Array) -> int:
        """The number of leading free configurations."""


class ContextProbe:
    """Checks one configuration after the other, in a Context.

    Args:
        checker: decides which configurations are free.
        context: of the checker.
    """

    def __init__(self, checker: CollisionChecker, context: CollisionCheckerContext) -> None:
        self._checker, self._context = checker, context

    def are_free(self, configurations: Array) -> Array:
        """See Probe."""
        check, context = self._checker.CheckContextConfigCollisionFree, self._context
        return np.array([check(context, q) for q in configurations], dtype=bool)

    def count_free(self, configurations: Array) -> int:
        """See Probe."""
        for k, q in enumerate(configurations):
            if not self._checker.CheckContextConfigCollisionFree(self._context, q):
                return k
        return len(configurations)


class ManyProbes:
    """Several probes, in a thread each where there are many configurations.

    Args:
        probes: at least one.
        fallback: for configurations that are left unanswered, in this thread.
    """

    def __init__(self, probes: Sequence[Probe], fallback: Probe) -> None:
        self._probes, self._fallback = probes, fallback

    def are_free(self, configurations: Array) -> Array:
        """See Probe."""
        count = min(len(self._probes), len(configurations) // _WORTH_A_THREAD)
        if count < 2:
            return _answered(self._probes[0].are_free, configurations, self._fallback.are_free)
        parts = np.array_split(configurations, count)

        def look(probe: Probe, part: Array) -> Array:
            return _answered(probe.are_free, part, lambda _: np.zeros(0, bool))

        with ThreadPoolExecutor(count) as pool:
            found = list(pool.map(look, self._probes[:count], parts))
        of_parts = [f if len(f) == len(p) else self._fallback.are_free(p) for f, p in zip(found, parts)]
        return np.concatenate(of_parts)

    def count_free(self, configurations: Array) -> int:
        """See Probe."""
        if len(self._probes) < 2 or len(configurations) < 2 * _WORTH_A_THREAD:
            return _answered(self._probes[0].count_free, configurations, self._fallback.count_free)
        are_free = self.are_free(configurations)
        return len(are_free) if are_free.all() else int(are_free.argmin())


def _answered(look: Callable[[Array], Found], configurations: Array, otherwise: Callable[[Array], Found]) -> Found:
    try:
        return look(configurations)
    except Unanswered:
        return otherwise(configurations)


def many_probes(
    checker: CollisionChecker, context: CollisionCheckerContext, parallelize: Parallelism | bool = False
) -> ManyProbes:
    """Checks many configurations, in threads."""
    return ManyProbes(checker._probes(context, _num_threads(parallelize)), ContextProbe(checker, context))


def _num_threads(parallelize: Parallelism | bool) -> int:
    return (parallelize if isinstance(parallelize, Parallelism) else Parallelism(parallelize)).num_threads()


def for_all_edges(
    what: Callable[[CollisionChecker, Probe, ArrayLike, ArrayLike], Found],
    checker: CollisionChecker,
    edges: Sequence[Edge],
    parallelize: Parallelism | bool,
) -> list[Found]:
    """Results of a function of this file for edges, in threads; functions of users run in this thread."""
    context, provider = checker.model_context(), checker.distance_and_interpolation_provider()
    fallback = ContextProbe(checker, context)
    probes = checker._probes(context, _num_threads(parallelize) if provider._has_quick_samples() else 1)

    def find(probe: Probe, edge: Edge) -> Found | None:
        try:
            return what(checker, probe, *edge)
        except Unanswered:
            return None

    def find_in_thread(edge: Edge) -> Found | None:
        probe = waiting.get()
        try:
            return find(probe, edge)
        finally:
            waiting.put(probe)

    if len(probes) < 2 or len(edges) < 2:
        found = [find(probes[0], edge) for edge in edges]
    else:
        waiting: queue.SimpleQueue[Probe] = queue.SimpleQueue()
        for probe in probes:
            waiting.put(probe)
        with ThreadPoolExecutor(len(probes)) as pool:
            found = list(pool.map(find_in_thread, edges))
    return [what(checker, fallback, *edge) if f is None else f for edge, f in zip(edges, found)]


def is_edge_free(checker: CollisionChecker, probe: Probe, q1: ArrayLike, q2: ArrayLike) -> bool:
    """Whether no sample of an edge is in collision: first its end, then others from its start on."""
    distance = checker.ComputeConfigurationDistance(q1, q2)
    if not probe.count_free(rows_of(checker, [q2])):
        return False
    return _first_in_collision(checker, probe, q1, q2, _num_steps(checker, distance)) is None


def measure_edge(checker: CollisionChecker, probe: Probe, q1: ArrayLike, q2: ArrayLike) -> EdgeMeasure:
    """How far an edge is free."""
    distance = checker.ComputeConfigurationDistance(q1, q2)
    num_steps = _num_steps(checker, distance)
    step = _first_in_collision(checker, probe, q1, q2, num_steps)
    if step is None:
        if probe.count_free(rows_of(checker, [q2])):
            return EdgeMeasure(distance, 1.0)
        step = num_steps
    return EdgeMeasure(distance, (step - 1) / num_steps if step > 0 else -1.0)


def rows_of(checker: CollisionChecker, configs: Iterable[ArrayLike]) -> Array:
    """Configurations as rows, contiguous, shape [N, nq].

    Raises:
        ValueError: one has another size.
    """
    rows, num_q = configs if isinstance(configs, np.ndarray) else list(configs), checker.plant().num_positions()
    try:
        found = np.ascontiguousarray(rows, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or found.shape[1] != num_q:
        each = [vector(q, type(checker).__name__, "q", num_q) for q in rows]
        found = np.ascontiguousarray(each, dtype=float).reshape(len(rows), num_q)
    return found


def _num_steps(checker: CollisionChecker, distance: float) -> int:
    return max(1, math.ceil(distance / checker.edge_step_size()))


def _first_in_collision(
    checker: CollisionChecker, probe: Probe, q1: ArrayLike, q2: ArrayLike, num_steps: int
) -> int | None:
    """The first sample but the end that is in collision; None if all are free."""
    provider, step = checker.distance_and_interpolation_provider(), 0
    size = _FIRST if provider._has_quick_samples() else 1
    while step < num_steps:
        end = min(step + size, num_steps)
        samples = provider._samples(q1, q2, np.arange(step, end) / num_steps)
        count = probe.count_free(rows_of(checker, samples))
        if count < end - step:
            return step + count
        step, size = end, min(2 * size, _MOST) if size > 1 else 1
    return None
