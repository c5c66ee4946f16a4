"""Numpy's random generators in compiled code: what `drawn` in core/system/random_values.py asks for words."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.system.random_values import next_word, spare_of, uniform
from merganser.framework.native.compiler.extending import intrinsic, ir, overload, types
from merganser.framework.native.compiler.kernels import device
from merganser.framework.native.memory.addresses import SIZE_OF_TWISTER
from merganser.framework.native.memory.tape import doubles_at, integers_at, words_at

device(uniform)


def _call_for_word(typingctx: Any, function: Any, state: Any) -> Any:
    """The next word of a generator, from the function and the state at two addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(ir.IntType(32), [pointer])
        callee = builder.inttoptr(arguments[0], function_type.as_pointer())
        word = builder.call(callee, [builder.inttoptr(arguments[1], pointer)])
        return builder.zext(word, ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


_next_word: Any = intrinsic(_call_for_word)


@device
def generator_at(state: int, function: int, spare: int, before: int, spare_before: int, was_called: int) -> Any:
    """A generator of whose present state a copy is kept.

    Args:
        state: address of the generator.
        function: that of numpy's function for its next word.
        spare: that of its spare number.
        before, spare_before: where the copies go.
        was_called: address of an integer to set to 1.

    Returns:
        What `next_word` takes.
    """
    present, copy = words_at(state), words_at(before)
    for i in range(SIZE_OF_TWISTER):
        copy[i] = present[i]
    kept, kept_before = doubles_at(spare), doubles_at(spare_before)
    kept_before[0], kept_before[1] = kept[0], kept[1]
    integers_at(was_called)[0] = 1
    return function, state, kept


@overload(next_word)
def _word_of(generator: Any) -> Any:
    def word_of(generator: Any) -> Any:
        return _next_word(generator[0], generator[1])

    return word_of


@overload(spare_of)
def _spare_of(generator: Any) -> Any:
    def spare(generator: Any) -> Any:
        return generator[2]

    return spare
