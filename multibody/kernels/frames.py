"""Frames that are fixed to bodies: where their points are, and how to express vectors in them.

A frame F fixed to a body B is given by the number of the mobod and the matrix X_BF = [R_BF p_BoFo_B], shape [3, 4],
with

    p_WoQ_W = p_WoBo_W + R_WB (p_BoFo_B + R_BF p_FoQ_F)                             (1)
    a_F = R_WF^T a_W,   R_WF = R_WB R_BF                                            (2)

The rotation from F to G is one by theta about the unit vector a, over the axes c of both

    a sin theta = 1/2 sum_c F_c x G_c,   1 + 2 cos theta = sum_c F_c . G_c          (3)

Positions p_FoQi_F of n points come as one vector of 3 n numbers: all x, then all y, then all z.

The pose of one frame in another, and positions of points.

Frames A and B are fixed to any two bodies:

    R_AB = R_WA^T R_WB                                                              (1)
    p_AoQ_A = R_WA^T (p_WoQ_W - p_WoAo_W)                                           (2)

Ends: points of bodies between which contacts, constraints and force elements act.

Of an end C on body B, p_BoC (the arm), all in W:

    v_WC = v_WBo + w_WB x p_BoC                                                           (1)
    a_WC = a_WBo + alpha_WB x p_BoC + w_WB x (w_WB x p_BoC)                               (2)
    F_Bo = [t + p_BoC x f; f], of a moment t and a force f at C                           (3)
    dv_WC/dv_k = v_k + w_k x p_BoC, with row [w_k; v_k] of the hinge matrix H_PB_W        (4)
                 of B or a body inboard of it, and its own arm to C

Velocities and accelerations of points as a moving body sees them.

Notation: see layout.py. Q is fixed to a frame of body B and measured in body A. Body X carries
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

Velocity and acceleration of a frame F, as a moving body A sees them, expressed in a frame E.

Notation and equations (1) to (6): see above, with the origin of F as the point Q:

    V_AF = [w_WB - w_WA, v_WFo(B) - v_WFo(A)]                                       (3), (4)
    A_AF = [alpha_AB, a_AFo]                                                        (5), (6)

Geometries of a plant are fixed to its bodies: X_WG = X_WB X_BG.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers, Poses
from merganser.multibody.kernels.layout import Positions, Topology, Velocities
from merganser.multibody.kernels.scalars import arctangent, exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    add_spatial,
    cross,
    dot,
    rotate,
    rotational,
    scaled,
    subtract,
    translational,
    vector,
)
from merganser.multibody.kernels.velocity import calc_spatial_accelerations

Axes: TypeAlias = tuple[Vector3, Vector3, Vector3]


@device
def axes_of(body: Array, X_BF: Array) -> Axes:
    """The axes of frame F, expressed in W: the columns of R_WF."""
    R_WB = body["R_WB"]
    return (
        rotate(R_WB, (X_BF[0, 0], X_BF[1, 0], X_BF[2, 0])),
        rotate(R_WB, (X_BF[0, 1], X_BF[1, 1], X_BF[2, 1])),
        rotate(R_WB, (X_BF[0, 2], X_BF[1, 2], X_BF[2, 2])),
    )


@device
def express(axes: Axes, a_W: Vector3) -> Vector3:
    """a_F, equation (2), for the axes of F."""
    return dot(axes[0], a_W), dot(axes[1], a_W), dot(axes[2], a_W)


@device
def combine(axes: Axes, a_A: Vector3) -> Vector3:
    """a_W of a vector expressed in A."""
    return add(add(scaled(a_A[0], axes[0]), scaled(a_A[1], axes[1])), scaled(a_A[2], axes[2]))


@device
def point(points: Array, i: int) -> Vector3:
    """p_FoQi_F."""
    n = points.shape[0] // 3
    return points[i], points[n + i], points[2 * n + i]


@device
def locate(body: Array, X_BF: Array, p_FoQ_F: Vector3) -> Vector3:
    """p_WoQ_W, equation (1)."""
    p_BoQ_B = add((X_BF[0, 3], X_BF[1, 3], X_BF[2, 3]), rotate(X_BF, p_FoQ_F))
    return add(vector(body["p_WoBo_W"]), rotate(body["R_WB"], p_BoQ_B))


@device
def rotation_vector(F: Axes, G: Axes) -> Vector3:
    """a theta in W, equations (3), for 0 <= theta <= pi; at pi, where there are two of them, it is zero."""
    total = add(add(cross(F[0], G[0]), cross(F[1], G[1])), cross(F[2], G[2]))
    trace = dot(F[0], G[0]) + dot(F[1], G[1]) + dot(F[2], G[2])
    square = 0.25 * dot(total, total)
    if not exceeds(square, 1e-18):
        return scaled(0.5, total)
    sine = np.sqrt(square)
    return scaled(0.5 * arctangent(sine, 0.5 * (trace - 1.0)) / sine, total)


@device
def calc_relative_pose(
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    mobod_A: int,  # of the body of frame A
    X_A_in: FloatTable,  # frame A in its body, shape [3, 4]
    mobod_B: int,  # of the body of frame B
    X_B_in: FloatTable,  # frame B in its body, shape [3, 4]
    # Out:
    R_AB_out: FloatTable,  # shape [3, 3]
    p_AoBo_A_out: Floats,  # [m], shape [3]
) -> None:
    """Computes X_AB, equations (1) and (2)."""
    origin = 0.0, 0.0, 0.0
    axes_A, axes_B = axes_of(position_in[mobod_A], X_A_in), axes_of(position_in[mobod_B], X_B_in)
    for c in range(3):
        R_AB_out[0, c], R_AB_out[1, c], R_AB_out[2, c] = express(axes_A, axes_B[c])
    p_WoAo_W = locate(position_in[mobod_A], X_A_in, origin)
    p_AoBo_W = subtract(locate(position_in[mobod_B], X_B_in, origin), p_WoAo_W)
    p_AoBo_A_out[0], p_AoBo_A_out[1], p_AoBo_A_out[2] = express(axes_A, p_AoBo_W)


@device
def calc_point_positions(
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    mobod_B: int,  # of the body of frame B, to which the points are fixed
    X_B_in: FloatTable,  # frame B in its body, shape [3, 4]
    points_in: Floats,  # p_BoQi_B [m], shape [3 num_points], see frames.py
    mobod_A: int,  # of the body of frame A
    X_A_in: FloatTable,  # frame A in its body, shape [3, 4]
    # Out:
    p_AoQi_A_out: FloatTable,  # [m], shape [3, num_points]
) -> None:
    """Computes the positions of points in another frame, equation (2)."""
    axes_A = axes_of(position_in[mobod_A], X_A_in)
    p_WoAo_W = locate(position_in[mobod_A], X_A_in, (0.0, 0.0, 0.0))
    for j in range(points_in.shape[0] // 3):
        p_AoQ_W = subtract(locate(position_in[mobod_B], X_B_in, point(points_in, j)), p_WoAo_W)
        p_AoQi_A_out[0, j], p_AoQi_A_out[1, j], p_AoQi_A_out[2, j] = express(axes_A, p_AoQ_W)


relative_pose = kernel(calc_relative_pose)
point_positions = kernel(calc_point_positions)


# ---------------------------------------------------------------------- frames fixed to a body


@device
def arm_of(pose: Array, X_BF: Array) -> Vector3:
    """p_BoFo_W of a frame F fixed to body B, from the position record of B and [R p]."""
    return rotate(pose["R_WB"], (X_BF[0, 3], X_BF[1, 3], X_BF[2, 3]))


@device
def point_of(pose: Array, X_BF: Array) -> Vector3:
    """p_WFo_W of a frame F fixed to body B."""
    return add(vector(pose["p_WoBo_W"]), arm_of(pose, X_BF))


@device
def axis_of(pose: Array, X_BF: Array, c: int) -> Vector3:
    """Axis c of a frame F fixed to body B, in W."""
    return rotate(pose["R_WB"], (X_BF[0, c], X_BF[1, c], X_BF[2, c]))


# ---------------------------------------------------------------------- by arms


@device
def arm_to(pose: Array, p_WC: Vector3) -> Vector3:
    """p_BoC_W of a point C."""
    return subtract(p_WC, vector(pose["p_WoBo_W"]))


@device
def velocity_of(V_WB_W: Array, arm: Vector3) -> Vector3:
    """Equation (1); with a row of a hinge matrix in place of V_WB_W, equation (4)."""
    return add(translational(V_WB_W), cross(rotational(V_WB_W), arm))


@device
def acceleration_of(A_WB_W: Array, V_WB_W: Array, arm: Vector3) -> Vector3:
    """Equation (2)."""
    w = rotational(V_WB_W)
    return add(translational(A_WB_W), add(cross(rotational(A_WB_W), arm), cross(w, cross(w, arm))))


@device
def push(F_Bo_W_io: Array, arm: Vector3, t: Vector3, f: Vector3) -> None:
    """Adds a moment and a force at the end of an arm to those on a body, equation (3)."""
    add_spatial(F_Bo_W_io, add(t, cross(arm, f)), f)


@device
def calc_point_velocities(
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    mobod_B: int,  # of the body of frame F
    X_BF_in: FloatTable,  # frame F, to which the points are fixed, shape [3, 4]
    points_in: Floats,  # p_FoQi_F [m], shape [3 num_points], see frames.py
    mobod_A: int,  # the body in which velocities are measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: FloatTable,  # frame E, in which velocities are expressed, shape [3, 4]
    # Out:
    v_AQi_E_out: FloatTable,  # [m/s], shape [3, num_points]
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
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    vdot_in: Floats,  # generalized accelerations, shape [num_v]
    mobod_B: int,  # of the body of frame F
    X_BF_in: FloatTable,  # frame F, to which the points are fixed, shape [3, 4]
    points_in: Floats,  # p_FoQi_F [m], shape [3 num_points], see frames.py
    mobod_A: int,  # the body in which accelerations are measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: FloatTable,  # frame E, in which accelerations are expressed, shape [3, 4]
    # Work:
    A_WB_W_work: FloatTable,  # shape [num_mobods, 6]
    # Out:
    A_out: FloatTable,  # alpha_AF_E [rad/s^2], a_AQ0_E [m/s^2], a_AQ1_E, ...; shape [1 + num_points, 3]
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
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    A_WB_W_in: FloatTable,  # accelerations of all mobods at Bo [rad/s^2, m/s^2], shape [num_mobods, 6]
    members: Integers,  # numbers of the mobods whose centre of mass is meant
    mobod_A: int,  # the body in which the acceleration is measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: FloatTable,  # frame E, in which it is expressed, shape [3, 4]
    # Out:
    a_AScm_E_out: Floats,  # [m/s^2], and the mass of the bodies [kg], shape [4]
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


@device
def calc_frame_velocity(
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    mobod_B: int,  # of the body of frame F
    X_BF_in: FloatTable,  # frame F, shape [3, 4]
    mobod_A: int,  # the body in which the velocity is measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: FloatTable,  # frame E, in which it is expressed, shape [3, 4]
    # Out:
    V_AF_E_out: Floats,  # [rad/s, m/s], shape [6]
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
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    A_WB_W_in: FloatTable,  # accelerations of all mobods at Bo [rad/s^2, m/s^2], shape [num_mobods, 6]
    mobod_B: int,  # of the body of frame F
    X_BF_in: FloatTable,  # frame F, shape [3, 4]
    mobod_A: int,  # the body in which the acceleration is measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: FloatTable,  # frame E, in which it is expressed, shape [3, 4]
    # Out:
    A_AF_E_out: Floats,  # [rad/s^2, m/s^2], shape [6]
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


@kernel
def geometry_poses(
    mobods: Integers,  # to which each geometry is fixed, shape [num_geometries]
    X_BG: Poses,  # shape [num_geometries, 4, 4]
    position_in: Positions,  # position records, shape [num_mobods]
    X_WG_out: Poses,  # shape [num_geometries, 4, 4]
) -> bool:
    """Computes the poses of geometries in the world; returns whether all are finite."""
    total = 0.0
    for g in range(mobods.shape[0]):
        body = position_in[mobods[g]]
        for r in range(3):
            for c in range(4):
                x = body["p_WoBo_W"][r] if c == 3 else 0.0
                for k in range(3):
                    x += body["R_WB"][r, k] * X_BG[g, k, c]
                X_WG_out[g, r, c] = x
                total += x * 0.0
        X_WG_out[g, 3, 0], X_WG_out[g, 3, 1], X_WG_out[g, 3, 2], X_WG_out[g, 3, 3] = 0.0, 0.0, 0.0, 1.0
    return bool(total == 0.0)
