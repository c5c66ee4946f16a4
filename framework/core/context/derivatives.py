"""Keeping time derivatives, or results of other operations, up to date, over and over again."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.core.context.compiler_hook import compilation
from merganser.framework.core.context.dependencies import bits
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.core.context.store import CacheSlot

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.context.leaf_context import LeafContext


class Evaluator:
    """Brings some vectors that blocks compute up to date, such as the time derivatives.

    The first time each is computed by the callback of its block, port by port. When they are asked for again, the
    blocks that are also compiled operations are lowered to a tape, which one call runs (native/operations/lowering.py),
    if that is compiled. The results are the same to the last bit.

    Args:
        context: any context of the tree.
        slots: of the vectors.

    Attributes:
        slots: as given.
        uses_tape: whether to use a tape at all.
    """

    def __init__(self, context: Context, slots: Sequence[CacheSlot]) -> None:
        self._context = context
        self._store = context.store
        self.slots = slots
        self._mask = 0
        for slot in self.slots:
            self._mask |= slot.bit
        self._tape: Any = None
        self._is_asked_again = False
        self.uses_tape = True

    @functools.cached_property
    def _num_native(self) -> int:
        """How many entries are operations."""
        may_lower = self._store.flat.dtype == np.float64 and may_compile()
        return sum(slot.entry.native is not None for slot in self._context._cache_slots()) if may_lower else 0

    def update(self) -> None:
        """Computes what is out of date."""
        tape = self._tape
        if tape is not None and tape.is_allowed():
            tape.run()
            return
        store = self._store
        if not store.invalid & self._mask:
            return
        for slot in self.slots:
            if store.invalid & slot.bit:
                slot.compute()
        if tape is None and self.uses_tape and self._num_native:
            if self._is_asked_again and compilation().may_use_tapes():
                self.lower(is_patient=True)
            self._is_asked_again = True

    def are_current(self) -> bool:
        """Whether nothing is out of date."""
        return not self._store.invalid & self._mask

    def forget(self) -> None:
        """Has them computed again, whatever has changed."""
        self._store.invalid |= self._mask

    def depend_on(self, entries: int) -> bool:
        """Whether one of them is among the entries of a mask."""
        return bool(entries & self._mask)

    def operations(self) -> Any:
        """The operations of the tape, see Tape.operations(); None as long as there is no tape."""
        return self._tape.operations() if self._tape is not None else None

    def lower(self, is_patient: bool = False) -> None:
        """From now on runs the tape, if there is anything to put on it.

        Args:
            is_patient: whether Python goes on to compute what would have to be compiled.
        """
        tape = compilation().tape(self._context, self.slots, is_patient)
        if tape.num_operations():
            self._tape = tape
        elif tape.may_grow():
            self._is_asked_again = False
        else:
            self._num_native = 0


def trace_upstream(targets: Sequence[CacheSlot]) -> tuple[list[CacheSlot], dict[int, CacheSlot]]:
    """The targets and all slots upstream of them, every slot after those that it depends on.

    Returns:
        These slots, and for each (by id) that is not a target the first one found to need it.
    """
    order: list[CacheSlot] = []
    needed_by: dict[int, CacheSlot] = {}
    visited: set[int] = set()
    for target in targets:
        if id(target) in visited:
            continue
        visited.add(id(target))
        path = [(target, upstream(target))]
        while path:
            slot, sources = path[-1]
            following = next(sources, None)
            if following is None:
                order.append(slot)
                path.pop()
            elif id(following) not in visited:
                visited.add(id(following))
                needed_by[id(following)] = slot
                path.append((following, upstream(following)))
    return order, needed_by


def compute_for(slot: CacheSlot, needed_by: dict[int, CacheSlot]) -> None:
    """Computes a slot on behalf of others (see trace_upstream); an exception says so, as if they had asked for it."""
    try:
        slot.compute()
    except Exception as error:
        waiting = needed_by.get(id(slot))
        while waiting is not None:
            waiting.note_failure(error)
            waiting = needed_by.get(id(waiting))
        raise


def upstream(slot: CacheSlot) -> Iterator[CacheSlot]:
    """The slots on which a slot depends directly."""
    return slots_behind(slot.context, slot.entry.dependencies())


def slots_behind(context: LeafContext, nodes: int) -> Iterator[CacheSlot]:
    """The slots whose values some nodes of a leaf system stand for: its own entries, and what feeds its inputs."""
    places = context.layout.places
    for node in bits(nodes):
        kind, index = places[node]
        if kind == "cache":
            yield context.slots[index]
        elif kind == "u" and isinstance(context.sources[index], CacheSlot):
            yield context.sources[index]
