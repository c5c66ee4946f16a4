"""Values: vectors that may be views into a Context, and abstract values of any type."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.scalars import cast_array

__all__ = ["AbstractValue", "BasicVector", "IndexedVector", "Value", "VectorBase"]

Array = NDArray[Any]
T = TypeVar("T")
_new = object.__new__
_ATOMS = frozenset((type(None), bool, int, float, complex, str, bytes))  # types of values that never change


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
        return f"{type(self).__name__}({self._get().tolist()})"


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
        array = np.array(data)
        if array.dtype != object and array.dtype != np.complex128:
            array = array.astype(np.float64)
        self._values = np.atleast_1d(array)
        if self._values.ndim != 1:
            raise ValueError(f"A BasicVector takes a one-dimensional array; got shape {array.shape}.")

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
            value = _as_vector(np.asarray(value), values.shape[0])
        values[:] = value

    def SetAtIndex(self, index: int, value: Any) -> None:
        self._values[index] = value

    def set_value(self, value: ArrayLike) -> None:
        """Overwrites all elements; the same as `SetFromVector`."""
        self.SetFromVector(value)

    def value(self) -> Array:
        """Returns the elements as an array that shares memory with this vector."""
        return self._values

    def get_value(self) -> Array:
        """Returns the elements as an array that shares memory with this vector."""
        return self._values

    def get_mutable_value(self) -> Array:
        """Returns the elements as an array through which they can be changed."""
        return self._values

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

    def get_mutable_value(self) -> Any:
        """Returns the value itself, for changing it in place."""
        return self._value

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

    def __getitem__(cls, item: type[T]) -> _TypedValueFactory[T]:
        return _TypedValueFactory(item)


class Value(AbstractValue, metaclass=_ValueMeta):
    """The concrete box: `Value(42)`, `Value[object]({})`, `Value[RigidTransform]()`."""

    __slots__ = ()

    def __init__(self, value: Any = None) -> None:
        super().__init__(value)


class _TypedValueFactory(Generic[T]):
    """What `Value[T]` evaluates to: makes boxes whose first value is a T."""

    def __init__(self, item: type[T]) -> None:
        self._item = item

    def __call__(self, *args: Any) -> Value:
        if self._item in (object, Any):
            return Value(*args)
        if len(args) == 1 and isinstance(args[0], self._item):
            return Value(args[0])
        return Value(self._item(*args))

    def __repr__(self) -> str:
        return f"Value[{self._item.__name__}]"


def _as_vector(array: Array, size: int) -> Array:
    """Accepts column and row vectors as pydrake does, refuses everything else."""
    if array.size == size and array.ndim <= 2 and (array.ndim < 2 or 1 in array.shape):
        return array.reshape(size)
    raise ValueError(f"Expected a vector of size {size}, got an array of shape {array.shape}.")


def _restore_vector(cls: type[BasicVector], values: Array, attributes: dict[str, Any] | None) -> BasicVector:
    vector = object.__new__(cls)
    vector._values = values
    if attributes:
        vector.__dict__.update(attributes)
    return vector
