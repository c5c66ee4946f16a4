"""Decisions on scalar values, for the three kinds of scalar that a kernel meets.

A kernel may not compare values: a complex number has no order and the truth of a symbolic expression is not
known. Where a decision cannot be avoided, it is taken here: on real parts, and in favour of going on when
there is no number.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from numba.extending import overload

__all__ = ["exceeds"]


def exceeds(value: Any, threshold: Any) -> bool:
    """Whether Re(value) > Re(threshold); False if either is NaN, True if either is symbolic."""
    if isinstance(value, numbers.Number) and isinstance(threshold, numbers.Number):
        return bool(value.real > threshold.real)  # type: ignore[attr-defined]
    return True


@overload(exceeds)
def _compile_exceeds(value: Any, threshold: Any) -> Callable[[Any, Any], bool]:
    def exceeds_compiled(value: Any, threshold: Any) -> bool:
        return value.real > threshold.real

    return exceeds_compiled
