"""Lanes (simd.py), as numba knows them: vectors of the processor, of whatever width."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, lower_cast, models, register_model

from merganser.framework.native.compiler.numba_inside import (
    AbstractTemplate,
    AttributeTemplate,
    Conversion,
    cgutils,
    infer_getattr,
    infer_global,
    lower_getattr,
    signature,
)
from merganser.framework.native.memory.simd import (
    LANES,
    LEAVE,
    all_of,
    any_of,
    both,
    either,
    element,
    forget_leave,
    fused,
    greatest,
    has_left,
    set_six,
    six_at,
    square_root,
    total_of_six,
    where,
    width_of,
    with_element,
)

_DOUBLE, _WORD = ir.DoubleType(), ir.IntType(32)


class LanesType(types.Type):
    """Several numbers.

    Args:
        width: how many.
        part: how many each of its elements is; more than one in a row of lanes.
    """

    def __init__(self, width: int, part: int = 1) -> None:
        self.width, self.part, self.bitwidth = width, part, 64 * width
        super().__init__(f"Lanes{width}" if part == 1 else f"Lanes{width}of{part}")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Whether a number, or lanes, may take the place of as many equal ones."""
        is_part = isinstance(other, LanesType) and other.width == self.part
        return Conversion.safe if isinstance(other, types.Float | types.Integer) or is_part else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        """The type of what is lanes here and a number there."""
        return self if isinstance(other, types.Float | types.Integer) else None


class _MaskType(types.Type):
    """As many truth values; where one is wanted, all of them."""

    def __init__(self, width: int) -> None:
        self.width, self.part = width, 1
        super().__init__(f"Mask{width}")

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, types.Boolean) else None

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Whether one truth value may take the place of as many."""
        return Conversion.safe if isinstance(other, types.Boolean) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return types.boolean if isinstance(other, types.Boolean) else None


lanes_of = functools.cache(LanesType)
_mask_of = functools.cache(_MaskType)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, ir.VectorType(_DOUBLE, fe_type.width))


@register_model(_MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, ir.VectorType(ir.IntType(1), fe_type.width))


@lower_cast(types.Number, LanesType)
def _number_to_lanes(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    number, kind = context.cast(builder, value, fromty, types.float64), ir.VectorType(_DOUBLE, toty.width)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, _WORD(0))
    zeros = ir.Constant(ir.VectorType(_WORD, toty.width), [0] * toty.width)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), zeros)


@lower_cast(LanesType, LanesType)
def _lanes_to_row(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    return _parts(builder, value, [k % fromty.width for k in range(toty.width)])


def _parts(builder: Any, x: Any, places: list[int]) -> Any:
    """The lanes of x at these places; where there are no such, -0."""
    zeros = ir.Constant(x.type, [-0.0] * x.type.count)
    return builder.shuffle_vector(x, zeros, ir.Constant(ir.VectorType(_WORD, len(places)), places))


@lower_cast(types.Boolean, _MaskType)
def _truth_to_mask(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    bits = ir.IntType(toty.width)
    return builder.bitcast(builder.select(value, bits(-1), bits(0)), ir.VectorType(ir.IntType(1), toty.width))


@lower_cast(_MaskType, types.Boolean)
def _mask_to_truth(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    """Whether all are true. Where only some are, lanes part: that is noted for `has_left`."""
    bits = builder.bitcast(value, ir.IntType(fromty.width))
    none, every = (builder.icmp_unsigned("==", bits, bits.type(number)) for number in (0, -1))
    with builder.if_then(builder.not_(builder.or_(none, every)), likely=False):
        builder.store(_WORD(1), _word_of_thread(builder))
    return every


def _word_of_thread(builder: Any) -> Any:
    """A pointer to a 32-bit integer that each thread has of its own."""
    kind = ir.FunctionType(_WORD.as_pointer(), [])
    function = cgutils.get_or_insert_function(builder.module, kind, LEAVE)
    function.attributes.add("readnone")
    function.attributes.add("nounwind")
    return builder.call(function, [])


# ------------------------------------------------------------------ functions and operators

_LANES, _MASK, _PART = "lanes", "mask", "part"  # in signatures
_TYPES: dict[Any, Any] = {_LANES: LanesType, _MASK: _MaskType, _PART: types.Type}


def _as_wide_as(widest: Any, kind: Any) -> Any:
    if kind is _PART:
        return types.float64 if widest.part == 1 else lanes_of(widest.part)
    return lanes_of(widest.width, widest.part) if kind is _LANES else _mask_of(widest.width) if kind is _MASK else kind


def _fits(arg: Any, wanted: Any) -> bool:
    if arg is wanted:
        return True
    if isinstance(wanted, types.Integer):
        return isinstance(arg, types.Integer)
    if isinstance(wanted, LanesType) and isinstance(arg, LanesType):
        return bool(arg.width == wanted.part)
    return isinstance(arg, types.Number if isinstance(wanted, (LanesType, types.Float)) else types.Boolean)


def _define(
    function: Any, generate: Callable[..., Any], *signatures: tuple[Any, ...], needs_types: bool = False
) -> None:
    """Has compiled code know a function or operator.

    Args:
        generate: writes it, from a builder and values; or as numba's functions do, if it needs the types.
        signatures: types of the result and of the arguments; single numbers join lanes.
    """

    class Template(AbstractTemplate):
        key = function

        def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            several = [arg for arg in args if isinstance(arg, (LanesType, _MaskType))]
            widest = max(several, key=lambda arg: (arg.width, arg.part), default=None)
            for result, *given in signatures:
                is_right = bool(several) == bool({*given} & {*_TYPES})
                wanted = [_as_wide_as(widest, kind) for kind in given] if is_right else ()
                if len(args) == len(wanted) and all(map(_fits, args, wanted)):
                    return signature(_as_wide_as(widest, result), *wanted)
            return None

    infer_global(function)(Template)
    for each in signatures:
        kinds = [_TYPES.get(kind, kind) for kind in each[1:]]
        of_values = lambda context, builder, sig, values: generate(builder, *values)  # noqa: E731
        lower_builtin(function, *kinds)(generate if needs_types else of_values)


def _comparison(name: str) -> Callable[..., Any]:
    return lambda builder, x, y: builder.fcmp_ordered(name, x, y)


def _call(name: str) -> Callable[..., Any]:
    """The code that calls a function of the compiler."""

    def generate(builder: Any, *values: Any) -> Any:
        kind = values[0].type
        return _called(builder, f"{name}.v{kind.count}f64" if hasattr(kind, "count") else f"{name}.f64", *values)

    return generate


def _called(builder: Any, name: str, *values: Any) -> Any:
    kind = ir.FunctionType(values[0].type, [value.type for value in values])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)


def _call_each(name: str) -> Callable[..., Any]:
    """The code that calls the function of single numbers for one lane after the other: with the bits that each has."""

    def generate(builder: Any, *values: Any) -> Any:
        result = ir.Constant(values[0].type, ir.Undefined)
        for k in range(values[0].type.count):
            number = _called(builder, name, *(builder.extract_element(value, _WORD(k)) for value in values))
            result = builder.insert_element(result, number, _WORD(k))
        return result

    return generate


def _total(builder: Any, x: Any) -> Any:
    """((x_0 + x_4) + x_2) + ((x_1 + x_5) + x_3), whatever the parts are."""
    part = x.type.count // 6
    for size in (4, 2, 1):
        first = _parts(builder, x, list(range(size * part)))
        rest = _parts(builder, x, [min(k, x.type.count) for k in range(size * part, 2 * size * part)])
        x = builder.fadd(first, rest)
    return builder.extract_element(x, _WORD(0)) if part == 1 else x


def _slot_of_parts(builder: Any, x: Any, part: Any) -> tuple[Any, Any]:
    """Memory for x, and the same as an array of its parts."""
    slot = cgutils.alloca_once(builder, x.type)
    builder.store(x, slot)
    return slot, builder.bitcast(slot, part.as_pointer())


def _element(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    if sig.args[0].part == 1:
        return builder.extract_element(*values)
    _, parts = _slot_of_parts(builder, values[0], context.get_value_type(sig.return_type))
    return builder.load(builder.gep(parts, values[1:]), align=8)


def _with_element(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    x, k, value = values
    if sig.args[0].part == 1:
        return builder.insert_element(x, value, k)
    slot, parts = _slot_of_parts(builder, x, value.type)
    builder.store(value, builder.gep(parts, [k]), align=8)
    return builder.load(slot)


def _greatest(builder: Any, x: Any) -> Any:
    if not hasattr(x.type, "count"):
        return x
    result = builder.extract_element(x, _WORD(0))
    for k in range(1, x.type.count):
        number = builder.extract_element(x, _WORD(k))
        result = builder.select(builder.fcmp_ordered(">", number, result), number, result)
    return result


def _chosen(order: str) -> Callable[..., Any]:
    """The second argument where it stands so to the first one, as min and max of numbers."""
    return lambda builder, x, y: builder.select(builder.fcmp_ordered(order, y, x), y, x)


def _any(builder: Any, mask: Any) -> Any:
    bits = builder.bitcast(mask, ir.IntType(getattr(mask.type, "count", 1)))
    return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))


def _all(builder: Any, mask: Any) -> Any:
    bits = builder.bitcast(mask, ir.IntType(getattr(mask.type, "count", 1)))
    return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, -1))


def _is_finite(builder: Any, x: Any) -> Any:
    return builder.fcmp_ordered("==", builder.fsub(x, x), ir.Constant(x.type, [0.0] * x.type.count))


_TWO, _TEST = (_LANES, _LANES, _LANES), (_MASK, _LANES, _LANES)
for _names, _generate in (
    ("add iadd", lambda builder, x, y: builder.fadd(x, y)),
    ("sub isub", lambda builder, x, y: builder.fsub(x, y)),
    ("mul imul", lambda builder, x, y: builder.fmul(x, y)),
    ("truediv itruediv", lambda builder, x, y: builder.fdiv(x, y)),
):
    for _name in _names.split():
        _define(getattr(operator, _name), _generate, _TWO)
_define(operator.neg, lambda builder, x: builder.fneg(x), _TWO[:2])
for _order, _compare in (("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"), ("==", "eq")):
    _define(getattr(operator, _compare), _comparison(_order), _TEST)
_define(operator.ne, lambda builder, x, y: builder.fcmp_unordered("!=", x, y), _TEST)
_define(max, _chosen(">"), _TWO)
_define(min, _chosen("<"), _TWO)
_define(abs, _call("llvm.fabs"), _TWO[:2])
_define(math.isfinite, _is_finite, (_MASK, _LANES))
for _library in (math, np):
    _define(_library.sqrt, _call("llvm.sqrt"), _TWO[:2])
    _define(_library.floor, _call("llvm.floor"), _TWO[:2])
    for _name in ("sin", "cos", "exp"):
        _define(getattr(_library, _name), _call_each(f"llvm.{_name}.f64"), _TWO[:2])
_define(math.atan2, _call_each("atan2"), _TWO)
for _library in (math, np):
    _define(_library.tanh, _call_each("tanh"), _TWO[:2])

_PLAIN = types.float64
_define(square_root, _call("llvm.sqrt"), _TWO[:2], (_PLAIN, _PLAIN))
_define(
    where,
    lambda builder, mask, x, y: builder.select(mask, x, y),
    (_LANES, _MASK, _LANES, _LANES),
    (_PLAIN, types.boolean, _PLAIN, _PLAIN),
)
_define(any_of, _any, (types.boolean, _MASK), (types.boolean, types.boolean))
_define(all_of, _all, (types.boolean, _MASK), (types.boolean, types.boolean))
_BOTH = (_MASK, _MASK, _MASK), (types.boolean, types.boolean, types.boolean)
_define(both, lambda builder, x, y: builder.and_(x, y), *_BOTH)
_define(either, lambda builder, x, y: builder.or_(x, y), *_BOTH)
_define(greatest, _greatest, (_PLAIN, _LANES), (_PLAIN, _PLAIN))
_define(width_of, lambda builder, x: ir.Constant(ir.IntType(64), x.type.count), (types.int64, _LANES))
_define(fused, _call("llvm.fma"), (_LANES, _LANES, _LANES, _LANES), (_PLAIN, _PLAIN, _PLAIN, _PLAIN))
_define(element, _element, (_PART, _LANES, types.int64), needs_types=True)
_define(with_element, _with_element, (_LANES, _LANES, types.int64, _PART), needs_types=True)
_define(total_of_six, _total, (_PART, _LANES))


@infer_global(operator.pow)
class _Power(AbstractTemplate):
    """Integer powers that are known are products, as those of numbers."""

    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        base, exponent = args
        if isinstance(base, LanesType) and isinstance(exponent, types.Float | LanesType):
            return signature(base, base, base)
        is_product = isinstance(exponent, types.IntegerLiteral) and exponent.literal_value >= 0
        return signature(base, base, exponent) if isinstance(base, LanesType) and is_product else None


@lower_builtin(operator.pow, LanesType, LanesType)
def _lower_power(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    return _call_each("llvm.pow.f64")(builder, *values)


@lower_builtin(operator.pow, LanesType, types.IntegerLiteral)
def _lower_product(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    exponent, x = sig.args[1].literal_value, values[0]
    result = ir.Constant(x.type, [1.0] * x.type.count)
    while exponent:
        result = builder.fmul(result, x) if exponent & 1 else result
        exponent, x = exponent >> 1, builder.fmul(x, x)
    return result


def _define_of_mask(function: Any, result: Any, generate: Callable[..., Any]) -> None:
    """The same for a function of the one truth value of a mask."""

    class Template(AbstractTemplate):
        key = function

        def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            return signature(result, *args) if len(args) == 1 and isinstance(args[0], _MaskType) else None

    infer_global(function)(Template)

    @lower_builtin(function, _MaskType)
    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return generate(builder, context.cast(builder, values[0], sig.args[0], types.boolean))


_define_of_mask(bool, types.boolean, lambda builder, truth: truth)
_define_of_mask(operator.not_, types.boolean, lambda builder, truth: builder.not_(truth))
_define_of_mask(int, types.int64, lambda builder, truth: builder.zext(truth, ir.IntType(64)))


@infer_getattr
class _Parts(AttributeTemplate):
    key = LanesType

    def resolve_real(self, kind: Any) -> Any:
        return kind


@lower_getattr(LanesType, "real")
def _real(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return value


@infer_global(forget_leave)
class _ForgetLeave(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return None if args else signature(types.none)


@infer_global(has_left)
class _HasLeft(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return None if args else signature(types.boolean)


@lower_builtin(forget_leave)
def _lower_forget_leave(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    builder.store(_WORD(0), _word_of_thread(builder))
    return context.get_dummy_value()


@lower_builtin(has_left)
def _lower_has_left(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    return builder.icmp_unsigned("!=", builder.load(_word_of_thread(builder)), _WORD(0))


# ------------------------------------------------------------------ arrays of numbers


def _row_of(kind: Any) -> Any:
    """The type of six elements of arrays whose numbers, or lanes, stand one after the other; None of others."""
    if not (isinstance(kind, types.Array) and kind.layout == "C"):
        return None
    if isinstance(kind.dtype, LanesType):
        return lanes_of(6 * kind.dtype.width, kind.dtype.width)
    return lanes_of(6) if kind.dtype == types.float64 else None


def _place(context: Any, builder: Any, array_type: Any, values: Any) -> Any:
    """Where a row is in an array."""
    data = context.make_array(array_type)(context, builder, values[0]).data
    row = context.get_value_type(_row_of(array_type))
    return builder.bitcast(builder.gep(data, [values[1]]), row.as_pointer())


@infer_global(six_at)
class _SixAt(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        row = _row_of(args[0])
        return None if row is None else signature(row, args[0], types.int64)


@infer_global(set_six)
class _SetSix(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        row = _row_of(args[0])
        return None if row is None or not args[0].mutable else signature(types.none, args[0], types.int64, row)


@lower_builtin(six_at, types.Array, types.int64)
def _lower_six_at(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    return builder.load(_place(context, builder, sig.args[0], values), align=8)


@lower_builtin(set_six, types.Array, types.int64, LanesType)
def _lower_set_six(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    builder.store(values[2], _place(context, builder, sig.args[0], values), align=8)
    return context.get_dummy_value()


# ------------------------------------------------------------------ lanes in place of numbers


def with_lanes(kind: Any) -> Any:
    """The type of compiled code for one that numba has for arrays and records with lanes (`in_lanes`).

    They may stand at any address: arrays of numpy do, and processors take hardly longer for it.
    """
    if isinstance(kind, types.Record):
        if list(kind.fields) == [LANES]:
            return lanes_of(kind.bitwidth // 64)
        has_lanes = any(with_lanes(kind.typeof(name)) != kind.typeof(name) for name in kind.fields)
        return _RecordOfLanes(kind) if has_lanes else kind
    if isinstance(kind, types.NamedTuple):
        return types.NamedTuple(tuple(map(with_lanes, kind.types)), kind.instance_class)
    if not isinstance(kind, types.Array) or with_lanes(kind.dtype) == kind.dtype:
        return kind
    element = with_lanes(kind.dtype)
    if not isinstance(kind, types.NestedArray):
        return types.Array(element, kind.ndim, kind.layout, readonly=not kind.mutable, aligned=False)
    nested = types.NestedArray(element, kind.shape)
    nested.aligned = False
    return nested


class _RecordOfLanes(types.Record):
    """A record with lanes in its fields."""

    def __init__(self, kind: Any) -> None:
        self.fields = {name: field._replace(type=with_lanes(field.type)) for name, field in kind.fields.items()}
        self.size, self.aligned, self.bitwidth = kind.size, False, kind.bitwidth
        types.Type.__init__(self, f"lanes in {kind.name}")

    @property
    def dtype(self) -> Any:
        """Not known to numpy."""
        return None


@register_model(_RecordOfLanes)
class _RecordOfLanesModel(models.RecordModel):
    pass
