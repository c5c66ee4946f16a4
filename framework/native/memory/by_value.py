"""Choices between scalars by their values, in kernels that also run with derivatives; records of other scalars.

A complex number that carries a derivative in its imaginary part has no order. What a kernel decides, it decides by real
parts: comparisons are written `x.real < y.real`, and what is chosen keeps its derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.framework.native.compiler.extending import overload, types
from merganser.framework.native.compiler.kernels import inlined
from merganser.framework.native.memory.simd import where


def select(is_first: Any, x: Any, y: Any) -> Any:
    """x where a comparison of real parts holds, else y; each lane (simd.py) has its own."""
    return x if is_first else y


@overload(select)
def _compile_select(is_first: Any, x: Any, y: Any) -> Any:
    def of_lanes(is_first: Any, x: Any, y: Any) -> Any:
        return where(is_first, x, y)

    def of_number(is_first: Any, x: Any, y: Any) -> Any:
        return x if is_first else y

    return of_number if isinstance(is_first, types.Boolean) else of_lanes


@inlined
def larger(a: float, b: float) -> float:
    """max(a, b)."""
    result: float = select(b.real > a.real, b, a)
    return result


@inlined
def smaller(a: float, b: float) -> float:
    """min(a, b)."""
    result: float = select(b.real < a.real, b, a)
    return result


def of_scalar(dtype: np.dtype[Any], scalar: type[Any], names: Sequence[str] | None = None) -> np.dtype[Any]:
    """The dtype of records whose floats are numbers of another type, such as complex128.

    Fields are attributes in Python where those of the given dtype are.

    Args:
        dtype: of records of integers and floats.
        scalar: what floats become.
        names: which fields there are to be; all by default.
    """
    fields: list[Any] = []
    for name in names if names is not None else dtype.names or ():
        base, shape = dtype[name].base, dtype[name].shape
        fields.append((name, np.dtype(scalar) if base == np.float64 else base, shape))
    return np.dtype((dtype.type, fields))


def copy_record(source: Any, target: Any) -> None:
    """Copies the numbers of a record to one of the same fields, perhaps of another scalar."""
    for name in source.dtype.names:
        target[name] = source[name]


@overload(copy_record)
def _copy_each_field(source: Any, target: Any) -> Any:
    lines = ["def copy(source: Any, target: Any):"]
    for name, field in source.fields.items():
        indices = [f"k{n}" for n in range(len(getattr(field.type, "shape", ())))]
        lines += [f"{' ' * (4 + 4 * n)}for k{n} in range({field.type.shape[n]}):" for n in range(len(indices))]
        at = f"[{', '.join(indices)}]" if indices else ""
        lines.append(f"{' ' * (4 + 4 * len(indices))}target[{name!r}]{at} = source[{name!r}]{at}")
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)  # compiled code has the names of fields as constants
    return namespace["copy"]
