"""What the parameters of native functions stand for (native_function.py): wires of a block, or constants of it.

Each has a type code, by which compiled code knows what to make of its integers (wire_codes.py); `value` is what Python
passes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import (
    ContinuousStateIndex,
    DependencyTicket,
    DiscreteStateIndex,
    NumericParameterIndex,
)
from merganser.framework.core.context.native_code import (
    CONTINUOUS_STATE,
    CURRENT_TIME,
    DiscreteStateOf,
    EntryOf,
    InputOf,
    ParameterOf,
    Watched,
)
from merganser.framework.core.declarations.cache import CacheEntry
from merganser.framework.core.declarations.ports import InputPort

Array = NDArray[Any]
TIME_NAMES = ("t", "time")
_INTEGERS = np.iinfo(np.int64)


class Changing(Watched):
    """A constant of a block that may be replaced by another array while Contexts are in use.

    A Context that has computed something with the former value keeps that until something else changes.

    Args:
        value: an array of one or two dimensions, as `NativeFunction.given` takes it. It is copied.

    Attributes:
        value: the present one.
    """

    def __init__(self, value: ArrayLike) -> None:
        super().__init__()
        self.value = _checked_array(value)

    def set(self, value: ArrayLike) -> None:
        """Replaces the value.

        Raises:
            TypeError: the former one has another number of dimensions or another type of elements.
        """
        array, former = _checked_array(value), self.value
        if former.dtype.kind == "f" and array.dtype.kind == "i":
            array = array.astype(former.dtype)
        if (array.ndim, array.dtype) != (former.ndim, former.dtype):
            raise TypeError(
                f"expected an array of {former.ndim} dimensions and type {former.dtype}, as it was before; "
                f"got {array.ndim} and {array.dtype}."
            )
        self.value = array
        self.renew()

    def __reduce__(self) -> Any:
        return Changing, (self.value,)


class PartOf:
    """Some elements of an input port, or of another wire, one after the other.

    Args:
        wire: an InputPort, CacheEntry or index of state or parameters.
        first: number of the first element.
        size: number of elements.
    """

    def __init__(self, wire: Any, first: int, size: int) -> None:
        self.wire, self.first, self.size = wire, first, size


class MatrixOf:
    """The elements of an input port, or of another wire, as a matrix.

    Args:
        wire: an InputPort, CacheEntry, index of state or parameters, or PartOf such.
        shape: numbers of rows and columns.
        by_columns: whether one column stands after the other, and not one row.
    """

    def __init__(self, wire: Any, shape: tuple[int, int], by_columns: bool = False) -> None:
        self.wire, self.shape, self.by_columns = wire, shape, by_columns


class InputOr:
    """An input port that may be left unconnected.

    Args:
        port: the port.
        default: the value that takes its place then, a vector of the port's size; or an empty one.
    """

    def __init__(self, port: InputPort, default: ArrayLike) -> None:
        self.port, self.default = port, default


class Argument:
    """Abstract: what a parameter stands for.

    Attributes:
        type_code: a key of the table in wire_codes.py.
    """

    type_code: str

    def value(self, context: Any) -> Any:
        """What Python passes on, in a Context of numbers."""
        raise NotImplementedError

    def object_value(self, context: Any) -> Any:
        """What Python passes on, in a Context of derivatives or symbols."""
        return self.value(context)

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        """What compiled code finds for it in its list of integers.

        Args:
            rest: takes what stands at the end of the list.
            start: where in the list `rest` begins.
        """
        raise NotImplementedError

    def tickets(self, system: Any) -> list[DependencyTicket]:
        """What it depends on in its system."""
        return []

    def in_context(self, context: Any) -> Argument:
        """What it is in compiled code for a Context, which is notified when that is another."""
        self.watch(context)
        return self

    def watch(self, context: Any) -> None:
        """Has a context notified when the value is replaced by another."""

    is_fixed = True  # whether it is the same operation in all Contexts, for good
    is_constant = False  # whether it has the same value in all Contexts of numbers, for good
    is_compiled = True  # whether compiled code can take it


class Wire(Argument):
    """Abstract: numbers of the Context.

    Args:
        place: of whole vectors, see native_code.py.
        first: number of the first element.
        size: number of elements.
    """

    type_code = "w"
    _never_changes = True  # copies of a system share it

    def __init__(self, place: Any, first: int, size: int) -> None:
        self.place, self.first, self.size = place, first, size

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        return self.place, self.first, self.size


class _Input(Wire):
    """The value of an input port."""

    def __init__(self, port: InputPort) -> None:
        assert port._size is not None
        super().__init__(InputOf(port._index), 0, port._size)
        self.index = int(port._index)

    def value(self, context: Any) -> Any:
        vector = context.read_input(self.index)
        return (context.require_input(self.index) if vector is None else vector)._values

    def tickets(self, system: Any) -> list[DependencyTicket]:
        return [system._sys_input_ports[self.index]._ticket]


class _Entry(Wire):
    """The value of a cache entry."""

    def value(self, context: Any) -> Any:
        return context.read_entry(self.place.index)._values

    def tickets(self, system: Any) -> list[DependencyTicket]:
        return [system.cache_entry_ticket(self.place.index)]


class _ContinuousState(Wire):
    """The continuous state."""

    def value(self, context: Any) -> Any:
        return context.get_continuous_state_vector()._values

    def tickets(self, system: Any) -> list[DependencyTicket]:
        return [system.xc_ticket()]


class _DiscreteState(Wire):
    """A group of the discrete state."""

    def value(self, context: Any) -> Any:
        return context.get_discrete_state(self.place.index)._values

    def tickets(self, system: Any) -> list[DependencyTicket]:
        return [system.discrete_state_ticket(self.place.index)]


class _Parameter(Wire):
    """A group of numeric parameters."""

    def value(self, context: Any) -> Any:
        return context.get_numeric_parameter(self.place.index)._values

    def tickets(self, system: Any) -> list[DependencyTicket]:
        return [system.numeric_parameter_ticket(self.place.index)]


class _Part(Wire):
    """Some elements of a wire."""

    def __init__(self, whole: Wire, first: int, size: int) -> None:
        super().__init__(whole.place, whole.first + first, size)
        self._whole, self._part = whole, slice(first, first + size)

    def value(self, context: Any) -> Any:
        return self._whole.value(context)[self._part]

    def tickets(self, system: Any) -> list[DependencyTicket]:
        return self._whole.tickets(system)


class _WireMatrix(Argument):
    """The elements of a wire as a matrix."""

    def __init__(self, wire: Wire, shape: tuple[int, int], by_columns: bool) -> None:
        self._wire, self._shape = wire, shape
        self.type_code, self._order = ("k", "F") if by_columns else ("r", "C")

    def value(self, context: Any) -> Any:
        return self._wire.value(context).reshape(self._shape, order=self._order)

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        return self._wire.place, self._wire.first, *self._shape

    def tickets(self, system: Any) -> list[DependencyTicket]:
        return self._wire.tickets(system)


class Time(Argument):
    """The time [s]."""

    type_code = "t"

    def value(self, context: Any) -> Any:
        return context.get_time()

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        return (CURRENT_TIME,)

    def tickets(self, system: Any) -> list[DependencyTicket]:
        return [system.time_ticket()]


class _InputOr(Argument):
    """An input, or a constant where nothing is connected."""

    type_code = "w"
    is_fixed = False

    def __init__(self, wire: _Input, default: Argument) -> None:
        self._wire, self._default = wire, default
        self.is_compiled = default.is_compiled

    def value(self, context: Any) -> Any:
        vector = context.read_input(self._wire.index)
        return self._default.value(context) if vector is None else vector._values

    def object_value(self, context: Any) -> Any:
        vector = context.read_input(self._wire.index)
        return self._default.object_value(context) if vector is None else vector._values

    def tickets(self, system: Any) -> list[DependencyTicket]:
        return self._wire.tickets(system)

    def in_context(self, context: Any) -> Argument:
        return self._default if context.sources[self._wire.index] is None else self._wire


class _Wires(Argument):
    """Several wires."""

    type_code = "l"

    def __init__(self, wires: Sequence[Wire]) -> None:
        self._wires = wires

    def value(self, context: Any) -> Any:
        return [wire.value(context) for wire in self._wires]

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        place = start + len(rest)
        for wire in self._wires:
            rest.extend(wire.integers(rest, start))
        return len(self._wires), place

    def tickets(self, system: Any) -> list[DependencyTicket]:
        return [ticket for wire in self._wires for ticket in wire.tickets(system)]


class _Constant(Argument):
    """Abstract: a constant array.

    Args:
        array: it; or what holds it, if it may change.
    """

    def __init__(self, array: Array | Changing) -> None:
        self._array = array
        self._objects: Array | None = None  # the same for a function of objects
        self.is_fixed = self.is_constant = not isinstance(array, Changing)
        self.is_compiled = self.array().dtype.kind in "fi"

    def array(self) -> Array:
        """The array."""
        return self._array.value if isinstance(self._array, Changing) else self._array

    def value(self, context: Any) -> Any:
        return self.array()

    def object_value(self, context: Any) -> Any:
        array = self.array()
        if self._objects is None or not self.is_fixed:
            self._objects = array.astype(object)
        return self._objects

    def watch(self, context: Any) -> None:
        if isinstance(self._array, Changing):
            self._array.watch(context)


class _Vector(_Constant):
    type_code = "c"

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        return self.array(), self.array().size


class _Matrix(_Constant):
    type_code = "m"

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        return self.array(), *self.array().shape


class _Nothing(Argument):
    """No numbers at all."""

    type_code = "w"
    is_constant = True

    def value(self, context: Any) -> Any:
        return np.zeros(0)

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        return 0, 0, 0


class _Number(Argument):
    type_code = "f"
    is_constant = True

    def __init__(self, number: Any) -> None:
        self._number = number

    def value(self, context: Any) -> Any:
        return self._number

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        return (np.array([self._number]),)


class _Integer(_Number):
    type_code = "i"

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        return (self._number,)


class _Integers(_Constant):
    type_code = "n"

    def object_value(self, context: Any) -> Any:
        return self.array()

    def integers(self, rest: list[Any], start: int) -> tuple[Any, ...]:
        place = start + len(rest)
        rest.extend(self.array().tolist())
        return self.array().size, place


# ---------------------------------------------------------------------- from names and objects


def wires_of(system: Any) -> dict[str, Argument]:
    """What a parameter of each name stands for in a system."""
    wires: dict[str, Argument] = {}
    num_q, num_v, num_z = system._sys_continuous_sizes
    size = num_q + num_v + num_z
    state = _ContinuousState(CONTINUOUS_STATE, 0, size)
    for name, first, length in (("q", 0, num_q), ("v", num_q, num_v), ("z", num_q + num_v, num_z)):
        if length:
            wires["xc"] = state
            wires[name] = state if length == size else _Part(state, first, length)
    for index, model in enumerate(system._sys_discrete_models):
        wires[f"xd{index}"] = _DiscreteState(DiscreteStateOf(index), 0, model.size())
    if len(system._sys_discrete_models) == 1:
        wires["xd"] = wires["xd0"]
    for index, (model, name) in enumerate(
        zip(system._sys_numeric_parameter_models, system._sys_numeric_parameter_names)
    ):
        wires[name] = _Parameter(ParameterOf(index), 0, model.size())
    for port in system._sys_input_ports:
        if port._size is not None:
            wires[port._name] = _Input(port)
    wires.update(dict.fromkeys(TIME_NAMES, Time()))
    return wires


def argument_for(given: Any, system: Any) -> Argument:
    """What something stands for that was given for a parameter, see NativeFunction.given().

    Raises:
        TypeError: it can be none.
        ValueError: it is of another system.
    """
    make_wire = _WIRES.get(type(given))
    if make_wire is not None:
        return make_wire(given, system)
    if isinstance(given, (list, tuple)) and all(type(item) in _WIRES for item in given):
        return _Wires([_wire(item, system) for item in given])
    if isinstance(given, MatrixOf):
        return _matrix(given, system)
    if isinstance(given, InputOr):
        wire, default = _input(given.port, system), np.array(given.default, ndmin=1)
        if default.shape not in ((0,), (wire.size,)):
            raise ValueError(f"the default of {given.port.get_name()} must have {wire.size} elements, or none.")
        return _InputOr(wire, argument_for(default if default.size else np.zeros(0), system))
    if isinstance(given, (bool, int, np.integer)):
        return _Integer(_checked_integer(int(given)))
    if isinstance(given, (float, np.floating)):
        return _Number(float(given))
    if isinstance(given, Changing):
        return _ARRAYS[given.value.ndim, given.value.dtype.kind](given)
    array = _checked_array(given)
    kind = _ARRAYS[array.ndim, array.dtype.kind]
    return kind(array) if array.size or kind is not _Vector else _Nothing()


def _wire(given: Any, system: Any) -> Wire:
    wire: Wire = _WIRES[type(given)](given, system)
    return wire


def _input(port: InputPort, system: Any) -> _Input:
    _check_owner(port, system)
    if port._size is None:
        raise TypeError(f"the value of input port '{port.get_name()}' is no vector.")
    return _Input(port)


def _entry(entry: CacheEntry, system: Any) -> Wire:
    _check_owner(entry, system)
    if entry.vector_size is None:
        raise TypeError(f"the value of {entry.describe()} is no vector.")
    return _Entry(EntryOf(int(entry._index)), 0, entry.vector_size)


def _check_owner(given: Any, system: Any) -> None:
    if given._owner() is not system:
        raise ValueError(f"it is of system '{given._owner().GetSystemPathname()}'.")


def _part(part: PartOf, system: Any) -> Wire:
    whole = _wire(part.wire, system)
    if not 0 <= part.first <= part.first + part.size <= whole.size:
        raise ValueError(f"elements {part.first} to {part.first + part.size} of a vector of {whole.size}.")
    return _Part(whole, part.first, part.size)


def _matrix(matrix: MatrixOf, system: Any) -> _WireMatrix:
    wire, (rows, columns) = _wire(matrix.wire, system), matrix.shape
    if min(rows, columns) < 0 or rows * columns != wire.size:
        raise ValueError(f"a matrix of shape ({rows}, {columns}) of a vector of {wire.size}.")
    return _WireMatrix(wire, (int(rows), int(columns)), matrix.by_columns)


_WIRES: dict[type[Any], Callable[[Any, Any], Wire]] = {
    InputPort: _input,
    CacheEntry: _entry,
    PartOf: _part,
    ContinuousStateIndex: lambda index, system: _ContinuousState(
        CONTINUOUS_STATE, 0, sum(system._sys_continuous_sizes)
    ),
    DiscreteStateIndex: lambda index, system: _DiscreteState(
        DiscreteStateOf(int(index)), 0, system._sys_discrete_models[index].size()
    ),
    NumericParameterIndex: lambda index, system: _Parameter(
        ParameterOf(int(index)), 0, system._sys_numeric_parameter_models[index].size()
    ),
}
_ARRAYS: dict[tuple[int, str], type[_Constant]] = {
    (1, "i"): _Integers, (1, "f"): _Vector, (1, "O"): _Vector, (2, "f"): _Matrix, (2, "O"): _Matrix,
}  # fmt: skip


def _checked_integer(number: int) -> int:
    if not _INTEGERS.min <= number <= _INTEGERS.max:
        raise ValueError(f"integers must have at most 64 bits; got {number}.")
    return number


def _checked_array(given: Any) -> Array:
    """A copy of an array: of floats or objects, or of integers if it has one dimension."""
    array = np.array(given, order="C")
    if array.dtype.kind in "biu":
        if array.dtype == np.uint64 and array.size:
            _checked_integer(int(array.max()))
        array = array.astype(np.int64 if array.ndim == 1 else np.float64)
    elif array.dtype.kind == "f":
        array = array.astype(np.float64, copy=False)
    elif array.dtype.kind != "O" or array.ndim == 0:
        what = f"an array of {array.dtype}" if array.ndim else type(given).__name__
        raise TypeError(f"expected real numbers, a port or a state; got {what}.")
    if array.ndim not in (1, 2):
        raise TypeError(f"arrays must be vectors or matrices of numbers; got one of shape {array.shape}.")
    return array
