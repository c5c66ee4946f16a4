"""Which blocks the tangent matrix of a body has, in which order it is factored, and where elements add to it.

The matrix has a block of 3 x 3 for each pair of nodes that share an element. Neighbours are taken together two by two,
as the factorization of contact (contact/factorization.py) is fastest with blocks of six, which free rigid bodies have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.multibody.contact.factorization import find_column
from merganser.multibody.contact.ordering import Pattern, order_trees
from merganser.multibody.fem.layout import Array, tree_dtype

__all__ = ["make_pattern"]

Integers = NDArray[np.int64]

_pair_dtype = np.dtype([("tree_0", np.int64), ("tree_1", np.int64)])
_order_trees = kernel(order_trees)


def make_pattern(elements: Array, patches: Array, is_held: NDArray[np.bool_]) -> tuple[Integers, Array, Pattern]:
    """Returns where the velocity of each node stands among the unknowns, the trees, and the pattern of the factor.

    Args:
        elements: records of element_dtype, whose places are written.
        patches: records of patch_dtype, whose places are written.
        is_held: whether a node has no unknowns, shape [num_nodes].
    """
    edges = _edges(elements["nodes"], patches, is_held)
    groups = _groups(edges, is_held)
    trees = np.zeros(len(groups), tree_dtype)
    trees["num_v"] = [3 * len(group) for group in groups]
    trees["v_start"] = np.cumsum(trees["num_v"]) - trees["num_v"]
    unknown, tree_of = np.full(len(is_held), -1, np.int64), np.full(len(is_held), -1, np.int64)
    for t, group in enumerate(groups):
        for k, node in enumerate(group):
            unknown[node], tree_of[node] = trees["v_start"][t] + 3 * k, t
    pattern = _ordered(trees, _pairs(tree_of[edges]))
    _place_blocks(elements, patches, unknown, tree_of, trees, pattern)
    return unknown, trees, pattern


def _edges(nodes: Integers, patches: Array, is_held: NDArray[np.bool_]) -> Integers:
    """Pairs of nodes that share an element or a patch, the smaller one first, neither of them held; shape [n, 2]."""
    pairs = [_pairs_of_columns(nodes), _pairs_of_columns(patches["nodes"])]
    edges = np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)
    edges = edges[edges[:, 0] >= 0]  # patches of fewer nodes have -1
    found: Integers = edges[~is_held[edges].any(axis=1)]
    return found


def _pairs_of_columns(nodes: Integers) -> Integers:
    """All pairs of nodes of each row."""
    n = nodes.shape[1]
    ends = np.array([(a, b) for a in range(n) for b in range(a + 1, n)])
    pairs: Integers = nodes[:, ends].reshape(-1, 2)
    return pairs


def _pairs(edges: Integers) -> Array:
    """Pairs of different trees."""
    unique = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    pairs = np.zeros(len(unique), _pair_dtype)
    pairs["tree_0"], pairs["tree_1"] = unique.T if len(unique) else (0, 0)
    return pairs


def _groups(edges: Integers, is_held: NDArray[np.bool_]) -> list[list[int]]:
    """All nodes that move, each with the neighbour with which it shares the most others, if one is left."""
    neighbours: list[set[int]] = [set() for _ in is_held]
    for a, b in edges.tolist():
        neighbours[a].add(b)
        neighbours[b].add(a)
    groups, is_taken = [], is_held.copy()
    for node in np.flatnonzero(~is_held).tolist():
        if is_taken[node]:
            continue
        others = [other for other in sorted(neighbours[node]) if not is_taken[other]]
        group = [node]
        if others:
            group.append(max(others, key=lambda other: len(neighbours[node] & neighbours[other])))
        is_taken[group] = True
        groups.append(group)
    return groups


def _ordered(trees: Array, pairs: Array) -> Pattern:
    """The order of elimination, with the blocks that it fills."""
    n, num_v = len(trees), int(trees["num_v"].sum())
    weight, bits = np.zeros(n, np.int64), np.zeros(n * ((n + 31) // 32), np.int64)
    capacity = 4 * len(pairs) + 1
    while True:
        pattern = Pattern(
            *(np.zeros(size, np.int64) for size in (n, n, n + 1, n, n + 1, capacity, capacity, num_v, num_v))
        )
        needed = _order_trees(trees, pairs, np.arange(n), np.arange(len(pairs)), weight, bits, pattern)
        if needed <= capacity:
            break
        capacity = needed
    for tree in trees:
        n_v, at = int(tree["num_v"]), int(tree["v_start"])
        pattern.way[at : at + n_v] = np.arange(n_v) - 1  # full blocks: each way goes through all
    return pattern


@device
def _set_place(tree_of: Array, unknown: Array, trees: Array, pattern: Any, a: int, b: int) -> tuple[int, int]:
    """Where the block of two nodes starts in the panels, and the stride of its rows; -1 if it is not kept."""
    if unknown[a] < 0 or unknown[b] < 0:
        return -1, 0
    p, q = pattern.position[tree_of[a]], pattern.position[tree_of[b]]
    if p > q:
        return -1, 0
    row, column = unknown[a] - trees[tree_of[a]]["v_start"], unknown[b] - trees[tree_of[b]]["v_start"]
    start, width = pattern.panel_start[p], pattern.panel_width[p]
    if p != q:
        column += find_column(pattern, p, q)
    return start + row * width + column, width


@kernel
def _place_blocks(
    elements: Array, patches: Array, unknown: Array, tree_of: Array, trees: Array, pattern: Pattern
) -> None:
    """Sets `place` and `stride` of all elements and patches."""
    for e in range(elements.shape[0]):
        _place_blocks_of(elements[e], 4, unknown, tree_of, trees, pattern)
    for p in range(patches.shape[0]):
        _place_blocks_of(patches[p], patches[p]["num_nodes"], unknown, tree_of, trees, pattern)


@device
def _place_blocks_of(
    record: Any, num_nodes: int, unknown: Array, tree_of: Array, trees: Array, pattern: Pattern
) -> None:
    for a in range(num_nodes):
        for b in range(num_nodes):
            place = _set_place(tree_of, unknown, trees, pattern, record["nodes"][a], record["nodes"][b])
            record["place"][a, b], record["stride"][a, b] = place
