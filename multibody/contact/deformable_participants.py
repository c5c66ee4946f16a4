"""Which vertices of deformable bodies contacts act on, and where their velocities are in the problem of a step.

A body that takes part is one tree more. Its vertices stand there in an order in which neighbours are near each other,
so that the columns of a contact's block of J lie in a short range.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Integers
from merganser.multibody.contact.contact_pairs import ContactPairs
from merganser.multibody.contact.deformable_pairs import MOST_NODES, Ends
from merganser.multibody.contact.deformable_records import Fixed, Motion, Participants
from merganser.multibody.contact.layout import Count
from merganser.multibody.contact.plant_layout import PlantTrees, ProblemTrees


@kernel
def find_participants(
    # Model:
    plant: PlantTrees,
    # In:
    motion: Motion,
    fixed_in: Fixed,
    # In and out:
    taking_part: Participants,
    pairs_io: ContactPairs,  # pairs with at least one side that can move are moved to the front
    ends_io: Ends,
    trees_io: ProblemTrees,  # those of the plant; the others are added, but for their blocks of A
) -> Count:
    """Adds the trees of bodies that take part; returns how many pairs have a side that can move."""
    _mark(taking_part, pairs_io, ends_io, fixed_in)
    num_v = trees_io.counts[0]["velocities"]
    _add_trees(taking_part, trees_io)
    for b in range(taking_part.tree_of_body.shape[0]):
        first = taking_part.first_vertices[b]
        for k in range(taking_part.starts[b], taking_part.starts[b + 1]):
            for r in range(3):
                at, to = 3 * (first + taking_part.vertices[k]) + r, num_v + 3 * k + r
                trees_io.v[to], trees_io.v_star[to], trees_io.is_locked[to] = motion.v[at], motion.v_free[at], 0
    return _drop_held(plant.of_mobod, taking_part.tree_of_body, pairs_io, ends_io)


@device
def _mark(taking_part: Participants, pairs: ContactPairs, ends: Ends, fixed: Fixed) -> None:
    """Lists the vertices that take part, and their columns."""
    columns, first_vertices, count = taking_part.columns, taking_part.first_vertices, 0
    for k in range(columns.shape[0]):
        columns[k] = -1
    for i in range(pairs.shape[0]):
        for side in range(2):
            end = ends[i, side]
            if end["body"] >= 0:
                for a in range(MOST_NODES):
                    if end["nodes"][a] >= 0:
                        columns[first_vertices[end["body"]] + end["nodes"][a]] = 0
    for i in range(fixed.shape[0]):
        columns[first_vertices[fixed[i]["body"]] + fixed[i]["vertex"]] = 0
    for b in range(taking_part.tree_of_body.shape[0]):
        taking_part.starts[b] = count
        first = first_vertices[b]
        for k in range(first, first_vertices[b + 1]):
            at = first + taking_part.order[k]
            if columns[at] == 0 and taking_part.moves[at] != 0:
                columns[at] = 3 * (count - taking_part.starts[b])
                taking_part.vertices[count] = taking_part.order[k]
                count += 1
            else:
                columns[at] = -1
    taking_part.starts[taking_part.tree_of_body.shape[0]] = count


@device
def _add_trees(taking_part: Participants, trees: ProblemTrees) -> None:
    """Adds a tree for each body that takes part."""
    counts = trees.counts[0]
    num_trees, num_v, size = counts["trees"], counts["velocities"], counts["matrix"]
    for b in range(taking_part.tree_of_body.shape[0]):
        taking_part.tree_of_body[b] = -1
        n = 3 * (taking_part.starts[b + 1] - taking_part.starts[b])
        if n > 0:
            tree = trees.trees[num_trees]
            tree["v_start"], tree["num_v"], tree["matrix_start"] = num_v, n, size
            taking_part.tree_of_body[b] = num_trees
            num_trees, num_v, size = num_trees + 1, num_v + n, size + n * n
    counts["trees"], counts["velocities"], counts["matrix"] = num_trees, num_v, size


@device
def _drop_held(of_mobod: Integers, tree_of_body: Integers, pairs: ContactPairs, ends: Ends) -> int:
    """Moves pairs with at least one side that can move to the front; returns how many these are."""
    count = 0
    for i in range(pairs.shape[0]):
        a, b = ends[i, 0]["body"], ends[i, 1]["body"]
        tree_A = of_mobod[pairs[i]["mobod_A"]] if a < 0 else tree_of_body[a]
        tree_B = of_mobod[pairs[i]["mobod_B"]] if b < 0 else tree_of_body[b]
        if tree_A >= 0 or tree_B >= 0:
            if count < i:
                pairs[count], ends[count, 0], ends[count, 1] = pairs[i], ends[i, 0], ends[i, 1]
            count += 1
    return count
