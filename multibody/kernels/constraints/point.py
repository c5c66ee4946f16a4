"""P stays at Q, along axis row["index"] % 3 of the world: the rows of ball constraints and welds.

With the unit vector e and [t; f] = [0; e],

    g = e . p_PQ,   k = e . (a_Q - a_P)                                                   (1)

The force acts on A at P and on B at Q; of a weld (constants[0] = 1) midway between them, as if they were one body.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.constraints.ends import acceleration_of, arm_of, point_of, set_force
from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.spatial import Array, Vector3, add, dot, scaled, subtract


@device
def unit_vector(c: int) -> Vector3:
    """The unit vector along axis c."""
    return 1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0


@device
def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """Equation (1)."""
    e = unit_vector(row["index"] % 3)
    p_WP, p_WQ = point_of(pose_A, row["X_AP"]), point_of(pose_B, row["X_BQ"])
    value_out["error"] = dot(e, subtract(p_WQ, p_WP))
    if row["constants"][0] > 0.5:
        p_WP = scaled(0.5, add(p_WP, p_WQ))
        p_WQ = p_WP
    set_force(value_out, (0.0, 0.0, 0.0), e, p_WP, p_WQ)


@device
def add_bias(
    row: Array, q_in: Array, v_in: Array, pose_A: Array, pose_B: Array, V_WA_W: Array, V_WB_W: Array, A_WA_W: Array,
    A_WB_W: Array, value_io: Array,
) -> None:  # fmt: skip
    """Equation (1)."""
    P, Q = arm_of(pose_A, row["X_AP"]), arm_of(pose_B, row["X_BQ"])
    a_PQ = subtract(acceleration_of(A_WB_W, V_WB_W, Q), acceleration_of(A_WA_W, V_WA_W, P))
    value_io["bias"] += dot(unit_vector(row["index"] % 3), a_PQ)


KIND = ConstraintKind("point", set_row, add_bias)
