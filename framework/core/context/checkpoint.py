"""Checkpoint: where a call that fails returns to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from merganser.framework.core.context.context_values import kept_boxes

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context


class Checkpoint:
    """What events may change in a root context: its numbers, its abstract state, and the samples in its logs.

    Args:
        context: as it is now.
        with_abstract_state: whether the abstract state may change.
    """

    __slots__ = ("_abstract_state", "_context", "_log_lengths", "_numbers")

    def __init__(self, context: Context, with_abstract_state: bool) -> None:
        self._context = context
        self._numbers = context.store.flat.copy()
        self._abstract_state = context._abstract_state.Clone() if with_abstract_state else None
        self._log_lengths: list[tuple[Any, int]] = []
        for box in kept_boxes(context):
            log = box.get_value()
            if hasattr(log, "keep_first"):
                self._log_lengths.append((log, log.num_samples()))

    def restore(self) -> None:
        """Makes the context what it was; samples that were added are taken out of the logs."""
        store = self._context.store
        store.flat[:] = self._numbers
        if self._abstract_state is not None:
            self._context._abstract_state.SetFrom(self._abstract_state)
        for log, length in self._log_lengths:
            log.keep_first(length)
        store.change((1 << store.layout.num_entries) - 1, self._context)
