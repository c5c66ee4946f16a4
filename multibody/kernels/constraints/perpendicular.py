"""An axis of B stays at right angles to one of A: the rows of joints that close loops.

With a unit vector u fixed in A and one w fixed in B, and [t; f] = [w x u; 0],

    g = u . w                                                                             (1)
    k = (alpha_WB - alpha_WA) . (w x u) + u . (w_WB x (w_WB x w)) + w . (w_WA x (w_WA x u))
        + 2 (w_WB x w) . (w_WA x u)                                                       (2)

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 8 (loop constraints).
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.constraints.ends import point_of, set_force
from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.spatial import Array, cross, dot, rotate, rotational, subtract, vector


@device
def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """Equation (1)."""
    u, w = rotate(pose_A["R_WB"], vector(row["u_A"])), rotate(pose_B["R_WB"], vector(row["w_B"]))
    p_WQ = point_of(pose_B, row["X_BQ"])
    value_out["error"] = dot(u, w)
    set_force(value_out, cross(w, u), (0.0, 0.0, 0.0), p_WQ, p_WQ)


@device
def add_bias(
    row: Array, q_in: Array, v_in: Array, pose_A: Array, pose_B: Array, V_WA_W: Array, V_WB_W: Array, A_WA_W: Array,
    A_WB_W: Array, value_io: Array,
) -> None:  # fmt: skip
    """Equation (2)."""
    u, w = rotate(pose_A["R_WB"], vector(row["u_A"])), rotate(pose_B["R_WB"], vector(row["w_B"]))
    w_WA, w_WB = rotational(V_WA_W), rotational(V_WB_W)
    udot, wdot = cross(w_WA, u), cross(w_WB, w)
    value_io["bias"] += (
        dot(subtract(rotational(A_WB_W), rotational(A_WA_W)), cross(w, u))
        + dot(u, cross(w_WB, wdot))
        + dot(w, cross(w_WA, udot))
        + 2.0 * dot(wdot, udot)
    )


KIND = ConstraintKind("perpendicular", set_row, add_bias)
