"""From a function in Python to LLVM's instructions: numba's steps, without those that kernels have no use for.

Numba looks for closures, generators, lists, exceptions and array expressions in every function; after each step it
finds out again where each variable is needed last, to count references there; at every plus and every call it searches
all that it knows for how to add two floats, or for what the function makes of such arguments; and it describes every
instruction and variable for messages and debuggers. A kernel has none of these things, and counts no references.
Without all that most kernels have the same machine code, byte by byte, and all compute the same bits; compilation takes
a quarter to a third less time.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

from numba.core import ir, types
from numba.core.cgutils import alloca_once, get_item_pointer2, unpack_tuple
from numba.core.imputils import builtin_registry
from numba.core.ir_utils import build_definitions
from numba.core.lowering import Lower
from numba.core.rewrites import rewrite_registry
from numba.core.ssa import reconstruct_ssa
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import (
    InlineOverloads,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.typing.context import Context
from numba.core.untyped_passes import FixupArgs, TranslateByteCode
from numba.np.arrayobj import fix_integer_index, load_item, store_item

__all__ = ["compile_function"]


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
    _rewrite_constants(state)
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


def _rewrite_constants(state: Any) -> None:
    """Writes constants where types depend on them: indices of tuples, names of fields, exponents."""
    blocks = state.func_ir.blocks
    for kind in rewrite_registry.rewrites["before-inference"]:
        rewrite = kind(state)
        for label in blocks:
            while rewrite.match(state.func_ir, blocks[label], state.typemap, state.calltypes):
                blocks[label] = rewrite.apply()


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
    """Writes instructions: in a short way for what is most frequent, operators and elements of arrays.

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
            place = self._place(expr.value, expr.index_var)
            if place is not None:
                return self._load(place, expr, resty)
        return super().lower_expr(resty, expr)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Writes the value of an element."""
        place = self._place(value, index)
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        return self._load(place, expr, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Writes to an element."""
        place = self._place(target_var, index_var)
        if place is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        context, builder, kind = self.context, self.builder, self.typeof(target_var.name)
        value = context.cast(builder, self.loadvar(value_var.name), self.typeof(value_var.name), kind.dtype)
        return store_item(context, builder, kind, value, place)

    def _load(self, place: Any, expr: Any, resty: Any) -> Any:
        kind = self.typeof(expr.value.name)
        item = load_item(self.context, self.builder, kind, place)
        return self.context.cast(self.builder, item, kind.dtype, resty)

    def _place(self, array: Any, index: Any) -> Any:
        """A pointer to an element of an array; None if that is not what is asked for, or numba is to check indices."""
        context, builder = self.context, self.builder
        kind, index_kind = self.typeof(array.name), self.typeof(index.name)
        is_tuple = isinstance(index_kind, types.BaseTuple)
        kinds = tuple(index_kind) if is_tuple else (index_kind,)
        are_numbers = all(isinstance(each, types.Integer) for each in kinds)
        if (
            not isinstance(kind, types.Array)
            or len(kinds) != kind.ndim
            or not are_numbers
            or context.enable_boundscheck
        ):
            return None
        parts, model = self.loadvar(array.name), context.data_model_manager[kind]
        data, shape, strides = (
            builder.extract_value(parts, model.get_field_position(name)) for name in ("data", "shape", "strides")
        )
        sizes = unpack_tuple(builder, shape, kind.ndim)
        given = self.loadvar(index.name)
        indices = [
            fix_integer_index(context, builder, each, number, size)
            for each, number, size in zip(kinds, unpack_tuple(builder, given) if is_tuple else (given,), sizes)
        ]
        return get_item_pointer2(
            context, builder, data, sizes, unpack_tuple(builder, strides, kind.ndim), kind.layout, indices
        )


class _Lowering(NativeLowering):
    """Numba's step that writes instructions."""

    @property
    def lowering_class(self) -> Any:
        """What writes them."""
        return _Lower
