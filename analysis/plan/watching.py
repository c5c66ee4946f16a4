"""Steps that watch witness functions and keep regions, compiled: the words of simulation/watch_parts.py.

`w` is the Watch of simulation/watch_state.py. What an operation cannot compute ends the step: it is undone, and Python
takes it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.analysis.integrators.problem import copy, set_time, state_changes, step_problem_at
from merganser.analysis.integrators.step_state import DERIVATIVES
from merganser.analysis.plan.loop_state import problem_at
from merganser.analysis.simulation import watch_parts, watch_state
from merganser.analysis.simulation.watch_state import watch_at
from merganser.analysis.simulation.witness_isolation import keep_step, take_watched_step, undo_step
from merganser.framework.native import PreparedKernel, compiled_form, device, kernel
from merganser.framework.native.memory.records_of_arrays import (
    ArrayOf,
    address_of_record,
    fields_of,
    place_arrays,
)
from merganser.framework.native.memory.tape import FAILED, SUCCEEDED, call_kernel
from merganser.framework.native.operations.assembly import offset_of_input

if TYPE_CHECKING:
    from merganser.analysis.simulation.witness_watch import WitnessWatch
    from merganser.framework.core.context.store import CacheSlot
    from merganser.framework.native.operations.assembly import Assembly


@kernel
def advance_watched(watch: int, target: float) -> int:
    """Takes a step to this time at the latest [s]; returns its status."""
    w = watch_at(watch)
    keep_step(w)
    status = take_watched_step(w, target)
    if status != SUCCEEDED:
        undo_step(w)
    return status


WATCH = PreparedKernel(advance_watched, 0, 0.0)


@device
def compute_for_watch(w: Any, number: int) -> int:
    """Computes what a watch asks for, by its number."""
    evaluation = step_problem_at(w.step).evaluation
    status: int = call_kernel(evaluation.kernel, (evaluation.argument, w.first + number))
    return status


@device
def _compute_to(w: Any, number: int, places: Any, out: Any) -> int:
    """The same; copies the results."""
    status = compute_for_watch(w, number)
    flat = w.flat
    for k in range(len(out)):
        out[k] = flat[places[k]]
    return status


@device
def note_change(w: Any) -> None:
    """Notes that regions, memories or states of blocks have changed."""
    if w.changes_derivatives:
        step_problem_at(w.step).step.is_current = 0
    note_move(w)


@device
def note_move(w: Any) -> None:
    """Notes that something has changed on which derivatives do not depend."""
    step_problem_at(w.step).step.has_moved = 1
    problem_at(w.progress).progress.needs_all = 1


# ---------------------------------------------------------------------- witness functions


@compiled_form(watch_parts.values_of)
@device
def _values_of(w: Any, out: Any) -> int:
    status = _compute_to(w, watch_state.VALUES, w.places_of_values, out)
    for i in range(w.now.num_witnesses):
        if status == SUCCEEDED and w.direction[i] and not math.isfinite(out[i]):
            status = FAILED
        out[i] = out[i] - w.level[i] if w.direction[i] else 1.0
    return status


@compiled_form(watch_parts.value_of)
@device
def _value_of(w: Any, i: int, out: Any) -> int:
    status = compute_for_watch(w, watch_state.VALUES)
    value = w.flat[w.places_of_values[i]]
    if status == SUCCEEDED and not math.isfinite(value):
        status = FAILED
    out[i] = value - w.level[i]
    return status


@compiled_form(watch_parts.values_nearby)
@device
def _values_nearby(w: Any, out: Any) -> int:
    status = compute_for_watch(w, watch_state.VALUES)
    for i in range(w.now.num_witnesses):
        if w.is_chosen[i]:
            value = w.flat[w.places_of_values[i]]
            out[i] = value - w.level[i] if math.isfinite(value) else math.nan
    return status


@compiled_form(watch_parts.step_towards)
@device
def _step_towards(w: Any, target: float) -> int:
    status = SUCCEEDED
    if len(step_problem_at(w.step).state) == 0:
        set_time(w.step, target)
    else:
        status = call_kernel(problem_at(w.progress).take_step, (w.step, target))
    return status


# ---------------------------------------------------------------------- the place next to this one


@compiled_form(watch_parts.go_near)
@device
def _go_near(w: Any, level: int, shift: float, may_fail: bool) -> int:
    problem = step_problem_at(w.step)
    s, evaluation, state, xdot, time = problem.step, problem.evaluation, problem.state, problem.xdot, problem.time[0]
    w.is_near[level] = 0
    if time + shift == time:
        return SUCCEEDED
    if not s.is_current:
        status: int = call_kernel(evaluation.kernel, (evaluation.argument, DERIVATIVES))
        if status != SUCCEEDED:
            return status
        s.is_current = 1
    w.time_near[level] = time
    for j in range(len(state)):
        w.x_near[level, j], w.xdot_near[level, j] = state[j], xdot[j]
        state[j] += shift * xdot[j]
    set_time(w.step, time + shift)
    state_changes(w.step)
    w.is_near[level] = 1
    return SUCCEEDED


@compiled_form(watch_parts.come_back)
@device
def _come_back(w: Any, level: int) -> None:
    problem = step_problem_at(w.step)
    state, xdot = problem.state, problem.xdot
    for j in range(len(state)):
        state[j], xdot[j] = w.x_near[level, j], w.xdot_near[level, j]
    set_time(w.step, w.time_near[level])
    state_changes(w.step)
    problem.step.is_current = 1


# ---------------------------------------------------------------------- blocks with regions or memory


@compiled_form(watch_parts.read_signals)
@device
def _read_signals(w: Any, out: Any) -> int:
    return _compute_to(w, watch_state.SIGNALS, w.places_of_signals, out)


@compiled_form(watch_parts.note_rates)
@device
def _note_rates(w: Any) -> None:
    flat = w.flat
    for k in range(len(w.rates)):
        flat[w.places_moving[k]], flat[w.places_of_rates[k]] = w.signals[k], w.rates[k]
    note_move(w)


@compiled_form(watch_parts.measure_memories)
@device
def _measure_memories(w: Any) -> int:
    return compute_for_watch(w, watch_state.REGIONS)


@compiled_form(watch_parts.record_memories)
@device
def _record_memories(w: Any) -> int:
    status = compute_for_watch(w, watch_state.RECORDS)
    note_change(w)
    return status


@compiled_form(watch_parts.read_regions)
@device
def _read_regions(w: Any, out: Any) -> int:
    return _compute_to(w, watch_state.REGIONS, w.places_of_regions, out)


@compiled_form(watch_parts.hold)
@device
def _hold(w: Any, regions: Any) -> None:
    flat = w.flat
    for b in range(len(w.places_of_locks)):
        flat[w.places_of_locks[b]] = 1.0
    for k in range(len(w.places_held)):
        flat[w.places_held[k]] = regions[k]
    note_change(w)


@compiled_form(watch_parts.release)
@device
def _release(w: Any) -> None:
    flat = w.flat
    for b in range(len(w.places_of_locks)):
        flat[w.places_of_locks[b]] = 0.0
    for k in range(len(w.places_held)):
        flat[w.places_held[k]] = 0.0
    note_change(w)


@compiled_form(watch_parts.compute_ends)
@device
def _compute_ends(w: Any) -> int:
    status, end = compute_for_watch(w, watch_state.ENDS), math.inf
    for k in range(len(w.places_of_ends)):
        end = min(end, w.flat[w.places_of_ends[k]])
    w.now.region_end = end
    return status


# ---------------------------------------------------------------------- undoing a step


@compiled_form(watch_parts.keep)
@device
def _keep(w: Any) -> None:
    problem = step_problem_at(w.step)
    w.kept = problem.step
    copy(w.xdot_kept, problem.xdot)
    copy(w.method_kept, problem.memory)
    copy(w.bulk_kept, problem.bulk)
    flat, kept, k = w.flat, w.memory_kept, 0
    for n in range(len(w.memory_places)):
        at, size, row = w.memory_places[n], w.memory_sizes[n], w.memory_rows[n]
        w.kept_first[n], w.kept_size[n] = at, size
        if row:  # two rows are added in a step: at its beginning and at its end
            end = 1 + int(flat[at]) * row
            if end + 2 * row <= size:
                w.kept_first[n], w.kept_size[n] = at + end, 2 * row
        kept[k] = flat[at]
        for j in range(w.kept_size[n]):
            kept[k + 1 + j] = flat[w.kept_first[n] + j]
        k += 1 + w.kept_size[n]


@compiled_form(watch_parts.undo)
@device
def _undo(w: Any) -> None:
    problem = step_problem_at(w.step)
    flat, kept, k = w.flat, w.memory_kept, 0
    for n in range(len(w.memory_places)):
        flat[w.memory_places[n]] = kept[k]
        for j in range(w.kept_size[n]):
            flat[w.kept_first[n] + j] = kept[k + 1 + j]
        k += 1 + w.kept_size[n]
    _release(w)
    problem.step = w.kept  # with what was counted: the step is taken again
    copy(problem.xdot, w.xdot_kept)
    copy(problem.memory, w.method_kept)
    copy(problem.bulk, w.bulk_kept)
    problem.step.has_moved = 1


# ---------------------------------------------------------------------- where everything is


class CompiledWatch:
    """The data of a watch for compiled steps.

    Args:
        watch: the watch; which functions count has been determined.
        problem: address of the Problem of the loop.

    Attributes:
        address: of the Watch.
    """

    def __init__(self, watch: WitnessWatch, problem: int) -> None:
        self.watch, self._problem = watch, problem
        self.address = address_of_record(watch.record)
        self._machines: Any = None
        if watch.deciding:
            from merganser.analysis.plan.deciding import CompiledMachines  # which few programs need

            self._machines = CompiledMachines(watch)
        self._version = watch.version
        self._arrays: tuple[Any, ...] = ()

    def is_current(self) -> bool:
        """Whether the same witness functions count as when it was made."""
        return self._version == self.watch.version

    def is_possible(self, assembly: Assembly) -> bool:
        """Whether all that the watch computes is among the numbers of the Context, and memories change by operations.

        Python functions in between are called.
        """
        watch = self.watch
        inputs = [leaf.sources[block._sys_signal_index] for leaf, block in watch.moving]
        changes = [(new, leaf) for leaf, _, new in self._memories() if not hasattr(new, "Eval")]
        return (
            (self._machines is None or self._machines.is_possible(assembly))
            and all(witness.element is not None for _, witness in watch.active)
            and all(offset_of_input(source) is not None for source in inputs)
            and all(assembly.can_add(new, leaf) for new, leaf in changes)
        )

    def slots(self) -> list[list[CacheSlot]]:
        """What is computed for each number in watch_state.py before RECORDS."""
        watch = self.watch
        values = [leaf.slots[element.entry.cache_index()] for leaf, element in self._elements()]
        inputs = [leaf.sources[block._sys_signal_index] for leaf, block in watch.moving]
        ends = [leaf.slots[block._sys_end_entry.cache_index()] for leaf, block in self._with_end()]
        computed = [source for source in inputs if hasattr(source, "entry")]
        signals = self._machines.slots() if self._machines is not None else []
        return [list(dict.fromkeys(slots)) for slots in (watch.region_evaluator.slots, values, computed, ends, signals)]

    def _elements(self) -> list[tuple[Any, Any]]:
        return [(leaf, witness.element) for leaf, witness in self.watch.active]

    def _with_end(self) -> list[tuple[Any, Any]]:
        return [(leaf, block) for leaf, block in self.watch.blocks if block._sys_end_entry is not None]

    def _memories(self) -> list[tuple[Any, int, Any]]:
        return [(leaf, int(index), new) for leaf, block in self.watch.blocks for index, new in block._sys_memory]

    def add_records(self, assembly: Assembly) -> list[tuple[int, int]]:
        """Adds what brings memories up to date: copies of what has been computed, before what changes them in place.

        Then come the actions of blocks that decide. Returns where each of these begins and ends.
        """
        begin = len(assembly)
        for leaf, index, new in self._memories():
            if hasattr(new, "Eval"):
                size, at = new.model.size(), leaf.layout.discrete_offsets[index]
                assembly.add_copy(size, leaf.layout.entry_offsets[new.cache_index()], at)
        for leaf, index, new in self._memories():
            if not hasattr(new, "Eval"):
                assembly.add(new, leaf, leaf.layout.discrete_offsets[index])
        records = begin, len(assembly)
        return [records, *(self._machines.add_actions(assembly) if self._machines is not None else [])]

    def changes(self) -> int:
        """The mask of what depends on regions and memories, and on the state of blocks that decide."""
        changed = 0
        for leaf, _ in self.watch.blocks:
            changed |= leaf.layout.down["xd"] | leaf.layout.down["pn"]
        for leaf, _ in self.watch.deciding:
            changed |= leaf.layout.down["xd"] | leaf.layout.down["xc"]
        return changed

    def kernel(self) -> PreparedKernel:
        """What takes a step."""
        if self._machines is None:
            return WATCH
        from merganser.analysis.plan.deciding import DECIDED_WATCH

        return DECIDED_WATCH

    def place(self, first: int, derivatives: int, kernel: int) -> None:
        """Writes down where everything is.

        Args:
            first: number of the first computation among those of the loop.
            derivatives: mask of the time derivatives.
            kernel: of the loop, which computes what has a number.
        """
        watch, record, step = self.watch, self.watch.record, self.watch.step
        record.step, record.progress, record.first = address_of_record(step._problem), self._problem, first
        record.changes_derivatives = bool(self.changes() & derivatives)
        held = [(leaf.layout.numeric_offsets[b._sys_held_index], b._sys_region_entry.model.size())
                for leaf, b in watch.blocks]  # fmt: skip
        moving = [(leaf.layout.numeric_offsets[b._sys_moving_index], b.get_input_port(b._sys_signal_index).size())
                  for leaf, b in watch.moving]  # fmt: skip
        sizes = [leaf.get_discrete_state(index).size() for leaf, index, _ in self._memories()]
        watch.flat, watch.memory_kept = watch.context.store.flat, np.zeros(sum(sizes) + len(sizes))
        watch.kept_first, watch.kept_size = np.zeros((2, len(sizes)), np.int64)
        watch.method_kept, watch.bulk_kept = np.zeros(len(step._memory)), np.zeros(len(step._bulk))
        places = {
            "places_of_values": [
                leaf.layout.entry_offsets[element.entry.cache_index()] + element.index
                for leaf, element in self._elements()
            ],
            "places_of_regions": _spread(
                (leaf.layout.entry_offsets[block._sys_region_entry.cache_index()], block._sys_region_entry.model.size())
                for leaf, block in watch.blocks
            ),
            "places_of_locks": [at for at, _ in held],
            "places_held": _spread((at + 1, size) for at, size in held),
            "places_of_signals": _spread(
                (offset_of_input(leaf.sources[block._sys_signal_index]), size)
                for (leaf, block), (_, size) in zip(watch.moving, moving)
            ),
            "places_moving": _spread(moving),
            "places_of_rates": _spread((at + size, size) for at, size in moving),
            "places_of_ends": [
                leaf.layout.entry_offsets[block._sys_end_entry.cache_index()] for leaf, block in self._with_end()
            ],
            "memory_places": [leaf.layout.discrete_offsets[index] for leaf, index, _ in self._memories()],
            "memory_sizes": sizes,
            "memory_rows": [block._sys_row for _, block in watch.blocks for _ in block._sys_memory],
        }
        for name, numbers in places.items():
            setattr(watch, name, np.array(numbers, dtype=np.int64))
        if self._machines is not None:
            self._machines.place(first, kernel, self._problem)
        arrays = [name for name, field in fields_of(watch_state.Watch).items() if isinstance(field.kind, ArrayOf)]
        placed = {name: getattr(watch, name) for name in arrays}
        place_arrays(record, **placed)
        self._arrays = tuple(placed.values())  # kept, as only their addresses are passed on


def _spread(ranges: Any) -> list[int]:
    """The offsets of all elements of some vectors, each given by its first offset and size."""
    return [at + k for at, size in ranges for k in range(size)]
