"""Witness functions: scalars whose passage through zero marks the time of an event."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.common.errors import note_place
from merganser.framework.core.declarations.events import DeclaredEvent, Event, TriggerType

if TYPE_CHECKING:
    from merganser.framework.core.context.leaf_context import LeafContext
    from merganser.framework.core.declarations.cache import CacheEntry
    from merganser.framework.core.system.leaf_system import LeafSystem

# A witness function together with the context of the leaf system that it belongs to.
ActiveWitness = tuple["LeafContext", "WitnessFunction"]


class WitnessFunctionDirection(Enumeration):
    """Which passages through zero trigger a witness function."""

    kNone = 0
    kPositiveThenNonPositive = 1
    kNegativeThenNonNegative = 2
    kCrossesZero = 3


@dataclasses.dataclass(frozen=True)
class ElementOf:
    """The function that gives an element of a computed vector.

    Attributes:
        entry: the computation.
        index: of the element.
    """

    entry: CacheEntry
    index: int

    def __call__(self, context: Any) -> Any:
        return self.entry.Eval(context).GetAtIndex(self.index)


class WitnessFunction:
    """A continuous function w(context) of a leaf system; `LeafSystem.MakeWitnessFunction` makes it.

    It triggers over the interval (t0, tf] if w(t0) is not zero and w(tf) is zero or has the other sign, as its
    direction says. A simulator finds the time where that happens, ends its step there, and carries out the event.
    Between the ends of one simulator step w should turn once at most: a simulator finds both of two passages through
    zero then. Where it turns more often, two passages may cancel each other and go unnoticed.

    Attributes:
        declared: its event with the handler bound to the system; None if it has none (see inside.py).
        element: of a vector that is computed among the numbers of the Context, if that is what it is; else None.
    """

    def __init__(
        self,
        system: LeafSystem,
        description: str,
        direction_type: WitnessFunctionDirection,
        calc: Callable[..., float | None],
        event: Event | None,
    ) -> None:
        self._system = system
        self._description = description
        self._direction_type = direction_type
        self._calc = calc
        self._event = event
        self.declared: DeclaredEvent | None = None
        self.element = calc if isinstance(calc, ElementOf) else None
        if event is not None:
            handler = system._handler_of(event, TriggerType.kWitness)
            self.declared = system._made_event(event.kind, TriggerType.kWitness, handler)

    def get_system(self) -> LeafSystem:
        """The leaf system that made it."""
        return self._system

    def description(self) -> str:
        """What it is about, for messages."""
        return self._description

    def direction_type(self) -> WitnessFunctionDirection:
        """Which passages through zero count."""
        return self._direction_type

    def get_event(self) -> Event | None:
        """The event that happens when it triggers, if there is one."""
        return self._event

    def CalcWitnessValue(self, context: Any) -> float:
        """Computes its value in a context of its leaf system.

        Args:
            context: of the leaf system.

        Raises:
            ValueError: this is the context of another system.
            TypeError: what was computed is no number.
            RuntimeError: it is not finite.
        """
        if getattr(context, "system", None) is not self._system:
            self._system.ValidateContext(context)  # which says what it is instead
        try:
            result = self._calc(context)
        except Exception as error:
            note_place(error, f"while computing {self.describe()} at time {context.store.flat.item(0)} s")
            raise
        try:
            value = float(result.real)  # type: ignore[union-attr]
        except (TypeError, AttributeError) as error:
            raise TypeError(
                f"The {self.describe()} must return a number; it returned {type(result).__name__} at time "
                f"{context.store.flat.item(0)} s."
            ) from error
        if not math.isfinite(value):
            raise RuntimeError(
                f"The {self.describe()} is {value} at time {context.store.flat.item(0)} s; it must be finite."
            )
        return value

    def should_trigger(self, w0: float, wf: float) -> bool:
        """Whether it triggers if its value goes from w0 to wf."""
        direction = self._direction_type
        if w0 > 0.0:
            return wf <= 0.0 and direction in _FROM_POSITIVE
        return w0 < 0.0 <= wf and direction in _FROM_NEGATIVE

    def describe(self) -> str:
        """Names the function and its system, for messages."""
        return f"witness function '{self._description}' of system '{self._system.GetSystemPathname()}'"

    def __repr__(self) -> str:
        return f"<WitnessFunction '{self._description}' of '{self._system.GetSystemPathname()}'>"

    def _scalar_type(self) -> Any:
        return self._system._scalar


_FROM_POSITIVE = frozenset({WitnessFunctionDirection.kPositiveThenNonPositive, WitnessFunctionDirection.kCrossesZero})
_FROM_NEGATIVE = frozenset({WitnessFunctionDirection.kNegativeThenNonNegative, WitnessFunctionDirection.kCrossesZero})
