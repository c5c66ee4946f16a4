"""The loop of a plan: events and the steps of integrators in one compiled call.

What happens in a step, and in what order, is written in simulation/steps.py; here is what that consists of, in compiled
form. Steps of the integrator are those of integrators/stepping.py. What is left to Python is an operation like others,
see callbacks.py. All functions return SUCCEEDED, or why the loop is to end; its data are in the records of
loop_state.py: `p` is the Problem, `now` its Progress.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators.compiled_steps import STEPS
from merganser.analysis.integrators.explicit_runge_kutta import try_runge_kutta_step
from merganser.analysis.integrators.problem import copy, step_of, step_problem_at
from merganser.analysis.integrators.step_state import TOO_FINE
from merganser.analysis.plan import loop_state as f
from merganser.analysis.plan.loop_state import group_of, patience_of, problem_at
from merganser.analysis.simulation import step_codes as codes
from merganser.analysis.simulation.clocks import strike_after
from merganser.analysis.simulation.event_schedule import find_next_events
from merganser.analysis.simulation.step_parts import commit, compute, publish, step_towards
from merganser.analysis.simulation.steps import take_step
from merganser.analysis.simulation.watch_state import watch_at
from merganser.framework.native import PreparedKernel, compiled_form, device, kernel
from merganser.framework.native.memory.tape import (
    AGAIN,
    FAILED,
    RAISED,
    SUCCEEDED,
    call_clock,
    call_kernel,
    call_python,
    integers_at,
)
from merganser.framework.native.operations.operation_list import operations_at, run_part
from merganser.framework.native.operations.operations import address_of


@device
def look_now_and_then(p: Any) -> int:
    """Calls Python to check for signals when the loop has run for long enough."""
    patience = patience_of(p)
    patience.passes_left -= 1
    if patience.passes_left > 0:
        return SUCCEEDED
    if patience.get_time == 0:
        patience.passes_left = f.MOST_PASSES
        return call_python(p.look, p.failure)
    call_clock(patience.get_time, patience.which_clock, p.patience)
    elapsed = 1_000_000_000 * patience.seconds + patience.nanoseconds
    if patience.slice_end == 0:
        patience.slice_end = elapsed + f.SLICE
    elif elapsed - patience.last_look > f.SLICE // 100:
        patience.passes = 1
    else:
        patience.passes = min(2 * patience.passes, f.MOST_PASSES)
    patience.passes_left = patience.passes
    patience.last_look = elapsed
    if elapsed < patience.slice_end:
        return SUCCEEDED
    return call_python(p.look, p.failure)


@device
def run(p: Any, begin: int, end: int) -> int:
    """Runs operations until one fails; returns its status."""
    return run_part(p.operations, begin, end)


@kernel
def evaluate(problem: int, number: int) -> int:
    """Computes what an attempt of the integrator asks for, by its number."""
    p = problem_at(problem)
    now = p.progress
    status = look_now_and_then(p)
    if status != SUCCEEDED:
        return status
    note_move(p, now)
    if now.needs_all:
        status = run(p, p.constants_begin, p.constants_end)
    if status == SUCCEEDED:
        status = run(p, p.ranges[number, 0], p.ranges[number, 1])
    if status == SUCCEEDED:
        now.needs_all = 0
    return status


@device
def note_move(p: Any, now: Any) -> None:
    """Notes for Python whether time or continuous state have changed."""
    s = step_of(p.step)
    if s.has_moved:
        now.changed |= 1
        s.has_moved = 0


_SPREAD = 0x1E3779B97F4A7C15  # its product with small numbers has bits all over; beyond 64 bits they do not count


@kernel
def advance(
    problem: int,  # address of a Problem
) -> int:
    """Takes steps until there is a reason to end, see step_codes.py."""
    p = problem_at(problem)
    now = p.progress
    outcome = SUCCEEDED
    while outcome == SUCCEEDED:
        if now.stage == codes.UPDATING:
            outcome = _begin_step(p, now)
        if outcome == SUCCEEDED:
            outcome = take_step(p, now)
    return outcome


@device
def _begin_step(p: Any, now: Any) -> int:
    if now.is_out_of_date:
        return AGAIN
    if now.steps_left <= 0:
        return codes.PAUSE
    return look_now_and_then(p)


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
        if outcome != codes.READ_AGAIN:
            return outcome
        outcome = run(p, inputs_begin, inputs_end)
    return outcome


@compiled_form(compute)
@device
def _compute(p: Any, now: Any, of_state: bool) -> int:
    """If an operation fails nothing is changed; Python then says why."""
    group = group_of(p, now.pending)
    now.has_effect = 0
    if group.flags & codes.IS_LEFT_TO_PYTHON:
        outcome = call_python(p.update_in_python, p.failure)
    elif of_state:
        outcome = run(p, group.state_inputs_begin, group.state_inputs_end)
        if outcome == SUCCEEDED:
            outcome = run(p, group.state_begin, group.state_end)
        now.has_effect = 1
    else:
        now.has_effect = group.flags & (codes.HAS_NATIVE_UPDATES | codes.HAS_JOINING_UPDATES)
        outcome = _handle(
            p, now, group.update_inputs_begin, group.update_inputs_end, group.update_begin, group.update_end
        )
        if outcome in (AGAIN, FAILED) and now.handled > 0:  # a handler is not called twice
            return codes.PYTHON_UPDATES
    return codes.PYTHON_STEP if outcome == FAILED else outcome


@compiled_form(commit)
@device
def _commit(p: Any, now: Any, of_state: bool) -> None:
    group = group_of(p, now.pending)
    if of_state:
        run(p, group.state_commit_begin, group.state_commit_end)
    else:
        run(p, group.commit_begin, group.commit_end)
    if group.flags & codes.CHANGES_DERIVATIVES:
        step_of(p.step).is_current = 0
    now.changed |= 1 << min(f.FIRST_GROUP_BIT + now.pending, f.LAST_GROUP_BIT)
    now.needs_all = 1


@compiled_form(publish)
@device
def _publish(p: Any, now: Any) -> int:
    found = find_group(p, now.due)
    if found < 0:
        outcome = call_python(p.add_group, p.failure)
        if outcome != SUCCEEDED:
            return outcome
        found = find_group(p, now.due)
    group = group_of(p, found)
    now.pending, now.flags, now.handled, now.has_effect = found, group.flags, 0, 0
    now.steps_left -= 1
    if not group.flags & codes.HAS_PUBLISHES:
        return SUCCEEDED
    if group.flags & codes.HAS_LOGS:
        if now.room_in_logs <= 0:
            outcome = call_python(p.make_room, p.failure)
            if outcome != SUCCEEDED:
                return codes.PYTHON_PUBLISH if outcome == AGAIN else outcome
        now.room_in_logs -= 1
    now.has_effect = group.flags & codes.HAS_NATIVE_PUBLISHES
    outcome = _handle(
        p, now, group.publish_inputs_begin, group.publish_inputs_end, group.publish_begin, group.publish_end
    )
    return codes.PYTHON_PUBLISH if outcome in (FAILED, AGAIN) else outcome


@device
def group_place(clocks: int, last_place: int) -> int:
    """Where to begin to look for a group of clocks; if it is taken, the next places follow."""
    return ((clocks * _SPREAD) >> 40) & last_place


@device
def find_group(p: Any, due: int) -> int:
    """The number of the group of these clocks; -1 without one."""
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


@compiled_form(find_next_events)
@device
def _find_next_events(p: Any, now: Any) -> int:
    if now.is_out_of_date:
        return AGAIN
    if _has_rung(p):
        return codes.PYTHON_STEP
    now.next_time, now.due = strike_after(p.clocks, p.num_clocks, now.time, now.boundary)
    return codes.PYTHON_STEP if math.isnan(now.next_time) else SUCCEEDED


@compiled_form(step_towards)
@device
def _step_towards(p: Any, now: Any, target: float) -> int:
    values, outcome = p.values, SUCCEEDED
    if target == now.time:
        pass
    elif p.watch and not step_problem_at(p.step).step.is_recorded:
        return _take_watched_step(p, now, target)
    elif p.take_watched_step:
        return call_python(p.take_watched_step, p.failure)
    elif len(step_problem_at(p.step).state) == 0:
        values[0] = target
        now.changed |= 1
    else:
        outcome = call_kernel(p.take_step, (p.step, target))
        note_move(p, now)
        if outcome not in (SUCCEEDED, RAISED, TOO_FINE):  # what has been computed for an exception counts
            _forget_step(step_problem_at(p.step))
        if outcome not in (SUCCEEDED, RAISED, AGAIN):
            outcome = codes.PYTHON_STEP
    if outcome == SUCCEEDED:
        now.time, now.stage = values[0], codes.ENDING
    return outcome


@device
def _take_watched_step(p: Any, now: Any, target: float) -> int:
    """Advances to `target` [s], or by one step, or until witness functions trigger; notes its end."""
    watched, outcome = watch_at(p.watch).now, SUCCEEDED
    watched.num_triggered = watched.chattering = 0
    if now.has_updated or watched.is_stale:
        if p.has_fixed_witnesses:
            now.has_updated = watched.is_stale = watched.knows_slopes = 0
        else:
            outcome = call_python(p.determine_witnesses, p.failure)
    if outcome == SUCCEEDED:
        outcome = call_kernel(p.watched_step, (p.watch, target))
        note_move(p, now)
        if outcome not in (SUCCEEDED, RAISED, AGAIN):
            outcome = codes.PYTHON_STEP
    if outcome == SUCCEEDED and (watched.num_triggered or watched.chattering):
        now.stage = codes.WATCHING
        return call_python(p.note_triggers, p.failure)
    if outcome == SUCCEEDED:
        now.time, now.stage = p.values[0], codes.ENDING
    return outcome


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
    _parts = STEPS, PreparedKernel(evaluate, 0, 0), PreparedKernel(try_runge_kutta_step, 0)
    _operations = "copy", "call_back", "call_back_on_demand"

    def address(self) -> int:
        """Where it stands; all is compiled, or taken from the disk, when first asked for."""
        for part in self._parts:
            part.address()
        for operation in self._operations:
            address_of(operation)
        return self._loop.address()


LOOP = _Loop()
