"""Q does not turn in P about axis row["index"] % 3 of the world: the rows of welds.

With the unit vector e, [t; f] = [e; 0], and the rotation from P to Q by theta about the unit vector a,

    g = e . a theta,   gdot = e . (w_WB - w_WA),   k = e . (alpha_WB - alpha_WA)          (1)
    a sin theta = 1/2 sum_c P_c x Q_c,   1 + 2 cos theta = sum_c P_c . Q_c                (2)

over the axes c of both frames. gdot is the rate of g where g = 0, and keeps it so.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.constraints.ends import axis_of, point_of, set_force
from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.constraints.point import unit_vector
from merganser.multibody.kernels.scalars import arctangent, exceeds
from merganser.multibody.kernels.spatial import Array, Vector3, add, cross, dot, rotational, scaled, subtract

__all__ = ["KIND"]


@device
def _rotation_vector(pose_A: Array, X_AP: Array, pose_B: Array, X_BQ: Array) -> Vector3:
    """a theta in W, equations (2)."""
    p, q = axis_of(pose_A, X_AP, 0), axis_of(pose_B, X_BQ, 0)
    total, trace = cross(p, q), dot(p, q)
    for c in range(1, 3):
        p, q = axis_of(pose_A, X_AP, c), axis_of(pose_B, X_BQ, c)
        total, trace = add(total, cross(p, q)), trace + dot(p, q)
    square = 0.25 * dot(total, total)
    if not exceeds(square, 1e-18):
        return scaled(0.5, total)
    sine = np.sqrt(square)
    return scaled(0.5 * arctangent(sine, 0.5 * (trace - 1.0)) / sine, total)


@device
def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """Equation (1)."""
    e = unit_vector(row["index"] % 3)
    value_out["error"] = dot(e, _rotation_vector(pose_A, row["X_AP"], pose_B, row["X_BQ"]))
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
