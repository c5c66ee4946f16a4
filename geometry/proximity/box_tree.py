"""Trees of boxes around the elements of a mesh, which halve them along the longest side again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEEPEST", "END", "LEAF", "LEFT", "RIGHT", "make_box_tree"]

Array = NDArray[Any]

DEEPEST = 64  # levels of a tree; halving needs no more than 32
# Columns of a tree: the children of a node; of a leaf LEAF and the first of its elements, and where these end.
LEFT, RIGHT, END = range(3)
LEAF = -1


def make_box_tree(low: Array, high: Array, few: int) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
    """Makes a tree of boxes around elements.

    Args:
        low: lower corner of the box around each element, shape [num_elements, 3].
        high: upper corner, shape [num_elements, 3].
        few: elements that a leaf may have.

    Returns:
        The order in which the leaves have the elements; the box of each node, [low, high], shape [num_nodes, 6]; and
        the tree, shape [num_nodes, 3], see above. The first node is the root.
    """
    order = np.arange(len(low))
    boxes: list[list[float]] = []
    tree: list[list[int]] = []
    waiting = [(0, len(low), -1, 0)]  # elements from, to, the parent and which child of it
    while waiting:
        start, end, parent, side = waiting.pop()
        here = order[start:end]
        if parent >= 0:
            tree[parent][side] = len(tree)
        boxes.append([*low[here].min(axis=0).tolist(), *high[here].max(axis=0).tolist()])
        if end - start <= few:
            tree.append([LEAF, start, end])
            continue
        middles = low[here] + high[here]
        along = int(np.ptp(middles, axis=0).argmax())
        half = (end - start) // 2
        order[start:end] = here[np.argpartition(middles[:, along], half)]
        waiting += [(start + half, end, len(tree), RIGHT), (start, start + half, len(tree), LEFT)]
        tree.append([0, 0, 0])
    return order, np.array(boxes), np.array(tree, np.int64)
