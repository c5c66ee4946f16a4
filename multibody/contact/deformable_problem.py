"""Contacts of deformable bodies as constraints of the problem of a step, and their forces.

In that problem a deformable body is one tree more (Han et al. 2023, section IV): its velocities v_p are those of the
vertices that take part, its block of A is h S, with the Schur complement of the tangent matrix of free motion

    S = A_pp - A_pn A_nn^-1 A_np                                                                                  (1)

(fem/schur.py), and v*_p are the velocities of free motion. Constraints of such bodies stand behind all others. The
block of J of an end with vertices a and weights w_a, along directions t of the contact frame, is

    J_ta = +-w_a t^T                                                                                              (2)

at the columns of a; vertices that are held have none. A rigid end has the block of plant_problem.py.

Vertices P that are fixed to points Q of a rigid body that moves are held by a holonomic constraint for each such set,

    g = p_P - p_Q = 0                                                                                             (3)

whose rows are along the axes of W.
"""

from __future__ import annotations

import math

import numpy as np

from merganser.framework.native import device, kernel
from merganser.multibody.contact.deformable_pairs import MOST_NODES
from merganser.multibody.contact.layout import Array
from merganser.multibody.contact.plant_forces import push
from merganser.multibody.contact.plant_layout import APPROACH, POINT, SLIP, PlantTrees
from merganser.multibody.contact.plant_problem import (
    add_point,
    open_constraint,
    set_contact,
    set_holonomic,
    tangents_of,
)
from merganser.multibody.contact.products import add_row, block_of, num_ends, row_product, tree_of
from merganser.multibody.kernels.spatial import Vector3, add, dot, scaled, set_vector, vector

__all__ = [
    "add_deformable_contacts", "add_fixed_vertices", "calc_deformable_forces", "fixed_dtype", "push_by_fixed_vertices"
]  # fmt: skip

# A vertex P of a deformable body that is fixed to a point Q of a rigid body.
fixed_dtype = np.dtype(
    [
        ("number", np.int64),  # of the set that it belongs to
        ("body", np.int64),  # number of the deformable body
        ("vertex", np.int64),
        ("mobod", np.int64),  # of the rigid body
        ("p_WP", np.float64, (3,)),  # where both are [m]
        ("p_WQ", np.float64, (3,)),
    ]
)


@kernel
def add_deformable_contacts(
    # Model:
    plant: PlantTrees,
    trees: Array,  # those of the plant, and of the bodies that take part, shape [num_trees]
    tree_of_body: Array,  # of each deformable body; -1 if it takes no part
    columns: Array,  # of each vertex of all bodies, its first velocity in its tree; -1 if it has none
    first_vertices: Array,  # of each body, in `columns`
    beta: float,  # near-rigid threshold of contacts
    # In:
    pairs_in: Array,
    ends_in: Array,  # shape [num_pairs, 2]
    position_in: Array,
    # In and out: those of the plant are there, with counts of constraints, rows and numbers of J
    counts_io: Array,
    constraints_io: Array,
    rows_io: Array,
    jacobian_io: Array,
) -> None:
    """Writes the constraints of pairs behind those that are there.

    As in plant_problem.py, bodies A and B of the solver are B and A of the pair.
    """
    of_bodies = tree_of_body, columns, first_vertices
    c, row, place = counts_io[0], counts_io[1], counts_io[2]
    for i in range(pairs_in.shape[0]):
        pair, record = pairs_in[i], constraints_io[c]
        tree_A = _tree_of(plant, tree_of_body, pair["mobod_A"], ends_in[i, 0])
        tree_B = _tree_of(plant, tree_of_body, pair["mobod_B"], ends_in[i, 1])
        place = open_constraint(record, trees, tree_B, tree_A, row, 3, place, jacobian_io)
        set_contact(pair, beta, record, rows_io, row)
        for side in range(2):
            end, sign = ends_in[i, side], 1.0 if side == 0 else -1.0
            tree = tree_A if side == 0 else tree_B
            mobod = pair["mobod_A"] if side == 0 else pair["mobod_B"]
            _add_end(plant, trees, of_bodies, pair, mobod, end, sign, tree, position_in, record, jacobian_io)
        c, row = c + 1, row + 3
    counts_io[0], counts_io[1], counts_io[2] = c, row, place


@device
def _tree_of(plant: PlantTrees, tree_of_body: Array, mobod: int, end: Array) -> int:
    """The tree of an end, -1 if it cannot move."""
    tree: int = plant.of_mobod[mobod] if end["body"] < 0 else tree_of_body[end["body"]]
    return tree


@device
def _add_end(
    plant: PlantTrees, trees: Array, of_bodies: tuple[Array, Array, Array], pair: Array, mobod: int, end: Array,
    sign: float, tree: int, position: Array, record: Array, jacobian: Array,
) -> None:  # fmt: skip
    """Adds the velocity of an end along t1, t2 and n, equation (2)."""
    n, p_WC = vector(pair["nhat_BA_W"]), vector(pair["p_WC"])
    t_1, t_2 = tangents_of(n)
    if end["body"] < 0:
        add_point(plant.topology, position, trees, tree, record, 0, mobod, p_WC, sign, t_1, t_2, n, jacobian)
        return
    if tree < 0:
        return
    _, columns, first_vertices = of_bodies
    start = record["jacobian_0"] if tree_of(record, 0) == tree else record["jacobian_1"]
    num_v, first = trees[tree]["num_v"], first_vertices[end["body"]]
    for a in range(MOST_NODES):
        if end["nodes"][a] < 0:
            continue
        column, w = columns[first + end["nodes"][a]], sign * end["weights"][a]
        if column >= 0:
            for k in range(3):
                jacobian[start + column + k] += w * t_1[k]
                jacobian[start + num_v + column + k] += w * t_2[k]
                jacobian[start + 2 * num_v + column + k] += w * n[k]


@kernel
def add_fixed_vertices(
    # Model:
    plant: PlantTrees,
    trees: Array,  # see add_deformable_contacts()
    tree_of_body: Array,
    columns: Array,
    first_vertices: Array,
    time_step: float,  # h [s]
    # In:
    fixed_in: Array,  # records of fixed_dtype, those of one set side by side, shape [num_fixed]
    position_in: Array,
    # In and out: as above
    counts_io: Array,
    constraints_io: Array,
    rows_io: Array,
    jacobian_io: Array,
) -> None:
    """Writes the constraints of equation (3) behind those that are there."""
    c, row, place = counts_io[0], counts_io[1], counts_io[2]
    i = 0
    while i < fixed_in.shape[0]:
        end = i
        while end < fixed_in.shape[0] and fixed_in[end]["number"] == fixed_in[i]["number"]:
            end += 1
        body, mobod, record = fixed_in[i]["body"], fixed_in[i]["mobod"], constraints_io[c]
        tree_A, tree_B = tree_of_body[body], plant.of_mobod[mobod]
        place = open_constraint(record, trees, tree_A, tree_B, row, 3 * (end - i), place, jacobian_io)
        set_holonomic(record, math.inf, time_step, -math.inf, math.inf)
        for k in range(i, end):
            at, p_WQ = 3 * (k - i), vector(fixed_in[k]["p_WQ"])
            add_point(
                plant.topology, position_in, trees, tree_B, record, at, mobod, p_WQ, -1.0, (1.0, 0.0, 0.0),
                (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), jacobian_io,
            )  # fmt: skip
            column = columns[first_vertices[body] + fixed_in[k]["vertex"]]
            for r in range(3):
                if column >= 0 and tree_A >= 0:
                    jacobian_io[record["jacobian_0"] + (at + r) * trees[tree_A]["num_v"] + column + r] += 1.0
                rows_io[row + at + r]["g"] = fixed_in[k]["p_WP"][r] - p_WQ[r]
                rows_io[row + at + r]["bias"] = 0.0
        i, c, row = end, c + 1, row + 3 * (end - i)
    counts_io[0], counts_io[1], counts_io[2] = c, row, place


@kernel
def push_by_fixed_vertices(
    # Model:
    time_step: float,  # h [s]
    # In:
    fixed_in: Array,
    impulses_in: Array,  # of the rows of equation (3), shape [3 num_fixed]
    position_in: Array,
    # Out:
    F_Bo_W_io: Array,  # forces on rigid bodies are added, shape [num_mobods, 6]
) -> None:
    """Adds what fixed vertices exert on rigid bodies."""
    for k in range(fixed_in.shape[0]):
        f = impulses_in[3 * k], impulses_in[3 * k + 1], impulses_in[3 * k + 2]
        p_WQ, no_moment = vector(fixed_in[k]["p_WQ"]), (0.0, 0.0, 0.0)
        push(position_in, F_Bo_W_io, fixed_in[k]["mobod"], p_WQ, no_moment, scaled(-1.0 / time_step, f))


@kernel
def calc_deformable_forces(
    # Model:
    trees: Array,
    num_v: int,  # of the plant
    time_step: float,  # h [s]
    # In: as the solver has left it
    first: int,  # the constraint of the first pair
    pairs_in: Array,
    ends_in: Array,
    position_in: Array,
    v_next_in: Array,  # of all trees
    constraints_in: Array,
    jacobian_in: Array,
    impulses_in: Array,
    # Out:
    F_Bo_W_io: Array,  # forces on rigid bodies are added, shape [num_mobods, 6]
    tau_io: Array,  # generalized forces of contacts are added, shape [num_v]
    forces_out: Array,  # of each pair, see plant_layout.py, shape [num_pairs, NUM_FORCE_VALUES]
) -> None:
    """Computes the forces of contacts with deformable bodies."""
    for i in range(pairs_in.shape[0]):
        constraint, pair, out = constraints_in[first + i], pairs_in[i], forces_out[i]
        gamma = impulses_in[constraint["row_start"] : constraint["row_start"] + 3]
        n, p_WC = vector(pair["nhat_BA_W"]), vector(pair["p_WC"])
        t_1, t_2 = tangents_of(n)
        f = scaled(1.0 / time_step, add(add(scaled(gamma[0], t_1), scaled(gamma[1], t_2)), scaled(gamma[2], n)))
        _push_on_rigid(position_in, F_Bo_W_io, pair["mobod_A"], ends_in[i, 0], p_WC, f)
        _push_on_rigid(position_in, F_Bo_W_io, pair["mobod_B"], ends_in[i, 1], p_WC, scaled(-1.0, f))
        v_1, v_2, v_n = 0.0, 0.0, 0.0
        for end in range(num_ends(constraint)):
            block = block_of(trees, jacobian_in, constraint, end)
            v_1 = row_product(block, 0, v_next_in, v_1)
            v_2 = row_product(block, 1, v_next_in, v_2)
            v_n = row_product(block, 2, v_next_in, v_n)
            if trees[tree_of(constraint, end)]["v_start"] < num_v:
                for r in range(3):
                    add_row(block, r, gamma[r] / time_step, tau_io)
        slip = vector(pair["v_SbSa_W"])
        v_1, v_2 = v_1 + dot(t_1, slip), v_2 + dot(t_2, slip)
        set_vector(out, f)
        out[APPROACH], out[SLIP] = -v_n, (v_1 * v_1 + v_2 * v_2) ** 0.5
        set_vector(out[POINT:], p_WC)


@device
def _push_on_rigid(position: Array, F: Array, mobod: int, end: Array, p_WC: Vector3, f: Vector3) -> None:
    if end["body"] < 0:
        push(position, F, mobod, p_WC, (0.0, 0.0, 0.0), f)
