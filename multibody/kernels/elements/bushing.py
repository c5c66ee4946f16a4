"""A bushing between the frames A of L0 and C of L1.

B is halfway between both: Bo halfway from Ao to Co, R_AB half the rotation R_AC. With roll, pitch and yaw Q of
R_AC = Rz(Q2) Ry(Q1) Rx(Q0), their rates Qdot = N w_AC, and [x, y, z] = r_B, r = p_AoCo:

    torque on C   t_A = N^T (-K_t Q - D_t Qdot)                                             (1)
    force on C    f_B = -K_f r_B - D_f rdot_B,   rdot = v_ACo - w_AC x r / 2                (2)

f acts at Bo, [-t; -f] on A. N = [c2/c1, s2/c1, 0; -s2, c2, 0; c2 s1/c1, s2 s1/c1, 1] with c1 = cos Q1 and so on.

    P = t . w_AC + f . rdot,   V = Q . K_t Q / 2 + k_f r . r / 2                            (3)

where V exists only if K_f = k_f 1: B does not turn by w_AC / 2 exactly, so that r_B does not change by rdot_B.

Source: the description of the model in the documentation of Drake, LinearBushingRollPitchYaw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.memory.by_value import select
from merganser.multibody.kernels.elements.kind import FINE, NO_FORCE, ForceElementKind
from merganser.multibody.kernels.frames import Axes, arm_of, axes_of, combine, express, push, velocity_of
from merganser.multibody.kernels.layout import BUSHING
from merganser.multibody.kernels.scalars import arctangent, exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    dot,
    rotational,
    scaled,
    subtract,
    vector,
)

PITCH_TOLERANCE = 0.008  # smallest cosine of the pitch of a bushing


@device
def _measure_bushing(
    element: Array, constant: Array, position_in: Array, velocity_in: Array
) -> tuple[Axes, Axes, Vector3, Vector3, Vector3]:
    """The axes of A and C in W, then r, w_AC and rdot in A."""
    body_0, body_1 = position_in[element["mobod_0"]], position_in[element["mobod_1"]]
    V_0, V_1 = velocity_in[element["mobod_0"]]["V_WB_W"], velocity_in[element["mobod_1"]]["V_WB_W"]
    A, C = axes_of(body_0, constant["X_L0A"]), axes_of(body_1, constant["X_L1C"])
    arm_0, arm_1 = arm_of(body_0, constant["X_L0A"]), arm_of(body_1, constant["X_L1C"])
    r = subtract(add(vector(body_1["p_WoBo_W"]), arm_1), add(vector(body_0["p_WoBo_W"]), arm_0))
    w_WA = rotational(V_0)
    w_AC = subtract(rotational(V_1), w_WA)
    # rdot = v_ACo - w_AC x r / 2, with v_ACo = v_WCo - v_WAo - w_WA x r  (2)
    rdot = subtract(subtract(velocity_of(V_1, arm_1), velocity_of(V_0, arm_0)), cross(add(w_WA, scaled(0.5, w_AC)), r))
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
def _rates(c1: Any, s1: Any, c2: Any, s2: Any, w_A: Vector3) -> Vector3:
    """Qdot of roll, pitch and yaw, of the angular velocity w_AC_A."""
    along = (c2 * w_A[0] + s2 * w_A[1]) / c1
    return along, c2 * w_A[1] - s2 * w_A[0], s1 * along + w_A[2]


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
    sign = select(exceeds(0.0, w), -1.0, 1.0)
    return 1.0 + sign * w, scaled(sign, e)


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
def add_bushing(
    element: Array, constant: Array, position_in: Array, velocity_in: Array, F_0_out: Array, F_1_out: Array
) -> int:
    """Adds (1) and (2) to the forces on L0 and L1; NO_FORCE if the pitch is too near a quarter turn."""
    A, C, r_A, w_A, rdot_A = _measure_bushing(element, constant, position_in, velocity_in)
    c1, s1, c2, s2, Q = _roll_pitch_yaw(A, C)
    if not exceeds(c1, PITCH_TOLERANCE):
        return NO_FORCE
    # t_A = N^T (-K_t Q - D_t Qdot)  (1)
    k, d, Qdot = constant["stiffness"], constant["damping"], _rates(c1, s1, c2, s2, w_A)
    tau = scaled(-1.0, add(_times(k, 0, Q), _times(d, 0, Qdot)))
    level = (tau[0] + s1 * tau[2]) / c1
    t_A = (c2 * level - s2 * tau[1], s2 * level + c2 * tau[1], tau[2])
    # f_B = -K_f r_B - D_f rdot_B  (2)
    s, e = _halfway(A, C)
    r_B, rdot_B = _turn(-s, e, r_A), _turn(-s, e, rdot_A)
    f_A = _turn(s, e, scaled(-1.0, add(_times(k, 3, r_B), _times(d, 3, rdot_B))))
    # [t; f] at Bo, shifted to the origins of both bodies.
    t, f, half = combine(A, t_A), combine(A, f_A), scaled(0.5, combine(A, r_A))
    p_0 = add(arm_of(position_in[element["mobod_0"]], constant["X_L0A"]), half)
    p_1 = subtract(arm_of(position_in[element["mobod_1"]], constant["X_L1C"]), half)
    push(F_1_out, p_1, t, f)
    push(F_0_out, p_0, scaled(-1.0, t), scaled(-1.0, f))
    return FINE


@device
def add_energy(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, energy_out: Array
) -> int:
    """Equation (3), for equal force stiffnesses."""
    A, C, r_A, w_A, rdot_A = _measure_bushing(element, constant, position_in, velocity_in)
    c1, s1, c2, s2, Q = _roll_pitch_yaw(A, C)
    if not exceeds(c1, PITCH_TOLERANCE):
        return NO_FORCE
    k, d, Qdot = constant["stiffness"], constant["damping"], _rates(c1, s1, c2, s2, w_A)
    s, e = _halfway(A, C)
    rdot_B = _turn(-s, e, rdot_A)
    energy_out[0] += 0.5 * (dot(Q, _times(k, 0, Q)) + k[3] * dot(r_A, r_A))
    energy_out[1] -= dot(Qdot, _times(k, 0, Q)) + k[3] * dot(rdot_A, r_A)
    energy_out[2] -= dot(Qdot, _times(d, 0, Qdot)) + dot(rdot_B, _times(d, 3, rdot_B))
    return FINE


@device
def add_forces(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, tau_out: Array,
    F_out: Array,
) -> int:  # fmt: skip
    """Equations (1) and (2)."""
    F_0, F_1 = F_out[element["mobod_0"]], F_out[element["mobod_1"]]
    return add_bushing(element, constant, position_in, velocity_in, F_0, F_1)


KIND = ForceElementKind("bushing", add_forces, add_energy, BUSHING)
