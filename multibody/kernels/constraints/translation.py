"""Q does not move along an axis of A: the rows of joints that close loops.

With a unit vector u fixed in A, and [t; f] = [0; u] on both bodies at Q,

    g = u . p_PQ                                                                          (1)
    k = u . (a_Q - a_P) + 2 (w_WA x u) . (v_Q - v_P) + (alpha_WA x u + w_WA x (w_WA x u)) . p_PQ       (2)

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 8 (loop constraints).
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.constraints.ends import acceleration_of, arm_of, point_of, set_force, velocity_of
from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.spatial import Array, add, cross, dot, rotate, rotational, subtract, vector


@device
def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """Equation (1)."""
    u = rotate(pose_A["R_WB"], vector(row["u_A"]))
    p_WP, p_WQ = point_of(pose_A, row["X_AP"]), point_of(pose_B, row["X_BQ"])
    value_out["error"] = dot(u, subtract(p_WQ, p_WP))
    set_force(value_out, (0.0, 0.0, 0.0), u, p_WQ, p_WQ)


@device
def add_bias(
    row: Array, q_in: Array, v_in: Array, pose_A: Array, pose_B: Array, V_WA_W: Array, V_WB_W: Array, A_WA_W: Array,
    A_WB_W: Array, value_io: Array,
) -> None:  # fmt: skip
    """Equation (2)."""
    u, w_WA = rotate(pose_A["R_WB"], vector(row["u_A"])), rotational(V_WA_W)
    P, Q = arm_of(pose_A, row["X_AP"]), arm_of(pose_B, row["X_BQ"])
    p_PQ = subtract(add(vector(pose_B["p_WoBo_W"]), Q), add(vector(pose_A["p_WoBo_W"]), P))
    v_PQ = subtract(velocity_of(V_WB_W, Q), velocity_of(V_WA_W, P))
    a_PQ = subtract(acceleration_of(A_WB_W, V_WB_W, Q), acceleration_of(A_WA_W, V_WA_W, P))
    udot = cross(w_WA, u)
    uddot = add(cross(rotational(A_WA_W), u), cross(w_WA, udot))
    value_io["bias"] += dot(u, a_PQ) + 2.0 * dot(udot, v_PQ) + dot(uddot, p_PQ)


KIND = ConstraintKind("translation", set_row, add_bias)
