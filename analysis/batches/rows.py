"""Many simulations through one plan: the flat array of one Context is loaded with a row of values for each of them.

A `BatchWorker` is a Context with a plan in which Python has no part. It runs simulations one after the other, in one
compiled loop that takes, for each, the steps that a Simulator of its own would take, with the same values in the same
order, so to the last bit. Several workers run in as many threads.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.batches.batch_contexts import (
    abstract_state_of,
    independent_offsets,
    may_read_abstract_values,
    result_offsets,
    routing_of,
)
from merganser.analysis.integrators import step_fields as sf
from merganser.analysis.integrators.stepping import first_step_size
from merganser.analysis.plan import loop_state as f
from merganser.analysis.plan.loop import advance
from merganser.analysis.plan.loop_state import problem_at, progress_of
from merganser.analysis.plan.plan import make_plan
from merganser.analysis.simulation.clocks import clocks_at, forget_strikes
from merganser.analysis.simulation.event_schedule import EventSchedule
from merganser.framework.core.inside import may_have_witnesses
from merganser.framework.native import device, kernel, kernel_address
from merganser.framework.native.memory.records_of_arrays import copy_of_record, numbers_of
from merganser.framework.native.memory.tape import call_kernel, doubles_at, integers_at
from merganser.framework.native.operations.assembly import offset_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from merganser.analysis.simulation.event_schedule import EventList, SimultaneousEvents
    from merganser.analysis.simulation.simulator import Simulator

__all__ = ["BatchWorker"]

Array = NDArray[Any]

_number = itertools.count()
# The progress of a worker: an array of integers.
ROW = next(_number)  # the one in progress, or the next one
STAGE = next(_number)  # of that row, see below
STEPS_LEFT = next(_number)  # until the loop returns
NUM_MARKS = next(_number)

# Stages of a row.
LOAD, INITIALIZE, ADVANCE = range(3)

_NUM_COUNTS = 4  # of each row: steps, unrestricted and discrete updates, publish events
_MOST_CLOCKS_AT_ONCE = 16
_MOST_MENDED = 32  # how often operations may ask for more room, of one worker


@device
def _load(
    p: Any, values: Any, progress_in: Any, step_fields: Any, step_reals: Any, offsets: Any, row: Any
) -> None:
    """Puts everything at its start: the loop, the integrator and the values of the Context."""
    progress = integers_at(p.progress)
    for k in range(progress_in.shape[0]):
        progress[k] = progress_in[k]
    s = integers_at(p.step)
    integrator_reals, memory = doubles_at(s[sf.REALS]), doubles_at(s[sf.MEMORY])
    for k in range(step_fields.shape[0]):
        s[k] = step_fields[k]
    for k in range(step_reals.shape[0]):
        integrator_reals[k] = step_reals[k]
    for k in range(s[sf.MEMORY_SIZE]):
        memory[k] = 0.0
    for k in range(offsets.shape[0]):
        values[offsets[k]] = row[k]
    if s[sf.NUM_STATES]:
        integrator_reals[sf.IDEAL_STEP_SIZE] = first_step_size(p.step)


@device
def _make_first_events_due(p: Any, now: Any, time: float) -> None:
    """As Simulator.Initialize: what is due at the start is published, and updates wait for the first step.

    It is as if a step had just ended; that is not counted.
    """
    clocks = doubles_at(p.clocks)
    forget_strikes(clocks, p.num_clocks)
    now.due, now.next_time = clocks_at(clocks, p.num_clocks, time), time
    now.stage, now.num_steps, now.steps_left = f.ENDING, -1, 1
    now.boundary = math.inf


@kernel
def advance_rows(
    # Model:
    loop: int,  # address of the kernel `advance`
    problem: int,  # address of the plan's Problem
    progress_in: Any,  # its Progress as integers, as it is at the start
    step_fields_in: Any,  # the same of the integrator, whose memory is 0 at the start
    step_reals_in: Any,
    places_in: Any,  # in the flat array: time, then other values, shape [m]
    results_at: Any,  # in the flat array, shape [k]
    # In:
    rows_in: Any,  # values at `places_in`, shape [n, m]
    boundary_time: float,  # [s]
    # Out:
    marks: Any,  # progress of the worker
    results_out: Any,  # shape [n, k]
    counts_out: Any,  # shape [n, number of counts]
) -> int:
    """Runs rows to the end, or until Python is needed: returns why, see loop_state.py; DONE after the last row."""
    p = problem_at(problem)
    now = progress_of(p)
    values = doubles_at(p.values)
    while marks[ROW] < rows_in.shape[0]:
        n = marks[ROW]
        if marks[STAGE] == LOAD:
            _load(p, values, progress_in, step_fields_in, step_reals_in, places_in, rows_in[n])
            _make_first_events_due(p, now, values[0])
            marks[STAGE] = INITIALIZE
        if marks[STAGE] == INITIALIZE:
            outcome = call_kernel(loop, (problem,))
            if outcome != f.PAUSE:
                return outcome
            now.boundary = boundary_time
            marks[STAGE] = ADVANCE
        now.steps_left = marks[STEPS_LEFT]
        outcome = call_kernel(loop, (problem,))
        marks[STEPS_LEFT] = now.steps_left
        if outcome != f.DONE:
            return outcome
        for k in range(results_at.shape[0]):
            results_out[n, k] = values[results_at[k]]
        counts_out[n, 0], counts_out[n, 1] = now.num_steps, now.num_state_updates
        counts_out[n, 2], counts_out[n, 3] = now.num_updates, now.num_publishes
        marks[ROW] += 1
        marks[STAGE] = LOAD
    return f.DONE


class BatchWorker:
    """A Context through which simulations go one after the other, without Python.

    Args:
        simulator: of the Context, which belongs to the worker, with its settings.

    Attributes:
        context: the Context.
        offsets: where in its flat array the values stand that a simulation starts from, shape [m]; the time first.
        results_at: where those stand that it changes: time and state, shape [k].
        settled: numbers of the abstract state variables that it changes; None if it cannot tell.
        logs_at: numbers of the cache entries that are logs to which it writes.
        routing: what feeds which input port, see `routing_of`.
        may_read_abstract_values: whether operations may depend on abstract parameters.
        num_counts: number of what is counted.

    Raises:
        LookupError: something is left to Python, for now at least.
    """

    num_counts = _NUM_COUNTS

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self.context = context = simulator.get_mutable_context()
        _check_events(simulator)
        integrator = simulator.get_mutable_integrator()
        integrator.Initialize()
        schedule = EventSchedule(simulator.get_system(), context)
        plan = make_plan(context, schedule, integrator)
        if plan is None or schedule.num_clocks() > _MOST_CLOCKS_AT_ONCE:
            raise LookupError
        if plan._program.num_callbacks and context.num_continuous_states():
            with contextlib.suppress(Exception):  # a simulation will raise it again
                context.derivative_evaluator().update()  # some code is only found once its block has been seen to read
            plan._lower()
        if schedule.num_clocks():
            plan._add_group((1 << schedule.num_clocks()) - 1)  # all events, to see if they are compiled
        self._plan = plan
        self.routing = routing_of(context)
        self.offsets = independent_offsets(context)
        self.results_at = result_offsets(context)
        writers = {id(log.context) for log in plan._program.logs}
        slots = enumerate(context.store.slots)
        self.logs_at = [n for n, slot in slots if slot.entry.is_storage and id(slot.context) in writers]
        self.settled = self._find_settled()
        if not self.is_usable():
            raise LookupError
        plan._enter(math.inf, -1, 0)
        integrator._integers[sf.IS_CURRENT] = 0
        self._start = copy_of_record(plan.now)
        self._start_as_integers = numbers_of(self._start)
        self._step_fields: Array = integrator._integer_array[: sf.NUM_STATES].copy()  # those before the problem
        self._step_reals: Array = integrator._real_array.copy()
        self.may_read_abstract_values = may_read_abstract_values(context)
        self._num_mended = 0
        self._logs: list[tuple[Any, int]] = []  # that are in use, and how many samples they had before
        self._abstract_state: Sequence[Any] = ()  # from which the simulation in progress has started
        self._marks: Array = np.zeros(NUM_MARKS, dtype=np.int64)
        self._loop = kernel_address(advance, plan.address)

    def _find_settled(self) -> list[int] | None:
        """The abstract state variables that are brought up to date when Python takes over; None if that is not all."""
        boxes = abstract_state_of(self.context)
        found = []
        for write_back in self._plan._program.write_backs:
            owner = getattr(write_back, "__self__", None) or getattr(write_back, "box", None)
            mine = [n for n, box in enumerate(boxes) if box is owner]
            if not mine:
                return None
            found.append(mine[0])
        return found

    def is_usable(self) -> bool:
        """Whether Python has no part in what has been found to happen."""
        plan = self._plan
        program = plan._program
        is_allowed = plan.is_current() and plan._is_allowed and self.settled is not None
        return is_allowed and not (program.num_callbacks or program.reads_abstract_state)  # rows are numbers alone

    def has_samples(self) -> bool:
        """Whether a simulation leaves anything in the abstract state."""
        return bool(self.settled)

    def leaves_traces(self) -> bool:
        """Whether a simulation changes anything beside the numbers of the state: logs, samples, generators."""
        return bool(self.logs_at or self.settled)

    def has_generators(self) -> bool:
        """Whether operations draw random numbers by generators in the abstract state."""
        return any(hasattr(write_back, "box") for write_back in self._plan._program.write_backs)

    # ------------------------------------------------------------------ running

    def begin(self) -> None:
        """Begins with the first row."""
        self._marks[ROW] = self._marks[STAGE] = 0

    def row(self) -> int:
        """The row in progress, or the next one."""
        return self._marks.item(ROW)

    def skip_row(self) -> None:
        """Leaves the row in progress to Python."""
        self._marks[ROW] += 1
        self._marks[STAGE] = LOAD

    def run(self, rows: Array, boundary_time: float, results: Array, counts: Array, num_steps: int) -> int | None:
        """Goes on with rows, from where it was.

        Args:
            rows: values at `offsets`, shape [n, m].
            boundary_time: up to which time [s].
            results: gets the values at `results_at`, shape [n, k].
            counts: gets the numbers of steps, unrestricted and discrete updates, and publish events, shape [n, 4].
            num_steps: after how many steps to return.

        Returns:
            0 after the last row, 1 after `num_steps`; None if the row in progress is one that Python has to simulate.
        """
        plan, marks = self._plan, self._marks
        marks[STEPS_LEFT] = num_steps
        plan._begin_slice()
        while True:
            outcome: int = advance_rows(
                self._loop, plan.address, self._start_as_integers, self._step_fields, self._step_reals,
                self.offsets, self.results_at, rows, boundary_time, marks, results, counts,
            )  # fmt: skip
            if outcome == f.DONE:
                return 0
            if outcome == f.PAUSE:
                return 1
            plan.raise_what_was_kept(outcome)
            if not self._could_be_mended():
                return None

    def _could_be_mended(self) -> bool:
        """After an operation has failed: whether it was for want of room, so that the row can begin again."""
        if self._plan.is_current() or self._num_mended >= _MOST_MENDED:
            return False
        self._num_mended += 1
        self._plan._lower()
        self.forget_samples()
        self.use_abstract_state(self._abstract_state)
        self._marks[STAGE] = LOAD
        return self.is_usable()

    def offsets_of_input(self, port: int) -> Array:
        """Where the value of a free vector input port of the whole stands in the flat array."""
        fixed = self.context.sources[port]
        offset: int = self.context.layout.free_offsets[port]  # type: ignore[assignment]
        return np.arange(offset, offset + fixed.value.size())

    def offsets_of_parameters(self, group: int) -> Array:
        """Where a group of numeric parameters of the whole stands in the flat array."""
        values = self.context.peek_parameters().get_numeric_parameter(group).value()
        offset = offset_in(self.context.store.flat, values)
        return np.arange(offset, offset + len(values))

    # ------------------------------------------------------------------ traces

    def use_logs(self, boxes: list[Any]) -> None:
        """Lets simulations write to other logs, given in their boxes in the order of cache entries."""
        slots = self.context.store.slots
        for n, box in zip(self.logs_at, boxes):
            slots[n].value = box
        self._logs = [(box.get_value(), box.get_value().num_samples()) for box in boxes]
        self._plan._place_logs()
        self._start.room_in_logs = self._plan.now.room_in_logs

    def forget_samples(self) -> None:
        """Takes out of the logs what a simulation has written that is not complete."""
        for log, num_before in self._logs:
            log.keep_first(num_before)

    def use_abstract_state(self, boxes: Sequence[Any]) -> None:
        """Lets the next simulation start with the generators of an abstract state, whose boxes it does not change."""
        self._abstract_state = boxes
        mine = abstract_state_of(self.context)
        for write_back, n in zip(self._plan._program.write_backs, self.settled or ()):
            if boxes and hasattr(write_back, "box"):
                write_back.forget()
                mine[n].SetFrom(boxes[n])

    def copy_abstract_state_to(self, boxes: Sequence[Any]) -> None:
        """Gives the boxes of another abstract state what the last row has left: samples, generators."""
        store = self.context.store
        store.invalid |= self.context.layout.down["pn"] | self.context.layout.down["xd"]
        for write_back in self._plan._program.write_backs:
            write_back()
        mine = abstract_state_of(self.context)
        for n in self.settled or ():
            boxes[n].SetFrom(mine[n])

    def copy_generators_to(self, boxes: Sequence[Any]) -> None:
        """Gives the boxes of another abstract state the generators alone: 10 us, where samples of contacts take 100."""
        mine = abstract_state_of(self.context)
        for write_back, n in zip(self._plan._program.write_backs, self.settled or ()):
            if hasattr(write_back, "box"):
                write_back()
                boxes[n].SetFrom(mine[n])


def _check_events(simulator: Simulator) -> None:
    """Raises LookupError if a simulation has events or settings that are left to Python."""
    system, context = simulator.get_system(), simulator.get_context()
    looks_often = (
        simulator._publishes_every_step
        or simulator._publishes_at_initialization
        or simulator._monitor is not None
        or simulator._target_rate > 0.0
    )
    schedule = EventSchedule(system, context)
    if looks_often or may_have_witnesses(system) or any(_lists(schedule.initialization)):
        raise LookupError
    for leaf, event in schedule._ordered:
        if event.native is None or event.native.resolve(leaf) is None:
            raise LookupError


def _lists(events: SimultaneousEvents) -> tuple[EventList, ...]:
    return events.unrestricted, events.discrete, events.publish
