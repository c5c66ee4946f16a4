"""Guard: when a transition of a state machine happens."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

from merganser.framework.core.declarations.witness import WitnessFunctionDirection
from merganser.framework.core.values.arguments import checked_number
from merganser.framework.primitives._arguments import checked_period
from merganser.framework.primitives.state_machines.laws import Law, law_of, text_of

# Which sign of signal - level makes a condition true, or with which sign a passage ends; 0 for both.
_SIGNS = {"at_least": 1, "at_most": -1, "rises_through": 1, "falls_through": -1, "crosses": 0}
_DIRECTIONS = {
    1: WitnessFunctionDirection.kNegativeThenNonNegative,
    -1: WitnessFunctionDirection.kPositiveThenNonPositive,
    0: WitnessFunctionDirection.kCrossesZero,
}
_CONDITIONS = ("at_least", "at_most", "after", "holds")
_SYMBOLS = {"at_least": ">=", "at_most": "<=", "rises_through": "rises through", "falls_through": "falls through"}


@dataclasses.dataclass(frozen=True)
class Guard:
    """When a transition happens; made by one of the functions below.

    *Conditions* are true for a while: `at_least`, `at_most`, `after`. Where one is true as its state is entered, the
    transition happens at once. *Events* happen at an instant: `rises_through`, `falls_through`, `crosses`, `changes`;
    they count from the moment in which the state was entered.

    Signals are laws of size 1, see `StateMachine`. A simulation finds the time at which a continuous one comes to the
    level to about 13 digits; a jump is noticed at its time, after all updates there.

    Attributes:
        kind: name of the function that made it; "holds" for a function that returns whether a condition is true.
        signal: a law, or the name of an input port.
        level: of the signal; of `after` the time [s].
    """

    kind: str
    signal: Any
    level: float = 0.0

    @staticmethod
    def at_least(signal: Any, level: float) -> Guard:
        """True while signal >= level."""
        return Guard("at_least", signal, _finite(level, "Guard.at_least"))

    @staticmethod
    def at_most(signal: Any, level: float) -> Guard:
        """True while signal <= level."""
        return Guard("at_most", signal, _finite(level, "Guard.at_most"))

    @staticmethod
    def after(seconds: float) -> Guard:
        """True from this time [s] on after the state was entered."""
        return Guard("after", None, checked_period(seconds, "Guard.after"))

    @staticmethod
    def rises_through(signal: Any, level: float = 0.0) -> Guard:
        """Happens when the signal comes from below to the level, or jumps to it or past it."""
        return Guard("rises_through", signal, _finite(level, "Guard.rises_through"))

    @staticmethod
    def falls_through(signal: Any, level: float = 0.0) -> Guard:
        """Happens when the signal comes from above to the level, or jumps to it or past it."""
        return Guard("falls_through", signal, _finite(level, "Guard.falls_through"))

    @staticmethod
    def crosses(signal: Any, level: float = 0.0) -> Guard:
        """Happens when the signal comes to the level from either side."""
        return Guard("crosses", signal, _finite(level, "Guard.crosses"))

    @staticmethod
    def changes(port: str) -> Guard:
        """Happens when an input port has another value than when a step was last begun.

        For signals that are constant between instants: modes, buttons, outputs of sampled blocks.
        """
        return Guard("changes", port)

    def __str__(self) -> str:
        if self.kind == "after":
            return f"after {self.level:g} s"
        if self.kind == "changes":
            return f"{self.signal} changes"
        if self.kind == "holds":
            return text_of(self.signal)
        return f"{text_of(self.signal)} {_SYMBOLS.get(self.kind, self.kind)} {self.level:g}"


class BoundGuard:
    """A guard with its signal as a law.

    Args:
        guard: as the user gave it.
        sizes: of all quantities, by name.
        what: it guards, for messages.
        inputs: names of the input ports.

    Attributes:
        guard: as given.
        law: the signal; None for `after` and `changes`.
        sign: see _SIGNS; of guards that are found as passages through a level only.
    """

    def __init__(self, guard: Guard, sizes: Mapping[str, int], what: str, inputs: Mapping[str, int]) -> None:
        self.guard, self.sign = guard, _SIGNS.get(guard.kind, 0)
        self.law: Law | None = None
        if guard.kind == "changes":
            if guard.signal not in inputs:
                raise ValueError(
                    f"{what}: '{guard.signal}' is no input port; these are {', '.join(inputs) or 'not declared'}."
                )
        elif guard.kind != "after":
            self.law = law_of(guard.signal, 1, sizes, f"guard '{guard}' of {what}")

    @property
    def is_event(self) -> bool:
        """Whether it happens at an instant; else it is true for a while."""
        return self.guard.kind not in _CONDITIONS

    @property
    def is_passage(self) -> bool:
        """Whether a simulation is to end a step where the signal comes to the level."""
        return self.guard.kind in _SIGNS

    def direction(self) -> WitnessFunctionDirection:
        """Which passages of signal - level through zero matter."""
        return _DIRECTIONS[self.sign]


def guards_in(given: Any, what: str) -> Iterator[Guard]:
    """The guards in what a user gives for one: a Guard, a Formula, a function, or a list of such that are all to hold.

    Raises:
        TypeError: it is something else, or a formula is no inequality.
    """
    if isinstance(given, Guard):
        yield given
    elif isinstance(given, (list, tuple)):
        for item in given:
            yield from guards_in(item, what)
    elif type(given).__name__ == "Formula":
        kind, parts = given.get_kind().name, given.Unapply()[1]
        if kind == "And":
            yield from guards_in(parts, what)
        elif kind in ("Geq", "Gt", "Leq", "Lt"):
            is_number = not parts[1].GetVariables()
            signal, level = (parts[0], parts[1].Evaluate()) if is_number else (parts[0] - parts[1], 0.0)
            yield Guard("at_least" if kind[0] == "G" else "at_most", signal, level)
        else:
            raise TypeError(f"{what}: a Formula must consist of inequalities joined by logical_and, got {given}.")
    elif callable(given):
        yield Guard("holds", given)
    else:
        raise TypeError(f"{what}: expected a Guard, a Formula or a function, got {given!r}.")


def _finite(level: float, what: str) -> float:
    number = checked_number(level, f"{what}: level")
    if not math.isfinite(number):
        raise ValueError(f"{what}: the level must be finite, got {number}.")
    return number
