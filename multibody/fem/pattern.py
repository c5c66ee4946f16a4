"""Which blocks the tangent matrix of a body has, in which order it is factored, and where elements add to it.

The matrix has a block of 3 x 3 for each pair of nodes that share an element. Nodes are taken together two by two, as
the factorization of linear/factorization.py is fastest with blocks of six, which free rigid bodies have;
where a node is left alone, the other one of its pair has ones on the diagonal and nothing else.

The order is that of nested dissection: a layer of nodes that cuts the body in two halves comes after both, and so on
within the halves. That fills less than taking the node with the fewest neighbours next, and the more so the larger the
mesh: a bar of 10 x 6 x 6 cells takes two thirds of the operations, a cube of 12 x 12 x 12 cells two fifths.

Source: A. George, Nested Dissection of a Regular Finite Element Mesh, SIAM J. Numerical Analysis (1973); halves as J.
Gilbert, G. Miller, S. Teng, Geometric Mesh Partitioning (1998) have them, cut across the longest side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import FloatTable, Integers
from merganser.multibody.fem.layout import Elements, NodeTrees, Patches, tree_dtype
from merganser.multibody.linear.factorization import find_column
from merganser.multibody.linear.ordering import Pattern

_FEW = 8  # nodes that are not cut in halves any more
_SIX = 6  # velocities of a pair of nodes


def make_pattern(
    elements: Elements, patches: Patches, points: FloatTable, is_held: NDArray[np.bool_]
) -> tuple[Integers, NodeTrees, Integers, Pattern]:
    """Returns where the velocity of each node stands among the unknowns, the trees, the padding, and the pattern.

    Args:
        elements: records of element_dtype, whose places are written.
        patches: records of patch_dtype, whose places are written.
        points: the nodes at rest, shape [num_nodes, 3].
        is_held: whether a node has no unknowns, shape [num_nodes].
    """
    edges = _edges(elements["nodes"], patches, is_held)
    neighbours: list[set[int]] = [set() for _ in is_held]
    for a, b in edges.tolist():
        neighbours[a].add(b)
        neighbours[b].add(a)
    pieces = _dissected(np.flatnonzero(~is_held).tolist(), points, neighbours)
    pairs = [piece[k : k + 2] for piece in pieces for k in range(0, len(piece), 2)]
    trees = np.zeros(len(pairs), tree_dtype)
    trees["num_v"], trees["v_start"] = _SIX, _SIX * np.arange(len(pairs))
    unknown, tree_of = np.full(len(is_held), -1, np.int64), np.full(len(is_held), -1, np.int64)
    for t, pair in enumerate(pairs):
        for k, node in enumerate(pair):
            unknown[node], tree_of[node] = _SIX * t + 3 * k, t
    pattern = _filled(len(pairs), tree_of[edges])
    _place_blocks(elements, patches, unknown, tree_of, trees, pattern)
    alone = np.flatnonzero([len(pair) == 1 for pair in pairs])
    starts, widths = pattern.panel_start[alone], pattern.panel_width[alone]
    padding = (starts[:, np.newaxis] + np.arange(3, _SIX) * (widths[:, np.newaxis] + 1)).ravel()
    return unknown, trees, padding.astype(np.int64), pattern


def _edges(nodes: Integers, patches: Patches, is_held: NDArray[np.bool_]) -> Integers:
    """Pairs of nodes that share an element or a patch, the smaller one first, neither of them held; shape [n, 2]."""
    pairs = [_pairs_of_columns(nodes), _pairs_of_columns(patches["nodes"])]
    edges = np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)
    edges = edges[edges[:, 0] >= 0]  # patches of fewer nodes have -1
    found: Integers = edges[~is_held[edges].any(axis=1)]
    return found


def _dissected(nodes: list[int], points: FloatTable, neighbours: list[set[int]]) -> list[list[int]]:
    """Nodes in the order of elimination, in pieces: halves that are not cut any more, and what cuts."""
    if len(nodes) <= _FEW:
        return [nodes]
    p = points[nodes]
    x = p[:, np.ptp(p, axis=0).argmax()]
    is_left = x < np.sort(x)[len(nodes) // 2]
    left = [node for node, is_one in zip(nodes, is_left.tolist()) if is_one]
    right = [node for node, is_one in zip(nodes, is_left.tolist()) if not is_one]
    if not left:  # all at one place
        return [nodes]
    cuts = []
    for own, others in ((left, set(right)), (right, set(left))):
        cuts.append([node for node in own if not neighbours[node].isdisjoint(others)])
    cut = min(cuts, key=len)
    is_cut = set(cut)
    halves = ([node for node in half if node not in is_cut] for half in (left, right))
    return [piece for half in halves for piece in _dissected(half, points, neighbours)] + [cut]


def _pairs_of_columns(nodes: Integers) -> Integers:
    """All pairs of nodes of each row."""
    n = nodes.shape[1]
    ends = np.array([(a, b) for a in range(n) for b in range(a + 1, n)])
    pairs: Integers = nodes[:, ends].reshape(-1, 2)
    return pairs


def _filled(num_trees: int, edges: Integers) -> Pattern:
    """The pattern of the factor, of trees that are eliminated one after the other.

    The blocks of a row that are filled are those of its tree's neighbours and of the rows before it whose first block
    is in its column (J. Liu, The Role of Elimination Trees in Sparse Factorization, 1990).
    """
    later: list[set[int]] = [set() for _ in range(num_trees)]
    for a, b in np.unique(np.sort(edges, axis=1), axis=0).tolist():
        if a != b:
            later[a].add(b)
    for blocks in later:
        if blocks:
            first = min(blocks)
            later[first] |= blocks - {first}
    counts = np.array([len(blocks) for blocks in later], np.int64)
    widths = _SIX * (1 + counts)
    starts, first_blocks = (np.concatenate([[0], np.cumsum(n)]).astype(np.int64) for n in (_SIX * widths, counts))
    positions = np.array([q for blocks in later for q in sorted(blocks)], np.int64)
    columns = np.array([_SIX * (1 + k) for blocks in later for k in range(len(blocks))], np.int64)
    same, no_paths = np.arange(num_trees), np.zeros(_SIX * num_trees, np.int64)
    return Pattern(same, same, starts, widths, first_blocks, positions, columns, no_paths, no_paths)


@device
def _set_place(tree_of: Integers, unknown: Integers, trees: NodeTrees, pattern: Any, a: int, b: int) -> tuple[int, int]:
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
    elements: Elements, patches: Patches, unknown: Integers, tree_of: Integers, trees: NodeTrees, pattern: Pattern
) -> None:
    """Sets `place` and `stride` of all elements and patches."""
    for e in range(elements.shape[0]):
        _place_blocks_of(elements[e], 4, unknown, tree_of, trees, pattern)
    for p in range(patches.shape[0]):
        _place_blocks_of(patches[p], patches[p]["num_nodes"], unknown, tree_of, trees, pattern)


@device
def _place_blocks_of(
    record: Any, num_nodes: int, unknown: Integers, tree_of: Integers, trees: NodeTrees, pattern: Pattern
) -> None:
    for a in range(num_nodes):
        for b in range(num_nodes):
            place = _set_place(tree_of, unknown, trees, pattern, record["nodes"][a], record["nodes"][b])
            record["place"][a, b], record["stride"][a, b] = place
