"""Lists of arrays in the code of operations: vectors that stand anywhere among the numbers of a Context.

Imported when something is compiled: it imports numba.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, make_attribute_wrapper, models, overload, register_model

__all__ = ["arrays_at", "further"]


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
    """The list of arrays among the numbers at `values` that `places` tells of."""

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


@overload(operator.getitem)
def _item(arrays: Any, k: Any) -> Any:
    if not isinstance(arrays, _ArraysType):
        return None

    def item(arrays: Any, k: Any) -> Any:
        place, first, size = arrays.places[3 * k], arrays.places[3 * k + 1], arrays.places[3 * k + 2]
        return numba.carray(further(arrays.values, place + first), size)

    return item


@overload(len)
def _length(arrays: Any) -> Any:
    if not isinstance(arrays, _ArraysType):
        return None

    def length(arrays: Any) -> Any:
        return arrays.size

    return length
