"""Finding the time at which witness functions trigger within a step, and noticing when they never stop.

A step from t0 to t1 has been taken. Witness function w triggers in it if its values w(t0), w(t1) say so. The step
is then taken again from t0 to trial times, which close in on the earliest trigger from both sides:

    left < t* <= right,  nothing has triggered at left,  something has at right                (1)

The trial times are those of ITP (Oliveira, Takahashi 2020, "An enhancement of the bisection method average
performance preserving minmax optimality", ACM TOMS 47(1)): regula falsi, truncated towards the middle and projected
onto the region that keeps the worst case of bisection plus one. With several witness functions, the earliest of
their estimates is tried.

After a trigger, w is zero but for the last digits of time, so that its sign there means nothing. Whether it triggers
again in the next step is decided by its sign after leaving zero: by the latest of the times t0 + (t1 - t0) / 8^k
where w lies clearly on the other side than at t1 (2). Where there is no such time, because w leaves zero by too little
to be seen, the slope dw/dt after the event decides: if it points to the other side than w(t1), w has left and come back
at once. So does a function that an update has stopped at zero, and that nonetheless goes on to where it was going.

Two passages within one step leave w(t0) and w(t1) on the same side. They are looked for where the cubic with values
and slopes of w at both ends has a minimum towards zero (witness_dips.py), on the trajectory itself. That finds every
dip, however narrow, of a function that has one turning point in the step, since its slopes then differ in sign. A
function that turns more often than that may hide a dip. Slopes cost one evaluation of w a step, at a point next to the
end of the step along its derivative; the end of one step is the start of the next.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import warnings
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.analysis.integrators import IntegratorBase
from merganser.analysis.simulation.held_regions import HeldRegions
from merganser.analysis.simulation.witness_dips import CurvePoint, lower_bound, lowest_time
from merganser.framework import Context, LeafContext, System, WitnessFunction

if TYPE_CHECKING:
    from merganser.analysis.simulation.event_schedule import EventList
    from merganser.analysis.simulation.simulator_status import SimulatorStatus

# Length of the final bracket as a share of the time scale: well above rounding errors, well below what anyone asks.
_RESOLUTION = 1e-13
_SEARCH_FACTOR = 0.125  # (2)
_BAND_FACTOR = 4.0  # values up to this multiple of those in the final bracket count as zero after a trigger
_JUMP_SHARE = 1e-3  # a function that changes sign with values above this share of those at the ends jumps over zero
_TRUNCATION = 0.2  # kappa_1 of ITP, for a bracket of length 1
# Triggers that would all happen within this share of the time scale are taken for infinitely many.
_ZENO_SHARE = 1e-9
_NUM_TIMES_KEPT = 50
_SLOPE_SHARE = 2.0**-20  # of a step, over which slopes are measured: rounding and curvature spoil six digits or less
_STOPPED = 1e-9  # a function whose slope an update has reduced to this share is at rest
_TINY = 1e-300  # means "just beyond zero"
_MOST_GUESSES = 3  # trials where nothing but the cubic speaks for a minimum
_MOST_DIP_TRIALS = 12  # a minimum is found to half of all digits in four or five

_NO_GRADIENT_OF_TIME = (
    "The {} has triggered an update in a simulation with AutoDiffXd. The time where that happens is found as a plain "
    "number, so that derivatives of the state leave out how that time changes."
)


@dataclasses.dataclass(eq=False, slots=True)
class WatchedWitness:
    """A witness function, and its data in the simulation.

    Attributes:
        watch: whose it is.
        context: of its leaf system.
        witness: the function.
        zero_band: values as small as this count as zero, because it has just triggered.
        times: when it triggered lately [s].
        start: reference value at the beginning of the step; 0 if it cannot trigger in this step.
        armed_after: it can trigger after this time [s].
        level: what counts as zero in this step: 0, or its value at the beginning where that is 0 but for rounding.
        slope_before: its slope [1/s] when it last triggered an update, before that.
    """

    watch: WitnessWatch
    context: LeafContext
    witness: WitnessFunction
    zero_band: float = 0.0
    times: deque[float] = dataclasses.field(default_factory=lambda: deque(maxlen=_NUM_TIMES_KEPT))
    start: float = 0.0
    armed_after: float = -math.inf
    level: float = 0.0
    slope_before: float = 0.0

    def value(self) -> float:
        """How far it is from its level now."""
        signal = self.witness.rate_of
        rate = () if signal is None else (self.watch.held.rate_of(signal, self.context),)
        return self.witness.CalcWitnessValue(self.context, *rate) - self.level

    def has_triggered(self, time: float, value: float) -> bool:
        """Whether it has triggered in this step by `time`, where it has this value."""
        return time > self.armed_after and self.witness.should_trigger(self.start, value)

    def forget_since(self, time: float, zero_band: float, slope_before: float) -> None:
        """Undoes what has been noted after a time [s] when its `zero_band` and `slope_before` were these."""
        self.zero_band, self.slope_before = zero_band, slope_before
        while self.times and self.times[-1] > time:
            self.times.pop()

    def triggers_where_it_leaves(self, side: float) -> bool:
        """Whether it triggers where it passes from the side of zero that `side` is on to the other."""
        return self.witness.should_trigger(side, 0.0)

    def triggers_update(self) -> bool:
        """Whether its event can change the state."""
        declared = self.witness.declared
        return declared is not None and declared.kind.changes_state

    def accumulation_time(self, scale: float) -> float | None:
        """The time [s] at which its triggers accumulate; None if they do not seem to.

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
        self._x = context.peek_state().get_continuous_state().get_vector().value()
        self._integrator = integrator
        self._time_start = self._time()
        self._known: dict[WitnessFunction, WatchedWitness] = {}
        self._active: list[WatchedWitness] = []
        self._slopes_at_end: tuple[float, np.ndarray, dict[WatchedWitness, float]] | None = None
        self.held = HeldRegions(self, context)
        self.is_stale = True  # whether other witness functions may have come into effect
        self.triggered: list[WatchedWitness] = []  # those that have triggered where the last step ended

    def memory(self) -> tuple[float, list[tuple[float, deque[float], float]]]:
        """The data of each active function between steps, for the watch of a copy of the system."""
        self._determine_active()
        return self._time_start, [(w.zero_band, w.times, w.slope_before) for w in self._active]

    def remember(self, memory: tuple[float, list[tuple[float, deque[float], float]]]) -> None:
        """Takes over the memory of another watch."""
        self._determine_active()
        self._time_start, kept = memory
        for w, (zero_band, times, slope_before) in zip(self._active, kept, strict=True):
            w.zero_band, w.times, w.slope_before = zero_band, times.copy(), slope_before

    def has_stopped(self) -> bool:
        """Whether the last step ended at a trigger, or could not begin."""
        return bool(self.triggered) or self.held.chattering is not None

    def is_accumulating(self) -> bool:
        """Whether a witness function has triggered that would trigger without end."""
        scale = self.scale()
        return self.held.chattering is not None or any(w.accumulation_time(scale) is not None for w in self.triggered)

    def end_if_accumulating(self, status: SimulatorStatus) -> None:
        """Ends the advance where a witness function would trigger without end."""
        if self.held.chattering is not None:
            block, message = self.held.chattering, self.held.describe_chattering()
            status._stop(status.ReturnReason.kZenoBehavior, self._context.get_time(), block, message)
            return
        for watched in self.triggered:
            end = watched.accumulation_time(self.scale())
            if end is not None and status.succeeded():
                message = (
                    f"{watched.witness.describe()} triggers ever faster, without end before time {end} s; let its "
                    "event handler bring the system to rest when too little motion is left"
                )
                reason = status.ReturnReason.kZenoBehavior
                status._stop(reason, self._context.get_time(), watched.witness.get_system(), message)

    def step_towards(self, time: float, target: float, now: Any) -> None:
        """Takes one step of the integrator, or less than that if witness functions trigger in it.

        If anything fails or is interrupted, time and continuous state are as before.

        Args:
            time: the time in the context [s].
            target: how far to go [s]; no time passes if that is the time in the context.
            now: DueEvents, or a Progress: whether there have been updates, after which other functions may count.
        """
        self.triggered = []
        if now.has_updated:
            self.is_stale, now.has_updated = True, 0
        if target == time:
            return
        if self.is_stale:
            self._determine_active()
        if not self.held.blocks:
            self._step(time, target)
            return
        x, memories, has_stepped = self._x.copy(), self.held.memories(), False
        try:
            self.held.change_states()
            if self.held.has_changed_states:
                self._determine_active()
            if self.held.chattering is None:
                end = self.held.begin_step(self._active, target, self._integrator.get_maximum_step_size())
                if self.held.with_regions:
                    self._slopes_at_end = None  # functions are those of other regions
            if self.held.chattering is None:
                self._step(time, end)
                has_stepped = True
        finally:
            if not has_stepped:
                self._return_to(time, x)
                self.held.undo_step(memories)
                self.is_stale = True

    def _step(self, time: float, target: float) -> None:
        """Takes the step of `step_towards`."""
        integrator, watched = self._integrator, self._active
        if not watched and not self.held.blocks:
            integrator._step_towards(time, target)
            return
        for w in watched:
            w.level = 0.0
        before, noted = self._values(), [(w.zero_band, w.slope_before) for w in watched]
        self._start = time, self._x.copy()
        kept, slopes_before = integrator._keep(), self._slopes_at_end
        # Dense output is to have the step where it ends in the end, and none of the trials.
        recording, integrator._dense_output = integrator._dense_output, None
        try:
            integrator._step_towards(time, target)
            triggered = self._look_back(before)
            if recording is not None:
                integrator._dense_output = recording
                self._go_to(self._time())
            if self.held.blocks:
                self.held.end_step()
            self.triggered = triggered  # the last of what an interrupt undoes
        except BaseException:
            self._return_to(*self._start)
            integrator._return_to(kept)
            self._slopes_at_end = slopes_before
            for w, (zero_band, slope_before) in zip(watched, noted, strict=True):
                w.forget_since(time, zero_band, slope_before)
            integrator._dense_output = recording
            raise
        if self._context.store.flat.dtype == object and any(w.triggers_update() for w in triggered):
            warnings.warn(_NO_GRADIENT_OF_TIME.format(triggered[0].witness.describe()), RuntimeWarning, stacklevel=2)

    def scale(self) -> float:
        """The magnitude of times [s] in this simulation, to which resolutions are relative."""
        time = self._time()
        return max(abs(time), time - self._time_start)

    def triggered_events(self) -> EventList:
        """The events of the witness functions that have triggered."""
        return [(w.context, w.witness.declared) for w in self.triggered if w.witness.declared is not None]

    def _determine_active(self) -> None:
        self._active = []
        for context, witness in self._system._sys_active_witnesses(self._context):
            if witness not in self._known:
                self._known[witness] = WatchedWitness(self, context, witness)
            self._active.append(self._known[witness])
        self._slopes_at_end = None
        self.is_stale = False

    # ------------------------------------------------------------------ one step

    def _look_back(self, before: list[float]) -> list[WatchedWitness]:
        """Finds the earliest triggers in the step just taken, and moves there if there are any."""
        time = self._start[0]
        end = self._time(), self._x.copy()
        values = self._values()
        has_moved = False
        for index, (w, at_start, at_end) in enumerate(zip(self._active, before, values, strict=True)):
            w.start, w.armed_after = at_start, -math.inf
            if abs(at_start) > w.zero_band:
                w.zero_band = 0.0
            else:
                w.start = 0.0
                if w.witness.should_trigger(-at_end, at_end):
                    self._search_departure(w, at_start, at_end, time, end[0])
                    values[index] -= w.level
                    has_moved = True
        if has_moved:
            self._return_to(*end)
        dip_time = self._earliest_dip(before, values, end)
        if dip_time is not None:
            end, values = self._shortened(dip_time, before)
        if any(w.has_triggered(end[0], value) for w, value in zip(self._active, values, strict=True)):
            return self._isolate(before, values, end)
        return []

    def _search_departure(self, w: WatchedWitness, at_start: float, at_end: float, time: float, end: float) -> None:
        """Finds out whether w has left zero to the other side than where it is at the end of the step (2)."""
        if self._arm(w, at_end, time, end, lambda value: value * at_start < 0.0 or abs(value) > w.zero_band):
            return
        if abs(at_end) > w.zero_band and self._comes_back_at_once(w, at_start, at_end, time, end):
            # How far it goes is lost in the last digits of its value at the start, but not beside that value.
            w.level = at_start
            if not self._arm(w, at_end, time, end, lambda value: True):
                w.start, w.armed_after = -math.copysign(_TINY, at_end), time

    def _arm(self, w: WatchedWitness, at_end: float, time: float, end: float, counts: Callable[[float], bool]) -> bool:
        """Arms w at the latest of the times (2) where its value is on the other side than at the end and counts."""
        room, shortest = end - time, self._resolution(time, end)
        while room > shortest:
            room *= _SEARCH_FACTOR
            self._go_to(time + room)
            value = w.value()
            if value * at_end < 0.0 and counts(value):
                w.start, w.armed_after = value, time + room
                return True
        return False

    def _comes_back_at_once(self, w: WatchedWitness, at_start: float, at_end: float, time: float, end: float) -> bool:
        """Whether an update that was just triggered left w at zero, or w leaves zero by too little to be seen towards
        the side opposite to that at the end."""
        self._return_to(*self._start)
        slope = self._slopes([w], [at_start], _SLOPE_SHARE * (end - time))[w]
        if slope * at_end < 0.0:
            return True
        was_going_there = w.slope_before * at_end > 0.0 and bool(w.times) and w.times[-1] == time
        return was_going_there and abs(slope) <= _STOPPED * abs(w.slope_before)

    # ------------------------------------------------------------------ two passages within one step

    def _earliest_dip(self, before: list[float], after: list[float], end: tuple[float, np.ndarray]) -> float | None:
        """The earliest time [s] found where a function that is on the same side at both ends has triggered, or None.

        One that triggers on its way back only is armed, and so has triggered at the end. The context is at the end of
        the step before and after that.
        """
        (time, _), (end_time, x_end) = self._start, end
        candidates = {
            w: (at_start, at_end)
            for w, at_start, at_end in zip(self._active, before, after, strict=True)
            if (w.triggers_where_it_leaves(at_end) or w.triggers_where_it_leaves(-at_end))
            and (at_start * at_end > 0.0 or w.start == 0.0)
            and not w.has_triggered(end_time, at_end)
        }
        if not candidates:
            return None
        known, shift = self._slopes_at_end, _SLOPE_SHARE * (end_time - time)
        ends = self._slopes(list(candidates), [v for _, v in candidates.values()], -shift)
        self._slopes_at_end = end_time, x_end, ends
        starts: dict[WatchedWitness, float] = {}
        if known is not None and known[0] == time and np.array_equal(known[1], self._start[1]):
            starts = known[2]
        missing = [w for w in candidates if w not in starts]
        if missing:
            self._return_to(*self._start)
            starts = starts | self._slopes(missing, [candidates[w][0] for w in missing], shift)
        times = []
        for w, (at_start, at_end) in candidates.items():
            side = math.copysign(1.0, at_end)
            first = CurvePoint(time, side * at_start if w.start else 0.0, side * starts[w])
            if not w.start and not first.slope > 0.0:
                continue
            dip = self._search_dip(w, side, first, CurvePoint(end_time, side * at_end, side * ends[w]))
            if dip is None:
                continue
            if w.triggers_where_it_leaves(at_end):
                times.append(dip.time)
            elif dip.value < 0.0:
                w.start, w.armed_after = side * dip.value, dip.time
        if self._time() != end_time:
            self._return_to(*end)
        return min(times, default=None)

    def _search_dip(self, w: WatchedWitness, side: float, first: CurvePoint, last: CurvePoint) -> CurvePoint | None:
        """A point between two others where side * w, positive at both, is not positive; None if none is found."""
        for trial in range(_MOST_DIP_TRIALS):
            has_turned = first.slope < 0.0 < last.slope
            time = lowest_time(first, last) if has_turned or trial < _MOST_GUESSES else None
            if time is None:
                return None
            self._go_to(time)
            value = side * w.value()
            if value <= 0.0:
                return CurvePoint(time, value, math.nan)
            slope = side * self._slopes([w], [side * value], _SLOPE_SHARE * (last.time - time))[w]
            point = CurvePoint(time, value, slope)
            first, last = (point, last) if slope < 0.0 else (first, point)
            if lower_bound(first, last) > 0.0:
                return None
        return None

    def _shortened(self, dip_time: float, before: list[float]) -> tuple[tuple[float, np.ndarray], list[float]]:
        """Ends the step at `dip_time` [s]; returns time, state and values there."""
        self._go_to(dip_time)
        end, values = (dip_time, self._x.copy()), self._values()
        self._slopes_at_end = None
        for index, (w, at_start, value) in enumerate(zip(self._active, before, values, strict=True)):
            if w.start == 0.0 and w.witness.should_trigger(-value, value):
                self._search_departure(w, at_start, value, self._start[0], dip_time)
                values[index] -= w.level
        return end, values

    def _slopes(self, watched: list[WatchedWitness], values: list[float], shift: float) -> dict[WatchedWitness, float]:
        """The slopes dw/dt [1/s] of functions where the context is now, from their values there and next to it.

        The context comes back as it was, and what was current before and was not computed next to it is so again.

        Args:
            values: what they are now.
            shift: how far to go along the derivatives [s].

        Returns:
            By function; nan where it cannot be evaluated, which is no error, since the simulation may never come there.
        """
        slopes = dict.fromkeys(watched, math.nan)
        time = self._time()
        shift = (time + shift) - time
        with self.next_to(shift, may_fail=True) as place:
            with contextlib.suppress(Exception):
                self.held.margins.update()
            for w, value in zip(watched, values, strict=True) if place.is_reached else ():
                with contextlib.suppress(Exception):
                    slopes[w] = (w.value() - value) / shift
        return slopes

    def next_to(self, shift: float, may_fail: bool = False) -> PlaceNearby:
        """The place where the context would be after `shift` [s] along its derivatives, for a with statement."""
        return PlaceNearby(self._system, self._context, self._x, shift, may_fail)

    # ------------------------------------------------------------------ isolation

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
                right, rights, x_right = trial, values, self._x.copy()
            else:
                left = trial
                lefts = [v if trial > w.armed_after else old for w, v, old in zip(active, values, lefts, strict=True)]
            reach *= 0.5
        self._return_to(right, x_right)
        for w, at_left, at_right, *at_ends in zip(active, lefts, rights, before, after, strict=True):
            residual = max(abs(at_left), abs(at_right))
            if w.armed_after < right and at_left * at_right <= 0.0 and residual <= _JUMP_SHARE * max(map(abs, at_ends)):
                w.zero_band = _BAND_FACTOR * residual + abs(w.level)
        triggered = [w for w, value in zip(active, rights, strict=True) if w.has_triggered(right, value)]
        for w in triggered:
            w.times.append(right)
        stoppable = [w for w in triggered if w.triggers_update()]
        if stoppable:
            value_of = dict(zip(active, rights, strict=True))
            slope_of = self._slopes(stoppable, [value_of[w] for w in stoppable], -_SLOPE_SHARE * first_length)
            for w in stoppable:
                w.slope_before = slope_of[w]
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
        return self._context.store.flat.item(0).real

    def _resolution(self, *times: float) -> float:
        return _RESOLUTION * max(abs(times[-1]), abs(times[0]), times[-1] - times[0])

    def _values(self) -> list[float]:
        self.held.margins.update()
        return [w.value() for w in self._active]

    def _go_to(self, time: float) -> None:
        """Integrates again from the start of the step."""
        self._return_to(*self._start)
        self._integrator.IntegrateWithMultipleStepsToTime(time)

    def _return_to(self, time: float, x: np.ndarray) -> None:
        self._context.put_time(time)
        self._context.SetContinuousState(x)


class PlaceNearby:
    """Puts a context further on along its derivatives, within a with statement; then it is as it was before.

    An interrupt as it begins may leave the context there; who takes the step restores time and state then.

    Attributes:
        is_reached: whether it is there: not by less than time can resolve, or where derivatives fail and may.
    """

    def __init__(self, system: System, context: Context, x: np.ndarray, shift: float, may_fail: bool) -> None:
        self._system, self._context, self._x, self._shift, self._may_fail = system, context, x, shift, may_fail
        self.is_reached = False

    def __enter__(self) -> PlaceNearby:
        store, down = self._context.store, self._context.layout.down
        self._time, self._x_here = store.flat.item(0).real, np.array(self._x)
        if self._time + self._shift == self._time:
            return self
        try:
            step = self._shift * self._system.EvalTimeDerivatives(self._context).get_vector().value()
        except Exception:
            if self._may_fail:
                return self
            raise
        self._moved, self._before = down["time"] | down["xc"], store.invalid
        self.is_reached = True
        store.invalid |= self._moved
        store.flat[0] = self._time + self._shift
        self._x += step
        return self

    def __exit__(self, *error: object) -> None:
        if not self.is_reached:
            return
        store, down = self._context.store, self._context.layout.down
        moved = self._moved | down["time"] | down["xc"]  # what was computed may have been seen to depend on more
        computed = (self._before | moved) & ~store.invalid
        store.invalid = (self._before & ~computed) | (computed & moved)
        store.flat[0] = self._time
        self._x[:] = self._x_here
