"""Simulator: advances a System through time, continuous and discrete parts together."""

from __future__ import annotations

import math
import time as wall_clock
from collections.abc import Callable
from typing import Any

from merganser.analysis.event_schedule import EventList, EventSchedule
from merganser.analysis.integrators import IntegratorBase, RungeKutta3Integrator
from merganser.analysis.progress import SimulationProgress
from merganser.analysis.simulator_status import SimulatorStatus
from merganser.framework import Context, EventStatus, System
from merganser.framework.core.events import EventKind
from merganser.framework.core.execution import execute

__all__ = ["Simulator"]

_MAX_STEP_SIZE = 0.1  # of the default integrator [s]
_PUBLISH, _DISCRETE, _UNRESTRICTED = EventKind.PUBLISH, EventKind.DISCRETE_UPDATE, EventKind.UNRESTRICTED_UPDATE


class Simulator:
    """Advances a System through time.

    A trajectory is a sequence of steps. In each, at the time t where the last one ended,

    1. unrestricted updates, then discrete updates that are due at t: they take the state from x-(t) to x+(t);
    2. continuous time passes until the next event or as far as the integrator gets, to t';
    3. publish events that are due at t' see x-(t'), before any update at t'.

    Updates due at the boundary time of `AdvanceTo` wait for the next advance. `Initialize` carries out the
    initialization events and the publish events that are due at the initial time.

    Args:
        system: a System, usually a Diagram.
        context: its values; by default a new default context.
    """

    def __init__(self, system: System, context: Context | None = None) -> None:
        if context is not None:
            system._check_context(context)
        self._system = system
        self._context = context if context is not None else system.CreateDefaultContext()
        self._monitor: Callable[[Context], EventStatus | None] | None = None
        self._target_rate = 0.0
        self._publishes_every_step = False
        self._publishes_at_initialization = False
        self._integrator: IntegratorBase | None = None
        self._start()

    def _start(self) -> None:
        """What follows from the context: the integrator, and that nothing has been initialized."""
        if self._integrator is None:
            self._integrator = RungeKutta3Integrator(self._system, self._context)
            self._integrator.set_maximum_step_size(_MAX_STEP_SIZE)
        self._has_continuous_state = self._context.num_continuous_states() > 0
        self._is_initialized = False
        self._pending: EventList = []
        self._expected_time = math.nan
        self.ResetStatistics()

    # ------------------------------------------------------------------ parts

    def get_system(self) -> System:
        """The system that is simulated."""
        return self._system

    def get_context(self) -> Context:
        """The context that is advanced."""
        return self._context

    def get_mutable_context(self) -> Context:
        """The context that is advanced, for changing it."""
        return self._context

    def has_context(self) -> bool:
        """Whether there is a context; always so."""
        return True

    def reset_context(self, context: Context) -> None:
        """Takes another context of the same system; call `Initialize` before advancing."""
        self._system._check_context(context)
        self._context = context
        previous = self._integrator
        assert previous is not None
        self._integrator = type(previous)(self._system, context)
        self._integrator.set_maximum_step_size(previous.get_maximum_step_size())
        self._start()

    def get_integrator(self) -> IntegratorBase:
        """The integrator that advances the continuous state."""
        assert self._integrator is not None
        return self._integrator

    def get_mutable_integrator(self) -> IntegratorBase:
        """The integrator that advances the continuous state, for changing its settings."""
        return self.get_integrator()

    def reset_integrator(self, integrator: IntegratorBase) -> IntegratorBase:
        """Takes another integrator, made for this simulator's system and context; returns it."""
        if integrator.get_context() is not self._context:
            raise ValueError("The integrator was made for another context; make it with simulator.get_context().")
        self._integrator = integrator
        self._is_initialized = False
        return integrator

    # ------------------------------------------------------------------ settings

    def set_target_realtime_rate(self, realtime_rate: float) -> None:
        """Slows the simulation down to this many simulated seconds a second of wall time; 0 for full speed."""
        if not realtime_rate >= 0.0:
            raise ValueError(f"The target real-time rate cannot be negative, got {realtime_rate}.")
        self._target_rate = float(realtime_rate)

    def get_target_realtime_rate(self) -> float:
        """The rate set by `set_target_realtime_rate`."""
        return self._target_rate

    def get_actual_realtime_rate(self) -> float:
        """Simulated seconds a second of wall time since `Initialize` or `ResetStatistics`."""
        elapsed = wall_clock.perf_counter() - self._wall_start
        return (self._context._store.flat.item(0) - self._time_start) / elapsed if elapsed > 0.0 else math.nan

    def set_publish_every_time_step(self, publish: bool) -> None:
        """Whether to call forced publish events after every step."""
        self._publishes_every_step = publish

    def get_publish_every_time_step(self) -> bool:
        """Whether forced publish events are called after every step."""
        return self._publishes_every_step

    def set_publish_at_initialization(self, publish: bool) -> None:
        """Whether to call forced publish events in `Initialize`."""
        self._publishes_at_initialization = publish

    def set_monitor(self, monitor: Callable[[Context], EventStatus | None]) -> None:
        """Calls monitor(root_context) after `Initialize` and after every step; its status may end the simulation."""
        self._monitor = monitor

    def get_monitor(self) -> Callable[[Context], EventStatus | None] | None:
        """The monitor, if there is one."""
        return self._monitor

    def clear_monitor(self) -> None:
        """Removes the monitor."""
        self._monitor = None

    # ------------------------------------------------------------------ statistics

    def ResetStatistics(self) -> None:
        """Sets all counts to zero and starts the clock for the real-time rate."""
        self._num_steps = self._num_publishes = 0
        self._num_discrete_updates = self._num_unrestricted_updates = 0
        self._wall_start = wall_clock.perf_counter()
        self._time_start = self._context._store.flat.item(0)
        assert self._integrator is not None
        self._integrator.ResetStatistics()

    def get_num_steps_taken(self) -> int:
        """Number of steps since `Initialize`."""
        return self._num_steps

    def get_num_publishes(self) -> int:
        """Number of times that publish events were carried out."""
        return self._num_publishes

    def get_num_discrete_updates(self) -> int:
        """Number of times that discrete updates were carried out."""
        return self._num_discrete_updates

    def get_num_unrestricted_updates(self) -> int:
        """Number of times that unrestricted updates were carried out."""
        return self._num_unrestricted_updates

    # ------------------------------------------------------------------ simulation

    def Initialize(self) -> SimulatorStatus:
        """Makes ready to advance from the time and state in the context.

        Carries out initialization events (unrestricted, discrete, publish), and those per-step and periodic publish
        events that are due now. Updates that are due now are left to the first advance.

        Raises:
            RuntimeError: an event handler reported failure.
        """
        self._schedule = EventSchedule(self._system, self._context)
        self.ResetStatistics()
        time = self._context._store.flat.item(0)
        status = SimulatorStatus(time)
        initialization = self._schedule.initialization
        self._update(initialization, status)
        self._pending = [*self._schedule.per_step, *self._schedule.timed_at(time)]
        self.get_integrator().Initialize()
        self._is_initialized = True
        self._expected_time = time
        self._publish([*initialization, *self._pending], status, forced=self._publishes_at_initialization)
        self._consult_monitor(status)
        return status

    def AdvanceTo(self, boundary_time: float) -> SimulatorStatus:
        """Advances until the boundary time [s], or until a monitor or an event handler ends the simulation.

        If a callback raises, the exception names the system and the time, and the context keeps the values from the
        beginning of the step.

        Raises:
            ValueError: the boundary time lies in the past or is not a number.
            RuntimeError: an event handler reported failure, or a value is not finite.
        """
        if not self._is_initialized:
            initial = self.Initialize()
            if not initial.succeeded():
                return initial
        time = self._context._store.flat.item(0)
        if not boundary_time >= time:
            raise ValueError(f"Cannot advance to time {boundary_time} s: the context is at time {time} s.")
        status = SimulatorStatus(boundary_time)
        progress = SimulationProgress(time, boundary_time)
        try:
            while True:
                self._advance_one_step(boundary_time, status)
                time = self._context._store.flat.item(0)
                if time >= boundary_time or not status.succeeded():
                    break
                progress.update(time)
        finally:
            progress.close()
        return status

    def AdvancePendingEvents(self) -> SimulatorStatus:
        """Carries out the updates that are due at the current time, without letting time pass."""
        return self.AdvanceTo(self._context._store.flat.item(0))

    def _advance_one_step(self, boundary_time: float, status: SimulatorStatus) -> None:
        flat = self._context._store.flat
        time = flat.item(0)
        if time != self._expected_time:  # somebody has set the time between two advances
            self._pending = [*self._schedule.per_step, *self._schedule.timed_at(time)]
        if self._pending:
            self._update(self._pending, status)
        self._pending = self._schedule.per_step
        next_time, timed = self._schedule.next_timed(time)
        target = min(next_time, boundary_time)
        if self._target_rate > 0.0:
            self._wait(time)
        if self._has_continuous_state and target > time:
            self.get_integrator().IntegrateNoFurtherThanTime(next_time, next_time, boundary_time)
        elif target > time:
            self._context._set_time(target)
        time = self._expected_time = flat.item(0)
        self._num_steps += 1
        if time >= next_time:
            self._pending = [*self._schedule.per_step, *timed] if self._schedule.per_step else timed
        self._publish(self._pending, status, forced=self._publishes_every_step)
        if self._monitor is not None:
            self._consult_monitor(status)

    def _update(self, events: EventList, status: SimulatorStatus) -> None:
        """Unrestricted updates, then discrete updates."""
        outcome = execute(events, _UNRESTRICTED)
        self._num_unrestricted_updates += not outcome.did_nothing()
        self._heed(outcome, status)
        outcome = execute(events, _DISCRETE)
        self._num_discrete_updates += not outcome.did_nothing()
        self._heed(outcome, status)

    def _publish(self, events: EventList, status: SimulatorStatus, forced: bool) -> None:
        if events:
            outcome = execute(events, _PUBLISH)
            self._num_publishes += not outcome.did_nothing()
            self._heed(outcome, status)
        if forced:
            self._system.ForcedPublish(self._context)
            self._num_publishes += 1

    def _consult_monitor(self, status: SimulatorStatus) -> None:
        outcome = self._monitor(self._context) if self._monitor is not None else None
        if outcome is not None:
            self._heed(outcome, status)

    def _heed(self, outcome: EventStatus, status: SimulatorStatus) -> None:
        """Turns the outcome of events into the outcome of the advance."""
        if outcome.failed():
            reason = SimulatorStatus.ReturnReason.kEventHandlerFailed
        elif outcome.reached_termination() and status.succeeded():
            reason = SimulatorStatus.ReturnReason.kReachedTerminationCondition
        else:
            return
        time = self._context._store.flat.item(0)
        status._stop(reason, time, outcome.system() or self._system, outcome.message())
        if outcome.failed():
            raise RuntimeError(status.FormatMessage())

    def _wait(self, time: float) -> None:
        """Sleeps until wall time has caught up with the target real-time rate."""
        ahead = (time - self._time_start) / self._target_rate - (wall_clock.perf_counter() - self._wall_start)
        if ahead > 0.0:
            wall_clock.sleep(ahead)
