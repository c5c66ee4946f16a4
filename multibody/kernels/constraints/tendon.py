"""A tendon along some joints, whose length has limits.

    l = a_0 q_0 + a_1 q_1 + ... + l_0,   g = s l - b >= 0                                 (1)

Constants are [l_0, lower limit, upper limit, a_0, a_1, ...], of up to five joints, and NO_LIMIT in place of an infinite
limit; the first row is that of the lower limit, if there is one, with s = 1, the other has s = -1. What a row exerts
has the lower bound 0, and as in Drake is nothing while the length is within both limits, however fast one comes near.
The kind is not in the table: few models have it.
"""

from __future__ import annotations

from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import Array

MOST_JOINTS = 5
NO_LIMIT = 1e300


def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """g and K, both zero within the limits."""
    c, slopes = row["constants"], value_out["slopes"]
    length = c[0] + c[3] * q_in[row["q_0"]] + c[4] * q_in[row["q_1"]]
    for k in range(row["num_more"]):
        length = length + c[5 + k] * q_in[row["more_q"][k]]
    is_upper = row["index"] == 1 or c[1] == -NO_LIMIT
    error, sign = (c[2] - length, -1.0) if is_upper else (length - c[1], 1.0)
    if exceeds(length, c[1]) and exceeds(c[2], length):
        error, sign = 0.0 * length, 0.0
    value_out["error"] = error
    slopes[0], slopes[1] = sign * c[3], sign * c[4]
    for k in range(row["num_more"]):
        slopes[2 + k] = sign * c[5 + k]


TENDON = ConstraintKind("tendon", set_row, acts_on_coordinates=True)
