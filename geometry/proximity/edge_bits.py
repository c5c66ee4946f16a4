"""Directed edges between eight points, as the bits of one number: bit 8 i + j is the edge from i to j."""

from __future__ import annotations

from merganser.framework.native import inlined

__all__ = ["NUM_POINTS", "edges_around", "reversed_edges"]

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
