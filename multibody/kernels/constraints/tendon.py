"""A tendon along one or two joints, whose length has limits.

    l = a_0 q_0 + a_1 q_1 + l_0,   g = s l - b >= 0                                       (1)

Constants are [a_0, a_1, l_0, s of row 0, s of row 1, b of row 0, b of row 1]: a row with s = 1 keeps the length above
b, one with s = -1 below -b. What a row exerts has the lower bound 0. The kind is not in the table: few models have it.
"""

from __future__ import annotations

from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.spatial import Array

__all__ = ["TENDON"]


def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """g and K."""
    a_0, a_1, sign = row["constants"][0], row["constants"][1], row["constants"][3 + row["index"]]
    length = a_0 * q_in[row["q_0"]] + a_1 * q_in[row["q_1"]] + row["constants"][2]
    value_out["error"] = sign * length - row["constants"][5 + row["index"]]
    value_out["slopes"][0], value_out["slopes"][1] = sign * a_0, sign * a_1


TENDON = ConstraintKind("tendon", set_row, acts_on_coordinates=True)
