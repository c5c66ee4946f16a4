"""Which vertices contacts of deformable bodies act on, these contacts as constraints of a step, and their forces.

In the problem of a step a deformable body that takes part is one tree more (Han et al. 2023, section IV). Its
velocities v_p are those of the vertices that contacts act on, or that are fixed to rigid bodies, in an order in which
neighbours are near each other, so that the columns of a contact's block of J lie in a short range. Its block of A is
h S, with the Schur complement of the tangent matrix of free motion

    S = A_pp - A_pn A_nn^-1 A_np                                                                                  (1)

(fem/schur.py), and v*_p are the velocities of free motion. Constraints of such bodies stand behind all others. The
block of J of an end with vertices a and weights w_a, along directions t of the contact frame, is

    J_ta = +-w_a t^T                                                                                              (2)

at the columns of a; vertices that are held have none. A rigid end has the block of plant_problem.py.

Vertices P that are fixed to points Q of a rigid body that moves are held by a holonomic constraint for each such set,

    g = p_P - p_Q = 0                                                                                             (3)

whose rows are along the axes of W. The block of J of the rigid body is that of the middle of the step, and v_P has a
bias (motion.py).
"""

from __future__ import annotations

import math

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.contact.contact_pairs import ContactPair, ContactPairs
from merganser.multibody.contact.layout import Count
from merganser.multibody.contact.plant_forces import push, report_contact
from merganser.multibody.contact.plant_layout import PlantTrees, ProblemArrays, ProblemTrees
from merganser.multibody.contact.plant_problem import (
    add_point,
    open_blocks,
    open_constraint,
    set_contact,
    set_holonomic,
    tangents_of,
)
from merganser.multibody.deformable.kernels.pairs import MOST_NODES, End, Ends
from merganser.multibody.deformable.kernels.records import Fixed, Motion, Participants
from merganser.multibody.kernels.layout import Positions
from merganser.multibody.kernels.spatial import Vector3, add, scaled, vector
from merganser.multibody.linear.products import add_row, block_of, num_ends, tree_of
from merganser.multibody.linear.records import Constraint, Constraints, Trees


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
    return _drop_held(plant, taking_part.tree_of_body, pairs_io, ends_io)


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
def _drop_held(plant: PlantTrees, tree_of_body: Integers, pairs: ContactPairs, ends: Ends) -> int:
    """Moves pairs with at least one side that can move to the front; returns how many these are."""
    count = 0
    for i in range(pairs.shape[0]):
        tree_A = _tree_of(plant, tree_of_body, pairs[i]["mobod_A"], ends[i, 0])
        tree_B = _tree_of(plant, tree_of_body, pairs[i]["mobod_B"], ends[i, 1])
        if tree_A >= 0 or tree_B >= 0:
            if count < i:
                pairs[count], ends[count, 0], ends[count, 1] = pairs[i], ends[i, 0], ends[i, 1]
            count += 1
    return count


@kernel
def pose_deformables(
    # Model:
    plant: PlantTrees,
    time_step: float,  # h [s]
    beta: float,  # near-rigid threshold of contacts
    # In:
    trees_in: ProblemTrees,
    taking_part: Participants,
    pairs_in: ContactPairs,
    ends_in: Ends,
    fixed_in: Fixed,  # those of one set side by side
    position_in: Positions,
    position_mid_in: Positions,  # in the middle of the step, where vertices are fixed
    # In and out:
    problem_io: ProblemArrays,  # constraints of the rigid bodies; the others are added
) -> Count:
    """Adds the constraints of deformable bodies; returns how many numbers J has.

    Nothing is added where there is too little room for these.
    """
    trees = trees_in.trees
    needed = problem_io.counts[0]["jacobian"] + _size_of_blocks(plant, trees, taking_part, pairs_in, ends_in, fixed_in)
    if needed <= problem_io.jacobian.shape[0]:
        _add_contacts(plant, trees, beta, taking_part, pairs_in, ends_in, position_in, problem_io)
        _add_fixed_vertices(plant, trees, time_step, taking_part, fixed_in, position_mid_in, problem_io)
    return needed


@device
def _size_of_blocks(
    plant: PlantTrees, trees: Trees, taking_part: Participants, pairs: ContactPairs, ends: Ends, fixed: Fixed
) -> int:
    """How many numbers the blocks of J have."""
    size = 0
    for i in range(pairs.shape[0]):
        tree_A = _tree_of(plant, taking_part.tree_of_body, pairs[i]["mobod_A"], ends[i, 0])
        tree_B = _tree_of(plant, taking_part.tree_of_body, pairs[i]["mobod_B"], ends[i, 1])
        _, size_A = _range_of(trees, taking_part, tree_A, ends[i, 0])
        _, size_B = _range_of(trees, taking_part, tree_B, ends[i, 1])
        size += 3 * (size_A + size_B)
    for i in range(fixed.shape[0]):
        tree_A, tree_B = taking_part.tree_of_body[fixed[i]["body"]], plant.of_mobod[fixed[i]["mobod"]]
        size += 3 * (trees[tree_B]["num_v"] + (trees[tree_A]["num_v"] if tree_A >= 0 else 0))
    return size


@device
def _range_of(trees: Trees, taking_part: Participants, tree: int, end: End) -> tuple[int, int]:
    """First column and number of columns of the block of J of an end, 0 without one.

    Of deformable bodies it has those from the first of the end's vertices to the last one.
    """
    if tree < 0:
        return 0, 0
    if end["body"] < 0:
        return 0, trees[tree]["num_v"]
    columns, first, low, high = taking_part.columns, taking_part.first_vertices[end["body"]], trees[tree]["num_v"], 0
    for a in range(MOST_NODES):
        if end["nodes"][a] >= 0:
            column = columns[first + end["nodes"][a]]
            if column >= 0:
                low, high = min(low, column), max(high, column + 3)
    return (low, high - low) if high > low else (0, 3)


@device
def _add_contacts(
    plant: PlantTrees, trees: Trees, beta: float, taking_part: Participants, pairs: ContactPairs, ends: Ends,
    position: Positions, problem: ProblemArrays,
) -> None:  # fmt: skip
    """Adds the constraints of contacts.

    As in plant_problem.py, bodies A and B of the solver are B and A of the pair.
    """
    counts, jacobian = problem.counts[0], problem.jacobian
    c, row, place = counts["constraints"], counts["rows"], counts["jacobian"]
    for i in range(pairs.shape[0]):
        pair, record = pairs[i], problem.constraints[c]
        tree_A = _tree_of(plant, taking_part.tree_of_body, pair["mobod_A"], ends[i, 0])
        tree_B = _tree_of(plant, taking_part.tree_of_body, pair["mobod_B"], ends[i, 1])
        columns_A = _range_of(trees, taking_part, tree_A, ends[i, 0])
        columns_B = _range_of(trees, taking_part, tree_B, ends[i, 1])
        place = open_blocks(record, tree_B, tree_A, columns_B, columns_A, row, 3, place, jacobian)
        set_contact(pair, beta, record, problem.rows, row)
        for side in range(2):
            end, sign = ends[i, side], 1.0 if side == 0 else -1.0
            tree = tree_A if side == 0 else tree_B
            mobod = pair["mobod_A"] if side == 0 else pair["mobod_B"]
            _add_end(plant, trees, taking_part, pair, mobod, end, sign, tree, position, record, jacobian)
        c, row = c + 1, row + 3
    counts["constraints"], counts["rows"], counts["jacobian"] = c, row, place


@device
def _tree_of(plant: PlantTrees, tree_of_body: Integers, mobod: int, end: End) -> int:
    """The tree of an end, -1 if it cannot move."""
    tree: int = plant.of_mobod[mobod] if end["body"] < 0 else tree_of_body[end["body"]]
    return tree


@device
def _add_end(
    plant: PlantTrees, trees: Trees, taking_part: Participants, pair: ContactPair, mobod: int, end: End, sign: float,
    tree: int, position: Positions, record: Constraint, jacobian: Floats,
) -> None:  # fmt: skip
    """Adds the velocity of an end along t1, t2 and n, equation (2)."""
    n, p_WC = vector(pair["nhat_BA_W"]), vector(pair["p_WC"])
    t_1, t_2 = tangents_of(n)
    if end["body"] < 0:
        add_point(plant.topology, position, trees, tree, record, 0, mobod, p_WC, sign, t_1, t_2, n, jacobian)
        return
    if tree < 0:
        return
    block = block_of(trees, jacobian, record, 0 if tree_of(record, 0) == tree else 1)
    first, size = taking_part.first_vertices[end["body"]], block.num_v
    for a in range(MOST_NODES):
        if end["nodes"][a] < 0:
            continue
        column, w = taking_part.columns[first + end["nodes"][a]], sign * end["weights"][a]
        if column >= 0:
            at = column - block.column
            for k in range(3):
                block.J[at + k] += w * t_1[k]
                block.J[size + at + k] += w * t_2[k]
                block.J[2 * size + at + k] += w * n[k]


@device
def _add_fixed_vertices(
    plant: PlantTrees, trees: Trees, time_step: float, taking_part: Participants, fixed: Fixed, position_mid: Positions,
    problem: ProblemArrays,
) -> None:  # fmt: skip
    """Adds the constraints of equation (3)."""
    counts, jacobian = problem.counts[0], problem.jacobian
    c, row, place = counts["constraints"], counts["rows"], counts["jacobian"]
    i = 0
    while i < fixed.shape[0]:
        end = i
        while end < fixed.shape[0] and fixed[end]["number"] == fixed[i]["number"]:
            end += 1
        body, mobod, record = fixed[i]["body"], fixed[i]["mobod"], problem.constraints[c]
        tree_A, tree_B = taking_part.tree_of_body[body], plant.of_mobod[mobod]
        place = open_constraint(record, trees, tree_A, tree_B, row, 3 * (end - i), place, jacobian)
        set_holonomic(record, math.inf, time_step, -math.inf, math.inf)
        for k in range(i, end):
            at, p_WQ, p_WM = 3 * (k - i), fixed[k]["p_WQ"], vector(fixed[k]["p_WM"])
            add_point(
                plant.topology, position_mid, trees, tree_B, record, at, mobod, p_WM, -1.0, (1.0, 0.0, 0.0),
                (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), jacobian,
            )  # fmt: skip
            column = taking_part.columns[taking_part.first_vertices[body] + fixed[k]["vertex"]]
            for r in range(3):
                if column >= 0 and tree_A >= 0:
                    block = block_of(trees, jacobian, record, 0)
                    block.J[(at + r) * block.num_v + column + r] += 1.0
                problem.rows[row + at + r]["g"] = fixed[k]["p_WP"][r] - p_WQ[r]
                problem.rows[row + at + r]["bias"] = -fixed[k]["bias"][r]
        i, c, row = end, c + 1, row + 3 * (end - i)
    counts["constraints"], counts["rows"], counts["jacobian"] = c, row, place


@kernel
def push_by_fixed_vertices(
    # Model:
    time_step: float,  # h [s]
    # In:
    fixed_in: Fixed,
    impulses_in: Floats,  # of the rows of equation (3), shape [3 num_fixed]
    position_in: Positions,
    # Out:
    F_Bo_W_io: FloatTable,  # forces on rigid bodies are added, shape [num_mobods, 6]
) -> None:
    """Adds what fixed vertices exert on rigid bodies."""
    for k in range(fixed_in.shape[0]):
        f = impulses_in[3 * k], impulses_in[3 * k + 1], impulses_in[3 * k + 2]
        p_WQ, no_moment = vector(fixed_in[k]["p_WQ"]), (0.0, 0.0, 0.0)
        push(position_in, F_Bo_W_io, fixed_in[k]["mobod"], p_WQ, no_moment, scaled(-1.0 / time_step, f))


@kernel
def calc_deformable_forces(
    # Model:
    trees: Trees,
    num_v: int,  # of the plant
    time_step: float,  # h [s]
    # In: as the solver has left it
    first: int,  # the constraint of the first pair
    pairs_in: ContactPairs,
    ends_in: Ends,
    position_in: Positions,
    v_next_in: Floats,  # of all trees
    constraints_in: Constraints,
    jacobian_in: Floats,
    impulses_in: Floats,
    # Out:
    F_Bo_W_io: FloatTable,  # forces on rigid bodies are added, shape [num_mobods, 6]
    tau_io: Floats,  # generalized forces of contacts are added, shape [num_v]
    forces_out: FloatTable,  # of each pair, see plant_layout.py, shape [num_pairs, NUM_FORCE_VALUES]
) -> None:
    """Computes the forces of contacts with deformable bodies."""
    for i in range(pairs_in.shape[0]):
        constraint, pair = constraints_in[first + i], pairs_in[i]
        gamma = impulses_in[constraint["row_start"] : constraint["row_start"] + 3]
        n, p_WC = vector(pair["nhat_BA_W"]), vector(pair["p_WC"])
        t_1, t_2 = tangents_of(n)
        f = scaled(1.0 / time_step, add(add(scaled(gamma[0], t_1), scaled(gamma[1], t_2)), scaled(gamma[2], n)))
        _push_on_rigid(position_in, F_Bo_W_io, pair["mobod_A"], ends_in[i, 0], p_WC, f)
        _push_on_rigid(position_in, F_Bo_W_io, pair["mobod_B"], ends_in[i, 1], p_WC, scaled(-1.0, f))
        report_contact(pair, constraint, trees, jacobian_in, v_next_in, t_1, t_2, f, forces_out[i])
        for end in range(num_ends(constraint)):
            if trees[tree_of(constraint, end)]["v_start"] < num_v:
                for r in range(3):
                    add_row(block_of(trees, jacobian_in, constraint, end), r, gamma[r] / time_step, tau_io)


@device
def _push_on_rigid(position: Positions, F: FloatTable, mobod: int, end: End, p_WC: Vector3, f: Vector3) -> None:
    if end["body"] < 0:
        push(position, F, mobod, p_WC, (0.0, 0.0, 0.0), f)
