"""What a state machine may change in one round, in Python.

A Draft is a copy of all that a machine may change in a Context. Guards are evaluated in the Context, as it was before
the round; actions work on the draft, one after the other (rounds.py); then the draft is put into the Context.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.declarations.native_wires import TIME_NAMES
from merganser.framework.primitives.state_machines.chart import State
from merganser.framework.primitives.state_machines.laws import ELAPSED
from merganser.framework.primitives.state_machines.rounds import STARTED

if TYPE_CHECKING:
    from merganser.framework.primitives.state_machines.state_machine import StateMachine

Array = NDArray[Any]


class Draft:
    """A copy of what a machine may change. Attributes beside these are those of a Machine (rounds.py).

    Args:
        machine: the machine.
        context: of it.

    Attributes:
        machine: as given.
        active: of each state whether it is active, 1 or 0.
        entered: when each state was entered [s].
        last_child: the number of the child that was active as each state was last left; -1 if it never was.
        memory: of events, see StateMachine.Finalize.
        taken: the numbers of the transitions that it has taken.
    """

    def __init__(self, machine: StateMachine, context: Any) -> None:
        self.machine, self._context, self.chart = machine, context, machine.table
        self.now = types.SimpleNamespace(time=context.get_time(), first_state=machine.first_state)
        self._groups = machine.groups()
        self._before = [np.array(context.get_discrete_state(group).value()) for group in self._groups]
        self._values = [values.copy() for values in self._before]
        self.active, self.entered, self.last_child, self.memory = self._values[:4]
        self._x: Array | None = None
        self._x_before: Array | None = None
        self.taken: list[int] = []
        num_states = len(self.active)
        self.chosen, self.is_asked, self.was_active = [-1] * num_states, [0] * num_states, [0] * num_states
        self.is_entered, self.recalls = [0] * num_states, [0] * num_states
        self.happens = [0] * len(machine.chart.transitions)

    def start_in(self, state: State) -> None:
        """Enters a state and those with it, without their actions."""
        self.active[:], self.memory[:], self.memory[STARTED] = 0.0, 0.0, 1.0
        for each in self.machine.chart.entered(None, state):
            self.active[each.number], self.entered[each.number] = 1.0, self.now.time

    def signal(self, k: int) -> float:
        """The signal of a guard, by its number, in the context."""
        return self.machine.signal(k, self._context)

    def run(self, number: int) -> None:
        """Makes the assignments of an action at once, each with the values from before."""
        laws, state = self.machine.actions[number]
        values = {name: law.value(lambda name: self._value_of(name, state)) for name, law in laws.items()}
        for name, value in values.items():
            self._part(name)[:] = value

    def refuse_both(self, t: int, other: int) -> None:
        """Refuses two transitions that are possible at once, without an order among them."""
        first, second = (self.machine.chart.transitions[number] for number in (t, other))
        raise RuntimeError(
            f"State machine '{self.machine.GetSystemPathname()}': the guards of the transitions {first} "
            f"('{first.label}') and {second} ('{second.label}') are true at the same time, {self.now.time} s; say by "
            "`priority` which one is taken."
        )

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
            return np.array([self.now.time - self.entered[state.number]])
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
