"""Python values as JSON and arrays, without any code in them.

There are plain values: numbers, texts, lists and the like; values of types that `declare_plain` has made known, which
are made again by their constructors, with all their checks; and objects with a method `_plain_state`, which stay where
they are, and take over the state of those that were saved.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_KINDS = "biufcUS"  # of arrays, as dtype.kind says


@dataclasses.dataclass
class Loading:
    """What values that are loaded have to know.

    Attributes:
        scalar: dtype of the Context that they belong to.
        renamed: identifiers of the program that has saved them, and what takes their places in this one.
    """

    scalar: Any
    renamed: dict[Any, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class _Form:
    name: str
    parts: Callable[[Any], Sequence[Any]]
    make: Callable[..., Any]
    is_identifier: bool


_forms: dict[type, _Form] = {}
_forms_by_name: dict[str, _Form] = {}


def declare_plain(
    kind: type,
    parts: Callable[[Any], Sequence[Any]],
    make: Callable[..., Any] | None = None,
    is_identifier: bool = False,
) -> None:
    """Makes a type known whose values can be kept in files.

    Args:
        kind: the type; derived ones are others.
        parts: takes a value apart into others that can be kept.
        make: makes a value of these parts, which may be anything, as files may be forged; by default the type.
        is_identifier: whether another value may take its place in the program that loads it, see `Loading`.

    A type of a program that has the name of one of the package is left out, as files know types by their names.
    """
    form = _Form(kind.__qualname__, parts, make or kind, is_identifier)
    if not _is_of_package(kind) and any(map(_is_of_package, (k for k in _forms if k.__qualname__ == form.name))):
        return
    _forms[kind] = _forms_by_name[form.name] = form


def _is_of_package(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


class Unplain(Exception):
    """Raised for a value that has no plain form; the text says what it is."""


def to_plain(value: Any, arrays: dict[str, Array]) -> Any:
    """Turns a value into something that JSON can hold; arrays in it are added to `arrays` under new names.

    An object with a method `_plain_state()` is kept as what that returns, see `from_plain`; but not one inside of
    another value, as there would be nothing to put its state into.

    Raises:
        Unplain: the value, or something inside it, is neither.
    """
    if hasattr(value, "_plain_state"):
        return {"object": type(value).__qualname__, "state": _plain(value._plain_state(), arrays)}
    return _plain(value, arrays)


def _plain(value: Any, arrays: dict[str, Array]) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in (list, tuple):
        return {kind.__name__: [_plain(item, arrays) for item in value]}
    if kind is dict:
        return {"dict": [[_plain(key, arrays), _plain(item, arrays)] for key, item in value.items()]}
    if kind in _forms:
        form = _forms[kind]
        return {"value": [form.name, *(_plain(part, arrays) for part in form.parts(value))]}
    if kind is bytes:
        name = f"array_{len(arrays)}"
        arrays[name] = np.frombuffer(value, np.uint8)
        return {"bytes": name}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if kind is np.ndarray and value.dtype.kind in _KINDS:
        name = f"array_{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        name = f"array_{len(arrays)}"
        arrays[name] = np.array(value)
        return {"scalar": name}
    raise Unplain(f"an object of type {kind.__name__}")


def from_plain(plain: Any, arrays: dict[str, Array], current: Any, loading: Loading) -> Any:
    """Turns what `to_plain` has made into a value again.

    Args:
        plain: from `to_plain`; may be damaged.
        arrays: filled by `to_plain`; may be damaged.
        current: the value that is to be replaced; where it is an object with a plain state, one of that type must have
            been saved, and its method `_set_plain_state(state, loading)` is called, which refuses what does not fit.
        loading: what is known of the Context that the value belongs to.

    Raises:
        TypeError: an object of one type is there, and one of another type was saved.
        Exception: of any type, if `plain` is damaged.
    """
    saved = plain["object"] if isinstance(plain, dict) and "object" in plain else None
    expected = type(current).__qualname__ if hasattr(current, "_set_plain_state") else None
    if saved != expected:
        raise TypeError(f"{_a(saved, 'another value')} was saved where the system has {_a(expected, 'no such object')}")
    if saved is None:
        return _from_plain(plain, arrays, loading)
    current._set_plain_state(_from_plain(plain["state"], arrays, loading), loading)
    return current


def _from_plain(plain: Any, arrays: dict[str, Array], loading: Loading) -> Any:
    if not isinstance(plain, dict):
        if isinstance(plain, list):
            raise TypeError("there is a list without a type")
        return plain
    [(kind, content)] = plain.items()
    if kind in ("array", "scalar"):
        array = arrays[content]
        if array.dtype.kind not in _KINDS or (kind == "scalar" and array.ndim):
            raise TypeError(f"{content} is of type {array.dtype} and shape {array.shape}")
        return array.copy() if kind == "array" else array[()]
    if kind == "bytes":
        return arrays[content].tobytes()
    if kind == "complex":
        return complex(*content)

    def inner(item: Any) -> Any:
        return _from_plain(item, arrays, loading)

    if kind == "dict":
        return {inner(key): inner(item) for key, item in content}
    if kind == "value":
        name, *parts = content
        form = _forms_by_name[name]
        value = form.make(*map(inner, parts))
        return loading.renamed.get(value, value) if form.is_identifier else value
    items = [inner(item) for item in content]
    return {"list": list, "tuple": tuple}[kind](items)


def _a(name: str | None, otherwise: str) -> str:
    return otherwise if name is None else f"a {name}"
