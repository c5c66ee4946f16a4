"""Simulator: advances a System through time, continuous and discrete parts together."""

from __future__ import annotations

import contextlib
import copy
import math
import os
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from merganser.analysis.integrators import IntegratorBase, RungeKutta3Integrator
from merganser.analysis.progress import SimulationProgress
from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.due_events import DueEvents
from merganser.analysis.simulation.event_schedule import EventSchedule
from merganser.analysis.simulation.simulator_status import InitializeParams, SimulatorSettings, SimulatorStatus
from merganser.analysis.simulation.step_parts import commit, note_end
from merganser.analysis.simulation.steps import end_step, make_updates, take_step
from merganser.analysis.simulation.witness_watch import WitnessWatch
from merganser.framework import Context, EventStatus, System
from merganser.framework.common.errors import note_place
from merganser.framework.common.running_time import running_time, sleep_until
from merganser.framework.core.context.context_values import Checkpoint
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.core.context.store import must_repeat
from merganser.framework.core.declarations.events import most_severe
from merganser.framework.core.declarations.execution import call_handler
from merganser.framework.core.scalars.copying import note_copies
from merganser.framework.core.values.arguments import checked_number
from merganser.framework.native.compiler.when_to_compile import OptionalCode, are_usable, want

if TYPE_CHECKING:
    from merganser.analysis.plan.plan import Plan

_ACCURACY = 1e-4  # of the default integrator
_INITIAL_STEP_SIZE = 1e-4  # of it, too [s]
_MAX_STEP_SIZE = 0.1  # [s]

_INTERVAL = 0.03  # between looks whether the compiled loop is to be used by now [s]
_LONGEST_REST = 64  # steps in Python before the plan is asked again
_LOOP = OptionalCode("merganser.analysis.plan.loop", "LOOP", "advance")
_WATCH = OptionalCode("merganser.analysis.plan.watching", "WATCH", "advance_watched")

_ENDS = codes.DONE, codes.STOPPED

# Copies of a Simulator have these attributes, and these of its events.
_KEPT_IN_COPIES = (
    "_system", "_context", "_integrator", "_monitor", "_target_rate", "_publishes_every_step",
    "_publishes_at_initialization", "_uses_native_plan", "_usual_time_to_plan", "_when_to_plan",
)  # fmt: skip
_KEPT_OF_EVENTS = (
    "flags", "state_is_updated", "has_updated", "last_time", "num_steps", "num_state_updates", "num_updates",
    "num_publishes", "num_shown", "num_monitored",
)  # fmt: skip

# Why an advance ends, as long as nothing else has happened.
_NONE_SO_FAR = SimulatorStatus.ReturnReason.kReachedBoundaryTime


class Simulator(SimulatorSettings):
    """Advances a System through time.

    A trajectory is a sequence of steps. In each, at the time t where the last one ended,

    1. unrestricted updates, then discrete updates that are due at t: they take the state from x-(t) to x+(t);
    2. continuous time passes until the next event or as far as the integrator gets, to t', or until a witness
       function triggers in between, whose event is due at t'; where messages have come, t' = t, and theirs are due;
    3. publish events that are due at t' see x-(t'), before any update at t'.

    Updates due at the boundary time of `AdvanceTo` wait for the next advance. `Initialize` carries out the
    initialization events and the publish events that are due at the initial time. Simultaneous events of one
    kind happen in the order of the leaf systems in their diagrams; within a leaf system initialization events
    come first, then per-step events, then periodic ones, then those of witness functions.

    The time where a witness function triggers is found to about 13 digits, whatever accuracy was asked for. Where
    its triggers accumulate (Zeno behaviour), the advance ends with the reason kZenoBehavior.

    The continuous state is advanced by a RungeKutta3Integrator with accuracy 1e-4 and steps of 0.1 s at most;
    `get_mutable_integrator` gives access to these settings.

    Args:
        system: a System, usually a Diagram.
        context: its values; by default a new default context.

    Raises:
        ValueError: the context belongs to another system.
        RuntimeError: the context is part of the context of a larger diagram.
    """

    _schedule: Any  # of the events, made by Initialize
    _watch: WitnessWatch | None  # over witness functions, made by it, too

    def __init__(self, system: System, context: Context | None = None) -> None:
        if not isinstance(system, System):
            what = "the class itself" if isinstance(system, type) else type(system).__name__
            raise TypeError(f"Simulator takes a System, got {what}.")
        self._system = system
        self._monitor: Callable[[Context], EventStatus | None] | None = None
        self._target_rate, self._publishes_every_step = 0.0, False
        self._publishes_at_initialization = False
        self._uses_native_plan = True
        self._usual_time_to_plan = os.environ.get("MERGANSER_PLAN", "") if may_compile() else "never"
        self._when_to_plan = self._usual_time_to_plan
        self._set_context(system.CreateDefaultContext() if context is None else context)
        self._integrator: IntegratorBase = RungeKutta3Integrator(system, self._context)
        self._integrator.set_maximum_step_size(_MAX_STEP_SIZE)
        self._integrator.request_initial_step_size_target(_INITIAL_STEP_SIZE)
        self._integrator.set_target_accuracy(_ACCURACY)
        self._wall_start, self._time_start = running_time(), self._time()

    # ------------------------------------------------------------------ copies

    def __copy__(self) -> Simulator:
        """Returns a Simulator of the same system that goes on from here, with a context of its own."""
        memo: dict[int, Any] = {id(self._monitor): self._monitor}
        note_copies(self._system, self._system, memo)
        copied: Simulator = copy.deepcopy(self, memo)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """What does not follow from system and context."""
        self._refuse_while_advancing("__getstate__ (by copy or pickle)")
        due, state = self._due, {name: self.__dict__[name] for name in _KEPT_IN_COPIES}
        state["rate"] = running_time() - self._wall_start, self._time_start
        if self._is_initialized:
            if due.stage != codes.UPDATING or due.statuses or (due.flags and due.pending.number < 0):
                raise RuntimeError(
                    f"The simulator of system '{self._system.GetSystemPathname()}' cannot be copied at time {due.time} "
                    "s, as its last advance was cut short; call AdvanceTo first."
                )
            parts = (due.pending.number, []) if self._schedule is None else self._schedule.parts(due.pending.number)
            state["due"] = *parts, {name: getattr(due, name) for name in _KEPT_OF_EVENTS}
            state["witnesses"] = None if self._watch is None else self._watch.memory()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update((name, state[name]) for name in _KEPT_IN_COPIES)
        self._set_context(self._context)
        elapsed, self._time_start = state["rate"]
        self._wall_start = running_time() - elapsed
        if "due" in state:
            self._schedule = EventSchedule(self._system, self._context)
            clocks, others, counts = state["due"]
            self._due = due = DueEvents(self._time(), self._schedule.events)
            due.pending = self._schedule.step_events(self._schedule.with_others(clocks, others))
            for name, value in counts.items():
                setattr(due, name, value)
            witnesses = state["witnesses"]
            if witnesses is not None:
                self._watch = WitnessWatch(self._system, self._context, self._integrator)
                self._watch.remember(witnesses)
            self._is_initialized = True

    def _refuse_while_advancing(self, what: str) -> None:
        if self._store.is_advancing:
            raise RuntimeError(f"Simulator.{what} was called by a callback or monitor of this simulation itself.")

    def _set_context(self, context: Context) -> None:
        self._system.ValidateContext(context)
        context.require_root("Simulator")
        self._context = context
        self._store, self._down = context.store, context.layout.down
        start, end = context.layout.xc_range
        self._has_continuous_state = end > start
        self._is_initialized = False
        self._due = DueEvents(math.nan, {})
        self._schedule = None
        self._watch = None
        self._drop_plan()

    def _drop_plan(self) -> None:
        self._plan: Plan | None = None
        self._may_have_plan = True

    def _time(self) -> float:
        return self._store.flat.item(0).real

    # ------------------------------------------------------------------ parts

    def get_system(self) -> System:
        """The system that is simulated."""
        return self._system

    def get_context(self) -> Context:
        """The context that is advanced."""
        return self._context

    get_mutable_context = get_context

    def has_context(self) -> bool:
        """Whether there is a context; always so."""
        return True

    def reset_context(self, context: Context) -> None:
        """Takes another context of the same system; call `Initialize` before advancing."""
        self._refuse_while_advancing("reset_context")
        self._set_context(context)
        self._integrator.reset_context(context)
        self.ResetStatistics()

    def get_integrator(self) -> IntegratorBase:
        """The integrator that advances the continuous state."""
        return self._integrator

    get_mutable_integrator = get_integrator

    def reset_integrator(self, integrator: IntegratorBase) -> IntegratorBase:
        """Takes another integrator, made for this simulator's system and context; returns it."""
        self._refuse_while_advancing("reset_integrator")
        if not isinstance(integrator, IntegratorBase):
            raise TypeError(f"reset_integrator takes an integrator, got {type(integrator).__name__}.")
        if integrator.get_context() is not self._context:
            raise ValueError("The integrator was made for another context; make it with simulator.get_context().")
        self._integrator = integrator
        self._is_initialized = False
        self._drop_plan()
        return integrator

    # ------------------------------------------------------------------ statistics

    def ResetStatistics(self) -> None:
        """Sets all counts to zero and starts the clock for the real-time rate."""
        due = self._due
        due.num_steps = due.num_state_updates = due.num_updates = due.num_publishes = 0
        due.num_shown = due.num_monitored = 0
        self._wall_start, self._time_start = running_time(), self._time()
        self._integrator.ResetStatistics()

    def get_actual_realtime_rate(self) -> float:
        """Simulated seconds a second since `Initialize` or `ResetStatistics`, not counting compilation."""
        elapsed = running_time() - self._wall_start
        return (self._time() - self._time_start) / elapsed if elapsed > 0.0 else math.nan

    def get_num_steps_taken(self) -> int:
        """Number of steps since `Initialize` or `ResetStatistics`."""
        return self._due.num_steps

    def get_num_publishes(self) -> int:
        """Number of times that publish events had something to do and did not fail."""
        return self._due.num_publishes

    def get_num_discrete_updates(self) -> int:
        """Number of times that discrete updates had something to do and did not fail."""
        return self._due.num_updates

    def get_num_unrestricted_updates(self) -> int:
        """Number of times that unrestricted updates had something to do and did not fail."""
        return self._due.num_state_updates

    # ------------------------------------------------------------------ simulation

    def Initialize(self, params: InitializeParams | None = None) -> SimulatorStatus:
        """Makes ready to advance from the time and state in the context.

        Carries out initialization events (unrestricted, discrete, publish), and those per-step and periodic
        publish events that are due now. Updates that are due now are left to the first advance.

        If it fails or is interrupted, the context is left as it was, samples in logs included; the next call, or the
        next advance, starts again.

        Args:
            params: whether to leave out the initialization events; by default they happen.

        Raises:
            RuntimeError: an event handler reported failure.
        """
        if params is not None and not isinstance(params, InitializeParams):
            raise TypeError(f"Simulator.Initialize takes InitializeParams, got {type(params).__name__}.")
        if self._store.is_advancing:
            self._refuse_while_advancing("Initialize")
        with_initialization = not (params is not None and params.suppress_initialization_events)
        self._is_initialized = False
        time = self._time()
        if not math.isfinite(time):
            raise RuntimeError(f"Simulator.Initialize: the time in the context is {time} s; set a finite one.")
        if self._schedule is None or not self._schedule.is_up_to_date(self._system, self._context):
            self._drop_plan()
            self._schedule = EventSchedule(self._system, self._context)
        self._due = DueEvents(time, self._schedule.events)
        if self._uses_native_plan:
            want(_LOOP)
        changes_all = with_initialization and bool(self._schedule.initialization.unrestricted)
        mark, checkpoint = self._store.mark(), Checkpoint(self._context, changes_all)
        self._store.is_advancing = True
        try:
            return self._initialize(with_initialization)
        except BaseException:
            self._store.return_to(mark)
            checkpoint.restore()
            raise
        finally:
            self._store.is_advancing = False

    def _initialize(self, with_initialization: bool) -> SimulatorStatus:
        """Carries out the events of the initialization."""
        has_witnesses = self._system._sys_may_have_witnesses()
        self._watch = WitnessWatch(self._system, self._context, self._integrator) if has_witnesses else None
        self.ResetStatistics()
        self._integrator.Initialize()
        time = self._time()
        status, due = SimulatorStatus(time), self._due
        due.begin_advance(status)
        if with_initialization:
            due.pending = self._schedule.initialization
            due.flags = due.pending.flags
            if due.flags:
                make_updates(self, due)
        clocks = self._schedule.clocks_at(time)
        if status.succeeded():
            first = due.events[-1] = self._schedule.first_publish_events(clocks, with_initialization)
            if first.publish:
                due.due, due.stage = -1, codes.PUBLISHING
                take_step(self, due)
            if self._publishes_at_initialization:
                self._force_publish()
            if self._monitor is not None:
                self._consult_monitor(status)
        due.end_advance()
        self._schedule.step_events(clocks)
        due.make_pending(clocks)
        self._is_initialized = True
        return status

    def AdvanceTo(self, boundary_time: float, interruptible: bool = True) -> SimulatorStatus:
        """Advances until the boundary time [s], or until a monitor or an event handler ends the simulation.

        If the computation of derivatives fails or is interrupted, the exception names the system and the time, and the
        context is left as it was at the beginning of the step, after the updates there; the same call goes on from it.
        So it does after an exception in an event handler: updates happen again, as do publish events that lacked a
        value; one that raised itself has happened. What else was due at the same time is not lost.

        Args:
            boundary_time: time at which to stop [s], not before the current time.
            interruptible: has no effect, because a program in Python can always be interrupted.

        Raises:
            ValueError: the boundary time lies in the past or is not a number.
            RuntimeError: an event handler reported failure, a value is not finite, or the time in the context
                was changed without calling `Initialize`.
        """
        boundary_time = checked_number(boundary_time, "AdvanceTo: boundary time [s]")
        self._refuse_while_advancing("AdvanceTo")
        if not self._is_initialized and not (initial := self.Initialize()).succeeded():
            return initial
        time, due = self._time(), self._due
        if time != due.time:
            raise RuntimeError(
                f"The time in the context was changed from {due.time} s to {time} s: call "
                "simulator.Initialize() before advancing, so that events are scheduled again."
            )
        if not boundary_time >= time:
            raise ValueError(f"Cannot advance to time {boundary_time} s: the context is at time {time} s.")
        self._integrator.begin_advance()
        if self._watch is not None:
            self._watch.now.is_stale = 1
        status, progress = SimulatorStatus(boundary_time), SimulationProgress(time, boundary_time)
        due.begin_advance(status)
        mark, num_steps, self._store.is_advancing = self._store.mark(), due.num_steps, True
        try:
            self._advance(status, progress)
        except BaseException as error:
            if isinstance(error, MemoryError) or not isinstance(error, Exception):  # it may come at any moment
                self._store.return_to(mark)
                self._note_what_is_done()
            elif most_severe(due.statuses).failed() and due.stage != codes.PUBLISHING:
                due.end_advance()  # with this exception, which says so
            if due.num_steps != num_steps:
                due.last_time = boundary_time
            raise
        finally:
            self._store.is_advancing = False
            progress.close()
        due.end_advance()
        return status

    def _note_what_is_done(self) -> None:
        """Completes what an interrupt has cut short, so that the next advance goes on from there."""
        if self._plan is not None:
            self._plan.leave()
        due = self._due
        if due.stage == codes.COMMITTING:
            commit(self, due, False)
            due.stage = codes.UPDATING
        if due.stage == codes.STEPPING and self._time() != due.time:
            note_end(due, self._time(), self._schedule, self._watch)
        if due.stage == codes.ENDING:
            end_step(due)

    def AdvancePendingEvents(self) -> SimulatorStatus:
        """Carries out the updates that are due at the current time, without letting time pass."""
        return self.AdvanceTo(self._time())

    def _advance(self, status: SimulatorStatus, progress: SimulationProgress) -> None:
        """Steps until the boundary time, or until something ends the simulation."""
        due, watch, boundary_time = self._due, self._watch, status.boundary_time()
        if due.stage == codes.PUBLISHING:
            take_step(self, due)
        elif due.statuses:  # the last advance has not come to look at them
            due.note_statuses()
        if not due.num_shown == due.num_monitored == due.num_steps:
            self._look(status)
        if status._reason is not _NONE_SO_FAR or due.last_time == due.time == boundary_time:
            return
        plan = self._usable_plan() if boundary_time > due.time else self._plan
        rest, next_rest, next_look = 0, 1, min(progress.next_update, perf_counter() + _INTERVAL)
        while True:
            if self._target_rate > 0.0:
                # Sleeps until wall time has caught up with the target real-time rate
                sleep_until(self._wall_start + (due.time - self._time_start) / self._target_rate)
            time, num_steps, outcome = due.time, due.num_steps, codes.PYTHON_STEP
            if plan is not None:
                if rest == 0:
                    outcome = self._advance_by_plan(plan, status, progress)
                    # Where Python has to take one step after the other, the plan is asked ever less often.
                    next_rest = min(2 * next_rest, _LONGEST_REST) if due.time == time else 1
                    rest = next_rest if outcome >= codes.PYTHON_STEP else 0
                rest -= 1 if rest else 0
            if outcome >= codes.PYTHON_STEP:
                outcome = take_step(self, due)
            if plan is not None and plan.left_out:
                self._publish_what_was_left_out(plan, status)
            if due.num_steps != num_steps:
                if self._publishes_every_step or self._monitor is not None:
                    self._look(status)
                due.num_shown = due.num_monitored = due.num_steps
                if watch is not None and watch.has_stopped():
                    watch.end_if_accumulating(status)
            if outcome in _ENDS or status._reason is not _NONE_SO_FAR:
                return
            if perf_counter() >= next_look:
                progress.update(due.time)
                plan, next_look = self._usable_plan(), min(progress.next_update, perf_counter() + _INTERVAL)

    def _usable_plan(self) -> Plan | None:
        """The compiled way to advance, if there is one, and it is compiled."""
        may_have_one = self._uses_native_plan and self._may_have_plan
        if may_have_one and self._plan is None and self._may_load_plan():
            from merganser.analysis.plan.plan import make_plan

            is_patient = self._when_to_plan != "always"
            self._plan = make_plan(self._context, self._schedule, self._integrator, self._watch, is_patient)
            self._may_have_plan = self._plan is not None
        return self._plan if may_have_one else None

    def _may_load_plan(self) -> bool:
        if self._when_to_plan in ("always", "never"):
            return self._when_to_plan == "always"
        watched = () if self._watch is None else (_WATCH,)
        return are_usable(_LOOP, *self._integrator._optional_code, *watched)

    def _advance_by_plan(self, plan: Plan, status: SimulatorStatus, progress: SimulationProgress) -> int:
        """Advances as far as the plan gets; returns why it ends, see step_codes.py."""
        must_look = self._monitor is not None or self._publishes_every_step or self._target_rate > 0.0
        due = self._due
        try:
            outcome = plan.advance(due, self._watch, progress, must_look or self._schedule.must_ask)
        except BaseException:
            with contextlib.suppress(Exception):  # what has happened before counts
                self._publish_what_was_left_out(plan, status)
            raise
        if due.statuses and due.stage != codes.PUBLISHING:
            due.note_statuses()
        return outcome

    def _look(self, status: SimulatorStatus) -> None:
        """What the user has asked for after every step, unless it is done."""
        due = self._due
        if due.num_shown != due.num_steps:
            due.num_shown = due.num_steps
            if self._publishes_every_step:
                self._force_publish()
        if due.num_monitored != due.num_steps:
            self._consult_monitor(status)
            due.num_monitored = due.num_steps

    def _publish_what_was_left_out(self, plan: Plan, status: SimulatorStatus) -> None:
        """Carries out, as things are now, publish events that were not wanted at their time; they have been counted."""
        while plan.left_out:
            outcome = call_handler(*plan.left_out[0])
            plan.left_out = plan.left_out[1:]
            status._note_outcome(outcome, self._time())

    def _force_publish(self) -> None:
        self._system.ForcedPublish(self._context)
        self._due.num_publishes += 1

    def _consult_monitor(self, status: SimulatorStatus) -> None:
        if self._monitor is None:
            return
        due = self._due
        try:
            outcome, due.num_monitored = self._monitor(self._context), due.num_steps
        except Exception as error:
            if not must_repeat(error):
                due.num_monitored = due.num_steps
            note_place(error, f"while calling the simulator's monitor at time {self._time()} s")
            raise
        if isinstance(outcome, EventStatus):
            status._note_outcome(outcome, self._time())
        elif outcome is not None:
            given = f"{type(outcome).__name__} at time {self._time()} s"
            raise TypeError(f"The simulator's monitor must return an EventStatus or None; got {given}.")
