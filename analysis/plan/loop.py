"""The loop of a plan: events and the steps of integrators in one compiled call.

It does what `Simulator._advance_one_step` does, in the same order, and takes the steps of integrators/stepping.py. What
is left to Python is an operation like others, see callbacks.py. All functions return SUCCEEDED, or why the loop is to
end; what it knows then stands in two arrays (fields.py).
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators import step_fields as sf
from merganser.analysis.integrators.compiled_steps import STEPS
from merganser.analysis.integrators.explicit_runge_kutta import try_runge_kutta_step
from merganser.analysis.plan import fields as f
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
    doubles_at,
    integers_at,
)
from merganser.framework.native.operations.operation_list import AT

__all__ = ["LOOP", "advance", "group_place"]

_SPREAD = 0x1E3779B97F4A7C15  # its product with small numbers has bits all over; beyond 64 bits they do not count


@kernel
def advance(
    fields_address: int,  # address of the fields of integers
) -> int:
    """Takes steps until there is a reason to end, see fields.py."""
    i = integers_at(fields_address)
    r = doubles_at(i[f.REALS])
    values = doubles_at(i[f.VALUES])
    outcome = _end_step(i, r, values) if i[f.PLACE] == f.ENDING else SUCCEEDED
    while outcome == SUCCEEDED:
        outcome = _take_step(i, r, values)
    return outcome


@device
def _take_step(i: Any, r: Any, values: Any) -> int:
    """Updates that are due, time up to the next event or as far as the integrator gets, publish events there."""
    i[f.PLACE] = f.UPDATING
    if i[f.STEPS_LEFT] <= 0:
        return f.PAUSE
    outcome = look_now_and_then(i)
    if outcome == SUCCEEDED and i[f.PENDING] >= 0:
        outcome = _make_updates(i)
    if outcome == SUCCEEDED:
        i[f.PLACE] = f.STEPPING
        outcome = _pass_time(i, r, values)
    if outcome == SUCCEEDED:
        outcome = _end_step(i, r, values)
    return outcome


# ---------------------------------------------------------------------- events


@device
def _group(i: Any) -> Any:
    """The group of events that is pending."""
    return integers_at(i[f.GROUPS] + 8 * f.GROUP_SIZE * i[f.PENDING])


@device
def _handle(i: Any, inputs_begin: int, inputs_end: int, begin: int, end: int) -> int:
    """Brings up to date what events read, then runs the operations of the events."""
    i[f.HANDLED] = 0
    outcome = run(i, inputs_begin, inputs_end)
    while outcome == SUCCEEDED:
        i[f.RETURNED] = -1
        outcome = run(i, begin + i[f.HANDLED], end)
        if outcome == SUCCEEDED:
            return outcome
        at = integers_at(i[f.OPERATIONS])[AT]
        i[f.HANDLED] = at - begin + (1 if i[f.RETURNED] == at else 0)
        if outcome != f.READ_ANEW:
            return outcome
        outcome = run(i, inputs_begin, inputs_end)
    return outcome


@device
def _make_updates(i: Any) -> int:
    """Makes the updates that are due. If an operation fails nothing is changed; Python then says why."""
    group = _group(i)
    flags = group[f.GROUP_FLAGS]
    i[f.HAS_UPDATED] |= flags & (f.HAS_UPDATES | f.HAS_STATE_UPDATES | f.IS_LEFT_TO_PYTHON)
    outcome = SUCCEEDED
    if flags & f.IS_LEFT_TO_PYTHON:
        outcome = call_python(i[f.UPDATE_IN_PYTHON], i[f.FAILURE])
    if flags & f.HAS_STATE_UPDATES and not i[f.STATE_IS_UPDATED]:
        outcome = _update_state(i, group)
    if outcome == SUCCEEDED and flags & f.HAS_UPDATES:
        outcome = _update(i, group)
    if outcome == FAILED:
        return f.PYTHON_STEP
    if outcome != SUCCEEDED or i[f.MUST_STOP]:
        return f.STOPPED if outcome == SUCCEEDED else outcome
    i[f.PENDING] = -1
    i[f.STATE_IS_UPDATED] = 0
    return AGAIN if i[f.IS_OUT_OF_DATE] else SUCCEEDED


@device
def _update_state(i: Any, group: Any) -> int:
    """Unrestricted updates, all of which are operations, come before the others, which see what they have done."""
    outcome = run(i, group[f.STATE_INPUTS_BEGIN], group[f.STATE_INPUTS_END])
    if outcome == SUCCEEDED:
        outcome = run(i, group[f.STATE_BEGIN], group[f.STATE_END])
    if outcome == SUCCEEDED:
        run(i, group[f.STATE_COMMIT_BEGIN], group[f.STATE_COMMIT_END])
        _note_updates(i, group)
        i[f.NUM_STATE_UPDATES] += 1
        i[f.STATE_IS_UPDATED] = 1
    return outcome


@device
def _update(i: Any, group: Any) -> int:
    """All discrete updates see the values from before; then all changes are made at once."""
    flags = group[f.GROUP_FLAGS]
    i[f.HAS_EFFECT] = flags & (f.HAS_NATIVE_UPDATES | f.HAS_JOINING_UPDATES)
    outcome = _handle(
        i, group[f.UPDATE_INPUTS_BEGIN], group[f.UPDATE_INPUTS_END], group[f.UPDATE_BEGIN], group[f.UPDATE_END]
    )
    if outcome == SUCCEEDED and i[f.HAS_EFFECT]:
        run(i, group[f.COMMIT_BEGIN], group[f.COMMIT_END])
        _note_updates(i, group)
        i[f.NUM_UPDATES] += 1 if flags & f.HAS_DISCRETE_UPDATES else 0
        i[f.NUM_STATE_UPDATES] += 1 if flags & f.HAS_JOINING_UPDATES else 0
    if outcome in (AGAIN, FAILED) and i[f.HANDLED] > 0:  # a handler is not called twice
        return f.PYTHON_UPDATES
    return outcome


@device
def _note_updates(i: Any, group: Any) -> None:
    if group[f.GROUP_FLAGS] & f.CHANGES_DERIVATIVES:
        integers_at(i[f.STEP])[sf.IS_CURRENT] = 0
    i[f.CHANGED] |= 1 << min(f.FIRST_GROUP_BIT + i[f.PENDING], f.LAST_GROUP_BIT)
    i[f.NEEDS_ALL] = 1


@device
def _end_step(i: Any, r: Any, values: Any) -> int:
    """Counts the step, makes the events pending that are due where it ends, and publishes."""
    i[f.PLACE] = f.ENDING
    if not values[0] >= r[f.NEXT_TIME]:
        i[f.DUE] = 0
    found = _find_group(i, i[f.DUE])
    if found < 0:
        outcome = call_python(i[f.ADD_GROUP], i[f.FAILURE])
        if outcome != SUCCEEDED:
            return outcome
        found = _find_group(i, i[f.DUE])
    i[f.PENDING] = found
    i[f.NUM_STEPS] += 1
    i[f.STEPS_LEFT] -= 1
    i[f.HANDLED] = 0
    i[f.PLACE] = f.PUBLISHING
    group = _group(i)
    if group[f.GROUP_FLAGS] & f.HAS_PUBLISHES:
        outcome = _publish(i, group)
        if outcome != SUCCEEDED:
            return outcome
    i[f.PLACE] = f.UPDATING
    if i[f.MUST_STOP]:
        return f.STOPPED
    if values[0] >= r[f.BOUNDARY]:
        return f.DONE
    return AGAIN if i[f.IS_OUT_OF_DATE] else SUCCEEDED


@device
def _publish(i: Any, group: Any) -> int:
    if group[f.GROUP_FLAGS] & f.HAS_LOGS:
        if i[f.ROOM_IN_LOGS] <= 0:
            outcome = call_python(i[f.MAKE_ROOM], i[f.FAILURE])
            if outcome != SUCCEEDED:
                return f.PYTHON_PUBLISH if outcome == AGAIN else outcome
        i[f.ROOM_IN_LOGS] -= 1
    i[f.HAS_EFFECT] = group[f.GROUP_FLAGS] & f.HAS_NATIVE_PUBLISHES
    outcome = _handle(
        i, group[f.PUBLISH_INPUTS_BEGIN], group[f.PUBLISH_INPUTS_END], group[f.PUBLISH_BEGIN], group[f.PUBLISH_END]
    )
    if outcome in (FAILED, AGAIN):
        return f.PYTHON_PUBLISH
    if outcome == SUCCEEDED and i[f.HAS_EFFECT]:
        i[f.NUM_PUBLISHES] += 1
    return outcome


@device
def group_place(clocks: int, last_place: int) -> int:
    """Where to begin to look for a group of clocks; if another one stands there, the next places follow."""
    return ((clocks * _SPREAD) >> 40) & last_place


@device
def _find_group(i: Any, due: int) -> int:
    """The number of the group of these clocks; -1 if there is none."""
    groups, places, last_place = integers_at(i[f.GROUPS]), integers_at(i[f.PLACES_OF_GROUPS]), i[f.LAST_PLACE]
    place = group_place(due, last_place)
    while places[place] > 0:
        n = places[place] - 1
        if groups[f.GROUP_SIZE * n + f.GROUP_CLOCKS] == due:
            return n
        place = (place + 1) & last_place
    return -1


# ---------------------------------------------------------------------- continuous time


@device
def _pass_time(i: Any, r: Any, values: Any) -> int:
    """Lets time pass until the next event, until the boundary time, or as far as one step of the integrator gets."""
    if _has_rung(i):
        return f.PYTHON_STEP
    time = values[0]
    r[f.NEXT_TIME], i[f.DUE] = strike_after(doubles_at(i[f.CLOCKS]), i[f.NUM_CLOCKS], time, r[f.BOUNDARY])
    if math.isnan(r[f.NEXT_TIME]):
        return f.PYTHON_STEP
    target = r[f.NEXT_TIME] if r[f.NEXT_TIME] < r[f.BOUNDARY] else r[f.BOUNDARY]
    if target == time:
        return SUCCEEDED
    if i[f.TAKE_WATCHED_STEP]:
        return call_python(i[f.TAKE_WATCHED_STEP], i[f.FAILURE])
    if integers_at(i[f.STEP])[sf.NUM_STATES] == 0:
        values[0] = target
        i[f.CHANGED] |= 1
        return SUCCEEDED
    outcome = call_kernel(i[f.TAKE_STEP], (i[f.STEP], target))
    note_move(i)
    if outcome not in (SUCCEEDED, RAISED, sf.TOO_FINE):  # what has been computed for an exception counts
        _forget_step(integers_at(i[f.STEP]), values)
    return outcome if outcome in (SUCCEEDED, RAISED, AGAIN) else f.PYTHON_STEP


@device
def _has_rung(i: Any) -> bool:
    """Whether something has come from outside since Python last took in what had."""
    notifications = integers_at(i[f.NOTIFICATIONS])
    for k in range(i[f.NUM_NOTIFICATIONS]):  # noqa: SIM110  it is compiled
        if integers_at(notifications[2 * k])[0] != notifications[2 * k + 1]:
            return True
    return False


@device
def _forget_step(s: Any, values: Any) -> None:
    """Takes back what has been counted in a step that will be taken again, with the same derivatives at its start."""
    for k in range(sf.NUM_COUNTED):
        s[sf.COUNTED + k] = s[sf.BEFORE + k]
    if s[sf.WAS_CURRENT] and s[sf.KNOWS_START]:
        n, xdot_start = s[sf.NUM_STATES], doubles_at(s[sf.XDOT_START])
        for j in range(n):
            values[1 + n + j] = xdot_start[j]
        s[sf.IS_CURRENT] = 1


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
