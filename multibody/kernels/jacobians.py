"""Jacobians of velocities: linear maps from generalized velocities to velocities of frames, points, centres of mass.

Notation: see layout.py; frames: see frames.py. Velocity k of mobod i moves everything outboard of it with [w; v] =
H_PB_W[k] at Bo_i, a point Q so with w and v + w x p_BioQ_W. Points Qi are fixed to a frame F of body B, and measured in
body A:

    J_V_WQ[:, i_k] = [w; v + w x p_BioQ_W]   if i is B or inboard of B, else 0                   (1)
    J_V_AQ = J_V_WQ(Q as a point of B) - J_V_WQ(Q as a point of A)                               (2)

In (2) mobods inboard of both cancel, and are left out. With the bodies outboard of i that belong to a set S as one
body C of mass m_C, m_S for all of S, and h_C = m_C p_BioCcm_W, the Jacobian of the centre of mass Scm is

    J_v_WScm[:, i_k] = (m_C v + w x h_C) / m_S                                                   (3)
    J_v_AScm = J_v_WScm - J_v_WScm(Scm as a point of A)                                          (4)

As v = N+(q) qdot, Jacobians for qdot are

    J_qdot = J_v N+(q)                                                                           (5)

Sources: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 4.3 (1); D. Orin and A. Goswami, Centroidal
Momentum Matrix of a Humanoid Robot, IROS (2008) (3).
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.kernels.frames import Axes, axes_of, express, locate, point
from merganser.multibody.kernels.layout import Positions, Scratch, Topology
from merganser.multibody.kernels.position import calc_qdot_to_velocity
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    rotational,
    scaled,
    set_vector,
    subtract,
    translational,
    vector,
)


@device
def calc_jacobian(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    mobod_B: int,  # of the body of frame F
    X_BF_in: FloatTable,  # frame F, to which the points are fixed, shape [3, 4]
    points_in: Floats,  # p_FoQi_F [m], shape [3 num_points], see frames.py
    mobod_A: int,  # the body in which velocities are measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: FloatTable,  # frame E, in which velocities are expressed, shape [3, 4]
    # Out:
    J_out: FloatTable,  # [J_w_AF_E; J_v_AQ0_E; J_v_AQ1_E ...], shape [3 + 3 num_points, num_v]
) -> None:
    """Computes the Jacobians of the angular velocity of a frame and of the velocities of its points, (1) and (2)."""
    _clear(J_out)
    axes_W = axes_of(position_in[mobod_D], X_DE_in)
    for j in range(-1, points_in.shape[0] // 3):
        p_WoQ_W = vector(position_in[0]["p_WoBo_W"])
        if j >= 0:
            p_WoQ_W = locate(position_in[mobod_B], X_BF_in, point(points_in, j))
        # Up both paths to where they meet; a mobod has a greater number than its parent.
        b, a = mobod_B, mobod_A
        while b != a:
            i = b if b > a else a
            if j < 0:
                _set_angular_columns(topology[i], position_in[i], axes_W, i == b, J_out)
            else:
                _add_columns(topology[i], position_in[i], p_WoQ_W, axes_W, i == b, 3 + 3 * j, J_out)
            if i == b:
                b = topology[i]["parent"]
            else:
                a = topology[i]["parent"]


@device
def calc_body_jacobians(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    members: Integers,  # numbers of mobods
    # Out:
    J_out: Array,  # [J_w_WB_W; J_v_WBo_W] of each member, shape [num_members, 6, num_v]
) -> None:
    """Computes the Jacobians of the spatial velocities of bodies in the world, equation (1)."""
    for j in range(members.shape[0]):
        J = J_out[j]
        _clear(J)
        p_WoBo_W = vector(position_in[members[j]]["p_WoBo_W"])
        i = members[j]
        while i > 0:
            node, body = topology[i], position_in[i]
            p_BioBo_W = subtract(p_WoBo_W, vector(body["p_WoBo_W"]))
            for k in range(node["num_v"]):
                w, v = rotational(body["H_PB_W"][k]), translational(body["H_PB_W"][k])
                _add_column(w, 0, node["v_start"] + k, True, J)
                _add_column(add(v, cross(w, p_BioBo_W)), 3, node["v_start"] + k, True, J)
            i = node["parent"]


@device
def calc_center_of_mass_jacobian(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    members: Integers,  # numbers of the mobods in the set S
    mobod_A: int,  # the body in which velocities are measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: FloatTable,  # frame E, in which velocities are expressed, shape [3, 4]
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    J_out: FloatTable,  # J_v_AScm_E, shape [3, num_v]
    mass_out: Floats,  # m_S [kg], shape [1]; if it is zero, there is no Jacobian
) -> None:
    """Computes the Jacobian of the velocity of a centre of mass, equations (3) and (4)."""
    _clear(J_out)
    axes_W = axes_of(position_in[mobod_D], X_DE_in)
    for i in range(topology.shape[0]):
        scratch_work[i]["mass_C"] = 0.0
        set_vector(scratch_work[i]["mp_C_W"], (0.0, 0.0, 0.0))
    mass_S = 0.0 * position_in[0]["mass"]
    for j in range(members.shape[0]):
        i = members[j]
        body = position_in[i]
        mass_S = mass_S + body["mass"]
        scratch_work[i]["mass_C"] = body["mass"]
        set_vector(scratch_work[i]["mp_C_W"], scaled(body["mass"], vector(body["p_BoBcm_W"])))
    mass_out[0] = mass_S
    for i in range(topology.shape[0] - 1, 0, -1):
        node, body, work = topology[i], position_in[i], scratch_work[i]
        m_C, h_C = work["mass_C"], vector(work["mp_C_W"])
        for k in range(node["num_v"]):
            w, v = rotational(body["H_PB_W"][k]), translational(body["H_PB_W"][k])
            # (m_C v + w x h_C) / m_S  (3)
            column = scaled(1.0 / mass_S, add(scaled(m_C, v), cross(w, h_C)))
            _add_column(express(axes_W, column), 0, node["v_start"] + k, True, J_out)
        parent_work = scratch_work[node["parent"]]
        parent_work["mass_C"] += m_C
        h_P = add(vector(parent_work["mp_C_W"]), add(h_C, scaled(m_C, vector(body["p_PoBo_W"]))))
        set_vector(parent_work["mp_C_W"], h_P)
    # J_v_AScm = J_v_WScm - J_v_WScm(Scm as a point of A)  (4)
    p_WoScm_W = scaled(1.0 / mass_S, vector(scratch_work[0]["mp_C_W"]))
    a = mobod_A
    while a != 0:
        _add_columns(topology[a], position_in[a], p_WoScm_W, axes_W, False, 0, J_out)
        a = topology[a]["parent"]


@device
def _clear(J: Array) -> None:
    for r in range(J.shape[0]):
        for c in range(J.shape[1]):
            J[r, c] = 0.0


@device
def _set_angular_columns(node: Array, body: Array, axes_W: Axes, is_positive: bool, J: Array) -> None:
    """The columns of the velocities of one mobod in the first three rows: +-w in frame E."""
    for k in range(node["num_v"]):
        _add_column(express(axes_W, rotational(body["H_PB_W"][k])), 0, node["v_start"] + k, is_positive, J)


@device
def _add_columns(
    node: Array, body: Array, p_WoQ_W: Vector3, axes_W: Axes, is_positive: bool, row: int, J: Array
) -> None:
    """The columns of the velocities of one mobod in three rows for a point: +-(v + w x p_BioQ_W) in frame E."""
    p_BioQ_W = subtract(p_WoQ_W, vector(body["p_WoBo_W"]))
    for k in range(node["num_v"]):
        w, v = rotational(body["H_PB_W"][k]), translational(body["H_PB_W"][k])
        _add_column(express(axes_W, add(v, cross(w, p_BioQ_W))), row, node["v_start"] + k, is_positive, J)


@device
def _add_column(a: Vector3, row: int, column: int, is_positive: bool, J: Array) -> None:
    """J[row : row + 3, column] += a, or -= a."""
    sign = 1.0 if is_positive else -1.0
    J[row, column] += sign * a[0]
    J[row + 1, column] += sign * a[1]
    J[row + 2, column] += sign * a[2]


@device
def calc_qdot_jacobian(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    J_v_in: FloatTable,  # a Jacobian for v, shape [num_rows, num_v]
    # Work:
    qdot_work: Floats,  # shape [num_q]
    v_work: Floats,  # shape [num_v]
    # Out:
    J_qdot_out: FloatTable,  # the Jacobian for qdot, shape [num_rows, num_q]
) -> None:
    """Computes the Jacobian for qdot, equation (5).

    N+ consists of one block for each mobod. So with the rate of coordinate j of every mobod at 1, and all others at
    0, N+ qdot holds column j of every block.
    """
    most_positions = 0
    for i in range(topology.shape[0]):
        most_positions = max(most_positions, topology[i]["num_q"])
    for j in range(most_positions):
        for q in range(qdot_work.shape[0]):
            qdot_work[q] = 0.0
        for i in range(topology.shape[0]):
            if topology[i]["num_q"] > j:
                qdot_work[topology[i]["q_start"] + j] = 1.0
        calc_qdot_to_velocity(topology, q_in, qdot_work, v_work)
        for i in range(topology.shape[0]):
            node = topology[i]
            if node["num_q"] > j:
                column, start = node["q_start"] + j, node["v_start"]
                for r in range(J_v_in.shape[0]):
                    J_qdot_out[r, column] = 0.0
                    for k in range(node["num_v"]):
                        J_qdot_out[r, column] += J_v_in[r, start + k] * v_work[start + k]


jacobian = kernel(calc_jacobian)
body_jacobians = kernel(calc_body_jacobians)
center_of_mass_jacobian = kernel(calc_center_of_mass_jacobian)
qdot_jacobian = kernel(calc_qdot_jacobian)
