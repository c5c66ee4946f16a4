"""Lanes (lanes.py), as numba knows them: vectors of the processor."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, models, register_model

from merganser.framework.native.lanes import (
    NUM_LANES,
    all_of,
    any_of,
    copy_sign,
    lanes_at,
    larger,
    set_lanes,
    smaller,
    spread,
    square_root,
    where,
)

_NUMBERS = ir.VectorType(ir.DoubleType(), NUM_LANES)
_TRUTHS = ir.VectorType(ir.IntType(1), NUM_LANES)


class _LanesType(types.Type):
    def __init__(self) -> None:
        super().__init__("Lanes")


class _MaskType(types.Type):
    def __init__(self) -> None:
        super().__init__("Mask")


_LANES, _MASK = _LanesType(), _MaskType()


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _NUMBERS)


@register_model(_MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _TRUTHS)


def _spread(builder: Any, value: Any, vector: Any) -> Any:
    """A vector with the same value everywhere."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), NUM_LANES), [0] * NUM_LANES)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


@lower_cast(types.Number, _LanesType)
def _number_to_lanes(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    return _spread(builder, context.cast(builder, value, fromty, types.float64), _NUMBERS)


@lower_cast(types.Boolean, _MaskType)
def _boolean_to_mask(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    return _spread(builder, builder.trunc(value, ir.IntType(1)) if value.type.width > 1 else value, _TRUTHS)


def _fits(arg: Any, wanted: Any) -> bool:
    if arg is wanted:
        return True
    return isinstance(arg, types.Number if wanted in (_LANES, types.float64) else types.Boolean)


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
            has_lanes = _LANES in args or _MASK in args
            for result, *wanted in signatures:
                needs_lanes = _LANES in wanted or _MASK in wanted
                if len(args) == len(wanted) and has_lanes == needs_lanes and all(map(_fits, args, wanted)):
                    return signature(result, *wanted)
            return None

    infer_global(function)(Template)
    for _, *wanted in signatures:
        lower_builtin(function, *wanted)(lambda context, builder, sig, values: generate(builder, *values))


def _comparison(name: str) -> Callable[..., Any]:
    return lambda builder, x, y: builder.fcmp_ordered(name, x, y)


def _call(name: str) -> Callable[..., Any]:
    """The code that calls a function of the compiler."""

    def generate(builder: Any, *values: Any) -> Any:
        kind = values[0].type
        full_name = f"{name}.v{NUM_LANES}f64" if kind == _NUMBERS else f"{name}.f64"
        called = get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * len(values)), full_name)
        return builder.call(called, values)

    return generate


def _reduced(name: str) -> Callable[..., Any]:
    """The code that makes one truth value of a mask."""

    def generate(builder: Any, mask: Any) -> Any:
        if mask.type != _TRUTHS:
            return mask
        kind = ir.FunctionType(ir.IntType(1), [_TRUTHS])
        return builder.call(get_or_insert_function(builder.module, kind, f"{name}.v{NUM_LANES}i1"), [mask])

    return generate


def _chosen(order: str) -> Callable[..., Any]:
    """The code that chooses x if this is how x and y compare, else y."""
    return lambda builder, x, y: builder.select(builder.fcmp_ordered(order, x, y), x, y)


def _row(context: Any, builder: Any, array_type: Any, values: Any) -> Any:
    """The address of a row of an array, as that of a vector."""
    data = context.make_array(array_type)(context, builder, values[0]).data
    first = builder.gep(data, [builder.mul(values[1], values[1].type(NUM_LANES))])
    return builder.bitcast(first, _NUMBERS.as_pointer())


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


@infer_global(spread)
class _Spread(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return signature(_LANES, types.float64)


@lower_builtin(spread, types.float64)
def _lower_spread(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    return _spread(builder, values[0], _NUMBERS)


@infer_global(lanes_at)
class _LanesAt(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return signature(_LANES, args[0], types.int64)


@lower_builtin(lanes_at, types.Array, types.int64)
def _lower_lanes_at(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    return builder.load(_row(context, builder, sig.args[0], values), align=8)


@infer_global(set_lanes)
class _SetLanes(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return signature(types.none, args[0], types.int64, _LANES)


@lower_builtin(set_lanes, types.Array, types.int64, _LANES)
def _lower_set_lanes(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    builder.store(values[2], _row(context, builder, sig.args[0], values), align=8)
    return context.get_dummy_value()
