"""Islands of trees; the order in which the trees of an island are eliminated, and the blocks that this fills.

Islands are sets of trees that constraints connect, which can be solved one by one. Trees are joined by union-find with
path halving; trees and constraints are then sorted by island, in their own order within each. A tree without any
constraint belongs to no island, and moves without constraints.

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
from merganser.multibody.linear.records import Constraints, Trees

_WORD = 32  # bits of a word in use
_NUM_ISLAND_ARRAYS = 6  # with a number for each tree, as all but the blocks of a pattern have
_NUM_PANEL_ARRAYS = 5


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
    path: Integers  # within a tree, see paths.py, shape [num_v]
    run: Integers  # shape [num_v]


class Islands(NamedTuple):
    """Trees and constraints, sorted by island."""

    parent: Integers  # of the union-find forest, shape [num_trees]
    island_of: Integers  # of each tree, or -1, shape [num_trees]
    tree_order: Integers  # the trees of island 0, then of island 1 ..., shape [num_trees]
    tree_start: Integers  # where island i starts in tree_order, then where the last one ends, shape [num_trees + 2]
    constraint_start: Integers  # shape [num_trees + 2]
    constraint_order: Integers  # shape [num_constraints]
    weight: Integers  # scratch, shape [num_trees]
    bits: Integers  # scratch, a row of bits for each tree, shape [num_trees * words]


# ---------------------------------------------------------------------- islands


@device
def find_islands(
    # In:
    constraints: Constraints,
    num_trees: int,
    # Out:
    islands: Islands,
) -> int:
    """Sorts trees and constraints by island, and returns the number of islands."""
    parent, island_of = islands.parent, islands.island_of
    tree_start, constraint_start = islands.tree_start, islands.constraint_start
    num_constraints = constraints.shape[0]
    for t in range(num_trees):
        parent[t] = t
        island_of[t] = -1
    for c in range(num_constraints):
        if constraints[c]["tree_1"] >= 0:
            a, b = _root(parent, constraints[c]["tree_0"]), _root(parent, constraints[c]["tree_1"])
            parent[max(a, b)] = min(a, b)
    # island_of of a root is its island; islands are numbered by their first constraints.
    num_islands = 0
    for c in range(num_constraints):
        root = _root(parent, constraints[c]["tree_0"])
        if island_of[root] < 0:
            island_of[root] = num_islands
            num_islands += 1
    for i in range(num_islands + 2):
        tree_start[i] = 0
        constraint_start[i] = 0
    # Counting sort; starts are kept one place further while the places are handed out.
    for t in range(num_trees):
        island_of[t] = island_of[_root(parent, t)]
        if island_of[t] >= 0:
            tree_start[island_of[t] + 2] += 1
    for c in range(num_constraints):
        constraint_start[island_of[constraints[c]["tree_0"]] + 2] += 1
    for i in range(2, num_islands + 2):
        tree_start[i] += tree_start[i - 1]
        constraint_start[i] += constraint_start[i - 1]
    for t in range(num_trees):
        if island_of[t] >= 0:
            islands.tree_order[tree_start[island_of[t] + 1]] = t
            tree_start[island_of[t] + 1] += 1
    for c in range(num_constraints):
        i = island_of[constraints[c]["tree_0"]] + 1
        islands.constraint_order[constraint_start[i]] = c
        constraint_start[i] += 1
    return num_islands


@device
def _root(parent: Integers, t: int) -> int:
    while parent[t] != t:
        parent[t] = parent[parent[t]]
        t = parent[t]
    return t


# ---------------------------------------------------------------------- order


@device
def order_trees(
    # In:
    trees: Trees,
    constraints: Constraints,
    island_trees: Integers,  # shape [num_island_trees]
    island_constraints: Integers,
    # Work:
    weight: Integers,  # shape [num_trees]
    bits: Integers,  # shape [num_trees * words], words = ceil(num_trees / 32)
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
    constraints: Constraints, island_trees: Integers, island_constraints: Integers, words: int, bits: Integers,
    local: Integers,
) -> None:  # fmt: skip
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
def _degree(trees: Trees, island_trees: Integers, bits: Integers, words: int, i: int) -> int:
    """Number of velocities of the neighbours."""
    total = 0
    for w in range(words):
        word = bits[i * words + w]
        while word != 0:
            total += trees[island_trees[w * _WORD + _lowest_bit(word)]]["num_v"]
            word &= word - 1
    return total


@device
def _lightest(weight: Integers, n: int, least: int) -> int:
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
    trees: Trees, island_trees: Integers, words: int, k: int, least: int, bits: Integers, weight: Integers
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
def _join(trees: Trees, island_trees: Integers, words: int, k: int, i: int, bits: Integers) -> int:
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
def _lay_out(
    trees: Trees, island_trees: Integers, words: int, bits: Integers, position: Integers, pattern: Pattern
) -> None:
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


# ---------------------------------------------------------------------- where these arrays are


@device
def integer_workspace_size(num_velocities: int, num_trees: int, num_constraints: int, block_capacity: int) -> int:
    """How many int64 the workspace takes.

    Args:
        num_velocities: of all trees.
        num_trees: of the problem.
        num_constraints: of the problem.
        block_capacity: blocks off the diagonal of a factorization; n (n - 1) / 2 for n trees is always enough.
    """
    return _first_block(num_velocities, num_trees, num_constraints) + 2 * block_capacity


@device
def _first_block(num_velocities: int, num_trees: int, num_constraints: int) -> int:
    """Where the blocks of the pattern start."""
    return _first_path(num_trees, num_constraints) + 2 * num_velocities


@device
def _first_path(num_trees: int, num_constraints: int) -> int:
    """Where the paths of velocities start."""
    words = (num_trees + 31) // 32
    return (_NUM_ISLAND_ARRAYS + _NUM_PANEL_ARRAYS) * (num_trees + 2) + num_trees * words + num_constraints


@device
def carve_islands(num_trees: int, num_constraints: int, integer_work: Integers) -> Islands:
    """Views of the first part of `integer_work`."""
    n, words = num_trees + 2, (num_trees + 31) // 32
    scratch = _NUM_ISLAND_ARRAYS * n + num_constraints
    return Islands(
        integer_work[:n],
        integer_work[n : 2 * n],
        integer_work[2 * n : 3 * n],
        integer_work[3 * n : 4 * n],
        integer_work[4 * n : 5 * n],
        integer_work[6 * n : scratch],
        integer_work[5 * n : 6 * n],
        integer_work[scratch : scratch + num_trees * words],
    )


@device
def carve_pattern(num_velocities: int, num_trees: int, num_constraints: int, integer_work: Integers) -> Pattern:
    """Views of the second part of `integer_work`; blocks get what others leave."""
    n = num_trees + 2
    paths = _first_path(num_trees, num_constraints)
    blocks = paths + 2 * num_velocities
    start, end = paths - _NUM_PANEL_ARRAYS * n, blocks + (integer_work.shape[0] - blocks) // 2
    return Pattern(
        integer_work[start : start + n],
        integer_work[start + n : start + 2 * n],
        integer_work[start + 2 * n : start + 3 * n],
        integer_work[start + 3 * n : start + 4 * n],
        integer_work[start + 4 * n : start + 5 * n],
        integer_work[blocks:end],
        integer_work[end:],
        integer_work[paths : paths + num_velocities],
        integer_work[paths + num_velocities : blocks],
    )
