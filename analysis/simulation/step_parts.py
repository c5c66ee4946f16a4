"""What steps of a simulation consist of, in Python: steps.py has the order, plan/loop.py the compiled forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from merganser.analysis.simulation.step_codes import ENDING, UPDATING
from merganser.framework.core.declarations.events import DID_ITS_WORK, most_severe
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
    from merganser.analysis.simulation.witness_isolation import WitnessWatch

__all__ = ["commit", "compute", "note_end", "publish", "step_towards"]


def compute(p: Simulator, now: DueEvents, of_state: bool) -> int:
    """Computes the updates that are pending: unrestricted ones of the state, or discrete ones and what joins them."""
    begun, now.begun = now.begun, NOTHING_BEGUN
    outcome, now.updates = compute_updates(now.pending.unrestricted if of_state else now.pending.discrete, begun)
    now.has_effect = outcome is DID_ITS_WORK or now.note_outcome(outcome)
    return SUCCEEDED


def commit(p: Any, now: DueEvents, of_state: bool) -> None:
    """Makes the updates that have been computed; twice is the same as once."""
    if now.must_stop:
        now.statuses = [now.ending]
    for context, values in now.updates:
        context.take_over(values)


def step_towards(p: Simulator, now: DueEvents, target: float) -> int:
    """Lets time pass up to `target` [s], or as far as one step gets; notes where it has ended."""
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
    if watch is not None and watch.triggered:
        due = schedule.with_others(due if time >= next_time else 0, watch.triggered_events())
        next_time, must_stop = time, must_stop or watch.is_accumulating()
    # One statement, in which no signal is looked at: half of it, noted again, would be another end.
    now.due, now.next_time, now.must_stop, now.time, now.stage = due, next_time, must_stop, time, ENDING


def publish(p: Any, now: DueEvents) -> int:
    """Makes the events pending that are due, and carries out those that publish; after an interrupt, the rest of them.

    An event whose handler was interrupted happens again; after one whose handler raised an exception, none does.
    """
    now.pending = pending = now.events[now.due]
    now.flags, events, done, now.has_effect = pending.flags, pending.publish, now.statuses, False
    if not events:
        return SUCCEEDED
    try:
        for context, event in events[len(done) :] if done else events:
            # No signal is looked at between the return of a handler and the end of this line.
            done += [call_handler(context, event)]
        outcome = done[0] if len(done) == 1 else most_severe(done)  # nearly always; 6 % of an event
        now.has_effect = outcome is DID_ITS_WORK or now.note_outcome(outcome)
    except Exception:
        now.stage = UPDATING
        raise
    return SUCCEEDED
