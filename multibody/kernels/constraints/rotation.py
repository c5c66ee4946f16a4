"""Q does not turn in P about axis row["index"] % 3 of the world: the rows of welds.

With the unit vector e, [t; f] = [e; 0], and the rotation from P to Q by theta about the unit vector a,

    g = e . a theta,   gdot = e . (w_WB - w_WA),   k = e . (alpha_WB - alpha_WA)          (1)

gdot is the rate of g where g = 0, and keeps it so.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.constraints.ends import point_of, set_force
from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.constraints.point import unit_vector
from merganser.multibody.kernels.frames import axes_of, rotation_vector
from merganser.multibody.kernels.spatial import Array, add, dot, rotational, scaled, subtract


@device
def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """Equation (1)."""
    e = unit_vector(row["index"] % 3)
    P, Q = axes_of(pose_A, row["X_AP"]), axes_of(pose_B, row["X_BQ"])
    value_out["error"] = dot(e, rotation_vector(P, Q))
    p_WM = scaled(0.5, add(point_of(pose_A, row["X_AP"]), point_of(pose_B, row["X_BQ"])))
    set_force(value_out, e, (0.0, 0.0, 0.0), p_WM, p_WM)


@device
def add_bias(
    row: Array, q_in: Array, v_in: Array, pose_A: Array, pose_B: Array, V_WA_W: Array, V_WB_W: Array, A_WA_W: Array,
    A_WB_W: Array, value_io: Array,
) -> None:  # fmt: skip
    """Equation (1)."""
    value_io["bias"] += dot(unit_vector(row["index"] % 3), subtract(rotational(A_WB_W), rotational(A_WA_W)))


KIND = ConstraintKind("rotation", set_row, add_bias)
