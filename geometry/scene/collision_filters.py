"""Which pairs of geometries never meet.

A pair of geometries with the proximity role is *filtered*, so that no proximity query looks at it, if

- both are fixed to the same frame (which anchored geometries are: the world), or they are one and the same; this
  holds always, and no declaration changes it; or
- one of them is inactive, whatever is declared about it; or
- a declaration excludes it, and no later one allows it.

Declarations are persistent, or transient: those form a history on top of the persistent ones, from which each may be
taken away again. A declaration concerns the geometries that have the proximity role when it is applied.

Geometries get slots in the order in which they come. Of each, an integer says which others a declaration excludes: bit
k is that of slot k. So a scene in which little is declared takes no room, and one in which all is n^2 bits.

GeometrySet: geometries, named one by one or by the frames that they are fixed to.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.registration.ids import FilterId, FrameId, GeometryId, restore_id

if TYPE_CHECKING:
    from merganser.geometry.scene.geometry_state import GeometryState


class GeometrySet:
    """A set of GeometryIds and FrameIds; a frame stands for the geometries fixed to it when the set is used.

    Args:
        geometry_id: a geometry, or `geometry_ids`: several.
        frame_id: a frame, or `frame_ids`: several.

    Geometries come first by position, and either may stand alone: `GeometrySet(frame_id)`,
    `GeometrySet([id1, id2])`, `GeometrySet(geometry_ids, frame_ids)`.

    Raises:
        TypeError: something else is given, or geometries and frames in one list.
    """

    __slots__ = ("_frame_ids", "_geometry_ids")

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(self, geometry_id: GeometryId) -> None: ...
    @overload
    def __init__(self, frame_id: FrameId) -> None: ...
    @overload
    def __init__(self, geometry_ids: Iterable[GeometryId]) -> None: ...
    @overload
    def __init__(self, frame_ids: Iterable[FrameId]) -> None: ...
    @overload
    def __init__(self, geometry_ids: Iterable[GeometryId], frame_ids: Iterable[FrameId]) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Dictionaries without values: sets that keep the order.
        self._geometry_ids: dict[GeometryId, None] = {}
        self._frame_ids: dict[FrameId, None] = {}
        if args or kwargs:
            self.Add(*args, **kwargs)

    @overload
    def Add(self, geometry_id: GeometryId) -> None: ...
    @overload
    def Add(self, frame_id: FrameId) -> None: ...
    @overload
    def Add(self, geometry_ids: Iterable[GeometryId]) -> None: ...
    @overload
    def Add(self, frame_ids: Iterable[FrameId]) -> None: ...
    @overload
    def Add(self, geometry_ids: Iterable[GeometryId], frame_ids: Iterable[FrameId]) -> None: ...
    def Add(self, *args: Any, **kwargs: Any) -> None:
        """Adds geometries and frames, given as for the constructor; what is there already stays there once.

        Raises:
            TypeError: as for the constructor; then nothing is added.
        """
        for name in kwargs:
            if name not in ("geometry_id", "geometry_ids", "frame_id", "frame_ids"):
                raise TypeError(f"GeometrySet has no argument '{name}'; it takes geometry_ids and frame_ids.")
        if len(args) > 2:
            raise TypeError(f"GeometrySet takes geometry_ids and frame_ids; given {len(args)} arguments.")
        geometry_ids = [_ids(value, GeometryId) for name, value in kwargs.items() if name.startswith("geometry")]
        frame_ids = [_ids(value, FrameId) for name, value in kwargs.items() if name.startswith("frame")]
        if len(args) == 2:
            geometry_ids.append(_ids(args[0], GeometryId))
            frame_ids.append(_ids(args[1], FrameId))
        elif args:
            given = _ids(args[0])
            frame_ids.append([id for id in given if isinstance(id, FrameId)])
            geometry_ids.append([id for id in given if isinstance(id, GeometryId)])
        self._geometry_ids.update((id, None) for ids in geometry_ids for id in ids)
        self._frame_ids.update((id, None) for ids in frame_ids for id in ids)

    def geometry_ids(self) -> list[GeometryId]:
        """The geometries that were named themselves, in order."""
        return list(self._geometry_ids)

    def frame_ids(self) -> list[FrameId]:
        """The frames that were named, in order."""
        return list(self._frame_ids)

    def __copy__(self) -> GeometrySet:
        return GeometrySet(self._geometry_ids, self._frame_ids)

    def __deepcopy__(self, memo: dict[int, Any]) -> GeometrySet:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"GeometrySet({self.geometry_ids()}, {self.frame_ids()})"


def _ids(given: Any, *expected: type) -> list[Any]:
    """One id, or the ids in an iterable; all of the expected kind, or else all of the same kind."""
    ids = [given] if isinstance(given, (GeometryId, FrameId)) else given
    if not isinstance(ids, Iterable) or isinstance(ids, str):
        raise TypeError(f"GeometrySet takes GeometryIds and FrameIds; given {given!r}.")
    ids = list(ids)
    kinds = expected or (type(ids[0]) if ids else GeometryId,)
    for id in ids:
        if not isinstance(id, (GeometryId, FrameId)) or not isinstance(id, kinds):
            wanted = expected[0].__name__ if expected else "ids of one kind, GeometryId or FrameId"
            raise TypeError(f"GeometrySet expected {wanted} in {given!r}; {id!r} is none.")
    return ids


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
        self._free: list[int] = []  # slots that were given back
        self._frames: list[int] = []  # FrameIds of the slots, deformable ones' own are < 0
        self._declared: list[int] = []  # by persistent declarations, of each slot
        self._history: dict[FilterId, list[Statement]] = {}
        self._current = self._declared  # by all declarations
        self._inactive: set[GeometryId] = set()

    def __deepcopy__(self, memo: dict[int, Any]) -> CollisionFilters:
        clone = CollisionFilters()
        clone._slots, clone._free, clone._frames = dict(self._slots), list(self._free), list(self._frames)
        clone._declared = list(self._declared)
        clone._history = dict(self._history)
        clone._current = list(self._current) if self._history else clone._declared
        clone._inactive = set(self._inactive)
        return clone

    # ------------------------------------------------------------------ geometries

    def add(self, geometry_id: GeometryId, frame_id: FrameId | None) -> None:
        """A geometry gets the proximity role; nothing has been declared about it.

        There must be no history: its declarations were made without this geometry.

        Args:
            geometry_id: the geometry.
            frame_id: the frame with which it moves; None if it is deformable, and may meet all geometries.
        """
        frame = -geometry_id.get_value() if frame_id is None else frame_id.get_value()
        if self._free:
            self._slots[geometry_id] = slot = self._free.pop()
            self._frames[slot] = frame
            return
        self._slots[geometry_id] = len(self._frames)
        self._frames.append(frame)
        self._declared.append(0)

    def remove(self, geometry_id: GeometryId) -> None:
        """A geometry loses the proximity role, and with it all that was declared about it."""
        slot = self._slots.pop(geometry_id)
        for rows in (self._declared, self._current):
            for other in places_of(rows[slot]).tolist():
                rows[other] &= ~(1 << slot)
            rows[slot] = 0
        self._free.append(slot)
        self._inactive.discard(geometry_id)

    def set_active(self, ids: Iterable[GeometryId], is_active: bool) -> None:
        """Lets these geometries meet others, as far as declarations allow it, or none at all."""
        (self._inactive.difference_update if is_active else self._inactive.update)(ids)

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
            self._current = list(self._declared)
        self._history[filter_id] = statements
        self._write(self._current, statements)
        return filter_id

    def remove_transient(self, filter_id: FilterId) -> None:
        """Takes a declaration out of the history; the others of it are applied again, in order."""
        del self._history[filter_id]
        self._current = list(self._declared) if self._history else self._declared
        for statements in self._history.values():
            self._write(self._current, statements)

    def _write(self, rows: list[int], statements: list[Statement]) -> None:
        for ids_A, ids_B, excludes in statements:
            slots_A = [self._slots[id] for id in ids_A if id in self._slots]
            slots_B = [self._slots[id] for id in ids_B if id in self._slots]
            for slots, others in ((slots_A, slots_B), (slots_B, slots_A)):
                bits = _bits(others, len(rows))
                for slot in slots:
                    rows[slot] = rows[slot] | bits if excludes else rows[slot] & ~bits

    # ------------------------------------------------------------------ files

    def declarations(self, ids: Sequence[GeometryId]) -> tuple[list[list[int]], list[Any], list[int]]:
        """What was declared, with the places of geometries in a list instead of identifiers; see `declare`."""
        places = {id: place for place, id in enumerate(ids)}
        slots = {slot: places[id] for id, slot in self._slots.items()}
        pairs = [(a, b) for a in slots for b in places_of(self._declared[a]).tolist() if a < b]
        history = [
            [filter_id.get_value(), [_in_places(statement, places) for statement in statements]]
            for filter_id, statements in self._history.items()
        ]
        inactive = sorted(places[id] for id in self._inactive)
        return sorted(sorted((slots[a], slots[b])) for a, b in pairs), history, inactive

    def declare(
        self, ids: Sequence[GeometryId], pairs: list[list[int]], history: list[Any], inactive: Sequence[int]
    ) -> None:
        """Declares what other filters have declared; this one must be empty.

        Args:
            ids: of geometries.
            pairs: places in `ids` of each pair that is excluded by persistent declarations.
            history: number and statements of each transient declaration; a statement consists of the places of the
                geometries in A and in B, and whether it excludes.
            inactive: places of inactive geometries.

        Raises:
            IndexError: there is no such place.
            KeyError: a pair has a geometry without the proximity role.
        """
        for a, b in pairs:
            slot_a, slot_b = self._slots[ids[a]], self._slots[ids[b]]
            self._declared[slot_a] |= 1 << slot_b
            self._declared[slot_b] |= 1 << slot_a
        for number, statements in history:
            filter_id = restore_id(FilterId, number)
            if not self._history:
                self._current = list(self._declared)
            self._history[filter_id] = [
                Statement([ids[a] for a in A], [ids[b] for b in B], bool(excludes)) for A, B, excludes in statements
            ]
            self._write(self._current, self._history[filter_id])
        self._inactive.update(ids[place] for place in inactive)

    # ------------------------------------------------------------------ answers

    def filtered(self, id_A: GeometryId, id_B: GeometryId) -> bool:
        """Whether a pair is filtered; both geometries must have the proximity role."""
        a, b = self._slots[id_A], self._slots[id_B]
        are_active = id_A not in self._inactive and id_B not in self._inactive
        return not are_active or self._frames[a] == self._frames[b] or bool(self._current[a] >> b & 1)

    def excluded(self, ids: Sequence[GeometryId]) -> list[int]:
        """Of each of these geometries, which others it never meets, though of other frames: bit k is that of ids[k]."""
        slots = [self._slots[id] for id in ids]
        places, rows = {slot: place for place, slot in enumerate(slots)}, [self._current[slot] for slot in slots]
        if slots == list(range(len(slots))):
            found = [row & ((1 << len(slots)) - 1) for row in rows]
        else:
            kept = [[places[slot] for slot in places_of(row).tolist() if slot in places] for row in rows]
            found = [_bits(row, len(slots)) for row in kept]
        if self._inactive:
            inactive = _bits([place for place, id in enumerate(ids) if id in self._inactive], len(ids))
            everything = (1 << len(ids)) - 1
            found = [everything if id in self._inactive else row | inactive for id, row in zip(ids, found)]
        return found


def places_of(row: int) -> NDArray[np.intp]:
    """The bits of an integer that are set, ascending."""
    if row < 1 << 64:  # as most are
        return np.array([k for k in range(row.bit_length()) if row >> k & 1], np.intp)
    numbers = np.frombuffer(row.to_bytes((row.bit_length() + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(numbers, bitorder="little"))


def _bits(places: Sequence[int], size: int) -> int:
    """An integer with these bits; they are less than `size`."""
    if len(places) < 16:
        return sum(1 << place for place in set(places))
    are_set = np.zeros(size, np.uint8)
    are_set[list(places)] = 1
    return int.from_bytes(np.packbits(are_set, bitorder="little").tobytes(), "little")


def pairs_that_may_meet(frames: NDArray[np.int64], excluded: Sequence[int]) -> NDArray[np.int64]:
    """All pairs (a, b), a < b, of different frames of which none is excluded, sorted; shape [num_pairs, 2].

    Args:
        frames: of each geometry, shape [n].
        excluded: of each geometry, which others it never meets, as bits; may be empty.
    """
    parts = [np.zeros((0, 2), np.int64)]
    for a in range(len(frames) - 1):
        may_meet = frames[a + 1 :] != frames[a]
        if excluded and excluded[a]:
            may_meet[places_of(excluded[a] >> a + 1)] = False
        others = np.flatnonzero(may_meet) + a + 1
        parts.append(np.column_stack((np.full(len(others), a), others)))
    return np.concatenate(parts)


def _in_places(statement: Statement, places: dict[GeometryId, int]) -> list[Any]:
    """A statement with places instead of identifiers, without geometries that are no more."""
    A, B = ([places[id] for id in ids if id in places] for ids in (statement.ids_A, statement.ids_B))
    return [A, B, statement.excludes]


class CollisionFilterManager:
    """Applies collision filters to a SceneGraph's model or to one Context, and takes them away.

    Proximity queries look at a pair of geometries only if both have the proximity role, are fixed to different frames
    (anchored geometries all have one frame, the world), and no declaration excludes the pair. Later declarations
    override earlier ones. A declaration concerns the geometries that have the proximity role when it is applied; one
    that gets it later is not filtered by it.

    Get one from `SceneGraph.collision_filter_manager`.

    Args:
        get_state: returns the state to look at.
        get_state_to_change: returns the same, and notes that it is going to change.
    """

    __slots__ = ("_get_state", "_get_state_to_change")

    def __init__(
        self, get_state: Callable[[], GeometryState], get_state_to_change: Callable[[], GeometryState]
    ) -> None:
        self._get_state = get_state
        self._get_state_to_change = get_state_to_change

    def Apply(self, declaration: CollisionFilterDeclaration) -> None:
        """Applies a declaration for good.

        Raises:
            TypeError: it is no CollisionFilterDeclaration.
            RuntimeError: it names a geometry or a frame that is not registered, or there are transient declarations.
        """
        self._get_state_to_change().apply_filters(declaration)

    def Activate(self, geometry_set: GeometrySet) -> None:
        """Lets these geometries meet others again, as declarations say.

        Raises:
            TypeError: it is no GeometrySet.
            RuntimeError: it names a geometry or a frame that is not registered.
        """
        self._get_state_to_change().set_active("Activate", geometry_set, True)

    def Deactivate(self, geometry_set: GeometrySet) -> None:
        """Leaves these geometries out of all proximity queries of pairs, whatever declarations say, until `Activate`.

        Raises:
            TypeError: it is no GeometrySet.
            RuntimeError: it names a geometry or a frame that is not registered.
        """
        self._get_state_to_change().set_active("Deactivate", geometry_set, False)

    def ApplyTransient(self, declaration: CollisionFilterDeclaration) -> FilterId:
        """Applies a declaration on top of all others until it is removed; returns its name.

        Raises:
            TypeError: it is no CollisionFilterDeclaration.
            RuntimeError: it names a geometry or a frame that is not registered.
        """
        return self._get_state_to_change().apply_transient_filters(declaration)

    def RemoveDeclaration(self, filter_id: FilterId) -> bool:
        """Takes a transient declaration away, and returns whether there was such a one."""
        if not self.IsActive(filter_id):
            return False
        self._get_state_to_change().remove_transient_filters(filter_id)
        return True

    def IsActive(self, filter_id: FilterId) -> bool:
        """Whether this transient declaration is in force."""
        if not isinstance(filter_id, FilterId):
            raise TypeError(f"A FilterId was expected; given {filter_id!r}.")
        return self._get_state().filters.is_active(filter_id)

    def has_transient_history(self) -> bool:
        """Whether any transient declarations are in force."""
        return self._get_state().filters.has_history()
