"""Values that consist of a few arrays, such as rotations: how they are copied, pickled, and cast to other scalars."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from merganser.framework.core.scalars.scalars import cast, scalar_of_array
from merganser.framework.math._scalars import cast_entries

_new: Any = object.__new__


class ArrayValue:
    """Abstract: a value that consists of arrays, which are not written once it has them, or of scalars.

    Attributes:
        _PARTS: the names of the attributes that make up the value.
    """

    __slots__ = ()
    _PARTS: tuple[str, ...]

    def _parts(self) -> list[Any]:
        return [getattr(self, name) for name in self._PARTS]

    @classmethod
    def _of_parts(cls, *parts: Any) -> Self:
        self = _new(cls)
        for name, part in zip(cls._PARTS, parts):
            setattr(self, name, part)
        return self

    def __copy__(self) -> Self:
        return self._of_parts(*self._parts())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = _new(type(self))
        for name in self._PARTS:
            part = getattr(self, name)
            setattr(copied, name, part.copy() if type(part) is np.ndarray else part)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return self._of_parts, tuple(self._parts())

    def _scalar_type(self) -> Any:
        types = (scalar_of_array(np.asarray(part)) for part in self._parts())
        return next((T for T in types if T is not float), float)

    def _cast(self, T: Any) -> Any:
        """cast[T](): the same with entries of another scalar type; of AutoDiffXd entries only the values are kept.

        Raises:
            RuntimeError: an entry is an expression of variables, which has no value.
        """
        cast_part = (cast_entries(part, T) if isinstance(part, np.ndarray) else cast(part, T) for part in self._parts())
        return self._of_parts(*cast_part)
