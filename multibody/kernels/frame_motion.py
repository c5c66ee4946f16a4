"""Velocity and acceleration of a frame F, as a moving body A sees them, expressed in a frame E.

Notation and equations (1) to (6): see relative_motion.py, with the origin of F as the point Q:

    V_AF = [w_WB - w_WA, v_WFo(B) - v_WFo(A)]                                       (3), (4)
    A_AF = [alpha_AB, a_AFo]                                                        (5), (6)
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.frames import axes_of, express, locate
from merganser.multibody.kernels.relative_motion import acceleration_at, acceleration_in, velocity_at
from merganser.multibody.kernels.spatial import Array, cross, rotational, subtract

__all__ = ["calc_frame_acceleration", "calc_frame_velocity", "frame_acceleration", "frame_velocity"]


@device
def calc_frame_velocity(
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    mobod_B: int,  # of the body of frame F
    X_BF_in: Array,  # frame F, shape [3, 4]
    mobod_A: int,  # the body in which the velocity is measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: Array,  # frame E, in which it is expressed, shape [3, 4]
    # Out:
    V_AF_E_out: Array,  # [rad/s, m/s], shape [6]
) -> None:
    """Computes the spatial velocity of a frame at its origin, equations (3) and (4)."""
    axes_W = axes_of(position_in[mobod_D], X_DE_in)
    w_AF_W = subtract(rotational(velocity_in[mobod_B]["V_WB_W"]), rotational(velocity_in[mobod_A]["V_WB_W"]))
    p_WoFo_W = locate(position_in[mobod_B], X_BF_in, (0.0, 0.0, 0.0))
    v_WFo_W = velocity_at(position_in[mobod_B], velocity_in[mobod_B], p_WoFo_W)
    v_AFo_W = subtract(v_WFo_W, velocity_at(position_in[mobod_A], velocity_in[mobod_A], p_WoFo_W))
    V_AF_E_out[0], V_AF_E_out[1], V_AF_E_out[2] = express(axes_W, w_AF_W)
    V_AF_E_out[3], V_AF_E_out[4], V_AF_E_out[5] = express(axes_W, v_AFo_W)


@device
def calc_frame_acceleration(
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    A_WB_W_in: Array,  # accelerations of all mobods at Bo [rad/s^2, m/s^2], shape [num_mobods, 6]
    mobod_B: int,  # of the body of frame F
    X_BF_in: Array,  # frame F, shape [3, 4]
    mobod_A: int,  # the body in which the acceleration is measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: Array,  # frame E, in which it is expressed, shape [3, 4]
    # Out:
    A_AF_E_out: Array,  # [rad/s^2, m/s^2], shape [6]
) -> None:
    """Computes the spatial acceleration of a frame at its origin, equations (5) and (6)."""
    axes_W = axes_of(position_in[mobod_D], X_DE_in)
    w_WB = rotational(velocity_in[mobod_B]["V_WB_W"])
    w_WA = rotational(velocity_in[mobod_A]["V_WB_W"])
    # alpha_AB = alpha_WB - alpha_WA - w_WA x w_AB  (5), where w_WA x w_AB = w_WA x w_WB
    alpha_WB, alpha_WA = rotational(A_WB_W_in[mobod_B]), rotational(A_WB_W_in[mobod_A])
    alpha_AB = subtract(subtract(alpha_WB, alpha_WA), cross(w_WA, w_WB))
    p_WoFo_W = locate(position_in[mobod_B], X_BF_in, (0.0, 0.0, 0.0))
    v_WFo_W = velocity_at(position_in[mobod_B], velocity_in[mobod_B], p_WoFo_W)
    a_WFo_W = acceleration_at(position_in[mobod_B], velocity_in[mobod_B], A_WB_W_in[mobod_B], p_WoFo_W)
    a_AFo_W = acceleration_in(
        position_in[mobod_A], velocity_in[mobod_A], A_WB_W_in[mobod_A], p_WoFo_W, v_WFo_W, a_WFo_W
    )
    A_AF_E_out[0], A_AF_E_out[1], A_AF_E_out[2] = express(axes_W, alpha_AB)
    A_AF_E_out[3], A_AF_E_out[4], A_AF_E_out[5] = express(axes_W, a_AFo_W)


frame_velocity = kernel(calc_frame_velocity)
frame_acceleration = kernel(calc_frame_acceleration)
