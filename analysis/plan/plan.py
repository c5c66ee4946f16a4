"""Plan: runs a Simulator's loop compiled, and does in Python what cannot be compiled."""

from __future__ import annotations

import time as wall_clock
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.analysis.event_schedule import NOTHING, SimultaneousEvents
from merganser.analysis.integrators.explicit_runge_kutta import ExplicitRungeKutta
from merganser.analysis.integrators.radau import RadauMethod
from merganser.analysis.plan import fields as f
from merganser.analysis.plan.loop import advance
from merganser.analysis.plan.program import HandlerStop, Program, key_of
from merganser.framework.core.events import EventKind, EventStatus
from merganser.framework.native import specialize
from merganser.framework.native.assembly import place_relative_to
from merganser.framework.primitives import VectorLog

if TYPE_CHECKING:
    from merganser.analysis.event_schedule import EventSchedule
    from merganser.analysis.integrators import IntegratorBase
    from merganser.analysis.integrators.radau_stepper import RadauStepper
    from merganser.analysis.progress import SimulationProgress
    from merganser.framework import Context

__all__ = ["Plan", "make_plan"]

_SLICE = 0.01  # how long the compiled loop runs before it looks for interrupts and shows progress, about [s]
_STOPS_BETWEEN_LOOKS = 16  # how often Python is served before progress is shown
_FIRST_STEPS, _MOST_STEPS = 100, 1 << 20
_PLENTY = 1 << 62
_CALLS_BETWEEN_LOOKS = 256  # how often it is asked whether what was not worth while to compile has become so
_EVALUATING = (f.ATTEMPT, f.EVALUATE)
_HANDLING = {f.UPDATE: f.UPDATE_INPUTS, f.PUBLISH: f.PUBLISH_INPUTS}
_MOST_CLOCKS = 60  # they are bits of an integer


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

    Args:
        context: the root context.
        schedule: of its events.
        integrator: with explicit Runge-Kutta or compiled Radau steps, unless there is no continuous state.

    Attributes:
        pending: the events that are due now; set it before an advance.
        status: the most severe status that an event handler has returned in this advance.
        num_steps, num_state_updates, num_updates, num_publishes: what has been done in this advance.
    """

    def __init__(self, context: Context, schedule: EventSchedule, integrator: IntegratorBase) -> None:
        self._context = context
        self._store = context._store
        self._schedule = schedule
        self._integrator = integrator
        self._known_groups = [0]
        self._reads: dict[int, int] = {}
        self._integers = np.zeros(f.NUM_INTEGERS, dtype=np.int64)
        integers: Any = self._integers
        self._fields = memoryview(integers)  # the same, faster for single ones
        self._reals = np.zeros(f.NUM_REALS)
        reals: Any = self._reals
        self._real_fields = memoryview(reals)
        self._clocks = np.array([(*clock, -np.inf) for clock in schedule.clocks()]).reshape(-1, 3)
        self._steps = _FIRST_STEPS
        self._num_calls = 0
        self.pending = NOTHING
        self.status = EventStatus.DidNothing()
        self.num_steps = self.num_state_updates = self.num_updates = self.num_publishes = 0
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
        self._version, self._routing = self._store.layout.version, self._store.routing
        self._program = Program(self._context, self._schedule, self._known_groups, self._reads)
        self._is_allowed = all(slot.clearing != -1 for slot in self._store.slots)
        self._point_to_program()

    def _point_to_program(self) -> None:
        i, program = self._integers, self._program
        i[f.ADDRESSES], i[f.STARTS] = program.addresses.ctypes.data, program.starts.ctypes.data
        i[f.NUMBERS], i[f.GROUPS] = program.numbers.ctypes.data, program.groups.ctypes.data
        i[f.NUM_GROUPS], i[f.FAILURE] = len(program.groups), program.failure.ctypes.data
        i[f.ALL_BEGIN], i[f.ALL_END] = program.all_range
        i[f.STAGE_BEGIN], i[f.STAGE_END] = program.stage_range
        i[f.NEEDS_ALL] = 1
        down = self._context._layout.down
        self._masks = [down["time"] | down["xc"], *program.updated]
        self._mask_of_changes: dict[int, int] = {}
        self._place_logs()

    def _place_logs(self) -> None:
        """Tells the operations where their logs are, and how much room there is in all of them."""
        room = _PLENTY
        flat, integers = self._store.flat, self._program.integers
        self._log_edits = VectorLog.num_edits
        self._log_arrays = []
        for place in self._program.logs:
            log, first = place.log(), place.first
            times, data, count = log._native_arrays()
            self._log_arrays.append((log, times))
            places = [place_relative_to(flat, array) for array in (count, times, data)]
            integers[first : first + 4] = (len(times), *places)
            room = min(room, len(times) - log.num_samples())
        self._fields[f.ROOM_IN_LOGS] = room

    def _make_room_in_logs(self) -> None:
        for log, times in self._log_arrays:
            if log.num_samples() == len(times):
                log.Reserve(2 * len(times))
        self._place_logs()

    # ------------------------------------------------------------------ running

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
        self.status = EventStatus.DidNothing()
        self.num_steps = self.num_state_updates = self.num_updates = self.num_publishes = 0
        self._has_failed = False
        self._num_calls += 1
        is_time_to_look = self._num_calls % _CALLS_BETWEEN_LOOKS == 0
        if not self._is_current() or (is_time_to_look and self._program.may_be_lowered_further()):
            self._lower()
        group = self._group_of(self.pending)
        store = self._store
        if group is None or not self._is_allowed or store.computing or store.num_disturbances:
            return False
        self._enter(boundary_time, group, 1 if is_single_step else self._steps)
        try:
            return self._run(progress, is_single_step) != f.PYTHON_STEP
        except _DisturbanceError:
            self._restore()
            return False
        except BaseException:
            self._restore()
            raise
        finally:
            self._leave()

    def _is_current(self) -> bool:
        """Whether the program is that of the dependencies, connections and model as they are."""
        store = self._store
        is_same = self._version == store.layout.version and self._routing == store.routing
        return is_same and self._program.is_current()

    def _numbers(self, clocks: int) -> tuple[int, ...]:
        return tuple([n for n in range(len(self._clocks)) if clocks >> n & 1]) if clocks else ()

    def _group_of(self, pending: SimultaneousEvents) -> int | None:
        """The number of a group of pending events; -1 if there are none, None if it is not among the usual ones."""
        if not (pending.unrestricted or pending.discrete):
            return -1
        numbers = self._schedule.clocks_of(pending)
        if numbers is None:
            return None
        clocks = sum(1 << n for n in numbers)
        if clocks not in self._known_groups:
            self._add_group(clocks)
        return self._known_groups.index(clocks)

    def _add_group(self, clocks: int) -> None:
        self._known_groups.append(clocks)
        self._program.add_group(clocks)
        needs_all = self._integers.item(f.NEEDS_ALL)
        self._point_to_program()
        self._integers[f.NEEDS_ALL] = needs_all

    def _enter(self, boundary_time: float, group: int, num_steps: int) -> None:
        i, r, method = self._fields, self._real_fields, self._integrator
        self._integers[: f.NUM_STATES] = 0  # among them the phase, BEGIN, and all counts
        i[f.PENDING], i[f.NEEDS_ALL], i[f.STEPS_LEFT] = group, 1, num_steps
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
        self._place_logs()

    def _leave(self) -> None:
        """Takes over what the loop has counted."""
        self._note_changes()
        i, method = self._fields, self._integrator
        self.num_steps, self.num_updates, self.num_publishes = i[f.NUM_STEPS], i[f.NUM_UPDATES], i[f.NUM_PUBLISHES]
        self.num_state_updates = i[f.NUM_STATE_UPDATES]
        for settle in self._program.settlers:
            settle()
        self.num_publishes -= self._has_failed  # publish events that fail do not count
        group = i[f.PENDING]
        due = self._numbers(self._known_groups[group]) if group >= 0 else ()
        self.pending = self._schedule.step_events(due) if group >= 0 else NOTHING
        if i[f.STATE_IS_UPDATED]:
            self.pending = SimultaneousEvents([], self.pending.discrete, [])
        if i[f.NUM_STATES]:
            method._num_derivative_evaluations += i[f.NUM_EVALUATIONS]
            method._num_error_shrinkages += i[f.NUM_SHRINKAGES]
            method._num_failure_shrinkages += i[f.NUM_FAILURES]
            if self._stepper is not None:
                assert isinstance(method, RadauMethod)
                self._stepper.take_counts(method._counts, method._error_counts)
            method._num_steps_taken = i[f.NUM_INTEGRATOR_STEPS]
            (
                method._ideal_step_size, method._previous_step_size, method._largest_step_size,
                method._smallest_step_size, method._actual_initial_step_size,
            ) = self._reals[f.IDEAL_STEP_SIZE : f.FIRST_STEP_SIZE + 1].tolist()  # fmt: skip

    def _restore(self) -> None:
        """Returns to the beginning of a step that was cut short."""
        i = self._integers
        if i[f.PHASE] in _EVALUATING:
            n = len(self._x_start)
            self._store.flat[1 : 1 + n] = self._x_start
            self._store.flat[0] = self._reals[f.STEP_START]
            i[f.CHANGED] |= 1

    def _note_changes(self) -> None:
        """Marks as out of date what depends on anything that the loop has changed."""
        changed = self._fields[f.CHANGED]
        if changed:
            mask = self._mask_of_changes.get(changed)
            if mask is None:
                mask = self._mask_of_changes[changed] = self._downstream(changed)
            self._store.invalid |= mask
            self._fields[f.CHANGED] = 0

    def _downstream(self, changed: int) -> int:
        mask = 0
        for number, downstream in enumerate(self._masks):
            if changed >> min(number, f.LAST_GROUP_BIT) & 1:
                mask |= downstream
        return mask

    def _run(self, progress: SimulationProgress, is_single_step: bool) -> int:
        advance_loop, place, fields = self._advance, self._place, self._fields
        store = self._store
        start, num_stops = wall_clock.perf_counter(), 0
        while True:
            outcome: int = advance_loop(place)
            if outcome == f.PYTHON:
                num_stops += 1
                if num_stops % _STOPS_BETWEEN_LOOKS == 0:
                    progress.update(store.flat.item(0))
                stop = self._program.stops[fields[f.AT]]
                self._note_changes()
                store.invalid &= ~stop.valid
                if isinstance(stop, HandlerStop):
                    if not self._handle(stop):
                        return f.STOPPED
                    is_current = stop.is_followed_by_another or self._is_current()
                else:
                    stop.serve()
                    if store.num_disturbances:
                        raise _DisturbanceError
                    # Other calculations only read: nothing else can have changed.
                    is_current = self._version == store.layout.version and self._routing == store.routing
                if not is_current:
                    self._lower_within_step()
            elif outcome == f.PAUSE and not is_single_step:
                if self._program.may_be_lowered_further():
                    self._lower_within_step()
                elapsed = wall_clock.perf_counter() - start
                if elapsed < _SLICE and self._steps < _MOST_STEPS:
                    self._steps *= 2
                elif elapsed > 3.0 * _SLICE and self._steps > 1:
                    self._steps //= 2
                fields[f.STEPS_LEFT] = self._steps
                progress.update(store.flat.item(0))
                start = wall_clock.perf_counter()
            elif outcome == f.NEEDS_GROUP:
                self._add_group(fields[f.DUE])
            elif outcome == f.NEEDS_ROOM:
                self._make_room_in_logs()
            else:
                return outcome

    def _handle(self, stop: HandlerStop) -> bool:
        """Calls event handlers; returns whether to go on, which is not so where an update has failed."""
        reads = stop.reads
        status = stop.serve()
        if stop.reads & ~reads:
            self._reads[key_of(stop.events)] = stop.reads
            self._version = -1  # a new program will compute what the handlers read
        if self._log_edits != VectorLog.num_edits:
            self._place_logs()  # somebody else has added to a log or cleared it
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
        i = self._integers
        phase = i[f.PHASE]
        if phase in _EVALUATING:
            self._restore()
            self._note_changes()
            i[f.NUM_EVALUATIONS], i[f.NUM_SHRINKAGES] = i[f.EVALUATIONS_BEFORE], i[f.SHRINKAGES_BEFORE]
            i[f.NUM_FAILURES] = i[f.FAILURES_BEFORE]
            if self._stepper is not None:
                self._stepper.restore()
            i[f.PHASE] = f.TARGET
        elif phase in _HANDLING:  # reads first what the new program says, then goes on where it was
            i[f.RESUMES_AT] = i[f.PASSED]
            i[f.PHASE] = _HANDLING[int(phase)]
        i[f.PASSED] = 0
        self._lower()
