"""Injects the compiler into core, so that core does not import framework/native; framework/compilation.py does so."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.context.store import CacheSlot
    from merganser.framework.core.declarations.native_function import NativeOperation

__all__ = ["Compilation", "compilation", "hand_in"]


class Compilation(Protocol):
    """What compiles."""

    def pays_to_load_tapes(self) -> bool:
        """Whether there has been so much work in Python that tapes are worth their while."""

    def note_evaluation(self, num_entries: int) -> None:
        """Counts an evaluation of derivatives in Python, in a Context with so many cache entries."""

    def form_of(self, function: NativeOperation) -> Any:
        """The compiled form of a native function."""

    def lock(self) -> AbstractContextManager[Any]:
        """What a thread holds while it compiles."""

    def tape(self, context: Context, slots: Sequence[CacheSlot]) -> Any:
        """What brings some slots of a Context up to date by compiled operations, see native/operations/lowering.py."""


_handed_in: list[Compilation] = []


def hand_in(found: Compilation) -> None:
    """Says what compiles from now on."""
    _handed_in[:] = [found]


def compilation() -> Compilation:
    """What compiles."""
    return _handed_in[0]
