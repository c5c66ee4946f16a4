"""Position kinematics: poses, hinge matrices and inertias of all mobods, in the world frame.

Notation: see layout.py. Recursion from base to tips, for every body B with parent P:

    R_WF     = R_WP R_PF                                              (1)
    R_WM     = R_WF R_FM(q)                                           (2)
    R_WB     = R_WM R_MB                                              (3)
    p_MoBo_W = R_WM p_MoBo_M                                          (4)
    p_PoBo_W = R_WP p_PoFo_P + R_WF p_FoMo_F(q) + p_MoBo_W            (5)
    p_WoBo_W = p_WoPo_W + p_PoBo_W                                    (6)

R_FM, p_FoMo_F and the hinge matrix H_PB_W of each kind of mobilizer: see hinge.py. Inertia about Bo:

    I_BBo_W = mass R_WB G_BBo_B R_WB^T                                (7)
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.hinge import (
    LAST_COMMON,
    cross_hinge,
    cross_rarer_hinge,
    set_hinge_matrix,
    set_rarer_hinge_matrix,
)
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    rotate,
    scaled,
    set_vector,
    vector,
)

__all__ = ["calc_position_kinematics", "position_kinematics"]


@device
def calc_position_kinematics(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods], and the segments of paths
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    # Out:
    position_out: Array,  # shape [num_mobods]
) -> None:
    """Computes the position records of all mobods from q, equations (1) to (7)."""
    _place_world(position_out[0])
    for i in range(1, topology.shape[0]):
        node = topology[i]
        fixed = parameters[i]
        parent = position_out[node["parent"]]
        body = position_out[i]
        R_WP = parent["R_WB"]
        R_WF = body["R_WF"]
        R_WB = body["R_WB"]  # holds R_FM, then R_WM, at last R_WB
        # R_WF = R_WP R_PF  (1)
        for r in range(3):
            set_vector(R_WF[r], _row_times(R_WP, r, fixed["R_PF"]))
        # R_FM and p_FoMo_F from q, then R_WM = R_WF R_FM  (2)
        if node["mobilizer"] > LAST_COMMON:
            cross_rarer_hinge(node, fixed, parameters, q_in, body)
        else:
            cross_hinge(node, fixed, q_in, body)
        p_PoMo_W = add(rotate(R_WP, vector(fixed["p_PoFo_P"])), rotate(R_WF, vector(body["p_PoBo_W"])))
        # p_MoBo_W = R_WM p_MoBo_M  (4)
        p_MoBo_W = rotate(R_WB, vector(fixed["p_MoBo_M"]))
        # R_WB = R_WM R_MB  (3)
        for r in range(3):
            set_vector(R_WB[r], _row_times(R_WB, r, fixed["R_MB"]))
        # p_WoBo_W = p_WoPo_W + p_PoBo_W  (5), (6)
        p_PoBo_W = add(p_PoMo_W, p_MoBo_W)
        set_vector(body["p_MoBo_W"], p_MoBo_W)
        set_vector(body["p_PoBo_W"], p_PoBo_W)
        set_vector(body["p_WoBo_W"], add(vector(parent["p_WoBo_W"]), p_PoBo_W))
        if node["mobilizer"] > LAST_COMMON:
            set_rarer_hinge_matrix(node, fixed, parameters, q_in, body)
        else:
            set_hinge_matrix(node["mobilizer"], fixed, body)
        _set_inertia(fixed, body)


@device
def _place_world(world: Array) -> None:
    for r in range(3):
        for c in range(3):
            world["R_WB"][r, c] = 1.0 if r == c else 0.0
            world["R_WF"][r, c] = 1.0 if r == c else 0.0
            world["I_BBo_W"][r, c] = 0.0
        world["p_WoBo_W"][r] = 0.0
        world["p_PoBo_W"][r] = 0.0
        world["p_MoBo_W"][r] = 0.0
        world["p_BoBcm_W"][r] = 0.0
    world["mass"] = 0.0


@device
def _row_times(A: Array, r: int, B: Array) -> Vector3:
    """Row r of A B, for 3x3 matrices."""
    return (
        A[r, 0] * B[0, 0] + A[r, 1] * B[1, 0] + A[r, 2] * B[2, 0],
        A[r, 0] * B[0, 1] + A[r, 1] * B[1, 1] + A[r, 2] * B[2, 1],
        A[r, 0] * B[0, 2] + A[r, 1] * B[1, 2] + A[r, 2] * B[2, 2],
    )


@device
def _set_inertia(fixed: Array, body: Array) -> None:
    """Mass, centre of mass and equation (7)."""
    R_WB = body["R_WB"]
    I_BBo_W = body["I_BBo_W"]
    body["mass"] = fixed["mass"]
    set_vector(body["p_BoBcm_W"], rotate(R_WB, vector(fixed["p_BoBcm_B"])))
    for r in range(3):
        # Row r of mass R_WB G, then of mass R_WB G R_WB^T.
        row = rotate(R_WB, scaled(fixed["mass"], _row_times(R_WB, r, fixed["G_BBo_B"])))
        set_vector(I_BBo_W[r], row)


position_kinematics = kernel(calc_position_kinematics)
