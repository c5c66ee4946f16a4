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

Inertias (1) to (4) follow from q alone: for other velocities and forces, (5) to (10) are computed again with them.

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

Locked mobilizers.

Operations on articulated body inertias, in the notation and equation numbers of forward dynamics by articulated bodies.

In blocks, P = [J, K^T; K, M] maps [alpha; a] to [t; f]. J and M are symmetric: only their lower
triangles are kept (28 % of a forward dynamics of 12 bodies, against P as a full 6x6 matrix). While a mobod is worked
on, its P is a tuple of three tuples, which need no storage (20 % of a forward dynamics of an arm).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.scalars import exceeds, is_set
from merganser.multibody.kernels.spatial import (
    Array,
    Matrix3,
    Vector3,
    add,
    add_spatial,
    cross,
    dot,
    matrix,
    power,
    rotational,
    scaled,
    set_spatial,
    set_vector,
    subtract,
    transform,
    translational,
    vector,
)


@inlined
def num_free(node: Array, fixed: Array) -> int:
    """How many velocities of the mobilizer forces can change: all, or none if it is locked."""
    return 0 if is_set(fixed["is_locked"]) else node["num_v"]


PIVOT_TOLERANCE = 1e-13

Symmetric3: TypeAlias = tuple[Any, Any, Any, Any, Any, Any]  # the lower triangle, row by row
Inertia: TypeAlias = tuple[Symmetric3, Matrix3, Symmetric3]  # J, K, M


@inlined
def set_rigid_inertia(mass: Any, h: Vector3, I_BBo_W: Array, work: Array) -> None:
    """P = M_BBo_W: J = I, K = -[h]x, M = mass 1, with the first moment h = mass p_BoBcm_W."""
    J, K, M = work["J_B_W"], work["K_B_W"], work["M_B_W"]
    for r in range(3):
        for c in range(r + 1):
            J[r, c] = I_BBo_W[r, c]
            M[r, c] = 0.0
        M[r, r] = mass
        K[r, r] = 0.0
    K[0, 1], K[0, 2], K[1, 2] = h[2], -h[1], h[0]
    K[1, 0], K[2, 0], K[2, 1] = -h[2], h[1], -h[0]


@inlined
def articulated_inertia(work: Array) -> Inertia:
    """P, as it is kept in the workspace."""
    return _symmetric(work["J_B_W"]), matrix(work["K_B_W"]), _symmetric(work["M_B_W"])


@inlined
def set_articulated_inertia(P: Inertia, work: Array) -> None:
    """Puts P into the workspace."""
    J, K, M = P
    J_B, K_B, M_B = work["J_B_W"], work["K_B_W"], work["M_B_W"]
    J_B[0, 0], J_B[1, 0], J_B[1, 1], J_B[2, 0], J_B[2, 1], J_B[2, 2] = J
    M_B[0, 0], M_B[1, 0], M_B[1, 1], M_B[2, 0], M_B[2, 1], M_B[2, 2] = M
    for r in range(3):
        set_vector(K_B[r], K[r])


@inlined
def _symmetric(S: Array) -> Symmetric3:
    return S[0, 0], S[1, 0], S[1, 1], S[2, 0], S[2, 1], S[2, 2]


@inlined
def multiply_inertia(P: Inertia, alpha: Vector3, a: Vector3) -> tuple[Vector3, Vector3]:
    """P [alpha; a]: t = J alpha + K^T a and f = K alpha + M a."""
    J, K, M = P
    K_a = add(add(scaled(a[0], K[0]), scaled(a[1], K[1])), scaled(a[2], K[2]))
    return add(_times_symmetric(J, alpha), K_a), add(transform(K, alpha), _times_symmetric(M, a))


@inlined
def _times_symmetric(S: Symmetric3, a: Vector3) -> Vector3:
    return (
        S[0] * a[0] + S[1] * a[1] + S[3] * a[2],
        S[1] * a[0] + S[2] * a[1] + S[4] * a[2],
        S[3] * a[0] + S[4] * a[1] + S[5] * a[2],
    )


@inlined
def project_hinge_inertia(
    node: Array, fixed: Array, body: Array, extra_diagonal_in: Array, P: Inertia, work: Array
) -> bool:
    """Computes Y, L and 1/Delta of one hinge, (2) and (3); False if a pivot is not safely positive."""
    H, Y, D = body["H_PB_W"], work["Y_B_W"], work["D_B"]
    for k in range(num_free(node, fixed)):
        # U_k = P H_k, D_kl = H_l . U_k  (2)
        w, v = rotational(H[k]), translational(H[k])
        t, f = multiply_inertia(P, w, v)
        for l in range(k):
            D[k, l] = power(H, l, t, f)
        extra = extra_diagonal_in[node["v_start"] + k] + fixed["reflected_inertia"]
        D_kk = dot(w, t) + dot(v, f) + extra
        # Row k of L and Delta, and Y_k = U_k - sum_l L_kl Y_l  (3)
        for l in range(k):
            for j in range(l):
                D[k, l] -= D[k, j] * D[l, j]  # so far row k holds L_kl Delta_l
        for l in range(k):
            L_kl = D[k, l] * D[l, l]
            D_kk -= D[k, l] * L_kl
            D[k, l] = L_kl
            t = subtract(t, scaled(L_kl, rotational(Y[l])))
            f = subtract(f, scaled(L_kl, translational(Y[l])))
        set_spatial(Y[k], t, f)
        # scale  (11)
        scale = 2.0 * work["mass_C"] * dot(v, v) + work["trace_C"] * dot(w, w) + extra
        if not exceeds(D_kk, PIVOT_TOLERANCE * scale):
            return False
        D[k, k] = 1.0 / D_kk
    return True


@inlined
def subtract_row(P: Inertia, inverse: Any, t: Vector3, f: Vector3) -> Inertia:
    """P - Y_k^T Delta_k^-1 Y_k with Y_k = [t; f], equation (4)."""
    J, K, M = P
    u, g = scaled(inverse, t), scaled(inverse, f)
    return (
        _subtract_product(J, u, t),
        (subtract(K[0], scaled(g[0], t)), subtract(K[1], scaled(g[1], t)), subtract(K[2], scaled(g[2], t))),
        _subtract_product(M, g, f),
    )


@inlined
def _subtract_product(S: Symmetric3, a: Vector3, b: Vector3) -> Symmetric3:
    """S - a b^T, of which only the lower triangle counts."""
    return (
        S[0] - a[0] * b[0],
        S[1] - a[1] * b[0],
        S[2] - a[1] * b[1],
        S[3] - a[2] * b[0],
        S[4] - a[2] * b[1],
        S[5] - a[2] * b[2],
    )


@inlined
def add_shifted_inertia(P: Inertia, p: Vector3, parent_work: Array) -> None:
    """Adds X^T P X, which is P about Bo as it is felt at Po, to P of the parent, equation (1).

    In blocks: M' = M,  K'^T = K^T + [p]x M,  J' = J + [p]x K + ([p]x K')^T.
    """
    J, K, M = P
    J_P, K_P, M_P = parent_work["J_B_W"], parent_work["K_B_W"], parent_work["M_B_W"]
    # Rows of K'.
    N_0 = add(K[0], cross(p, (M[0], M[1], M[3])))
    N_1 = add(K[1], cross(p, (M[1], M[2], M[4])))
    N_2 = add(K[2], cross(p, (M[3], M[4], M[5])))
    # J_rc + ([p]x K)_rc + ([p]x K')_cr
    J_P[0, 0] += J[0] + (p[1] * (K[2][0] + N_2[0]) - p[2] * (K[1][0] + N_1[0]))
    J_P[1, 0] += J[1] + (p[2] * K[0][0] - p[0] * K[2][0]) + (p[1] * N_2[1] - p[2] * N_1[1])
    J_P[1, 1] += J[2] + (p[2] * (K[0][1] + N_0[1]) - p[0] * (K[2][1] + N_2[1]))
    J_P[2, 0] += J[3] + (p[0] * K[1][0] - p[1] * K[0][0]) + (p[1] * N_2[2] - p[2] * N_1[2])
    J_P[2, 1] += J[4] + (p[0] * K[1][1] - p[1] * K[0][1]) + (p[2] * N_0[2] - p[0] * N_2[2])
    J_P[2, 2] += J[5] + (p[0] * (K[1][2] + N_1[2]) - p[1] * (K[0][2] + N_0[2]))
    for c in range(3):
        K_P[0, c] += N_0[c]
        K_P[1, c] += N_1[c]
        K_P[2, c] += N_2[c]
    M_P[0, 0] += M[0]
    M_P[1, 0] += M[1]
    M_P[1, 1] += M[2]
    M_P[2, 0] += M[3]
    M_P[2, 1] += M[4]
    M_P[2, 2] += M[5]


@device
def calc_forward_dynamics(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    tau_in: Floats,  # generalized forces, shape [num_v]; may be the same array as vdot_out
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    extra_diagonal_in: Floats,  # added to the diagonal of M, shape [num_v]
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    vdot_out: Floats,  # generalized accelerations, shape [num_v]
) -> int:
    """Computes vdot, equations (1) to (10).

    Returns:
        0, or the number of the mobod whose hinge inertia is singular or NaN; vdot_out is then not computed.
    """
    _set_rigid_bodies(topology, position_in, scratch_work)
    _set_forces(topology, gravity_in, position_in, velocity_in, F_applied_in, scratch_work)
    for i in range(topology.shape[0] - 1, 0, -1):
        if not _articulate_inertia(topology[i], parameters[i], position_in[i], extra_diagonal_in, scratch_work, i):
            return i
        _articulate_forces(topology[i], parameters[i], position_in[i], velocity_in[i], tau_in, scratch_work, i)
    _accelerate(topology, parameters, gravity_in, position_in, velocity_in, scratch_work, vdot_out)
    return 0


@device
def calc_forward_dynamics_again(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    tau_in: Floats,  # generalized forces, shape [num_v]; may be the same array as vdot_out
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # In and out:
    scratch_io: Scratch,  # shape [num_mobods], with P+, Y, L and Delta as calc_forward_dynamics() has left them
    # Out:
    vdot_out: Floats,  # generalized accelerations, shape [num_v]
) -> None:
    """Computes vdot, equations (5) to (10), for other velocities and forces at the same q and extra diagonal."""
    _set_forces(topology, gravity_in, position_in, velocity_in, F_applied_in, scratch_io)
    for i in range(topology.shape[0] - 1, 0, -1):
        _articulate_forces(topology[i], parameters[i], position_in[i], velocity_in[i], tau_in, scratch_io, i)
    _accelerate(topology, parameters, gravity_in, position_in, velocity_in, scratch_io, vdot_out)


@inlined
def _set_rigid_bodies(topology: Array, position_in: Array, scratch_work: Array) -> None:
    """P and the composite of every mobod as far as they come from B itself, (1)."""
    for i in range(1, topology.shape[0]):
        body, work = position_in[i], scratch_work[i]
        mass, I = body["mass"], body["I_BBo_W"]
        h = scaled(mass, vector(body["p_BoBcm_W"]))
        set_rigid_inertia(mass, h, I, work)
        work["mass_C"] = mass
        set_vector(work["mp_C_W"], h)
        work["trace_C"] = I[0, 0] + I[1, 1] + I[2, 2]


@inlined
def _set_forces(
    topology: Array,
    gravity_in: Array,
    position_in: Array,
    velocity_in: Array,
    F_applied_in: Array,
    scratch_work: Array,
) -> None:
    """Z of every mobod as far as it comes from B itself, (5)."""
    for i in range(1, topology.shape[0]):
        F_b, F_applied = velocity_in[i]["Fb_Bo_W"], F_applied_in[i]
        t = subtract(rotational(F_b), rotational(F_applied))
        f = subtract(translational(F_b), translational(F_applied))
        if topology[i]["is_weightless"]:
            # Takes back the upward acceleration of the world: M_BBo_W [0; g].
            mass, g_W = position_in[i]["mass"], vector(gravity_in)
            h = scaled(mass, vector(position_in[i]["p_BoBcm_W"]))
            t, f = add(t, cross(h, g_W)), add(f, scaled(mass, g_W))
        set_spatial(scratch_work[i]["Z_B_W"], t, f)


@inlined
def _articulate_inertia(
    node: Array, fixed: Array, body: Array, extra_diagonal_in: Array, scratch_work: Array, i: int
) -> bool:
    """Pass 1 of mobod i: Y, L, Delta, and the inertia that its parent feels; False if its hinge is singular."""
    work = scratch_work[i]
    P = articulated_inertia(work)
    # Y, L, Delta  (2), (3)
    if not project_hinge_inertia(node, fixed, body, extra_diagonal_in, P, work):
        return False
    if node["parent"] > 0:
        parent_work = scratch_work[node["parent"]]
        p_PoBo_W = vector(body["p_PoBo_W"])
        Y, D = work["Y_B_W"], work["D_B"]
        for k in range(num_free(node, fixed)):
            # P+ = P - Y^T Delta^-1 Y  (4)
            P = subtract_row(P, D[k, k], rotational(Y[k]), translational(Y[k]))
        set_articulated_inertia(P, work)
        # P of the parent += X^T P+ X  (1)
        add_shifted_inertia(P, p_PoBo_W, parent_work)
        # Trace of the composite inertia about Po, for (11).
        m_C, h_C = work["mass_C"], vector(work["mp_C_W"])
        h_C_Po = add(h_C, scaled(m_C, p_PoBo_W))
        parent_work["mass_C"] += m_C
        set_vector(parent_work["mp_C_W"], add(vector(parent_work["mp_C_W"]), h_C_Po))
        parent_work["trace_C"] += work["trace_C"] + 2.0 * dot(p_PoBo_W, add(h_C, h_C_Po))
    return True


@inlined
def _articulate_forces(
    node: Array, fixed: Array, body: Array, bias: Array, tau_in: Array, scratch_work: Array, i: int
) -> None:
    """Pass 1 of mobod i: e, and the force that its parent feels."""
    work = scratch_work[i]
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
        # Z+ = Z + Y^T Delta^-1 e + P+ Ab_WB_W  (7)
        for k in range(num_v):
            t = add(t, scaled(e[k] * D[k, k], rotational(Y[k])))
            f = add(f, scaled(e[k] * D[k, k], translational(Y[k])))
        t_b, f_b = multiply_inertia(
            articulated_inertia(work), rotational(bias["Ab_WB_W"]), translational(bias["Ab_WB_W"])
        )
        t, f = add(t, t_b), add(f, f_b)
        # Z of the parent += X^T Z+  (5)
        add_spatial(scratch_work[node["parent"]]["Z_B_W"], add(t, cross(vector(body["p_PoBo_W"]), f)), f)


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
