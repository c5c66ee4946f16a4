"""Carrying out simultaneous events: every handler sees the values from before, then all changes are made at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from merganser.framework.common.errors import describe_function, note_place
from merganser.framework.core.declarations.events import (
    DID_ITS_WORK,
    DID_NOTHING,
    DISCRETE_PHASE,
    DeclaredEvent,
    DiscreteUpdateEvent,
    EventStatus,
    TriggerType,
    most_severe,
)

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.context.leaf_context import LeafContext
    from merganser.framework.core.system.system import System

_WRITE = " Write new values into the last argument, as in discrete_state.set_value(group, values)."

EventList = Sequence[tuple["LeafContext", DeclaredEvent]]
UpdateList = Sequence[tuple["LeafContext", Any]]


class Begun(NamedTuple):
    """Simultaneous updates of which the first ones have been computed.

    Attributes:
        updates: see `compute_updates`.
        num_events: how many events have computed them.
        statuses: what these have come to, as far as it matters.
    """

    updates: UpdateList
    num_events: int
    statuses: list[EventStatus]


NOTHING_BEGUN = Begun((), 0, [])


def in_phases(events: EventList) -> tuple[list[tuple[LeafContext, DeclaredEvent]], ...]:
    """Simultaneous events as they happen: unrestricted updates, then discrete updates, then publish events.

    Unrestricted updates that join the discrete ones stand after these, so that nothing they leave elsewhere than in the
    state is there when the handlers of the others look.
    """
    phases: tuple[list[tuple[LeafContext, DeclaredEvent]], ...] = ([], [], [])
    joining: list[tuple[LeafContext, DeclaredEvent]] = []
    for item in events:
        (joining if item[1].joins_discrete_updates else phases[item[1].phase]).append(item)
    phases[DISCRETE_PHASE].extend(joining)
    return phases


def execute(events: EventList) -> EventStatus:
    """Carries out the events of one phase.

    If a handler raises or reports failure, the state stays as it was.

    Args:
        events: events of one phase with the contexts of their leaf systems, see `in_phases`.

    Returns:
        The most severe status that any handler returned, only to be read.
    """
    if not events or not events[0][1].kind.changes_state:
        return most_severe([call_handler(context, event) for context, event in events])
    status, updates = compute_updates(events)
    if not (status is DID_NOTHING or status.failed()):
        make_updates(updates)
    return status


def make_updates(updates: UpdateList) -> None:
    """Makes the state what `compute_updates` has computed; doing it twice is the same as doing it once."""
    for context, values in updates:
        context.take_over(values)


def compute_updates(
    events: EventList, begun: Begun = NOTHING_BEGUN, is_question: bool = False
) -> tuple[EventStatus, list[tuple[LeafContext, Any]]]:
    """Computes what simultaneous updates would make of the state, and changes nothing.

    Args:
        events: updates with the contexts of their leaf systems; those of one leaf system stand together.
        begun: what has been done of that.
        is_question: whether nothing is to be updated, and what an interrupt has left to be updated must stay.

    Returns:
        The most severe status, only to be read, and for each leaf context concerned its new DiscreteValues or State.
        Unless it is a question, they are room that belongs to the context, good until the next update.
    """
    statuses, updates = [*begun.statuses], [*begun.updates]
    leaf: LeafContext | None = None
    values: Any = None
    for context, event in events[begun.num_events :] if begun.num_events else events:
        if context is not leaf:
            leaf = context
            values = event.kind.new_values(context, is_question)
            updates.append((context, values))
        status = call_handler(context, event, values)
        statuses.append(status)
        if status._severity is EventStatus.Severity.kFailed:
            break
    return statuses[0] if len(statuses) == 1 else most_severe(statuses), updates


def raise_if_failed(status: EventStatus, context: Context) -> None:
    """Raises an error that names the system and gives the message, if an event handler reported failure."""
    if status.failed():
        system = status.system() or context.system
        raise RuntimeError(
            f"An event handler of system '{system.GetSystemPathname()}' failed at time "
            f"{context.store.flat.item(0)} s: {status.message()}"
        )


def periodic_discrete_updates(system: System, context: Context) -> list[tuple[LeafContext, DeclaredEvent]]:
    """The periodic discrete updates of a system and of those inside, each with the context of its leaf."""
    periodic = system._events_with(context, TriggerType.kPeriodic)
    return [item for item in periodic if item[1].kind is DiscreteUpdateEvent]


def _by(handler: Any) -> str:
    """Which function handles an event, for messages; nothing about one without a name."""
    name = getattr(handler, "__qualname__", "").rpartition("<locals>.")[2]
    return f", by {name}" if name and "<" not in name else ""


def call_handler(context: LeafContext, event: DeclaredEvent, values: Any = None) -> EventStatus:
    """Calls the handler of an event; returns its status, with the system if that matters.

    Where the handler did its work, or had nothing to do, that is the one object DID_ITS_WORK, or DID_NOTHING.

    Args:
        context: of the leaf system.
        event: what happens.
        values: where an update puts its results.
    """
    try:
        result = event.handler(context) if values is None else event.handler(context, values)
    except Exception as error:
        note_place(
            error,
            f"while handling the {event.trigger.name[1:]} {event.kind.kind_name} event of system "
            f"'{context.system.GetSystemPathname()}' at time {context.store.flat.item(0)} s{_by(event.handler)}",
        )
        raise
    if result is None:
        return DID_ITS_WORK
    if not isinstance(result, EventStatus):
        raise TypeError(
            f"The {event.trigger.name[1:]} {event.kind.kind_name} event of system "
            f"'{context.system.GetSystemPathname()}' must return an EventStatus or None; got {type(result).__name__} "
            f"({result!r}), by {describe_function(event.handler)}.{'' if values is None else _WRITE}"
        )
    if result._severity <= EventStatus.Severity.kSucceeded:
        return DID_ITS_WORK if result._severity is EventStatus.Severity.kSucceeded else DID_NOTHING
    return result if result._system is not None else EventStatus(result._severity, context.system, result._message)
