"""State and parameters: structured views of the numbers and values in a Context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.core.values.values import AbstractValue, BasicVector, CopiedByClone, IndexedVector, VectorBase

Array = NDArray[Any]


class ContinuousState(CopiedByClone):
    """Continuous variables xc = (q, v, z): positions, velocities and everything else.

    The variables of one leaf system stand as q, then v, then z; those of a Diagram are its subsystems' one after
    the other, so that each subsystem's are contiguous and the q of a Diagram are scattered.

    Args:
        state: all variables, by default none; shared, not copied.
        num_q: number of generalized positions.
        num_v: number of generalized velocities, at most num_q.
        num_z: number of other variables; by default all that are not q or v.
    """

    __slots__ = ("_structure", "_vector")
    _structure: Any  # has the index arrays of q, v and z as `xc_partition`

    def __init__(
        self, state: BasicVector | ArrayLike = (), num_q: int = 0, num_v: int = 0, num_z: int | None = None
    ) -> None:
        self._vector = state if isinstance(state, BasicVector) else BasicVector(state)
        n = self._vector.size()
        if num_z is None:
            num_z = n - num_q - num_v
        if num_q + num_v + num_z != n or num_v > num_q or min(num_q, num_v, num_z) < 0:
            raise ValueError(
                f"A continuous state of {n} variables cannot be split into {num_q} positions, {num_v} velocities "
                f"and {num_z} others: the numbers must add up, and velocities may not outnumber positions."
            )
        index = np.arange(n)
        self._structure = _Structure((index[:num_q], index[num_q : num_q + num_v], index[num_q + num_v :]))

    @classmethod
    def _of(cls, vector: BasicVector, structure: Any) -> ContinuousState:
        """A state of these variables; `structure` is that of another state, or a layout (see layout.py)."""
        state = object.__new__(cls)
        state._vector = vector
        state._structure = structure
        return state

    def __reduce__(self) -> Any:
        return _restore_state, (self._vector, self._partition)

    @property
    def _partition(self) -> tuple[Array, Array, Array]:
        return self._structure.xc_partition

    def size(self) -> int:
        """Number of variables."""
        return self._vector.size()

    def num_q(self) -> int:
        """Number of generalized positions."""
        return len(self._partition[0])

    def num_v(self) -> int:
        """Number of generalized velocities."""
        return len(self._partition[1])

    def num_z(self) -> int:
        """Number of variables that are neither positions nor velocities."""
        return len(self._partition[2])

    def get_vector(self) -> BasicVector:
        """Returns all variables."""
        return self._vector

    get_mutable_vector = get_vector

    def _part(self, which: int) -> VectorBase:
        indices = self._partition[which]
        values = self._vector._values
        if len(indices) == 0:
            return BasicVector(values[:0])
        if indices[-1] - indices[0] + 1 == len(indices):
            return _window(values[indices[0] : indices[-1] + 1])
        return IndexedVector(values, indices)

    def get_generalized_position(self) -> VectorBase:
        """Returns q."""
        return self._part(0)

    get_mutable_generalized_position = get_generalized_position

    def get_generalized_velocity(self) -> VectorBase:
        """Returns v."""
        return self._part(1)

    get_mutable_generalized_velocity = get_generalized_velocity

    def get_misc_continuous_state(self) -> VectorBase:
        """Returns z."""
        return self._part(2)

    get_mutable_misc_continuous_state = get_misc_continuous_state

    def CopyToVector(self) -> Array:
        """Returns all variables as a new array."""
        return self._vector.CopyToVector()

    def SetFromVector(self, value: ArrayLike) -> None:
        """Overwrites all variables."""
        self._vector.SetFromVector(value)

    def SetFrom(self, other: ContinuousState) -> None:
        """Overwrites all variables with another state's."""
        _require_same_type(self, other)
        self._vector.SetFrom(other._vector)

    def Clone(self) -> ContinuousState:
        """Returns a state of the same structure with its own copy of the variables."""
        return self._detached()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._vector)

    def __getitem__(self, index: int) -> Any:
        return self._vector[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._vector[index] = value

    def _detached(self) -> ContinuousState:
        return ContinuousState._of(self._vector.Clone(), self._structure)

    def _scalar_type(self) -> Any:
        return self._vector._scalar_type()

    def _cast(self, T: Any) -> ContinuousState:
        return ContinuousState._of(self._vector._cast(T), self._structure)


class _Structure:
    """How a state that stands for itself is split."""

    __slots__ = ("xc_partition",)

    def __init__(self, xc_partition: tuple[Array, Array, Array]) -> None:
        self.xc_partition = xc_partition


def _restore_state(vector: BasicVector, partition: tuple[Array, Array, Array]) -> ContinuousState:
    return ContinuousState._of(vector, _Structure(partition))


class _Groups:
    """A fixed list of items, addressed by index."""

    __slots__ = ("_items",)

    def __init__(self, data: Sequence[Any] = ()) -> None:
        self._items = list(data)

    def _get(self, index: int, what: str) -> Any:
        try:
            if index >= 0:
                return self._items[index]
        except IndexError:
            pass
        except TypeError:
            raise TypeError(f"The index of a {what} is an integer, got {index!r}.") from None
        raise IndexError(f"There is no {what} {index}: there are {len(self._items)}.")


class DiscreteValues(_Groups, CopiedByClone):
    """Discrete variables xd, in groups.

    Args:
        data: the groups, or the only one.
        datum: the only group, by name.
    """

    __slots__ = ()

    def __init__(self, data: Sequence[BasicVector] | BasicVector = (), *, datum: BasicVector | None = None) -> None:
        if datum is not None:
            data = datum
        super().__init__([data] if isinstance(data, BasicVector) else data)

    def num_groups(self) -> int:
        """Number of groups."""
        return len(self._items)

    def size(self) -> int:
        """Number of variables in the only group."""
        return self._only().size()

    def get_vector(self, index: int = 0) -> BasicVector:
        """Returns group `index`."""
        return self._get(index, "discrete state group")

    get_mutable_vector = get_vector

    def get_data(self) -> list[BasicVector]:
        """Returns all groups."""
        return list(self._items)

    def get_mutable_value(self, index: int = 0) -> Array:
        """Returns group `index` as an array through which it can be changed."""
        return self.get_vector(index).value()

    def value(self, index: int = 0) -> Array:
        """Returns group `index` as an array that shares memory with it."""
        return self._get(index, "discrete state group").value()

    get_value = value

    @overload
    def set_value(self, value: ArrayLike) -> None: ...
    @overload
    def set_value(self, index: int, value: ArrayLike) -> None: ...
    def set_value(self, *args: Any, **kwargs: Any) -> None:
        """`set_value(value)` for the only group, or `set_value(index, value)`."""
        if kwargs or not 1 <= len(args) <= 2:
            names = ("value",) if len(args) + len(kwargs) == 1 else ("index", "value")
            args = tuple(bind_overload("DiscreteValues.set_value", names, {}, args, kwargs).values())
        group = self._get(args[0], "discrete state group") if len(args) == 2 else self._only()
        group.SetFromVector(args[-1])

    def SetFrom(self, other: DiscreteValues) -> None:
        """Overwrites all groups with another's of the same sizes; if one does not fit, all stay as they are."""
        _require_same_type(self, other)
        mine_sizes, sizes = ([group.size() for group in values._items] for values in (self, other))
        if mine_sizes != sizes:
            raise ValueError(f"Expected discrete state groups of sizes {mine_sizes}, got {sizes}.")
        for mine, theirs in zip(self._items, other._items):
            mine.SetFrom(theirs)

    def Clone(self) -> DiscreteValues:
        """Returns groups of the same types with copies of the values."""
        return DiscreteValues([group.Clone() for group in self._items])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._only())

    def _only(self) -> BasicVector:
        if len(self._items) != 1:
            raise RuntimeError(f"There are {len(self._items)} discrete state groups: say which one by its index.")
        return self._items[0]

    def __getitem__(self, index: int) -> Any:
        return self._only()[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._only()[index] = value

    def _scalar_type(self) -> Any:
        return self._items[0]._scalar_type() if self._items else None

    def _cast(self, T: Any) -> DiscreteValues:
        return DiscreteValues([group._cast(T) for group in self._items])


class AbstractValues(_Groups):
    """Abstract variables, each of any type."""

    __slots__ = ()

    def size(self) -> int:
        """Number of values."""
        return len(self._items)

    def get_value(self, index: int) -> AbstractValue:
        """Returns value `index`."""
        return self._get(index, "abstract value")

    get_mutable_value = get_value

    def SetFrom(self, other: AbstractValues) -> None:
        """Overwrites all values with copies of another's of the same number."""
        _require_same_type(self, other)
        if other.size() != self.size():
            raise ValueError(f"Expected {self.size()} abstract values, got {other.size()}.")
        for mine, theirs in zip(self._items, other._items):
            mine.SetFrom(theirs)

    def Clone(self) -> AbstractValues:
        """Returns copies of all values."""
        return AbstractValues([value.Clone() for value in self._items])


class State:
    """All state variables x = (xc, xd, xa); by default none."""

    __slots__ = ("_abstract", "_continuous", "_discrete")

    def __init__(
        self,
        continuous: ContinuousState | None = None,
        discrete: DiscreteValues | None = None,
        abstract: AbstractValues | None = None,
    ) -> None:
        self._continuous = ContinuousState() if continuous is None else continuous
        self._discrete = DiscreteValues() if discrete is None else discrete
        self._abstract = AbstractValues() if abstract is None else abstract

    def get_continuous_state(self) -> ContinuousState:
        """Returns xc."""
        return self._continuous

    get_mutable_continuous_state = get_continuous_state

    @overload
    def get_discrete_state(self, index: None = None) -> DiscreteValues: ...
    @overload
    def get_discrete_state(self, index: int) -> BasicVector: ...
    def get_discrete_state(self, index: int | None = None) -> DiscreteValues | BasicVector:
        """Returns xd, or its group `index`."""
        return self._discrete if index is None else self._discrete.get_vector(index)

    @overload
    def get_mutable_discrete_state(self, index: None = None) -> DiscreteValues: ...
    @overload
    def get_mutable_discrete_state(self, index: int) -> BasicVector: ...
    def get_mutable_discrete_state(self, index: int | None = None) -> DiscreteValues | BasicVector:
        """Returns xd, or its group `index`, for changing it."""
        return self.get_discrete_state(index)

    @overload
    def get_abstract_state(self, index: None = None) -> AbstractValues: ...
    @overload
    def get_abstract_state(self, index: int) -> AbstractValue: ...
    def get_abstract_state(self, index: int | None = None) -> AbstractValues | AbstractValue:
        """Returns xa, or its variable `index`."""
        return self._abstract if index is None else self._abstract.get_value(index)

    @overload
    def get_mutable_abstract_state(self, index: None = None) -> AbstractValues: ...
    @overload
    def get_mutable_abstract_state(self, index: int) -> AbstractValue: ...
    def get_mutable_abstract_state(self, index: int | None = None) -> AbstractValues | AbstractValue:
        """Returns xa, or its variable `index`, for changing it."""
        return self.get_abstract_state(index)

    def SetFrom(self, other: State) -> None:
        """Overwrites all variables with another state's."""
        _require_same_type(self, other)
        self._continuous.SetFrom(other._continuous)
        self._discrete.SetFrom(other._discrete)
        self._abstract.SetFrom(other._abstract)

    def Clone(self) -> State:
        """Returns a state of the same structure with its own copies of all values."""
        return State(self._continuous._detached(), self._discrete.Clone(), self._abstract.Clone())

    def _scalar_type(self) -> Any:
        return (self._continuous if self._continuous.size() else self._discrete)._scalar_type()


class Parameters(CopiedByClone):
    """Numeric and abstract parameters.

    Args:
        numeric: groups of numeric parameters; or the abstract parameters, if they are the only argument.
        abstract: abstract parameters.
        vec: the only group of numeric parameters.
        value: the only abstract parameter.
    """

    __slots__ = ("_abstract", "_numeric")

    def __init__(
        self,
        numeric: Sequence[BasicVector] | Sequence[AbstractValue] = (),
        abstract: Sequence[AbstractValue] = (),
        *,
        vec: BasicVector | None = None,
        value: AbstractValue | None = None,
    ) -> None:
        if vec is not None:
            numeric = [vec]
        if value is not None:
            abstract = [value]
        if len(numeric) and isinstance(numeric[0], AbstractValue):
            numeric, abstract = (), numeric
        self._numeric = DiscreteValues(numeric)  # type: ignore[arg-type]
        self._abstract = AbstractValues(abstract)

    def num_numeric_parameter_groups(self) -> int:
        """Number of numeric parameter groups."""
        return self._numeric.num_groups()

    def num_abstract_parameters(self) -> int:
        """Number of abstract parameters."""
        return self._abstract.size()

    def get_numeric_parameter(self, index: int) -> BasicVector:
        """Returns numeric parameter group `index`."""
        return self._numeric._get(index, "numeric parameter group")

    def get_mutable_numeric_parameter(self, index: int) -> BasicVector:
        """Returns numeric parameter group `index`, for changing it."""
        return self.get_numeric_parameter(index)

    def get_abstract_parameter(self, index: int) -> AbstractValue:
        """Returns abstract parameter `index`."""
        return self._abstract._get(index, "abstract parameter")

    def get_mutable_abstract_parameter(self, index: int) -> AbstractValue:
        """Returns abstract parameter `index`, for changing it."""
        return self.get_abstract_parameter(index)

    def get_numeric_parameters(self) -> DiscreteValues:
        """Returns all numeric parameter groups."""
        return self._numeric

    def get_abstract_parameters(self) -> AbstractValues:
        """Returns all abstract parameters."""
        return self._abstract

    def set_numeric_parameters(self, numeric_params: DiscreteValues) -> None:
        """Overwrites all numeric parameters with groups of the same sizes."""
        self._numeric.SetFrom(numeric_params)

    def set_abstract_parameters(self, abstract_params: AbstractValues) -> None:
        """Overwrites all abstract parameters with copies of as many values."""
        self._abstract.SetFrom(abstract_params)

    def Clone(self) -> Parameters:
        """Returns parameters of the same structure with their own copies of all values."""
        return Parameters(self._numeric.Clone()._items, self._abstract.Clone()._items)

    def SetFrom(self, other: Parameters) -> None:
        """Overwrites all parameters with another's."""
        _require_same_type(self, other)
        self._numeric.SetFrom(other._numeric)
        self._abstract.SetFrom(other._abstract)

    def _scalar_type(self) -> Any:
        return self._numeric._scalar_type()

    def _cast(self, T: Any) -> Parameters:
        return Parameters(self._numeric._cast(T)._items, self._abstract._items)


def _require_same_type(mine: Any, other: Any) -> None:
    if not isinstance(other, type(mine)):
        raise TypeError(f"{type(mine).__name__}.SetFrom takes {type(mine).__name__}, got {type(other).__name__}.")


def _window(values: Array) -> BasicVector:
    """A BasicVector that shares memory with `values`."""
    vector = object.__new__(BasicVector)
    vector._values = values
    return vector
