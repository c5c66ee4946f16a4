"""Inverse dynamics: the recursive Newton-Euler algorithm (RNEA).

    tau = M vdot + C(q, v) v - tau_g - J^T F_applied

Notation: see layout.py. Gravity enters as an upward acceleration of the world, so that no body needs a
weight:

    A_W0_W = [0; -g]                                                                  (1)
    A_WB_W = Phi(A_WP_W) + Ab_WB_W + sum_k H_PB_W[k] vdot_k                           (2)
    F_Bo_W = M_BBo_W A_WB_W + Fb_Bo_W - F_applied_Bo_W + sum_children Phi^T(F_Co_W)   (3)
    tau_k  = H_PB_W[k] . F_Bo_W + reflected_inertia vdot_k                            (4)

With p = p_PoBo_W, Phi shifts accelerations from Po to Bo (a += alpha x p) and Phi^T forces back (t += p x f).
M_BBo_W A = [I alpha + m c x a;  m (a + alpha x c)] with c = p_BoBcm_W.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), table 5.1; reflected inertia: section 9.6.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.spatial import (
    Array,
    add,
    add_spatial,
    cross,
    power,
    rotate,
    rotational,
    scaled,
    set_spatial,
    subtract,
    translational,
    vector,
)

__all__ = ["calc_inverse_dynamics", "inverse_dynamics"]


@device
def calc_inverse_dynamics(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    vdot_in: Floats,  # generalized accelerations, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]; holds F_Bo_W, the force that P exerts on B, afterwards
    # Out:
    tau_out: Floats,  # generalized forces, shape [num_v]
) -> None:
    """Computes the generalized forces that produce vdot, equations (1) to (4)."""
    _accelerate(topology, gravity_in, position_in, velocity_in, vdot_in, F_applied_in, scratch_work)
    _project_forces(topology, parameters, position_in, vdot_in, scratch_work, tau_out)


@device
def _accelerate(
    topology: Array,
    gravity_in: Array,
    position_in: Array,
    velocity_in: Array,
    vdot_in: Array,
    F_applied_in: Array,
    scratch_work: Array,
) -> None:
    """Base to tips: A_WB_W, and of F_Bo_W what B itself contributes."""
    g_W = vector(gravity_in)
    # A_W0_W = [0; -g]  (1)
    for j in range(3):
        scratch_work[0]["A_WB_W"][j] = 0.0
        scratch_work[0]["A_WB_W"][j + 3] = -g_W[j]
    for i in range(1, topology.shape[0]):
        node = topology[i]
        body = position_in[i]
        bias = velocity_in[i]
        work = scratch_work[i]
        A_WP_W = scratch_work[node["parent"]]["A_WB_W"]
        A_WB_W = work["A_WB_W"]
        # A_WB_W = Phi(A_WP_W) + Ab_WB_W + sum_k H_PB_W[k] vdot_k  (2)
        alpha_WP = rotational(A_WP_W)
        a_shifted = add(translational(A_WP_W), cross(alpha_WP, vector(body["p_PoBo_W"])))
        alpha = add(alpha_WP, rotational(bias["Ab_WB_W"]))
        a = add(a_shifted, translational(bias["Ab_WB_W"]))
        for k in range(node["num_v"]):
            vdot_k = vdot_in[node["v_start"] + k]
            H_k = body["H_PB_W"][k]
            alpha = add(alpha, scaled(vdot_k, rotational(H_k)))
            a = add(a, scaled(vdot_k, translational(H_k)))
        set_spatial(A_WB_W, alpha, a)
        # F_Bo_W = M_BBo_W A_WB_W + Fb_Bo_W - F_applied_Bo_W  (3)
        mc = scaled(body["mass"], vector(body["p_BoBcm_W"]))
        moment = add(rotate(body["I_BBo_W"], alpha), cross(mc, a))
        force = add(scaled(body["mass"], a), cross(alpha, mc))
        F_b, F_applied = bias["Fb_Bo_W"], F_applied_in[i]
        moment = add(moment, subtract(rotational(F_b), rotational(F_applied)))
        force = add(force, subtract(translational(F_b), translational(F_applied)))
        if node["is_weightless"]:
            # Takes back the upward acceleration of the world: M_BBo_W [0; g].
            moment, force = add(moment, cross(mc, g_W)), add(force, scaled(body["mass"], g_W))
        set_spatial(work["F_Bo_W"], moment, force)


@device
def _project_forces(
    topology: Array,
    parameters: Array,
    position_in: Array,
    vdot_in: Array,
    scratch_work: Array,
    tau_out: Array,
) -> None:
    """Tips to base: the forces of the children on B, and tau."""
    for i in range(topology.shape[0] - 1, 0, -1):
        node = topology[i]
        body = position_in[i]
        moment = rotational(scratch_work[i]["F_Bo_W"])
        force = translational(scratch_work[i]["F_Bo_W"])
        # tau_k = H_PB_W[k] . F_Bo_W + reflected_inertia vdot_k  (4)
        for k in range(node["num_v"]):
            s = node["v_start"] + k
            tau_out[s] = power(body["H_PB_W"], k, moment, force) + parameters[i]["reflected_inertia"] * vdot_in[s]
        # F_Po_W += Phi^T(F_Bo_W)  (3)
        if node["parent"] > 0:
            moment = add(moment, cross(vector(body["p_PoBo_W"]), force))
            add_spatial(scratch_work[node["parent"]]["F_Bo_W"], moment, force)


inverse_dynamics = kernel(calc_inverse_dynamics)
