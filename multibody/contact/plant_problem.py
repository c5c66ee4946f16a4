"""From a plant and its contacts to a contact problem (layout.py).

Trees of the problem are those of the plant: everything outboard of the world. Their blocks of A are those of the
composite rigid body algorithm (kernels/mass_matrix.py) with h times the damping on the diagonal. A point C of body B
has

    v_WC = sum_k (v_k + w_k x p_AoC) vdot_k,   [w_k; v_k] = H_PA_W[k] of B and all bodies A inboard of it       (1)

so that a row of a Jacobian takes a walk from B to the world. Contacts come as pairs, with place, normal and law
(contact_pairs.py).

Limits of joints bound a position, or the angle by which a ball has turned. With the position q of a joint with one
velocity v, or the quaternion Q = (w, e) of R_FM and v = w_FM_F of a ball,

    x = q,   xdot = v                                                                                           (2)
    x = 2 arctan(|e| / |w|),   xdot = a . v,   a = sign(w) e / |e|                                              (3)

where 0 <= x <= pi is the angle of R_FM about the unit vector a. So the limit of a ball keeps each axis of M in a cone
about that of F. At x = 0 there is no a, and no velocity changes x. A limit takes part if the joint comes within twice
the way that it can go in the step at the greater of its speeds before it and without constraints.

Sources: R. Featherstone (2008), section 6.2, for A; A. Castro, F. Permenter, X. Han (2022) for limits and constraints.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.views import as_matrix
from merganser.multibody.contact.contact_pairs import ContactPair
from merganser.multibody.contact.layout import Rows
from merganser.multibody.contact.plant_layout import (
    ConstraintSources,
    Drive,
    Limit,
    Limits,
    PlantTrees,
    ProblemArrays,
    ProblemTrees,
)
from merganser.multibody.kernels.actuators import ERROR, FEEDFORWARD, GAIN, VELOCITY_TARGET
from merganser.multibody.kernels.constraints.records import ConstraintRecords
from merganser.multibody.kernels.constraints.rows import fill_more, fill_row, write_row
from merganser.multibody.kernels.layout import Mobod, Parameter, Parameters, Positions, Scratch, Topology
from merganser.multibody.kernels.mass_matrix import add_composite, fill_rows, start_composite
from merganser.multibody.kernels.scalars import arctangent, is_set
from merganser.multibody.kernels.spatial import (
    Vector3,
    add,
    cross,
    dot,
    rotational,
    scaled,
    subtract,
    translational,
    vector,
)
from merganser.multibody.kernels.transmissions.motion import stretch_of
from merganser.multibody.kernels.transmissions.records import Transmission, Transmissions
from merganser.multibody.linear.records import CONTACT, DRIVE, HOLONOMIC, Constraint, Tree, Trees

LIMIT_STIFFNESS = 1e12
LIMIT_WINDOW = 2.0
_NO_BOUND = 1e300  # of a force; numbers with derivatives have no infinity
_NEAR_RIGID = 0.1  # beta of all constraints but contacts and dry friction
# beta of dry friction: a joint that sticks gives way by beta^2 / (4 pi^2), 2.5 millionths, of the velocity that its
# load would give it in a step.
_STICTION = 0.01
_EXACT = 1e-9  # beta of armature, which no step makes softer


@kernel
def start_step(
    # Model:
    plant: PlantTrees,
    parameters: Parameters,
    time_step: float,  # h [s]
    beta: float,  # near-rigid threshold of contacts
    # In:
    sources: ConstraintSources,  # its drives get their targets here
    drive_values_in: FloatTable,  # see kernels/actuators.py
    q_in: Floats,
    v_in: Floats,
    x_star_in: Floats,  # state after the step without constraints
    position_in: Positions,
    # Work:
    scratch_work: Scratch,
    # Out: see calc_tree_matrices() and calc_contact_problem()
    trees_out: ProblemTrees,  # all but v_star
    problem_out: ProblemArrays,
) -> None:
    """Makes the trees, computes A, and writes the constraints."""
    size = 0
    for t in range(plant.trees.shape[0]):
        trees_out.trees[t] = plant.trees[t]
        size += plant.trees[t]["num_v"] * plant.trees[t]["num_v"]
    for k in range(v_in.shape[0]):
        trees_out.v[k] = v_in[k]
    counts = trees_out.counts[0]
    counts["trees"], counts["velocities"], counts["matrix"] = plant.trees.shape[0], v_in.shape[0], size
    for n in range(sources.drives.shape[0]):
        drive, values = sources.drives[n], drive_values_in[n]
        drive["error"], drive["v_desired"] = -values[ERROR], values[VELOCITY_TARGET]
        drive["feedforward"] = values[FEEDFORWARD]
    calc_tree_matrices(
        plant.topology, parameters, plant.trees, plant.of_mobod, time_step, position_in, scratch_work,
        trees_out.matrix[:size], trees_out.is_locked,
    )  # fmt: skip
    v_star = x_star_in[q_in.shape[0] :]
    calc_contact_problem(plant, time_step, beta, parameters, sources, q_in, v_in, v_star, position_in, problem_out)


# ---------------------------------------------------------------------- masses


@device
def calc_tree_matrices(
    topology: Topology,  # shape [num_mobods], see kernels/layout.py
    parameters: Parameters,
    trees: Trees,  # shape [num_trees], of tree_dtype
    tree_of_mobod: Integers,  # shape [num_mobods]
    time_step: float,
    position_in: Positions,
    scratch_work: Scratch,
    matrix_out: Floats,  # blocks of A = M + h D
    is_locked_out: Integers,  # integers, shape [num_v]
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
            is_locked_out[node["v_start"] + k] = int(is_set(parameters[i]["is_locked"]))
        if node["parent"] > 0:
            add_composite(scratch_work[i], vector(position_in[i]["p_PoBo_W"]), scratch_work[node["parent"]])


@device
def _add_to_diagonal(node: Mobod, fixed: Parameter, time_step: float, tree: Tree, matrix: Floats) -> None:
    n = tree["num_v"]
    for k in range(node["num_v"]):
        at = tree["matrix_start"] + (n + 1) * (node["v_start"] - tree["v_start"] + k)
        matrix[at] += time_step * fixed["damping"][k] + fixed["reflected_inertia"]


# ---------------------------------------------------------------------- Jacobians


@device
def add_point(
    topology: Topology, position: Positions, trees: Trees, tree: int, constraint: Constraint, row: int, mobod: int,
    p_WC: Vector3, sign: float, t_1: Vector3, t_2: Vector3, n: Vector3, jacobian: Floats,
) -> None:  # fmt: skip
    """Adds to three rows of a constraint the velocity of point C of a body along t_1, t_2 and n: equation (1)."""
    if tree < 0:
        return
    num_v, v_start = trees[tree]["num_v"], trees[tree]["v_start"]
    block = jacobian[_row_start(constraint, trees, tree, row) : _row_start(constraint, trees, tree, row + 3)]
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
def open_constraint(
    constraint: Constraint, trees: Trees, tree_A: int, tree_B: int, row_start: int, num_rows: int, place: int,
    jacobian: Floats,
) -> int:  # fmt: skip
    """Makes room for the blocks of a constraint between two trees, -1 for none; returns where the next begins."""
    columns_A = 0, trees[tree_A]["num_v"] if tree_A >= 0 else 0
    columns_B = 0, trees[tree_B]["num_v"] if tree_B >= 0 else 0
    return open_blocks(constraint, tree_A, tree_B, columns_A, columns_B, row_start, num_rows, place, jacobian)


@device
def open_blocks(
    constraint: Constraint, tree_A: int, tree_B: int, columns_A: tuple[int, int], columns_B: tuple[int, int],
    row_start: int, num_rows: int, place: int, jacobian: Floats,
) -> int:  # fmt: skip
    """The same with blocks that have the columns from a first one on, and so many."""
    first, second = (tree_A, tree_B) if tree_A >= 0 else (tree_B, -1)
    columns, others = (columns_A, columns_B) if tree_A >= 0 else (columns_B, columns_A)
    if second == first:
        second = -1
    constraint["tree_0"], constraint["tree_1"] = first, second
    constraint["row_start"], constraint["num_rows"] = row_start, num_rows
    constraint["jacobian_0"], constraint["jacobian_1"] = place, place
    constraint["column_0"], constraint["num_columns_0"] = columns
    place += num_rows * columns[1]
    if second >= 0:
        constraint["jacobian_1"] = place
        constraint["column_1"], constraint["num_columns_1"] = others
        place += num_rows * others[1]
    for k in range(constraint["jacobian_0"], place):
        jacobian[k] = 0.0
    return place


@device
def _open_row(constraint: Constraint, plant: PlantTrees, v: int, num_v: int, row: int, place: int) -> int:
    """Makes room for a row of some velocities of one tree, which its user fills; returns where the next begins."""
    tree = plant.of_velocity[v]
    constraint["tree_0"], constraint["tree_1"] = tree, -1
    constraint["row_start"], constraint["num_rows"] = row, 1
    constraint["jacobian_0"], constraint["jacobian_1"] = place, place
    constraint["column_0"], constraint["num_columns_0"] = v - plant.trees[tree]["v_start"], num_v
    return place + num_v


@device
def _row_start(constraint: Constraint, trees: Trees, tree: int, r: int) -> int:
    """Where row r of the block of a tree begins in the Jacobian."""
    start: int = constraint["jacobian_0"] if tree == constraint["tree_0"] else constraint["jacobian_1"]
    return start + r * trees[tree]["num_v"]


@device
def tangents_of(n: Vector3) -> tuple[Vector3, Vector3]:
    """Unit vectors t1 and t2 orthogonal to each other and to a unit vector n."""
    if abs(n[0].real) < 0.6:
        t = cross(n, (1.0, 0.0, 0.0))
    else:
        t = cross(n, (0.0, 1.0, 0.0))
    t_1 = scaled(1.0 / np.sqrt(dot(t, t)), t)
    return t_1, cross(n, t_1)


# ---------------------------------------------------------------------- the problem


@device
def limited_position(limit: Limit, q: Floats) -> tuple[Any, Vector3]:
    """x, and its slopes by the velocities from limit["v"] on, limit["num_v"] of them: equations (2) and (3).

    Args:
        limit: record of limit_dtype.
        q: all positions, no symbols.
    """
    i = limit["q"]
    zero = 0.0 * q[i]
    if limit["num_v"] == 1:
        return q[i], (1.0 + zero, zero, zero)
    w, e = q[i], (q[i + 1], q[i + 2], q[i + 3])
    square = dot(e, e)
    if not square.real > 0.0:
        return zero, (zero, zero, zero)
    if w.real < 0.0:
        w, e = -w, scaled(-1.0, e)
    sine = np.sqrt(square)
    return 2.0 * arctangent(sine, w), scaled(1.0 / sine, e)


@device
def limited_rate(limit: Limit, slopes: Vector3, v: Floats) -> Any:
    """xdot."""
    rate = slopes[0] * v[limit["v"]]
    for k in range(1, limit["num_v"]):
        rate += slopes[k] * v[limit["v"] + k]
    return rate


@device
def _near_limits(limit: Limit, time_step: float, q: Floats, v: Floats, v_star: Floats) -> tuple[bool, bool]:
    """Whether a joint may come to its lower limit, and to its upper one."""
    way = LIMIT_WINDOW * time_step * max(_speed(limit, v), _speed(limit, v_star))
    position = limited_position(limit, q)[0].real
    return position - way < limit["lower"], position + way > limit["upper"]


@device
def _speed(limit: Limit, v: Floats) -> float:
    """The speed of a joint; of a ball that of its rotation, whatever the axis."""
    if limit["num_v"] == 1:
        return abs(v[limit["v"]].real)
    square = 0.0
    for k in range(limit["v"], limit["v"] + limit["num_v"]):
        square += v[k].real * v[k].real
    return math.sqrt(square)


@kernel
def find_limits(limits: Limits, time_step: float, q_in: Floats, v_in: Floats, v_star_in: Floats) -> int:
    """The number of joint limits that take part in a step."""
    count = 0
    for i in range(limits.shape[0]):
        lower, upper = _near_limits(limits[i], time_step, q_in, v_in, v_star_in)
        count += int(lower) + int(upper)
    return count


@kernel
def are_resolved(mobods: Integers, time_step: float, drive_values_in: FloatTable, scratch_in: Scratch) -> bool:
    """Whether regularization.py is sure to leave the gains of all PD controllers as they are.

    It does, by its equations (3) and (4), if h K <= 4 pi^2 / beta^2 A_ii. The hinge inertia that forward dynamics have
    found (kernels/forward_dynamics.py), less the share h K that the controller itself has in it, is at most A_ii.

    Args:
        mobods: which the controllers drive.
        time_step: h [s].
        drive_values_in: of the controllers, see kernels/actuators.py.
        scratch_in: as kernels/step.py has left it.
    """
    greatest = 4.0 * math.pi * math.pi / (_NEAR_RIGID * _NEAR_RIGID)
    for n in range(mobods.shape[0]):
        gain = time_step * drive_values_in[n, GAIN]
        if not gain <= greatest * (1.0 / scratch_in[mobods[n]]["D_B"][0, 0] - gain):
            return False
    return True


@device
def calc_contact_problem(
    # Model:
    plant: PlantTrees,
    h: float,  # time step [s]
    beta: float,  # near-rigid threshold of contacts
    parameters: Parameters,
    # In:
    sources: ConstraintSources,
    q_in: Floats,
    v_in: Floats,
    v_star_in: Floats,
    position_in: Positions,
    # Out:
    problem_out: ProblemArrays,  # large enough for everything
) -> None:
    """Writes the constraints: contacts, limits and friction of joints, tendons, constraints and drives."""
    limits, drives, counts = sources.limits, sources.drives, problem_out.counts[0]
    c, row, place = 0, 0, 0
    for i in range(sources.contact_pairs.shape[0]):
        place = _add_contact(sources.contact_pairs[i], plant, beta, position_in, c, row, place, problem_out)
        c, row = c + 1, row + 3
    counts["contacts"] = c
    for i in range(limits.shape[0]):
        limit = limits[i]
        lower, upper = _near_limits(limit, h, q_in, v_in, v_star_in)
        if lower:
            place = _add_limit(limit, 1.0, q_in, h, c, row, place, plant, problem_out)
            c, row = c + 1, row + 1
        if upper:
            place = _add_limit(limit, -1.0, q_in, h, c, row, place, plant, problem_out)
            c, row = c + 1, row + 1
    for i in range(sources.frictions.shape[0]):
        friction = sources.frictions[i]
        most = parameters[friction["mobod"]]["friction"][friction["place"]]
        place = _add_friction(friction["v"], h * most, plant, c, row, place, problem_out)
        c, row = c + 1, row + 1
    for i in range(sources.transmissions.shape[0]):
        c, row, place = _add_tendon(sources, i, plant, h, v_in, v_star_in, c, row, place, problem_out)
    counts["contacts_and_joints"] = c
    i = 0
    while i < sources.rows.shape[0]:
        place = add_rows(sources.rows, i, plant, h, q_in, position_in, c, row, place, problem_out)
        i, row, c = i + sources.rows[i]["num_rows"], row + sources.rows[i]["num_rows"], c + 1
    for i in range(drives.shape[0]):
        place = _add_drive(drives[i], sources.arms, sources.transmissions, plant, c, row, place, problem_out)
        c, row = c + 1, row + 1
    counts["constraints"], counts["rows"], counts["jacobian"] = c, row, place


@device
def _add_contact(
    pair: ContactPair, plant: PlantTrees, beta: float, position: Positions, c: int, row: int, place: int,
    problem: ProblemArrays,
) -> int:  # fmt: skip
    """Writes constraint c from a contact pair: the velocity of A relative to B along t1, t2 and n.

    As the normal of a pair points into A, bodies A and B of the solver are B and A of the pair.
    """
    topology, trees, jacobian = plant.topology, plant.trees, problem.jacobian
    record, A, B = problem.constraints[c], pair["mobod_A"], pair["mobod_B"]
    tree_A, tree_B = plant.of_mobod[A], plant.of_mobod[B]
    place = open_constraint(record, trees, tree_B, tree_A, row, 3, place, jacobian)
    set_contact(pair, beta, record, problem.rows, row)
    n, p_WC = vector(pair["nhat_BA_W"]), vector(pair["p_WC"])
    t_1, t_2 = tangents_of(n)
    add_point(topology, position, trees, tree_A, record, 0, A, p_WC, 1.0, t_1, t_2, n, jacobian)
    add_point(topology, position, trees, tree_B, record, 0, B, p_WC, -1.0, t_1, t_2, n, jacobian)
    return place


@device
def set_contact(pair: ContactPair, beta: float, record: Constraint, rows: Rows, row: int) -> None:
    """What a contact pair says of its constraint but J."""
    record["kind"], record["beta"] = CONTACT, beta
    record["stiffness"], record["relaxation_time"] = pair["stiffness"], pair["relaxation_time"]
    record["damping"], record["friction"] = pair["dissipation"], pair["dynamic_friction"]
    record["elastic_force"] = pair["elastic_force"]
    record["lower"], record["upper"] = -math.inf, math.inf
    record["velocity_target"], record["feedforward"] = 0.0, 0.0
    t_1, t_2 = tangents_of(vector(pair["nhat_BA_W"]))
    slip = vector(pair["v_SbSa_W"])
    rows[row]["g"], rows[row]["bias"] = 0.0, dot(t_1, slip)
    rows[row + 1]["g"], rows[row + 1]["bias"] = 0.0, dot(t_2, slip)
    rows[row + 2]["g"], rows[row + 2]["bias"] = pair["phi"], 0.0


@device
def set_holonomic(record: Constraint, stiffness: float, relaxation_time: float, lower: float, upper: float) -> None:
    """What all holonomic constraints have."""
    record["kind"] = HOLONOMIC
    record["stiffness"], record["relaxation_time"], record["beta"] = stiffness, relaxation_time, _NEAR_RIGID
    record["lower"], record["upper"] = lower, upper
    record["damping"], record["friction"], record["elastic_force"] = 0.0, 0.0, 0.0
    record["velocity_target"], record["feedforward"] = 0.0, 0.0


@device
def _add_limit(
    limit: Limit, sign: float, q: Floats, h: float, c: int, row: int, place: int, plant: PlantTrees,
    problem: ProblemArrays,
) -> int:  # fmt: skip
    """Writes constraint c: the lower limit of a joint for the sign 1, or the upper one for -1."""
    record, start = problem.constraints[c], place
    place = _open_row(record, plant, limit["v"], limit["num_v"], row, place)
    set_holonomic(record, LIMIT_STIFFNESS, h, 0.0, math.inf)
    position, slopes = limited_position(limit, q)
    for k in range(limit["num_v"]):
        problem.jacobian[start + k] = sign * slopes[k]
    distance = position - limit["lower"] if sign > 0.0 else limit["upper"] - position
    problem.rows[row]["g"], problem.rows[row]["bias"] = distance, 0.0
    return place


@device
def _add_friction(v: int, most: float, plant: PlantTrees, c: int, row: int, place: int, problem: ProblemArrays) -> int:
    """Writes constraint c: dry friction, a stiff damper whose impulse has a bound."""
    record = problem.constraints[c]
    problem.jacobian[place] = 1.0
    place = _open_row(record, plant, v, 1, row, place)
    set_holonomic(record, math.inf, 0.0, -most, most)
    record["beta"] = _STICTION
    problem.rows[row]["g"], problem.rows[row]["bias"] = 0.0, 0.0
    return place


@device
def _add_tendon(
    sources: ConstraintSources, i: int, plant: PlantTrees, h: float, v: Floats, v_star: Floats, c: int, row: int,
    place: int, problem: ProblemArrays,
) -> tuple[int, int, int]:  # fmt: skip
    """Writes the spring, armature, limits and dry friction of a tendon; returns the next constraint, row and place.

    Armature a makes the impulse -a (J v+ - J v), that of a damper a / h on what moves with J v.
    """
    tendon, arms, rows = sources.transmissions[i], sources.arms[i], problem.rows
    length = sources.lengths[sources.lengths.shape[0] - sources.transmissions.shape[0] + i]
    stretch = stretch_of(tendon, length)
    stiffness = tendon["stiffness"] if stretch.real != 0.0 else 0.0
    if stiffness > 0.0 or tendon["damping"] > 0.0:
        record = problem.constraints[c]
        place = _open_tendon(record, tendon, arms, 1.0, plant, row, place, problem.jacobian)
        set_holonomic(record, stiffness, 0.0, -_NO_BOUND, _NO_BOUND)
        record["kind"], record["damping"] = DRIVE, tendon["damping"]
        rows[row]["g"], rows[row]["bias"] = stretch, 0.0
        c, row = c + 1, row + 1
    rate, rate_star = 0.0 * length, 0.0
    for k in range(v.shape[0]):
        rate += arms[k] * v[k]
        rate_star += (arms[k] * v_star[k]).real
    if tendon["armature"] > 0.0:
        record = problem.constraints[c]
        place = _open_tendon(record, tendon, arms, 1.0, plant, row, place, problem.jacobian)
        set_holonomic(record, 0.0, 0.0, -_NO_BOUND, _NO_BOUND)
        record["kind"], record["beta"] = DRIVE, _EXACT
        record["damping"], record["velocity_target"] = tendon["armature"] / h, rate
        rows[row]["g"], rows[row]["bias"] = 0.0, 0.0
        c, row = c + 1, row + 1
    if tendon["friction"] > 0.0:
        record = problem.constraints[c]
        place = _open_tendon(record, tendon, arms, 1.0, plant, row, place, problem.jacobian)
        set_holonomic(record, math.inf, 0.0, -h * tendon["friction"], h * tendon["friction"])
        record["beta"] = _STICTION
        rows[row]["g"], rows[row]["bias"] = 0.0, 0.0
        c, row = c + 1, row + 1
    if tendon["lower"] == -math.inf and tendon["upper"] == math.inf:
        return c, row, place
    way = LIMIT_WINDOW * h * max(abs(rate.real), abs(rate_star))
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        distance = sign * (length - (tendon["lower"] if side == 0 else tendon["upper"]))
        if distance.real < way:
            record = problem.constraints[c]
            place = _open_tendon(record, tendon, arms, sign, plant, row, place, problem.jacobian)
            set_holonomic(record, LIMIT_STIFFNESS, h, 0.0, math.inf)
            rows[row]["g"], rows[row]["bias"] = distance, 0.0
            c, row = c + 1, row + 1
    return c, row, place


@device
def _open_tendon(
    record: Constraint, tendon: Transmission, arms: Floats, sign: float, plant: PlantTrees, row: int, place: int,
    jacobian: Floats,
) -> int:  # fmt: skip
    """Makes room for a row along a transmission, and writes its moment arms; returns where the next begins."""
    place = open_constraint(record, plant.trees, tendon["tree_0"], tendon["tree_1"], row, 1, place, jacobian)
    for end in range(2):
        tree = record["tree_0"] if end == 0 else record["tree_1"]
        if tree >= 0:
            first, start = plant.trees[tree]["v_start"], _row_start(record, plant.trees, tree, 0)
            for k in range(plant.trees[tree]["num_v"]):
                jacobian[start + k] = sign * arms[first + k]
    return place


@device
def _add_drive(
    drive: Drive, arms: FloatTable, transmissions: Transmissions, plant: PlantTrees, c: int, row: int, place: int,
    problem: ProblemArrays,
) -> int:  # fmt: skip
    """Writes constraint c: a PD controller on a joint or along a transmission."""
    record, i = problem.constraints[c], drive["v"] - plant.of_velocity.shape[0]
    if i < 0:
        problem.jacobian[place] = 1.0
        place = _open_row(record, plant, drive["v"], 1, row, place)
    else:
        place = _open_tendon(record, transmissions[i], arms[i], 1.0, plant, row, place, problem.jacobian)
    set_holonomic(record, drive["p"], 0.0, -drive["limit"], drive["limit"])
    record["kind"], record["damping"] = DRIVE, drive["d"]
    record["velocity_target"], record["feedforward"] = drive["v_desired"], drive["feedforward"]
    problem.rows[row]["g"], problem.rows[row]["bias"] = drive["error"], 0.0
    return place


@device
def add_rows(
    rows: ConstraintRecords, first: int, plant: PlantTrees, h: float, q: Floats, position: Positions, c: int, row: int,
    place: int, problem: ProblemArrays,
) -> int:  # fmt: skip
    """Writes constraint c, whose rows begin at `first`; those that no velocity can change are left empty."""
    given, trees, record, jacobian = rows[first], plant.trees, problem.constraints[c], problem.jacobian
    if given["acts_on_coordinates"] != 0:
        tree_0, tree_1 = plant.of_velocity[given["v_0"]], plant.of_velocity[given["v_1"]]
    else:
        tree_0, tree_1 = plant.of_mobod[given["mobod_A"]], plant.of_mobod[given["mobod_B"]]
    num_rows = given["num_rows"]
    place = open_constraint(record, trees, tree_0, tree_1, row, num_rows, place, jacobian)
    set_holonomic(record, math.inf, h, h * given["lower"], h * given["upper"])
    if given["is_compliant"] != 0:
        record["stiffness"], record["relaxation_time"] = given["stiffness"], given["damping"] / given["stiffness"]
    for r in range(num_rows):
        value = problem.values[first + r]
        write_row(rows[first + r], q, position, value)
        start_0, start_1 = _velocity_start(record, trees, tree_0, r), _velocity_start(record, trees, tree_1, r)
        is_kept = fill_row(plant.topology, rows[first + r], position, value, start_0, start_1, jacobian)
        for k in range(given["num_more"]):
            start = _velocity_start(record, trees, plant.of_velocity[given["more_v"][k]], r)
            fill_more(rows[first + r], value, k, start, jacobian)
        problem.rows[row + r]["g"], problem.rows[row + r]["bias"] = 0.0, 0.0
        if is_kept != 0:
            problem.rows[row + r]["g"] = value["error"]
        else:
            _empty_row(record, trees, r, jacobian)
    return place


@device
def _velocity_start(constraint: Constraint, trees: Trees, tree: int, r: int) -> int:
    """Where velocity 0 of the plant would be in row r of the block of a tree; 0 for no tree."""
    if tree < 0:
        return 0
    start: int = _row_start(constraint, trees, tree, r) - trees[tree]["v_start"]
    return start


@device
def _empty_row(constraint: Constraint, trees: Trees, r: int, jacobian: Floats) -> None:
    for b in range(2):
        tree = constraint["tree_0"] if b == 0 else constraint["tree_1"]
        if tree >= 0:
            start = _row_start(constraint, trees, tree, r)
            for k in range(start, start + trees[tree]["num_v"]):
                jacobian[k] = 0.0
