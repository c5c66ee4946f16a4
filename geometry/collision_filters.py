"""Which pairs of geometries never meet.

A pair of geometries with the proximity role is *filtered*, so that no proximity query looks at it, if

- both are fixed to the same frame (which anchored geometries are: the world), or they are one and the same; this
  holds always, and no declaration changes it; or
- a declaration excludes it, and no later one allows it.

Declarations are persistent, or transient: those form a history on top of the persistent ones, from which each may be
taken away again. A declaration concerns the geometries that have the proximity role when it is applied.

The pairs are a symmetric boolean matrix, over slots that geometries get in the order in which they come.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.geometry_set import GeometrySet
from merganser.geometry.ids import FilterId, FrameId, GeometryId, restore_id

__all__ = [
    "CollisionFilterDeclaration",
    "CollisionFilterScope",
    "CollisionFilters",
    "DeclaredPairs",
    "Statement",
    "declaration_for_bodies",
]

Pairs = NDArray[np.bool_]


class CollisionFilterScope(enum.IntEnum):
    """To which kinds of geometry a declaration applies: to all, or to rigid ones only."""

    kAll = 0
    kOmitDeformable = 1

    __repr__ = enum.Enum.__repr__
    __str__ = enum.Enum.__str__


class DeclaredPairs(NamedTuple):
    """One statement of a declaration: pairs (a, b) with a in A and b in B are excluded or allowed."""

    set_A: GeometrySet
    set_B: GeometrySet
    excludes: bool


class CollisionFilterDeclaration:
    """Statements about pairs of geometries, which take effect in order when a CollisionFilterManager applies them.

    Each function adds one statement and returns the declaration, so that they can be chained. The sets are copied; a
    frame in them stands for the geometries that are fixed to it when the declaration is applied.

    Args:
        scope: the kinds of geometry that are concerned.
    """

    __slots__ = ("_scope", "_statements")

    def __init__(self, scope: CollisionFilterScope = CollisionFilterScope.kAll) -> None:
        if not isinstance(scope, CollisionFilterScope):
            raise TypeError(f"CollisionFilterDeclaration() takes a CollisionFilterScope; given {scope!r}.")
        self._scope = scope
        self._statements: list[DeclaredPairs] = []

    def ExcludeBetween(self, set_A: GeometrySet, set_B: GeometrySet) -> CollisionFilterDeclaration:
        """Filters all pairs of one geometry of A and one of B."""
        return self._add("ExcludeBetween", set_A, set_B, True)

    def ExcludeWithin(self, geometry_set: GeometrySet) -> CollisionFilterDeclaration:
        """Filters all pairs of geometries of the set."""
        return self._add("ExcludeWithin", geometry_set, geometry_set, True)

    def AllowBetween(self, set_A: GeometrySet, set_B: GeometrySet) -> CollisionFilterDeclaration:
        """Lets all pairs of one geometry of A and one of B meet, save those of one frame."""
        return self._add("AllowBetween", set_A, set_B, False)

    def AllowWithin(self, geometry_set: GeometrySet) -> CollisionFilterDeclaration:
        """Lets all pairs of geometries of the set meet, save those of one frame."""
        return self._add("AllowWithin", geometry_set, geometry_set, False)

    def _omits_deformable(self) -> bool:
        """Whether deformable geometries are not concerned."""
        return self._scope == CollisionFilterScope.kOmitDeformable

    def statements(self) -> list[DeclaredPairs]:
        """The statements, in order."""
        return list(self._statements)

    def _add(self, caller: str, set_A: GeometrySet, set_B: GeometrySet, excludes: bool) -> CollisionFilterDeclaration:
        for given in (set_A, set_B):
            if not isinstance(given, GeometrySet):
                raise TypeError(f"{caller}() takes GeometrySets; given {given!r}.")
        self._statements.append(DeclaredPairs(set_A.__copy__(), set_B.__copy__(), excludes))
        return self


def declaration_for_bodies(
    welded: Iterable[Iterable[FrameId]], joined: Iterable[tuple[FrameId, FrameId]]
) -> CollisionFilterDeclaration:
    """Returns what keeps the rigid geometries of a mechanism from colliding that touch by construction.

    Args:
        welded: frames that cannot move relative to each other, group by group.
        joined: pairs of frames with a joint between them.
    """
    declaration = CollisionFilterDeclaration(CollisionFilterScope.kOmitDeformable)
    for parent, child in joined:
        declaration.ExcludeBetween(GeometrySet(parent), GeometrySet(child))
    for frames in welded:
        declaration.ExcludeWithin(GeometrySet(frame_ids=frames))
    return declaration


class Statement(NamedTuple):
    """A statement whose sets have been looked up: all (a, b) with a in A and b in B, both with the proximity role."""

    ids_A: Sequence[GeometryId]
    ids_B: Sequence[GeometryId]
    excludes: bool


class CollisionFilters:
    """The filtered pairs among the geometries that have the proximity role."""

    def __init__(self) -> None:
        self._slots: dict[GeometryId, int] = {}
        self._frames: NDArray[np.int64] = np.zeros(0, np.int64)  # FrameIds of the slots, deformable ones' own are < 0
        self._declared: Pairs = np.zeros((0, 0), np.bool_)  # by persistent declarations, shape [capacity, capacity]
        self._history: dict[FilterId, list[Statement]] = {}
        self._current = self._declared  # by all declarations

    def __deepcopy__(self, memo: dict[int, Any]) -> CollisionFilters:
        clone = CollisionFilters()
        clone._slots = dict(self._slots)
        n = len(self._slots)
        clone._frames = self._frames[:n].copy()
        clone._declared = self._declared[:n, :n].copy()
        clone._history = dict(self._history)
        clone._current = self._current[:n, :n].copy() if self._history else clone._declared
        return clone

    # ------------------------------------------------------------------ geometries

    def add(self, geometry_id: GeometryId, frame_id: FrameId | None) -> None:
        """A geometry gets the proximity role; nothing has been declared about it.

        There must be no history: its declarations were made without this geometry.

        Args:
            geometry_id: the geometry.
            frame_id: the frame with which it moves; None if it is deformable, and may meet all geometries.
        """
        slot = len(self._slots)
        if slot == len(self._frames):
            room = max(slot, 8)
            self._frames = np.concatenate([self._frames, np.zeros(room, np.int64)])
            self._declared = np.pad(self._declared, (0, room))
            self._current = self._declared
        self._frames[slot] = -geometry_id.get_value() if frame_id is None else frame_id.get_value()
        self._slots[geometry_id] = slot

    def remove(self, geometry_id: GeometryId) -> None:
        """A geometry loses the proximity role, and with it all that was declared about it."""
        slot, last = self._slots.pop(geometry_id), len(self._slots)
        for pairs in {id(pairs): pairs for pairs in (self._declared, self._current)}.values():
            pairs[slot] = pairs[last]
            pairs[:, slot] = pairs[:, last]
            pairs[slot, slot] = False
            pairs[last] = pairs[:, last] = False
        self._frames[slot] = self._frames[last]
        for moved, old in self._slots.items():
            if old == last:
                self._slots[moved] = slot
                break

    # ------------------------------------------------------------------ declarations

    def has_history(self) -> bool:
        """Whether there are transient declarations."""
        return bool(self._history)

    def is_active(self, filter_id: FilterId) -> bool:
        """Whether this transient declaration is part of the history."""
        return filter_id in self._history

    def apply(self, statements: list[Statement]) -> None:
        """Declares something for good; there must be no history."""
        self._write(self._declared, statements)

    def apply_transient(self, statements: list[Statement]) -> FilterId:
        """Adds a declaration to the history; returns the name by which it can be taken away."""
        filter_id = FilterId.get_new_id()
        if not self._history:
            self._current = self._declared.copy()
        self._history[filter_id] = statements
        self._write(self._current, statements)
        return filter_id

    def remove_transient(self, filter_id: FilterId) -> None:
        """Takes a declaration out of the history; the others of it are applied again, in order."""
        del self._history[filter_id]
        self._current = self._declared.copy() if self._history else self._declared
        for statements in self._history.values():
            self._write(self._current, statements)

    def _write(self, pairs: Pairs, statements: list[Statement]) -> None:
        for ids_A, ids_B, excludes in statements:
            slots_A = [self._slots[id] for id in ids_A if id in self._slots]
            slots_B = [self._slots[id] for id in ids_B if id in self._slots]
            pairs[np.ix_(slots_A, slots_B)] = excludes
            pairs[np.ix_(slots_B, slots_A)] = excludes

    # ------------------------------------------------------------------ files

    def declarations(self, ids: Sequence[GeometryId]) -> tuple[list[list[int]], list[Any]]:
        """What was declared, with the places of geometries in a list instead of identifiers; see `declare`."""
        places = {id: place for place, id in enumerate(ids)}
        slots = {slot: places[id] for id, slot in self._slots.items()}
        n = len(self._slots)
        pairs = np.argwhere(np.triu(self._declared[:n, :n])).tolist()
        history = [
            [filter_id.get_value(), [_in_places(statement, places) for statement in statements]]
            for filter_id, statements in self._history.items()
        ]
        return sorted(sorted((slots[a], slots[b])) for a, b in pairs), history

    def declare(self, ids: Sequence[GeometryId], pairs: list[list[int]], history: list[Any]) -> None:
        """Declares what other filters have been told; there must be no declarations.

        Args:
            ids: of geometries.
            pairs: places in `ids` of each pair that is excluded by persistent declarations.
            history: number and statements of each transient declaration; a statement consists of the places of the
                geometries in A and in B, and tells whether it excludes.

        Raises:
            IndexError: there is no such place.
            KeyError: a pair has a geometry without the proximity role.
        """
        for a, b in pairs:
            slots = [self._slots[ids[place]] for place in (a, b)]
            self._declared[slots, slots[::-1]] = True
        for number, statements in history:
            filter_id = restore_id(FilterId, number)
            if not self._history:
                self._current = self._declared.copy()
            self._history[filter_id] = [
                Statement([ids[a] for a in A], [ids[b] for b in B], bool(excludes)) for A, B, excludes in statements
            ]
            self._write(self._current, self._history[filter_id])

    # ------------------------------------------------------------------ answers

    def filtered(self, id_A: GeometryId, id_B: GeometryId) -> bool:
        """Whether a pair is filtered; both geometries must have the proximity role."""
        a, b = self._slots[id_A], self._slots[id_B]
        return bool(self._frames[a] == self._frames[b] or self._current[a, b])

    def matrix(self, ids: Sequence[GeometryId]) -> Pairs:
        """Whether each pair of these geometries is filtered; symmetric, shape [len(ids), len(ids)]."""
        slots = np.array([self._slots[id] for id in ids], np.intp)
        frames = self._frames[slots]
        return self._current[np.ix_(slots, slots)] | (frames[:, None] == frames)


def _in_places(statement: Statement, places: dict[GeometryId, int]) -> list[Any]:
    """A statement with places instead of identifiers, without geometries that are no more."""
    A, B = ([places[id] for id in ids if id in places] for ids in (statement.ids_A, statement.ids_B))
    return [A, B, statement.excludes]
