"""Roll-pitch-yaw floating: M moves freely.

    R_FM = Rz(q_2) Ry(q_1) Rx(q_0),   p_FoMo_F = q[3:]                              (1)
    w_FM = v[:3],   v_FMo = v[3:]                                                   (2)

q are roll, pitch and yaw [rad] and a position [m]; their rates are those of a ball (ball_rpy.py) and v_FMo_F.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.layout import RPY_FLOATING
from merganser.multibody.kernels.mobilizers.ball_rpy import set_rates, set_velocities
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind
from merganser.multibody.kernels.mobilizers.motion import set_rotation_of_rpy
from merganser.multibody.kernels.mobilizers.quaternion_floating import (
    FLOATING_CARRIES,
    FLOATING_VELOCITIES,
    set_floating_axes,
)
from merganser.multibody.kernels.spatial import Array


@device
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equation (1)."""
    q = node["q_start"]
    set_rotation_of_rpy(q_in[q], q_in[q + 1], q_in[q + 2], R_FM)
    for r in range(3):
        p_FoMo_F[r] = q_in[q + 3 + r]


KIND = MobilizerKind(
    "rpy_floating", ("qx", "qy", "qz", "x", "y", "z"), FLOATING_VELOCITIES, set_pose, set_floating_axes,
    set_rates=set_rates, set_velocities=set_velocities, carries=FLOATING_CARRIES,
    pitch_position=1, number=RPY_FLOATING,
)  # fmt: skip
