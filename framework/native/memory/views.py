"""Arrays seen in another shape, in Python and in compiled code."""

from __future__ import annotations

from typing import Any

from merganser.framework.native.compiler.extending import cgutils, intrinsic, types


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
