"""Python values as JSON and arrays, without any code in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Unplain", "from_plain", "to_plain"]

Array = NDArray[Any]


class Unplain(Exception):
    """Raised for a value that has no plain form; the text says what it is."""


def to_plain(value: Any, arrays: dict[str, Array]) -> Any:
    """Turns a value into something that JSON can hold; arrays in it are added to `arrays` under new names.

    An object with a method `_plain_state()` is kept as what that returns, see `from_plain`.

    Raises:
        Unplain: the value, or something inside it, is neither.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in (list, tuple):
        return {kind.__name__: [to_plain(item, arrays) for item in value]}
    if kind is dict:
        return {"dict": [[to_plain(key, arrays), to_plain(item, arrays)] for key, item in value.items()]}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if kind is np.ndarray and value.dtype.kind in "biufcUS":
        name = f"array_{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        name = f"array_{len(arrays)}"
        arrays[name] = np.array(value)
        return {"scalar": name}
    if hasattr(value, "_plain_state"):
        return {"object": kind.__qualname__, "state": to_plain(value._plain_state(), arrays)}
    raise Unplain(f"an object of type {kind.__name__}")


def from_plain(plain: Any, arrays: dict[str, Array], current: Any) -> Any:
    """Turns what `to_plain` has made into a value again.

    Args:
        plain: from `to_plain`.
        arrays: filled by `to_plain`.
        current: the value that is to be replaced; where an object is expected, it must be one of that type, and its
            method `_set_plain_state(state)` is called.

    Raises:
        TypeError: an object of one type is there, and one of another type was saved.
    """
    if not isinstance(plain, dict):
        return plain
    if "object" in plain:
        if type(current).__qualname__ != plain["object"] or not hasattr(current, "_set_plain_state"):
            raise TypeError(f"a {plain['object']} was saved where the system has a {type(current).__qualname__}")
        current._set_plain_state(from_plain(plain["state"], arrays, None))
        return current
    [(kind, content)] = plain.items()
    if kind == "array":
        return arrays[content].copy()
    if kind == "scalar":
        return arrays[content][()]
    if kind == "complex":
        return complex(*content)
    if kind == "dict":
        return {from_plain(key, arrays, None): from_plain(item, arrays, None) for key, item in content}
    items = [from_plain(item, arrays, None) for item in content]
    return tuple(items) if kind == "tuple" else items
