"""The order in which the trees of an island are eliminated, and the blocks that this fills.

The Hessian of an island has a block for each tree, and for each pair of trees that share a constraint. Eliminating a
tree connects all its remaining neighbours with each other. Each time, the tree whose neighbours have the fewest
velocities is taken (minimum degree), on rows of bits: eliminating a tree is an "or" of its row into those of its
neighbours, and what is left of its row when its turn comes are the blocks of the factor.

Source: A. George, J. Liu, The Evolution of the Minimum Degree Ordering Algorithm, SIAM Review (1989).
"""

from __future__ import annotations

from typing import NamedTuple

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Integers
from merganser.multibody.contact.layout import Array

__all__ = ["Pattern", "order_trees"]

_WORD = 32  # bits of a word in use


class Pattern(NamedTuple):
    """Blocks of the factor of one island, by rows; position p is the p-th tree that is eliminated.

    A row of blocks is a dense panel: num_v rows, and as columns its own velocities, then those of its blocks.
    """

    tree: Integers  # tree at position p, shape [num_trees]
    position: Integers  # of tree t, shape [num_trees]
    panel_start: Integers  # where panel p starts in the factor, shape [num_trees + 1]
    panel_width: Integers  # its columns, shape [num_trees]
    block_start: Integers  # where the blocks of panel p start, shape [num_trees + 1]
    block_position: Integers  # position of each block's tree, increasing in each row, shape [block capacity]
    block_column: Integers  # where the block starts in its panel, shape [block capacity]
    way: Integers  # within a tree, see ways.py, shape [num_v]
    run: Integers  # shape [num_v]


@device
def order_trees(
    # In:
    trees: Array,
    constraints: Array,
    island_trees: Array,  # shape [num_island_trees]
    island_constraints: Array,
    # Work:
    weight: Array,  # shape [num_trees]
    bits: Array,  # shape [num_trees * words], words = ceil(num_trees / 32)
    # Out:
    pattern: Pattern,
) -> int:
    """Finds an order, and with it the pattern of the factor.

    Returns:
        The number of blocks off the diagonal; if it exceeds the capacity, the pattern is not computed.
    """
    n = island_trees.shape[0]
    words = (n + _WORD - 1) // _WORD
    _connect(constraints, island_trees, island_constraints, words, bits, pattern.position)
    for i in range(n):
        weight[i] = _degree(trees, island_trees, bits, words, i)
    num_blocks, least = 0, 0
    for p in range(n):
        best = _lightest(weight, n, least)
        least = weight[best]
        weight[best] = -1
        pattern.tree[p] = best
        count, least = _eliminate(trees, island_trees, words, best, least, bits, weight)
        num_blocks += count
    if num_blocks > pattern.block_position.shape[0]:
        return num_blocks
    for p in range(n):
        weight[pattern.tree[p]] = p  # the position of an island's tree
    _lay_out(trees, island_trees, words, bits, weight, pattern)
    for p in range(n):
        pattern.tree[p] = island_trees[pattern.tree[p]]
        pattern.position[pattern.tree[p]] = p
    return num_blocks


@device
def _connect(
    constraints: Array, island_trees: Array, island_constraints: Array, words: int, bits: Array, local: Array
) -> None:
    """Sets the bits of the pairs that share a constraint; local numbers the trees within the island."""
    n = island_trees.shape[0]
    for i in range(n):
        local[island_trees[i]] = i
    for i in range(n * words):
        bits[i] = 0
    for k in range(island_constraints.shape[0]):
        constraint = constraints[island_constraints[k]]
        if constraint["tree_1"] >= 0:
            a, b = local[constraint["tree_0"]], local[constraint["tree_1"]]
            bits[a * words + b // _WORD] |= 1 << (b % _WORD)
            bits[b * words + a // _WORD] |= 1 << (a % _WORD)


@device
def _lowest_bit(word: int) -> int:
    """Which is the lowest of the bits that are set, of 32."""
    bit = 0
    for half in (16, 8, 4, 2, 1):
        if word & ((1 << half) - 1) == 0:
            word >>= half
            bit += half
    return bit


@device
def _degree(trees: Array, island_trees: Array, bits: Array, words: int, i: int) -> int:
    """Number of velocities of the neighbours."""
    total = 0
    for w in range(words):
        word = bits[i * words + w]
        while word != 0:
            total += trees[island_trees[w * _WORD + _lowest_bit(word)]]["num_v"]
            word &= word - 1
    return total


@device
def _lightest(weight: Array, n: int, least: int) -> int:
    """The first of those with the least weight that are not eliminated, where no weight is below `least`."""
    best = -1
    for i in range(n):
        if weight[i] >= 0 and (best < 0 or weight[i] < weight[best]):
            best = i
            if weight[i] <= least:
                break
    return best


@device
def _eliminate(
    trees: Array, island_trees: Array, words: int, k: int, least: int, bits: Array, weight: Array
) -> tuple[int, int]:
    """Connects the neighbours of tree k with each other, and takes it from their rows.

    Returns:
        Their number, and the least of their weights and of `least`, the weight of k, below which no other is.
    """
    count, num_v = 0, trees[island_trees[k]]["num_v"]
    for w in range(words):
        word = bits[k * words + w]
        while word != 0:
            i = w * _WORD + _lowest_bit(word)
            bits[i * words + k // _WORD] &= ~(1 << (k % _WORD))
            weight[i] += _join(trees, island_trees, words, k, i, bits) - num_v
            least = min(least, weight[i])
            count += 1
            word &= word - 1
    return count, least


@device
def _join(trees: Array, island_trees: Array, words: int, k: int, i: int, bits: Array) -> int:
    """Makes the neighbours of tree k those of tree i, and returns how many velocities those have that were not."""
    added = 0
    for w in range(words):
        word = bits[k * words + w] & ~bits[i * words + w]
        if w == i // _WORD:
            word &= ~(1 << (i % _WORD))
        bits[i * words + w] |= word
        while word != 0:
            added += trees[island_trees[w * _WORD + _lowest_bit(word)]]["num_v"]
            word &= word - 1
    return added


@device
def _lay_out(trees: Array, island_trees: Array, words: int, bits: Array, position: Array, pattern: Pattern) -> None:
    """Turns rows of bits into sorted lists of blocks, and places the panels."""
    n = island_trees.shape[0]
    start, first = 0, 0
    for p in range(n):
        k = pattern.tree[p]
        pattern.panel_start[p] = start
        pattern.block_start[p] = first
        last = first
        for w in range(words):
            word = bits[k * words + w]
            while word != 0:
                i = w * _WORD + _lowest_bit(word)
                place = last
                while place > first and pattern.block_position[place - 1] > position[i]:
                    pattern.block_position[place] = pattern.block_position[place - 1]
                    place -= 1
                pattern.block_position[place] = position[i]
                last += 1
                word &= word - 1
        num_v = trees[island_trees[k]]["num_v"]
        width = num_v
        for b in range(first, last):
            pattern.block_column[b] = width
            width += trees[island_trees[pattern.tree[pattern.block_position[b]]]]["num_v"]
        pattern.panel_width[p] = width
        start += num_v * width
        first = last
    pattern.panel_start[n] = start
    pattern.block_start[n] = first
