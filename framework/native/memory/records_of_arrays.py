"""Named tuples of arrays, handed to compiled code as one list of integers.

A record is a class derived from NamedTuple whose fields say by their type hints what they hold:

    class Pendulum(NamedTuple):
        x: Annotated[Array, ArrayOf(FLOAT)]         # an array: where it stands, and its shape
        gains: Annotated[Array, ArrayOf(FLOAT, 2)]
        settings: Annotated[Any, RecordOf(dtype)]   # one record of a dtype: where it stands
        size: int
        length: float
        motor: Motor                                # another such class
        hull: Annotated[Hull, ONE_VALUE]            # one that kernels take as an argument; SAME_VALUE: see simd.py
        inputs: tuple[Input, ...]                   # any number of another such class
        simulate: Code                              # a kernel: where it stands

`integers_of(record)` writes the list, `record_at` of the class reads it in compiled code: there a record is two
pointers, and each field is read when code asks for it, by the name that Python knows it by. So one source serves both.
In a record for compiled code, kernels are given by their addresses, and arrays among the numbers of a Context by their
`Placed`.

Records of numbers, arrays and other such records may change: `new_record` makes one that Python and compiled code
change by the same names, `record_at_address` reads it. Where its arrays stand is said by `place_arrays`.

Nothing here keeps arrays alive: the maker of the list keeps them as long as it may be read. Types are those of the
hints, compiled code does not look whether they are true; `integers_of` does.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from collections.abc import Callable
from typing import Annotated, Any, ForwardRef, NamedTuple, get_args, get_origin

import numpy as np

from merganser.framework.core.context.native_code import Argument
from merganser.framework.native.compiler.extending import Later, import_whole, intrinsic, register_module
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.simd import repeated, repeated_records, varies, with_numbers

FLOAT, INTEGER, COMPLEX = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.complex128)
ONE_VALUE = "one value"
SAME_VALUE = "one value, the same in all lanes"


class ArrayOf(NamedTuple):
    """A C-contiguous array.

    Attributes:
        dtype: of its elements.
        num_dimensions: how many indices it has.
        is_in_context: whether it stands among the numbers of a Context, where it is in compiled code.
    """

    dtype: np.dtype[Any]
    num_dimensions: int = 1
    is_in_context: bool = False


Floats = Annotated[Any, ArrayOf(FLOAT)]
Integers = Annotated[Any, ArrayOf(INTEGER)]
Complexes = Annotated[Any, ArrayOf(COMPLEX)]


class RecordOf(NamedTuple):
    """One element of an array of records.

    Attributes:
        dtype: of the record.
    """

    dtype: np.dtype[Any]


class _Kernel(NamedTuple):
    """A kernel, in compiled code its address."""


Code = Annotated[Any, _Kernel()]


class Placed(NamedTuple):
    """Where an array stands among the numbers of a Context.

    Attributes:
        place: an argument of the operation (core/context/native_code.py).
        shape: of the array.
        first: how many numbers after that place it begins.
    """

    place: Argument
    shape: tuple[int, ...]
    first: int = 0


def placed_beside(array: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any]) -> Placed:
    """Where an array that is no part of the numbers of a Context stands, counted from where these begin."""
    return Placed((address_of_array(array) - address_of_array(numbers)) // numbers.itemsize, array.shape)


class Field(NamedTuple):
    """What a field of a record is, and where it stands among the integers of the record.

    Attributes:
        start: of its first integer.
        kind: ArrayOf, RecordOf, int, float, Code, or a class of records.
        is_one_value: whether kernels take it as an argument.
        is_list: whether it is any number of such records.
        is_same: whether its numbers are floats, whatever those of the record are.
    """

    start: int
    kind: Any
    is_one_value: bool = False
    is_list: bool = False
    is_same: bool = False

    def size(self) -> int:
        """How many integers it takes in its record."""
        if self.is_list:
            return 2
        if isinstance(self.kind, ArrayOf):
            return self.kind.num_dimensions + (2 if self.kind.is_in_context else 1)
        return size_of(self.kind) if is_record_class(self.kind) else 1


def is_record_class(kind: Any) -> bool:
    """Whether a type is a class derived from NamedTuple."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


@functools.cache
def hints_of(thing: Any) -> dict[str, Any]:
    """The type hints of a class of records, or of a function: as `typing.get_type_hints`, in a tenth of its time."""
    names = thing.__globals__ if hasattr(thing, "__globals__") else vars(sys.modules[thing.__module__])
    hints: dict[str, Any] = {}
    for name, hint in thing.__annotations__.items():
        text = hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint
        hints[name] = eval(text, names) if isinstance(text, str) else hint
    return hints


@functools.cache
def fields_of(record: Any) -> dict[str, Field]:
    """The fields of a class of records.

    Raises:
        TypeError: a field has no type hint of those above.
    """
    fields: dict[str, Field] = {}
    start = 0
    hints = hints_of(record)
    for name in record._fields:
        field = fields[name] = _field(f"{record.__qualname__}.{name}", start, hints[name])
        start += field.size()
    return fields


def _field(name: str, start: int, hint: Any) -> Field:
    if get_origin(hint) is Annotated:
        kind, mark = get_args(hint)
        if mark in (ONE_VALUE, SAME_VALUE):
            return Field(start, kind, is_one_value=True, is_same=mark == SAME_VALUE)
        return Field(start, mark)
    if get_origin(hint) is tuple:
        return Field(start, get_args(hint)[0], is_list=True)
    if hint in (int, float) or is_record_class(hint):
        return Field(start, hint)
    raise TypeError(f"{name}: compiled code does not know what {hint} is; see records_of_arrays.py.")


@functools.cache
def size_of(record: Any) -> int:
    """How many integers a record takes, without what its lists hold."""
    return sum(field.size() for field in fields_of(record).values())


# ------------------------------------------------------------------ Python's side


def integers_of(record: Any) -> tuple[Argument, ...]:
    """The integers of a record, as arguments of an operation (core/context/native_code.py); those of lists come last.

    Raises:
        TypeError: a field does not hold what the hint says.
    """
    record_class: Any = type(record)
    integers: list[Argument] = [0] * size_of(record_class)
    _write(integers, 0, record)
    return tuple(integers)


def integers_with(record: Any, number: np.dtype[Any]) -> tuple[tuple[Argument, ...], list[Any]]:
    """The same for `record_at` of other numbers than floats, with arrays of such that have the same values.

    Arrays of the record that have such numbers already are given as they are. What is in a Context stays as it says.

    Args:
        record: the record.
        number: `lanes_dtype()` or COMPLEX.

    Returns:
        The integers, and arrays to be kept.
    """
    record_class: Any = type(record)
    integers: list[Argument] = [0] * size_of(record_class)
    made: dict[Any, Any] = {}

    def write_field(name: str, kind: Any, value: Any) -> tuple[Argument, ...]:
        is_array = isinstance(kind, ArrayOf | RecordOf) and not isinstance(value, Placed)
        dtype = with_numbers(kind.dtype, number) if is_array else None
        if is_array and value.dtype == dtype:
            return _integers(name, kind._replace(dtype=dtype), value)
        written = _integers(name, kind, value)
        if not is_array or dtype == kind.dtype or not value.size:
            return written
        key = address_of_array(value), value.nbytes
        if key not in made:
            made[key] = value, _with_same(value, number)
        return (address_of_array(made[key][1]), *written[1:])

    _write(integers, 0, record, write_field)
    return tuple(integers), list(made.values())


def _with_same(array: Any, number: np.dtype[Any]) -> Any:
    """Other numbers with the values of floats."""
    if varies(array.dtype):
        return repeated_records(array)
    floats = np.atleast_1d(array).reshape(-1).view(FLOAT)
    return floats.astype(COMPLEX) if number == COMPLEX else repeated(floats)


def _write(integers: list[Argument], start: int, record: Any, write_field: Any = None) -> None:
    record_class: Any = type(record)
    for (name, field), value in zip(fields_of(record_class).items(), record):
        at, kind = start + field.start, field.kind
        if field.is_list:
            first = len(integers)
            integers[at : at + 2] = len(value), first - start
            integers.extend([0] * (len(value) * size_of(kind)))
            for n, item in enumerate(value):
                _write(integers, first + n * size_of(kind), item, write_field)
        elif is_record_class(kind):
            if type(value) is not kind:
                raise TypeError(f"{record_class.__qualname__}.{name} must be a {kind.__qualname__}.")
            _write(integers, at, value, None if field.is_same else write_field)
        else:
            written = (write_field or _integers)(f"{record_class.__qualname__}.{name}", kind, value)
            integers[at : at + len(written)] = written


def _integers(name: str, kind: Any, value: Any) -> tuple[Argument, ...]:
    if kind is float:
        return struct.unpack("q", struct.pack("d", value))
    if isinstance(kind, ArrayOf) and kind.is_in_context:
        if not (isinstance(value, Placed) and len(value.shape) == kind.num_dimensions):
            raise TypeError(f"{name} must be the place of an array of {kind.num_dimensions} dimensions in a Context.")
        return (value.place, value.first, *value.shape)
    if isinstance(kind, ArrayOf):
        is_right = isinstance(value, np.ndarray) and value.dtype == kind.dtype and value.ndim == kind.num_dimensions
        if not (is_right and value.flags.c_contiguous):
            dimensions = f"{kind.num_dimensions} dimension{'s' if kind.num_dimensions > 1 else ''}"
            raise TypeError(f"{name} must be a contiguous array of {kind.dtype} of {dimensions}, got {value!r:.100}.")
        return (address_of_array(value), *value.shape)
    if isinstance(kind, RecordOf):
        if getattr(value, "dtype", None) != kind.dtype:
            raise TypeError(f"{name} must be a record of {kind.dtype}, got {value!r:.100}.")
        return (address_of_array(value),)
    if not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be {'an address' if kind == _Kernel() else 'an integer'}, got {value!r:.100}.")
    return (int(value),)


# ------------------------------------------------------------------ records that change


_NUMBERS: dict[Any, Any] = {int: ctypes.c_int64, float: ctypes.c_double}


@functools.cache
def _structure(record: Any) -> type[ctypes.Structure]:
    fields = [(name, _kind_in_structure(field)) for name, field in fields_of(record).items()]
    return type(record.__name__, (ctypes.Structure,), {"_fields_": fields, "_record": record})


def _kind_in_structure(field: Field) -> Any:
    if is_record_class(field.kind):
        return _structure(field.kind)
    return _NUMBERS.get(field.kind) or ctypes.c_int64 * field.size()


def new_record(record: Any) -> Any:
    """A record of integers, floats, arrays and other such records, all 0, whose attributes may be set.

    To set one that is a record copies what is in it. Reading a number takes two thirds of the time that an element
    of a memoryview takes.

    Args:
        record: a class derived from NamedTuple, with such fields only.
    """
    return _structure(record)()


def place_arrays(record: Any, **arrays: Any) -> None:
    """Says where arrays of a record of `new_record` stand; who passes it on keeps them.

    Raises:
        TypeError: an array is not as the hint says.
    """
    fields = fields_of(record._record)
    for name, array in arrays.items():
        setattr(record, name, _integers(f"{record._record.__qualname__}.{name}", fields[name].kind, array))


def address_of_record(record: Any) -> int:
    """Where a record of `new_record` stands, for `record_at_address`; who passes it on keeps the record."""
    return ctypes.addressof(record)


def clear_record(record: Any) -> None:
    """Makes all numbers of such a record 0."""
    ctypes.memset(ctypes.addressof(record), 0, ctypes.sizeof(record))


def copy_of_record(record: Any) -> Any:
    """Another such record with the same numbers."""
    return type(record).from_buffer_copy(record)


def numbers_of(record: Any) -> np.ndarray[Any, Any]:
    """The numbers of such a record as integers, floats as their bits: an array that changes with it."""
    return np.frombuffer(record, dtype=np.int64)


# ------------------------------------------------------------------ the side of compiled code


@functools.cache
def record_at(record: Any, number_of: Callable[[], np.dtype[Any]] = lambda: FLOAT) -> Any:
    """What compiled code calls with the pointers of an operation to values and integers; it gives the record.

    Args:
        record: the class.
        number_of: gives what its arrays of floats are of, if `integers_with` has written the list.
    """

    def describe(typingctx: Any, values: Any, integers: Any) -> Any:
        record_types = import_whole("merganser.framework.native.memory.record_types")
        return record_types.describe_record(record, values, integers, number_of())

    return intrinsic(describe, fingerprint_rest=lambda: f"{number_of()} {_description(record)}")


@functools.cache
def record_at_address(record: Any, in_python: Callable[..., Any] | None = None) -> Any:
    """What compiled code calls with the address of a record that is no part of a Context; it gives the record.

    Args:
        record: the class.
        in_python: what Python calls; by default it is for compiled code only.
    """

    def describe(typingctx: Any, address: Any) -> Any:
        record_types = import_whole("merganser.framework.native.memory.record_types")
        return record_types.describe_record_at_address(record, address)

    return intrinsic(describe, in_python, lambda: _description(record))


def field_at_address(record: Any, name: str, in_python: Callable[..., Any]) -> Any:
    """What compiled code calls with the address of such a record; it gives one of its fields, which may be an array.

    Functions of ours cannot return arrays that they have not been given.

    Args:
        record: the class.
        name: of the field.
        in_python: what Python calls.
    """

    def describe(typingctx: Any, address: Any) -> Any:
        record_types = import_whole("merganser.framework.native.memory.record_types")
        return record_types.describe_field_at_address(record, name, address)

    return intrinsic(describe, in_python, lambda: _description(record))


def record_behind(holder: Any, name: str, record: Any, in_python: Callable[..., Any]) -> Any:
    """What compiled code calls with the address of a record; it gives another one, whose address is in a field.

    Args:
        holder: the class of the first one.
        name: of its field.
        record: the class of the second one.
        in_python: what Python calls.
    """

    def describe(typingctx: Any, address: Any) -> Any:
        record_types = import_whole("merganser.framework.native.memory.record_types")
        return record_types.describe_record_behind(holder, name, record, address)

    word = intrinsic(describe, in_python, lambda: _description(holder) + name + _description(record))
    word.record = record
    return word


def records_behind(function: Callable[..., Any]) -> set[Any]:
    """The classes of records that a function asks for by words of `record_behind`, as far as it names these itself."""
    words: Any = (function.__globals__.get(name) for name in function.__code__.co_names)
    return {word.record for word in words if isinstance(word, Later) and hasattr(word, "record")}


def _description(record: Any) -> str:
    """All that compiled code has to know of a class of records."""
    parts = [f"{name} {field}" for name, field in fields_of(record).items()]
    parts += [_description(field.kind) for field in fields_of(record).values() if is_record_class(field.kind)]
    return f"{record.__module__}.{record.__qualname__}({', '.join(parts)})"


register_module("merganser.framework.native.memory.record_types")
