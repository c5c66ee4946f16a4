"""Choices between scalars by their values, in kernels that also run with derivatives; records of other scalars.

A complex number that carries a derivative in its imaginary part has no order. What a kernel decides, it decides by real
parts: comparisons are written `x.real < y.real`, and what is chosen keeps its derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.framework.native.compiler.kernels import inlined


@inlined
def larger(a: float, b: float) -> float:
    """max(a, b)."""
    return b if b.real > a.real else a


@inlined
def smaller(a: float, b: float) -> float:
    """min(a, b)."""
    return b if b.real < a.real else a


def of_scalar(dtype: np.dtype[Any], scalar: type[Any], names: Sequence[str] | None = None) -> np.dtype[Any]:
    """The dtype of records whose floats are numbers of another type, such as complex128.

    Args:
        dtype: of records of integers and floats.
        scalar: what floats become.
        names: which fields there are to be; all by default.
    """
    fields: list[Any] = []
    for name in names if names is not None else dtype.names or ():
        base, shape = dtype[name].base, dtype[name].shape
        fields.append((name, np.dtype(scalar) if base == np.float64 else base, shape))
    return np.dtype(fields)
