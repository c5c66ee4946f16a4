"""Across one hinge: the pose of M in F, the hinge matrix and its bias, one branch for each kind of mobilizer.

Notation: see layout.py. F_k and M_k are the k-th axes of frames F and M, a is axis_F.

    kind                 R_FM                     p_FoMo_F      w_FM                v_FMo
    revolute             (1)                      0             a v
    prismatic            1                        a q                               a v
    screw                (1)                      pitch a q     a v                 pitch a v
    universal            Rx(q_0) Ry(q_1)          0             F_0 v_0 + M_1 v_1
    planar               Rz(q_2)                  [q_0, q_1, 0] F_2 v_2             F_0 v_0 + F_1 v_1
    ball rpy             (3)                      0             v
    rpy floating         (3)                      q[3:]         v[:3]               v[3:]
    quaternion floating  (2)                      q[4:]         v[:3]               v[3:]
    curvilinear          see path.py                            rho M_2 v           M_0 v

    R_FM = cos q 1 + sin q [a]x + (1 - cos q) a a^T                                 (1)   (Rodrigues)
    R_FM = 1 + 2/|q|^2 (w [e]x + [e]x^2),  q = (w, e)                               (2)
    R_FM = Rz(yaw) Ry(pitch) Rx(roll),  q = (roll, pitch, yaw)                      (3)

Dividing by |q|^2 makes (2) a rotation for every q but zero, which yields NaN. Rows of the hinge matrix,
V_PB_W = sum_k H_PB_W[k] v_k, with the velocity of B at Bo: if velocity k contributes w and v at Mo,

    H_PB_W[k] = [w; v + w x p_MoBo_W]                                               (4)

Two mobilizers have rows that change in F, beside the arm p_MoBo. In F, at Mo, the bias Hdot v is

    universal    [(w_0 x w_1) v_0 v_1; 0],  with the rows w_0, w_1 of H             (5)
    curvilinear  [0; w_FM x v_FMo]                                                  (6)

as F_0 is fixed and M_1 turns about it, and as the tangent of the path turns with M.

Source: A. Jain, Robot and Multibody Dynamics (2010), chapter 3 (hinge map matrices).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device, inlined
from merganser.multibody.kernels.layout import (
    BALL_RPY,
    CURVILINEAR,
    PLANAR,
    PRISMATIC,
    QUATERNION_FLOATING,
    REVOLUTE,
    RPY_FLOATING,
    SCREW,
    UNIVERSAL,
    WELD,
)
from merganser.multibody.kernels.path import place_on_path, turning_rate
from merganser.multibody.kernels.scalars import is_set
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    column,
    cross,
    rotate,
    rotational,
    scaled,
    set_spatial,
    set_vector,
    subtract,
    vector,
)

__all__ = ["add_hinge_bias", "cross_hinge", "num_free", "set_hinge_matrix"]


@inlined
def num_free(node: Array, fixed: Array) -> int:
    """How many velocities of the mobilizer forces can change: all, or none if it is locked."""
    return 0 if is_set(fixed["is_locked"]) else node["num_v"]


# -- pose ----------------------------------------------------------------------------------------------------


@inlined
def cross_hinge(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Writes R_FM in the place of I_BBo_W, and p_FoMo_F in the place of p_BoBcm_W; nothing if the hinge is a weld."""
    mobilizer = node["mobilizer"]
    if mobilizer == WELD:
        return
    q = node["q_start"]
    R_FM = body["I_BBo_W"]
    p_FoMo_F = body["p_BoBcm_W"]
    for r in range(3):
        p_FoMo_F[r] = 0.0
    if mobilizer == REVOLUTE:
        _set_rotation_about_axis(vector(fixed["axis_F"]), np.sin(q_in[q]), np.cos(q_in[q]), R_FM)
    elif mobilizer == PRISMATIC:
        for r in range(3):
            for c in range(3):
                R_FM[r, c] = 1.0 if r == c else 0.0
        set_vector(p_FoMo_F, scaled(q_in[q], vector(fixed["axis_F"])))
    elif mobilizer == QUATERNION_FLOATING:
        _set_rotation_of_quaternion(q_in, q, R_FM)
        for r in range(3):
            p_FoMo_F[r] = q_in[q + 4 + r]
    elif mobilizer == SCREW:
        a = vector(fixed["axis_F"])
        _set_rotation_about_axis(a, np.sin(q_in[q]), np.cos(q_in[q]), R_FM)
        set_vector(p_FoMo_F, scaled(fixed["pitch"] * q_in[q], a))
    elif mobilizer == UNIVERSAL:
        _set_rotation_of_universal_joint(q_in[q], q_in[q + 1], R_FM)
    elif mobilizer == PLANAR:
        _set_rotation_about_axis((0.0, 0.0, 1.0), np.sin(q_in[q + 2]), np.cos(q_in[q + 2]), R_FM)
        p_FoMo_F[0] = q_in[q]
        p_FoMo_F[1] = q_in[q + 1]
    elif mobilizer == CURVILINEAR:
        set_vector(p_FoMo_F, place_on_path(fixed, node, parameters, q_in[q], R_FM))
    else:
        _set_rotation_of_rpy(q_in[q], q_in[q + 1], q_in[q + 2], R_FM)
        if mobilizer == RPY_FLOATING:
            for r in range(3):
                p_FoMo_F[r] = q_in[q + 3 + r]


@inlined
def _set_rotation_about_axis(a: Vector3, sin_q: Any, cos_q: Any, R_FM: Array) -> None:
    """Equation (1), for a unit vector a."""
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
    """Equation (2), for the quaternion w, x, y, z that begins at q_in[start]."""
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
def _set_rotation_of_rpy(roll: Any, pitch: Any, yaw: Any, R_FM: Array) -> None:
    """Equation (3)."""
    sr, cr, sp, cp, sy, cy = np.sin(roll), np.cos(roll), np.sin(pitch), np.cos(pitch), np.sin(yaw), np.cos(yaw)
    set_vector(R_FM[0], (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr))
    set_vector(R_FM[1], (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr))
    set_vector(R_FM[2], (-sp, cp * sr, cp * cr))


@device
def _set_rotation_of_universal_joint(q_0: Any, q_1: Any, R_FM: Array) -> None:
    """R_FM = Rx(q_0) Ry(q_1)."""
    s0, c0, s1, c1 = np.sin(q_0), np.cos(q_0), np.sin(q_1), np.cos(q_1)
    set_vector(R_FM[0], (c1, 0.0 * s1, s1))
    set_vector(R_FM[1], (s0 * s1, c0, -s0 * c1))
    set_vector(R_FM[2], (-c0 * s1, s0, c0 * c1))


# -- hinge matrix --------------------------------------------------------------------------------------------


@inlined
def set_hinge_matrix(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Writes the rows of H_PB_W, equation (4), of a body whose pose is known."""
    mobilizer = node["mobilizer"]
    H = body["H_PB_W"]
    R_WF = body["R_WF"]
    p_MoBo_W = vector(body["p_MoBo_W"])
    if mobilizer == WELD:
        return
    if mobilizer == REVOLUTE:
        a_W = rotate(R_WF, vector(fixed["axis_F"]))
        set_spatial(H[0], a_W, cross(a_W, p_MoBo_W))
    elif mobilizer == PRISMATIC:
        set_spatial(H[0], (0.0, 0.0, 0.0), rotate(R_WF, vector(fixed["axis_F"])))
    elif mobilizer == SCREW:
        a_W = rotate(R_WF, vector(fixed["axis_F"]))
        set_spatial(H[0], a_W, add(cross(a_W, p_MoBo_W), scaled(fixed["pitch"], a_W)))
    elif mobilizer == UNIVERSAL:
        F_x, M_y = column(R_WF, 0), _axis_of_M(1, fixed, body)
        set_spatial(H[0], F_x, cross(F_x, p_MoBo_W))
        set_spatial(H[1], M_y, cross(M_y, p_MoBo_W))
    elif mobilizer == PLANAR:
        F_z = column(R_WF, 2)
        set_spatial(H[0], (0.0, 0.0, 0.0), column(R_WF, 0))
        set_spatial(H[1], (0.0, 0.0, 0.0), column(R_WF, 1))
        set_spatial(H[2], F_z, cross(F_z, p_MoBo_W))
    elif mobilizer == CURVILINEAR:
        rho = turning_rate(fixed, node, parameters, q_in[node["q_start"]])
        w = scaled(rho, _axis_of_M(2, fixed, body))
        set_spatial(H[0], w, add(_axis_of_M(0, fixed, body), cross(w, p_MoBo_W)))
    else:
        for k in range(3):
            F_k = column(R_WF, k)
            set_spatial(H[k], F_k, cross(F_k, p_MoBo_W))
            if mobilizer != BALL_RPY:
                set_spatial(H[k + 3], (0.0, 0.0, 0.0), F_k)


@device
def _axis_of_M(k: int, fixed: Array, body: Array) -> Vector3:
    """Column k of R_WM = R_WB R_MB^T."""
    return rotate(body["R_WB"], vector(fixed["R_MB"][k]))


# -- bias ----------------------------------------------------------------------------------------------------


@device
def add_hinge_bias(
    node: Array, body: Array, v_in: Array, w_PB: Vector3, v_PBo: Vector3, alpha: Vector3, a: Vector3
) -> tuple[Vector3, Vector3]:
    """[alpha; a] + Hdot v, equations (5) and (6), shifted from Mo to Bo without the centripetal term.

    Only for the mobilizers from UNIVERSAL on, whose rows change in F.
    """
    p_MoBo_W = vector(body["p_MoBo_W"])
    if node["mobilizer"] == UNIVERSAL:
        H, v = body["H_PB_W"], node["v_start"]
        bias = scaled(v_in[v] * v_in[v + 1], cross(rotational(H[0]), rotational(H[1])))
        return add(alpha, bias), add(a, cross(bias, p_MoBo_W))
    return alpha, add(a, cross(w_PB, subtract(v_PBo, cross(w_PB, p_MoBo_W))))
