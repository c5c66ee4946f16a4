"""Native code of blocks whose coefficients can be replaced while contexts are in use."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from merganser.framework.core.context.native_code import NativeCode

__all__ = ["UpdatableCode"]


class UpdatableCode:
    """An operation whose constants may be others later.

    Args:
        make: returns the operation with the constants of the moment, or None if there is none.
    """

    def __init__(self, make: Callable[[], NativeCode | None]) -> None:
        self._make = make
        self._contexts: weakref.WeakSet[Any] = weakref.WeakSet()

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation, with the constants of the moment."""
        self._contexts.add(context)
        return self._make()

    def watch(self, context: Any) -> None:
        """Whoever has lowered this into an operation of its own, in another context, does so again too."""
        self._contexts.add(context)

    def renew(self) -> None:
        """The constants have changed: what was lowered with them is lowered again before it runs again."""
        for context in self._contexts:
            context.store.routing += 1

    def __reduce__(self) -> Any:
        return UpdatableCode, (self._make,)  # a copy of a system has no contexts yet
