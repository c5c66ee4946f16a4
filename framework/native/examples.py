"""Arguments of given types, for processes that compile for others: these send types, not values."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["example_of"]


def example_of(key: Any) -> Any:
    """A value of which `type_key` (compile.py) gives this key, or one of the same type for numba."""
    if isinstance(key, np.dtype):
        return np.zeros(1, key)[0]
    if isinstance(key, type):
        return key()
    if not isinstance(key[0], np.dtype):  # a tuple
        return tuple(map(example_of, key[1]))
    dtype, ndim, is_by_rows, is_by_columns, is_writeable, _ = key
    if is_by_rows or is_by_columns:
        array = np.zeros((2,) * ndim, dtype, order="C" if is_by_rows else "F")
    else:
        array = np.zeros((2,) * (ndim + 1), dtype)[..., 0]
    array.flags.writeable = is_writeable
    return array
