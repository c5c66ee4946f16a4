"""Keeping the time derivatives of a system up to date, over and over again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from merganser.framework.core.context import Context

__all__ = ["DerivativeEvaluator"]

# Loading the compiled operations takes some 0.3 s once a process, an operation saves about 5 us each time. Nothing is
# loaded before this many operations could have been saved.
_WORTHWHILE_OPERATIONS = 20_000
_LOADED = "merganser.framework.native.lowering"


class DerivativeEvaluator:
    """Brings the time derivatives in a Context up to date.

    At first each block's derivatives are computed by its callback, port by port. When that has gone on for a while,
    the blocks that are also compiled operations are lowered to a tape, which one call runs (native/lowering.py). The
    results are the same to the last bit.

    Args:
        context: of a system with continuous state.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = context._store
        self._slots = [slot for slot in context._xcdot_slots if slot.entry.vector_size]
        self._tape: Any = None
        is_float = self._store.flat.dtype == np.float64
        self._num_native = sum(entry.native is not None for entry in self._entries()) if is_float else 0
        self._num_saved = 0

    def _entries(self) -> list[Any]:
        return [entry for leaf in self._context._layout.leaves() for entry in leaf.system._cache_entries]

    def update(self) -> None:
        """Computes what is out of date."""
        if self._tape is not None:
            self._tape.run()
            return
        store = self._store
        for slot in self._slots:
            if store.invalid & slot.bit:
                slot.compute()
        if self._num_native:
            self._num_saved += self._num_native
            if self._num_saved > _WORTHWHILE_OPERATIONS or _LOADED in sys.modules:
                self.lower()

    def lower(self) -> None:
        """From now on runs the tape, if there is anything to put on it."""
        from merganser.framework.native.lowering import Tape

        tape = Tape(self._context, self._slots)
        if tape.num_operations():
            self._tape = tape
        else:
            self._num_native = 0
