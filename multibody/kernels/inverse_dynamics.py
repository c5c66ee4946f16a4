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

Generalized forces of uniform gravity.

Notation: see layout.py. All bodies outboard of a hinge weigh on it as one rigid body C, with mass m_C and
first moment h_C = m_C p_BoCcm_W. From tips to base, with p = p_PoBo_W, B adds to the composite of its parent

    m_C,   h_C + m_C p                                                (1)

and gravity exerts on the hinge

    tau_g_k = H_PB_W[k] . [h_C x g; m_C g]                            (2)

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.2 (composite bodies).

Generalized forces that do the same work as spatial forces on the bodies: tau = J^T F.

Notation: see layout.py. From tips to base, with p = p_PoBo_W, every hinge feels what acts outboard of it:

    F_Bo_W += sum_children Phi^T(F_Co_W),   Phi^T: t += p x f                       (1)
    tau_k = H_PB_W[k] . F_Bo_W                                                      (2)

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 5.3.

Reaction forces of joints on their child bodies, from the forces of inboard joints by inverse dynamics.

Notation: a joint connects frame Jp of its parent body with frame Jc of its child body C. The mobilizer that is made of
it connects F on the inboard body P with M on the outboard body B, and exerts F_Bo_W on B, about Bo. Mostly C is B and
Jc is M; where the joint is reversed, C is P, which feels the opposite, and Jc is F, or for a weld fixed to F at X_FJc.

    R_WJc = R_WB R_BM,          p_WJc = p_WBo + R_WB p_BoMo_B                        (1)
    R_WJc = R_WP R_PF R_FJc,    p_WJc = p_WPo + R_WP (p_PoFo_P + R_PF p_FoJc_F)      (2), reversed
    F_CJc = +-[t_Bo - (p_WJc - p_WBo) x f, f]                                        (3)

(Featherstone 2008, section 2.8: spatial forces about another point.)
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.spatial import (
    Array,
    Matrix3,
    Vector3,
    add,
    add_spatial,
    column,
    cross,
    dot,
    power,
    rotate,
    rotational,
    scaled,
    set_spatial,
    set_vector,
    subtract,
    translational,
    vector,
)


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


@device
def calc_gravity_forces(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]; not read: everything needed is in position_in
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    tau_g_out: Floats,  # generalized forces, shape [num_v]
) -> None:
    """Computes tau_g(q), equations (1) and (2)."""
    g_W = vector(gravity_in)
    for i in range(1, topology.shape[0]):
        body = position_in[i]
        # Bodies without gravity count as massless.
        mass = 0.0 * body["mass"] if topology[i]["is_weightless"] else 1.0 * body["mass"]
        scratch_work[i]["mass_C"] = mass
        set_vector(scratch_work[i]["mp_C_W"], scaled(mass, vector(body["p_BoBcm_W"])))
    for i in range(topology.shape[0] - 1, 0, -1):
        node = topology[i]
        body = position_in[i]
        m_C = scratch_work[i]["mass_C"]
        h_C = vector(scratch_work[i]["mp_C_W"])
        # tau_g_k = H_PB_W[k] . [h_C x g; m_C g]  (2)
        moment, force = cross(h_C, g_W), scaled(m_C, g_W)
        for k in range(node["num_v"]):
            tau_g_out[node["v_start"] + k] = power(body["H_PB_W"], k, moment, force)
        # The composite of the parent grows by m_C and h_C + m_C p  (1)
        if node["parent"] > 0:
            parent = scratch_work[node["parent"]]
            parent["mass_C"] += m_C
            h_P = add(vector(parent["mp_C_W"]), add(h_C, scaled(m_C, vector(body["p_PoBo_W"]))))
            set_vector(parent["mp_C_W"], h_P)


gravity_forces = kernel(calc_gravity_forces)


@device
def calc_generalized_forces(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    F_Bo_W_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    F_work: FloatTable,  # shape [num_mobods, 6]
    # Out:
    tau_out: Floats,  # generalized forces, shape [num_v]
) -> None:
    """Computes tau = J^T F, equations (1) and (2)."""
    for i in range(topology.shape[0]):
        for j in range(6):
            F_work[i, j] = F_Bo_W_in[i, j]
    for i in range(topology.shape[0] - 1, 0, -1):
        node, body = topology[i], position_in[i]
        moment, force = rotational(F_work[i]), translational(F_work[i])
        for k in range(node["num_v"]):
            tau_out[node["v_start"] + k] = power(body["H_PB_W"], k, moment, force)
        add_spatial(F_work[node["parent"]], add(moment, cross(vector(body["p_PoBo_W"]), force)), force)


generalized_forces = kernel(calc_generalized_forces)


@device
def _child_frame(
    parameters: Array, position: Array, mobod: int, parent: int, is_reversed: int, X_FJc: Array
) -> tuple[Matrix3, Vector3]:
    """The axes of Jc in W, as a tuple of columns of R_WJc, and p_WJc."""
    joint, inboard, outboard = parameters[mobod], position[parent], position[mobod]
    if is_reversed:  # (2)
        R_WP, R_PF = inboard["R_WB"], joint["R_PF"]
        reversed_axes_W = (
            rotate(R_WP, rotate(R_PF, column(X_FJc, 0))),
            rotate(R_WP, rotate(R_PF, column(X_FJc, 1))),
            rotate(R_WP, rotate(R_PF, column(X_FJc, 2))),
        )
        p_PJc_P = add(vector(joint["p_PoFo_P"]), rotate(R_PF, column(X_FJc, 3)))
        return reversed_axes_W, add(vector(inboard["p_WoBo_W"]), rotate(R_WP, p_PJc_P))
    R_WB, R_MB, p_MoBo_M = outboard["R_WB"], joint["R_MB"], joint["p_MoBo_M"]
    axes_W = rotate(R_WB, vector(R_MB[0])), rotate(R_WB, vector(R_MB[1])), rotate(R_WB, vector(R_MB[2]))  # (1)
    p_MoBo_W = add(add(scaled(p_MoBo_M[0], axes_W[0]), scaled(p_MoBo_M[1], axes_W[1])), scaled(p_MoBo_M[2], axes_W[2]))
    return axes_W, subtract(vector(outboard["p_WoBo_W"]), p_MoBo_W)


@device
def calc_reaction_forces(
    # Model:
    topology: Topology,  # shape [num_mobods]
    parameters: Parameters,  # shape [>= num_mobods]
    mobods: Integers,  # of each joint, shape [num_joints]
    is_reversed: Integers,  # 1 where the child body is the inboard one, shape [num_joints]
    X_FJc: Array,  # of reversed joints, [R p], shape [num_joints, 3, 4]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    F_Bo_W_in: FloatTable,  # forces of the inboard joints on B about Bo [N m, N], shape [num_mobods, 6]
    # Out:
    F_CJc_Jc_out: FloatTable,  # of the joints on C at Jc, in Jc [N m, N], shape [num_joints, 6]
) -> None:
    """Computes the reaction forces of all joints, equation (3)."""
    for j in range(mobods.shape[0]):
        mobod = mobods[j]
        axes_W, p_WJc = _child_frame(
            parameters, position_in, mobod, topology[mobod]["parent"], is_reversed[j], X_FJc[j]
        )
        sign = -1.0 if is_reversed[j] else 1.0
        f_W = scaled(sign, translational(F_Bo_W_in[mobod]))
        arm = subtract(p_WJc, vector(position_in[mobod]["p_WoBo_W"]))
        t_W = subtract(scaled(sign, rotational(F_Bo_W_in[mobod])), cross(arm, f_W))
        t_Jc = dot(axes_W[0], t_W), dot(axes_W[1], t_W), dot(axes_W[2], t_W)
        f_Jc = dot(axes_W[0], f_W), dot(axes_W[1], f_W), dot(axes_W[2], f_W)
        set_spatial(F_CJc_Jc_out[j], t_Jc, f_Jc)


reaction_forces = kernel(calc_reaction_forces)
