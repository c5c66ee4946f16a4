"""A tendon along one or two joints, whose length has limits.

    l = a_0 q_0 + a_1 q_1 + l_0,   g = s l - b >= 0                                       (1)

Constants are [a_0, a_1, l_0, s of row 0, s of row 1, b of row 0, b of row 1]: a row with s = 1 keeps the length above
b, one with s = -1 below -b. What a row exerts has the lower bound 0, and as in Drake is nothing while the length is
within both limits, however fast one comes near. The kind is not in the table: few models have it.
"""

from __future__ import annotations

from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import Array


def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """g and K, both zero within the limits."""
    constants, own, other = row["constants"], row["index"], 1 - row["index"]
    a_0, a_1, sign = constants[0], constants[1], constants[3 + own]
    length = a_0 * q_in[row["q_0"]] + a_1 * q_in[row["q_1"]] + constants[2]
    error = sign * length - constants[5 + own]
    value_out["error"], value_out["slopes"][0], value_out["slopes"][1] = 0.0, 0.0, 0.0
    if not (exceeds(error, 0.0) and exceeds(constants[3 + other] * length - constants[5 + other], 0.0)):
        value_out["error"], value_out["slopes"][0], value_out["slopes"][1] = error, sign * a_0, sign * a_1


TENDON = ConstraintKind("tendon", set_row, acts_on_coordinates=True)
