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


def described_array(
    kind: str, num_dimensions: int, first: int, in_python: Callable[..., Any], is_one_of_many: bool = True
) -> Any:
    """A function of the address of a list of integers, which gives an array that three of these describe.

    They are the address of the array and its numbers of rows and columns; an array of one dimension is a row. Compiled
    code does not look whether that is so.

    Args:
        kind: name of the type of its numbers: "float64", "complex128" or "int64".
        num_dimensions: 1 or 2.
        first: where the three integers stand.
        in_python: what Python calls.
        is_one_of_many: whether a second argument is the number of the array; each has three integers.
    """

    def describe(typingctx: Any) -> Any:
        array = types.Array(getattr(types, kind), num_dimensions, "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
            integer = ir.IntType(64)
            at = integer(first)
            if is_one_of_many:
                at = builder.add(at, builder.mul(arguments[1], integer(3)))
            address, num_rows, num_columns = (
                builder.load(builder.gep(place, [builder.add(at, integer(n))])) for n in range(3)
            )
            made, size = context.make_array(array)(context, builder), integer(context.get_abi_sizeof(_number(context)))
            made.data = builder.inttoptr(address, _number(context).as_pointer())
            made.itemsize = size
            shape = [num_rows, num_columns][-num_dimensions:]
            made.nitems = builder.mul(*shape) if num_dimensions == 2 else num_columns
            made.shape = cgutils.pack_array(builder, shape)
            strides = [builder.mul(num_columns, size), size][-num_dimensions:]
            made.strides = cgutils.pack_array(builder, strides)
            made.meminfo = cgutils.get_null_value(made.meminfo.type)
            made.parent = cgutils.get_null_value(made.parent.type)
            return made._getvalue()

        return array(*([types.int64] * (1 + is_one_of_many))), generate

    def _number(context: Any) -> Any:
        return context.get_data_type(getattr(types, kind))

    def describe_single(typingctx: Any, integers: Any) -> Any:
        return describe(typingctx)

    def describe_one(typingctx: Any, integers: Any, number: Any) -> Any:
        return describe(typingctx)

    return intrinsic(describe_one if is_one_of_many else describe_single, in_python=in_python)
