"""Quaternion floating: M moves freely.

    R_FM = R(q[:4]),   p_FoMo_F = q[4:]                                             (1)
    w_FM = v[:3],   v_FMo = v[3:]                                                   (2)

q is a quaternion, of which R, its rates, and w_FM_F follow as those of a ball (ball_quaternion.py), and a position
[m], whose rates are v_FMo_F.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.layout import QUATERNION_FLOATING
from merganser.multibody.kernels.mobilizers.ball_quaternion import (
    set_angular_velocity,
    set_quaternion_rates,
    set_rotation,
)
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind
from merganser.multibody.kernels.mobilizers.motion import set_rotation_row, set_translation_row
from merganser.multibody.kernels.spatial import Array, column


@device
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equation (1)."""
    set_rotation(node, q_in, R_FM)
    for r in range(3):
        p_FoMo_F[r] = q_in[node["q_start"] + 4 + r]


@device
def set_floating_axes(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Equation (2)."""
    for k in range(3):
        F_k = column(body["R_WF"], k)
        set_rotation_row(body, k, F_k)
        set_translation_row(body, k + 3, F_k)


@device
def set_rates(node: Array, q_in: Array, v_in: Array, qdot_out: Array) -> None:
    """qdot = N(q) v."""
    set_quaternion_rates(node, q_in, v_in, qdot_out)
    for k in range(3):
        qdot_out[node["q_start"] + 4 + k] = v_in[node["v_start"] + 3 + k]


@device
def set_velocities(node: Array, q_in: Array, qdot_in: Array, v_out: Array) -> None:
    """v = N+(q) qdot."""
    set_angular_velocity(node, q_in, qdot_in, v_out)
    for k in range(3):
        v_out[node["v_start"] + 3 + k] = qdot_in[node["q_start"] + 4 + k]


FLOATING_VELOCITIES = ("wx", "wy", "wz", "vx", "vy", "vz")
# Translations carry rotations, as the axes of the latter go through Mo.
FLOATING_CARRIES = tuple((l, k) for l in (3, 4, 5) for k in (0, 1, 2))

KIND = MobilizerKind(
    "quaternion_floating", ("qw", "qx", "qy", "qz", "x", "y", "z"), FLOATING_VELOCITIES, set_pose, set_floating_axes,
    set_rates=set_rates, set_velocities=set_velocities, carries=FLOATING_CARRIES,
    quaternion_start=0, number=QUATERNION_FLOATING,
)  # fmt: skip
