"""Lanes (lanes.py), as numba knows them: vectors of the processor."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, lower_cast, models, register_model

from merganser.framework.native.lanes import (
    NUM_LANES,
    all_of,
    any_of,
    copy_sign,
    element,
    four_points_at,
    fused,
    lanes_at,
    larger,
    set_lanes,
    set_six,
    six_at,
    smaller,
    spread,
    square_root,
    total_of_six,
    where,
    with_element,
)
from merganser.framework.native.numba_inside import AbstractTemplate, cgutils, infer_global, signature

_SIZES = (NUM_LANES, 6, 4)
_DOUBLE = ir.DoubleType()


class _LanesType(types.Type):
    """Some numbers; their vector as LLVM knows it."""

    def __init__(self, size: int) -> None:
        self.size, self.vector = size, ir.VectorType(_DOUBLE, size)
        super().__init__(f"Lanes{size}")


class _MaskType(types.Type):
    """As many truth values."""

    def __init__(self, size: int) -> None:
        self.size, self.vector = size, ir.VectorType(ir.IntType(1), size)
        super().__init__(f"Mask{size}")


_EVERY = {size: (_LanesType(size), _MaskType(size)) for size in _SIZES}
_LANES, _MASK = _EVERY[NUM_LANES]  # in signatures they stand for those of every size


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, fe_type.vector)


@register_model(_MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, fe_type.vector)


def _spread(builder: Any, value: Any, vector: Any) -> Any:
    """A vector with the same value everywhere."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


@lower_cast(types.Number, _LanesType)
def _number_to_lanes(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    return _spread(builder, context.cast(builder, value, fromty, types.float64), toty.vector)


@lower_cast(types.Boolean, _MaskType)
def _boolean_to_mask(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    return _spread(builder, builder.trunc(value, ir.IntType(1)) if value.type.width > 1 else value, toty.vector)


def _of_size(kinds: tuple[Any, ...], size: int | None) -> tuple[Any, ...]:
    """Types with lanes and masks of this size."""
    of_this_size = dict(zip((_LANES, _MASK), _EVERY.get(size or 0, (_LANES, _MASK))))
    return tuple(of_this_size.get(kind, kind) for kind in kinds)


def _fits(arg: Any, wanted: Any) -> bool:
    if arg is wanted:
        return True
    if isinstance(wanted, types.Integer):
        return isinstance(arg, types.Integer)
    return isinstance(arg, types.Number if isinstance(wanted, (_LanesType, types.Float)) else types.Boolean)


def _define(function: Any, generate: Callable[..., Any], *signatures: tuple[Any, ...]) -> None:
    """Has compiled code know a function or operator.

    Args:
        function: what Python calls.
        generate: writes it, from a builder and values.
        signatures: types of the result and of the arguments; single values join lanes and masks.
    """

    class Template(AbstractTemplate):
        key = function

        def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            size = next((arg.size for arg in args if isinstance(arg, (_LanesType, _MaskType))), None)
            for result, *wanted in (_of_size(each, size) for each in signatures):
                needs_lanes = any(isinstance(kind, (_LanesType, _MaskType)) for kind in wanted)
                if len(args) == len(wanted) and (size is not None) == needs_lanes and all(map(_fits, args, wanted)):
                    return signature(result, *wanted)
            return None

    infer_global(function)(Template)
    for each in dict.fromkeys(_of_size(each, size) for each in signatures for size in _SIZES):
        lower_builtin(function, *each[1:])(lambda context, builder, sig, values: generate(builder, *values))


def _comparison(name: str) -> Callable[..., Any]:
    return lambda builder, x, y: builder.fcmp_ordered(name, x, y)


def _call(name: str) -> Callable[..., Any]:
    """The code that calls a function of the compiler."""

    def generate(builder: Any, *values: Any) -> Any:
        kind = values[0].type
        full_name = f"{name}.v{kind.count}f64" if isinstance(kind, ir.VectorType) else f"{name}.f64"
        function_type = ir.FunctionType(kind, [kind] * len(values))
        return builder.call(cgutils.get_or_insert_function(builder.module, function_type, full_name), values)

    return generate


def _reduced(name: str) -> Callable[..., Any]:
    """The code that makes one truth value of a mask."""

    def generate(builder: Any, mask: Any) -> Any:
        if not isinstance(mask.type, ir.VectorType):
            return mask
        kind, full_name = ir.FunctionType(ir.IntType(1), [mask.type]), f"{name}.v{mask.type.count}i1"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, full_name), [mask])

    return generate


def _total(builder: Any, x: Any) -> Any:
    kind, name = ir.FunctionType(_DOUBLE, [_DOUBLE, x.type]), f"llvm.vector.reduce.fadd.v{x.type.count}f64"
    add = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(add, [ir.Constant(_DOUBLE, -0.0), x], fastmath=("reassoc",))


def _chosen(order: str) -> Callable[..., Any]:
    """The code that chooses x if this is how x and y compare, else y."""
    return lambda builder, x, y: builder.select(builder.fcmp_ordered(order, x, y), x, y)


_TWO, _TEST = (_LANES, _LANES, _LANES), (_MASK, _LANES, _LANES)
_define(operator.add, lambda builder, x, y: builder.fadd(x, y), _TWO)
_define(operator.sub, lambda builder, x, y: builder.fsub(x, y), _TWO)
_define(operator.mul, lambda builder, x, y: builder.fmul(x, y), _TWO)
_define(operator.truediv, lambda builder, x, y: builder.fdiv(x, y), _TWO)
_define(operator.neg, lambda builder, x: builder.fneg(x), _TWO[:2])
_define(abs, _call("llvm.fabs"), _TWO[:2])
for _order, _compare in (("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"), ("==", "eq")):
    _define(getattr(operator, _compare), _comparison(_order), _TEST)
_define(operator.ne, lambda builder, x, y: builder.fcmp_unordered("!=", x, y), _TEST)
_define(operator.and_, lambda builder, x, y: builder.and_(x, y), (_MASK, _MASK, _MASK))
_define(operator.or_, lambda builder, x, y: builder.or_(x, y), (_MASK, _MASK, _MASK))
_define(operator.invert, lambda builder, x: builder.not_(x), (_MASK, _MASK))

_PLAIN = types.float64
_define(square_root, _call("llvm.sqrt"), _TWO[:2], (_PLAIN, _PLAIN))
_define(copy_sign, _call("llvm.copysign"), _TWO, (_PLAIN, _PLAIN, _PLAIN))
_define(larger, _chosen(">"), _TWO, (_PLAIN, _PLAIN, _PLAIN))
_define(smaller, _chosen("<"), _TWO, (_PLAIN, _PLAIN, _PLAIN))
_define(
    where,
    lambda builder, mask, x, y: builder.select(mask, x, y),
    (_LANES, _MASK, _LANES, _LANES),
    (_MASK, _MASK, _MASK, _MASK),
    (_PLAIN, types.boolean, _PLAIN, _PLAIN),
    (types.boolean, types.boolean, types.boolean, types.boolean),
)
_define(any_of, _reduced("llvm.vector.reduce.or"), (types.boolean, _MASK), (types.boolean, types.boolean))
_define(all_of, _reduced("llvm.vector.reduce.and"), (types.boolean, _MASK), (types.boolean, types.boolean))


_define(fused, _call("llvm.fma"), (_LANES, _LANES, _LANES, _LANES), (_PLAIN, _PLAIN, _PLAIN, _PLAIN))
_define(element, lambda builder, x, k: builder.extract_element(x, k), (_PLAIN, _LANES, types.int64))
_define(with_element, lambda builder, x, k, v: builder.insert_element(x, v, k), (_LANES, _LANES, types.int64, _PLAIN))
_define(total_of_six, _total, (_PLAIN, _LANES))


@infer_global(spread)
class _Spread(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return signature(_LANES, types.float64)


@lower_builtin(spread, types.float64)
def _lower_spread(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    return _spread(builder, values[0], _LANES.vector)


# ------------------------------------------------------------------ arrays


def _is_of_doubles(kind: Any) -> bool:
    """Whether a type is that of arrays whose numbers stand as lanes do."""
    return isinstance(kind, types.Array) and kind.dtype == types.float64 and kind.layout == "C"


def _place(context: Any, builder: Any, array_type: Any, values: Any, step: int, vector: Any) -> Any:
    """Where a vector stands in an array: `step` numbers for each that its place counts."""
    data = context.make_array(array_type)(context, builder, values[0]).data
    first = builder.gep(data, [builder.mul(values[1], values[1].type(step))])
    return builder.bitcast(first, vector.as_pointer())


def _define_access(read: Any, write: Any, kind: _LanesType, step: int) -> None:
    """Has compiled code know functions that read and write lanes of an array.

    Args:
        read: of an array and a place.
        write: of an array, a place and lanes.
        kind: of the lanes.
        step: how many numbers a place stands for.
    """

    class Read(AbstractTemplate):
        key = read

        def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            return signature(kind, args[0], types.int64) if _is_of_doubles(args[0]) else None

    class Write(AbstractTemplate):
        key = write

        def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            fits = _is_of_doubles(args[0]) and args[0].mutable
            return signature(types.none, args[0], types.int64, kind) if fits else None

    def load(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.load(_place(context, builder, sig.args[0], values, step, kind.vector), align=8)

    def store(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        builder.store(values[2], _place(context, builder, sig.args[0], values, step, kind.vector), align=8)
        return context.get_dummy_value()

    infer_global(read)(Read)
    infer_global(write)(Write)
    lower_builtin(read, types.Array, types.int64)(load)
    lower_builtin(write, types.Array, types.int64, kind)(store)


_define_access(lanes_at, set_lanes, _LANES, NUM_LANES)
_define_access(six_at, set_six, _EVERY[6][0], 1)


@infer_global(four_points_at)
class _FourPointsAt(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return signature(types.UniTuple(_EVERY[4][0], 3), args[0], types.int64) if _is_of_doubles(args[0]) else None


@lower_builtin(four_points_at, types.Array, types.int64)
def _lower_four_points_at(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    block = ir.VectorType(_DOUBLE, 12)
    numbers = builder.load(_place(context, builder, sig.args[0], values, 3, block), align=8)
    columns = []
    for axis in range(3):
        chosen = ir.Constant(ir.VectorType(ir.IntType(32), 4), [3 * point + axis for point in range(4)])
        columns.append(builder.shuffle_vector(numbers, ir.Constant(block, ir.Undefined), chosen))
    return context.make_tuple(builder, sig.return_type, columns)
