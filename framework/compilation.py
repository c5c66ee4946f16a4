"""Gives core access to the compiler: framework/native is imported when something is first compiled."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.context.store import CacheSlot
    from merganser.framework.core.declarations.native_function import NativeOperation


class NativeCompilation:
    """What compiles, see core/context/compiler_hook.py."""

    def may_use_tapes(self) -> bool:
        from merganser.framework.native.compiler.when_to_compile import TAPES, are_usable

        return are_usable(TAPES)

    def form_of(self, function: NativeOperation) -> Any:
        from merganser.framework.native.operations.native_operations import form_of

        return form_of(function)

    def lock(self) -> AbstractContextManager[Any]:
        from merganser.framework.native.compiler.kernels import compiler_lock

        return compiler_lock

    def tape(self, context: Context, slots: Sequence[CacheSlot], is_patient: bool) -> Any:
        from merganser.framework.native.operations.lowering import Tape

        return Tape(context, slots, is_patient)
