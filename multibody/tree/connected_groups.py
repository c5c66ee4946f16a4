"""Things that pairs connect, directly or by way of others."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def connected_groups(pairs: Iterable[tuple[T, T]]) -> list[list[T]]:
    """The connected parts of a graph, given by its edges; in the order in which they first appear."""
    group_of: dict[T, list[T]] = {}
    for pair in pairs:
        one, other = (group_of.setdefault(thing, [thing]) for thing in pair)
        if one is other:
            continue
        small, large = (one, other) if len(one) < len(other) else (other, one)
        large.extend(small)
        group_of.update((thing, large) for thing in small)
    return list({id(group): group for group in group_of.values()}.values())
