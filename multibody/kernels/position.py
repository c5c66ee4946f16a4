"""Position kinematics: poses, hinge matrices and inertias of all mobods, in the world frame.

Notation: see layout.py. The poses, and what else belongs to the way from P to B: see below; the hinge matrix H_PB_W
of each kind of mobilizer: see mobilizers/.

Inertia about Bo, with R = R_WB, that is rotated in fewer multiplications through its parts:

    I_BBo_B = mass G_BBo_B = L + [u]x + d 1,    u = mass [-G_yz, G_xz, 0],  d = mass G_zz
    I_BBo_W = R I_BBo_B R^T = (R L) R^T + [R u]x + d 1                (1)

The third column of L is zero, and the trace of R L R^T is that of L.

Poses of all mobods in the world frame.

Notation: see layout.py. Recursion from base to tips, for every body B with parent P:

    R_WF     = R_WP R_PF                                              (1)
    R_WM     = R_WF R_FM(q)                                           (2)
    R_WB     = R_WM R_MB                                              (3)
    p_MoBo_W = R_WM p_MoBo_M                                          (4)
    p_PoBo_W = R_WP p_PoFo_P + R_WF p_FoMo_F(q) + p_MoBo_W            (5)
    p_WoBo_W = p_WoPo_W + p_PoBo_W                                    (6)

R_FM and p_FoMo_F of each kind of mobilizer: see mobilizers/. They come first, in a loop of their own, as they do not
depend on each other, so that sines and cosines of several bodies are computed at a time (8 % of the position kinematics
of a chain). Where M is the frame of B itself, as in every URDF file, (3) and (4) are left out (6 %).

The kinematic map between velocities and the rates of the positions: qdot = N(q) v, v = N+(q) qdot.

N and N+ of each kind of mobilizer: see mobilizers/, one file a kind. Most have qdot = v.
"""

from __future__ import annotations

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.memory.hinted_types import Floats, Integers, Poses
from merganser.multibody.kernels.layout import Parameters, Positions, Topology
from merganser.multibody.kernels.mobilizers.dispatch import set_axes, set_pose, set_rates, set_velocities
from merganser.multibody.kernels.spatial import (
    Array,
    add,
    column,
    dot,
    is_identity,
    is_zero,
    rotate,
    row_times,
    scaled,
    set_vector,
    subtract,
    vector,
)


@device
def calc_poses(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods], and the segments of paths
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    # Out:
    position_out: Positions,  # shape [num_mobods]; hinge matrices and inertias are not valid afterwards
) -> None:
    """Computes the poses in the position records of all mobods from q, equations (1) to (6)."""
    _place_world(position_out[0])
    for i in range(1, topology.shape[0]):
        if topology[i]["num_v"] > 0:
            R_FM, p_FoMo_F = _place_across(position_out[i])
            set_pose(topology[i], parameters[i], parameters, q_in, R_FM, p_FoMo_F)
    for i in range(1, topology.shape[0]):
        node = topology[i]
        _place(node["num_v"] == 0, parameters[i], position_out[node["parent"]], position_out[i])


@inlined
def _place_across(body: Array) -> tuple[Array, Array]:
    """Where R_FM and p_FoMo_F stand from the first loop to the second: where others come after the poses."""
    return body["I_BBo_W"], body["p_BoBcm_W"]


@device
def _place_world(world: Array) -> None:
    for r in range(3):
        for c in range(3):
            world["R_WB"][r, c] = 1.0 if r == c else 0.0
            world["R_WF"][r, c] = 1.0 if r == c else 0.0
        world["p_WoBo_W"][r] = 0.0
        world["p_PoBo_W"][r] = 0.0
        world["p_MoBo_W"][r] = 0.0


@inlined
def _place(is_weld: bool, fixed: Array, parent: Array, body: Array) -> None:
    """Equations (1) to (6), one coordinate in W after the other."""
    R_WP, R_WF, R_WB = parent["R_WB"], body["R_WF"], body["R_WB"]
    R_FM, p_across = _place_across(body)
    p_FoMo_F = vector(p_across)
    p_PoFo_P, p_MoBo_M = vector(fixed["p_PoFo_P"]), vector(fixed["p_MoBo_M"])
    is_F_P = is_identity(fixed["R_PF"])
    is_M_B = is_identity(fixed["R_MB"]) and is_zero(p_MoBo_M)
    for r in range(3):
        # R_WF = R_WP R_PF  (1)
        row_P = vector(R_WP[r])
        row_F = row_P if is_F_P else row_times(row_P, fixed["R_PF"])
        set_vector(R_WF[r], row_F)
        # R_WM = R_WF R_FM  (2)
        row_M = row_F
        p_PoMo = dot(row_P, p_PoFo_P)
        if not is_weld:
            row_M = row_times(row_F, R_FM)
            p_PoMo += dot(row_F, p_FoMo_F)
        # R_WB = R_WM R_MB  (3), p_MoBo_W = R_WM p_MoBo_M  (4)
        if is_M_B:
            set_vector(R_WB[r], row_M)
            p_MoBo = p_MoBo_M[r]
        else:
            set_vector(R_WB[r], row_times(row_M, fixed["R_MB"]))
            p_MoBo = dot(row_M, p_MoBo_M)
        # p_WoBo_W = p_WoPo_W + p_PoBo_W  (5), (6)
        p_PoBo = p_PoMo + p_MoBo
        body["p_MoBo_W"][r] = p_MoBo
        body["p_PoBo_W"][r] = p_PoBo
        body["p_WoBo_W"][r] = parent["p_WoBo_W"][r] + p_PoBo


@device
def calc_pose_matrices(
    # In:
    position_in: Positions,  # position records, of which only the poses count, shape [num_mobods]
    members: Integers,  # numbers of mobods
    # Out:
    X_WB_out: Poses,  # their poses as matrices [R_WB p_WoBo_W; 0 1], shape [num_members, 4, 4]
) -> None:
    """Copies poses to matrices, one for each member."""
    one = position_in[0]["R_WB"][0, 0]  # of the scalar type
    for k in range(members.shape[0]):
        body = position_in[members[k]]
        for r in range(3):
            for c in range(3):
                X_WB_out[k, r, c] = body["R_WB"][r, c]
            X_WB_out[k, r, 3] = body["p_WoBo_W"][r]
            X_WB_out[k, 3, r] = 0.0 * one
        X_WB_out[k, 3, 3] = one


poses = kernel(calc_poses)
pose_matrices = kernel(calc_pose_matrices)


@device
def calc_position_kinematics(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods], and the segments of paths
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    # Out:
    position_out: Positions,  # shape [num_mobods]
) -> None:
    """Computes the position records of all mobods from q."""
    calc_poses(topology, parameters, q_in, position_out)
    calc_hinges_and_inertias(topology, parameters, q_in, position_out)


@device
def calc_hinges_and_inertias(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods], and the segments of paths
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    # In and out:
    position_io: Positions,  # shape [num_mobods]; in: the poses of q_in; out: all
) -> None:
    """Completes position records in which only the poses are valid, equation (1)."""
    _leave_world_empty(position_io[0])
    for i in range(1, topology.shape[0]):
        set_axes(topology[i], parameters[i], parameters, q_in, position_io[i])
        _set_inertia(parameters[i], position_io[i])


@device
def _leave_world_empty(world: Array) -> None:
    for r in range(3):
        for c in range(3):
            world["I_BBo_W"][r, c] = 0.0
        world["p_BoBcm_W"][r] = 0.0
    world["mass"] = 0.0


@inlined
def _set_inertia(fixed: Array, body: Array) -> None:
    """Mass, centre of mass and equation (1)."""
    mass, G, R_WB = fixed["mass"], fixed["G_BBo_B"], body["R_WB"]
    body["mass"] = mass
    set_vector(body["p_BoBcm_W"], rotate(R_WB, vector(fixed["p_BoBcm_B"])))
    B_x, B_y, B_z = column(R_WB, 0), column(R_WB, 1), column(R_WB, 2)
    d = mass * G[2, 2]
    L_xx, L_yy, L_xy = mass * G[0, 0] - d, mass * G[1, 1] - d, mass * G[1, 0]
    I_xz, I_yz = mass * G[2, 0], mass * G[2, 1]
    # The columns of R L, of which the last row of L has 2 I_xz and 2 I_yz; and R u.
    x = add(add(scaled(L_xx, B_x), scaled(L_xy, B_y)), scaled(I_xz + I_xz, B_z))
    y = add(add(scaled(L_xy, B_x), scaled(L_yy, B_y)), scaled(I_yz + I_yz, B_z))
    u = subtract(scaled(I_xz, B_y), scaled(I_yz, B_x))
    # I_BBo_W = (R L) R^T + [R u]x + d 1  (1)
    I_BBo_W = body["I_BBo_W"]
    xx, yy = x[0] * B_x[0] + y[0] * B_y[0], x[1] * B_x[1] + y[1] * B_y[1]
    yx = x[1] * B_x[0] + y[1] * B_y[0] + u[2]
    zx = x[2] * B_x[0] + y[2] * B_y[0] - u[1]
    zy = x[2] * B_x[1] + y[2] * B_y[1] + u[0]
    set_vector(I_BBo_W[0], (xx + d, yx, zx))
    set_vector(I_BBo_W[1], (yx, yy + d, zy))
    set_vector(I_BBo_W[2], (zx, zy, L_xx + L_yy - xx - yy + d))


position_kinematics = kernel(calc_position_kinematics)
hinges_and_inertias = kernel(calc_hinges_and_inertias)


@device
def calc_velocity_to_qdot(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    v_in: Floats,  # generalized velocities, shape [num_v]
    # Out:
    qdot_out: Floats,  # rates of the positions, shape [num_q]
) -> None:
    """Computes qdot = N(q) v."""
    for i in range(1, topology.shape[0]):
        set_rates(topology[i], q_in, v_in, qdot_out)


@device
def calc_qdot_to_velocity(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    qdot_in: Floats,  # rates of the positions, shape [num_q]
    # Out:
    v_out: Floats,  # generalized velocities, shape [num_v]
) -> None:
    """Computes v = N+(q) qdot."""
    for i in range(1, topology.shape[0]):
        set_velocities(topology[i], q_in, qdot_in, v_out)


velocity_to_qdot = kernel(calc_velocity_to_qdot)
qdot_to_velocity = kernel(calc_qdot_to_velocity)
