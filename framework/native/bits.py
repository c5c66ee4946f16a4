"""Bits of integers, in Python and in compiled code."""

from __future__ import annotations

from typing import Any

from merganser.framework.native.extending import intrinsic, ir, types

__all__ = ["lowest_bit"]


def _lowest(bits: int) -> int:
    return (int(bits) & -int(bits)).bit_length() - 1


def _instruction(typingctx: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.int64), generate


# lowest_bit(bits): the place of the lowest bit of a number that is not 0.
lowest_bit: Any = intrinsic(_instruction, in_python=_lowest)
