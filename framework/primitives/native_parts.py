"""Conditions on the values of scalars of any type, for native functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.math.arrays import choice
from merganser.framework.native.compiler.kernels import compiled_form, device


def if_at_most(x: Any, limit: Any, value: Any, other: Any) -> Any:
    """`value` where x <= limit, `other` elsewhere; scalars, or vectors element by element.

    Complex numbers are compared by their real parts. Of symbols it is an expression with a condition in it.
    """
    if isinstance(x, np.ndarray) or isinstance(limit, np.ndarray):
        x, limit = np.asarray(x), np.asarray(limit)
        if "O" in (x.dtype.kind, limit.dtype.kind):
            rows = zip(*np.broadcast_arrays(x, limit, value, other))
            return np.array([if_at_most(*row) for row in rows], dtype=object)
        return np.where(x.real <= limit.real, value, other)
    is_at_most = (x.real if isinstance(x, complex) else x) <= (limit.real if isinstance(limit, complex) else limit)
    return choice(is_at_most, value, other)


@compiled_form(if_at_most)
def _if_at_most_compiled(x: Any, limit: Any, value: Any, other: Any) -> Any:
    return value if x.real <= limit.real else other


@device
def magnitude(x: Any) -> Any:
    """|x| of a scalar."""
    return if_at_most(x, 0.0, -x, x)
