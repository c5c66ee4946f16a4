"""Arrays in the code of operations: vectors that stand anywhere among the numbers of a Context, and lists of such.

Imported when something is compiled: it imports numba.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from numba import types
from numba.extending import intrinsic, lower_builtin, make_attribute_wrapper, models, overload, register_model

from merganser.framework.native.compiler.numba_inside import (
    AbstractTemplate,
    cgutils,
    fix_integer_index,
    infer_global,
    populate_array,
    signature,
)


class _ArraysType(types.Type):
    """Several vectors: a pointer to the numbers, and one to place, distance and size of each."""

    def __init__(self, number: Any) -> None:
        self.number = number
        super().__init__(name=f"Arrays({number})")


@register_model(_ArraysType)
class _ArraysModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        integers = types.CPointer(types.int64)
        members = [("values", types.CPointer(fe_type.number)), ("places", integers), ("size", types.int64)]
        super().__init__(dmm, fe_type, members)


for _name in ("values", "places", "size"):
    make_attribute_wrapper(_ArraysType, _name, _name)


@intrinsic
def arrays_at(typingctx: Any, values: Any, places: Any, size: Any) -> Any:
    """The list of arrays among the numbers at `values` that `places` lists."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        arrays.values, arrays.places, arrays.size = arguments
        return arrays._getvalue()

    return _ArraysType(values.dtype)(values, places, types.int64), generate


@intrinsic
def further(typingctx: Any, pointer: Any, distance: Any) -> Any:
    """A pointer some elements further on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, types.int64), generate


def _array(context: Any, builder: Any, kind: Any, data: Any, shape: Sequence[Any]) -> Any:
    """An array of numbers that stand somewhere. (Numba's own `carray` counts references to it.)"""
    array = context.make_array(kind)(context, builder)
    item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_value_type(kind.dtype)))
    strides = [item]
    for size in shape[:-1] if kind.layout == "F" else reversed(shape[1:]):
        strides.append(builder.mul(strides[-1], size))
    if kind.layout == "C":
        strides.reverse()
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
    return array._getvalue()


@intrinsic
def vector_at(typingctx: Any, pointer: Any, size: Any) -> Any:
    """The vector at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _array(context, builder, signature.return_type, arguments[0], arguments[1:])

    return types.Array(pointer.dtype, 1, "C")(pointer, types.int64), generate


@intrinsic
def matrix_at(typingctx: Any, pointer: Any, num_rows: Any, num_columns: Any) -> Any:
    """The matrix, by rows, at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _array(context, builder, signature.return_type, arguments[0], arguments[1:])

    return types.Array(pointer.dtype, 2, "C")(pointer, types.int64, types.int64), generate


@intrinsic
def matrix_by_columns_at(typingctx: Any, pointer: Any, num_rows: Any, num_columns: Any) -> Any:
    """The matrix, by columns, at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _array(context, builder, signature.return_type, arguments[0], arguments[1:])

    return types.Array(pointer.dtype, 2, "F")(pointer, types.int64, types.int64), generate


@infer_global(operator.getitem)
class _Item(AbstractTemplate):
    """The type of arrays[k]; negative k count from the end."""

    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], _ArraysType) and isinstance(args[1], types.Integer):
            return signature(types.Array(args[0].number, 1, "C"), args[0], types.int64)
        return None


@lower_builtin(operator.getitem, _ArraysType, types.int64)
def _item(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.args[0]
    arrays = cgutils.create_struct_proxy(kind)(context, builder, arguments[0])
    index = fix_integer_index(context, builder, types.int64, arguments[1], arrays.size)
    if context.enable_boundscheck:
        cgutils.do_boundscheck(context, builder, index, arrays.size)
    entry = builder.gep(arrays.places, [builder.mul(index, index.type(3))])
    place, first, size = (builder.load(builder.gep(entry, [index.type(n)])) for n in range(3))
    data = builder.gep(arrays.values, [builder.add(place, first)])
    return _array(context, builder, signature.return_type, data, [size])


@overload(len)
def _length(arrays: Any) -> Any:
    if not isinstance(arrays, _ArraysType):
        return None

    def length(arrays: Any) -> Any:
        return arrays.size

    return length
