"""Random numbers as an operation: what `draw` in framework/core/random_values.py does, on numpy's own generator."""

from __future__ import annotations

import itertools
import math
from typing import Any

from merganser.framework.native.compile import device
from merganser.framework.native.extending import intrinsic, ir, types
from merganser.framework.native.tape import integers_at

__all__ = ["random_sample"]

_WORD = 4294967296.0  # 2^32
_BELOW_ONE = 1.0 - 2.0**-53
_NUM_WORDS = 625  # of the generator: the twister's words, then its position among them

_number = itertools.count()
DISTRIBUTION = next(_number)  # value of a RandomDistribution
SIZE = next(_number)
RESULT = next(_number)  # place
NEXT_WORD = next(_number)  # address of numpy's function
STATE = next(_number)  # address of the generator
BEFORE = next(_number)  # where to keep a copy of it
WAS_CALLED = next(_number)  # address of an integer to set to 1
UNIFORM, GAUSSIAN = 0, 1  # else exponential


def _call_for_word(typingctx: Any, function: Any, state: Any) -> Any:
    """The next word of a generator, from the function and the state at two addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(ir.IntType(32), [pointer])
        callee = builder.inttoptr(arguments[0], function_type.as_pointer())
        word = builder.call(callee, [builder.inttoptr(arguments[1], pointer)])
        return builder.zext(word, ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


def _words_at(typingctx: Any, address: Any) -> Any:
    """The 32-bit integers at an address, as something to index."""
    kind = types.CPointer(types.int32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(kind))

    return kind(types.int64), generate


_next_word: Any = intrinsic(_call_for_word)
words_at: Any = intrinsic(_words_at)


@device
def _uniform(f: Any) -> float:
    """A number from [0, 1)."""
    low = _next_word(f[NEXT_WORD], f[STATE])
    high = _next_word(f[NEXT_WORD], f[STATE])
    value = (float(low) + float(high) * _WORD) / (_WORD * _WORD)
    return value if value < 1.0 else _BELOW_ONE


def random_sample(values: Any, numbers: Any, f: Any) -> None:
    """Independent random numbers; integers: see above."""
    state, before = words_at(f[STATE]), words_at(f[BEFORE])
    for i in range(_NUM_WORDS):
        before[i] = state[i]
    integers_at(f[WAS_CALLED])[0] = 1
    n, result, i = f[SIZE], f[RESULT], 0
    while i < n:
        if f[DISTRIBUTION] == UNIFORM:
            values[result + i] = _uniform(f)
            i += 1
        elif f[DISTRIBUTION] == GAUSSIAN:  # the polar method gives two at a time
            x = 2.0 * _uniform(f) - 1.0
            y = 2.0 * _uniform(f) - 1.0
            square = x * x + y * y
            if 0.0 < square <= 1.0:
                scale = math.sqrt(-2.0 * math.log(square) / square)
                values[result + i] = y * scale
                if i + 1 < n:
                    values[result + i + 1] = x * scale
                i += 2
        else:
            values[result + i] = -math.log1p(-_uniform(f))
            i += 1
