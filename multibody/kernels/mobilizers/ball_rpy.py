"""Ball: M turns freely about Fo = Mo.

    R_FM = Rz(y) Ry(p) Rx(r),   q = (r, p, y),   p_FoMo_F = 0                       (1)
    w_FM = v,   v_FMo = 0                                                           (2)

q are roll, pitch and yaw [rad], v is w = w_FM_F:

    w_x = cos y cos p rdot - sin y pdot
    w_y = sin y cos p rdot + cos y pdot
    w_z = ydot - sin p rdot                                                         (3)

    rdot = (cos y w_x + sin y w_y) / cos p
    pdot = cos y w_y - sin y w_x
    ydot = w_z + sin p rdot                                                         (4)

(4) has no solution where cos p = 0.

Source: J. Diebel, Representing Attitude: Euler Angles, Unit Quaternions, and Rotation Vectors (2006).
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.layout import BALL_RPY
from merganser.multibody.kernels.mobilizers.kind import ALL_AXES, Closing, MobilizerKind
from merganser.multibody.kernels.mobilizers.motion import ORIGIN, set_rotation_of_rpy, set_rotation_row
from merganser.multibody.kernels.spatial import Array, column, set_vector


@device
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equation (1)."""
    q = node["q_start"]
    set_rotation_of_rpy(q_in[q], q_in[q + 1], q_in[q + 2], R_FM)
    set_vector(p_FoMo_F, ORIGIN)


@device
def set_axes(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Equation (2)."""
    for k in range(3):
        set_rotation_row(body, k, column(body["R_WF"], k))


@device
def set_rates(node: Array, q_in: Array, v_in: Array, qdot_out: Array) -> None:
    """Equation (4); further positions have the rates of further velocities."""
    q, v = node["q_start"], node["v_start"]
    p, y = q_in[q + 1], q_in[q + 2]
    w_x, w_y = v_in[v], v_in[v + 1]
    rdot = (np.cos(y) * w_x + np.sin(y) * w_y) / np.cos(p)
    qdot_out[q] = rdot
    qdot_out[q + 1] = np.cos(y) * w_y - np.sin(y) * w_x
    qdot_out[q + 2] = v_in[v + 2] + np.sin(p) * rdot
    for k in range(3, node["num_v"]):
        qdot_out[q + k] = v_in[v + k]


@device
def set_velocities(node: Array, q_in: Array, qdot_in: Array, v_out: Array) -> None:
    """Equation (3); further velocities are the rates of further positions."""
    q, v = node["q_start"], node["v_start"]
    p, y = q_in[q + 1], q_in[q + 2]
    rdot, pdot = qdot_in[q], qdot_in[q + 1]
    v_out[v] = np.cos(y) * np.cos(p) * rdot - np.sin(y) * pdot
    v_out[v + 1] = np.sin(y) * np.cos(p) * rdot + np.cos(y) * pdot
    v_out[v + 2] = qdot_in[q + 2] - np.sin(p) * rdot
    for k in range(3, node["num_v"]):
        v_out[v + k] = qdot_in[q + k]


KIND = MobilizerKind(
    "ball_rpy", ("qx", "qy", "qz"), ("wx", "wy", "wz"), set_pose, set_axes,
    set_rates=set_rates, set_velocities=set_velocities, can_translate=False, pitch_position=1,
    closing=lambda axis: Closing(ALL_AXES, ()), number=BALL_RPY,
)  # fmt: skip
