"""Plan: runs a Simulator's loop compiled, and does in Python what cannot be compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from merganser.analysis.integrators.compiled_steps import STEPS
from merganser.analysis.integrators.step_state import WITH_STATE, WITH_TIME
from merganser.analysis.plan import loop_state as f
from merganser.analysis.plan.callbacks import DisturbanceError, Handler, WatchedStep
from merganser.analysis.plan.loop import advance, evaluate
from merganser.analysis.plan.program import Program
from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.clocks import forget_strikes
from merganser.analysis.simulation.due_events import DueEvents
from merganser.analysis.simulation.event_schedule import NOTHING, EventList
from merganser.analysis.simulation.step_parts import note_end
from merganser.analysis.simulation.steps import make_updates
from merganser.framework.core.declarations.events import DID_ITS_WORK, DID_NOTHING, Event, EventStatus, most_severe
from merganser.framework.core.declarations.execution import NOTHING_BEGUN, Begun
from merganser.framework.native import kernel_address, specialize
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.records_of_arrays import (
    address_of_record,
    clear_record,
    new_record,
    place_arrays,
)
from merganser.framework.native.memory.tape import AGAIN, RAISED, SUCCEEDED, clock_address
from merganser.framework.primitives import VectorLog

if TYPE_CHECKING:
    from merganser.analysis.integrators import IntegratorBase
    from merganser.analysis.plan.watching import CompiledWatch
    from merganser.analysis.progress import SimulationProgress
    from merganser.analysis.simulation.event_schedule import EventSchedule
    from merganser.analysis.simulation.witness_watch import WitnessWatch
    from merganser.framework import Context

_PLENTY = 1 << 62
_CALLS_BETWEEN_LOOKS = 256  # how often it is asked whether what was not worth while to compile has become so
_MOST_CLOCKS = 60  # they are bits of an integer
_MOST_WATCHED_CLOCKS = 31  # the other bits are for witness functions that have triggered, and for arrivals
_OUT_OF_DATE = -1  # no version of what is known about dependencies
_UNKNOWN = -1  # no number of edits of logs


def make_plan(
    context: Context,
    schedule: EventSchedule,
    integrator: IntegratorBase,
    watch: WitnessWatch | None = None,
    is_patient: bool = False,
) -> Plan | None:
    """A plan for a Context of floats, if the integrator's steps can be compiled.

    Args:
        context: the root context.
        schedule: of its events.
        integrator: advances it.
        watch: watches witness functions; None without them.
        is_patient: whether Python may do for a while what would have to be compiled.
    """
    most_clocks = _MOST_WATCHED_CLOCKS if watch is not None or schedule.arrivals is not None else _MOST_CLOCKS
    if context.store.flat.dtype != np.float64 or schedule.num_clocks() > most_clocks:
        return None
    if context.num_continuous_states() and integrator._compiled_steps() is None:
        return None
    return Plan(context, schedule, integrator, watch, is_patient)


class Plan:
    """The compiled way to advance one Context.

    It takes the steps of simulation/steps.py, as Python does, and leaves to Python what is out of the ordinary, such as
    steps that fail. A step that ends where a witness function triggers is a callback; its events are those of the loop.

    An exception or interrupt may come at any moment, also while the program is made or grows. A program is therefore
    out of date until it is complete, and `leave` can be called again where it was cut short itself.

    Args:
        context: the root context.
        schedule: of its events.
        integrator: whose steps are compiled, unless there is no continuous state.
        watch: watches witness functions; None without them.
        is_patient: see Assembly.

    Attributes:
        statuses: of handlers that end the simulation, as long as the loop runs.
        now, problem: what the loop knows, see loop_state.py.
        address: of the problem.
        left_out: publish events that were not wanted at their time, to happen where the advance ends.
    """

    def __init__(
        self,
        context: Context,
        schedule: EventSchedule,
        integrator: IntegratorBase,
        watch: WitnessWatch | None = None,
        is_patient: bool = False,
    ) -> None:
        self._context, self._is_patient = context, is_patient
        self._store = context.store
        self._schedule = schedule
        self._integrator, self._step = integrator, integrator._step
        self._program: Program  # of `_lower`
        self._reads: dict[int, int] = {}
        self.problem = new_record(f.Problem)
        self.now = self.problem.progress
        self._patience = new_record(f.Patience)
        self._patience.get_time, self._patience.which_clock = clock_address()
        self._clocks = np.array(schedule.clocks(), dtype=float)
        self._num_calls = 0
        self._room_in_logs = _PLENTY
        self._is_running = self._has_failed = False
        self._outcome = SUCCEEDED  # of the loop
        self._has_new_reads = False  # whether it has become known that event handlers read more
        self._show: Callable[[float], None] = _show_nothing
        # They are kept, as the loop has their addresses.
        self._callbacks = (
            self._look, self._add_group_in_loop, self._make_room, self._update_in_python, self._determine_witnesses,
            self._note_triggers,
        )  # fmt: skip
        look, add_group, make_room, update, determine, note = map(id, self._callbacks)
        self.problem.look, self.problem.add_group, self.problem.make_room = look, add_group, make_room
        self.problem.update_in_python = update
        self.problem.determine_witnesses, self.problem.note_triggers = determine, note
        self._set_watch(watch)
        self._due = DueEvents(self.time(), schedule.events)  # of the advance
        self.left_out: EventList = []
        self.statuses: list[EventStatus] = []
        self.address = address_of_record(self.problem)
        self._set_up_loop()
        self._lower()
        self._advance = specialize(advance, self.address)

    # ------------------------------------------------------------------ what the loop needs to know

    def _set_up_loop(self) -> None:
        """What the loop needs to know of the clocks and of the integrator."""
        problem = self.problem
        problem.patience, problem.num_clocks = address_of_record(self._patience), self._schedule.num_clocks()
        place_arrays(problem, values=self._store.flat, clocks=self._clocks)
        if self._schedule.arrivals is not None:
            place_arrays(problem, notifications=self._schedule.arrivals.notifications)
        place_arrays(self._integrator._problem, time=self._store.flat[:1])
        problem.step = address_of_record(self._integrator._problem)
        problem.take_step = STEPS.address()
        self._evaluate = kernel_address(evaluate, self.address, 0)

    def _lower(self) -> None:
        """Makes the program again, for the dependencies, connections and groups of events known so far."""
        self._version = _OUT_OF_DATE
        self._has_new_reads = False
        version, routing = self._store.layout.version, self._store.routing
        self._compiled_steps = self._integrator._compiled_steps()  # of its arrays, which it may have made again
        known_groups = [0]
        if hasattr(self, "_program"):
            known_groups = list(self._program.group_numbers)
            self._note_left_out()
        computed = [evaluator.slots for evaluator in self._integrator._evaluators]
        self._program = Program(
            self, self._context, self._schedule, computed, known_groups, self._reads, self._is_patient,
            self._compiled_watch(),
        )  # fmt: skip
        if self._program.watch is not None:
            self._program.watch.place(len(computed), self._program.derivatives, self._evaluate)
        # Making it may have changed the arrays that operations made before work on: then it must not run.
        self._is_allowed = all(slot.clearing != -1 for slot in self._store.slots) and self._program.is_current()
        now = self.now
        now.needs_all, now.is_out_of_date = 1, 0
        if now.flags:  # updates that are pending may be operations now, or be left to Python
            now.flags = self._program.records[now.pending].flags
            now.state_is_updated = now.state_is_updated and not now.flags & codes.IS_LEFT_TO_PYTHON
        self._routing = routing
        self._point_to_program(version)
        self._place_logs()

    def _set_watch(self, watch: WitnessWatch | None) -> None:
        """Notes what watches witness functions, and whether the same ones always count."""
        self._watch = watch
        self._watched_step = None if watch is None else WatchedStep(self, self._schedule, watch)
        self._watch_version: int | None = None  # of the watch that is compiled

    def _compiled_watch(self) -> CompiledWatch | None:
        """The compiled form of the watch; None without one, or where the functions that count change with the state."""
        watch = self._watch
        if watch is None:
            return None
        from merganser.analysis.plan.watching import CompiledWatch

        if watch.now.is_stale:
            watch.determine_active()
        if self._watch_version is None:
            self._watch_version = watch.version
        return CompiledWatch(watch, self.address) if self._watch_version == watch.version else None

    def _point_to_watch(self) -> None:
        """Notes for the loop what watches witness functions."""
        problem, compiled = self.problem, self._program.watch
        problem.watch = 0
        if compiled is not None and self._watch is not None:
            problem.watched_step = compiled.kernel().address()
            problem.has_fixed_witnesses = self._watch.has_fixed_witnesses
            problem.watch = compiled.address

    def _make_current(self) -> None:
        """Makes the program again if making it has replaced arrays of its own; if it does again, Python takes over."""
        if not self._program.is_current():
            self._lower()
            if not self._is_allowed:
                raise DisturbanceError

    def _add_group(self, clocks: int) -> None:
        """Adds simultaneous events, by the bits of their clocks."""
        first = len(self._program.logs) if self._log_edits == VectorLog.num_edits else 0
        version, self._version = self._version, _OUT_OF_DATE
        self._program.add_group(clocks)
        self._point_to_program(version)
        self._place_logs(first)

    def _point_to_program(self, version: int) -> None:
        """Gives the loop the program, which is complete, and made for a version of what is known of dependencies."""
        problem, program = self.problem, self._program
        problem.operations, problem.groups = program.operations.address, address_of_array(program.groups)
        place_arrays(problem, places_of_groups=program.places_of_groups, ranges=program.ranges)
        evaluation = self._integrator._problem.evaluation
        problem.failure = evaluation.failure = address_of_array(program.operations.failure)
        problem.constants_begin, problem.constants_end = program.constant_range
        down = self._context.layout.down
        reads_time, reads_state = bool(down["time"] & program.derivatives), bool(down["xc"] & program.derivatives)
        self._changing = evaluation.changing = WITH_TIME * reads_time | WITH_STATE * reads_state
        self._mask_of_changes: dict[int, int] = {}
        self._log_edits = _UNKNOWN  # of its logs, until they are placed
        self._point_to_watch()
        self._version = version

    def _place_logs(self, first: int = 0) -> None:
        """Passes the logs to the operations, from the first one that they do not know, and notes capacity in them.

        A log of other numbers than floats is left to Python, by a new program.
        """
        num_edits, self._log_edits = VectorLog.num_edits, _UNKNOWN  # until all is noted
        room, most = _PLENTY, self._program.most_samples
        flat, integers = self._store.flat, self._program.operations.integers
        for number, place in enumerate(self._program.logs):
            if number >= first:
                log, at = place.log(), place.first
                arrays = log.native_arrays()
                if arrays is None:
                    integers[at] = 0  # no room
                    self._version = _OUT_OF_DATE
                    self.now.is_out_of_date = 1
                    continue
                if log.num_samples() + 2 * most > len(arrays[0]):
                    log.Reserve(2 * log.num_samples() + 2 * most)
                    arrays = log.native_arrays()
                times, data, count = arrays
                integers[at : at + 4] = (len(times), *place.offsets_in(flat, (count, times, data)))
            room = min(room, place.capacity_left() // most - 1)
        self._room_in_logs = self.now.room_in_logs = room
        self._log_edits = num_edits

    def _look_at_logs(self) -> bool:
        """Notes the room in logs; returns whether all are for the loop."""
        if self._log_edits != VectorLog.num_edits:
            self._place_logs()
        elif self._program.logs:
            most = self._program.most_samples
            self._room_in_logs = min(place.capacity_left() // most - 1 for place in self._program.logs)
        return self._version != _OUT_OF_DATE

    # ------------------------------------------------------------------ running

    def advance(
        self,
        due: DueEvents,
        watch: WitnessWatch | None,
        progress: SimulationProgress,
        is_single_step: bool = False,
    ) -> int:
        """Runs until the boundary time, until an event handler ends the simulation, or until Python has to take a step.

        `leave` puts into `due` what has been done and is still to be done; who catches an interrupt calls it again.

        Args:
            due: where the simulation is, and the events that are due there.
            watch: watches witness functions; None without them.
            progress: what shows it.
            is_single_step: whether to stop after one step in any case.

        Returns:
            DONE, STOPPED, PAUSE after the step that was asked for, or PYTHON_STEP: the rest of it is for Python.

        Raises:
            Exception: what a callback has raised. The context is at the beginning of the step then, after the updates
                there, or where the event happened.
        """
        if watch is not self._watch:
            self._set_watch(watch)
            self._version = _OUT_OF_DATE
        self._has_failed = False
        self._num_calls += 1
        is_time_to_look = self._num_calls % _CALLS_BETWEEN_LOOKS == 0
        may_add_more = is_time_to_look and self._program.may_be_lowered_further()  # which may change what it works on
        is_current = self.is_current() and not self._has_new_reads and self._look_at_logs()
        if may_add_more or not is_current:
            self._lower()
        store = self._store
        if not self._is_allowed or store.computing or store.num_disturbances:
            return codes.PYTHON_STEP
        self._due = due
        try:
            self._enter(due.boundary, 1 if is_single_step else _PLENTY)
            self._show = progress.update
            outcome = self._run()
        except DisturbanceError:
            return codes.PYTHON_STEP
        finally:
            self.leave()
        is_end = outcome in (codes.DONE, codes.STOPPED) or (outcome == codes.PAUSE and is_single_step)
        return outcome if is_end else codes.PYTHON_STEP

    def is_current(self) -> bool:
        """Whether the program is that of the dependencies, connections and model as they are."""
        return self._knows_dependencies() and self._program.is_current()

    def _knows_dependencies(self) -> bool:
        """Whether the program is that of the dependencies, connections and arrays as they are."""
        store = self._store
        is_program = self._version == store.layout.version and self._routing == store.routing
        is_watch = self._program.watch is None or self._program.watch.is_current()
        return is_program and is_watch and self._compiled_steps is self._integrator._compiled

    def _enter(self, boundary_time: float, num_steps: int) -> None:
        now, due, problem, evaluation = self.now, self._due, self.problem, self._integrator._problem.evaluation
        pending = due.pending.number if due.flags else 0
        if pending not in self._program.group_numbers:
            self._add_group(pending)
            self._make_current()
        group = self._program.group_numbers[pending]
        flags = self._program.records[group].flags if due.flags else 0
        self.statuses, self._outcome = [], SUCCEEDED
        due.statuses, due.begun = [], NOTHING_BEGUN
        clear_record(now)
        now.stage, now.time, now.has_updated = due.stage, due.time, due.has_updated
        now.pending, now.flags = group, flags
        now.state_is_updated = due.state_is_updated and not flags & codes.IS_LEFT_TO_PYTHON
        now.needs_all, now.steps_left = 1, num_steps
        now.room_in_logs = self._room_in_logs
        problem.take_watched_step = 0 if self._watched_step is None else id(self._watched_step)
        self._begin_slice()
        now.boundary = boundary_time
        evaluation.kernel, evaluation.argument, evaluation.failure = self._evaluate, self.address, problem.failure
        evaluation.changing, self._step.has_moved = self._changing, 0
        forget_strikes(self._clocks, self._schedule.num_clocks())
        self.note_what_is_known()
        if self._schedule.arrivals is not None:
            self._schedule.arrivals.look()
        self._is_running = True

    def _begin_slice(self) -> None:
        """Lets the loop run for a while from now on."""
        self._patience.passes = self._patience.passes_left = 1
        self._patience.slice_end = 0

    def leave(self) -> None:
        """Takes over what the loop has done; the second time it does nothing.

        After an exception the context is at the beginning of the step, or at the event where it came.
        """
        if not self._is_running:
            return
        now = self.now
        if self._outcome == RAISED:  # a callback has not come to its end, which would have noted what it has changed
            self._step.is_current, now.needs_all = 0, 1
        self.note_changes()
        for write_back in self._program.write_backs:
            write_back()
        self._note_left_out()
        self._hand_over()

    def _hand_over(self) -> None:
        """Notes for Python where the step is and what is due, and adds up what has been done."""
        now, due = self.now, self._due
        statuses, begun = self._outcomes()
        stage, pending, state_is_updated = now.stage, NOTHING, now.state_is_updated
        if now.flags:
            pending = self._program.events[now.pending]
        if stage == codes.UPDATING_IN_PYTHON:
            stage, pending, state_is_updated = due.stage, due.pending if due.flags else NOTHING, due.state_is_updated
        elif stage == codes.WATCHING:
            stage = codes.STEPPING
        self._schedule.step_events(now.due)  # among those known so far
        num_publishes = now.num_publishes
        num_publishes -= self._has_failed and now.stage != codes.PUBLISHING  # publish events that fail do not count
        # No signal is looked at.
        due.stage, due.time, due.pending, due.flags = stage, now.time, pending, pending.flags
        due.due, due.next_time, due.state_is_updated = now.due, now.next_time, state_is_updated
        due.has_updated, due.must_stop, due.statuses, due.begun = now.has_updated, now.must_stop, statuses, begun
        due.num_steps += now.num_steps
        due.num_state_updates += now.num_state_updates
        due.num_updates += now.num_updates
        due.num_publishes += num_publishes
        self._is_running = False

    def _note_left_out(self) -> None:
        for handler in self._program.on_demand:
            if handler.left_out[0] and handler.events[0] not in self.left_out:
                self.left_out.append(handler.events[0])
            handler.left_out[0] = 0

    def _outcomes(self) -> tuple[list[EventStatus], Begun]:
        """What the events have come to, and what has been computed of the updates that are pending."""
        now, place = self.now, self.now.stage
        if place == codes.UPDATING_IN_PYTHON:
            return self._due.statuses, self._due.begun
        if place == codes.PUBLISHING:
            others = DID_ITS_WORK if now.has_effect else DID_NOTHING
            return [*self.statuses, *[others] * (now.handled - len(self.statuses))], NOTHING_BEGUN
        if self._outcome == RAISED and place == codes.UPDATING:  # these updates have not been made, and happen again
            return [], NOTHING_BEGUN
        if self._outcome == codes.PYTHON_UPDATES:
            begin = self._program.records[now.pending].update_begin
            called = range(begin, begin + now.handled)
            handlers = [handler for handler in self._program.update_handlers if handler.number in called]
            if handlers:
                return [], self._begun(handlers[-1])
        return self.statuses, NOTHING_BEGUN

    def _begun(self, handler: Handler) -> Begun:
        """The discrete updates up to those of the last handler that has been called; the others are left to Python."""
        last, events = handler.events[-1], self._program.events[self.now.pending].discrete
        number = next(n for n, item in enumerate(events) if item[0] is last[0] and item[1] is last[1]) + 1
        contexts = dict.fromkeys(context for context, _ in events[:number])
        has_effect = self.now.has_effect
        updates = [(context, context.room_for_update()) for context in contexts] if has_effect else []
        return Begun(updates, number, [DID_ITS_WORK if has_effect else DID_NOTHING, *self.statuses])

    def note_changes(self, valid: int = 0) -> None:
        """Before Python looks: marks as out of date what the loop has changed, and as valid what it has computed.

        Args:
            valid: mask of what it is known to have computed.
        """
        now, store, program = self.now, self._store, self._program
        changed = now.changed
        if changed:
            mask = self._mask_of_changes.get(changed)
            store.invalid |= self._downstream(changed) if mask is None else mask
            now.changed = 0
        if program.derivatives and self._step.is_current:
            valid |= program.derivatives
        if program.constants and not now.needs_all:
            valid |= program.constants
        if valid:
            store.invalid &= ~valid

    def note_what_is_known(self) -> None:
        """After Python has had its turn: what is valid of that which the loop computes?"""
        invalid, program = self._store.invalid, self._program
        if program.derivatives:
            self._step.is_current = not invalid & program.derivatives
        if invalid & program.constants:
            self.now.needs_all = 1

    def time(self) -> float:
        """The time in the Context [s]."""
        return self._store.flat.item(0)

    def _downstream(self, changed: int) -> int:
        mask = 0
        for bit, downstream in enumerate(self._program.changes):
            if changed >> bit & 1:
                mask |= downstream
        self._mask_of_changes[changed] = mask
        return mask

    def _run(self) -> int:
        """Runs the loop; returns why it has ended, see step_codes.py."""
        advance_loop, address = self._advance, self.address
        self._outcome = advance_loop(address)
        while self._outcome == AGAIN:
            self.note_changes()
            self._lower()
            self._make_current()
            self._outcome = advance_loop(address)
        self.raise_what_was_kept(self._outcome)
        return self._outcome

    def raise_what_was_kept(self, outcome: int) -> None:
        """Raises the exception for which the loop has ended, if it is one."""
        if outcome == RAISED:
            self._program.operations.raise_kept()

    # ------------------------------------------------------------------ called by the loop

    def _look(self) -> int:
        """Lets Python look for signals, which it does by itself, shows progress, and lets the loop run on.

        Asking what may be an operation by now may change the arrays that others work on: is_current() is asked last.
        """
        self._show(self._store.flat.item(0))
        self._begin_slice()
        return AGAIN if self._program.may_be_lowered_further() or not self._program.is_current() else SUCCEEDED

    def _add_group_in_loop(self) -> int:
        """Adds the group of events that the loop needs."""
        self._add_group(self.now.due)
        return SUCCEEDED if self._program.is_current() else AGAIN

    def _make_room(self) -> int:
        """Makes room in logs."""
        self._place_logs()
        return AGAIN if self.now.is_out_of_date else SUCCEEDED

    def _determine_witnesses(self) -> int:
        """Asks which witness functions count; if these are others than before, Python takes the steps from now on."""
        assert self._watch is not None
        self.note_changes()
        self._watch.determine_active()
        self.now.has_updated = 0
        return SUCCEEDED if self.note_callback(has_effect=False) else AGAIN

    def _note_triggers(self) -> int:
        """Notes what is due where witness functions have triggered."""
        self.note_changes()
        note_end(self.now, self.time(), self._schedule, self._watch)
        return SUCCEEDED if self.note_callback(has_effect=False) else AGAIN

    def _update_in_python(self) -> int:
        """Makes the updates that are due, as all of their group are left to Python."""
        now, due = self.now, self._due
        self.note_changes()
        for write_back in self._program.write_backs:
            write_back()
        due.time = now.time
        due.make_pending(self._program.events[now.pending].number)
        now.stage = codes.UPDATING_IN_PYTHON
        now.must_stop = make_updates(self, due) == codes.STOPPED
        if not self.note_callback() or not self._program.is_current():
            now.is_out_of_date = 1
        return SUCCEEDED

    def note_callback(self, has_effect: bool = True) -> bool:
        """Takes note of what a callback may have done.

        Args:
            has_effect: whether other entries than before are out of date.

        Returns:
            Whether the program is that of the dependencies, connections and arrays as they are.
        """
        store = self._store
        if store.num_disturbances:  # by what a handler has asked for: the loop ends with this step
            self.now.needs_all, self.now.steps_left = 1, 0
        if has_effect and self.now.stage != codes.STEPPING:
            self.note_what_is_known()
        if self._log_edits != VectorLog.num_edits:  # a log was changed or grown by others
            self._place_logs()
        return self._knows_dependencies()

    def note_reads(self, key: int, reads: int) -> None:
        """Notes what event handlers have been seen to read: a new program will compute that before them."""
        self._reads[key] = reads
        self._has_new_reads = True
        self.now.is_out_of_date = 1

    def note_statuses(self, kind: type[Event]) -> int:
        """Has the loop end for statuses that end the simulation; returns what the operation of a handler comes to."""
        has_failed = most_severe(self.statuses).failed()
        if has_failed and kind.changes_state:
            return codes.STOPPED
        self.now.has_effect = self.now.must_stop = 1
        self._has_failed = has_failed
        return SUCCEEDED


def _show_nothing(time: float) -> None:
    """Progress outside of an advance."""
