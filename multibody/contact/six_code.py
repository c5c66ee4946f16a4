"""The instructions of six.py for the compiler: rows of six numbers as vectors of the processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from merganser.multibody.contact.six import (
    add_contact_product_of_six,
    add_three_rows_of_six,
    divide_six_columns,
    factor_six,
    subtract_product_of_six,
    subtract_six_times,
    subtract_times_six,
    three_rows_times_six,
)

_DOUBLE = ir.DoubleType()
_INT = ir.IntType(64)
_SIX = ir.VectorType(_DOUBLE, 6)
_LANE = ir.IntType(32)
_ZERO = ir.Constant(_LANE, 0)


class _Rows:
    """Writes operations on rows of six numbers of an array."""

    def __init__(self, context: Any, builder: Any, array_type: Any, array: Any) -> None:
        self._builder = builder
        self._data = context.make_array(array_type)(context, builder, array).data

    def load(self, at: Any) -> Any:
        return self._builder.load(self._place(at), align=8)

    def store(self, at: Any, value: Any) -> None:
        self._builder.store(value, self._place(at), align=8)

    def spread(self, at: Any) -> Any:
        """Six times one number."""
        number = self._builder.load(self._builder.gep(self._data, [at]))
        row = self._builder.insert_element(ir.Constant(_SIX, ir.Undefined), number, _ZERO)
        return _spread(self._builder, row, 0)

    def _place(self, at: Any) -> Any:
        return self._builder.bitcast(self._builder.gep(self._data, [at]), _SIX.as_pointer())


def _sum(builder: Any, row: Any) -> Any:
    """Of six numbers, in whatever order is fastest."""
    kind = ir.FunctionType(_DOUBLE, [_DOUBLE, _SIX])
    add = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.fadd.v6f64")
    return builder.call(add, [ir.Constant(_DOUBLE, -0.0), row], fastmath=("reassoc",))


def _spread(builder: Any, row: Any, k: int) -> Any:
    """Six times number k of a row."""
    return builder.shuffle_vector(row, row, ir.Constant(ir.VectorType(_LANE, 6), [k] * 6))


def _fused(builder: Any) -> Callable[[Any, Any, Any], Any]:
    """x y + z, rounded once."""
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_SIX, [_SIX] * 3), "llvm.fma.v6f64")
    return lambda x, y, z: builder.call(function, [x, y, z])


def _add_contact_product(typingctx: Any, G: Any, left: Any, right: Any, start: Any, width: Any, panels: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = [_Rows(context, builder, signature.args[k], arguments[k]) for k in (0, 1, 2, 5)]
        gain, left, right, panel = rows
        start, width = arguments[3], arguments[4]
        fma = _fused(builder)
        G = gain.load(ir.Constant(_INT, 0))
        L = [left.load(ir.Constant(_INT, 6 * r)) for r in range(3)]
        R = [right.load(ir.Constant(_INT, 6 * r)) for r in range(3)]
        columns = []
        for entries in ((0, 1, 3), (1, 2, 4), (3, 4, 5)):
            total = builder.fmul(_spread(builder, G, entries[0]), L[0])
            for r in (1, 2):
                total = fma(_spread(builder, G, entries[r]), L[r], total)
            columns.append(total)
        for i in range(6):
            total = panel.load(start)
            for r in range(3):
                total = fma(_spread(builder, columns[r], i), R[r], total)
            panel.store(start, total)
            start = builder.add(start, width)
        return context.get_dummy_value()

    return types.void(G, left, right, types.int64, types.int64, panels), generate


def _subtract_product(typingctx: Any, left: Any, right: Any, width: Any, target: Any, target_width: Any, U: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right, width, target, target_width = arguments[:5]
        panel = _Rows(context, builder, signature.args[5], arguments[5])
        fma = _fused(builder)
        rows = []
        for _ in range(6):
            rows.append((builder.fneg(panel.load(left)), panel.load(right)))
            left, right = builder.add(left, width), builder.add(right, width)
        for a in range(6):
            total = panel.load(target)
            for u, v in rows:
                total = fma(_spread(builder, u, a), v, total)
            panel.store(target, total)
            target = builder.add(target, target_width)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5, U), generate


def _factor(typingctx: Any, start: Any, width: Any, U: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, width, _ = arguments
        panel = _Rows(context, builder, signature.args[2], arguments[2])
        fma = _fused(builder)
        root = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_DOUBLE, [_DOUBLE]), "llvm.sqrt.f64")
        rows: list[Any] = []
        is_positive = ir.Constant(ir.IntType(1), 1)
        for i in range(6):
            row = panel.load(at)
            for above in rows:
                row = fma(_spread(builder, builder.fneg(above), i), above, row)
            pivot = builder.extract_element(row, ir.Constant(_LANE, i))
            is_positive = builder.and_(is_positive, builder.fcmp_ordered(">", pivot, ir.Constant(_DOUBLE, 0.0)))
            inverse = builder.fdiv(ir.Constant(_DOUBLE, 1.0), builder.call(root, [pivot]))
            row = builder.fmul(row, _spread(builder, builder.insert_element(row, inverse, ir.Constant(_LANE, i)), i))
            rows.append(row)
            panel.store(at, builder.insert_element(row, inverse, ir.Constant(_LANE, i)))
            at = builder.add(at, width)
        return is_positive

    return types.boolean(types.int64, types.int64, U), generate


def _divide(typingctx: Any, start: Any, width: Any, column: Any, U: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start, width, column, _ = arguments
        panel = _Rows(context, builder, signature.args[3], arguments[3])
        fma = _fused(builder)
        starts = [start]
        for _ in range(5):
            starts.append(builder.add(starts[-1], width))
        rows: list[Any] = []
        for i in range(6):
            at = builder.add(starts[i], column)
            row = panel.load(at)
            for k in range(i):
                scale = panel.spread(builder.add(starts[k], ir.Constant(_INT, i)))
                row = fma(builder.fneg(scale), rows[k], row)
            row = builder.fmul(row, panel.spread(builder.add(starts[i], ir.Constant(_INT, i))))
            rows.append(row)
            panel.store(at, row)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, U), generate


def _subtract_transposed(typingctx: Any, start: Any, width: Any, factor: Any, target: Any, U: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, width, factor, target = arguments[:4]
        block, vector = (_Rows(context, builder, signature.args[k], arguments[k]) for k in (4, 5))
        fma = _fused(builder)
        given, total = builder.fneg(vector.load(factor)), vector.load(target)
        for i in range(6):
            total = fma(_spread(builder, given, i), block.load(at), total)
            at = builder.add(at, width)
        vector.store(target, total)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4, U, x), generate


def _subtract(typingctx: Any, start: Any, width: Any, factor: Any, target: Any, U: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, width, factor, target = arguments[:4]
        block, vector = (_Rows(context, builder, signature.args[k], arguments[k]) for k in (4, 5))
        given, result = vector.load(factor), vector.load(target)
        products = ir.Constant(_SIX, ir.Undefined)
        for i in range(6):
            product = _sum(builder, builder.fmul(block.load(at), given))
            products = builder.insert_element(products, product, ir.Constant(_LANE, i))
            at = builder.add(at, width)
        vector.store(target, builder.fsub(result, products))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4, U, x), generate


def _multiply_rows(typingctx: Any, start: Any, at: Any, J: Any, x: Any) -> Any:
    result = types.UniTuple(types.float64, 3)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start, at = arguments[:2]
        rows, vector = (_Rows(context, builder, signature.args[k], arguments[k]) for k in (2, 3))
        given, sums = vector.load(at), []
        for r in range(3):
            row = rows.load(builder.add(start, ir.Constant(_INT, 6 * r)))
            sums.append(_sum(builder, builder.fmul(row, given)))
        return context.make_tuple(builder, result, sums)

    return result(types.int64, types.int64, J, x), generate


def _add_rows(typingctx: Any, start: Any, at: Any, y_0: Any, y_1: Any, y_2: Any, J: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start, at = arguments[:2]
        rows, vector = (_Rows(context, builder, signature.args[k], arguments[k]) for k in (5, 6))
        fma = _fused(builder)
        total = vector.load(at)
        for r in range(3):
            scale = builder.insert_element(ir.Constant(_SIX, ir.Undefined), arguments[2 + r], _ZERO)
            total = fma(_spread(builder, scale, 0), rows.load(builder.add(start, ir.Constant(_INT, 6 * r))), total)
        vector.store(at, total)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, *[types.float64] * 3, J, x), generate


def _replace(function: Callable[..., Any], instructions: Any) -> None:
    """Has compiled code take the instructions in place of a function of the same arguments."""
    write: Any = intrinsic(instructions)

    def compiled(*arguments: Any) -> Any:
        return write(*arguments)

    overload(function, strict=False)(lambda *arguments: compiled)


_replace(add_contact_product_of_six, _add_contact_product)
_replace(subtract_product_of_six, _subtract_product)
_replace(factor_six, _factor)
_replace(divide_six_columns, _divide)
_replace(subtract_six_times, _subtract_transposed)
_replace(subtract_times_six, _subtract)
_replace(three_rows_times_six, _multiply_rows)
_replace(add_three_rows_of_six, _add_rows)
