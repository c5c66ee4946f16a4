"""Vectors whose elements have names: `params.mass()`, `params.set_mass(2.0)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from merganser.framework.core.values.values import BasicVector


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
            functions = (("", _reader(index)), ("set_", _writer(index, name)), ("with_", _changer(index, name)))
            for prefix, function in functions:
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
    def read(self: NamedVector) -> Any:
        return self[index]

    return read


def _writer(index: int, name: str) -> Callable[..., Any]:
    @_with_argument(name)
    def write(self: NamedVector, value: Any) -> None:
        self[index] = value

    return write


def _changer(index: int, name: str) -> Callable[..., Any]:
    @_with_argument(name)
    def change(self: NamedVector, value: Any) -> NamedVector:
        changed = self.Clone()
        changed[index] = value
        assert isinstance(changed, NamedVector)
        return changed

    return change


def _with_argument(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Calls the argument of a method by a name that is known only later: `set_mass(mass=2.0)`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def accept(self: NamedVector, *args: Any, **kwargs: Any) -> Any:
            if len(args) == 1 and not kwargs:
                return function(self, args[0])
            return function(self, *signature.bind(self, *args, **kwargs).args[1:])

        original = inspect.signature(function)
        mine, value = original.parameters.values()
        signature = original.replace(parameters=[mine, value.replace(name=name)])
        accept.__signature__ = signature  # type: ignore[attr-defined]
        return accept

    return decorate
