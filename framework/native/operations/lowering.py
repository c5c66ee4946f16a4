"""Lowering: from the cache entries of a Context to a tape of operations.

The tape brings given cache entries up to date, and all that they depend on, in topological order. Entries that are
compiled operations (core/context/native_code.py) run in one call as long as they stand together; at any other entry
the tape returns to Python and computes it as usual, if it is out of date.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from merganser.framework.core.context.derivatives import compute_for
from merganser.framework.core.context.store import CacheSlot
from merganser.framework.native.memory.tape import SUCCEEDED
from merganser.framework.native.operations.assembly import Assembly, order_of_computation

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context

_NONE = -1  # no state of what feeds which input


class Tape:
    """The way to bring some cache entries of one Context up to date.

    Args:
        context: any context of the tree.
        targets: slots of the entries.
        is_patient: see Assembly.
    """

    def __init__(self, context: Context, targets: Sequence[CacheSlot], is_patient: bool = False) -> None:
        self._store, self._is_patient = context.store, is_patient
        self._targets = list(targets)
        self._lower()

    def num_operations(self) -> int:
        """Number of compiled operations on the tape."""
        return len(self._operations)

    @property
    def assembly(self) -> Assembly:
        """Of its operations."""
        return self._assembly

    def left_to_python(self) -> list[CacheSlot]:
        """The entries that are no operations."""
        return [segment for segment in self._segments if isinstance(segment, CacheSlot)]

    def may_grow(self) -> bool:
        """Whether something has been left to Python that may become an operation."""
        return self._is_patient and len(self._assembly.waiting) > 0

    def operations(self) -> tuple[int, int] | None:
        """The address of the list of operations and the mask of the entries; None if Python has a part in it."""
        if not self.is_allowed() or len(self._segments) != 1 or isinstance(self._segments[0], CacheSlot):
            return None
        return self._operations.address, self._segments[0][2]

    def is_allowed(self) -> bool:
        """Whether the tape may run: all entries are cached, none is frozen or being computed."""
        # An input was fixed since, caching was switched, or this was cut short.
        has_changed = self._store.routing != self._routing
        if has_changed or not self._assembly.is_current():
            self._lower()
            if not self._assembly.is_current():
                return False
        return self._is_cached and not self._store.computing & self._mask

    def run(self) -> None:
        """Brings the entries up to date."""
        store = self._store
        if not store.invalid & self._mask:
            return
        for segment in self._segments:
            if isinstance(segment, tuple):
                begin, end, mask = segment
                if self._operations.run(begin, end) != SUCCEEDED:
                    self._explain(mask)
                store.invalid &= ~mask
            elif store.invalid & segment.bit:
                num_disturbances = store.num_disturbances
                compute_for(segment, self._needed_by)
                if store.num_disturbances != num_disturbances:  # what ran before may be out of date again
                    for slot in self._targets:
                        if self._store.invalid & slot.bit:
                            compute_for(slot, self._needed_by)
                    return

    def _explain(self, mask: int) -> None:
        """Computes in Python what an operation could not, for an exception that says why."""
        for slot in self._order:
            if slot.bit & mask & self._store.invalid:
                compute_for(slot, self._needed_by)

    # ------------------------------------------------------------------ lowering

    def _lower(self) -> None:
        """Makes the tape again; if that is interrupted, it is made again before it is used again."""
        self._routing, routing = _NONE, self._store.routing
        assembly = Assembly(self._store, self._is_patient)
        order, self._needed_by = order_of_computation(assembly, self._targets)
        self._order = order
        self._is_cached = all(slot.clearing != -1 for slot in order)
        self._mask = 0
        self._segments: list[CacheSlot | tuple[int, int, int]] = []  # or of operations: begin, end, mask
        for slot in order:
            self._mask |= slot.bit
            if not assembly.add_entry(slot):
                self._segments.append(slot)
                continue
            last = self._segments[-1] if self._segments else slot
            if isinstance(last, CacheSlot):
                self._segments.append((len(assembly) - 1, len(assembly), slot.bit))
            else:
                self._segments[-1] = last[0], len(assembly), last[2] | slot.bit
        self._operations, self._assembly = assembly.finish(), assembly  # which keeps what operations know by addresses
        self._routing = routing
