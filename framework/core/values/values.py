"""Values: vectors that may be views into a Context, or into other vectors, and abstract values of any type."""

from __future__ import annotations

import copy
import functools
import operator
import sys
import typing
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.scalars.scalars import cast_array, class_name, scalar_of_array

Array = NDArray[Any]
_new = object.__new__
_MOST_SHOWN = 8  # values in a message
_FITTING = {"f": "biufO", "c": "biufcO", "O": "biufcO"}  # kinds of arrays that fit into one of a kind
_ATOMS = frozenset((type(None), bool, int, float, complex, str, bytes))  # types of values that never change


class CopiedByClone:
    """Abstract: what `copy` copies as its `Clone` does."""

    __slots__ = ()

    def Clone(self) -> Any:
        """Returns an independent copy."""
        raise NotImplementedError

    def __copy__(self) -> Any:
        return self.Clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.Clone()


class VectorBase:
    """A vector of scalars, stored here or seen through a window into a larger array.

    Abstract, but no `abc.ABC`: `isinstance` would take three times as long.
    """

    __slots__ = ()

    def size(self) -> int:
        """Number of elements."""
        return len(self._get())

    def _get(self) -> Array:
        """The elements, possibly shared."""
        raise NotImplementedError

    def _set(self, values: Array) -> None:
        """Overwrites all elements with `values`, which has the right shape."""
        raise NotImplementedError

    def CopyToVector(self) -> Array:
        """Returns the elements as a new array, shape [size]."""
        return np.array(self._get())

    def SetFromVector(self, value: ArrayLike) -> None:
        """Overwrites all elements.

        Raises:
            ValueError: `value` has another size than this vector.
        """
        array = np.asarray(value)
        size = self.size()
        if array.shape != (size,):
            array = _as_vector(array, size)
        self._set(array)

    def SetFrom(self, value: VectorBase) -> None:
        """Overwrites all elements with those of another vector of the same size."""
        if not isinstance(value, VectorBase):
            raise TypeError(f"SetFrom takes a vector such as BasicVector, got {type(value).__name__}.")
        self.SetFromVector(value._get())

    def SetZero(self) -> None:
        """Sets all elements to zero."""
        self._set(np.zeros(self.size()))

    def GetAtIndex(self, index: int) -> Any:
        """Returns element `index`."""
        return self._get()[index]

    def SetAtIndex(self, index: int, value: Any) -> None:
        """Overwrites element `index`."""
        values = self.CopyToVector()
        values[index] = value
        self._set(values)

    def PlusEqScaled(self, scale: Any, rhs: VectorBase) -> VectorBase:
        """Adds `scale * rhs` to this vector and returns it."""
        if not isinstance(rhs, VectorBase):
            raise TypeError(f"PlusEqScaled takes a scale and a vector, got {type(rhs).__name__}.")
        if rhs.size() != self.size():
            raise ValueError(f"PlusEqScaled: expected a vector of size {self.size()}, got size {rhs.size()}.")
        self.SetFromVector(self._get() + scale * rhs._get())
        return self

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, index: Any) -> Any:
        return self._get()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.SetAtIndex(index, value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._get())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._get(), dtype=dtype)

    def __repr__(self) -> str:
        return f"{class_name(type(self).__name__, self._get())}({self})"

    def __str__(self) -> str:
        return str(self._get().tolist())

    def _scalar_type(self) -> Any:
        return scalar_of_array(self._get())


class BasicVector(VectorBase):
    """A contiguous vector.

    Inside a Context it is a view into the Context's flat array; one that a user makes has its own array.

    Args:
        data: the elements, or the number of elements (which are then not a number until set).
        size: the number of elements, by name.
    """

    __slots__ = ("_values",)
    _values: Array

    def __init__(self, data: int | ArrayLike | None = None, *, size: int | None = None) -> None:
        if (data is None) == (size is None):
            raise TypeError("A BasicVector takes either its elements or its size.")
        if data is None:
            data = operator.index(size)  # type: ignore[arg-type]
        if isinstance(data, (int, np.integer)):
            if data < 0:
                raise ValueError(f"A BasicVector cannot have {data} elements.")
            self._values = np.full(int(data), np.nan)
            return
        array = np.array(refuse_mask(data))
        if array.dtype != object and array.dtype != np.complex128:
            _require_numbers(array, np.dtype(np.complex128))
            array = array.astype(np.float64)
        if array.ndim > 1 and array.size != max(array.shape):
            raise ValueError(f"A BasicVector takes a vector, a column or a row; got shape {array.shape}.")
        self._values = array.reshape(-1)

    def _get(self) -> Array:
        return self._values

    def _set(self, values: Array) -> None:
        self._values[:] = values

    def size(self) -> int:
        return self._values.shape[0]

    def SetFromVector(self, value: ArrayLike) -> None:
        values = self._values
        if type(value) is list and len(value) == len(values):
            try:
                values[:] = value  # a third of the time that asarray takes
                return
            except (TypeError, ValueError):
                pass  # not a list of numbers: the error below says it better
        if type(value) is not np.ndarray or value.shape != values.shape:
            value = _as_vector(refuse_mask(value), values.shape[0])
        if value.dtype is not values.dtype:
            _require_numbers(value, values.dtype)
        values[:] = value

    def CopyToVector(self) -> Array:
        return self._values.copy()

    def GetAtIndex(self, index: int) -> Any:
        return self._values[index]

    def SetAtIndex(self, index: int, value: Any) -> None:
        self._values[index] = value

    def __getitem__(self, index: Any) -> Any:
        return self._values[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._values[index] = value

    def set_value(self, value: ArrayLike) -> None:
        """Overwrites all elements; the same as `SetFromVector`."""
        self.SetFromVector(value)

    def value(self) -> Array:
        """Returns the elements as an array that shares memory with this vector."""
        return self._values

    get_mutable_value = value

    get_value = value

    def Clone(self) -> BasicVector:
        """Returns a vector of the same type with a copy of the elements."""
        return self._view_of(self._values.copy())

    def _cast(self, T: type[Any]) -> BasicVector:
        """A vector of the same type with a copy of the elements, cast to scalars of type T."""
        return self._view_of(cast_array(self._values, T))

    def _view_of(self, values: Array) -> BasicVector:
        """A vector of the same type whose elements are those of `values`."""
        if type(self) is BasicVector:  # nearly always; half the time
            view = _new(BasicVector)
        else:
            view = copy.copy(self)
        view._values = values
        return view

    def __copy__(self) -> BasicVector:
        clone = object.__new__(type(self))
        clone._values = self._values
        if hasattr(self, "__dict__"):
            clone.__dict__.update(self.__dict__)
        return clone

    def __deepcopy__(self, memo: dict[int, Any]) -> BasicVector:
        return self.Clone()

    def __reduce__(self) -> Any:
        return (_restore_vector, (type(self), self._values.copy(), getattr(self, "__dict__", None)))


class IndexedVector(VectorBase):
    """A window onto scattered elements of a larger array, such as all positions of a Diagram."""

    __slots__ = ("_base", "_indices")

    def __init__(self, base: Array, indices: NDArray[np.intp]) -> None:
        self._base = base
        self._indices = indices

    def _get(self) -> Array:
        return self._base[self._indices]

    def _set(self, values: Array) -> None:
        self._base[self._indices] = values

    def size(self) -> int:
        return len(self._indices)


class AbstractValue:
    """A box around a value of any type, copied by `Clone`."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    @staticmethod
    def Make(value: Any) -> AbstractValue:
        """Returns a box around a copy of `value`."""
        return Value(copy.deepcopy(value))

    def get_value(self) -> Any:
        """Returns the value itself, not a copy."""
        return self._value

    get_mutable_value = get_value

    def set_value(self, value: Any) -> None:
        """Replaces the value."""
        self._value = value

    def SetFrom(self, other: AbstractValue) -> None:
        """Replaces the value by a copy of another box's."""
        value = other._value
        self._value = value if type(value) in _ATOMS else copy.deepcopy(value)

    def Clone(self) -> AbstractValue:
        """Returns a box of the same type around a deep copy of the value."""
        return copy.deepcopy(self)

    def __copy__(self) -> AbstractValue:
        return self.Clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> AbstractValue:
        clone = object.__new__(type(self))
        clone._value = copy.deepcopy(self._value, memo)
        return clone

    def __repr__(self) -> str:
        return f"Value({self._value!r})"


class _ValueMeta(type):
    """Lets users write `Value[T]()`, `Value[T](value)` and `Value(value)` alike."""

    def __getitem__(cls, item: Any) -> Any:
        """The boxes whose value is a T; all boxes are of the class Value."""
        return _boxes_of(item)


class Value(AbstractValue, metaclass=_ValueMeta):
    """The concrete box: `Value(42)`, `Value[object]({})`, `Value[RigidTransform]()`."""

    __slots__ = ()

    def __init__(self, value: Any = None) -> None:
        super().__init__(value)


class _BoxesOf(_ValueMeta):
    """What `Value[T]` is of: it makes boxes whose first value is a T, and knows them by isinstance."""

    _item: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Value:
        item = cls._item
        if item in (object, Any):
            return Value(*args, **kwargs)
        if len(args) == 1 and not kwargs and typing.get_origin(item) is None and isinstance(args[0], item):
            return Value(args[0])
        return Value(item(*args, **kwargs))

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, AbstractValue) and _is_a(instance._value, cls._item)

    def __repr__(cls) -> str:
        return cls.__name__


@functools.cache
def _boxes_of(item: Any) -> _BoxesOf:
    content = {"_item": item, "__slots__": (), "__module__": __name__, "__doc__": Value.__doc__}
    return _BoxesOf(f"Value[{getattr(item, '__name__', item)}]", (Value,), content)


def _is_a(value: Any, item: Any) -> bool:
    """Whether a value is what boxes of a type hold; those of `object` hold what has no boxes of its own."""
    if item in (object, Any):
        return type(value) not in (float, str, bool) and not type(value).__module__.startswith("merganser.")
    if typing.get_origin(item) is list:
        return isinstance(value, list) and all(isinstance(each, typing.get_args(item)) for each in value)
    return isinstance(value, item)


def refuse_mask(values: Any) -> Array:
    """The values as an array, which has no mask.

    Raises:
        TypeError: some of them are masked; what stands behind a mask is no value.
    """
    masked = sys.modules.get("numpy.ma")  # it takes 30 ms to import; until then nothing is masked
    if masked is not None and isinstance(values, masked.MaskedArray) and masked.is_masked(values):
        raise TypeError(f"Expected numbers, got an array of which some are masked: {values!r}. Fill it in before.")
    return np.asarray(values)


def _require_numbers(array: Array, expected: np.dtype[Any]) -> None:
    """Raises a TypeError if an array has what does not fit into one of the expected type."""
    if array.dtype.kind not in _FITTING.get(expected.kind, array.dtype.kind):
        raise TypeError(f"Expected numbers of type {expected}, got an array of {array.dtype}.")


def _as_vector(array: Array, size: int) -> Array:
    """Accepts column and row vectors as pydrake does, refuses everything else."""
    if array.size == size and array.ndim <= 2 and (array.ndim < 2 or 1 in array.shape):
        return array.reshape(size)
    shown = np.array2string(array, threshold=_MOST_SHOWN, edgeitems=_MOST_SHOWN // 2, separator=", ").replace("\n", "")
    raise ValueError(f"Expected a vector of size {size}, got an array of shape {array.shape}: {shown}.")


def _restore_vector(cls: type[BasicVector], values: Array, attributes: dict[str, Any] | None) -> BasicVector:
    vector = object.__new__(cls)
    vector._values = values
    if attributes:
        vector.__dict__.update(attributes)
    return vector


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
