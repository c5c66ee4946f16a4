"""Carrying out simultaneous events: every handler sees the values from before, then all changes are made at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from merganser.framework.core.errors import note_place
from merganser.framework.core.events import (
    DID_ITS_WORK,
    DID_NOTHING,
    DeclaredEvent,
    EventKind,
    EventStatus,
    most_severe,
)

if TYPE_CHECKING:
    from merganser.framework.core.context import Context
    from merganser.framework.core.leaf_context import LeafContext

__all__ = [
    "NOTHING_BEGUN",
    "Begun",
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
Updates = tuple[EventKind, list[tuple["LeafContext", Any]], EventStatus]


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


def execute(
    events: EventList,
    kind: EventKind,
    journal: list[Updates] | None = None,
    done: list[EventStatus] | None = None,
    begun: Begun = NOTHING_BEGUN,
) -> EventStatus:
    """Carries out the events of one kind.

    If a handler raises or reports failure, the state stays as it was.

    Args:
        events: events with the contexts of their leaf systems; those of other kinds are passed over.
        kind: which to carry out.
        journal: the updates are added here before they are made, so that who catches an interrupt in their midst can
            complete them by `make_updates`.
        done: what the first of the publish events have come to, which have happened before; gets the statuses of the
            others, each as soon as its handler has returned.
        begun: what has been done of the updates.

    Returns:
        The most severe status that any handler returned, only to be read.
    """
    if kind is EventKind.PUBLISH:
        done = [] if done is None else done
        for context, event in events[len(done) :] if done else events:
            # No signal is looked at between the return of a handler and the end of this line.
            done += [call_handler(context, event) if event.kind is kind else DID_NOTHING]
        return done[0] if len(done) == 1 else most_severe(done)  # nearly always; 6 % of an event
    status, updates = compute_updates(events, kind, begun)
    if status is DID_NOTHING or status.failed():
        return status
    if journal is not None:
        journal.append((kind, updates, status))
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
    events: EventList, kind: EventKind, begun: Begun = NOTHING_BEGUN
) -> tuple[EventStatus, list[tuple[LeafContext, Any]]]:
    """Computes what simultaneous updates would make of the state, and changes nothing.

    Args:
        events: events with the contexts of their leaf systems; those of other kinds are passed over.
        kind: discrete or unrestricted update.
        begun: what has been done of that.

    Returns:
        The most severe status, only to be read, and for each leaf context concerned its new DiscreteValues or State.
        They are room that belongs to the context, good until the next update.
    """
    statuses, updates = [*begun.statuses], [*begun.updates]
    leaf: LeafContext | None = None
    values: Any = None
    for context, event in events[begun.num_events :] if begun.num_events else events:
        if event.kind is not kind:
            continue
        if context is not leaf:  # the events of a leaf system stand together
            leaf = context
            is_discrete = kind is EventKind.DISCRETE_UPDATE
            values = context._copied_discrete_values() if is_discrete else context._copied_state()
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
            f"while handling the {event.trigger.name[1:]} {event.kind.value} event of system "
            f"'{context.system.GetSystemPathname()}' at time {context.store.flat.item(0)} s",
        )
        raise
    if result is None:
        return DID_ITS_WORK
    if not isinstance(result, EventStatus):
        raise TypeError(
            f"The {event.trigger.name[1:]} {event.kind.value} event of system "
            f"'{context.system.GetSystemPathname()}' must return an EventStatus or None; got {type(result).__name__}."
        )
    if result._severity <= EventStatus.Severity.kSucceeded:
        return DID_ITS_WORK if result._severity is EventStatus.Severity.kSucceeded else DID_NOTHING
    return result if result._system is not None else EventStatus(result._severity, context.system, result._message)
