"""Identifiers of sources, frames, geometries and collision filters.

An identifier is a small positive integer with a type: a FrameId never equals a GeometryId. All types draw
from one counter, so an identifier is unique among all identifiers that this process has made.
"""

from __future__ import annotations

import threading
from typing import Any, Self, TypeVar

_LARGEST = 2**53
Kind = TypeVar("Kind", bound="_Identifier")


class _Counter:
    """Hands out positive integers, each one once."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            self._last += 1
            return self._last

    def skip_past(self, value: int) -> None:
        """Never hand out `value` or less from now on."""
        with self._lock:
            self._last = max(self._last, value)


_counter = _Counter()


class _Identifier:
    """A typed integer; `FrameId()` is the invalid one, `FrameId.get_new_id()` makes a valid one."""

    _never_changes = True  # copies of a system share it

    __slots__ = ("_value",)
    _value: int

    def __init__(self) -> None:
        self._value = 0

    @classmethod
    def get_new_id(cls) -> Self:
        """Returns an identifier that differs from all others."""
        return cls._from_value(_counter.next())

    @classmethod
    def _from_value(cls, value: int) -> Self:
        identifier = cls()
        identifier._value = value
        return identifier

    def is_valid(self) -> bool:
        """Whether this was made by `get_new_id`."""
        return self._value > 0

    def get_value(self) -> int:
        """The integer.

        Raises:
            RuntimeError: the identifier is invalid.
        """
        if not self.is_valid():
            name = type(self).__name__
            raise RuntimeError(f"This {name} is invalid and has no value. {name}.get_new_id() makes a valid one.")
        return self._value

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._value == other._value

    def __lt__(self, other: Any) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._value < other._value)

    def __hash__(self) -> int:
        return self._value

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> Any:
        return restore_id, (type(self), self._value)

    def __repr__(self) -> str:
        state = f"value={self._value}" if self.is_valid() else "invalid"
        return f"<{type(self).__name__} {state}>"


class SourceId(_Identifier):
    """Names a geometry source, which registers frames and geometries and gives the poses of the frames."""

    __slots__ = ()


class FrameId(_Identifier):
    """Names a frame of a SceneGraph."""

    __slots__ = ()


class GeometryId(_Identifier):
    """Names a geometry of a SceneGraph."""

    __slots__ = ()


class FilterId(_Identifier):
    """Names a transient collision filter."""

    __slots__ = ()


def restore_id(cls: type[Kind], value: int) -> Kind:
    """Makes an identifier from a file, perhaps in another process, which must not make the same one again.

    Raises:
        ValueError: there can be no such identifier.
    """
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise ValueError(f"there is no {cls.__name__} of value {value!r}")
    _counter.skip_past(value)
    return cls._from_value(value)


# Drawn first thing, so that they are the same in every process that a SceneGraph is sent to.
WORLD_FRAME_ID = FrameId.get_new_id()
INTERNAL_SOURCE_ID = SourceId.get_new_id()
