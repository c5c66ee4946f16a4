"""A rod from P to Q, of length l = row["constants"][0].

With n = p_PQ / |p_PQ| and [t; f] = [0; n],

    g = |p_PQ| - l                                                                        (1)
    k = n . (a_Q - a_P) + (|v_Q - v_P|^2 - gdot^2) / |p_PQ|                               (2)

Where P is at Q, n is Wz and constant.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.constraints.ends import acceleration_of, arm_of, point_of, set_force, velocity_of
from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import Array, add, dot, scaled, subtract, translational, vector


@device
def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """Equation (1)."""
    p_WP, p_WQ = point_of(pose_A, row["X_AP"]), point_of(pose_B, row["X_BQ"])
    p_PQ = subtract(p_WQ, p_WP)
    length = np.sqrt(dot(p_PQ, p_PQ))
    n = (0.0 * length, 0.0 * length, 1.0 + 0.0 * length)
    if exceeds(length, 0.0):
        n = scaled(1.0 / length, p_PQ)
    value_out["error"] = length - row["constants"][0]
    set_force(value_out, (0.0, 0.0, 0.0), n, p_WQ, p_WQ)


@device
def add_bias(
    row: Array, q_in: Array, v_in: Array, pose_A: Array, pose_B: Array, V_WA_W: Array, V_WB_W: Array, A_WA_W: Array,
    A_WB_W: Array, value_io: Array,
) -> None:  # fmt: skip
    """Equation (2)."""
    P, Q, n = arm_of(pose_A, row["X_AP"]), arm_of(pose_B, row["X_BQ"]), translational(value_io["F_W"])
    p_PQ = subtract(add(vector(pose_B["p_WoBo_W"]), Q), add(vector(pose_A["p_WoBo_W"]), P))
    v_PQ = subtract(velocity_of(V_WB_W, Q), velocity_of(V_WA_W, P))
    a_PQ = subtract(acceleration_of(A_WB_W, V_WB_W, Q), acceleration_of(A_WA_W, V_WA_W, P))
    around = dot(v_PQ, v_PQ) - value_io["rate"] * value_io["rate"]
    value_io["bias"] += dot(n, a_PQ)
    length = np.sqrt(dot(p_PQ, p_PQ))
    if exceeds(length, 0.0):
        value_io["bias"] += around / length


KIND = ConstraintKind("distance", set_row, add_bias)
