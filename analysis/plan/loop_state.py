"""State of a plan's loop between calls: records that Python and compiled code read and change by name."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from numpy.typing import NDArray

from merganser.framework.native import device
from merganser.framework.native.memory.records_of_arrays import (
    INTEGER,
    ArrayOf,
    Floats,
    Integers,
    record_at_address,
    size_of,
)


class Progress(NamedTuple):
    """Variables of the loop; all are 0 when it is entered.

    Attributes:
        stage: where the step is, see step_codes.py.
        time: where the last step has ended [s].
        handled: how many operations of the events in progress need not be done again.
        returned: number of the operation of the handler that has returned last; -1 if none has.
        pending: group of the last events that were due.
        flags: of those of its updates that have not been made; 0 if all have been made.
        due: which events are due at `next_time`, see EventSchedule.step_events.
        next_time: when clocks strike next, or a witness function has triggered [s].
        boundary: time where the advance ends [s].
        changed: since Python last looked: bit 0 for time and continuous state, others for updates of groups.
        needs_all: whether something but time and continuous state has changed since the last derivatives.
        state_is_updated: whether the unrestricted updates of the group that is pending have been made.
        has_updated: whether updates have been made since the last step that was watched.
        has_effect: whether an event of the group in progress had something to do.
        must_stop: whether to stop once the events in progress are done.
        steps_left: until the loop pauses.
        room_in_logs: samples for which every log has capacity.
        is_out_of_date: whether the program is to be made again after the events in progress.
        num_steps, num_state_updates, num_updates, num_publishes: counts.
    """

    stage: int
    time: float
    handled: int
    returned: int
    pending: int
    flags: int
    due: int
    next_time: float
    boundary: float
    changed: int
    needs_all: int
    state_is_updated: int
    has_updated: int
    has_effect: int
    must_stop: int
    steps_left: int
    room_in_logs: int
    is_out_of_date: int
    num_steps: int
    num_state_updates: int
    num_updates: int
    num_publishes: int


class Problem(NamedTuple):
    """Inputs of the loop; Python changes them between calls, or when the program grows.

    Attributes:
        progress: what changes as the loop runs.
        patience: address of a Patience.
        step: address of the integrator's StepProblem (integrators/step_state.py).
        take_step: kernel that takes its steps.
        constants_begin, constants_end: operations that compute what the integrator asks for, as far as neither time nor
            continuous state changes it.
        ranges: where the others begin and end, for each of what it asks for.
        num_clocks, clocks: their number, and what is known of them, see clocks.py.
        notifications: of what arrives from outside, see ArrivalWatch.
        values: the flat array of the Context: time, continuous state, its derivatives, ...
        operations: address of the list of operations.
        failure: address of where an exception goes that a function of Python has raised.
        groups: address of the groups.
        places_of_groups: where a group is found by its clocks: its number + 1 or 0, see group_place(); their number is
            a power of 2.
        look: function of Python that looks for signals and shows progress.
        add_group: adds the group of the clocks in `due`.
        make_room: grows the capacity of logs.
        update_in_python: makes the updates of a group that is left to Python.
        take_watched_step: takes a step and watches witness functions; 0 without witness functions.
        watch: address of the Watch of steps that are compiled; 0 if Python takes them.
        watched_step: kernel that takes such a step.
        has_fixed_witnesses: whether the same witness functions always count.
        determine_witnesses: asks which of them count.
        note_triggers: notes what is due where they have triggered.
    """

    progress: Progress
    patience: int
    step: int
    take_step: int
    constants_begin: int
    constants_end: int
    ranges: Annotated[NDArray[Any], ArrayOf(INTEGER, 2)]
    num_clocks: int
    clocks: Floats
    notifications: Annotated[NDArray[Any], ArrayOf(INTEGER, 2)]
    values: Floats
    operations: int
    failure: int
    groups: int
    places_of_groups: Integers
    look: int
    add_group: int
    make_room: int
    update_in_python: int
    take_watched_step: int
    watch: int
    watched_step: int
    has_fixed_witnesses: int
    determine_witnesses: int
    note_triggers: int


class Patience(NamedTuple):
    """How long the loop may run before Python looks for signals and shows progress.

    Attributes:
        seconds, nanoseconds: what the clock of the C library shows.
        get_time: address of that clock; 0 without it.
        which_clock: its number there.
        passes: how many times to pass by without a look at the clock.
        passes_left: how many of them are left.
        last_look: when it was last read [ns].
        slice_end: when to look for signals [ns]; 0: count from now on.
    """

    seconds: int
    nanoseconds: int
    get_time: int
    which_clock: int
    passes: int
    passes_left: int
    last_look: int
    slice_end: int


MOST_PASSES = 64
SLICE = 10_000_000  # how long the loop runs before Python looks for signals [ns]


class Group(NamedTuple):
    """Simultaneous events: lists of operations, by where they begin and end.

    Attributes:
        clocks: bits of the clocks that strike together.
        flags: see step_codes.py.
    """

    clocks: int
    flags: int
    state_inputs_begin: int
    state_inputs_end: int
    state_begin: int
    state_end: int
    state_commit_begin: int
    state_commit_end: int
    update_inputs_begin: int
    update_inputs_end: int
    update_begin: int
    update_end: int
    commit_begin: int
    commit_end: int
    publish_inputs_begin: int
    publish_inputs_end: int
    publish_begin: int
    publish_end: int


# The bits of `changed`: bit 0 for time and continuous state, then one for each group; the last serves all that remain.
FIRST_GROUP_BIT = 1
LAST_GROUP_BIT = 61

_GROUP_BYTES = 8 * size_of(Group)
problem_at, _patience_at, _group_at = map(record_at_address, (Problem, Patience, Group))


@device
def patience_of(p: Any) -> Any:
    """The Patience of a Problem."""
    return _patience_at(p.patience)


@device
def group_of(p: Any, number: int) -> Any:
    """A Group of a Problem, by its number."""
    return _group_at(p.groups + _GROUP_BYTES * number)
