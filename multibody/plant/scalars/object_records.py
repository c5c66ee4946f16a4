"""Records whose numbers are objects: fields of a flat array of AutoDiffXd or Expression.

Numbers of floats and complex numbers become records by a view of their memory (`array.view(dtype)`). Objects do not,
so that here the fields are slices of the array, which share its memory all the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ObjectRecords", "record_size"]

Array = NDArray[Any]
DtypeOf = Callable[[Any], np.dtype[Any]]
_ITEM = np.dtype(np.float64).itemsize


@functools.cache
def _fields(dtype: np.dtype[Any]) -> dict[str, tuple[int, int, tuple[int, ...]]]:
    """Where each field starts and ends among the numbers of a record, and its shape."""
    fields = {}
    for name, (field, offset, *_) in (dtype.fields or {}).items():
        start = offset // _ITEM
        fields[name] = (start, start + field.itemsize // _ITEM, field.shape)
    return fields


def record_size(dtype_of: DtypeOf) -> int:
    """How many numbers a record has."""
    return dtype_of(np.float64).itemsize // _ITEM


class ObjectRecords:
    """One record or several, indexed as a record array of numpy is: by number, slice or array, and by field.

    Attributes:
        numbers: objects, shape [record_size] for one record, or [num_records, record_size]. Shared, not copied.
        dtype_of: the fields, a function of their scalar type.
    """

    __slots__ = ("_fields", "dtype_of", "numbers")

    def __init__(self, numbers: Array, dtype_of: DtypeOf) -> None:
        self.numbers = numbers
        self.dtype_of = dtype_of
        self._fields = _fields(dtype_of(np.float64))

    @staticmethod
    def view(numbers: Array, dtype_of: DtypeOf) -> ObjectRecords:
        """All records of which `numbers`, shape [num_records * record_size], are the numbers."""
        return ObjectRecords(numbers.reshape(-1, record_size(dtype_of)), dtype_of)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of records; () of a single one."""
        return self.numbers.shape[:-1]

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return ObjectRecords(self.numbers[key], self.dtype_of)
        start, stop, shape = self._fields[key]
        if not shape:
            return self.numbers[..., start] if self.shape else self.numbers[start]
        return self.numbers[..., start:stop].reshape(self.shape + shape)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str):
            start, _, shape = self._fields[key]
            if shape:
                self[key][...] = value
            else:
                self.numbers[..., start] = value
        else:  # whole records, of floats
            self.numbers[key] = value.view(np.float64).reshape(*value.shape, -1)
