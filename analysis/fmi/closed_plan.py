"""A plan in which Python has no part: what an FMU consists of (../plan/README.md)."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.analysis.fmi import entry
from merganser.analysis.plan.callbacks import Handler, SlotComputation
from merganser.analysis.plan.loop import LOOP, evaluate
from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.event_schedule import EventSchedule
from merganser.framework.core.context.derivatives import compute_for
from merganser.framework.core.context.store import CacheSlot
from merganser.framework.core.inside import copy_into
from merganser.framework.native import kernel_address
from merganser.framework.native.compiler.when_to_compile import compiled_at_once
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.image import Blocks, Image, UnknownAddressError, far_numbers
from merganser.framework.native.operations.assembly import offset_in
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.native.operations.operation_list import RUN, OperationList

if TYPE_CHECKING:
    from merganser.analysis.plan.plan import Plan
    from merganser.analysis.simulation.simulator import Simulator
    from merganser.framework import Context

_MOST_COMBINATIONS = 4096  # of clocks that strike together
# Why compiled code calls Python, in the order of Plan._callbacks; then whatever cannot happen.
LOOK, ADD_GROUP, MAKE_ROOM, UPDATE, DETERMINE_WITNESSES, NOTE_TRIGGERS, OTHERS = range(7)

_WORD = 8  # bytes
_REMEDY = "Declare it with functions decorated with @native, or leave it out of the diagram"


def context_apart(context: Context) -> Any:
    """A copy of a root context whose numbers are far away from all other arrays, see image.py."""
    return copy_into(context, far_numbers(len(context.store.flat)))


class ClosedPlan:
    """A plan, the computation of outputs, and what an FMU calls.

    Args:
        simulator: not yet initialized, with the context of `context_apart`.
        outputs: slots that are computed when they are asked for.

    Attributes:
        simulator: as given; initialized now.
        plan: complete, with all groups of events.
        outputs: computes the outputs.

    Raises:
        ValueError: something is left to Python; names the systems.
    """

    def __init__(self, simulator: Simulator, outputs: Sequence[CacheSlot]) -> None:
        self.simulator = simulator
        self._system, self._context = simulator.get_system(), simulator.get_context()
        simulator._schedule = EventSchedule(self._system, self._context, publishes=False)
        with compiled_at_once():
            simulator.Initialize()
            simulator.set_use_native_plan(True, at_once=True)
            self._learn_dependencies(outputs)
            self.plan = self._make_plan()
            self.outputs = Tape(self._context, outputs)
        self._refuse_python()

    def _learn_dependencies(self, outputs: Sequence[CacheSlot]) -> None:
        """Computes everything once, as some operations wait until it is known what they depend on."""
        self._system.EvalTimeDerivatives(self._context)
        for slot in outputs:
            compute_for(slot, {})

    def _make_plan(self) -> Plan:
        simulator = self.simulator
        schedule = simulator._schedule
        name = self._system.GetSystemPathname()
        if schedule.arrivals is not None:
            raise ValueError(f"ExportFmu: system '{name}' has blocks that take in messages from outside the diagram.")
        try:
            combinations = schedule.combinations(_MOST_COMBINATIONS)
        except ValueError as error:
            raise ValueError(
                f"ExportFmu: system '{name}' has too many periods and offsets of events. {error}"
            ) from None
        plan = simulator._usable_plan()
        if plan is None:
            method = type(simulator.get_integrator()).__name__
            raise ValueError(
                f"ExportFmu: the {method} of system '{name}' with {self._context.num_continuous_states()} continuous "
                "states does not run in compiled code. Choose an explicit integrator (config=SimulatorConfig(...))."
            )
        for clocks in combinations:
            if clocks not in plan._program.group_numbers:
                plan._add_group(clocks)
        return plan

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
            found += [witness.describe() for _, witness in watch.active if witness.declared or not is_compiled]
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
        program, reason = self.plan._program, ""
        if self.simulator._watch is not None:
            reason = "it has witness functions, which watch steps of our own integrators"
        elif program.records[program.group_numbers[0]].flags:
            reason = "it has events after every step of our own integrators"
        if reason:
            name = self._system.GetSystemPathname()
            raise ValueError(f"ExportFmu: there is no model exchange for system '{name}': {reason}. Use kinds=('cs',).")

    def image(self) -> ClosedImage:
        """All memory and code that it works with, as it is after the initialization."""
        plan = self.plan
        plan._due = self.simulator._due
        get_time, plan._patience.get_time = plan._patience.get_time, 0
        plan._enter(self._context.get_time(), 1)
        try:
            return ClosedImage(self)
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
        entries: the numbers of the functions that the FMU calls, by their names there.
        derivatives: where the time derivatives are among the numbers of the Context.
    """

    def __init__(self, closed: ClosedPlan) -> None:
        plan = closed.plan
        operations = closed.outputs.operations()
        others: tuple[Any, ...] = () if plan._compiled_steps is None else plan._compiled_steps._callbacks
        python = [id(thing) for thing in (*plan._callbacks, plan._watched_step, *others)]
        self._calls = np.array([[number, plan.address] for number in range(len(python))], np.int64)
        objects = {address: address_of_array(self._calls[n]) for n, address in enumerate(python)}
        roots = [plan.address, *([] if operations is None else [operations[0]])]
        holders, flat = [closed, self, plan, closed.simulator], plan._store.flat
        try:
            blocks = Blocks(holders)
            self.image = Image(blocks, flat, roots, objects)
        except UnknownAddressError:  # of an array that a module or a class keeps
            blocks = Blocks(holders, are_all=True)
            self.image = Image(blocks, flat, roots, objects)
        self._refuse_inner_models(blocks, flat, closed.simulator.get_system().GetSystemPathname())
        self.problem = self.image.place_of(plan.address)
        self.outputs = 0 if operations is None else self.image.place_of(operations[0])
        self.num_outputs = 0 if operations is None else closed.outputs.num_operations()
        self.derivatives = offset_in(plan._store.flat, plan._integrator._xdot) if len(plan._integrator._xdot) else 0
        address = plan.address
        codes_of_entries = {
            "BEGIN": kernel_address(entry.begin, address),
            "PREPARE": kernel_address(entry.prepare, address, 0.0, False),
            "ADVANCE": LOOP.address(),
            "RUN": RUN.address(),
            "EVALUATE": kernel_address(evaluate, address, 0),
            "UPDATE": kernel_address(entry.update, address),
            "NEXT_EVENT": kernel_address(entry.next_event, address),
            "NOTE_TRIGGERS": kernel_address(entry.note_triggers, address),
        }
        self.entries = {name: self.image.number_of(code) for name, code in codes_of_entries.items()}

    def _refuse_inner_models(self, blocks: Blocks, flat: Any, name: str) -> None:
        """Refuses operations on another Context, of a block's own model, that may work on numbers outside of its array.

        That array is among all others: an offset from it to one of these looks like any small number.
        """
        for thing in gc.get_objects():
            if type(thing) is OperationList and self.image.has(thing.address) and thing.values is not flat:
                first = address_of_array(thing.values)
                others = [n for n in thing.integers.tolist() if not 0 <= n <= len(thing.values)]
                if any(blocks.find(first + _WORD * n) is not None for n in others):
                    raise ValueError(
                        f"ExportFmu: a block of system '{name}' computes with a model of its own that has discrete "
                        "state, as a filter of a discrete system does. That cannot leave Python yet; give it the "
                        "equations of the model as a native block."
                    )


def _describe_slot(slot: CacheSlot) -> str:
    return str(slot.entry.describe())


def _describe_event(context: Any, event: Any) -> str:
    return f"the {event.kind.kind_name} event of system '{context.system.GetSystemPathname()}'"
