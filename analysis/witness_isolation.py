"""Finding the time at which witness functions trigger within a step, and noticing when they never stop.

A step from t0 to t1 has been taken. Witness function w triggers in it if its values w(t0), w(t1) say so. The step
is then taken anew from t0 to trial times, which close in on the earliest trigger from both sides:

    left < t* <= right,  nothing has triggered at left,  something has at right                (1)

The trial times are those of ITP (Oliveira, Takahashi 2020, "An enhancement of the bisection method average
performance preserving minmax optimality", ACM TOMS 47(1)): regula falsi, truncated towards the middle and projected
onto the region that keeps the worst case of bisection plus one. With several witness functions, the earliest of
their estimates is tried.

After a trigger, w is zero but for the last digits of time, so that its sign there means nothing. Whether it triggers
again in the next step is decided by its sign after leaving zero: by the latest of the times t0 + (t1 - t0) / 8^k
where w lies clearly on the other side than at t1 (2).
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from merganser.analysis.integrators import IntegratorBase
from merganser.framework import Context, LeafContext, System, WitnessFunction

if TYPE_CHECKING:
    from merganser.analysis.event_schedule import EventList

__all__ = ["WatchedWitness", "WitnessWatch"]

# Length of the final bracket as a share of the time scale: well above rounding errors, well below what anyone asks.
_RESOLUTION = 1e-13
_SEARCH_FACTOR = 0.125  # (2)
_BAND_FACTOR = 4.0  # values up to this multiple of those in the final bracket count as zero after a trigger
_JUMP_SHARE = 1e-3  # a function that changes sign with values above this share of those at the ends jumps over zero
_TRUNCATION = 0.2  # kappa_1 of ITP, for a bracket of length 1
# Triggers that would all happen within this share of the time scale are taken for infinitely many.
_ZENO_SHARE = 1e-9
_NUM_TIMES_KEPT = 50


@dataclasses.dataclass(eq=False, slots=True)
class WatchedWitness:
    """A witness function, and what is known about it in the simulation.

    Attributes:
        context: of its leaf system.
        witness: the function.
        zero_band: values as small as this count as zero, because it has just triggered.
        times: when it triggered lately [s].
        start: reference value at the beginning of the step; 0 if it cannot trigger in this step.
        armed_after: it can trigger after this time [s].
    """

    context: LeafContext
    witness: WitnessFunction
    zero_band: float = 0.0
    times: deque[float] = dataclasses.field(default_factory=lambda: deque(maxlen=_NUM_TIMES_KEPT))
    start: float = 0.0
    armed_after: float = -math.inf

    def value(self) -> float:
        """Its value now."""
        return self.witness._value(self.context)

    def has_triggered(self, time: float, value: float) -> bool:
        """Whether it has triggered in this step by `time`, where it has this value."""
        return time > self.armed_after and self.witness.should_trigger(self.start, value)

    def accumulation_time(self, scale: float) -> float | None:
        """The time [s] before which it will trigger without end; None if there is no sign of that.

        Either the last two intervals d1 > d2 between triggers are terms of a geometric series whose rest
        d2 r / (1 - r), r = d2 / d1, is too short to be resolved, or many triggers have come in as short a time.
        """
        times, shortest = self.times, _ZENO_SHARE * scale
        if len(times) == _NUM_TIMES_KEPT and times[-1] - times[0] <= shortest:
            return times[-1]
        if len(times) < 3:
            return None
        d1, d2 = times[-2] - times[-3], times[-1] - times[-2]
        rest = d2 * d2 / (d1 - d2) if d2 < d1 else math.inf
        return times[-1] + rest if max(d2, rest) <= shortest else None


class WitnessWatch:
    """Takes steps that end where a witness function triggers.

    Args:
        system: whose witness functions to watch.
        context: its root context.
        integrator: advances that context.
    """

    def __init__(self, system: System, context: Context, integrator: IntegratorBase) -> None:
        self._system = system
        self._context = context
        self._integrator = integrator
        self._time_start = self._time()
        self._known: dict[WitnessFunction, WatchedWitness] = {}
        self._active: list[WatchedWitness] = []
        self.is_stale = True  # whether other witness functions may have come into effect
        self.triggered: list[WatchedWitness] = []  # those that have triggered where the last step ended

    def step_towards(self, time: float, target: float) -> None:
        """Takes one step of the integrator, or less than that if witness functions trigger in it.

        If anything fails or is interrupted, time and continuous state are as before.

        Args:
            time: the time in the context [s].
            target: how far to go [s]; no time passes if that is the time in the context.
        """
        self.triggered = []
        if target == time:
            return
        if self.is_stale:
            self._determine_active()
        integrator, watched = self._integrator, self._active
        if not watched:
            integrator._step_towards(time, target)
            return
        before = self._values()
        self._start = time, np.array(self._context._xc._vector._values)
        # Dense output is to have the step where it ends in the end, and none of the trials.
        recording, integrator._dense_output = integrator._dense_output, None
        try:
            integrator._step_towards(time, target)
            triggered = self._look_back(before)
            if recording is not None:
                integrator._dense_output = recording
                self._go_to(self._time())
        except BaseException:
            self._return_to(*self._start)
            raise
        finally:
            integrator._dense_output = recording
        self.triggered = triggered

    def scale(self) -> float:
        """The magnitude of times [s] in this simulation, to which resolutions are relative."""
        time = self._time()
        return max(abs(time), time - self._time_start)

    def triggered_events(self) -> EventList:
        """The events of the witness functions that have triggered."""
        return [(w.context, w.witness._declared) for w in self.triggered if w.witness._declared is not None]

    def _determine_active(self) -> None:
        self._active = []
        for context, witness in self._system._active_witnesses(self._context):
            if witness not in self._known:
                self._known[witness] = WatchedWitness(context, witness)
            self._active.append(self._known[witness])
        self.is_stale = False

    # ------------------------------------------------------------------ one step

    def _look_back(self, before: list[float]) -> list[WatchedWitness]:
        """Finds the earliest triggers in the step just taken, and moves there if there are any."""
        time = self._start[0]
        end = self._time(), np.array(self._context._xc._vector._values)
        values = self._values()
        has_moved = False
        for w, at_start, at_end in zip(self._active, before, values, strict=True):
            w.start, w.armed_after = at_start, -math.inf
            if abs(at_start) > w.zero_band:
                w.zero_band = 0.0
            else:
                w.start = 0.0
                if w.witness.should_trigger(-at_end, at_end):
                    self._search_departure(w, at_start, at_end, time, end[0])
                    has_moved = True
        if any(w.has_triggered(end[0], value) for w, value in zip(self._active, values, strict=True)):
            return self._isolate(before, values, end)
        if has_moved:
            self._return_to(*end)
        return []

    def _search_departure(self, w: WatchedWitness, at_start: float, at_end: float, time: float, end: float) -> None:
        """Finds out whether w has left zero to the other side than where it is at the end of the step (2)."""
        room, shortest = end - time, self._resolution(time, end)
        while room > shortest:
            room *= _SEARCH_FACTOR
            self._go_to(time + room)
            value = w.value()
            if value * at_end < 0.0 and (value * at_start < 0.0 or abs(value) > w.zero_band):
                w.start, w.armed_after = value, time + room
                return

    def _isolate(self, before: list[float], after: list[float], end: tuple[float, np.ndarray]) -> list[WatchedWitness]:
        """Closes in on the earliest trigger (1) and moves to the right end of the bracket."""
        active = self._active
        left, (right, x_right) = self._start[0], end
        resolution = self._resolution(left, right)
        # ITP with epsilon = resolution / 2: bisection would take this many trials.
        num_bisections = max(0, math.ceil(math.log2((right - left) / resolution)))
        reach = 0.5 * resolution * 2.0 ** (num_bisections + 1)
        first_length = right - left
        lefts = [w.start if w.armed_after > -math.inf else value for w, value in zip(active, before, strict=True)]
        rights = after
        while right - left > resolution:
            trial = self._trial_time(left, right, lefts, rights, reach, first_length)
            trial = min(max(trial, left + 0.5 * resolution), right - 0.5 * resolution)
            if not left < trial < right:
                break
            self._go_to(trial)
            values = self._values()
            if any(w.has_triggered(trial, value) for w, value in zip(active, values, strict=True)):
                right, rights, x_right = trial, values, np.array(self._context._xc._vector._values)
            else:
                left = trial
                lefts = [v if trial > w.armed_after else old for w, v, old in zip(active, values, lefts, strict=True)]
            reach *= 0.5
        self._return_to(right, x_right)
        for w, at_left, at_right, *at_ends in zip(active, lefts, rights, before, after, strict=True):
            residual = max(abs(at_left), abs(at_right))
            if at_left * at_right <= 0.0 and residual <= _JUMP_SHARE * max(map(abs, at_ends)):
                w.zero_band = _BAND_FACTOR * residual
        triggered = [w for w, value in zip(active, rights, strict=True) if w.has_triggered(right, value)]
        for w in triggered:
            w.times.append(right)
        return triggered

    def _trial_time(
        self, left: float, right: float, lefts: list[float], rights: list[float], reach: float, first_length: float
    ) -> float:
        """The time that ITP tries next; `reach` is epsilon 2^(n_max - j)."""
        length, middle = right - left, 0.5 * (left + right)
        falsi = min(
            left + length * (a / (a - b))
            for w, a, b in zip(self._active, lefts, rights, strict=True)
            if w.has_triggered(right, b)
        )
        towards = math.copysign(1.0, middle - falsi)
        truncation = _TRUNCATION * length * length / first_length
        truncated = falsi + towards * truncation if truncation <= abs(middle - falsi) else middle
        radius = max(0.0, reach - 0.5 * length)
        return truncated if abs(truncated - middle) <= radius else middle - towards * radius

    # ------------------------------------------------------------------ moving about

    def _time(self) -> float:
        return self._context._store.flat.item(0).real

    def _resolution(self, *times: float) -> float:
        return _RESOLUTION * max(abs(times[-1]), abs(times[0]), times[-1] - times[0])

    def _values(self) -> list[float]:
        return [w.value() for w in self._active]

    def _go_to(self, time: float) -> None:
        """Integrates anew from the start of the step."""
        self._return_to(*self._start)
        self._integrator.IntegrateWithMultipleStepsToTime(time)

    def _return_to(self, time: float, x: np.ndarray) -> None:
        self._context.SetTimeAndContinuousState(time, x)
