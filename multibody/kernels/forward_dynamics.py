"""Forward dynamics: the articulated body algorithm (ABA), in time proportional to the number of bodies.

    (M + diag(extra_diagonal)) vdot = tau - C(q, v) v + tau_g + J^T F_applied

Notation: see layout.py; the rows of H are H_PB_W[k], e and D belong to the hinge of B.
X = [1, 0; -[p]x, 1] shifts accelerations from Po to Bo, X^T forces from Bo to Po, p = p_PoBo_W.

Pass 1, tips to base: articulated body inertias.

    P     = M_BBo_W + sum_children X^T P+ X                                           (1)
    U     = H P,   D = H P H^T + diag(reflected_inertia + extra_diagonal)             (2)
    D     = L Delta L^T,   Y = L^-1 U                                                 (3)
    P+    = P - Y^T Delta^-1 Y                                                        (4)

Pass 2, tips to base: articulated body forces, so that F_Bo_W = P+ X A_WP_W + Z+ at the hinge.

    Z     = Fb_Bo_W - F_applied_Bo_W + sum_children X^T Z+                            (5)
    e     = L^-1 (tau - H Z)                                                          (6)
    Z+    = Z + Y^T Delta^-1 e + P+ Ab_WB_W                                           (7)

Pass 3, base to tips: accelerations, from A_W0_W = [0; -g].

    A+    = X A_WP_W + Ab_WB_W                                                        (8)
    vdot  = L^-T Delta^-1 (e - Y A+)                                                  (9)
    A_WB_W = A+ + H^T vdot                                                            (10)

A locked mobilizer keeps its velocities: its hinge has no rows, as that of a weld, and its vdot is zero.

Singular hinges. A pivot of Delta is what is left of the composite inertia after subtractions (4); their
rounding errors are some eps times the composite inertia, which for a unit velocity [w; v] of the hinge is at
most

    scale = 2 m_C v . v + trace(I_C) w . w + reflected_inertia + extra_diagonal       (11)

since |v + w x r|^2 <= 2 |v|^2 + 2 |w|^2 |r|^2 for every particle of C, the bodies outboard of the hinge, and
trace(I_C) = 2 sum m |r|^2. A pivot below PIVOT_TOLERANCE scale, some hundred eps, has hardly three digits
left: it is reported, not divided by.

Sources: R. Featherstone, Rigid Body Dynamics Algorithms (2008), table 7.1; A. Jain, Robot and Multibody
Dynamics (2010), chapter 7. The factors (3) in place of D^-1: G. Golub and C. Van Loan, Matrix Computations
(2013), section 4.1.2.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.articulated import (
    add_shifted_inertia,
    multiply_inertia,
    project_hinge_inertia,
    set_rigid_inertia,
    subtract_hinge_inertia,
)
from merganser.multibody.kernels.hinge import num_free
from merganser.multibody.kernels.spatial import (
    Array,
    add,
    add_spatial,
    cross,
    dot,
    power,
    rotational,
    scaled,
    set_spatial,
    set_vector,
    translational,
    vector,
)

__all__ = ["calc_forward_dynamics", "forward_dynamics"]


@device
def calc_forward_dynamics(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    gravity_in: Array,  # g_W [m/s^2], shape [3]
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    tau_in: Array,  # generalized forces, shape [num_v]; may be the same array as vdot_out
    F_applied_in: Array,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    extra_diagonal_in: Array,  # added to the diagonal of M, shape [num_v]
    # Work:
    scratch_work: Array,  # shape [num_mobods]
    # Out:
    vdot_out: Array,  # generalized accelerations, shape [num_v]
) -> int:
    """Computes vdot, equations (1) to (10).

    Returns:
        0, or the number of the mobod whose hinge inertia is singular or NaN; vdot_out is then not computed.
    """
    status = articulate_inertias(topology, parameters, position_in, extra_diagonal_in, scratch_work)
    if status == 0:
        articulate_forces(
            topology, parameters, gravity_in, position_in, velocity_in, tau_in, F_applied_in, scratch_work
        )
        articulate_accelerations(topology, parameters, gravity_in, position_in, velocity_in, scratch_work, vdot_out)
    return status


@device
def articulate_inertias(
    topology: Array,
    parameters: Array,
    position_in: Array,
    extra_diagonal_in: Array,
    scratch_work: Array,
) -> int:
    """Pass 1: P+, Y, L and Delta of all mobods; returns 0 or the number of a mobod with a singular hinge."""
    num_mobods = topology.shape[0]
    for i in range(1, num_mobods):
        body = position_in[i]
        work = scratch_work[i]
        I = body["I_BBo_W"]
        h = scaled(body["mass"], vector(body["p_BoBcm_W"]))
        set_rigid_inertia(body["mass"], h, I, work)
        work["mass_C"] = body["mass"]
        set_vector(work["mp_C_W"], h)
        work["trace_C"] = I[0, 0] + I[1, 1] + I[2, 2]
    for i in range(num_mobods - 1, 0, -1):
        node = topology[i]
        work = scratch_work[i]
        # Y, L, Delta  (2), (3)
        if not project_hinge_inertia(node, parameters[i], position_in[i], extra_diagonal_in, work):
            return i
        if node["parent"] > 0:
            # P+ = P - Y^T Delta^-1 Y  (4)
            subtract_hinge_inertia(num_free(node, parameters[i]), work)
            # P of the parent += X^T P+ X  (1)
            p_PoBo_W = vector(position_in[i]["p_PoBo_W"])
            parent_work = scratch_work[node["parent"]]
            add_shifted_inertia(work, p_PoBo_W, parent_work)
            # Trace of the composite inertia about Po, for (11).
            m_C, h_C = work["mass_C"], vector(work["mp_C_W"])
            h_C_Po = add(h_C, scaled(m_C, p_PoBo_W))
            parent_work["mass_C"] += m_C
            set_vector(parent_work["mp_C_W"], add(vector(parent_work["mp_C_W"]), h_C_Po))
            parent_work["trace_C"] += work["trace_C"] + 2.0 * dot(p_PoBo_W, add(h_C, h_C_Po))
    return 0


@device
def articulate_forces(
    topology: Array,
    parameters: Array,
    gravity_in: Array,
    position_in: Array,
    velocity_in: Array,
    tau_in: Array,
    F_applied_in: Array,
    scratch_work: Array,
) -> None:
    """Pass 2: e of all mobods."""
    num_mobods = topology.shape[0]
    for i in range(1, num_mobods):
        F_b, F_applied = velocity_in[i]["Fb_Bo_W"], F_applied_in[i]
        for j in range(6):
            scratch_work[i]["Z_B_W"][j] = F_b[j] - F_applied[j]
        if topology[i]["is_weightless"]:
            # Takes back the upward acceleration of the world: M_BBo_W [0; g].
            weight = scaled(position_in[i]["mass"], vector(gravity_in))
            add_spatial(scratch_work[i]["Z_B_W"], cross(vector(position_in[i]["p_BoBcm_W"]), weight), weight)
    for i in range(num_mobods - 1, 0, -1):
        node = topology[i]
        work = scratch_work[i]
        e = work["e_B"]
        Y = work["Y_B_W"]
        moment, force = rotational(work["Z_B_W"]), translational(work["Z_B_W"])
        num_v = num_free(node, parameters[i])
        # e = L^-1 (tau - H Z)  (6)
        for k in range(num_v):
            e[k] = tau_in[node["v_start"] + k] - power(position_in[i]["H_PB_W"], k, moment, force)
            for l in range(k):
                e[k] -= work["D_B"][k, l] * e[l]
        if node["parent"] > 0:
            # Z+ = Z + Y^T Delta^-1 e + P+ Ab_WB_W  (7)
            for k in range(num_v):
                moment = add(moment, scaled(e[k] * work["D_B"][k, k], rotational(Y[k])))
                force = add(force, scaled(e[k] * work["D_B"][k, k], translational(Y[k])))
            Ab_WB_W = velocity_in[i]["Ab_WB_W"]
            t, f = multiply_inertia(work, rotational(Ab_WB_W), translational(Ab_WB_W))
            moment, force = add(moment, t), add(force, f)
            # Z of the parent += X^T Z+  (5)
            moment = add(moment, cross(vector(position_in[i]["p_PoBo_W"]), force))
            add_spatial(scratch_work[node["parent"]]["Z_B_W"], moment, force)


@device
def articulate_accelerations(
    topology: Array,
    parameters: Array,
    gravity_in: Array,
    position_in: Array,
    velocity_in: Array,
    scratch_work: Array,
    vdot_out: Array,
) -> None:
    """Pass 3: A_WB_W - [0; g] of all mobods, and vdot."""
    for j in range(3):
        scratch_work[0]["A_WB_W"][j] = 0.0
        scratch_work[0]["A_WB_W"][j + 3] = -gravity_in[j]
    for i in range(1, topology.shape[0]):
        node = topology[i]
        work = scratch_work[i]
        Ab_WB_W = velocity_in[i]["Ab_WB_W"]
        A_WP_W = scratch_work[node["parent"]]["A_WB_W"]
        # A+ = X A_WP_W + Ab_WB_W  (8)
        alpha = add(rotational(A_WP_W), rotational(Ab_WB_W))
        a_shifted = add(translational(A_WP_W), cross(rotational(A_WP_W), vector(position_in[i]["p_PoBo_W"])))
        a = add(a_shifted, translational(Ab_WB_W))
        # vdot = L^-T Delta^-1 (e - Y A+)  (9)
        start = node["v_start"]
        num_v = num_free(node, parameters[i])
        for k in range(num_v, node["num_v"]):
            vdot_out[start + k] = 0.0
        for k in range(num_v):
            vdot_out[start + k] = work["D_B"][k, k] * (work["e_B"][k] - power(work["Y_B_W"], k, alpha, a))
        for k in range(num_v - 1, -1, -1):
            for l in range(k + 1, num_v):
                vdot_out[start + k] -= work["D_B"][l, k] * vdot_out[start + l]
        # A_WB_W = A+ + H^T vdot  (10)
        for k in range(num_v):
            H_k = position_in[i]["H_PB_W"][k]
            alpha = add(alpha, scaled(vdot_out[start + k], rotational(H_k)))
            a = add(a, scaled(vdot_out[start + k], translational(H_k)))
        set_spatial(work["A_WB_W"], alpha, a)


forward_dynamics = kernel(calc_forward_dynamics)
