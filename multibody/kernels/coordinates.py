"""The kinematic map between velocities and the rates of the positions: qdot = N(q) v, v = N+(q) qdot.

Most mobilizers: qdot = v. Quaternion floating mobilizers, with the quaternion Q of R_FM, of
any length, and w_FM_F, v_FMo_F in v:

    Qdot = 1/2 (0, w_FM_F) * Q                                        (1)
    pdot = v_FMo_F                                                    (2)
    (0, w_FM_F) = 2 Qdot * conj(Q) / |Q|^2                            (3)   (the vector part)

(1) keeps the length of Q. (3) undoes (1) for every Q but zero, and ignores the part of Qdot along Q.

Mobilizers with the angles r, p, y (roll, pitch, yaw) of R_FM = Rz(y) Ry(p) Rx(r), and w = w_FM_F in v:

    w_x = cos y cos p rdot - sin y pdot
    w_y = sin y cos p rdot + cos y pdot
    w_z = ydot - sin p rdot                                           (4)

    rdot = (cos y w_x + sin y w_y) / cos p
    pdot = cos y w_y - sin y w_x
    ydot = w_z + sin p rdot                                           (5)

(5) has no solution where cos p = 0.

Source: J. Diebel, Representing Attitude: Euler Angles, Unit Quaternions, and Rotation Vectors (2006).
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.layout import BALL_RPY, QUATERNION_FLOATING, RPY_FLOATING
from merganser.multibody.kernels.spatial import Array

__all__ = ["calc_qdot_to_velocity", "calc_velocity_to_qdot", "qdot_to_velocity", "velocity_to_qdot"]


@device
def calc_velocity_to_qdot(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    v_in: Array,  # generalized velocities, shape [num_v]
    # Out:
    qdot_out: Array,  # rates of the positions, shape [num_q]
) -> None:
    """Computes qdot = N(q) v, equations (1), (2) and (5)."""
    for i in range(1, topology.shape[0]):
        node = topology[i]
        q, v = node["q_start"], node["v_start"]
        if node["mobilizer"] == QUATERNION_FLOATING:
            w, x, y, z = q_in[q], q_in[q + 1], q_in[q + 2], q_in[q + 3]
            w_x, w_y, w_z = 0.5 * v_in[v], 0.5 * v_in[v + 1], 0.5 * v_in[v + 2]
            # Qdot = 1/2 (0, w_FM_F) * Q  (1)
            qdot_out[q] = -w_x * x - w_y * y - w_z * z
            qdot_out[q + 1] = w_x * w + w_y * z - w_z * y
            qdot_out[q + 2] = w_y * w + w_z * x - w_x * z
            qdot_out[q + 3] = w_z * w + w_x * y - w_y * x
            # pdot = v_FMo_F  (2)
            for k in range(3):
                qdot_out[q + 4 + k] = v_in[v + 3 + k]
        elif node["mobilizer"] == BALL_RPY or node["mobilizer"] == RPY_FLOATING:
            p, y = q_in[q + 1], q_in[q + 2]
            w_x, w_y = v_in[v], v_in[v + 1]
            # rates of roll, pitch and yaw  (5)
            rdot = (np.cos(y) * w_x + np.sin(y) * w_y) / np.cos(p)
            qdot_out[q] = rdot
            qdot_out[q + 1] = np.cos(y) * w_y - np.sin(y) * w_x
            qdot_out[q + 2] = v_in[v + 2] + np.sin(p) * rdot
            # pdot = v_FMo_F  (2)
            for k in range(3, node["num_v"]):
                qdot_out[q + k] = v_in[v + k]
        else:
            for k in range(node["num_v"]):
                qdot_out[q + k] = v_in[v + k]


@device
def calc_qdot_to_velocity(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    qdot_in: Array,  # rates of the positions, shape [num_q]
    # Out:
    v_out: Array,  # generalized velocities, shape [num_v]
) -> None:
    """Computes v = N+(q) qdot, equations (2), (3) and (4)."""
    for i in range(1, topology.shape[0]):
        node = topology[i]
        q, v = node["q_start"], node["v_start"]
        if node["mobilizer"] == QUATERNION_FLOATING:
            w, x, y, z = q_in[q], q_in[q + 1], q_in[q + 2], q_in[q + 3]
            wd, xd, yd, zd = qdot_in[q], qdot_in[q + 1], qdot_in[q + 2], qdot_in[q + 3]
            two = 2.0 / (w * w + x * x + y * y + z * z)
            # (0, w_FM_F) = 2 Qdot * conj(Q) / |Q|^2  (3)
            v_out[v] = two * (xd * w - wd * x - yd * z + zd * y)
            v_out[v + 1] = two * (yd * w - wd * y - zd * x + xd * z)
            v_out[v + 2] = two * (zd * w - wd * z - xd * y + yd * x)
            # v_FMo_F = pdot  (2)
            for k in range(3):
                v_out[v + 3 + k] = qdot_in[q + 4 + k]
        elif node["mobilizer"] == BALL_RPY or node["mobilizer"] == RPY_FLOATING:
            p, y = q_in[q + 1], q_in[q + 2]
            rdot, pdot = qdot_in[q], qdot_in[q + 1]
            # w_FM_F  (4)
            v_out[v] = np.cos(y) * np.cos(p) * rdot - np.sin(y) * pdot
            v_out[v + 1] = np.sin(y) * np.cos(p) * rdot + np.cos(y) * pdot
            v_out[v + 2] = qdot_in[q + 2] - np.sin(p) * rdot
            # v_FMo_F = pdot  (2)
            for k in range(3, node["num_v"]):
                v_out[v + k] = qdot_in[q + k]
        else:
            for k in range(node["num_v"]):
                v_out[v + k] = qdot_in[q + k]


velocity_to_qdot = kernel(calc_velocity_to_qdot)
qdot_to_velocity = kernel(calc_qdot_to_velocity)
