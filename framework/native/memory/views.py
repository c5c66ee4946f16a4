"""Arrays seen in another shape, or by their addresses, in Python and in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from merganser.framework.native.compiler.extending import cgutils, intrinsic, ir, types

__all__ = ["as_matrix", "described_array"]


def _reshaped(values: Any, num_rows: int, num_columns: int) -> Any:
    return values.reshape((num_rows, num_columns))


def _matrix(typingctx: Any, values: Any, num_rows: Any, num_columns: Any) -> Any:
    """Numba's description of an array of other shape and strides with the same data."""
    if values.layout != "C":
        return None
    kind = types.Array(values.dtype, 2, "C", readonly=not values.mutable, aligned=values.aligned)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = context.make_array(signature.args[0])(context, builder, arguments[0])
        made = context.make_array(kind)(context, builder)
        num_rows, num_columns = arguments[1:]
        made.meminfo, made.parent, made.itemsize, made.data = given.meminfo, given.parent, given.itemsize, given.data
        made.nitems = builder.mul(num_rows, num_columns)
        made.shape = cgutils.pack_array(builder, [num_rows, num_columns])
        made.strides = cgutils.pack_array(builder, [builder.mul(num_columns, given.itemsize), given.itemsize])
        return made._getvalue()

    return kind(values, types.int64, types.int64), generate


# as_matrix(values, num_rows, num_columns): a contiguous array of one dimension, by rows. Compiled code does not look
# whether it has so many numbers. Numba's own `reshape` calls a function of numba's, which would have to be imported.
as_matrix: Any = intrinsic(_matrix, in_python=_reshaped)


def described_array(kind: str, num_dimensions: int, at: int, in_python: Callable[..., Any]) -> Any:
    """A function of the address of some integers and of a number, which gives one of many arrays.

    One of the integers is the address of a list, in which three describe each array: its address and its numbers of
    rows and columns; an array of one dimension is a row. Compiled code does not look whether that is so.

    Args:
        kind: name of the type of its numbers: "float64", "complex128" or "int64".
        num_dimensions: 1 or 2.
        at: which of the integers is the address of the list.
        in_python: what Python calls.
    """

    def describe(typingctx: Any, integers: Any, number: Any) -> Any:
        array = types.Array(getattr(types, kind), num_dimensions, "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            integer, number_type = ir.IntType(64), context.get_data_type(array.dtype)
            pointer = integer.as_pointer()
            of_list = builder.load(builder.gep(builder.inttoptr(arguments[0], pointer), [integer(at)]))
            first = builder.gep(builder.inttoptr(of_list, pointer), [builder.mul(arguments[1], integer(3))])
            address, num_rows, num_columns = (builder.load(builder.gep(first, [integer(n)])) for n in range(3))
            made, size = context.make_array(array)(context, builder), integer(context.get_abi_sizeof(number_type))
            made.data = builder.inttoptr(address, number_type.as_pointer())
            made.itemsize = size
            shape = [num_rows, num_columns][-num_dimensions:]
            made.nitems = builder.mul(*shape) if num_dimensions == 2 else num_columns
            made.shape = cgutils.pack_array(builder, shape)
            strides = [builder.mul(num_columns, size), size][-num_dimensions:]
            made.strides = cgutils.pack_array(builder, strides)
            made.meminfo = cgutils.get_null_value(made.meminfo.type)
            made.parent = cgutils.get_null_value(made.parent.type)
            return made._getvalue()

        return array(types.int64, types.int64), generate

    return intrinsic(describe, in_python=in_python)
