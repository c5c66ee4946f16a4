"""Islands: sets of trees that constraints connect, which can be solved one by one.

Trees are joined by union-find with path halving; trees and constraints are then sorted by island, in their own order
within each. A tree without any constraint belongs to no island, and moves as if there were none.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.contact.layout import Array
from merganser.multibody.contact.work_arrays import Islands

__all__ = ["find_islands"]


@device
def find_islands(
    # In:
    constraints: Array,
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
    # island_of of a root tells its island; islands are numbered by their first constraints.
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
def _root(parent: Array, t: int) -> int:
    while parent[t] != t:
        parent[t] = parent[parent[t]]
        t = parent[t]
    return t
