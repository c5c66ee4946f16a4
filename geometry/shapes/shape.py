"""What all shapes have in common.

A shape never changes once it is made, so that it may be shared; it equals any shape of the same type with the
same measures. Primitives are centered on Go unless their description says otherwise.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework.core.scalars.scalars import number_text
from merganser.framework.core.values.plain_values import declare_plain
from merganser.geometry.shapes.kind import ShapeKind

Result = TypeVar("Result")


class Shape(abc.ABC):
    """Base of all shapes."""

    _never_changes = True  # copies of a system share it
    kind: ClassVar[ShapeKind] = ShapeKind()

    __slots__ = ("_known",)
    _known: dict[str, Any]  # what has been computed of the shape

    def Clone(self) -> Self:
        """Returns a shape like this one."""
        other = object.__new__(type(self))
        for name in (name for base in type(self).__mro__ for name in getattr(base, "__slots__", ())):
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        if hasattr(self, "__dict__"):  # of classes of users, which seldom have slots
            vars(other).update(vars(self))
        return other

    def _remember(self, what: str, calc: Callable[[], Result]) -> Result:
        """Returns what `calc` computes, once for all."""
        if not hasattr(self, "_known"):
            self._known = {}
        if what not in self._known:
            self._known[what] = calc()
        known: Result = self._known[what]
        return known

    @abc.abstractmethod
    def _arguments(self) -> dict[str, Any]:
        """The constructor arguments, by name, that make an equal shape; all values are hashable."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Files of contexts know a class with a kind by its name, and a shape by the arguments that make it."""
        super().__init_subclass__(**arguments)
        if "kind" in vars(cls):
            if not isinstance(cls.kind, ShapeKind):
                raise TypeError(f"{cls.__name__}.kind must be a ShapeKind, not {cls.kind!r}.")
            declare_plain(cls, lambda shape: [shape._arguments()], lambda arguments: cls(**arguments))

    __copy__ = Clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.Clone()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._arguments() == other._arguments()

    def __hash__(self) -> int:
        return hash((type(self), *self._arguments().values()))

    def __repr__(self) -> str:
        arguments = (f"{name}={_text(value)}" for name, value in self._arguments().items())
        return f"{type(self).__name__}({', '.join(arguments)})"


def _text(argument: Any) -> str:
    return number_text(argument) if isinstance(argument, float) else repr(argument)


class Primitive(Shape):
    """A shape described by a few lengths, given one by one or as one vector."""

    __slots__ = ("_measures",)
    _names: ClassVar[tuple[str, ...]]
    _measures: tuple[float, ...]

    def _read(self, given: tuple[Any, ...], measures: ArrayLike | None) -> None:
        """Takes the lengths from the arguments given one by one or from a vector of all of them.

        Raises:
            TypeError: an argument is missing, or not a number.
            ValueError: the vector has the wrong size.
            RuntimeError: a length is not positive and finite.
        """
        shape, names = type(self).__name__, self._names
        if measures is None and np.ndim(given[0]) > 0 and all(value is None for value in given[1:]):
            measures = given[0]
        if measures is not None:
            vector = np.asarray(measures, dtype=np.float64).ravel()
            if vector.size != len(names):
                expected = f"{len(names)} elements ({', '.join(names)})"
                raise ValueError(f"{shape} takes a vector of {expected}; this one has {vector.size}.")
            given = tuple(vector)
        self._measures = tuple(_positive(shape, name, value) for name, value in zip(names, given))

    def _arguments(self) -> dict[str, Any]:
        return dict(zip(self._names, self._measures))


def length_of(shape: str, name: str, value: Any) -> float:
    """Converts to float; says which argument of which shape is no number."""
    if value is None:
        raise TypeError(f"{shape} needs a value for '{name}'.")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"The {name} of a {shape} must be a number; given {value!r}.") from None


def _positive(shape: str, name: str, value: Any) -> float:
    length = length_of(shape, name, value)
    if not (math.isfinite(length) and length > 0):
        raise RuntimeError(f"The {name} of a {shape} must be finite and positive; given {length}.")
    return length
