"""Force elements: springs and dampers between bodies and on joints, one record each.

Notation: see layout.py. The element acts between body L0 (with a point or frame A) and body L1 (with a point or frame
C), or on one joint with the position q and the velocity v. Forces are added to those on the bodies, about Bo in W, and
to the generalized forces. V is the potential energy, P_c and P_n the conservative and the other power.

Joint spring, stiffness k, nominal position q0:

    tau = -k (q - q0),   V = k (q - q0)^2 / 2                                               (1)

Spring and damper between Ao and Co, with r = p_AoCo, l = |r|, u = r / l, free length l0:

    f = (k (l - l0) + d ldot) u on L0 at Ao, -f on L1 at Co,   ldot = u . v_AoCo            (2)
    V = k (l - l0)^2 / 2,   P_n = -d ldot^2                                                 (3)

Door hinge, with s(x) = tanh(x) and the bump b(x) = 2 s (1 - s^2), half a catch c = catch_width / 2:

    tau = -k (q - q0) + catch_torque b((q - c) / c)
          - dynamic_friction s(v / threshold) - static_friction b(v / threshold) - d v      (4)
    V   = k ((q - q0)^2 - q0^2) / 2 - catch_torque c (s((q - c) / c)^2 - s(1)^2)            (5)

A catch of no width has no torque, a threshold of zero leaves only the viscous part of the friction. V(0) = 0.

Bushing between the frames A and C. B is halfway between both: Bo halfway from Ao to Co, R_AB half the rotation R_AC.
With roll, pitch and yaw Q of R_AC = Rz(Q2) Ry(Q1) Rx(Q0), their rates Qdot = N w_AC, and [x, y, z] = r_B:

    torque on C   t_A = N^T (-K_t Q - D_t Qdot)                                             (6)
    force on C    f_B = -K_f r_B - D_f rdot_B,   rdot = v_ACo - w_AC x r / 2                (7)

f acts at Bo, [-t; -f] on A. N = [c2/c1, s2/c1, 0; -s2, c2, 0; c2 s1/c1, s2 s1/c1, 1] with c1 = cos Q1 and so on.

    P = t . w_AC + f . rdot,   V = Q . K_t Q / 2 + k_f r . r / 2                            (8)

where V exists only if K_f = k_f 1: B does not turn by w_AC / 2 exactly, so that r_B does not change by rdot_B.

Sources: (6), (7): the description of the model in the documentation of Drake, LinearBushingRollPitchYaw; (4): the same
of DoorHinge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.frames import Axes, axes_of, express
from merganser.multibody.kernels.layout import BUSHING, DOOR_HINGE, JOINT_SPRING
from merganser.multibody.kernels.scalars import arctangent, exceeds, hyperbolic_tangent
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

__all__ = [
    "LENGTH_TOLERANCE",
    "PITCH_TOLERANCE",
    "bushing_forces",
    "calc_bushing_forces",
    "calc_element_energies",
    "calc_force_elements",
    "element_energies",
    "force_elements",
    "hinge_friction_torque",
    "hinge_spring_torque",
]

LENGTH_TOLERANCE = 2e-16  # smallest length of a spring, relative to its free length
PITCH_TOLERANCE = 0.008  # smallest cosine of the pitch of a bushing


@device
def calc_force_elements(
    # Model:
    elements: Array,  # shape [num_elements], see layout.py
    constants_in: Array,  # shape [num_elements]
    first: int,  # number of the first element to count
    end: int,  # number after that of the last one
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    v_in: Array,  # generalized velocities, shape [num_v]
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    tau_in: Array,  # other generalized forces, shape [num_v]
    F_applied_in: Array,  # other spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Out:
    tau_out: Array,  # tau_in and the forces of the elements, shape [num_v]; may be the same array
    F_out: Array,  # F_applied_in and the forces of the elements, shape [num_mobods, 6]; may be the same array
) -> int:
    """Adds up the forces of all elements, equations (1), (2), (4), (6) and (7).

    Returns:
        0, or the number, counted from 1, of an element that has no forces: a spring without length, or a bushing whose
        pitch is a quarter turn. The forces of the elements before it have been added.
    """
    for k in range(tau_in.shape[0]):
        tau_out[k] = tau_in[k]
    for i in range(F_applied_in.shape[0]):
        for j in range(6):
            F_out[i, j] = F_applied_in[i, j]
    for i in range(first, end):
        element, constant = elements[i], constants_in[i]
        kind = element["kind"]
        if kind == JOINT_SPRING:
            # tau = -k (q - q0)  (1)
            tau_out[element["v"]] -= constant["stiffness"][0] * (q_in[element["q"]] - constant["nominal"])
        elif kind == DOOR_HINGE:
            tau_out[element["v"]] += hinge_spring_torque(constant, q_in[element["q"]])
            tau_out[element["v"]] += hinge_friction_torque(constant, v_in[element["v"]])
        elif kind == BUSHING:
            F_0, F_1 = F_out[element["mobod_0"]], F_out[element["mobod_1"]]
            if not _add_bushing(element, constant, position_in, velocity_in, F_0, F_1):
                return i + 1
        elif not _add_spring_damper(element, constant, position_in, velocity_in, F_out):
            return i + 1
    return 0


@device
def calc_element_energies(
    # Model:
    elements: Array,  # shape [num_elements], see layout.py
    constants_in: Array,  # shape [num_elements]
    first: int,  # number of the first element to count
    end: int,  # number after that of the last one
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    v_in: Array,  # generalized velocities, shape [num_v]
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    # Out:
    energy_out: Array,  # V [J], P_c = -dV/dt [W] and P_n [W] of all elements together, shape [3]
) -> int:
    """Computes potential energy and powers, equations (1), (3), (5) and (8); returns as calc_force_elements().

    The bushings must have equal force stiffnesses, which is not checked here.
    """
    for j in range(3):
        energy_out[j] = 0.0
    for i in range(first, end):
        element, constant = elements[i], constants_in[i]
        kind = element["kind"]
        if kind == JOINT_SPRING:
            k, stretch = constant["stiffness"][0], q_in[element["q"]] - constant["nominal"]
            energy_out[0] += 0.5 * k * stretch * stretch
            energy_out[1] -= k * stretch * v_in[element["v"]]
        elif kind == DOOR_HINGE:
            q, v = q_in[element["q"]], v_in[element["v"]]
            energy_out[0] += _hinge_energy(constant, q)
            energy_out[1] += hinge_spring_torque(constant, q) * v
            energy_out[2] += hinge_friction_torque(constant, v) * v
        elif kind == BUSHING:
            if not _add_bushing_energy(element, constant, position_in, velocity_in, energy_out):
                return i + 1
        else:
            length, rate, _, _, _ = _measure_spring(element, constant, position_in, velocity_in)
            if not _has_length(constant, length):
                return i + 1
            k, stretch = constant["stiffness"][0], length - constant["nominal"]
            energy_out[0] += 0.5 * k * stretch * stretch
            energy_out[1] -= k * stretch * rate
            energy_out[2] -= constant["damping"][0] * rate * rate
    return 0


# -- spring and damper between two points ---------------------------------------------------------------------


@device
def _measure_spring(
    element: Array, constant: Array, position_in: Array, velocity_in: Array
) -> tuple[Any, Any, Vector3, Vector3, Vector3]:
    """l, ldot, u and the arms p_L0oAo_W and p_L1oCo_W; NaN for ldot and u if there is no length."""
    body_0, body_1 = position_in[element["mobod_0"]], position_in[element["mobod_1"]]
    V_0, V_1 = velocity_in[element["mobod_0"]]["V_WB_W"], velocity_in[element["mobod_1"]]["V_WB_W"]
    arm_0, arm_1 = _arm(body_0, constant["X_L0A"]), _arm(body_1, constant["X_L1C"])
    r = subtract(add(vector(body_1["p_WoBo_W"]), arm_1), add(vector(body_0["p_WoBo_W"]), arm_0))
    v_0 = add(translational(V_0), cross(rotational(V_0), arm_0))
    v_1 = add(translational(V_1), cross(rotational(V_1), arm_1))
    length = np.sqrt(dot(r, r))
    if not _has_length(constant, length):
        return length, np.nan * length, scaled(np.nan, r), arm_0, arm_1
    u = scaled(1.0 / length, r)
    return length, dot(u, subtract(v_1, v_0)), u, arm_0, arm_1


@device
def _has_length(constant: Array, length: Any) -> bool:
    return exceeds(length, LENGTH_TOLERANCE * constant["nominal"])


@device
def _arm(body: Array, X_BF: Array) -> Vector3:
    """p_BoFo_W."""
    return rotate(body["R_WB"], (X_BF[0, 3], X_BF[1, 3], X_BF[2, 3]))


@device
def _add_spring_damper(element: Array, constant: Array, position_in: Array, velocity_in: Array, F_out: Array) -> bool:
    """Equation (2); False if there is no length."""
    length, rate, u, arm_0, arm_1 = _measure_spring(element, constant, position_in, velocity_in)
    if not _has_length(constant, length):
        return False
    f = scaled(constant["stiffness"][0] * (length - constant["nominal"]) + constant["damping"][0] * rate, u)
    add_spatial(F_out[element["mobod_0"]], cross(arm_0, f), f)
    f = scaled(-1.0, f)
    add_spatial(F_out[element["mobod_1"]], cross(arm_1, f), f)
    return True


# -- door hinge -----------------------------------------------------------------------------------------------


@device
def _bump(x: Any) -> Any:
    """b(x)."""
    s = hyperbolic_tangent(x)
    return 2.0 * s * (1.0 - s * s)


@device
def hinge_spring_torque(constant: Array, q: Any) -> Any:
    """The part of (4) that depends on q."""
    tau = -constant["stiffness"][0] * (q - constant["nominal"])
    if exceeds(constant["catch_width"], 0.0):
        c = 0.5 * constant["catch_width"]
        tau += constant["catch_torque"] * _bump((q - c) / c)
    return tau


@device
def hinge_friction_torque(constant: Array, v: Any) -> Any:
    """The part of (4) that depends on v."""
    tau = -constant["damping"][0] * v
    if exceeds(constant["motion_threshold"], 0.0):
        x = v / constant["motion_threshold"]
        tau -= constant["dynamic_friction"] * hyperbolic_tangent(x) + constant["static_friction"] * _bump(x)
    return tau


@device
def _hinge_energy(constant: Array, q: Any) -> Any:
    """Equation (5)."""
    energy = 0.5 * constant["stiffness"][0] * q * (q - 2.0 * constant["nominal"])
    if exceeds(constant["catch_width"], 0.0):
        c = 0.5 * constant["catch_width"]
        s, s_0 = hyperbolic_tangent((q - c) / c), np.tanh(1.0)
        energy -= constant["catch_torque"] * c * (s * s - s_0 * s_0)
    return energy


# -- bushing --------------------------------------------------------------------------------------------------


@device
def _measure_bushing(
    element: Array, constant: Array, position_in: Array, velocity_in: Array
) -> tuple[Axes, Axes, Vector3, Vector3, Vector3]:
    """The axes of A and C in W, then r, w_AC and rdot in A."""
    body_0, body_1 = position_in[element["mobod_0"]], position_in[element["mobod_1"]]
    V_0, V_1 = velocity_in[element["mobod_0"]]["V_WB_W"], velocity_in[element["mobod_1"]]["V_WB_W"]
    A, C = axes_of(body_0, constant["X_L0A"]), axes_of(body_1, constant["X_L1C"])
    arm_0, arm_1 = _arm(body_0, constant["X_L0A"]), _arm(body_1, constant["X_L1C"])
    r = subtract(add(vector(body_1["p_WoBo_W"]), arm_1), add(vector(body_0["p_WoBo_W"]), arm_0))
    w_WA = rotational(V_0)
    w_AC = subtract(rotational(V_1), w_WA)
    v_WAo = add(translational(V_0), cross(w_WA, arm_0))
    v_WCo = add(translational(V_1), cross(rotational(V_1), arm_1))
    # rdot = v_ACo - w_AC x r / 2, with v_ACo = v_WCo - v_WAo - w_WA x r  (7)
    rdot = subtract(subtract(v_WCo, v_WAo), cross(add(w_WA, scaled(0.5, w_AC)), r))
    return A, C, express(A, r), express(A, w_AC), express(A, rdot)


@device
def _roll_pitch_yaw(A: Axes, C: Axes) -> tuple[Any, Any, Any, Any, Vector3]:
    """cos Q1, sin Q1, cos Q2, sin Q2 and the angles Q; NaN if cos Q1 is below the tolerance."""
    R_00, R_10, R_20 = dot(A[0], C[0]), dot(A[1], C[0]), dot(A[2], C[0])
    R_21, R_22 = dot(A[2], C[1]), dot(A[2], C[2])
    c1 = np.sqrt(R_21 * R_21 + R_22 * R_22)
    if not exceeds(c1, PITCH_TOLERANCE):
        nan = np.nan * c1
        return c1, nan, nan, nan, (nan, nan, nan)
    Q = (arctangent(R_21, R_22), arctangent(-R_20, c1), arctangent(R_10, R_00))
    return c1, -R_20, R_00 / c1, R_10 / c1, Q


@device
def _halfway(A: Axes, C: Axes) -> tuple[Any, Vector3]:
    """A quaternion of any length of R_AB, half the rotation R_AC = 1 + 2 w [e]x + 2 [e]x^2: it is (1 + w, e), w >= 0.

    The quaternion (w, e) comes from the largest of its elements: S. Shepperd, Quaternion from Rotation Matrix,
    Journal of Guidance and Control (1978).
    """
    R_00, R_01, R_02 = dot(A[0], C[0]), dot(A[0], C[1]), dot(A[0], C[2])
    R_10, R_11, R_12 = dot(A[1], C[0]), dot(A[1], C[1]), dot(A[1], C[2])
    R_20, R_21, R_22 = dot(A[2], C[0]), dot(A[2], C[1]), dot(A[2], C[2])
    d = (R_21 - R_12, R_02 - R_20, R_10 - R_01)
    trace = R_00 + R_11 + R_22
    if exceeds(trace, 0.0):
        w = 0.5 * np.sqrt(1.0 + trace)
        return 1.0 + w, scaled(0.25 / w, d)
    if exceeds(R_00, R_11) and exceeds(R_00, R_22):
        x = 0.5 * np.sqrt(1.0 + R_00 - R_11 - R_22)
        w, e = 0.25 * d[0] / x, (x, 0.25 * (R_01 + R_10) / x, 0.25 * (R_02 + R_20) / x)
    elif exceeds(R_11, R_22):
        y = 0.5 * np.sqrt(1.0 - R_00 + R_11 - R_22)
        w, e = 0.25 * d[1] / y, (0.25 * (R_01 + R_10) / y, y, 0.25 * (R_12 + R_21) / y)
    else:
        z = 0.5 * np.sqrt(1.0 - R_00 - R_11 + R_22)
        w, e = 0.25 * d[2] / z, (0.25 * (R_02 + R_20) / z, 0.25 * (R_12 + R_21) / z, z)
    if exceeds(0.0, w):
        return 1.0 - w, scaled(-1.0, e)
    return 1.0 + w, e


@device
def _turn(s: Any, e: Vector3, a: Vector3) -> Vector3:
    """R a for the quaternion (s, e) of any length: a + 2 (s e x a + e x (e x a)) / |(s, e)|^2."""
    two = 2.0 / (s * s + dot(e, e))
    e_x_a = cross(e, a)
    return add(a, scaled(two, add(scaled(s, e_x_a), cross(e, e_x_a))))


@device
def _times(a: Array, start: int, b: Vector3) -> Vector3:
    """The products of three elements of an array, from `start` on, with those of b."""
    return a[start] * b[0], a[start + 1] * b[1], a[start + 2] * b[2]


@device
def calc_bushing_forces(
    # Model:
    elements: Array,  # shape [num_elements], see layout.py
    constants_in: Array,  # shape [num_elements]
    number: int,  # of the bushing
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    # Out:
    F_out: Array,  # spatial forces on L0 and L1 about their origins, in W [N m, N], shape [2, 6]
) -> int:
    """Computes the forces of one bushing on its two bodies, equations (6) and (7); returns as calc_force_elements()."""
    for i in range(2):
        for j in range(6):
            F_out[i, j] = 0.0
    is_fine = _add_bushing(elements[number], constants_in[number], position_in, velocity_in, F_out[0], F_out[1])
    return 0 if is_fine else number + 1


@device
def _add_bushing(
    element: Array, constant: Array, position_in: Array, velocity_in: Array, F_0_out: Array, F_1_out: Array
) -> bool:
    """Adds (6) and (7) to the forces on L0 and L1; False if the pitch is too near a quarter turn."""
    A, C, r_A, w_A, rdot_A = _measure_bushing(element, constant, position_in, velocity_in)
    c1, s1, c2, s2, Q = _roll_pitch_yaw(A, C)
    if not exceeds(c1, PITCH_TOLERANCE):
        return False
    # t_A = N^T (-K_t Q - D_t Qdot)  (6)
    along = (c2 * w_A[0] + s2 * w_A[1]) / c1
    Qdot = (along, c2 * w_A[1] - s2 * w_A[0], s1 * along + w_A[2])
    k, d = constant["stiffness"], constant["damping"]
    tau = scaled(-1.0, add(_times(k, 0, Q), _times(d, 0, Qdot)))
    level = (tau[0] + s1 * tau[2]) / c1
    t_A = (c2 * level - s2 * tau[1], s2 * level + c2 * tau[1], tau[2])
    # f_B = -K_f r_B - D_f rdot_B  (7)
    s, e = _halfway(A, C)
    r_B, rdot_B = _turn(-s, e, r_A), _turn(-s, e, rdot_A)
    f_A = _turn(s, e, scaled(-1.0, add(_times(k, 3, r_B), _times(d, 3, rdot_B))))
    # [t; f] at Bo, shifted to the origins of both bodies.
    t, f, half = _combine(A, t_A), _combine(A, f_A), scaled(0.5, _combine(A, r_A))
    p_0 = add(_arm(position_in[element["mobod_0"]], constant["X_L0A"]), half)
    p_1 = subtract(_arm(position_in[element["mobod_1"]], constant["X_L1C"]), half)
    add_spatial(F_1_out, add(t, cross(p_1, f)), f)
    add_spatial(F_0_out, scaled(-1.0, add(t, cross(p_0, f))), scaled(-1.0, f))
    return True


@device
def _combine(axes: Axes, a_A: Vector3) -> Vector3:
    """a_W of a vector expressed in A."""
    return add(add(scaled(a_A[0], axes[0]), scaled(a_A[1], axes[1])), scaled(a_A[2], axes[2]))


@device
def _add_bushing_energy(
    element: Array, constant: Array, position_in: Array, velocity_in: Array, energy_out: Array
) -> bool:
    """Equation (8), for equal force stiffnesses; False if the pitch is too near a quarter turn."""
    A, C, r_A, w_A, rdot_A = _measure_bushing(element, constant, position_in, velocity_in)
    c1, s1, c2, s2, Q = _roll_pitch_yaw(A, C)
    if not exceeds(c1, PITCH_TOLERANCE):
        return False
    along = (c2 * w_A[0] + s2 * w_A[1]) / c1
    Qdot = (along, c2 * w_A[1] - s2 * w_A[0], s1 * along + w_A[2])
    k, d = constant["stiffness"], constant["damping"]
    s, e = _halfway(A, C)
    rdot_B = _turn(-s, e, rdot_A)
    energy_out[0] += 0.5 * (dot(Q, _times(k, 0, Q)) + k[3] * dot(r_A, r_A))
    energy_out[1] -= dot(Qdot, _times(k, 0, Q)) + k[3] * dot(rdot_A, r_A)
    energy_out[2] -= dot(Qdot, _times(d, 0, Qdot)) + dot(rdot_B, _times(d, 3, rdot_B))
    return True


force_elements = kernel(calc_force_elements)
element_energies = kernel(calc_element_energies)
bushing_forces = kernel(calc_bushing_forces)
