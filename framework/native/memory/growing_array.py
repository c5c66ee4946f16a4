"""GrowingArray: an array that follows a growing list, for compiled code that is given its address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FIRST_ROOM = 64


class GrowingArray:
    """An array that follows a growing list. It moves only when it is full, to twice the room.

    So what a list has gained is added in time proportional to that.

    Args:
        dtype: of its elements.
    """

    def __init__(self, dtype: Any) -> None:
        self._array: NDArray[Any] = np.zeros(_FIRST_ROOM, dtype)
        self._count = 0

    def values(self) -> NDArray[Any]:
        """What is in use of the array; a view, good until it moves."""
        return self._array[: self._count]

    def address(self) -> int:
        """Where it stands at present."""
        address: int = self._array.ctypes.data
        return address

    def forget(self) -> None:
        """Follows the list from its beginning again."""
        self._count = 0

    def follow(self, values: Sequence[Any], offset: int = 0, factor: int = 1) -> bool:
        """Adds offset + factor * value for each new item of the list; returns whether the array has moved."""
        new = np.array(values[self._count :], self._array.dtype)
        must_move = len(values) > len(self._array)
        if must_move:
            array = np.zeros(2 * len(values), self._array.dtype)
            array[: self._count] = self.values()
            self._array = array
        self._array[self._count : len(values)] = offset + factor * new if offset or factor != 1 else new
        self._count = len(values)
        return must_move
