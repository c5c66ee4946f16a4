"""Directed edges between eight points, as the bits of one number: bit 8 i + j is the edge from i to j."""

from __future__ import annotations

from typing import Any

from merganser.framework.native import inlined
from merganser.framework.native.extending import Later, overload

__all__ = ["NUM_POINTS", "edges_around", "lowest_bit", "reversed_edges"]

NUM_POINTS = 8


@inlined
def edges_around(i: int, j: int, k: int) -> int:
    """The edges i to j, j to k and k to i of a triangle."""
    return (1 << (8 * i + j)) | (1 << (8 * j + k)) | (1 << (8 * k + i))


@inlined
def reversed_edges(edges: int) -> int:
    """All edges the other way round: the transpose of an 8 x 8 matrix of bits.

    Blocks of 1, 2 and 4 rows and columns change places (Warren 2012, Hacker's Delight, sec. 7-3).
    """
    change = (edges ^ (edges >> 7)) & 0x00AA00AA00AA00AA
    edges ^= change ^ (change << 7)
    change = (edges ^ (edges >> 14)) & 0x0000CCCC0000CCCC
    edges ^= change ^ (change << 14)
    change = (edges ^ (edges >> 28)) & 0x00000000F0F0F0F0
    return edges ^ change ^ (change << 28)


def lowest_bit(bits: int) -> int:
    """The place of the lowest bit of a positive number."""
    return (int(bits) & -int(bits)).bit_length() - 1


def _instruction() -> Any:
    from numba.cpython.unsafe.numbers import trailing_zeros

    return trailing_zeros


_trailing_zeros: Any = Later(_instruction)


@overload(lowest_bit)
def _compiled(bits: Any) -> Any:
    def implementation(bits: Any) -> Any:
        return _trailing_zeros(bits)

    return implementation
