"""Position kinematics: poses, hinge matrices and inertias of all mobods, in the world frame.

Notation: see layout.py. Recursion from base to tips, for every body B with parent P:

    R_WF     = R_WP R_PF                                              (1)
    R_WM     = R_WF R_FM(q)                                           (2)
    R_WB     = R_WM R_MB                                              (3)
    p_MoBo_W = R_WM p_MoBo_M                                          (4)
    p_PoBo_W = R_WP p_PoFo_P + R_WF p_FoMo_F(q) + p_MoBo_W            (5)
    p_WoBo_W = p_WoPo_W + p_PoBo_W                                    (6)

R_FM, p_FoMo_F and the hinge matrix H_PB_W of each kind of mobilizer: see hinge.py. They come first, in a loop of
their own, as they do not depend on each other, so that sines and cosines of several bodies are computed at a time (8 %
of the position kinematics of a chain). Where M is the frame of B itself, as in every URDF file, (3) and (4) are left
out (6 %).

Inertia about Bo, with R = R_WB, that is rotated in fewer multiplications through its parts:

    I_BBo_B = mass G_BBo_B = L + [u]x + d 1,    u = mass [-G_yz, G_xz, 0],  d = mass G_zz
    I_BBo_W = R I_BBo_B R^T = (R L) R^T + [R u]x + d 1                (7)

The third column of L is zero, and the trace of R L R^T is that of L.
"""

from __future__ import annotations

from merganser.framework.native import device, inlined, kernel
from merganser.multibody.kernels.hinge import cross_hinge, set_hinge_matrix
from merganser.multibody.kernels.layout import WELD
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
        cross_hinge(topology[i], parameters[i], parameters, q_in, position_out[i])
    for i in range(1, topology.shape[0]):
        node, fixed, body = topology[i], parameters[i], position_out[i]
        _place(node["mobilizer"] == WELD, fixed, position_out[node["parent"]], body)
        set_hinge_matrix(node, fixed, parameters, q_in, body)
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


@inlined
def _place(is_weld: bool, fixed: Array, parent: Array, body: Array) -> None:
    """Equations (1) to (6), one coordinate in W after the other."""
    R_WP, R_WF, R_WB = parent["R_WB"], body["R_WF"], body["R_WB"]
    R_FM, p_FoMo_F = body["I_BBo_W"], vector(body["p_BoBcm_W"])  # where cross_hinge() leaves them
    p_PoFo_P, p_MoBo_M = vector(fixed["p_PoFo_P"]), vector(fixed["p_MoBo_M"])
    is_M_B = is_identity(fixed["R_MB"]) and is_zero(p_MoBo_M)
    for r in range(3):
        # R_WF = R_WP R_PF  (1)
        row_P = vector(R_WP[r])
        row_F = row_times(row_P, fixed["R_PF"])
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


@inlined
def _set_inertia(fixed: Array, body: Array) -> None:
    """Mass, centre of mass and equation (7)."""
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
    # I_BBo_W = (R L) R^T + [R u]x + d 1  (7)
    I_BBo_W = body["I_BBo_W"]
    xx, yy = x[0] * B_x[0] + y[0] * B_y[0], x[1] * B_x[1] + y[1] * B_y[1]
    yx = x[1] * B_x[0] + y[1] * B_y[0] + u[2]
    zx = x[2] * B_x[0] + y[2] * B_y[0] - u[1]
    zy = x[2] * B_x[1] + y[2] * B_y[1] + u[0]
    set_vector(I_BBo_W[0], (xx + d, yx, zx))
    set_vector(I_BBo_W[1], (yx, yy + d, zy))
    set_vector(I_BBo_W[2], (zx, zy, L_xx + L_yy - xx - yy + d))


position_kinematics = kernel(calc_position_kinematics)
