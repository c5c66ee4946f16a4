"""A coordinate that is a polynomial of another one, or that stays where it is.

    s = q_1 - r_1,   p(s) = c_0 + c_1 s + c_2 s^2 + c_3 s^3 + c_4 s^4
    g = q_0 - r_0 - p(s),   K = [1, -p'(s)],   k = -p''(s) v_1^2                           (1)

Constants are [c_0, ..., c_4, r_0, r_1]. Of one joint, which is both q_0 and q_1, only c_0 may differ from zero. The
kind is not in the table: few models have it.
"""

from __future__ import annotations

from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.spatial import Array


def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """g and K (1)."""
    c = row["constants"]
    s = q_in[row["q_1"]] - c[6]
    value_out["error"] = q_in[row["q_0"]] - c[5] - (c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * c[4]))))
    value_out["slopes"][0] = 1.0
    value_out["slopes"][1] = -(c[1] + s * (2.0 * c[2] + s * (3.0 * c[3] + s * 4.0 * c[4])))


def add_bias(
    row: Array, q_in: Array, v_in: Array, pose_A: Array, pose_B: Array, V_WA_W: Array, V_WB_W: Array, A_WA_W: Array,
    A_WB_W: Array, value_io: Array,
) -> None:  # fmt: skip
    """k (1)."""
    c, v = row["constants"], v_in[row["v_1"]]
    s = q_in[row["q_1"]] - c[6]
    value_io["bias"] -= (2.0 * c[2] + s * (6.0 * c[3] + s * 12.0 * c[4])) * v * v


POLYNOMIAL = ConstraintKind("polynomial", set_row, add_bias, acts_on_coordinates=True)
