"""Types of arguments of compiled code: which of them numba compiles separately, found without numba."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

_NUMBERS = {bool: "bool", int: "int64", float: "float64", complex: "complex128", type(None): "none"}


def type_key(value: Any) -> Any:
    """Distinguishes values of different types, as `numba.typeof` does, which takes milliseconds for records."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return value.dtype, value.ndim, layout, flags.writeable, flags.aligned
    if isinstance(value, tuple):
        return type(value), tuple(map(type_key, value))
    if isinstance(value, np.void):
        return "record", value.dtype
    kind = type(value)
    return _NUMBERS.get(kind) or (value.dtype.name if isinstance(value, np.generic) else kind)


def example_of(key: Any) -> Any:
    """A value of which `type_key` gives this key: processes that compile for others are sent types, not values."""
    if isinstance(key, str):
        plain = {name: kind for kind, name in _NUMBERS.items()}.get(key)
        return np.dtype(key).type() if plain is None else plain()
    first, *others = key
    if isinstance(first, type):
        values = tuple(map(example_of, others[0]))
        return values if first is tuple else first(*values)
    if first == "record":
        return np.zeros(1, others[0])[0]
    ndim, layout, is_writeable, _ = others
    shape = (2,) * ndim
    array = np.zeros((*shape, 2), first)[..., 0] if layout == "A" else np.zeros(shape, first, order=layout)
    array.flags.writeable = is_writeable
    return array


def text_of_types(arguments: tuple[Any, ...]) -> str | None:
    """The types of several values as a text, equal in every process; None if one is of an unknown type."""
    try:
        return ", ".join(_text(type_key(argument)) for argument in arguments)
    except LookupError:
        return None


def _text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, type):
        raise LookupError
    first, *others = key
    if isinstance(first, type):
        return f"{first.__module__}.{first.__qualname__}({', '.join(map(_text, others[0]))})"
    if first == "record":
        return _text_of_dtype(others[0])
    ndim, layout, is_writeable, is_aligned = others
    marks = f"{'' if is_writeable else ' read-only'}{'' if is_aligned else ' unaligned'}"
    return f"{_text_of_dtype(first)}[{ndim}{layout}{marks}]"


@functools.lru_cache(maxsize=1000)
def _text_of_dtype(dtype: np.dtype[Any]) -> str:
    return f"{dtype!r} {dtype.isalignedstruct}"
