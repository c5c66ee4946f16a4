"""Carrying out simultaneous events: every handler sees the values from before, then all changes are made at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from merganser.framework.core.errors import note_place
from merganser.framework.core.events import DeclaredEvent, EventKind, EventStatus

if TYPE_CHECKING:
    from merganser.framework.core.context import Context
    from merganser.framework.core.leaf_context import LeafContext
    from merganser.framework.core.state import DiscreteValues, State

__all__ = ["Updates", "call_handler", "compute_updates", "execute", "make_updates", "raise_if_failed"]

_DID_NOTHING, _SUCCEEDED = EventStatus.Severity.kDidNothing, EventStatus.Severity.kSucceeded

EventList = Sequence[tuple["LeafContext", DeclaredEvent]]
Updates = tuple[EventKind, list[tuple["LeafContext", Any]]]


def execute(
    events: EventList, kind: EventKind, journal: list[Updates] | None = None, num_done: list[int] | None = None
) -> EventStatus:
    """Carries out the events of one kind.

    If a handler raises or reports failure, the state stays as it was.

    Args:
        events: events with the contexts of their leaf systems; those of other kinds are passed over.
        kind: which to carry out.
        journal: the updates are added here before they are made, so that who catches an interrupt in their midst can
            complete them by `make_updates`.
        num_done: its only element counts the publish events whose handlers have returned.

    Returns:
        The most severe status that any handler returned.
    """
    if kind is EventKind.PUBLISH:
        status = EventStatus.DidNothing()
        for context, event in events:
            if event.kind is kind:
                _call(context, event, status)
            if num_done is not None:  # no signal is looked at between the return of a handler and this
                num_done[0] += 1
        return status
    status, updates = compute_updates(events, kind)
    if status.failed() or status.did_nothing():
        return status
    if journal is not None:
        journal.append((kind, updates))
    make_updates(kind, updates)
    return status


def make_updates(kind: EventKind, updates: Sequence[tuple[LeafContext, Any]]) -> None:
    """Makes the state what `compute_updates` has computed; doing it twice is the same as doing it once."""
    for context, values in updates:
        if kind is EventKind.DISCRETE_UPDATE:
            context._store.change(context._layout.down["xd"], context)
            _copy_groups(values, context._discrete)
        else:
            _copy_state(values, context.get_mutable_state())


def compute_updates(events: EventList, kind: EventKind) -> tuple[EventStatus, list[tuple[LeafContext, Any]]]:
    """Computes what simultaneous updates would make of the state, and changes nothing.

    Args:
        events: events with the contexts of their leaf systems; those of other kinds are passed over.
        kind: discrete or unrestricted update.

    Returns:
        The most severe status, and for each leaf context concerned its new DiscreteValues or State. They are room
        that belongs to the context, good until the next update.
    """
    status = EventStatus.DidNothing()
    updates: list[tuple[LeafContext, Any]] = []
    for context, event in events:
        if event.kind is kind:
            if not updates or updates[-1][0] is not context:  # the events of a leaf system stand together
                updates.append((context, _scratch(context, kind)))
            _call(context, event, status, updates[-1][1])
            if status.failed():
                break
    return status, updates


def raise_if_failed(status: EventStatus, context: Context) -> None:
    """Raises an error that names the system and gives the message, if an event handler reported failure."""
    if status.failed():
        system = status.system() or context._system
        raise RuntimeError(
            f"An event handler of system '{system.GetSystemPathname()}' failed at time "
            f"{context._store.flat.item(0)} s: {status.message()}"
        )


def _scratch(context: LeafContext, kind: EventKind) -> Any:
    """A copy of what the handlers may change, kept with the context for the next time."""
    if kind is EventKind.UNRESTRICTED_UPDATE:
        return _room_for_state(context)
    room = context._room_for_update()
    _copy_groups(context._discrete, room)
    return room


def _room_for_state(context: LeafContext) -> State:
    """A copy of the state, in room that is kept for it."""
    state = context.get_state()
    if context._next_state is None:
        context._next_state = state.Clone()
    else:
        _copy_state(state, context._next_state)
    return context._next_state


def _copy_state(source: State, target: State) -> None:
    """Copies between states of one leaf system, whose structure is known to be the same."""
    target._continuous._vector._values[:] = source._continuous._vector._values
    _copy_groups(source._discrete, target._discrete)
    for mine, theirs in zip(target._abstract._items, source._abstract._items):
        mine.SetFrom(theirs)


def _copy_groups(source: DiscreteValues, target: DiscreteValues) -> None:
    for theirs, mine in zip(source._items, target._items):
        mine._values[:] = theirs._values


def _call(context: LeafContext, event: DeclaredEvent, status: EventStatus, *changes: Any) -> None:
    result = call_handler(context, event, *changes)
    if result is not None:
        status.KeepMoreSevere(result)
    elif status._severity is _DID_NOTHING:
        status._severity = _SUCCEEDED


def call_handler(context: LeafContext, event: DeclaredEvent, *changes: Any) -> EventStatus | None:
    """Calls the handler of an event; returns its status, with the system if that matters. None: it has succeeded."""
    try:
        result = event.handler(context, *changes)
    except Exception as error:
        note_place(
            error,
            f"while handling the {event.trigger.name[1:]} {event.kind.value} event of system "
            f"'{context._system.GetSystemPathname()}' at time {context._store.flat.item(0)} s",
        )
        raise
    if result is None:
        return None
    if not isinstance(result, EventStatus):
        raise TypeError(
            f"The {event.trigger.name[1:]} {event.kind.value} event of system "
            f"'{context._system.GetSystemPathname()}' must return an EventStatus or None; got {type(result).__name__}."
        )
    if result.severity() >= EventStatus.Severity.kReachedTermination and result.system() is None:
        return EventStatus(result.severity(), context._system, result.message())
    return result
