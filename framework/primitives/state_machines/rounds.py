"""One round of a state machine: which transitions happen now, and which actions run, in which order.

One source serves Python, where `m` is a Draft (draft.py), and compiled loops, where it is a Machine. Functions return
SUCCEEDED, or why the round is not made.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from merganser.framework.native import compiled_form, device
from merganser.framework.native.memory.records_of_arrays import Floats, Integers, record_at_address
from merganser.framework.native.memory.tape import FAILED, SUCCEEDED, call_kernel

STARTED, EVENTS = 0, 1  # offsets in the memory of a machine, see StateMachine.Finalize
AFTER, HOLDS, CHANGES, COMPARES = range(4)  # kinds of guards
SHALLOW, DEEP = 1, 2  # kinds of history


class ChartTable(NamedTuple):
    """A chart as numbers; -1 for states, transitions and actions that are missing.

    Attributes:
        order: the states, each before those inside, which follow it.
        parent, initial: of each state the one around it, and the child that is entered with it.
        is_parallel: whether all of its children are.
        entry, during, exit: numbers of its actions.
        first_leaving: where the transitions that leave it begin in `leaving`; one more says where the last ones end.
        leaving: numbers of transitions, by the state that they leave.
        source, target, domain, history, action: of each transition.
        event: the number of the guard that is one.
        first_condition: where its conditions begin among the guards; one more says where the last ones end.
        rank: its priority.
        kind, sign, level: of each guard.
        signal: where its signal begins among those of the machine; one more says where the last one ends.
        last_value: where the memory has the last value of a port whose changes count.
    """

    order: Integers
    parent: Integers
    initial: Integers
    is_parallel: Integers
    entry: Integers
    during: Integers
    exit: Integers
    first_leaving: Integers
    leaving: Integers
    source: Integers
    target: Integers
    domain: Integers
    history: Integers
    action: Integers
    event: Integers
    first_condition: Integers
    rank: Floats
    kind: Integers
    sign: Integers
    level: Floats
    signal: Integers
    last_value: Integers


class MachineNow(NamedTuple):
    """Numbers of a machine.

    Attributes:
        time: in the context [s].
        first_state: the initial state at the top.
        kernel, argument, first_action: how compiled code runs an action: the kernel that computes what has a number,
            its argument, and the number of the first action.
    """

    time: float
    first_state: int
    kernel: int
    argument: int
    first_action: int


class Machine(NamedTuple):
    """What compiled rounds of a machine work on; in Python, attributes of the Draft have these names.

    Attributes:
        now, chart: see there.
        active, entered, last_child, memory: see Draft.
        chosen: of each state the transition that it takes.
        is_asked: whether it is active, and none around it takes a transition.
        was_active: whether it was active as the round began.
        is_entered: whether a transition enters it.
        recalls: whether it is entered in the child where it was last left.
        happens: of each transition whether its event does.
        signals: of the guards, and where the Context has them.
        places: where the Context has these.
        values, state: what actions change: all discrete state, and the continuous state.
        before, state_before: what these were as the round began.
        kept: what `values` was as the step began.
    """

    now: MachineNow
    chart: ChartTable
    active: Floats
    entered: Floats
    last_child: Floats
    memory: Floats
    chosen: Integers
    is_asked: Integers
    was_active: Integers
    is_entered: Integers
    recalls: Integers
    happens: Integers
    signals: Floats
    places: Integers
    values: Floats
    state: Floats
    before: Floats
    state_before: Floats
    kept: Floats


machine_at = record_at_address(Machine)  # of compiled code

# ---------------------------------------------------------------------- what differs in Python


def number_of(value: Any) -> float:
    """A scalar of any type as a number."""
    return float(value.real if hasattr(value, "real") else value.Evaluate())


def signal_of(m: Any, k: int) -> float:
    """The signal with a number."""
    return m.signal(k)


def run_action(m: Any, number: int) -> int:
    """Runs an action by its number, if there is one."""
    if number >= 0:
        m.run(number)
    return SUCCEEDED


def note_taken(m: Any, t: int) -> None:
    """Notes that a transition is taken, for messages."""
    m.taken.append(t)


def refuse_both(m: Any, t: int, other: int) -> int:
    """Refuses two transitions that are possible at once, without an order among them."""
    m.refuse_both(t, other)
    return FAILED


@compiled_form(number_of)
@device
def _number_of(value: float) -> float:
    return value


@compiled_form(signal_of)
@device
def _signal_of(m: Any, k: int) -> float:
    return m.signals[k]


@compiled_form(run_action)
@device
def _run_action(m: Any, number: int) -> int:
    status = SUCCEEDED
    if number >= 0:
        status = call_kernel(m.now.kernel, (m.now.argument, m.now.first_action + number))
    return status


@compiled_form(note_taken)
@device
def _note_taken(m: Any, t: int) -> None:
    pass


@compiled_form(refuse_both)
@device
def _refuse_both(m: Any, t: int, other: int) -> int:
    return FAILED


# ---------------------------------------------------------------------- a round


@device
def make_round(m: Any, is_first: bool) -> int:
    """Takes the transitions that are possible.

    Args:
        m: the machine.
        is_first: whether this is the first round at the beginning of a step, in which `during` actions run.
    """
    if not number_of(m.memory[STARTED]) > 0.5:
        return start(m)
    c = m.chart
    note_events(m)
    status = _choose(m)
    for s in range(len(c.parent)):
        m.was_active[s] = 1 if is_active(m, s) else 0
    for k in range(len(c.order)):
        s = c.order[k]
        if status == SUCCEEDED and m.chosen[s] >= 0 and is_active(m, s):
            status = _take(m, m.chosen[s])
    for s in range(len(c.parent)):
        stays = m.was_active[s] != 0 and m.is_asked[s] != 0 and m.chosen[s] < 0 and is_active(m, s)
        if status == SUCCEEDED and is_first and stays:
            status = run_action(m, c.during[s])
    return status


@device
def start(m: Any) -> int:
    """Enters the initial states."""
    for s in range(len(m.chart.parent)):
        m.active[s] = 0.0
    m.memory[STARTED] = 1.0
    return _enter(m, -1, -1, 0)


@device
def is_active(m: Any, s: int) -> bool:
    """Whether a state is active."""
    return number_of(m.active[s]) > 0.5


@device
def _choose(m: Any) -> int:
    """Chooses transitions; outer states are asked before inner ones, which are not asked if those take one."""
    c = m.chart
    for k in range(len(c.order)):
        s, other = c.order[k], -1
        outer = c.parent[s]
        is_free = outer < 0 or (m.is_asked[outer] != 0 and m.chosen[outer] < 0)
        m.chosen[s], m.is_asked[s] = -1, 1 if is_free and is_active(m, s) else 0
        for n in range(c.first_leaving[s], c.first_leaving[s + 1] if m.is_asked[s] else 0):
            t, best = c.leaving[n], m.chosen[s]
            if not _is_possible(m, t):
                continue
            if best < 0 or c.rank[t] < c.rank[best]:
                m.chosen[s], other = t, -1
            elif c.rank[t] == c.rank[best] and other < 0:
                other = t
        if other >= 0:
            return refuse_both(m, m.chosen[s], other)
    return SUCCEEDED


@device
def _is_possible(m: Any, t: int) -> bool:
    """Whether the event of a transition happens, and its conditions are true."""
    c = m.chart
    if c.event[t] >= 0 and not m.happens[t]:
        return False
    for g in range(c.first_condition[t], c.first_condition[t + 1]):  # noqa: SIM110  it is compiled
        if not _is_true(m, g, c.source[t]):
            return False
    return True


@device
def _is_true(m: Any, g: int, s: int) -> bool:
    """Whether a condition of a transition from state s is true."""
    c = m.chart
    if c.kind[g] == AFTER:
        return number_of(m.now.time) >= number_of(m.entered[s]) + c.level[g]
    value = signal_of(m, c.signal[g])
    return value > 0.5 if c.kind[g] == HOLDS else c.sign[g] * (value - c.level[g]) >= 0.0


# ---------------------------------------------------------------------- events


@device
def note_events(m: Any) -> None:
    """Notes which events have happened since the last round; brings the memory up to date.

    Passages through a level within a step have been noted by a simulation (`StateMachine.note_end`). Updates may let a
    signal jump past it: then it is on another side than at the end of the last step.
    """
    c = m.chart
    for t in range(len(c.source)):
        m.happens[t] = 0
        if c.event[t] >= 0 and is_active(m, c.source[t]):
            g, before = c.event[t], _side(m, t)
            is_noted = number_of(m.memory[EVENTS + t]) > 0.5
            m.memory[EVENTS + t] = 0.0
            if c.kind[g] == CHANGES:
                m.happens[t] = 1 if _has_changed_port(m, t) else 0
            else:
                _note_side(m, t)
                has_jumped = before * _side(m, t) < 0.0 and c.sign[g] * before <= 0.0
                m.happens[t] = 1 if is_noted or has_jumped else 0


@device
def note_sides(m: Any) -> None:
    """Brings up to date on which side of their levels the signals of events are."""
    c = m.chart
    for t in range(len(c.source)):
        if c.event[t] >= 0 and c.kind[c.event[t]] != CHANGES and is_active(m, c.source[t]):
            _note_side(m, t)


@device
def _side(m: Any, t: int) -> float:
    """On which side of its level the signal of an event was; 0 if that is not known."""
    return number_of(m.memory[EVENTS + len(m.chart.source) + t])


@device
def _note_side(m: Any, t: int) -> None:
    """Brings that up to date; at the level itself nothing changes."""
    c = m.chart
    distance = signal_of(m, c.signal[c.event[t]]) - c.level[c.event[t]]
    if distance != 0.0:
        m.memory[EVENTS + len(c.source) + t] = math.copysign(1.0, distance)


@device
def _has_changed_port(m: Any, t: int) -> bool:
    """Whether a port has another value than in the last round."""
    c, g, has_changed = m.chart, m.chart.event[t], False
    for k in range(c.signal[g], c.signal[g + 1]):
        at, value = c.last_value[g] + k - c.signal[g], signal_of(m, k)
        has_changed = has_changed or number_of(m.memory[at]) != value
        m.memory[at] = value
    was_known = _side(m, t) != 0.0
    m.memory[EVENTS + len(c.source) + t] = 1.0
    return was_known and has_changed


# ---------------------------------------------------------------------- a transition


@device
def _take(m: Any, t: int) -> int:
    """Leaves states, runs the action, and enters states."""
    c, domain = m.chart, m.chart.domain[t]
    note_taken(m, t)
    if c.target[t] < 0:
        return run_action(m, c.action[t])
    status, num_states = SUCCEEDED, len(c.parent)
    for k in range(num_states):
        s = num_states - 1 - k
        if status == SUCCEEDED and is_active(m, s) and _is_inside(c, s, domain):
            status = run_action(m, c.exit[s])
            m.active[s] = 0.0
            if c.parent[s] >= 0:
                m.last_child[c.parent[s]] = float(s)
    if status == SUCCEEDED:
        status = run_action(m, c.action[t])
    if status == SUCCEEDED:
        status = _enter(m, domain, c.target[t], c.history[t])
    return status


@device
def _is_inside(c: Any, s: int, outer: int) -> bool:
    """Whether a state is inside another one, not that itself; of -1 all are."""
    above = c.parent[s]
    while above >= 0 and above != outer:
        above = c.parent[above]
    return above == outer


@device
def _enter(m: Any, domain: int, target: int, history: int) -> int:
    """Makes states active, and runs their entry actions, outer ones first.

    Args:
        m: the machine.
        domain: the state that the transition does not leave; -1 at the top, and as the machine starts.
        target: of the transition; -1 as the machine starts.
        history: of the transition.
    """
    c, status = m.chart, SUCCEEDED
    first = target if target >= 0 else m.now.first_state
    while c.parent[first] != domain and c.parent[first] >= 0:
        first = c.parent[first]
    for k in range(len(c.order)):
        s = c.order[k]
        outer = c.parent[s]
        is_inner = outer >= 0 and m.is_entered[outer] != 0
        is_deep = is_inner and m.recalls[outer] != 0 and history == DEEP
        m.is_entered[s] = 1 if s == first or (is_inner and _goes_to(m, s, target)) else 0
        m.recalls[s] = 1 if is_deep or (history != 0 and s == target) else 0
        if status == SUCCEEDED and m.is_entered[s]:
            m.active[s], m.entered[s] = 1.0, m.now.time
            for n in range(c.first_leaving[s], c.first_leaving[s + 1]):
                m.memory[EVENTS + c.leaving[n]] = m.memory[EVENTS + len(c.source) + c.leaving[n]] = 0.0
            status = run_action(m, c.entry[s])
    return status


@device
def _goes_to(m: Any, s: int, target: int) -> bool:
    """Whether a state is entered with the one around it."""
    c = m.chart
    outer = c.parent[s]
    if c.is_parallel[outer]:
        return True
    if target >= 0 and _is_inside(c, target, outer):
        return s == target or _is_inside(c, target, s)
    last = number_of(m.last_child[outer]) if m.recalls[outer] else -1.0
    return s == last if last >= 0.0 else s == c.initial[outer]


# ---------------------------------------------------------------------- time


@device
def end_of_step(m: Any) -> float:
    """When the next time-out of an active state is over [s]."""
    c, end, time = m.chart, math.inf, number_of(m.now.time)
    for t in range(len(c.source)):
        for g in range(c.first_condition[t], c.first_condition[t + 1]):
            over = number_of(m.entered[c.source[t]]) + c.level[g] if c.kind[g] == AFTER else time
            if over > time and is_active(m, c.source[t]):
                end = min(end, over)
    return end
