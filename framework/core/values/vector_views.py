"""Vectors that see through to the elements of other vectors: Subvector and Supervector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.values import VectorBase

Array = NDArray[Any]


class Subvector(VectorBase):
    """A slice of another vector; a change of one is a change of the other.

    Args:
        vector: the other vector.
        first_element: index of the first element of the slice.
        num_elements: number of elements; by default all from there on.

    Raises:
        ValueError: the slice is not within the vector.
    """

    __slots__ = ("_part", "_vector")

    def __init__(self, vector: VectorBase, first_element: int = 0, num_elements: int | None = None) -> None:
        if not isinstance(vector, VectorBase):
            raise TypeError(f"Subvector: expected a vector, got {type(vector).__name__}.")
        last = vector.size() if num_elements is None else first_element + num_elements
        if not 0 <= first_element <= last <= vector.size():
            raise ValueError(
                f"Subvector: elements {first_element} to {last} (excluded) are not within a vector of size "
                f"{vector.size()}."
            )
        self._vector = vector
        self._part = slice(first_element, last)

    def _get(self) -> Array:
        return self._vector._get()[self._part]

    def _set(self, values: Array) -> None:
        whole = self._vector.CopyToVector()
        whole[self._part] = values
        self._vector._set(whole)

    def size(self) -> int:
        return self._part.stop - self._part.start


class Supervector(VectorBase):
    """Other vectors one after the other, as one; a change of one is a change of the other.

    Args:
        subvectors: the other vectors.
    """

    __slots__ = ("_ends", "_vectors")

    def __init__(self, subvectors: Sequence[VectorBase]) -> None:
        self._vectors = list(subvectors)
        for vector in self._vectors:
            if not isinstance(vector, VectorBase):
                raise TypeError(f"Supervector: expected vectors, got {type(vector).__name__}.")
        self._ends = np.cumsum([0, *(vector.size() for vector in self._vectors)])

    def _get(self) -> Array:
        return np.concatenate([np.zeros(0), *(vector._get() for vector in self._vectors)])

    def _set(self, values: Array) -> None:
        for vector, start, end in zip(self._vectors, self._ends, self._ends[1:]):
            vector._set(np.asarray(values)[start:end])

    def size(self) -> int:
        return int(self._ends[-1])
