"""Typed indices, dependency tickets and the default-name marker of the framework."""

from __future__ import annotations

import enum
import operator
from typing import Any, ClassVar, Self, SupportsIndex

from merganser.framework.common.enumeration import Enumeration

_MOST_INDICES = 1 << 31
_NUM_SHARED = 128  # of each kind of index


class TypedIndex(int):
    """An integer that says what it counts.

    Raises:
        TypeError: the value is not an integer of 32 bits.
    """

    __slots__ = ()
    _never_changes = True  # copies of a system share it
    _made: ClassVar[dict[int, Any]] = {}  # the small ones of a class: each system has a dozen, and all have the same

    def __init_subclass__(cls) -> None:
        cls._made = {}

    def __new__(cls, value: SupportsIndex = 0) -> Self:
        is_small = type(value) is int and 0 <= value < _NUM_SHARED
        if is_small and value in cls._made:
            made: Self = cls._made[value]
            return made
        number = operator.index(value)
        if not -_MOST_INDICES <= number < _MOST_INDICES:
            raise TypeError(f"{cls.__name__}: expected an integer of 32 bits, got {number}.")
        index = super().__new__(cls, number)
        if is_small:
            cls._made[number] = index
        return index

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    def is_valid(self) -> bool:
        return self >= 0


class InputPortIndex(TypedIndex):
    """Position of an input port within its system."""

    __slots__ = ()


class OutputPortIndex(TypedIndex):
    """Position of an output port within its system."""

    __slots__ = ()


class ContinuousStateIndex(TypedIndex):
    """The continuous state of a leaf system, always 0."""

    __slots__ = ()


class DiscreteStateIndex(TypedIndex):
    """Position of a discrete state group within its system."""

    __slots__ = ()


class AbstractStateIndex(TypedIndex):
    """Position of an abstract state variable within its system."""

    __slots__ = ()


class NumericParameterIndex(TypedIndex):
    """Position of a numeric parameter group within its system."""

    __slots__ = ()


class AbstractParameterIndex(TypedIndex):
    """Position of an abstract parameter within its system."""

    __slots__ = ()


class CacheIndex(TypedIndex):
    """Position of a cache entry within its system."""

    __slots__ = ()


class SubsystemIndex(TypedIndex):
    """Position of a subsystem within its diagram."""

    __slots__ = ()


class SystemConstraintIndex(TypedIndex):
    """Position of a constraint within its system."""

    __slots__ = ()


class DependencyTicket(TypedIndex):
    """Names one thing of a system that a computation may depend on."""

    __slots__ = ()


class PortDataType(Enumeration):
    """The kind of value of a port: a vector of numbers or any Python value."""

    kVectorValued = 0
    kAbstractValued = 1


kVectorValued = PortDataType.kVectorValued
kAbstractValued = PortDataType.kAbstractValued


class UseDefaultName(enum.Enum):
    """Marker for `name` arguments: "name it as usual" (u0, u1, ... or y0, y1, ...)."""

    kUseDefaultName = 0


kUseDefaultName = UseDefaultName.kUseDefaultName


class InputPortSelection(enum.IntEnum):
    """Which input port to linearize with respect to, where no index is given."""

    kNoInput = -1
    kUseFirstInputIfItExists = -2

    __str__ = enum.Enum.__str__


class OutputPortSelection(enum.IntEnum):
    """Which output port to linearize, where no index is given."""

    kNoOutput = -1
    kUseFirstOutputIfItExists = -2

    __str__ = enum.Enum.__str__
