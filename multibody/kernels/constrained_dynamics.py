"""Forward dynamics of trees with constraints: loops of joints, and those between bodies and coordinates.

    M vdot = tau - C v + tau_g + J^T F_applied + K^T mu                               (1)

with armature of tendons in M, and its products in tau (transmissions/armature.py), and

    K vdot = b,    b = -k - damping gdot - stiffness g                                (2)

with the rows of K, g and k of constraints/rows.py; mu is -lambda of Featherstone. b makes errors of positions and
velocities decay (Baumgarte 1972) instead of accumulating.

    M = L^T D L,    L a unit lower triangle                                           (3)
    Y = K L^-1,     y = L^-T (tau - C v + ...)                                        (4)

turn both into: find the z = D L vdot nearest to y in the metric of D^-1 with Y D^-1 z = b. Gram-Schmidt makes the rows
of Y orthogonal, Y_s = q_s + sum_p C_ps q_p over the rows p taken before s, each time taking the row of which most is
left, until none has more than RANK_TOLERANCE of its square left: such rows follow from the others. Then

    h_s = b_s - sum_p C_ps h_p,    z = y + sum_s zeta_s q_s,   zeta_s = (h_s - q_s D^-1 y) / (q_s D^-1 q_s)   (5)
    mu_p = zeta_p - sum_s C_ps mu_s    over the rows s taken after p                  (6)
    vdot = L^-1 D^-1 z                                                                (7)

Rows that follow from others get no multiplier of their own: of the multipliers that produce the same motion, these
are those of a smallest set of rows. A locked mobilizer takes no part: its rows and columns are those of the identity.

Sources: R. Featherstone, Rigid Body Dynamics Algorithms (2008), sections 6.5 (3), 8.3 and 8.5; J. Baumgarte,
Stabilization of Constraints and Integrals of Motion in Dynamical Systems (1972); G. Golub and C. Van Loan, Matrix
Computations (2013), section 5.4.2 (pivoting).
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, IntegerTable
from merganser.multibody.kernels.constraints.records import ConstraintRecords, ConstraintValues
from merganser.multibody.kernels.constraints.rows import add_force_of_row, calc_constraint_rates, calc_constraint_rows
from merganser.multibody.kernels.forward_dynamics import PIVOT_TOLERANCE, num_free
from merganser.multibody.kernels.inverse_dynamics import calc_inverse_dynamics
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.mass_matrix import calc_mass_matrix, eliminate
from merganser.multibody.kernels.position import calc_velocity_to_qdot
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import Array
from merganser.multibody.kernels.step import calc_damping
from merganser.multibody.kernels.transmissions.armature import add_armature, has_armature
from merganser.multibody.kernels.transmissions.records import Transmissions
from merganser.multibody.kernels.velocity import calc_kinematics

RANK_TOLERANCE = 1e-9  # of squares, see DEPENDENCE_TOLERANCE in constraints/rows.py


@device
def calc_constrained_forward_dynamics(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    rows: ConstraintRecords,  # constraints, shape [num_rows], see constraints/records.py
    transmissions: Transmissions,  # shape [num_transmissions], see transmissions/records.py
    # In:
    arms_in: FloatTable,  # their moment arms, shape [num_transmissions, num_v]
    q_in: Floats,  # generalized positions, shape [num_q]
    v_in: Floats,  # generalized velocities, shape [num_v]
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    tau_in: Floats,  # generalized forces, shape [num_v]; may be the same array as vdot_out
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]; holds A_WB_W - [0; g] and the force of P on B, F_Bo_W, afterwards
    M_work: FloatTable,  # shape [num_v, num_v]
    Y_work: FloatTable,  # shape [num_rows + 1, num_v]
    C_work: FloatTable,  # shape [num_rows, num_rows]
    order_work: IntegerTable,  # integers, shape [2, num_rows]
    # Out:
    value_out: ConstraintValues,  # shape [num_rows]
    K_out: FloatTable,  # shape [num_rows, num_v]
    F_total_out: FloatTable,  # F_applied_in and the forces of the constraints, shape [num_mobods, 6]
    vdot_out: Floats,  # generalized accelerations, shape [num_v]
) -> int:
    """Computes vdot and the multipliers mu, equations (1) to (7).

    Returns:
        0, or the number of the mobod whose hinge inertia is singular or NaN; vdot_out is then not computed.
    """
    num_rows, num_v = rows.shape[0], tau_in.shape[0]
    y = Y_work[num_rows]
    for k in range(num_v):
        y[k] = tau_in[k]
        vdot_out[k] = 0.0
    # tau - C v + tau_g + J^T F_applied, and A_WB_W for vdot = 0
    bias = M_work[0] if num_v > 0 else y
    calc_inverse_dynamics(
        topology, parameters, gravity_in, position_in, velocity_in, vdot_out, F_applied_in, scratch_work, bias
    )
    for k in range(num_v):
        y[k] -= bias[k]
    calc_constraint_rows(topology, rows, q_in, position_in, value_out, K_out, order_work[0])
    calc_constraint_rates(rows, q_in, v_in, position_in, velocity_in, scratch_work, value_out)
    for r in range(num_rows):
        row, value = rows[r], value_out[r]
        value["target"] = (
            -value["bias"] - row["damping"] * value["rate"] - row["stiffness"] * value["error"]
        )  # (2)
        value["multiplier"] = 0.0 * value["target"]
        if row["is_compliant"] == 1:
            # mu = -stiffness g - damping gdot, part of the forces in y
            value["multiplier"] = -row["stiffness"] * value["error"] - row["damping"] * value["rate"]
            order_work[0, r] = 0
            for k in range(num_v):
                y[k] += value["multiplier"] * K_out[r, k]
        for k in range(num_v):
            Y_work[r, k] = K_out[r, k]
    calc_mass_matrix(topology, parameters, position_in, scratch_work, M_work)
    add_armature(transmissions, arms_in, M_work)
    _hold_locked(topology, parameters, M_work, Y_work)
    status = _factor(topology, has_armature(transmissions), M_work, vdot_out)
    if status != 0:
        return status
    for r in range(num_rows + 1):
        _solve_transposed(M_work, Y_work[r])  # (4)
    rank = _orthogonalize(M_work, Y_work, C_work, order_work, value_out)
    _meet_targets(rank, M_work, Y_work, C_work, order_work, value_out)
    for k in range(num_v):  # (7)
        vdot_out[k] = M_work[k, k] * y[k]
        for l in range(k):
            vdot_out[k] -= M_work[k, l] * vdot_out[l]
    _gather_forces(rows, position_in, F_applied_in, value_out, F_total_out)
    calc_inverse_dynamics(
        topology, parameters, gravity_in, position_in, velocity_in, vdot_out, F_total_out, scratch_work, y
    )
    return 0


@device
def _hold_locked(topology: Array, parameters: Array, M_io: Array, Y_io: Array) -> None:
    """Makes the rows and columns of locked mobilizers those of the identity, and their forces zero."""
    for i in range(1, topology.shape[0]):
        node = topology[i]
        for j in range(num_free(node, parameters[i]), node["num_v"]):
            k = node["v_start"] + j
            for l in range(M_io.shape[0]):
                M_io[k, l] = 0.0
                M_io[l, k] = 0.0
            M_io[k, k] = 1.0
            for r in range(Y_io.shape[0]):
                Y_io[r, k] = 0.0


@device
def _factor(topology: Array, is_full: bool, M_io: Array, diagonal_work: Array) -> int:
    """Factors M, equation (3): L below, 1/D on the diagonal; returns 0 or the mobod of a pivot not safely positive.

    It has the zeros of a tree, unless armature of tendons has filled them.
    """
    num_v = M_io.shape[0]
    for k in range(num_v):
        diagonal_work[k] = M_io[k, k]
    for i in range(topology.shape[0] - 1, 0, -1):
        for j in range(topology[i]["num_v"] - 1, -1, -1):
            k = topology[i]["v_start"] + j
            if not exceeds(M_io[k, k], PIVOT_TOLERANCE * diagonal_work[k]):
                return i
            if is_full:
                _eliminate_fully(k, M_io)
            else:
                eliminate(topology, i, j, M_io)
    return 0


@device
def _eliminate_fully(k: int, M_io: Array) -> None:
    """Does in (3) what velocity k asks for, after all with greater numbers."""
    M_io[k, k] = 1.0 / M_io[k, k]
    for r in range(k - 1, -1, -1):
        L_kr = M_io[k, r] * M_io[k, k]
        for c in range(r + 1):
            M_io[r, c] -= L_kr * M_io[k, c]
        M_io[k, r] = L_kr


@device
def _solve_transposed(M_in: Array, y_io: Array) -> None:
    """y = L^-T y, with the factors of M."""
    for k in range(M_in.shape[0] - 1, -1, -1):
        for l in range(k):
            y_io[l] -= M_in[k, l] * y_io[k]


@device
def _product(M_in: Array, a: Array, b: Array) -> Any:
    """a D^-1 b, with the factors of M."""
    total = 0.0 * a[0]
    for k in range(M_in.shape[0]):
        total = total + a[k] * M_in[k, k] * b[k]
    return total


@device
def _orthogonalize(M_in: Array, Y_io: Array, C_out: Array, order_io: Array, value_io: Array) -> int:
    """Gram-Schmidt, by the row of which most is left; returns the number of rows taken.

    order_io[0] says which rows to consider (1), and of those which were taken (2); order_io[1] the order.
    """
    num_rows = Y_io.shape[0] - 1
    for r in range(num_rows):
        if order_io[0, r] == 1:
            value_io[r]["norm"] = _product(M_in, Y_io[r], Y_io[r])
    rank = 0
    for _ in range(num_rows):
        best = -1
        most = 0.0 * Y_io[0, 0]
        for r in range(num_rows):
            if order_io[0, r] == 1:
                left = _product(M_in, Y_io[r], Y_io[r]) / value_io[r]["norm"]
                if exceeds(left, RANK_TOLERANCE) and (best < 0 or exceeds(left, most)):
                    best, most = r, left
        if best < 0:
            return rank
        order_io[0, best] = 2
        order_io[1, rank] = best
        rank += 1
        square = _product(M_in, Y_io[best], Y_io[best])
        for r in range(num_rows):
            if order_io[0, r] == 1:
                C_out[best, r] = _product(M_in, Y_io[best], Y_io[r]) / square
                for k in range(M_in.shape[0]):
                    Y_io[r, k] -= C_out[best, r] * Y_io[best, k]
    return rank


@device
def _meet_targets(rank: int, M_in: Array, Y_io: Array, C_in: Array, order_in: Array, value_io: Array) -> None:
    """Replaces y by z, equation (5), and computes the multipliers (6)."""
    y = Y_io[Y_io.shape[0] - 1]
    for i in range(rank):
        s = order_in[1, i]
        q = Y_io[s]
        for j in range(i):
            p = order_in[1, j]
            value_io[s]["target"] -= C_in[p, s] * value_io[p]["target"]  # h_s
        zeta = (value_io[s]["target"] - _product(M_in, q, y)) / _product(M_in, q, q)
        value_io[s]["multiplier"] = zeta
        for k in range(M_in.shape[0]):
            y[k] += zeta * q[k]
    for i in range(rank - 1, -1, -1):
        p = order_in[1, i]
        for j in range(i + 1, rank):
            s = order_in[1, j]
            value_io[p]["multiplier"] -= C_in[p, s] * value_io[s]["multiplier"]


@device
def _gather_forces(rows: Array, position_in: Array, F_applied_in: Array, value_in: Array, F_out: Array) -> None:
    """Adds the forces of the constraints between bodies to the applied ones."""
    for i in range(F_out.shape[0]):
        for j in range(6):
            F_out[i, j] = F_applied_in[i, j]
    for r in range(rows.shape[0]):
        if rows[r]["acts_on_coordinates"] == 0:
            add_force_of_row(rows[r], value_in[r], value_in[r]["multiplier"], position_in, F_out)


@device
def calc_constrained_state_derivatives(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    rows: ConstraintRecords,  # constraints, shape [num_rows]
    transmissions: Transmissions,  # shape [num_transmissions]
    # In:
    arms_in: FloatTable,  # shape [num_transmissions, num_v]
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    tau_in: Floats,  # generalized forces but damping, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work, see calc_constrained_forward_dynamics:
    position_work: Positions,
    velocity_work: Velocities,
    scratch_work: Scratch,
    M_work: FloatTable,
    Y_work: FloatTable,
    C_work: FloatTable,
    order_work: IntegerTable,
    # Out:
    value_out: ConstraintValues,  # shape [num_rows]
    K_out: FloatTable,  # shape [num_rows, num_v]
    F_total_out: FloatTable,  # shape [num_mobods, 6]
    xdot_out: Floats,  # [qdot; vdot], shape [num_q + num_v]
) -> int:
    """Computes kinematics, damping of the mobilizers, xdot and the multipliers.

    Returns:
        0, or the number of the mobod whose hinge inertia is singular or NaN; xdot_out is then not computed.
    """
    num_v = tau_in.shape[0]
    num_q = x_in.shape[0] - num_v
    q, v, tau_and_vdot = x_in[:num_q], x_in[num_q:], xdot_out[num_q:]
    calc_kinematics(topology, parameters, q, v, position_work, velocity_work)
    calc_damping(topology, parameters, 0.0, v, tau_in, Y_work[rows.shape[0]], tau_and_vdot)
    status = calc_constrained_forward_dynamics(
        topology, parameters, gravity_in, rows, transmissions, arms_in, q, v, position_work, velocity_work,
        tau_and_vdot, F_applied_in, scratch_work, M_work, Y_work, C_work, order_work, value_out, K_out, F_total_out,
        tau_and_vdot,
    )  # fmt: skip
    calc_velocity_to_qdot(topology, q, v, xdot_out[:num_q])
    return status


constrained_forward_dynamics = kernel(calc_constrained_forward_dynamics)
constrained_state_derivatives = kernel(calc_constrained_state_derivatives)
