"""Many copies of one system, side by side: of each the numbers that may differ, and what else it has of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.batches.batch_contexts import (
    abstract_state_of,
    have_same_abstract_values,
    independent_offsets,
    result_offsets,
    routing_of,
)
from merganser.analysis.batches.batch_sources import fits
from merganser.analysis.simulation.simulator_status import SimulatorStatus
from merganser.framework import Context, InputPort, System
from merganser.framework.core.context.store import FixedInputPortValue
from merganser.framework.core.values.values import BasicVector

if TYPE_CHECKING:
    from merganser.analysis.batches.rows import BatchWorker

Array = NDArray[Any]


class Worlds:
    """Many copies of one system, each with its own time, state, parameters, fixed inputs, random numbers and logs.

    Make them by `BatchSimulator.make_worlds`, and move them by `BatchSimulator.advance`. A world is a row of numbers:
    a robot of 18 degrees of freedom takes 10 KB. Logs and the generators of random sources are kept beside it. Worlds
    that differ from the first one in more than numbers, by other wires or abstract parameters (such as materials in a
    SceneGraph), have a Context each, and are simulated by a Simulator each.

    Args:
        context: with the values that hold where nothing else is said; it is not changed.
        num_worlds: how many.
        set_up: called with a Context and the number of the world, one after the other, to set there what the world
            starts with. Ports that it fixes for the first world keep that value in all others that get none.

    Attributes:
        template: a Context with the wires and the abstract values of the first world.
        statuses: how the last advance of each world has ended; None before the first one.
        num_steps: taken by each world in its last advance, shape [num_worlds].
        may_rest: whether worlds that are at the final time already are left as they are.

    Raises:
        ValueError: the number is negative.
        RuntimeError: the context is part of the context of a larger diagram.
    """

    may_rest = True

    def __init__(
        self, context: Context, num_worlds: int, set_up: Callable[[Context, int], object] | None = None
    ) -> None:
        if num_worlds < 0:
            raise ValueError(f"Worlds: their number must not be negative, got {num_worlds}.")
        context.require_root("Worlds")
        self._origin, self._set_up = context.Clone(), set_up
        self.template: Any = context.Clone()
        if set_up is not None and num_worlds > 0:
            set_up(self.template, 0)
        self._start = self.template.store.flat.copy()
        known = independent_offsets(self._origin)  # all but inputs that the first world alone has fixed
        self._start[known] = self._origin.store.flat[known]
        self._routing = routing_of(self.template)
        self._offsets = independent_offsets(self.template)
        self._results_at = np.searchsorted(self._offsets, result_offsets(self.template))
        self._rows = np.tile(self.template.store.flat[self._offsets], (num_worlds, 1))
        self._own: dict[int, Context] = {}  # of worlds that differ in more than numbers
        self._abstract_states: dict[int, list[Any]] = {}  # boxes, where they are not those of the template
        self._logs: dict[int, dict[int, Any]] = {}  # boxes, by number of the cache entry
        self.statuses: list[SimulatorStatus | None] = [None] * num_worlds
        self.num_steps: NDArray[np.int64] = np.zeros(num_worlds, dtype=np.int64)
        if set_up is not None:
            self.renew(range(1, num_worlds))

    def __copy__(self) -> Worlds:
        copied: Worlds = copy.deepcopy(self)  # of the same system
        return copied

    def __len__(self) -> int:
        return len(self._rows)

    # ------------------------------------------------------------------ by users

    @property
    def system(self) -> System:
        """Whose copies these are."""
        system: System = self.template.system
        return system

    def renew(self, indices: Iterable[int] | None = None) -> None:
        """Restarts worlds from `set_up`.

        Args:
            indices: which; by default all.

        Raises:
            IndexError: there is no such world.
        """
        chosen = range(len(self)) if indices is None else [self._checked(index) for index in indices]
        boxes = abstract_state_of(self._origin)
        context: Context | None = None
        for index in chosen:
            if context is None:
                context = self.template.Clone()
            context.store.flat[:] = self._start
            context.store.invalid = (1 << context.store.layout.num_entries) - 1
            for mine, box in zip(abstract_state_of(context), boxes):
                mine.SetFrom(box)
            if self._set_up is not None:
                self._set_up(context, index)
            if self._keep(index, context):
                context = None  # else one serves all worlds, in a twentieth of the time

    def make_context(self, index: int) -> Context:
        """A new Context with the current values of a world; changing it does not change the world.

        Raises:
            IndexError: there is no such world.
        """
        return self.context(self._checked(index)).Clone()

    @property
    def times(self) -> Array:
        """The time of each world [s], a copy of shape [num_worlds]."""
        return self._results()[:, 0]

    @property
    def states(self) -> Array:
        """Continuous state, then all groups of the discrete state, one world a column: [num_states, num_worlds]."""
        return self._results()[:, 1:].T

    def fix_values(self, port: InputPort, values: ArrayLike) -> None:
        """Gives each world a value of an input port, which it keeps until it gets another one.

        Args:
            port: vector input port of the system, or of a part of it, that is fixed in the first world.
            values: one world a column, shape [size of the port, num_worlds].

        Raises:
            ValueError: the port is not fixed, or sizes do not match.
        """
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (port.size(), len(self)):
            raise ValueError(
                f"Worlds.fix_values: {len(self)} worlds take values of shape ({port.size()}, {len(self)}) for "
                f"{port.GetFullDescription()}; got {array.shape}."
            )
        system, index = port.get_system(), int(port.get_index())
        part = system.GetMyContextFromRoot(self.template)
        source, offset = part.sources[index], part.layout.free_offsets[index]
        is_fixed = isinstance(source, FixedInputPortValue) and isinstance(source.value, BasicVector)
        if not (is_fixed and source.context is part) or offset is None:
            raise ValueError(
                f"Worlds.fix_values: {port.GetFullDescription()} has no value of its own in the first world. Fix one "
                "in the context, or in set_up."
            )
        at = np.searchsorted(self._offsets, offset)
        self._rows[:, at : at + port.size()] = array.T
        for number, context in self._own.items():
            port.FixValue(system.GetMyContextFromRoot(context), array[:, number])

    # ------------------------------------------------------------------ keeping and giving back

    def _checked(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"Worlds: there are {len(self)} of them, no world {index}.")
        return index % len(self)

    def _results(self) -> Array:
        results = self._rows[:, self._results_at]
        for index, context in self._own.items():
            results[index] = context.store.flat[result_offsets(context)]
        return results

    def _keep(self, index: int, context: Context) -> bool:
        """Stores the state of a context as a world; returns whether it keeps the context itself."""
        self._own.pop(index, None)
        self._logs.pop(index, None)
        self._abstract_states.pop(index, None)
        has_same_wires = routing_of(context) == self._routing and context.store.accuracy == self.template.store.accuracy
        if not (has_same_wires and have_same_abstract_values(context, self.template)):
            self._own[index] = context
            return True
        context.store.flat.take(self._offsets, out=self._rows[index])
        boxes = abstract_state_of(context)
        if boxes:
            self._abstract_states[index] = [box.Clone() for box in boxes]
        return False

    # ------------------------------------------------------------------ as what a batch simulates

    def context(self, index: int) -> Context:
        """The context of a world that has one of its own, or a new one with its values, boxes and logs."""
        own = self._own.get(index)
        if own is not None:
            return own
        context: Context = self.template.Clone()
        context.store.flat[self._offsets] = self._rows[index]
        context.store.invalid = (1 << context.store.layout.num_entries) - 1
        for box, kept in zip(abstract_state_of(context), self._abstract_states.get(index, ())):
            box.SetFrom(kept)
        logs = self._logs.get(index, {})
        for n, slot in enumerate(context.store.slots):
            if slot.entry.is_storage:
                slot.value = logs.get(n) or slot.entry.allocate_value()
        return context

    def take(self, index: int, context: Context, status: SimulatorStatus, num_steps: int) -> None:
        """Stores a world that was simulated in the context made for it."""
        if index not in self._own:
            self._keep(index, context)
            storage = {n: slot.value for n, slot in enumerate(context.store.slots) if slot.entry.is_storage}
            if storage:
                self._logs[index] = storage
        self.statuses[index], self.num_steps[index] = status, num_steps

    def suits(self, worker: BatchWorker) -> bool:
        """Whether an existing worker may run these worlds."""
        return fits(self.template, worker) and np.array_equal(worker.offsets, self._offsets)

    def load(self, worker: BatchWorker, start: int, end: int) -> tuple[list[int], Array]:
        """The worlds from `start` up to `end` that a worker can run, and the values that they start from."""
        indices = [n for n in range(start, end) if n not in self._own]
        return indices, self._rows[start:end] if len(indices) == end - start else self._rows[indices]

    def wants_traces(self, worker: BatchWorker) -> bool:
        """Whether logs or random numbers are needed; samples are not."""
        return bool(worker.logs_at) or worker.has_generators()

    def boxes(self, worker: BatchWorker, index: int) -> list[Any]:
        """The boxes of the logs of a world."""
        logs = self._logs.setdefault(index, {})
        for n in worker.logs_at:
            if n not in logs:
                logs[n] = worker.context.store.slots[n].entry.allocate_value()
        return [logs[n] for n in worker.logs_at]

    def abstract_state(self, index: int) -> list[Any]:
        """The boxes of the abstract state of a world."""
        return self._abstract_states.get(index) or abstract_state_of(self.template)

    def put(self, worker: BatchWorker, indices: list[int], results: Array, counts: Array, end: float) -> None:
        """Stores the results of worlds that a worker has run."""
        self._rows[np.array(indices, np.int64)[:, None], self._results_at] = results
        self.num_steps[indices] = counts[:, 0]
        for index in indices:
            self.statuses[index] = SimulatorStatus(end)
        template = abstract_state_of(self.template)
        if worker.has_generators():
            for index in indices:
                boxes = self._abstract_states.setdefault(index, [])
                boxes += [box.Clone() for box in template[len(boxes) :]]
                worker.copy_generators_to(boxes)
        elif worker.has_samples():  # those of before are out of date
            for index in indices:
                kept = self._abstract_states.get(index, [])
                for n in (worker.settled or ()) if kept else ():
                    kept[n] = template[n]
