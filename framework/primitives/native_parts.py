"""Conditions on the values of scalars of any type, for native functions.

Native code of blocks whose coefficients can be replaced while contexts are in use.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.core.context.native_code import NativeCode
from merganser.framework.math._comparisons import choice
from merganser.framework.native.compiler.kernels import compiled_form, device


def if_at_most(x: Any, limit: Any, value: Any, other: Any) -> Any:
    """`value` where x <= limit, `other` elsewhere; scalars, or vectors element by element.

    Complex numbers are compared by their real parts. Of symbols it is an expression with a condition in it.
    """
    if isinstance(x, np.ndarray) and x.dtype.kind == "O":
        return np.array([if_at_most(*row) for row in zip(*np.broadcast_arrays(x, limit, value, other))], dtype=object)
    if isinstance(x, np.ndarray):
        return np.where(x.real <= np.real(limit), value, other)
    is_at_most = (x.real if isinstance(x, complex) else x) <= (limit.real if isinstance(limit, complex) else limit)
    return choice(is_at_most, value, other)


@compiled_form(if_at_most)
def _if_at_most_compiled(x: Any, limit: Any, value: Any, other: Any) -> Any:
    return value if x.real <= limit.real else other


@device
def magnitude(x: Any) -> Any:
    """|x| of a scalar."""
    return if_at_most(x, 0.0, -x, x)


class UpdatableCode:
    """An operation whose constants may change later.

    Args:
        make: returns the operation with the current constants, or None without one.
    """

    def __init__(self, make: Callable[[], NativeCode | None]) -> None:
        self._make = make
        self._contexts: weakref.WeakSet[Any] = weakref.WeakSet()

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation, with the current constants."""
        self._contexts.add(context)
        return self._make()

    def watch(self, context: Any) -> None:
        """Registers another context whose operation includes this one and must be lowered again with it."""
        self._contexts.add(context)

    def renew(self) -> None:
        """Called after the constants changed: operations that include them are lowered again before they run."""
        for context in self._contexts:
            context.store.routing += 1

    def __reduce__(self) -> Any:
        return UpdatableCode, (self._make,)  # a copy of a system has no contexts yet
