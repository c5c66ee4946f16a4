"""Where the simulations of a batch start, and where their results go: Contexts, or arrays of states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.batches.batch_contexts import abstract_state_of, have_same_abstract_values, routing_of
from merganser.analysis.simulation.simulator_status import SimulatorStatus
from merganser.framework import Context, System

if TYPE_CHECKING:
    from merganser.analysis.batches.rows import BatchWorker

Array = NDArray[Any]


class ContextRuns:
    """Simulations of given Contexts.

    Args:
        system: of the contexts.
        contexts: root contexts.

    Attributes:
        template: the first one.
        statuses: how each simulation has ended.
        may_rest: whether simulations that are at the final time already are left as they are.

    Raises:
        ValueError: a context is there twice, or belongs to another system.
        RuntimeError: a context is part of a larger one.
    """

    may_rest = False

    def __init__(self, system: System, contexts: Sequence[Context]) -> None:
        self._contexts = list(contexts)
        if len({id(context) for context in self._contexts}) < len(self._contexts):
            raise ValueError("batch_simulate: each simulation needs a Context of its own, but one is there twice.")
        for context in self._contexts:
            system.ValidateContext(context)
            context.require_root("batch_simulate")
        self.template: Any = self._contexts[0] if self._contexts else None
        self.statuses: list[Any] = [None] * len(self._contexts)

    def __len__(self) -> int:
        return len(self._contexts)

    def context(self, index: int) -> Context:
        """The context of a simulation."""
        return self._contexts[index]

    def take(self, index: int, context: Context, status: SimulatorStatus, num_steps: int) -> None:
        """Stores a simulation that has ended in its context."""
        self.statuses[index] = status

    # ------------------------------------------------------------------ by workers

    def suits(self, worker: BatchWorker) -> bool:
        """Whether an existing worker may run these simulations."""
        return fits(self.template, worker)

    def load(self, worker: BatchWorker, start: int, end: int) -> tuple[list[int], Array]:
        """The simulations from `start` up to `end` that a worker can run, and the values that they start from."""
        indices = [n for n in range(start, end) if fits(self._contexts[n], worker)]
        rows = np.empty((len(indices), len(worker.offsets)))
        for row, n in zip(rows, indices):
            self._contexts[n].store.flat.take(worker.offsets, out=row)
        return indices, rows

    def wants_traces(self, worker: BatchWorker) -> bool:
        """Whether logs and samples are needed."""
        return True

    def boxes(self, worker: BatchWorker, index: int) -> list[Any]:
        """The boxes of the logs of a simulation."""
        slots = self._contexts[index].store.slots
        return [slots[n].value for n in worker.logs_at]

    def abstract_state(self, index: int) -> list[Any]:
        """The boxes of the abstract state from which a simulation starts."""
        return abstract_state_of(self._contexts[index])

    def put(self, worker: BatchWorker, indices: list[int], results: Array, counts: Array, end: float) -> None:
        """Stores the results of simulations that a worker has run."""
        has_samples = worker.has_samples()
        for index, values, count in zip(indices, results, counts):
            context = self._contexts[index]
            store, down = context.store, context.layout.down
            store.change(down["time"] | down["xc"] | down["xd"], context)
            store.flat[worker.results_at] = values
            if has_samples and count.any():
                store.change(down["xa"], context)
                worker.copy_abstract_state_to(abstract_state_of(context))
            self.statuses[index] = SimulatorStatus(end)


class StateRuns:
    """Simulations from columns of arrays; all other values are those of one Context.

    Args:
        system: to simulate.
        context: root context, with all other values.
        states: continuous state, then all groups of the discrete state, shape [num_states, n].
        times: [s], shape [n]; None for the time of the context.
        inputs: by input port, shape [size, n].
        parameters: by group, shape [size, n].

    Attributes:
        template: a context with all values that the simulations share.
        times_out: where the simulations have ended [s], shape [n].
        states_out: shape [num_states, n].
        num_steps: shape [n].
        statuses: how they have ended.
        logs: what they have logged, by sink.
        may_rest: as above.

    Raises:
        ValueError: sizes do not match.
        IndexError: there is no such port or group.
    """

    may_rest = False

    def __init__(
        self,
        system: System,
        context: Context,
        states: ArrayLike,
        times: ArrayLike | None,
        inputs: Mapping[int, ArrayLike],
        parameters: Mapping[int, ArrayLike],
    ) -> None:
        size = context.num_continuous_states() + sum(group.size() for group in context.get_discrete_state().get_data())
        x = np.asarray(states, dtype=np.float64)
        if x.ndim != 2 or x.shape[0] != size:
            raise ValueError(
                f"BatchSimulator: the states of system '{system.GetSystemPathname()}' are columns of {size} numbers, "
                f"continuous state first, then discrete state; got an array of shape {x.shape}."
            )
        num = x.shape[1]
        t = np.full(num, context.get_time()) if times is None else np.asarray(times, dtype=np.float64).reshape(-1)
        if t.shape != (num,):
            raise ValueError(f"BatchSimulator: {num} states take {num} times, got {t.size}.")
        self._num_xc = context.num_continuous_states()
        self._start = np.vstack([t, x])  # in the order of the results of a worker
        self._inputs = {int(n): _columns(v, system.get_input_port(int(n)), num) for n, v in inputs.items()}
        self._parameters = {int(n): _group_columns(v, context, int(n), num) for n, v in parameters.items()}
        self.template = context.Clone()
        self._fill(self.template, 0, has_state=False)
        self.times_out, self.states_out = np.full(num, np.nan), np.full((size, num), np.nan)
        self.num_steps: Array = np.zeros(num, dtype=np.int64)
        self.statuses: list[Any] = [None] * num
        self.logs: dict[System, list[Any]] = {}

    def __len__(self) -> int:
        return len(self.statuses)

    def _fill(self, context: Context, index: int, has_state: bool = True) -> None:
        """Gives a context the values of one simulation."""
        if not len(self._start.T):
            return
        for port, values in self._inputs.items():
            context.system.get_input_port(port).FixValue(context, values[:, index])
        for group, values in self._parameters.items():
            context.get_mutable_numeric_parameter(group).SetFromVector(values[:, index])
        if has_state:
            column = self._start[:, index]
            at = 1 + self._num_xc
            context.SetTimeAndContinuousState(column.item(0), column[1:at])
            for vector in context.get_mutable_discrete_state().get_data():
                vector.SetFromVector(column[at : at + vector.size()])
                at += vector.size()

    def context(self, index: int) -> Context:
        """A context for a simulation."""
        context = self.template.Clone()
        self._fill(context, index)
        for slot in context.store.slots:
            if slot.entry.is_storage:
                slot.value = slot.entry.allocate_value()
        return context

    def take(self, index: int, context: Context, status: SimulatorStatus, num_steps: int) -> None:
        """Stores a simulation that has ended in the context made for it."""
        state = context.get_state()
        groups = [state.get_continuous_state().CopyToVector(), *map(np.asarray, state.get_discrete_state().get_data())]
        self.times_out[index], self.states_out[:, index] = context.store.flat.item(0), np.concatenate(groups)
        self.num_steps[index], self.statuses[index] = num_steps, status
        for slot in context.store.slots:
            if slot.entry.is_storage and hasattr(slot.context.system, "FindLog"):
                self._logs_of(slot.context.system)[index] = slot.value.get_value()

    def _logs_of(self, sink: System) -> list[Any]:
        logs = self.logs.get(sink)
        if logs is None:
            logs = self.logs.setdefault(sink, [None] * len(self))
        return logs

    # ------------------------------------------------------------------ by workers

    def suits(self, worker: BatchWorker) -> bool:
        """Whether an existing worker may run these simulations."""
        return fits(self.template, worker)

    def load(self, worker: BatchWorker, start: int, end: int) -> tuple[list[int], Array]:
        """The simulations from `start` up to `end`, and the values that they start from."""
        columns = slice(start, end)
        changing = [(worker.results_at, self._start[:, columns])]
        for port, values in self._inputs.items():
            changing.append((worker.offsets_of_input(port), values[:, columns]))
        for group, values in self._parameters.items():
            changing.append((worker.offsets_of_parameters(group), values[:, columns]))
        rows = np.tile(self.template.store.flat[worker.offsets], (end - start, 1))
        for offsets, values in changing:
            rows[:, np.searchsorted(worker.offsets, offsets)] = values.T
        return list(range(start, end)), rows

    def wants_traces(self, worker: BatchWorker) -> bool:
        """Whether logs or random numbers are needed; samples are not."""
        return bool(worker.logs_at) or worker.has_generators()

    def boxes(self, worker: BatchWorker, index: int) -> list[Any]:
        """New boxes for the logs of a simulation."""
        boxes = []
        for n in worker.logs_at:
            slot = worker.context.store.slots[n]
            boxes.append(slot.entry.allocate_value())
            self._logs_of(slot.context.system)[index] = boxes[-1].get_value()
        return boxes

    def abstract_state(self, index: int) -> list[Any]:
        """The boxes of the abstract state from which all simulations start."""
        return abstract_state_of(self.template)

    def put(self, worker: BatchWorker, indices: list[int], results: Array, counts: Array, end: float) -> None:
        """Stores the results of simulations that a worker has run."""
        self.times_out[indices], self.states_out[:, indices] = results[:, 0], results[:, 1:].T
        self.num_steps[indices] = counts[:, 0]
        for index in indices:
            self.statuses[index] = SimulatorStatus(end)


def _columns(values: ArrayLike, port: Any, num: int) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (port.size(), num):
        raise ValueError(
            f"BatchSimulator: {num} simulations take values of shape ({port.size()}, {num}) for "
            f"{port.GetFullDescription()}; got {array.shape}."
        )
    return array


def _group_columns(values: ArrayLike, context: Context, group: int, num: int) -> Array:
    size = context.get_numeric_parameter(group).size()
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (size, num):
        raise ValueError(
            f"BatchSimulator: {num} simulations take values of shape ({size}, {num}) for numeric parameter {group} of "
            f"system '{context.system.GetSystemPathname()}'; got {array.shape}."
        )
    return array


def fits(context: Context, worker: BatchWorker) -> bool:
    """Whether a worker runs the simulation of a context as it is."""
    mine, store = worker.context.store, context.store
    return (
        store.layout is mine.layout
        and store.flat.dtype == mine.flat.dtype
        and not store.computing
        and store.accuracy == mine.accuracy
        and routing_of(context) == worker.routing
        and all(slot.clearing != -1 for slot in store.slots)
        and (not worker.may_read_abstract_values or have_same_abstract_values(context, worker.context))
    )
