"""A small system that writes down its events; the same class for merganser and for pydrake.

Both libraries have the same API, so the class is made by a function that takes the framework module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

PUBLISH, DISCRETE, UNRESTRICTED = "Publish", "DiscreteUpdate", "UnrestrictedUpdate"
INITIALIZATION, PER_STEP, PERIODIC, FORCED = "Initialization", "PerStep", "Periodic", "Forced"
KINDS = (PUBLISH, DISCRETE, UNRESTRICTED)


class Declared(NamedTuple):
    """An event to declare; `outcome(framework, context)` makes the EventStatus that its handler returns."""

    kind: str
    trigger: str
    period: float = 0.0
    offset: float = 0.0
    outcome: Callable[[Any, Any], Any] | None = None


def make_recorder(framework: Any, log: list[Any], name: str, events: list[Declared], continuous: bool = False) -> Any:
    """A leaf system that appends (name, kind, trigger, period, offset, time, count) to `log` at each event.

    The count is its discrete state; discrete updates add 1 to it and unrestricted updates add 100. With
    `continuous` it has one continuous variable x, dx/dt = 1.
    """

    class EventRecorder(framework.LeafSystem):
        def __init__(self) -> None:
            framework.LeafSystem.__init__(self)
            self.set_name(name)
            self.DeclareDiscreteState(1)
            if continuous:
                self.DeclareContinuousState(1)
            for event in events:
                self._declare(event)

        def _declare(self, event: Declared) -> None:
            def handle(context: Any, *changes: Any) -> Any:
                count = float(context.get_discrete_state_vector().GetAtIndex(0))
                log.append((name, *event[:4], float(context.get_time()), count))
                if event.kind == DISCRETE:
                    changes[0].set_value(0, [count + 1])
                if event.kind == UNRESTRICTED:
                    changes[0].get_mutable_discrete_state().set_value(0, [count + 100])
                return event.outcome(framework, context) if event.outcome else None

            timing = (event.period, event.offset) if event.trigger == PERIODIC else ()
            getattr(self, f"Declare{event.trigger}{event.kind}Event")(*timing, handle)

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            derivatives.get_mutable_vector().SetFromVector([1.0] * derivatives.size())

    return EventRecorder()
