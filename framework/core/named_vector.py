"""Vectors whose elements have names: `params.mass()`, `params.set_mass(2.0)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from merganser.framework.core.values import BasicVector

__all__ = ["NamedVector"]


class NamedVector(BasicVector):
    """A vector that has for each name in DEFAULTS the functions name(), set_name(value) and with_name(value).

    The last one returns a copy with that element changed.
    """

    __slots__ = ()
    DEFAULTS: ClassVar[dict[str, float]] = {}

    def __init__(self) -> None:
        super().__init__(list(self.DEFAULTS.values()))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for index, name in enumerate(cls.DEFAULTS):
            for prefix, function in (("", _reader(index)), ("set_", _writer(index)), ("with_", _changer(index))):
                function.__name__ = prefix + name
                function.__qualname__ = f"{cls.__qualname__}.{prefix}{name}"
                setattr(cls, prefix + name, function)

    def __getattr__(self, name: str) -> Any:  # for type checkers; what is there is found before
        raise AttributeError(f"{type(self).__name__} has no '{name}'; its elements are {', '.join(self.DEFAULTS)}.")

    @classmethod
    def GetCoordinateNames(cls) -> list[str]:
        """Returns the names of the elements, in their order."""
        return list(cls.DEFAULTS)


def _reader(index: int) -> Callable[..., Any]:
    def read(vector: NamedVector) -> Any:
        return vector[index]

    return read


def _writer(index: int) -> Callable[..., Any]:
    def write(vector: NamedVector, value: Any) -> None:
        vector[index] = value

    return write


def _changer(index: int) -> Callable[..., Any]:
    def change(vector: NamedVector, value: Any) -> NamedVector:
        changed = vector.Clone()
        changed[index] = value
        assert isinstance(changed, NamedVector)
        return changed

    return change
