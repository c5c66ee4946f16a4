"""The chart of a state machine: its tree of states, its transitions, and what is wrong with them.

States have numbers in the order in which they were added, so that a parent has a lower one than its children. Of the
children of an ordinary state one is active with it; of a parallel state all are. A transition leaves the *domain*: the
nearest state around source and target of which one child at a time is active (None for the whole machine).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

from merganser.framework.primitives.state_machines.guards import BoundGuard
from merganser.framework.primitives.state_machines.laws import Law
from merganser.framework.primitives.state_machines.rounds import (
    AFTER,
    CHANGES,
    COMPARES,
    DEEP,
    EVENTS,
    HOLDS,
    SHALLOW,
    ChartTable,
)

Laws = dict[str, Law]
_KINDS = {"after": AFTER, "holds": HOLDS, "changes": CHANGES}
_HISTORIES = {None: 0, "shallow": SHALLOW, "deep": DEEP}


@dataclasses.dataclass(frozen=True, eq=False)
class State:
    """A state of a state machine, as `StateMachine.AddState` returns it.

    Attributes:
        name: unique in the machine.
        number: in the order of their addition.
        parent: the state that it is in; None at the top.
        is_initial: whether it is the child that is entered with its parent.
        is_parallel: whether all of its children are active with it.
        entry, during, exit: what its actions assign, by name.
        flow: the derivatives that hold while it is active.
        outputs: the outputs that it gives.
        labels: how a picture shows these, one line each.
    """

    name: str
    number: int
    parent: State | None
    is_initial: bool
    is_parallel: bool
    entry: Laws
    during: Laws
    exit: Laws
    flow: Laws
    outputs: Laws
    labels: list[str]

    def lineage(self) -> list[State]:
        """The states that it is in, outermost first, and itself."""
        return [*(self.parent.lineage() if self.parent is not None else []), self]

    def __repr__(self) -> str:
        return f"<State '{self.name}'>"


@dataclasses.dataclass(frozen=True, eq=False)
class Transition:
    """A transition of a state machine.

    Attributes:
        number: in the order of their addition.
        source: where it begins.
        target: where it leads; None if it leaves all states as they are.
        event: the guard that says at which instant; None without one.
        conditions: guards that must be true then.
        action: what it assigns, by name.
        priority: among those of one source the lowest one wins; None is higher than all numbers.
        history: whether the target is entered where it was left: "shallow" for its children, "deep" for all below.
        label: the guards, in words.
        assignments: the action, in words.
    """

    number: int
    source: State
    target: State | None
    event: BoundGuard | None
    conditions: list[BoundGuard]
    action: Laws
    priority: float
    history: str | None
    label: str
    assignments: str

    def guards(self) -> list[BoundGuard]:
        """The event, if there is one, and the conditions."""
        return [*([self.event] if self.event is not None else []), *self.conditions]

    def domain(self) -> State | None:
        """The innermost state around source and target that it does not leave; None for the whole machine."""
        if self.target is None:
            return self.source.parent
        common = [a for a, b in zip(self.source.lineage()[:-1], self.target.lineage()[:-1]) if a is b]
        while common and common[-1].is_parallel:
            common.pop()
        return common[-1] if common else None

    def __str__(self) -> str:
        return f"'{self.source.name}' -> '{self.target.name if self.target is not None else self.source.name}'"


class Chart:
    """States and transitions.

    Attributes:
        states: by name, in the order of their addition.
        transitions: in the order of their addition.
    """

    def __init__(self) -> None:
        self.states: dict[str, State] = {}
        self.transitions: list[Transition] = []

    def children(self, state: State | None) -> list[State]:
        """The states directly in a state; for None those at the top."""
        return [child for child in self.states.values() if child.parent is state]

    def leaving(self, state: State) -> list[Transition]:
        """The transitions whose source it is."""
        return [transition for transition in self.transitions if transition.source is state]

    def initial_child(self, state: State | None) -> State:
        """The child that is entered with a state that is not parallel."""
        return next(child for child in self.children(state) if child.is_initial)

    def entered(self, domain: State | None, target: State | None) -> Iterator[State]:
        """The states that a transition without history enters, parents first.

        Args:
            domain: of the transition; None at the top, and as the machine starts.
            target: of the transition; None as the machine starts.
        """
        way = target.lineage() if target is not None else []

        def enter(state: State) -> Iterator[State]:
            yield state
            children = self.children(state)
            if not state.is_parallel and children:
                children = [c for c in children if c in way] or [self.initial_child(state)]
            for child in children:
                yield from enter(child)

        yield from enter(way[len(domain.lineage()) if domain is not None else 0] if way else self.initial_child(None))

    def guards(self) -> list[BoundGuard]:
        """All guards, in the order of their numbers: the conditions of one transition after the other, then events."""
        conditions = [guard for transition in self.transitions for guard in transition.conditions]
        return conditions + [t.event for t in self.transitions if t.event is not None]

    def actions(self) -> list[tuple[Laws, State]]:
        """All actions with assignments, in the order of their numbers, each with the state whose time its laws read."""
        of_states = [(laws, s) for s in self.states.values() for laws in (s.entry, s.during, s.exit)]
        return [(laws, s) for laws, s in (*of_states, *((t.action, t.source) for t in self.transitions)) if laws]

    def table(self, sizes: dict[str, int]) -> ChartTable:
        """The chart as numbers.

        Args:
            sizes: of the input ports, by name.
        """
        states, transitions, guards = list(self.states.values()), self.transitions, self.guards()
        leaving = [[t.number for t in self.leaving(state)] for state in states]
        action_of = {id(laws): number for number, (laws, _) in enumerate(self.actions())}
        guard_of = {guard: number for number, guard in enumerate(guards)}
        counts = [sizes[g.guard.signal] if g.guard.kind == "changes" else int(g.law is not None) for g in guards]
        last_values = _starts([n * (g.guard.kind == "changes") for g, n in zip(guards, counts)])
        first_value = EVENTS + 2 * len(transitions)
        initial = [next((c for c in self.children(s) if c.is_initial), None) for s in states]
        return ChartTable(
            order=[inner.number for top in self.children(None) for inner in self._inside(top)],
            parent=[_number(state.parent) for state in states],
            initial=[_number(child) for child in initial],
            is_parallel=[int(state.is_parallel) for state in states],
            entry=[action_of.get(id(state.entry), -1) for state in states],
            during=[action_of.get(id(state.during), -1) for state in states],
            exit=[action_of.get(id(state.exit), -1) for state in states],
            first_leaving=_starts(list(map(len, leaving))),
            leaving=[number for numbers in leaving for number in numbers],
            source=[t.source.number for t in transitions],
            target=[_number(t.target) for t in transitions],
            domain=[_number(t.domain()) for t in transitions],
            history=[_HISTORIES[t.history] for t in transitions],
            action=[action_of.get(id(t.action), -1) for t in transitions],
            event=[guard_of[t.event] if t.event is not None else -1 for t in transitions],
            first_condition=_starts([len(t.conditions) for t in transitions]),
            rank=[float(t.priority) for t in transitions],
            kind=[_KINDS.get(g.guard.kind, COMPARES) for g in guards],
            sign=[g.sign for g in guards],
            level=[float(g.guard.level) for g in guards],
            signal=_starts(counts),
            last_value=[first_value + at for at in last_values[:-1]],
        )

    def _inside(self, state: State) -> Iterator[State]:
        """A state and all inside it, each before those inside it."""
        yield state
        for child in self.children(state):
            yield from self._inside(child)

    def check(self, where: str) -> None:
        """Refuses charts that cannot work.

        Args:
            where: names the machine, for messages.

        Raises:
            ValueError: a state has no initial child, or cannot be reached; two transitions have the same guard and
                the same priority; or transitions without guard lead in a circle.
        """
        if not self.states:
            raise ValueError(f"{where} has no states; call AddState before.")
        for state in (None, *self.states.values()):
            children = self.children(state)
            if not children or (state is not None and state.is_parallel):
                continue
            initial = [child.name for child in children if child.is_initial]
            if len(initial) != 1:
                of = f"state '{state.name}'" if state is not None else "the machine"
                raise ValueError(
                    f"{where}: {of} needs one initial child, it has {initial or 'none'} of "
                    f"{[c.name for c in children]}; add that with AddState(..., initial=True)."
                )
        self._check_reach(where)
        self._check_guards(where)
        self._check_circles(where)

    def _check_reach(self, where: str) -> None:
        reached = set(self.entered(None, None))
        while True:
            more = {
                state
                for transition in self.transitions
                if transition.source in reached and transition.target is not None
                for state in self.entered(transition.domain(), transition.target)
            }
            if more <= reached:
                break
            reached |= more
        lost = [state.name for state in self.states.values() if state not in reached]
        if lost:
            raise ValueError(
                f"{where}: no transitions lead to {lost} from the initial state; add a transition to them, or leave "
                "them out."
            )

    def _check_guards(self, where: str) -> None:
        for state in self.states.values():
            seen: dict[Any, Transition] = {}
            for transition in self.leaving(state):
                key = transition.priority, frozenset(_key(guard) for guard in transition.guards())
                other = seen.setdefault(key, transition)
                if other is not transition:
                    raise ValueError(
                        f"{where}: the transitions {other} and {transition} have the same guard, "
                        f"'{transition.label or 'none'}', and the same priority; give them different ones."
                    )

    def _check_circles(self, where: str) -> None:
        import networkx as nx

        graph = nx.DiGraph()
        for transition in self.transitions:
            if not transition.guards() and transition.target is not None:
                for state in self.entered(transition.domain(), transition.target):
                    graph.add_edge(transition.source.name, state.name)
            elif not transition.guards():
                graph.add_edge(transition.source.name, transition.source.name)
        circle = next(iter(nx.simple_cycles(graph)), None)
        if circle is not None:
            raise ValueError(
                f"{where}: transitions without guard lead in a circle through {circle}, which would go on without end; "
                "give one of them a guard."
            )

    def check_owners(self, where: str) -> None:
        """Refuses states in different parts of a parallel state that give the same output, or derivative.

        Raises:
            ValueError: there are such states.
        """
        states = list(self.states.values())
        for kind in ("flow", "outputs"):
            for a in states:
                for b in states[a.number + 1 :]:
                    both = set(getattr(a, kind)) & set(getattr(b, kind))
                    if both and self._are_side_by_side(a, b):
                        raise ValueError(
                            f"{where}: states '{a.name}' and '{b.name}' can be active at once, and both give {kind} of "
                            f"'{min(both)}'; leave it to one of them."
                        )

    def _are_side_by_side(self, a: State, b: State) -> bool:
        """Whether two states are in different children of a parallel state."""
        split = next(((x, y) for x, y in zip(a.lineage(), b.lineage()) if x is not y), None)
        return split is not None and split[0].parent is not None and split[0].parent.is_parallel


def _number(state: State | None) -> int:
    return -1 if state is None else state.number


def _starts(counts: list[int]) -> list[int]:
    """Where runs of these lengths begin, one after the other, and where the last one ends."""
    return [0, *itertools.accumulate(counts)]


def _key(guard: BoundGuard) -> Any:
    """What two guards have in common that are true at the same moments."""
    signal = guard.guard.signal
    try:
        hash(signal)
    except TypeError:
        signal = id(signal)
    return guard.guard.kind, signal, guard.guard.level
