"""A sum of multiples of coordinates that stays the same.

    g = a_0 q_0 + a_1 q_1 + ... - b,   K = [a_0, a_1, ...],   k = 0                        (1)

Constants are [b, a_0, a_1, ...], of up to seven coordinates. The kind is not in the table: few models have it.
"""

from __future__ import annotations

from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.spatial import Array

MOST_COORDINATES = 7


def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """g and K (1)."""
    c = row["constants"]
    error = c[1] * q_in[row["q_0"]] + c[2] * q_in[row["q_1"]] - c[0]
    value_out["slopes"][0], value_out["slopes"][1] = c[1], c[2]
    for k in range(row["num_more"]):
        error = error + c[3 + k] * q_in[row["more_q"][k]]
        value_out["slopes"][2 + k] = c[3 + k]
    value_out["error"] = error


LINEAR = ConstraintKind("linear", set_row, acts_on_coordinates=True)
