"""Position kinematics: poses, hinge matrices and inertias of all mobods, in the world frame.

Notation: see layout.py. Recursion from base to tips, for every body B with parent P:

    R_WF     = R_WP R_PF                                              (1)
    R_WM     = R_WF R_FM(q)                                           (2)
    R_WB     = R_WM R_MB                                              (3)
    p_MoBo_W = R_WM p_MoBo_M                                          (4)
    p_PoBo_W = R_WP p_PoFo_P + R_WF p_FoMo_F(q) + p_MoBo_W            (5)
    p_WoBo_W = p_WoPo_W + p_PoBo_W                                    (6)

Rows of the hinge matrix, V_PB_W = sum_k H_PB_W[k] v_k, with the velocity of B at Bo:

    revolute              [a_W; a_W x p_MoBo_W]                       (7)
    prismatic             [0; a_W]                                    (8)
    quaternion floating   k < 3: (7) with a = F_k;  k >= 3: (8) with a = F_(k-3)

where a is the axis, a_W = R_WF axis_F, and F_k the k-th axis of frame F. Hinge rotations:

    revolute     R_FM = cos q 1 + sin q [a]x + (1 - cos q) a a^T      (9)   (Rodrigues)
    quaternion   R_FM = 1 + 2/|q|^2 (w [e]x + [e]x^2),  q = (w, e)    (10)

Dividing by |q|^2 makes (10) a rotation for every q but zero, which yields NaN. Inertia about Bo:

    I_BBo_W = mass R_WB G_BBo_B R_WB^T                                (11)

Source: A. Jain, Robot and Multibody Dynamics (2010), chapter 3 (hinge map matrices).
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.layout import PRISMATIC, QUATERNION_FLOATING, REVOLUTE
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    rotate,
    scaled,
    set_spatial,
    set_vector,
    vector,
)

__all__ = ["calc_position_kinematics", "position_kinematics"]


@device
def calc_position_kinematics(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    # Out:
    position_out: Array,  # shape [num_mobods]
) -> None:
    """Computes the position records of all mobods from q, equations (1) to (11)."""
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
        _cross_hinge(node, fixed, q_in, body)
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
        _set_hinge_matrix(node["mobilizer"], fixed, body)
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
def _cross_hinge(node: Array, fixed: Array, q_in: Array, body: Array) -> None:
    """Writes R_WM in the place of R_WB and p_FoMo_F in the place of p_PoBo_W."""
    mobilizer = node["mobilizer"]
    q = node["q_start"]
    R_WF = body["R_WF"]
    R_WM = body["R_WB"]
    p_FoMo_F = body["p_PoBo_W"]
    for r in range(3):
        p_FoMo_F[r] = 0.0
    if mobilizer == REVOLUTE:
        _set_rotation_about_axis(vector(fixed["axis_F"]), np.sin(q_in[q]), np.cos(q_in[q]), R_WM)
        _premultiply(R_WF, R_WM)
    elif mobilizer == QUATERNION_FLOATING:
        _set_rotation_of_quaternion(q_in, q, R_WM)
        _premultiply(R_WF, R_WM)
        for r in range(3):
            p_FoMo_F[r] = q_in[q + 4 + r]
    else:
        if mobilizer == PRISMATIC:
            set_vector(p_FoMo_F, scaled(q_in[q], vector(fixed["axis_F"])))
        for r in range(3):
            for c in range(3):
                R_WM[r, c] = R_WF[r, c]


@device
def _premultiply(A: Array, B: Array) -> None:
    """B = A B in place, for 3x3 matrices."""
    for c in range(3):
        column = rotate(A, (B[0, c], B[1, c], B[2, c]))
        B[0, c], B[1, c], B[2, c] = column[0], column[1], column[2]


@device
def _set_rotation_about_axis(a: Vector3, sin_q: float, cos_q: float, R_FM: Array) -> None:
    """Equation (9), for a unit vector a."""
    s = scaled(sin_q, a)
    d = scaled(1.0 - cos_q, a)
    R_FM[0, 0] = cos_q + d[0] * a[0]
    R_FM[0, 1] = d[0] * a[1] - s[2]
    R_FM[0, 2] = d[0] * a[2] + s[1]
    R_FM[1, 0] = d[1] * a[0] + s[2]
    R_FM[1, 1] = cos_q + d[1] * a[1]
    R_FM[1, 2] = d[1] * a[2] - s[0]
    R_FM[2, 0] = d[2] * a[0] - s[1]
    R_FM[2, 1] = d[2] * a[1] + s[0]
    R_FM[2, 2] = cos_q + d[2] * a[2]


@device
def _set_rotation_of_quaternion(q_in: Array, start: int, R_FM: Array) -> None:
    """Equation (10), for the quaternion w, x, y, z that begins at q_in[start]."""
    w, x, y, z = q_in[start], q_in[start + 1], q_in[start + 2], q_in[start + 3]
    two = 2.0 / (w * w + x * x + y * y + z * z)
    sx, sy, sz = two * x, two * y, two * z
    R_FM[0, 0] = 1.0 - (sy * y + sz * z)
    R_FM[0, 1] = sx * y - sz * w
    R_FM[0, 2] = sx * z + sy * w
    R_FM[1, 0] = sx * y + sz * w
    R_FM[1, 1] = 1.0 - (sx * x + sz * z)
    R_FM[1, 2] = sy * z - sx * w
    R_FM[2, 0] = sx * z - sy * w
    R_FM[2, 1] = sy * z + sx * w
    R_FM[2, 2] = 1.0 - (sx * x + sy * y)


@device
def _set_hinge_matrix(mobilizer: int, fixed: Array, body: Array) -> None:
    """Equations (7) and (8)."""
    H = body["H_PB_W"]
    R_WF = body["R_WF"]
    p_MoBo_W = vector(body["p_MoBo_W"])
    if mobilizer == REVOLUTE:
        a_W = rotate(R_WF, vector(fixed["axis_F"]))
        set_spatial(H[0], a_W, cross(a_W, p_MoBo_W))
    elif mobilizer == PRISMATIC:
        a_W = rotate(R_WF, vector(fixed["axis_F"]))
        set_spatial(H[0], (0.0, 0.0, 0.0), a_W)
    elif mobilizer == QUATERNION_FLOATING:
        for k in range(3):
            F_k_W = (R_WF[0, k], R_WF[1, k], R_WF[2, k])
            set_spatial(H[k], F_k_W, cross(F_k_W, p_MoBo_W))
            set_spatial(H[k + 3], (0.0, 0.0, 0.0), F_k_W)


@device
def _set_inertia(fixed: Array, body: Array) -> None:
    """Mass, centre of mass and equation (11)."""
    R_WB = body["R_WB"]
    I_BBo_W = body["I_BBo_W"]
    body["mass"] = fixed["mass"]
    set_vector(body["p_BoBcm_W"], rotate(R_WB, vector(fixed["p_BoBcm_B"])))
    for r in range(3):
        # Row r of mass R_WB G, then of mass R_WB G R_WB^T.
        row = rotate(R_WB, scaled(fixed["mass"], _row_times(R_WB, r, fixed["G_BBo_B"])))
        set_vector(I_BBo_W[r], row)


position_kinematics = kernel(calc_position_kinematics)
