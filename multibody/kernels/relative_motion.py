"""Velocities and accelerations of points as a moving body sees them.

Notation: see layout.py; frames: see frames.py. Q is fixed to a frame of body B and measured in body A. Body X carries
a point of its own that coincides with Q, p = p_XoQ_W, with

    v_WQ(X) = v_WXo + w_WX x p                                                      (1)
    a_WQ(X) = a_WXo + alpha_WX x p + w_WX x (w_WX x p)                              (2)

Velocities in A differ from those in W by the velocity of that point of A, accelerations by its acceleration and that
of Coriolis:

    w_AB     = w_WB - w_WA                                                          (3)
    v_AQ     = v_WQ(B) - v_WQ(A)                                                    (4)
    alpha_AB = alpha_WB - alpha_WA - w_WA x w_AB                                    (5)
    a_AQ     = a_WQ(B) - a_WQ(A) - 2 w_WA x v_AQ                                    (6)

(4) and (6) are linear in position, velocity and acceleration of Q, so they hold for the centre of mass of bodies, too.

Source: P. Mitiguy, Advanced Dynamics and Motion Simulation (2022), chapters on velocity and acceleration of points.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.accelerations import calc_spatial_accelerations
from merganser.multibody.kernels.ends import arm_to, velocity_of
from merganser.multibody.kernels.frames import axes_of, express, locate, point
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    rotational,
    scaled,
    subtract,
    translational,
    vector,
)

__all__ = [
    "calc_center_of_mass_acceleration",
    "calc_point_accelerations",
    "calc_point_velocities",
    "center_of_mass_acceleration",
    "point_accelerations",
    "point_velocities",
]


@device
def calc_point_velocities(
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    mobod_B: int,  # of the body of frame F
    X_BF_in: Array,  # frame F, to which the points are fixed, shape [3, 4]
    points_in: Array,  # p_FoQi_F [m], shape [3 num_points], see frames.py
    mobod_A: int,  # the body in which velocities are measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: Array,  # frame E, in which velocities are expressed, shape [3, 4]
    # Out:
    v_AQi_E_out: Array,  # [m/s], shape [3, num_points]
) -> None:
    """Computes the velocities of points, equation (4)."""
    axes_W = axes_of(position_in[mobod_D], X_DE_in)
    for j in range(points_in.shape[0] // 3):
        p_WoQ_W = locate(position_in[mobod_B], X_BF_in, point(points_in, j))
        v_WQ_W = velocity_at(position_in[mobod_B], velocity_in[mobod_B], p_WoQ_W)
        v_AQ_W = subtract(v_WQ_W, velocity_at(position_in[mobod_A], velocity_in[mobod_A], p_WoQ_W))
        v_AQi_E_out[0, j], v_AQi_E_out[1, j], v_AQi_E_out[2, j] = express(axes_W, v_AQ_W)


@device
def calc_point_accelerations(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    vdot_in: Array,  # generalized accelerations, shape [num_v]
    mobod_B: int,  # of the body of frame F
    X_BF_in: Array,  # frame F, to which the points are fixed, shape [3, 4]
    points_in: Array,  # p_FoQi_F [m], shape [3 num_points], see frames.py
    mobod_A: int,  # the body in which accelerations are measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: Array,  # frame E, in which accelerations are expressed, shape [3, 4]
    # Work:
    A_WB_W_work: Array,  # shape [num_mobods, 6]
    # Out:
    A_out: Array,  # alpha_AF_E [rad/s^2], a_AQ0_E [m/s^2], a_AQ1_E, ...; shape [1 + num_points, 3]
) -> None:
    """Computes the angular acceleration of a frame, and the accelerations of its points, (5) and (6)."""
    calc_spatial_accelerations(topology, position_in, velocity_in, vdot_in, A_WB_W_work)
    axes_W = axes_of(position_in[mobod_D], X_DE_in)
    w_WB = rotational(velocity_in[mobod_B]["V_WB_W"])
    w_WA = rotational(velocity_in[mobod_A]["V_WB_W"])
    # alpha_AB = alpha_WB - alpha_WA - w_WA x w_AB  (5), where w_WA x w_AB = w_WA x w_WB
    alpha_WB = rotational(A_WB_W_work[mobod_B])
    alpha_WA = rotational(A_WB_W_work[mobod_A])
    alpha_AB = subtract(subtract(alpha_WB, alpha_WA), cross(w_WA, w_WB))
    A_out[0, 0], A_out[0, 1], A_out[0, 2] = express(axes_W, alpha_AB)
    for j in range(points_in.shape[0] // 3):
        p_WoQ_W = locate(position_in[mobod_B], X_BF_in, point(points_in, j))
        v_WQ_W = velocity_at(position_in[mobod_B], velocity_in[mobod_B], p_WoQ_W)
        a_WQ_W = acceleration_at(position_in[mobod_B], velocity_in[mobod_B], A_WB_W_work[mobod_B], p_WoQ_W)
        a_AQ_W = acceleration_in(
            position_in[mobod_A], velocity_in[mobod_A], A_WB_W_work[mobod_A], p_WoQ_W, v_WQ_W, a_WQ_W
        )
        A_out[j + 1, 0], A_out[j + 1, 1], A_out[j + 1, 2] = express(axes_W, a_AQ_W)


@device
def calc_center_of_mass_acceleration(
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    A_WB_W_in: Array,  # accelerations of all mobods at Bo [rad/s^2, m/s^2], shape [num_mobods, 6]
    members: Array,  # numbers of the mobods whose centre of mass is meant
    mobod_A: int,  # the body in which the acceleration is measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: Array,  # frame E, in which it is expressed, shape [3, 4]
    # Out:
    a_AScm_E_out: Array,  # [m/s^2], and the mass of the bodies [kg], shape [4]
) -> None:
    """Computes the acceleration of the centre of mass of some bodies, equation (6), if their mass is not zero."""
    zero = 0.0 * position_in[0]["mass"]
    mass = zero
    mp = mv = ma = (zero, zero, zero)
    for j in range(members.shape[0]):
        i = members[j]
        body = position_in[i]
        m = body["mass"]
        p_WoBcm_W = add(vector(body["p_WoBo_W"]), vector(body["p_BoBcm_W"]))
        mass = mass + m
        mp = add(mp, scaled(m, p_WoBcm_W))
        mv = add(mv, scaled(m, velocity_at(body, velocity_in[i], p_WoBcm_W)))
        ma = add(ma, scaled(m, acceleration_at(body, velocity_in[i], A_WB_W_in[i], p_WoBcm_W)))
    p, v, a = scaled(1.0 / mass, mp), scaled(1.0 / mass, mv), scaled(1.0 / mass, ma)
    a_AScm_W = acceleration_in(position_in[mobod_A], velocity_in[mobod_A], A_WB_W_in[mobod_A], p, v, a)
    column = express(axes_of(position_in[mobod_D], X_DE_in), a_AScm_W)
    a_AScm_E_out[0], a_AScm_E_out[1], a_AScm_E_out[2] = column
    a_AScm_E_out[3] = mass


@device
def velocity_at(body: Array, motion: Array, p_WoQ_W: Vector3) -> Vector3:
    """v_WQ(X), equation (1), from the position and velocity records of X."""
    return velocity_of(motion["V_WB_W"], arm_to(body, p_WoQ_W))


@device
def acceleration_at(body: Array, motion: Array, A_WX_W: Array, p_WoQ_W: Vector3) -> Vector3:
    """a_WQ(X), equation (2), from the records of X and its acceleration."""
    p_XoQ_W = arm_to(body, p_WoQ_W)
    w_WX = rotational(motion["V_WB_W"])
    centripetal = cross(w_WX, cross(w_WX, p_XoQ_W))
    return add(add(translational(A_WX_W), cross(rotational(A_WX_W), p_XoQ_W)), centripetal)


@device
def acceleration_in(
    body: Array, motion: Array, A_WA_W: Array, p_WoQ_W: Vector3, v_WQ_W: Vector3, a_WQ_W: Vector3
) -> Vector3:
    """a_AQ_W, equation (6), from the records of A, its acceleration, and the motion of Q in W."""
    v_AQ_W = subtract(v_WQ_W, velocity_at(body, motion, p_WoQ_W))
    coriolis = scaled(2.0, cross(rotational(motion["V_WB_W"]), v_AQ_W))
    return subtract(subtract(a_WQ_W, acceleration_at(body, motion, A_WA_W, p_WoQ_W)), coriolis)


point_velocities = kernel(calc_point_velocities)
point_accelerations = kernel(calc_point_accelerations)
center_of_mass_acceleration = kernel(calc_center_of_mass_acceleration)
