"""From a plant and its contacts to a contact problem (layout.py), and back to forces.

Trees of the problem are those of the plant: everything outboard of the world. Their blocks of A are those of the
composite rigid body algorithm (kernels/mass_matrix.py) with h times the damping on the diagonal. A point C of body B
has

    v_WC = sum_k (v_k + w_k x p_AoC) vdot_k,   [w_k; v_k] = H_PA_W[k] of B and all bodies A inboard of it       (1)

so that a row of a Jacobian takes a walk from B to the world. Contacts come as pairs, with place, normal and law
(contact_pairs.py).

A joint limit takes part if the joint comes within twice the way that it can go in the step at the greater of its speeds
before it and without constraints.

Sources: R. Featherstone (2008), section 6.2, for A; A. Castro, F. Permenter, X. Han (2022) for limits and links.
"""

from __future__ import annotations

import math

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.views import as_matrix
from merganser.multibody.contact.layout import CONTACT, DRIVE, HOLONOMIC, Array
from merganser.multibody.contact.plant_layout import (
    BALL,
    COUPLER,
    DISTANCE,
    NO_LINK,
    WELD,
    ConstraintSources,
    PlantTrees,
    ProblemArrays,
)
from merganser.multibody.kernels.mass_matrix import add_composite, fill_rows, start_composite
from merganser.multibody.kernels.scalars import arctangent
from merganser.multibody.kernels.spatial import (
    Vector3,
    add,
    cross,
    dot,
    rotate,
    rotational,
    scaled,
    subtract,
    translational,
    vector,
)

__all__ = [
    "calc_contact_problem",
    "calc_tree_matrices",
    "ends_of",
    "find_limits",
    "is_at_work",
    "tangents_of",
]

LIMIT_STIFFNESS = 1e12
LIMIT_WINDOW = 2.0
_NEAR_RIGID = 0.1  # beta of all constraints but contacts


# ---------------------------------------------------------------------- masses


@device
def calc_tree_matrices(
    topology: Array,  # shape [num_mobods], see kernels/layout.py
    parameters: Array,
    trees: Array,  # shape [num_trees], of tree_dtype
    tree_of_mobod: Array,  # shape [num_mobods]
    time_step: float,
    position_in: Array,
    scratch_work: Array,
    matrix_out: Array,  # blocks of A = M + h D
    is_locked_out: Array,  # integers, shape [num_v]
) -> None:
    """Computes A, and which velocities are locked."""
    num_mobods = topology.shape[0]
    for k in range(matrix_out.shape[0]):
        matrix_out[k] = 0.0
    for i in range(1, num_mobods):
        start_composite(position_in[i], scratch_work[i])
    for i in range(num_mobods - 1, 0, -1):
        node = topology[i]
        if node["num_v"] > 0:
            tree = trees[tree_of_mobod[i]]
            n, start = tree["num_v"], tree["matrix_start"]
            block = as_matrix(matrix_out[start : start + n * n], n, n)
            fill_rows(i, topology, position_in, scratch_work[i], tree["v_start"], block)
            _add_to_diagonal(node, parameters[i], time_step, tree, matrix_out)
        for k in range(node["num_v"]):
            is_locked_out[node["v_start"] + k] = parameters[i]["is_locked"].real > 0.5
        if node["parent"] > 0:
            add_composite(scratch_work[i], vector(position_in[i]["p_PoBo_W"]), scratch_work[node["parent"]])


@device
def _add_to_diagonal(node: Array, fixed: Array, time_step: float, tree: Array, matrix: Array) -> None:
    n = tree["num_v"]
    for k in range(node["num_v"]):
        at = tree["matrix_start"] + (n + 1) * (node["v_start"] - tree["v_start"] + k)
        matrix[at] += time_step * fixed["damping"][k]
        if node["num_v"] == 1:
            matrix[at] += fixed["reflected_inertia"]


# ---------------------------------------------------------------------- Jacobians


@device
def _add_row(
    topology: Array, position: Array, mobod: int, p_WC: Vector3, moment: Vector3, force: Vector3,
    jacobian: Array, start: int,
) -> None:  # fmt: skip
    """Adds to a row of J the power of [moment; force], at C of a body, with each velocity: equation (1).

    `start` is where velocity 0 of the plant would stand in that row.
    """
    a = mobod
    while a > 0:
        num_v = topology[a]["num_v"]
        if num_v > 0:
            arm = subtract(p_WC, vector(position[a]["p_WoBo_W"]))
            moment_A = add(moment, cross(arm, force))
            at = start + topology[a]["v_start"]
            for k in range(num_v):
                H = position[a]["H_PB_W"][k]
                jacobian[at + k] += dot(rotational(H), moment_A) + dot(translational(H), force)
        a = topology[a]["parent"]


@device
def _add_point(
    topology: Array, position: Array, trees: Array, tree: int, constraint: Array, mobod: int, p_WC: Vector3,
    sign: float, t_1: Vector3, t_2: Vector3, n: Vector3, jacobian: Array,
) -> None:  # fmt: skip
    """Adds to the three rows of a contact the velocity of point C of a body along t_1, t_2 and n: equation (1)."""
    if tree < 0:
        return
    num_v, v_start = trees[tree]["num_v"], trees[tree]["v_start"]
    block = jacobian[_row_start(constraint, trees, tree, 0) : _row_start(constraint, trees, tree, 3)]
    a = mobod
    while a > 0:
        node, body = topology[a], position[a]
        at = node["v_start"] - v_start
        arm = subtract(p_WC, vector(body["p_WoBo_W"]))
        for k in range(node["num_v"]):
            H = body["H_PB_W"][k]
            v_C = add(translational(H), cross(rotational(H), arm))
            block[at + k] += sign * dot(t_1, v_C)
            block[num_v + at + k] += sign * dot(t_2, v_C)
            block[2 * num_v + at + k] += sign * dot(n, v_C)
        a = node["parent"]


@device
def _open(
    constraint: Array, trees: Array, tree_A: int, tree_B: int, row_start: int, num_rows: int, place: int,
    jacobian: Array,
) -> int:  # fmt: skip
    """Makes room for the blocks of a constraint between two trees, -1 for none; returns where the next begins."""
    first, second = (tree_A, tree_B) if tree_A >= 0 else (tree_B, -1)
    if second == first:
        second = -1
    constraint["tree_0"], constraint["tree_1"] = first, second
    constraint["row_start"], constraint["num_rows"] = row_start, num_rows
    constraint["jacobian_0"], constraint["jacobian_1"] = place, place
    place += num_rows * trees[first]["num_v"]
    if second >= 0:
        constraint["jacobian_1"] = place
        place += num_rows * trees[second]["num_v"]
    for k in range(constraint["jacobian_0"], place):
        jacobian[k] = 0.0
    return place


@device
def _row_start(constraint: Array, trees: Array, tree: int, r: int) -> int:
    """Where row r of the block of a tree begins in the Jacobian."""
    start: int = constraint["jacobian_0"] if tree == constraint["tree_0"] else constraint["jacobian_1"]
    return start + r * trees[tree]["num_v"]


@device
def _add_pair(
    topology: Array, position: Array, trees: Array, tree_of_mobod: Array, constraint: Array, jacobian: Array,
    r: int, A: int, B: int, p_WP: Vector3, p_WQ: Vector3, moment: Vector3, force: Vector3,
) -> None:  # fmt: skip
    """Row r: the motion of body B at Q less that of body A at P, along [moment; force]."""
    if tree_of_mobod[B] >= 0:
        tree = tree_of_mobod[B]
        at = _row_start(constraint, trees, tree, r) - trees[tree]["v_start"]
        _add_row(topology, position, B, p_WQ, moment, force, jacobian, at)
    if tree_of_mobod[A] >= 0:
        tree = tree_of_mobod[A]
        at = _row_start(constraint, trees, tree, r) - trees[tree]["v_start"]
        _add_row(topology, position, A, p_WP, scaled(-1.0, moment), scaled(-1.0, force), jacobian, at)


@device
def tangents_of(n: Vector3) -> tuple[Vector3, Vector3]:
    """Unit vectors t1 and t2 orthogonal to each other and to a unit vector n."""
    if abs(n[0].real) < 0.6:
        t = cross(n, (1.0, 0.0, 0.0))
    else:
        t = cross(n, (0.0, 1.0, 0.0))
    t_1 = scaled(1.0 / np.sqrt(dot(t, t)), t)
    return t_1, cross(n, t_1)


@device
def unit_vector(r: int) -> Vector3:
    """The unit vector along axis r."""
    return 1.0 if r == 0 else 0.0, 1.0 if r == 1 else 0.0, 1.0 if r == 2 else 0.0


# ---------------------------------------------------------------------- the problem


@device
def _near_limits(limit: Array, time_step: float, q: Array, v: Array, v_star: Array) -> tuple[bool, bool]:
    """Whether a joint may come to its lower limit, and to its upper one."""
    way = LIMIT_WINDOW * time_step * max(abs(v[limit["v"]].real), abs(v_star[limit["v"]].real))
    position = q[limit["q"]].real
    return position - way < limit["lower"], position + way > limit["upper"]


@kernel
def find_limits(limits: Array, time_step: float, q_in: Array, v_in: Array, v_star_in: Array) -> int:
    """The number of joint limits that take part in a step."""
    count = 0
    for i in range(limits.shape[0]):
        lower, upper = _near_limits(limits[i], time_step, q_in, v_in, v_star_in)
        count += int(lower) + int(upper)
    return count


@device
def calc_contact_problem(
    # Model:
    plant: PlantTrees,
    settings: Array,  # record of settings_dtype
    beta: float,  # near-rigid threshold of contacts
    # In:
    sources: ConstraintSources,
    q_in: Array,
    v_in: Array,
    v_star_in: Array,
    position_in: Array,
    # Out:
    problem_out: ProblemArrays,  # large enough for everything
) -> None:
    """Writes the constraints: contacts, joint limits, links, then drives."""
    trees, tree_of_velocity, h = plant.trees, plant.of_velocity, settings["time_step"]
    limits, links, drives = sources.limits, sources.links, sources.drives
    constraints, rows, jacobian, counts = problem_out
    c, row, place = 0, 0, 0
    for i in range(sources.contact_pairs.shape[0]):
        place = _add_contact(sources.contact_pairs[i], plant, beta, position_in, c, row, place, problem_out)
        c, row = c + 1, row + 3
    counts[3] = c
    for i in range(limits.shape[0]):
        limit = limits[i]
        lower, upper = _near_limits(limit, h, q_in, v_in, v_star_in)
        q = q_in[limit["q"]]
        if lower:
            place = _add_limit(limit, 1.0, q - limit["lower"], h, c, row, place, trees, tree_of_velocity,
                               constraints, rows, jacobian)  # fmt: skip
            c, row = c + 1, row + 1
        if upper:
            place = _add_limit(limit, -1.0, limit["upper"] - q, h, c, row, place, trees, tree_of_velocity,
                               constraints, rows, jacobian)  # fmt: skip
            c, row = c + 1, row + 1
    counts[4] = c
    for i in range(links.shape[0]):
        if not is_at_work(links[i], plant.of_mobod):
            continue
        place = _add_link(
            links[i], plant.topology, trees, plant.of_mobod, tree_of_velocity, h, q_in, position_in, row, place,
            constraints[c], rows, jacobian,
        )  # fmt: skip
        row += constraints[c]["num_rows"]
        c += 1
    for i in range(drives.shape[0]):
        place = _add_drive(drives[i], trees, tree_of_velocity, row, place, constraints[c], rows, jacobian)
        c, row = c + 1, row + 1
    counts[0], counts[1], counts[2] = c, row, place


@device
def _add_contact(
    pair: Array, plant: PlantTrees, beta: float, position: Array, c: int, row: int, place: int, problem: ProblemArrays
) -> int:
    """Writes constraint c from a contact pair: the velocity of A relative to B along t1, t2 and n.

    As the normal of a pair points into A, bodies A and B of the solver are B and A of the pair.
    """
    topology, trees, jacobian = plant.topology, plant.trees, problem.jacobian
    record, A, B = problem.constraints[c], pair["mobod_A"], pair["mobod_B"]
    tree_A, tree_B = plant.of_mobod[A], plant.of_mobod[B]
    place = _open(record, trees, tree_B, tree_A, row, 3, place, jacobian)
    record["kind"], record["beta"] = CONTACT, beta
    record["stiffness"], record["relaxation_time"] = pair["stiffness"], pair["relaxation_time"]
    record["damping"], record["friction"] = pair["dissipation"], pair["dynamic_friction"]
    record["elastic_force"] = pair["elastic_force"]
    record["lower"], record["upper"] = -math.inf, math.inf
    record["velocity_target"], record["feedforward"] = 0.0, 0.0
    n, p_WC = vector(pair["nhat_BA_W"]), vector(pair["p_WC"])
    t_1, t_2 = tangents_of(n)
    _add_point(topology, position, trees, tree_A, record, A, p_WC, 1.0, t_1, t_2, n, jacobian)
    _add_point(topology, position, trees, tree_B, record, B, p_WC, -1.0, t_1, t_2, n, jacobian)
    for r in range(3):
        problem.rows[row + r]["g"], problem.rows[row + r]["bias"] = 0.0, 0.0
    problem.rows[row + 2]["g"] = pair["phi"]
    return place


@device
def is_at_work(link: Array, tree_of_mobod: Array) -> bool:
    """Whether a link is switched on and has something to move."""
    if link["kind"] == NO_LINK:
        return False
    if link["kind"] == COUPLER:
        return True
    is_anchored: bool = tree_of_mobod[link["mobod_A"]] < 0 and tree_of_mobod[link["mobod_B"]] < 0
    return not is_anchored


@device
def ends_of(link: Array, position: Array) -> tuple[Vector3, Vector3]:
    """p_WP and p_WQ of a link between bodies."""
    A, B = position[link["mobod_A"]], position[link["mobod_B"]]
    return _point(A, link["X_AP"]), _point(B, link["X_BQ"])


@device
def _set_holonomic(record: Array, stiffness: float, relaxation_time: float, lower: float, upper: float) -> None:
    record["kind"] = HOLONOMIC
    record["stiffness"], record["relaxation_time"], record["beta"] = stiffness, relaxation_time, _NEAR_RIGID
    record["lower"], record["upper"] = lower, upper
    record["damping"], record["friction"], record["elastic_force"] = 0.0, 0.0, 0.0
    record["velocity_target"], record["feedforward"] = 0.0, 0.0


@device
def _add_limit(
    limit: Array, sign: float, room: float, h: float, c: int, row: int, place: int, trees: Array,
    tree_of_velocity: Array, constraints: Array, rows: Array, jacobian: Array,
) -> int:  # fmt: skip
    record, tree = constraints[c], tree_of_velocity[limit["v"]]
    place = _open(record, trees, tree, -1, row, 1, place, jacobian)
    _set_holonomic(record, LIMIT_STIFFNESS, h, 0.0, math.inf)
    jacobian[record["jacobian_0"] + limit["v"] - trees[tree]["v_start"]] = sign
    rows[row]["g"], rows[row]["bias"] = room, 0.0
    return place


@device
def _add_drive(
    drive: Array, trees: Array, tree_of_velocity: Array, row: int, place: int, record: Array, rows: Array,
    jacobian: Array,
) -> int:  # fmt: skip
    tree = tree_of_velocity[drive["v"]]
    place = _open(record, trees, tree, -1, row, 1, place, jacobian)
    _set_holonomic(record, drive["p"], 0.0, -drive["limit"], drive["limit"])
    record["kind"], record["damping"] = DRIVE, drive["d"]
    record["velocity_target"], record["feedforward"] = drive["v_desired"], drive["feedforward"]
    jacobian[record["jacobian_0"] + drive["v"] - trees[tree]["v_start"]] = 1.0
    rows[row]["g"], rows[row]["bias"] = drive["error"], 0.0
    return place


@device
def _add_link(
    link: Array, topology: Array, trees: Array, tree_of_mobod: Array, tree_of_velocity: Array, h: float, q: Array,
    position: Array, row: int, place: int, record: Array, rows: Array, jacobian: Array,
) -> int:  # fmt: skip
    if link["kind"] == COUPLER:
        tree_0, tree_1 = tree_of_velocity[link["v_0"]], tree_of_velocity[link["v_1"]]
        place = _open(record, trees, tree_0, tree_1, row, 1, place, jacobian)
        _set_holonomic(record, math.inf, h, -math.inf, math.inf)
        jacobian[_row_start(record, trees, tree_0, 0) + link["v_0"] - trees[tree_0]["v_start"]] += 1.0
        jacobian[_row_start(record, trees, tree_1, 0) + link["v_1"] - trees[tree_1]["v_start"]] -= link["gear_ratio"]
        rows[row]["g"] = q[link["q_0"]] - link["gear_ratio"] * q[link["q_1"]] - link["offset"]
        rows[row]["bias"] = 0.0
        return place
    A, B = link["mobod_A"], link["mobod_B"]
    p_WP, p_WQ = ends_of(link, position)
    p_PQ = subtract(p_WQ, p_WP)
    num_rows = 1 if link["kind"] == DISTANCE else 3 if link["kind"] == BALL else 6
    place = _open(record, trees, tree_of_mobod[A], tree_of_mobod[B], row, num_rows, place, jacobian)
    _set_holonomic(record, math.inf, h, -math.inf, math.inf)
    zero = (0.0, 0.0, 0.0)
    if link["kind"] == DISTANCE:
        length = np.sqrt(dot(p_PQ, p_PQ))
        along = scaled(1.0 / length, p_PQ) if length.real > 0.0 else (0.0, 0.0, 1.0)
        record["stiffness"] = link["stiffness"]
        if link["stiffness"] < math.inf:
            record["relaxation_time"] = link["damping"] / link["stiffness"]
        _add_pair(topology, position, trees, tree_of_mobod, record, jacobian, 0, A, B, p_WP, p_WQ, zero, along)
        rows[row]["g"], rows[row]["bias"] = length - link["length"], 0.0
        return place
    first = 0
    if link["kind"] == WELD:
        p_WM = scaled(0.5, add(p_WP, p_WQ))
        p_WP, p_WQ = p_WM, p_WM  # as if it were one body
        turn = _rotation_vector(position[A], link["X_AP"], position[B], link["X_BQ"])
        for r in range(3):
            axis = unit_vector(r)
            _add_pair(topology, position, trees, tree_of_mobod, record, jacobian, r, A, B, p_WP, p_WQ, axis, zero)
            rows[row + r]["g"], rows[row + r]["bias"] = dot(axis, turn), 0.0
        first = 3
    for r in range(3):
        axis = unit_vector(r)
        _add_pair(topology, position, trees, tree_of_mobod, record, jacobian, first + r, A, B, p_WP, p_WQ, zero, axis)
        rows[row + first + r]["g"], rows[row + first + r]["bias"] = dot(axis, p_PQ), 0.0
    return place


@device
def _point(body: Array, X_BF: Array) -> Vector3:
    """p_WFo_W of a frame F fixed to body B."""
    return add(vector(body["p_WoBo_W"]), rotate(body["R_WB"], (X_BF[0, 3], X_BF[1, 3], X_BF[2, 3])))


@device
def _axis(body: Array, X_BF: Array, c: int) -> Vector3:
    return rotate(body["R_WB"], (X_BF[0, c], X_BF[1, c], X_BF[2, c]))


@device
def _rotation_vector(A: Array, X_AP: Array, B: Array, X_BQ: Array) -> Vector3:
    """Axis times angle of the rotation from P to Q, in W: from 1/2 sum of P_i x Q_i = axis sin, and the trace."""
    total, trace = (0.0, 0.0, 0.0), 0.0
    for c in range(3):
        p, q = _axis(A, X_AP, c), _axis(B, X_BQ, c)
        total = add(total, cross(p, q))
        trace += dot(p, q)
    sine = 0.5 * np.sqrt(dot(total, total))
    angle = arctangent(sine, 0.5 * (trace - 1.0))
    return scaled(0.5 * angle / sine, total) if sine.real > 1e-9 else scaled(0.5, total)
