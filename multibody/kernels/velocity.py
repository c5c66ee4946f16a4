"""Velocity kinematics: spatial velocities and the bias terms that vanish with v.

Notation: see layout.py. Recursion from base to tips, for every body B with parent P, p = p_PoBo_W:

    V_PB_W = sum_k H_PB_W[k] v_k                                                      (1)
    w_WB   = w_WP + w_PB,    v_WBo = v_WPo + w_WP x p + v_PBo                         (2)

The acceleration of B is A_WB_W = Phi(A_WP_W) + Ab_WB_W + sum_k H_PB_W[k] vdot_k, where Phi shifts from Po to
Bo (alpha stays, a += alpha x p). Differentiating (2), with H constant in F but for the arm p_MoBo, gives

    Ab_WB_W = [w_WP x w_PB;
               w_WP x (w_WP x p) + 2 w_WP x v_PBo + w_PB x (w_PB x p_MoBo)]           (3)

to which kinds of mobilizers whose axes move in F add their bias (mobilizers/);

and Newton-Euler about Bo, F_Bo_W = M_BBo_W A_WB_W + Fb_Bo_W, with c = p_BoBcm_W:

    Fb_Bo_W = [w_WB x I_BBo_W w_WB;  mass w_WB x (w_WB x c)]                          (4)

Sources: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 2.14 (4); A. Jain, Robot and
Multibody Dynamics (2010), chapter 5 (3).

Accelerations of all bodies that follow from given generalized accelerations.

Notation: see layout.py. From base to tips, with A_W0_W the acceleration that the world is given,

    A_WB_W = Phi(A_WP_W) + Ab_WB_W + sum_k H_PB_W[k] vdot_k                         (1)

where Phi shifts from Po to Bo: a += alpha x p_PoBo_W. With vdot = 0 this is the bias acceleration of B.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 5.3.

Position and velocity kinematics in one call, for a new q and v: see position.py.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.layout import Parameters, Positions, Topology, Velocities
from merganser.multibody.kernels.mobilizers.dispatch import add_bias
from merganser.multibody.kernels.position import calc_position_kinematics
from merganser.multibody.kernels.spatial import (
    add,
    cross,
    rotate,
    rotational,
    scaled,
    set_spatial,
    translational,
    vector,
)


@device
def calc_velocity_kinematics(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods], and the segments of paths
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    q_in: Floats,  # generalized positions, shape [num_q]
    v_in: Floats,  # generalized velocities, shape [num_v]
    # Out:
    velocity_out: Velocities,  # shape [num_mobods]
) -> None:
    """Computes the velocity records of all mobods from q and v, equations (1) to (4)."""
    world = velocity_out[0]
    for j in range(6):
        world["V_PB_W"][j] = 0.0
        world["V_WB_W"][j] = 0.0
        world["Ab_WB_W"][j] = 0.0
        world["Fb_Bo_W"][j] = 0.0
    for i in range(1, topology.shape[0]):
        node = topology[i]
        body = position_in[i]
        out = velocity_out[i]
        V_WP_W = velocity_out[node["parent"]]["V_WB_W"]
        # V_PB_W = sum_k H_PB_W[k] v_k  (1)
        V_PB_W = out["V_PB_W"]
        H = body["H_PB_W"]
        for j in range(6):
            V_PB_W[j] = 0.0
        for k in range(node["num_v"]):
            for j in range(6):
                V_PB_W[j] += H[k, j] * v_in[node["v_start"] + k]
        p_PoBo_W = vector(body["p_PoBo_W"])
        w_WP, w_PB = rotational(V_WP_W), rotational(V_PB_W)
        v_PBo = translational(V_PB_W)
        # V_WB_W = Phi(V_WP_W) + V_PB_W  (2)
        w_WP_x_p = cross(w_WP, p_PoBo_W)
        w_WB = add(w_WP, w_PB)
        set_spatial(out["V_WB_W"], w_WB, add(add(translational(V_WP_W), w_WP_x_p), v_PBo))
        # Ab_WB_W  (3)
        centripetal = cross(w_WP, add(w_WP_x_p, scaled(2.0, v_PBo)))
        hinge = cross(w_PB, cross(w_PB, vector(body["p_MoBo_W"])))
        set_spatial(out["Ab_WB_W"], cross(w_WP, w_PB), add(centripetal, hinge))
        add_bias(node, parameters[i], parameters, q_in, v_in, body, out["Ab_WB_W"])
        # Fb_Bo_W  (4)
        gyroscopic = cross(w_WB, rotate(body["I_BBo_W"], w_WB))
        w_x_mc = scaled(body["mass"], cross(w_WB, vector(body["p_BoBcm_W"])))
        set_spatial(out["Fb_Bo_W"], gyroscopic, cross(w_WB, w_x_mc))


velocity_kinematics = kernel(calc_velocity_kinematics)


@device
def calc_spatial_accelerations(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    vdot_in: Floats,  # generalized accelerations, shape [num_v]
    # Out:
    A_WB_W_out: FloatTable,  # accelerations of all mobods at Bo [rad/s^2, m/s^2], shape [num_mobods, 6]
) -> None:
    """Computes A_WB_W of all mobods, equation (1), with a world at rest."""
    set_spatial(A_WB_W_out[0], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for i in range(1, topology.shape[0]):
        node, body = topology[i], position_in[i]
        A_WP_W, Ab_WB_W = A_WB_W_out[node["parent"]], velocity_in[i]["Ab_WB_W"]
        # Inverse dynamics has this recursion, too: as a function of its own it would cost that a quarter more time.
        alpha = add(rotational(A_WP_W), rotational(Ab_WB_W))
        a_shifted = add(translational(A_WP_W), cross(rotational(A_WP_W), vector(body["p_PoBo_W"])))
        a = add(a_shifted, translational(Ab_WB_W))
        for k in range(node["num_v"]):
            vdot_k = vdot_in[node["v_start"] + k]
            alpha = add(alpha, scaled(vdot_k, rotational(body["H_PB_W"][k])))
            a = add(a, scaled(vdot_k, translational(body["H_PB_W"][k])))
        set_spatial(A_WB_W_out[i], alpha, a)


spatial_accelerations = kernel(calc_spatial_accelerations)


@device
def calc_kinematics(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    v_in: Floats,  # generalized velocities, shape [num_v]
    # Out:
    position_out: Positions,  # position records, shape [num_mobods]
    velocity_out: Velocities,  # velocity records, shape [num_mobods]
) -> None:
    """Computes everything that depends on q, and on q and v."""
    calc_position_kinematics(topology, parameters, q_in, position_out)
    calc_velocity_kinematics(topology, parameters, position_out, q_in, v_in, velocity_out)


kinematics = kernel(calc_kinematics)
