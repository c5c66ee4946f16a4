"""Injects the compiler into core, so that core does not import framework/native; framework/compilation.py does so."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.context.store import CacheSlot
    from merganser.framework.core.declarations.native_function import NativeOperation


class Compilation(Protocol):
    """What compiles."""

    def may_use_tapes(self) -> bool:
        """Whether what runs tapes is compiled."""

    def form_of(self, function: NativeOperation) -> Any:
        """The compiled form of a native function."""

    def lock(self) -> AbstractContextManager[Any]:
        """What a thread holds while it compiles."""

    def tape(self, context: Context, slots: Sequence[CacheSlot], is_patient: bool) -> Any:
        """What brings some slots of a Context up to date by compiled operations, see native/operations/lowering.py."""


_handed_in: list[Compilation] = []


def hand_in(found: Compilation) -> None:
    """Says what compiles from now on."""
    _handed_in[:] = [found]


def compilation() -> Compilation:
    """What compiles."""
    return _handed_in[0]
