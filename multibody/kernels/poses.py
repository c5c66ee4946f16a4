"""Poses of all mobods in the world frame.

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
"""

from __future__ import annotations

from merganser.framework.native import device, inlined, kernel
from merganser.multibody.kernels.mobilizers.dispatch import set_pose
from merganser.multibody.kernels.spatial import Array, dot, is_identity, is_zero, row_times, set_vector, vector

__all__ = ["calc_poses", "poses"]


@device
def calc_poses(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods], and the segments of paths
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    # Out:
    position_out: Array,  # shape [num_mobods]; hinge matrices and inertias are not valid afterwards
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


poses = kernel(calc_poses)
