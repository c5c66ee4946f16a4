"""Where the simulations of a batch start, and where their results go: rows of numbers, and Contexts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.batches.batch_contexts import (
    abstract_state_of,
    fits,
    have_same_abstract_values,
    independent_offsets,
    result_offsets,
    routing_of,
)
from merganser.analysis.simulation.simulator_status import SimulatorStatus
from merganser.framework import Context, InputPort, OutputPort, PortDataType, System
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.core.context.store import FixedInputPortValue
from merganser.framework.core.values.values import BasicVector

if TYPE_CHECKING:
    from merganser.analysis.batches.rows import BatchWorker
    from merganser.analysis.plan.model_tape import ModelTape

Array = NDArray[Any]


class Runs:
    """Simulations of one system, as a batch runs them.

    A simulation is a row of numbers, with logs and generators beside it; all else is that of the template. Simulations
    that differ in more than numbers have a Context of their own.

    Args:
        template: a Context with all values that the simulations share.
        offsets: offsets in the flat array of the numbers in a row, in order; time and state are among them. Shape [m].
        rows: values at `offsets`, shape [n, m].

    Attributes:
        template: as given.
        statuses: how the last advance of each simulation has ended; None before the first one.
        num_steps: taken by each simulation in its last advance, shape [n].
        may_rest: whether they are advanced again and again: simulations that are at the final time already are left as
            they are, and generators are kept.
    """

    may_rest = False

    def __init__(self, template: Context, offsets: Array, rows: Array) -> None:
        self.template: Any = template
        self._offsets, self._rows = offsets, rows
        self._results_at = np.searchsorted(offsets, result_offsets(template))
        self._routing = routing_of(template)
        self._own: dict[int, Context] = {}  # of simulations that differ in more than numbers
        self._abstract_states: dict[int, list[Any]] = {}  # boxes, where they are not those of the template
        self._logs: dict[int, list[Any]] = {}  # a box or None for each simulation, by number of the cache entry
        self.statuses: list[SimulatorStatus | None] = [None] * len(rows)
        self.num_steps: NDArray[np.int64] = np.zeros(len(rows), dtype=np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def results(self) -> Array:
        """Time, continuous state and discrete state, one simulation a row; a copy."""
        results = self._rows[:, self._results_at]
        for index, context in self._own.items():
            results[index] = context.store.flat[result_offsets(context)]
        return results

    def logs(self) -> dict[System, list[Any]]:
        """What the simulations have logged, by sink."""
        sinks = {n: self.template.store.slots[n].context.system for n in self._logs}
        return {
            sink: [None if box is None else box.get_value() for box in self._logs[n]]
            for n, sink in sinks.items()
            if hasattr(sink, "FindLog")
        }

    # ------------------------------------------------------------------ by a Simulator for each

    def context(self, index: int) -> Context:
        """The context of a simulation that has one of its own, or a new one with its values, boxes and logs."""
        own = self._own.get(index)
        if own is not None:
            return own
        context: Context = self.template.Clone()
        context.store.flat[self._offsets] = self._rows[index]
        context.store.invalid = (1 << context.store.layout.num_entries) - 1
        for box, kept in zip(abstract_state_of(context), self._abstract_states.get(index, ())):
            box.SetFrom(kept)
        for n, slot in enumerate(context.store.slots):
            if slot.entry.is_storage:
                slot.made = self._logs_at(n)[index] or slot.entry.allocate_value()
        return context

    def take(self, index: int, context: Context, status: SimulatorStatus, num_steps: int) -> None:
        """Stores a simulation that has ended in the context that `context` gave for it."""
        if index not in self._own:
            self._keep(index, context)
            for n, slot in enumerate(context.store.slots):
                if slot.entry.is_storage:
                    self._logs_at(n)[index] = slot.value
        self.statuses[index], self.num_steps[index] = status, num_steps

    def _logs_at(self, number: int) -> list[Any]:
        return self._logs.get(number) or self._logs.setdefault(number, [None] * len(self))

    def _keep(self, index: int, context: Context) -> bool:
        """Stores the values of a context as a simulation; returns whether it keeps the context itself."""
        self._own.pop(index, None)
        for boxes in self._logs.values():
            boxes[index] = None
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

    # ------------------------------------------------------------------ by workers

    def load(self, worker: BatchWorker, start: int, end: int) -> tuple[list[int], Array]:
        """The simulations from `start` up to `end` that a worker can run, and the values that they start from."""
        own = self._own
        indices = [n for n in range(start, end) if n not in own or fits(own[n], worker)]
        rows = self._rows[start:end] if len(indices) == end - start else self._rows[indices]
        if len(own) == len(self):
            rows = np.empty((len(indices), len(worker.offsets)))
        elif len(self._offsets) < len(worker.offsets):
            given, rows = rows, np.tile(self.template.store.flat[worker.offsets], (len(indices), 1))
            rows[:, np.searchsorted(worker.offsets, self._offsets)] = given
        for row, n in zip(rows, indices if own else ()):
            if n in own:
                own[n].store.flat.take(worker.offsets, out=row)
        suitable = np.flatnonzero(worker.suits(rows))
        return ([indices[k] for k in suitable], rows[suitable]) if len(suitable) < len(rows) else (indices, rows)

    def wants_traces(self, worker: BatchWorker, indices: list[int]) -> bool:
        """Whether logs, random numbers or samples are needed of some simulations; only Contexts keep samples."""
        own = self._own if worker.settled else ()
        return bool(worker.logs_at) or worker.has_generators() or any(n in own for n in indices)

    def lend_traces(self, worker: BatchWorker, index: int) -> None:
        """Lets a worker write to the logs of a simulation, and start with its generators."""
        own, logs_at = self._own.get(index), worker.logs_at
        if own is not None:
            worker.use_logs([own.store.slots[n].value for n in logs_at])
            worker.use_abstract_state(abstract_state_of(own))
            return
        for n in logs_at:
            if self._logs_at(n)[index] is None:
                self._logs_at(n)[index] = worker.context.store.slots[n].entry.allocate_value()
        worker.use_logs([self._logs[n][index] for n in logs_at])
        worker.use_abstract_state(self._abstract_states.get(index) or abstract_state_of(self.template))

    def put(self, worker: BatchWorker, indices: list[int], results: Array, counts: Array, ends: Array) -> None:
        """Stores the results of simulations that a worker has run."""
        self.num_steps[indices] = counts[:, 0]
        for index, end in zip(indices, ends.tolist()):
            self.statuses[index] = SimulatorStatus(end)
        if self._own:
            self._put_in_contexts(worker, indices, results, counts)
            if len(self._own) == len(self):
                return
        self._rows[np.array(indices, np.int64)[:, None], self._results_at] = results
        if self.may_rest and worker.has_generators():
            template = abstract_state_of(self.template)
            for index in [n for n in indices if n not in self._own]:
                boxes = self._abstract_states.setdefault(index, [])
                boxes += [box.Clone() for box in template[len(boxes) :]]
                worker.copy_abstract_state_to(boxes, has_samples=False)
        elif self._abstract_states and worker.settled:  # the samples of before are out of date
            template = abstract_state_of(self.template)
            for index in self._abstract_states.keys() & indices:
                for n in worker.settled:
                    self._abstract_states[index][n] = template[n]

    def _put_in_contexts(self, worker: BatchWorker, indices: list[int], results: Array, counts: Array) -> None:
        """Stores the results of simulations with a Context of their own, with their samples and generators."""
        for index, values, count in zip(indices, results, counts):
            context = self._own.get(index)
            if context is None:
                continue
            store, down = context.store, context.layout.down
            store.change(down["time"] | down["xc"] | down["xd"], context)
            store.flat[worker.results_at] = values
            if worker.settled and count.any():
                store.change(down["xa"], context)
                worker.copy_abstract_state_to(abstract_state_of(context), has_samples=True)


def runs_of_contexts(system: System, contexts: Sequence[Context]) -> Runs:
    """Simulations of given root contexts, at least one, each of which is advanced.

    Raises:
        ValueError: a context is there twice, or belongs to another system.
        RuntimeError: a context is part of a larger one.
    """
    if len({id(context) for context in contexts}) < len(contexts):
        raise ValueError("batch_simulate: each simulation needs a Context of its own, but one is there twice.")
    for context in contexts:
        system.ValidateContext(context)
        context.require_root("batch_simulate")
    offsets = np.sort(result_offsets(contexts[0]))
    runs = Runs(contexts[0], offsets, np.empty((len(contexts), len(offsets))))
    runs._own.update(enumerate(contexts))
    return runs


def runs_of_states(
    system: System,
    context: Context,
    states: ArrayLike,
    times: ArrayLike | None,
    inputs: Mapping[int, ArrayLike],
    parameters: Mapping[int, ArrayLike],
) -> Runs:
    """Simulations from columns of arrays; all other values are those of one root context.

    Args:
        system: to simulate.
        context: with all other values; it is not changed.
        states: continuous state, then all groups of the discrete state, shape [num_states, n].
        times: [s], shape [n]; None for the time of the context.
        inputs: by input port, shape [size, n].
        parameters: by group, shape [size, n].

    Raises:
        ValueError: sizes do not match.
        IndexError: there is no such port or group.
    """
    at = [result_offsets(context)]
    x = np.asarray(states, dtype=np.float64)
    if x.ndim != 2 or x.shape[0] != len(at[0]) - 1:
        raise ValueError(
            f"BatchSimulator: the states of system '{system.GetSystemPathname()}' are columns of {len(at[0]) - 1} "
            f"numbers, continuous state first, then discrete state; got an array of shape {x.shape}."
        )
    num = x.shape[1]
    t = np.full(num, context.get_time()) if times is None else np.asarray(times, dtype=np.float64).reshape(-1)
    if t.shape != (num,):
        raise ValueError(f"BatchSimulator: {num} states take {num} times, got {t.size}.")
    columns = [np.vstack([t, x])]

    def add(values: ArrayLike, offset: int, size: int, what: str) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (size, num):
            raise ValueError(
                f"BatchSimulator: {num} simulations take values of shape ({size}, {num}) for {what}; got {array.shape}."
            )
        at.append(np.arange(offset, offset + size))
        columns.append(array)
        return array

    # The template has the first column, and so the wires of all.
    template: Any = context.Clone()
    of_groups = [offset for leaf in template.store.layout.leaf_list for offset in leaf.numeric_offsets]
    for n, values in inputs.items():
        port = system.get_input_port(int(n))
        array = add(values, template.layout.free_offsets[int(n)] or 0, port.size(), port.GetFullDescription())
        if num:
            port.FixValue(template, array[:, 0])
    for n, values in parameters.items():
        group = template.get_mutable_numeric_parameter(int(n))
        what = f"numeric parameter {int(n)} of system '{system.GetSystemPathname()}'"
        array = add(values, of_groups[int(n)], group.size(), what)
        if num:
            group.SetFromVector(array[:, 0])
    offsets = np.sort(np.concatenate(at))
    rows = np.empty((num, len(offsets)))
    for where, part in zip(at, columns):
        rows[:, np.searchsorted(offsets, where)] = part.T
    return Runs(template, offsets, rows)


class Worlds(Runs):
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
        template: Any = context.Clone()
        if set_up is not None and num_worlds > 0:
            set_up(template, 0)
        self._start = template.store.flat.copy()
        known = independent_offsets(self._origin)  # all but inputs that the first world alone has fixed
        self._start[known] = self._origin.store.flat[known]
        offsets = independent_offsets(template)
        self._tapes: dict[OutputPort, ModelTape | None] = {}  # None where Python has to evaluate a port
        super().__init__(template, offsets, np.tile(template.store.flat[offsets], (num_worlds, 1)))
        if set_up is not None:
            self.renew(range(1, num_worlds))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tapes": {}}

    def __copy__(self) -> Worlds:
        copied: Worlds = copy.deepcopy(self)  # of the same system
        return copied

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
        return self.results()[:, 0]

    @property
    def states(self) -> Array:
        """Continuous state, then all groups of the discrete state, one world a column: [num_states, num_worlds]."""
        return self.results()[:, 1:].T

    def eval_output(self, port: OutputPort) -> Array:
        """Evaluates a vector output port in all worlds, compiled where its computation allows it.

        Args:
            port: of the system, or of a part of it.

        Returns:
            One world a column, shape [size of the port, num_worlds].

        Raises:
            ValueError: the port is not one of vectors.
        """
        if port.get_data_type() is not PortDataType.kVectorValued:
            raise ValueError(f"Worlds.eval_output: {port.GetFullDescription()} does not give a vector.")
        values = np.empty((len(self), port.size()))
        tape = None if self._own or not len(self) else self._tape_of(port)
        num_done = 0 if tape is None else tape.run_from(self._offsets, self._rows, values)
        for index in range(num_done, len(self)):
            values[index] = port.Eval(port.get_system().GetMyContextFromRoot(self.context(index)))
        return values.T

    def _tape_of(self, port: OutputPort) -> ModelTape | None:
        """Compiled code for an output port; None if it is one that needs Python."""
        tape = self._tapes.get(port)
        if may_compile() and (port not in self._tapes or (tape is not None and not tape.is_current())):
            from merganser.analysis.plan.model_tape import ModelTape  # loads numba

            try:
                tape = ModelTape(self.template.Clone(), None, False, port)
            except LookupError:
                tape = None
            self._tapes[port] = tape
        return tape

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

    def _checked(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"Worlds: there are {len(self)} of them, no world {index}.")
        return index % len(self)
