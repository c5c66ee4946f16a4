"""How core comes by compiled code: what is handed to it, which loads framework/native when that is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from merganser.framework.later_code import note_evaluation, pays_to_load_tapes

if TYPE_CHECKING:
    from merganser.framework.core.context import Context
    from merganser.framework.core.native_function import NativeOperation
    from merganser.framework.core.store import CacheSlot

__all__ = ["NativeCompilation"]


class NativeCompilation:
    """What compiles, see core/compilation.py."""

    def pays_to_load_tapes(self) -> bool:
        return pays_to_load_tapes()

    def note_evaluation(self, num_entries: int) -> None:
        note_evaluation(num_entries)

    def form_of(self, function: NativeOperation) -> Any:
        from merganser.framework.native.native_operations import form_of

        return form_of(function)

    def lock(self) -> AbstractContextManager[Any]:
        from merganser.framework.native.compile import compiler_lock

        return compiler_lock

    def tape(self, context: Context, slots: Sequence[CacheSlot]) -> Any:
        from merganser.framework.native.lowering import Tape

        return Tape(context, slots)
