"""The instructions of vertex_scan.py for the compiler.

The compiler makes no vector instructions of a loop that looks for the place of a maximum, so they are spelled out here
(5 % of the distance of two hulls of twelve vertices).
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from merganser.geometry.proximity.vertex_scan import MIN_VERTICES, farthest_of, vertex_at

_LANES = MIN_VERTICES
_DOUBLE, _INTEGER = ir.DoubleType(), ir.IntType(64)
_DOUBLES, _INTEGERS = ir.VectorType(_DOUBLE, _LANES), ir.VectorType(_INTEGER, _LANES)


@overload(farthest_of, inline="never", jit_options={"forceinline": True})
def _compiled(vertices: Any, first: Any, count: Any, n: Any) -> Any:
    def implementation(vertices: Any, first: Any, count: Any, n: Any) -> Any:
        return _scan(vertices, first, count, n[0], n[1], n[2])

    return implementation


@overload(vertex_at, inline="never", jit_options={"forceinline": True})
def _compiled_vertex(vertices: Any, k: Any) -> Any:
    def implementation(vertices: Any, k: Any) -> Any:
        return _row(vertices, k)

    return implementation


def _describe_row(typingctx: Any, vertices: Any, k: Any) -> Any:
    """Numba's description of a row, without what numba does for rows that are counted from the end."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array, row = values
        data = context.make_array(signature.args[0])(context, builder, array).data
        base = builder.gep(data, [builder.mul(row, _INTEGER(3))])
        numbers = [builder.load(builder.gep(base, [_INTEGER(axis)])) for axis in range(3)]
        return context.make_tuple(builder, signature.return_type, numbers)

    return types.UniTuple(types.float64, 3)(vertices, types.int64), generate


_row: Any = intrinsic(_describe_row)


def _describe(typingctx: Any, vertices: Any, first: Any, count: Any, x: Any, y: Any, z: Any) -> Any:
    """Numba's description of the scan."""
    signature = types.int64(vertices, types.int64, types.int64, types.float64, types.float64, types.float64)
    return signature, _generate


_scan: Any = intrinsic(_describe)


def _generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Four running maxima with their places, and the greatest of these in the end.

    The last four vertices are looked at together, be some of them known already or not.
    """
    array, first, count, *direction = values
    data = context.make_array(signature.args[0])(context, builder, array).data
    base = builder.gep(data, [builder.mul(first, _INTEGER(3))])
    n = [_splat(builder, component, _DOUBLES) for component in direction]
    last = builder.sub(count, _INTEGER(_LANES))
    before = builder.block
    loop, after = builder.append_basic_block("scan"), builder.append_basic_block("scanned")
    builder.branch(loop)

    builder.position_at_end(loop)
    i = builder.phi(_INTEGER)
    greatest, places = builder.phi(_DOUBLES), builder.phi(_INTEGERS)
    is_beyond = builder.icmp_signed(">", i, last)
    row = builder.select(is_beyond, last, i)
    value = _along(builder, builder.gep(base, [builder.mul(row, _INTEGER(3))]), n)
    here = builder.add(_splat(builder, row, _INTEGERS), ir.Constant(_INTEGERS, list(range(_LANES))))
    is_greater = builder.fcmp_ordered(">", value, greatest)
    next_greatest = builder.select(is_greater, value, greatest)
    next_places = builder.select(is_greater, here, places)
    next_i = builder.add(i, _INTEGER(_LANES))
    i.add_incoming(_INTEGER(0), before)
    i.add_incoming(next_i, loop)
    greatest.add_incoming(ir.Constant(_DOUBLES, [-math.inf] * _LANES), before)
    greatest.add_incoming(next_greatest, loop)
    places.add_incoming(ir.Constant(_INTEGERS, [0] * _LANES), before)
    places.add_incoming(next_places, loop)
    builder.cbranch(builder.icmp_signed("<", next_i, count), loop, after)

    builder.position_at_end(after)
    lanes = [ir.Constant(ir.IntType(32), k) for k in range(_LANES)]
    found = [(builder.extract_element(next_greatest, k), builder.extract_element(next_places, k)) for k in lanes]
    while len(found) > 1:
        found = [_greater(builder, *found[k : k + 2]) for k in range(0, len(found), 2)]
    return found[0][1]


def _splat(builder: Any, value: Any, kind: Any) -> Any:
    """A vector of equal elements."""
    undefined, zero = ir.Constant(kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    one = builder.insert_element(undefined, value, zero)
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES))


def _along(builder: Any, row: Any, n: Any) -> Any:
    """Dot products of n and the four vertices from a row on."""
    block = ir.VectorType(_DOUBLE, 3 * _LANES)
    numbers = builder.load(builder.bitcast(row, block.as_pointer()), align=8)
    sum_ = None
    for axis in range(3):
        column = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [3 * lane + axis for lane in range(_LANES)])
        part = builder.fmul(builder.shuffle_vector(numbers, ir.Constant(block, ir.Undefined), column), n[axis])
        sum_ = part if sum_ is None else builder.fadd(sum_, part)
    return sum_


def _greater(builder: Any, one: Any, other: Any) -> Any:
    is_greater = builder.fcmp_ordered(">", other[0], one[0])
    return tuple(builder.select(is_greater, y, x) for x, y in zip(one, other))
