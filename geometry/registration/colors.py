"""Colors.

RenderLabel: what pixels of a label image show.
"""

from __future__ import annotations

import operator
import types
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Rgba:
    """Red, green, blue and opacity, each between 0 and 1; by default opaque white.

    Raises:
        RuntimeError: a value is outside [0, 1] or not a number.
    """

    __slots__ = ("_rgba",)
    __fields__ = (types.SimpleNamespace(name="rgba", type=np.ndarray),)  # for YAML

    def __init__(self, r: float = 1.0, g: float = 1.0, b: float = 1.0, a: float = 1.0) -> None:
        self._rgba = _checked((r, g, b, a))

    def r(self) -> float:
        """Red."""
        return self._rgba[0]

    def g(self) -> float:
        """Green."""
        return self._rgba[1]

    def b(self) -> float:
        """Blue."""
        return self._rgba[2]

    def a(self) -> float:
        """Opacity: 0 is transparent, 1 opaque."""
        return self._rgba[3]

    @property
    def rgba(self) -> NDArray[np.float64]:
        """The four values as an array, shape [4]."""
        return np.array(self._rgba)

    @rgba.setter
    def rgba(self, value: ArrayLike) -> None:
        self.set(value)

    @overload
    def set(self, rgba: ArrayLike) -> None: ...
    @overload
    def set(self, r: float, g: float, b: float, a: float = 1.0) -> None: ...
    def set(self, *args: Any, **kwargs: Any) -> None:
        """Sets all values, from three or four numbers or from one vector of them; opaque by default.

        Raises:
            RuntimeError: the vector has not 3 or 4 elements, or a value is outside [0, 1].
        """
        if len(args) == 1 and not kwargs:
            kwargs = {"rgba": args[0]}
        if "rgba" in kwargs:
            vector = np.asarray(kwargs["rgba"], dtype=np.float64).ravel()
            if vector.size not in (3, 4):
                raise RuntimeError(f"Rgba.set() takes a vector of 3 or 4 elements; this one has {vector.size}.")
            args, kwargs = tuple(vector), {}
        self._rgba = Rgba(*args, **kwargs)._rgba

    def update(
        self, r: float | None = None, g: float | None = None, b: float | None = None, a: float | None = None
    ) -> None:
        """Sets the values given and keeps the others.

        Raises:
            RuntimeError: a value is outside [0, 1].
        """
        new = tuple(old if value is None else value for old, value in zip(self._rgba, (r, g, b, a)))
        self._rgba = _checked(new)

    def scale_rgb(self, scale: float) -> Rgba:
        """Returns a color whose red, green and blue are `scale` times these, at most 1; the opacity stays.

        Raises:
            RuntimeError: `scale` is negative or not a number.
        """
        if not scale >= 0:
            raise RuntimeError(f"Rgba.scale_rgb() takes a factor that is not negative; given {scale}.")
        r, g, b, a = self._rgba
        return Rgba(min(scale * r, 1.0), min(scale * g, 1.0), min(scale * b, 1.0), a)

    def __mul__(self, other: Rgba) -> Rgba:
        if not isinstance(other, Rgba):
            return NotImplemented
        return Rgba(*(mine * theirs for mine, theirs in zip(self._rgba, other._rgba)))

    def __eq__(self, other: object) -> bool:
        return self._rgba == other._rgba if isinstance(other, Rgba) else NotImplemented

    def __deepcopy__(self, memo: dict[int, Any]) -> Rgba:
        clone = object.__new__(Rgba)  # a fifteenth of the time of copying what is inside
        clone._rgba = self._rgba
        return clone

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        r, g, b, a = self._rgba
        return f"Rgba(r={r}, g={g}, b={b}, a={a})"


def _checked(values: tuple[float, ...]) -> tuple[float, float, float, float]:
    r, g, b, a = (float(value) for value in values)
    if not all(0 <= value <= 1 for value in (r, g, b, a)):
        raise RuntimeError(f"The values of an Rgba must lie within [0, 1]; given r={r}, g={g}, b={b}, a={a}.")
    return r, g, b, a


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
