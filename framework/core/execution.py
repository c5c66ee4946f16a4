"""Carrying out simultaneous events: every handler sees the values from before, then all changes are made at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from merganser.framework.core.errors import note_place
from merganser.framework.core.events import DeclaredEvent, EventKind, EventStatus

if TYPE_CHECKING:
    from merganser.framework.core.context import Context
    from merganser.framework.core.leaf_context import LeafContext

__all__ = [
    "SUCCEEDED",
    "UpdateList",
    "Updates",
    "call_handler",
    "compute_updates",
    "execute",
    "make_updates",
    "raise_if_failed",
]

EventList = Sequence[tuple["LeafContext", DeclaredEvent]]
UpdateList = Sequence[tuple["LeafContext", Any]]
Updates = tuple[EventKind, list[tuple["LeafContext", Any]]]

# What most events come to; nobody changes these.
_DID_NOTHING, SUCCEEDED = EventStatus.DidNothing(), EventStatus.Succeeded()


def execute(
    events: EventList,
    kind: EventKind,
    journal: list[Updates] | None = None,
    num_done: list[int] | None = None,
    begun: UpdateList = (),
) -> EventStatus:
    """Carries out the events of one kind.

    If a handler raises or reports failure, the state stays as it was.

    Args:
        events: events with the contexts of their leaf systems; those of other kinds are passed over.
        kind: which to carry out.
        journal: the updates are added here before they are made, so that who catches an interrupt in their midst can
            complete them by `make_updates`.
        num_done: its only element counts the publish events whose handlers have returned.
        begun: updates of other leaf systems, computed already, that are to be made with these.

    Returns:
        The most severe status that any handler returned, only to be read.
    """
    if kind is EventKind.PUBLISH:
        status = _DID_NOTHING
        for context, event in events:
            result = (call_handler(context, event) or SUCCEEDED) if event.kind is kind else _DID_NOTHING
            if num_done is not None:  # no signal is looked at between the return of a handler and this
                num_done[0] += 1
            if result is not status and result._severity > status._severity:
                status = result
        return status
    status, updates = compute_updates(events, kind, begun)
    if status is _DID_NOTHING or status.failed():
        return status
    if journal is not None:
        journal.append((kind, updates))
    make_updates(kind, updates)
    return status


def make_updates(kind: EventKind, updates: Sequence[tuple[LeafContext, Any]]) -> None:
    """Makes the state what `compute_updates` has computed; doing it twice is the same as doing it once."""
    for context, values in updates:
        down = context.layout.down
        if kind is EventKind.DISCRETE_UPDATE:
            context.store.change(down["xd"], context)
        else:
            context.store.change(down["xc"] | down["xd"] | down["xa"], context)
        context._take_over(values)


def compute_updates(
    events: EventList, kind: EventKind, begun: UpdateList = ()
) -> tuple[EventStatus, list[tuple[LeafContext, Any]]]:
    """Computes what simultaneous updates would make of the state, and changes nothing.

    Args:
        events: events with the contexts of their leaf systems; those of other kinds are passed over.
        kind: discrete or unrestricted update.
        begun: updates of other leaf systems that belong to these.

    Returns:
        The most severe status, only to be read, and for each leaf context concerned its new DiscreteValues or State.
        They are room that belongs to the context, good until the next update.
    """
    status = SUCCEEDED if begun else _DID_NOTHING
    updates = list(begun)
    leaf: LeafContext | None = None
    values: Any = None
    for context, event in events:
        if event.kind is not kind:
            continue
        if context is not leaf:  # the events of a leaf system stand together
            leaf = context
            is_discrete = kind is EventKind.DISCRETE_UPDATE
            values = context._copied_discrete_values() if is_discrete else context._copied_state()
            updates.append((context, values))
        result = call_handler(context, event, values) or SUCCEEDED
        if result._severity > status._severity:
            status = result
        if status._severity is EventStatus.Severity.kFailed:
            break
    return status, updates


def raise_if_failed(status: EventStatus, context: Context) -> None:
    """Raises an error that names the system and gives the message, if an event handler reported failure."""
    if status.failed():
        system = status.system() or context.system
        raise RuntimeError(
            f"An event handler of system '{system.GetSystemPathname()}' failed at time "
            f"{context.store.flat.item(0)} s: {status.message()}"
        )


def call_handler(context: LeafContext, event: DeclaredEvent, values: Any = None) -> EventStatus | None:
    """Calls the handler of an event; returns its status, with the system if that matters. None: it has succeeded.

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
            f"while handling the {event.trigger.name[1:]} {event.kind.value} event of system "
            f"'{context.system.GetSystemPathname()}' at time {context.store.flat.item(0)} s",
        )
        raise
    if result is None:
        return None
    if not isinstance(result, EventStatus):
        raise TypeError(
            f"The {event.trigger.name[1:]} {event.kind.value} event of system "
            f"'{context.system.GetSystemPathname()}' must return an EventStatus or None; got {type(result).__name__}."
        )
    if result.severity() >= EventStatus.Severity.kReachedTermination and result.system() is None:
        return EventStatus(result.severity(), context.system, result.message())
    return result
