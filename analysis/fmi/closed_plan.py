"""A plan in which Python has no part: what an FMU consists of (../plan/README.md).

What grows in its memory are arrays whose places are for what a plant finds, such as contacts. An operation that finds
more than there are places for fails, and has noted how many it needs (`Capacity`). Then the FMU takes larger memory,
and calls it again, as the Simulator does (binary/memory.c). With capacities c, an array has

    length = (length in the image) + sum over capacities of per_place * (c - c in the image)
"""

from __future__ import annotations

import bisect
import gc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.analysis.fmi import entry, pieces
from merganser.analysis.fmi.slopes import Slopes
from merganser.analysis.plan.callbacks import Handler, SlotComputation
from merganser.analysis.plan.loop import LOOP, evaluate
from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.event_schedule import EventSchedule
from merganser.framework.core.context.derivatives import compute_for
from merganser.framework.core.context.native_code import Capacity, Growth
from merganser.framework.core.context.store import CacheSlot
from merganser.framework.core.inside import copy_into
from merganser.framework.native import kernel_address
from merganser.framework.native.compiler.when_to_compile import compiled_at_once
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.image import (
    Blocks,
    Image,
    UnknownAddressError,
    far_numbers,
    is_far,
    models_apart,
    offset_in,
)
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.native.operations.operation_list import RUN, OperationList
from merganser.framework.primitives.state_machines.rounds import CHANGES, HOLDS

if TYPE_CHECKING:
    from merganser.analysis.plan.plan import Plan
    from merganser.analysis.simulation.simulator import Simulator
    from merganser.framework import Context, OutputPort


_WORD = 8  # bytes
_MOST_DIMENSIONS = 3  # of arrays that grow


@dataclass
class GrowingArray:
    """An array in an image.

    Attributes:
        growth: of it.
        place: where it is in the image.
        per_place: by numbers of capacities, how much longer it becomes for one more place.
        words: where words are that are its address.
    """

    growth: Growth
    place: int
    per_place: dict[int, int] = field(default_factory=dict)
    words: list[int] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Along the axis that grows."""
        return int(self.growth.array.shape[self.growth.axis])

    @property
    def item_size(self) -> int:
        """How many bytes it takes for each of its length."""
        array, axis = self.growth.array, self.growth.axis
        return int(array.itemsize * np.prod(array.shape[:axis] + array.shape[axis + 1 :], dtype=np.int64))


class Capacities:
    """All that grows in an image.

    Args:
        image: the image.
        blocks: from which it has been made.
        given: capacities of operations, each with the path of the system that has it.

    Attributes:
        num_places: of each capacity.
        owners: paths of the systems.
        found: where code leaves how many places it needs, each with the number of the capacity.
        arrays: that grow.

    Raises:
        RuntimeError: an array shares its memory with others, or something is known of it but its address and shape.
    """

    def __init__(self, image: Image, blocks: Blocks, given: Iterable[tuple[str, Sequence[Capacity]]]) -> None:
        self.num_places: list[int] = []
        self.owners: list[str] = []
        self.found: list[tuple[int, int]] = []
        arrays: dict[int, GrowingArray] = {}
        for owner, capacities in given:
            for capacity in capacities:
                number = len(self.num_places)
                self.num_places.append(capacity.num_places)
                self.owners.append(owner)
                self.found += [(image.place_of(each), number) for each in capacity.found if image.has(each)]
                for growth in capacity.growths:
                    address = address_of_array(growth.array)
                    if image.has(address):
                        known = arrays.setdefault(address, GrowingArray(growth, image.place_of(address)))
                        known.per_place[number] = growth.per_place
                        _check_alone(growth.array, blocks)
        self.arrays = sorted(arrays.values(), key=lambda array: array.place)
        self._find_words(image)

    def _find_words(self, image: Image) -> None:
        starts, content = [array.place for array in self.arrays], image.content + bytes(_MOST_DIMENSIONS * _WORD)
        for place in image.addresses:
            value, *shape = np.frombuffer(content, np.int64, 1 + _MOST_DIMENSIONS, place).tolist()
            number = bisect.bisect_right(starts, value) - 1
            array = self.arrays[max(number, 0)] if starts else None
            if number < 0 or array is None or value >= array.place + max(array.growth.array.nbytes, 1):
                continue
            if value != array.place or shape[array.growth.axis] != array.length:
                raise RuntimeError("ExportFmu: an array that grows with contacts is known by a part of it only.")
            array.words.append(place)


def _check_alone(array: Any, blocks: Blocks) -> None:
    block = blocks.find(address_of_array(array))
    if block is None or (block.start, block.end - block.start) != (address_of_array(array), array.nbytes):
        raise RuntimeError("ExportFmu: an array that grows with contacts shares its memory with others.")


# ---------------------------------------------------------------------- the plan

_MOST_COMBINATIONS = 4096  # of clocks that strike and witness functions that trigger together
_MOST_ATTEMPTS = 8  # to get code that belongs together: what is compiled on the way may change a block's arrays
# Why compiled code calls Python, in the order of Plan._callbacks; then whatever cannot happen.
LOOK, ADD_GROUP, MAKE_ROOM, UPDATE, DETERMINE_WITNESSES, NOTE_TRIGGERS, OTHERS = range(7)

_REMEDY = "Declare it with functions decorated with @native, or leave it out of the diagram"


def context_apart(context: Context) -> Any:
    """A copy of a root context whose numbers are far away from all other arrays, see image.py."""
    return copy_into(context, far_numbers(len(context.store.flat)))


class ClosedPlan:
    """A plan, the computation of outputs, their derivatives, and what an FMU calls.

    Args:
        simulator: not yet initialized, with the context of `context_apart`.
        outputs: slots that are computed when they are asked for.
        ports: vector ports that have derivatives.

    Attributes:
        simulator: as given; initialized now.
        plan: complete, with all groups of events.
        outputs: computes the outputs.
        slopes: directional derivatives.

    Raises:
        ValueError: something is left to Python; names the systems.
    """

    def __init__(self, simulator: Simulator, outputs: Sequence[CacheSlot], ports: Sequence[OutputPort]) -> None:
        self.simulator = simulator
        self._system, self._context = simulator.get_system(), simulator.get_context()
        simulator._schedule = EventSchedule(self._system, self._context, publishes=False)
        with compiled_at_once(), models_apart():
            simulator.Initialize()
            simulator.set_use_native_plan(True, at_once=True)
            # Everything is computed once, as some operations wait until it is known what they depend on.
            self._system.EvalTimeDerivatives(self._context)
            for slot in outputs:
                compute_for(slot, {})
            self._changing = self._systems_with_changing_witnesses()
            if not self._changing and simulator._watch is not None:
                simulator._watch.has_fixed_witnesses = True
            # Before the plan: a plant whose code is asked for again may replace arrays that the plan works on.
            self.slopes = Slopes(self._system, self._context, ports)
            self.plan = self._make_plan()
            self.outputs = Tape(self._context, outputs)
            self._make_current(outputs)
        self._refuse_python()

    def _make_plan(self) -> Plan:
        simulator = self.simulator
        schedule = simulator._schedule
        name = self._system.GetSystemPathname()
        events = self._events_of_witnesses()
        if schedule.arrivals is not None:
            raise ValueError(f"ExportFmu: system '{name}' has blocks that take in messages from outside the diagram.")
        try:
            combinations = schedule.combinations(_MOST_COMBINATIONS >> len(events))
        except ValueError as error:
            raise ValueError(
                f"ExportFmu: system '{name}' has too many periods and offsets of events, beside the updates of "
                f"{len(events)} witness functions. {error}"
            ) from None
        plan = simulator._usable_plan()
        if plan is None:
            method = type(simulator.get_integrator()).__name__
            raise ValueError(
                f"ExportFmu: the {method} of system '{name}' with {self._context.num_continuous_states()} continuous "
                "states does not run in compiled code. Choose an explicit integrator (config=SimulatorConfig(...))."
            )
        num_clocks = schedule.num_clocks()
        watch: Any = simulator._watch
        for n, (number, _) in enumerate(events):
            watch.event_bits[number] = 1 << (num_clocks + n)
        for triggered in range(1 << len(events)):
            others = [event for n, (_, event) in enumerate(events) if triggered >> n & 1]
            for clocks in combinations:
                due = clocks | triggered << num_clocks
                if others:
                    schedule.add_group(clocks, others, due)
                if due not in plan._program.group_numbers:
                    plan._add_group(due)
        return plan

    def _make_current(self, outputs: Sequence[CacheSlot]) -> None:
        """Makes plan and outputs again, if to make one has replaced arrays of a block with which the other works."""
        for _ in range(_MOST_ATTEMPTS):
            if self.plan.is_current() and self.outputs.assembly.is_current():
                return
            self.plan._lower()
            self.outputs = Tape(self._context, outputs)
        raise RuntimeError(
            f"ExportFmu: blocks of '{self._system.GetSystemPathname()}' replace arrays whenever code is asked for."
        )

    def _systems_with_changing_witnesses(self) -> list[str]:
        """The systems in which it depends on something in the Context which witness functions count."""
        watch, store = self.simulator._watch, self._context.store
        found: list[str] = []
        if watch is None or watch.has_fixed_witnesses:
            return found
        outer = store.reads, store.reader
        for leaf in self._context.layout.leaves():
            store.reads, store.reader = 0, None
            leaf.system._sys_active_witnesses(self._context.part_of(leaf.system))
            if store.reads:
                found.append(leaf.system.GetSystemPathname())
        store.reads, store.reader = outer
        return found

    def _events_of_witnesses(self) -> list[tuple[int, Any]]:
        """The updates that witness functions trigger, each with the number of the function."""
        watch = self.simulator._watch
        if watch is not None and watch.now.is_stale:
            watch.determine_active()
        found = [] if watch is None else [(n, each[0], each[1].declared) for n, each in enumerate(watch.active)]
        return [(n, (leaf, event)) for n, leaf, event in found if event is not None and event.kind.changes_state]

    def _refuse_python(self) -> None:
        """Raises an error that names what is left to Python."""
        program, found = self.plan._program, []
        for thing in program._assembly._kept:
            if isinstance(thing, SlotComputation):
                found.append(_describe_slot(thing._slot))
            elif isinstance(thing, Handler):
                found += [_describe_event(*item) for item in thing.events]
        for record, events in zip(program.records, program.events):
            if record.flags & codes.IS_LEFT_TO_PYTHON:
                found += [_describe_event(*item) for item in events.unrestricted]
        found += [_describe_slot(slot) for slot in self.outputs.left_to_python()]
        watch = self.simulator._watch
        if watch is not None:
            is_compiled = program.watch is not None and watch.has_fixed_witnesses
            found += [witness.describe() for _, witness in watch.active if witness.element is None]
            found += [f"DoGetWitnessFunctions of system '{name}', which reads its context" for name in self._changing]
            for _, block in watch.deciding:
                if not is_compiled or None in block._sys_actions:
                    found.append(f"an action or guard of system '{block.GetSystemPathname()}'")
        if found:
            listed = "\n".join(f"  - {text}" for text in dict.fromkeys(found))
            raise ValueError(
                f"ExportFmu: system '{self._system.GetSystemPathname()}' cannot leave Python, as these parts of it are "
                f"Python functions:\n{listed}\n{_REMEDY}."
            )

    def refuse_model_exchange(self) -> None:
        """Raises an error if the system does what the solver of another tool cannot do."""
        program, watch, reason = self.plan._program, self.simulator._watch, ""
        rows = [] if watch is None else [block.GetSystemPathname() for _, block in watch.blocks if block._sys_row]
        if rows:
            reason = f"block '{rows[0]}' keeps a sample of every step of our own integrators"
        elif program.records[program.group_numbers[0]].flags:
            reason = "it has events after every step of our own integrators"
        if reason:
            name = self._system.GetSystemPathname()
            raise ValueError(f"ExportFmu: there is no model exchange for system '{name}': {reason}. Use kinds=('cs',).")

    def image(self, is_model_exchange: bool) -> ClosedImage:
        """All memory and code that it works with, as it is after the initialization."""
        plan = self.plan
        plan._due = self.simulator._due
        get_time, plan._patience.get_time = plan._patience.get_time, 0
        plan._enter(self._context.get_time(), 1)
        try:
            return ClosedImage(self, is_model_exchange)
        finally:
            plan.leave()
            plan._patience.get_time = get_time


class ClosedImage:
    """The image of a plan, and where the things that an FMU calls are in it.

    Attributes:
        image: the image.
        problem: where the Problem of the loop is.
        outputs: where the list of operations of the outputs is.
        num_outputs: how many operations these are.
        slopes, num_slopes, complex_numbers: the same on complex numbers, and where these are; 0 without any.
        num_numbers: how many numbers the Context has.
        entries: the numbers of the functions that the FMU calls, by their names there.
        derivatives: where the time derivatives are among the numbers of the Context.
        indicators: where the values of the witness functions are, counted in numbers like those.
        witnesses: these functions, each with the context of its leaf; None if nothing is watched.
        steps_are_events: whether blocks decide after each step by what is no passage of a witness function.
        capacities: what grows as the FMU runs.
        features: what it needs of functions that are for one thing alone.
    """

    def __init__(self, closed: ClosedPlan, is_model_exchange: bool) -> None:
        plan, by_complex_step = closed.plan, closed.slopes.operations
        operations = closed.outputs.operations()
        others: tuple[Any, ...] = () if plan._compiled_steps is None else plan._compiled_steps._callbacks
        python = [id(thing) for thing in (*plan._callbacks, plan._watched_step, *others)]
        self._calls = np.array([[number, plan.address] for number in range(len(python))], np.int64)
        objects = {address: address_of_array(self._calls[n]) for n, address in enumerate(python)}
        roots = [plan.address, *([] if operations is None else [operations[0]])]
        roots += [] if by_complex_step is None else [by_complex_step.address]
        holders, flat = [closed, self, plan, closed.simulator], plan._store.flat
        try:
            blocks = Blocks(holders)
            self.image = Image(blocks, flat, roots, objects)
        except UnknownAddressError:  # of an array that a module or a class keeps
            blocks = Blocks(holders, are_all=True)
            self.image = Image(blocks, flat, roots, objects)
        name = closed.simulator.get_system().GetSystemPathname()
        self._refuse_inner_models(blocks, name, by_complex_step)
        assemblies = [plan._program._assembly, closed.outputs.assembly]
        given = [(of.system.GetSystemPathname(), find()) for each in assemblies for of, find in each.capacities]
        self.capacities = Capacities(self.image, blocks, given)
        self.features = {feature for each in assemblies for feature in each.features}
        self.problem = self.image.place_of(plan.address)
        self.outputs = 0 if operations is None else self.image.place_of(operations[0])
        self.num_outputs = 0 if operations is None else closed.outputs.num_operations()
        self.slopes, self.complex_numbers, self.num_slopes = 0, 0, 0
        if by_complex_step is not None:
            self.slopes, self.num_slopes = self.image.place_of(by_complex_step.address), len(by_complex_step)
            self.complex_numbers = self.image.place_of(address_of_array(by_complex_step.values))
        self.num_numbers = len(flat)
        self.derivatives = offset_in(plan._store.flat, plan._integrator._xdot) if len(plan._integrator._xdot) else 0
        address = plan.address
        codes_of_entries = {
            "START": kernel_address(entry.start, address),
            "BEGIN": kernel_address(entry.begin, address, 0.0),
            "PREPARE": kernel_address(entry.prepare, address, 0.0, False, False),
            "ADVANCE": LOOP.address(),
            "RUN": RUN.address(),
            "EVALUATE": kernel_address(evaluate, address, 0),
            "UPDATE": kernel_address(entry.update, address),
            "NEXT_EVENT": kernel_address(entry.next_event, address, 0.0, False),
            "NOTE_TRIGGERS": kernel_address(entry.note_triggers, address),
            "OUTLOOK": kernel_address(entry.outlook, address),
        }
        watch = closed.simulator._watch
        self.witnesses, self.indicators, self.steps_are_events = None, 0, False
        if watch is not None and is_model_exchange:
            kernel = pieces.in_decided_piece if watch.deciding else pieces.in_piece
            codes_of_entries["IN_PIECE"] = kernel_address(kernel, address, 0)
            self.witnesses, self.indicators = watch.active, self.image.place_of(address_of_array(watch.values)) // _WORD
            self.steps_are_events = any(_decides_after_steps(block) for _, block in watch.deciding)
        self.entries = {name: self.image.number_of(code) for name, code in codes_of_entries.items()}

    def _refuse_inner_models(self, blocks: Blocks, name: str, by_complex_step: Any) -> None:
        """Refuses operations on another Context, of a block's own model, that may work on numbers outside of its array.

        That array is among all others: an offset from it to one of these looks like any small number.
        """
        for thing in gc.get_objects():
            is_inner = type(thing) is OperationList and not is_far(thing.values)
            if is_inner and thing is not by_complex_step and self.image.has(thing.address):
                first = address_of_array(thing.values)
                others = [n for n in thing.integers.tolist() if not 0 <= n <= len(thing.values)]
                if any(blocks.find(first + _WORD * n) is not None for n in others):
                    raise ValueError(
                        f"ExportFmu: a block of system '{name}' computes with a model of its own whose numbers it has "
                        "beyond those of its Context. That cannot leave Python; give it the equations of the model as "
                        "a native block."
                    )


def _decides_after_steps(machine: Any) -> bool:
    """Whether a state machine has conditions that are true or not, changes of ports, or actions in every step."""
    table = machine.table
    return any(number >= 0 for number in table.during) or any(kind in (HOLDS, CHANGES) for kind in table.kind)


def _describe_slot(slot: CacheSlot) -> str:
    return str(slot.entry.describe())


def _describe_event(context: Any, event: Any) -> str:
    return f"the {event.kind.kind_name} event of system '{context.system.GetSystemPathname()}'"
