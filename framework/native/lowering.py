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

from merganser.framework.core.derivatives import trace_upstream
from merganser.framework.core.native_code import CONTINUOUS_STATE, OUTPUT, InputOf, ParameterOf
from merganser.framework.core.store import CacheSlot, FixedInputPortValue
from merganser.framework.native.compile import specialize
from merganser.framework.native.operations import address_of
from merganser.framework.native.tape import run_operations

if TYPE_CHECKING:
    from merganser.framework.core.context import Context

__all__ = ["Tape"]


class Tape:
    """The way to bring some cache entries of one Context up to date.

    Args:
        context: any context of the tree.
        targets: slots of the entries.
    """

    def __init__(self, context: Context, targets: Sequence[CacheSlot]) -> None:
        self._store = context._store
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
        if self._store.routing != self._routing:  # an input was fixed since, or caching switched
            self._lower()
        return self._is_cached and not self._store.computing & self._mask

    def run(self) -> None:
        """Brings the entries up to date."""
        store = self._store
        if not store.invalid & self._mask:
            return
        for segment in self._segments:
            if isinstance(segment, tuple):
                addresses, starts, mask = segment
                self._run(addresses, starts, self._values, self._numbers_place)
                store.invalid &= ~mask
            elif store.invalid & segment.bit:
                self._compute(segment)

    def _compute(self, slot: CacheSlot) -> None:
        """Computes a slot in Python; an exception says on behalf of what, as if the tape were not there."""
        try:
            slot.compute()
        except Exception as error:
            waiting = self._needed_by.get(id(slot))
            while waiting is not None:
                waiting.note_failure(error)
                waiting = self._needed_by.get(id(waiting))
            raise

    # ------------------------------------------------------------------ lowering

    def _lower(self) -> None:
        self._routing = self._store.routing
        order, self._needed_by = trace_upstream(self._targets)
        self._is_cached = all(slot.clearing != -1 for slot in order)
        self._mask = 0
        for slot in order:
            self._mask |= slot.bit
        numbers: list[float] = []
        lists: list[list[int]] = []
        pieces: list[Any] = []
        for slot in order:
            integers = _integers_of(slot, numbers)
            if integers is None:
                pieces.append(slot)
                continue
            if not pieces or isinstance(pieces[-1], CacheSlot):
                pieces.append(([], [], 0))
            addresses, indices, mask = pieces[-1]
            addresses.append(address_of(slot.entry.native.operation))  # type: ignore[union-attr]
            indices.append(len(lists))
            lists.append(integers)
            pieces[-1] = (addresses, indices, mask | slot.bit)
        self._finish(pieces, lists, numbers)

    def _finish(self, pieces: list[Any], lists: list[list[int]], numbers: list[float]) -> None:
        """Turns lists into arrays; the tape keeps them, because only their addresses are passed on."""
        self._numbers = np.array(numbers or [0.0])
        self._integers = np.array([i for integers in lists for i in integers] or [0], dtype=np.int64)
        starts = self._integers.ctypes.data + 8 * np.cumsum([0, *(len(i) for i in lists)])
        self._segments = [
            piece
            if isinstance(piece, CacheSlot)
            else (np.array(piece[0], dtype=np.int64), starts[piece[1]].astype(np.int64), piece[2])
            for piece in pieces
        ]
        self._values, self._numbers_place = self._store.flat.ctypes.data, self._numbers.ctypes.data
        example: NDArray[Any] = np.zeros(1, dtype=np.int64)
        self._run = specialize(run_operations, example, example, self._values, self._numbers_place)


def _integers_of(slot: CacheSlot, numbers: list[float]) -> list[int] | None:
    """The list of integers for a slot's operation; None if it has none or an input stands
    outside the flat array.
    """
    if slot.entry.native is None:
        return None
    layout = slot.context._layout
    integers: list[Any] = []
    for argument in slot.entry.native.arguments:
        if isinstance(argument, InputOf):
            place = _place_of_input(slot.context._inputs[argument.port_index])
            if place is None:
                return None
            integers.append(place)
        elif isinstance(argument, ParameterOf):
            integers.append(layout.numeric_offsets[argument.index])
        elif isinstance(argument, np.ndarray):
            integers.append(len(numbers))
            numbers.extend(argument.ravel().tolist())
        elif argument is OUTPUT:
            integers.append(layout.entry_offsets[slot.number] or 0)
        elif argument is CONTINUOUS_STATE:
            integers.append(layout.xc_range[0])
        else:
            integers.append(argument)
    return integers


def _place_of_input(source: Any) -> int | None:
    """Where in the flat array the value of an input port is; None if it is elsewhere."""
    if isinstance(source, CacheSlot):
        return source.context._layout.entry_offsets[source.number]
    if isinstance(source, FixedInputPortValue):
        offset = source._context._layout.free_offsets[source._index]
        return offset
    return None
