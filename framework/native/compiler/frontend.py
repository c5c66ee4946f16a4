"""From a function in Python to LLVM's instructions: numba's steps, without those that kernels have no use for.

Numba looks for closures, generators, lists, exceptions and array expressions in every function; after each step it
finds out again where each variable is needed last, to count references there; at every plus and every call it searches
all that it knows for how to add two floats, or for what the function makes of such arguments; and it describes every
instruction and variable for messages and debuggers. A kernel has none of these things, and counts no references.
Without all that kernels compute the same bits; compilation takes a quarter to a third less time.

One thing is not as in Python: an index that is computed, or an end of a slice, does not count from the end of an array
where it is negative. No kernel needs that, and to ask at each element took a fifth of a step of a robot in contact.
Numbers that are written out, as in `x[-1]`, do count from the end. Where numba looks whether indices are in range
(NUMBA_BOUNDSCHECK), a negative one is not. Functions of users are compiled by all steps of numba, and ask.
"""

from __future__ import annotations

import copy
import functools
import sys
from typing import Any

from numba import types

from merganser.framework.native.compiler.numba_inside import (
    Context,
    FixupArgs,
    InlineOverloads,
    Lower,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
    TranslateByteCode,
    alloca_once,
    build_definitions,
    builtin_registry,
    canonicalize_cfg,
    do_boundscheck,
    find_const,
    fix_integer_index,
    get_definition,
    get_item_pointer2,
    guard,
    ir,
    load_item,
    make_array,
    make_view,
    reconstruct_ssa,
    rewrite_registry,
    store_item,
    unpack_tuple,
)


def compile_function(state: Any) -> Any:
    """Compiles a function that counts no references.

    Args:
        state: of numba's compiler, before its first step.

    Returns:
        Numba's description of what was made.
    """
    state.typingctx = _types_of(state.typingctx)
    state.targetctx.typing_context = state.typingctx
    state.targetctx.refresh = functools.partial(_refresh_if_needed, state.targetctx, [-1])
    TranslateByteCode().run_pass(state)
    FixupArgs().run_pass(state)
    function = state.func_ir
    function.blocks = canonicalize_cfg(function.blocks)
    # Writes constants where types depend on them: indices of tuples, names of fields, exponents
    blocks = state.func_ir.blocks
    for kind in rewrite_registry.rewrites["before-inference"]:
        rewrite = kind(state)
        for label in blocks:
            while rewrite.match(state.func_ir, blocks[label], state.typemap, state.calltypes):
                blocks[label] = rewrite.apply()
    reconstruct_ssa(function)
    function._definitions = build_definitions(function.blocks)
    NopythonTypeInference().run_pass(state)
    state.func_ir = PreLowerStripPhis()._strip_phi_nodes(function)
    state.func_ir._definitions = build_definitions(state.func_ir.blocks)
    InlineOverloads().run_pass(state)
    state.func_ir.generator_info = None
    _Lowering().run_pass(state)
    NoPythonBackend().run_pass(state)
    return state.cr


def _refresh_if_needed(context: Any, last: list[int]) -> None:
    """Takes notice of what was registered since the last time; numba does so for whatever it does not find at once."""
    count = len(builtin_registry.functions)
    if last[0] != count:
        last[0] = count
        type(context).refresh(context)


class _Types(Context):
    """Numba's knowledge of types, which remembers what functions and operators make of which types."""

    _signatures: dict[Any, Any]

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature of a function for such arguments."""
        if kws or not isinstance(func, types.Function):
            return super().resolve_function_type(func, args, kws)
        key = func, args
        signature = self._signatures.get(key)
        if signature is None:
            signature = self._signatures[key] = super().resolve_function_type(func, args, kws)
        return signature


@functools.cache
def _types_of(context: Any) -> _Types:
    """The knowledge of a context of numba's, with a memory."""
    known = copy.copy(context)
    known.__class__ = _Types
    known._signatures = {}
    return known


class _Lower(Lower):
    """Writes instructions: in a short way for what is most frequent, operators, elements and parts of arrays.

    Nothing is said for debuggers, and a variable that is written to has no reference to give back.
    """

    def lower_block(self, block: Any) -> None:
        """Writes the instructions of a block."""
        self.pre_block(block)
        for instruction in block.body:
            self.loc = instruction.loc
            if isinstance(instruction, ir.Assign):
                name = instruction.target.name
                self.storevar(self.lower_assign(self.typeof(name), instruction), name)
            else:
                self.lower_inst(instruction)
        self.post_block(block)

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Writes that a variable has a value."""
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Writes that a variable has a place."""
        return alloca_once(self.builder, lltype, name=name, zfill=False)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Writes the result of an operator."""
        if expr.op != "binop" or not (expr.static_lhs is expr.static_rhs is ir.UNDEFINED):
            return super().lower_binop(resty, expr, op)
        context, builder, signature = self.context, self.builder, self.fndesc.calltypes[expr]
        operands = [
            context.cast(builder, self.loadvar(each.name), self.typeof(each.name), kind)
            for each, kind in zip((expr.lhs, expr.rhs), signature.args)
        ]
        function = context.get_function(context.typing_context.resolve_value_type(op), signature)
        return context.cast(builder, function(builder, operands), signature.return_type, resty)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Writes the value of an expression."""
        if expr.op == "static_getitem" and expr.index_var is not None:
            value = self._element_or_part(expr.value, expr.index_var, resty)
            if value is not None:
                return value
        return super().lower_expr(resty, expr)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Writes the value of an element, or a part of an array."""
        found = self._element_or_part(value, index, resty)
        return super().lower_getitem(resty, expr, value, index, signature) if found is None else found

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Writes to an element."""
        kind = self.typeof(target_var.name)
        kinds = self._kinds_of_indices(kind, index_var)
        if not _is_of_element(kind, kinds):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        context, builder = self.context, self.builder
        array = make_array(kind)(context, builder, self.loadvar(target_var.name))
        place = self._locate(kind, array, kinds, index_var)[0]
        value = context.cast(builder, self.loadvar(value_var.name), self.typeof(value_var.name), kind.dtype)
        return store_item(context, builder, kind, value, place)

    def _element_or_part(self, value: Any, index: Any, resty: Any) -> Any:
        """The value of an element, or a view of a part of an array; None if it is neither, but something of numba's."""
        context, builder, kind = self.context, self.builder, self.typeof(value.name)
        kinds = self._kinds_of_indices(kind, index)
        if not kinds:
            return None
        array = make_array(kind)(context, builder, self.loadvar(value.name))
        place, shape, strides = self._locate(kind, array, kinds, index)
        if _is_of_element(kind, kinds):
            return context.cast(builder, load_item(context, builder, kind, place), kind.dtype, resty)
        return make_view(context, builder, kind, array, resty, place, shape, strides)._getvalue()

    def _kinds_of_indices(self, kind: Any, index: Any) -> tuple[Any, ...]:
        """The types of indices of an array: whole numbers and slices without steps; none if there is anything else."""
        index_kind = self.typeof(index.name)
        parts: Any = index_kind if isinstance(index_kind, types.BaseTuple) else (index_kind,)
        kinds = tuple(parts)
        is_ours = isinstance(kind, types.Array) and len(kinds) <= kind.ndim and all(map(_is_plain, kinds))
        return kinds if is_ours and not self._counts_from_end(index) else ()

    def _counts_from_end(self, index: Any) -> bool:
        """Whether a slice, or one of several indices, has an end that is written as a negative number."""
        known = guard(get_definition, self.func_ir, index)
        if isinstance(known, ir.Expr) and known.op == "build_tuple":
            return any(map(self._counts_from_end, known.items))
        if not isinstance(known, ir.Expr) or known.op != "call":
            return False
        ends = [guard(find_const, self.func_ir, end) for end in known.args]
        return any(isinstance(end, int) and end < 0 for end in ends)

    def _locate(self, kind: Any, array: Any, kinds: tuple[Any, ...], index: Any) -> tuple[Any, list[Any], list[Any]]:
        """Where what is asked for starts in an array, and its shape and strides."""
        context, builder, given = self.context, self.builder, self.loadvar(index.name)
        sizes, steps = unpack_tuple(builder, array.shape, kind.ndim), unpack_tuple(builder, array.strides, kind.ndim)
        parts = unpack_tuple(builder, given) if isinstance(self.typeof(index.name), types.BaseTuple) else [given]
        starts, shape, strides = [], [], []
        for each, part, size, step in zip(kinds, parts, sizes, steps):
            if isinstance(each, types.Integer):
                starts.append(self._number(each, part, size))
            else:
                start, length = self._range(each, part, size)
                starts.append(start)
                shape.append(length)
                strides.append(step)
        place = get_item_pointer2(context, builder, array.data, sizes, steps, kind.layout, starts)
        return place, shape + sizes[len(kinds) :], strides + steps[len(kinds) :]

    def _number(self, kind: Any, number: Any, size: Any) -> Any:
        """An index as it stands, but for one that is written as a negative number."""
        context, builder = self.context, self.builder
        if isinstance(kind, types.IntegerLiteral) and kind.literal_value < 0:
            number = fix_integer_index(context, builder, kind, number, size)
        else:
            number = context.cast(builder, number, kind, types.intp)
        if context.enable_boundscheck:
            do_boundscheck(context, builder, number, size)
        return number

    def _range(self, kind: Any, part: Any, size: Any) -> tuple[Any, Any]:
        """Start and length of a slice, which ends with its array."""
        context, builder = self.context, self.builder
        ends = context.make_helper(builder, kind, value=part)
        start, stop = ends.start, ends.stop
        stop = builder.select(builder.icmp_signed("<", stop, size), stop, size)
        if context.enable_boundscheck:
            for end in (start, stop):
                do_boundscheck(context, builder, end, end.type(sys.maxsize))
        length = builder.sub(stop, start)
        nothing = length.type(0)
        return start, builder.select(builder.icmp_signed(">", length, nothing), length, nothing)


def _is_plain(kind: Any) -> bool:
    """Whether an index is a whole number, or a slice without a step."""
    return isinstance(kind, types.Integer) or (isinstance(kind, types.SliceType) and not kind.has_step)


def _is_of_element(kind: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether indices of these types choose an element of an array."""
    return bool(kinds) and len(kinds) == kind.ndim and all(isinstance(each, types.Integer) for each in kinds)


class _Lowering(NativeLowering):
    """Numba's step that writes instructions."""

    @property
    def lowering_class(self) -> Any:
        """What writes them."""
        return _Lower
