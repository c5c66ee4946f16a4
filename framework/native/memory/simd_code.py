"""Rows of six numbers (simd.py), as numba knows them: vectors of the processor."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, lower_cast, models, register_model

from merganser.framework.native.compiler.numba_inside import AbstractTemplate, cgutils, infer_global, signature
from merganser.framework.native.memory.simd import (
    element,
    fused,
    set_six,
    six_at,
    square_root,
    total_of_six,
    where,
    with_element,
)

_DOUBLE = ir.DoubleType()
_NUMBERS, _TRUTHS = ir.VectorType(_DOUBLE, 6), ir.VectorType(ir.IntType(1), 6)


class _LanesType(types.Type):
    """Six numbers."""

    def __init__(self) -> None:
        super().__init__("Lanes6")


class _MaskType(types.Type):
    """As many truth values."""

    def __init__(self) -> None:
        super().__init__("Mask6")


_LANES, _MASK = _LanesType(), _MaskType()


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _NUMBERS)


@register_model(_MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _TRUTHS)


@lower_cast(types.Number, _LanesType)
def _number_to_lanes(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    number = context.cast(builder, value, fromty, types.float64)
    first = builder.insert_element(ir.Constant(_NUMBERS, ir.Undefined), number, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), 6), [0] * 6)
    return builder.shuffle_vector(first, ir.Constant(_NUMBERS, ir.Undefined), zeros)


def _fits(arg: Any, wanted: Any) -> bool:
    if arg is wanted:
        return True
    if isinstance(wanted, types.Integer):
        return isinstance(arg, types.Integer)
    return isinstance(arg, types.Number if isinstance(wanted, (_LanesType, types.Float)) else types.Boolean)


def _define(function: Any, generate: Callable[..., Any], *signatures: tuple[Any, ...]) -> None:
    """Has compiled code know a function or operator.

    Args:
        generate: writes it, from a builder and values.
        signatures: types of the result and of the arguments; single numbers join rows.
    """

    class Template(AbstractTemplate):
        key = function

        def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            has_lanes = any(isinstance(arg, (_LanesType, _MaskType)) for arg in args)
            for result, *wanted in signatures:
                needs_lanes = any(isinstance(kind, (_LanesType, _MaskType)) for kind in wanted)
                if len(args) == len(wanted) and has_lanes == needs_lanes and all(map(_fits, args, wanted)):
                    return signature(result, *wanted)
            return None

    infer_global(function)(Template)
    for each in signatures:
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


def _total(builder: Any, x: Any) -> Any:
    kind, name = ir.FunctionType(_DOUBLE, [_DOUBLE, x.type]), f"llvm.vector.reduce.fadd.v{x.type.count}f64"
    add = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(add, [ir.Constant(_DOUBLE, -0.0), x], fastmath=("reassoc",))


_TWO, _TEST = (_LANES, _LANES, _LANES), (_MASK, _LANES, _LANES)
_define(operator.add, lambda builder, x, y: builder.fadd(x, y), _TWO)
_define(operator.sub, lambda builder, x, y: builder.fsub(x, y), _TWO)
_define(operator.mul, lambda builder, x, y: builder.fmul(x, y), _TWO)
_define(operator.truediv, lambda builder, x, y: builder.fdiv(x, y), _TWO)
_define(operator.neg, lambda builder, x: builder.fneg(x), _TWO[:2])
for _order, _compare in (("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"), ("==", "eq")):
    _define(getattr(operator, _compare), _comparison(_order), _TEST)
_define(operator.ne, lambda builder, x, y: builder.fcmp_unordered("!=", x, y), _TEST)

_PLAIN = types.float64
_define(square_root, _call("llvm.sqrt"), _TWO[:2], (_PLAIN, _PLAIN))
_define(
    where,
    lambda builder, mask, x, y: builder.select(mask, x, y),
    (_LANES, _MASK, _LANES, _LANES),
    (_PLAIN, types.boolean, _PLAIN, _PLAIN),
)
_define(fused, _call("llvm.fma"), (_LANES, _LANES, _LANES, _LANES), (_PLAIN, _PLAIN, _PLAIN, _PLAIN))
_define(element, lambda builder, x, k: builder.extract_element(x, k), (_PLAIN, _LANES, types.int64))
_define(with_element, lambda builder, x, k, v: builder.insert_element(x, v, k), (_LANES, _LANES, types.int64, _PLAIN))
_define(total_of_six, _total, (_PLAIN, _LANES))


# ------------------------------------------------------------------ arrays


def _is_of_doubles(kind: Any) -> bool:
    """Whether a type is that of arrays whose numbers stand one after the other."""
    return isinstance(kind, types.Array) and kind.dtype == types.float64 and kind.layout == "C"


def _place(context: Any, builder: Any, array_type: Any, values: Any) -> Any:
    """Where a row is in an array."""
    data = context.make_array(array_type)(context, builder, values[0]).data
    return builder.bitcast(builder.gep(data, [values[1]]), _NUMBERS.as_pointer())


@infer_global(six_at)
class _SixAt(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return signature(_LANES, args[0], types.int64) if _is_of_doubles(args[0]) else None


@infer_global(set_six)
class _SetSix(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        fits = _is_of_doubles(args[0]) and args[0].mutable
        return signature(types.none, args[0], types.int64, _LANES) if fits else None


@lower_builtin(six_at, types.Array, types.int64)
def _lower_six_at(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    return builder.load(_place(context, builder, sig.args[0], values), align=8)


@lower_builtin(set_six, types.Array, types.int64, _LanesType)
def _lower_set_six(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    builder.store(values[2], _place(context, builder, sig.args[0], values), align=8)
    return context.get_dummy_value()
