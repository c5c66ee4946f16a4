"""Trees of bodies on joints that turn fast: velocity-product forces, and moves of the joints, do not feed them energy.

A discrete step (step.py) takes velocity-product forces at its beginning, and then moves the joints by h v. Where bodies
turn by radians in a step, both feed energy into a tree, the faster it turns the more: the acceleration a_b by
velocity-product forces adds h^2/2 a_b . M a_b, and M grows where arms fly outward at the v that they had. Exactly, M(q)
would take from v what it grows by.

Between two steps a motion without other forces keeps its kinetic energy T, and that of a floating tree its momentum P,
both in the pose before each move:

    T(q_k, v') = T(q_k - h N v_k, v_k),   P(q_k, v') = P(q_k - h N v_k, v_k)                                      (1)

Where a body of a tree turns by more than a fifth of a radian in a step, and explicit forces would bring T more than a
hundredth above (1), the step has in place of v + h a_b

    v' = u_0 + g (v + s h a_b - u),   s = min(1, |v - u| / h |a_b - ub|)                                          (2)

where |.| is the norm of T. u, ub and u_0 are translations of the whole tree, by which v, a_b and P of (1) move its
centre of mass; 0 if the tree is not free to go. T is that of the motion about the centre of mass, and g the scale that
satisfies (1). If arms have flown inward so far that T before it was more than twice that now, T now counts. Other
forces act as before.

Slower trees, trees with one velocity (which have constant inertia), single free bodies (see fast_spin.py), and symbols
keep the explicit forces, as in Drake.

Source of keeping T by scaling velocities: E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration (2006),
section IV.4 (projection methods); of M, T and P: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 2.13.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device
from merganser.multibody.kernels.coordinates import calc_velocity_to_qdot
from merganser.multibody.kernels.hinge import num_free
from merganser.multibody.kernels.kinematics import calc_kinematics
from merganser.multibody.kernels.layout import QUATERNION_FLOATING, RPY_FLOATING
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    add_spatial,
    cross,
    dot,
    power,
    rotate,
    rotational,
    scaled,
    set_spatial,
    translational,
    vector,
)

__all__ = ["add_velocity_product_forces", "has_fast_trees", "keep_accelerations", "keep_energies"]

_FAST_ANGLE = 0.2  # in a step [rad]
_EXCESS = 1.01  # of energy, from which on explicit forces are not taken
_GREATEST_CHANGE = 2.0  # of energy by the last move


@device
def has_fast_trees(topology: Array, time_step: float, velocity_in: Array) -> bool:
    """Whether there is a tree of bodies on joints that turns fast."""
    i = 1
    while i < topology.shape[0]:
        if _is_fast(topology, i, time_step, velocity_in):
            return True
        i = topology[i]["subtree_end"]
    return False


@device
def _is_fast(topology: Array, root: int, time_step: float, velocity: Array) -> bool:
    """Whether a body of a tree turns by more than the threshold, and has joints that make it matter."""
    threshold = (_FAST_ANGLE / time_step) ** 2
    is_fast = False
    num_outboard = 0
    for i in range(root, topology[root]["subtree_end"]):
        w = rotational(velocity[i]["V_WB_W"])
        # Not more than the threshold, or a symbol:
        if not exceeds(threshold, dot(w, w)):
            is_fast = True
        if i > root:
            num_outboard += topology[i]["num_v"]
    if topology[root]["mobilizer"] == QUATERNION_FLOATING:
        return is_fast and num_outboard > 0
    return is_fast and topology[root]["num_v"] + num_outboard > 1


# Between the calls, scratch["F_Bo_W"] of a mobod holds b, or M a_b, and scratch["I_C_W"] holds accelerations, a number
# for each of its velocities. Forward dynamics leaves both alone.


@device
def add_velocity_product_forces(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    time_step: float,  # h [s]
    position_in: Array,  # shape [num_mobods]
    velocity_in: Array,  # shape [num_mobods]
    # Work:
    scratch_work: Array,  # shape [num_mobods]; holds b afterwards
    # In and out:
    tau_io: Array,  # generalized forces, shape [num_v]
) -> None:
    """Adds b = C(q, v) v of the fast trees, so that their accelerations lack velocity-product forces."""
    set_spatial(scratch_work[0]["A_WB_W"], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for i in range(1, topology.shape[0]):
        body, bias, work = position_in[i], velocity_in[i], scratch_work[i]
        A_WP_W = scratch_work[topology[i]["parent"]]["A_WB_W"]
        # A_WB_W = Phi(A_WP_W) + Ab_WB_W,  F_Bo_W = M_BBo_W A_WB_W + Fb_Bo_W, see inverse_dynamics.py
        alpha = add(rotational(A_WP_W), rotational(bias["Ab_WB_W"]))
        a = add(translational(A_WP_W), cross(rotational(A_WP_W), vector(body["p_PoBo_W"])))
        a = add(a, translational(bias["Ab_WB_W"]))
        set_spatial(work["A_WB_W"], alpha, a)
        mc = scaled(body["mass"], vector(body["p_BoBcm_W"]))
        moment = add(add(rotate(body["I_BBo_W"], alpha), cross(mc, a)), rotational(bias["Fb_Bo_W"]))
        force = add(add(scaled(body["mass"], a), cross(alpha, mc)), translational(bias["Fb_Bo_W"]))
        set_spatial(work["F_Bo_W"], moment, force)
    for i in range(topology.shape[0] - 1, 0, -1):
        node, body, b = topology[i], position_in[i], scratch_work[i]["F_Bo_W"]
        moment, force = rotational(b), translational(b)
        if node["parent"] > 0:
            shifted = add(moment, cross(vector(body["p_PoBo_W"]), force))
            add_spatial(scratch_work[node["parent"]]["F_Bo_W"], shifted, force)
        for k in range(node["num_v"]):
            b[k] = power(body["H_PB_W"], k, moment, force)
    i = 1
    while i < topology.shape[0]:
        end = topology[i]["subtree_end"]
        if _is_fast(topology, i, time_step, velocity_in):
            for j in range(i, end):
                for k in range(topology[j]["num_v"]):
                    tau_io[topology[j]["v_start"] + k] += scratch_work[j]["F_Bo_W"][k]
        i = end


@device
def keep_accelerations(topology: Array, vdot_in: Array, scratch_work: Array) -> None:
    """Puts accelerations aside: those without velocity-product forces."""
    for i in range(1, topology.shape[0]):
        for k in range(topology[i]["num_v"]):
            scratch_work[i]["I_C_W"][k // 3, k % 3] = vdot_in[topology[i]["v_start"] + k]


@device
def keep_energies(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    # In:
    time_step: float,  # h [s]
    q_in: Array,  # shape [num_q]
    v_in: Array,  # shape [num_v]
    # Work:
    position_work: Array,  # position records of q, as afterwards, shape [num_mobods]
    velocity_work: Array,  # velocity records of q and v, as afterwards, shape [num_mobods]
    scratch_work: Array,  # as the functions above have left it, shape [num_mobods]
    vdot_in: Array,  # accelerations with explicit forces, shape [num_v]
    # In and out:
    diagonal_io: Array,  # h D, of which nothing is left; shape [num_q]
    vdot_io: Array,  # to which is added what takes v + h a_b of fast trees to v' of (2); may be vdot_in
) -> None:
    """Makes the accelerations of fast trees such that the step goes to v' of (2), and on by what other forces add."""
    for i in range(1, topology.shape[0]):
        work, start = scratch_work[i], topology[i]["v_start"]
        for k in range(topology[i]["num_v"]):
            a_b = vdot_in[start + k] - work["I_C_W"][k // 3, k % 3]
            work["I_C_W"][k // 3, k % 3] = a_b
            # M a_b = -b - h D a_b
            work["F_Bo_W"][k] = -work["F_Bo_W"][k] - diagonal_io[start + k] * a_b
    # T and P before the last move.
    q_before = diagonal_io
    calc_velocity_to_qdot(topology, q_in, v_in, q_before)
    for k in range(q_in.shape[0]):
        q_before[k] = q_in[k] - time_step * q_before[k]
    calc_kinematics(topology, parameters, q_before, v_in, position_work, velocity_work)
    i = 1
    while i < topology.shape[0]:
        twice_T, P, mass = _calc_motion(topology, parameters, i, v_in, position_work, velocity_work)
        set_spatial(scratch_work[i]["A_WB_W"], P, (twice_T, mass, 0.0))
        i = topology[i]["subtree_end"]
    calc_kinematics(topology, parameters, q_in, v_in, position_work, velocity_work)
    i = 1
    while i < topology.shape[0]:
        if _is_fast(topology, i, time_step, velocity_work):
            _keep_energy(topology, parameters, i, time_step, v_in, position_work, velocity_work, scratch_work, vdot_io)
        i = topology[i]["subtree_end"]


@device
def _is_floating(topology: Array, parameters: Array, root: int) -> bool:
    """Whether a tree is free to go in all directions, along the last three of six velocities."""
    kind = topology[root]["mobilizer"]
    is_free = kind in (QUATERNION_FLOATING, RPY_FLOATING)
    return is_free and num_free(topology[root], parameters[root]) == 6


@device
def _calc_motion(
    topology: Array, parameters: Array, root: int, v_in: Array, position: Array, velocity: Array
) -> tuple[Any, Vector3, Any]:
    """2 T, P along the translations of the root, and the mass, of a tree; P is 0, and T all, if it does not float."""
    zero = 0.0 * velocity[root]["V_WB_W"][0]
    twice_T, mass, momentum = zero, zero, (zero, zero, zero)
    for i in range(root, topology[root]["subtree_end"]):
        body, V_WB_W = position[i], velocity[i]["V_WB_W"]
        w, v = rotational(V_WB_W), translational(V_WB_W)
        # 2 T = w . I_BBo w + 2 m v . (w x c) + m v . v
        w_x_c = cross(w, vector(body["p_BoBcm_W"]))
        twice_T += dot(w, rotate(body["I_BBo_W"], w))
        twice_T += body["mass"] * dot(v, add(v, scaled(2.0, w_x_c)))
        if topology[i]["num_v"] == 1:
            rate = v_in[topology[i]["v_start"]]
            twice_T += parameters[i]["reflected_inertia"] * rate * rate
        momentum = add(momentum, scaled(body["mass"], add(v, w_x_c)))
        mass = mass + body["mass"]
    if not _is_floating(topology, parameters, root):
        return twice_T, (zero, zero, zero), mass
    H = position[root]["H_PB_W"]
    P = dot(momentum, translational(H[3])), dot(momentum, translational(H[4])), dot(momentum, translational(H[5]))
    return twice_T - dot(P, P) / mass, P, mass


@device
def _keep_energy(
    topology: Array,
    parameters: Array,
    root: int,
    h: float,
    v_in: Array,
    position: Array,
    velocity: Array,
    scratch: Array,
    vdot: Array,
) -> None:
    """Equation (2) for one tree."""
    twice_T, P, mass = _calc_motion(topology, parameters, root, v_in, position, velocity)
    P_0, kept = rotational(scratch[root]["A_WB_W"]), translational(scratch[root]["A_WB_W"])
    # v . M a_b and a_b . M a_b, about the centre of mass.
    zero = 0.0 * twice_T
    work, square, P_b = zero, zero, (zero, zero, zero)
    for i in range(root, topology[root]["subtree_end"]):
        for k in range(topology[i]["num_v"]):
            M_a = scratch[i]["F_Bo_W"][k]
            work = work + v_in[topology[i]["v_start"] + k] * M_a
            square = square + scratch[i]["I_C_W"][k // 3, k % 3] * M_a
    is_floating = _is_floating(topology, parameters, root)
    if is_floating:
        P_b = translational(scratch[root]["F_Bo_W"])
        work, square = work - dot(P, P_b) / mass, square - dot(P_b, P_b) / mass
    twice_T_0 = twice_T
    if exceeds(_GREATEST_CHANGE * twice_T, kept[0]) and exceeds(kept[0], 0.0):
        twice_T_0 = kept[0]
    explicit = twice_T + 2.0 * h * work + h * h * square
    if not exceeds(explicit, _EXCESS * twice_T_0):
        return
    s = 1.0 + zero
    if exceeds(h * h * square, twice_T):
        s = (twice_T / square) ** 0.5 / h
    bounded = twice_T + 2.0 * s * h * work + s * s * h * h * square
    g = zero
    if exceeds(bounded, 0.0):
        g = (twice_T_0 / bounded) ** 0.5
    for i in range(root, topology[root]["subtree_end"]):
        start = topology[i]["v_start"]
        for k in range(num_free(topology[i], parameters[i])):
            a_b, v = scratch[i]["I_C_W"][k // 3, k % 3], v_in[start + k]
            v_next = g * (v + s * h * a_b)
            if is_floating and i == root and k >= 3:
                v_next = v_next + (P_0[k - 3] - g * (P[k - 3] + s * h * P_b[k - 3])) / mass
            # In place of v + h a_b.
            vdot[start + k] += (v_next - v) / h - a_b
