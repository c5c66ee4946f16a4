"""One round of a state machine: which transitions happen now, and what they and the actions change.

A Draft is a copy of all that a machine may change in a Context. Guards are evaluated in the Context, as it was before
the round; actions work on the draft, one after the other; then the draft is put into the Context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.declarations.native_wires import TIME_NAMES
from merganser.framework.primitives.state_machines.chart import Laws, State, Transition
from merganser.framework.primitives.state_machines.guards import BoundGuard
from merganser.framework.primitives.state_machines.laws import ELAPSED

if TYPE_CHECKING:
    from merganser.framework.primitives.state_machines.state_machine import StateMachine

Array = NDArray[Any]
_STARTED, _EVENTS = 0, 1  # offsets in the memory of a machine, see StateMachine.Finalize


def number_of(value: Any) -> float:
    """A scalar of any type as a number."""
    return float(value.real if hasattr(value, "real") else value.Evaluate())


def decide(machine: StateMachine, context: Any, is_first: bool) -> Draft | None:
    """What a machine changes now; None if nothing.

    Args:
        machine: the machine.
        context: of it; it is only read.
        is_first: whether this is the first round at the beginning of a step, in which `during` actions run.
    """
    draft = Draft(machine, context)
    if not draft.has_started():
        draft.start()
        return draft
    happened = set(draft.note_events())
    taken = [t for top in machine.children_of(None) for t in _choose(draft, top, happened)]
    staying = [state for state in machine.chart.states.values() if draft.is_active(state)]
    for transition in taken:
        if draft.is_active(transition.source):
            draft.take(transition)
    if is_first:
        left = {transition.source for transition in taken}
        for state in staying:
            if state.during and draft.is_active(state) and left.isdisjoint(state.lineage()):
                draft.assign(state.during, state)
    return draft if draft.has_changed() else None


def _choose(draft: Draft, state: State, happened: set[int]) -> Iterator[Transition]:
    """The transitions that an active state and those inside take, the outer ones before the inner ones."""
    machine = draft.machine
    if not draft.is_active(state):
        return
    possible = [
        transition
        for transition in machine.leaving(state)
        if (transition.event is None or transition.number in happened)
        and all(draft.is_true(guard, state) for guard in transition.conditions)
    ]
    if not possible:
        for child in machine.children_of(state):
            yield from _choose(draft, child, happened)
        return
    first, *others = sorted(possible, key=lambda transition: transition.priority)
    if others and others[0].priority == first.priority:
        raise RuntimeError(
            f"State machine '{machine.GetSystemPathname()}': the guards of the transitions {first} "
            f"('{first.label}') and {others[0]} ('{others[0].label}') are true at the same time, "
            f"{draft.time} s; say by `priority` which one is taken."
        )
    yield first


class Draft:
    """A copy of what a machine may change.

    Args:
        machine: the machine.
        context: of it.

    Attributes:
        machine: as given.
        time: in the context [s].
        active: of each state whether it is active, 1 or 0.
        entered: when each state was entered [s].
        last_child: the number of the child that was active as each state was last left; -1 if it never was.
        memory: of events, see StateMachine.Finalize.
        taken: the transitions that it has taken.
    """

    def __init__(self, machine: StateMachine, context: Any) -> None:
        self.machine, self._context, self.time = machine, context, context.get_time()
        self._groups = machine.groups()
        self._before = [np.array(context.get_discrete_state(group).value()) for group in self._groups]
        self._values = [values.copy() for values in self._before]
        self.active, self.entered, self.last_child, self.memory = self._values[:4]
        self._x: Array | None = None
        self._x_before: Array | None = None
        self.taken: list[Transition] = []

    def has_started(self) -> bool:
        """Whether the initial states have been entered."""
        return bool(self.memory[_STARTED].real > 0.5)

    def start(self) -> None:
        """Enters the initial states."""
        self.active[:], self.memory[_STARTED] = 0.0, 1.0
        self.enter(self.machine.chart.entered(None, None))

    def start_in(self, state: State) -> None:
        """Enters a state and those with it, without their actions."""
        self.active[:], self.memory[:], self.memory[_STARTED] = 0.0, 0.0, 1.0
        for each in self.machine.chart.entered(None, state):
            self.active[each.number], self.entered[each.number] = 1.0, self.time

    def is_active(self, state: State) -> bool:
        """Whether a state is active."""
        return bool(self.active[state.number].real > 0.5)

    def is_true(self, guard: BoundGuard, state: State) -> bool:
        """Whether a condition of a transition from a state is true in the context."""
        if guard.guard.kind == "after":
            return bool(number_of(self.time) >= number_of(self.entered[state.number]) + guard.guard.level)
        value = self.machine.signal(guard, self._context)
        if guard.guard.kind == "holds":
            return bool(value > 0.5)
        return bool(guard.sign * (value - guard.guard.level) >= 0.0)

    def note_events(self) -> Iterator[int]:
        """The numbers of transitions whose events have happened since the last round; brings the memory up to date.

        Passages through a level within a step have been noted by a simulation (`StateMachine._note_event`). Updates may
        let a signal jump past it: then it is on another side than at the end of the last step.
        """
        for transition, event in self._waiting():
            at = _EVENTS + transition.number
            is_noted, before = self.memory[at].real > 0.5, self._side(transition)
            self.memory[at] = 0.0
            if event.law is None:
                has_happened = self._has_changed_port(transition, event)
            else:
                self.note_side(transition, event)
                side = self._side(transition)
                has_happened = is_noted or (before * side < 0.0 and event.sign * before <= 0.0)
            if has_happened:
                yield transition.number

    def note_sides(self) -> None:
        """Brings up to date on which side of their levels the signals of events are."""
        for transition, event in self._waiting():
            if event.law is not None:
                self.note_side(transition, event)

    def note_side(self, transition: Transition, event: BoundGuard) -> None:
        """As note_sides, of one event; at the level itself nothing changes."""
        side = np.sign(self.machine.signal(event, self._context) - event.guard.level)
        if side != 0.0:
            self.memory[self._side_offset(transition)] = side

    def _waiting(self) -> Iterator[tuple[Transition, BoundGuard]]:
        """The transitions from active states that wait for an event."""
        for transition in self.machine.chart.transitions:
            if transition.event is not None and self.is_active(transition.source):
                yield transition, transition.event

    def _has_changed_port(self, transition: Transition, event: BoundGuard) -> bool:
        """Whether a port has another value than in the last round."""
        value = np.array(self.machine.value_of(event.guard.signal, self._context, transition.source))
        kept, was_known = self.machine.last_values[transition.number], self._side(transition) != 0.0
        has_changed = was_known and not np.array_equal(self.memory[kept], value)
        self.memory[kept], self.memory[self._side_offset(transition)] = value, 1.0
        return has_changed

    def _side_offset(self, transition: Transition) -> int:
        return _EVENTS + len(self.machine.chart.transitions) + transition.number

    def _side(self, transition: Transition) -> float:
        return float(self.memory[self._side_offset(transition)].real)

    def take(self, transition: Transition) -> None:
        """Leaves states, runs the action, and enters states."""
        self.taken.append(transition)
        if transition.target is None:
            self.assign(transition.action, transition.source)
            return
        domain = transition.domain()
        states = list(self.machine.chart.states.values())
        for state in reversed(states):
            if self.is_active(state) and state is not domain and (domain is None or domain in state.lineage()):
                self.assign(state.exit, state)
                self.active[state.number] = 0.0
                if state.parent is not None:
                    self.last_child[state.parent.number] = state.number
        self.assign(transition.action, transition.source)

        def remembered(state: State) -> State | None:
            number = int(self.last_child[state.number].real)
            return states[number] if number >= 0 else None

        self.enter(self.machine.chart.entered(domain, transition.target, remembered, transition.history))

    def enter(self, states: Iterable[State]) -> None:
        """Makes states active, and runs their entry actions."""
        for state in states:
            self.active[state.number], self.entered[state.number] = 1.0, self.time
            for transition in self.machine.leaving(state):
                self.memory[_EVENTS + transition.number] = self.memory[self._side_offset(transition)] = 0.0
            self.assign(state.entry, state)

    def assign(self, laws: Laws, state: State) -> None:
        """Makes assignments at once, each with the values from before."""
        values = {name: law.value(lambda name: self._value_of(name, state)) for name, law in laws.items()}
        for name, value in values.items():
            self._part(name)[:] = value

    def has_changed(self) -> bool:
        """Whether anything differs from the context."""
        has_moved = self._x_before is not None and not np.array_equal(self._x, self._x_before)  # type: ignore[arg-type]
        return bool(self.taken) or has_moved or not all(map(np.array_equal, self._values, self._before))

    def put_into(self, target: Any) -> None:
        """Puts what differs into a context or a State."""
        for group, values, before in zip(self._groups, self._values, self._before, strict=True):
            if values.dtype == object or not np.array_equal(values, before):
                target.get_mutable_discrete_state(group).SetFromVector(values)
        if self._x is not None:
            target.get_mutable_continuous_state().get_mutable_vector().SetFromVector(self._x)

    def _value_of(self, name: str, state: State) -> Any:
        if name == ELAPSED:
            return np.array([self.time - self.entered[state.number]])
        if name in TIME_NAMES or self.machine.is_input(name):
            return self.machine.value_of(name, self._context, state)
        return self._part(name).copy()

    def _part(self, name: str) -> Array:
        """Where the draft has a variable or a part of the continuous state."""
        number = self.machine.variable_number(name)
        if number is not None:
            return self._values[4 + number]
        if self._x is None:
            self._x_before = np.array(self._context.get_continuous_state_vector().value())
            self._x = np.array(self._x_before)
        first, size = self.machine.part(name)
        part: Array = self._x[first : first + size]
        return part
