"""Parts of vectors as an operation of the native plan (framework/native/operations/operations.py)."""

from __future__ import annotations

from typing import Any

from merganser.framework.native.memory.tape import integers_at
from merganser.framework.native.operations.operations import CompiledOperation

__all__ = ["GATHER"]


def gather(values: Any, numbers: Any, integers: Any) -> None:
    """y[i] = u[index[i]]; integers: n, address of index, u, y."""
    index, u, y = integers_at(integers[1]), integers[2], integers[3]
    for i in range(integers[0]):
        values[y + i] = values[u + index[i]]


GATHER = CompiledOperation(gather)
