"""From the impulses of a contact problem (plant_problem.py) to the next state of a plant and the forces on its bodies.

`end_step` gives the next state, `calc_forces` the forces that led there, for readers of the step.

q+ = q + h N(q) v+,   f = gamma / h
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.contact.contact_pairs import ContactPair, ContactPairs
from merganser.multibody.contact.plant_layout import APPROACH, POINT, SLIP, PlantTrees, ProblemArrays
from merganser.multibody.contact.plant_problem import tangents_of
from merganser.multibody.kernels.constraints.records import ConstraintRecords
from merganser.multibody.kernels.constraints.rows import add_force_of_row
from merganser.multibody.kernels.layout import Positions, Topology, Velocities
from merganser.multibody.kernels.spatial import (
    Vector3,
    add,
    add_spatial,
    cross,
    dot,
    scaled,
    set_vector,
    subtract,
    vector,
)
from merganser.multibody.kernels.step import advance_positions
from merganser.multibody.linear.products import add_row, block_of, num_ends, row_product
from merganser.multibody.linear.records import Constraint, Constraints, Trees


@kernel
def end_step(
    # Model:
    topology: Topology,
    time_step: float,
    # In:
    q_in: Floats,
    v_next_in: Floats,
    impulses_in: Floats,  # those of PD controllers come last
    controlled: Integers,  # the actuator of each controller
    # Out:
    x_next_out: Floats,  # [q+; v+]
    u_io: Floats,  # efforts of all actuators
) -> None:
    """Computes the next state, and the efforts of controllers."""
    calc_next_state(topology, time_step, q_in, v_next_in, x_next_out)
    first = impulses_in.shape[0] - controlled.shape[0]
    for n in range(controlled.shape[0]):
        u_io[controlled[n]] = impulses_in[first + n] / time_step


@kernel
def calc_forces(
    # Model:
    plant: PlantTrees,
    rows: ConstraintRecords,  # of the constraints between bodies and coordinates
    time_step: float,
    # In: as start_step() and the solver have left it
    F_applied_in: FloatTable,  # forces on the bodies from elsewhere, shape [num_mobods, 6]
    position_in: Positions,
    v_next_in: Floats,
    contact_pairs_in: ContactPairs,
    problem_in: ProblemArrays,
    impulses_in: Floats,
    # Out:
    F_Bo_W_out: FloatTable,  # all forces on the bodies, shape [num_mobods, 6]
    tau_contact_out: Floats,  # generalized forces of contacts, shape [num_v]
    tau_joints_out: Floats,  # generalized forces of joint limits and constraints of coordinates, shape [num_v]
    forces_out: FloatTable,  # of each contact pair, see plant_layout.py
    row_forces_out: FloatTable,  # of each of the rows, shape [num_own_rows, 6]
) -> None:
    """Computes what a step reports."""
    for i in range(F_Bo_W_out.shape[0]):
        for k in range(6):
            F_Bo_W_out[i, k] = F_applied_in[i, k]
    calc_contact_forces(
        plant, rows, time_step, position_in, v_next_in, contact_pairs_in, problem_in, impulses_in,
        F_Bo_W_out, tau_contact_out, tau_joints_out, forces_out, row_forces_out,
    )  # fmt: skip


@device
def calc_next_state(
    topology: Topology,
    time_step: float,
    q_in: Floats,
    v_next_in: Floats,  # those of the plant come first
    x_next_out: Floats,  # [q+; v+]
) -> None:
    """Computes the next state from its velocities."""
    num_q = q_in.shape[0]
    advance_positions(topology, time_step, q_in, v_next_in, x_next_out[:num_q])
    for k in range(x_next_out.shape[0] - num_q):
        x_next_out[num_q + k] = v_next_in[k]


@device
def calc_contact_forces(
    # Model:
    plant: PlantTrees,
    rows: ConstraintRecords,  # of the constraints between bodies and coordinates
    time_step: float,
    # In:
    position_in: Positions,
    v_next_in: Floats,  # shape [num_v]
    contact_pairs_in: ContactPairs,  # those of the problem
    problem_in: ProblemArrays,  # as plant_problem.py has left it
    impulses_in: Floats,  # shape [num_rows]
    # Out:
    F_Bo_W_out: FloatTable,  # forces of contacts and constraints on the bodies are added, shape [num_mobods, 6]
    tau_contact_out: Floats,  # generalized forces of contacts, shape [num_v]
    tau_joints_out: Floats,  # generalized forces of joint limits and constraints of coordinates, shape [num_v]
    forces_out: FloatTable,  # of each contact, see plant_layout.py; speeds are those after the step
    row_forces_out: FloatTable,  # of each row between bodies, [t; f] on B at Q; zero of others; shape [num_own_rows, 6]
) -> None:
    """Computes the forces of all constraints but drives."""
    trees, constraints_in = plant.trees, problem_in.constraints
    jacobian_in, num_contacts = problem_in.jacobian, problem_in.counts[0]["contacts"]
    num_with_joints = problem_in.counts[0]["contacts_and_joints"]
    calc_generalized_contact_forces(
        trees, time_step, constraints_in, jacobian_in, num_contacts, impulses_in, tau_contact_out
    )  # fmt: skip
    for k in range(tau_joints_out.shape[0]):
        tau_joints_out[k] = 0.0
    for c in range(num_contacts):
        constraint = constraints_in[c]
        gamma = impulses_in[constraint["row_start"] : constraint["row_start"] + 3]
        pair = contact_pairs_in[c]
        n, p_WC = vector(pair["nhat_BA_W"]), vector(pair["p_WC"])
        t_1, t_2 = tangents_of(n)
        zero = (0.0, 0.0, 0.0)
        f = add(zero, scaled(gamma[0] / time_step, t_1))
        f = add(f, scaled(gamma[1] / time_step, t_2))
        f = add(f, scaled(gamma[2] / time_step, n))
        push(position_in, F_Bo_W_out, pair["mobod_A"], p_WC, zero, f)
        push(position_in, F_Bo_W_out, pair["mobod_B"], p_WC, zero, scaled(-1.0, f))
        report_contact(pair, constraint, trees, jacobian_in, v_next_in, t_1, t_2, f, forces_out[c])
    for c in range(num_contacts, num_with_joints):
        constraint = constraints_in[c]
        gamma = impulses_in[constraint["row_start"] : constraint["row_start"] + 1]
        _add_generalized(constraint, trees, jacobian_in, gamma, 1, time_step, tau_joints_out)
    c, i = num_with_joints, 0
    while i < rows.shape[0]:
        constraint, num_rows = constraints_in[c], rows[i]["num_rows"]
        gamma = impulses_in[constraint["row_start"] : constraint["row_start"] + num_rows]
        is_between_bodies = rows[i]["acts_on_coordinates"] == 0
        if not is_between_bodies:
            _add_generalized(constraint, trees, jacobian_in, gamma, num_rows, time_step, tau_joints_out)
        for r in range(num_rows):
            value, f = problem_in.values[i + r], gamma[r] / time_step
            if is_between_bodies:
                add_force_of_row(rows[i + r], value, f, position_in, F_Bo_W_out)
            for k in range(6):
                row_forces_out[i + r, k] = f * value["F_W"][k] if is_between_bodies else 0.0 * f
        i, c = i + num_rows, c + 1


@device
def calc_generalized_contact_forces(
    # Model:
    trees: Trees,
    time_step: float,
    # In: as plant_problem.py and the solver have left it
    constraints_in: Constraints,
    jacobian_in: Floats,
    num_contacts: int,
    impulses_in: Floats,  # shape [>= num_rows]
    # Out:
    tau_out: Floats,  # shape [num_v]
) -> None:
    """Computes the generalized forces of all contacts."""
    for k in range(tau_out.shape[0]):
        tau_out[k] = 0.0
    for c in range(num_contacts):
        constraint = constraints_in[c]
        gamma = impulses_in[constraint["row_start"] : constraint["row_start"] + 3]
        _add_generalized(constraint, trees, jacobian_in, gamma, 3, time_step, tau_out)


@device
def push(position: Positions, F: FloatTable, mobod: int, p_WC: Vector3, moment: Vector3, force: Vector3) -> None:
    """Adds a moment and a force at C to those on a body, about its origin."""
    if mobod > 0:
        arm = subtract(p_WC, vector(position[mobod]["p_WoBo_W"]))
        add_spatial(F[mobod], add(moment, cross(arm, force)), force)


@device
def report_contact(
    pair: ContactPair, constraint: Constraint, trees: Trees, jacobian: Floats, v_next: Floats, t_1: Vector3,
    t_2: Vector3, f: Vector3, out: Floats,
) -> None:  # fmt: skip
    """Writes what a plant learns about a contact, see plant_layout.py."""
    set_vector(out, f)
    out[APPROACH] = -_row_velocity(constraint, trees, jacobian, 2, v_next)
    slip = vector(pair["v_SbSa_W"])
    v_1 = _row_velocity(constraint, trees, jacobian, 0, v_next) + dot(t_1, slip)
    v_2 = _row_velocity(constraint, trees, jacobian, 1, v_next) + dot(t_2, slip)
    out[SLIP] = np.sqrt(v_1 * v_1 + v_2 * v_2)
    set_vector(out[POINT:], vector(pair["p_WC"]))


@device
def velocity_of_point(position: Positions, velocity: Velocities, mobod: int, p_WC: Vector3) -> Vector3:
    """v_WC of the point C of a body."""
    if mobod == 0:
        return (0.0, 0.0, 0.0)
    V = velocity[mobod]["V_WB_W"]
    arm = subtract(p_WC, vector(position[mobod]["p_WoBo_W"]))
    return add((V[3], V[4], V[5]), cross((V[0], V[1], V[2]), arm))


@device
def _row_velocity(constraint: Constraint, trees: Trees, jacobian: Floats, r: int, v: Floats) -> float:
    """Row r of J v."""
    total = 0.0
    for end in range(num_ends(constraint)):
        total = row_product(block_of(trees, jacobian, constraint, end), r, v, total)
    return total


@device
def _add_generalized(
    constraint: Constraint, trees: Trees, jacobian: Floats, gamma: Floats, num_rows: int, time_step: float, tau: Floats
) -> None:
    """tau += J^T gamma / h."""
    for end in range(num_ends(constraint)):
        block = block_of(trees, jacobian, constraint, end)
        for r in range(num_rows):
            add_row(block, r, gamma[r] / time_step, tau)
