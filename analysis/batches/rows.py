"""Many simulations through one plan: the flat array of one Context is loaded with a row of values for each of them.

A `BatchWorker` is a Context with a plan in which Python has no part. It runs simulations one after the other, in one
compiled loop that takes, for each, the steps that a Simulator of its own would take, with the same values in the same
order, so to the last bit. Several workers run in as many threads.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.batches.batch_contexts import (
    abstract_state_of,
    independent_offsets,
    may_read_abstract_values,
    result_offsets,
    routing_of,
)
from merganser.analysis.batches.rows_in_lanes import LanesOfWorker
from merganser.analysis.integrators.problem import clear, step_problem_at
from merganser.analysis.integrators.step_state import Step
from merganser.analysis.integrators.stepping import first_step_size
from merganser.analysis.plan import loop_state as f
from merganser.analysis.plan.loop import advance
from merganser.analysis.plan.loop_state import problem_at
from merganser.analysis.plan.plan import make_plan
from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.clocks import clocks_at, forget_strikes
from merganser.analysis.simulation.event_schedule import EventSchedule
from merganser.framework.native import device, kernel, kernel_address
from merganser.framework.native.memory.records_of_arrays import (
    FLOAT,
    INTEGER,
    ArrayOf,
    Floats,
    Integers,
    address_of_record,
    new_record,
    place_arrays,
    record_at_address,
)
from merganser.framework.native.memory.tape import call_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from merganser.analysis.simulation.event_schedule import EventList, SimultaneousEvents
    from merganser.analysis.simulation.simulator import Simulator

Array = NDArray[Any]
_WORTHWHILE_SHARE = 0.3  # of steps that are taken side by side
ANY_NUMBER = 1 << 62  # of steps
_LONGEST_PAUSE = 63  # blocks of rows


class Rows(NamedTuple):
    """The rows that a worker simulates, and how far it is; Python keeps the arrays.

    Attributes:
        loop: the kernel `advance`.
        problem: address of the plan's Problem.
        progress, step: those of the loop and of the integrator as they are at the start of a row.
        row: the one in progress, or the next one.
        stage: of that row, see below.
        steps_left: until the loop returns.
        most_steps: of each row, which is left where it is then.
        boundaries: up to which time each is simulated [s], shape [n].
        offsets: in the flat array: time, then other values, shape [m].
        results_at: in the flat array, shape [k].
        rows: values at `offsets`, shape [n, m].
        results: shape [n, k].
        counts: shape [n, number of counts].
    """

    loop: int
    problem: int
    progress: f.Progress
    step: Step
    row: int
    stage: int
    steps_left: int
    most_steps: int
    boundaries: Floats
    offsets: Integers
    results_at: Integers
    rows: Annotated[Array, ArrayOf(FLOAT, 2)]
    results: Annotated[Array, ArrayOf(FLOAT, 2)]
    counts: Annotated[Array, ArrayOf(INTEGER, 2)]


_rows_at = record_at_address(Rows)

# Stages of a row.
LOAD, INITIALIZE, ADVANCE = range(3)

_NUM_COUNTS = 4  # of each row: steps, unrestricted and discrete updates, publish events
_MOST_CLOCKS_AT_ONCE = 16
_MOST_MENDED = 32  # how often operations of one worker may grow their capacity


@device
def _load(p: Any, given: Any, row: Any) -> None:
    """Resets everything: the loop, the integrator and the values of the Context."""
    problem, values, offsets = step_problem_at(p.step), p.values, given.offsets
    p.progress, problem.step = given.progress, given.step
    clear(problem.memory)
    for k in range(len(offsets)):
        values[offsets[k]] = row[k]
    if len(problem.state):
        problem.step.ideal_step_size = first_step_size(p.step)


@device
def _make_first_events_due(p: Any, now: Any, time: float) -> None:
    """As Simulator.Initialize: what is due at the start is published, and updates wait for the first step."""
    clocks = p.clocks
    forget_strikes(clocks, p.num_clocks)
    now.due, now.time = clocks_at(clocks, p.num_clocks, time), time
    now.stage, now.steps_left, now.boundary = codes.PUBLISHING, 1, math.inf


@kernel
def advance_rows(
    address: int,  # of a Rows
) -> int:
    """Runs rows to the end, or until Python is needed: returns why, see step_codes.py; DONE after the last row."""
    given = _rows_at(address)
    p = problem_at(given.problem)
    now, values, rows = p.progress, p.values, given.rows
    results_at, results, counts = given.results_at, given.results, given.counts
    while given.row < rows.shape[0]:
        n = given.row
        if given.stage == LOAD:
            _load(p, given, rows[n])
            _make_first_events_due(p, now, values[0])
            given.stage = INITIALIZE
        if given.stage == INITIALIZE:
            outcome = call_kernel(given.loop, (given.problem,))
            if outcome != codes.PAUSE:
                return outcome
            now.boundary = given.boundaries[n]
            given.stage = ADVANCE
        now.steps_left = num_steps = min(given.steps_left, given.most_steps - now.num_steps)
        outcome = call_kernel(given.loop, (given.problem,))
        given.steps_left -= num_steps - now.steps_left
        if outcome == codes.PAUSE and now.num_steps >= given.most_steps:
            outcome = codes.DONE
        if outcome != codes.DONE:
            return outcome
        for k in range(len(results_at)):
            results[n, k] = values[results_at[k]]
        counts[n, 0], counts[n, 1] = now.num_steps, now.num_state_updates
        counts[n, 2], counts[n, 3] = now.num_updates, now.num_publishes
        given.row += 1
        given.stage = LOAD
    return codes.DONE


class BatchWorker:
    """A Context through which simulations go one after the other, without Python.

    Args:
        simulator: of the Context, which belongs to the worker, with its settings.

    Attributes:
        context: the Context.
        offsets: offsets in its flat array of the values that a simulation starts from, shape [m]; the time first.
        results_at: offsets of the values that it changes: time and state, shape [k].
        results_in_rows: where these are among `offsets`, shape [k].
        settled: numbers of the abstract state variables that it changes; None if unknown.
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
        self.results_in_rows = np.searchsorted(self.offsets, self.results_at)
        writers = {id(log.context) for log in plan._program.logs}
        slots = enumerate(context.store.slots)
        self.logs_at = [n for n, slot in slots if slot.entry.is_storage and id(slot.context) in writers]
        self.settled = self._find_settled()
        if not self.is_usable():
            raise LookupError
        plan._enter(math.inf, 0)
        integrator._step.is_current = 0
        self._rows = rows = new_record(Rows)
        self._address: int = address_of_record(rows)
        rows.loop, rows.problem = kernel_address(advance, plan.address), plan.address
        rows.progress, rows.step = plan.now, integrator._step
        place_arrays(rows, offsets=self.offsets, results_at=self.results_at)
        self.may_read_abstract_values = may_read_abstract_values(context)
        self._num_mended = 0
        self._lanes: LanesOfWorker | None = None
        self._pause = self._last_pause = 0  # how many blocks of rows go without lanes
        self._logs: list[tuple[Any, int]] = []  # that are in use, and how many samples they had before
        self._abstract_state: Sequence[Any] = ()  # from which the simulation in progress has started

    def _find_settled(self) -> list[int] | None:
        """The abstract state variables that are updated when Python takes over; None if others are, too."""
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
        """Whether no event or operation found so far needs Python."""
        plan = self._plan
        program = plan._program
        is_allowed = plan.is_current() and plan._is_allowed and self.settled is not None
        return is_allowed and not (program.num_callbacks or program.reads_abstract_state)  # rows are numbers alone

    def suits(self, rows: Array) -> Array:
        """Whether operations are right for rows of values at `offsets`."""
        return self._plan._program._assembly.suits(self.offsets, rows)

    def has_generators(self) -> bool:
        """Whether operations draw random numbers by generators in the abstract state."""
        return any(hasattr(write_back, "box") for write_back in self._plan._program.write_backs)

    # ------------------------------------------------------------------ running

    def lanes(self) -> LanesOfWorker | None:
        """What advances its rows side by side; None if nothing does, for now at least."""
        if self._pause > 0:
            self._pause -= 1
            return None
        if self._lanes is None:
            with contextlib.suppress(LookupError):
                self._lanes = LanesOfWorker(self)
        return self._lanes

    def note_share(self, share: float) -> None:
        """Notes which share of the steps of some rows have been taken side by side: after few, others go without."""
        self._last_pause = min(2 * self._last_pause + 1, _LONGEST_PAUSE) if share < _WORTHWHILE_SHARE else 0
        self._pause = self._last_pause

    def begin(self) -> None:
        """Begins with the first row."""
        self._rows.row = self._rows.stage = 0

    def row(self) -> int:
        """The current or the next row."""
        row: int = self._rows.row
        return row

    def skip_row(self) -> None:
        """Leaves the row in progress to Python."""
        self._rows.row += 1
        self._rows.stage = LOAD

    def run(
        self, rows: Array, ends: Array, results: Array, counts: Array, num_steps: int, most_steps: int = ANY_NUMBER
    ) -> int | None:
        """Goes on with rows, from where it was.

        Args:
            rows: values at `offsets`, shape [n, m].
            ends: up to which time [s], shape [n].
            results: gets the values at `results_at`, shape [n, k].
            counts: gets the numbers of steps, unrestricted and discrete updates, and publish events, shape [n, 4].
            num_steps: after how many steps to return.
            most_steps: of each row, which is left where it is then.

        Returns:
            0 after the last row, 1 after `num_steps`; None if the row in progress is one that Python has to simulate.
        """
        plan = self._plan
        self._rows.steps_left, self._rows.most_steps = num_steps, most_steps
        place_arrays(self._rows, rows=rows, boundaries=ends, results=results, counts=counts)
        plan._begin_slice()
        while True:
            outcome: int = advance_rows(self._address)
            if outcome == codes.DONE:
                return 0
            if outcome == codes.PAUSE:
                return 1
            plan.raise_what_was_kept(outcome)
            if not self._could_be_mended():
                return None

    def _could_be_mended(self) -> bool:
        """After an operation has failed: whether memory was short, so that the row can be repeated."""
        if self._plan.is_current() or self._num_mended >= _MOST_MENDED:
            return False
        self._num_mended += 1
        self._plan._lower()
        self._lanes = None
        self.forget_samples()
        self.use_abstract_state(self._abstract_state)
        self._rows.stage = LOAD
        return self.is_usable()

    # ------------------------------------------------------------------ traces

    def use_logs(self, boxes: list[Any]) -> None:
        """Lets simulations write to other logs, given in their boxes in the order of cache entries."""
        slots = self.context.store.slots
        for n, box in zip(self.logs_at, boxes):
            slots[n].made = box
        self._logs = [(box.get_value(), box.get_value().num_samples()) for box in boxes]
        self._plan._place_logs()
        self._rows.progress.room_in_logs = self._plan.now.room_in_logs

    def forget_samples(self) -> None:
        """Removes the samples of an incomplete simulation from the logs."""
        for log, num_before in self._logs:
            log.keep_first(num_before)

    def use_abstract_state(self, boxes: Sequence[Any]) -> None:
        """Starts the next simulation with the generators of an abstract state, without changing its boxes."""
        self._abstract_state = boxes
        mine = abstract_state_of(self.context)
        write_backs: list[Any] = self._plan._program.write_backs
        for write_back, n in zip(write_backs, self.settled or ()):
            if boxes and hasattr(write_back, "box"):
                write_back.forget()
                mine[n].SetFrom(boxes[n])

    def copy_abstract_state_to(self, boxes: Sequence[Any], has_samples: bool) -> None:
        """Copies the generators of the last row to the boxes of another abstract state.

        Args:
            boxes: get the generators.
            has_samples: whether to copy samples, too: those of contacts take 100 us, a generator 10.
        """
        if has_samples:
            self.context.store.invalid |= self.context.layout.down["pn"] | self.context.layout.down["xd"]
        mine = abstract_state_of(self.context)
        for write_back, n in zip(self._plan._program.write_backs, self.settled or ()):
            if has_samples or hasattr(write_back, "box"):
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
    if looks_often or system._sys_may_have_witnesses() or any(_lists(schedule.initialization)):
        raise LookupError
    for leaf, event in schedule._ordered:
        if event.native is None or event.native.resolve(leaf) is None:
            raise LookupError


def _lists(events: SimultaneousEvents) -> tuple[EventList, ...]:
    return events.unrestricted, events.discrete, events.publish
