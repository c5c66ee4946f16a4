"""The order of events: what one step of a simulation does, and on what conditions.

| stage | what happens | then |
|---|---|---|
| UPDATING | unrestricted updates, then discrete ones, where any are pending | STEPPING |
| COMMITTING | within that: updates that have been computed are made | UPDATING |
| STEPPING | time passes up to the next event, or as far as one step of the integrator gets | ENDING |
| ENDING | the step is counted; it may have ended before the next event | PUBLISHING |
| PUBLISHING | the events due there are pending from now on; those that publish happen | UPDATING |

A step that stops anywhere, by an interrupt, an error, or as the rest of it is left to Python, goes on at its stage. So
what counts is noted together with the stage, in one statement: neither Python nor compiled code is interrupted within.

One source serves Python, where `p` is the Simulator and `now` its DueEvents, and the compiled loop of a plan, where
`now` is a Progress and `p` its Problem (plan/loop_state.py). What a step consists of has a form in Python
(step_parts.py) and a compiled one (plan/loop.py). Functions return SUCCEEDED, or why no step follows.
"""

from __future__ import annotations

from typing import Any

from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.event_schedule import find_next_events
from merganser.analysis.simulation.step_parts import commit, compute, publish, step_towards
from merganser.framework.native import device
from merganser.framework.native.memory.tape import SUCCEEDED

_ANY_UPDATES = codes.HAS_STATE_UPDATES | codes.HAS_UPDATES


@device
def take_step(p: Any, now: Any) -> int:
    """Takes a step, or the rest of one, from its stage on."""
    outcome = SUCCEEDED
    if now.stage == codes.UPDATING:
        if now.flags & _ANY_UPDATES:
            outcome = make_updates(p, now)
        if outcome == SUCCEEDED:
            now.stage = codes.STEPPING
    if outcome == SUCCEEDED and now.stage == codes.STEPPING:
        outcome = find_next_events(p, now)
        if outcome == SUCCEEDED:
            outcome = step_towards(p, now, now.next_time if now.next_time < now.boundary else now.boundary)
    if outcome == SUCCEEDED and now.stage == codes.ENDING:
        end_step(now)
    if outcome == SUCCEEDED:
        outcome = publish(p, now)
    if outcome == SUCCEEDED:
        now.num_publishes, now.stage = now.num_publishes + (1 if now.has_effect else 0), codes.UPDATING
        if now.must_stop:
            outcome = codes.STOPPED
        elif now.time >= now.boundary:
            outcome = codes.DONE
    return outcome


@device
def end_step(now: Any) -> None:
    """Counts a step that has ended."""
    if not now.time >= now.next_time:
        now.due = 0
    now.num_steps, now.stage = now.num_steps + 1, codes.PUBLISHING


@device
def make_updates(p: Any, now: Any) -> int:
    """Makes the updates that are pending: unrestricted ones, then discrete ones, which see what those have done.

    Those of either kind see the values from before; then all changes are made at once. Where one of them ends the
    simulation, all stay pending.
    """
    flags, outcome = now.flags, SUCCEEDED
    now.has_updated = 1
    if flags & codes.HAS_STATE_UPDATES and not now.state_is_updated:
        outcome = compute(p, now, True)
        if outcome == SUCCEEDED and now.has_effect:
            now.num_state_updates, now.state_is_updated, now.stage = now.num_state_updates + 1, 1, codes.COMMITTING
            commit(p, now, True)
            now.stage = codes.UPDATING
        if outcome == SUCCEEDED:
            now.state_is_updated = 1
    if outcome == SUCCEEDED and flags & codes.HAS_UPDATES:
        outcome = compute(p, now, False)
        if outcome == SUCCEEDED and now.has_effect:
            num_updates = now.num_updates + (1 if flags & codes.HAS_DISCRETE_UPDATES else 0)
            num_state_updates = now.num_state_updates + (1 if flags & codes.HAS_JOINING_UPDATES else 0)
            now.num_updates, now.num_state_updates, now.flags, now.state_is_updated, now.stage = (
                num_updates, num_state_updates, 0, 0, codes.COMMITTING,
            )  # fmt: skip
            commit(p, now, False)
            now.stage = codes.UPDATING
    if outcome == SUCCEEDED:
        now.flags, now.state_is_updated = 0, 0
        if now.must_stop:
            now.flags, outcome = flags, codes.STOPPED
    return outcome
