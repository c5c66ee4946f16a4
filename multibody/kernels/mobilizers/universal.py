"""Universal: M turns about Fx, then about My, both through Fo = Mo.

    R_FM = Rx(q_0) Ry(q_1),   p_FoMo_F = 0                                          (1)
    w_FM = F_0 v_0 + M_1 v_1,   v_FMo = 0                                           (2)

q are the two angles [rad]; F_k and M_k are the k-th axes of F and M. F_0 is fixed in F and M_1 turns about it, so that
the bias at Mo is

    Hdot v = [(F_0 x M_1) v_0 v_1; 0]                                               (3)
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.layout import UNIVERSAL
from merganser.multibody.kernels.mobilizers.kind import ALL_AXES, Closing, MobilizerKind, X, Y
from merganser.multibody.kernels.mobilizers.motion import ORIGIN, add_bias_at_Mo, axis_of_M, set_rotation_row
from merganser.multibody.kernels.spatial import Array, column, cross, rotational, scaled, set_vector


@device
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equation (1)."""
    q_0, q_1 = q_in[node["q_start"]], q_in[node["q_start"] + 1]
    s0, c0, s1, c1 = np.sin(q_0), np.cos(q_0), np.sin(q_1), np.cos(q_1)
    set_vector(R_FM[0], (c1, 0.0 * s1, s1))
    set_vector(R_FM[1], (s0 * s1, c0, -s0 * c1))
    set_vector(R_FM[2], (-c0 * s1, s0, c0 * c1))
    set_vector(p_FoMo_F, ORIGIN)


@device
def set_axes(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Equation (2)."""
    set_rotation_row(body, 0, column(body["R_WF"], 0))
    set_rotation_row(body, 1, axis_of_M(1, fixed, body))


@device
def add_bias(
    node: Array, fixed: Array, parameters: Array, q_in: Array, v_in: Array, body: Array, Ab_WB_W: Array
) -> None:
    """Equation (3)."""
    H, v = body["H_PB_W"], node["v_start"]
    alpha = scaled(v_in[v] * v_in[v + 1], cross(rotational(H[0]), rotational(H[1])))
    add_bias_at_Mo(body, alpha, ORIGIN, Ab_WB_W)


KIND = MobilizerKind(
    "universal", ("qx", "qy"), ("wx", "wy"), set_pose, set_axes, add_bias,
    carries=((0, 1),), can_translate=False, closing=lambda axis: Closing(ALL_AXES, ((X, Y),)), number=UNIVERSAL,
)  # fmt: skip
