"""Plan: runs a Simulator's loop compiled, and does in Python what cannot be compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.analysis.event_schedule import NOTHING, EventList, SimultaneousEvents
from merganser.analysis.integrators.explicit_runge_kutta import ExplicitRungeKutta
from merganser.analysis.integrators.radau import RadauMethod
from merganser.analysis.plan import fields as f
from merganser.analysis.plan.loop import advance
from merganser.analysis.plan.program import HandlerStop, Program, SlotStop, key_of
from merganser.framework.core.events import EventKind, EventStatus
from merganser.framework.native import specialize
from merganser.framework.native.assembly import place_relative_to
from merganser.framework.native.tape import clock_address
from merganser.framework.primitives import VectorLog

if TYPE_CHECKING:
    from merganser.analysis.event_schedule import EventSchedule
    from merganser.analysis.integrators import IntegratorBase
    from merganser.analysis.integrators.radau_stepper import RadauStepper
    from merganser.analysis.progress import SimulationProgress
    from merganser.framework import Context

__all__ = ["Plan", "make_plan"]

_STOPS_BETWEEN_LOOKS = 16  # how often Python is served before progress is shown
_PLENTY = 1 << 62
_CALLS_BETWEEN_LOOKS = 256  # how often it is asked whether what was not worth while to compile has become so
_EVALUATING = (f.ATTEMPT, f.EVALUATE)
_HANDLING = {f.UPDATE: f.UPDATE_INPUTS, f.PUBLISH: f.PUBLISH_INPUTS}
_PUBLISHING = (f.PUBLISH_INPUTS, f.PUBLISH)
_MOST_CLOCKS = 60  # they are bits of an integer
_INTEGRATOR_COUNTS = (
    ("_num_derivative_evaluations", f.NUM_EVALUATIONS),
    ("_num_error_shrinkages", f.NUM_SHRINKAGES),
    ("_num_failure_shrinkages", f.NUM_FAILURES),
)
_OUT_OF_DATE = -1  # no version of what is known about dependencies


class _DisturbanceError(Exception):
    """A computation has changed what the loop may have computed from: from now on, Python takes the steps."""


def make_plan(context: Context, schedule: EventSchedule, integrator: IntegratorBase) -> Plan | None:
    """A plan for a Context, if there is something to compile and the integrator's steps can be compiled."""
    is_float = context._store.flat.dtype == np.float64
    knows_steps = context.num_continuous_states() == 0 or isinstance(integrator, ExplicitRungeKutta)
    if is_float and isinstance(integrator, RadauMethod):
        knows_steps = knows_steps or integrator._find_stepper() is not None
    if not is_float or not knows_steps or schedule.num_clocks() > _MOST_CLOCKS:
        return None
    if context.num_continuous_states() == 0 and not _has_native_code(context):
        return None
    return Plan(context, schedule, integrator)


def _has_native_code(context: Context) -> bool:
    entries = ((slot.entry.native, slot.context) for slot in context._store.slots)
    events = ((event.native, leaf) for leaf, event in context._system._declared_events(context))
    return any(native is not None and native.resolve(leaf) is not None for native, leaf in (*entries, *events))


class Plan:
    """The compiled way to advance one Context.

    It takes the same steps with the same events in the same order as `Simulator._advance_one_step`, and leaves to
    that what is out of the ordinary: unrestricted updates, steps that fail.

    An exception or interrupt may come at any moment, also while the program is made or grows. A program is therefore
    out of date until it is complete, and `leave` can be called again where it was cut short itself.

    Args:
        context: the root context.
        schedule: of its events.
        integrator: with explicit Runge-Kutta or compiled Radau steps, unless there is no continuous state.

    Attributes:
        pending: the events that are due now.
        status: the most severe status that an event handler has returned in this advance.
        owed: publish events of the last step that have not happened yet, because they were interrupted or are left to
            Python.
        num_steps, num_state_updates, num_updates, num_publishes: what has been done in this advance.
    """

    def __init__(self, context: Context, schedule: EventSchedule, integrator: IntegratorBase) -> None:
        self._context = context
        self._store = context._store
        self._schedule = schedule
        self._integrator = integrator
        self._program: Program  # of `_lower`
        self._reads: dict[int, int] = {}
        self._integers = np.zeros(f.NUM_INTEGERS, dtype=np.int64)
        integers: Any = self._integers
        self._fields = memoryview(integers)  # the same, faster for single ones
        self._reals = np.zeros(f.NUM_REALS)
        reals: Any = self._reals
        self._real_fields: Any = memoryview(reals)
        self._clocks = np.array([(*clock, -np.inf) for clock in schedule.clocks()]).reshape(-1, 3)
        watch: Any = np.zeros(f.NUM_WATCH, dtype=np.int64)
        self._integers[f.WATCH] = watch.ctypes.data
        self._watch = memoryview(watch)
        self._watch[f.GET_TIME], self._watch[f.WHICH_CLOCK] = clock_address()
        self._num_calls = 0
        self._is_running = self._is_serving = self._has_failed = self._drops_publishes = False
        self.pending = NOTHING
        self.owed: EventList = []
        self.begin(NOTHING)
        self._set_up_method()
        self._lower()
        self._place = self._integers.ctypes.data
        self._advance = specialize(advance, self._place)

    # ------------------------------------------------------------------ what the loop needs to know

    def _set_up_method(self) -> None:
        """What the loop needs to know of the integrator's method, and room for its stages."""
        i, n = self._integers, self._context.num_continuous_states()
        self._reals[f.SCALED_FOR] = np.nan
        i[f.REALS], i[f.VALUES] = self._reals.ctypes.data, self._store.flat.ctypes.data
        i[f.CLOCKS], i[f.NUM_CLOCKS] = self._clocks.ctypes.data, len(self._clocks)
        i[f.NUM_STATES] = n
        self._quaternions = np.array(self._store.layout.unit_quaternions, dtype=np.int64)
        i[f.NUM_QUATERNIONS], i[f.QUATERNIONS] = len(self._quaternions), self._quaternions.ctypes.data
        self._stepper: RadauStepper | None = None
        if n == 0:
            return
        method = self._integrator
        i[f.ERROR_ORDER] = method.get_error_estimate_order()
        if isinstance(method, RadauMethod):
            self._set_up_radau(method)
            return
        assert isinstance(method, ExplicitRungeKutta)
        tableau = method.tableau
        self._c, self._weights = np.array(tableau.c), np.ascontiguousarray(method._weights)
        self._scaled = np.zeros_like(self._weights)
        self._derivatives = np.zeros((len(tableau.b), n))
        self._x_start = np.zeros(n)
        i[f.NUM_STAGES], i[f.ENDS_IN_LAST_STAGE] = len(tableau.b), tableau.ends_in_last_stage
        i[f.STAGE_TIMES], i[f.WEIGHTS] = self._c.ctypes.data, self._weights.ctypes.data
        i[f.SCALED], i[f.X_START] = self._scaled.ctypes.data, self._x_start.ctypes.data
        i[f.DERIVATIVES] = self._derivatives.ctypes.data

    def _set_up_radau(self, method: RadauMethod) -> None:
        """Where the integrator keeps its steps, which go on there when Python takes over and when the loop does."""
        self._stepper = stepper = method._find_stepper()
        assert stepper is not None
        self._x_start = stepper.x_start
        i = self._integers
        i[f.IS_RADAU], i[f.RADAU], i[f.RADAU_REALS] = True, stepper.place, stepper.place_of_reals
        i[f.RADAU_STEP], i[f.X_START] = stepper.operation, stepper.x_start.ctypes.data
        i[f.DERIVATIVES] = stepper.xdot_start.ctypes.data

    def _lower(self) -> None:
        """Makes the program anew, for the dependencies, connections and groups of events known by now."""
        self._version = _OUT_OF_DATE
        version, routing = self._store.layout.version, self._store.routing
        known_groups = list(self._program.group_numbers) if hasattr(self, "_program") else [0]
        self._program = Program(self._context, self._schedule, known_groups, self._reads)
        self._is_allowed = all(slot.clearing != -1 for slot in self._store.slots)
        self._fields[f.NEEDS_ALL] = 1
        self._routing = routing
        self._point_to_program(version)

    def _add_group(self, clocks: int) -> None:
        """Adds simultaneous events, by the bits of their clocks."""
        version, self._version = self._version, _OUT_OF_DATE
        self._program.add_group(clocks)
        self._point_to_program(version)

    def _point_to_program(self, version: int) -> None:
        """Gives the loop the program, which is complete, and made for a version of what is known of dependencies."""
        i, program = self._integers, self._program
        i[f.ADDRESSES], i[f.STARTS] = program.addresses.ctypes.data, program.starts.ctypes.data
        i[f.NUMBERS], i[f.GROUPS] = program.numbers.ctypes.data, program.groups.ctypes.data
        i[f.PLACES_OF_GROUPS], i[f.LAST_PLACE] = program.places_of_groups.ctypes.data, len(program.places_of_groups) - 1
        i[f.FAILURE] = program.failure.ctypes.data
        i[f.ALL_BEGIN], i[f.ALL_END] = program.all_range
        i[f.STAGE_BEGIN], i[f.STAGE_END] = program.stage_range
        down = self._context._layout.down
        reads_time, reads_state = bool(down["time"] & program.derivatives), bool(down["xc"] & program.derivatives)
        i[f.CHANGING] = f.WITH_TIME * reads_time | f.WITH_STATE * reads_state
        self._mask_of_changes: dict[int, int] = {}
        self._version = version
        self._place_logs()

    def _place_logs(self) -> None:
        """Tells the operations where their logs are, and makes and notes room in them.

        A log of other numbers than floats is left to Python, by a new program.
        """
        room, most = _PLENTY, self._program.most_samples
        flat, integers = self._store.flat, self._program.integers
        log_arrays = []
        for place in self._program.logs:
            log, first = place.log(), place.first
            if not log._holds_floats():
                integers[first] = 0  # no room
                self._version = _OUT_OF_DATE
                continue
            if len(log.sample_times()) + 2 * most > len(log._native_arrays()[0]):
                log.Reserve(2 * len(log.sample_times()) + 2 * most)
            times, data, count = arrays = log._native_arrays()
            log_arrays.append(arrays)
            places = [place_relative_to(flat, array) for array in (count, times, data)]
            integers[first : first + 4] = (len(times), *places)
            room = min(room, (len(times) - log.num_samples()) // most - 1)
        self._log_arrays = log_arrays  # kept alive while the loop knows where they are
        self._log_edits = VectorLog.num_edits
        self._room_in_logs = self._fields[f.ROOM_IN_LOGS] = room

    # ------------------------------------------------------------------ running

    def begin(self, pending: SimultaneousEvents) -> None:
        """To be called before an advance, with the events that are due now."""
        self.pending, self.owed = pending, []
        self.status = EventStatus.DidNothing()
        self.num_steps = self.num_state_updates = self.num_updates = self.num_publishes = 0

    def advance(self, boundary_time: float, progress: SimulationProgress, is_single_step: bool = False) -> bool:
        """Runs until the boundary time, until an event handler ends the simulation, or until Python has to take a step.

        Args:
            boundary_time: where to stop [s].
            progress: what shows it.
            is_single_step: whether to stop after one step in any case.

        Returns:
            Whether there is nothing that Python has to do first.

        Raises:
            Exception: what a callback has raised; the context is at the beginning of the step then, after the updates
                there, or where the event happened.
        """
        if self._is_serving:
            raise RuntimeError("A simulation cannot be advanced by a callback that it has called itself.")
        self._has_failed = self._drops_publishes = False
        self._num_calls += 1
        is_time_to_look = self._num_calls % _CALLS_BETWEEN_LOOKS == 0
        is_current = self._is_current()
        if is_current:
            self._place_logs()  # which may find one that is not for the loop
            is_current = self._version != _OUT_OF_DATE
        if not is_current or (is_time_to_look and self._program.may_be_lowered_further()):
            self._lower()
        group = self._group_of(self.pending)
        store = self._store
        if group is None or not self._is_allowed or store.computing or store.num_disturbances:
            return False
        self._enter(boundary_time, group, 1 if is_single_step else _PLENTY)
        try:
            return self._run(progress) not in (f.PYTHON_STEP, f.PYTHON_PUBLISH)
        except _DisturbanceError:
            return False
        finally:
            self.leave()

    def _is_current(self) -> bool:
        """Whether the program is that of the dependencies, connections and model as they are."""
        store = self._store
        is_same = self._version == store.layout.version and self._routing == store.routing
        return is_same and self._program.is_current()

    def _events_of(self, clocks: int) -> SimultaneousEvents:
        numbers = [n for n in range(len(self._clocks)) if clocks >> n & 1] if clocks else []
        return self._schedule.step_events(tuple(numbers))

    def _group_of(self, pending: SimultaneousEvents) -> int | None:
        """The number of a group of pending events; -1 if there are none, None if it is not among the usual ones."""
        if not (pending.unrestricted or pending.discrete):
            return -1
        numbers = self._schedule.clocks_of(pending)
        if numbers is None:
            return None
        clocks = sum(1 << n for n in numbers)
        if clocks not in self._program.group_numbers:
            self._add_group(clocks)
        return self._program.group_numbers[clocks]

    def _enter(self, boundary_time: float, group: int, num_steps: int) -> None:
        i, r, method = self._fields, self._real_fields, self._integrator
        self._integers[: f.NUM_STATES] = 0  # among them the phase, BEGIN, and all counts
        i[f.PENDING], i[f.NEEDS_ALL], i[f.STEPS_LEFT] = group, 1, num_steps
        i[f.ROOM_IN_LOGS] = self._room_in_logs
        self._begin_slice()
        i[f.NUM_INTEGRATOR_STEPS], i[f.IS_FIXED_STEP] = method._num_steps_taken, method._is_fixed_step
        r[f.BOUNDARY], r[f.ACCURACY] = boundary_time, method.get_accuracy_in_use()
        r[f.MAX_STEP_SIZE], r[f.MIN_STEP_SIZE] = method._max_step_size, method._min_step_size
        r[f.IDEAL_STEP_SIZE], r[f.PREVIOUS_STEP_SIZE] = method._ideal_step_size, method._previous_step_size
        r[f.LARGEST_STEP_SIZE], r[f.SMALLEST_STEP_SIZE] = method._largest_step_size, method._smallest_step_size
        r[f.FIRST_STEP_SIZE] = method._actual_initial_step_size
        if self._stepper is not None:
            assert isinstance(method, RadauMethod)
            if method._find_stepper() is not self._stepper:  # the integrator was given its context anew
                self._set_up_radau(method)
            self._stepper.note_settings(method)
        if len(self._clocks):
            self._clocks[:, 2] = -np.inf
        self._note_what_is_known()
        self._is_running = True

    def _begin_slice(self) -> None:
        """Lets the loop run for a while from now on."""
        self._watch[f.PASSES] = self._watch[f.PASSES_LEFT] = 1
        self._watch[f.SLICE_END] = 0

    def leave(self) -> None:
        """Takes over what the loop has done; who catches an interrupt calls it again, in case that came in its midst.

        After an exception the context is at the beginning of the step, or at the event where it came.
        """
        if not self._is_running:
            return
        i = self._fields
        if i[f.PHASE] in _EVALUATING:
            self._return_to_start_of_step(keeps_counts=True)
        self._note_changes()
        self.num_steps, self.num_updates, self.num_publishes = i[f.NUM_STEPS], i[f.NUM_UPDATES], i[f.NUM_PUBLISHES]
        self.num_state_updates = i[f.NUM_STATE_UPDATES]
        for settle in self._program.settlers:
            settle()
        self.num_publishes -= self._has_failed  # publish events that fail do not count
        self._find_pending_events()
        if i[f.NUM_STATES]:
            self._give_back_to_integrator()
        self._is_running = False

    def _find_pending_events(self) -> None:
        """What is due where the loop has stopped, and what of the publish events of the last step is missing."""
        i, owed = self._fields, []
        group = i[f.PENDING]
        self.pending = NOTHING if group < 0 else self._events_of(self._program.clocks_of(group))
        if i[f.PHASE] == f.NOTE:  # the step has ended, and what is due there could not be found out
            is_time = self._store.flat.item(0) >= self._reals.item(f.NEXT_TIME)
            self.pending = self._events_of(i[f.DUE] if is_time else 0)
            owed, self.num_steps = self.pending.publish, i[f.NUM_STEPS] + 1
        elif i[f.STATE_IS_UPDATED]:
            self.pending = SimultaneousEvents([], self.pending.discrete, [])
        elif i[f.PHASE] in _PUBLISHING and not self._drops_publishes:
            owed = self._program.publishes[group][i[f.PASSED] if i[f.PHASE] == f.PUBLISH else i[f.RESUMES_AT] :]
        self.owed = owed

    def _give_back_to_integrator(self) -> None:
        """Adds up counts, each of them once."""
        i, method = self._fields, self._integrator
        for name, field in _INTEGRATOR_COUNTS:
            count, i[field] = i[field], 0
            setattr(method, name, getattr(method, name) + count)
        if self._stepper is not None:
            assert isinstance(method, RadauMethod)
            self._stepper.take_counts(method._counts, method._error_counts)
        method._num_steps_taken = i[f.NUM_INTEGRATOR_STEPS]
        (
            method._ideal_step_size, method._previous_step_size, method._largest_step_size,
            method._smallest_step_size, method._actual_initial_step_size,
        ) = self._reals[f.IDEAL_STEP_SIZE : f.FIRST_STEP_SIZE + 1].tolist()  # fmt: skip

    def _return_to_start_of_step(self, keeps_counts: bool) -> None:
        """Returns to the beginning of a step that was cut short; what has been counted in it may go on to count."""
        i, flat = self._fields, self._store.flat
        n = len(self._x_start)
        flat[1 : 1 + n] = self._x_start
        flat[0] = self._reals[f.STEP_START]
        i[f.CHANGED] |= 1
        i[f.KNOWS_DERIVATIVES] = 0
        if self._stepper is not None:
            self._stepper.restore(keeps_counts)
        if not keeps_counts:
            i[f.NUM_EVALUATIONS], i[f.NUM_SHRINKAGES] = i[f.EVALUATIONS_BEFORE], i[f.SHRINKAGES_BEFORE]
            i[f.NUM_FAILURES] = i[f.FAILURES_BEFORE]
        i[f.PHASE] = f.TARGET

    def _note_changes(self) -> None:
        """Before Python looks: marks as out of date what the loop has changed, and as valid what it has computed."""
        i, store, program = self._fields, self._store, self._program
        changed = i[f.CHANGED]
        if changed:
            mask = self._mask_of_changes.get(changed)
            if mask is None:
                mask = self._mask_of_changes[changed] = self._downstream(changed)
            store.invalid |= mask
            i[f.CHANGED] = 0
        if i[f.KNOWS_DERIVATIVES]:
            store.invalid &= ~program.derivatives
        if not i[f.NEEDS_ALL]:
            store.invalid &= ~program.constants

    def _note_what_is_known(self) -> None:
        """After Python has had its turn: what is valid of that which the loop computes?"""
        i, invalid, program = self._fields, self._store.invalid, self._program
        i[f.KNOWS_DERIVATIVES] = not invalid & program.derivatives
        if invalid & program.constants:
            i[f.NEEDS_ALL] = 1

    def _downstream(self, changed: int) -> int:
        mask = 0
        for bit, downstream in enumerate(self._program.changes):
            if changed >> bit & 1:
                mask |= downstream
        return mask

    def _run(self, progress: SimulationProgress) -> int:
        """Runs the loop, and does for it what it leaves to Python; returns why it has stopped, see fields.py."""
        advance_loop, place, fields, store = self._advance, self._place, self._fields, self._store
        num_stops = 0
        while True:
            outcome: int = advance_loop(place)
            if outcome == f.PYTHON:
                num_stops += 1
                if num_stops % _STOPS_BETWEEN_LOOKS == 0:
                    progress.update(store.flat.item(0))
                stop = self._program.stops[fields[f.AT]]
                if not self._serve(stop):
                    return f.STOPPED
                if isinstance(stop, HandlerStop):
                    is_current = stop.is_followed_by_another or self._is_current()
                else:
                    is_current = self._version == store.layout.version and self._routing == store.routing
                if not is_current:
                    self._lower_within_step()
            elif outcome == f.PAUSE and fields[f.STEPS_LEFT] > 0:
                if self._program.may_be_lowered_further():
                    self._lower_within_step()
                progress.update(store.flat.item(0))
                self._begin_slice()
            elif outcome == f.NEEDS_GROUP:
                self._add_group(fields[f.DUE])
            elif outcome == f.NEEDS_ROOM:
                self._place_logs()
            else:
                return outcome

    def _serve(self, stop: SlotStop | HandlerStop) -> bool:
        """Calls a callback for the loop; returns whether to go on, which is not so where an update has failed."""
        i = self._fields
        self._note_changes()
        self._store.invalid &= ~stop.valid
        i[f.PASSED] -= 1  # it will have been passed when it has returned
        self._is_serving = True
        try:
            status = stop.serve()
        except Exception:
            self._drops_publishes = True
            raise
        finally:
            self._is_serving = False
        if isinstance(stop, SlotStop) and self._store.num_disturbances:
            raise _DisturbanceError
        i[f.PASSED] += 1
        if self._store.num_disturbances:  # by what a handler has asked for: the loop ends with this step
            i[f.NEEDS_ALL], i[f.STEPS_LEFT] = 1, 0
        if i[f.PHASE] not in _EVALUATING:
            self._note_what_is_known()
        if self._log_edits != VectorLog.num_edits:  # somebody has added to a log, cleared it or made room
            self._place_logs()
        if isinstance(stop, SlotStop):
            return True
        if self._store.invalid & stop.inputs:  # the handler has changed what the events after it read
            self._read_inputs_again()
        return self._heed(stop, status)

    def _read_inputs_again(self) -> None:
        """Lets the loop bring up to date what the events in progress read, then go on with those that are left."""
        i = self._fields
        i[f.RESUMES_AT] = i[f.PASSED]
        i[f.PHASE] = _HANDLING[i[f.PHASE]]
        i[f.PASSED] = 0

    def _heed(self, stop: HandlerStop, status: EventStatus | None) -> bool:
        """Notes what event handlers have read and returned; returns whether to go on."""
        key = key_of(stop.events)
        if stop.reads & ~self._reads.get(key, 0):
            self._reads[key] = stop.reads
            self._version = _OUT_OF_DATE  # a new program will compute what the handlers read
        if status is None:
            self._fields[f.HAS_EFFECT] = 1
            return True
        if status.failed() and stop.kind is EventKind.DISCRETE_UPDATE:
            self.status.KeepMoreSevere(status)
            return False
        if not status.did_nothing():
            self._fields[f.HAS_EFFECT] = 1
            if not status.succeeded():
                self._fields[f.MUST_STOP] = 1
                self._has_failed = status.failed()
                self.status.KeepMoreSevere(status)
        return True

    def _lower_within_step(self) -> None:
        """Takes a new program; a step that was in progress begins again."""
        i = self._fields
        if i[f.PHASE] in _EVALUATING:
            self._return_to_start_of_step(keeps_counts=False)
            if i[f.KNEW_DERIVATIVES]:
                n = i[f.NUM_STATES]
                self._store.flat[1 + n : 1 + 2 * n] = self._derivatives[0]
                i[f.KNOWS_DERIVATIVES] = 1
            self._note_changes()
        elif i[f.PHASE] in _HANDLING:
            self._read_inputs_again()
        i[f.PASSED] = 0
        self._lower()
