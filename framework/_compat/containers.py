"""pydrake.common.containers: views of vectors whose elements have names."""

from __future__ import annotations

import re
from collections import UserDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class NamedViewBase:
    """The base of classes made by `namedview`.

    Args:
        value: the vector (an array, or a list) that is seen, which is shared.

    Raises:
        RuntimeError: it has not as many elements as the class has names.
    """

    _fields: tuple[str, ...] = ()
    _value: Any

    def __init__(self, value: Any) -> None:
        if len(value) != len(self._fields):
            raise RuntimeError(f"{type(self).__name__} has {len(self._fields)} fields; given {len(value)} values.")
        object.__setattr__(self, "_value", value)

    @classmethod
    def get_fields(cls) -> tuple[str, ...]:
        """Returns the names of the elements, in their order."""
        return cls._fields

    @classmethod
    def Zero(cls) -> Any:
        """Returns a view of a new vector of zeros."""
        return cls(np.zeros(len(cls._fields)))

    def __getitem__(self, index: Any) -> Any:
        return self._value[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._value[index] = value

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__} has no field '{name}', only {', '.join(self._fields)}.")
        object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Any:
        return iter(self._value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array: Array = np.asarray(self._value, dtype=dtype)
        return array.copy() if copy else array

    def _text(self, text_of: Callable[[Any], str]) -> str:
        values = ", ".join(f"{name}={text_of(value)}" for name, value in zip(self._fields, self._value))
        return f"{type(self).__name__}({values})"

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return f"<{self._text(repr)}>"


def _element(index: int) -> property:
    def read(view: NamedViewBase) -> Any:
        return view[index]

    def write(view: NamedViewBase, value: Any) -> None:
        view[index] = value

    return property(read, write)


def namedview(name: str, fields: Sequence[str], *, sanitize_field_names: bool = True) -> type[NamedViewBase]:
    """Makes a class of views of vectors, whose elements are attributes.

    Args:
        name: of the class.
        fields: names of the elements, in their order.
        sanitize_field_names: whether characters that names of Python may not have become underscores. Other names are
            attributes for getattr() and setattr().

    Raises:
        ValueError: two elements have one name, or one has none.
    """
    names = [_sanitized(field) for field in fields] if sanitize_field_names else list(fields)
    for field in names:
        if not field:
            raise ValueError(f"namedview '{name}' has a field with an empty name.")
        if names.count(field) > 1:
            raise ValueError(f"namedview '{name}' has two fields '{field}'.")
    attributes: dict[str, Any] = {field: _element(index) for index, field in enumerate(names)}
    return type(name, (NamedViewBase,), {"_fields": tuple(names), **attributes})


def _sanitized(field: str) -> str:
    text = re.sub(r"\W", "_", field)
    text = f"_{text}" if text[:1].isdigit() else text
    return re.sub(r"__+", "_", text)


class _ByEqualTo:
    """A key that is found by `EqualTo`."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByEqualTo) and bool(self.value.EqualTo(other.value))


class EqualToDict(UserDict[Any, Any]):
    """A dictionary whose keys may be objects with a method `EqualTo`, such as symbolic variables, in place of ==."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[_ByEqualTo(key)] = value

    def __getitem__(self, key: Any) -> Any:
        return self.data[_ByEqualTo(key)]

    def __delitem__(self, key: Any) -> None:
        del self.data[_ByEqualTo(key)]

    def __contains__(self, key: object) -> bool:
        return _ByEqualTo(key) in self.data

    def __iter__(self) -> Iterator[Any]:
        return (key.value for key in self.data)

    def raw(self) -> dict[Any, Any]:
        """Returns an ordinary dictionary of the same keys."""
        return dict(self.items())
