"""The parts of a simulation step, in Python: steps.py has the order, plan/loop.py the compiled forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from merganser.analysis.simulation.step_codes import ENDING, UPDATING
from merganser.framework.core.context.store import must_repeat
from merganser.framework.core.declarations.events import DID_ITS_WORK, DID_NOTHING, most_severe
from merganser.framework.core.declarations.execution import (
    NOTHING_BEGUN,
    call_handler,
    compute_updates,
)
from merganser.framework.native.memory.tape import SUCCEEDED

if TYPE_CHECKING:
    from merganser.analysis.simulation.due_events import DueEvents
    from merganser.analysis.simulation.event_schedule import EventSchedule
    from merganser.analysis.simulation.simulator import Simulator
    from merganser.analysis.simulation.witness_watch import WitnessWatch


def compute(p: Simulator, now: DueEvents, of_state: bool) -> int:
    """Computes the updates that are pending: unrestricted ones of the state, or discrete ones and what joins them."""
    begun, now.begun = now.begun, NOTHING_BEGUN
    outcome, now.updates = compute_updates(now.pending.unrestricted if of_state else now.pending.discrete, begun)
    now.has_effect = outcome is DID_ITS_WORK or now.note_outcome(outcome)
    return SUCCEEDED


def commit(p: Any, now: DueEvents, of_state: bool) -> None:
    """Makes the computed updates; calling it twice is safe."""
    if now.must_stop:
        now.statuses = [now.ending]
    for context, values in now.updates:
        context.take_over(values)


def step_towards(p: Simulator, now: DueEvents, target: float) -> int:
    """Advances to `target` [s], or by one step; notes its end."""
    time, watch = now.time, p._watch
    if watch is not None:
        watch.step_towards(time, target, now)
        note_end(now, p._time(), p._schedule, watch)
        return SUCCEEDED
    if target > time:
        store = p._store
        if p._has_continuous_state:
            p._integrator._step_towards(time, target)
            time = store.flat.item(0).real
        else:
            store.invalid |= p._down["time"]
            store.flat[0] = time = target
    now.time, now.stage = time, ENDING
    return SUCCEEDED


def note_end(now: Any, time: float, schedule: EventSchedule, watch: WitnessWatch | None) -> None:
    """Notes that a step has ended at a time [s], and what is due there if witness functions have triggered.

    Args:
        now: DueEvents, or the Progress of a compiled loop.
        time: that is now in the Context.
        schedule: of the events.
        watch: has taken the step; None if nothing is watched.
    """
    due, next_time, must_stop = now.due, now.next_time, now.must_stop
    if watch is not None and watch.has_stopped():
        due = schedule.with_others(due if time >= next_time else 0, watch.triggered_events())
        next_time, must_stop = time, must_stop or watch.is_accumulating()
    # One statement, which signals cannot interrupt: half of it, repeated, would give another end.
    now.due, now.next_time, now.must_stop, now.time, now.stage = due, next_time, must_stop, time, ENDING


def publish(p: Any, now: DueEvents) -> int:
    """Makes due events pending, and runs those that publish; a repeated call runs the rest of them.

    An event whose handler was interrupted happens again, as does one that lacked a value which could not be computed.
    One whose handler raised another exception has happened.
    """
    now.pending = pending = now.events[now.due]
    now.flags, events, done, now.has_effect = pending.flags, pending.publish, now.statuses, False
    if not events:
        return SUCCEEDED
    for context, event in events[len(done) :] if done else events:
        try:
            # Signals are not handled between the return of a handler and the end of this line.
            done += [call_handler(context, event)]
        except Exception as error:
            if not must_repeat(error):
                done += [DID_NOTHING]
            raise
    outcome = done[0] if len(done) == 1 else most_severe(done)  # nearly always; 6 % of an event
    try:
        now.has_effect = outcome is DID_ITS_WORK or now.note_outcome(outcome)
    except Exception:
        now.stage = UPDATING
        raise
    return SUCCEEDED
