"""Numba's side of records_of_arrays.py: records as two pointers, whose fields are read when code asks for them.

Imported when something is compiled: it imports numba.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import (
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    make_attribute_wrapper,
    models,
    overload,
    register_model,
)

from merganser.framework.native.compiler.numba_inside import (
    AbstractTemplate,
    AttributeTemplate,
    cgutils,
    infer_getattr,
    infer_global,
    populate_array,
    signature,
)
from merganser.framework.native.memory.records_of_arrays import (
    COMPLEX,
    FLOAT,
    ArrayOf,
    Field,
    RecordOf,
    fields_of,
    is_record_class,
    size_of,
)
from merganser.framework.native.memory.simd import with_numbers
from merganser.framework.native.memory.simd_code import with_lanes

_INTEGERS = types.CPointer(types.int64)


class _RecordType(types.Type):
    """A record: pointers to the numbers of a Context, and to the integers of the record.

    Args:
        record: the class.
        number: what its arrays of floats are of: floats, lanes or complex numbers.
    """

    def __init__(self, record: type, number: np.dtype[Any] = FLOAT) -> None:
        self.record, self.number = record, number
        super().__init__(name=f"record {record.__module__}.{record.__qualname__} {number}")


class _ListType(types.Type):
    """Several records of one class: the same for the first of them, and their number."""

    def __init__(self, record: type, number: np.dtype[Any] = FLOAT) -> None:
        self.record, self.number = record, number
        super().__init__(name=f"records {record.__module__}.{record.__qualname__} {number}")


def _in_context(number: np.dtype[Any]) -> np.dtype[Any]:
    """What the numbers of a Context are: of lanes, each is as many floats there."""
    return COMPLEX if number == COMPLEX else FLOAT


def _values_of(number: np.dtype[Any]) -> Any:
    """The type of a pointer to these."""
    return types.CPointer(numba.from_dtype(_in_context(number)))


@register_model(_RecordType)
class _RecordModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, [("values", _values_of(fe_type.number)), ("integers", _INTEGERS)])


@register_model(_ListType)
class _ListModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        members = [("values", _values_of(fe_type.number)), ("integers", _INTEGERS), ("size", types.int64)]
        super().__init__(dmm, fe_type, members)


make_attribute_wrapper(_ListType, "size", "size")


def describe_record(record: type, values: Any, integers: Any, number: np.dtype[Any] = FLOAT) -> Any:
    """Numba's description of `record_at`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _pointers(context, builder, signature.return_type, *arguments)

    return _RecordType(record, number)(values, integers), generate


def describe_record_at_address(record: type, address: Any) -> Any:
    """Numba's description of `record_at_address`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _pointers(context, builder, signature.return_type, *_at(context, builder, arguments[0]))

    return _RecordType(record)(types.int64), generate


def describe_field_at_address(record: type, name: str, address: Any) -> Any:
    """Numba's description of `field_at_address`."""
    field = fields_of(record)[name]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _read(context, builder, field, *_at(context, builder, arguments[0]))

    return _type_of(field)(types.int64), generate


def describe_record_behind(holder: type, name: str, record: type, address: Any) -> Any:
    """Numba's description of `record_behind`."""
    field = fields_of(holder)[name]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _read(context, builder, field, *_at(context, builder, arguments[0]))
        return _pointers(context, builder, signature.return_type, *_at(context, builder, address))

    return _RecordType(record)(types.int64), generate


def _at(context: Any, builder: Any, address: Any) -> list[Any]:
    """The pointers of a record at an address, which is no part of a Context."""
    return [builder.inttoptr(address, context.get_value_type(kind)) for kind in (_values_of(FLOAT), _INTEGERS)]


def _pointers(context: Any, builder: Any, kind: Any, values: Any, integers: Any) -> Any:
    made = cgutils.create_struct_proxy(kind)(context, builder)
    made.values, made.integers = values, integers
    return made._getvalue()


# ------------------------------------------------------------------ fields


def _type_of(field: Field, number: np.dtype[Any] = FLOAT) -> Any:
    kind, number = field.kind, FLOAT if field.is_same else number
    if field.is_list:
        return _ListType(kind, number)
    if isinstance(kind, ArrayOf | RecordOf):
        element = numba.from_dtype(with_numbers(kind.dtype, number))
        return with_lanes(element if isinstance(kind, RecordOf) else types.Array(element, kind.num_dimensions, "C"))
    if is_record_class(kind):
        if not field.is_one_value:
            return _RecordType(kind, number)
        return types.NamedTuple(tuple(_type_of(part, number) for part in fields_of(kind).values()), kind)
    return types.float64 if kind is float else types.int64


@infer_getattr
class _Fields(AttributeTemplate):
    """The types of fields."""

    key = _RecordType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        field = fields_of(kind.record).get(name)
        return None if field is None else _type_of(field, kind.number)


@lower_getattr_generic(_RecordType)
def _read_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    record = cgutils.create_struct_proxy(kind)(context, builder, value)
    return _read(context, builder, fields_of(kind.record)[name], record.values, record.integers, kind.number)


@lower_setattr_generic(_RecordType)
def _write_field(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    kind, written = signature.args
    record = cgutils.create_struct_proxy(kind)(context, builder, arguments[0])
    if isinstance(written, _RecordType):
        source = cgutils.create_struct_proxy(written)(context, builder, arguments[1])
        integers = _load(builder, source.integers, 0, size_of(written.record))
    else:
        integers = [builder.bitcast(arguments[1], cgutils.ir.IntType(64))]
    start = fields_of(kind.record)[name].start
    for n, integer in enumerate(integers):
        builder.store(integer, builder.gep(record.integers, [_integer(start + n)]))


def _read(context: Any, builder: Any, field: Field, values: Any, integers: Any, number: np.dtype[Any] = FLOAT) -> Any:
    kind, result, number = field.kind, _type_of(field, number), FLOAT if field.is_same else number
    if field.is_list:
        size, distance = _load(builder, integers, field.start, 2)
        made = cgutils.create_struct_proxy(result)(context, builder)
        made.values, made.integers, made.size = values, builder.gep(integers, [distance]), size
        return made._getvalue()
    if isinstance(kind, ArrayOf):
        return _read_array(context, builder, field, result, values, integers, number)
    if is_record_class(kind):
        start = builder.gep(integers, [_integer(field.start)])
        if not field.is_one_value:
            return _pointers(context, builder, result, values, start)
        parts = [_read(context, builder, part, values, start, number) for part in fields_of(kind).values()]
        return context.make_tuple(builder, result, parts)
    (word,) = _load(builder, integers, field.start, 1)
    if isinstance(kind, RecordOf):
        return builder.inttoptr(word, context.get_value_type(result))
    return builder.bitcast(word, context.get_value_type(result)) if kind is float else word


def _read_array(
    context: Any, builder: Any, field: Field, result: Any, values: Any, integers: Any, number: np.dtype[Any]
) -> Any:
    numbers = _load(builder, integers, field.start, field.size())
    shape = numbers[field.size() - field.kind.num_dimensions :]
    pointer = context.get_data_type(result.dtype).as_pointer()
    size = _integer(context.get_abi_sizeof(context.get_data_type(result.dtype)))
    if field.kind.is_in_context:
        per_number = _integer(number.itemsize // _in_context(number).itemsize)
        place = builder.mul(builder.add(numbers[0], numbers[1]), per_number)
        data = builder.bitcast(builder.gep(values, [place]), pointer)
    else:
        data = builder.inttoptr(numbers[0], pointer)
    strides = [size]
    for n in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], n))
    array = context.make_array(result)(context, builder)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
    return array._getvalue()


def _integer(number: int) -> Any:
    return cgutils.ir.IntType(64)(number)


def _load(builder: Any, integers: Any, start: int, count: int) -> list[Any]:
    return [builder.load(builder.gep(integers, [_integer(start + n)])) for n in range(count)]


# ------------------------------------------------------------------ lists


@infer_global(operator.getitem)
class _Item(AbstractTemplate):
    """The type of records[n]."""

    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], _ListType) and isinstance(args[1], types.Integer):
            return signature(_RecordType(args[0].record, args[0].number), args[0], types.int64)
        return None


@lower_builtin(operator.getitem, _ListType, types.int64)
def _item(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.args[0]
    records = cgutils.create_struct_proxy(kind)(context, builder, arguments[0])
    distance = builder.mul(arguments[1], _integer(size_of(kind.record)))
    return _pointers(
        context, builder, signature.return_type, records.values, builder.gep(records.integers, [distance])
    )


@overload(len)
def _length(records: Any) -> Any:
    if not isinstance(records, _ListType):
        return None

    def length(records: Any) -> Any:
        return records.size

    return length
