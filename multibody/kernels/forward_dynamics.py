"""Forward dynamics: the articulated body algorithm (ABA), in time proportional to the number of bodies.

    (M + diag(extra_diagonal)) vdot = tau - C(q, v) v + tau_g + J^T F_applied

Notation: see layout.py; the rows of H are H_PB_W[k], e and D belong to the hinge of B.
X = [1, 0; -[p]x, 1] shifts accelerations from Po to Bo, X^T forces from Bo to Po, p = p_PoBo_W.

Pass 1, tips to base: articulated body inertias,

    P     = M_BBo_W + sum_children X^T P+ X                                           (1)
    U     = H P,   D = H P H^T + diag(reflected_inertia + extra_diagonal)             (2)
    D     = L Delta L^T,   Y = L^-1 U                                                 (3)
    P+    = P - Y^T Delta^-1 Y                                                        (4)

and articulated body forces, so that F_Bo_W = P+ X A_WP_W + Z+ at the hinge.

    Z     = Fb_Bo_W - F_applied_Bo_W + sum_children X^T Z+                            (5)
    e     = L^-1 (tau - H Z)                                                          (6)
    Z+    = Z + Y^T Delta^-1 e + P+ Ab_WB_W                                           (7)

Pass 2, base to tips: accelerations, from A_W0_W = [0; -g].

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

from merganser.framework.native import device, inlined, kernel
from merganser.multibody.kernels.articulated import (
    add_shifted_inertia,
    articulated_inertia,
    multiply_inertia,
    project_hinge_inertia,
    set_rigid_inertia,
    subtract_row,
)
from merganser.multibody.kernels.locking import num_free
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
    subtract,
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
    _set_rigid_bodies(topology, gravity_in, position_in, velocity_in, F_applied_in, scratch_work)
    for i in range(topology.shape[0] - 1, 0, -1):
        if not _articulate(
            topology[i], parameters[i], position_in[i], velocity_in[i], tau_in, extra_diagonal_in, scratch_work, i
        ):
            return i
    _accelerate(topology, parameters, gravity_in, position_in, velocity_in, scratch_work, vdot_out)
    return 0


@inlined
def _set_rigid_bodies(
    topology: Array,
    gravity_in: Array,
    position_in: Array,
    velocity_in: Array,
    F_applied_in: Array,
    scratch_work: Array,
) -> None:
    """P, Z and the composite of every mobod as far as they come from B itself, (1) and (5)."""
    for i in range(1, topology.shape[0]):
        body, work = position_in[i], scratch_work[i]
        mass, I = body["mass"], body["I_BBo_W"]
        h = scaled(mass, vector(body["p_BoBcm_W"]))
        set_rigid_inertia(mass, h, I, work)
        work["mass_C"] = mass
        set_vector(work["mp_C_W"], h)
        work["trace_C"] = I[0, 0] + I[1, 1] + I[2, 2]
        F_b, F_applied = velocity_in[i]["Fb_Bo_W"], F_applied_in[i]
        t = subtract(rotational(F_b), rotational(F_applied))
        f = subtract(translational(F_b), translational(F_applied))
        if topology[i]["is_weightless"]:
            # Takes back the upward acceleration of the world: M_BBo_W [0; g].
            t, f = add(t, cross(h, vector(gravity_in))), add(f, scaled(mass, vector(gravity_in)))
        set_spatial(work["Z_B_W"], t, f)


@inlined
def _articulate(
    node: Array,
    fixed: Array,
    body: Array,
    bias: Array,
    tau_in: Array,
    extra_diagonal_in: Array,
    scratch_work: Array,
    i: int,
) -> bool:
    """Pass 1 of mobod i: Y, L, Delta, e, and what its parent feels; False if its hinge is singular."""
    work = scratch_work[i]
    P = articulated_inertia(work)
    # Y, L, Delta  (2), (3)
    if not project_hinge_inertia(node, fixed, body, extra_diagonal_in, P, work):
        return False
    num_v = num_free(node, fixed)
    Y, D, e = work["Y_B_W"], work["D_B"], work["e_B"]
    t, f = rotational(work["Z_B_W"]), translational(work["Z_B_W"])
    # e = L^-1 (tau - H Z)  (6)
    for k in range(num_v):
        e_k = tau_in[node["v_start"] + k] - power(body["H_PB_W"], k, t, f)
        for l in range(k):
            e_k -= D[k, l] * e[l]
        e[k] = e_k
    if node["parent"] > 0:
        parent_work = scratch_work[node["parent"]]
        p_PoBo_W = vector(body["p_PoBo_W"])
        for k in range(num_v):
            # P+ = P - Y^T Delta^-1 Y  (4)
            y_t, y_f = rotational(Y[k]), translational(Y[k])
            P = subtract_row(P, D[k, k], y_t, y_f)
            # Z+ = Z + Y^T Delta^-1 e + P+ Ab_WB_W  (7)
            t, f = add(t, scaled(e[k] * D[k, k], y_t)), add(f, scaled(e[k] * D[k, k], y_f))
        t_b, f_b = multiply_inertia(P, rotational(bias["Ab_WB_W"]), translational(bias["Ab_WB_W"]))
        t, f = add(t, t_b), add(f, f_b)
        # P of the parent += X^T P+ X  (1), Z of the parent += X^T Z+  (5)
        add_shifted_inertia(P, p_PoBo_W, parent_work)
        add_spatial(parent_work["Z_B_W"], add(t, cross(p_PoBo_W, f)), f)
        # Trace of the composite inertia about Po, for (11).
        m_C, h_C = work["mass_C"], vector(work["mp_C_W"])
        h_C_Po = add(h_C, scaled(m_C, p_PoBo_W))
        parent_work["mass_C"] += m_C
        set_vector(parent_work["mp_C_W"], add(vector(parent_work["mp_C_W"]), h_C_Po))
        parent_work["trace_C"] += work["trace_C"] + 2.0 * dot(p_PoBo_W, add(h_C, h_C_Po))
    return True


@inlined
def _accelerate(
    topology: Array,
    parameters: Array,
    gravity_in: Array,
    position_in: Array,
    velocity_in: Array,
    scratch_work: Array,
    vdot_out: Array,
) -> None:
    """Pass 2: A_WB_W - [0; g] of all mobods, and vdot."""
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
