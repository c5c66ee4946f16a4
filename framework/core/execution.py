"""Carrying out simultaneous events: every handler sees the values from before, then all changes are made at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from merganser.framework.core.events import DeclaredEvent, EventKind, EventStatus
from merganser.framework.core.store import note_place

if TYPE_CHECKING:
    from merganser.framework.core.context import LeafContext

__all__ = ["execute"]

EventList = Sequence[tuple["LeafContext", DeclaredEvent]]


def execute(events: EventList, kind: EventKind) -> EventStatus:
    """Carries out the events of one kind.

    If a handler raises or reports failure, the state stays as it was.

    Args:
        events: events with the contexts of their leaf systems; those of other kinds are passed over.
        kind: which to carry out.

    Returns:
        The most severe status that any handler returned.
    """
    status = EventStatus(EventStatus.Severity.kDidNothing)
    if kind is EventKind.PUBLISH:
        for context, event in events:
            if event.kind is kind:
                _call(context, event, status)
        return status
    changed: dict[int, tuple[LeafContext, Any]] = {}
    for context, event in events:
        if event.kind is kind:
            if id(context) not in changed:
                changed[id(context)] = (context, _scratch(context, kind))
            _call(context, event, status, changed[id(context)][1])
            if status.failed():
                return status
    for context, values in changed.values():
        if kind is EventKind.DISCRETE_UPDATE:
            context.get_mutable_discrete_state().SetFrom(values)
        else:
            context.get_mutable_state().SetFrom(values)
    return status


def _scratch(context: LeafContext, kind: EventKind) -> Any:
    """A copy of what the handlers may change, kept with the context for the next time."""
    if kind is EventKind.UNRESTRICTED_UPDATE:
        return context.get_state().Clone()
    if context._next_discrete is None:
        context._next_discrete = context._discrete.Clone()
    else:
        context._next_discrete.SetFrom(context._discrete)
    return context._next_discrete


def _call(context: LeafContext, event: DeclaredEvent, status: EventStatus, *changes: Any) -> None:
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
        if status.did_nothing():
            status.KeepMoreSevere(EventStatus.Succeeded())
    else:
        if result.severity() >= EventStatus.Severity.kReachedTermination and result.system() is None:
            result = EventStatus(result.severity(), context._system, result.message())
        status.KeepMoreSevere(result)
