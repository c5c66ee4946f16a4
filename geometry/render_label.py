"""RenderLabel: what pixels of a label image show."""

from __future__ import annotations

import operator
from typing import Any, ClassVar

__all__ = ["RenderLabel"]

_MAX = 32767
_RESERVED = {_MAX - 3: "kDontCare", _MAX - 2: "kDoNotRender", _MAX - 1: "kEmpty", _MAX: "kUnspecified"}


class RenderLabel:
    """A class of objects, as a whole number of 16 bits; it never changes, and equals its number.

    Geometries of the perception role have one as property `('label', 'id')`.

    Args:
        value: from 0 to kMaxUnreserved.

    Attributes:
        kEmpty: of pixels that show no geometry.
        kDoNotRender: of geometries that label images leave out.
        kDontCare: of geometries of any class, as their labels do not matter.
        kUnspecified: no label at all; no geometry may have it.
        kMaxUnreserved: the largest label that may be given.

    Raises:
        RuntimeError: the value is out of this range.
        TypeError: the value is no whole number.
    """

    _never_changes = True  # copies of a system share it

    kEmpty: ClassVar[RenderLabel]
    kDoNotRender: ClassVar[RenderLabel]
    kDontCare: ClassVar[RenderLabel]
    kUnspecified: ClassVar[RenderLabel]
    kMaxUnreserved: ClassVar[int] = _MAX - 4

    __slots__ = ("_value",)

    def __init__(self, value: int) -> None:
        self._value = operator.index(value)
        if not 0 <= self._value <= self.kMaxUnreserved:
            raise RuntimeError(
                f"A RenderLabel must be from 0 to {self.kMaxUnreserved}; given {value}. The reserved ones are "
                f"RenderLabel.{', RenderLabel.'.join(_RESERVED.values())}."
            )

    @staticmethod
    def of_number(value: int) -> RenderLabel:
        """Returns the label of a number, which may be a reserved one.

        Raises:
            RuntimeError: there is no such label.
        """
        if value not in _RESERVED:
            return RenderLabel(value)
        label = object.__new__(RenderLabel)
        label._value = value
        return label

    def is_reserved(self) -> bool:
        """Whether this is one of those with a meaning of their own."""
        return self._value > self.kMaxUnreserved

    def __int__(self) -> int:
        return self._value

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RenderLabel):
            return self._value == other._value
        return self._value == other if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value)

    def __copy__(self) -> RenderLabel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> RenderLabel:
        return self

    def __reduce__(self) -> Any:
        return RenderLabel.of_number, (self._value,)

    def __repr__(self) -> str:
        name = _RESERVED.get(self._value)
        return f"RenderLabel({self._value})" if name is None else f"RenderLabel.{name}"


for _value, _name in _RESERVED.items():
    setattr(RenderLabel, _name, RenderLabel.of_number(_value))
