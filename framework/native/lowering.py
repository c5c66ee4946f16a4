"""Lowering: from the cache entries of a Context to a tape of operations.

The tape brings given cache entries up to date, and all that they depend on, in topological order. Entries that are
compiled operations (core/native_code.py) run in one call as long as they stand together; at any other entry the tape
returns to Python and computes it as usual, if it is out of date.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.derivatives import compute_for
from merganser.framework.core.store import CacheSlot
from merganser.framework.native.assembly import Assembly, order_of_computation
from merganser.framework.native.compile import specialize
from merganser.framework.native.tape import run_operations

if TYPE_CHECKING:
    from merganser.framework.core.context import Context

__all__ = ["Tape"]

_NONE = -1  # no state of what feeds which input


class Tape:
    """The way to bring some cache entries of one Context up to date.

    Args:
        context: any context of the tree.
        targets: slots of the entries.
    """

    def __init__(self, context: Context, targets: Sequence[CacheSlot]) -> None:
        self._store = context.store
        self._targets = list(targets)
        self._lower()

    def num_operations(self) -> int:
        """Number of compiled operations on the tape."""
        return sum(len(segment[0]) for segment in self._segments if isinstance(segment, tuple))

    def operations(self) -> tuple[NDArray[Any], NDArray[Any], int, int, int] | None:
        """What `run_operations` takes, then the mask of the entries; None if Python has a part in it."""
        if not self.is_allowed() or len(self._segments) != 1 or not isinstance(self._segments[0], tuple):
            return None
        addresses, starts, mask = self._segments[0]
        return addresses, starts, self._values, self._numbers_place, mask

    def is_allowed(self) -> bool:
        """Whether the tape may run: all entries are cached, none is frozen or in the midst of its computation."""
        if self._store.routing != self._routing:  # an input was fixed since, caching switched, or this cut short
            self._lower()
        return self._is_cached and not self._store.computing & self._mask

    def has_failed(self) -> bool:
        """Whether an operation has failed since this was asked last, so that its result is not to be used."""
        has_failed = bool(self._failure[0])
        self._failure[0] = 0
        return has_failed

    def run(self) -> None:
        """Brings the entries up to date."""
        store = self._store
        if not store.invalid & self._mask:
            return
        for segment in self._segments:
            if isinstance(segment, tuple):
                addresses, starts, mask = segment
                self._run(addresses, starts, self._values, self._numbers_place)
                if self.has_failed():
                    self._explain(mask)
                store.invalid &= ~mask
            elif store.invalid & segment.bit:
                num_disturbances = store.num_disturbances
                compute_for(segment, self._needed_by)
                if store.num_disturbances != num_disturbances:  # what ran before may be out of date again
                    self._finish_in_python()
                    return

    def _finish_in_python(self) -> None:
        for slot in self._targets:
            if self._store.invalid & slot.bit:
                compute_for(slot, self._needed_by)

    def _explain(self, mask: int) -> None:
        """Computes in Python what an operation could not, for an exception that says why."""
        for slot in self._order:
            if slot.bit & mask & self._store.invalid:
                compute_for(slot, self._needed_by)

    # ------------------------------------------------------------------ lowering

    def _lower(self) -> None:
        """Makes the tape anew; if that is interrupted, it is made anew before it is used again."""
        self._routing, routing = _NONE, self._store.routing
        assembly = Assembly(self._store)
        order, self._needed_by = order_of_computation(assembly, self._targets)
        self._order, self._failure = order, assembly.failure
        self._is_cached = all(slot.clearing != -1 for slot in order)
        self._mask = 0
        pieces: list[Any] = []  # slots, and of operations [begin, end, mask]
        for slot in order:
            self._mask |= slot.bit
            if not assembly.add_entry(slot):
                pieces.append(slot)
                continue
            if not pieces or isinstance(pieces[-1], CacheSlot):
                pieces.append([len(assembly) - 1, 0, 0])
            pieces[-1][1] = len(assembly)
            pieces[-1][2] |= slot.bit
        addresses, starts, self._integers, self._numbers = assembly.finish()
        self._segments = [
            piece
            if isinstance(piece, CacheSlot)
            else (addresses[piece[0] : piece[1]], starts[piece[0] : piece[1]], piece[2])
            for piece in pieces
        ]
        self._values, self._numbers_place = self._store.flat.ctypes.data, self._numbers.ctypes.data
        example: NDArray[Any] = np.zeros(1, dtype=np.int64)
        self._run = specialize(run_operations, example, example, self._values, self._numbers_place)
        self._routing = routing
