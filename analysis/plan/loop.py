"""The loop of a plan: events and the steps of integrators in one compiled call.

It does what `Simulator._advance_one_step` does, in the same order, and takes the steps of integrators/stepping.py. What
is left to Python is an operation like others, see callbacks.py. All functions return SUCCEEDED, or why the loop is to
end; what it knows then stands in the records of loop_state.py: `p` is the Problem, `now` its Progress.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators.compiled_steps import STEPS
from merganser.analysis.integrators.explicit_runge_kutta import try_runge_kutta_step
from merganser.analysis.integrators.problem import copy, step_of, step_problem_at
from merganser.analysis.integrators.step_state import TOO_FINE
from merganser.analysis.plan import loop_state as f
from merganser.analysis.plan.loop_state import group_of, problem_at
from merganser.analysis.plan.running import evaluate, look_now_and_then, note_move, run
from merganser.analysis.simulation.clocks import strike_after
from merganser.framework.native import PreparedKernel, device, kernel
from merganser.framework.native.memory.tape import (
    AGAIN,
    FAILED,
    RAISED,
    SUCCEEDED,
    call_kernel,
    call_python,
    integers_at,
)
from merganser.framework.native.operations.operation_list import operations_at

__all__ = ["LOOP", "advance", "group_place"]

_SPREAD = 0x1E3779B97F4A7C15  # its product with small numbers has bits all over; beyond 64 bits they do not count


@kernel
def advance(
    problem: int,  # address of a Problem
) -> int:
    """Takes steps until there is a reason to end, see loop_state.py."""
    p = problem_at(problem)
    now = p.progress
    outcome = _end_step(p, now) if now.stage == f.ENDING else SUCCEEDED
    while outcome == SUCCEEDED:
        outcome = _take_step(p, now)
    return outcome


@device
def _take_step(p: Any, now: Any) -> int:
    """Updates that are due, time up to the next event or as far as the integrator gets, publish events there."""
    now.stage = f.UPDATING
    if now.steps_left <= 0:
        return f.PAUSE
    outcome = look_now_and_then(p)
    if outcome == SUCCEEDED and now.pending >= 0:
        outcome = _make_updates(p, now)
    if outcome == SUCCEEDED:
        now.stage = f.STEPPING
        outcome = _pass_time(p, now)
    if outcome == SUCCEEDED:
        outcome = _end_step(p, now)
    return outcome


# ---------------------------------------------------------------------- events


@device
def _handle(p: Any, now: Any, inputs_begin: int, inputs_end: int, begin: int, end: int) -> int:
    """Brings up to date what events read, then runs the operations of the events."""
    now.handled = 0
    outcome = run(p, inputs_begin, inputs_end)
    while outcome == SUCCEEDED:
        now.returned = -1
        outcome = run(p, begin + now.handled, end)
        if outcome == SUCCEEDED:
            return outcome
        at = operations_at(p.operations).at
        now.handled = at - begin + (1 if now.returned == at else 0)
        if outcome != f.READ_ANEW:
            return outcome
        outcome = run(p, inputs_begin, inputs_end)
    return outcome


@device
def _make_updates(p: Any, now: Any) -> int:
    """Makes the updates that are due. If an operation fails nothing is changed; Python then says why."""
    group = group_of(p, now.pending)
    flags = group.flags
    now.has_updated |= flags & (f.HAS_UPDATES | f.HAS_STATE_UPDATES | f.IS_LEFT_TO_PYTHON)
    outcome = SUCCEEDED
    if flags & f.IS_LEFT_TO_PYTHON:
        outcome = call_python(p.update_in_python, p.failure)
    if flags & f.HAS_STATE_UPDATES and not now.state_is_updated:
        outcome = _update_state(p, now, group)
    if outcome == SUCCEEDED and flags & f.HAS_UPDATES:
        outcome = _update(p, now, group)
    if outcome == FAILED:
        return f.PYTHON_STEP
    if outcome != SUCCEEDED or now.must_stop:
        return f.STOPPED if outcome == SUCCEEDED else outcome
    now.pending = -1
    now.state_is_updated = 0
    return AGAIN if now.is_out_of_date else SUCCEEDED


@device
def _update_state(p: Any, now: Any, group: Any) -> int:
    """Unrestricted updates, all of which are operations, come before the others, which see what they have done."""
    outcome = run(p, group.state_inputs_begin, group.state_inputs_end)
    if outcome == SUCCEEDED:
        outcome = run(p, group.state_begin, group.state_end)
    if outcome == SUCCEEDED:
        run(p, group.state_commit_begin, group.state_commit_end)
        _note_updates(p, now, group)
        now.num_state_updates += 1
        now.state_is_updated = 1
    return outcome


@device
def _update(p: Any, now: Any, group: Any) -> int:
    """All discrete updates see the values from before; then all changes are made at once."""
    flags = group.flags
    now.has_effect = flags & (f.HAS_NATIVE_UPDATES | f.HAS_JOINING_UPDATES)
    outcome = _handle(
        p, now, group.update_inputs_begin, group.update_inputs_end, group.update_begin, group.update_end
    )
    if outcome == SUCCEEDED and now.has_effect:
        run(p, group.commit_begin, group.commit_end)
        _note_updates(p, now, group)
        now.num_updates += 1 if flags & f.HAS_DISCRETE_UPDATES else 0
        now.num_state_updates += 1 if flags & f.HAS_JOINING_UPDATES else 0
    if outcome in (AGAIN, FAILED) and now.handled > 0:  # a handler is not called twice
        return f.PYTHON_UPDATES
    return outcome


@device
def _note_updates(p: Any, now: Any, group: Any) -> None:
    if group.flags & f.CHANGES_DERIVATIVES:
        step_of(p.step).is_current = 0
    now.changed |= 1 << min(f.FIRST_GROUP_BIT + now.pending, f.LAST_GROUP_BIT)
    now.needs_all = 1


@device
def _end_step(p: Any, now: Any) -> int:
    """Counts the step, makes the events pending that are due where it ends, and publishes."""
    now.stage = f.ENDING
    values = p.values
    if not values[0] >= now.next_time:
        now.due = 0
    found = _find_group(p, now.due)
    if found < 0:
        outcome = call_python(p.add_group, p.failure)
        if outcome != SUCCEEDED:
            return outcome
        found = _find_group(p, now.due)
    now.pending = found
    now.num_steps += 1
    now.steps_left -= 1
    now.handled = 0
    now.stage = f.PUBLISHING
    group = group_of(p, now.pending)
    if group.flags & f.HAS_PUBLISHES:
        outcome = _publish(p, now, group)
        if outcome != SUCCEEDED:
            return outcome
    now.stage = f.UPDATING
    if now.must_stop:
        return f.STOPPED
    if values[0] >= now.boundary:
        return f.DONE
    return AGAIN if now.is_out_of_date else SUCCEEDED


@device
def _publish(p: Any, now: Any, group: Any) -> int:
    if group.flags & f.HAS_LOGS:
        if now.room_in_logs <= 0:
            outcome = call_python(p.make_room, p.failure)
            if outcome != SUCCEEDED:
                return f.PYTHON_PUBLISH if outcome == AGAIN else outcome
        now.room_in_logs -= 1
    now.has_effect = group.flags & f.HAS_NATIVE_PUBLISHES
    outcome = _handle(
        p, now, group.publish_inputs_begin, group.publish_inputs_end, group.publish_begin, group.publish_end
    )
    if outcome in (FAILED, AGAIN):
        return f.PYTHON_PUBLISH
    if outcome == SUCCEEDED and now.has_effect:
        now.num_publishes += 1
    return outcome


@device
def group_place(clocks: int, last_place: int) -> int:
    """Where to begin to look for a group of clocks; if another one stands there, the next places follow."""
    return ((clocks * _SPREAD) >> 40) & last_place


@device
def _find_group(p: Any, due: int) -> int:
    """The number of the group of these clocks; -1 if there is none."""
    places = p.places_of_groups
    last_place = len(places) - 1
    place = group_place(due, last_place)
    while places[place] > 0:
        n = places[place] - 1
        if group_of(p, n).clocks == due:
            return n
        place = (place + 1) & last_place
    return -1


# ---------------------------------------------------------------------- continuous time


@device
def _pass_time(p: Any, now: Any) -> int:
    """Lets time pass until the next event, until the boundary time, or as far as one step of the integrator gets."""
    if _has_rung(p):
        return f.PYTHON_STEP
    values = p.values
    time = values[0]
    now.next_time, now.due = strike_after(p.clocks, p.num_clocks, time, now.boundary)
    if math.isnan(now.next_time):
        return f.PYTHON_STEP
    target = now.next_time if now.next_time < now.boundary else now.boundary
    if target == time:
        return SUCCEEDED
    if p.take_watched_step:
        return call_python(p.take_watched_step, p.failure)
    if len(step_problem_at(p.step).state) == 0:
        values[0] = target
        now.changed |= 1
        return SUCCEEDED
    outcome = call_kernel(p.take_step, (p.step, target))
    note_move(p, now)
    if outcome not in (SUCCEEDED, RAISED, TOO_FINE):  # what has been computed for an exception counts
        _forget_step(step_problem_at(p.step))
    return outcome if outcome in (SUCCEEDED, RAISED, AGAIN) else f.PYTHON_STEP


@device
def _has_rung(p: Any) -> bool:
    """Whether something has come from outside since Python last took in what had."""
    notifications = p.notifications
    for k in range(len(notifications)):  # noqa: SIM110  it is compiled
        if integers_at(notifications[k, 0])[0] != notifications[k, 1]:
            return True
    return False


@device
def _forget_step(problem: Any) -> None:
    """Takes back what has been counted in a step that will be taken again, with the same derivatives at its start."""
    s = problem.step
    s.counts = s.before
    if s.was_current and s.knows_start:
        copy(problem.xdot, problem.xdot_start)
        s.is_current = 1


class _Loop:
    """The loop, with what its first steps need."""

    _loop = PreparedKernel(advance, 0)
    _parts = STEPS, PreparedKernel(evaluate, 0), PreparedKernel(try_runge_kutta_step, 0)

    def address(self) -> int:
        """Where it stands; all is compiled, or taken from the disk, when first asked for."""
        for part in self._parts:
            part.address()
        return self._loop.address()


LOOP = _Loop()
